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

// told are messages about states before and after a step, [G, E, n, n] and [G, E, n, D].
type told struct{ b0, f0, b, f *Node }

// step draws x' from N(x, A), A = σσᵀ, times the message (B, f) of x', for η with the distribution N(0, A), and returns it with the logarithm of
// the mean of the message over N(x, A) less the message (B₀, f₀) of the state x₀ before the step, both without their constants.
// States are [C·E, n, D].
//
//	u = f − Bx,  S = 1 + BABᵀ = PPᵀ,
//	x' = x + η + ABᵀ(S⁻¹u − P⁻ᵀ(P + 1)⁻¹Bη),  log = −½ uᵀS⁻¹u − (D/2) log det S + ½‖f₀ − B₀x₀‖².
//
// So chains of steps of Euler and Maruyama are weighted exactly, however long the steps are. For h → 0 the drift is the guided one,
// b + σσᵀBᵀu, and the weights become those of M. Schauer, F. van der Meulen and H. van Zanten (2017). Nothing is subtracted that is
// large where errors are small, so that states may be seen exactly. (The root of x's variance is that of A. Andrews, A square
// root formulation of the Kalman covariance equations, 1968.)
func step(from, x, a, eta *Node, m told, chains int) (next, log *Node) {
	wide := func(y *Node) *Node { return merge(perChain(y, chains)) }
	b := wide(m.b)
	ba := linalg.MatMul(b, a)
	s := linalg.MatMul(ba, linalg.T(b))
	s = Add(MulScalar(Add(s, linalg.T(s)), 0.5), linalg.EyeLike(s))
	p := linalg.Factor(s)
	y := p.SolveL(miss(b, wide(m.f), x), false)
	q := linalg.SolveTriangular(Add(p.L, linalg.EyeLike(p.L)), linalg.MatMul(b, eta), true, false)
	next = Add(Add(x, eta), linalg.MatMul(linalg.T(ba), p.SolveL(Sub(y, q), true)))
	log = MulScalar(Sub(squares(miss(wide(m.b0), wide(m.f0), from)), squares(y)), 0.5)
	return next, Sub(log, MulScalar(p.LogDet(), 0.5*float64(x.Shape().Dim(-1))))
}

// stepFrom is step with η = Lξ, A = LLᵀ, for lower messages: in C where that is possible and there is no drift. There W = BL, lower
// too, stands for BA: S = 1 + WWᵀ and x' = x + L(ξ + Wᵀ(S⁻¹u − P⁻ᵀ(P + 1)⁻¹Wξ)).
func stepFrom(from, x, a, xi *Node, m told, chains int) (next, log *Node) {
	if from != x || x.Shape().Dim(2) > 3 || !engine.HasNative(native.Step) || x.DType() != dtypes.Float64 {
		return step(from, x, a, linalg.MatMul(linalg.Cholesky(a), xi), m, chains)
	}
	edges, n, d := m.b.Shape().Dim(1), x.Shape().Dim(1), x.Shape().Dim(2)
	split := func(y *Node) *Node { return Reshape(y, append([]int{chains, edges}, y.Shape().Dimensions[1:]...)...) }
	all := shapes.Make(x.DType(), chains, edges, n, d)
	in := []*Node{split(a), split(x), m.b, m.f, m.b0, m.f0, split(xi)}
	out := autodiff.CustomVJP([]*Node{in[0], in[1], in[6]}, engine.Native(native.Step, in, all, shapes.Make(x.DType(), chains, edges)), func(ct []*Node) []*Node {
		return engine.Native(native.Step, append(slices.Clone(in), ct...), shapes.Make(x.DType(), chains, edges, n, n), all, all)
	})
	return merge(out[0]), Reshape(out[1], chains*edges)
}

// run takes the noise of the edges, [n, C, E, k·D], and of the root, [C, n·D], nil where it is known, to the logarithm of the weight
// of each chain less guide.constant and the constant of the root, [C], and to the states of the nodes in the order root, plan.order,
// [C, V, n, D]. With watch it returns, for each level, the states before the steps, [n, C·E, n, D].
func (s *sweep) run(w, xi *Node, theta unknown, watch bool) (log, nodes *Node, paths []*Node) {
	c := w.Shape().Dim(1)
	x := perChain(s.start, c)
	if s.free == nil {
		log = MulScalar(squares(miss(perChain(s.root.b, c), perChain(s.root.f, c), x)), -0.5)
	} else {
		b, f := ExpandAxes(s.root.b, 1), ExpandAxes(s.root.f, 1)
		eta := Mul(s.free, Reshape(xi, c, s.n, s.d))
		a := Mul(Square(s.free), linalg.EyeLike(perChain(s.root.b, c)))
		x, log = step(x, x, a, eta, told{ZerosLike(b), ZerosLike(f), b, f}, c)
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
			m := told{in[1], in[2], in[3], in[4]}
			drift, sigma, a := s.at(x, params, theta.varies)
			mean := x
			if drift != nil {
				mean = Add(x, Mul(h, drift))
			}
			var next, log *Node
			if sigma == nil {
				next, log = stepFrom(x, mean, Mul(h, a), in[0], m, c)
			} else {
				scaled := Mul(Sqrt(h), sigma)
				next, log = step(x, mean, linalg.MatMul(scaled, linalg.T(scaled)), linalg.MatMul(scaled, in[0]), m, c)
			}
			var out []*Node
			if watch {
				out = []*Node{x}
			}
			return []*Node{next, Add(y[1], log)}, out
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
