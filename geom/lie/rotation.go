package lie

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
)

// rigid is the form of SO(n) and SE(n); exp is the general one.
type rigid struct{ general }

// log uses inverse scaling and squaring, which loses digits for rotations by nearly π, and one step δ of Newton's method,
// dexp_(−ξ) δ = exp(−ξ) g − 1, which restores them.
func (rigid) log(g *Group, a *Node) (xi, margin *Node) {
	xi, margin = general{}.log(g, a)
	rest := Sub(linalg.MatMul(linalg.Expm(g.matrix(g.Hat(Neg(xi)))), a), linalg.EyeLike(a))
	step := StopGradient(linalg.SolveGeneral(g.DExp(Neg(xi)), g.Vee(linalg.Vectors(rest))))
	size := ReduceAndKeep(Abs(step), ReduceSum, -1)
	lost := GreaterOrEqual(size, MulScalar(OnesLike(size), 1e-4))
	return Add(xi, step), Where(lost, ZerosLike(margin), margin)
}

func (rigid) inverse(g *Group, a *Node) *Node {
	r, t := g.parts(a)
	r = linalg.T(r)
	if t == nil {
		return r
	}
	return join(r, Neg(linalg.MatVec(r, t)), 1)
}

func (rigid) nearest(g *Group, a *Node) *Node {
	r, t := g.parts(a)
	return join(nearestRotation(r), t, 1)
}

// nearestRotation is R of the polar decomposition a = R P, by the iteration R ← ½ R (3 − RᵀR) of Newton and Schulz, NaN
// where a is close to singular or reverses the orientation. Its derivative is that along rotations: R times the skew part of
// Rᵀ da.
func nearestRotation(a *Node) *Node {
	const (
		close = 1e-4 // two steps take a defect e to e⁴ from here
		few   = 2
		many  = 40
		exact = 1e-12
	)
	below := func(x *Node, limit float64) *Node { return LessThan(x, MulScalar(OnesLike(x), limit)) }
	defect := func(r *Node) *Node { // [..., 1, 1]
		return ReduceAndKeep(Abs(Sub(linalg.MatMul(linalg.T(r), r), linalg.EyeLike(r))), ReduceSum, -2, -1) // a maximum may pass over NaN
	}
	near := below(defect(a), close)
	size := Sqrt(ReduceAndKeep(Square(a), ReduceSum, -2, -1))
	x := Div(a, BroadcastToShape(Where(near, OnesLike(size), size), a.Shape()))
	far := Sub(ScalarOne(a.Graph(), dtypes.Int32), ReduceAllMin(ConvertDType(near, dtypes.Int32)))
	steps := AddScalar(MulScalar(far, many-few), few)
	x = autodiff.Repeat(steps, func(_ *Node, r []*Node) []*Node {
		cube := linalg.MatMul(r[0], linalg.MatMul(linalg.T(r[0]), r[0]))
		return []*Node{Sub(MulScalar(r[0], 1.5), MulScalar(cube, 0.5))}
	}, []*Node{x})[0]
	found := LogicalAnd(below(defect(x), exact), IsPositive(ExpandAxes(linalg.Det(x), -2, -1)))
	x = linalg.NaNWhere(LogicalNot(found), x)
	var r *Node
	r = autodiff.CustomVJP([]*Node{a}, []*Node{x}, func(ct []*Node) []*Node {
		turn := linalg.MatMul(linalg.T(r), ct[0])
		return []*Node{linalg.MatMul(r, MulScalar(Sub(turn, linalg.T(turn)), 0.5))}
	})[0]
	return r
}

// closed is the form of SO(n) and SE(n) for n = 2, 3, where K = ξ^ has K³ = −θ² K.
type closed struct{ rigid }

// turn is the matrix K of the coordinates of a rotation, [..., n, n], with the functions of s = θ² that exp needs.
func turn(n int, w *Node) (k *Node, c stumpff) {
	k = linalg.Matrices(linalg.MatVec(linalg.T(constant(w, rotations(n, n))), w), n, n)
	return k, stumpffAt(ReduceAndKeep(Square(w), ReduceSum, -1))
}

// scale is c x for c of [..., 1] and a vector or matrix x.
func scale(c, x *Node) *Node {
	for c.Rank() < x.Rank() {
		c = ExpandAxes(c, -1)
	}
	return Mul(BroadcastToShape(c, x.Shape()), x)
}

// exp is R = 1 + c₁ K + c₂ K², by Rodrigues, and t = (1 + c₂ K + c₃ K²) u.
func (closed) exp(g *Group, xi *Node) *Node {
	d := g.Dim()
	if g.affine {
		d -= g.space
	}
	k, c := turn(g.space, SliceAxis(xi, -1, AxisRange(0, d)))
	r := Add(linalg.EyeLike(k), Add(scale(c.c1, k), scale(c.c2, linalg.MatMul(k, k))))
	if !g.affine {
		return r
	}
	u := SliceAxis(xi, -1, AxisRange(d, g.Dim()))
	ku := linalg.MatVec(k, u)
	return join(r, Add(u, Add(scale(c.c2, ku), scale(c.c3, linalg.MatVec(k, ku)))), 1)
}

// log inverts exp: u = (1 − ½ K + half K²) t.
func (closed) log(g *Group, a *Node) (xi, margin *Node) {
	r, t := g.parts(a)
	if g.space == 2 {
		xi, margin = planeAngle(r)
	} else {
		xi, margin = spaceAngle(r)
	}
	if t == nil {
		return xi, margin
	}
	k, c := turn(g.space, xi)
	kt := linalg.MatVec(k, t)
	u := Add(Sub(t, MulScalar(kt, 0.5)), scale(c.half(), linalg.MatVec(k, kt)))
	return Concatenate([]*Node{xi, u}, -1), margin
}

// dexp is the function (eᶻ − 1)/z of the matrix ad, whose eigenvalues z are 0 and ±iθ, double for rigid motions. So it is a
// polynomial in ad: its odd and even parts are functions f(−z²), replaced by the polynomial f(s) − f'(s) (ad² + s), which has
// the same value and derivative at z² = −s.
func (closed) dexp(g *Group, xi *Node) *Node {
	ad, c := spin(g, xi)
	square := linalg.MatMul(ad, ad)
	odd, even := c.c2, c.c3
	if g.affine {
		dOdd := Sub(c.c4, MulScalar(c.c3, 0.5))
		dEven := Sub(MulScalar(c.c5, 1.5), MulScalar(c.c4, 0.5))
		odd, even = Sub(odd, Mul(c.s, dOdd)), Sub(even, Mul(c.s, dEven))
		third := Add(scale(dOdd, ad), scale(dEven, square))
		return Sub(Add(linalg.EyeLike(ad), Add(scale(odd, ad), scale(even, square))), linalg.MatMul(square, third))
	}
	return Add(linalg.EyeLike(ad), Add(scale(odd, ad), scale(even, square)))
}

// inverseDExp is the matrix of dexp⁻¹, z/(eᶻ − 1) = 1 − ½ z + half(−z²) z².
func (closed) inverseDExp(g *Group, xi *Node) *Node {
	ad, c := spin(g, xi)
	square := linalg.MatMul(ad, ad)
	even := c.half()
	j := Add(linalg.EyeLike(ad), MulScalar(ad, -0.5))
	if !g.affine {
		return Add(j, scale(even, square))
	}
	slope := Sub(MulScalar(Sub(MulScalar(c.c5, 5), c.c4), 0.5), MulScalar(c.c6, 4))
	slope = Add(Div(slope, MulScalar(c.c2, 2)), Square(even))
	return Add(j, Sub(scale(Sub(even, Mul(c.s, slope)), square), scale(slope, linalg.MatMul(square, square))))
}

// spin is the matrix of ad_ξ, with the functions of s = θ² for the angle θ of the rotation of ξ.
func spin(g *Group, xi *Node) (ad *Node, c stumpff) {
	w := xi
	if g.affine {
		w = SliceAxis(xi, -1, AxisRange(0, g.Dim()-g.space))
	}
	return g.adjoint(xi), stumpffAt(ReduceAndKeep(Square(w), ReduceSum, -1))
}

// planeAngle is the angle of a rotation of the plane, [..., 1], and its distance from ±π, divided by π.
func planeAngle(r *Node) (w, margin *Node) {
	z := linalg.Vectors(r)
	sum := linalg.MatVec(ConstAsDType(r.Graph(), r.DType(), [][]float64{{0, -1, 1, 0}, {1, 0, 0, 1}}), z)
	w = Atan2(SliceAxis(sum, -1, AxisRange(0, 1)), SliceAxis(sum, -1, AxisRange(1, 2)))
	return w, OneMinus(MulScalar(Abs(w), 1/math.Pi))
}

// spaceAngle is the axis of a rotation of space times its angle, [..., 3], and twice the cosine of half the angle, which is
// π − θ near π. It goes through the quaternion (cos θ/2, sin θ/2 · axis), read off the column of q qᵀ that is largest, which
// has no cancellation at any angle (S. Shepperd, J. Guidance and Control 1, 1978).
func spaceAngle(r *Node) (w, margin *Node) {
	q := linalg.Matrices(linalg.MatVec(linalg.T(constant(r, linalg.QuaternionForms())), linalg.Vectors(r)), 4, 4)
	q = Add(q, linalg.EyeLike(q))
	q = linalg.MatVec(q, largestFirst(StopGradient(ReduceSum(Mul(q, linalg.EyeLike(q)), -1))))
	first := SliceAxis(q, -1, AxisRange(0, 1))
	sign := Where(IsNegative(first), Neg(OnesLike(first)), OnesLike(first))
	q = scale(Mul(sign, Rsqrt(ReduceAndKeep(Square(q), ReduceSum, -1))), q)
	first, v := SliceAxis(q, -1, AxisRange(0, 1)), SliceAxis(q, -1, AxisRange(1, 4))
	return scale(MulScalar(arcsine(ReduceAndKeep(Square(v), ReduceSum, -1), first), 2), v), MulScalar(first, 2)
}

// largestFirst is 1 at the first of the largest numbers and 0 at the others.
func largestFirst(x *Node) *Node {
	index := Iota(x.Graph(), x.Shape(), x.Rank()-1)
	largest := Equal(x, BroadcastToShape(ReduceAndKeep(x, ReduceMax, -1), x.Shape()))
	first := ReduceAndKeep(Where(largest, index, AddScalar(index, float64(x.Shape().Dim(-1)))), ReduceMin, -1)
	return ConvertDType(Equal(index, BroadcastToShape(first, x.Shape())), x.DType())
}

// arcsine is φ/sin φ for s = sin² φ and cos φ ≥ 0.
func arcsine(s, cos *Node) *Node {
	const (
		limit = 0.05
		terms = 16 // limit^16 is below rounding
	)
	small := LessThan(s, MulScalar(OnesLike(s), limit))
	c := make([]float64, terms) // of arcsin y/y = Σ (2k)!/(4^k k!² (2k+1)) y^2k
	binomial := 1.
	for k := range c {
		c[k] = binomial / float64(2*k+1)
		binomial *= float64(2*k+1) / float64(2*k+2)
	}
	series := polynomials(Where(small, s, ZerosLike(s)), c)
	sin := Sqrt(Where(small, OnesLike(s), s))
	return Where(small, series, Div(Atan2(sin, cos), sin))
}

// polynomials are Σ_j c[k][j] s^j, [..., k], of s, [..., 1], for a power of two of coefficients.
func polynomials(s *Node, c ...[]float64) *Node {
	powers, next := OnesLike(s), s
	for powers.Shape().Dim(-1) < len(c[0]) {
		powers = Concatenate([]*Node{powers, scale(next, powers)}, -1)
		next = Square(next)
	}
	return linalg.MatVec(ConstAsDType(s.Graph(), s.DType(), c), powers)
}

// stumpff are the functions c_k(s) = Σ_j (−s)^j/(2j+k)! at s = θ²: c₁ = sin θ/θ, c₂ = (1 − cos θ)/θ² and so on. Their
// derivatives are c_k' = ½ (k c_(k+2) − c_(k+1)).
type stumpff struct{ s, c1, c2, c3, c4, c5, c6 *Node }

func stumpffAt(s *Node) stumpff {
	const (
		limit = 1
		terms = 8 // the next is 1/21!, below rounding also after three derivatives
	)
	small := LessThan(s, MulScalar(OnesLike(s), limit))
	coefficients := func(k int) []float64 {
		return lists.Make(terms, func(j int) float64 { return math.Pow(-1, float64(j)) / math.Gamma(float64(2*j+k+1)) })
	}
	large := Where(small, OnesLike(s), s)
	theta := Sqrt(large)
	rest := func(k float64, c *Node) *Node { return Div(AddScalar(Neg(c), k), large) } // (k − c)/s
	c3 := rest(1, Div(Sin(theta), theta))
	c4 := rest(1./2, rest(1, Cos(theta)))
	series := polynomials(Where(small, s, ZerosLike(s)), coefficients(5), coefficients(6))
	c := stumpff{s: s}
	c.c5 = Where(small, SliceAxis(series, -1, AxisRange(0, 1)), rest(1./6, c3))
	c.c6 = Where(small, SliceAxis(series, -1, AxisRange(1, 2)), rest(1./24, c4))
	lower := func(k float64, c *Node) *Node { return AddScalar(Neg(Mul(s, c)), k) }
	c.c3, c.c4 = lower(1./6, c.c5), lower(1./24, c.c6)
	c.c1, c.c2 = lower(1, c.c3), lower(1./2, c.c4)
	return c
}

// half is (1 − ½θ cot ½θ)/θ² = (c₃ − 2c₄)/(2c₂).
func (c stumpff) half() *Node { return Div(Sub(c.c3, MulScalar(c.c4, 2)), MulScalar(c.c2, 2)) }

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
