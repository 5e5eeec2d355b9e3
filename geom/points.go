package geom

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/linalg"
)

// PointCometric is an optional interface of a Cometric of n points in R^D, d = n·D, with the matrix K ⊗ I_D: its block (i, j) is
// K(x_i, x_j)·I_D for a symmetric kernel K. The connection then needs one n×n factorisation, O(n² D) operations for each pair of
// vectors, and no automatic differentiation.
type PointCometric interface {
	Cometric
	Gram(q *Node) *Node         // K(x_i, x_j), [..., n, n]
	GramGradient(q *Node) *Node // ∂K(x_i, x_j)/∂x_i, [..., n, n, D]
}

// pointCometric is a PointCometric at given points.
type pointCometric struct {
	k      *Node // K_ij, [B..., n, n]
	slope  *Node // S_ij = ∂K(x_i, x_j)/∂x_i, [B..., n, n, D]; so ∂K_ij/∂x_k = δ_ik S_ij + δ_jk S_ji
	factor linalg.Factorisation
	n, dim int
}

func newPointCometric(m PointCometric, x *Node) *pointCometric {
	k := m.Gram(x)
	n := k.Shape().Dim(-1)
	return &pointCometric{k: k, slope: m.GramGradient(x), factor: linalg.Factor(k), n: n, dim: m.Dim() / n}
}

// gamma is Connection.Gamma, for u, v, a = u♭ and b = v♭ of one shape, [P..., B..., d]:
//
//	(D_u K)_ij = S_ij·u_i + S_ji·u_j,  ∂⟨a, K b⟩/∂x_i = Σ_j S_ij (a_i·b_j + b_i·a_j).
func (p *pointCometric) gamma(u, v, a, b *Node, sharp func(*Node) *Node) *Node {
	dims := u.Shape().Dimensions
	split := func(v *Node) *Node { return Reshape(v, append(append([]int{}, dims[:len(dims)-1]...), p.n, p.dim)...) }
	join := func(v *Node) *Node { return Reshape(v, dims...) }
	s := ExpandLeftToRank(p.slope, u.Rank()+2)
	along := func(u *Node) *Node {
		half := ReduceSum(Mul(s, ExpandAxes(u, -2)), -1)
		return Add(half, linalg.T(half))
	}
	u, v, a, b = split(u), split(v), split(a), split(b)
	pairing := linalg.MatMul(a, linalg.T(b))
	pairing = Add(pairing, linalg.T(pairing))
	gradient := ReduceSum(Mul(s, ExpandAxes(pairing, -1)), -2)
	change := Add(linalg.MatMul(along(u), b), linalg.MatMul(along(v), a))
	return MulScalar(Sub(sharp(join(gradient)), join(change)), 0.5)
}

// symbols is ChristoffelSymbols. The indices i, j, k, l are landmarks; a, c, e are the coordinates of landmarks i, k, l. With
// C_k = ∂K/∂x_k and G = K⁻¹, and up to the identities of R^D,
//
//	2Γ^i_kl = −(C_k G)_il − (C_l G)_ik + Σ_j K_ij (G C_j G)_kl.
func (p *pointCometric) symbols() *Node {
	g := p.factor.Inverse()
	batch := p.k.Shape().Dimensions[:p.k.Rank()-2]
	shaped := func(a *Node, dims ...int) *Node { return Reshape(a, append(append([]int{}, batch...), dims...)...) }
	n, dim := p.n, p.dim
	eye := linalg.Eye(p.k.Graph(), p.k.DType(), n)
	unit := linalg.Eye(p.k.Graph(), p.k.DType(), dim)
	unbatched := func(a *Node, from, to string) *Node { return ExpandLeftToRank(align(a, from, to), len(batch)+len(to)) }

	sg := linalg.MatMul(g, shaped(align(p.slope, "ijc", "jic"), n, n*dim)) // (S G)_il = Σ_j S_ij G_jl, [l, i, c]
	sg = shaped(sg, n, n, dim)
	cg := Add( // (C_k G)_il = δ_ik (S G)_il + S_ki G_kl, [i, k, c, l]
		Mul(unbatched(eye, "ik", "ikcl"), align(sg, "lic", "ikcl")),
		Mul(align(p.slope, "kic", "ikcl"), align(g, "kl", "ikcl")))
	gcg := Mul(align(g, "jk", "jkla"), align(sg, "lja", "jkla")) // half of (G C_j G)_kl, [j, k, l, a]
	gcg = Add(gcg, align(gcg, "jlka", "jkla"))
	raised := shaped(linalg.MatMul(p.k, shaped(gcg, n, n*n*dim)), n, n, n, dim) // [i, k, l, a]

	const out = "iakcle"
	first := Mul(align(cg, "ikcl", out), unbatched(unit, "ae", out))
	second := Mul(align(cg, "ilek", out), unbatched(unit, "ac", out))
	last := Mul(align(raised, "ikla", out), unbatched(unit, "ce", out))
	d := n * dim
	return MulScalar(shaped(Sub(last, Add(first, second)), d, d, d), 0.5)
}

// trace is ChristoffelTrace: −Σ_j ∂K_ij/∂x_j + D Σ_j K_ij Σ_k G_jk S_jk, with ∂ log det K/∂x_j = 2 Σ_k G_jk S_jk.
func (p *pointCometric) trace() *Node {
	volume := ReduceSum(Mul(ExpandAxes(p.factor.Inverse(), -1), p.slope), -2)
	h := Sub(MulScalar(linalg.MatMul(p.k, volume), float64(p.dim)), ReduceSum(p.slope, -3))
	dims := h.Shape().Dimensions
	return Reshape(h, append(append([]int{}, dims[:len(dims)-2]...), p.n*p.dim)...)
}
