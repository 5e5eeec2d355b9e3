package geom

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
)

// RiemannTensor returns R^l_kij, [..., d, d, d, d] in the order l, k, i, j, with R(∂_i, ∂_j)∂_k = R^l_kij ∂_l, at points x,
// [..., d], in coordinates:
//
//	R^l_kij = ∂_i Γ^l_jk − ∂_j Γ^l_ik + Γ^l_im Γ^m_jk − Γ^l_jm Γ^m_ik.
func RiemannTensor(m Manifold, x *Node) *Node {
	checkPoint(m, "RiemannTensor", x)
	d := m.Dim()
	batch := x.Shape().Dimensions[:x.Rank()-1]
	shaped := func(a *Node, dims ...int) *Node { return Reshape(a, append(slices.Clone(batch), dims...)...) }
	slope := shaped(autodiff.Jacobian(func(x *Node) *Node {
		dims := slices.Clone(x.Shape().Dimensions)
		dims[len(dims)-1] = d * d * d
		return Reshape(ChristoffelSymbols(m, x), dims...)
	}, fresh(x)), d, d, d, d) // ∂_i Γ^l_jk, [l, j, k, i]
	gamma := ChristoffelSymbols(m, x)
	product := shaped(linalg.MatMul(shaped(gamma, d*d, d), shaped(gamma, d, d*d)), d, d, d, d) // Γ^l_im Γ^m_jk, [l, i, j, k]
	half := Add(align(slope, "ljki", "lkij"), align(product, "lijk", "lkij"))
	return Sub(half, align(half, "lkji", "lkij"))
}
