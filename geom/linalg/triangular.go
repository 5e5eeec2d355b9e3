package linalg

import (
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
)

// SolveTriangular returns X with T X = B, or Tᵀ X = B, for a lower or upper triangular T, [..., n, n], and B of
// [..., n, k] or [..., n]. The other triangle of t is not read. A zero on the diagonal gives NaN or infinity.
func SolveTriangular(t, b *Node, lower, transpose bool) *Node {
	return columns("SolveTriangular", t, b, func(b *Node) *Node {
		if !lower {
			t, transpose = T(t), !transpose
		}
		return newTriangular(tril(t)).solve(b, transpose)
	})
}

// triangular is a lower triangular matrix with its inverse. Gradients go through l only, of which the inverse is a function.
type triangular struct{ l, inverse *Node }

func newTriangular(l *Node) triangular { return triangular{l, inverseTriangular(l)} }

// solve returns X = L⁻¹ B or L⁻ᵀ B: B̄ = L⁻ᵀ X̄, L̄ = -tril(B̄ Xᵀ), and transposed.
func (t triangular) solve(b *Node, transpose bool) *Node {
	l, inv := t.l, t.inverse
	if transpose {
		l, inv = T(l), T(inv)
	}
	value := refined(l, b, func(b *Node) *Node { return MatMul(inv, b) })
	var x *Node
	x = autodiff.CustomVJP([]*Node{t.l, b}, []*Node{value}, func(ct []*Node) []*Node {
		bBar := t.solve(ct[0], !transpose)
		lBar := MatMul(bBar, T(x))
		if transpose {
			lBar = T(lBar)
		}
		return []*Node{graph.Neg(tril(lBar)), bBar}
	})[0]
	return x
}

// inverseTriangular returns L⁻¹, without gradients, with the same splitting as cholesky.
func inverseTriangular(l *Node) *Node {
	n := l.Shape().Dim(-1)
	switch {
	case n <= columnSize(l):
		return repeat(n, []*Node{graph.ZerosLike(l)}, func(i *Node, s []*Node) []*Node {
			row := window(l, -2, i, 1)
			rest := graph.Sub(window(EyeLike(l), -2, i, 1), MatMul(row, s[0]))
			return []*Node{graph.DynamicUpdateSlice(s[0], graph.Div(rest, window(row, -1, i, 1)), at(l, -2, i))}
		})[0]
	case n <= halvesSize:
		h := (n + 1) / 2
		inv11, inv22 := inverseTriangular(block(l, 0, h, 0, h)), inverseTriangular(block(l, h, n, h, n))
		inv21 := graph.Neg(MatMul(inv22, MatMul(block(l, h, n, 0, h), inv11)))
		return blocks2(inv11, graph.ZerosLike(T(inv21)), inv21, inv22)
	}
	count, b := panels(n)
	l = padWithIdentity(l, count*b)
	inv := repeat(count, []*Node{graph.ZerosLike(l)}, func(k *Node, s []*Node) []*Node {
		j := graph.MulScalar(k, b)
		row := window(l, -2, j, b)
		top := inverseTriangular(window(row, -1, j, b))
		rows := MatMul(top, graph.Sub(window(EyeLike(l), -2, j, b), MatMul(row, s[0])))
		return []*Node{graph.DynamicUpdateSlice(s[0], rows, at(l, -2, j))}
	})[0]
	return block(inv, 0, n, 0, n)
}
