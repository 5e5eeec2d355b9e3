package geom

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/internal/lists"
)

// Winding is a Charted manifold that knows its geodesics between two points, also where they come round. Where they cannot be deformed into
// each other, as around a circle or in a rotation by 2π, the cut locus of a point is a hypersurface, and no function of the distance
// alone stands for all of them.
type Winding interface {
	Charted
	// Windings returns the function
	//
	//	log Σ_c a_c exp(−ρ_c(z)/τ),  [...],
	//
	// of points v and z, [..., a], and of numbers τ > 0, [...]: a sum over the geodesics c from z to v. ρ_c is half the square of
	// the length of c where the manifold has ClosedForms. On every manifold the least ρ_c is half the squared distance near v, to second
	// order. The weights a_c may all be 1; the weight of the shortest geodesic is 1 at z = v. The sum is twice differentiable. Windings
	// returns nil if the geodesics of this manifold are not known, as for SO(4) among the rotation groups.
	Windings() func(v, z, tau *Node) *Node
}

// ClosedWinding is an optional interface of a Winding that has closed forms for the derivatives of its sum: with
// q = (2πτ)^(−d/2) Σ_c a_c exp(−ρ_c/τ), Guide returns grad log q by z, an ambient vector, [..., a], and
// (−∂_τ + ½Δ)q/q, [...], which is 0 where q is the heat kernel.
type ClosedWinding interface {
	Winding
	Guide(v, z, tau *Node) (gradient, growth *Node)
}

// Wrapped returns log Σ_k exp(−(θ + 2πk)²/2t) over all integers k, [...], for θ², |θ| ≤ π, and t > 0, both [...]: the logarithm of the heat
// kernel of a circle at the angle θ and time t, without its factor (2πt)^(−½). As a function of a point at the distance θ from another it is
// smooth on a sphere, also at the antipode. It serves the Windings of a manifold.
func Wrapped(square, t *Node) *Node {
	// Up to t = π the sum itself, beyond it Poisson's, √(t/2π) Σ_m e^(−m²t/2) cos mθ: what is left out is below 1e-15.
	const (
		limit  = math.Pi
		direct = 2
		dual   = 4
		tiny   = 1e-10 // below it functions of θ² are linear to rounding
	)
	all := func(v float64) *Node { return MulScalar(OnesLike(t), v) }
	long, close := GreaterThan(t, all(limit)), LessThan(square, all(tiny))
	theta := Sqrt(Where(close, all(1), square))
	short, above := Where(long, all(limit), t), Where(long, t, all(limit))

	// Terms stand in a last axis.
	column := func(x *Node) *Node { return ExpandAxes(x, -1) }
	flat, angle, angles := column(close), column(theta), column(square)
	terms := func(n int, f func(k float64) float64) *Node {
		row := lists.Make(n, func(k int) float64 { return f(float64(k + 1)) })
		return ExpandLeftToRank(ConstAsDType(t.Graph(), t.DType(), row), t.Rank()+1)
	}
	sum := func(linear, term *Node) *Node {
		return ReduceSum(Where(BroadcastToShape(flat, term.Shape()), linear, term), -1)
	}
	turns := terms(direct, func(k float64) float64 { return k * math.Pi })
	rate := Div(MulScalar(turns, 2), column(short))
	decay := Exp(Neg(Mul(rate, turns)))
	wound := sum(Mul(decay, AddScalar(Mul(Square(rate), angles), 2)),
		Add(Exp(Neg(Mul(rate, Add(turns, angle)))), Exp(Neg(Mul(rate, Sub(turns, angle))))))
	squares := terms(dual, func(m float64) float64 { return -m * m / 2 })
	waves := MulScalar(Exp(Mul(squares, column(above))), 2)
	series := sum(Mul(waves, OnePlus(Mul(squares, angles))),
		Mul(waves, Cos(Mul(terms(dual, func(m float64) float64 { return m }), angle))))
	return Where(long,
		Add(Log1P(series), MulScalar(Log(MulScalar(above, 0.5/math.Pi)), 0.5)),
		Sub(Log1P(wound), MulScalar(Div(square, short), 0.5)))
}
