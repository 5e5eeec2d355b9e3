package linalg

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/internal/lists"
)

// maxSweeps bounds the Jacobi iteration, which converges quadratically.
const maxSweeps = 40

// Spectrum is a symmetric matrix A, [..., n, n], with its eigenvalues Values in ascending order, [..., n], and orthonormal
// eigenvectors, the columns of Vectors, [..., n, n]: A = V diag(λ) Vᵀ. Its methods return functions of A. SymEig makes it.
type Spectrum struct {
	A, Values, Vectors *Node
	values, vectors    *Node // the same without a gradient
}

// SymEig returns the eigenvalues and eigenvectors of a symmetric matrix, [..., n, n], by Jacobi's method, n/2 rotations at a time.
// Errors are of the size of rounding relative to the norm of A.
//
// The cotangent of A is V (diag(λ̄) + F ∘ Vᵀ V̄) Vᵀ, symmetrised, with F_ij = 1/(λ_j - λ_i), and F_ij = 0 on the diagonal and for
// eigenvalues that agree to rounding. So first derivatives are right also at repeated eigenvalues, for functions that do not
// depend on the order of equal eigenvalues or on the choice of basis in an eigenspace. Derivatives of higher order are right
// there for the methods Exp and Log only.
func SymEig(a *Node) Spectrum {
	n := square("SymEig", a)
	s := Spectrum{A: a}
	values, vectors := jacobi(a)
	s.values, s.vectors = graph.StopGradient(values), graph.StopGradient(vectors)
	out := autodiff.CustomVJP([]*Node{a}, []*Node{values, vectors}, func(ct []*Node) []*Node {
		l := s.Values
		gap := graph.Sub(graph.ExpandAxes(l, -2), graph.ExpandAxes(l, -1)) // λ_j - λ_i
		norm := graph.ReduceAndKeep(graph.Abs(l), graph.ReduceMax, -1)
		limit := graph.ExpandAxes(graph.MulScalar(norm, float64(n)*epsilon(a)), -1)
		tie := graph.LessOrEqual(graph.Abs(gap), graph.BroadcastToShape(limit, gap.Shape()))
		f := graph.Where(tie, graph.ZerosLike(gap), graph.Reciprocal(graph.Where(tie, graph.OnesLike(gap), gap)))
		inner := graph.Add(graph.Mul(EyeLike(a), graph.ExpandAxes(ct[0], -1)), graph.Mul(f, MatMul(T(s.Vectors), ct[1])))
		return []*Node{sym(conjugate(s.Vectors, inner))}
	})
	s.Values, s.Vectors = out[0], out[1]
	return s
}

// conjugate is V M Vᵀ.
func conjugate(v, m *Node) *Node { return MatMul(v, MatMul(m, T(v))) }

// epsilon is the spacing of floating-point numbers at 1.
func epsilon(a *Node) float64 {
	if a.DType() == dtypes.Float32 {
		return 0x1p-23
	}
	return 0x1p-52
}

// jacobi returns ascending eigenvalues, [..., n], and eigenvectors, without gradients. One sweep is a round-robin
// tournament: index k meets index k + m/2 in each of m - 1 rounds, and all but the first index move on by one place
// (R. Brent, F. Luk, 1985). Odd n get a dummy index, which is back in the last place after a sweep.
func jacobi(a *Node) (values, vectors *Node) {
	n := a.Shape().Dim(-1)
	poison := graph.ReduceSum(graph.Sub(a, a), -1, -2)
	m := n + n%2
	h := m / 2
	scale := graph.ReduceAndKeep(graph.Abs(a), graph.ReduceMax, -2, -1) // so that squares neither vanish nor overflow
	scale = graph.Where(graph.IsZero(scale), graph.OnesLike(scale), scale)
	a = pad(sym(graph.Div(a, scale)), m)
	round := func(_ *Node, s []*Node) []*Node {
		a, v := s[0], s[1]
		p, q, pq := diagonal(block(a, 0, h, 0, h)), diagonal(block(a, h, m, h, m)), diagonal(block(a, 0, h, h, m))
		done := graph.IsZero(pq)
		tau := graph.Div(graph.Sub(q, p), graph.MulScalar(graph.Where(done, graph.OnesLike(pq), pq), 2))
		sign := graph.Where(graph.IsNegative(tau), graph.Neg(graph.OnesLike(tau)), graph.OnesLike(tau))
		t := graph.Div(sign, graph.Add(graph.Abs(tau), graph.Sqrt(graph.OnePlus(graph.Square(tau)))))
		t = graph.Where(done, graph.ZerosLike(t), t)
		c := graph.Rsqrt(graph.OnePlus(graph.Square(t)))
		c, t = graph.ExpandAxes(c, -1), graph.ExpandAxes(t, -1)
		turn := func(x *Node) *Node { // rotates the rows of x and moves them on
			w := x.Shape().Dim(-1)
			top, bottom := block(x, 0, h, 0, w), block(x, h, m, 0, w)
			top, bottom = graph.Mul(c, graph.Sub(top, graph.Mul(t, bottom))), graph.Mul(c, graph.Add(bottom, graph.Mul(t, top)))
			if h == 1 {
				return graph.Concatenate([]*Node{top, bottom}, -2)
			}
			return graph.Concatenate([]*Node{block(top, 0, 1, 0, w), block(bottom, 0, 1, 0, w), block(top, 1, h-1, 0, w),
				block(bottom, 1, h, 0, w), block(top, h-1, h, 0, w)}, -2)
		}
		return []*Node{turn(T(turn(a))), turn(v)}
	}
	unfinished := func(a *Node) *Node { // [...]: the part off the diagonal is above rounding
		off := graph.ReduceSum(graph.Square(graph.Where(onDiagonal(a), graph.ZerosLike(a), a)), -1, -2)
		all := graph.ReduceSum(graph.Square(diagonal(a)), -1)
		tol := float64(n) * epsilon(a)
		return graph.GreaterThan(off, graph.MulScalar(all, tol*tol))
	}
	// The vectors are kept as rows.
	out := while([]*Node{graph.Const(a.Graph(), int32(0)), a, EyeLike(a)}, func(s []*Node) *Node {
		again := graph.ReduceAllMax(graph.ConvertDType(unfinished(s[1]), dtypes.Int32))
		return graph.LogicalAnd(graph.IsPositive(again), graph.LessThan(s[0], graph.Const(a.Graph(), int32(maxSweeps))))
	}, func(s []*Node) []*Node {
		return append([]*Node{graph.AddScalar(s[0], 1)}, repeat(m-1, s[1:], round)...)
	})
	poison = graph.Where(unfinished(out[1]), nan(poison), poison)
	values = graph.Slice(diagonal(out[1]), graph.AxisRange().Spacer(), graph.AxisRange(0, n))
	// Every rotation changes lengths by rounding, the same way again and again.
	rows := block(out[2], 0, n, 0, n)
	rows = graph.Mul(rows, graph.Rsqrt(graph.ReduceAndKeep(graph.Square(rows), graph.ReduceSum, -1)))
	place := places(values)
	values = graph.Mul(MatVec(T(place), values), graph.Squeeze(scale, -1))
	values = graph.Add(values, graph.ExpandAxes(poison, -1))
	return values, graph.Add(MatMul(T(rows), place), graph.ExpandAxes(poison, -2, -1))
}

// places is the one-hot matrix, [..., n, n], whose transpose puts values into rising order.
func places(values *Node) *Node {
	full := append(values.Shape().Clone().Dimensions, values.Shape().Dim(-1))
	l, k := graph.BroadcastToDims(graph.ExpandAxes(values, -1), full...), graph.BroadcastToDims(graph.ExpandAxes(values, -2), full...)
	before := graph.LogicalOr(graph.LessThan(k, l), graph.LogicalAnd(graph.Equal(k, l), graph.LessThan(index(l, -1), index(l, -2))))
	rank := graph.ReduceAndKeep(graph.ConvertDType(before, dtypes.Int32), graph.ReduceSum, -1)
	return graph.ConvertDType(graph.Equal(index(l, -1), graph.BroadcastToDims(rank, full...)), values.DType())
}

// Exp returns the matrix exponential of A, [..., n, n].
func (s Spectrum) Exp() *Node { return s.apply(expFunction) }

// Log returns the symmetric logarithm of A, [..., n, n]; NaN where A is not positive definite.
func (s Spectrum) Log() *Node { return s.apply(logFunction) }

// SymExp returns the matrix exponential of a symmetric matrix, [..., n, n].
func SymExp(a *Node) *Node { return SymEig(a).Exp() }

// SymLog returns the symmetric logarithm of a symmetric positive definite matrix, [..., n, n].
func SymLog(a *Node) *Node { return SymEig(a).Log() }

// scalarFunction is an analytic function with what its divided differences need.
type scalarFunction struct {
	value func(x *Node) *Node
	// first is (f(a + d) - f(a))/d for d > 0, without cancellation.
	first func(a, d *Node) *Node
	// The k-th Taylor coefficient at x, k ≥ 1, is base(x)·taylor(k)·ratio(x)^k.
	base, ratio func(x *Node) *Node
	taylor      func(k int) float64
}

var expFunction = scalarFunction{
	value: graph.Exp,
	first: func(a, d *Node) *Node {
		return graph.Neg(graph.Mul(graph.Exp(graph.Add(a, d)), graph.Div(graph.Expm1(graph.Neg(d)), d)))
	},
	base:   graph.Exp,
	ratio:  graph.OnesLike,
	taylor: func(k int) float64 { return product(k, func(i float64) float64 { return 1 / i }) },
}

var logFunction = scalarFunction{
	value: func(x *Node) *Node { return graph.Log(positive(x)) },
	first: func(a, d *Node) *Node { return graph.Div(graph.Log1P(graph.Div(d, a)), d) },
	base:  graph.OnesLike,
	ratio: graph.Reciprocal,
	taylor: func(k int) float64 {
		return product(k, func(i float64) float64 {
			if i == 1 {
				return 1
			}
			return -(i - 1) / i
		})
	},
}

func product(k int, factor func(i float64) float64) float64 {
	x := 1.0
	for i := range k {
		x *= factor(float64(i + 1))
	}
	return x
}

// near bounds the spread of points, times the ratio of Taylor coefficients, up to which a divided difference is computed from the
// Taylor series, without loss of digits; above it the difference quotient loses about one digit.
const (
	near       = 0.25
	seriesSize = 24
)

// difference returns the divided difference f[x_0, …, x_m], m ≥ 0, of nodes x_k of one shape, whose values may coincide.
func (f scalarFunction) difference(x []*Node) *Node {
	x = sorted(x)
	m := len(x) - 1
	if m == 0 {
		return f.value(x[0])
	}
	gap := graph.Sub(x[m], x[0])
	middle := graph.MulScalar(graph.Add(x[0], x[m]), 0.5)
	ratio := f.ratio(middle)
	isNear := graph.LessOrEqual(graph.Mul(gap, ratio), graph.MulScalar(graph.OnesLike(gap), near))

	// Σ_k c_(m+k) h_k(x - middle), where h_k is the complete homogeneous symmetric polynomial.
	h := append([]*Node{graph.OnesLike(gap)}, slices.Repeat([]*Node{graph.ZerosLike(gap)}, seriesSize-1)...)
	for _, xi := range x {
		d := graph.Mul(graph.Sub(xi, middle), ratio)
		for k := 1; k < seriesSize; k++ {
			h[k] = graph.Add(h[k], graph.Mul(d, h[k-1]))
		}
	}
	series := graph.ZerosLike(gap)
	scale := f.base(middle)
	for range m {
		scale = graph.Mul(scale, ratio)
	}
	for k := seriesSize - 1; k >= 0; k-- {
		series = graph.Add(series, graph.MulScalar(h[k], f.taylor(m+k)))
	}
	series = graph.Mul(series, scale)

	gap = graph.Where(isNear, graph.OnesLike(gap), gap)
	var far *Node
	if m == 1 {
		far = f.first(x[0], gap)
	} else {
		far = graph.Div(graph.Sub(f.difference(x[1:]), f.difference(x[:m])), gap)
	}
	return graph.Where(isNear, series, far)
}

// sorted sorts points elementwise.
func sorted(x []*Node) []*Node {
	x = append([]*Node{}, x...)
	for end := len(x) - 1; end > 0; end-- {
		for i := range end {
			x[i], x[i+1] = graph.Min(x[i], x[i+1]), graph.Max(x[i], x[i+1])
		}
	}
	return x
}

// apply returns the m-th Fréchet derivative of f(A) in the symmetric directions e_1 … e_m, for m = 0 f(A) itself:
//
//	V [Σ_π Σ_kl… f[λ_i, λ_k, λ_l, …, λ_j] ê_π1(i,k) ê_π2(k,l) … ] Vᵀ,   ê = Vᵀ e V,
//
// over the permutations π, the formula of Daleckii and Krein. The form ⟨e_0, D^m f(A)[e_1, …, e_m]⟩ is symmetric in all
// its m + 1 directions, so the cotangent of a direction is the derivative with the result's cotangent in its place, and
// that of A the derivative of order m + 1.
func (s Spectrum) apply(f scalarFunction, e ...*Node) *Node {
	m := len(e)
	lead := batch(s.A)
	n := s.A.Shape().Dim(-1)
	dims := slices.Concat(lead, slices.Repeat([]int{n}, m+1))
	r := len(lead)
	// along puts an array with the given axes of the m + 1 into the full shape.
	along := func(x *Node, axes ...int) *Node {
		shape := slices.Concat(lead, slices.Repeat([]int{1}, m+1))
		for _, a := range axes {
			shape[r+a] = n
		}
		return graph.BroadcastToDims(graph.Reshape(x, shape...), dims...)
	}
	points := lists.Make(m+1, func(k int) *Node { return along(s.values, k) })
	core := f.difference(points)
	if m == 0 {
		core = graph.Mul(EyeLike(s.A), graph.ExpandAxes(core, -1))
	} else {
		hat := lists.Each(e, func(e *Node) *Node { return conjugate(T(s.vectors), sym(e)) })
		orders := permutations(m)
		core = graph.Mul(core, lists.Fold(len(orders), graph.Add, func(i int) *Node {
			return lists.Fold(m, graph.Mul, func(k int) *Node { return along(hat[orders[i][k]], k, k+1) })
		}))
		if m > 1 {
			inner := lists.Make(m-1, func(k int) int { return r + 1 + k })
			core = graph.ReduceSum(core, inner...)
		}
	}
	return autodiff.CustomVJP(append([]*Node{s.A}, e...), []*Node{conjugate(s.vectors, core)}, func(ct []*Node) []*Node {
		cts := []*Node{s.apply(f, append(append([]*Node{}, e...), ct[0])...)}
		for k := range e {
			other := append([]*Node{}, e...)
			other[k] = ct[0]
			cts = append(cts, s.apply(f, other...))
		}
		return cts
	})[0]
}

// permutations lists the orders of 0 … m-1.
func permutations(m int) [][]int {
	if m == 0 {
		return [][]int{nil}
	}
	var out [][]int
	for _, p := range permutations(m - 1) {
		for k := range m {
			out = append(out, append(append(append([]int{}, p[:k]...), m-1), p[k:]...))
		}
	}
	return out
}
