package manifold

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

// Kendall is the space of shapes of k landmarks in the plane, not all in one place: configurations up to translation,
// scaling and rotation, which is the complex projective space CP^(k−2) of curvature 1 to 4 (D. Kendall, Shape
// manifolds, Procrustean metrics and complex projective spaces, 1984). A point is any configuration x_1 y_1 x_2 y_2 …
// of the shape with centre 0 and size 1, Σ |z_i|² = 1; Space.Project makes one of any configuration. Tangent vectors
// are displacements that neither translate, scale nor rotate it. Distances are Procrustes distances, arccos |⟨z, y⟩|.
//
// A path, and the end point of Exp, is in optimal position relative to its start.
func Kendall(k int) geom.Atlas {
	atLeast("Kendall", k, 3)
	return kendall{k}
}

type kendall struct{ k int }

func (m kendall) Dim() int        { return 2 * (m.k - 2) }
func (m kendall) AmbientDim() int { return 2 * m.k }

// vector is a vector of complex numbers, [..., n] each part.
type vector struct{ re, im *Node }

// numbers reads pairs x_1 y_1 x_2 y_2 … as complex numbers; pairs writes them.
func numbers(z *Node) vector {
	dims := z.Shape().Dimensions
	z = Reshape(z, append(append([]int{}, dims[:len(dims)-1]...), -1, 2)...)
	return vector{Squeeze(from(z, 0, 1), -1), Squeeze(from(z, 1, 2), -1)}
}

func (a vector) pairs() *Node {
	z := Stack([]*Node{a.re, a.im}, -1)
	dims := z.Shape().Dimensions
	return Reshape(z, append(append([]int{}, dims[:len(dims)-2]...), -1)...)
}

// dot is Σ conj(a_i) b_i, [..., 1].
func (a vector) dot(b vector) vector {
	return vector{Add(dot(a.re, b.re), dot(a.im, b.im)), Sub(dot(a.re, b.im), dot(a.im, b.re))}
}

// times is c a for a complex number c, [..., 1].
func (a vector) times(c vector) vector {
	return vector{Sub(scale(c.re, a.re), scale(c.im, a.im)), Add(scale(c.re, a.im), scale(c.im, a.re))}
}

// by is c a for a real number c, [..., 1].
func (a vector) by(c *Node) vector { return vector{scale(c, a.re), scale(c, a.im)} }

func (a vector) plus(b vector) vector  { return vector{Add(a.re, b.re), Add(a.im, b.im)} }
func (a vector) minus(b vector) vector { return vector{Sub(a.re, b.re), Sub(a.im, b.im)} }
func (a vector) conj() vector          { return vector{a.re, Neg(a.im)} }

// square is Σ |a_i|², [..., 1].
func (a vector) square() *Node { return Add(dot(a.re, a.re), dot(a.im, a.im)) }

func (a vector) from(start, to int) vector {
	return vector{from(a.re, start, to), from(a.im, start, to)}
}

func (a vector) like(x *Node) vector { return vector{like(a.re, x), like(a.im, x)} }

func (a vector) under(matrix *Node) vector {
	return vector{linalg.MatVec(matrix, a.re), linalg.MatVec(matrix, a.im)}
}

func join(a, b vector) vector {
	return vector{Concatenate([]*Node{a.re, b.re}, -1), Concatenate([]*Node{a.im, b.im}, -1)}
}

// phase is c/|c|, and 1 where c is 0.
func (c vector) phase() vector {
	zero := IsZero(c.square())
	one := OnesLike(c.re)
	safe := vector{Where(zero, one, c.re), Where(zero, ZerosLike(c.im), c.im)}
	return safe.by(Reciprocal(Sqrt(safe.square())))
}

// helmert has an orthonormal basis of the vectors with sum 0 as its rows, [k − 1, k].
func (m kendall) helmert(like *Node) *Node {
	h := make([][]float64, m.k-1)
	for i := range h {
		h[i] = make([]float64, m.k)
		n := float64(i + 1)
		for j := range i + 1 {
			h[i][j] = 1 / math.Sqrt(n*(n+1))
		}
		h[i][i+1] = -n / math.Sqrt(n*(n+1))
	}
	return ConstAsDType(like.Graph(), like.DType(), h)
}

func (m kendall) Chart(c *Node) geom.Chart {
	z := numbers(c).under(m.helmert(c))
	size := z.square()
	size = nanWhere(LessThan(size, MulScalar(dot(c, c), cutLocus*cutLocus)), size) // all landmarks in one place
	z = z.by(Reciprocal(Sqrt(size)))
	first := z.from(0, 1)
	phase := first.phase()
	w := join(first.plus(phase), z.from(1, m.k-1))
	return kendallChart{m, w, phase, MulScalar(Reciprocal(w.square()), 2)}
}

// kendallChart has the complex coordinates x_i = y_i/y_0 of y = U H z, H the Helmert matrix and U the unitary map
// −conj(α) (1 − 2 w w*/|w|²), w = c + α e_0, |α| = 1, that takes the centre c to e_0.
type kendallChart struct {
	m        kendall
	w, alpha vector
	slope    *Node
}

func (c kendallChart) Dim() int { return c.m.Dim() }

// reflect is −(1 − 2 w w*/|w|²) y.
func (c kendallChart) reflect(y vector) vector {
	w := c.w.like(y.re)
	return w.times(w.dot(y)).by(like(c.slope, y.re)).minus(y)
}

func (c kendallChart) Coordinates(z *Node) *Node {
	y := c.reflect(numbers(z).under(c.m.helmert(z)))
	first := y.from(0, 1) // conj(α), which multiplies all of y, cancels in the quotient
	return y.from(1, c.m.k-1).times(first.conj()).by(Reciprocal(first.square())).pairs()
}

func (c kendallChart) Point(x *Node) *Node {
	y := numbers(x)
	one := vector{OnesLike(y.from(0, 1).re), ZerosLike(y.from(0, 1).re)}
	y = join(one, y)
	y = y.by(Reciprocal(Sqrt(y.square())))
	z := c.reflect(y.times(c.alpha.like(y.re)))
	return z.under(linalg.T(c.m.helmert(x))).pairs()
}

// Horizontal removes translation, scaling and rotation: v − mean(v) − z ⟨z, v⟩.
func (c kendallChart) Horizontal(z, v *Node) *Node {
	h := c.m.helmert(v)
	a, b := numbers(z), numbers(v).under(h).under(linalg.T(h))
	return b.minus(a.times(a.dot(b))).pairs()
}

// Sharp is r (p + x ⟨x, p⟩), r = 1 + |x|²: the metric of Fubini and Study.
func (c kendallChart) Sharp(x, p *Node) *Node {
	z, w := numbers(x), numbers(p)
	return w.plus(z.times(z.dot(w))).by(OnePlus(z.square())).pairs()
}

// Flat is (v − x ⟨x, v⟩/r)/r.
func (c kendallChart) Flat(x, v *Node) *Node {
	z, w := numbers(x), numbers(v)
	r := Reciprocal(OnePlus(z.square()))
	return w.minus(z.times(z.dot(w)).by(r)).by(r).pairs()
}

// Christoffel is −(⟨x, u⟩ v + ⟨x, v⟩ u)/r.
func (c kendallChart) Christoffel(x, u, v *Node) *Node {
	z, a, b := numbers(x), numbers(u), numbers(v)
	return b.times(z.dot(a)).plus(a.times(z.dot(b))).by(Neg(Reciprocal(OnePlus(z.square())))).pairs()
}

var unitSphere = constantCurvature{k: 1}

// Exp is cos θ z + sin θ/θ v, θ = |v|: a great circle of the sphere of configurations that does not rotate.
func (m kendall) Exp(z, v *Node) *Node { return unitSphere.Exp(z, v) }

// Log is the logarithm of the sphere to y in optimal position.
func (m kendall) Log(z, y *Node) *Node {
	a := numbers(z).dot(numbers(y))
	orthogonal := LessThan(a.square(), MulScalar(OnesLike(a.re), cutLocus*cutLocus))
	return nanWhere(orthogonal, unitSphere.Log(z, numbers(y).times(a.phase().conj()).pairs()))
}

// Transport is w − ⟨v, w⟩ (½ (sin(θ/2)/(θ/2))² v + sin θ/θ z), as on the sphere but with a complex product.
func (m kendall) Transport(z, v, w *Node) *Node {
	s := dot(v, v)
	along := scale(MulScalar(Square(unitSphere.sine(MulScalar(s, 0.25))), 0.5), v)
	along = Add(along, scale(unitSphere.sine(s), z))
	return Sub(w, numbers(along).times(numbers(v).dot(numbers(w))).pairs())
}
