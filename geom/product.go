package geom

import (
	"errors"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/try"
)

// Product returns the product of two or more manifolds. Its points and vectors are those of the factors one after the other, and squares of lengths
// are sums: geodesics, transport and Brownian motion are those of the factors side by side. A Space takes Exp, Log and Conjugate of each factor by
// itself, so that its steps and tolerances are those of the factor, however large the numbers of another one are. A product has closed forms,
// those of transport included, if every factor is a ClosedTransport, and none otherwise. Factors may be Charted or not. A SubRiemannian one is a
// panic: take a Distribution on the product.
func Product(factors ...Manifold) Manifold {
	if len(factors) < 2 {
		panic(fmt.Sprintf("geom.Product: %d manifolds, want at least 2", len(factors)))
	}
	charted, closed := false, true
	for i, m := range factors {
		if _, sub := m.(SubRiemannian); sub {
			panic(fmt.Sprintf("geom.Product: factor %d is sub-Riemannian: take a Distribution on the product", i))
		}
		charted = charted || IsCharted(m)
		_, ok := m.(ClosedTransport)
		closed = closed && ok
	}
	p := blocks{factors}
	switch {
	case charted && closed:
		return struct {
			chartedBlocks
			closedBlocks
		}{chartedBlocks{p}, closedBlocks{p}}
	case charted:
		return chartedBlocks{p}
	case closed:
		return struct {
			blocks
			closedBlocks
		}{p, closedBlocks{p}}
	}
	return p
}

// blocks is a product in coordinates.
type blocks struct{ factors []Manifold }

func (p blocks) Dim() (d int) {
	for _, m := range p.factors {
		d += m.Dim()
	}
	return d
}

// by applies f to the parts of x that belong to the factors, of as many numbers as size says, and joins the results.
func (p blocks) by(size func(m Manifold) int, f func(i int, m Manifold, x []*Node) *Node, x ...*Node) *Node {
	var out []*Node
	at := 0
	for i, m := range p.factors {
		parts := make([]*Node, len(x))
		for j := range x {
			parts[j] = SliceAxis(x[j], -1, AxisRange(at, at+size(m)))
		}
		out, at = append(out, f(i, m, parts)), at+size(m)
	}
	return Concatenate(out, -1)
}

// cut returns the parts of x that belong to the factors, nil for those of a nil x.
func (p blocks) cut(size func(m Manifold) int, x *Node) []*Node {
	parts := make([]*Node, len(p.factors))
	if x != nil {
		p.by(size, func(i int, _ Manifold, x []*Node) *Node {
			parts[i] = x[0]
			return x[0]
		}, x)
	}
	return parts
}

func (p blocks) Sharp(q, a *Node) *Node {
	return p.by(Manifold.Dim, func(_ int, m Manifold, x []*Node) *Node { return Sharp(m, x[0], x[1]) }, q, a)
}

func (p blocks) Flat(q, v *Node) *Node {
	return p.by(Manifold.Dim, func(_ int, m Manifold, x []*Node) *Node { return Flat(m, x[0], x[1]) }, q, v)
}

func (p blocks) Christoffel(q, u, v *Node) *Node {
	return p.by(Manifold.Dim, func(_ int, m Manifold, x []*Node) *Node { return Christoffel(m, x[0], x[1], x[2]) }, q, u, v)
}

// CheckRegular is that of the factors.
func (p blocks) CheckRegular(x Vec) error {
	for i, m := range p.factors {
		n := PointDim(m)
		if s, ok := m.(Singular); ok {
			if err := s.CheckRegular(x[:n]); err != nil {
				return fmt.Errorf("factor %d: %w", i, err)
			}
		}
		x = x[n:]
	}
	return nil
}

// chartedBlocks is a product with a Charted factor.
type chartedBlocks struct{ of blocks }

func (p chartedBlocks) Dim() int                 { return p.of.Dim() }
func (p chartedBlocks) CheckRegular(x Vec) error { return p.of.CheckRegular(x) }

func (p chartedBlocks) AmbientDim() (a int) {
	for _, m := range p.of.factors {
		a += PointDim(m)
	}
	return a
}

func (p chartedBlocks) Chart(c *Node) Chart {
	chart, quotient := chartOfBlocks{of: p.of}, false
	p.of.by(PointDim, func(_ int, m Manifold, c []*Node) *Node {
		factor := Chart(shifted{m, c[0]})
		if m, ok := m.(Charted); ok {
			factor = m.Chart(c[0])
		}
		_, ok := factor.(Quotient)
		quotient = quotient || ok
		chart.factors = append(chart.factors, factor)
		return c[0]
	}, c)
	if quotient {
		return quotientOfBlocks{chart}
	}
	return chart
}

// chartOfBlocks is the product of charts.
type chartOfBlocks struct {
	blocks // the charts
	of     blocks
}

func (c chartOfBlocks) Point(x *Node) *Node {
	return c.by(Manifold.Dim, func(_ int, m Manifold, x []*Node) *Node { return m.(Chart).Point(x[0]) }, x)
}

func (c chartOfBlocks) Coordinates(z *Node) *Node {
	return c.of.by(PointDim, func(i int, _ Manifold, z []*Node) *Node { return c.factors[i].(Chart).Coordinates(z[0]) }, z)
}

// Scale is that of the factors.
func (c chartOfBlocks) Scale(z, v *Node) *Node {
	return c.of.by(PointDim, func(i int, _ Manifold, x []*Node) *Node { return scale(c.factors[i].(Chart), x[0], x[1]) }, z, v)
}

// differentialOfBlocks is a product of charts that know their derivatives.
type differentialOfBlocks struct {
	blocks // the charts
	of     blocks
	known  []Differential
}

func (c differentialOfBlocks) Push(z, x, v *Node) *Node {
	zs, xs := c.of.cut(PointDim, z), c.cut(Manifold.Dim, x)
	return c.by(Manifold.Dim, func(i int, _ Manifold, v []*Node) *Node { return c.known[i].Push(zs[i], xs[i], v[0]) }, v)
}

func (c differentialOfBlocks) Pull(z, x, v *Node) *Node {
	zs, xs := c.of.cut(PointDim, z), c.cut(Manifold.Dim, x)
	return c.of.by(PointDim, func(i int, _ Manifold, v []*Node) *Node { return c.known[i].Pull(zs[i], xs[i], v[0]) }, v)
}

// quotientOfBlocks has a factor that is a Quotient.
type quotientOfBlocks struct{ chartOfBlocks }

func (c quotientOfBlocks) Horizontal(z, v *Node) *Node {
	return c.of.by(PointDim, func(i int, _ Manifold, x []*Node) *Node {
		if q, ok := c.factors[i].(Quotient); ok {
			return q.Horizontal(x[0], x[1])
		}
		return x[1]
	}, z, v)
}

// shifted is a manifold in coordinates as a chart with a centre.
type shifted struct {
	m      Manifold
	centre *Node
}

func (c shifted) Dim() int                  { return c.m.Dim() }
func (c shifted) Point(x *Node) *Node       { return Add(broadcastLike(c.centre, x), x) }
func (c shifted) Coordinates(z *Node) *Node { return Sub(z, broadcastLike(c.centre, z)) }
func (c shifted) Push(_, _, v *Node) *Node  { return v }
func (c shifted) Pull(_, _, v *Node) *Node  { return v }
func (c shifted) Sharp(x, p *Node) *Node    { return Sharp(c.m, c.Point(x), p) }
func (c shifted) Flat(x, v *Node) *Node     { return Flat(c.m, c.Point(x), v) }

func (c shifted) Christoffel(x, u, v *Node) *Node { return Christoffel(c.m, c.Point(x), u, v) }

// closedBlocks has the closed forms of factors that all have them.
type closedBlocks struct{ all blocks }

func (p closedBlocks) Exp(z, v *Node) *Node {
	return p.all.by(PointDim, func(_ int, m Manifold, x []*Node) *Node { return m.(ClosedForms).Exp(x[0], x[1]) }, z, v)
}

func (p closedBlocks) Log(z, y *Node) *Node {
	return p.all.by(PointDim, func(_ int, m Manifold, x []*Node) *Node { return m.(ClosedForms).Log(x[0], x[1]) }, z, y)
}

func (p closedBlocks) Transport(z, v, w *Node) *Node {
	return p.all.by(PointDim, func(_ int, m Manifold, x []*Node) *Node { return m.(ClosedTransport).Transport(x[0], x[1], x[2]) }, z, v, w)
}

// factors are the spaces of the factors of a product without closed forms; nil for other manifolds.
func (s *space) factors() (out []*space) {
	s.programs.mu.Lock()
	defer s.programs.mu.Unlock()
	for i, m := range factorsOf(s.M) {
		if i == len(s.programs.factors) {
			s.programs.factors = append(s.programs.factors, &programs{funcs: map[any]*program{}})
		}
		out = append(out, &space{M: m, settings: s.settings, programs: s.programs.factors[i]})
	}
	return out
}

func factorsOf(m Manifold) []Manifold {
	switch m := m.(type) {
	case chartedBlocks:
		return m.of.factors
	case blocks:
		return m.factors
	}
	return nil
}

// cut returns the numbers of points or vectors that belong to a factor; nil for none.
func (s *space) cut(factor int, x ...Vec) []Vec {
	from, all := 0, factorsOf(s.M)
	for _, m := range all[:factor] {
		from += PointDim(m)
	}
	return each(x, func(x Vec) Vec {
		if x == nil {
			return nil
		}
		return x[from : from+PointDim(all[factor])]
	})
}

// beside is the geodesic of a product from those of its factors.
func (s *space) beside(parts []*Geodesic[Vec]) *Geodesic[Vec] {
	out := &Geodesic[Vec]{Status: Converged, Conjugate: math.Inf(1)}
	for i, g := range parts {
		out.Start, out.End = append(out.Start, g.Start...), append(out.End, g.End...)
		out.Velocity, out.Momentum = append(out.Velocity, g.Velocity...), append(out.Momentum, g.Momentum...)
		out.Length = math.Hypot(out.Length, g.Length)
		out.Steps, out.Iterations = max(out.Steps, g.Steps), out.Iterations+g.Iterations
		out.Drift, out.StepError, out.Status = max(out.Drift, g.Drift), max(out.StepError, g.StepError), max(out.Status, g.Status)
		out.Residual = math.Hypot(out.Residual, g.Residual*math.Sqrt(float64(factorsOf(s.M)[i].Dim())/float64(s.M.Dim())))
		out.Conjugate = min(out.Conjugate, g.Conjugate)
		if i == 0 {
			out.Path, out.Momenta = make([]Vec, len(g.Path)), make([]Vec, len(g.Path))
		}
		for k := range min(len(out.Path), len(g.Path)) { // of factors with the same steps
			out.Path[k], out.Momenta[k] = append(out.Path[k], g.Path[k]...), append(out.Momenta[k], g.Momenta[k]...)
		}
	}
	return out
}

// ofFactors is shoot of each factor; with times 0 settle, with the steps of the factor that needs most.
func (s *space) ofFactors(what string, from shot, times int) (*Geodesic[Vec], error) {
	var parts []*Geodesic[Vec]
	least, most := math.MaxInt, 1
	for i, f := range s.factors() {
		shoot := f.settle
		if times > 0 {
			shoot = func(what string, from shot) (*Geodesic[Vec], error) { return f.shoot(what, from, times) }
		}
		at := s.cut(i, from.z, from.v, from.p)
		g, err := shoot(what, shot{at[0], at[1], at[2]})
		if err != nil {
			return nil, fmt.Errorf("factor %d: %w", i, err)
		}
		parts, least, most = append(parts, g), min(least, g.Steps), max(most, g.Steps)
	}
	all := s.beside(parts)
	if least == most {
		return all, nil
	}
	g, err := s.ofFactors(what, from, most/s.steps)
	if err == nil {
		g.StepError, g.Status = all.StepError, all.Status
	}
	return g, err
}

// searchedFactors is searched of each factor.
func (s *space) searchedFactors(x, y, guess []Vec) (_ []*Geodesic[Vec], err error) {
	defer try.Catch(&err)
	all := make([][]*Geodesic[Vec], len(x)) // of each pair
	var failures error
	for i, f := range s.factors() {
		start := s.cut(i, x...)
		gs, err := f.searched(start, s.cut(i, y...), s.cut(i, guess...))
		err = try.Name(err, "factor %d", i)
		if gs == nil {
			try.Do(err)
		}
		failures = errors.Join(failures, err)
		var found []int
		for k, g := range gs {
			if all[k] = append(all[k], g); g != nil {
				found = append(found, k)
			}
		}
		if _, closed := f.M.(ClosedForms); closed && guess == nil && s.M.Dim() <= fanned && found != nil {
			times, _, _ := f.conjugate(pick(start, found), each(pick(gs, found), func(g *Geodesic[Vec]) Vec { return g.Velocity }), 1)
			for k, g := range pick(gs, found) {
				g.Conjugate = times[k]
			}
		}
	}
	return each(all, func(gs []*Geodesic[Vec]) *Geodesic[Vec] {
		if slices.Contains(gs, nil) {
			return nil
		}
		return s.beside(gs)
	}), failures
}
