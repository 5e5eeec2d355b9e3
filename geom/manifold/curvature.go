package manifold

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

// constantCurvature is the sphere, κ = 1, or hyperbolic space, κ = −1, of dimension n: the vectors z of R^(n+1) with
// ⟨z, z⟩ = κ, where ⟨z, y⟩ = κ z_0 y_0 + Σ_(i≥1) z_i y_i, and z_0 > 0 for κ = −1. The field k is κ.
type constantCurvature struct {
	n int
	k float64
}

func (m constantCurvature) Dim() int        { return m.n }
func (m constantCurvature) AmbientDim() int { return m.n + 1 }

// form is ⟨z, y⟩, [..., 1].
func (m constantCurvature) form(z, y *Node) *Node {
	if m.k > 0 {
		return dot(z, y)
	}
	return Sub(dot(z, y), MulScalar(Mul(from(z, 0, 1), from(y, 0, 1)), 2))
}

// Chart is the stereographic projection from the point opposite to c (for κ = −1 Poincaré's ball of radius 2), with the
// metric δ/(1 + κ|x|²/4)².
func (m constantCurvature) Chart(c *Node) geom.Chart {
	if m.k > 0 {
		c = Div(c, BroadcastToShape(Sqrt(dot(c, c)), c.Shape()))
	} else {
		rest := from(c, 1, m.n+1)
		positive := Where(IsPositive(from(c, 0, 1)), OnesLike(from(c, 0, 1)), MulScalar(OnesLike(from(c, 0, 1)), math.NaN()))
		c = Concatenate([]*Node{Mul(positive, Sqrt(AddScalar(dot(rest, rest), 1))), rest}, -1)
	}
	first := from(c, 0, 1)
	sign := Where(IsNegative(first), Neg(OnesLike(first)), OnesLike(first))
	w := Concatenate([]*Node{Add(first, sign), from(c, 1, m.n+1)}, -1)
	covector := w
	if m.k < 0 {
		covector = Concatenate([]*Node{Neg(from(w, 0, 1)), from(w, 1, m.n+1)}, -1)
	}
	swap := linalg.Outer(scale(Div(MulScalar(sign, 2), m.form(w, w)), w), covector)
	swap = Sub(swap, Mul(BroadcastToShape(ExpandAxes(sign, -1), swap.Shape()), identityLike(swap)))
	return curvatureChart{m, swap}
}

type curvatureChart struct {
	m constantCurvature
	// z ↦ (2σ/⟨w, w⟩)⟨w, z⟩ w − σ z, w = c + σ e_0, σ = ±1: the isometry that swaps c and e_0.
	swap *Node
}

func (c curvatureChart) Dim() int { return c.m.n }

func (c curvatureChart) Point(x *Node) *Node {
	q := MulScalar(dot(x, x), c.m.k/4)
	z := Concatenate([]*Node{OneMinus(q), x}, -1)
	return linalg.MatVec(likeMatrix(c.swap, x), Div(z, BroadcastToShape(OnePlus(q), z.Shape())))
}

func (c curvatureChart) Coordinates(z *Node) *Node {
	z = linalg.MatVec(likeMatrix(c.swap, z), z)
	rest := from(z, 1, c.m.n+1)
	radius := Sqrt(MulScalar(c.m.form(z, z), c.m.k))
	return Div(MulScalar(rest, 2), BroadcastToShape(Add(radius, from(z, 0, 1)), rest.Shape()))
}

// Sharp is (1 + κ|x|²/4)² p.
func (c curvatureChart) Sharp(x, p *Node) *Node { return scale(Square(c.conformal(x)), p) }

// Flat is v/(1 + κ|x|²/4)².
func (c curvatureChart) Flat(x, v *Node) *Node { return scale(Reciprocal(Square(c.conformal(x))), v) }

func (c curvatureChart) conformal(x *Node) *Node { return AddScalar(MulScalar(dot(x, x), c.m.k/4), 1) }

// Christoffel is (φ·u) v + (φ·v) u − (u·v) φ for φ = ∂ log √g_11 = −(κ/2) x/(1 + κ|x|²/4).
func (c curvatureChart) Christoffel(x, u, v *Node) *Node {
	phi := scale(MulScalar(Reciprocal(c.conformal(x)), -c.m.k/2), x)
	return Sub(Add(scale(dot(phi, u), v), scale(dot(phi, v), u)), scale(dot(u, v), phi))
}

// sine is S(√s)/√s and cosine is C(√s), S and C being sin and cos for κ = 1, sinh and cosh for κ = −1.
func (m constantCurvature) sine(s *Node) *Node {
	const limit = 1e-3 // the next term of the series is s⁴/9!
	small := LessThan(s, MulScalar(OnesLike(s), limit))
	series := OnePlus(MulScalar(Mul(s, AddScalar(MulScalar(Mul(s, AddScalar(MulScalar(s, -m.k/42), 1)), -m.k/20), 1)), -m.k/6))
	r := Sqrt(Where(small, OnesLike(s), s))
	if m.k > 0 {
		return Where(small, series, Div(Sin(r), r))
	}
	sinh := MulScalar(Sub(Expm1(r), Expm1(Neg(r))), 0.5)
	return Where(small, series, Div(sinh, r))
}

func (m constantCurvature) cosine(s *Node) *Node { // 1 − κ s/2 · (S(√s/2)/(√s/2))²
	return OneMinus(MulScalar(Mul(s, Square(m.sine(MulScalar(s, 0.25)))), m.k/2))
}

// Exp is C(θ) z + S(θ)/θ v, θ² = ⟨v, v⟩.
func (m constantCurvature) Exp(z, v *Node) *Node {
	s := m.form(v, v)
	return Add(scale(m.cosine(s), z), scale(m.sine(s), v))
}

// Log is θ u/|u|, u = y − κ⟨z, y⟩ z, with S(θ) = |u|.
func (m constantCurvature) Log(z, y *Node) *Node {
	c := MulScalar(m.form(z, y), m.k)
	u := Sub(y, scale(c, z))
	s := m.form(u, u)
	atZero := LessThan(s, MulScalar(OnesLike(s), 1e-300))
	r := Sqrt(Where(atZero, OnesLike(s), s))
	var theta *Node
	if m.k > 0 {
		theta = Atan2(r, c)
	} else {
		theta = Log1P(Add(r, Div(s, OnePlus(Sqrt(OnePlus(s)))))) // arsinh r
	}
	ratio := Where(atZero, OnesLike(s), Div(theta, r))
	if m.k > 0 {
		antipodes := LogicalAnd(IsNegative(c), LessThan(s, MulScalar(OnesLike(s), cutLocus*cutLocus)))
		u = linalg.NaNWhere(antipodes, u)
	}
	return scale(ratio, u)
}

// cutLocus is the distance from a cut locus, in radians, below which the direction to a point is lost in rounding.
const cutLocus = 1e-12

// Transport is w − κ⟨v, w⟩ (½ (S(θ/2)/(θ/2))² v + S(θ)/θ z).
func (m constantCurvature) Transport(z, v, w *Node) *Node {
	s := m.form(v, v)
	along := scale(MulScalar(Square(m.sine(MulScalar(s, 0.25))), 0.5), v)
	along = Add(along, scale(m.sine(s), z))
	return Sub(w, scale(MulScalar(m.form(v, w), m.k), along))
}
