package morpho

import (
	"slices"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
)

// The nearest of (0,0), (3,4), (3,5) are 5, 1 and 1 away; the order does not matter, and space is as good as the plane.
func TestNearestSpacing(t *testing.T) {
	for _, points := range []shape.Shape{{{0, 0}, {3, 4}, {3, 5}}, {{3, 5, 1}, {0, 0, 1}, {3, 4, 1}}} {
		expect.Abs(t, "spacing", NearestSpacing(points), 7.0/3, 1e-15)
	}
}

// Each point is the farthest from those before it.
func TestSpread(t *testing.T) {
	var line [][]float64
	for k := range 9 {
		line = append(line, []float64{float64(k), 0})
	}
	for _, c := range []struct {
		n      int
		others [][]float64
		want   []int
	}{{4, nil, []int{0, 8, 4, 2}}, {3, [][]float64{{7, 1}, {1, 0}}, []int{4, 6, 8}}, {0, nil, []int{}}} {
		if got := Spread(line, c.n, c.others...); !slices.Equal(got, c.want) {
			t.Errorf("%d points beside %v: %v, want %v", c.n, c.others, got, c.want)
		}
	}
	if got := Spread([][]float64{{1, 1}, {1, 1}, {2, 1}}, 3); !slices.Equal(got, []int{0, 2, 1}) {
		t.Errorf("of two points at one place %v", got)
	}
	panics(t, func() { Spread(line, 10) }, "spread: 10 of 9 points")
}
