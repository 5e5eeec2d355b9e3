package geom

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
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
	return Sub(entry(terms, 0), entry(terms, 1))
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
	lowered := func(w *Node) *Node { return Flat(at.Manifold, linalg.Lead(at.X, w, 1), w) }
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

// The operators take functions of points x, [..., d], which treat the leading axes as a batch: a scalar function returns [...],
// a vector field [..., d]. On a Charted manifold points and vectors are ambient, [..., a], and a vector field returns tangent vectors.

// GradientOf returns grad f = (df)♯, [..., d], at points x, of a scalar function f. On a Charted manifold points and vectors are ambient.
func GradientOf(m Manifold, f func(x *Node) *Node, x *Node) *Node {
	at := At(m, x)
	return at.Leave(Vector, Sharp(at.Manifold, at.X, autodiff.Grad(at.inCoordinates(f), fresh(at.X))))
}

// Divergence returns div v = (1/√g) ∂_i(√g v^i) = ∂_i v^i + v^i ∂_i log √g, [...], at points x, of a vector field v, with
// √g = √det g_ij. On a Charted manifold points and vectors are ambient.
func Divergence(m Manifold, v func(x *Node) *Node, x *Node) *Node {
	at := At(m, x)
	checkPoint(at.Manifold, "Divergence", at.X)
	volume := autodiff.Grad(func(x *Node) *Node { return LogVolume(at.Manifold, x) }, fresh(at.X))
	field := func(x *Node) *Node { return at.Moved(x).Enter(Vector, at.inCoordinates(v)(x)) }
	return Add(linalg.Trace(autodiff.Jacobian(field, fresh(at.X))), ReduceSum(Mul(field(at.X), volume), -1))
}

// LaplaceBeltrami returns Δf = div grad f = g^ij ∂_i∂_j f − g^kl Γ^i_kl ∂_i f, [...], at points x, of a scalar function f. On a
// Charted manifold points are ambient.
func LaplaceBeltrami(m Manifold, f func(x *Node) *Node, x *Node) *Node {
	at := At(m, x)
	checkPoint(at.Manifold, "LaplaceBeltrami", at.X)
	slopes, hessian := autodiff.Hessian(func(x []*Node) *Node { return at.inCoordinates(f)(x[0]) }, fresh(at.X))
	return Laplacian(at.Manifold, at.X, ChristoffelTrace(at.Manifold, at.X), slopes[0], hessian)
}

// Laplacian is Δf = g^ij ∂_i∂_j f − g^kl Γ^i_kl ∂_i f, [...], at points x, [..., d], in coordinates, from the ChristoffelTrace
// there and from the derivatives of f: ∂_i f, [..., d], and ∂_i∂_j f, [..., d, d].
func Laplacian(m Manifold, x, trace, slope, hessian *Node) *Node {
	return Sub(metricTrace(m, x, hessian), ReduceSum(Mul(trace, slope), -1))
}

// inCoordinates is f as a function of the coordinates.
func (at Local) inCoordinates(f func(z *Node) *Node) func(x *Node) *Node {
	return func(x *Node) *Node { return f(at.Point(x)) }
}

// metricTrace returns g^ij a_ij, [...], of a symmetric matrix, [..., d, d].
func metricTrace(m Manifold, x, a *Node) *Node {
	var points *pointCometric
	if p, ok := m.(PointCometric); ok {
		points = newPointCometric(p, x)
	}
	_, sharp := musical(m, x, points)
	perm := lists.Range(a.Rank() - 2)
	rows := sharp(TransposeAllDims(a, slices.Concat([]int{len(perm)}, perm, []int{len(perm) + 1})...)) // [d, ..., d]
	return ReduceSum(ReduceSum(Mul(rows, basisAt(x)), -1), 0)
}

// LogVolume returns log √det g, [...], the logarithm of the density of the Riemannian volume, at points x, [..., d], in
// coordinates; on a SubRiemannian manifold that of Popp's volume.
func LogVolume(m Manifold, x *Node) *Node {
	checkPoint(m, "LogVolume", x)
	switch m := m.(type) {
	case SubRiemannian:
		return logPopp(m, x)
	case Metric:
		return MulScalar(linalg.LogDet(m.G(x)), 0.5)
	case PointCometric:
		k := m.Gram(x)
		return MulScalar(linalg.LogDet(k), -0.5*float64(m.Dim()/k.Shape().Dim(-1)))
	}
	return MulScalar(linalg.LogDet(CometricMatrix(m, x)), -0.5)
}

// Orthonormal returns a matrix E, [..., d, d], whose columns are an orthonormal basis of the tangent space at points x, [..., d],
// in coordinates: E Eᵀ = g* and Eᵀ g E = 1. It is the Cholesky factor of the cometric, lower triangular. On a SubRiemannian manifold the
// columns are its Frame, [..., d, k].
func Orthonormal(m Manifold, x *Node) *Node {
	checkPoint(m, "Orthonormal", x)
	if m, ok := m.(SubRiemannian); ok {
		return linalg.T(linalg.Rows(m.Frame(x)))
	}
	p, ok := m.(PointCometric)
	if !ok {
		return linalg.Cholesky(CometricMatrix(m, x))
	}
	l := linalg.Cholesky(p.Gram(x))
	unit := linalg.Eye(x.Graph(), x.DType(), m.Dim()/l.Shape().Dim(-1))
	product := Mul(align(l, "ij", "iajb"), ExpandLeftToRank(align(unit, "ab", "iajb"), l.Rank()+2))
	return Reshape(product, slices.Concat(x.Shape().Dimensions, []int{m.Dim()})...)
}
