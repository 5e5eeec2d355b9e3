package manifold_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
)

func TestHyperbolic(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, manifold.Hyperbolic(2), []float64{1.25, 0.75, 0}, []float64{math.Cosh(3), 0, -math.Sinh(3)})
}

func TestHyperbolicCurvatureAndDistance(t *testing.T) {
	t.Parallel()
	m := manifold.Hyperbolic(2)
	points := [][]float64{{1, 0, 0}, {1.25, 0, -0.75}, {math.Cosh(4), math.Sinh(4), 0}}
	out := tilted(t, m, func(c geom.Chart, x *Node) *Node { return geom.ScalarCurvature(c, x) }, points...)
	for _, v := range out.Vector(0) {
		expect.Abs(t, "scalar curvature", v, -2, 1e-10)
	}
	s := geom.On(m)
	for _, x := range points {
		for _, y := range points {
			g, err := s.Log(x, y)
			product := x[0]*y[0] - x[1]*y[1] - x[2]*y[2]
			// arcosh near 1 halves the digits: compare the products, which cancel from up to cosh² 4.
			expect.Rel(t, "cosh d", math.Cosh(expect.Must(g, err).Length), product, 1e-11)
		}
	}
	expect.Refused(t, expect.Error(s.Exp([]float64{-1, 0, 0}, []float64{0, 1, 0})), "no point of the manifold is near") // the other sheet
}
