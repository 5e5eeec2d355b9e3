package stats_test

import (
	"context"
	"math"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// Two landmarks on a line do not pass each other: no geodesic leads from the one group to the other, and a test that needs one
// does not say that it converged.
func TestPermutationOfUnreachable(t *testing.T) {
	space := landmarks.New(2, 1, kernels.Gaussian(1))
	group := func(left, right float64) (samples [][][]float64) {
		for _, shift := range []float64{-0.01, 0, 0.01} {
			samples = append(samples, [][]float64{{left + shift}, {right + shift}})
		}
		return samples
	}
	a, b := group(0, 1), group(1, 0)
	for _, statistic := range []stats.Statistic{stats.MeanDistance, stats.TangentMeanDistance, stats.Dispersion} {
		c, err := stats.PermutationTest(space, a, b, statistic, 2, 1)
		if err == nil && c.Status == geom.Converged {
			t.Errorf("%s: %v", statistic, c)
		}
	}
}

// A statistic that is no number is an error, and not the basis of a P: here vectors have lengths, and their difference has none.
func TestPermutationOfInfinity(t *testing.T) {
	line := geom.On(manifold.Euclidean(1))
	var x [][]float64
	for i := range 8 {
		x = append(x, []float64{1.3e154 - 2.6e154*float64(i/4)})
	}
	c, err := stats.PermutationTest(line, x[:4], x[4:], stats.TangentMeanDistance, 19, 1)
	if err == nil || !strings.Contains(err.Error(), "the tangent distance of the means is +Inf") {
		t.Errorf("%v, %v, want an error", c, err)
	}
}

// Times are measured from any day and in any unit: the curve, its fit and its velocity by the unit are the same.
func TestRegressionOfAnyTimes(t *testing.T) {
	sphere := geom.On(manifold.Sphere(2))
	noise := normal(21, 6, 3)
	var samples [][]float64
	times := []float64{0, 1, 2, 3, 5, 6}
	for i, s := range times {
		x := []float64{math.Cos(0.2*s) + 0.01*noise[i][0], math.Sin(0.2*s) + 0.01*noise[i][1], 0.01 * noise[i][2]}
		point, _, err := sphere.Project(x)
		samples = append(samples, expect.Must(point, err))
	}
	want, err := stats.Regress(sphere, times, samples)
	want = expect.Must(want, err)
	for _, c := range []struct{ origin, unit float64 }{
		{1e12, 1}, {-1e15, 1}, {2026, 1.0 / 1024}, {0, 0x1p515}, {0, 0x1p-515}, {0, 0x1p1000}, {0, 0x1p-1000}, {1 << 52, 1}, {0x1p1023, 0x1p972},
	} {
		moved := make([]float64, len(times))
		for i := range times {
			moved[i] = c.origin + c.unit*times[i]
		}
		got, err := stats.Regress(sphere, moved, samples)
		if err != nil {
			t.Errorf("from %g in units of %g: %v", c.origin, c.unit, err)
			continue
		}
		at, err := got.At(sphere, moved...)
		at = expect.Must(at, err)
		for i := range samples {
			for k := range at[i] {
				if math.Abs(at[i][k]-want.Fitted[i][k]) > 1e-7 || math.Abs(got.Fitted[i][k]-want.Fitted[i][k]) > 1e-7 {
					t.Errorf("from %g in units of %g: at time %d %v, fitted %v, want %v", c.origin, c.unit, i, at[i], got.Fitted[i], want.Fitted[i])
					break
				}
			}
		}
		// The mean of the times is rounded where they are far from 0: γ' is given elsewhere on the same curve.
		speed := math.Hypot(math.Hypot(got.Velocity[0]*c.unit, got.Velocity[1]*c.unit), got.Velocity[2]*c.unit)
		if wanted := floats.Norm(want.Velocity, 2); math.Abs(speed-wanted) > 1e-7 {
			t.Errorf("from %g in units of %g: speed %g, want %g of them", c.origin, c.unit, speed, wanted)
		}
		if math.Abs(got.R2-want.R2) > 1e-9 || got.Status != want.Status {
			t.Errorf("from %g in units of %g: %v, want %v", c.origin, c.unit, got, want)
		}
	}
	// Of samples of no weight nothing is learned; units that are too small for velocities are refused.
	for want, err := range map[string]error{
		"all times are 1e+12": expect.Error(stats.Regress(sphere, []float64{1e12, 1e12, 1e12, 1e12, 1e12, 1e12}, samples)),
		"all times are 0.3":   expect.Error(stats.Regress(sphere, []float64{0.1, 0.3, 0.3, 0.3, 0.3, 0.3}, samples, stats.Weights([]float64{0, 1, 1, 1, 1, 1}))),
		"take another unit":   expect.Error(stats.Regress(sphere, []float64{0, 5e-324, 1e-323, 0, 0, 0}, samples)),
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want an error with %q, got %v", want, err)
		}
	}
}

// Geodesics of x = tan s, whose lengths are those of s, leave the line for the samples that the tangent space at their mean
// predicts: the regression has no start, and says so.
func TestRegressionThatCannotStart(t *testing.T) {
	line := geom.On(geom.MetricFunc(1, func(x *Node) *Node { return ExpandAxes(Reciprocal(Square(OnePlus(Square(x)))), -1) }))
	var times []float64
	var samples [][]float64
	for i := range 11 {
		times = append(times, float64(i/5))
		samples = append(samples, []float64{math.Tan(1.1) * math.Copysign(1, float64(i)-4.5)})
	}
	_, err := stats.Regress(line, times, samples)
	expect.Refused(t, err, "geodesic regression", "where the search starts")
}

// Principal geodesics explain distances; those of a mean with Mismatch hold noise besides, and it is refused.
func TestPrincipalGeodesicsOfMismatch(t *testing.T) {
	plane := geom.On(manifold.Euclidean(2))
	for _, x := range [][][]float64{normal(3, 6, 2), {{1, 0}, {-1, 0}}} {
		mean := expect.Must(stats.FrechetMean(plane, x, stats.Mismatch(0.5)))
		_, err := stats.PrincipalGeodesics(plane, x, mean, 1)
		expect.Refused(t, err, "principal geodesics", "Mismatch")
	}
}

// Principal geodesics lead through the Fréchet mean.
func TestPrincipalGeodesicsOfMedian(t *testing.T) {
	plane := geom.On(manifold.Euclidean(2))
	x := normal(3, 6, 2)
	_, err := stats.PrincipalGeodesics(plane, x, expect.Must(stats.Median(plane, x)), 1)
	expect.Refused(t, err, "principal geodesics", "not their median")
}

// What is computed from a mean is no better than the mean.
func TestStatusOfWorst(t *testing.T) {
	round := geom.On(manifold.Sphere(2))
	x := sphere(31, 9)
	mean := expect.Must(stats.FrechetMean(round, x, stats.MaxIterations(1)))
	if mean.Status != geom.MaxIterations {
		t.Fatalf("%v", mean)
	}
	if p := expect.Must(stats.TangentPCA(mean)); p.Status != geom.MaxIterations {
		t.Errorf("tangent PCA: %s", p.Status)
	}
	if p := expect.Must(stats.PrincipalGeodesics(round, x, mean, 1)); p.Status != geom.MaxIterations {
		t.Errorf("principal geodesics: %s", p.Status)
	}
	space := landmarks.New(2, 1, kernels.Gaussian(1))
	crossing := [][][]float64{{{0}, {1}}, {{0.01}, {1.01}}, {{-0.01}, {1}}, {{1}, {0}}}
	times := []float64{0, 1, 2, 3}
	between := expect.Must(stats.FrechetMean(space, crossing))
	r, err := stats.Regress(space, times, crossing)
	if err == nil && r.Status < between.Status {
		t.Errorf("regression: %s, its mean: %s", r.Status, between.Status)
	}
}

// A test that is stopped has only statistics that were computed to the end.
func TestPermutationStops(t *testing.T) {
	x := sphere(31, 8)
	want := expect.Must(stats.PermutationTest(geom.On(manifold.Sphere(2)), x[:4], x[4:], stats.MeanDistance, 40, 1))
	for limit := 40; limit < 400; limit += 37 {
		ctx := &countdown{Context: context.Background(), left: limit}
		got, err := stats.PermutationTest(geom.On(manifold.Sphere(2), geom.Context(ctx)), x[:4], x[4:], stats.MeanDistance, 40, 1)
		if err != nil {
			t.Errorf("stopped after %d looks: %v", limit, err)
			continue
		}
		expect.Abs(t, "the permutations before the stop", got.Permuted, want.Permuted[:len(got.Permuted)], 1e-12)
	}
}

// countdown is a context that ends after it was looked at so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// Weights are shares whatever their unit; numbers that double precision cannot square, and means that are not whole, are refused.
func TestExtremeOptions(t *testing.T) {
	plane := geom.On(manifold.Euclidean(2))
	x := normal(3, 4, 2)
	tiny := expect.Must(stats.Median(plane, x, stats.Weights([]float64{5e-324, 5e-324, 5e-324, 5e-324})))
	expect.Abs(t, "equal weights", tiny.Weights, []float64{0.25, 0.25, 0.25, 0.25}, 0)
	for _, sigma := range []float64{1e300, 1e-300} {
		expect.Refused(t, expect.Error(stats.FrechetMean(plane, x, stats.Mismatch(sigma))), "whose square is one")
	}
	mean := *expect.Must(stats.FrechetMean(plane, x))
	mean.Weights = nil
	expect.Refused(t, expect.Error(stats.TangentPCA(&mean)), "4 velocities, 4 momenta and 0 weights")
}
