package linalg

import (
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/internal/lists"
)

// SolveGeneral returns A⁻¹ B for an invertible A, [..., n, n], and B of [..., n, k] or [..., n], by Gauss-Jordan
// elimination with partial pivoting: n steps over the whole matrix, meant for n up to about a hundred. A singular A
// gives NaN. Its gradient reuses the elimination: B̄ = A⁻ᵀ X̄, Ā = -B̄ Xᵀ.
func SolveGeneral(a, b *Node) *Node {
	return columns("SolveGeneral", a, b, func(b *Node) *Node {
		if a.Shape().Dim(-1) == 1 {
			return graph.Div(b, graph.Where(graph.IsZero(a), nan(a), a))
		}
		inv, _ := gaussJordan(a)
		return general{a, inv}.solve(b)
	})
}

// InverseGeneral returns A⁻¹ of an invertible A, [..., n, n]; NaN where A is singular. The cotangent of A is -Vᵀ V̄ Vᵀ
// with V = A⁻¹.
func InverseGeneral(a *Node) *Node {
	square("InverseGeneral", a)
	v, _ := gaussJordan(a)
	v = autodiff.CustomVJP([]*Node{a}, []*Node{v}, func(ct []*Node) []*Node {
		return []*Node{graph.Neg(MatMul(T(v), MatMul(ct[0], T(v))))}
	})[0]
	return v
}

// Det returns det A, [...], of a square A, [..., n, n]. The cotangent of A is det A · A⁻ᵀ times that of the result. For n > 3 it is
// NaN where A is singular; for n ≤ 3 the determinant is written out as a polynomial, and its gradient is right everywhere.
func Det(a *Node) *Node {
	if n := square("Det", a); n <= 3 {
		return graph.Squeeze(minor(a, lists.Range(n)), -1, -2)
	}
	_, d := gaussJordan(a)
	d = autodiff.CustomVJP([]*Node{a}, []*Node{d}, func(ct []*Node) []*Node {
		scale := graph.ExpandAxes(graph.Mul(ct[0], d), -2, -1)
		return []*Node{graph.Mul(T(InverseGeneral(a)), scale)}
	})[0]
	return d
}

// minor is the determinant, [..., 1, 1], of the last rows of a and the given columns, expanded along the first row.
func minor(a *Node, cols []int) *Node {
	n := a.Shape().Dim(-1)
	r := n - len(cols)
	var sum *Node
	for k, c := range cols {
		term := block(a, r, r+1, c, c+1)
		if len(cols) > 1 {
			rest := append(append([]int{}, cols[:k]...), cols[k+1:]...)
			term = graph.Mul(term, minor(a, rest))
		}
		switch {
		case sum == nil:
			sum = term
		case k%2 == 0:
			sum = graph.Add(sum, term)
		default:
			sum = graph.Sub(sum, term)
		}
	}
	return sum
}

// general is an invertible matrix with its inverse. Gradients go through a only, of which the inverse is a function.
type general struct{ a, inverse *Node }

func (f general) solve(b *Node) *Node {
	var x *Node
	value := refined(f.a, b, func(b *Node) *Node { return MatMul(f.inverse, b) })
	x = autodiff.CustomVJP([]*Node{f.a, b}, []*Node{value}, func(ct []*Node) []*Node {
		bBar := general{T(f.a), T(f.inverse)}.solve(ct[0])
		return []*Node{graph.Neg(MatMul(bBar, T(x))), bBar}
	})[0]
	return x
}

// gaussJordan returns A⁻¹ and det A, [...], without gradients, by row operations on [A | I]. A singular matrix has
// inverse NaN and determinant 0; NaN or infinity in A makes both NaN.
func gaussJordan(a *Node) (inv, det *Node) {
	n := a.Shape().Dim(-1)
	poison := graph.ReduceSum(graph.Sub(a, a), -1, -2)
	poison = graph.ExpandAxes(poison, -2, -1)
	out := repeat(n, []*Node{graph.Concatenate([]*Node{a, EyeLike(a)}, -1), graph.OnesLike(poison)}, func(j *Node, s []*Node) []*Node {
		w, det := s[0], s[1]
		col := window(w, -1, j, 1)
		i := index(col, -2)
		size := graph.Where(graph.LessThan(i, j), graph.Neg(graph.OnesLike(col)), graph.Abs(col))
		largest := graph.Equal(size, graph.BroadcastToShape(graph.ReduceAndKeep(size, graph.ReduceMax, -2), size.Shape()))
		first := graph.Where(largest, i, graph.AddScalar(graph.ZerosLike(i), n))
		p := graph.ReduceAndKeep(first, graph.ReduceMin, -2) // the pivot's row, [..., 1, 1]

		isP := graph.Equal(index(w, -2), graph.BroadcastToShape(p, w.Shape()))
		pivotRow := graph.ReduceAndKeep(graph.Where(isP, w, graph.ZerosLike(w)), graph.ReduceSum, -2)
		jRow := graph.BroadcastToShape(window(w, -2, j, 1), w.Shape())
		pivot := window(pivotRow, -1, j, 1)
		isZero := graph.IsZero(pivot)

		// The rows are swapped, the pivot's cleared out of the others and divided by the pivot.
		isJ := graph.Equal(index(w, -2), j)
		w = graph.Where(isP, jRow, w)
		factor := graph.Div(window(w, -1, j, 1), graph.Where(isZero, graph.OnesLike(pivot), pivot))
		cleared := graph.Sub(w, graph.Mul(factor, pivotRow))
		scaled := graph.Div(pivotRow, graph.Where(isZero, nan(pivot), pivot))
		w = graph.Where(isJ, graph.BroadcastToShape(scaled, w.Shape()), cleared)

		swapped := graph.Where(graph.Equal(p, graph.BroadcastToShape(j, p.Shape())), pivot, graph.Neg(pivot))
		return []*Node{w, graph.Mul(det, swapped)}
	})
	inv = block(out[0], 0, n, n, 2*n)
	broken := graph.ReduceAndKeep(graph.Sub(inv, inv), graph.ReduceSum, -1, -2)
	inv = graph.Add(inv, graph.Add(broken, poison))
	return inv, graph.Squeeze(graph.Add(out[1], poison), -1, -2)
}
