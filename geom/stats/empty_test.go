package stats

import (
	"slices"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
)

// A mean to which no sample is near, which hardly happens by k-means++, takes the sample that is furthest from its own: here 20, and then 9.
func TestKMeansWithoutSamples(t *testing.T) {
	r := expect.Must(newRun("k-means", geom.On(manifold.Euclidean(1)), 0, nil))
	defer r.End()
	c := &clustering{x: [][]float64{{0}, {1}, {2}, {9}, {10}, {20}}, y: [][]float64{{1}, {11}, {100}, {-100}}, of: []int{-1, -1, -1, -1, -1, -1}}
	expect.Must(0, r.rounds(c))
	c.canonical()
	expect.Must(r.settled(c))
	if !slices.Equal(c.of, []int{0, 0, 0, 1, 2, 3}) || c.status != geom.Converged {
		t.Errorf("%d, %s", c.of, c.status)
	}
}
