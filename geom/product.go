package geom

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/linalg"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Product returns the product of two or more manifolds. Its points and vectors are those of the factors one after the other, and squares of lengths
// are sums: geodesics, transport and Brownian motion are those of the factors side by side. A Space takes Exp, Log and Conjugate of each factor by
// itself, so that its steps and tolerances are those of the factor, however large the numbers of another one are. A product has closed forms,
// those of transport included, if every factor is a ClosedTransport, and none otherwise. Factors may be Charted or not. A SubRiemannian one is a
// panic: take a Distribution on the product.
func Product(factors ...Manifold) Manifold {
	refuse.If(len(factors) < 2, "geom.Product: %d manifolds, want at least 2", len(factors))
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
		parts := lists.Make(len(x), func(j int) *Node { return SliceAxis(x[j], -1, AxisRange(at, at+size(m))) })
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
func (c shifted) Point(x *Node) *Node       { return Add(linalg.Lead(c.centre, x, 1), x) }
func (c shifted) Coordinates(z *Node) *Node { return Sub(z, linalg.Lead(c.centre, z, 1)) }
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
