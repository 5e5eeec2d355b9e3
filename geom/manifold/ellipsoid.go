package manifold

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
)

// Ellipsoid returns the ellipsoid Σ (z_i/a_i)² = 1 in R^(n+1) with the induced metric, for n + 1 ≥ 2 half axes a_i > 0. It has no
// closed forms. Its charts are those of the sphere, stretched; geom.Space.Project moves points to it along rays from the origin.
func Ellipsoid(axes ...float64) geom.Charted {
	atLeast("Ellipsoid", len(axes), 2)
	positiveFinite("Ellipsoid", axes...)
	return ellipsoid{slices.Clone(axes)}
}

type ellipsoid struct{ axes []float64 }

func (m ellipsoid) Dim() int        { return len(m.axes) - 1 }
func (m ellipsoid) AmbientDim() int { return len(m.axes) }

func (m ellipsoid) Chart(c *Node) geom.Chart {
	chart := ellipsoidChart{m: m, sphere: Sphere(m.Dim()).Chart(Div(c, m.stretch(c)))}
	chart.induced = geom.FromImmersion(geom.ImmersionFunc(m.Dim(), chart.Point))
	return chart
}

// stretch broadcasts the half axes to the shape of z.
func (m ellipsoid) stretch(z *Node) *Node {
	return linalg.Lead(engine.Setting(z.Graph(), z.DType(), m.axes, len(m.axes)), z, 1)
}

type ellipsoidChart struct {
	m       ellipsoid
	sphere  geom.Chart
	induced geom.Metric
}

func (c ellipsoidChart) Dim() int        { return c.m.Dim() }
func (c ellipsoidChart) G(x *Node) *Node { return c.induced.G(x) }

func (c ellipsoidChart) Christoffel(x, u, v *Node) *Node {
	return c.induced.(geom.ClosedChristoffel).Christoffel(x, u, v)
}

func (c ellipsoidChart) Point(x *Node) *Node {
	z := c.sphere.Point(x)
	return Mul(z, c.m.stretch(z))
}

// Scale compares each coordinate with its half axis.
func (c ellipsoidChart) Scale(_, v *Node) *Node {
	axes := c.m.stretch(v)
	return Mul(axes, BroadcastToShape(Sqrt(ReduceAndKeep(Square(Div(v, axes)), ReduceSum, -1)), v.Shape()))
}

func (c ellipsoidChart) Coordinates(z *Node) *Node {
	return c.sphere.Coordinates(Div(z, c.m.stretch(z)))
}
