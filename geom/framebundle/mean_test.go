package framebundle_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/geomtest/bench"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stats"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// normalCloud draws n normal vectors of R^d with standard deviations falling from 1.
func normalCloud(n, d int) [][]float64 {
	random := rand.New(rand.NewPCG(7, 3))
	x := make([][]float64, n)
	for i := range x {
		x[i] = make([]float64, d)
		for a := range x[i] {
			x[i][a] = float64(a) + random.NormFloat64()/math.Pow(2, float64(a))
		}
		x[i][0] += 0.3 * x[i][d-1]
	}
	return x
}

func sampleMoments(x [][]float64) (mean []float64, covariance *mat.SymDense) {
	d := len(x[0])
	mean = make([]float64, d)
	for _, v := range x {
		floats.AddScaled(mean, 1/float64(len(x)), v)
	}
	covariance = mat.NewSymDense(d, nil)
	for _, v := range x {
		covariance.SymRankOne(covariance, 1/float64(len(x)), mat.NewVecDense(d, floats.SubTo(make([]float64, d), v, mean)))
	}
	return mean, covariance
}

// Where a search does not converge and the spectrum has no gap after the rank, the error says so, and which rank has one.
func TestFrameBundleMeanWithoutGap(t *testing.T) {
	var x [][]float64
	for a, s := range []float64{3, 1, 1, 0.1} {
		for _, sign := range []float64{-1, 1, -1, 1} {
			v := make([]float64, 4)
			v[a] = 2 * sign * s
			x = append(x, v)
		}
	}
	space := geom.On(manifold.Euclidean(4), geom.Integrator(ode.RK4, 5))
	search := func(rank int) error {
		m := expect.Must(stats.FrameBundleMean(space, x, rank, stats.Noise(0.3), stats.Start([]float64{1, 1, 1, 1}), stats.MaxIterations(1)))
		expect.Abs(t, "deviations", m.Deviations, []float64{3, 1, 1, 0.1}, 1e-12)
		if m.Status == geom.Converged {
			t.Errorf("rank %d: %s", rank, m)
		}
		return m.Err()
	}
	expect.Refused(t, search(2), "frame bundle mean of 16 samples", "of rank 2 is not determined; take rank 1 or 3", "2 and 3, 1 and 1")
	if err := search(1); err == nil || strings.Contains(err.Error(), "not determined") {
		t.Errorf("rank 1: %v", err)
	}
	// A limit that is given holds, also if it is the default one of other samples.
	var iterations []int
	for _, limit := range []int{11, 12, 49, 50, 51} {
		m := expect.Must(stats.FrameBundleMean(space, x, 2, stats.Noise(0.3), stats.Start([]float64{1, 1, 1, 1}), stats.Tolerance(1e-14), stats.MaxIterations(limit)))
		iterations = append(iterations, m.Iterations)
	}
	if iterations[0] != 11 || iterations[1] != 12 || iterations[3] < iterations[2] || iterations[4] < iterations[3] {
		t.Errorf("limits of 11, 12, 49, 50 and 51: %d iterations", iterations)
	}
	if m := expect.Must(stats.FrameBundleMean(space, x, 1, stats.Noise(0.3))); m.Err() != nil {
		t.Error(m.Err())
	}
}

// In flat space the mean is that of the samples, the covariance theirs with 1/N for a full frame; for fewer vectors the
// principal components, by a variance n² with (n² + σ²)² = s n² for the samples' s.
func TestFrameBundleMeanFlat(t *testing.T) {
	x := normalCloud(12, 3)
	mean, covariance := sampleMoments(x)
	var eigen mat.EigenSym
	eigen.Factorize(covariance, true)
	s := eigen.Values(nil) // rising
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	space := geom.On(manifold.Euclidean(3), geom.Integrator(ode.RK4, 2))

	full, err := stats.FrameBundleMean(space, x, 3, stats.Noise(0.001), stats.Tolerance(1e-4))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(full.Status, full.Iterations, full.Imbalance)
	expect.Abs(t, "mean", full.Point, mean, 1e-4)
	for i, row := range full.Covariance() {
		expect.Abs(t, "covariance", row, mat.Row(nil, i, covariance), 1e-4)
	}
	if full.Status != geom.Converged {
		t.Error(full.Status)
	}
	const sigma = 0.05
	m := expect.Must(stats.FrameBundleMean(space, x, 2, stats.Noise(sigma), stats.Tolerance(1e-4)))
	t.Log(m.Status, m.Iterations, m.Imbalance)
	if m.Status != geom.Converged {
		t.Error(m.Status)
	}
	expect.Abs(t, "mean of rank 2", m.Point, mean, 1e-4)
	expect.Abs(t, "noise", m.Noise, sigma, 0)
	for k := range 2 {
		s, v := s[2-k], sigma*sigma
		want := (s - 2*v + math.Sqrt(s*s-4*s*v)) / 2
		expect.Abs(t, "variance", m.Variances[k], want, 1e-4)
		axis := mat.Col(nil, 2-k, &axes)
		floats.Scale(math.Copysign(math.Sqrt(want), floats.Dot(axis, m.Frame[k])), axis)
		expect.Abs(t, "frame", m.Frame[k], axis, 2e-4)
	}
}

// normalCallosa draws 20 shapes of a rank 2 normal distribution around a callosum in units of 20 mm: the ends of developed Brownian paths.
func normalCallosa(t testing.TB) (*framebundle.Space[geom.Vec], [][]float64) {
	u := framebundle.At(shape.Flat(morpho.CorpusCallosum().Scale(1. / 20).Shape("jhu_atlas")))
	n := len(u.X) / 2
	// Bending of the whole shape, and growth of one half.
	u.Frame = [][]float64{make([]float64, 2*n), make([]float64, 2*n)}
	for i := range n {
		x, y := u.X[2*i], u.X[2*i+1]
		u.Frame[0][2*i+1] = 0.015 * (x*x - 0.5)
		u.Frame[1][2*i] = 0.012 * (1 + math.Tanh(x)) * y
		u.Frame[1][2*i+1] = 0.006 * (1 + math.Tanh(x))
	}
	var spacing float64
	for i := range n {
		j := (i + 1) % n
		spacing += math.Hypot(u.X[2*i]-u.X[2*j], u.X[2*i+1]-u.X[2*j+1]) / float64(n)
	}
	space := framebundle.On(landmarks.Manifold{N: n, D: 2, Kernel: kernels.Gaussian(2 * spacing)}, geom.Integrator(ode.RK4, 10))
	random := rand.New(rand.NewPCG(1, 2))
	samples := make([][]float64, 20)
	const steps = 20
	for k := range samples {
		w := make([][]float64, steps+1)
		w[0] = make([]float64, 2)
		for i := range steps {
			w[i+1] = []float64{w[i][0] + random.NormFloat64()/math.Sqrt(steps), w[i][1] + random.NormFloat64()/math.Sqrt(steps)}
		}
		d, err := space.Develop(u, w)
		if err != nil {
			t.Fatal(err)
		}
		samples[k] = d.Path[steps]
	}
	return space, samples
}

// Four points of the sphere on two great circles through the pole: the mean is the pole, the most probable paths are
// great circles by symmetry, and the variances those of the tangent vectors, up to 2σ².
func TestFrameBundleMeanOnSphere(t *testing.T) {
	space := geom.On(manifold.Sphere(2), geom.Integrator(ode.RK4, 10))
	const a, b, sigma = 0.5, 0.3, 0.005
	samples := [][]float64{
		{math.Sin(a), 0, math.Cos(a)}, {-math.Sin(a), 0, math.Cos(a)}, {0, math.Sin(b), math.Cos(b)}, {0, -math.Sin(b), math.Cos(b)}}
	m, err := stats.FrameBundleMean(space, samples, 2, stats.Noise(sigma), stats.Tolerance(1e-4), stats.Start([]float64{0.06, -0.08, math.Sqrt(0.99)}))
	if err != nil {
		t.Fatal(err)
	}
	t.Log(m.Status, m.Iterations, m.Variances, m.Point)
	if m.Status != geom.Converged {
		t.Error(m.Status)
	}
	expect.Abs(t, "mean", m.Point, []float64{0, 0, 1}, 1e-4)
	expect.Abs(t, "variances", m.Variances, []float64{a*a/2 - 2*sigma*sigma, b*b/2 - 2*sigma*sigma}, 1e-3)
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
	fit := func(tolerance float64) *framebundle.Mean[geom.Vec] {
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

	pulls := framebundle.NewProbable(framebundle.Over(space), x).From(finer.At(), sigma, 1e-14).Pulls
	numbers := func(p framebundle.Momentum[geom.Vec]) []float64 {
		return slices.Concat(append([][]float64{p.Horizontal}, p.Vertical...)...)
	}
	_, volume := framebundle.Over(space).LogVolume(finer.At())
	gradient, squares := numbers(volume), 0.0
	for _, p := range pulls {
		score := floats.SubTo(make([]float64, len(gradient)), numbers(volume), numbers(p))
		squares += floats.Dot(score, score) / (n * n)
		floats.AddScaled(gradient, -1./n, numbers(p))
	}
	if off := floats.Norm(gradient, 2) / math.Sqrt(squares); off > 0.005 {
		t.Errorf("the derivatives of the samples are %.3g standard errors off balance", off)
	}
}

func TestFrameBundleMeanErrors(t *testing.T) {
	space := geom.On(manifold.Euclidean(3))
	x := normalCloud(6, 3)
	line := [][]float64{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {4, 4, 4}}
	for _, c := range []struct {
		want string
		call func() (*framebundle.Mean[geom.Vec], error)
	}{
		{"no samples", func() (*framebundle.Mean[geom.Vec], error) { return stats.FrameBundleMean(space, nil, 1) }},
		{"rank 4, want 1 to 3", func() (*framebundle.Mean[geom.Vec], error) { return stats.FrameBundleMean(space, x, 4) }},
		{"rank 0, want 1 to 3", func() (*framebundle.Mean[geom.Vec], error) { return stats.FrameBundleMean(space, x, 0) }},
		{"2 samples have a covariance of rank 1 at most", func() (*framebundle.Mean[geom.Vec], error) { return stats.FrameBundleMean(space, x[:2], 2) }},
		{"the rank of their covariance is below 2", func() (*framebundle.Mean[geom.Vec], error) { return stats.FrameBundleMean(space, line, 2) }},
		{"Noise(1) is too large for rank 2", func() (*framebundle.Mean[geom.Vec], error) { return stats.FrameBundleMean(space, x, 2, stats.Noise(1)) }},
		{"sample 1 has 2 coordinates", func() (*framebundle.Mean[geom.Vec], error) {
			return stats.FrameBundleMean(space, [][]float64{{0, 0, 0}, {1, 1}}, 1)
		}},
	} {
		expect.Refused(t, expect.Error(c.call()), c.want)
	}
}

// Two landmarks of one skull are exchanged: the search ends all the same, and its error names that skull. With another one in its place the
// search converges.
func TestFrameBundleMeanNamesTheWrong(t *testing.T) {
	const wrong = 5
	skulls := morpho.GreatApes().Shapes()[:17]
	q := skulls[wrong]
	q[0], q[4] = q[4], q[0]
	mean := func(x []geom.Shape) *framebundle.Mean[geom.Shape] {
		aligned := expect.Must(morpho.Procrustes(x, morpho.KeepSize()))
		space := landmarks.New(len(q), 2, kernels.Gaussian(1.5*morpho.NearestSpacing(aligned.Mean)), geom.Integrator(ode.RK4, 10))
		var shapes []geom.Shape
		for _, x := range aligned.Shapes {
			shapes = append(shapes, x)
		}
		return expect.Must(stats.FrameBundleMean(space, shapes, 1))
	}
	m := mean(skulls[:16])
	t.Logf("%v; imbalance %.2g, %d evaluations", m.Err(), m.Imbalance, m.Evaluations)
	expect.Refused(t, m.Err(), "the path to sample 5, counted from 0, costs")
	if m.Status == geom.Converged || m.Evaluations > 3000 {
		t.Errorf("%s, %d evaluations", m, m.Evaluations)
	}
	if m = mean(slices.Delete(skulls, wrong, wrong+1)); m.Err() != nil {
		t.Error(m.Err())
	}
}

// The mean of rank 2 of 20 callosa with 39 landmarks, compilation included.
func BenchmarkFrameBundleMean39(b *testing.B) {
	defer bench.Memory(b)()
	for b.Loop() {
		space, samples := normalCallosa(b)
		m, err := stats.FrameBundleMean(space.Base, samples, 2)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(m.Iterations), "iterations")
	}
}
