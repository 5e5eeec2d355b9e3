package geom_test

import (
	"math"
	"slices"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
)

func TestProduct(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, geom.Product(manifold.Sphere(2), manifold.Euclidean(1)), []float64{0, 0.6, 0.8, 3})
}

// Geodesics of a product are those of the factors side by side, also where a factor has no closed forms.
func TestProductSideBySide(t *testing.T) {
	t.Parallel()
	ellipse := manifold.Ellipsoid(1, 2)
	both := geom.On(geom.Product(ellipse, manifold.Hyperbolic(2)))
	x := [][]float64{{0, 2}, {1, 0, 0}}
	y := [][]float64{{math.Sin(0.7), 2 * math.Cos(0.7)}, {math.Cosh(0.4), 0, math.Sinh(0.4)}}
	g := expect.Must(both.Log(slices.Concat(x...), slices.Concat(y...)))
	first, second := expect.Must(geom.On(ellipse).Log(x[0], y[0])), expect.Must(geom.On(manifold.Hyperbolic(2)).Log(x[1], y[1]))
	expect.Rel(t, "distance", g.Length, math.Hypot(first.Length, second.Length), 1e-8)
	expect.Abs(t, "velocity", g.Velocity, slices.Concat(first.Velocity, second.Velocity), 1e-8)
	expect.Rel(t, "scalar curvature", expect.Must(both.ScalarCurvature(slices.Concat(x...))), -2, 1e-8)
}
