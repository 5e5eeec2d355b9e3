package lie_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/lie"
	"anatomy/geom/stochastic"
)

// within fails where the mean of numbers is more than 3 standard errors from what it should be.
func within(t *testing.T, what string, x []float64, want float64) {
	t.Helper()
	mean, sd := stat.MeanStdDev(x, nil)
	se := sd / math.Sqrt(float64(len(x)))
	t.Logf("%s: %.5f ± %.5f, want %.5f", what, mean, se, want)
	if !(math.Abs(mean-want) <= 3*se) {
		t.Errorf("%s: %.5f, want %.5f, which is %.1f standard errors off", what, mean, want, math.Abs(mean-want)/se)
	}
}

func each(z [][]float64, f func(z []float64) float64) []float64 {
	out := make([]float64, len(z))
	for k := range z {
		out[k] = f(z[k])
	}
	return out
}

func trace(z []float64) float64 { return z[0] + z[4] + z[8] }

// On SO(3) with the standard metric E tr g_T = 3 e^(−T), on the group and in charts, and a point carried along makes
// Brownian motion on the sphere: the distribution of its height is that of the sphere's heat kernel. With moments of
// inertia I_a, L g = ½ Σ_a g E_a²/I_a, so that E g_T = exp(½ T Σ E_a²/I_a) is diagonal.
func TestBrownianRotations(t *testing.T) {
	t.Parallel()
	const T, n = 0.6, 10000
	g := lie.SO(3)
	s := geom.On(must(g.LeftInvariant(nil)))
	run := stochastic.Run{Paths: n, Steps: 40, Time: T, Seed: 21}
	ends := must(must(lie.Brownian(s, g.Identity())).Sample(run))
	within(t, "trace", each(ends, trace), 3*math.Exp(-T))
	heights := each(ends, func(z []float64) float64 { return z[8] })
	within(t, "height of the pole", heights, math.Exp(-T))
	slices.Sort(heights)
	worst := 0.
	for k, c := range heights {
		f := sphereCumulative(T, c)
		worst = max(worst, math.Abs(f-float64(k)/n), math.Abs(f-float64(k+1)/n))
	}
	if worst > 1.63/math.Sqrt(n) { // probability 1 %
		t.Errorf("the pole's height is %.4f from the heat kernel, want at most %.4f", worst, 1.63/math.Sqrt(n))
	}
	run.Paths, run.Seed = 4000, 22
	within(t, "trace, in charts", each(must(stochastic.Brownian(s, g.Identity()).Sample(run)), trace), 3*math.Exp(-T))

	moments := []float64{0.5, 1, 2}
	anisotropic := geom.On(must(g.LeftInvariant(diagonal(moments...))))
	run.Seed = 23
	ends = must(must(lie.Brownian(anisotropic, g.Identity())).Sample(run))
	for i := range 3 {
		rate := (1/moments[(i+1)%3] + 1/moments[(i+2)%3]) / 2
		within(t, "entry on the diagonal", each(ends, func(z []float64) float64 { return z[4*i] }), math.Exp(-rate*T))
	}
}

// sphereCumulative is the probability that the cosine of the angle is at most c: (2l+1) P_l = (P_{l+1} − P_{l−1})'.
func sphereCumulative(T, c float64) float64 {
	before, p := 1., c
	sum := (1 + c) / 2
	for l := 1; l < 60; l++ {
		k := float64(l)
		after := ((2*k+1)*c*p - k*before) / (k + 1)
		sum += 0.5 * math.Exp(-k*(k+1)*T/2) * (after - before)
		before, p = p, after
	}
	return sum
}

// Affine(1), the hyperbolic plane, is not unimodular: the drift makes E cosh d = e^T, on either side.
func TestBrownianOnNonUnimodularGroup(t *testing.T) {
	t.Parallel()
	const T = 0.5
	g := lie.Affine(1)
	for side, s := range map[lie.Side]*geom.Space[geom.Vec]{lie.Left: geom.On(must(g.LeftInvariant(nil))), lie.Right: geom.On(must(g.RightInvariant(nil)))} {
		ends := must(must(lie.Brownian(s, g.Identity())).Sample(stochastic.Run{Paths: 5000, Steps: 100, Time: T, Seed: 31}))
		within(t, side.String(), each(ends, func(z []float64) float64 {
			y, x := z[0], z[1]
			if side == lie.Right { // the inverse takes one metric to the other
				y, x = 1/y, -x/y
			}
			return 1 + (x*x+(y-1)*(y-1))/(2*y)
		}), math.Exp(T))
	}
}

// Noise along vectors of the algebra keeps |μ|, the Casimir, but not the energy. About one axis of symmetry with the
// momentum along it nothing but the angle moves: it is ω T + σ W.
func TestCoadjoint(t *testing.T) {
	t.Parallel()
	g := lie.SO(3)
	s := geom.On(must(g.LeftInvariant(diagonal(1, 2, 3))))
	m := []float64{0.3, 2, -0.4}
	p := must(lie.Coadjoint(s, g.Identity(), m, [][]float64{{0.3, 0, 0}, {0, 0.2, 0.1}}))
	paths := must(p.Paths(stochastic.Run{Paths: 4, Steps: 500, Time: 5, Seed: 41}))
	for _, path := range paths.Points {
		change := 0.
		for _, mu := range must(lie.Momenta(s, path, m)) {
			geomtest.Near(t, "|μ|", floats.Norm(mu, 2), floats.Norm(m, 2), 1e-13)
			change = max(change, floats.Distance(mu, m, 2))
		}
		if change < 0.5 {
			t.Errorf("the momentum moves by %.3g only", change)
		}
	}
	p = must(lie.Coadjoint(s, g.Identity(), []float64{0, 0, 1.5}, [][]float64{{0, 0, 0.7}}))
	paths = must(p.Paths(stochastic.Run{Paths: 3, Steps: 50, Time: 2, Seed: 42}))
	for k, path := range paths.Points {
		angle := 0.5*2 + 0.7*end(paths.Noise[k])[0]
		geomtest.NearVector(t, "rotation about an axis", end(path), expm(g, []float64{0, 0, angle}), 1e-12)
	}
}

// What builds on package geom works on groups: bridges estimate the heat kernel of SO(3), with the characters
// χ_l = sin((l + ½)θ)/sin(θ/2) and the volume 8π²,
//
//	p_T = Σ_l (2l + 1) χ_l(θ) e^(−l(l+1)T/2)/8π²,
//
// and development along an orthonormal frame is Brownian motion.
func TestHeatKernelOfRotations(t *testing.T) {
	t.Parallel()
	const T = 0.4
	g := lie.SO(3)
	s := geom.On(must(g.LeftInvariant(nil)))
	var ends [][]float64
	angles := []float64{0.5, 1.2, 2}
	for _, angle := range angles {
		ends = append(ends, expm(g, []float64{0.6 * angle, 0, 0.8 * angle}))
	}
	for k, l := range must(stochastic.LogLikelihood(s, stochastic.Guided, g.Identity(), ends, stochastic.Run{Paths: 400, Steps: 60, Time: T, Seed: 51})) {
		sum := 0.
		for i := range 40 {
			j := float64(i)
			sum += (2*j + 1) * math.Sin((j+0.5)*angles[k]) / math.Sin(angles[k]/2) * math.Exp(-j*(j+1)*T/2)
		}
		want := math.Log(sum / (8 * math.Pi * math.Pi))
		t.Logf("log density at %g: %.4f ± %.4f, want %.4f", angles[k], l.Log, l.StandardError, want)
		if !(math.Abs(l.Log-want) <= 3*l.StandardError+0.02) { // 0.02: the time step
			t.Errorf("log density at %g: %.4f ± %.4f, want %.4f", angles[k], l.Log, l.StandardError, want)
		}
	}
	start := expm(g, []float64{0.3, 1, -0.4})
	development := stochastic.Development(s, start, must(stochastic.Orthonormal(s, start))...)
	samples := must(development.Sample(stochastic.Run{Paths: 1000, Steps: 30, Time: T, Seed: 52}))
	within(t, "development", each(samples, func(z []float64) float64 { return floats.Dot(z, start) }), 3*math.Exp(-T))
}
