package geom

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
)

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
	rank := a.Rank()
	perm := []int{rank - 2}
	for axis := range rank {
		if axis != rank-2 {
			perm = append(perm, axis)
		}
	}
	rows := sharp(TransposeAllDims(a, perm...)) // [d, ..., d]
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
	return Reshape(product, append(append([]int{}, x.Shape().Dimensions...), m.Dim())...)
}
