package lie_test

import (
	"fmt"
	"math"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/lie"
	"anatomy/geom/stats"
)

// With an inner product that does not mix rotations and translations, and is the same in all directions, motions are a product: a
// geodesic turns at a constant rate about one axis, and its translation is a straight line, however long. Others have no closed forms.
func TestMotionsThatAreProducts(t *testing.T) {
	t.Parallel()
	diagonal := func(a ...float64) [][]float64 {
		out := make([][]float64, len(a))
		for i := range a {
			out[i] = make([]float64, len(a))
			out[i][i] = a[i]
		}
		return out
	}
	mixed := diagonal(1, 1, 1)
	mixed[0][1], mixed[1][0] = 0.1, 0.1
	skewed := diagonal(1, 2, 2)
	skewed[1][2], skewed[2][1] = 0.1, 0.1
	for _, c := range []struct {
		name   string
		g      *lie.Group
		a      [][]float64
		right  bool
		closed bool
	}{
		{"standard SE(2)", lie.SE(2), nil, false, true},
		{"SE(2), a degree is a millimetre", lie.SE(2), diagonal(math.Pow(180/math.Pi, 2), 1, 1), false, true},
		{"SE(2), right", lie.SE(2), nil, true, false},
		{"SE(2), two units of length", lie.SE(2), diagonal(1, 1, 2), false, false},
		{"SE(2), oblique", lie.SE(2), skewed, false, false},
		{"SE(2), mixed", lie.SE(2), mixed, false, false},
		{"standard SE(3)", lie.SE(3), nil, false, true},
		{"SE(3), an axis that turns more easily", lie.SE(3), diagonal(1, 1, 2, 1, 1, 1), false, false},
		{"standard SE(4)", lie.SE(4), nil, false, true},
		{"standard Affine(2)", lie.Affine(2), nil, false, false},
		{"standard GL(2)", lie.GL(2), nil, false, false},
	} {
		m, err := c.g.LeftInvariant(c.a)
		if c.right {
			m, err = c.g.RightInvariant(c.a)
		}
		if _, closed := expect.Must(m, err).(geom.ClosedTransport); closed != c.closed {
			t.Errorf("%s has closed forms: %t, want %t", c.name, closed, c.closed)
		}
	}
	degrees := expect.Must(lie.SE(2).LeftInvariant(diagonal(9, 2, 2)))
	geomtest.Run(t, degrees, lie.SE(2).Identity(), motion(0.8, 2, -1))
	s := geom.On(expect.Must(lie.SE(2).LeftInvariant(nil)))
	for _, far := range []float64{1, 100, 300, 1e3, 1e8} {
		g := expect.Must(s.Log(motion(0.2, 0, 0), motion(0.9, 0.6*far, 0.8*far)))
		name := fmt.Sprintf("translation of %g", far)
		expect.Rel(t, name+": length", g.Length, math.Hypot(0.7, far), 1e-14)
		expect.Abs(t, name+": end", g.End, motion(0.9, 0.6*far, 0.8*far), 1e-15*far+1e-14)
		if g.Err() != nil {
			t.Errorf("%s: %v", name, g.Err())
		}
	}
	for _, k := range []float64{1, 100, 1e5} {
		mean := expect.Must(stats.FrechetMean(s, [][]float64{motion(0.3, 0, 0), motion(0.5, 2*k, k), motion(-0.2, k, -k)}))
		expect.Abs(t, fmt.Sprintf("mean of poses %g apart", k), mean.Point, motion(0.2, k, 0), 1e-6*k)
		expect.Abs(t, fmt.Sprintf("its rotation, %g", k), mean.Point[0], math.Cos(0.2), 1e-6*k)
	}
}

// motion is a rotation by an angle and a translation.
func motion(angle, x, y float64) []float64 {
	return []float64{math.Cos(angle), -math.Sin(angle), x, math.Sin(angle), math.Cos(angle), y, 0, 0, 1}
}
