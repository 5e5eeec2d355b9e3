package morpho_test

import (
	"os/exec"
	"strings"
	"testing"
)

// Reading a file must not link XLA: of this module the package imports trees and internal ones of landmarks alone, and no GoMLX.
func TestLinksNoXLA(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, path := range strings.Fields(string(out)) {
		own := strings.HasPrefix(path, "anatomy/") && path != "anatomy/landmarks/morpho" && path != "anatomy/geom/tree" && !strings.HasPrefix(path, "anatomy/landmarks/internal/")
		if own || strings.Contains(path, "gomlx") {
			t.Errorf("morpho imports %s", path)
		}
	}
}
