// Package linalg is dense linear algebra on the graph: factorisations, solves, eigenvalues, matrix functions.
//
//	f := linalg.Factor(a)      // a symmetric positive definite, [..., n, n]
//	x := f.Solve(b)            // A⁻¹ b, b of [..., n] or [..., n, k]
//	v := f.LogDet()            // [...]
//	e := linalg.SymExp(s)      // exp of a symmetric s; Expm takes any square matrix
//	y := linalg.MatVec(a, x)   // products of batches of matrices and vectors
//
// Every function works on the last two axes, [..., n, n] (or the last axis of vectors), and treats the axes before them as a batch.
// Elements are float64 or float32. Each decomposition has its own gradient rule, made of the functions of this package; so a
// derivative adds few nodes to the graph, and can be differentiated again. In the rules, X̄ is the cotangent of X: the
// derivative of the final result with respect to X.
//
// A matrix that a function calls symmetric must be symmetric, and is not checked; its cotangent is symmetrised, sym(G) =
// (G + Gᵀ)/2. If a matrix is not what a function needs (positive definite, invertible, finite), the result is NaN, never a wrong
// number. Shapes that do not fit are a panic, with the shapes in the message.
package linalg

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Node is a node of the graph.
type Node = graph.Node

// Eye is the identity matrix, [n, n].
func Eye(g *graph.Graph, dtype dtypes.DType, n int) *Node {
	s := shapes.Make(dtypes.Int32, n, n)
	return graph.ConvertDType(graph.Equal(graph.Iota(g, s, 0), graph.Iota(g, s, 1)), dtype)
}

// T is the transpose of the last two axes.
func T(a *Node) *Node {
	matrix("T", a)
	return graph.Transpose(a, -1, -2)
}

// Rows makes vectors, [k, ..., d], the rows of matrices, [..., k, d].
func Rows(vectors *Node) *Node {
	perm := lists.Make(vectors.Rank(), func(a int) int { return a + 1 })
	perm[len(perm)-2], perm[len(perm)-1] = 0, len(perm)-1
	return graph.TransposeAllDims(vectors, perm...)
}

// Matrices makes matrices, [..., n, m], of their rows one after the other, [..., n·m].
func Matrices(x *Node, n, m int) *Node {
	return graph.Reshape(x, append(slices.Clone(x.Shape().Dimensions[:x.Rank()-1]), n, m)...)
}

// Vectors is the inverse of Matrices: the rows of matrices one after the other.
func Vectors(a *Node) *Node {
	return graph.Reshape(a, append(slices.Clone(batch(a)), a.Shape().Dim(-2)*a.Shape().Dim(-1))...)
}

// MatMul is the product a·b, [..., n, m], of [..., n, k] and [..., k, m]. The leading axes must be equal, or one operand must have
// none; it is then used for the whole batch.
func MatMul(a, b *Node) *Node {
	matrix("MatMul", a)
	matrix("MatMul", b)
	ra, rb := a.Rank(), b.Rank()
	refuse.If(a.Shape().Dim(-1) != b.Shape().Dim(-2) || ra > 2 && rb > 2 && !slices.Equal(batch(a), batch(b)),
		"linalg.MatMul: shapes %s and %s do not fit", a.Shape(), b.Shape())
	if ra == 2 && rb > 2 {
		return T(graph.DotGeneral(b, []int{rb - 2}, nil, a, []int{1}, nil))
	}
	var axes []int
	if rb > 2 {
		axes = lists.Range(rb - 2)
	}
	return graph.DotGeneral(a, []int{ra - 1}, axes, b, []int{rb - 2}, axes)
}

// MatVec is the product a·x, [..., n], of [..., n, m] and [..., m]; the leading axes are as in MatMul.
func MatVec(a, x *Node) *Node {
	refuse.If(x.Rank() == 0, "linalg.MatVec: %s is not a vector", x.Shape())
	return graph.Squeeze(MatMul(a, graph.ExpandAxes(x, -1)), -1)
}

// Outer is x yᵀ, [..., n, m], for x of [..., n] and y of [..., m].
func Outer(x, y *Node) *Node {
	refuse.If(x.Rank() == 0 || x.Rank() != y.Rank() || !slices.Equal(x.Shape().Dimensions[:x.Rank()-1], y.Shape().Dimensions[:y.Rank()-1]),
		"linalg.Outer: shapes %s and %s do not fit", x.Shape(), y.Shape())
	return graph.Mul(graph.ExpandAxes(x, -1), graph.ExpandAxes(y, -2))
}

// Trace is Σ a_ii, [...].
func Trace(a *Node) *Node {
	square("Trace", a)
	return graph.ReduceSum(diagonal(a), -1)
}

// matrix panics unless a has at least two axes.
func matrix(name string, a *Node) {
	refuse.If(a.Rank() < 2 || !a.DType().IsFloat(), "linalg.%s: %s is not a matrix of floats, [..., n, m]", name, a.Shape())
}

// square returns n for a of shape [..., n, n] and panics for others.
func square(name string, a *Node) int {
	matrix(name, a)
	n := a.Shape().Dim(-1)
	refuse.If(a.Shape().Dim(-2) != n || n == 0, "linalg.%s: %s is not a square matrix, [..., n, n]", name, a.Shape())
	return n
}

// columns applies f, which takes b as [..., n, k], to a vector [..., n] as well, where a is [..., n, n].
func columns(name string, a, b *Node, f func(b *Node) *Node) *Node {
	n := square(name, a)
	vector := b.Rank() == a.Rank()-1
	full := b
	if vector {
		full = graph.ExpandAxes(b, -1)
	}
	refuse.If(full.Rank() != a.Rank() || full.Shape().Dim(-2) != n || !slices.Equal(batch(full), batch(a)) || full.DType() != a.DType(),
		"linalg.%s: matrix %s and right-hand side %s do not fit: want [..., n, k] or [..., n]", name, a.Shape(), b.Shape())
	x := f(full)
	if vector {
		return graph.Squeeze(x, -1)
	}
	return x
}

// batch returns the leading dimensions of a matrix.
func batch(a *Node) []int { return a.Shape().Dimensions[:a.Rank()-2] }

// sym is (a + aᵀ)/2.
func sym(a *Node) *Node { return graph.MulScalar(graph.Add(a, T(a)), 0.5) }

// index numbers the elements of a along an axis, as int32 in a's shape.
func index(a *Node, axis int) *Node {
	return graph.Iota(a.Graph(), shapes.Make(dtypes.Int32, a.Shape().Dimensions...), graph.MustAdjustAxis(axis, a))
}

func onDiagonal(a *Node) *Node { return graph.Equal(index(a, -2), index(a, -1)) }

// diagonal returns a_ii, [..., n].
func diagonal(a *Node) *Node {
	return graph.ReduceSum(graph.Where(onDiagonal(a), a, graph.ZerosLike(a)), -1)
}

// tril keeps the lower triangle with the diagonal.
func tril(a *Node) *Node {
	return graph.Where(graph.GreaterOrEqual(index(a, -2), index(a, -1)), a, graph.ZerosLike(a))
}

// EyeLike is the identity in the shape of a, [..., n, n].
func EyeLike(a *Node) *Node { return graph.ConvertDType(onDiagonal(a), a.DType()) }

func nan(a *Node) *Node { return graph.Div(graph.ZerosLike(a), graph.ZerosLike(a)) }

// NaNWhere is NaN where the condition holds, and x elsewhere; the condition is broadcast to the shape of x.
func NaNWhere(condition, x *Node) *Node {
	return graph.Where(graph.BroadcastToShape(condition, x.Shape()), nan(x), x)
}

// block cuts rows r0…r1 and columns c0…c1 out of a.
func block(a *Node, r0, r1, c0, c1 int) *Node {
	return graph.Slice(a, graph.AxisRange().Spacer(), graph.AxisRange(r0, r1), graph.AxisRange(c0, c1))
}

// blocks2 puts four blocks together.
func blocks2(a11, a12, a21, a22 *Node) *Node {
	top := graph.Concatenate([]*Node{a11, a12}, -1)
	return graph.Concatenate([]*Node{top, graph.Concatenate([]*Node{a21, a22}, -1)}, -2)
}

// at returns the start indices of a slice of a that begins at i along one axis and at 0 along the others.
func at(a *Node, axis int, i *Node) []*Node {
	start := lists.Make(a.Rank(), func(_ int) *Node { return graph.Const(a.Graph(), int32(0)) })
	start[graph.MustAdjustAxis(axis, a)] = i
	return start
}

// window returns size slices of a along an axis, from i on.
func window(a *Node, axis int, i *Node, size int) *Node {
	dims := slices.Clone(a.Shape().Dimensions)
	dims[graph.MustAdjustAxis(axis, a)] = size
	return graph.DynamicSlice(a, at(a, axis, i), dims)
}

// while is a compiled loop without a gradient: call it only where a gradient rule replaces its gradient.
func while(state []*Node, cond func(s []*Node) *Node, body func(s []*Node) []*Node) []*Node {
	record := func(build func(s []*Node) []*Node) *engine.Body {
		return engine.Record(state[0].Graph(), func() (in, out []*Node) {
			in = lists.Each(state, engine.Input)
			return in, build(in)
		})
	}
	return engine.While(record(func(s []*Node) []*Node { return []*Node{cond(s)} }), record(body), state)
}

// repeat is the loop for i := range n without a gradient.
func repeat(n int, state []*Node, body func(i *Node, s []*Node) []*Node) []*Node {
	counter := graph.Const(state[0].Graph(), int32(0))
	out := while(append([]*Node{counter}, state...),
		func(s []*Node) *Node { return graph.LessThan(s[0], graph.Const(s[0].Graph(), int32(n))) },
		func(s []*Node) []*Node { return append([]*Node{graph.AddScalar(s[0], 1)}, body(s[0], s[1:])...) })
	return out[1:]
}

// Lead gives x, [B..., k axes of its own], those leading axes of the vectors v, [P..., B..., n], that it has not.
func Lead(x, v *Node, own int) *Node {
	return graph.BroadcastPrefix(x, v.Shape().Dimensions[:max(0, v.Rank()-1-(x.Rank()-own))]...)
}

// Eyes are identity matrices, [..., n, n], one for each of the vectors v, [..., k].
func Eyes(v *Node, n int) *Node { return Lead(Eye(v.Graph(), v.DType(), n), v, 2) }

// Polynomial is Σ_k c(k) x^k, k = 0, …, 16, of matrices x by the method of Paterson and Stockmeyer: of degree 4 in x⁴, its coefficients cubic in x.
func Polynomial(x *Node, c func(k int) float64) *Node {
	square := MatMul(x, x)
	powers := []*Node{EyeLike(x), x, square, MatMul(square, x)}
	x4 := MatMul(square, square)
	y := graph.MulScalar(x4, c(16))
	for j := 3; j >= 0; j-- {
		if j < 3 {
			y = MatMul(y, x4)
		}
		for k, p := range powers {
			y = graph.Add(y, graph.MulScalar(p, c(4*j+k)))
		}
	}
	return y
}

// QuaternionForms are the quadratic forms of unit quaternions q = (w, x, y, z) that the entries of their rotations R are, row by row, [9, 16]. The
// transpose takes R to 4 q qᵀ − 1.
func QuaternionForms() [][]float64 {
	rotation := func(w, x, y, z float64) [9]float64 {
		return [9]float64{
			w*w + x*x - y*y - z*z, 2 * (x*y - w*z), 2 * (x*z + w*y),
			2 * (x*y + w*z), w*w - x*x + y*y - z*z, 2 * (y*z - w*x),
			2 * (x*z - w*y), 2 * (y*z + w*x), w*w - x*x - y*y + z*z,
		}
	}
	out := make([][]float64, 9)
	for i := range 4 {
		for j := range 4 {
			var both, one, other [4]float64
			one[i]++
			other[j]++
			both[i]++
			both[j]++
			f, g, h := rotation(both[0], both[1], both[2], both[3]), rotation(one[0], one[1], one[2], one[3]),
				rotation(other[0], other[1], other[2], other[3])
			for e := range out {
				out[e] = append(out[e], (f[e]-g[e]-h[e])/2)
			}
		}
	}
	return out
}
