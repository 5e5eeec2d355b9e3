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

// The kernel is that of its formula, with the affine functions ℓ_a = x_a of anchors at the unit vectors and ℓ_0 = 1 − Σ x_a of the one at 0. It
// is positive definite, its sums are products with its matrix, and forces are derivatives of the energy.
func TestConditional(t *testing.T) {
	anchors := [][]float64{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}}
	p := [][]float64{{1, 0.2, -0.4}, {-0.5, 0.3, 0.8}, {0.1, -0.9, 0.6}, {0.7, 0.4, 0.2}}
	const weight = 2.5
	cubic := kernels.Radial("cubic", func(s *Node) *Node { return Mul(s, Sqrt(AddScalar(s, 1e-12))) }, 0.8) // r³ is of order 2
	for _, k := range []kernels.Kernel{kernels.Gaussian(0.7), kernels.Laplace(2, 0.7, 0.5, 0.9), cubic} {
		c := kernels.Conditional(k, anchors, weight)
		out := expect.Must(engine.Run(func(in []*Node) []*Node {
			x, p, u := in[0], in[1], in[2]
			y := MulScalar(SliceAxis(x, 0, AxisRange(0, 3)), 0.9)
			affine := func(x *Node) *Node {
				return Concatenate([]*Node{OneMinus(ReduceAndKeep(x, ReduceSum, -1)), x}, -1)
			}
			gram := func(x, y *Node) *Node {
				lx, ly := affine(x), affine(y)
				corner := Add(k.Gram(u, u), MulScalar(linalg.Eye(x.Graph(), x.DType(), 4), weight))
				mixed := Add(linalg.MatMul(lx, k.Gram(u, y)), linalg.MatMul(k.Gram(x, u), linalg.T(ly)))
				return Add(Sub(k.Gram(x, y), mixed), linalg.MatMul(linalg.MatMul(lx, corner), linalg.T(ly)))
			}
			energy := func(x *Node) *Node {
				x = Reshape(x, 4, 3)
				return MulScalar(ReduceAllSum(Mul(p, linalg.MatMul(gram(x, x), p))), 0.5)
			}
			dx, dp := c.Hamilton(x, p)
			q := SliceAxis(p, 0, AxisRange(0, 3))
			batch := c.Sum(Stack([]*Node{x, p}, 0), Stack([]*Node{p, x}, 0), Stack([]*Node{p, p}, 0))
			return []*Node{c.Gram(x, y), gram(x, y), dx, linalg.MatMul(gram(x, x), p), c.Sum(x, y, q), linalg.MatMul(gram(x, y), q), dp,
				Neg(Reshape(autodiff.Grad(energy, Reshape(x, 12)), 4, 3)), linalg.SymEig(gram(x, x)).Values,
				Squeeze(SliceAxis(batch, 0, AxisElem(0)), 0), linalg.MatMul(gram(x, p), p)}
		}, points, p, anchors))
		name := c.String()
		expect.Abs(t, name+": kernel matrix", out.Matrix(0), out.Matrix(1), 1e-13)
		expect.Abs(t, name+": velocities", out.Matrix(2), out.Matrix(3), 1e-13)
		expect.Abs(t, name+": sums", out.Matrix(4), out.Matrix(5), 1e-13)
		expect.Abs(t, name+": forces", out.Matrix(6), out.Matrix(7), 1e-12)
		expect.Abs(t, name+": sums of a batch", out.Matrix(9), out.Matrix(10), 1e-13)
		if least := out.Vector(8)[0]; !(least > 1e-6) {
			t.Errorf("%s: the least eigenvalue of the kernel matrix is %.3g", name, least)
		}
	}
	for _, bad := range []func(){
		func() { kernels.Conditional(kernels.Gaussian(1), anchors, 0) },
		func() { kernels.Conditional(kernels.Gaussian(1), anchors[:3], 1) },
		func() { kernels.Conditional(kernels.Gaussian(1), [][]float64{{0, 0}, {1, 1}, {2, 2}}, 1) },
		func() { kernels.Conditional(kernels.Gaussian(1), [][]float64{{0}, {math.NaN()}}, 1) },
		func() { kernels.ThinPlate(1, anchors, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("anchors or weight that are not valid: no panic")
				}
			}()
			bad()
		}()
	}
}
