package stats_test

import (
	"context"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
)

// On a line the clusters are intervals, and the best ones are found among all of these.
func TestKMeansOnLine(t *testing.T) {
	line := geom.On(manifold.Euclidean(1))
	values := []float64{0, 0.3, 0.9, 1.4, 2.2, 2.9, 4.1, 4.4, 5.2, 6.3, 6.4, 7.9}
	var x [][]float64
	for i := range values {
		x = append(x, []float64{values[i*7%12]})
	}
	squares := func(v []float64) (sum float64) {
		mean := floats.Sum(v) / float64(len(v))
		for _, v := range v {
			sum += (v - mean) * (v - mean)
		}
		return sum
	}
	want := math.Inf(1)
	for a := 1; a < 11; a++ {
		for b := a + 1; b < 12; b++ {
			want = min(want, squares(values[:a])+squares(values[a:b])+squares(values[b:]))
		}
	}
	c := expect.Must(stats.KMeans(line, x, 3, 20, 1))
	converged(t, "k-means", c.Status)
	expect.Abs(t, "variance", c.Variance, want/12, 1e-12)
	if c.Starts != 20 || c.Agreed < 2 || c.Of[0] != 0 {
		t.Errorf("%v: %d", c, c.Of)
	}
	all := expect.Must(stats.KMeans(line, x, 12, 1, 1))
	converged(t, "a cluster a sample", all.Status)
	expect.Abs(t, "variance of a cluster a sample", all.Variance, 0, 0)
	expect.Abs(t, "one cluster", expect.Must(stats.KMeans(line, x, 1, 1, 1)).Means[0].Point, expect.Must(stats.FrechetMean(line, x)).Point, 1e-12)
}

// On a sphere clusters are those that samples were drawn in; by arcs alone no sample is nearer to another mean than to its own, and each
// mean is the Fréchet mean of its samples.
func TestKMeansOnSphere(t *testing.T) {
	round := geom.On(manifold.Sphere(2))
	var x [][]float64
	for i, v := range normal(83, 24, 3) {
		floats.Scale(0.2, v)
		v[i%3]++
		floats.Scale(1/floats.Norm(v, 2), v)
		x = append(x, v)
	}
	c := expect.Must(stats.KMeans(round, x, 3, 5, 1))
	converged(t, "k-means", c.Status)
	t.Log(c)
	members, variance := make([][]geom.Vec, 3), 0.0
	for i, m := range c.Of {
		if m != i%3 {
			t.Errorf("sample %d is in cluster %d", i, m)
		}
		members[m] = append(members[m], x[i])
		own := arc(c.Means[m].Point, x[i])
		variance += own * own / 24
		for _, other := range c.Means {
			if arc(other.Point, x[i]) < own*(1-1e-9) {
				t.Errorf("sample %d is nearer to another mean", i)
			}
		}
	}
	expect.Abs(t, "variance", c.Variance, variance, 1e-12)
	for m, mean := range c.Means {
		expect.Abs(t, "mean", mean.Point, expect.Must(stats.FrechetMean(round, members[m])).Point, 1e-8)
	}
	again := expect.Must(stats.KMeans(round, x, 3, 5, 1))
	expect.Abs(t, "the same seed", again.Variance, c.Variance, 0)
	// Five clusters where there are three: local minima, and starts that disagree.
	if five := expect.Must(stats.KMeans(round, x, 5, 8, 1)); five.Variance >= c.Variance || five.Agreed == 8 {
		t.Errorf("%v", five)
	}
	for limit := range 60 {
		if limit%6 > 0 {
			continue
		}
		stopped, err := stats.KMeans(round.With(geom.Context(&geomtest.Countdown{Context: context.Background(), Left: limit})), x, 3, 5, 1)
		if err != nil || stopped.Status != geom.Cancelled && stopped.Variance != c.Variance {
			t.Errorf("stopped at look %d: %v, %v", limit, stopped, err)
		}
	}
	expect.Refused(t, expect.Error(stats.KMeans(round, [][]float64{x[0], x[1], x[0], x[1]}, 3, 2, 1)), "the samples are 2 different points, want at least 3")
	expect.Refused(t, expect.Error(stats.KMeans(round, x[:2], 3, 2, 1)), "3 clusters of 2 samples")
	expect.Refused(t, expect.Error(stats.KMeans(round, x, 2, 0, 1)), "0 starts")
}
