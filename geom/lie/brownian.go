package lie

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
)

// Brownian is Brownian motion of an invariant metric from a point, in Stratonovich's calculus:
//
//	dg = g (Σ_a e_a^ ∘dW^a − ½ H^ dt)  left-invariant,  dg = (Σ_a e_a^ ∘dW^a + ½ H^ dt) g  right-invariant,
//
// for an A-orthonormal basis e_a of the Lie algebra, A(H, ξ) = tr ad_ξ. The drift is that of the Laplacian
// Σ_a (e_a e_a − ∇_(e_a) e_a) of the metric; it is 0 on unimodular groups, which all but Affine are. It is the process of
// stochastic.Brownian, which needs only a metric, and costs less.
func Brownian(s *geom.Space, start []float64) (stochastic.Process, error) {
	const what = "Brownian motion on a group"
	m, err := starting(s, what, start)
	if err != nil {
		return stochastic.Process{}, err
	}
	drift := m.drift()
	return m.process(s, what, start, m.orthonormal(), []any{drift}, func(_ *Node, params []*Node) *Node { return params[0] }), nil
}

// Coadjoint is the motion of a body with the momentum m that is conserved without noise, in space for a left-invariant
// metric, driven by noise along fixed vectors σ_i of the Lie algebra, one a row:
//
//	dg = g (ξ dt + Σ_i σ_i ∘dW^i)^,  ξ = A⁻¹ μ,  μ = Ad*_g m,  so that  dμ = ad*_ξ μ dt + Σ_i ad*_(σ_i) μ ∘dW^i,
//
// and mirrored, μ = Ad*_(g⁻¹) m, for a right-invariant one. The momentum μ at the points, which Momenta
// returns, stays on its coadjoint orbit: what does so, |μ| on SO(3), is kept to rounding, while the energy is not
// (A. Arnaudon, A. De Castro and D. Holm, J. Nonlinear Science 28, 2018).
func Coadjoint(s *geom.Space, start, momentum []float64, noise [][]float64) (stochastic.Process, error) {
	const what = "Coadjoint motion"
	m, err := starting(s, what, start)
	if err != nil {
		return stochastic.Process{}, err
	}
	if err := m.checkCoordinates(what, "momentum", momentum); err != nil {
		return stochastic.Process{}, err
	}
	if len(noise) == 0 {
		return stochastic.Process{}, fmt.Errorf("%s: no vectors for the noise; Move is the motion without", what)
	}
	for i, v := range noise {
		if err := m.checkCoordinates(what, fmt.Sprintf("vector %d of the noise", i), v); err != nil {
			return stochastic.Process{}, err
		}
	}
	return m.process(s, what, start, noise, []any{momentum}, func(z *Node, params []*Node) *Node {
		return m.velocity(m.carried(z, params[0]))
	}), nil
}

// Momenta returns μ at the points of a motion with the conserved momentum m: Ad*_g m for a left-invariant metric,
// Ad*_(g⁻¹) m for a right-invariant one.
func Momenta(s *geom.Space, points [][]float64, conserved []float64) ([][]float64, error) {
	const what = "Momenta"
	m, err := on(s, what)
	if err != nil {
		return nil, err
	}
	if err := m.checkCoordinates(what, "conserved momentum", conserved); err != nil {
		return nil, err
	}
	for i, z := range points {
		if len(z) != m.AmbientDim() {
			return nil, fmt.Errorf("%s: point %d has %d numbers, want %d: a matrix row by row", what, i, len(z), m.AmbientDim())
		}
	}
	out, err := s.Call(what, func(in []*Node) []*Node { return []*Node{m.carried(in[0], in[1])} }, points, conserved)
	if err != nil {
		return nil, err
	}
	return out.Matrix(0), nil
}

// carried is Ad*_g m, or Ad*_(g⁻¹) m for right-invariant metrics: the inverse of what Motion.Conserved is.
func (m *metric) carried(z, conserved *Node) *Node {
	dims := append([]int{}, z.Shape().Dimensions...)
	dims[len(dims)-1] = m.Dim()
	if m.side == Right {
		z = m.Inverse(z)
	}
	return m.AdDual(z, BroadcastToDims(ExpandLeftToRank(conserved, len(dims)), dims...))
}

// process is the motion with the velocity ξ(g) dt + Σ_i σ_i ∘dW^i, where ξ may depend on further parameters.
func (m *metric) process(s *geom.Space, name string, start []float64, noise [][]float64, params []any, drift func(z *Node, params []*Node) *Node) stochastic.Process {
	return stochastic.Process{Space: s, Name: name, Scheme: ode.EulerHeun, Noise: len(noise), Start: start,
		Params: append([]any{noise}, params...),
		Equation: func(in geom.Manifold, params []*Node) ode.Equation {
			c := in.(geom.Chart)
			return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
				random := linalg.MatMul(dw, params[0])
				xi := drift(c.Point(y[0]), params[1:])
				xi = Add(random, BroadcastToShape(ExpandLeftToRank(Mul(dt, xi), random.Rank()), random.Shape()))
				return ode.State{m.chartVelocity(m.side, y[0], xi)}
			}
		}}
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
	h := make([]float64, d)
	for i, row := range m.inverse {
		h[i] = factor * floats.Dot(row, trace)
	}
	return h
}

// orthonormal is a basis of the Lie algebra, one vector a row: L of A⁻¹ = L Lᵀ, transposed.
func (m *metric) orthonormal() [][]float64 {
	d := m.Dim()
	inverse := mat.NewSymDense(d, nil)
	for i := range d {
		for j := range i + 1 {
			inverse.SetSym(i, j, m.inverse[i][j])
		}
	}
	var cholesky mat.Cholesky
	cholesky.Factorize(inverse) // A is positive definite
	var l mat.TriDense
	cholesky.LTo(&l)
	return rows(l.T())
}
