package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// On a flat ellipsoid, where 25 steps are too few, means, medians, regressions and principal geodesics are those by 100 steps, whose error is
// 256 times smaller, to 1e-4 of the standard deviation, and converge to their tolerances, though the steps change on the way. With 25
// steps they are not.
func TestStepsOfStatistics(t *testing.T) {
	t.Parallel()
	axes := []float64{0.3, 1, 1}
	m := manifold.Ellipsoid(axes...)
	settled, fine, coarse := geom.On(m), geom.On(m, geom.Integrator(ode.RK4, 100)), geom.On(m, geom.Integrator(ode.RK4, 25))
	r := rand.New(rand.NewPCG(11, 1))
	var x [][]float64
	age := []float64{1, 2, 4, 3, 5}
	for range 5 {
		z := []float64{2 * r.NormFloat64(), 0.5 * r.NormFloat64(), 0.6 + 0.5*r.Float64()}
		floats.Scale(1/floats.Norm(z, 2), z)
		floats.Mul(z, axes)
		x = append(x, z)
	}
	mean := expect.Must(stats.FrechetMean(fine, x))
	size := mean.Distances[floats.MaxIdx(mean.Distances)]
	off := func(what string, on *geom.Space[geom.Vec]) (worst float64) {
		compare := func(status geom.Status, got, want []float64) {
			if on == settled && status != geom.Converged {
				t.Errorf("%s: %s", what, status)
			}
			worst = max(worst, floats.Distance(got, want, 2)/size)
		}
		switch what {
		case "mean":
			got := expect.Must(stats.FrechetMean(on, x))
			compare(got.Status, append(got.Distances, got.Point...), append(mean.Distances, mean.Point...))
		case "median":
			got, want := expect.Must(stats.Median(on, x)), expect.Must(stats.Median(fine, x))
			compare(got.Status, append(got.Distances, got.Point...), append(want.Distances, want.Point...))
		case "regression":
			terms := linear.Terms{linear.Covariate("age", age...)}
			got, want := expect.Must(stats.Regress(on, x, terms)), expect.Must(stats.Regress(fine, x, terms))
			compare(got.Status, append(got.Residuals, got.Point...), append(want.Residuals, want.Point...))
		case "principal geodesic":
			got, want := expect.Must(stats.PrincipalGeodesics(on, x, expect.Must(stats.FrechetMean(on, x)), 1)), expect.Must(stats.PrincipalGeodesics(fine, x, mean, 1))
			compare(got.Status, append(got.Explained, got.Modes[0]...), append(want.Explained, want.Modes[0]...))
		}
		return worst
	}
	for _, what := range []string{"mean", "median", "regression", "principal geodesic"} {
		good, bad := off(what, settled), off(what, coarse)
		t.Logf("%s: off by %.2g, with 25 steps by %.2g", what, good, bad)
		if good > 1e-4 || bad < 1.2e-4 {
			t.Errorf("%s: off by %.2g of the largest distance, with 25 steps by %.2g", what, good, bad)
		}
	}
}

// The same with Mismatch, of landmarks that move by many widths of their kernel.
func TestStepsWithMismatch(t *testing.T) {
	t.Parallel()
	s := landmarks.New(4, 2, kernels.Gaussian(1))
	fine := s.With(geom.Integrator(ode.RK4, 100))
	q := geom.Shape{{0, 0}, {1, 0}, {1, 1}, {0, 1}}
	x := []geom.Shape{q, expect.Must(fine.Exp(q, geom.Shape{{15, 0}, {50, 5}, {50, 50}, {0, 30}})).End}
	deviation := func(on *landmarks.Space) float64 {
		m := expect.Must(stats.FrechetMean(on, x, stats.Mismatch(0.05), stats.Tolerance(1e-4)))
		if m.Status != geom.Converged {
			t.Error(m)
		}
		return math.Sqrt(m.Variance)
	}
	want := deviation(fine)
	good, bad := math.Abs(deviation(s)/want-1), math.Abs(deviation(s.With(geom.Integrator(ode.RK4, 25)))/want-1)
	t.Logf("off by %.2g, with 25 steps by %.2g", good, bad)
	if good > 1e-4 || bad < 1.5e-4 {
		t.Errorf("off by %.2g, with 25 steps by %.2g", good, bad)
	}
}
