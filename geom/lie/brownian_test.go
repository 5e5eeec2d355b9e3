package lie_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/internal/heat"
	"anatomy/geom/lie"
	"anatomy/geom/stochastic"
)

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
	s := geom.On(expect.Must(g.LeftInvariant(nil)))
	run := stochastic.Run{Paths: n, Steps: 40, Time: T, Seed: 21}
	ends := expect.Must(expect.Must(lie.Brownian(s, g.Identity())).Sample(run))
	expect.Mean(t, "trace", each(ends, trace), 3*math.Exp(-T))
	heights := each(ends, func(z []float64) float64 { return z[8] })
	expect.Mean(t, "height of the pole", heights, math.Exp(-T))
	expect.Distribution(t, "height of the pole", heights, func(c float64) float64 { return heat.Cumulative(T, c) })
	run.Paths, run.Seed = 4000, 22
	expect.Mean(t, "trace, in charts", each(expect.Must(stochastic.Brownian(s, g.Identity()).Sample(run)), trace), 3*math.Exp(-T))

	moments := []float64{0.5, 1, 2}
	anisotropic := geom.On(expect.Must(g.LeftInvariant(diagonal(moments...))))
	run.Seed = 23
	ends = expect.Must(expect.Must(lie.Brownian(anisotropic, g.Identity())).Sample(run))
	for i := range 3 {
		rate := (1/moments[(i+1)%3] + 1/moments[(i+2)%3]) / 2
		expect.Mean(t, "entry on the diagonal", each(ends, func(z []float64) float64 { return z[4*i] }), math.Exp(-rate*T))
	}
}

// Affine(1), the hyperbolic plane, is not unimodular: the drift makes E cosh d = e^T, on either side.
func TestBrownianOnNonUnimodularGroup(t *testing.T) {
	t.Parallel()
	const T = 0.5
	g := lie.Affine(1)
	for side, s := range map[lie.Side]*geom.Space[geom.Vec]{lie.Left: geom.On(expect.Must(g.LeftInvariant(nil))), lie.Right: geom.On(expect.Must(g.RightInvariant(nil)))} {
		ends := expect.Must(expect.Must(lie.Brownian(s, g.Identity())).Sample(stochastic.Run{Paths: geomtest.Count(2000, 5000), Steps: 100, Time: T, Seed: 31}))
		expect.Mean(t, side.String(), each(ends, func(z []float64) float64 {
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
	s := geom.On(expect.Must(g.LeftInvariant(diagonal(1, 2, 3))))
	m := []float64{0.3, 2, -0.4}
	p := expect.Must(lie.Coadjoint(s, g.Identity(), m, [][]float64{{0.3, 0, 0}, {0, 0.2, 0.1}}))
	paths := expect.Must(p.Paths(stochastic.Run{Paths: 4, Steps: 500, Time: 5, Seed: 41}))
	for _, path := range paths.Points {
		change := 0.
		for _, mu := range expect.Must(lie.Momenta(s, path, m)) {
			expect.Abs(t, "|μ|", floats.Norm(mu, 2), floats.Norm(m, 2), 1e-13)
			change = max(change, floats.Distance(mu, m, 2))
		}
		if change < 0.5 {
			t.Errorf("the momentum moves by %.3g only", change)
		}
	}
	p = expect.Must(lie.Coadjoint(s, g.Identity(), []float64{0, 0, 1.5}, [][]float64{{0, 0, 0.7}}))
	paths = expect.Must(p.Paths(stochastic.Run{Paths: 3, Steps: 50, Time: 2, Seed: 42}))
	for k, path := range paths.Points {
		angle := 0.5*2 + 0.7*end(paths.Noise[k])[0]
		expect.Abs(t, "rotation about an axis", end(path), expm(g, []float64{0, 0, angle}), 5e-13)
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
	s := geom.On(expect.Must(g.LeftInvariant(nil)))
	var ends [][]float64
	angles := []float64{0.5, 1.2, 2}
	for _, angle := range angles {
		ends = append(ends, expm(g, []float64{0.6 * angle, 0, 0.8 * angle}))
	}
	for k, l := range expect.Must(stochastic.LogLikelihood(s, stochastic.Guided, g.Identity(), ends, stochastic.Run{Paths: 400, Steps: 60, Time: T, Seed: 51})) {
		sum := 0.
		for i := range 40 {
			j := float64(i)
			sum += (2*j + 1) * math.Sin((j+0.5)*angles[k]) / math.Sin(angles[k]/2) * math.Exp(-j*(j+1)*T/2)
		}
		want := math.Log(sum / (8 * math.Pi * math.Pi))
		expect.Estimate(t, fmt.Sprintf("log density at %g", angles[k]), l.Log, l.StandardError, want)
	}
	start := expm(g, []float64{0.3, 1, -0.4})
	development := stochastic.Development(s, start, expect.Must(stochastic.Orthonormal(s, start))...)
	samples := expect.Must(development.Sample(stochastic.Run{Paths: 1000, Steps: 30, Time: T, Seed: 52}))
	expect.Mean(t, "development", each(samples, func(z []float64) float64 { return floats.Dot(z, start) }), 3*math.Exp(-T))
}
