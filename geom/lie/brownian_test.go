package lie_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/geomtest/heat"
	"anatomy/geom/lie"
	"anatomy/geom/ode"
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

// The equation of a motion holds in the whole chart, not near its centre alone: the derivative of Point takes what it returns at
// coordinates of two radians to the velocity g ξ^, or ξ^ g. Near the centre it is that of simulated steps, up to the fourth order.
func TestMotionsFarFromTheCentreOfAChart(t *testing.T) {
	for _, g := range []*lie.Group{lie.SO(3), lie.SE(3), lie.SO(4), lie.Affine(1)} {
		x, xi := random(5, 1, g.Dim(), 1.2)[0], random(6, 1, g.Dim(), 1)[0]
		for side, metric := range map[lie.Side]func([][]float64) (geom.Charted, error){lie.Left: g.LeftInvariant, lie.Right: g.RightInvariant} {
			m := expect.Must(metric(nil))
			p := expect.Must(lie.Coadjoint(geom.On(m), g.Identity(), make([]float64, g.Dim()), [][]float64{xi}))
			out := expect.Must(engine.Run(func(in []*Node) []*Node {
				at := geom.At(m, in[0])
				one := ScalarOne(in[0].Graph(), in[0].DType())
				dx := p.Dynamics.Equation(at, in[2:])(one, ode.State{in[1]}, one, Ones(in[0].Graph(), shapes.Make(one.DType(), 1, 1)))[0]
				_, dz := autodiff.Pushforward(func(x []*Node) []*Node { return []*Node{at.Point(x[0])} }, in[1:2], []*Node{dx})
				z, v := at.Point(in[1]), g.Hat(ExpandAxes(in[4], 0))
				want := g.Mul(z, v)
				if side == lie.Right {
					want = g.Mul(v, z)
				}
				close := MulScalar(in[1], 0.02)
				near := func(d stochastic.Dynamics) *Node {
					return d.Equation(at, in[2:])(one, ode.State{close}, one, Ones(in[0].Graph(), shapes.Make(one.DType(), 1, 1)))[0]
				}
				return []*Node{dz[0], want, near(p.Dynamics), near(p.Dynamics.(stochastic.Stepwise).NearCentre())}
			}, g.Identity(), [][]float64{x}, [][]float64{xi}, make([]float64, g.Dim()), xi))
			expect.Rel(t, fmt.Sprintf("%s-invariant metric on %v, near the centre", side, g), out.Matrix(3), out.Matrix(2), 1e-7)
			expect.Rel(t, fmt.Sprintf("%s-invariant metric on %v", side, g), out.Matrix(0), out.Matrix(1), 1e-10)
		}
	}
}

// The controls of a most probable flow take the body to the end that the flow has, by the equation on the group: no chart there.
func TestMostProbableMotionOfABody(t *testing.T) {
	const n, T = 40, 1.0
	g := lie.SO(3)
	moments, momentum := []float64{1, 2, 3}, mat.NewVecDense(3, []float64{2, 4, 1})
	s := geom.On(expect.Must(g.LeftInvariant(diagonal(moments...))))
	noise := [][]float64{{1, 0, 0}, {0, 0.5, 0.2}, {0.1, 0, 0.7}}
	p := expect.Must(lie.Coadjoint(s, g.Identity(), momentum.RawVector().Data, noise))
	free := expect.Must(lie.Move(s, g.Identity(), []float64{2, 2, 1. / 3}, T, n))
	var y mat.Dense
	y.Mul(mat.NewDense(3, 3, free.Path[n]), mat.NewDense(3, 3, expm(g, []float64{0.3, -0.2, 0.25})))
	f := expect.Must(p.MostProbable(y.RawMatrix().Data, 0, n, T))
	if f.Status != geom.Converged {
		t.Error(f)
	}
	z := mat.NewDense(3, 3, g.Identity())
	velocity := func(z mat.Matrix, u []float64) *mat.Dense { // z (A⁻¹ zᵀm + Σ_i u_i σ_i)^
		var mu mat.VecDense
		mu.MulVec(z.T(), momentum)
		xi := make([]float64, 3)
		for a := range xi {
			xi[a] = mu.AtVec(a) / moments[a]
			for i, v := range noise {
				xi[a] += u[i] * v[a]
			}
		}
		var dz mat.Dense
		dz.Mul(z, mat.NewDense(3, 3, expect.Must(g.Tangent(xi...))))
		return &dz
	}
	const fine = 10
	for _, u := range f.Controls {
		for range fine {
			const h = T / n / fine
			plus := func(c float64, k *mat.Dense) *mat.Dense {
				var sum mat.Dense
				sum.Scale(c, k)
				sum.Add(&sum, z)
				return &sum
			}
			k1 := velocity(z, u)
			k2 := velocity(plus(h/2, k1), u)
			k3 := velocity(plus(h/2, k2), u)
			k4 := velocity(plus(h, k3), u)
			z = plus(h/6, k1)
			z = plus(h/3, k2)
			z = plus(h/3, k3)
			z = plus(h/6, k4)
		}
	}
	expect.Abs(t, "end", z.RawMatrix().Data, y.RawMatrix().Data, 1e-5)
	expect.Abs(t, "end of the flow", f.Points[n], y.RawMatrix().Data, 1e-5)
}
