package linalg

import (
	"slices"

	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/internal/lists"
)

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
