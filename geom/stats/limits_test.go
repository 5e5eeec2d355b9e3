package stats_test

import (
	"context"
	"math"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// Two landmarks on a line do not pass each other: no geodesic leads from the one group to the other, and a test that needs one
// does not say that it converged.
func TestPermutationOfUnreachable(t *testing.T) {
	doubling := landmarks.New(2, 1, kernels.Gaussian(1)) // its steps, as long as an end moves
	fixed := landmarks.New(2, 1, kernels.Gaussian(1), geom.Integrator(ode.RK4, 10))
	group := func(left, right float64) (samples []geom.Shape) {
		for _, shift := range []float64{-0.01, 0.01} {
			samples = append(samples, [][]float64{{left + shift}, {right + shift}})
		}
		return samples
	}
	a, b := group(0, 1), group(1, 0)
	for i, statistic := range []stats.Statistic{stats.MeanDistance, stats.TangentMeanDistance, stats.Dispersion} {
		space := fixed
		if i == 1 { // once: every doubling of the steps is another program
			space = doubling
		}
		c, err := compare(space, [][]geom.Shape{a, b}, statistic, 1, 1)
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
	c, err := compare(line, [][][]float64{x[:4], x[4:]}, stats.TangentMeanDistance, 19, 1)
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
	want, err := stats.Regress(sphere, samples, along(times))
	want = expect.Must(want, err)
	for _, c := range []struct{ origin, unit float64 }{
		{1e12, 1}, {-1e15, 1}, {2026, 1.0 / 1024}, {0, 0x1p515}, {0, 0x1p-515}, {0, 0x1p1000}, {0, 0x1p-1000}, {1 << 52, 1}, {0x1p1023, 0x1p972},
	} {
		moved := make([]float64, len(times))
		for i := range times {
			moved[i] = c.origin + c.unit*times[i]
		}
		got, err := stats.Regress(sphere, samples, along(moved))
		if err != nil {
			t.Errorf("from %g in units of %g: %v", c.origin, c.unit, err)
			continue
		}
		for i := range samples {
			at := expect.Must(got.At(sphere, moved[i]))
			for k := range at {
				if math.Abs(at[k]-want.Fitted[i][k]) > 1e-7 || math.Abs(got.Fitted[i][k]-want.Fitted[i][k]) > 1e-7 {
					t.Errorf("from %g in units of %g: at time %d %v, fitted %v, want %v", c.origin, c.unit, i, at, got.Fitted[i], want.Fitted[i])
					break
				}
			}
		}
		// The mean of the times is rounded where they are far from 0: γ' is given elsewhere on the same curve.
		v := got.Velocities[0]
		speed := math.Hypot(math.Hypot(v[0]*c.unit, v[1]*c.unit), v[2]*c.unit)
		if wanted := floats.Norm(want.Velocities[0], 2); math.Abs(speed-wanted) > 1e-7 {
			t.Errorf("from %g in units of %g: speed %g, want %g of them", c.origin, c.unit, speed, wanted)
		}
		if math.Abs(got.R2-want.R2) > 1e-9 || got.Status != want.Status {
			t.Errorf("from %g in units of %g: %v, want %v", c.origin, c.unit, got, want)
		}
	}
	// Of samples of no weight nothing is learned; units that are too small for velocities are refused.
	for want, err := range map[string]error{
		"the term c0 adds nothing":    expect.Error(stats.Regress(sphere, samples, along([]float64{1e12, 1e12, 1e12, 1e12, 1e12, 1e12}))),
		"the term c0 adds nothing to": expect.Error(stats.Regress(sphere, samples, along([]float64{0.1, 0.3, 0.3, 0.3, 0.3, 0.3}), stats.Weights([]float64{0, 1, 1, 1, 1, 1}))),
		"take another unit":           expect.Error(stats.Regress(sphere, samples, along([]float64{0, 5e-324, 1e-323, 0, 0, 0}))),
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
	_, err := stats.Regress(line, samples, along(times))
	expect.Refused(t, err, "geodesic regression", "where the search starts")
}

// A sample of weight 0 is as if it were not there, also where no logarithm leads to it, as to the antipode of a mean; if one does, it
// has the distance and the logarithm from the result.
func TestWithoutWeight(t *testing.T) {
	round := geom.On(manifold.Sphere(2))
	at := func(angle, up float64) []float64 {
		return []float64{math.Sin(angle) * math.Cos(up), math.Sin(up), math.Cos(angle) * math.Cos(up)}
	}
	x := [][]float64{at(-0.1, 0.02), at(-0.05, -0.04), at(0.06, 0.01), at(0.12, -0.03)}
	times := []float64{0, 1, 2, 3}
	full := expect.Must(stats.FrechetMean(round, x, stats.Weights([]float64{1, 2, 2, 1})))
	antipode := floats.ScaleTo(make([]float64, 3), -1, full.Point)
	all := [][]float64{antipode, x[0], x[1], at(0.3, 0.2), x[2], x[3]}
	weights := []float64{0, 1, 2, 0, 2, 1}
	none := func(what string, v ...float64) {
		t.Helper()
		for _, v := range v {
			if !math.IsNaN(v) {
				t.Errorf("%s: %g, want NaN", what, v)
			}
		}
	}

	mean := expect.Must(stats.FrechetMean(round, all, stats.Weights(weights)))
	converged(t, "mean", mean.Status)
	expect.Abs(t, "mean", mean.Point, full.Point, 0)
	expect.Abs(t, "distances", mean.Distances[4:], full.Distances[2:], 0)
	expect.Abs(t, "distance of a sample without weight", mean.Distances[3], arc(all[3], mean.Point), 1e-9)
	expect.Abs(t, "variance", mean.Variance, full.Variance, 0)
	none("logarithm of the antipode", append(mean.Momenta[0], mean.Velocities[0]...)...)

	want := expect.Must(stats.MeanUncertainty(round, full))
	expect.Abs(t, "variances of the mean", expect.Must(stats.MeanUncertainty(round, mean)).Variances, want.Variances, 1e-15)
	components := expect.Must(stats.TangentPCA(mean))
	expect.Abs(t, "modes", components.Modes, expect.Must(stats.TangentPCA(full)).Modes, 1e-12)
	expect.Abs(t, "score", components.Scores[3][0], floats.Dot(components.Momenta[0], mean.Velocities[3]), 0)
	none("scores of the antipode", components.Scores[0]...)

	line := expect.Must(stats.Regress(round, x, along(times), stats.Weights([]float64{1, 2, 2, 1})))
	middle, end := expect.Must(line.At(round, 1.5)), expect.Must(line.At(round, 7))
	all[0] = floats.ScaleTo(make([]float64, 3), -1, middle)
	r := expect.Must(stats.Regress(round, all, along([]float64{1.5, 0, 1, 7, 2, 3}), stats.Weights(weights)))
	converged(t, "regression", r.Status)
	expect.Abs(t, "velocity", r.Velocities, line.Velocities, 1e-12)
	expect.Abs(t, "residuals", r.Residuals[4:], line.Residuals[2:], 1e-12)
	expect.Abs(t, "fit without weight", r.Fitted[3], end, 1e-12)
	expect.Abs(t, "its residual", r.Residuals[3], arc(end, all[3]), 1e-9)
	expect.Abs(t, "its miss", floats.Norm(r.Misses[3], 2), r.Residuals[3], 1e-9)
	none("residual of the antipode", r.Residuals[0])
}

// What is computed from a mean is no better than the mean: of the regression only the search for its mean has not converged.
func TestStatusOfWorst(t *testing.T) {
	round, x, limit := geom.On(manifold.Sphere(2)), sphere(32, 12), stats.MaxIterations(3)
	mean, exact := expect.Must(stats.FrechetMean(round, x, limit)), expect.Must(stats.FrechetMean(round, x))
	if mean.Status != geom.IterationLimit {
		t.Fatalf("%v", mean)
	}
	if p := expect.Must(stats.TangentPCA(mean)); p.Status != geom.IterationLimit {
		t.Errorf("tangent PCA: %s", p.Status)
	}
	times := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	converged(t, "regression from the exact mean", expect.Must(stats.Regress(round, x, along(times), limit, stats.Start(exact.Point))).Status)
	if r := expect.Must(stats.Regress(round, x, along(times), limit)); r.Status != geom.IterationLimit {
		t.Errorf("regression: %s", r.Status)
	}
}

// A test that is stopped has only statistics that were computed to the end.
func TestPermutationStops(t *testing.T) {
	x := sphere(31, 8)
	want := expect.Must(compare(geom.On(manifold.Sphere(2)), [][][]float64{x[:4], x[4:]}, stats.MeanDistance, 40, 1))
	for limit := 40; limit < 400; limit += 37 {
		ctx := &geomtest.Countdown{Context: context.Background(), Left: limit}
		got, err := compare(geom.On(manifold.Sphere(2), geom.Context(ctx)), [][][]float64{x[:4], x[4:]}, stats.MeanDistance, 40, 1)
		if err != nil {
			t.Errorf("stopped after %d looks: %v", limit, err)
			continue
		}
		expect.Abs(t, "the permutations before the stop", got.Permuted, want.Permuted[:len(got.Permuted)], 1e-12)
	}
}

// Weights are shares whatever their unit; numbers that double precision cannot square, and means that are not whole, are refused.
func TestExtremeOptions(t *testing.T) {
	plane := geom.On(manifold.Euclidean(2))
	x := normal(3, 4, 2)
	tiny := expect.Must(stats.FrechetMean(plane, x, stats.Weights([]float64{5e-324, 5e-324, 5e-324, 5e-324})))
	expect.Abs(t, "equal weights", tiny.Weights, []float64{0.25, 0.25, 0.25, 0.25}, 0)
	for _, sigma := range []float64{1e300, 1e-300} {
		expect.Refused(t, expect.Error(stats.FrechetMean(plane, x, stats.RelativeNoise(sigma))), "whose square is neither 0 nor infinite")
	}
	mean := *expect.Must(stats.FrechetMean(plane, x))
	mean.Weights = nil
	expect.Refused(t, expect.Error(stats.TangentPCA(&mean)), "4 velocities, 4 momenta and 0 weights")
}
