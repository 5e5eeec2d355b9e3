package kernels_test

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/geomtest/kept"
	"anatomy/kernels"
)

// Kernels of other widths take the program of the first, sums in C and on the graph with their derivatives; one of another kind
// does not get its numbers mixed up.
func TestWidthsShareAProgram(t *testing.T) {
	x, p := cloud(5, 2, 3)
	compute := func(k kernels.Kernel) engine.Values {
		return expect.Must(engine.Run(func(x, p *Node) []*Node {
			v, f := k.Hamilton(x, p)
			sum := ReduceAllSum(Mul(f, k.Sum(x, x, v)))
			gram := k.Gram(x, x)
			return []*Node{gram, v, f, Gradient(sum, x)[0], Gradient(ReduceAllSum(Mul(gram, gram)), x)[0]}
		}, x, p))
	}
	kernel := func(sigma, tau, weight float64) kernels.Kernel {
		return kernels.Sum([]float64{1, weight}, kernels.Gaussian(sigma, 2*sigma), kernels.Gaussian(tau))
	}
	widths := [][3]float64{{0.55, 0.3, 2.3}, {0.85, 1.2, 0.7}}
	kept.Program(t, func() (line string) {
		for _, w := range widths {
			out := compute(kernel(w[0], w[1], w[2]))
			for i := range out {
				line += fmt.Sprint(out.Flat(i), " ")
			}
		}
		return line
	})
	for _, w := range widths {
		out := compute(kernel(w[0], w[1], w[2]))
		for i := range x {
			for j := range x {
				a, b := x[i][0]-x[j][0], x[i][1]-x[j][1]
				want := math.Exp(-(a*a+b*b/4)/(2*w[0]*w[0])) + w[2]*math.Exp(-(a*a+b*b)/(2*w[1]*w[1]))
				expect.Abs(t, "K", out.Matrix(0)[i][j], want, 1e-14)
			}
		}
	}
}

// As a GPU computes them, Hamilton's equations of few points and their first and second derivatives are those of the CPU.
func TestHamiltonInRows(t *testing.T) {
	x, p := cloud(7, 2, 4)
	for _, k := range []kernels.Kernel{
		kernels.Gaussian(0.7, 0.9), kernels.Laplace(2, 0.8), kernels.Sum([]float64{1, 0.5}, kernels.Cauchy(0.6), kernels.Gaussian(0.3)),
	} {
		compute := func() engine.Values {
			return expect.Must(engine.Run(func(in []*Node) []*Node {
				v, f := k.Hamilton(in[0], in[1])
				first := Gradient(Add(ReduceAllSum(Mul(v, Cos(in[0]))), ReduceAllSum(Mul(f, Sin(in[1])))), in...)
				second := Gradient(Add(ReduceAllSum(Square(first[0])), ReduceAllSum(Mul(first[1], in[1]))), in...)
				return append(append([]*Node{v, f}, first...), second...)
			}, x, p))
		}
		want := compute()
		t.Setenv(engine.RecordVariable, t.TempDir())
		got := compute()
		t.Setenv(engine.RecordVariable, "")
		for i := range want {
			expect.Rel(t, fmt.Sprintf("%s, result %d", k, i), got.Flat(i), want.Flat(i), 1e-11)
		}
	}
}
