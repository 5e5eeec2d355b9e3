package geom

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/internal/refuse"
)

// MetricFunc returns the manifold of dimension d whose metric is the function g: it takes points, [..., d], to symmetric
// positive definite matrices, [..., d, d], and treats the leading axes as a batch. A result of another shape is a panic. A
// Space refuses points at which g is not symmetric to 1e-9 of its largest number.
func MetricFunc(d int, g func(x *Node) *Node) Metric { return metricFunc{d, g} }

type metricFunc struct {
	d int
	g func(x *Node) *Node
}

func (m metricFunc) Dim() int { return m.d }

func (m metricFunc) G(x *Node) *Node {
	g := m.g(x)
	if want := append(slices.Clone(x.Shape().Dimensions), m.d); !slices.Equal(g.Shape().Dimensions, want) {
		panic(fmt.Sprintf("geom.MetricFunc: the metric is %v for points %v, want %v", g.Shape().Dimensions, x.Shape().Dimensions, want))
	}
	return g
}

// skew returns by how much the metric is not symmetric at points x, [N, d], and its largest number there, both [N]; +Inf where a number of
// it is not finite.
func (m metricFunc) skew(x *Node) (off, size *Node) {
	g := m.G(x)
	largest := func(a *Node) *Node { return ReduceMax(orInfinite(Abs(a)), -2, -1) }
	return largest(Sub(g, linalg.T(g))), largest(g)
}

// CometricFunc makes a manifold of dimension d from a function for its cometric: sharp takes points q and covectors p, both
// [..., d], to p♯, [..., d], and treats the leading axes as a batch. It must be linear in p, with a symmetric matrix. A result of
// another shape is a panic.
func CometricFunc(d int, sharp func(q, p *Node) *Node) Cometric { return cometricFunc{d, sharp} }

type cometricFunc struct {
	d     int
	sharp func(q, p *Node) *Node
}

func (m cometricFunc) Dim() int { return m.d }

func (m cometricFunc) Sharp(q, p *Node) *Node {
	v := m.sharp(q, p)
	refuse.If(!v.Shape().Equal(p.Shape()), "geom.CometricFunc: p♯ is %v for covectors %v, want the same", v.Shape().Dimensions, p.Shape().Dimensions)
	return v
}

// Immersion is a parametrisation of a manifold of dimension d in R^a, which has no metric before FromImmersion: Embed takes coordinates, [..., d], to
// points of R^a, [..., a], and treats the leading axes as a batch. Its Jacobian must have rank d.
type Immersion interface {
	Manifold
	Embed(x *Node) *Node
}

// ImmersionFunc returns an Immersion of dimension d from a function f for Embed: f takes coordinates, [..., d], to points of
// R^n, [..., n], and treats the leading axes as a batch. FromImmersion makes a manifold of it.
func ImmersionFunc(d int, f func(x *Node) *Node) Immersion { return immersionFunc{d, f} }

type immersionFunc struct {
	d int
	f func(x *Node) *Node
}

func (m immersionFunc) Dim() int            { return m.d }
func (m immersionFunc) Embed(x *Node) *Node { return m.f(x) }

// FromImmersion returns the metric that R^n induces on an immersion f, g = JᵀJ with J = ∂f/∂x. Points of the manifold are
// coordinates, [..., d]. The Christoffel symbols follow from Gauss's formula, Γ(u, v) = g⁻¹ Jᵀ D²f(u, v). The result is also an
// Immersion.
func FromImmersion(f Immersion) Metric { return induced{f} }

type induced struct{ Immersion }

func (m induced) G(x *Node) *Node {
	j := m.jacobian(x)
	return linalg.MatMul(linalg.T(j), j)
}

func (m induced) jacobian(x *Node) *Node {
	j := autodiff.Jacobian(m.Embed, fresh(x))
	refuse.If(j.Shape().Dim(-2) < m.Dim(), "geom.FromImmersion: %d coordinates immersed in R^%d", m.Dim(), j.Shape().Dim(-2))
	return j
}

func (m induced) Christoffel(x, u, v *Node) *Node {
	second := push(func(x *Node) *Node { return push(m.Embed, x, v) }, fresh(x), u)
	j := m.jacobian(x)
	transpose := linalg.T(j)
	return linalg.Solve(linalg.MatMul(transpose, j), linalg.MatVec(transpose, second))
}
