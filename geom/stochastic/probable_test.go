package stochastic_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
)

func converged[P geom.Point](t *testing.T, what string, f *stochastic.Flow[P]) {
	t.Helper()
	if f.Status != geom.Converged {
		t.Errorf("%s: %v", what, f)
	}
}

// Linear equations: with friction θ the energy to y is θ |y − e^{−θT} x|²/σ²(1 − e^{−2θT}); where the noise acts on the momentum of
// one landmark the flow is a cubic spline, of energy 3 |y − x − p|²/2σ² on [0, 1].
func TestMostProbableOfLinear(t *testing.T) {
	const theta, sigma, T, x, y = 1.3, 0.6, 0.8, 0.7, 1.9
	line := geom.On(manifold.Euclidean(1))
	process := stochastic.Process[geom.Vec]{Space: line, Name: "Ornstein-Uhlenbeck", Scheme: ode.EulerMaruyama, Noise: 1, Start: geom.Vec{x},
		Params: []any{theta, sigma}, Dynamics: stochastic.EquationOf(func(_ geom.Local, params []*Node) ode.Equation {
			return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
				return ode.State{Sub(Mul(params[1], dw), Mul(Mul(params[0], dt), y[0]))}
			}
		})}
	decay := math.Exp(-theta * T)
	variance := sigma * sigma * (1 - decay*decay) / (2 * theta)
	for _, noise := range []float64{0, 0.5} {
		var errors []float64
		for _, n := range []int{10, 20} {
			f := expect.Must(process.MostProbable(geom.Vec{y}, noise, n, T))
			what := fmt.Sprintf("noise %g, %d steps", noise, n)
			converged(t, what, f)
			lambda := (y - decay*x) / (variance + noise*noise)
			errors = append(errors, math.Abs(f.Energy/(lambda*lambda*variance/2)-1))
			expect.Rel(t, what+": momentum", f.Momentum[0], lambda*decay, 1e-2/float64(n))
		}
		if order := math.Log2(errors[0] / errors[1]); order < 1.9 {
			t.Errorf("noise %g: errors of the energy %.3g, order %.2f, want 2", noise, errors, order)
		}
	}

	one := landmarks.New(1, 2, kernels.Gaussian(1))
	langevin := expect.Must(one.Langevin([][]float64{{1, 2}}, [][]float64{{0.3, -0.4}}, 0, sigma))
	const n = 40
	f := expect.Must(langevin.MostProbable([][]float64{{2, 1}}, 0, n, 1))
	converged(t, "spline", f)
	rest := []float64{2 - 1 - 0.3, 1 - 2 + 0.4}
	for a := range rest {
		rest[a] *= 3 / (sigma * sigma) / (1 - 1./(4*n*n)) // for controls that are constant on steps
	}
	expect.Rel(t, "spline: momentum", f.Momentum, [][]float64{rest}, 1e-9)
	expect.Rel(t, "spline: energy", f.Energy, (rest[0]*rest[0]+rest[1]*rest[1])*sigma*sigma/6*(1-1./(4*n*n)), 1e-9)
}

// The most probable flow of Kunita's process is the geodesic, with its momentum.
func TestMostProbableOfKunita(t *testing.T) {
	s := landmarks.New(4, 2, kernels.Gaussian(1.2))
	x := [][]float64{{0, 0}, {0.8, 0.1}, {0.3, 0.6}, {1.2, 0.9}}
	y := [][]float64{{0.1, -0.3}, {0.9, 0.4}, {-0.2, 1.1}, {1.5, 1.2}}
	g := expect.Must(s.Log(x, y))
	var half geom.Shape
	for _, v := range g.Velocity {
		half = append(half, []float64{v[0] / 2, v[1] / 2})
	}
	middle := expect.Must(s.Exp(x, half))
	process := expect.Must(s.Kunita(x, 1, 1))
	var errors []float64
	for _, n := range []int{10, 20} {
		f := expect.Must(process.MostProbable(y, 0, n, 1))
		converged(t, fmt.Sprint(n, " steps"), f)
		expect.Rel(t, fmt.Sprint(n, " steps: momentum"), f.Momentum, g.Momentum, 2/float64(n*n))
		expect.Abs(t, fmt.Sprint(n, " steps: end"), f.Points[n], y, 1e-9)
		expect.Rel(t, fmt.Sprint(n, " steps: path"), f.Points[n/2], middle.End, 2/float64(n*n))
		errors = append(errors, math.Abs(f.Energy/(g.Length*g.Length/2)-1))
	}
	if order := math.Log2(errors[0] / errors[1]); order < 1.9 {
		t.Errorf("errors of the energy %.3g, order %.2f, want 2", errors, order)
	}
}

// Without momenta at the start, noise fields σ_l carry landmarks along geodesics of the cometric Σ_l σ_l σ_lᵀ.
func TestMostProbableOfFields(t *testing.T) {
	s := landmarks.New(2, 2, kernels.Gaussian(1))
	fields := landmarks.NoiseFields{Width: 0.7}
	for _, c := range [][]float64{{-0.1, 0}, {0.7, 0.5}} {
		fields.Centres = append(fields.Centres, c, c)
		fields.Amplitudes = append(fields.Amplitudes, []float64{0.6, 0}, []float64{0, 0.6})
	}
	x, y := [][]float64{{0, 0}, {0.6, 0.3}}, [][]float64{{0.2, -0.1}, {0.5, 0.6}}
	process := expect.Must(s.Eulerian(x, [][]float64{{0, 0}, {0, 0}}, fields))
	f := expect.Must(process.MostProbable(y, 0, 40, 1))
	converged(t, "fields", f)

	field := func(x *Node) *Node { // columns σ_l at the points, [4, L]
		lead := x.Shape().Dimensions[:x.Rank()-1]
		q := Reshape(x, append(slices.Clone(lead), 2, 2)...)
		like := func(v []float64) *Node {
			return BroadcastToShape(ExpandLeftToRank(Const(x.Graph(), v), q.Rank()), q.Shape())
		}
		var columns []*Node
		for l, c := range fields.Centres {
			k := Exp(MulScalar(ReduceAndKeep(Square(Sub(q, like(c))), ReduceSum, -1), -1/(2*fields.Width*fields.Width)))
			column := Mul(BroadcastToShape(k, q.Shape()), like(fields.Amplitudes[l]))
			columns = append(columns, Reshape(column, append(slices.Clone(lead), 4)...))
		}
		return Stack(columns, -1)
	}
	g := expect.Must(geom.On(geom.CometricFunc(4, func(q, p *Node) *Node {
		f := field(q)
		return linalg.MatVec(f, linalg.MatVec(linalg.T(f), p))
	})).Log(shape.Flat(x), shape.Flat(y)))
	expect.Rel(t, "energy", f.Energy, g.Length*g.Length/2, 1e-3)
	expect.Rel(t, "momentum", shape.Flat(f.Momentum), g.Momentum, 1e-3)
}

// The stochastic development has the most probable paths of the frame bundle.
func TestMostProbableOfDevelopment(t *testing.T) {
	frame := [][]float64{{0.8, 0.64, 0}}
	y := []float64{0.9, -0.3, math.Sqrt(1 - 0.9)}
	const sigma = 0.2
	g := expect.Must(framebundle.Over(sphere).MostProbablePath(framebundle.At(pole, frame...), y, sigma))
	f := expect.Must(stochastic.Development(sphere, pole, frame...).MostProbable(y, sigma, 40, 1))
	converged(t, "development", f)
	expect.Rel(t, "energy", f.Energy, g.Energy, 1e-3)
	expect.Rel(t, "end", f.Points[40], g.End, 1e-3)
	expect.Rel(t, "momentum", f.Momentum, g.Momentum.Horizontal, 1e-3)
}

// Noise along one vector u only, observed at y with errors: the flow ends at x = ⟨u, y⟩u/(1 + σ²), and the derivative of the cost by the
// start is −(y − x)/σ², however small the errors are.
func TestMomentumWhereNoNoiseIs(t *testing.T) {
	u, y := geom.Vec{0.36, 0.48, 0.8}, geom.Vec{1, -0.3, 0.7}
	for _, sigma := range []float64{1, 1e-3, 1e-5, 1e-6, 1e-8} {
		what := fmt.Sprintf("σ = %g: ", sigma)
		f := expect.Must(stochastic.Development(geom.On(manifold.Euclidean(3)), geom.Vec{0, 0, 0}, u).MostProbable(y, sigma, 5, 1))
		converged(t, what, f)
		along := floats.Dot(u, y) / (1 + sigma*sigma)
		expect.Rel(t, what+"energy", f.Energy, along*along/2, 1e-9)
		want := floats.AddScaledTo(make([]float64, 3), y, -along, u)
		floats.Scale(1/(sigma*sigma), want)
		expect.Rel(t, what+"momentum", f.Momentum, want, 1e-9)
	}
}

func TestMostProbableRefuses(t *testing.T) {
	s := landmarks.New(2, 2, kernels.Gaussian(1))
	x := [][]float64{{0, 0}, {1, 0}}
	process := expect.Must(s.Kunita(x, 1, 1))
	expect.Refused(t, expect.Error(process.MostProbable(x[:1], 0, 10, 1)), "observation")
	expect.Refused(t, expect.Error(process.MostProbable(x, -1, 10, 1)), "standard deviation -1")
	expect.Refused(t, expect.Error(process.MostProbable(x, 0, 0, 1)), "0 steps")
	// One vector of noise reaches a line of points: the flow says that it is not there.
	f := expect.Must(stochastic.Development(sphere, pole, []float64{0.8, 0.64, 0}).MostProbable([]float64{0.6, 0, 0.8}, 0, 10, 1))
	if f.Status == geom.Converged || f.Miss < 1e-3 {
		t.Errorf("reached what it cannot: %v", f)
	}
}

// Where points are orbits, a flow does not see how its end is turned: the development of an orthonormal frame leads along the geodesic.
func TestMostProbableToTurned(t *testing.T) {
	space := geom.On(manifold.Kendall(3, 2))
	project := func(z ...float64) []float64 {
		p, _, err := space.Project(z)
		return expect.Must(p, err)
	}
	x, y := project(0, 0, 1, 0, 0.4, 0.9), project(0, 0, 1, 0.3, 0.1, 0.5)
	want := expect.Must(space.Log(x, y))
	process := stochastic.Development(space, x, expect.Must(stochastic.Orthonormal(space, x))...)
	var first *stochastic.Flow[geom.Vec]
	for k, turned := range [][]float64{y, {-y[0], -y[1], -y[2], -y[3], -y[4], -y[5]}, {-y[1], y[0], -y[3], y[2], -y[5], y[4]}} {
		f := expect.Must(process.MostProbable(turned, 0, 10, 1))
		converged(t, "to a turned shape", f)
		expect.Abs(t, "energy", f.Energy, want.Length*want.Length/2, 1e-5)
		expect.Abs(t, "end", f.Points[10], want.End, 1e-5)
		f = expect.Must(process.MostProbable(turned, 0.2, 10, 1))
		converged(t, "with noise", f)
		if k == 0 {
			first = f
		}
		expect.Abs(t, "energy with noise", f.Energy, first.Energy, 1e-9)
		expect.Abs(t, "miss with noise", f.Miss, first.Miss, 1e-7)
	}
}

// A flow that ends where it starts converges: one that rests, of energy 0, and one that
// turns back, x″ = θ² x against friction θ, of energy θ x² tanh ½θT.
func TestMostProbableToTheStart(t *testing.T) {
	for _, x := range [][]float64{pole, {1. / 3, 2. / 3, -2. / 3}, {1, 0, 0}} {
		f := expect.Must(isotropic(sphere, x).MostProbable(x, 0, 10, 1))
		converged(t, "rest", f)
		expect.Abs(t, "energy of rest", f.Energy, 0, 1e-12)
	}
	const theta, T, x = 1.3, 0.8, 0.7
	process := stochastic.Process[geom.Vec]{Space: geom.On(manifold.Euclidean(1)), Name: "friction", Scheme: ode.EulerMaruyama, Noise: 1, Start: geom.Vec{x},
		Dynamics: stochastic.EquationOf(func(geom.Local, []*Node) ode.Equation {
			return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
				return ode.State{Sub(dw, Mul(dt, MulScalar(y[0], theta)))}
			}
		})}
	f := expect.Must(process.MostProbable(geom.Vec{x}, 0, 40, T))
	converged(t, "back", f)
	expect.Rel(t, "energy of the way back", f.Energy, theta*x*x*math.Tanh(theta*T/2), 1e-3)
}

// A flow of many turns needs more steps than one of few. Where twice as many lead elsewhere, it has not converged.
func TestMostProbableThatWinds(t *testing.T) {
	spin := func(rate float64) stochastic.Process[geom.Vec] {
		return stochastic.Process[geom.Vec]{Space: geom.On(manifold.Euclidean(2)), Name: "spin", Scheme: ode.EulerMaruyama, Noise: 2, Start: geom.Vec{1, 0},
			Params: []any{rate}, Dynamics: stochastic.EquationOf(func(_ geom.Local, params []*Node) ode.Equation {
				return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
					x := y[0]
					turned := Concatenate([]*Node{Neg(SliceAxis(x, -1, AxisRange(1, 2))), SliceAxis(x, -1, AxisRange(0, 1))}, -1)
					return ode.State{Add(dw, Mul(Mul(params[0], dt), turned))}
				}
			})}
	}
	for _, c := range []struct {
		rate  float64
		steps int
		fine  bool
	}{{1, 20, true}, {60, 20, false}, {60, 400, true}} {
		f := expect.Must(spin(c.rate).MostProbable(geom.Vec{0, 2}, 0, c.steps, 1))
		t.Logf("%g rad, %d steps: %v, step error %.2g", c.rate, c.steps, f, f.StepError)
		if (f.Err() == nil) != c.fine || (f.StepError <= 1e-3) != c.fine {
			t.Errorf("%g rad in %d steps: %v, error of the steps %.2g", c.rate, c.steps, f.Err(), f.StepError)
		}
	}
	expect.Refused(t, expect.Must(spin(60).MostProbable(geom.Vec{0, 2}, 0, 20, 1)).Err(), "twice the steps move its end")
}
