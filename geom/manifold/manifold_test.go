package manifold_test

import (
	"math"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
)

func TestMain(m *testing.M) { geomtest.Main(m) }

// near compares numbers to a tolerance relative to the larger of 1 and the wanted one.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %.15g, want %.15g to %.1g", what, got, want, tolerance)
	}
}

func nearVector(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if d := floats.Distance(got, want, 2); !(d <= tolerance*max(1, floats.Norm(want, 2))) {
		t.Errorf("%s: %.12g, want %.12g, %.2g off", what, got, want, d)
	}
}

// must is the result of a Space.
func must[T any](t *testing.T, result T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// refused expects an error with a word in it.
func refused(t *testing.T, what string, err error, word string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), word) {
		t.Errorf("%s: error %v, want one that says %q", what, err, word)
	}
}

// tilted evaluates a function of a chart at coordinates (0.2, 0.1, 0.2, …), not its centre, for every centre.
func tilted(t *testing.T, m geom.Atlas, f func(chart geom.Chart, x *Node) *Node, centres ...[]float64) engine.Values {
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
	return must(t, out, err)
}
