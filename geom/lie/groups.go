package lie

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/linalg"
	"anatomy/internal/refuse"
)

// SO returns the group of rotations of R^n, n ≥ 2, with d = n(n − 1)/2. Each vector of the basis of its Lie algebra rotates the
// plane of two axes. For SO(3) these are the rotations about x, y and z, in this order: ξ is the axis times the angle, and
// ξ^ x = ξ × x. For SO(2) ξ is the angle, anticlockwise.
func SO(n int) *Group {
	atLeast("SO", n, 2)
	return newGroup(fmt.Sprintf("SO(%d)", n), n, false, rotations(n, n), rotationForm(n))
}

// SE returns the group of rigid motions x ↦ R x + t of R^n, n ≥ 2, as matrices (R t; 0 1). The basis of its Lie algebra is the
// rotations, in the order of SO(n), followed by the n translations. In the standard inner product a rotation by one radian is as
// long as a translation by one unit of length.
func SE(n int) *Group {
	atLeast("SE", n, 2)
	return newGroup(fmt.Sprintf("SE(%d)", n), n, true, append(rotations(n, n+1), translations(n)...), rotationForm(n))
}

// GL returns the group of invertible n×n matrices, n ≥ 1, with d = n². The basis of its Lie algebra is the matrices with one entry 1
// and all others 0, so that ξ is the list of the rows of ξ^. The group has two components, of positive and negative determinant,
// and no path leads from one to the other.
func GL(n int) *Group {
	atLeast("GL", n, 1)
	return newGroup(fmt.Sprintf("GL(%d)", n), n, false, entries(n, n), general{})
}

// Affine returns the group of invertible affine maps x ↦ A x + t of R^n, n ≥ 1, as matrices (A t; 0 1). The basis of its Lie algebra
// is the entries of A, row by row, followed by the n translations.
func Affine(n int) *Group {
	atLeast("Affine", n, 1)
	return newGroup(fmt.Sprintf("Affine(%d)", n), n, true, append(entries(n, n+1), translations(n)...), general{})
}

func rotationForm(n int) form {
	if n <= 3 {
		return closed{}
	}
	return rigid{}
}

func atLeast(name string, n, least int) {
	const most = 16 // the brackets of its d vectors are d³ numbers, up to 20 million
	refuse.If(n < least || n > most, "lie.%s: dimension %d, want %d to %d", name, n, least, most)
}

// single is the matrix, of size rows, with v at (i, j).
func single(size, i, j int, v float64) []float64 {
	e := make([]float64, size*size)
	e[i*size+j] = v
	return e
}

// rotations returns the matrices ±(e_i e_jᵀ − e_j e_iᵀ), i < j, in reverse order of (i, j).
func rotations(n, size int) (basis [][]float64) {
	for i := n - 2; i >= 0; i-- {
		for j := n - 1; j > i; j-- {
			sign := 1.
			if (i+j)%2 == 1 {
				sign = -1
			}
			e := single(size, i, j, sign)
			e[j*size+i] = -sign
			basis = append(basis, e)
		}
	}
	return basis
}

func translations(n int) (basis [][]float64) {
	for i := range n {
		basis = append(basis, single(n+1, i, n, 1))
	}
	return basis
}

func entries(n, size int) (basis [][]float64) {
	for i := range n {
		for j := range n {
			basis = append(basis, single(size, i, j, 1))
		}
	}
	return basis
}

// general is the form of groups without closed forms.
type general struct{}

func (general) exp(g *Group, xi *Node) *Node { return linalg.Expm(g.matrix(g.Hat(xi))) }

func (general) log(g *Group, a *Node) (xi, margin *Node) {
	xi = g.Vee(linalg.Vectors(linalg.Logm(a)))
	return xi, OnesLike(SliceAxis(xi, -1, AxisRange(0, 1)))
}

// dexp is Σ_k ad^k/(k+1)!: a polynomial of ad/8, doubled three times.
func (general) dexp(g *Group, xi *Node) *Node {
	const (
		halvings = 3 // 1.5^17/18! is below 2e-13, and 1^17/18! below rounding
		limit    = 12
	)
	ad := g.adjoint(xi)
	size := ReduceAndKeep(ReduceAndKeep(Abs(ad), ReduceSum, -2), ReduceMax, -1)
	x := MulScalar(ad, 1./(1<<halvings))
	one := linalg.EyeLike(x)

	// Paterson and Stockmeyer: a polynomial of degree 4 in x⁴, its coefficients cubic in x.
	x2 := linalg.MatMul(x, x)
	powers := []*Node{one, x, x2, linalg.MatMul(x2, x)}
	x4 := linalg.MatMul(x2, x2)
	c := func(k int) float64 { return 1 / math.Gamma(float64(k+2)) }
	y := MulScalar(x4, c(16))
	for j := 3; j >= 0; j-- {
		if j < 3 {
			y = linalg.MatMul(y, x4)
		}
		for k, p := range powers {
			y = Add(y, MulScalar(p, c(4*j+k)))
		}
	}
	for range halvings { // φ(2x) = ½ φ(x) (1 + eˣ), eˣ = 1 + x φ(x)
		y = linalg.MatMul(y, Add(one, MulScalar(linalg.MatMul(x, y), 0.5)))
		x = MulScalar(x, 2)
	}
	far := GreaterThan(size, MulScalar(OnesLike(size), limit))
	return linalg.NaNWhere(far, y)
}

func (general) inverse(_ *Group, a *Node) *Node { return linalg.InverseGeneral(a) }

// nearest is the matrix itself, but NaN where it is singular to rounding.
func (general) nearest(g *Group, a *Node) *Node {
	const singular = 1e-14
	linear, shift := g.parts(a)
	a = join(linear, shift, 1)
	norm := func(a *Node) *Node { return ReduceAndKeep(Abs(a), ReduceSum, -2, -1) } // a maximum may pass over NaN
	condition := StopGradient(Mul(norm(linear), norm(linalg.InverseGeneral(linear))))
	regular := LessThan(condition, MulScalar(OnesLike(condition), 1/singular))
	return linalg.NaNWhere(LogicalNot(regular), a)
}
