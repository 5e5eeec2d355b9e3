package geom_test

import (
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
)

func TestProduct(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, geom.Product(manifold.Sphere(2), manifold.Euclidean(1)), []float64{0, 0.6, 0.8, 3})
}

// Vectors leave a chart of a product by the derivative of Point, at its centre and elsewhere, and come back.
func TestVectorsLeaveProducts(t *testing.T) {
	t.Parallel()
	m := geom.Product(manifold.Sphere(2), manifold.Euclidean(1))
	for _, x := range [][]float64{nil, {0.3, -0.2, 0.5}} {
		out := expect.Must(engine.Run(func(z, v *Node) []*Node {
			at := geom.At(m, z)
			if x != nil {
				at = at.Moved(Const(z.Graph(), x))
			}
			_, image := autodiff.Pushforward(func(x []*Node) []*Node { return []*Node{at.Point(x[0])} }, []*Node{Identity(at.X)}, []*Node{v})
			left := at.Leave(geom.Vector, v)
			return []*Node{image[0], left, at.Enter(geom.Vector, left)}
		}, []float64{0, 0.6, 0.8, 3}, []float64{0.7, 0.1, -0.4}))
		expect.Abs(t, "Leave", out.Vector(1), out.Vector(0), 1e-14)
		expect.Abs(t, "Enter", out.Vector(2), []float64{0.7, 0.1, -0.4}, 1e-14)
	}
}

// Geodesics of a product are those of the factors side by side, also where a factor has no closed forms.
func TestProductSideBySide(t *testing.T) {
	t.Parallel()
	ellipse := manifold.Ellipsoid(1, 2)
	both := geom.On(geom.Product(ellipse, manifold.Hyperbolic(2)))
	x := [][]float64{{0, 2}, {1, 0, 0}}
	y := [][]float64{{math.Sin(0.7), 2 * math.Cos(0.7)}, {math.Cosh(0.4), 0, math.Sinh(0.4)}}
	// Log would look for shorter geodesics, too.
	log := func(s *geom.Space[geom.Vec], x, y []float64) *geom.Geodesic[geom.Vec] {
		return expect.Must(s.LogFrom([][]float64{x}, [][]float64{y}, [][]float64{make([]float64, len(x))}))[0]
	}
	g := log(both, slices.Concat(x...), slices.Concat(y...))
	first, second := log(geom.On(ellipse), x[0], y[0]), log(geom.On(manifold.Hyperbolic(2)), x[1], y[1])
	expect.Rel(t, "distance", g.Length, math.Hypot(first.Length, second.Length), 1e-8)
	expect.Abs(t, "velocity", g.Velocity, slices.Concat(first.Velocity, second.Velocity), 1e-8)
	expect.Rel(t, "scalar curvature", expect.Must(both.ScalarCurvature(slices.Concat(x...))), -2, 1e-8)
}
