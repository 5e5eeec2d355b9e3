package stats

import (
	"slices"
	"testing"

	"anatomy/geom"
	"anatomy/geom/manifold"
)

// A mean to which no sample is near, which hardly happens by k-means++, takes the sample that is furthest from its own, here 20, and then
// 9, but not the only one of a mean: 50.
func TestKMeansWithoutSamples(t *testing.T) {
	r := newRun("k-means", geom.On(manifold.Euclidean(1)), 0)
	defer r.End()
	for _, c := range []struct {
		x, y [][]float64
		want []int
	}{
		{[][]float64{{0}, {1}, {2}, {9}, {10}, {20}}, [][]float64{{1}, {11}, {100}, {-100}}, []int{0, 0, 0, 1, 2, 3}},
		{[][]float64{{0}, {1}, {2}, {50}}, [][]float64{{1}, {30}, {100}}, []int{0, 1, 1, 2}},
	} {
		got := &clustering{x: c.x, y: c.y, of: slices.Repeat([]int{-1}, len(c.x))}
		r.rounds(got)
		got.canonical()
		r.settled(got)
		if !slices.Equal(got.of, c.want) || got.status != geom.Converged {
			t.Errorf("%d, %s, want %d", got.of, got.status, c.want)
		}
	}
}
