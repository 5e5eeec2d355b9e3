package guided

import (
	"math"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/guided/native"
	"anatomy/geom/linalg"
	"anatomy/internal/lists"
)

// sweep are the nodes of a guided process on a tree, for C chains. Data are of G groups, each of C/G chains: of one tree
// with different observations. Messages are those of guide after the n steps of the edges of a level, as terms of a polynomial of P.
type sweep struct {
	model
	plan    *plan
	steps   int
	h       *Node   // length of a step, [E], of the edges in the order of the plan
	pick    []*Node // plan.parents
	told    []terms // [level] of [n, G, P, E, n, n] and [n, G, P, E, n, D]
	root    terms   // the root's message, [G, P, 1, n, n] and [G, P, 1, n, D]
	start   *Node   // [G, wide, D]: the state of the root, or the mean of its prior
	free    *Node   // the standard deviations of the prior of the root, [n]; nil where it is known
	noise   *Node   // standard deviation of the errors of the observations, [G], where it is not among the unknowns
	sharp   *Node   // its inverse in the messages, as terms, [G, P]
	seen    []views // at the root, and [1 + level]
	centre  *Node   // of the chart of the root's message, [G, 1, a], and of those after the steps of each level, [n, G, E, a]: see centres
	centres []*Node
}

// terms are the coefficients of messages.
type terms struct{ b, f *Node }

// views say what was seen at the nodes of a level: 1 if they are leaves, else 0, the residuals of what was seen and how many numbers that
// were, all [G, E]; and where a node that is no leaf is seen, the messages of those for errors of 1, [G, E, wide, wide] and [G, E, wide, D]. On a
// geom.Charted manifold, where messages are of coordinates, no node is marked as a leaf.
type views struct{ mark, residual, count, b, f *Node }

// unknown are parameters at a point, in the chains, [C].
type unknown struct {
	rate   *Node   // of time; nil for 1
	noise  *Node   // nil where it is known
	params []*Node // of the process
	varies []bool  // which of them are [C]
	powers *Node   // [C, P], what the terms of messages are multiplied with
}

// powers are the monomials of y, [..., p], in [..., P], P = (p + 1)(p + 2)/2.
func powers(y *Node, p int) *Node {
	return Concatenate(lists.Each(monomials(p), func(factors []int) *Node {
		value := OnesLike(SliceAxis(y, -1, AxisRange(0, 1)))
		for _, j := range factors {
			value = Mul(value, SliceAxis(y, -1, AxisRange(j, j+1)))
		}
		return value
	}), -1)
}

// combine makes [C, ...] of terms [G, P, ...].
func combine(powers, x *Node) *Node {
	x = StopGradient(x)
	dims, c := x.Shape().Dimensions, powers.Shape().Dim(0)
	out := linalg.MatMul(Reshape(powers, dims[0], c/dims[0], dims[1]), Reshape(x, dims[0], dims[1], -1))
	return Reshape(out, append([]int{c}, dims[2:]...)...)
}

// at are the messages for the paths of an edge, [C·E, n, n], or packed, and [C·E, n, D].
func (t terms) at(powers *Node) (b, f *Node) {
	return merge(combine(powers, t.b)), merge(combine(powers, t.f))
}

// unpacked are lower matrices, [N, n, n], that were packed.
func unpacked(b *Node, n int) *Node {
	upper := SliceAxis(Reverse(b, 2), 2, AxisRange(0, n))
	lower := SliceAxis(Reverse(SliceAxis(b, 2, AxisRange(0, n)), 1), 1, AxisRange(n%2))
	return TakeLowerTriangular(Concatenate([]*Node{upper, lower}, 1), 0)
}

// merge makes one axis of the first two.
func merge(x *Node) *Node {
	dims := x.Shape().Dimensions
	return Reshape(x, append([]int{dims[0] * dims[1]}, dims[2:]...)...)
}

// along are the parameters of the process for paths along the edges of a level: those that vary are [C·E, 1], so many times.
func (u unknown) along(edges, times int) []*Node {
	out := slices.Clone(u.params)
	for j, p := range out {
		if u.varies[j] {
			p = perEdge(p, edges)
			out[j] = Reshape(BroadcastToDims(ExpandAxes(p, 0), times, p.Shape().Dim(0), 1), times*p.Shape().Dim(0), 1)
		}
	}
	return out
}

// perChain repeats x of [G, ...] for the chains of each group, [C, ...].
func perChain(x *Node, chains int) *Node {
	dims := x.Shape().Dimensions
	k := chains / dims[0]
	if k == 1 {
		return x
	}
	wide := append([]int{dims[0], k}, dims[1:]...)
	return Reshape(BroadcastToDims(ExpandAxes(x, 1), wide...), append([]int{chains}, dims[1:]...)...)
}

// perEdge repeats a number of each chain, [C], for the edges of a level, [C·E, 1].
func perEdge(x *Node, edges int) *Node {
	c := x.Shape().Dim(0)
	return Reshape(BroadcastToDims(ExpandAxes(x, 1), c, edges), c*edges, 1)
}

// step draws x' from N(x, A), A = σσᵀ, times the message (B, f) of x', for η with the distribution N(0, A), and returns it with the
// logarithms of the mean of the message over N(x, A) and of its value at x'. All are [C·E, ...]; B may be packed.
//
//	u = f − Bx,  S = 1 + BABᵀ = PPᵀ,  y = P⁻¹u,  q = (P + 1)⁻¹Bη,  v = P⁻ᵀ(y − q),
//	x' = x + η + ABᵀv,  log mean = −½‖y‖² − (D/2) log det S,  log value = −½‖v − q‖²,  v − q = f − Bx'.
//
// A path with the weight mean/value is one of the process, so that chains of steps of Euler and Maruyama are weighted exactly, however
// long the steps are, and whatever the messages. For h → 0 the drift is the guided one, b + σσᵀBᵀu, and the weights become those of M.
// Schauer, F. van der Meulen and H. van Zanten (2017). Nothing is subtracted that is large where errors are small, so that states may
// be seen exactly. (The root of x's variance is that of A. Andrews, A square root formulation of the Kalman covariance equations, 1968.)
func step(x, a, eta, b, f *Node) (next, mean, value *Node) {
	if n := x.Shape().Dim(1); b.Shape().Dim(2) > n {
		b = unpacked(b, n)
	}
	ba := linalg.MatMul(b, a)
	s := linalg.MatMul(ba, linalg.T(b))
	s = Add(MulScalar(Add(s, linalg.T(s)), 0.5), linalg.EyeLike(s))
	p := linalg.Factor(s)
	y := p.SolveL(Sub(f, linalg.MatMul(b, x)), false)
	q := linalg.SolveTriangular(Add(p.L, linalg.EyeLike(p.L)), linalg.MatMul(b, eta), true, false)
	v := p.SolveL(Sub(y, q), true)
	log := func(off *Node) *Node { return MulScalar(ReduceSum(Square(off), -2, -1), -0.5) }
	next = Add(Add(x, eta), linalg.MatMul(linalg.T(ba), v))
	return next, Sub(log(y), MulScalar(p.LogDet(), 0.5*float64(x.Shape().Dim(-1)))), log(Sub(v, q))
}

// stepFrom is step with η = Lξ, A = LLᵀ, for packed messages: in C where that is possible. There W = BL, lower too, stands for BA:
// S = 1 + WWᵀ and x' = x + L(ξ + Wᵀv).
func stepFrom(x, a, xi, b, f *Node) (next, mean, value *Node) {
	if x.Shape().Dim(2) > 3 || !engine.HasNative(native.Step, x) || x.DType() != dtypes.Float64 {
		return step(x, a, linalg.MatMul(linalg.Cholesky(a), xi), b, f)
	}
	in, number := []*Node{a, x, b, f, xi}, shapes.Make(x.DType(), x.Shape().Dim(0))
	out := autodiff.CustomVJP(in, engine.Native(native.Step, in, x.Shape(), number, number), func(ct []*Node) []*Node {
		return engine.Native(native.Step, append(slices.Clone(in), ct...), a.Shape(), x.Shape(), b.Shape(), f.Shape(), xi.Shape())
	})
	return out[0], out[1], out[2]
}

// run takes the noise x[0] of the edges, [n, C, E, k·D], and x[2] of the root, [C, n·D], where it is not known, to the logarithm of the weight
// of each chain, [C], and to the states of the nodes in the order root, plan.order, [C, V, wide, D]. The weight is the density of the
// observations by that of the guided states relative to those of the process. With watch it returns, for each level, the states before
// the steps, [n, C·E, wide, D].
func (s *sweep) run(x chain, theta unknown, watch bool) (log, nodes *Node, paths []*Node) {
	c := x[0].Shape().Dim(1)
	root := perChain(s.start, c)
	log = ZerosLike(ReduceSum(root, -2, -1))
	if s.free != nil {
		root, log = s.begin(root, x[2], theta)
	}
	noise := theta.noise
	if noise == nil {
		noise = perChain(s.noise, c)
	}
	sharp := Mul(combine(theta.powers, s.sharp), noise)
	above := ExpandAxes(root, 1)
	if s.plan.inner[0] {
		log = Add(log, s.seen[0].density(above, ExpandAxes(ZerosLike(log), 1), sharp, noise))
	}
	all := []*Node{above}
	done := 0
	for l := range s.plan.levels {
		e := len(s.plan.levels[l])
		begin := Reshape(linalg.MatMul(s.pick[l], Reshape(above, c, above.Shape().Dim(1), s.wide*s.d)), c*e, s.wide, s.d)
		h := BroadcastToDims(ExpandAxes(SliceAxis(s.h, 0, AxisRange(done, done+e)), 0), c, e)
		if theta.rate != nil {
			h = Mul(h, ExpandAxes(theta.rate, 1))
		}
		h = Reshape(h, c*e, 1, 1)
		params := theta.along(e, 1)
		none := ReduceSum(ZerosLike(begin), -2, -1)
		white := Reshape(SliceAxis(x[0], 2, AxisRange(done, done+e)), s.steps, c*e, s.k, s.d)
		in := []*Node{white, s.told[l].b, s.told[l].f}
		if s.charted {
			in = append(in, s.centres[l])
		}
		final, visited := autodiff.Scan(s.steps, func(_ *Node, y, in []*Node) ([]*Node, []*Node) {
			b, f := terms{in[1], in[2]}.at(theta.powers)
			local, from := s.enter(y[0])
			drift, sigma, a := s.at(local, from, params, theta.varies)
			if drift != nil {
				from = Add(from, Mul(h, drift))
			}
			if s.charted {
				b, f = s.heard(local, s.centred(in[3], c), from, b, f)
			}
			var next, mean, value *Node
			if sigma == nil {
				next, mean, value = stepFrom(from, Mul(h, a), in[0], b, f)
			} else {
				scaled := Mul(Sqrt(h), sigma)
				next, mean, value = step(from, linalg.MatMul(scaled, linalg.T(scaled)), linalg.MatMul(scaled, in[0]), b, f)
			}
			var out []*Node
			if watch {
				out = []*Node{y[0]}
			}
			return []*Node{s.leave(local, next), Add(y[1], Sub(mean, value)), value}, out
		}, []*Node{begin, none, none}, in)
		paths = append(paths, visited...)
		log = Add(log, ReduceSum(Reshape(final[1], c, e), -1))
		above = Reshape(final[0], c, e, s.wide, s.d)
		all = append(all, above)
		log = Add(log, s.seen[1+l].density(above, Reshape(final[2], c, e), sharp, noise))
		done += e
	}
	return log, Concatenate(all, 1), paths
}

// begin takes the mean of the root's prior, [C, wide, D], and its noise to the root's state and the logarithm of its weight.
func (s *sweep) begin(x, xi *Node, theta unknown) (state, log *Node) {
	c := x.Shape().Dim(0)
	b, f := s.root.at(theta.powers)
	local, y := s.enter(x)
	if s.charted {
		b, f = s.heard(local, s.centred(s.centre, c), y, b, f)
	}
	variance := Mul(Reshape(Square(s.free), 1, 1, s.n), BroadcastPrefix(linalg.Eye(y.Graph(), y.DType(), s.n), c))
	next, mean, value := step(y, variance, Mul(Reshape(s.free, 1, s.n, 1), Reshape(xi, c, s.n, s.d)), b, f)
	return s.leave(local, next), Sub(mean, value)
}

// density is the logarithm of that of the observations of states x, [C, E, wide, D], of a level with errors of standard deviation noise, [C],
// where value, [C, E], is that of the messages there, which at leaves are those of the observations with errors of noise/sharp.
func (s views) density(x, value, sharp, noise *Node) *Node {
	c := noise.Shape().Dim(0)
	sharp, noise = ExpandAxes(sharp, -1), ExpandAxes(noise, -1)
	squares := MulScalar(perChain(s.residual, c), -0.5)
	if s.b != nil {
		off := Sub(perChain(s.f, c), linalg.MatMul(perChain(s.b, c), x))
		squares = Sub(squares, MulScalar(ReduceSum(Square(off), -2, -1), 0.5))
	}
	exact := Add(Mul(perChain(s.mark, c), Div(value, Square(sharp))), Div(squares, Square(noise)))
	count := Mul(perChain(s.count, c), AddScalar(Log(noise), 0.5*math.Log(2*math.Pi)))
	return ReduceSum(Sub(exact, count), -1)
}
