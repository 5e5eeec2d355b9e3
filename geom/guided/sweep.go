package guided

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
)

// sweep are the nodes of a guided process on a tree, for C chains. Data are of G groups, each of C/G chains: of one tree
// with different observations. Messages are those of guide, at the n+1 times of the edges of a level.
type sweep struct {
	model
	plan  *plan
	steps int
	h     *Node    // length of a step, [E], of the edges in the order of the plan
	pick  []*Node  // plan.parents
	b, f  []*Node  // [level] of [n + 1, G, E, n, n] and [n + 1, G, E, n, D]
	root  rootSeen // the root's message
	start *Node    // [G, n, D]: the state of the root, or the mean of its prior
	free  *Node    // the standard deviation of the prior of the root, a scalar; nil where it is known

	seen, values []*Node // [level] of [G, E, n] and [G, E, n, D]: marks of what leaves show, and what; nil where the noise is known
}

type rootSeen struct{ b, f *Node } // [G, n, n], [G, n, D]

// unknown are parameters at a point, in the chains, [C].
type unknown struct {
	rate, noise *Node   // nil where they are known: the rate is then 1
	params      []*Node // of the process
	varies      []bool  // which of them are [C]
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

// merge makes one axis of the first two.
func merge(x *Node) *Node {
	dims := x.Shape().Dimensions
	return Reshape(x, append([]int{dims[0] * dims[1]}, dims[2:]...)...)
}

// perEdge repeats a number of each chain, [C], for the edges of a level, [C·E, 1].
func perEdge(x *Node, edges int) *Node {
	c := x.Shape().Dim(0)
	return Reshape(BroadcastToDims(ExpandAxes(x, 1), c, edges), c*edges, 1)
}

// miss is f − Bx, [N, n, D].
func miss(b, f, x *Node) *Node { return Sub(f, linalg.MatMul(b, x)) }

// squares is Σ over the last two axes.
func squares(x *Node) *Node { return ReduceSum(Square(x), -2, -1) }

// step draws x' from N(x + hb, hσσᵀ) times the message (B, f) of x', with normal numbers ξ, and returns it with the logarithm of
// the mean of the message over N(x + hb, hσσᵀ), less its constant:
//
//	u = f − B(x + hb),  G = √h Bσ,  N = 1 + GᵀG = QQᵀ,  w = N⁻¹Gᵀu,
//	x' = x + hb + √h σ (w + Q⁻ᵀξ),  log = −½‖u − Gw‖² − ½‖w‖² − (D/2) log det N.
//
// So chains of steps of Euler and Maruyama are weighted exactly, however long the steps are. For h → 0 the drift is the guided one,
// b + σσᵀBᵀu, and the weights become those of M. Schauer, F. van der Meulen and H. van Zanten (2017). As w minimises what it is put
// in, errors without bound, ‖u‖ → ∞, cost no digits.
func step(x, b, sigma, h, bNext, fNext, xi *Node) (next, log *Node) {
	if b != nil {
		x = Add(x, Mul(h, b))
	}
	u := miss(bNext, fNext, x)
	scaled := Mul(Sqrt(h), sigma)
	g := linalg.MatMul(bNext, scaled)
	gt := linalg.T(g)
	gg := linalg.MatMul(gt, g)
	n := linalg.Factor(Add(gg, linalg.EyeLike(gg)))
	d := x.Shape().Dim(-1)
	turned := n.SolveL(Concatenate([]*Node{n.SolveL(linalg.MatMul(gt, u), false), xi}, -1), true)
	w, noise := SliceAxis(turned, -1, AxisRange(0, d)), SliceAxis(turned, -1, AxisRange(d))
	next = Add(x, linalg.MatMul(scaled, Add(w, noise)))
	log = MulScalar(Add(squares(Sub(u, linalg.MatMul(g, w))), squares(w)), -0.5)
	return next, Sub(log, MulScalar(n.LogDet(), 0.5*float64(d)))
}

// run takes the noise of the edges, [n, C, E, k·D], and of the root, [C, n·D], nil where it is known, to the logarithm of the weight
// of each chain less guide.constant and the constant of the root, [C], and to the states of the nodes in the order root, plan.order,
// [C, V, n, D]. With watch it returns, for each level, the states before the steps, [n, C·E, n, D].
func (s *sweep) run(w, xi *Node, theta unknown, watch bool) (log, nodes *Node, paths []*Node) {
	c := w.Shape().Dim(1)
	x := perChain(s.start, c)
	rootB, rootF := perChain(s.root.b, c), perChain(s.root.f, c)
	if s.free == nil {
		log = MulScalar(squares(miss(rootB, rootF, x)), -0.5)
	} else {
		one := ScalarOne(x.Graph(), x.DType())
		sigma := Mul(s.free, linalg.EyeLike(rootB))
		x, log = step(x, nil, sigma, one, rootB, rootF, Reshape(xi, c, s.n, s.d))
	}
	above := ExpandAxes(x, 1)
	all := []*Node{above}
	done := 0
	for l := range s.plan.levels {
		e := len(s.plan.levels[l])
		begin := Reshape(linalg.MatMul(s.pick[l], Reshape(above, c, above.Shape().Dim(1), s.n*s.d)), c*e, s.n, s.d)
		h := BroadcastToDims(ExpandAxes(SliceAxis(s.h, 0, AxisRange(done, done+e)), 0), c, e)
		if theta.rate != nil {
			h = Mul(h, ExpandAxes(theta.rate, 1))
		}
		h = Reshape(h, c*e, 1, 1)
		params := theta.along(e, 1)
		noise := Reshape(SliceAxis(w, 2, AxisRange(done, done+e)), s.steps, c*e, s.k, s.d)
		b, f := s.b[l], s.f[l]
		before := func(x *Node) *Node { return SliceAxis(x, 0, AxisRange(0, s.steps)) }
		after := func(x *Node) *Node { return SliceAxis(x, 0, AxisRange(1, s.steps+1)) }
		final, visited := autodiff.Scan(s.steps, func(_ *Node, y, in []*Node) ([]*Node, []*Node) {
			x := y[0]
			var told [4]*Node
			for j := range told {
				told[j] = merge(perChain(in[1+j], c))
			}
			drift, sigma := s.at(x, params, theta.varies)
			now := squares(miss(told[0], told[1], x))
			next, log := step(x, drift, sigma, h, told[2], told[3], in[0])
			var out []*Node
			if watch {
				out = []*Node{x}
			}
			return []*Node{next, Add(y[1], Add(log, MulScalar(now, 0.5)))}, out
		}, []*Node{begin, ReduceSum(ZerosLike(begin), -2, -1)}, []*Node{noise, before(b), before(f), after(b), after(f)})
		paths = append(paths, visited...)
		log = Add(log, ReduceSum(Reshape(final[1], c, e), -1))
		above = Reshape(final[0], c, e, s.n, s.d)
		all = append(all, above)
		if theta.noise != nil {
			log = Add(log, s.correct(l, above, theta.noise))
		}
		done += e
	}
	return log, Concatenate(all, 1), paths
}

// correct is what the observations at the leaves of a level say of their states x, [C, E, n, D], with errors of standard deviation
// noise, [C], less what the messages said.
func (s *sweep) correct(level int, x, noise *Node) *Node {
	c := noise.Shape().Dim(0)
	last := func(x *Node) *Node {
		return perChain(Squeeze(SliceAxis(x, 0, AxisRange(s.steps)), 0), c)
	}
	seen := perChain(s.seen[level], c) // [C, E, n]
	leaf := ReduceMax(seen, -1)
	told := Mul(squares(miss(last(s.b[level]), last(s.f[level]), x)), leaf)
	off := Mul(ReduceSum(Square(Mul(Sub(perChain(s.values[level], c), x), ExpandAxes(seen, -1))), 1, 2, 3), Reciprocal(Square(noise)))
	count := MulScalar(ReduceSum(seen, -2, -1), float64(s.d))
	density := Sub(MulScalar(off, -0.5), Mul(count, AddScalar(Log(noise), 0.5*math.Log(2*math.Pi))))
	return Add(density, MulScalar(ReduceSum(told, -1), 0.5))
}
