package manifold

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
)

// spatial are Kendall's shapes of k landmarks in space.
type spatial struct{ k int }

func (m spatial) Dim() int        { return 3*m.k - 7 }
func (m spatial) AmbientDim() int { return 3 * m.k }

func (m spatial) Rows() (n, columns int, name string) { return m.k, 3, "landmark" }

// collinear is the distance of landmarks from a line, relative to their size, below which rotations around it are lost in rounding.
const collinear = 1e-6

// CheckRegular: configurations on a line are no points.
func (m spatial) CheckRegular(x geom.Vec) error {
	z := mat.NewDense(m.k, 3, slices.Clone(x))
	if size := floats.Norm(x, math.Inf(1)); size > 0 { // sums of the largest numbers are none
		z.Apply(func(_, _ int, v float64) float64 { return v / size }, z)
	}
	for c := range 3 {
		column := z.ColView(c)
		mean := mat.Sum(column) / float64(m.k)
		for i := range m.k {
			z.Set(i, c, z.At(i, c)-mean)
		}
	}
	var svd mat.SVD
	if !svd.Factorize(z, mat.SVDNone) {
		return fmt.Errorf("its singular values were not found")
	}
	if s := svd.Values(nil); !(math.Hypot(s[1], s[2]) > collinear*mat.Norm(z, 2)) {
		return fmt.Errorf("the landmarks are in one place or on a line, where Kendall's shape space has a singularity")
	}
	return nil
}

func (m spatial) rows(z *Node) *Node { return linalg.Matrices(z, m.k, 3) }

func (m spatial) centred(z *Node) *Node {
	rows := m.rows(z)
	mean := MulScalar(ReduceAndKeep(rows, ReduceSum, -2), 1/float64(m.k))
	return linalg.Vectors(Sub(rows, BroadcastToShape(mean, rows.Shape())))
}

// turns is the matrix J of the vectors e_a × z that turn a configuration, [..., 3, 3k]: Jᵀω = ω × z, J w = Σ z_i × w_i.
func (m spatial) turns(z *Node) *Node {
	cross := make([][]float64, 3) // e_a × e_c in row c
	for c := range cross {
		cross[c] = make([]float64, 9)
	}
	for a := range 3 {
		b, c := (a+1)%3, (a+2)%3
		cross[b][3*a+c], cross[c][3*a+b] = 1, -1
	}
	dims := z.Shape().Dimensions
	lead := slices.Clone(dims[:len(dims)-1])
	all := linalg.MatMul(m.rows(z), ConstAsDType(z.Graph(), z.DType(), cross))
	all = Transpose(Reshape(all, append(lead, m.k, 3, 3)...), -3, -2)
	return Reshape(all, append(slices.Clone(lead), 3, 3*m.k)...)
}

// inertia is J Jᵀ.
func inertia(j *Node) *Node { return linalg.MatMul(j, linalg.T(j)) }

// Chart has the coordinates x of z = (c + B x)/|c + B x|, B an orthonormal basis of the vectors at c that are neither translations nor
// along c or its turns.
func (m spatial) Chart(c *Node) geom.Chart {
	z := m.centred(c)
	size := dot(z, z)
	size = linalg.NaNWhere(LessThan(size, MulScalar(dot(c, c), cutLocus*cutLocus)), size)
	z = scale(Rsqrt(size), z)
	turns := m.turns(z)
	out := []*Node{z}
	for a := range 3 {
		out = append(out, Squeeze(SliceAxis(turns, -2, AxisElem(a)), -2))
	}
	return spatialChart{m, z, complement(helmert(m.k, 3, z), collinear, out...), turns}
}

// complement takes directions, [..., n], out of the span of an orthonormal basis, [m, n] in rows: it returns an orthonormal basis of what
// is orthogonal to them, NaN where one is by less than a limit longer than what it has of those before it. The isometry that takes a
// direction to the first vector of a basis makes one without it of the others.
func complement(basis *Node, limit float64, directions ...*Node) *Node {
	for _, v := range directions {
		v = linalg.MatVec(basis, v)
		square := dot(v, v)
		square = linalg.NaNWhere(LessThan(square, MulScalar(OnesLike(square), limit*limit)), square)
		twice, w := swapping(scale(Rsqrt(square), v))
		swapped := linalg.Outer(twice, linalg.MatVec(linalg.T(basis), w))
		basis = Sub(swapped, BroadcastPrefix(basis, swapped.Shape().Dimensions[:swapped.Rank()-basis.Rank()]...))
		basis = SliceAxis(basis, -2, AxisRange(1))
	}
	return basis
}

type spatialChart struct {
	m                spatial
	c, basis, turned *Node // [B..., 3k], Bᵀ, [B..., d, 3k], and J at c, [B..., 3, 3k]
}

func (c spatialChart) Dim() int { return c.m.Dim() }

func (c spatialChart) Coordinates(z *Node) *Node {
	centre := like(c.c, z)
	z = c.m.posed(centre, z)
	x := linalg.MatVec(likeMatrix(c.basis, z), z)
	return Div(x, BroadcastToShape(dot(centre, z), x.Shape()))
}

// up is B v, and down is Bᵀ w.
func (c spatialChart) up(v *Node) *Node   { return linalg.MatVec(linalg.T(likeMatrix(c.basis, v)), v) }
func (c spatialChart) down(w *Node) *Node { return linalg.MatVec(likeMatrix(c.basis, w), w) }

// y is c + B x, with |y|² = 1 + |x|².
func (c spatialChart) y(x *Node) (y, square *Node) {
	return Add(like(c.c, x), c.up(x)), OnePlus(dot(x, x))
}

func (c spatialChart) Point(x *Node) *Node {
	y, square := c.y(x)
	return scale(Rsqrt(square), y)
}

// Horizontal removes translation, scaling and rotation: v − mean(v) − z ⟨z, v⟩ − ω × z with (J Jᵀ) ω = J v.
func (c spatialChart) Horizontal(z, v *Node) *Node {
	z, v = c.m.centred(z), c.m.centred(v)
	j := c.m.turns(z)
	omega := linalg.MatVec(linalg.Inverse(inertia(j)), linalg.MatVec(j, v))
	return Sub(Sub(v, scale(dot(z, v), z)), linalg.MatVec(linalg.T(j), omega))
}

// Flat is (v − x ⟨x, v⟩/r − Bᵀ Jᵀ (J Jᵀ)⁻¹ J B v)/r, r = 1 + |x|² and J at c + B x.
func (c spatialChart) Flat(x, v *Node) *Node {
	y, r := c.y(x)
	j := c.m.turns(y)
	omega := linalg.MatVec(linalg.Inverse(inertia(j)), linalg.MatVec(j, c.up(v)))
	along := Add(scale(Div(dot(x, v), r), x), c.down(linalg.MatVec(linalg.T(j), omega)))
	return scale(Reciprocal(r), Sub(v, along))
}

// Sharp is r (p + x ⟨x, p⟩ + Bᵀ Jᵀ S⁻¹ (J₀ J₀ᵀ) S⁻¹ J B p), where J₀ is J at c and S = J₀ Jᵀ = J J₀ᵀ: what B leaves out of J is along J₀. S
// is positive definite within the cut locus of c.
func (c spatialChart) Sharp(x, p *Node) *Node {
	y, r := c.y(x)
	j, centre := c.m.turns(y), likeMatrix(c.turned, y)
	s := linalg.Inverse(symmetrised(linalg.MatMul(centre, linalg.T(j))))
	omega := linalg.MatVec(congruence(s, inertia(centre)), linalg.MatVec(j, c.up(p)))
	along := Add(scale(dot(x, p), x), c.down(linalg.MatVec(linalg.T(j), omega)))
	return scale(r, Add(p, along))
}

// Christoffel: along x + t u the configurations z = y/|y|, y = c + B x, turn by ω = (J Jᵀ)⁻¹ J b against their horizontal lift, b = B u.
// The second derivative of this lift is z” − 2ω × z' + ω × (ω × z) but for translations, turns and what is along z, so that
//
//	Γ(u, u) = −2⟨x, u⟩u/r + Bᵀ(w − η × y) − ⟨c, w⟩x,  w = ω × (ω × y) − 2ω × b,  S η = J₀ w.
func (c spatialChart) Christoffel(x, u, v *Node) *Node {
	y, r := c.y(x)
	j, centre := c.m.turns(y), likeMatrix(c.turned, y)
	upright, s := linalg.Inverse(inertia(j)), linalg.Inverse(symmetrised(linalg.MatMul(centre, linalg.T(j))))
	turn := func(omega, z *Node) *Node { return linalg.MatVec(linalg.T(c.m.turns(z)), omega) }
	half := func(u, v *Node) *Node { // of w
		bu, bv := c.up(u), c.up(v)
		au, av := linalg.MatVec(upright, linalg.MatVec(j, bu)), linalg.MatVec(upright, linalg.MatVec(j, bv))
		return turn(au, Sub(MulScalar(linalg.MatVec(linalg.T(j), av), 0.5), bv))
	}
	w := Add(half(u, v), half(v, u))
	eta := linalg.MatVec(s, linalg.MatVec(centre, w))
	out := Sub(c.down(Sub(w, linalg.MatVec(linalg.T(j), eta))), scale(dot(like(c.c, w), w), x))
	return Sub(out, scale(Reciprocal(r), Add(scale(dot(x, u), v), scale(dot(x, v), u))))
}

// posed is y in optimal position relative to z: R y with the rotation R for which ⟨z, R y⟩ is largest.
func (m spatial) posed(z, y *Node) *Node {
	z, y = m.rows(z), m.rows(y)
	r := rotationTo(linalg.MatMul(linalg.T(z), y))
	return linalg.Vectors(linalg.MatMul(y, linalg.T(r)))
}

// Exp is a great circle in the sphere of configurations, along which these do not rotate.
func (m spatial) Exp(z, v *Node) *Node { return unitSphere.Exp(z, v) }

// Log is the logarithm of the sphere to y in optimal position.
func (m spatial) Log(z, y *Node) *Node { return unitSphere.Log(z, m.posed(z, m.centred(y))) }

// rotationTo is the rotation R for which ⟨R, a⟩ is largest, [..., 3, 3]. That is the form qᵀ N q of the unit quaternion q of R, whose
// matrix N is linear in a (B. Horn, J. Opt. Soc. Am. A 4, 1987): q is its eigenvector of the largest eigenvalue. NaN where two are largest.
//
// With R the derivative is that of a = P R, P symmetric: R' = [ω]× R with (tr P − P) ω = ax(a' Rᵀ), ax(A) the vector of A − Aᵀ.
func rotationTo(a *Node) *Node {
	lead := a.Shape().Dimensions[:a.Rank()-2]
	shaped := func(x *Node, dims ...int) *Node { return Reshape(x, append(slices.Clone(lead), dims...)...) }
	forms := ConstAsDType(a.Graph(), a.DType(), linalg.QuaternionForms()) // [9, 16]
	n := StopGradient(shaped(linalg.MatVec(linalg.T(forms), shaped(a, 9)), 4, 4))
	size := Sqrt(ReduceAndKeep(Square(n), ReduceSum, -2, -1))
	n = Add(n, Mul(linalg.EyeLike(n), BroadcastToShape(size, n.Shape()))) // no negative eigenvalues
	// Squared again and again it is q qᵀ, where eigenvalues differ by more than about 2^−squarings: a smaller program than Jacobi's method.
	const squarings = 46
	qq := autodiff.Repeat(Const(a.Graph(), int32(squarings)), func(_ *Node, n []*Node) []*Node {
		n[0] = linalg.MatMul(n[0], n[0])
		return []*Node{Div(n[0], BroadcastToShape(ExpandAxes(linalg.Trace(n[0]), -2, -1), n[0].Shape()))}
	}, []*Node{n})[0]
	several := OneMinus(ReduceAndKeep(Square(qq), ReduceSum, -2, -1)) // 1/2 where two are largest
	value := shaped(linalg.MatVec(forms, shaped(qq, 16)), 3, 3)
	value = linalg.NaNWhere(LogicalNot(LessThan(several, MulScalar(OnesLike(several), 1e-10))), value)

	cross := func(q *Node) *Node { // [q]×
		return shaped(linalg.MatVec(ConstAsDType(q.Graph(), q.DType(), crossMatrix()), q), 3, 3)
	}
	var r *Node
	r = autodiff.CustomVJP([]*Node{a}, []*Node{value}, func(ct []*Node) []*Node {
		p := symmetrised(linalg.MatMul(a, linalg.T(r)))
		trace := ExpandAxes(linalg.Trace(p), -2, -1)
		stiff := Sub(Mul(linalg.EyeLike(p), BroadcastToShape(trace, p.Shape())), p)
		turn := shaped(linalg.MatMul(ct[0], linalg.T(r)), 9)
		axis := linalg.MatVec(linalg.T(ConstAsDType(turn.Graph(), turn.DType(), crossMatrix())), turn)
		return []*Node{linalg.MatMul(cross(linalg.MatVec(linalg.Inverse(stiff), axis)), r)}
	})[0]
	return r
}

// crossMatrix takes ω to the numbers of [ω]× row by row, [9, 3].
func crossMatrix() [][]float64 {
	out := lists.Zeros(9, 3)
	for a := range 3 {
		b, c := (a+1)%3, (a+2)%3
		out[3*c+b][a], out[3*b+c][a] = 1, -1
	}
	return out
}
