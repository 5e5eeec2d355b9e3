package geom

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Manifold is what all manifolds have: a dimension. Functions of this package take a value that is a Metric, a Cometric or a Charted manifold too;
// others panic.
type Manifold interface {
	Dim() int // d
}

// Metric is a manifold given by its metric in coordinates.
type Metric interface {
	Manifold
	G(x *Node) *Node // g_ij(x), [..., d, d], symmetric and positive definite, at points x, [..., d]
}

// Cometric is a manifold given by its cometric in coordinates. A degenerate cometric must be that of a SubRiemannian manifold.
type Cometric interface {
	Manifold
	Sharp(q, p *Node) *Node // p♯ = g^ij(q) p_j, [..., d], at points q for covectors p, both [..., d]
}

// Flattener is an optional interface of a Cometric that knows v♭ in closed form: points q, vectors v and the result are [..., d].
type Flattener interface {
	Flat(q, v *Node) *Node
}

// HamiltonField is an optional interface of manifolds that know Hamilton's equations in closed form: it returns q' = ∂H/∂p and
// p' = −∂H/∂q, [..., d].
type HamiltonField interface {
	Hamilton(q, p *Node) (dq, dp *Node)
}

// Sharp returns p♯ = g^ij(q) p_j, the vector of a covector; q, p and the result are [..., d] in coordinates. p may have more leading axes than q.
func Sharp(m Manifold, q, p *Node) *Node {
	q = linalg.Lead(q, p, 1)
	checkPair(m, "Sharp", q, p)
	switch m := m.(type) {
	case Cometric:
		return m.Sharp(q, p)
	case Metric:
		return linalg.Solve(m.G(q), p)
	}
	panic(fmt.Sprintf("geom.Sharp: %T is neither a Metric nor a Cometric", m))
}

// Flat returns v♭ = g_ij(q) v^j, the covector of a vector; q, v and the result are [..., d] in coordinates. v may have more leading axes than q.
func Flat(m Manifold, q, v *Node) *Node {
	q = linalg.Lead(q, v, 1)
	checkPair(m, "Flat", q, v)
	switch m := m.(type) {
	case Flattener:
		return m.Flat(q, v)
	case Metric:
		return linalg.MatVec(m.G(q), v)
	case Cometric:
		return linalg.Solve(CometricMatrix(m, q), v)
	}
	panic(fmt.Sprintf("geom.Flat: %T is neither a Metric nor a Cometric", m))
}

// CometricMatrix returns g^ij(q), [..., d, d], at points q, [..., d], in coordinates.
func CometricMatrix(m Manifold, q *Node) *Node {
	switch m := m.(type) {
	case Cometric:
		rows := m.Sharp(BroadcastPrefix(q, m.Dim()), basisAt(q)) // [d, ..., d], symmetric in first and last
		return TransposeAllDims(rows, lists.Make(rows.Rank(), func(a int) int { return (a + 1) % rows.Rank() })...)
	case Metric:
		return linalg.Inverse(m.G(q))
	}
	panic(fmt.Sprintf("geom.CometricMatrix: %T is neither a Metric nor a Cometric", m))
}

// MetricMatrix returns g_ij(q), [..., d, d], at points q, [..., d], in coordinates.
func MetricMatrix(m Manifold, q *Node) *Node {
	if m, ok := m.(Metric); ok {
		return m.G(q)
	}
	return linalg.Inverse(CometricMatrix(m, q))
}

// Inner returns ⟨u, v⟩_g, [...], of tangent vectors u and v at points q, all [..., d] in coordinates.
func Inner(m Manifold, q, u, v *Node) *Node {
	return ReduceSum(Mul(Flat(m, q, u), v), -1)
}

// Norm returns ‖v‖_g, [...], of tangent vectors v at points q, both [..., d] in coordinates. Its derivative by v is 0 at v = 0, by
// symmetry.
func Norm(m Manifold, q, v *Node) *Node {
	unit, size := scaled(v)
	square := Inner(m, q, unit, unit)
	none := IsZero(ReduceMax(Abs(v), -1))
	return Mul(Squeeze(size, -1), Where(none, ZerosLike(square), Sqrt(Where(none, OnesLike(square), square))))
}

// scaled returns vectors v, [..., d], divided by their size, [..., 1]: their largest coordinate where its square would be close to the
// limits of double precision, and 1 elsewhere.
func scaled(v *Node) (unit, size *Node) {
	const small, large = 1e-100, 1e100
	size = StopGradient(ReduceAndKeep(Abs(v), ReduceMax, -1))
	limit := func(x float64) *Node { return MulScalar(OnesLike(size), x) }
	size = Where(LogicalOr(IsZero(size), LogicalAnd(GreaterThan(size, limit(small)), LessThan(size, limit(large)))), OnesLike(size), size)
	return Div(v, BroadcastToShape(size, v.Shape())), size
}

// Hamiltonian returns the function H(q, p) = ½ g^ij(q) p_i p_j, [...], of points and covectors, both [..., d] in coordinates.
func Hamiltonian(m Manifold) func(q, p *Node) *Node {
	return func(q, p *Node) *Node {
		return MulScalar(ReduceSum(Mul(p, Sharp(m, q, p)), -1), 0.5)
	}
}

// Geodesics returns the field of Hamilton's equations q' = ∂H/∂p, p' = −∂H/∂q on states (q, p), both [..., d] in coordinates. Its
// solutions are the geodesics.
func Geodesics(m Manifold) ode.Field {
	if m, ok := m.(HamiltonField); ok {
		return func(_ *Node, y ode.State) ode.State {
			dq, dp := m.Hamilton(y[0], y[1])
			return ode.State{dq, dp}
		}
	}
	return ode.Hamilton(Hamiltonian(m))
}

func checkPair(m Manifold, what string, q, v *Node) {
	refuse.If(q.Rank() == 0 || q.Shape().Dim(-1) != m.Dim() || !q.Shape().Equal(v.Shape()),
		"geom.%s: point %s and vector %s, want the same shape with last axis %d", what, q.Shape(), v.Shape(), m.Dim())
}
