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

// There is no cut locus: far from the first axis, and far from each other, points have the distance of the law of cosines,
// cosh d = cosh(a − b) + 2 sinh a sinh b sin²(φ/2), to what the rounding of their coordinates leaves, and a residual.
func TestHyperbolicFarAway(t *testing.T) {
	s := geom.On(manifold.Hyperbolic(2))
	at := func(a, phi float64) []float64 {
		return []float64{math.Cosh(a), math.Sinh(a) * math.Cos(phi), math.Sinh(a) * math.Sin(phi)}
	}
	for _, c := range []struct{ a, b, phi float64 }{
		{0, 10, 0}, {0, 16, 0.3}, {0, 30, 0.5}, {0, 100, 2}, {8, 8, math.Pi}, {15, 15, math.Pi}, {15, 15, 1}, {16, 17, 0.1}, {10, 10, 1e-4},
		{15, 16, 0}, {18, 17, 0}, {20, 21, 0}, {5, 5, 1e-9}, {1, 1 + 1e-9, 0}, {0, 1e-9, 0}, {0, 0, 0},
	} {
		x, y := at(c.a, c.phi), at(c.b, 0)
		h, g := math.Sinh((c.a-c.b)/2), math.Sin(c.phi/2)
		want := 2 * math.Asinh(math.Sqrt(h*h+math.Sinh(c.a)*math.Sinh(c.b)*g*g))
		r, err := s.Log(x, y)
		if err != nil {
			t.Errorf("%v: %v", c, err)
			continue
		}
		if off := math.Abs(r.Length - want); off > 1e-15*(1+want)*math.Exp(max(c.a, c.b)) || want > 0 && min(c.a, c.b) == 0 && off > 1e-15*(want+1) || math.IsNaN(r.Residual) {
			t.Errorf("%v: %v, off by %g", c, r, off)
		}
	}
}
