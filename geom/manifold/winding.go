package manifold

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

// Windings are those of the great circle through both points. They weigh as neighbouring geodesics gather: the sum is
//
//	W + ½ (n − 1) log(−(τ/sin r) ∂W/∂r),  W = log Σ_k exp(−(r + 2πk)²/2τ),
//
// where for small τ the second logarithm is log r/sin r (J. Van Vleck 1928, C. Morette 1951). For n = 1 and 3 it is the heat kernel but
// for a factor of τ.
func (m sphere) Windings() func(v, z, tau *Node) *Node {
	return func(v, z, tau *Node) *Node {
		if m.n == 1 { // also between antipodes
			return geom.Wrapped(Square(angleBetween(v, z)), tau)
		}
		w := m.Log(v, z)
		near, far := halves(v, z)
		return Add(geom.Wrapped(Squeeze(dot(w, w), -1), tau), MulScalar(gathering(near, far, tau), power(m.n)))
	}
}

// power is that of R in the sums of n dimensions, a = (n − 1)/2.
func power(n int) float64 { return float64(n-1) / 2 }

// Guide: e^W is the heat kernel of n = 1, R e^W that of n = 3 times e^(−t/2), both but for powers of τ. With c = cos r, ∂W/∂c = R/τ
// and E = ∂(log R)/∂c the sum's gradient is (R/τ + aE) grad c, and what q lacks to be a heat kernel
//
//	½a (1 − (1 − a) ((1 − c²)E² − 2cE)).
func (m sphere) Guide(v, z, tau *Node) (gradient, growth *Node) {
	near, far := halves(v, z)
	r := gathering(near, far, tau)
	slopes := Gradient(ReduceAllSum(r), near, far)
	e, c := MulScalar(Sub(slopes[1], slopes[0]), 0.5), Sub(far, near)
	a := power(m.n)
	rate := Add(Div(Exp(r), tau), MulScalar(e, a))
	up := Sub(v, scale(ExpandAxes(c, -1), z))
	missing := Mul(e, Sub(Mul(MulScalar(Mul(near, far), 4), e), MulScalar(c, 2)))
	return scale(ExpandAxes(rate, -1), up), MulScalar(OneMinus(MulScalar(missing, 1-a)), a/2)
}

// halves are sin² r/2 and cos² r/2, [...], of points at the distance r, as accurate where they are small as elsewhere.
func halves(v, z *Node) (near, far *Node) {
	half := func(v *Node) *Node { return MulScalar(Squeeze(dot(v, v), -1), 0.25) }
	return half(Sub(z, v)), half(Add(z, v))
}

// gathering is log R, R = −(t/sin r) ∂W/∂r, of points of a sphere at the distance r, sin² r/2 = near and cos² r/2 = far, also between
// antipodes.
func gathering(near, far, t *Node) *Node {
	const (
		limit  = math.Pi // of t, as in geom.Wrapped
		terms  = 3
		series = 4
	)
	all := func(x float64) *Node { return MulScalar(OnesLike(t), x) }
	long := GreaterThan(t, all(limit))
	short, above := Where(long, all(limit), t), Where(long, t, all(limit))

	// By the angle x from v or from its antipode −v, whichever is less, R is
	//
	//	±(x/sin x) (1 − (π/x) Σ_k tanh(A_k + δ) − tanh(A_k − δ)),  δ = πx/t,
	//
	// with A_k = π²/t, 3π²/t, … at v, and with 0, of which there is a half, 2π²/t, … at −v. A term is
	// 2 tanh δ/(1 + (sinh A_k/cosh δ)²).
	cosine := Sub(far, near)
	isFar := IsNegative(cosine)
	s := squaredArc(1, Where(isFar, far, near))
	rate := Div(all(math.Pi), short)
	logCosh, slope := logCosh(Mul(Square(rate), s))
	// The terms of the sum stand in a last axis.
	column := func(x *Node) *Node { return ExpandAxes(x, -1) }
	row := func(x any) *Node { return ExpandLeftToRank(ConstAsDType(t.Graph(), t.DType(), x), t.Rank()+1) }
	either := func(far, near []float64) *Node {
		return Add(row(near), Mul(row(floats.SubTo(make([]float64, terms), far, near)), ConvertDType(column(isFar), t.DType())))
	}
	angles := Mul(column(rate), either([]float64{0, 2 * math.Pi, 4 * math.Pi}, []float64{math.Pi, 3 * math.Pi, 5 * math.Pi}))
	// Terms below e^(−300) are as good as 0, and their squares are still numbers.
	ratio := Mul(Exp(MinScalar(Sub(angles, column(logCosh)), 150)), MulScalar(OneMinus(Exp(MulScalar(angles, -2))), 0.5))
	sum := ReduceSum(Mul(either([]float64{1, 2, 2}, []float64{2, 2, 2}), Reciprocal(OnePlus(Square(ratio)))), -1)
	rest := OneMinus(MulScalar(Mul(Mul(rate, slope), sum), math.Pi))
	brief := Sub(Log(Where(isFar, Neg(rest), rest)), Log(sine(1, s)))

	// Poisson's: 2t Σ m e^(−m²t/2) U_{m−1}(cos r) / (1 + 2 Σ e^(−m²t/2) T_m(cos r)).
	square := Square(cosine)
	powers := Stack([]*Node{OnesLike(t), cosine, square, Mul(cosine, square), Square(square)}, -1)
	waves := MulScalar(Exp(Mul(column(above), row([]float64{-0.5, -2, -4.5, -8}))), 2)
	polynomials := func(c [series][series + 1]float64) *Node { // of the cosine, a row each
		return ReduceSum(Mul(waves, linalg.MatVec(ConstAsDType(t.Graph(), t.DType(), c), powers)), -1)
	}
	over := polynomials([series][series + 1]float64{{1}, {0, 4}, {-3, 0, 12}, {0, -16, 0, 32}})                     // m U_{m−1}
	under := OnePlus(polynomials([series][series + 1]float64{{0, 1}, {-1, 0, 2}, {0, -3, 0, 4}, {1, 0, -8, 0, 8}})) // T_m
	return Where(long, Log(Div(Mul(above, over), under)), brief)
}

// logCosh is log cosh δ of u = δ², and tanh δ/δ, its derivative by ½u.
func logCosh(u *Node) (log, slope *Node) {
	const limit = 1e-3 // what the series leave out is below 1e-17
	polynomial := func(c ...float64) *Node {
		sum := MulScalar(OnesLike(u), c[len(c)-1])
		for k := len(c) - 2; k >= 0; k-- {
			sum = AddScalar(Mul(u, sum), c[k])
		}
		return sum
	}
	small := LessThan(u, MulScalar(OnesLike(u), limit))
	delta := Sqrt(Where(small, OnesLike(u), u))
	log = Where(small, Mul(u, polynomial(1./2, -1./12, 1./45, -17./2520)), AddScalar(Add(delta, Log1P(Exp(MulScalar(delta, -2)))), -math.Ln2))
	return log, Where(small, polynomial(1, -1./3, 2./15, -17./315, 62./2835), Div(Tanh(delta), delta))
}

// squaredArc is the square of the angle or, for κ = −1, the distance r with h = sin²(r/2) or sinh²(r/2).
func squaredArc(k float64, h *Node) *Node {
	const limit = 1e-3 // the next term of the series is 512 h⁵/1575
	small := LessThan(h, MulScalar(OnesLike(h), limit))
	u := MulScalar(h, k)
	series := MulScalar(Mul(h, OnePlus(Mul(u, AddScalar(Mul(u, AddScalar(MulScalar(u, 4./35), 8./45)), 1./3)))), 4)
	h = Where(small, MulScalar(OnesLike(h), 0.5), h)
	if k > 0 {
		return Where(small, series, MulScalar(Square(Atan2(Sqrt(h), Sqrt(OneMinus(h)))), 4))
	}
	root := Sqrt(h)
	return Where(small, series, MulScalar(Square(Log1P(Add(root, Div(h, OnePlus(Sqrt(OnePlus(h))))))), 4))
}

// Windings is the one geodesic, with the weight (r/sinh r)^((n−1)/2) as on a sphere: for n = 1 and 3 the heat kernel but for a factor of
// τ.
func (m hyperbolic) Windings() func(v, z, tau *Node) *Node {
	return func(v, z, tau *Node) *Node {
		s := m.square(v, z)
		return Sub(MulScalar(Div(s, tau), -0.5), MulScalar(Log(sine(-1, s)), power(m.n)))
	}
}

// square is that of the distance, r², [...].
func (m hyperbolic) square(v, z *Node) *Node {
	_, h, _ := m.ball(v).between(m.ball(z))
	return squaredArc(-1, Squeeze(h, -1))
}

// Guide: as on a sphere, with R = r/sinh r, W = −r²/2τ and κ = −1. With B = (r coth r − 1)/r² the gradient is (1/τ + aB) Log_z(v),
// and what q lacks to be a heat kernel −½a (1 − (1 − a) B (2 + r²B)).
func (m hyperbolic) Guide(v, z, tau *Node) (gradient, growth *Node) {
	s := m.square(v, z)
	b := MulScalar(Gradient(ReduceAllSum(Log(sine(-1, s))), s)[0], 2)
	a := power(m.n)
	rate := Add(Reciprocal(tau), MulScalar(b, a))
	missing := Mul(b, AddScalar(Mul(s, b), 2))
	return scale(ExpandAxes(rate, -1), m.Log(z, v)), MulScalar(OneMinus(MulScalar(missing, 1-a)), -a/2)
}

// Windings are those of a closed geodesic, whose length is π.
func (m kendall) Windings() func(v, z, tau *Node) *Node {
	return func(v, z, tau *Node) *Node {
		w := m.Log(v, z)
		return geom.Wrapped(MulScalar(Squeeze(dot(w, w), -1), 4), MulScalar(tau, 4))
	}
}

// Windings are those around the axis.
func (m cylinder) Windings() func(v, z, tau *Node) *Node {
	return func(v, z, tau *Node) *Node {
		height := Squeeze(Sub(from(z, 2, 3), from(v, 2, 3)), -1)
		return Sub(geom.Wrapped(Square(angleBetween(v, z)), MulScalar(tau, 1/(m.r*m.r))), MulScalar(Div(Square(height), tau), 0.5))
	}
}

// Windings are those around the axis and around the tube. ρ is that of the mean of the metric at v and at z, which is half the
// squared distance near v up to the fourth order, so that bridges weigh nearly the same.
func (m torus) Windings() func(v, z, tau *Node) *Node {
	return func(v, z, tau *Node) *Node {
		angles, times := m.circles(v, z, tau)
		return ReduceSum(geom.Wrapped(Square(angles), times), 0)
	}
}

// circles are the angles from v to z around the axis and around the tube, and the times of the heat kernels of these circles, both [2, ...].
func (m torus) circles(v, z, tau *Node) (angles, times *Node) {
	mean := MulScalar(Add(axisSquared(v), axisSquared(z)), 0.5)
	return Stack([]*Node{angleBetween(v, z), angleBetween(m.section(v), m.section(z))}, 0), Stack([]*Node{Div(tau, mean), MulScalar(tau, 1/(m.r*m.r))}, 0)
}

// axisSquared is the squared distance of z from the axis, [...].
func axisSquared(z *Node) *Node { return Squeeze(dot(from(z, 0, 2), from(z, 0, 2)), -1) }

// Guide: the sum is W(θ, t) + V(φ, τ/r²) for the angles θ around the axis and φ around the tube. Here t is τ/s, and s is the mean of the
// squared distances of v and z from the axis, which is ρ² at z. e^W and e^V are heat kernels of circles but for powers of their times,
// so most terms of (−∂_τ + ½Δ)q/q cancel. It is
//
//	½ (1 − s/ρ²)/τ + W_t (1/ρ² − 1/s) + ((W_tt + W_t²) t_φ² + W_t t_φφ + 2 V_φ W_t t_φ + (V_φ + W_t t_φ) ρ'/ρ)/2r².
func (m torus) Guide(v, z, tau *Node) (gradient, growth *Node) {
	angles, times := m.circles(v, z, tau)
	squares := Square(angles)
	slopes := Gradient(ReduceAllSum(geom.Wrapped(squares, times)), squares, times)
	second := Gradient(ReduceAllSum(slopes[1]), times)[0]
	of := func(x *Node, k int) *Node { return Squeeze(SliceAxis(x, 0, AxisElem(k)), 0) }
	t, byTime, twice := of(times, 0), of(slopes[1], 0), of(second, 0)
	turns := MulScalar(Mul(angles, slopes[0]), 2)
	byTheta, byPhi := of(turns, 0), of(turns, 1)

	square, s := axisSquared(z), Div(tau, t)
	rho, slope := Sqrt(square), Neg(Squeeze(from(z, 2, 3), -1)) // ρ and ρ' = ∂ρ/∂φ; ρ'' is R − ρ
	share := Div(Mul(rho, slope), s)
	bend := Div(Add(Square(slope), Mul(rho, AddScalar(Neg(rho), m.R))), s)
	change := Neg(Mul(t, share))                              // t_φ
	change2 := Mul(t, Sub(MulScalar(Square(share), 2), bend)) // t_φφ
	along := Add(byPhi, Mul(byTime, change))
	across := Add(Mul(Add(twice, Square(byTime)), Square(change)), Mul(byTime, change2))
	across = Add(across, Add(MulScalar(Mul(byPhi, Mul(byTime, change)), 2), Mul(along, Div(slope, rho))))
	growth = Add(Div(MulScalar(OneMinus(Div(s, square)), 0.5), tau), Mul(byTime, Sub(Reciprocal(square), Reciprocal(s))))
	growth = Add(growth, MulScalar(across, 0.5/(m.r*m.r)))
	around, tube := m.fields(z)
	column := func(x *Node) *Node { return ExpandAxes(x, -1) }
	return Add(scale(column(Div(byTheta, square)), around), scale(column(MulScalar(along, 1/(m.r*m.r))), tube)), growth
}

// angleBetween is the angle from the first two coordinates of v to those of z, [...].
func angleBetween(v, z *Node) *Node {
	cross := linalg.MatVec(ConstAsDType(v.Graph(), v.DType(), [][]float64{{0, -1}, {1, 0}}), from(v, 0, 2))
	return Atan2(Squeeze(dot(cross, from(z, 0, 2)), -1), Squeeze(dot(from(v, 0, 2), from(z, 0, 2)), -1))
}
