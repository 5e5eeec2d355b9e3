package engine

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
)

// TestMain is all there is to do in the child processes of TestProgramsAreKept.
func TestMain(m *testing.M) {
	if os.Getenv("ANATOMY_TEST_CHILD") == "" {
		os.Exit(m.Run())
	}
	out, err := Run(func(x *graph.Node) (*graph.Node, *graph.Node) {
		y := graph.ReduceAllSum(graph.Sin(graph.Exp(x)))
		return y, graph.Gradient(y, x)[0]
	}, []float64{0.1, 0.2, 0.3})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Printf("result %x %x\n", out.Scalar(0), out.Vector(1))
}

// A second process computes with the programs of the first, bit by bit the same; damaged ones are compiled again. A file that
// is none of ours, a folder that cannot be written to and one that others can write to are no reason to fail, and stay.
func TestProgramsAreKept(t *testing.T) {
	parent := filepath.Join(t.TempDir(), "a folder", "[progs]")
	dir := filepath.Join(parent, fmt.Sprintf("anatomy-programs-%d", os.Geteuid()))
	run := func(folder string) string {
		t.Helper()
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "ANATOMY_TEST_CHILD=1", "ANATOMY_PROGRAMS="+folder)
		out, err := c.CombinedOutput()
		_, result, found := strings.Cut(string(out), "result ")
		if err != nil || !found {
			t.Fatalf("%v: %s", err, out)
		}
		result, _, _ = strings.Cut(result, "\n")
		return result
	}
	only := func() os.FileInfo {
		t.Helper()
		files, err := os.ReadDir(dir)
		if err != nil || len(files) != 1 {
			t.Fatalf("files %q, error %v: want one program", files, err)
		}
		info, err := files[0].Info()
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	want := run("off")
	if got := run(parent); got != want {
		t.Errorf("%s while the program is kept, %s without", got, want)
	}
	kept := only()
	if got := run(parent); got != want {
		t.Errorf("%s from the kept program, %s without", got, want)
	}
	if !os.SameFile(only(), kept) {
		t.Error("the program was compiled again")
	}
	path := filepath.Join(dir, kept.Name())
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range content {
		if i%1000 == 999 {
			content[i]++
		}
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := run(parent); got != want {
		t.Errorf("%s with a damaged program, %s without", got, want)
	}
	if os.SameFile(only(), kept) {
		t.Error("the damaged program was not replaced")
	}
	if got := run(path); got != want { // a file is no folder
		t.Errorf("%s without a folder, want %s", got, want)
	}
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	if got := run(parent); got != want {
		t.Errorf("%s with a pipe in place of the program, %s without", got, want)
	}
	if only().Mode().Type() != os.ModeNamedPipe {
		t.Error("the pipe was removed")
	}
	if err := errors.Join(os.Remove(path), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	if got := run(parent); got != want {
		t.Errorf("%s with a folder that others can write to, %s without", got, want)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("files %q, error %v in a folder that others can write to", files, err)
	}
}
