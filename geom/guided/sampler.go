package guided

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/stochastic"
	"anatomy/internal/lists"
)

// sampler is a problem with the state of its chains.
type sampler[P geom.Point] struct {
	model
	*plan
	process       stochastic.Process[P]
	options       Options
	data          []Observations[P] // G of them
	seen          [][]seen          // [G][node], of the nodes that stand for themselves
	start         [][]float64
	spread        []float64 // standard deviations of the prior of the root's state, [n]; nil where it is known
	source        *rand.PCG
	rng           *rand.Rand // of source
	total, groups int        // chains

	noiseAt int           // which unknown is the noise; -1
	mean    [][]float64   // [G][p]: logarithms of the unknowns, see Prior.number, are mean + scale·y
	scale   [][][]float64 // [G], lower triangles
	learned visits        // of which the guides are made
	told    []told        // the messages, of the root and of the levels
	centres centres       // of their charts
	fixed   []any         // arguments of the compiled functions that change with the guides only
	w, xi   *tensors.Tensor
	y       [][]float64       // [C][p]
	momenta []*tensors.Tensor // of w, y and xi
}

// key of the compiled functions.
type key struct {
	name, model, tree, options string
	dynamics                   stochastic.Dynamics
	steps, groups              int
}

func (k key) String() string { return "guided." + k.name }

func (s *sampler[P]) key(name string) key {
	options := fmt.Sprint(s.options.Unknown, s.spread != nil)
	return key{name, s.model.key(), fmt.Sprint(s.tree.Parent, s.stands), options, s.dynamics, s.options.Steps, s.groups}
}

// logs are the logarithms of the unknowns at y.
func (s *sampler[P]) logs(group int, y []float64) []float64 {
	out := slices.Clone(s.mean[group])
	for j := range out {
		for i := range j + 1 {
			out[j] += s.scale[group][j][i] * y[i]
		}
	}
	return out
}

// arguments are those of parse, for messages that are for observations with errors of noise, [place][G].
func (s *sampler[P]) arguments(at *mat.Dense, noise [][]float64) []any {
	g, d := s.groups, s.d
	begin := slices.Concat(slices.Repeat(s.start, g)...)
	known := lists.Each(s.data, func(o Observations[P]) float64 { return o.Noise })
	sharp := lists.Zeros(g, len(noise))
	for group, terms := range sharp {
		for p := range terms {
			for q := range noise {
				terms[p] += at.At(p, q) / noise[q][group]
			}
		}
	}
	args := []any{s.lengths(s.order), tensors.FromFlatDataAndDimensions(begin, g, s.wide, d), s.told[0].b, s.told[0].f, s.mean, s.scale, s.spread, known, sharp}
	for l := range s.levels {
		args = append(args, s.parents(l), s.told[1+l].b, s.told[1+l].f)
	}
	for depth, level := range append([][]int{{0}}, s.levels...) {
		args = append(args, s.views(depth, level)...)
	}
	if s.charted {
		args = append(args, s.centres.root)
		for _, c := range s.centres.levels {
			args = append(args, c)
		}
	}
	return append(args, s.process.Params...)
}

// lengths are those of the steps of the edges above nodes, on the tree.
func (s *sampler[P]) lengths(nodes []int) []float64 {
	return lists.Each(nodes, func(i int) float64 { return s.tree.Length[i] / float64(s.options.Steps) })
}

// views are what is seen at the nodes of a depth, as parse takes it.
func (s *sampler[P]) views(depth int, level []int) []any {
	mark, residual, count := lists.Zeros(s.groups, len(level)), lists.Zeros(s.groups, len(level)), lists.Zeros(s.groups, len(level))
	var b, f []float64
	for group := range s.groups {
		for e, i := range level {
			o := s.seen[group][i]
			residual[group][e], count[group][e] = o.residual, o.count
			m := message{mat.NewDense(s.wide, s.wide, nil), mat.NewDense(s.wide, s.d, nil)}
			if s.leaf[i] && !s.charted {
				mark[group][e] = 1
			} else if o.b != nil {
				m = o.message
			}
			b, f = append(b, m.b.RawMatrix().Data...), append(f, m.f.RawMatrix().Data...)
		}
	}
	out := []any{mark, residual, count}
	if s.inner[depth] {
		dims := []int{s.groups, len(level), s.wide}
		out = append(out, tensors.FromFlatDataAndDimensions(b, append(dims, s.wide)...), tensors.FromFlatDataAndDimensions(f, append(dims, s.d)...))
	}
	return out
}

// parse makes the sweep of the nodes of arguments, and the function that takes y, [C, p], to the unknowns with the logarithm of their
// prior density.
func (s *sampler[P]) parse(in []*Node) (*sweep, func(y *Node) (unknown, *Node, *Node)) {
	w := &sweep{model: s.model, plan: s.plan, steps: s.options.Steps, h: in[0], start: in[1], root: terms{in[2], in[3]}, noise: in[7], sharp: in[8]}
	mean, scale := in[4], in[5]
	if s.spread != nil {
		w.free = in[6]
	}
	in = in[9:]
	for range s.levels {
		w.pick, w.told = append(w.pick, in[0]), append(w.told, terms{in[1], in[2]})
		in = in[3:]
	}
	for _, inner := range s.inner {
		v := views{mark: in[0], residual: in[1], count: in[2]}
		if in = in[3:]; inner {
			v.b, v.f, in = in[0], in[1], in[2:]
		}
		w.seen = append(w.seen, v)
	}
	if s.charted {
		w.centre = in[0]
		for l := range s.levels {
			w.centres = append(w.centres, SliceAxis(in[1+l], 0, AxisRange(1)))
		}
		in = in[1+len(s.levels):]
	}
	return w, func(y *Node) (unknown, *Node, *Node) { return s.unknowns(y, mean, scale, in) }
}

// unknowns are those at y, [C, p], with their logarithms and the logarithm of their prior density, for parameters of the process.
func (s *sampler[P]) unknowns(y, mean, scale *Node, params []*Node) (unknown, *Node, *Node) {
	theta := unknown{params: slices.Clone(params), varies: make([]bool, len(params)), powers: powers(y, len(s.options.Unknown))}
	chains := y.Shape().Dim(0)
	u := Add(perChain(mean, chains), linalg.MatVec(perChain(scale, chains), y))
	prior := MulScalar(ReduceSum(Square(y), -1), -0.5) // of the column that nothing depends on
	if len(s.options.Unknown) > 0 {
		prior = ZerosLike(prior)
	}
	for j, a := range s.options.Unknown {
		v := Squeeze(SliceAxis(u, 1, AxisRange(j, j+1)), 1)
		prior = Add(prior, a.Prior.logDensity(v))
		switch x := a.Prior.number(v); a.kind {
		case rate:
			theta.rate = x
		case noise:
			theta.noise = x
		default:
			theta.params[a.param], theta.varies[a.param] = x, true
		}
	}
	return theta, u, prior
}

// state are the arguments that say where the chains are.
func (s *sampler[P]) state() []any {
	if s.spread != nil {
		return []any{s.w, s.y, s.xi}
	}
	return []any{s.w, s.y}
}

// swept runs the sweep of the arguments state and fixed.
func (s *sampler[P]) swept(in []*Node, keep bool) (log, nodes *Node, paths []*Node) {
	k := len(s.state())
	sweep, unknowns := s.parse(in[k:])
	theta, _, _ := unknowns(in[1])
	return sweep.run(in[:k], theta, keep)
}

// chain are the numbers that move: the noise of the edges, [n, C, E, k·D], the unknowns, [C, p], and where the root is not known its noise,
// [C, n·D]. All of them are normal before the data.
type chain []*Node

// along gives a number of each chain, [C], the shapes of the parts, for a product with them.
func (x chain) along(v *Node) chain {
	out := chain{Reshape(v, 1, v.Shape().Dim(0), 1, 1)}
	for range x[1:] {
		out = append(out, ExpandAxes(v, 1))
	}
	return out
}

// energy is −log ψ + ½‖x‖² + ½‖p‖² of each chain, [C].
func energy(log *Node, x, p chain) *Node {
	e := Neg(log)
	for j := range x {
		axes := []int{1}
		if j == 0 {
			axes = []int{0, 2, 3}
		}
		e = Add(e, MulScalar(Add(ReduceSum(Square(x[j]), axes...), ReduceSum(Square(p[j]), axes...)), 0.5))
	}
	return e
}

// at is what is known of chains where they are: the logarithm of the density, [C], the nodes, the unknowns, and the slope of y.
type at struct{ log, nodes, u, slope *Node }

func (a at) list() []*Node { return []*Node{a.log, a.nodes, a.u, a.slope} }

func listed(x []*Node) at { return at{x[0], x[1], x[2], x[3]} }

// trajectory is one step of Hamiltonian Monte Carlo of all chains (A. Beskos, F. Pinski, J. Sanz-Serna and A. Stuart, Hybrid Monte
// Carlo on Hilbert spaces, 2011). The energy is −log ψ(x) + ½‖x‖² + ½‖p‖²; the second part turns x and p by an angle, exactly, so
// that the length of the noise does not matter. One turn by a small angle without the first part would be a step of the
// preconditioned Crank-Nicolson method.
func (s *sampler[P]) trajectory(in []*Node) []*Node {
	k := len(s.state())
	x, p := chain(in[:k]), chain(in[k:2*k])
	eps, turns, logU := in[2*k], in[2*k+1], in[2*k+2]
	end, momentum, before, after := s.turned(x, p, eps, turns, in[2*k+3:])
	gain := Sub(energy(before.log, x, p), energy(after.log, end, momentum))
	finite := LogicalAnd(IsFinite(gain), IsFinite(after.log))
	gain = Where(finite, gain, AddScalar(ZerosLike(gain), -1e300))
	accept := LessThan(logU, gain)
	choose := func(yes, no *Node, axis int) *Node {
		dims := slices.Repeat([]int{1}, yes.Rank())
		dims[axis] = eps.Shape().Dim(0)
		return Where(BroadcastToDims(Reshape(accept, dims...), yes.Shape().Dimensions...), yes, no)
	}
	out := []*Node{choose(end[0], x[0], 1)}
	for j := 1; j < k; j++ {
		out = append(out, choose(end[j], x[j], 0))
	}
	return append(out, Exp(MinScalar(gain, 0)), choose(after.nodes, before.nodes, 0), choose(after.u, before.u, 0), Where(accept, after.log, before.log),
		Sub(choose(after.slope, before.slope, 0), out[1]))
}

// turned takes chains along a trajectory of so many turns by angles eps, [C], with the arguments of parse. It returns where they are and
// their momenta, and what is known of them at the start and there.
func (s *sampler[P]) turned(x, p chain, eps, turns *Node, arguments []*Node) (end, momentum chain, before, after at) {
	k := len(x)
	sweep, unknowns := s.parse(arguments)
	slope := func(x chain) (at, chain) {
		x = slices.Clone(x)
		for j := range x {
			x[j] = Identity(x[j])
		}
		theta, u, prior := unknowns(x[1])
		log, nodes, _ := sweep.run(x, theta, false)
		log = Add(Add(log, prior), MulScalar(ReduceSum(Square(x[1]), -1), 0.5))
		g := chain(Gradient(ReduceAllSum(log), x...))
		return at{log, nodes, u, g[1]}, g
	}
	// The first pass turns by the angle 0 and finds what holds at the start, so that XLA compiles one slope and not two: each takes seconds.
	nodes := Zeros(eps.Graph(), shapes.Make(eps.DType(), eps.Shape().Dim(0), 1+len(s.order), s.wide, s.d))
	none := lists.Each(at{eps, nodes, x[1], x[1]}.list(), ZerosLike)
	final := autodiff.Repeat(AddScalar(turns, 1), func(i *Node, y []*Node) []*Node {
		x, p, g, start := chain(slices.Clone(y[:k])), slices.Clone(y[k:2*k]), y[2*k:3*k], y[3*k+4:]
		first := Equal(i, ZerosLike(i))
		angle := Where(first, ZerosLike(eps), eps)
		half, cos, sin := x.along(MulScalar(angle, 0.5)), x.along(Cos(angle)), x.along(Sin(angle))
		for j := range x {
			v := Add(p[j], Mul(half[j], g[j]))
			x[j], p[j] = Add(Mul(cos[j], x[j]), Mul(sin[j], v)), Sub(Mul(cos[j], v), Mul(sin[j], x[j]))
		}
		now, g := slope(x)
		for j := range x {
			p[j] = Add(p[j], Mul(half[j], g[j]))
		}
		next := slices.Concat(x, p, g, now.list())
		for j, v := range now.list() {
			next = append(next, Where(first, v, start[j]))
		}
		return next
	}, slices.Concat(x, p, lists.Each(x, ZerosLike), none, none))
	return final[:k], final[k : 2*k], listed(final[3*k+4:]), listed(final[3*k:])
}
