package manifold

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

// Sphere returns the unit sphere S^n in R^(n+1), n ≥ 1; points are unit vectors, and distances angles in radians. Charts are
// stereographic projections. It has closed forms.
func Sphere(n int) geom.Charted {
	atLeast("Sphere", n, 1)
	return sphere{n}
}

type sphere struct{ n int }

func (m sphere) Dim() int        { return m.n }
func (m sphere) AmbientDim() int { return m.n + 1 }

// Chart is the stereographic projection from the point opposite to c, with the metric δ/(1 + |x|²/4)².
func (m sphere) Chart(c *Node) geom.Chart {
	c = Div(c, BroadcastToShape(Sqrt(dot(c, c)), c.Shape()))
	twice, w := swapping(c)
	swap := linalg.Outer(twice, w)
	return sphereChart{conformal{1}, m, Sub(swap, linalg.EyeLike(swap))}
}

// swapping is w = c + e_0 of a unit vector c, and (2/⟨w, w⟩) w before it: the isometry z ↦ (2/⟨w, w⟩)⟨w, z⟩ w − z swaps c and e_0.
// Its derivative by c jumps at c = −e_0 alone.
func swapping(c *Node) (twice, w *Node) {
	first, rest := from(c, 0, 1), from(c, 1, c.Shape().Dim(-1))
	// 1 + c_0 = |rest|²/(1 − c_0) keeps its digits close to −e_0; there w is any vector orthogonal to e_0.
	lower, squares := IsNegative(first), dot(rest, rest)
	first = Where(lower, Div(squares, OneMinus(Where(lower, first, ZerosLike(first)))), OnePlus(first))
	rest = Where(BroadcastToShape(LogicalAnd(lower, IsZero(squares)), rest.Shape()), OnesLike(rest), rest)
	w = Concatenate([]*Node{first, rest}, -1)
	return scale(Div(MulScalar(OnesLike(first), 2), dot(w, w)), w), w
}

type sphereChart struct {
	conformal
	m    sphere
	swap *Node // the isometry that swaps c and e_0
}

func (c sphereChart) Dim() int { return c.m.n }

func (c sphereChart) Point(x *Node) *Node {
	q := MulScalar(dot(x, x), 0.25)
	z := Concatenate([]*Node{OneMinus(q), x}, -1)
	return linalg.MatVec(linalg.Lead(c.swap, x, 2), Div(z, BroadcastToShape(OnePlus(q), z.Shape())))
}

func (c sphereChart) Coordinates(z *Node) *Node {
	z = linalg.MatVec(linalg.Lead(c.swap, z, 2), z)
	rest := from(z, 1, c.m.n+1)
	return Div(MulScalar(rest, 2), BroadcastToShape(Add(Sqrt(dot(z, z)), from(z, 0, 1)), rest.Shape()))
}

// Push is, but for the isometry, ((−q', v) − q' y)/(1 + q) with q' = ½⟨x, v⟩.
func (c sphereChart) Push(z, x, v *Node) *Node {
	swap := linalg.Lead(c.swap, v, 2)
	if x == nil {
		return linalg.MatVec(swap, Concatenate([]*Node{ZerosLike(from(v, 0, 1)), v}, -1))
	}
	x = linalg.Lead(x, v, 1)
	change := MulScalar(dot(x, v), 0.5)
	w := Concatenate([]*Node{Neg(change), v}, -1)
	w = Sub(w, scale(change, linalg.MatVec(swap, linalg.Lead(z, v, 1))))
	return linalg.MatVec(swap, scale(Reciprocal(c.c(x)), w))
}

// Pull is (1 + q)(w − ½ (w_0 + ⟨z, v⟩) x) without w_0, where w is v after the isometry, and z and v are first divided by |z|.
func (c sphereChart) Pull(z, x, v *Node) *Node {
	z = linalg.Lead(z, v, 1)
	size := Rsqrt(dot(z, z))
	z, v = scale(size, z), scale(size, v)
	w := linalg.MatVec(linalg.Lead(c.swap, v, 2), v)
	rest := from(w, 1, c.m.n+1)
	if x == nil {
		return rest
	}
	x = linalg.Lead(x, v, 1)
	along := MulScalar(Add(from(w, 0, 1), dot(z, v)), 0.5)
	return scale(c.c(x), Sub(rest, scale(along, x)))
}

// conformal is the metric δ/c² of coordinates x, c = 1 + κ|x|²/4, of curvature κ.
type conformal struct{ k float64 }

func (m conformal) c(x *Node) *Node { return OnePlus(MulScalar(dot(x, x), 0.25*m.k)) }

func (m conformal) Sharp(x, p *Node) *Node { return scale(Square(m.c(x)), p) }

func (m conformal) Flat(x, v *Node) *Node { return scale(Reciprocal(Square(m.c(x))), v) }

// Christoffel is (φ·u) v + (φ·v) u − (u·v) φ for φ = ∂ log √g_11 = −½κ x/c.
func (m conformal) Christoffel(x, u, v *Node) *Node {
	phi := scale(MulScalar(Reciprocal(m.c(x)), -0.5*m.k), x)
	return Sub(Add(scale(dot(phi, u), v), scale(dot(phi, v), u)), scale(dot(u, v), phi))
}

// sine is S(√s)/√s and cosine C(√s): sin and cos for κ = 1, sinh and cosh for κ = −1.
func sine(k float64, s *Node) *Node {
	const limit = 1e-3 // the next term of the series is s⁴/9!
	small := LessThan(s, MulScalar(OnesLike(s), limit))
	series := OnePlus(MulScalar(Mul(s, AddScalar(MulScalar(Mul(s, AddScalar(MulScalar(s, -k/42), 1)), -k/20), 1)), -k/6))
	r := Sqrt(Where(small, OnesLike(s), s))
	if k > 0 {
		return Where(small, series, Div(Sin(r), r))
	}
	sinh := MulScalar(Sub(Expm1(r), Expm1(Neg(r))), 0.5)
	return Where(small, series, Div(sinh, r))
}

func cosine(k float64, s *Node) *Node { // 1 − κ s/2 · (S(√s/2)/(√s/2))²
	return OneMinus(MulScalar(Mul(s, Square(sine(k, MulScalar(s, 0.25)))), k/2))
}

// Exp is cos θ z + sin θ/θ v, θ = |v|.
func (m sphere) Exp(z, v *Node) *Node {
	s := dot(v, v)
	return Add(scale(cosine(1, s), z), scale(sine(1, s), v))
}

// Log is θ u/|u|, u = y − ⟨z, y⟩ z, with sin θ = |u|.
func (m sphere) Log(z, y *Node) *Node {
	c := dot(z, y)
	u := Sub(y, scale(c, z))
	s := dot(u, u)
	atZero := LessThan(s, MulScalar(OnesLike(s), 1e-300))
	r := Sqrt(Where(atZero, OnesLike(s), s))
	ratio := Where(atZero, OnesLike(s), Div(Atan2(r, c), r))
	antipodes := LogicalAnd(IsNegative(c), LessThan(s, MulScalar(OnesLike(s), cutLocus*cutLocus)))
	return scale(ratio, linalg.NaNWhere(antipodes, u))
}

// cutLocus is the distance from a cut locus, in radians, below which the direction to a point is lost in rounding.
const cutLocus = 1e-12

// Transport is w − ⟨v, w⟩ (½ (sin(θ/2)/(θ/2))² v + sin θ/θ z).
func (m sphere) Transport(z, v, w *Node) *Node {
	s := dot(v, v)
	along := scale(MulScalar(Square(sine(1, MulScalar(s, 0.25))), 0.5), v)
	along = Add(along, scale(sine(1, s), z))
	return Sub(w, scale(dot(v, w), along))
}
