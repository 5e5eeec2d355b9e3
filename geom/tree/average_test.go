package tree

import (
	"math"
	"testing"

	"anatomy/geom/geomtest/expect"
)

// Ultrametric distances give back their tree; of others the heights are the mean distances by hand.
func TestAverage(t *testing.T) {
	names := []string{"a b", "c", "d", "e"}
	got := expect.Must(Average(names, [][]float64{{0, 2, 6, 6}, {2, 0, 6, 6}, {6, 6, 0, 4}, {6, 6, 4, 0}}))
	height := got.Height()
	shared := expect.Must(got.Shared())
	for a, i := range got.Leaves() {
		expect.Abs(t, "height of "+got.Name[i], height[i], 3, 1e-12)
		for b, j := range got.Leaves() {
			want := map[string]float64{"a bc": 2, "ca b": 2, "de": 1, "ed": 1}[got.Name[i]+got.Name[j]]
			if a != b {
				expect.Abs(t, "shared by "+got.Name[i]+" and "+got.Name[j], shared[a][b], want, 1e-12)
			}
		}
	}
	other := expect.Must(Average([]string{"a", "b", "c"}, [][]float64{{0, 1, 3}, {1, 0, 7}, {3, 7, 0}}))
	expect.Abs(t, "height of the root", other.Height()[other.Leaves()[0]], 2.5, 1e-12)
	_, err := Average(names[:2], [][]float64{{0, 1}, {2, 0}})
	expect.Refused(t, err, "the distance from a b to c is 1, and back 2")
	_, err = Average(names[:2], [][]float64{{0, math.NaN()}, {math.NaN(), 0}})
	expect.Refused(t, err, "NaN")
	_, err = Average(names[:1], nil)
	expect.Refused(t, err, "at least 2")
}
