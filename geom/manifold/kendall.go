package manifold

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
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
	y := linalg.MatVec(likeMatrix(c.u, z), z)
	re, im := from(y, 0, 1), from(y, n, n+1)
	x := Concatenate([]*Node{from(y, 1, n), from(y, n+1, 2*n)}, -1)
	quotient := Sub(scale(re, x), scale(im, turned90(x))) // times conj(y_0)
	return Div(quotient, BroadcastToShape(Add(Square(re), Square(im)), quotient.Shape()))
}

func (c kendallChart) Point(x *Node) *Node {
	n := c.m.k - 1
	one := OnesLike(from(x, 0, 1))
	y := Concatenate([]*Node{one, from(x, 0, n-1), ZerosLike(one), from(x, n-1, 2*(n-1))}, -1)
	return scale(Rsqrt(OnePlus(dot(x, x))), linalg.MatVec(linalg.T(likeMatrix(c.u, x)), y))
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
