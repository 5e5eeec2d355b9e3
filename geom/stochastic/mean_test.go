package stochastic_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/internal/heat"
	"anatomy/geom/manifold"
	"anatomy/geom/stochastic"
)

// In flat space the diffusion mean is the mean, T the mean squared distance over d, and the likelihood that of a normal
// distribution.
func TestDiffusionMeanInFlatSpace(t *testing.T) {
	samples := [][]float64{{1, 2}, {3, -1}, {0, 0.5}, {2, 2}}
	want := []float64{1.5, 0.875}
	variance := 0.0
	for _, x := range samples {
		variance += math.Pow(floats.Distance(x, want, 2), 2) / float64(2*len(samples))
	}
	for _, p := range []stochastic.Proposal{stochastic.Guided, stochastic.DelyonHu} {
		m := expect.Must(stochastic.DiffusionMean(geom.On(manifold.Euclidean(2)), p, samples, samples[0], stochastic.Run{Paths: 12, Steps: 5}))
		expect.Abs(t, "effective size of 12 paths of equal weight", m.EffectiveSize, 12, 1e-9)
		if m.Status != geom.Converged || floats.Distance(m.Point, want, 2) > 1e-5 || math.Abs(m.Variance-variance) > 1e-5 {
			t.Errorf("proposal %d: %+v, want %v with variance %g", p, m, want, variance)
		}
		expect.Abs(t, "log likelihood", m.LogLikelihood, -1-math.Log(2*math.Pi*variance), 1e-9)
	}
}

var onSphere = stochastic.Run{Paths: 60, Steps: 30, Seed: 32}

// On S² the diffusion mean is the maximum of the likelihood by the heat kernel.
func TestDiffusionMeanOnSphere(t *testing.T) {
	samples := expect.Must(stochastic.Brownian(sphere, pole).Sample(stochastic.Run{Paths: 12, Steps: 50, Time: 0.4, Seed: 31}))
	likelihood := func(x []float64, T float64) float64 {
		sum := 0.0
		for _, v := range samples {
			sum += math.Log(heat.Kernel(T, floats.Dot(x, v))) / float64(len(samples))
		}
		return sum
	}
	point := func(p []float64) []float64 {
		z := []float64{pole[0] + p[0], pole[1] + p[1], pole[2] - (pole[0]*p[0]+pole[1]*p[1])/pole[2]}
		floats.Scale(1/floats.Norm(z, 2), z)
		return z
	}
	best, err := optimize.Minimize(optimize.Problem{Func: func(p []float64) float64 { return -likelihood(point(p), math.Exp(p[2])) }},
		[]float64{0, 0, math.Log(0.4)}, nil, &optimize.NelderMead{})
	if err != nil {
		t.Fatal(err)
	}
	want, variance := point(best.X), math.Exp(best.X[2])
	m := expect.Must(stochastic.DiffusionMean(sphere, stochastic.Guided, samples, samples[0], onSphere))
	t.Logf("%+v, want %v with variance %.4f, log likelihood %.4f", m, want, variance, -best.F)
	// The standard deviation of the mean of J samples is √(T/J): the estimate must be much closer than that.
	if d := floats.Distance(m.Point, want, 2); d > 0.02*math.Sqrt(variance) || m.Status != geom.Converged {
		t.Errorf("mean %v (%s), want %v, distance %.4f", m.Point, m.Status, want, d)
	}
	if math.Abs(m.Variance/variance-1) > 0.01 || math.Abs(m.LogLikelihood+best.F) > 0.005 {
		t.Errorf("variance %.4f, want %.4f; log likelihood %.4f, want %.4f", m.Variance, variance, m.LogLikelihood, -best.F)
	}
}

// On landmarks, the start of a Brownian motion and its time are found again from samples.
func TestDiffusionMeanOfLandmarks(t *testing.T) {
	const T, n = 0.02, 40
	s, x := threeLandmarks()
	samples := expect.Must(stochastic.Brownian(s, x).Sample(stochastic.Run{Paths: n, Steps: 50, Time: T, Seed: 33}))
	m := expect.Must(stochastic.DiffusionMean(s, stochastic.Guided, samples, samples[0], stochastic.Run{Paths: 20, Steps: 20, Seed: 34}))
	t.Logf("%+v, want %v with variance %g", m, x, T)
	for a := range x {
		expect.Estimate(t, fmt.Sprint("coordinate ", a), m.Point[a], math.Sqrt(T/n), x[a])
	}
	expect.Estimate(t, "variance", m.Variance, T*math.Sqrt(2./(6*n)), T)
	if m.Status != geom.Converged {
		t.Error(m.Status)
	}
}

// With too few bridges a sample the mean is not called converged, however small the gradient.
func TestDiffusionMeanOfTooFewBridges(t *testing.T) {
	samples := expect.Must(stochastic.Brownian(sphere, pole).Sample(stochastic.Run{Paths: 12, Steps: 50, Time: 0.4, Seed: 31}))
	m := expect.Must(stochastic.DiffusionMean(sphere, stochastic.Guided, samples, samples[0], stochastic.Run{Paths: 3, Steps: 30, Seed: 32}))
	t.Logf("%+v", m)
	if m.Status == geom.Converged || !(m.EffectiveSize <= 3) {
		t.Errorf("%s with an effective size of %.3g", m.Status, m.EffectiveSize)
	}
}

func TestDiffusionMeanErrors(t *testing.T) {
	mean := func(samples [][]float64, start []float64, T float64) error {
		run := onSphere
		run.Time = T
		_, err := stochastic.DiffusionMean(sphere, stochastic.Guided, samples, start, run)
		return err
	}
	far := make([][]float64, 12) // as many as above, so that nothing is compiled again
	for i := range far {
		far[i] = []float64{-0.48, 0.6, -0.64}
	}
	for want, err := range map[string]error{
		"DiffusionMean: 1 samples, want at least 2":          mean([][]float64{pole}, pole, 0),
		"they must spread around it":                         mean([][]float64{pole, pole}, pole, 0),
		"DiffusionMean: the start has 0 coordinates":         mean([][]float64{pole, pole}, nil, 0),
		"the likelihood at the start with variance 1 is NaN": mean(far, pole, 1),
	} {
		expect.Refused(t, err, want)
	}
}
