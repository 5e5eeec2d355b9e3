package lie

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

// Windings are those of the plane's rotations, and the two of rotations of space: by θ about an axis, and by 2π − θ about
// the opposite one. On GL(1) there is one geodesic; those of other groups are not known. With (w, t) the rotation, as a vector of the Lie algebra, and the
// translation of v⁻¹z, or of z v⁻¹ for right-invariant metrics, ρ_c = ½ A((w_c, t), (w_c, t)).
func (m *metric) Windings() func(v, z, tau *Node) *Node {
	_, turns := m.form.(closed)
	if !turns && m.Dim() == 1 {
		return func(v, z, tau *Node) *Node { return Neg(Div(m.half(Log(Div(z, v))), tau)) }
	}
	if !turns {
		return nil
	}
	return func(v, z, tau *Node) *Node {
		r, t := m.parts(m.matrix(m.translate(m.form.inverse(m.Group, m.matrix(v)), z)))
		if m.space == 2 {
			return m.turns(r, t, tau)
		}
		return m.covers(r, t, tau)
	}
}

// turns is the sum for the plane: over w_k = w + 2πk, with the square in w completed.
func (m *metric) turns(r, t, tau *Node) *Node {
	w, _ := planeAngle(r)
	w, a := Squeeze(w, -1), m.inner[0][0]
	rest := ZerosLike(w)
	if t != nil {
		shift := linalg.MatVec(constant(t, [][]float64{m.inner[0][1:]}), t)
		w = Add(w, MulScalar(Squeeze(shift, -1), 1/a))
		rest = Sub(m.half(Concatenate([]*Node{ZerosLike(shift), t}, -1)), MulScalar(Square(Squeeze(shift, -1)), 0.5/a))
	}
	w = Atan2(Sin(w), Cos(w))
	return Sub(geom.Wrapped(Square(w), MulScalar(tau, 1/a)), Div(rest, tau))
}

// half is ½ A(x, x), [...].
func (m *metric) half(x *Node) *Node {
	return MulScalar(ReduceSum(Mul(x, m.momentum(x)), -1), 0.5)
}

// covers is the sum for space: over w and −(2π − θ) w/θ, θ = |w|, whose square is smoothed at θ = 0, its cut locus.
func (m *metric) covers(r, t, tau *Node) *Node {
	const radius = 0.1 // of the smoothing
	w, _ := spaceAngle(r)
	s := ReduceAndKeep(Square(w), ReduceSum, -1)
	// θ and 1/θ below the radius: the polynomials in s with the same value and two derivatives there.
	u := MulScalar(s, 1/(radius*radius))
	inside := LessThan(u, OnesLike(u))
	safe := Sqrt(Where(inside, OnesLike(s), s))
	theta := Where(inside, MulScalar(AddScalar(Mul(u, AddScalar(Neg(u), 6)), 3), radius/8), safe)
	inverse := Where(inside, MulScalar(AddScalar(Mul(u, AddScalar(MulScalar(u, 3), -10)), 15), 1/(8*radius)), Reciprocal(safe))
	other := AddScalar(Neg(theta), 2*math.Pi)
	scaled := scale(Neg(Mul(other, inverse)), w)

	average := 0.
	for a := range 3 {
		average += m.inner[a][a] / 3
	}
	missing := OneMinus(Mul(s, Square(inverse))) // of |w/θ|² = 1
	smoothed := MulScalar(Mul(Square(other), missing), average/2)
	if t != nil {
		w, scaled = Concatenate([]*Node{w, t}, -1), Concatenate([]*Node{scaled, t}, -1)
	}
	near := Div(Neg(m.half(w)), tau)
	far := Div(Neg(Add(m.half(scaled), Squeeze(smoothed, -1))), tau)
	top := StopGradient(Max(near, far))
	return Add(top, Log(Add(Exp(Sub(near, top)), Exp(Sub(far, top)))))
}
