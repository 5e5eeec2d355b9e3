package geom

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
)

// Riemann returns the curvature R(u, v)w = [∇_u, ∇_v]w − ∇_[u,v]w, [..., d], at points x, which is
//
//	D_uΓ(v, w) − D_vΓ(u, w) + Γ(u, Γ(v, w)) − Γ(v, Γ(u, w)),
//
// without forming the d⁴ numbers R^l_kij. On a Charted manifold points and vectors are ambient, [..., a].
func Riemann(m Manifold, x, u, v, w *Node) *Node {
	at := At(m, x)
	return at.Leave(Vector, at.riemann(at.Enter(Vector, u), at.Enter(Vector, v), at.Enter(Vector, w)))
}

func (at Local) riemann(u, v, w *Node) *Node {
	for _, vector := range []*Node{u, v, w} {
		checkPair(at.Manifold, "Riemann", at.X, vector)
	}
	pair := func(a, b *Node) *Node { return Stack([]*Node{a, b}, 0) }
	uv, vu, ww := pair(u, v), pair(v, u), pair(w, w)
	var c *Connection
	gamma, slope := autodiff.Pushforward(func(x []*Node) []*Node {
		c = NewConnection(at.Manifold, x[0])
		return []*Node{c.Gamma(vu, ww)}
	}, []*Node{pair(at.X, at.X)}, []*Node{uv})
	terms := Add(slope[0], c.Gamma(uv, gamma[0]))
	half := func(i int) *Node { return Squeeze(SliceAxis(terms, 0, AxisRange(i, i+1)), 0) }
	return Sub(half(0), half(1))
}

// SectionalCurvature returns ⟨R(u, v)v, u⟩_g / (‖u‖²‖v‖² − ⟨u, v⟩²), [...], the curvature of the plane that u and v span at x, in
// the unit of 1/length²; NaN or infinite where they are parallel. On a Charted manifold points and vectors are ambient.
func SectionalCurvature(m Manifold, x, u, v *Node) *Node {
	at := At(m, x)
	u, _ = scaled(u) // the plane is the same
	v, _ = scaled(v)
	u, v = at.Enter(Vector, u), at.Enter(Vector, v)
	r := at.riemann(u, v, v)
	fu, fv := Flat(at.Manifold, at.X, u), Flat(at.Manifold, at.X, v)
	dot := func(a, b *Node) *Node { return ReduceSum(Mul(a, b), -1) }
	return Div(dot(r, fu), Sub(Mul(dot(fu, u), dot(fv, v)), Square(dot(fu, v))))
}

// CurvatureForm returns the matrix Ω(u, v), [..., k, k], of the curvature in a frame of k vectors ν_b, [k, ..., d], at points x: column b holds the
// coefficients, in the frame, of R(u, v)ν_b, or of its orthogonal projection to the span of the frame if k < d. In an orthonormal frame it is skew. A
// frame that is transported around a small loop of area element u ∧ v turns by −Ω(u, v), to first order in the area. On a Charted manifold points and
// vectors are ambient.
func CurvatureForm(m Manifold, x, frame, u, v *Node) *Node {
	k := frame.Shape().Dim(0)
	at := At(m, x)
	lowered := func(w *Node) *Node { return Flat(at.Manifold, broadcastLike(at.X, w), w) }
	turned := at.Enter(Vector, Riemann(m, BroadcastPrefix(x, k), BroadcastPrefix(u, k), BroadcastPrefix(v, k), frame))
	frame = at.Enter(Vector, frame)
	covectors := linalg.Rows(lowered(frame))
	return linalg.Solve(linalg.MatMul(covectors, linalg.T(linalg.Rows(frame))), linalg.MatMul(covectors, linalg.T(linalg.Rows(turned))))
}

// Ricci returns the Ricci curvature Ric_jk = R^i_kij, [..., d, d], at points x, [..., d], in coordinates: Ric(v, w) is the trace
// of u ↦ R(u, v)w. It needs memory of order d³, not d⁴:
//
//	Ric_jk = ∂_i Γ^i_jk − ∂_j Γ^i_ik + Γ^i_im Γ^m_jk − Γ^i_jm Γ^m_ik.
func Ricci(m Manifold, x *Node) *Node {
	checkPoint(m, "Ricci", x)
	d := m.Dim()
	batch := x.Shape().Dimensions[:x.Rank()-1]
	shaped := func(a *Node, dims ...int) *Node { return Reshape(a, append(slices.Clone(batch), dims...)...) }
	gamma := ChristoffelSymbols(m, x)
	unit := linalg.Eye(x.Graph(), x.DType(), d)
	trace := func(gamma *Node) *Node { // Γ^i_ik
		return ReduceSum(Mul(gamma, ExpandLeftToRank(align(unit, "ij", "ijk"), gamma.Rank())), -3, -2)
	}
	// The derivatives, one direction i in each turn of the loop: ∂_i Γ is a term of the sum over i and gives row i.
	slope, _ := autodiff.Scan(d, func(i *Node, sum, _ []*Node) ([]*Node, []*Node) {
		row := OneHot(i, d, x.DType())
		in := func(indices string) *Node {
			return ExpandLeftToRank(align(row, indices[:1], indices), len(batch)+len(indices))
		}
		direction := BroadcastToDims(ExpandLeftToRank(row, x.Rank()), x.Shape().Dimensions...)
		change := push(func(x *Node) *Node { return ChristoffelSymbols(m, x) }, fresh(x), direction)
		chosen := ReduceSum(Mul(change, in("ijk")), -3)
		return []*Node{Add(sum[0], Sub(chosen, Mul(in("jk"), align(trace(change), "k", "jk"))))}, nil
	}, []*Node{ZerosLike(ReduceSum(gamma, -3))}, nil)
	first := ReduceSum(Mul(gamma, align(trace(gamma), "m", "mjk")), -3)
	second := linalg.MatMul(shaped(align(gamma, "ijm", "jim"), d, d*d), shaped(align(gamma, "mik", "imk"), d*d, d))
	return Add(slope[0], Sub(first, second))
}

// ScalarCurvature returns g^jk Ric_jk, [...], at points x: for a surface twice its Gauss curvature. On a Charted manifold points are
// ambient, [..., a].
func ScalarCurvature(m Manifold, x *Node) *Node {
	at := At(m, x)
	return metricTrace(at.Manifold, at.X, Ricci(at.Manifold, at.X))
}
