package manifold

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

// Hyperbolic returns the hyperbolic space H^n, n ≥ 1, of curvature −1 as a hyperboloid: points are the vectors z = (z_0, r) of R^(n+1)
// with z_0 > 0 and −z_0² + |r|² = −1. A chart is Poincaré's ball, of radius 2. It has closed forms.
//
// There is no cut locus, but a limit of double precision. At a distance a from (1, 0) rounding moves a point by 1e-16 e^a, and changes
// tangent vectors by as much relative to them: to 1e-15 e^a lengths are right, and Log is Stalled, with its residual, where the
// geodesic misses its end by more than 1e-8 of what separates the ends. Vectors at points beyond a = 18 are noise.
func Hyperbolic(n int) geom.Charted {
	atLeast("Hyperbolic", n, 1)
	return hyperbolic{n}
}

type hyperbolic struct{ n int }

func (m hyperbolic) Dim() int        { return m.n }
func (m hyperbolic) AmbientDim() int { return m.n + 1 }

// ball is a point z = (z_0, r), of which it takes r: z_0 = √(1 + |r|²), ξ = r/(1 + z_0) in the ball of radius 1, and
// 1 − |ξ|² = 2/(1 + z_0).
type ball struct{ first, rest, xi, rim *Node }

func (m hyperbolic) ball(z *Node) ball {
	r := from(z, 1, m.n+1)
	first := Sqrt(OnePlus(dot(r, r)))
	half := MulScalar(Reciprocal(OnePlus(first)), 0.5)
	return ball{first, r, scale(MulScalar(half, 2), r), MulScalar(half, 4)}
}

// upper is the point with the coordinates r.
func upper(r *Node) *Node { return Concatenate([]*Node{Sqrt(OnePlus(dot(r, r))), r}, -1) }

// out is r of the point that the isometry which takes (1, 0) to b, a boost, makes of (first, p).
func (b ball) out(first, p *Node) *Node {
	return Add(p, scale(Add(first, dot(b.xi, p)), b.rest))
}

// vector is the tangent vector at b that the boost makes of (0, p).
func (b ball) vector(p *Node) *Node {
	first := dot(b.rest, p)
	return Concatenate([]*Node{first, Add(p, scale(first, b.xi))}, -1)
}

// covered is the inverse of vector.
func (b ball) covered(v *Node) *Node {
	n := b.rest.Shape().Dim(-1)
	return Sub(from(v, 1, n+1), scale(from(v, 0, 1), b.xi))
}

// between is how the point c is seen from b: with δ = ξ_c − ξ_b, e = (1 − |ξ_b|²) δ − |δ|² ξ_b points to it, and
// s = |δ|²/((1 − |ξ_b|²)(1 − |ξ_c|²)) is sinh²(d/2), d being the distance.
func (b ball) between(c ball) (e, s, rims *Node) {
	delta := Sub(c.xi, b.xi)
	square := dot(delta, delta)
	e = Sub(scale(b.rim, delta), scale(square, b.xi))
	rims = Mul(b.rim, c.rim)
	return e, Div(square, rims), rims
}

// like gives a ball the axes that points evaluated in its chart have in front.
func (b ball) like(x *Node) ball {
	return ball{linalg.Lead(b.first, x, 1), linalg.Lead(b.rest, x, 1), linalg.Lead(b.xi, x, 1), linalg.Lead(b.rim, x, 1)}
}

func (m hyperbolic) Chart(c *Node) geom.Chart {
	below := LogicalNot(IsPositive(from(c, 0, 1)))
	return ballChart{conformal{-1}, m, m.ball(linalg.NaNWhere(BroadcastToShape(below, c.Shape()), c))}
}

type ballChart struct {
	conformal // c = 1 − |x|²/4
	m         hyperbolic
	centre    ball
}

func (c ballChart) Dim() int { return c.m.n }

func (c ballChart) Point(x *Node) *Node {
	inside := c.c(x) // (1 + |x|²/4, x)/(1 − |x|²/4)
	x = linalg.NaNWhere(BroadcastToShape(LogicalNot(IsPositive(inside)), x.Shape()), x)
	return upper(c.centre.like(x).out(Div(AddScalar(Neg(inside), 2), inside), Div(x, BroadcastToShape(inside, x.Shape()))))
}

// Coordinates is 2e/(|δ|² + (1 − |ξ|²)(1 − |η|²)): Möbius' difference.
func (c ballChart) Coordinates(z *Node) *Node {
	e, s, rims := c.centre.like(z).between(c.m.ball(z))
	return scale(MulScalar(Reciprocal(Mul(rims, OnePlus(s))), 2), e)
}

// Exp is the boost of (cosh θ, sinh θ/θ v).
func (m hyperbolic) Exp(z, v *Node) *Node {
	b := m.ball(z)
	p := b.covered(v)
	s := dot(p, p)
	return upper(b.out(cosine(-1, s), scale(sine(-1, s), p)))
}

// Log is the vector that the boost makes of d/sinh d · 2e/((1 − |ξ|²)(1 − |η|²)).
func (m hyperbolic) Log(z, y *Node) *Node {
	b := m.ball(z)
	e, s, rims := b.between(m.ball(y))
	atZero := LessThan(s, MulScalar(OnesLike(s), 1e-300))
	s = Where(atZero, OnesLike(s), s)
	root, cosh := Sqrt(s), Sqrt(OnePlus(s))
	half := Log1P(Add(root, Div(s, OnePlus(cosh)))) // arsinh √s
	ratio := Where(atZero, OnesLike(s), Div(half, Mul(root, cosh)))
	return b.vector(scale(MulScalar(Div(ratio, rims), 2), e))
}

// Transport is w + ⟨v, w⟩ (½ (sinh(θ/2)/(θ/2))² v + sinh θ/θ z).
func (m hyperbolic) Transport(z, v, w *Node) *Node {
	b := m.ball(z)
	p := b.covered(v)
	s := dot(p, p)
	along := Add(scale(MulScalar(Square(sine(-1, MulScalar(s, 0.25))), 0.5), v), scale(sine(-1, s), z))
	return Add(w, scale(dot(p, b.covered(w)), along))
}
