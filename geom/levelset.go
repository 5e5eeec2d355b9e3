package geom

import (
	"fmt"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
)

// LevelSet returns the manifold of the solutions x in R^a of k equations f(x) = 0, 0 < k < a, with the metric of R^a. The function f takes
// points, [..., a], to [..., k], and treats the leading axes as a batch. Its Jacobian must have rank k at the solutions.
//
// The chart at a point c is its tangent plane: coordinates are those of the projection to the plane, and Newton's method moves a point of the plane
// along the normal space at c to the manifold. It is NaN where this does not converge, as where the manifold bends back over the plane. To move by h
// v in such a chart is the position step of RATTLE, an integrator with constraints.
func LevelSet(a, k int, f func(x *Node) *Node) Charted {
	if k < 1 || k >= a {
		panic(fmt.Sprintf("geom.LevelSet: %d equations in %d dimensions, want 1 to %d", k, a, a-1))
	}
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
	if j.Shape().Dim(-2) != m.k {
		panic(fmt.Sprintf("geom.LevelSet: f has %d values, want %d", j.Shape().Dim(-2), m.k))
	}
	return j
}

func (m levelSet) Chart(c *Node) Chart {
	normal := m.jacobian(StopGradient(c)) // [..., k, a]
	c = m.along(c, normal)
	normal = StopGradient(m.jacobian(c))
	// An eigenbasis of P D P, P the projector to the tangent plane, depends smoothly on c where its eigenvalues are different.
	p := Sub(linalg.EyeLike(linalg.MatMul(linalg.T(normal), normal)), linalg.MatMul(linalg.T(normal), linalg.Solve(linalg.MatMul(normal, linalg.T(normal)), normal)))
	weights := AddScalar(Iota(c.Graph(), shapes.Make(c.DType(), m.a), 0), 1)
	spectrum := linalg.SymEig(linalg.MatMul(Mul(p, ExpandLeftToRank(weights, p.Rank())), p))
	tangent := StopGradient(SliceAxis(spectrum.Vectors, -1, AxisRange(m.k, m.a)))
	chart := levelChart{m: m, c: c, normal: normal, tangent: tangent}
	chart.Metric = FromImmersion(ImmersionFunc(m.Dim(), chart.Point))
	return chart
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
	size := func(x *Node) *Node { return ReduceAndKeep(Abs(x), ReduceSum, -1) }
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

// levelChart has the metric that R^a induces.
type levelChart struct {
	Metric
	m               levelSet
	c               *Node // [B..., a]
	normal, tangent *Node // bases at c, [B..., k, a] and [B..., a, d]
}

func (c levelChart) Point(x *Node) *Node {
	centre, normal, tangent := c.like(x)
	return c.m.along(Add(centre, linalg.MatVec(tangent, x)), normal)
}

func (c levelChart) Coordinates(z *Node) *Node {
	centre, _, tangent := c.like(z)
	return linalg.MatVec(linalg.T(tangent), Sub(z, centre))
}

// like gives the centre and its bases the leading axes of points x.
func (c levelChart) like(x *Node) (centre, normal, tangent *Node) {
	lead := x.Shape().Dimensions[:x.Rank()-c.c.Rank()]
	return BroadcastPrefix(c.c, lead...), BroadcastPrefix(c.normal, lead...), BroadcastPrefix(c.tangent, lead...)
}

func (c levelChart) Christoffel(x, u, v *Node) *Node {
	return c.Metric.(ClosedChristoffel).Christoffel(x, u, v)
}
