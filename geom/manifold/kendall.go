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

// Kendall returns Kendall's shape space of k landmarks in R^d, d = 2 or 3, k > d: configurations of landmarks up to translation,
// scaling and rotation, but not reflection.
//
// A point is a configuration x_1 y_1 x_2 y_2 … with centre 0 and size 1, Σ |z_i|² = 1; all rotations of it are the same point.
// Space.Project makes a point of any configuration, and geom.OnShapes has them as shapes of k rows. Tangent vectors are displacements
// of the landmarks that neither translate, scale nor rotate the configuration. Distances are Procrustes distances, arccos ⟨z, R y⟩ in
// radians, where the rotation R brings y into optimal position. The points of a geodesic, and so the End of Exp, are in optimal position
// relative to its start as long as they are not beyond its cut locus.
//
// In the plane it is the complex projective space CP^(k−2), of dimension 2(k − 2) and of curvature 1 to 4 (D. Kendall, Shape manifolds,
// Procrustean metrics and complex projective spaces, 1984), and all has closed forms.
//
// In space it has the dimension 3k − 7, and a singularity: configurations whose landmarks lie on a line are no points of it, nor are
// those that do so to a millionth of their size. Close to them curvature has no bound; it is at least 1 everywhere. Exp and Log have
// closed forms (H. Le, On geodesics in Euclidean shape spaces, J. London Math. Soc. 44, 1991; D. Kendall, D. Barden, T. Carne, H. Le,
// Shape and shape theory, 1999), and parallel transport is integrated. A shape is in the cut locus of another where the two smallest
// singular values of Σ y_i z_iᵀ, the last one with the sign of the determinant, cancel.
func Kendall(k, d int) geom.Charted {
	switch d {
	case 2:
		atLeast("Kendall", k, 3)
		return kendall{k}
	case 3:
		atLeast("Kendall", k, 4)
		return spatial{k}
	}
	panic(fmt.Sprintf("manifold.Kendall: landmarks in R^%d, want 2 or 3", d))
}

// kendall are the shapes of landmarks in the plane.
type kendall struct{ k int }

func (m kendall) Dim() int        { return 2 * (m.k - 2) }
func (m kendall) AmbientDim() int { return 2 * m.k }

func (m kendall) Rows() (n, columns int, name string) { return m.k, 2, "landmark" }

// Complex vectors are written as real ones of twice the length: as pairs x_1 y_1 x_2 y_2 … in the ambient space, and with all real
// parts before all imaginary parts in coordinates and in the result of helmert.

// turned90 is i x, real parts first.
func turned90(x *Node) *Node {
	n := x.Shape().Dim(-1)
	return Concatenate([]*Node{Neg(from(x, n/2, n)), from(x, 0, n/2)}, -1)
}

// alongComplex is a ⟨x, y⟩ for complex vectors, with i x and i a.
func alongComplex(a, ia, x, ix, y *Node) *Node {
	return Add(scale(dot(x, y), a), scale(dot(ix, y), ia))
}

func (m kendall) helmert(like *Node) *Node { return helmert(m.k, 2, like) }

// helmert is the matrix, [d(k − 1), dk], that takes a configuration of k landmarks in R^d to k − 1 vectors of R^d, with all first
// coordinates before all second ones: it removes the translation, and is an isometry of centred configurations.
func helmert(k, d int, like *Node) *Node {
	h := make([][]float64, d*(k-1))
	for i := range k - 1 {
		n := float64(i + 1)
		for c := range d {
			row := make([]float64, d*k)
			for j := range i + 2 {
				row[d*j+c] = 1 / math.Sqrt(n*(n+1))
			}
			row[d*(i+1)+c] *= -n
			h[c*(k-1)+i] = row
		}
	}
	return ConstAsDType(like.Graph(), like.DType(), h)
}

// Chart has the complex coordinates x_i = y_i/y_0 of y = U z, where U is the unitary map, after helmert's, that takes
// the centre c to e_0: −conj(α) (1 − 2 w w*/|w|²) with w = c + α e_0, α = c_0/|c_0|.
func (m kendall) Chart(c *Node) geom.Chart {
	n := m.k - 1
	h := m.helmert(c)
	z := linalg.MatVec(h, c)
	size := dot(z, z)
	size = linalg.NaNWhere(LessThan(size, MulScalar(dot(c, c), cutLocus*cutLocus)), size) // all landmarks in one place
	z = scale(Rsqrt(size), z)

	re, im := from(z, 0, 1), from(z, n, n+1)
	modulus := Sqrt(Add(Square(re), Square(im)))
	zero := IsZero(modulus)
	modulus = Where(zero, OnesLike(modulus), modulus)
	re, im = Where(zero, OnesLike(re), Div(re, modulus)), Div(im, modulus)
	rest := ZerosLike(from(z, 1, n))
	alpha := Concatenate([]*Node{re, rest, im, rest}, -1)
	w := Add(z, alpha)
	iw := turned90(w)
	reflection := Add(linalg.Outer(w, w), linalg.Outer(iw, iw))
	two := ExpandAxes(MulScalar(Reciprocal(dot(w, w)), 2), -1)
	reflection = Sub(Mul(BroadcastToShape(two, reflection.Shape()), reflection), linalg.EyeLike(reflection))
	u := linalg.MatMul(reflection, h)

	upper, lower := SliceAxis(u, -2, AxisRange(0, n)), SliceAxis(u, -2, AxisRange(n, 2*n))
	times := func(a, u *Node) *Node { return Mul(BroadcastToShape(ExpandAxes(a, -1), u.Shape()), u) }
	return kendallChart{m, Concatenate([]*Node{
		Add(times(re, upper), times(im, lower)),
		Sub(times(re, lower), times(im, upper)),
	}, -2)}
}

type kendallChart struct {
	m kendall
	u *Node // [B..., 2(k − 1), 2k]
}

func (c kendallChart) Dim() int { return c.m.Dim() }

func (c kendallChart) Coordinates(z *Node) *Node {
	n := c.m.k - 1
	y := linalg.MatVec(linalg.Lead(c.u, z, 2), z)
	re, im := from(y, 0, 1), from(y, n, n+1)
	x := Concatenate([]*Node{from(y, 1, n), from(y, n+1, 2*n)}, -1)
	quotient := Sub(scale(re, x), scale(im, turned90(x))) // times conj(y_0)
	return Div(quotient, BroadcastToShape(Add(Square(re), Square(im)), quotient.Shape()))
}

func (c kendallChart) Point(x *Node) *Node {
	n := c.m.k - 1
	one := OnesLike(from(x, 0, 1))
	y := Concatenate([]*Node{one, from(x, 0, n-1), ZerosLike(one), from(x, n-1, 2*(n-1))}, -1)
	return scale(Rsqrt(OnePlus(dot(x, x))), linalg.MatVec(linalg.T(linalg.Lead(c.u, x, 2)), y))
}

// Horizontal removes translation, scaling and rotation: v − mean(v) − z ⟨z, v⟩.
func (c kendallChart) Horizontal(z, v *Node) *Node {
	z, v = c.m.standard(z), c.m.standard(v)
	iz := turned90(z)
	return c.m.pairs(Sub(v, alongComplex(z, iz, z, iz, v)))
}

// Sharp is r (p + x ⟨x, p⟩), r = 1 + |x|²: the metric of Fubini and Study.
func (c kendallChart) Sharp(x, p *Node) *Node {
	ix := turned90(x)
	return scale(OnePlus(dot(x, x)), Add(p, alongComplex(x, ix, x, ix, p)))
}

// Flat is (v − x ⟨x, v⟩/r)/r.
func (c kendallChart) Flat(x, v *Node) *Node {
	ix := turned90(x)
	r := Reciprocal(OnePlus(dot(x, x)))
	return scale(r, Sub(v, scale(r, alongComplex(x, ix, x, ix, v))))
}

// Christoffel is −(⟨x, u⟩ v + ⟨x, v⟩ u)/r.
func (c kendallChart) Christoffel(x, u, v *Node) *Node {
	ix := turned90(x)
	sum := Add(alongComplex(v, turned90(v), x, ix, u), alongComplex(u, turned90(u), x, ix, v))
	return scale(Neg(Reciprocal(OnePlus(dot(x, x)))), sum)
}

// standard is a configuration as complex numbers, real parts first, without its position; pairs is its inverse.
func (m kendall) standard(z *Node) *Node { return linalg.MatVec(m.helmert(z), z) }
func (m kendall) pairs(y *Node) *Node    { return linalg.MatVec(linalg.T(m.helmert(y)), y) }

var unitSphere sphere

// Exp is cos θ z + sin θ/θ v, θ = |v|: a great circle in the sphere of configurations, along which these do not rotate.
func (m kendall) Exp(z, v *Node) *Node { return unitSphere.Exp(z, v) }

// Log is the logarithm of the sphere to y in optimal position, y conj(⟨z, y⟩)/|⟨z, y⟩|.
func (m kendall) Log(z, y *Node) *Node {
	z, y = m.standard(z), m.standard(y)
	re, im := dot(z, y), dot(turned90(z), y)
	size := Sqrt(Add(Square(re), Square(im)))
	size = linalg.NaNWhere(LessThan(size, MulScalar(OnesLike(size), cutLocus)), size)
	y = Sub(scale(Div(re, size), y), scale(Div(im, size), turned90(y)))
	return m.pairs(unitSphere.Log(z, y))
}

// Transport is w − ⟨v, w⟩ (½ (sin(θ/2)/(θ/2))² v + sin θ/θ z), as on the sphere but with a complex product.
func (m kendall) Transport(z, v, w *Node) *Node {
	z, v, w = m.standard(z), m.standard(v), m.standard(w)
	s := dot(v, v)
	along := scale(MulScalar(Square(sine(1, MulScalar(s, 0.25))), 0.5), v)
	along = Add(along, scale(sine(1, s), z))
	return m.pairs(Sub(w, alongComplex(along, turned90(along), v, turned90(v), w)))
}

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
	all := linalg.MatMul(m.rows(z), ConstAsDType(z.Graph(), z.DType(), cross))
	return linalg.Vectors(Transpose(linalg.Matrices(all, 3, 3), -3, -2))
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
	centre := linalg.Lead(c.c, z, 1)
	z = c.m.posed(centre, z)
	x := linalg.MatVec(linalg.Lead(c.basis, z, 2), z)
	return Div(x, BroadcastToShape(dot(centre, z), x.Shape()))
}

// up is B v, and down is Bᵀ w.
func (c spatialChart) up(v *Node) *Node {
	return linalg.MatVec(linalg.T(linalg.Lead(c.basis, v, 2)), v)
}
func (c spatialChart) down(w *Node) *Node { return linalg.MatVec(linalg.Lead(c.basis, w, 2), w) }

// y is c + B x, with |y|² = 1 + |x|².
func (c spatialChart) y(x *Node) (y, square *Node) {
	return Add(linalg.Lead(c.c, x, 1), c.up(x)), OnePlus(dot(x, x))
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
	j, centre := c.m.turns(y), linalg.Lead(c.turned, y, 2)
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
	j, centre := c.m.turns(y), linalg.Lead(c.turned, y, 2)
	upright, s := linalg.Inverse(inertia(j)), linalg.Inverse(symmetrised(linalg.MatMul(centre, linalg.T(j))))
	turn := func(omega, z *Node) *Node { return linalg.MatVec(linalg.T(c.m.turns(z)), omega) }
	half := func(u, v *Node) *Node { // of w
		bu, bv := c.up(u), c.up(v)
		au, av := linalg.MatVec(upright, linalg.MatVec(j, bu)), linalg.MatVec(upright, linalg.MatVec(j, bv))
		return turn(au, Sub(MulScalar(linalg.MatVec(linalg.T(j), av), 0.5), bv))
	}
	w := Add(half(u, v), half(v, u))
	eta := linalg.MatVec(s, linalg.MatVec(centre, w))
	out := Sub(c.down(Sub(w, linalg.MatVec(linalg.T(j), eta))), scale(dot(linalg.Lead(c.c, w, 1), w), x))
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
	forms := ConstAsDType(a.Graph(), a.DType(), linalg.QuaternionForms()) // [9, 16]
	n := StopGradient(linalg.Matrices(linalg.MatVec(linalg.T(forms), linalg.Vectors(a)), 4, 4))
	size := Sqrt(ReduceAndKeep(Square(n), ReduceSum, -2, -1))
	n = Add(n, Mul(linalg.EyeLike(n), BroadcastToShape(size, n.Shape()))) // no negative eigenvalues
	// Squared again and again it is q qᵀ, where eigenvalues differ by more than about 2^−squarings: a smaller program than Jacobi's method.
	const squarings = 46
	qq := autodiff.Repeat(Const(a.Graph(), int32(squarings)), func(_ *Node, n []*Node) []*Node {
		n[0] = linalg.MatMul(n[0], n[0])
		return []*Node{Div(n[0], BroadcastToShape(ExpandAxes(linalg.Trace(n[0]), -2, -1), n[0].Shape()))}
	}, []*Node{n})[0]
	several := OneMinus(ReduceAndKeep(Square(qq), ReduceSum, -2, -1)) // 1/2 where two are largest
	value := linalg.Matrices(linalg.MatVec(forms, linalg.Vectors(qq)), 3, 3)
	value = linalg.NaNWhere(LogicalNot(LessThan(several, MulScalar(OnesLike(several), 1e-10))), value)

	cross := func(q *Node) *Node { // [q]×
		return linalg.Matrices(linalg.MatVec(ConstAsDType(q.Graph(), q.DType(), crossMatrix()), q), 3, 3)
	}
	var r *Node
	r = autodiff.CustomVJP([]*Node{a}, []*Node{value}, func(ct []*Node) []*Node {
		p := symmetrised(linalg.MatMul(a, linalg.T(r)))
		trace := ExpandAxes(linalg.Trace(p), -2, -1)
		stiff := Sub(Mul(linalg.EyeLike(p), BroadcastToShape(trace, p.Shape())), p)
		turn := linalg.Vectors(linalg.MatMul(ct[0], linalg.T(r)))
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
