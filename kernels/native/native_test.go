package native_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"anatomy/kernels/native"
)

// run compiles a program of testdata and returns the lines that it prints. Loops of eight lanes run without AVX-512, too.
func run(t *testing.T, source string) []string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "versions")
	args := []string{"-O1", "-std=gnu11", "-Wno-psabi", "-I.", "-I../../geom/engine/internal/ffi", "-o", program, filepath.Join("testdata", source), "-lm"}
	if native.Lanes() < 8 {
		args = append(args, "-DEIGHT_ON_AVX2")
	}
	if out, err := exec.Command("cc", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%s", out)
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// The versions of the pair loop agree to rounding, and their exponentials and roots are those of the C library.
func TestVersionsOfTheLoopAgree(t *testing.T) {
	for _, line := range run(t, "versions.c") {
		var version string
		var sums, exponential, root float64
		if _, err := fmt.Sscan(line, &version, &sums, &exponential, &root); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !(sums < 1e-14) || !(exponential < 1e-15) || !(root < 3e-16) {
			t.Errorf("%s: sums are off by %.2g, exponentials by %.2g, roots by %.2g", version, sums, exponential, root)
		}
	}
}

// The versions of sums on a grid agree to rounding, for points that leave it too.
func TestVersionsOfGridsAgree(t *testing.T) {
	for _, line := range run(t, "grids.c") {
		var version int
		var sums float64
		if _, err := fmt.Sscan(line, &version, &sums); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if !(sums < 1e-13) {
			t.Errorf("version %d: sums are off by %.2g", version, sums)
		}
	}
}

// Programs that Go links without the C compiler, as cells of notebooks are, run the same version of the loop as others.
func TestVersionDoesNotDependOnTheLinker(t *testing.T) {
	if os.Getenv("PRINT_LANES") != "" {
		fmt.Println("lanes", native.Lanes())
		return
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("there is one version")
	}
	test := exec.Command("go", "test", "-vet=off", "-count=1", "-ldflags=-linkmode=internal", "-run", t.Name(), "-v")
	test.Env = append(os.Environ(), "PRINT_LANES=1")
	out, err := test.CombinedOutput()
	if want := fmt.Sprintln("lanes", native.Lanes()); err != nil || !strings.Contains(string(out), want) {
		t.Errorf("want %s, got %s, %v", want, out, err)
	}
}
