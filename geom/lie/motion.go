package lie

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stochastic"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// MuntheKaas turns an integrator into one that stays on the group, for states whose first part is an element g of the group,
// [..., N²]. In place of the derivative of g the field must return the velocity ξ, [..., d]: g' = g ξ^ for Left and g' = ξ^ g for
// Right. Within a step the element is g exp u, or exp u · g for Right, and the integrator solves
//
//	u' = dexp⁻¹ ξ = ξ ± ½ [u, ξ] + 1/12 [u, [u, ξ]] + O(u⁴),  + for Left, − for Right.
//
// The order is that of the integrator, but at most 4 (H. Munthe-Kaas, Applied Numerical Mathematics 29, 1999).
func (g *Group) MuntheKaas(side Side, method ode.Method) ode.Method {
	return ode.NewMethod("Munthe-Kaas "+method.Name, min(method.Order, 4), func(f ode.Equation, t, dt, dw *Node, y ode.State) ode.State {
		at := y[0]
		moved := func(u *Node) *Node {
			if side == Left {
				return g.Mul(at, g.Exp(u))
			}
			return g.Mul(g.Exp(u), at)
		}
		lifted := func(t *Node, y ode.State, dt, dw *Node) ode.State {
			out := append(ode.State{}, f(t, append(ode.State{moved(y[0])}, y[1:]...), dt, dw)...)
			out[0] = g.chartVelocity(side, y[0], out[0])
			return out
		}
		dims := append([]int{}, at.Shape().Dimensions...)
		dims[len(dims)-1] = g.Dim()
		zero := BroadcastToDims(ScalarZero(at.Graph(), at.DType()), dims...)
		next := append(ode.State{}, method.Step(lifted, t, dt, dw, append(ode.State{zero}, y[1:]...))...)
		next[0] = moved(next[0])
		return next
	})
}

// chartVelocity is dexp⁻¹_(∓u) ξ, to third order in u: for the u of one step.
func (g *Group) chartVelocity(side Side, u, xi *Node) *Node {
	half := 0.5
	if side == Right {
		half = -0.5
	}
	once := g.Bracket(u, xi)
	return Add(xi, Add(MulScalar(once, half), MulScalar(g.Bracket(u, once), 1./12)))
}

// LiePoisson returns the field μ' = ad*_ξ μ for Left and μ' = −ad*_ξ μ for Right, with ξ = ∂h/∂μ, for a Hamiltonian h that takes
// momenta μ, [..., d], to numbers, [...]. States have one part, μ. The solutions conserve h, and μ stays on its coadjoint orbit.
func (g *Group) LiePoisson(side Side, h func(mu *Node) *Node) ode.Field {
	return func(_ *Node, y ode.State) ode.State {
		return ode.State{g.turned(side, autodiff.Grad(h, y[0]), y[0])}
	}
}

// turned is ad*_ξ μ, or −ad*_ξ μ for Right.
func (g *Group) turned(side Side, xi, mu *Node) *Node {
	force := g.BracketDual(xi, mu)
	if side == Right {
		return Neg(force)
	}
	return force
}

// EulerPoincare returns the field of the geodesics of an invariant metric on states (g, μ): g is [..., N²] and the momentum
// μ = A ξ is [..., d], in body coordinates for left-invariant metrics and in space coordinates for right-invariant ones. In place
// of g' it returns the velocity ξ, [..., d]; so it must be integrated by a method that Group.MuntheKaas makes. It panics if m is
// not from LeftInvariant or RightInvariant.
func EulerPoincare(m geom.Charted) ode.Field {
	im, ok := m.(invariantMetric)
	refuse.If(!ok, "lie.EulerPoincare: %T is not an invariant metric of a group", m)
	a := im.of()
	return func(_ *Node, y ode.State) ode.State {
		xi := a.velocity(y[1])
		return ode.State{xi, a.turned(a.side, xi, y[1])}
	}
}

// Motion is a geodesic of an invariant metric from time 0 to T, as the motion of a body.
type Motion[P geom.Point] struct {
	Times      []float64   // 0, T/n, …, T
	Path       []P         // g at these times
	Velocities [][]float64 // ξ, coordinates in the Lie algebra
	Momenta    [][]float64 // μ = A ξ
	Conserved  [][]float64 // Ad*_(g⁻¹) μ for left-invariant metrics, Ad*_g μ for right-invariant ones; constant up to the error
}

// Energy returns ½ A(ξ, ξ) at Times[i]; it is constant up to the error of the integration.
func (m *Motion[P]) Energy(i int) float64 {
	solve.NotNil(m)
	return floats.Dot(m.Velocities[i], m.Momenta[i]) / 2
}

// Move integrates the geodesic of an invariant metric from a point g, with the initial velocity ξ, coordinates in the Lie algebra,
// from time 0 to T in n steps. It integrates the equations of Euler and Poincaré, with g' = g ξ^ for left-invariant and g' = ξ^ g for
// right-invariant metrics, by the method of Munthe-Kaas of order 4. The points stay on the group; Energy and Conserved show how
// exact the motion is. A motion that diverges is an error.
func Move[P geom.Point](on geom.Of[P], start P, velocity []float64, T float64, n int) (_ *Motion[P], err error) {
	defer refuse.About(&err, "Move")
	s := on.Geometry()
	m, err := starting(s, start)
	if err == nil {
		err = m.checkCoordinates("velocity", velocity)
	}
	if err != nil {
		return nil, err
	}
	if n < 1 || !(T > 0) || math.IsInf(T, 1) {
		return nil, fmt.Errorf("%d steps over the time %g, want at least 1 and a finite positive time", n, T)
	}
	out, err := s.Call(operation{"Move", n}, func(in []*Node) []*Node {
		start, xi, T := in[0], in[1], in[2]
		field := EulerPoincare(m)
		scaled := func(t *Node, y ode.State) ode.State {
			out := field(t, y)
			return ode.State{Mul(T, out[0]), Mul(T, out[1])}
		}
		path := ode.Path(scaled, m.MuntheKaas(m.side, ode.RK4), n, ode.State{start, m.momentum(xi)})
		z, mu := path[0], path[1]
		to := z
		if m.side == Left {
			to = m.Inverse(z)
		}
		return []*Node{z, m.velocity(mu), mu, m.Coadjoint(to, mu)}
	}, shape.Flat(start), velocity, T)
	if err != nil {
		return nil, err
	}
	path := out.Matrix(0)
	motion := &Motion[P]{Path: s.FromFlats(path), Velocities: out.Matrix(1), Momenta: out.Matrix(2), Conserved: out.Matrix(3)}
	for i, z := range path {
		t := T * float64(i) / float64(n)
		if !lists.Finite(floats.Sum(z), floats.Sum(motion.Momenta[i])) {
			return nil, fmt.Errorf("the motion diverges at step %d of %d (time %.4g of %.4g): use more steps", i, n, t, T)
		}
		motion.Times = append(motion.Times, t)
	}
	return motion, nil
}

// starting returns the invariant metric of a space, and an error if there is none or z is not an element of the group.
func starting[P geom.Point](s *geom.Space[P], z P) (*metric, error) {
	m, err := on(s.M)
	if err != nil {
		return nil, err
	}
	if err := s.Check("start", z); err != nil {
		return nil, fmt.Errorf("no element of %s: %w", m.name, err)
	}
	return m, nil
}

// checkCoordinates returns an error unless xi are coordinates in the Lie algebra.
func (m *metric) checkCoordinates(name string, xi []float64) error {
	if len(xi) != m.Dim() {
		return fmt.Errorf("the %s has %d coordinates, want %d, those in the Lie algebra of %s", name, len(xi), m.Dim(), m.name)
	}
	if i, bad := lists.NotFinite(xi); bad {
		return fmt.Errorf("coordinate %d of the %s is %g", i, name, xi[i])
	}
	return nil
}

// Brownian returns the process of Brownian motion of an invariant metric, from a point of the group. In Stratonovich's calculus it is
//
//	dg = g (Σ_a e_a^ ∘dW^a − ½ H^ dt)  left-invariant,  dg = (Σ_a e_a^ ∘dW^a + ½ H^ dt) g  right-invariant,
//
// where e_a is a basis of the Lie algebra that is orthonormal for A, and the vector H is defined by A(H, ξ) = tr ad_ξ for all ξ.
// The drift comes from the Laplacian Σ_a (e_a e_a − ∇_(e_a) e_a) of the metric; H is 0 on unimodular groups, which are all groups
// of this package except Affine. The process has the law of stochastic.Brownian, which works for every metric, and costs less.
func Brownian[P geom.Point](on geom.Of[P], start P) (_ stochastic.Process[P], err error) {
	return process(on, start, "Brownian motion on a group", func(m *metric) (noise [][]float64, params []any, d stochastic.Dynamics, err error) {
		return m.orthonormal(), []any{m.drift()}, brownian{driven{metric: m}}, nil
	})
}

// brownian is the equation of Brownian; its second parameter is the drift ∓½ H.
type brownian struct{ driven }

func (d brownian) NearCentre() stochastic.Dynamics { return brownian{d.step()} }

func (d brownian) Equation(at geom.Local, params []*Node) ode.Equation {
	return d.equation(at, params[0], func(*Node) *Node { return params[1] })
}

// Driven returns the process dg = g Σ_i σ_i^ ∘dW^i from a point of a group, (Σ_i σ_i^ ∘dW^i) g for a right-invariant metric, for vectors
// σ_i of the Lie algebra, the rows of noise. With a basis of 𝔥 from Homogeneous.Split it moves in one fibre, with one of 𝔪 from fibre to
// fibre and never along them.
func Driven[P geom.Point](on geom.Of[P], start P, noise [][]float64) (_ stochastic.Process[P], err error) {
	return process(on, start, "Motion by noise", func(m *metric) ([][]float64, []any, stochastic.Dynamics, error) {
		return noise, []any{make([]float64, m.Dim())}, brownian{driven{metric: m}}, m.checkNoise(noise)
	})
}

// checkNoise returns an error unless the noise is vectors of the Lie algebra.
func (m *metric) checkNoise(noise [][]float64) error {
	if len(noise) == 0 {
		return errors.New("no vectors for the noise; lie.Move computes the motion without noise")
	}
	for i, v := range noise {
		if err := m.checkCoordinates(fmt.Sprintf("vector %d of the noise", i), v); err != nil {
			return err
		}
	}
	return nil
}

// Coadjoint returns the process of a motion that is driven by noise along fixed vectors σ_i of the Lie algebra, the rows of noise.
// The momentum m, [d], is conserved by the motion without noise: for a left-invariant metric it is the momentum of a body in space.
// For a left-invariant metric the process is
//
//	dg = g (ξ dt + Σ_i σ_i ∘dW^i)^,  ξ = A⁻¹ μ,  μ = Ad*_g m,  so that  dμ = ad*_ξ μ dt + Σ_i ad*_(σ_i) μ ∘dW^i,
//
// and for a right-invariant one dg = (…)^ g with μ = Ad*_(g⁻¹) m. Momenta returns μ at the points of a path. It stays on its
// coadjoint orbit: functions that are constant on the orbit, such as |μ| on SO(3), are constant to rounding; the energy is not
// constant (A. Arnaudon, A. De Castro and D. Holm, J. Nonlinear Science 28, 2018).
func Coadjoint[P geom.Point](on geom.Of[P], start P, momentum []float64, noise [][]float64) (_ stochastic.Process[P], err error) {
	return process(on, start, "Coadjoint motion", func(m *metric) ([][]float64, []any, stochastic.Dynamics, error) {
		return noise, []any{geom.Clone(momentum)}, coadjoint{driven{metric: m}}, cmp.Or(m.checkCoordinates("momentum", momentum), m.checkNoise(noise))
	})
}

// coadjoint is the equation of Coadjoint.
type coadjoint struct{ driven }

func (d coadjoint) NearCentre() stochastic.Dynamics { return coadjoint{d.step()} }

func (d coadjoint) Equation(at geom.Local, params []*Node) ode.Equation {
	return d.equation(at, params[0], func(z *Node) *Node { return d.velocity(d.carried(z, params[1])) })
}

// Momenta returns the momenta μ, [d] each, at points g of a motion with the conserved momentum m, [d]: μ = Ad*_g m for a
// left-invariant metric and μ = Ad*_(g⁻¹) m for a right-invariant one.
func Momenta[P geom.Point](over geom.Of[P], points []P, conserved []float64) (_ [][]float64, err error) {
	const what = "Momenta"
	defer refuse.About(&err, what)
	s := over.Geometry()
	m, err := on(s.M)
	if err == nil {
		err = cmp.Or(m.checkCoordinates("conserved momentum", conserved), s.CheckAll("point", points))
	}
	if err != nil {
		return nil, err
	}
	out, err := s.Call(operation{name: what}, func(in []*Node) []*Node { return []*Node{m.carried(in[0], in[1])} }, shape.FlatAll(points), conserved)
	if err != nil {
		return nil, err
	}
	return out.Matrix(0), nil
}

// operation is the key of this package's compiled functions.
type operation struct {
	name  string
	steps int
}

func (o operation) String() string { return o.name }

// carried is the momentum Ad*_g m, or Ad*_(g⁻¹) m for right-invariant metrics, that belongs to the conserved momentum m.
func (m *metric) carried(z, conserved *Node) *Node {
	dims := append([]int{}, z.Shape().Dimensions...)
	dims[len(dims)-1] = m.Dim()
	if m.side == Right {
		z = m.Inverse(z)
	}
	return m.Coadjoint(z, BroadcastToDims(ExpandLeftToRank(conserved, len(dims)), dims...))
}

// process is a motion with noise along fixed vectors, which are its first parameter; of says the noise, the other parameters and the dynamics.
func process[P geom.Point](on geom.Of[P], start P, name string,
	of func(m *metric) ([][]float64, []any, stochastic.Dynamics, error)) (_ stochastic.Process[P], err error) {
	defer refuse.About(&err, "%s", name)
	m, err := starting(on.Geometry(), start)
	if err != nil {
		return stochastic.Process[P]{}, err
	}
	noise, params, d, err := of(m)
	if err != nil {
		return stochastic.Process[P]{}, err
	}
	return stochastic.Process[P]{Space: on.Geometry(), Name: name, Scheme: ode.EulerHeun, Noise: len(noise), Start: geom.Clone(start),
		Params: append([]any{geom.Clone(geom.Shape(noise))}, params...), Dynamics: d}, nil
}

// driven are the dynamics of motions with the velocity ξ(g) dt + Σ_i σ_i ∘dW^i.
type driven struct {
	*metric
	near bool // see stochastic.Stepwise
}

func (d driven) step() driven { return driven{d.metric, true} }

func (d driven) equation(at geom.Local, noise *Node, velocity func(z *Node) *Node) ode.Equation {
	return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
		random := linalg.MatMul(dw, noise)
		xi := velocity(at.Point(y[0]))
		xi = Add(random, BroadcastToShape(ExpandLeftToRank(Mul(dt, xi), random.Rank()), random.Shape()))
		return ode.State{d.inChart(y[0], xi)}
	}
}

// inChart is the velocity x' = dexp⁻¹_(∓x) ξ of coordinates.
func (d driven) inChart(x, xi *Node) *Node {
	if d.near {
		return d.chartVelocity(d.side, x, xi)
	}
	if f, ok := d.form.(closed); ok {
		return linalg.MatVec(f.inverseDExp(d.Group, d.signed(x)), xi)
	}
	return linalg.SolveGeneral(d.DExp(d.signed(x)), xi)
}

// drift is ∓½ H, A(H, ξ) = tr ad_ξ.
func (m *metric) drift() []float64 {
	d := m.Dim()
	trace := make([]float64, d)
	for k := range d {
		floats.Add(trace, m.structure[k*d+k])
	}
	factor := -0.5
	if m.side == Right {
		factor = 0.5
	}
	return lists.Each(m.inverse, func(row []float64) float64 { return factor * floats.Dot(row, trace) })
}

// orthonormal is a basis of the Lie algebra, one vector a row: L of A⁻¹ = L Lᵀ, transposed.
func (m *metric) orthonormal() [][]float64 {
	inverse, _ := symmetric(m.Dim(), m.inverse)
	var cholesky mat.Cholesky
	cholesky.Factorize(inverse) // A is positive definite
	var l mat.TriDense
	cholesky.LTo(&l)
	return dense.List(l.T())
}
