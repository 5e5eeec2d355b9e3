package stochastic_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/geomtest/heat"
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
		expect.Rel(t, "squares of standard errors", []float64{m.PointError * m.PointError, m.VarianceError * m.VarianceError},
			[]float64{2 * variance / 4 * 13 / 12, variance * variance / 4 * 13 / 12}, 1e-3)
	}
}

var onSphere = stochastic.Run{Paths: 60, Steps: 30, Seed: 32}

// mostLikely maximises the mean logarithm of a heat kernel over points and T, without gradients. The points are given by numbers near 0.
func mostLikely(t *testing.T, samples [][]float64, T float64, log func(T float64, x, v []float64) float64, point func(p []float64) []float64) (x []float64, variance, value float64) {
	t.Helper()
	likelihood := func(p []float64) (sum float64) {
		last := len(p) - 1
		for _, v := range samples {
			sum += log(math.Exp(p[last]), point(p[:last]), v) / float64(len(samples))
		}
		return sum
	}
	start := make([]float64, len(samples[0]))
	start[len(start)-1] = math.Log(T)
	best, err := optimize.Minimize(optimize.Problem{Func: func(p []float64) float64 { return -likelihood(p) }}, start, nil, &optimize.NelderMead{})
	if err != nil {
		t.Fatal(err)
	}
	last := len(best.X) - 1
	return point(best.X[:last]), math.Exp(best.X[last]), -best.F
}

// onS2 and onH2 are points near the pole and near (1, 0, 0).
func onS2(p []float64) []float64 {
	z := []float64{pole[0] + p[0], pole[1] + p[1], pole[2] - (pole[0]*p[0]+pole[1]*p[1])/pole[2]}
	floats.Scale(1/floats.Norm(z, 2), z)
	return z
}

func onH2(p []float64) []float64 { return []float64{math.Sqrt(1 + floats.Dot(p, p)), p[0], p[1]} }

func logOnS2(T float64, x, v []float64) float64 { return math.Log(heat.Kernel(T, floats.Dot(x, v))) }

// logOnH2 is the logarithm of √2 (2πT)^{−3/2} e^{−T/8} ∫_r^∞ s e^{−s²/2T} (cosh s − cosh r)^{−½} ds (H. McKean, J. Differential
// Geometry 4, 1970), with s = r + u².
func logOnH2(T float64, x, v []float64) float64 {
	const h = 0.01
	r := math.Acosh(max(1, x[0]*v[0]-x[1]*v[1]-x[2]*v[2]))
	sum := 0.0
	for u := h / 2; ; u += h {
		s := r + u*u
		term := 2 * u * s * math.Exp((r*r-s*s)/(2*T)) / math.Sqrt(2*math.Sinh((s+r)/2)*math.Sinh(u*u/2))
		if sum += h * term; u > 1 && term < 1e-15*sum {
			return math.Log(sum*math.Sqrt2) - r*r/(2*T) - T/8 - 1.5*math.Log(2*math.Pi*T)
		}
	}
}

// On S² the diffusion mean is the maximum of the likelihood by the heat kernel.
func TestDiffusionMeanOnSphere(t *testing.T) {
	samples := expect.Must(stochastic.Brownian(sphere, pole).Sample(stochastic.Run{Paths: 12, Steps: 50, Time: 0.4, Seed: 31}))
	want, variance, value := mostLikely(t, samples, 0.4, logOnS2, onS2)
	m := expect.Must(stochastic.DiffusionMean(sphere, stochastic.Guided, samples, samples[0], onSphere))
	t.Logf("%+v, want %v with variance %.4f, log likelihood %.4f", m, want, variance, value)
	// The standard deviation of the mean of J samples is √(T/J): the estimate must be much closer than that.
	if d := floats.Distance(m.Point, want, 2); d > 0.02*math.Sqrt(variance) || m.Status != geom.Converged {
		t.Errorf("mean %v (%s), want %v, distance %.4f", m.Point, m.Status, want, d)
	}
	// The standard errors are those of the second derivatives of the exact likelihood.
	const h = 1e-3
	across := func(a, b float64) []float64 {
		e := []float64{want[1], -want[0], 0}
		floats.Scale(1/floats.Norm(e, 2), e)
		f := []float64{want[1]*e[2] - want[2]*e[1], want[2]*e[0] - want[0]*e[2], want[0]*e[1] - want[1]*e[0]}
		z := floats.AddScaledTo(make([]float64, 3), floats.AddScaledTo(make([]float64, 3), want, math.Tan(a), e), math.Tan(b), f)
		floats.Scale(1/floats.Norm(z, 2), z)
		return z
	}
	total := func(p [3]float64) (sum float64) {
		for _, v := range samples {
			sum += logOnS2(variance*math.Exp(p[2]), across(p[0], p[1]), v)
		}
		return sum
	}
	information := mat.NewSymDense(3, nil)
	for i := range 3 {
		for j := range i + 1 {
			var sums [4]float64
			for k, sign := range [][2]float64{{1, 1}, {1, -1}, {-1, 1}, {-1, -1}} {
				var p [3]float64
				p[i] += sign[0] * h
				p[j] += sign[1] * h
				sums[k] = total(p)
			}
			information.SetSym(i, j, -(sums[0]-sums[1]-sums[2]+sums[3])/(4*h*h))
		}
	}
	var inverse mat.Dense
	if err := inverse.Inverse(information); err != nil {
		t.Fatal(err)
	}
	random := 1 + 1/m.EffectiveSize
	exact := []float64{math.Sqrt((inverse.At(0, 0) + inverse.At(1, 1)) * random), variance * math.Sqrt(inverse.At(2, 2)*random)}
	expect.Rel(t, "standard errors", []float64{math.Sqrt(m.PointError*m.PointError - m.PointStep*m.PointStep),
		math.Sqrt(m.VarianceError*m.VarianceError - m.VarianceStep*m.VarianceStep)}, exact, 0.05)
	if flat := math.Sqrt(2 * variance / float64(len(samples))); exact[0] < 1.05*flat {
		t.Errorf("the exact standard error %.4f is that of flat space, %.4f: nothing is tested", exact[0], flat)
	}
	if math.Abs(m.Variance/variance-1) > 0.01 || math.Abs(m.LogLikelihood-value) > 0.005 {
		t.Errorf("variance %.4f, want %.4f; log likelihood %.4f, want %.4f", m.Variance, variance, m.LogLikelihood, value)
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
	samples := [][]float64{{1, 0}, {0.6, 0.8}, {0.8, -0.6}}
	m := expect.Must(stochastic.DiffusionMean(geom.On(manifold.Euclidean(2)), stochastic.Guided, samples, samples[0], stochastic.Run{Paths: 3, Steps: 10, Seed: 32}))
	t.Logf("%+v", m)
	if m.Status == geom.Converged || !(m.EffectiveSize < 3+1e-9) {
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
