package guided

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/stochastic"
)

// sampler is a problem with the state of its chains.
type sampler[P geom.Point] struct {
	model
	*plan
	process       stochastic.Process[P]
	options       Options
	data          []Observations[P] // G of them
	values        [][][][]float64   // [G][leaf] of [n][D]
	seen          [][][]bool        // [G][leaf] of [n]
	leaves        []int
	start         [][]float64
	source        *rand.PCG
	rng           *rand.Rand // of source
	total, groups int        // chains

	noiseAt int           // which unknown is the noise; -1
	mean    [][]float64   // [G][p]: logarithms of the unknowns are mean + scale·y
	scale   [][][]float64 // [G], lower triangles
	guides  []*guide      // [G]
	learned *auxiliary    // of which they are made
	fixed   []any         // arguments of the compiled functions that change with the guides only
	w, xi   *tensors.Tensor
	y       [][]float64 // [C][p]
}

// key of the compiled functions.
type key struct {
	name, model, tree, options string
	dynamics                   stochastic.Dynamics
	steps, groups              int
}

func (k key) String() string { return "guided." + k.name }

func (s *sampler[P]) key(name string) key {
	unknowns := ""
	for _, u := range s.options.Unknown {
		unknowns += fmt.Sprintf("%v ", u)
	}
	return key{name, s.model.key(), fmt.Sprint(s.tree.Parent), fmt.Sprint(unknowns, s.options.Root > 0), s.dynamics, s.options.Steps, s.groups}
}

// noiseGuess is the noise of the observations for which the messages are made.
func (s *sampler[P]) noiseGuess(group int) float64 {
	if s.noiseAt >= 0 {
		return math.Exp(s.mean[group][s.noiseAt])
	}
	return s.data[group].Noise
}

// arguments are those of parse.
func (s *sampler[P]) arguments() []any {
	dims := func(flat []float64, dims ...int) *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions(flat, dims...)
	}
	g, n, d := s.groups, s.n, s.d
	h := make([]float64, len(s.order))
	for e, i := range s.order {
		h[e] = s.tree.Length[i] / float64(s.options.Steps)
	}
	var begin, rb, rf []float64
	for _, guide := range s.guides {
		for _, row := range s.start {
			begin = append(begin, row...)
		}
		rb, rf = append(rb, guide.root.b.RawMatrix().Data...), append(rf, guide.root.f.RawMatrix().Data...)
	}
	args := []any{h, dims(begin, g, n, d), dims(rb, g, n, n), dims(rf, g, n, d), s.mean, s.scale, s.options.Root}
	for l, level := range s.levels {
		var b, f []float64
		for k := range s.options.Steps + 1 {
			for _, guide := range s.guides {
				for _, i := range level {
					b, f = append(b, guide.along[i][k].b.RawMatrix().Data...), append(f, guide.along[i][k].f.RawMatrix().Data...)
				}
			}
		}
		var marks, values []float64
		for group := range s.guides {
			for _, i := range level {
				leaf := slices.Index(s.leaves, i)
				for row := range n {
					if leaf < 0 || !s.seen[group][leaf][row] {
						marks, values = append(marks, 0), append(values, make([]float64, d)...)
					} else {
						marks, values = append(marks, 1), append(values, s.values[group][leaf][row]...)
					}
				}
			}
		}
		e := len(level)
		args = append(args, s.parents(l), dims(b, s.options.Steps+1, g, e, n, n), dims(f, s.options.Steps+1, g, e, n, d),
			dims(marks, g, e, n), dims(values, g, e, n, d))
	}
	return append(args, s.process.Params...)
}

// parse makes the sweep of the nodes of arguments, and the function that takes y, [C, p], to the unknowns with the logarithm of their
// prior density.
func (s *sampler[P]) parse(in []*Node) (*sweep, func(y *Node) (unknown, *Node, *Node)) {
	w := &sweep{model: s.model, plan: s.plan, steps: s.options.Steps, h: in[0], start: in[1], root: rootSeen{in[2], in[3]}}
	mean, scale := in[4], in[5]
	if s.options.Root > 0 {
		w.free = in[6]
	}
	in = in[7:]
	for range s.levels {
		w.pick, w.b, w.f = append(w.pick, in[0]), append(w.b, in[1]), append(w.f, in[2])
		w.seen, w.values = append(w.seen, in[3]), append(w.values, in[4])
		in = in[5:]
	}
	return w, func(y *Node) (unknown, *Node, *Node) {
		theta := unknown{params: slices.Clone(in), varies: make([]bool, len(in))}
		chains := y.Shape().Dim(0)
		u := Add(perChain(mean, chains), linalg.MatVec(perChain(scale, chains), y))
		prior := ReduceSum(ZerosLike(y), -1)
		for j, a := range s.options.Unknown {
			v := Squeeze(SliceAxis(u, 1, AxisRange(j, j+1)), 1)
			prior = Add(prior, a.Prior.logDensity(v))
			switch x := Exp(v); a.kind {
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
}

// chain are the numbers that move: the noise of the edges and of the root, and the unknowns, all of them normal before the data.
type chain []*Node

// trajectory is one step of Hamiltonian Monte Carlo of all chains (A. Beskos, F. Pinski, J. Sanz-Serna and A. Stuart, Hybrid Monte
// Carlo on Hilbert spaces, 2011). The energy is −log ψ(x) + ½‖x‖² + ½‖p‖²; the second part turns x and p by an angle, exactly, so
// that the length of the noise does not matter. One turn by a small angle without the first part would be a step of the
// preconditioned Crank-Nicolson method.
func (s *sampler[P]) trajectory(in []*Node) []*Node {
	k := 2
	if s.options.Root > 0 {
		k = 3
	}
	x, p := chain(in[:k]), chain(in[k:2*k])
	eps, turns, logU := in[2*k], in[2*k+1], in[2*k+2]
	sweep, unknowns := s.parse(in[2*k+3:])
	value := func(x chain) (log, nodes, u *Node) {
		var xi *Node
		if k == 3 {
			xi = x[2]
		}
		theta, u, prior := unknowns(x[1])
		log, nodes, _ = sweep.run(x[0], xi, theta, false)
		return Add(Add(log, prior), MulScalar(ReduceSum(Square(x[1]), -1), 0.5)), nodes, u
	}
	slope := func(x chain) (log, nodes, u *Node, g chain) {
		x = slices.Clone(x)
		for j := range x {
			x[j] = Identity(x[j])
		}
		log, nodes, u = value(x)
		return log, nodes, u, Gradient(ReduceAllSum(log), x...)
	}
	chains := eps.Shape().Dim(0)
	along := func(v *Node) []*Node { // a number of each chain, in the shape of the parts
		out := []*Node{Reshape(v, 1, chains, 1, 1), ExpandAxes(v, 1)}
		if k == 3 {
			out = append(out, ExpandAxes(v, 1))
		}
		return out
	}
	half, cos, sin := along(MulScalar(eps, 0.5)), along(Cos(eps)), along(Sin(eps))
	energy := func(log *Node, x, p chain) *Node {
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
	log0, nodes0, u0, g0 := slope(x)
	state := slices.Concat(x, p, g0, []*Node{log0, nodes0, u0})
	final := autodiff.Repeat(turns, func(_ *Node, y []*Node) []*Node {
		x, p, g := slices.Clone(y[:k]), slices.Clone(y[k:2*k]), y[2*k:3*k]
		for j := range x {
			v := Add(p[j], Mul(half[j], g[j]))
			x[j], p[j] = Add(Mul(cos[j], x[j]), Mul(sin[j], v)), Sub(Mul(cos[j], v), Mul(sin[j], x[j]))
		}
		log, nodes, u, g := slope(x)
		for j := range x {
			p[j] = Add(p[j], Mul(half[j], g[j]))
		}
		return slices.Concat(x, p, g, []*Node{log, nodes, u})
	}, state)
	log1, nodes1, u1 := final[3*k], final[3*k+1], final[3*k+2]
	gain := Sub(energy(log0, x, p), energy(log1, final[:k], final[k:2*k]))
	finite := LogicalAnd(IsFinite(gain), IsFinite(log1))
	gain = Where(finite, gain, AddScalar(ZerosLike(gain), -1e300))
	accept := LessThan(logU, gain)
	choose := func(yes, no *Node, axis int) *Node {
		dims := make([]int, yes.Rank())
		for a := range dims {
			dims[a] = 1
		}
		dims[axis] = chains
		return Where(BroadcastToDims(Reshape(accept, dims...), yes.Shape().Dimensions...), yes, no)
	}
	out := []*Node{choose(final[0], x[0], 1), choose(final[1], x[1], 0)}
	if k == 3 {
		out = append(out, choose(final[2], x[2], 0))
	}
	return append(out, Exp(MinScalar(gain, 0)), choose(nodes1, nodes0, 0), choose(u1, u0, 0), Where(accept, log1, log0), log0)
}

// state are the arguments that say where the chains are.
func (s *sampler[P]) state() []any {
	if s.options.Root > 0 {
		return []any{s.w, s.y, s.xi}
	}
	return []any{s.w, s.y}
}

// swept runs the sweep of the arguments state and fixed.
func (s *sampler[P]) swept(in []*Node, keep bool) (theta unknown, log, nodes *Node, paths []*Node) {
	var xi *Node
	w, y := in[0], in[1]
	if in = in[2:]; s.options.Root > 0 {
		xi, in = in[0], in[1:]
	}
	sweep, unknowns := s.parse(in)
	theta, _, _ = unknowns(y)
	log, nodes, paths = sweep.run(w, xi, theta, keep)
	return theta, log, nodes, paths
}

// visit returns what the auxiliary process is made of: for each level the means over the chains of a group, along their paths, of
// rate·σσᵀ, [n, G, E, n, n], and of drift and point, [n, G, E, n, D], and for flat models the mean of the drift's derivative.
func (s *sampler[P]) visit(in []*Node) []*Node {
	w := in[0]
	theta, _, _, paths := s.swept(in, true)
	var out []*Node
	for l, path := range paths {
		e, c := len(s.levels[l]), w.Shape().Dim(1)
		params := theta.along(e, 1)
		rate := ScalarOne(w.Graph(), w.DType())
		if theta.rate != nil {
			rate = Reshape(perEdge(theta.rate, e), c*e, 1, 1)
		}
		mean := func(x *Node) *Node { // over the chains of a group
			dims := x.Shape().Dimensions
			return ReduceMean(Reshape(x, s.groups, c/s.groups, e, dims[1], dims[2]), 1)
		}
		_, sums := autodiff.Scan(s.options.Steps, func(_ *Node, _, in []*Node) ([]*Node, []*Node) {
			x := in[0]
			b, sigma, a := s.at(x, params, theta.varies)
			if a == nil {
				a = linalg.MatMul(sigma, linalg.T(sigma))
			}
			out := []*Node{mean(Mul(rate, a)), mean(x)}
			if b != nil {
				out = append(out, mean(Mul(rate, b)))
				if s.flat {
					drift := func(x *Node) *Node {
						rows := x.Shape().Size() / s.n
						b, _, _ := s.at(Reshape(x, rows, s.n, 1), theta.along(e, rows/(c*e)), theta.varies)
						return Reshape(b, x.Shape().Dimensions...)
					}
					out = append(out, mean(Mul(rate, autodiff.Jacobian(drift, Squeeze(x, -1)))))
				}
			}
			return nil, out
		}, nil, []*Node{path})
		out = append(out, sums...)
	}
	return out
}

// auxiliary is the sum of what visits returned.
type auxiliary struct {
	Flat   [][]float64
	Visits float64
}

func (a *auxiliary) add(v engine.Values) {
	if a.Flat == nil {
		a.Flat = make([][]float64, len(v))
		for i := range v {
			a.Flat[i] = v.Flat(i)
		}
	} else {
		for i := range v {
			floats.Add(a.Flat[i], v.Flat(i))
		}
	}
	a.Visits++
}

// look adds a visit of the chains as they are now.
func (s *sampler[P]) look(a *auxiliary) error {
	out, err := s.process.Space.Call(s.key("visit"), s.visit, append(s.state(), s.fixed...)...)
	if err == nil {
		a.add(out)
	}
	return err
}

// guide makes the messages of the auxiliary process with these means; nil stands for no messages.
func (s *sampler[P]) guide(a *auxiliary) error {
	s.learned, s.guides = a, make([]*guide, s.groups)
	for group := range s.guides {
		leaf := func(i int) message {
			l := slices.Index(s.leaves, i)
			if a == nil {
				return observation(s.values[group][l], make([]bool, s.n), 1)
			}
			return observation(s.values[group][l], s.seen[group][l], s.noiseGuess(group))
		}
		step := func(i, k int) transition { return transition{q: mat.NewDense(s.n, s.n, nil)} }
		if a != nil {
			step = func(i, k int) transition { return s.transition(a, group, i, k) }
		}
		var err error
		if s.guides[group], err = s.pull(s.options.Steps, leaf, step); err != nil {
			return err
		}
	}
	s.fixed = s.arguments()
	return nil
}

// transition is step k of the auxiliary process on the edge above node i.
func (s *sampler[P]) transition(a *auxiliary, group, i, k int) transition {
	h := s.tree.Length[i] / float64(s.options.Steps)
	level := s.depth[i] - 1
	kinds := len(a.Flat) / len(s.levels)
	read := func(kind, columns int) *mat.Dense {
		size := s.n * columns
		at := ((k*s.groups+group)*len(s.levels[level]) + s.place[i]) * size
		m := mat.NewDense(s.n, columns, slices.Clone(a.Flat[level*kinds+kind][at:at+size]))
		m.Scale(1/a.Visits, m)
		return m
	}
	t := transition{q: read(0, s.n)}
	t.q.Scale(h, t.q)
	if kinds > 2 {
		t.beta = read(2, s.d)
		if kinds > 3 {
			t.phi = read(3, s.n)
			var turned mat.Dense
			turned.Mul(t.phi, read(1, s.d))
			t.beta.Sub(t.beta, &turned)
			t.phi.Scale(h, t.phi)
			for j := range s.n {
				t.phi.Set(j, j, t.phi.At(j, j)+1)
			}
		}
		t.beta.Scale(h, t.beta)
	}
	return t
}
