package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
)

// cloud draws n normal vectors of R^d with standard deviations falling from 1.
func cloud(n, d int) [][]float64 {
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

func moments(x [][]float64) (mean []float64, covariance *mat.SymDense) {
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

func close(t *testing.T, what string, got, want []float64, tol float64) {
	t.Helper()
	if d := floats.Distance(got, want, math.Inf(1)); !(d <= tol) {
		t.Errorf("%s: %.8g, want %.8g, %.3g off", what, got, want, d)
	}
}

// In flat space the mean is that of the samples, the covariance theirs with 1/N for a full frame; for fewer vectors the
// principal components, by a variance n² with (n² + σ²)² = s n² for the samples' s; with the noise estimated those of
// probabilistic principal components, n² = s − σ², σ² the mean of the variances left over.
func TestFrameBundleMeanFlat(t *testing.T) {
	x := cloud(12, 3)
	mean, covariance := moments(x)
	var eigen mat.EigenSym
	eigen.Factorize(covariance, true)
	s := eigen.Values(nil) // rising
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	space := framebundle.On(manifold.Euclidean(3), framebundle.Integrator(ode.RK4, 2))

	full, err := stats.FrameBundleMean(space, x, 3)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(full.Status, full.Iterations, full.Gradient)
	close(t, "mean", full.X, mean, 1e-4)
	for i, row := range full.Covariance() {
		close(t, "covariance", row, mat.Row(nil, i, covariance), 1e-4)
	}
	if full.Status != geom.Converged {
		t.Error(full.Status)
	}
	for _, c := range []struct {
		name     string
		fit      func() (*stats.FrameMean, error)
		sigma    float64
		variance func(s float64) float64
	}{
		{"rank 2", func() (*stats.FrameMean, error) { return stats.FrameBundleMean(space, x, 2, stats.Mismatch(0.05)) }, 0.05,
			func(s float64) float64 { v := 0.05 * 0.05; return (s - 2*v + math.Sqrt(s*s-4*s*v)) / 2 }},
		{"probabilistic", func() (*stats.FrameMean, error) { return stats.FrameBundlePCA(space, x, 2) }, math.Sqrt(s[0]),
			func(v float64) float64 { return v - s[0] }},
	} {
		m, err := c.fit()
		if err != nil {
			t.Fatal(c.name, err)
		}
		t.Log(c.name, m.Status, m.Iterations, m.Gradient)
		if m.Status != geom.Converged {
			t.Error(c.name, m.Status)
		}
		close(t, c.name+": mean", m.X, mean, 1e-4)
		close(t, c.name+": noise", []float64{m.Sigma}, []float64{c.sigma}, 1e-4)
		for k := range 2 {
			want := c.variance(s[2-k])
			close(t, c.name+": variance", []float64{m.Variances[k]}, []float64{want}, 1e-4)
			axis := mat.Col(nil, 2-k, &axes)
			floats.Scale(math.Copysign(math.Sqrt(want), floats.Dot(axis, m.Frame[k])), axis)
			close(t, c.name+": frame", m.Frame[k], axis, 2e-4)
		}
	}
}
