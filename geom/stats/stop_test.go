package stats_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// Wherever a computation is stopped it says that it was cancelled, and nothing of the samples, or it was at its end. These are stopped at
// their k-th look at the context, for k all through them, and closely where they search for shorter logarithms, after the last report
// of an iteration.
func TestStopsAnywhere(t *testing.T) {
	cylinder := geom.On(manifold.Cylinder(1), geom.Integrator(ode.RK4, 2))
	line := landmarks.New(2, 1, kernels.Gaussian(1), geom.Integrator(ode.RK4, 5)).OnNumbers()
	// As in TestRegressionOnCylinder, where a sample comes to lie beyond a cut locus.
	angles := onCylinder(-79, 38, -60, -77, -96, 17, 172, 97, 144, 136, 94, 140)
	times := []float64{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}
	pairs := [][]float64{{0, 1}, {0.1, 1.3}, {-0.2, 0.9}, {0, 1.5}, {0.05, 0.8}, {0.3, 1.2}}
	tracks := make([]stats.Track[geom.Vec], 2)
	for i := range tracks {
		tracks[i] = stats.Track[geom.Vec]{Times: []float64{0, 1, 2}, Points: onCylinder(10*float64(i), 20, 50-10*float64(i))}
	}
	type space = *geom.Space[geom.Vec]
	type result struct {
		status geom.Status
		values []float64
	}
	mean := func(m *stats.Mean[geom.Vec], err error) (result, error) {
		if err != nil {
			return result{}, err
		}
		return result{m.Status, append(m.Distances, m.Point...)}, nil
	}
	regression := func(r *stats.Regression[geom.Vec], err error) (result, error) {
		if err != nil {
			return result{}, err
		}
		return result{r.Status, append(r.Residuals, r.Velocities[0]...)}, nil
	}
	comparison := func(c *stats.Comparison[geom.Vec], err error) (result, error) {
		if err != nil {
			return result{}, err
		}
		return result{c.Status, append(c.Permuted, c.Statistic, c.P)}, nil
	}
	for _, c := range []struct {
		name    string
		on      space
		stops   int
		compute func(on space) (result, error)
	}{
		{"mean", cylinder, 3, func(on space) (result, error) { return mean(stats.FrechetMean(on, angles[:4])) }},
		{"mean with mismatch", line, 6, func(on space) (result, error) { return mean(stats.FrechetMean(on, pairs, stats.RelativeNoise(0.1))) }},
		{"regression", cylinder, 3, func(on space) (result, error) { return regression(stats.Regress(on, angles, along(times))) }},
		{"regression with mismatch", line, 10, func(on space) (result, error) {
			return regression(stats.Regress(on, pairs, along([]float64{0, 1, 2, 3, 4, 5}), stats.RelativeNoise(0.1)))
		}},
		{"distance of means", cylinder, 3, func(on space) (result, error) {
			return comparison(compare(on, [][][]float64{angles[:3], angles[6:9]}, stats.MeanDistance, 1, 1))
		}},
		{"tangent distance", cylinder, 3, func(on space) (result, error) {
			return comparison(compare(on, [][][]float64{angles[:3], angles[6:9]}, stats.TangentMeanDistance, 1, 1))
		}},
		{"dispersion", cylinder, 3, func(on space) (result, error) {
			return comparison(compare(on, [][][]float64{angles[:3], angles[6:9]}, stats.Dispersion, 1, 1))
		}},
		{"dispersion with mismatch", line, 6, func(on space) (result, error) {
			return comparison(compare(on, [][][]float64{pairs[:3], pairs[3:]}, stats.Dispersion, 1, 1, stats.RelativeNoise(0.1)))
		}},
		{"covariate beside another", cylinder, 3, func(on space) (result, error) {
			test, err := stats.RegressionTest(on, append(slices.Clone(angles[:3]), angles[6:9]...), along([]float64{0, 0, 0, 1, 1, 1}), along([]float64{0, 1, 2, 0, 1, 2}), linear.Permutations{N: 1, Seed: 1})
			if err != nil {
				return result{}, err
			}
			return result{test.Status, append(test.Permuted, test.Statistic, test.P)}, nil
		}},
		{"growth", cylinder, 3, func(on space) (result, error) {
			g, err := stats.Grow(on, tracks)
			if err != nil {
				return result{}, err
			}
			if g.Slope == nil {
				expect.Refused(t, expect.Error(g.At(on, 1)), "cancelled")
				expect.Refused(t, expect.Error(g.Departure(on, linear.Permutations{N: 9, Seed: 1})), "cancelled")
			}
			return result{g.Status, append(g.Slope, g.StandardError)}, nil
		}},
	} {
		all := &geomtest.Countdown{Context: context.Background(), Left: math.MaxInt}
		looks := func() int { return math.MaxInt - all.Left }
		closely, reported := map[int]bool{}, 0
		want, err := c.compute(c.on.With(geom.Context(all), geom.OnProgress(func(p geom.Progress) {
			if p.Iteration == 0 {
				closely[reported+2], closely[reported+3] = true, true
			}
			reported = looks()
		})))
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		converged(t, c.name, want.status)
		n := looks()
		for k := range n {
			if k%(n/min(n, geomtest.Count((c.stops+1)/2, c.stops))) > 0 && !closely[k] {
				continue
			}
			got, err := c.compute(c.on.With(geom.Context(&geomtest.Countdown{Context: context.Background(), Left: k})))
			switch {
			case err != nil:
				t.Errorf("%s, stopped at look %d of %d: %v", c.name, k, n, err)
			case got.status != geom.Cancelled && !(got.status == geom.Converged && floats.EqualApprox(got.values, want.values, 1e-9)):
				t.Errorf("%s, stopped at look %d of %d: %s, %.4g, want %.4g", c.name, k, n, got.status, got.values, want.values)
			}
		}
	}
}
