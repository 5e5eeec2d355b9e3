package manifold

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
)

// SPD returns the symmetric positive definite n×n matrices, n ≥ 1, with the affine-invariant metric ⟨V, W⟩ = tr(P⁻¹ V P⁻¹ W) at P.
// Points and tangent vectors are matrices row by row, n² numbers; geom.OnShapes makes a space with matrices, [][]float64. The
// dimension is n(n + 1)/2, and there are closed forms. The coordinates of P in the chart at a centre L Lᵀ, L its Cholesky
// factor, are those of the symmetric matrix L⁻¹ P L⁻ᵀ − 1 in an orthonormal basis.
func SPD(n int) geom.Charted {
	atLeast("SPD", n, 1)
	return spd{n}
}

type spd struct{ n int }

func (m spd) Dim() int        { return m.n * (m.n + 1) / 2 }
func (m spd) AmbientDim() int { return m.n * m.n }

// Rows are the rows of a matrix.
func (m spd) Rows() (n, columns int, name string) { return m.n, m.n, "row" }

func (m spd) matrix(z *Node) *Node { return linalg.Matrices(z, m.n, m.n) }

// basis is an orthonormal basis of the symmetric matrices, [n², d]: e_ii and (e_ij + e_ji)/√2.
func (m spd) basis(like *Node) *Node {
	b := lists.Zeros(m.n*m.n, m.Dim())
	k := 0
	for i := range m.n {
		for j := range i + 1 {
			value := math.Sqrt2 / 2
			if i == j {
				value = 1
			}
			b[i*m.n+j][k], b[j*m.n+i][k] = value, value
			k++
		}
	}
	return ConstAsDType(like.Graph(), like.DType(), b)
}

// symmetric is the symmetric matrix with coordinates x, [..., n, n]; coordinates is its inverse.
func (m spd) symmetric(x *Node) *Node { return m.matrix(linalg.MatVec(m.basis(x), x)) }
func (m spd) coordinates(a *Node) *Node {
	return linalg.MatVec(linalg.T(m.basis(a)), linalg.Vectors(a))
}

// symmetrised is (a + aᵀ)/2.
func symmetrised(a *Node) *Node { return MulScalar(Add(a, linalg.T(a)), 0.5) }

// congruence is l a lᵀ.
func congruence(l, a *Node) *Node {
	return symmetrised(linalg.MatMul(l, linalg.MatMul(a, linalg.T(l))))
}

// factor returns L and L⁻¹ of the point z = L Lᵀ.
func (m spd) factor(z *Node) (l, inverse *Node) {
	f := linalg.Factor(symmetrised(m.matrix(z)))
	return f.L, f.SolveL(linalg.EyeLike(f.L), false)
}

func (m spd) Chart(c *Node) geom.Chart {
	l, inverse := m.factor(c)
	return spdChart{m, l, inverse}
}

type spdChart struct {
	m          spd
	l, inverse *Node
}

func (c spdChart) Dim() int { return c.m.Dim() }

// offset is 1 + S, S the symmetric matrix with coordinates x.
func (c spdChart) offset(x *Node) *Node {
	s := c.m.symmetric(x)
	return Add(linalg.EyeLike(s), s)
}

func (c spdChart) Point(x *Node) *Node {
	return linalg.Vectors(congruence(linalg.Lead(c.l, x, 2), c.offset(x)))
}

func (c spdChart) Coordinates(z *Node) *Node {
	a := congruence(linalg.Lead(c.inverse, z, 2), c.m.matrix(z))
	return c.m.coordinates(Sub(a, linalg.EyeLike(a)))
}

// Scale compares the entries (i, j) with √(P_ii P_jj), and with the largest entry of the vector in this unit.
func (c spdChart) Scale(z, v *Node) *Node {
	p := c.m.matrix(z)
	variances := ReduceSum(Mul(p, linalg.EyeLike(p)), -1)
	row := ExpandAxes(Sqrt(Abs(variances)), -1)
	unit := Mul(BroadcastToShape(row, p.Shape()), BroadcastToShape(linalg.T(row), p.Shape()))
	size := ReduceAndKeep(Abs(Div(c.m.matrix(v), unit)), ReduceMax, -2, -1)
	return linalg.Vectors(Mul(unit, BroadcastToShape(size, unit.Shape())))
}

// Sharp is P p P, P = 1 + S.
func (c spdChart) Sharp(x, p *Node) *Node {
	return c.m.coordinates(congruence(c.offset(x), c.m.symmetric(p)))
}

// Flat is P⁻¹ v P⁻¹.
func (c spdChart) Flat(x, v *Node) *Node {
	return c.m.coordinates(congruence(linalg.Inverse(c.offset(x)), c.m.symmetric(v)))
}

// Christoffel is −½ (u P⁻¹ v + v P⁻¹ u).
func (c spdChart) Christoffel(x, u, v *Node) *Node {
	product := linalg.MatMul(c.m.symmetric(u), linalg.Solve(c.offset(x), c.m.symmetric(v)))
	return c.m.coordinates(Neg(symmetrised(product)))
}

// Exp is L exp(L⁻¹ V L⁻ᵀ) Lᵀ.
func (m spd) Exp(z, v *Node) *Node {
	l, inverse := m.factor(z)
	return linalg.Vectors(congruence(l, linalg.SymExp(congruence(inverse, m.matrix(v)))))
}

// Log is L log(L⁻¹ Y L⁻ᵀ) Lᵀ.
func (m spd) Log(z, y *Node) *Node {
	l, inverse := m.factor(z)
	return linalg.Vectors(congruence(l, linalg.SymLog(congruence(inverse, m.matrix(y)))))
}

// Transport is E w Eᵀ, E = L exp(½ L⁻¹ V L⁻ᵀ) L⁻¹.
func (m spd) Transport(z, v, w *Node) *Node {
	l, inverse := m.factor(z)
	e := linalg.SymExp(MulScalar(congruence(inverse, m.matrix(v)), 0.5))
	return linalg.Vectors(congruence(linalg.MatMul(l, e), congruence(inverse, m.matrix(w))))
}
