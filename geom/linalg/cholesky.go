package linalg

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg/native"
)

// Sizes up to which a Cholesky factorisation is written out, is a call of C where the back end can, and is split in halves. Above, it
// is a loop over panels of about panelSize columns.
const (
	unrolledSize = 3
	nativeSize   = 128
	halvesSize   = 256
	panelSize    = 128
)

// columnSize is the size up to which a factorisation is a loop over columns. Measured on a CPU: matrix products are the
// fastest operation there is; 30 columns balance them, and the size of the graph, against the loop. A large batch does not
// stay in the cache, where fewer columns mean fewer passes over it. On a GPU each product is a launch.
func columnSize(a *Node) int {
	if engine.ForGPU(a) {
		return nativeSize
	}
	const cached = 1 << 17 // numbers
	if n, size := a.Shape().Dim(-1), a.Shape().Size(); size > 4*n*n && size > cached {
		return 8
	}
	return 30
}

// Factorisation is a symmetric positive definite matrix A, [..., n, n], with its Cholesky factor: A = L Lᵀ, L lower
// triangular with a positive diagonal. Make it once for a matrix and use it for every solve.
type Factorisation struct {
	A, L    *Node
	inverse *Node // L⁻¹, which gradients never go through: it is a function of L
}

// Factor returns the Cholesky factorisation of a symmetric positive definite A, [..., n, n]. If A is not positive definite, L is NaN
// from the first column in which the elimination finds this, and so is everything computed from the factorisation.
//
// The cotangent of A is sym(L⁻ᵀ Φ(Lᵀ L̄) L⁻¹), where Φ takes the lower triangle and half the diagonal (I. Murray,
// Differentiation of the Cholesky decomposition, 2016).
func Factor(a *Node) Factorisation {
	square("Factor", a)
	f := Factorisation{A: a}
	l, inv := cholesky(a)
	f.inverse = graph.StopGradient(inv)
	f.L = autodiff.CustomVJP([]*Node{a}, []*Node{l}, func(ct []*Node) []*Node {
		p := tril(MatMul(T(f.L), ct[0]))
		p = graph.Where(onDiagonal(p), graph.MulScalar(p, 0.5), p)
		return []*Node{sym(f.SolveL(T(f.SolveL(T(p), true)), true))}
	})[0]
	return f
}

// Solve returns X = A⁻¹ B, for B of [..., n, k] or [..., n]. Its gradient costs two products with the same factor:
// B̄ = A⁻¹ X̄, Ā = -sym(B̄ Xᵀ).
func (f Factorisation) Solve(b *Node) *Node {
	return columns("Solve", f.A, b, func(b *Node) *Node {
		var x *Node
		value := refined(f.A, b, func(b *Node) *Node { return MatMul(T(f.inverse), MatMul(f.inverse, b)) })
		x = autodiff.CustomVJP([]*Node{f.A, b}, []*Node{value}, func(ct []*Node) []*Node {
			bBar := f.Solve(ct[0])
			return []*Node{graph.Neg(sym(MatMul(bBar, T(x)))), bBar}
		})[0]
		return x
	})
}

// SolveL returns L⁻¹ B, or L⁻ᵀ B, for B of [..., n, k] or [..., n].
func (f Factorisation) SolveL(b *Node, transpose bool) *Node {
	return columns("SolveL", f.L, b, func(b *Node) *Node { return triangular{f.L, f.inverse}.solve(b, transpose) })
}

// LogDet returns log det A = 2 Σ log L_ii, [...]. The cotangent of A is A⁻¹ times that of the result.
func (f Factorisation) LogDet() *Node {
	v := graph.MulScalar(graph.ReduceSum(graph.Log(diagonal(f.L)), -1), 2)
	return autodiff.CustomVJP([]*Node{f.A}, []*Node{v}, func(ct []*Node) []*Node {
		return []*Node{graph.Mul(f.Inverse(), graph.ExpandAxes(ct[0], -2, -1))}
	})[0]
}

// Inverse returns A⁻¹, [..., n, n]. The cotangent of A is -A⁻¹ sym(V̄) A⁻¹.
func (f Factorisation) Inverse() *Node {
	var v *Node
	v = autodiff.CustomVJP([]*Node{f.A}, []*Node{MatMul(T(f.inverse), f.inverse)}, func(ct []*Node) []*Node {
		return []*Node{graph.Neg(MatMul(v, MatMul(sym(ct[0]), v)))}
	})[0]
	return v
}

// Cholesky returns the lower triangular L, [..., n, n], with A = L Lᵀ and a positive diagonal; see Factor.
func Cholesky(a *Node) *Node { return Factor(a).L }

// Solve returns A⁻¹ B for a symmetric positive definite A, [..., n, n], and B of [..., n, k] or [..., n].
func Solve(a, b *Node) *Node { return Factor(a).Solve(b) }

// LogDet returns log det A, [...], of a symmetric positive definite A.
func LogDet(a *Node) *Node { return Factor(a).LogDet() }

// Inverse returns A⁻¹, [..., n, n], of a symmetric positive definite A.
func Inverse(a *Node) *Node { return Factor(a).Inverse() }

// cholesky returns L and L⁻¹, without gradients.
func cholesky(a *Node) (l, inv *Node) {
	switch n := a.Shape().Dim(-1); {
	case n <= unrolledSize:
		return choleskyUnrolled(a)
	case n <= nativeSize && a.DType() == dtypes.Float64 && engine.HasNative(native.Cholesky, a):
		return choleskyInC(a)
	case n <= columnSize(a):
		return choleskyColumns(a)
	case n <= halvesSize:
		return choleskyHalves(a)
	default:
		return choleskyPanels(a)
	}
}

// positive is s where s > 0, else NaN.
func positive(s *Node) *Node { return graph.Where(graph.IsPositive(s), s, nan(s)) }

// refined solves a x = b by an approximate inverse and one step of iterative refinement. With the explicit inverse of a
// factor alone the residual grows with its condition number; after the step it is that of a substitution.
func refined(a, b *Node, solve func(b *Node) *Node) *Node {
	x := solve(b)
	return graph.Add(x, solve(graph.Sub(b, MatMul(a, x))))
}

func choleskyUnrolled(a *Node) (l, inv *Node) {
	n := a.Shape().Dim(-1)
	var low, m [unrolledSize][unrolledSize]*Node
	for i := range n {
		for j := range i + 1 {
			s := block(a, i, i+1, j, j+1)
			for k := range j {
				s = graph.Sub(s, graph.Mul(low[i][k], low[j][k]))
			}
			if i == j {
				low[i][i] = graph.Sqrt(positive(s))
				m[i][i] = graph.Reciprocal(low[i][i])
			} else {
				low[i][j] = graph.Mul(s, m[j][j])
			}
		}
		for j := range i {
			s := graph.Mul(low[i][j], m[j][j])
			for k := j + 1; k < i; k++ {
				s = graph.Add(s, graph.Mul(low[i][k], m[k][j]))
			}
			m[i][j] = graph.Neg(graph.Mul(m[i][i], s))
		}
	}
	zero := graph.ZerosLike(low[0][0])
	join := func(x [unrolledSize][unrolledSize]*Node) *Node {
		var rows []*Node
		for i := range n {
			for j := i + 1; j < n; j++ {
				x[i][j] = zero
			}
			rows = append(rows, graph.Concatenate(x[i][:n], -1))
		}
		return graph.Concatenate(rows, -2)
	}
	return join(low), join(m)
}

// choleskyInC eliminates as choleskyColumns does: the graph of one takes long to compile, and its loop long to run.
func choleskyInC(a *Node) (l, inv *Node) {
	out := engine.Native(native.Cholesky, []*Node{a}, a.Shape(), a.Shape())
	return out[0], out[1]
}

// choleskyColumns eliminates [A | I] to [Lᵀ | L⁻¹] in a loop over unrolledSize columns at a time. Its products are written as sums, which a
// compiler makes parts of few loops.
func choleskyColumns(a *Node) (l, inv *Node) {
	const b = unrolledSize
	n := a.Shape().Dim(-1)
	turns := (n + b - 1) / b
	a = padWithIdentity(a, turns*b)
	product := func(x, y *Node) *Node {
		term := func(k int) *Node {
			return graph.Mul(block(x, 0, x.Shape().Dim(-2), k, k+1), block(y, k, k+1, 0, y.Shape().Dim(-1)))
		}
		return graph.Add(graph.Add(term(0), term(1)), term(2))
	}
	w := repeat(turns, []*Node{graph.Concatenate([]*Node{a, EyeLike(a)}, -1)}, func(k *Node, s []*Node) []*Node {
		w, j := s[0], graph.MulScalar(k, b)
		rows := window(w, -2, j, b)
		_, top := choleskyUnrolled(window(rows, -1, j, b))
		rows = product(top, rows)
		col := T(block(rows, 0, b, 0, turns*b)) // and not w's columns: they differ by rounding, which small pivots magnify
		col = graph.Where(graph.GreaterOrEqual(index(col, -2), graph.AddScalar(j, b)), col, graph.ZerosLike(col))
		return []*Node{graph.DynamicUpdateSlice(graph.Sub(w, product(col, rows)), rows, at(w, -2, j))}
	})[0]
	return tril(T(block(w, 0, n, 0, n))), block(w, 0, n, turns*b, turns*b+n)
}

// choleskyHalves splits A in four blocks: the halves' factors and matrix products give the factor and its inverse.
func choleskyHalves(a *Node) (l, inv *Node) {
	n := a.Shape().Dim(-1)
	h := (n + 1) / 2
	l11, inv11 := cholesky(block(a, 0, h, 0, h))
	l21 := T(refined(l11, T(block(a, h, n, 0, h)), func(b *Node) *Node { return MatMul(inv11, b) }))
	l22, inv22 := cholesky(graph.Sub(block(a, h, n, h, n), MatMul(l21, T(l21))))
	inv21 := graph.Neg(MatMul(inv22, MatMul(l21, inv11)))
	zero := graph.ZerosLike(T(l21))
	return blocks2(l11, zero, l21, l22), blocks2(inv11, zero, inv21, inv22)
}

// panels returns the number of panels for n columns and their size.
func panels(n int) (count, size int) {
	count = (n + panelSize - 1) / panelSize
	return count, (n + count - 1) / count
}

// choleskyPanels makes L and L⁻¹ panel by panel: the columns of L and the rows of L⁻¹ from those before them.
func choleskyPanels(a *Node) (l, inv *Node) {
	n := a.Shape().Dim(-1)
	count, b := panels(n)
	a = padWithIdentity(a, count*b)
	zero := graph.ZerosLike(a)
	out := repeat(count, []*Node{zero, zero}, func(k *Node, s []*Node) []*Node {
		l, inv := s[0], s[1]
		j := graph.MulScalar(k, b)
		row := window(l, -2, j, b)
		col := graph.Sub(window(a, -1, j, b), MatMul(l, T(row)))
		corner, top := cholesky(window(col, -2, j, b))
		col = T(refined(corner, T(col), func(b *Node) *Node { return MatMul(top, b) }))
		onOrBelow := graph.GreaterOrEqual(index(col, -2), graph.Add(index(col, -1), j))
		col = graph.Where(onOrBelow, col, graph.ZerosLike(col))
		rows := MatMul(top, graph.Sub(window(EyeLike(a), -2, j, b), MatMul(row, inv)))
		return []*Node{
			graph.DynamicUpdateSlice(l, col, at(l, -1, j)),
			graph.DynamicUpdateSlice(inv, rows, at(inv, -2, j)),
		}
	})
	return block(out[0], 0, n, 0, n), block(out[1], 0, n, 0, n)
}

// padWithIdentity returns the block-diagonal matrix of a and an identity, [..., n, n].
func padWithIdentity(a *Node, n int) *Node {
	old := a.Shape().Dim(-1)
	a = pad(a, n)
	added := graph.GreaterOrEqual(index(a, -1), graph.Const(a.Graph(), int32(old)))
	return graph.Where(graph.LogicalAnd(onDiagonal(a), added), graph.OnesLike(a), a)
}

// pad adds rows and columns of zeros up to [..., n, n].
func pad(a *Node, n int) *Node {
	pads := make([]compute.PadAxis, a.Rank())
	added := n - a.Shape().Dim(-1)
	pads[a.Rank()-2].End, pads[a.Rank()-1].End = added, added
	return graph.Pad(a, graph.ScalarZero(a.Graph(), a.DType()), pads...)
}

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
