package kernels_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/kernels"
)

// A kernel with oriented widths is exp(−½ (x − y)ᵀ (W Wᵀ)⁻¹ (x − y)), and has its velocities and forces; along the axes it is one with widths.
func TestOriented(t *testing.T) {
	w := [][]float64{{0.7, 0.3, 0}, {-0.2, 1.1, 0.1}, {0, 0.4, 0.5}}
	p := [][]float64{{1, 0.2, -0.4}, {-0.5, 0.3, 0.8}, {0.1, -0.9, 0.6}, {0.7, 0.4, 0.2}}
	k := kernels.Oriented(kernels.Gaussian(1), w)
	axes := kernels.Oriented(kernels.Laplace(2, 1), [][]float64{{0.7, 0, 0}, {0, 0.4, 0}, {0, 0, 1.3}})
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, p, w := in[0], in[1], in[2]
		gram := func(x *Node) *Node {
			off := Sub(ExpandAxes(x, 1), ExpandAxes(x, 0))
			return Exp(MulScalar(ReduceSum(Mul(off, linalg.MatMul(off, BroadcastPrefix(linalg.Inverse(linalg.MatMul(w, linalg.T(w))), 4))), -1), -0.5))
		}
		energy := func(x *Node) *Node {
			x = Reshape(x, 4, 3)
			return MulScalar(ReduceAllSum(Mul(p, linalg.MatMul(gram(x), p))), 0.5)
		}
		dx, dp := k.Hamilton(x, p)
		alongAxes, force := axes.Hamilton(x, p)
		same, other := kernels.Laplace(2, 0.7, 0.4, 1.3).Hamilton(x, p)
		return []*Node{k.Gram(x, x), gram(x), dx, linalg.MatMul(gram(x), p), k.Sum(x, x, p), dp, Neg(Reshape(autodiff.Grad(energy, Reshape(x, 12)), 4, 3)),
			alongAxes, same, force, other}
	}, points, p, w))
	expect.Abs(t, "kernel matrix", out.Matrix(0), out.Matrix(1), 1e-14)
	expect.Abs(t, "velocities", out.Matrix(2), out.Matrix(3), 1e-14)
	expect.Abs(t, "sums", out.Matrix(4), out.Matrix(3), 1e-14)
	expect.Abs(t, "forces", out.Matrix(5), out.Matrix(6), 1e-13)
	expect.Abs(t, "velocities along the axes", out.Matrix(7), out.Matrix(8), 1e-14)
	expect.Abs(t, "forces along the axes", out.Matrix(9), out.Matrix(10), 1e-13)
	for _, bad := range [][][]float64{{{1, 0}}, {{1, 2}, {2, 4}}, {{math.NaN()}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Oriented(%v): no panic", bad)
				}
			}()
			kernels.Oriented(kernels.Gaussian(1), bad)
		}()
	}
}
