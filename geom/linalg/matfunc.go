package linalg

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/integrate/quad"

	"anatomy/geom/autodiff"
	"anatomy/internal/lists"
)

// Expm returns the exponential of any square matrix, [..., n, n], by scaling, a Taylor polynomial of degree 16 and
// squaring, of each matrix of a batch as often as it needs. For symmetric matrices see SymExp.
//
// The cotangent of A is the Fréchet derivative of the exponential at Aᵀ, in the direction of the cotangent of the result. It is a
// block of the exponential of a matrix of twice the size (R. Mathias, 1996).
func Expm(a *Node) *Node {
	square("Expm", a)
	return analytic(a, expm, Expm)
}

// Logm returns the principal logarithm of a square matrix, [..., n, n], by inverse scaling and squaring with a Padé approximant. The
// matrix must have no eigenvalue on the negative real axis or at 0, as for rotations by less than π; the logarithm of one that has is NaN,
// and those of the other matrices of its batch are not concerned. The logarithm of a rotation by π - δ has an error of about 1e-16/δ². The
// gradient is as for Expm.
func Logm(a *Node) *Node {
	square("Logm", a)
	return analytic(a, logm, Logm)
}

// analytic gives the value of an analytic matrix function its gradient rule: f of [A E; 0 A] has the derivative of f at
// A in the direction E as its upper right block.
func analytic(a *Node, value, f func(a *Node) *Node) *Node {
	return autodiff.CustomVJP([]*Node{a}, []*Node{value(a)}, func(ct []*Node) []*Node {
		n := a.Shape().Dim(-1)
		at, e := T(a), ct[0]
		// The derivative is linear in E: E of the size of 1 leaves the scaling to A.
		size := graph.StopGradient(graph.ReduceAndKeep(graph.Abs(e), graph.ReduceMax, -2, -1))
		size = graph.Where(graph.IsZero(size), graph.OnesLike(size), size)
		both := f(blocks2(at, graph.Div(e, size), graph.ZerosLike(a), at))
		return []*Node{graph.Mul(block(both, 0, n, n, 2*n), size)}
	})[0]
}

// norms are the 1-norms of matrices, [..., 1, 1], and 0 of those that are lost, for loops that wait for all others.
func norms(a *Node) *Node {
	sums := graph.ReduceAndKeep(graph.ReduceAndKeep(graph.Abs(a), graph.ReduceSum, -2), graph.ReduceMax, -1)
	return graph.Where(graph.IsFinite(sums), sums, graph.ZerosLike(sums))
}

// above reports x > limit.
func above(x *Node, limit float64) *Node {
	return graph.GreaterThan(x, graph.MulScalar(graph.OnesLike(x), limit))
}

// choose takes a or b, [..., n, n], for each matrix by a condition, [..., 1, 1].
func choose(condition, a, b *Node) *Node {
	return graph.Where(graph.BroadcastToShape(condition, a.Shape()), a, b)
}

func expm(a *Node) *Node {
	const (
		limit      = 0.75 // 0.75^17/17! is below a tenth of the rounding error
		maxScaling = 1024
	)
	g := a.Graph()
	s := while([]*Node{graph.Const(g, int32(0)), graph.ZerosLike(norms(a)), a}, func(s []*Node) *Node {
		return graph.LogicalAnd(above(graph.ReduceAllMax(norms(s[2])), limit), graph.LessThan(s[0], graph.Const(g, int32(maxScaling))))
	}, func(s []*Node) []*Node {
		large := above(norms(s[2]), limit)
		return []*Node{graph.AddScalar(s[0], 1), graph.Where(large, graph.OnePlus(s[1]), s[1]), choose(large, graph.MulScalar(s[2], 0.5), s[2])}
	})
	halvings, x := s[1], s[2]

	y := Polynomial(x, func(k int) float64 { return 1 / math.Gamma(float64(k+1)) })
	return while([]*Node{halvings, y}, func(s []*Node) *Node { return above(graph.ReduceAllMax(s[0]), 0) },
		func(s []*Node) []*Node {
			return []*Node{graph.AddScalar(s[0], -1), choose(above(s[0], 0), MatMul(s[1], s[1]), s[1])}
		})[1]
}

func logm(a *Node) *Node {
	const (
		limit    = 0.25 // for the approximant with 7 nodes (N. Higham, Functions of Matrices, table 11.1)
		nodes    = 7
		maxRoots = 64
	)
	g := a.Graph()
	distances := func(x *Node) *Node { return norms(graph.Sub(x, EyeLike(x))) }
	s := while([]*Node{graph.Const(g, int32(0)), a, graph.OnesLike(norms(a))}, func(s []*Node) *Node {
		return graph.LogicalAnd(above(graph.ReduceAllMax(distances(s[1])), limit), graph.LessThan(s[0], graph.Const(g, int32(maxRoots))))
	}, func(s []*Node) []*Node {
		large := above(distances(s[1]), limit)
		return []*Node{graph.AddScalar(s[0], 1), choose(large, sqrtm(s[1]), s[1]), graph.Where(large, graph.MulScalar(s[2], 2), s[2])}
	})
	e, scale := graph.Sub(s[1], EyeLike(a)), s[2]

	// log(I + E) = ∫₀¹ E (I + tE)⁻¹ dt by Gauss's rule, which is the Padé approximant.
	t, w := make([]float64, nodes), make([]float64, nodes)
	quad.Legendre{}.FixedLocations(t, w, 0, 1)
	stack := lists.Make(nodes, func(k int) *Node { return graph.Add(EyeLike(a), graph.MulScalar(e, t[k])) })
	inv, _ := gaussJordan(graph.Stack(stack, 0))
	sum := graph.ZerosLike(a)
	for k := range stack {
		sum = graph.Add(sum, graph.MulScalar(graph.Squeeze(graph.SliceAxis(inv, 0, graph.AxisElem(k)), 0), w[k]))
	}
	return graph.Mul(MatMul(e, sum), graph.BroadcastToShape(scale, a.Shape()))
}

// sqrtm is the principal square root by the product form of the iteration of Denman and Beavers (S. Cheng, N. Higham,
// C. Kenney, A. Laub, 2001), NaN where it does not converge.
func sqrtm(a *Node) *Node {
	const maxIterations = 60
	g := a.Graph()
	eye := EyeLike(a)
	tol := float64(a.Shape().Dim(-1)) * epsilon(a)
	distance := func(m *Node) *Node { return graph.ReduceAllMax(norms(graph.Sub(m, EyeLike(m)))) }
	s := while([]*Node{graph.Const(g, int32(0)), a, a}, func(s []*Node) *Node {
		return graph.LogicalAnd(above(distance(s[1]), tol), graph.LessThan(s[0], graph.Const(g, int32(maxIterations))))
	}, func(s []*Node) []*Node {
		m, y := s[1], s[2]
		inv, _ := gaussJordan(m)
		return []*Node{
			graph.AddScalar(s[0], 1),
			graph.Add(graph.MulScalar(eye, 0.5), graph.MulScalar(graph.Add(m, inv), 0.25)),
			graph.MulScalar(MatMul(y, graph.Add(eye, inv)), 0.5),
		}
	})
	// The iteration converges quadratically: a distance of √ε has one step to go at most, a diverging one is large.
	rest := graph.ReduceAndKeep(graph.Abs(graph.Sub(s[1], eye)), graph.ReduceMax, -2, -1)
	failed := graph.BroadcastToShape(above(rest, math.Sqrt(epsilon(a))), a.Shape())
	return graph.Where(failed, nan(a), s[2])
}

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
