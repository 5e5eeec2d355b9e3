package manifold_test

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
)

// The gradient of log q, and what q lacks to be a heat kernel, are those that differentiation gives.
func TestGuide(t *testing.T) {
	t.Parallel()
	for name, m := range map[string]geom.Charted{
		"S¹": manifold.Sphere(1), "S²": manifold.Sphere(2), "S⁵": manifold.Sphere(5), "H²": manifold.Hyperbolic(2), "H⁴": manifold.Hyperbolic(4),
		"torus": manifold.Torus(2, 0.7),
	} {
		closed := m.(geom.ClosedWinding)
		at := func(r float64) []float64 {
			z := make([]float64, m.AmbientDim())
			if name == "torus" { // once round the axis while once across the tube
				rho := 2 + 0.7*math.Cos(0.7-r)
				return []float64{rho * math.Cos(0.7+r), rho * math.Sin(0.7+r), 0.7 * math.Sin(0.7-r)}
			}
			if z[0], z[1] = math.Cos(0.7+r), math.Sin(0.7+r); name[0] == 'H' {
				z[0], z[1] = math.Cosh(0.7-r), math.Sinh(0.7-r)
			}
			return z
		}
		var starts, ends [][]float64
		var distances, times []float64
		for _, r := range []float64{1e-3, 0.5, 1.5, 1.65, 2.8} {
			for _, tau := range []float64{0.05, 0.5, 3, 3.3, 8} {
				ends, starts, distances, times = append(ends, at(0)), append(starts, at(r)), append(distances, r), append(times, tau)
			}
		}
		out := expect.Must(engine.Run(func(v, z, tau *Node) []*Node {
			log, at := closed.Windings(), geom.At(m, z)
			slopes, hessian := autodiff.Hessian(func(x []*Node) *Node {
				return log(BroadcastPrefix(v, m.Dim()), at.Point(x[0]), x[1])
			}, at.X, tau)
			rise := geom.Sharp(at.Manifold, at.X, slopes[0])
			laplacian := geom.Laplacian(at.Manifold, at.X, geom.ChristoffelTrace(at.Manifold, at.X), slopes[0], hessian)
			square := ReduceSum(Mul(slopes[0], rise), -1)
			growth := Add(MulScalar(Add(laplacian, square), 0.5), Sub(MulScalar(Reciprocal(tau), float64(m.Dim())/2), slopes[1]))
			gradient, missing := closed.Guide(v, z, tau)
			return []*Node{gradient, missing, at.Leave(geom.Vector, rise), growth}
		}, ends, starts, times))
		for k, r := range distances {
			what := fmt.Sprintf("%s, distance %g, τ = %g: ", name, r, times[k])
			expect.Abs(t, what+"gradient", out.Matrix(0)[k], out.Matrix(2)[k], 1e-10)
			expect.Abs(t, what+"growth", out.Vector(1)[k], out.Vector(3)[k], 1e-9)
		}
	}
}

// Close to the end, and to its antipode, the guide is as smooth as elsewhere.
func TestGuideIsSmooth(t *testing.T) {
	t.Parallel()
	m := manifold.Sphere(2)
	steps := []float64{0, 1.1e-5, 1e-4, 1e-3}
	for _, tau := range []float64{1, 2, 3, 4} {
		for _, pole := range []float64{0, math.Pi} {
			var ends, starts [][]float64
			var times []float64
			for _, x := range steps {
				ends, starts = append(ends, []float64{1, 0, 0}), append(starts, []float64{math.Cos(pole + x), math.Sin(pole + x), 0})
				times = append(times, tau)
			}
			out := expect.Must(engine.Run(func(v, z, tau *Node) []*Node {
				_, growth := m.(geom.ClosedWinding).Guide(v, z, tau)
				return []*Node{growth}
			}, ends, starts, times))
			for k, growth := range out.Vector(0) {
				expect.Abs(t, fmt.Sprintf("τ = %g, %g from %.3g", tau, steps[k], pole), growth, out.Vector(0)[0], 20*steps[k]*steps[k]+1e-12)
			}
		}
	}
}
