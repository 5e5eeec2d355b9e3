package morpho

import (
	"testing"

	"anatomy/geom/geomtest/expect"
)

// The nearest of (0,0), (3,4), (3,5) are 5, 1 and 1 away; the order does not matter, and space is as good as the plane.
func TestNearestSpacing(t *testing.T) {
	for _, points := range [][][]float64{{{0, 0}, {3, 4}, {3, 5}}, {{3, 5, 1}, {0, 0, 1}, {3, 4, 1}}} {
		expect.Abs(t, "spacing", NearestSpacing(points), 7.0/3, 1e-15)
	}
}
