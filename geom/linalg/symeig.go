package linalg

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
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

	// rank[i] is the place of eigenvalue i; a one-hot matrix takes it there.
	l, k := graph.ExpandAxes(values, -1), graph.ExpandAxes(values, -2)
	full := a.Shape().Clone()
	full.Dimensions[full.Rank()-1], full.Dimensions[full.Rank()-2] = n, n
	l, k = graph.BroadcastToShape(l, full), graph.BroadcastToShape(k, full)
	before := graph.LogicalOr(graph.LessThan(k, l), graph.LogicalAnd(graph.Equal(k, l), graph.LessThan(index(l, -1), index(l, -2))))
	rank := graph.ReduceAndKeep(graph.ConvertDType(before, dtypes.Int32), graph.ReduceSum, -1)
	place := graph.ConvertDType(graph.Equal(index(l, -1), graph.BroadcastToShape(rank, full)), a.DType())
	values = graph.Mul(MatVec(T(place), values), graph.Squeeze(scale, -1))
	values = graph.Add(values, graph.ExpandAxes(poison, -1))
	return values, graph.Add(MatMul(T(rows), place), graph.ExpandAxes(poison, -2, -1))
}
