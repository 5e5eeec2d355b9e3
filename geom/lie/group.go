package lie

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/linalg"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Group is a group of N×N matrices: SO, SE, GL and Affine make it. Methods that take nodes build graphs and treat the leading axes
// as a batch; elements are [..., N²], elements of the Lie algebra and momenta [..., d].
type Group struct {
	name      string
	space     int         // the dimension of the space it acts on
	affine    bool        // matrices have one row more, (0 … 0 1): g x + t
	basis     [][]float64 // E_a, row by row, [d][N²], orthogonal
	dual      [][]float64 // E_a/|E_a|²: coordinates are dual · ξ^
	structure [][]float64 // ad_ξ row by row is structure · ξ, [d²][d]
	form      form
}

// form has the functions that differ between kinds of groups, for matrices [..., N, N].
type form interface {
	exp(g *Group, xi *Node) *Node
	// log returns the logarithm, [..., d], and a positive number, [..., 1], that is 0 in the cut locus of the identity.
	log(g *Group, a *Node) (xi, margin *Node)
	dexp(g *Group, xi *Node) *Node
	inverse(g *Group, a *Node) *Node
	// nearest is an element of the group close to a matrix; NaN where there is none.
	nearest(g *Group, a *Node) *Node
}

func newGroup(name string, space int, affine bool, basis [][]float64, f form) *Group {
	g := &Group{name: name, space: space, affine: affine, basis: basis, form: f}
	for _, e := range basis {
		g.dual = append(g.dual, floats.ScaleTo(make([]float64, len(e)), 1/floats.Dot(e, e), e))
	}
	d := len(basis)
	g.structure = make([][]float64, d*d)
	for k := range g.structure {
		g.structure[k] = make([]float64, d)
	}
	for i := range d {
		for j := range d {
			bracket := commutator(g.size(), basis[i], basis[j])
			for k := range d {
				g.structure[k*d+j][i] = floats.Dot(g.dual[k], bracket)
			}
		}
	}
	return g
}

// commutator is a b − b a of matrices row by row.
func commutator(n int, a, b []float64) []float64 {
	x, y := mat.NewDense(n, n, a), mat.NewDense(n, n, b)
	var xy, yx mat.Dense
	xy.Mul(x, y)
	yx.Mul(y, x)
	xy.Sub(&xy, &yx)
	return xy.RawMatrix().Data
}

// Dim is d, the dimension of the group.
func (g *Group) Dim() int { return len(g.basis) }

// AmbientDim is N², how many numbers an element has.
func (g *Group) AmbientDim() int { return g.size() * g.size() }

func (g *Group) String() string { return g.name }

// size is N.
func (g *Group) size() int {
	if g.affine {
		return g.space + 1
	}
	return g.space
}

func (g *Group) matrix(z *Node) *Node {
	refuse.If(z.Rank() == 0 || z.Shape().Dim(-1) != g.AmbientDim(),
		"lie.%s: elements of shape %s, want a last axis of %d: matrices row by row", g.name, z.Shape(), g.AmbientDim())
	return linalg.Matrices(z, g.size(), g.size())
}

func constant(like *Node, rows [][]float64) *Node {
	return ConstAsDType(like.Graph(), like.DType(), rows)
}

func (g *Group) check(what string, xi *Node) {
	refuse.If(xi.Rank() == 0 || xi.Shape().Dim(-1) != g.Dim(),
		"lie.%s.%s: coordinates of shape %s, want a last axis of %d", g.name, what, xi.Shape(), g.Dim())
}

// Hat returns the matrix ξ^ of ξ, [..., d], row by row, [..., N²].
func (g *Group) Hat(xi *Node) *Node {
	g.check("Hat", xi)
	return linalg.MatVec(linalg.T(constant(xi, g.basis)), xi)
}

// Vee is the inverse of Hat: it returns the coordinates, [..., d], of a matrix of the Lie algebra, row by row, [..., N²]. For any
// other matrix it returns those of the nearest matrix of the Lie algebra.
func (g *Group) Vee(a *Node) *Node {
	return linalg.MatVec(constant(a, g.dual), linalg.Vectors(g.matrix(a)))
}

// veeDual is the transpose of Vee: the matrix with ⟨μ, Vee a⟩ = Σ_ij veeDual_ij a_ij for all matrices a.
func (g *Group) veeDual(mu *Node) *Node {
	g.check("Coadjoint", mu)
	return g.matrix(linalg.MatVec(linalg.T(constant(mu, g.dual)), mu))
}

// Mul returns the product a b of two elements, [..., N²].
func (g *Group) Mul(a, b *Node) *Node { return linalg.Vectors(linalg.MatMul(g.matrix(a), g.matrix(b))) }

// Inverse returns z⁻¹, [..., N²]; NaN where the matrix is singular.
func (g *Group) Inverse(z *Node) *Node { return linalg.Vectors(g.form.inverse(g, g.matrix(z))) }

// Exp returns the matrix exponential exp ξ^, [..., N²], of ξ, [..., d].
func (g *Group) Exp(xi *Node) *Node {
	g.check("Exp", xi)
	return linalg.Vectors(g.form.exp(g, xi))
}

// Log returns the coordinates ξ, [..., d], of the principal logarithm of elements, [..., N²]. It is extended smoothly to matrices
// near the group, and NaN where there is no logarithm. A rotation of the plane or of space by π has two logarithms, ξ and −ξ; Log
// returns one of them.
func (g *Group) Log(z *Node) *Node {
	xi, _ := g.form.log(g, g.matrix(z))
	return xi
}

// uniqueLog is Log with NaN in the cut locus of the identity.
func (g *Group) uniqueLog(z *Node) *Node {
	xi, margin := g.form.log(g, g.matrix(z))
	return linalg.NaNWhere(LessThan(margin, MulScalar(OnesLike(margin), cutLocus)), xi)
}

// cutLocus is the distance from the cut locus, in radians, below which the direction to a point is lost in rounding.
const cutLocus = 1e-12

// Ad returns Ad_z ξ, [..., d]: the coordinates of z ξ^ z⁻¹ for an element z.
func (g *Group) Ad(z, xi *Node) *Node {
	a := g.matrix(z)
	return g.Vee(linalg.Vectors(linalg.MatMul(linalg.MatMul(a, g.matrix(g.Hat(xi))), g.form.inverse(g, a))))
}

// Coadjoint returns Ad*_z μ, [..., d], for an element z: the momentum η ↦ ⟨μ, Ad_z η⟩.
func (g *Group) Coadjoint(z, mu *Node) *Node {
	a := g.matrix(z)
	pulled := linalg.MatMul(linalg.MatMul(linalg.T(a), g.veeDual(mu)), linalg.T(g.form.inverse(g, a)))
	return linalg.MatVec(constant(mu, g.basis), linalg.Vectors(pulled))
}

// adjoint is the matrix of ad_ξ, [..., d, d].
func (g *Group) adjoint(xi *Node) *Node {
	g.check("Bracket", xi)
	return linalg.Matrices(linalg.MatVec(constant(xi, g.structure), xi), g.Dim(), g.Dim())
}

// Bracket returns ad_ξ η = [ξ, η], [..., d]: the coordinates of ξ^η^ − η^ξ^.
func (g *Group) Bracket(xi, eta *Node) *Node { return linalg.MatVec(g.adjoint(xi), eta) }

// BracketDual returns ad*_ξ μ, [..., d]: the momentum η ↦ ⟨μ, [ξ, η]⟩.
func (g *Group) BracketDual(xi, mu *Node) *Node { return linalg.MatVec(linalg.T(g.adjoint(xi)), mu) }

// DExp returns the matrix of dexp_ξ = Σ_k ad_ξ^k/(k+1)!, [..., d, d]. On groups other than SO(2), SO(3), SE(2) and SE(3) it is NaN
// where the 1-norm of ad_ξ is above 12.
func (g *Group) DExp(xi *Node) *Node { return g.form.dexp(g, xi) }

// parts are the linear map of an element and its translation, nil where the group has none.
func (g *Group) parts(a *Node) (linear, shift *Node) {
	if !g.affine {
		return a, nil
	}
	rows := AxisRange(0, g.space)
	linear = Slice(a, AxisRange().Spacer(), rows, rows)
	return linear, Squeeze(Slice(a, AxisRange().Spacer(), rows, AxisRange(g.space, g.space+1)), -1)
}

// join is the inverse of parts, with the last number 1, or 0 for the matrix of a vector.
func join(linear, shift *Node, corner float64) *Node {
	if shift == nil {
		return linear
	}
	top := Concatenate([]*Node{linear, ExpandAxes(shift, -1)}, -1)
	n := shift.Shape().Dim(-1)
	last := make([]float64, n+1)
	last[n] = corner
	row := ExpandLeftToRank(ConstAsDType(shift.Graph(), shift.DType(), last), top.Rank())
	dims := append([]int{}, top.Shape().Dimensions...)
	dims[len(dims)-2] = 1
	return Concatenate([]*Node{top, BroadcastToDims(row, dims...)}, -2)
}

// Identity returns the identity of the group, N² numbers on the host.
func (g *Group) Identity() []float64 {
	z := make([]float64, g.AmbientDim())
	for i := range g.size() {
		z[i*(g.size()+1)] = 1
	}
	return z
}

// Tangent returns the tangent vector at the identity with the d coordinates ξ: the matrix ξ^, N² numbers on the host.
func (g *Group) Tangent(xi ...float64) ([]float64, error) {
	if len(xi) != g.Dim() {
		return nil, fmt.Errorf("%s: %d coordinates of a vector of the Lie algebra, want %d", g.name, len(xi), g.Dim())
	}
	return lists.Combine(xi, g.basis), nil
}

// Move returns points of R^n moved by an element z of the group, on the host: see Act.
func (g *Group) Move(z []float64, points [][]float64) ([][]float64, error) {
	if len(z) != g.AmbientDim() {
		return nil, fmt.Errorf("%s: an element of %d numbers, want %d: a matrix row by row", g.name, len(z), g.AmbientDim())
	}
	moved := make([][]float64, len(points))
	for k, x := range points {
		if len(x) != g.space {
			return nil, fmt.Errorf("%s: point %d has %d coordinates, want %d", g.name, k, len(x), g.space)
		}
		moved[k] = make([]float64, g.space)
		for i := range moved[k] {
			row := z[i*g.size():]
			moved[k][i] = floats.Dot(row[:g.space], x)
			if g.affine {
				moved[k][i] += row[g.space]
			}
		}
	}
	return moved, nil
}

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
	y := linalg.Polynomial(x, func(k int) float64 { return 1 / math.Gamma(float64(k+2)) })
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
