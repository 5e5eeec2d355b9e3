package stats_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
)

func rotations() geom.Charted {
	m, err := lie.SO(3).LeftInvariant([][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})
	return expect.Must(m, err)
}

// uniform are points from the uniform distribution of a group of rotations, or of another manifold the projections of normal vectors.
func uniform(t *testing.T, space *geom.Space[geom.Vec], r *rand.Rand, n int) (x []geom.Vec) {
	t.Helper()
	for len(x) < n {
		v := make([]float64, space.M.(geom.Charted).AmbientDim())
		for i := range v {
			v[i] = r.NormFloat64()
		}
		if len(v) == 9 { // Gram and Schmidt
			for i := range 3 {
				row := v[3*i : 3*i+3]
				for j := range i {
					floats.AddScaled(row, -floats.Dot(row, v[3*j:3*j+3]), v[3*j:3*j+3])
				}
				floats.Scale(1/floats.Norm(row, 2), row)
			}
			floats.Scale(mat.Det(mat.NewDense(3, 3, v)), v[6:])
		}
		p, _, err := space.Project(v)
		x = append(x, expect.Must(p, err))
	}
	return x
}

// Of samples all over a manifold no start at a sample leads to a better mean than the one that is found.
func TestMeanOfWideSamples(t *testing.T) {
	several := 0
	for _, m := range []geom.Manifold{rotations(), manifold.Sphere(1)} {
		space, r := geom.On(m), rand.New(rand.NewPCG(3, 1))
		for range 4 {
			x := uniform(t, space, r, 12)
			mean := expect.Must(stats.FrechetMean(space, x))
			converged(t, "mean", mean.Status)
			if mean.Starts != 13 || mean.Agreed < 1 || mean.Agreed > 13 || !strings.Contains(mean.String(), "of 13 starts") {
				t.Errorf("%v: %d of %d starts", mean, mean.Agreed, mean.Starts)
			}
			best := mean.Variance
			first := expect.Must(stats.FrechetMean(space, x, stats.Start(x[0])))
			for _, start := range x {
				if m, err := stats.FrechetMean(space, x, stats.Start(start)); err == nil && m.Status == geom.Converged {
					best = min(best, m.Variance)
				}
			}
			if first.Starts != 1 || first.Variance > best*(1+1e-6) {
				several++
			}
			expect.Rel(t, "variance", mean.Variance, best, 1e-6)
		}
	}
	if several == 0 {
		t.Error("all starts lead to one mean")
	}
}

// Where there is one mean only, there is one start: near each other on a sphere, and everywhere in spaces of negative curvature.
func TestMeanOfNearSamples(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	for _, m := range []geom.Manifold{manifold.Sphere(2), manifold.Hyperbolic(2)} {
		space := geom.On(m)
		var x []geom.Vec
		for range 12 {
			a, b := 0.2*r.NormFloat64(), 0.2*r.NormFloat64()
			v := geom.Vec{a, b, 1}
			if m == manifold.Hyperbolic(2) {
				a, b = 20*a, 20*b
				v = geom.Vec{math.Sqrt(1 + a*a + b*b), a, b}
			}
			p, _, err := space.Project(v)
			x = append(x, expect.Must(p, err))
		}
		if mean := expect.Must(stats.FrechetMean(space, x)); mean.Starts != 1 || mean.Agreed != 1 || strings.Contains(mean.String(), "starts") {
			t.Errorf("%T: %v", m, mean)
		}
	}
}

// Samples that are all equal have the variance 0, no modes, and a regression without R², also where rounding leaves logarithms of 1e-17.
func TestEqualSamples(t *testing.T) {
	spd := func(r *rand.Rand, n int) geom.Vec {
		v := make(geom.Vec, n*n)
		for i := range n {
			v[i*n+i] += 1e-3
			for range n {
				a := make([]float64, n)
				for j := range a {
					a[j] = r.NormFloat64()
				}
				for j := range n {
					v[i*n+j] += a[i] * a[j] / float64(n)
				}
			}
		}
		for i := range n {
			for j := range i {
				v[i*n+j] = v[j*n+i]
			}
			v[i*n+i] += 3
		}
		return v
	}
	hyperbolic := func(r *rand.Rand, size float64) geom.Vec {
		a, b := size*r.NormFloat64(), size*r.NormFloat64()
		return geom.Vec{math.Sqrt(1 + a*a + b*b), a, b}
	}
	for _, c := range []struct {
		name  string
		m     geom.Manifold
		point func(r *rand.Rand) geom.Vec // nil: uniform
	}{
		{"S1", manifold.Sphere(1), nil},
		{"H2 far away", manifold.Hyperbolic(2), func(r *rand.Rand) geom.Vec { return hyperbolic(r, 100) }},
		{"Kendall(3, 2)", manifold.Kendall(3, 2), nil},
		{"SPD(3)", manifold.SPD(3), func(r *rand.Rand) geom.Vec { return spd(r, 3) }},
		{"S2 × SPD(2)", geom.Product(manifold.Sphere(2), manifold.SPD(2)), func(r *rand.Rand) geom.Vec { return append(geom.Vec{0.6, 0, 0.8}, spd(r, 2)...) }},
	} {
		space, r := geom.On(c.m), rand.New(rand.NewPCG(5, 1))
		for range 2 {
			var x geom.Vec
			if c.point == nil {
				x = uniform(t, space, r, 1)[0]
			} else {
				x = c.point(r)
			}
			samples := []geom.Vec{x, x, x, x, x, x, x}
			mean := expect.Must(stats.FrechetMean(space, samples))
			for _, m := range []*stats.Mean[geom.Vec]{mean, expect.Must(stats.FrechetMean(space, samples[:1]))} {
				if m.Status != geom.Converged || m.Variance != 0 || m.Gradient != 0 || floats.Norm(m.Velocities[0], 1) != 0 || floats.Max(m.Distances) != 0 || m.Starts != 1 {
					t.Errorf("%s: %v, variance %g, gradient %g", c.name, m, m.Variance, m.Gradient)
				}
				expect.Rel(t, c.name+", centre", m.Point, x, 1e-13)
			}
			if p := expect.Must(stats.TangentPCA(mean)); len(p.Modes)+len(p.Variances)+len(p.Explained) != 0 || p.Status != geom.Converged {
				t.Errorf("%s: %v", c.name, p)
			}
			g := expect.Must(stats.Regress(space, samples, along([]float64{1, 2, 3, 4, 5, 6, 7})))
			if g.Status != geom.Converged || !math.IsNaN(g.R2) || g.Variance != 0 || floats.Max(g.Residuals) != 0 || floats.Norm(g.Velocities[0], 1) != 0 {
				t.Errorf("%s: %v, variance %g", c.name, g, g.Variance)
			}
			_, err := stats.MeanUncertainty(space, mean)
			expect.Refused(t, err, "all samples are at the mean")
		}
	}
	// Distinct samples are not taken for equal ones where the points are large.
	x := []geom.Vec{{1e12, 0, 0, 1e-12}, {1e12, 0, 0, 2e-12}, {1e12, 0, 0, 4e-12}}
	expect.Rel(t, "variance beside a large eigenvalue", expect.Must(stats.FrechetMean(geom.On(manifold.SPD(2)), x)).Variance, 2./3*math.Ln2*math.Ln2, 1e-6)
}

// What a cancelled computation has not looked at is NaN, not 0.
func TestCancelledIsUnknown(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	space := landmarks.New(3, 2, kernels.Gaussian(1)).With(geom.Context(ctx))
	shapes := []geom.Shape{{{0, 0}, {1, 0}, {0, 1}}, {{0, 0}, {1.2, 0}, {0, 1}}, {{0, 0}, {1, 0.3}, {0, 1}}}
	mean := expect.Must(stats.FrechetMean(space, shapes))
	for _, m := range []*stats.Mean[geom.Shape]{mean, expect.Must(stats.FrechetMean(space, shapes, stats.RelativeNoise(0.1)))} {
		if m.Status != geom.Cancelled || !math.IsNaN(m.Variance) || !math.IsNaN(m.Distances[0]+m.Distances[1]+m.Distances[2]) {
			t.Errorf("%v, distances %v", m, m.Distances)
		}
	}
	_, err := stats.TangentPCA(mean)
	expect.Refused(t, err, "is NaN")
	for _, options := range [][]stats.MeanOption{nil, {stats.RelativeNoise(0.1)}} {
		g := expect.Must(stats.Regress(space, shapes, along([]float64{1, 2, 3}), options...))
		if g.Status != geom.Cancelled || !math.IsNaN(g.R2) || !math.IsNaN(g.Variance) || !math.IsNaN(g.Residuals[0]) {
			t.Errorf("%v, residuals %v", g, g.Residuals)
		}
	}
}

// The components of many samples are those of the covariance of the logarithms in the ambient space, and take no time.
func TestComponentsOfManySamples(t *testing.T) {
	r, space := rand.New(rand.NewPCG(6, 1)), geom.On(manifold.Sphere(2))
	const n = 2000
	var x []geom.Vec
	for range n {
		p, _, err := space.Project(geom.Vec{0.3 * r.NormFloat64(), 0.1 * r.NormFloat64(), 1})
		x = append(x, expect.Must(p, err))
	}
	mean := expect.Must(stats.FrechetMean(space, x))
	p := expect.Must(stats.TangentPCA(mean))
	covariance := mat.NewSymDense(3, nil)
	for _, v := range mean.Velocities {
		covariance.SymRankOne(covariance, 1./(n-1), mat.NewVecDense(3, v))
	}
	var eigen mat.EigenSym
	eigen.Factorize(covariance, true)
	want := eigen.Values(nil)
	expect.Rel(t, "variances", p.Variances, []float64{want[2], want[1]}, 1e-10)
	expect.Rel(t, "explained", floats.Sum(p.Explained), 1, 1e-12)
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	for k := range p.Modes {
		expect.Rel(t, "mode", math.Abs(floats.Dot(p.Modes[k], mat.Col(nil, 2-k, &vectors))), 1, 1e-10)
	}
	for i, v := range mean.Velocities[:20] {
		expect.Abs(t, "score", p.Scores[i][0], floats.Dot(v, p.Modes[0]), 1e-12)
	}
}

// The mean of diagonal matrices is that of the logarithms of their entries, whatever their condition, in any order.
func TestMeanOfIllConditioned(t *testing.T) {
	space := geom.On(manifold.SPD(2))
	for _, c := range []float64{1e4, 1e11, 1e12, 1e13, 1e100} {
		x := []geom.Vec{{c, 0, 0, 1 / c}, {1 / c, 0, 0, c}, {4, 0, 0, 1}}
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {2, 1, 0}} {
			m := expect.Must(stats.FrechetMean(space, []geom.Vec{x[order[0]], x[order[1]], x[order[2]]}))
			converged(t, "mean", m.Status)
			expect.Rel(t, "mean", m.Point, geom.Vec{math.Cbrt(4), 0, 0, 1}, 1e-12)
		}
	}
}
