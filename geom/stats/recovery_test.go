package stats_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/stochastic"
)

// recovery draws samples of a normal distribution on the manifold as often as there are simulations, and fits a frame bundle mean
// to each. It returns, by the name of a quantity, what was found less what is true in standard errors of the mean over the
// simulations: the mean along the frame, and the covariance, which maximum likelihood finds too small by 1 − 1/N as in flat
// space and by 2σ² on the diagonal (see FrameBundleMean). The frame must be orthogonal in the numbers that stand for points.
func recovery(t *testing.T, space *geom.Space[geom.Vec], u framebundle.Point[geom.Vec], sigma float64, samples, simulations int) map[string]float64 {
	t.Helper()
	drawn, err := stochastic.Development(space, u.X, u.Frame...).Sample(stochastic.Run{Paths: samples * simulations, Steps: 50, Seed: 11})
	if err != nil {
		t.Fatal(err)
	}
	off := map[string][]float64{}
	for k := range simulations {
		m, err := stats.FrameBundleMean(space, drawn[k*samples:(k+1)*samples], len(u.Frame), stats.Noise(sigma))
		if err != nil {
			t.Fatal(k, err)
		}
		if m.Status != geom.Converged {
			t.Errorf("simulation %d: %s", k, m)
		}
		record := func(name string, value float64) { off[name] = append(off[name], value) }
		for a, e := range u.Frame {
			size := floats.Norm(e, 2)
			record("mean along "+string('1'+rune(a)), (floats.Dot(e, m.Point)-floats.Dot(e, u.X))/size)
			for b, f := range u.Frame[:a+1] {
				covariance, want := 0.0, 0.0
				for _, v := range m.Frame {
					covariance += floats.Dot(e, v) * floats.Dot(f, v) / (size * floats.Norm(f, 2))
				}
				if a == b {
					covariance, want = covariance+2*sigma*sigma, size*size
				}
				record("covariance "+string('1'+rune(b))+string('1'+rune(a)), covariance*float64(samples)/float64(samples-1)-want)
			}
		}
	}
	z := map[string]float64{}
	for name, values := range off {
		mean, sd := stat.MeanStdDev(values, nil)
		z[name] = mean / sd * math.Sqrt(float64(simulations))
		t.Logf("%s: %.3g ± %.2g, %.2f standard errors", name, mean, sd/math.Sqrt(float64(simulations)), z[name])
	}
	return z
}

// Mean, frame and scale of a normal distribution on the sphere come back: over 50 simulations of 20 samples, nothing is off by more
// than three standard errors.
func TestFrameBundleMeanRecovers(t *testing.T) {
	space := geom.On(manifold.Sphere(2), geom.Integrator(ode.RK4, 10))
	u := framebundle.At([]float64{0, 0, 1}, []float64{0.3, 0, 0}, []float64{0, 0.15, 0})
	for name, z := range recovery(t, space, u, 0.01, 20, 50) {
		if !(math.Abs(z) < 3) {
			t.Errorf("%s is off by %.2f standard errors", name, z)
		}
	}
}

// The answer put back: paths that another search finds from the mean have derivatives that balance, by their Euclidean norm, too;
// and a tolerance ten times smaller moves mean and frame by less than a twentieth of a standard error.
func TestFrameBundleMeanIsStationary(t *testing.T) {
	space := geom.On(manifold.Sphere(2), geom.Integrator(ode.RK4, 10))
	u := framebundle.At([]float64{0, 0, 1}, []float64{0.5, 0, 0}, []float64{0, 0.25, 0})
	const n, sigma = 20, 0.02
	x, err := stochastic.Development(space, u.X, u.Frame...).Sample(stochastic.Run{Paths: n, Steps: 50, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	fit := func(tolerance float64) *stats.FrameMean[geom.Vec] {
		m, err := stats.FrameBundleMean(space, x, 2, stats.Noise(sigma), stats.Tolerance(tolerance))
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: imbalance %.2g, residual %.2g, %d evaluations", m, m.Imbalance, m.Residual, m.Evaluations)
		if m.Status != geom.Converged || m.Imbalance > tolerance {
			t.Errorf("%s, imbalance %.3g", m, m.Imbalance)
		}
		return m
	}
	m, finer := fit(0.01), fit(0.001)
	for a, v := range u.Frame {
		size := floats.Norm(v, 2)
		if off := math.Abs(floats.Dot(m.Point, v)-floats.Dot(finer.Point, v)) / size; off > 0.05*size/math.Sqrt(n) {
			t.Errorf("the mean moves by %.3g along vector %d", off, a)
		}
		if ratio := m.Variances[a] / finer.Variances[a]; math.Abs(ratio-1) > 0.05*math.Sqrt(2./n) {
			t.Errorf("variance %d changes by the factor %.5f", a, ratio)
		}
	}

	found, err := framebundle.NewProbable(space, x).From(finer.At(), sigma, 1e-14)
	if err != nil {
		t.Fatal(err)
	}
	_, volume, err := framebundle.Over(space).LogVolume(finer.At(), 0)
	if err != nil {
		t.Fatal(err)
	}
	numbers := func(p framebundle.Momentum[geom.Vec]) []float64 {
		return slices.Concat(append([][]float64{p.Horizontal}, p.Vertical...)...)
	}
	gradient, squares := numbers(volume), 0.0
	for _, p := range found.Pull {
		score := floats.SubTo(make([]float64, len(gradient)), numbers(volume), numbers(p))
		squares += floats.Dot(score, score) / (n * n)
		floats.AddScaled(gradient, -1./n, numbers(p))
	}
	if off := floats.Norm(gradient, 2) / math.Sqrt(squares); off > 0.005 {
		t.Errorf("the derivatives of the samples are %.3g standard errors off balance", off)
	}
}
