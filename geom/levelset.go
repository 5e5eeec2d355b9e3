package geom

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/internal/refuse"
)

// LevelSet returns the manifold of the solutions x in R^a of k equations f(x) = 0, 0 < k < a, with the metric of R^a. The function f takes
// points, [..., a], to [..., k], and treats the leading axes as a batch. Its Jacobian must have rank k at the solutions.
//
// The chart at a point c is its tangent plane: coordinates are those of the projection to the plane, and Newton's method moves a point of the plane
// along the normal space at c to the manifold. It is NaN where this does not converge, as where the manifold bends back over the plane, and of
// points on another sheet over the plane there are no coordinates. To move by h v in such a chart is the position step of RATTLE, an integrator
// with constraints.
func LevelSet(a, k int, f func(x *Node) *Node) Charted {
	refuse.If(k < 1 || k >= a, "geom.LevelSet: %d equations in %d dimensions, want 1 to %d", k, a, a-1)
	return levelSet{a, k, f}
}

type levelSet struct {
	a, k int
	f    func(x *Node) *Node
}

func (m levelSet) Dim() int        { return m.a - m.k }
func (m levelSet) AmbientDim() int { return m.a }

func (m levelSet) jacobian(x *Node) *Node {
	j := autodiff.Jacobian(m.f, fresh(x))
	refuse.If(j.Shape().Dim(-2) != m.k, "geom.LevelSet: f has %d values, want %d", j.Shape().Dim(-2), m.k)
	return j
}

func (m levelSet) Chart(c *Node) Chart {
	normal := m.jacobian(StopGradient(c)) // [..., k, a]
	c = m.along(c, normal)
	normal = StopGradient(m.jacobian(c))
	return levelChart{m, c, normal, StopGradient(m.tangent(normal))}
}

// tangent is an orthonormal basis of the vectors v with N v = 0, [..., a, d], of a basis N of the normals, [..., k, a]: the last columns of the
// product of the Householder reflections that take Nᵀ to a triangle.
func (m levelSet) tangent(normal *Node) *Node {
	r := linalg.T(normal) // [..., a, k]
	q := linalg.EyeLike(linalg.MatMul(r, normal))
	row := func(x *Node) *Node { return Iota(x.Graph(), x.Shape(), x.Rank()-2) }
	for j := range m.k {
		v := SliceAxis(r, -1, AxisElem(j))
		below := GreaterOrEqual(row(v), MulScalar(OnesLike(v), float64(j)))
		first := Equal(row(v), MulScalar(OnesLike(v), float64(j)))
		v = Where(below, v, ZerosLike(v))
		norm := Sqrt(ReduceAndKeep(Square(v), ReduceSum, -2))
		at := ReduceAndKeep(Where(first, v, ZerosLike(v)), ReduceSum, -2)
		v = Add(v, Where(first, BroadcastToShape(Where(IsNegative(at), Neg(norm), norm), v.Shape()), ZerosLike(v)))
		v = Div(v, Sqrt(ReduceAndKeep(Square(v), ReduceSum, -2)))
		twice := MulScalar(v, 2)
		r = Sub(r, linalg.MatMul(twice, linalg.MatMul(linalg.T(v), r)))
		q = Sub(q, linalg.MatMul(linalg.MatMul(q, twice), linalg.T(v)))
	}
	return SliceAxis(q, -1, AxisRange(m.k, m.a))
}

// along moves z along the normal space to the manifold.
func (m levelSet) along(z, normal *Node) *Node {
	const iterations, near = 10, 1e-9
	step := func(y *Node) *Node { // Nᵀ (J Nᵀ)⁻¹ f
		j := m.jacobian(y)
		lambda := linalg.SolveGeneral(linalg.MatMul(j, linalg.T(normal)), ExpandAxes(m.f(y), -1))
		return Squeeze(linalg.MatMul(linalg.T(normal), lambda), -1)
	}
	found, _ := autodiff.Scan(iterations, func(_ *Node, y, _ []*Node) (next, out []*Node) {
		return []*Node{Sub(y[0], step(y[0]))}, nil
	}, []*Node{StopGradient(z)}, nil)
	y := StopGradient(found[0])
	arrived := LessOrEqual(size(step(y)), MulScalar(OnePlus(size(y)), near))
	y = linalg.NaNWhere(LogicalNot(arrived), y)
	var end *Node
	// y = z + Nᵀλ with f(y) = 0: dy = (1 − Nᵀ (J Nᵀ)⁻¹ J) dz.
	end = autodiff.CustomVJP([]*Node{z}, []*Node{y}, func(ct []*Node) []*Node {
		j := m.jacobian(end)
		mu := linalg.SolveGeneral(linalg.MatMul(normal, linalg.T(j)), linalg.MatMul(normal, ExpandAxes(ct[0], -1)))
		return []*Node{Sub(ct[0], Squeeze(linalg.MatMul(linalg.T(j), mu), -1))}
	})[0]
	return end
}

func size(x *Node) *Node { return ReduceAndKeep(Abs(x), ReduceSum, -1) }

// levelChart has the metric that R^a induces, with the derivatives of Point in closed form.
type levelChart struct {
	m               levelSet
	c               *Node // [B..., a]
	normal, tangent *Node // bases at c, [B..., k, a] and [B..., a, d]
}

func (c levelChart) Dim() int { return c.m.Dim() }

func (c levelChart) Point(x *Node) *Node {
	centre, normal, tangent := c.at(x)
	return c.m.along(Add(centre, linalg.MatVec(tangent, x)), normal)
}

// Coordinates are NaN of points on another sheet over the tangent plane: Point leads from their coordinates elsewhere.
func (c levelChart) Coordinates(z *Node) *Node {
	const near = 1e-6
	centre, _, tangent := c.at(z)
	x := linalg.MatVec(linalg.T(tangent), Sub(z, centre))
	off := size(Sub(StopGradient(c.Point(StopGradient(x))), z))
	return linalg.NaNWhere(LogicalNot(LessOrEqual(off, MulScalar(size(z), near))), x)
}

// at gives the centre and its bases the leading axes of points or vectors x.
func (c levelChart) at(x *Node) (centre, normal, tangent *Node) {
	return linalg.Lead(c.c, x, 1), linalg.Lead(c.normal, x, 2), linalg.Lead(c.tangent, x, 2)
}

// embedding is Point close to z = Point(x): with the Jacobian J of f at z and normals N, [..., k, a], its derivative is
// E = T − Nᵀ (J Nᵀ)⁻¹ J T, [..., a, d], and the second one is D²Point(u, v) = −Nᵀ (J Nᵀ)⁻¹ D²f(Eu, Ev).
type embedding struct {
	m         levelSet
	z, normal *Node
	bent, e   *Node // J Nᵀ, [..., k, k], and E
}

func (c levelChart) embedding(z *Node) embedding {
	_, normal, tangent := c.at(z)
	j := c.m.jacobian(z)
	bent := linalg.MatMul(j, linalg.T(normal))
	e := Sub(tangent, linalg.MatMul(linalg.T(normal), linalg.SolveGeneral(bent, linalg.MatMul(j, tangent))))
	return embedding{c.m, z, normal, bent, e}
}

func (e embedding) metric() *Node { return linalg.MatMul(linalg.T(e.e), e.e) }

// Push is E also at the centre, where E is T: its derivative by the centre, where the bases stay, is not 0.
func (c levelChart) Push(z, _, v *Node) *Node {
	return linalg.MatVec(linalg.Lead(c.embedding(z).e, v, 2), v)
}

func (c levelChart) Pull(_, _, v *Node) *Node {
	return linalg.MatVec(linalg.T(linalg.Lead(c.tangent, v, 2)), v)
}

func (c levelChart) G(x *Node) *Node { return c.embedding(c.Point(x)).metric() }

// Christoffel is g⁻¹ Eᵀ D²Point(u, v), by Gauss's formula.
func (c levelChart) Christoffel(x, u, v *Node) *Node {
	e := c.embedding(c.Point(x))
	u, v = linalg.MatVec(e.e, u), linalg.MatVec(e.e, v)
	second := push(func(z *Node) *Node { return push(c.m.f, z, v) }, fresh(e.z), u)
	lambda := linalg.SolveGeneral(e.bent, second)
	return Neg(linalg.Solve(e.metric(), linalg.MatVec(linalg.T(e.e), linalg.MatVec(linalg.T(e.normal), lambda))))
}

// Hamilton has p' = ⟨v, D²Point(u, ·)⟩ of the ambient velocity v = E u, u = g⁻¹p.
func (c levelChart) Hamilton(q, p *Node) (dq, dp *Node) {
	e := c.embedding(c.Point(q))
	dq = linalg.Solve(e.metric(), p)
	v := linalg.MatVec(e.e, dq)
	mu := linalg.SolveGeneral(linalg.T(e.bent), linalg.MatVec(e.normal, v))
	slope := transposed(func(z *Node) *Node { return push(c.m.f, z, v) }, e.z, mu)
	return dq, Neg(linalg.MatVec(linalg.T(e.e), slope))
}
