package guided

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
)

// Separable is an optional interface of stochastic.Dynamics in R^(n·D) whose noise is the same along all D axes: in Itô's calculus
// dx = b dt + (σ ⊗ I_D) dW. Matrices are then n × n in place of nD × nD; σ is the Cholesky factor of a = σσᵀ.
type Separable interface {
	// Separate returns b, [N, n·D], nil for none, and a, [N, n, n], at states y of N paths in the coordinates of at. The
	// params are scalars or [N, 1].
	Separate(at geom.Local, y ode.State, params []*Node) (b, a *Node)
}

// Additive is an optional interface of stochastic.Dynamics whose noise does not depend on the state, so that the calculi of Itô and
// Stratonovich agree. The noise is then not asked from the equation, with every unit vector of it at every state.
type Additive interface {
	// Diffusion returns σ, [N, d, m], of the N states y, [N, ...] and [k, N, ...], whose numbers follow each other in d.
	Diffusion(y ode.State, params []*Node) *Node
}

// model is a process as the sweeps see it: states x, [N, n, D], with noise [N, k, D].
type model struct {
	manifold geom.Manifold
	dynamics stochastic.Dynamics
	scheme   ode.Scheme
	noise    int
	n, d, k  int
	parts    []int // how many vectors each part of the state has
	flat     bool  // D is 1, and the noise has no known structure
}

func newModel[P geom.Point](p stochastic.Process[P]) model {
	m := model{manifold: p.Space.M, dynamics: p.Dynamics, scheme: p.Scheme, noise: p.Noise}
	for _, part := range p.Parts {
		m.parts = append(m.parts, len(part.Vectors))
	}
	total := p.Space.M.Dim()
	if r, ok := p.Space.M.(geom.Rows); ok {
		if _, separable := p.Dynamics.(Separable); separable {
			m.n, m.d, _ = r.Rows()
			m.k = m.n
			return m
		}
	}
	for _, k := range m.parts {
		total += k * p.Space.M.Dim()
	}
	m.n, m.d, m.k, m.flat = total, 1, p.Noise, true
	return m
}

// state takes x, [N, n, D], to the parts of the process.
func (m model) state(x *Node) ode.State {
	rows, dim := x.Shape().Dim(0), m.manifold.Dim()
	flat := Reshape(x, rows, m.n*m.d)
	y := ode.State{SliceAxis(flat, 1, AxisRange(0, dim))}
	at := dim
	for _, k := range m.parts {
		y = append(y, Transpose(Reshape(SliceAxis(flat, 1, AxisRange(at, at+k*dim)), rows, k, dim), 0, 1))
		at += k * dim
	}
	return y
}

// flatten is the inverse of state.
func (m model) flatten(y ode.State) *Node {
	rows := y[0].Shape().Dim(0)
	out := []*Node{y[0]}
	for j, k := range m.parts {
		out = append(out, Reshape(Transpose(y[1+j], 0, 1), rows, k*m.manifold.Dim()))
	}
	return Reshape(Concatenate(out, 1), rows, m.n, m.d)
}

// at returns b, [N, n, D], nil for none, and σ, [N, n, k], or a = σσᵀ if σ is its Cholesky factor, in Itô's calculus, at states x. The params that vary are [N, 1].
func (m model) at(x *Node, params []*Node, varies []bool) (b, sigma, a *Node) {
	local := geom.At(m.manifold, m.state(x)[0])
	if s, ok := m.dynamics.(Separable); ok && !m.flat {
		b, a = s.Separate(local, m.state(x), params)
		if b != nil {
			b = Reshape(b, x.Shape().Dimensions...)
		}
		return b, nil, a
	}
	equation := func(params []*Node) ode.Equation { return m.dynamics.Equation(local, params) }
	additive, constant := m.dynamics.(Additive)
	ito := equation(params)
	if m.scheme.Calculus == ode.Stratonovich && !constant {
		ito = ode.ItoFromStratonovich(ito, m.noise)
	}
	g, dtype, rows := x.Graph(), x.DType(), x.Shape().Dim(0)
	zero, one := ScalarZero(g, dtype), ScalarOne(g, dtype)
	b = m.flatten(ito(zero, m.state(x), one, BroadcastToDims(zero, rows, m.noise)))
	if constant {
		return b, additive.Diffusion(m.state(x), params), nil
	}
	// The columns of σ: every path once with each unit vector of the noise.
	repeat := func(p *Node) *Node {
		return Reshape(BroadcastToDims(ExpandAxes(p, 1), rows, m.noise, p.Shape().Dim(1)), rows*m.noise, p.Shape().Dim(1))
	}
	many := slices.Clone(params)
	for j, p := range params {
		if varies[j] {
			many[j] = repeat(p)
		}
	}
	xs := Reshape(repeat(Reshape(x, rows, m.n*m.d)), rows*m.noise, m.n, m.d)
	units := Reshape(BroadcastToDims(ExpandAxes(linalg.Eye(g, dtype, m.noise), 0), rows, m.noise, m.noise), rows*m.noise, m.noise)
	columns := m.flatten(equation(many)(zero, m.state(xs), zero, units))
	return b, Transpose(Reshape(columns, rows, m.noise, m.n), 1, 2), nil
}

// vectors are the numbers of a process's start with its parts, [n][D].
func start[P geom.Point](p stochastic.Process[P], m model) [][]float64 {
	flat := append([]float64{}, p.Space.Vector(p.Start)...)
	for _, part := range p.Parts {
		for _, v := range part.Vectors {
			flat = append(flat, p.Space.Vector(v)...)
		}
	}
	out := make([][]float64, m.n)
	for i := range out {
		out[i] = flat[i*m.d : (i+1)*m.d]
	}
	return out
}

// key says what a compiled function of the model depends on.
func (m model) key() string { return fmt.Sprint(m.scheme.Name, m.n, m.d, m.k, m.parts, m.flat) }
