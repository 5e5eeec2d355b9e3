package landmarks_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A module outside of the project uses its packages by the two lines of README. The program finds the project's plug-in by
// itself, and not what was put below its own folder.
func TestFromAnotherModule(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	mine := t.TempDir()
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = mine
		c.Env = append(os.Environ(), "ANATOMY_HOME=", "GOFLAGS=-buildvcs=false", "GOWORK=off")
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	for name, text := range map[string]string{
		".anatomy/venv/lib/python3.11/site-packages/fastatomstruct_xla_cpu/libpjrt_cpu.so": "planted",
		"go.mod": "module mine\n\ngo 1.26\n",
		"main.go": `package main

import (
	"fmt"

	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

func main() {
	cc := morpho.CorpusCallosum()
	g, err := landmarks.New(39, 2, kernels.Gaussian(cc.Spacing())).Log(cc.Shape("jhu_atlas"), cc.Shape("colin27"))
	if err != nil {
		panic(err)
	}
	fmt.Println(g)
}
`,
	} {
		path := filepath.Join(mine, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	run("go", "mod", "edit", "-replace", "anatomy="+root)
	run("go", "get", "anatomy/landmarks/...@v0.0.0")
	if out := run("go", "run", "."); !strings.HasPrefix(out, "geodesic of length 23.11, converged") {
		t.Errorf("printed %q", out)
	}
}
