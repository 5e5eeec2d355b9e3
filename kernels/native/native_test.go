package native

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The versions of the pair loop agree to rounding, and their exponentials are those of the C library.
func TestVersionsOfTheLoopAgree(t *testing.T) {
	program := filepath.Join(t.TempDir(), "versions")
	if out, err := exec.Command("cc", "-O3", "-std=gnu11", "-Wno-psabi", "-o", program, "testdata/versions.c", "-lm").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var version string
		var sums, exponential float64
		if _, err := fmt.Sscan(line, &version, &sums, &exponential); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !(sums < 1e-14) || !(exponential < 1e-15) {
			t.Errorf("%s: sums are off by %.2g, exponentials by %.2g", version, sums, exponential)
		}
		t.Log(strings.TrimSpace(line))
	}
}
