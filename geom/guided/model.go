package guided

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stochastic"
	"anatomy/internal/lists"
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

// model is a process as the sweeps see it: states, [N, wide, D], in coordinates x, [N, n, D], with noise [N, k, D]. On a geom.Charted
// manifold states are ambient and coordinates those of a chart; elsewhere both are one, and wide is n.
type model struct {
	manifold geom.Manifold
	dynamics stochastic.Dynamics
	scheme   ode.Scheme
	noise    int
	n, d, k  int
	wide     int
	parts    []int // how many vectors each part of the state has
	kinds    []geom.Kind
	flat     bool // D is 1, and the noise has no known structure
	charted  bool
}

func newModel[P geom.Point](p stochastic.Process[P]) model {
	m := model{manifold: p.Space.M, dynamics: p.Dynamics, scheme: p.Scheme, noise: p.Noise, charted: geom.IsCharted(p.Space.M)}
	if s, ok := p.Dynamics.(stochastic.Stepwise); ok { // they are evaluated at the centres of charts
		m.dynamics = s.NearCentre()
	}
	vectors := 1
	for _, part := range p.Parts {
		m.parts, m.kinds = append(m.parts, len(part.Vectors)), append(m.kinds, part.Kind)
		vectors += len(part.Vectors)
	}
	if r, ok := p.Space.M.(geom.Rows); ok && !m.charted {
		if _, separable := p.Dynamics.(Separable); separable {
			m.n, m.d, _ = r.Rows()
			m.k, m.wide = m.n, m.n
			return m
		}
	}
	m.n, m.wide, m.d, m.k, m.flat = vectors*p.Space.M.Dim(), vectors*geom.PointDim(p.Space.M), 1, p.Noise, true
	return m
}

// split takes states, [B..., wide, D], or coordinates, [B..., n, D], to the parts of the process, whose vectors have dim numbers.
func (m model) split(x *Node, dim int) ode.State {
	batch := x.Shape().Dimensions[:x.Rank()-2]
	shape := func(last ...int) []int { return append(slices.Clone(batch), last...) }
	flat := Reshape(x, shape(x.Shape().Dim(-2)*m.d)...)
	y := ode.State{SliceAxis(flat, -1, AxisRange(0, dim))}
	at := dim
	for _, k := range m.parts {
		part := Reshape(SliceAxis(flat, -1, AxisRange(at, at+k*dim)), shape(k, dim)...)
		perm := []int{len(batch)}
		for a := range len(batch) {
			perm = append(perm, a)
		}
		y = append(y, TransposeAllDims(part, append(perm, len(batch)+1)...))
		at += k * dim
	}
	return y
}

// join is the inverse of split.
func (m model) join(y ode.State) *Node {
	batch := y[0].Shape().Dimensions[:y[0].Rank()-1]
	out := []*Node{y[0]}
	for _, part := range y[1:] {
		flat := linalg.Rows(part)
		out = append(out, Reshape(flat, append(slices.Clone(batch), flat.Shape().Dim(-2)*flat.Shape().Dim(-1))...))
	}
	all := Concatenate(out, -1)
	return Reshape(all, append(slices.Clone(batch), all.Shape().Dim(-1)/m.d, m.d)...)
}

// enter takes states, [N, wide, D], to their coordinates, [N, n, D], in the charts centred at their own points.
func (m model) enter(x *Node) (at geom.Local, y *Node) {
	s := m.split(x, geom.PointDim(m.manifold))
	at = geom.At(m.manifold, s[0])
	if !m.charted {
		return at, x
	}
	return at, m.inside(at, s)
}

// inside are the coordinates of states in charts at their points.
func (m model) inside(at geom.Local, s ode.State) *Node {
	y := ode.State{at.X}
	for j, kind := range m.kinds {
		y = append(y, at.Enter(kind, s[j+1]))
	}
	return m.join(y)
}

// leave is the inverse of enter, for coordinates, [P..., N, n, D], of many states in each chart.
func (m model) leave(at geom.Local, y *Node) *Node {
	if !m.charted {
		return y
	}
	c := m.split(y, m.manifold.Dim())
	at = at.Moved(c[0])
	s := ode.State{at.Z}
	for j, kind := range m.kinds {
		s = append(s, at.Leave(kind, c[j+1]))
	}
	return m.join(s)
}

// from are the coordinates, [P..., N, n, D], of states in other charts.
func (m model) from(chart geom.Local, x *Node) *Node {
	s := m.split(x, geom.PointDim(m.manifold))
	return m.inside(chart.Through(s[0]), s)
}

// at returns b, [N, n, D], nil for none, and σ, [N, n, k], or a = σσᵀ if σ is its Cholesky factor, in Itô's calculus, for x in the
// coordinates of local. The params that vary are [N, 1].
func (m model) at(local geom.Local, x *Node, params []*Node, varies []bool) (b, sigma, a *Node) {
	dim := m.manifold.Dim()
	if s, ok := m.dynamics.(Separable); ok && !m.flat {
		b, a = s.Separate(local, m.split(x, dim), params)
		if b != nil {
			b = Reshape(b, x.Shape().Dimensions...)
		}
		return b, nil, a
	}
	additive, constant := m.dynamics.(Additive)
	ito := m.dynamics.Equation(local, params)
	if m.scheme.Calculus == ode.Stratonovich && !constant {
		ito = ode.ItoFromStratonovich(ito, m.noise)
	}
	g, dtype, rows := x.Graph(), x.DType(), x.Shape().Dim(0)
	zero, one := ScalarZero(g, dtype), ScalarOne(g, dtype)
	b = m.join(ito(zero, m.split(x, dim), one, BroadcastToDims(zero, rows, m.noise)))
	if constant {
		return b, additive.Diffusion(m.split(x, dim), params), nil
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
	if m.charted {
		local = geom.At(m.manifold, repeat(local.Z))
	}
	xs := Reshape(repeat(Reshape(x, rows, m.n*m.d)), rows*m.noise, m.n, m.d)
	units := Reshape(BroadcastToDims(ExpandAxes(linalg.Eye(g, dtype, m.noise), 0), rows, m.noise, m.noise), rows*m.noise, m.noise)
	columns := m.join(m.dynamics.Equation(local, many)(zero, m.split(xs, dim), zero, units))
	return b, Transpose(Reshape(columns, rows, m.noise, m.n), 1, 2), nil
}

// vectors are the numbers of a process's start with its parts, [wide][D].
func start[P geom.Point](p stochastic.Process[P], m model) [][]float64 {
	flat := append([]float64{}, shape.Flat(p.Start)...)
	for _, part := range p.Parts {
		for _, v := range part.Vectors {
			flat = append(flat, shape.Flat(v)...)
		}
	}
	return lists.Make(m.wide, func(i int) []float64 { return flat[i*m.d : (i+1)*m.d] })
}

// key says what a compiled function of the model depends on.
func (m model) key() string { return fmt.Sprint(m.scheme.Name, m.n, m.d, m.k, m.parts, m.flat) }
