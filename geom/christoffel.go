package geom

import (
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// ClosedChristoffel is an optional interface of manifolds that know Γ(u, v) in closed form; x, u, v and the result are [..., d].
type ClosedChristoffel interface {
	Christoffel(x, u, v *Node) *Node
}

// Connection is the Levi-Civita connection at points x, [B..., d]. NewConnection computes once what depends on x alone, in
// particular the factorisation of the metric; Gamma then uses it for any number of vectors.
type Connection struct {
	m           Manifold
	x           *Node
	flat, sharp func(v *Node) *Node // ♭ and ♯ at x, of [P..., B..., d]
	points      *pointCometric
}

// NewConnection returns the connection at points x, [B..., d], in coordinates.
func NewConnection(m Manifold, x *Node) *Connection {
	checkPoint(m, "NewConnection", x)
	c := &Connection{m: m, x: x}
	if _, closed := m.(ClosedChristoffel); closed {
		return c
	}
	if p, ok := m.(PointCometric); ok {
		c.points = newPointCometric(p, x)
	}
	c.flat, c.sharp = musical(m, x, c.points)
	return c
}

// Gamma returns Γ(u, v)^i = Γ^i_kl u^k v^l. For points [B..., d] the vectors are [P..., B..., d]: they may have additional axes
// P in front, which broadcast between u and v. For example, for one vector u, [B..., d], and a frame ν, [m, B..., d],
// Gamma(u, ν) is [m, B..., d]; and Gamma of ν expanded to [m, 1, B..., d] and ν is [m, m, B..., d].
//
// It is computed from a metric g by Γ(u, v)♭ = ½ ((D_u g) v + (D_v g) u − ∂⟨u, g v⟩), and from a cometric K = g* by
// Γ(u, v) = ½ (K ∂⟨a, K b⟩ − (D_u K) b − (D_v K) a) with a = u♭ and b = v♭. The derivatives are by the point, with u, v, a and b
// held constant.
func (c *Connection) Gamma(u, v *Node) *Node {
	same := u == v
	rank := max(u.Rank(), v.Rank(), c.x.Rank())
	c.check(u)
	c.check(v)
	dims := make([]int, rank)
	u1, v1 := ExpandLeftToRank(u, rank), ExpandLeftToRank(v, rank)
	for a := range dims {
		n, k := u1.Shape().Dim(a), v1.Shape().Dim(a)
		if dims[a] = max(n, k); min(n, k) != dims[a] && min(n, k) != 1 {
			panic(fmt.Sprintf("geom.Connection: vectors %s and %s do not broadcast", u.Shape(), v.Shape()))
		}
	}
	all := func(v *Node) *Node { return BroadcastToDims(ExpandLeftToRank(v, rank), dims...) }
	if closed, ok := c.m.(ClosedChristoffel); ok {
		return closed.Christoffel(all(c.x), all(u), all(v))
	}
	// Derivatives are taken with respect to a new node, on which neither the vectors nor the factorisation at x depends.
	x := fresh(all(c.x))
	if metric, ok := c.m.(Metric); ok {
		u, v := all(u), all(v)
		g := metric.G(x)
		gu := linalg.MatVec(g, u)
		gv := gu
		if !same {
			gv = linalg.MatVec(g, v)
		}
		lower := Sub(alongBoth(x, u, v, gv, gu), slope(x, u, gv))
		return c.sharp(MulScalar(lower, 0.5))
	}
	a := c.flat(u)
	b := a
	if !same {
		b = c.flat(v)
	}
	u, v, a, b = all(u), all(v), all(a), all(b)
	if c.points != nil {
		return c.points.gamma(u, v, a, b, c.sharp)
	}
	cometric := c.m.(Cometric)
	ka := cometric.Sharp(x, a)
	kb := ka
	if !same {
		kb = cometric.Sharp(x, b)
	}
	return MulScalar(Sub(c.sharp(slope(x, a, kb)), alongBoth(x, u, v, kb, ka)), 0.5)
}

// slope returns ∂⟨a, y(x)⟩/∂x for a constant a.
func slope(x, a, y *Node) *Node { return Gradient(ReduceAllSum(Mul(a, y)), x)[0] }

// alongBoth returns D_u y(x) + D_v z(x), the gradient of ⟨∂⟨w, y⟩, u⟩ + ⟨∂⟨w, z⟩, v⟩ with respect to w.
func alongBoth(x, u, v, y, z *Node) *Node {
	w := ZerosLike(y)
	if y == z {
		u, v = Add(u, v), nil
	}
	s := ReduceAllSum(Mul(slope(x, w, y), u))
	if v != nil {
		s = Add(s, ReduceAllSum(Mul(slope(x, w, z), v)))
	}
	return Gradient(s, w)[0]
}

func (c *Connection) check(v *Node) {
	have, want := v.Shape().Dimensions, c.x.Shape().Dimensions
	refuse.If(len(have) < len(want) || !slices.Equal(have[len(have)-len(want):], want),
		"geom.Connection: vector %s at points %s, want the points' shape, with other axes in front or none", v.Shape(), c.x.Shape())
}

// Christoffel returns Γ(u, v), [..., d], at points x, [..., d], in coordinates. For many vectors at the same points use a
// Connection.
func Christoffel(m Manifold, x, u, v *Node) *Node { return NewConnection(m, x).Gamma(u, v) }

// ChristoffelSymbols returns Γ^i_kl = ½ g^im (∂_k g_ml + ∂_l g_mk − ∂_m g_kl), [..., d, d, d], upper index first, at points x,
// [..., d], in coordinates. These are d³ numbers for every point: where only Γ(u, v) is needed, Christoffel is cheaper.
func ChristoffelSymbols(m Manifold, x *Node) *Node {
	checkPoint(m, "ChristoffelSymbols", x)
	d := m.Dim()
	batch := x.Shape().Dimensions[:x.Rank()-1]
	shaped := func(a *Node, dims ...int) *Node { return Reshape(a, append(slices.Clone(batch), dims...)...) }
	if _, closed := m.(ClosedChristoffel); closed {
		basis := basisAt(x)
		gamma := NewConnection(m, x).Gamma(ExpandAxes(basis, 1), ExpandAxes(basis, 0)) // [k, l, ..., i]
		return TransposeAllDims(gamma, lists.Make(gamma.Rank(), func(a int) int { return (a + 2) % gamma.Rank() })...)
	}
	if metric, ok := m.(Metric); ok {
		dg := autodiff.Jacobian(metric.G, fresh(x)) // ∂_l g_mk, [..., m, k, l]
		lower := Sub(Add(dg, align(dg, "mlk", "mkl")), align(dg, "klm", "mkl"))
		upper := linalg.Solve(metric.G(x), shaped(lower, d, d*d))
		return MulScalar(shaped(upper, d, d, d), 0.5)
	}
	if p, ok := m.(PointCometric); ok {
		return newPointCometric(p, x).symbols()
	}
	// With C^ab_k = ∂_k g^ab, ∂_k g_ml = −g_ma C^ab_k g_bl.
	k := CometricMatrix(m, x)
	f := linalg.Factor(k)
	lowered := func(a *Node) *Node { return shaped(f.Solve(shaped(a, d, d*d)), d, d, d) }
	c := autodiff.Jacobian(func(x *Node) *Node { return CometricMatrix(m, x) }, fresh(x))
	mixed := lowered(c)                          // g_lb C^bi_k, [l, i, k]
	lower := lowered(align(mixed, "lak", "alk")) // g_ka C^ab_m g_bl, [k, l, m]
	last := linalg.MatMul(k, shaped(align(lower, "klm", "mkl"), d, d*d))
	return MulScalar(Sub(shaped(last, d, d, d), Add(align(mixed, "lik", "ikl"), align(mixed, "kil", "ikl"))), 0.5)
}

// ChristoffelTrace returns g^kl Γ^i_kl, [..., d], at points x, [..., d], in coordinates. It is −2 times the drift of Brownian
// motion:
//
//	g^kl Γ^i_kl = −(1/√g) ∂_k(√g g^ik) = −∂_k g^ik − g^ik ∂_k log √g.
func ChristoffelTrace(m Manifold, x *Node) *Node {
	checkPoint(m, "ChristoffelTrace", x)
	if p, ok := m.(PointCometric); ok {
		return newPointCometric(p, x).trace()
	}
	d := m.Dim()
	basis := basisAt(x)
	xs := BroadcastPrefix(x, d)
	if closed, ok := m.(ClosedChristoffel); ok {
		_, sharp := musical(m, x, nil)
		return ReduceSum(closed.Christoffel(xs, basis, sharp(basis)), 0)
	}
	// Entry k of a leading axis differentiates column k of the metric or cometric in direction k; the entries are summed.
	divergence := func(y *Node) *Node {
		w := ZerosLike(x)
		return Gradient(ReduceAllSum(Mul(slope(xs, BroadcastPrefix(w, d), y), basis)), w)[0]
	}
	y := fresh(x)
	gradient := Gradient(ReduceAllSum(LogVolume(m, y)), y)[0]
	if cometric, ok := m.(Cometric); ok {
		return Neg(Add(divergence(cometric.Sharp(xs, basis)), cometric.Sharp(x, gradient)))
	}
	// g^kl (∂_k g_al − ½ ∂_a g_kl), the index raised.
	_, sharp := musical(m, x, nil)
	metric := m.(Metric)
	return sharp(Sub(divergence(linalg.MatVec(metric.G(xs), sharp(basis))), gradient))
}

// basisAt returns the coordinate vectors ∂_k at every point of x, [d, ..., d].
func basisAt(x *Node) *Node {
	d := x.Shape().Dim(-1)
	eye := linalg.Eye(x.Graph(), x.DType(), d)
	for eye.Rank() <= x.Rank() {
		eye = ExpandAxes(eye, 1)
	}
	return BroadcastToDims(eye, append([]int{d}, x.Shape().Dimensions...)...)
}

// musical returns ♭ and ♯ at x, [B..., d], of vectors [P..., B..., d]: one factorisation for all of them.
func musical(m Manifold, x *Node, points *pointCometric) (flat, sharp func(v *Node) *Node) {
	batch := x.Rank() - 1
	product := func(a *Node) func(v *Node) *Node {
		return onColumns(batch, a.Shape().Dim(-1), func(v *Node) *Node { return linalg.MatMul(a, v) })
	}
	solution := func(f linalg.Factorisation) func(v *Node) *Node {
		return onColumns(batch, f.A.Shape().Dim(-1), f.Solve)
	}
	metric, isMetric := m.(Metric)
	cometric, isCometric := m.(Cometric)
	flattener, isFlattener := m.(Flattener)
	if isCometric {
		sharp = func(p *Node) *Node { return cometric.Sharp(linalg.Lead(x, p, 1), p) }
	}
	switch {
	case points != nil:
		return solution(points.factor), product(points.k)
	case isMetric && isCometric:
		flat = product(metric.G(x))
	case isMetric:
		f := linalg.Factor(metric.G(x))
		flat, sharp = product(f.A), solution(f)
	case isFlattener && isCometric:
		flat = func(v *Node) *Node { return flattener.Flat(linalg.Lead(x, v, 1), v) }
	case isCometric:
		flat = solution(linalg.Factor(CometricMatrix(m, x)))
	default:
		panic(fmt.Sprintf("geom: %T is neither a Metric nor a Cometric", m))
	}
	return flat, sharp
}

// onColumns turns a function f of matrices, [B..., n, k] to [B..., n, k], into one of vectors, [P..., B..., n·D]: the axes P and
// D become the columns of a matrix.
func onColumns(batch, n int, f func(columns *Node) *Node) func(v *Node) *Node {
	return func(v *Node) *Node {
		dims := v.Shape().Dimensions
		last := len(dims) - 1
		split := append(slices.Clone(dims[:last]), n, dims[last]/n)
		own := last - batch // axes P
		perm, inverse := make([]int, len(split)), make([]int, len(split))
		for a := range perm {
			perm[a] = (a + own) % len(perm)
			inverse[perm[a]] = a
		}
		c := TransposeAllDims(Reshape(v, split...), perm...)
		shape := c.Shape().Dimensions
		y := f(Reshape(c, append(slices.Clone(shape[:batch+1]), -1)...))
		return Reshape(TransposeAllDims(Reshape(y, shape...), inverse...), dims...)
	}
}

// fresh returns a new node with the value of x, to differentiate with respect to it: nodes made from x before do not depend on
// the new one. GoMLX's Identity has no gradient.
func fresh(x *Node) *Node { return Squeeze(ExpandAxes(x, 0), 0) }

// align permutes the last axes of x. Each has a letter in from, and moves to the place of this letter in to; letters that are
// only in to become axes of length 1.
func align(x *Node, from, to string) *Node {
	batch := x.Rank() - len(from)
	perm := make([]int, 0, x.Rank())
	dims := slices.Clone(x.Shape().Dimensions[:batch])
	for a := range batch {
		perm = append(perm, a)
	}
	for _, letter := range []byte(to) {
		at := slices.Index([]byte(from), letter)
		if at < 0 {
			dims = append(dims, 1)
			continue
		}
		perm = append(perm, batch+at)
		dims = append(dims, x.Shape().Dim(batch+at))
	}
	return Reshape(TransposeAllDims(x, perm...), dims...)
}

func checkPoint(m Manifold, what string, x *Node) {
	refuse.If(x.Rank() == 0 || x.Shape().Dim(-1) != m.Dim(), "geom.%s: points %s, want last axis %d", what, x.Shape(), m.Dim())
}

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
	split := func(v *Node) *Node { return linalg.Matrices(v, p.n, p.dim) }
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
	return MulScalar(Sub(sharp(linalg.Vectors(gradient)), linalg.Vectors(change)), 0.5)
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
	return linalg.Vectors(Sub(MulScalar(linalg.MatMul(p.k, volume), float64(p.dim)), ReduceSum(p.slope, -3)))
}
