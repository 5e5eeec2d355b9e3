package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/geomtest/kept"
)

// A second process computes with the programs of the first, bit by bit the same; damaged ones are compiled again. A file that
// is none of ours, a folder that cannot be written to and one that others can write to are no reason to fail, and stay.
func TestProgramsAreKept(t *testing.T) {
	parent, want, run := kept.Program(t, func() string {
		out := expect.Must(Run(func(x *graph.Node) (*graph.Node, *graph.Node) {
			y := graph.ReduceAllSum(graph.Sin(graph.Exp(x)))
			return y, graph.Gradient(y, x)[0]
		}, []float64{0.1, 0.2, 0.3}))
		return fmt.Sprintf("%x %x", out.Scalar(0), out.Vector(1))
	})
	path, first := kept.File(t, parent)
	dir := filepath.Dir(path)
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
	if _, file := kept.File(t, parent); os.SameFile(file, first) {
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
	if _, file := kept.File(t, parent); file.Mode().Type() != os.ModeNamedPipe {
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

// Functions that differ in their settings alone are one program, in nested loops and gradients too, and each computes with its
// own numbers: b(1 + 3a + 9a²) + b, and 2ax.
func TestSettingsShareAProgram(t *testing.T) {
	compute := func(a, b float64) string {
		number := func(x *graph.Node, v float64) *graph.Node { return Setting(x.Graph(), x.DType(), []float64{v}) }
		out := expect.Must(Run(func(x *graph.Node) (*graph.Node, *graph.Node) {
			y := loop(x.Graph(), "outer", true, func(_, y *graph.Node) *graph.Node {
				z := loop(y.Graph(), "inner", true, func(_, z *graph.Node) *graph.Node { return graph.Add(z, number(z, a)) })
				return graph.Add(graph.Mul(y, z), number(y, b))
			})
			return graph.Add(y, number(x, b)), graph.Gradient(graph.Mul(graph.Square(x), number(x, a)), x)[0]
		}, 5.0))
		return fmt.Sprint(out.Scalar(0), out.Scalar(1))
	}
	_, line, _ := kept.Program(t, func() string { return compute(2, 3) + ", " + compute(0.5, 7) })
	if want := "132 20, 40.25 5"; line != want {
		t.Errorf("%s, want %s", line, want)
	}
}
