package manifold_test

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
)

func TestMain(m *testing.M) {
	geomtest.Main(m, geomtest.Plain,
		TestEllipsoidAgainstGeographiclib, TestLogOnAThinTorus, TestSphereGreatCircle)
}

// tilted evaluates a function of a chart at coordinates (0.2, 0.1, 0.2, …), not its centre, for every centre.
func tilted(t *testing.T, m geom.Charted, f func(chart geom.Chart, x *Node) *Node, centres ...[]float64) engine.Values {
	t.Helper()
	x := make([][]float64, len(centres))
	for i := range x {
		for k := range m.Dim() {
			x[i] = append(x[i], 0.2/float64(1+k%2))
		}
	}
	out, err := engine.Run(func(c, x *Node) []*Node { // the points with the values, in this order
		chart := m.Chart(c)
		return []*Node{f(chart, x), chart.Point(x)}
	}, centres, x)
	return expect.Must(out, err)
}
