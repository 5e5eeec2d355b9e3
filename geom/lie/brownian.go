package lie

import (
	"cmp"
	"errors"
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stochastic"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Brownian returns the process of Brownian motion of an invariant metric, from a point of the group. In Stratonovich's calculus it is
//
//	dg = g (Σ_a e_a^ ∘dW^a − ½ H^ dt)  left-invariant,  dg = (Σ_a e_a^ ∘dW^a + ½ H^ dt) g  right-invariant,
//
// where e_a is a basis of the Lie algebra that is orthonormal for A, and the vector H is defined by A(H, ξ) = tr ad_ξ for all ξ.
// The drift comes from the Laplacian Σ_a (e_a e_a − ∇_(e_a) e_a) of the metric; H is 0 on unimodular groups, which are all groups
// of this package except Affine. The process has the law of stochastic.Brownian, which works for every metric, and costs less.
func Brownian[P geom.Point](on geom.Of[P], start P) (_ stochastic.Process[P], err error) {
	const what = "Brownian motion on a group"
	defer refuse.About(&err, what)
	s := on.Geometry()
	m, err := starting(s, start)
	if err != nil {
		return stochastic.Process[P]{}, err
	}
	return process(s, start, what, m.orthonormal(), []any{m.drift()}, brownian{driven{metric: m}}), nil
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
	const what = "Motion by noise"
	defer refuse.About(&err, what)
	s := on.Geometry()
	m, err := starting(s, start)
	if err == nil {
		err = m.checkNoise(noise)
	}
	if err != nil {
		return stochastic.Process[P]{}, err
	}
	return process(s, start, what, noise, []any{make([]float64, m.Dim())}, brownian{driven{metric: m}}), nil
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
	const what = "Coadjoint motion"
	defer refuse.About(&err, what)
	s := on.Geometry()
	m, err := starting(s, start)
	if err == nil {
		err = cmp.Or(m.checkCoordinates("momentum", momentum), m.checkNoise(noise))
	}
	if err != nil {
		return stochastic.Process[P]{}, err
	}
	return process(s, start, what, noise, []any{geom.Clone(momentum)}, coadjoint{driven{metric: m}}), nil
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

// process is a motion with noise along fixed vectors, which are the first parameter.
func process[P geom.Point](s *geom.Space[P], start P, name string, noise [][]float64, params []any, d stochastic.Dynamics) stochastic.Process[P] {
	return stochastic.Process[P]{Space: s, Name: name, Scheme: ode.EulerHeun, Noise: len(noise), Start: geom.Clone(start),
		Params: append([]any{geom.Clone(geom.Shape(noise))}, params...), Dynamics: d}
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
	return rows(l.T())
}
