package manifold

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

// Grassmann returns the manifold Gr(n, p) of the p-dimensional linear subspaces of R^n, 1 ≤ p < n, such as those of the first p principal
// components of samples. It has the dimension p(n − p) and closed forms (A. Edelman, T. Arias, S. Smith, SIAM J. Matrix Anal. Appl. 20,
// 1998; T. Bendokat, R. Zimmermann, P.-A. Absil, Adv. Comput. Math. 50, 2024).
//
// A point is an orthonormal basis z of the subspace, the p columns of an n×p matrix, row by row; all bases z Q, Q orthogonal, are the
// same point. Space.Project makes one of any p independent columns, and geom.OnShapes has them as matrices, [][]float64. Tangent vectors
// are matrices v with zᵀv = 0, ⟨v, w⟩ = tr vᵀw, and distances √(Σ θ_i²) with the principal angles θ_i of two subspaces. A subspace is in
// the cut locus of another where one of these angles is π/2.
func Grassmann(n, p int) geom.Charted {
	if p < 1 || p >= n {
		panic(fmt.Sprintf("manifold.Grassmann: subspaces of dimension %d in R^%d, want 1 to %d", p, n, n-1))
	}
	return grassmann{n, p}
}

type grassmann struct{ n, p int }

func (m grassmann) Dim() int        { return m.p * (m.n - m.p) }
func (m grassmann) AmbientDim() int { return m.n * m.p }

// Rows are the rows of a matrix.
func (m grassmann) Rows() (n, columns int, name string) { return m.n, m.p, "row" }

// matrix is [..., rows, columns] of numbers row by row, and vector its inverse.
func matrix(x *Node, rows, columns int) *Node {
	dims := x.Shape().Dimensions
	return Reshape(x, append(append([]int{}, dims[:len(dims)-1]...), rows, columns)...)
}

func vector(a *Node) *Node {
	dims := a.Shape().Dimensions
	k := len(dims) - 2
	return Reshape(a, append(append([]int{}, dims[:k]...), dims[k]*dims[k+1])...)
}

func (m grassmann) basis(z *Node) *Node { return matrix(z, m.n, m.p) }

// gram is aᵀ a.
func gram(a *Node) *Node { return linalg.MatMul(linalg.T(a), a) }

// plusOne is 1 + a.
func plusOne(a *Node) *Node { return Add(identityLike(a), a) }

// Chart has the coordinates X, [n − p, p], of the subspace that the columns of c + c⊥ X span.
func (m grassmann) Chart(c *Node) geom.Chart {
	z := m.basis(c)
	z = linalg.MatMul(z, linalg.SymInvSqrt(gram(z)))
	columns := make([]*Node, m.p)
	for i := range columns {
		columns[i] = Squeeze(SliceAxis(z, -1, AxisElem(i)), -1)
	}
	return grassmannChart{m, z, complement(linalg.Eye(c.Graph(), c.DType(), m.n), 0, columns...)}
}

type grassmannChart struct {
	m       grassmann
	c, rest *Node // the centre, [B..., n, p], and an orthonormal basis of its complement in rows, [B..., n − p, n]
}

func (c grassmannChart) Dim() int { return c.m.Dim() }

func (c grassmannChart) matrix(x *Node) *Node { return matrix(x, c.m.n-c.m.p, c.m.p) }

// Point is (c + c⊥ X)(1 + XᵀX)^(−1/2).
func (c grassmannChart) Point(x *Node) *Node {
	a := c.matrix(x)
	z := Add(likeMatrix(c.c, x), linalg.MatMul(linalg.T(likeMatrix(c.rest, x)), a))
	return vector(linalg.MatMul(z, linalg.SymInvSqrt(plusOne(gram(a)))))
}

// Coordinates is c⊥ᵀ z (cᵀ z)⁻¹.
func (c grassmannChart) Coordinates(z *Node) *Node {
	a := c.m.basis(z)
	inverse := linalg.InverseGeneral(linalg.MatMul(linalg.T(likeMatrix(c.c, z)), a))
	return vector(linalg.MatMul(linalg.MatMul(likeMatrix(c.rest, z), a), inverse))
}

// Horizontal is v − z zᵀ v.
func (c grassmannChart) Horizontal(z, v *Node) *Node {
	a, w := c.m.basis(z), c.m.basis(v)
	return vector(Sub(w, linalg.MatMul(a, linalg.MatMul(linalg.T(a), w))))
}

// Sharp is (1 + XXᵀ) p (1 + XᵀX).
func (c grassmannChart) Sharp(x, p *Node) *Node {
	a := c.matrix(x)
	return vector(linalg.MatMul(linalg.MatMul(plusOne(gram(linalg.T(a))), c.matrix(p)), plusOne(gram(a))))
}

// Flat is (1 + XXᵀ)⁻¹ v (1 + XᵀX)⁻¹, with (1 + XXᵀ)⁻¹ = 1 − X (1 + XᵀX)⁻¹ Xᵀ.
func (c grassmannChart) Flat(x, v *Node) *Node {
	a := c.matrix(x)
	inverse := linalg.Inverse(plusOne(gram(a)))
	w := linalg.MatMul(c.matrix(v), inverse)
	return vector(Sub(w, linalg.MatMul(a, linalg.MatMul(inverse, linalg.MatMul(linalg.T(a), w)))))
}

// Christoffel is −(u F v + v F u), F = (1 + XᵀX)⁻¹ Xᵀ.
func (c grassmannChart) Christoffel(x, u, v *Node) *Node {
	a := c.matrix(x)
	f := linalg.MatMul(linalg.Inverse(plusOne(gram(a))), linalg.T(a))
	half := func(u, v *Node) *Node { return linalg.MatMul(c.matrix(u), linalg.MatMul(f, c.matrix(v))) }
	return vector(Neg(Add(half(u, v), half(v, u))))
}

// blocks is [[0, b], [−s/b, 0]], a root of −s, for symmetric s, [..., p, p], with a number b of the size of √s: so functions of √s that
// are analytic in s are blocks of analytic functions of matrices, with all their derivatives.
func (m grassmann) blocks(s, b *Node) *Node {
	one := identityLike(s)
	zero := ZerosLike(s)
	b = BroadcastToShape(b, s.Shape())
	return Concatenate([]*Node{Concatenate([]*Node{zero, Mul(one, b)}, -1), Concatenate([]*Node{Neg(Div(s, b)), zero}, -1)}, -2)
}

// size is about √s but 1 at least, a constant, [..., 1, 1].
func (m grassmann) size(s *Node) *Node {
	return StopGradient(Sqrt(OnePlus(ReduceAndKeep(Abs(s), ReduceMax, -2, -1))))
}

// upper is the block above of the second column of blocks of a function of blocks, over b.
func (m grassmann) upper(f, b *Node) *Node {
	right := SliceAxis(SliceAxis(f, -1, AxisRange(m.p, 2*m.p)), -2, AxisRange(0, m.p))
	return Div(right, BroadcastToShape(b, right.Shape()))
}

// turn is cos √s and sin √s/√s.
func (m grassmann) turn(s *Node) (cos, sine *Node) {
	b := m.size(s)
	e := linalg.Expm(m.blocks(s, b))
	return SliceAxis(SliceAxis(e, -1, AxisRange(0, m.p)), -2, AxisRange(0, m.p)), m.upper(e, b)
}

// Exp is z cos √s + v sin √s/√s, s = vᵀv.
func (m grassmann) Exp(z, v *Node) *Node {
	a := m.basis(v)
	cos, sine := m.turn(gram(a))
	return vector(Add(linalg.MatMul(m.basis(z), cos), linalg.MatMul(a, sine)))
}

// Log is t arctan √s/√s with t = y (zᵀy)⁻¹ − z and s = tᵀt, whose eigenvalues are the squares of the tangents of the principal angles.
func (m grassmann) Log(z, y *Node) *Node {
	a, end := m.basis(z), m.basis(y)
	inverse := linalg.InverseGeneral(linalg.MatMul(linalg.T(a), end))
	t := linalg.MatMul(end, inverse)
	t = Sub(t, linalg.MatMul(a, linalg.MatMul(linalg.T(a), t))) // t − z, without cancellation
	s := gram(t)
	b := m.size(s)
	far := GreaterThan(b, MulScalar(OnesLike(b), 1/cutLocus))
	arc := m.upper(linalg.Logm(plusOne(m.blocks(s, b))), b)
	return vector(linalg.NaNWhere(far, linalg.MatMul(t, arc)))
}

// Transport is w − (½ v (sin(√s/2)/(√s/2))² + z sin √s/√s) vᵀw, s = vᵀv.
func (m grassmann) Transport(z, v, w *Node) *Node {
	a, moved := m.basis(v), m.basis(w)
	s := gram(a)
	_, sine := m.turn(s)
	_, half := m.turn(MulScalar(s, 0.25))
	along := Add(linalg.MatMul(a, MulScalar(linalg.MatMul(half, half), 0.5)), linalg.MatMul(m.basis(z), sine))
	return vector(Sub(moved, linalg.MatMul(along, linalg.MatMul(linalg.T(a), moved))))
}
