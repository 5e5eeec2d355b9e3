package guided

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/stochastic"
	"anatomy/geom/try"
)

// sampler is a problem with the state of its chains.
type sampler[P geom.Point] struct {
	model
	*plan
	process       stochastic.Process[P]
	options       Options
	data          []Observations[P] // G of them: particles have each of them Options.Chains times
	seen          [][]seen          // [G][node], of the nodes that stand for themselves
	start         [][]float64
	spread        []float64 // standard deviations of the prior of the root's state, [n]; nil where it is known
	source        *rand.PCG
	rng           *rand.Rand // of source
	total, groups int        // chains

	exponent float64       // of the likelihood of what was seen; 1 for chains
	noiseAt  int           // which unknown is the noise; -1
	mean     [][]float64   // [G][p]: logarithms of the unknowns, see Prior.number, are mean + scale·y
	scale    [][][]float64 // [G], lower triangles
	learned  visits        // of which the guides are made
	told     []told        // the messages, of the root and of the levels
	centres  centres       // of their charts
	fixed    []any         // arguments of the compiled functions that change with the guides only
	w, xi    *tensors.Tensor
	y        [][]float64 // [C][p]
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
	return key{name, s.model.key(), fmt.Sprint(s.tree.Parent, s.stands), fmt.Sprint(unknowns, s.spread != nil), s.dynamics, s.options.Steps, s.groups}
}

// places are the y at which guides are made, P of them, as many as monomials: between them guides are polynomials in y of degree two.
func places(p int) [][]float64 {
	place := func(at ...int) []float64 {
		y := make([]float64, max(1, p))
		for _, j := range at {
			y[j] = 1
		}
		return y
	}
	out := [][]float64{place()}
	for j := range p {
		back := place()
		back[j] = -1
		out = append(out, place(j), back)
		for i := range j {
			out = append(out, place(i, j))
		}
	}
	return out
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
	var begin, known []float64
	sharp := make([][]float64, g)
	for group := range g {
		for _, row := range s.start {
			begin = append(begin, row...)
		}
		known, sharp[group] = append(known, s.data[group].Noise), make([]float64, len(noise))
		for p := range sharp[group] {
			for q := range noise {
				sharp[group][p] += at.At(p, q) / noise[q][group]
			}
		}
	}
	args := []any{s.lengths(), tensors.FromFlatDataAndDimensions(begin, g, s.wide, d), s.told[0].b, s.told[0].f, s.mean, s.scale, s.spread, known, sharp, s.exponent}
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

// lengths are those of the steps of all edges on the tree, [E].
func (s *sampler[P]) lengths() []float64 {
	h := make([]float64, len(s.order))
	for e, i := range s.order {
		h[e] = s.tree.Length[i] / float64(s.options.Steps)
	}
	return h
}

// views are what is seen at the nodes of a depth, as parse takes it.
func (s *sampler[P]) views(depth int, level []int) []any {
	mark, residual, count := make([][]float64, s.groups), make([][]float64, s.groups), make([][]float64, s.groups)
	var b, f []float64
	for group := range s.groups {
		for _, i := range level {
			o, m, is := s.seen[group][i], message{mat.NewDense(s.wide, s.wide, nil), mat.NewDense(s.wide, s.d, nil)}, 0.0
			if s.leaf[i] && !s.charted {
				is = 1
			} else if o.b != nil {
				m = o.message
			}
			mark[group], residual[group], count[group] = append(mark[group], is), append(residual[group], o.residual), append(count[group], o.count)
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

// told are the terms of messages, [n, G, P, E, n, n] and [n, G, P, E, n, D], that were told to the steps; without the first axis to the root.
type told struct{ b, f *tensors.Tensor }

// tell adds what the message of one place has in each of the terms, where i counts steps, groups and edges.
func (t told) tell(m message, at *mat.Dense, place, edges, i int) {
	add := func(x *tensors.Tensor, data []float64) {
		tensors.MustMutableFlatData(x, func(flat []float64) {
			for p := range at.RawMatrix().Rows {
				from := ((i/edges*at.RawMatrix().Rows+p)*edges + i%edges) * len(data)
				floats.AddScaled(flat[from:from+len(data)], at.At(p, place), data)
			}
		})
	}
	add(t.b, m.b.RawMatrix().Data)
	add(t.f, m.f.RawMatrix().Data)
}

// monomials is the inverse of the matrix of the powers of places: of values there it makes coefficients.
func monomials(p int) *mat.Dense {
	at := places(p)
	v := mat.NewDense(len(at), len(at), nil)
	for q, y := range at {
		row := []float64{1}
		for j := range p {
			row = append(row, y[j])
			for i := range j + 1 {
				row = append(row, y[j]*y[i])
			}
		}
		v.SetRow(q, row)
	}
	var inverse mat.Dense
	try.Do(inverse.Inverse(v))
	return &inverse
}

// parse makes the sweep of the nodes of arguments, and the function that takes y, [C, p], to the unknowns with the logarithm of their
// prior density.
func (s *sampler[P]) parse(in []*Node) (*sweep, func(y *Node) (unknown, *Node, *Node)) {
	w := &sweep{model: s.model, plan: s.plan, steps: s.options.Steps, h: in[0], start: in[1], root: terms{in[2], in[3]}, noise: in[7], sharp: in[8], exponent: in[9]}
	mean, scale := in[4], in[5]
	if s.spread != nil {
		w.free = in[6]
	}
	in = in[10:]
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
			of := make([]float64, len(s.order))
			for e, i := range s.order {
				if slices.Contains(a.branches, i) {
					of[e] = 1
				}
			}
			faster := Exp(Mul(ExpandAxes(v, 1), Const(y.Graph(), [][]float64{of})))
			if theta.rate != nil {
				faster = Mul(theta.rate, faster)
			}
			theta.rate = faster
		case noise:
			theta.noise = x
		default:
			theta.params[a.param], theta.varies[a.param] = x, true
		}
	}
	return theta, u, prior
}

// chain are the numbers that move: the noise of the edges and of the root, and the unknowns, all of them normal before the data.
type chain []*Node

// trajectory is one step of Hamiltonian Monte Carlo of all chains (A. Beskos, F. Pinski, J. Sanz-Serna and A. Stuart, Hybrid Monte
// Carlo on Hilbert spaces, 2011). The energy is −log ψ(x) + ½‖x‖² + ½‖p‖²; the second part turns x and p by an angle, exactly, so
// that the length of the noise does not matter. One turn by a small angle without the first part would be a step of the
// preconditioned Crank-Nicolson method.
func (s *sampler[P]) trajectory(in []*Node) []*Node {
	k := 2
	if s.spread != nil {
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
	// The first pass turns by the angle 0 and finds what holds at the start, so that XLA compiles one slope and not two: each takes seconds.
	none := func(x []*Node) (out []*Node) {
		for _, x := range x {
			out = append(out, ZerosLike(x))
		}
		return out
	}
	nodes := Zeros(eps.Graph(), shapes.Make(eps.DType(), chains, 1+len(s.order), s.wide, s.d))
	at := none([]*Node{eps, nodes, x[1], x[1]}) // the logarithm, the nodes, the unknowns, and the slope of y
	final := autodiff.Repeat(AddScalar(turns, 1), func(i *Node, y []*Node) []*Node {
		x, p, g, start := slices.Clone(y[:k]), slices.Clone(y[k:2*k]), y[2*k:3*k], y[3*k+4:]
		first := Equal(i, ZerosLike(i))
		angle := Where(first, ZerosLike(eps), eps)
		half, cos, sin := along(MulScalar(angle, 0.5)), along(Cos(angle)), along(Sin(angle))
		for j := range x {
			v := Add(p[j], Mul(half[j], g[j]))
			x[j], p[j] = Add(Mul(cos[j], x[j]), Mul(sin[j], v)), Sub(Mul(cos[j], v), Mul(sin[j], x[j]))
		}
		log, nodes, u, g := slope(x)
		for j := range x {
			p[j] = Add(p[j], Mul(half[j], g[j]))
		}
		at := []*Node{log, nodes, u, g[1]}
		next := slices.Concat(x, p, g, at)
		for j := range at {
			next = append(next, Where(first, at[j], start[j]))
		}
		return next
	}, slices.Concat(x, p, none(x), at, at))
	log0, nodes0, u0, slope0 := final[3*k+4], final[3*k+5], final[3*k+6], final[3*k+7]
	log1, nodes1, u1, slope1 := final[3*k], final[3*k+1], final[3*k+2], final[3*k+3]
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
	return append(out, Exp(MinScalar(gain, 0)), choose(nodes1, nodes0, 0), choose(u1, u0, 0), Where(accept, log1, log0),
		Sub(choose(slope1, slope0, 0), out[1]))
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
	var xi *Node
	w, y := in[0], in[1]
	if in = in[2:]; s.spread != nil {
		xi, in = in[0], in[1:]
	}
	sweep, unknowns := s.parse(in)
	theta, _, _ := unknowns(y)
	return sweep.run(w, xi, theta, keep)
}

// visits are states that chains went through, [visit][level], each [n, C·E, wide, D], and on a geom.Charted manifold after those of the
// levels those of the nodes, [C, V, wide, D]. They take less memory than what guides are made of.
type visits [][][]float64

// look adds the states before all steps of the chains as they are now.
func (s *sampler[P]) look(v *visits) error {
	out, err := s.process.Space.Call(s.key("look"), func(in []*Node) []*Node {
		_, nodes, paths := s.swept(in, true)
		if s.charted {
			paths = append(paths, nodes)
		}
		return paths
	}, append(s.state(), s.fixed...)...)
	if err != nil {
		return err
	}
	var levels [][]float64
	for l := range out {
		levels = append(levels, out.Flat(l))
	}
	*v = append(*v, levels)
	return nil
}

// visit returns what the auxiliary process is made of with the unknowns at a place, [p]: for each level the means over the chains of a
// group, along their paths, of the point, [n, G, E, n, D], of rate·σσᵀ, [n, G, E, n, n], of the drift, [n, G, E, n, D], and for flat
// models of the drift's derivative. On a geom.Charted manifold they are those of chartedStep.
func (s *sampler[P]) visit(in []*Node) []*Node {
	place, mean, scale, h, paths, params := in[0], in[1], in[2], in[3], in[4:4+len(s.levels)], in[4+len(s.levels):]
	var centres []*Node
	if s.charted {
		centres, params = params[:len(s.levels)], params[len(s.levels):]
	}
	c := paths[0].Shape().Dim(1) / len(s.levels[0])
	theta, _, _ := s.unknowns(BroadcastPrefix(place, c), mean, scale, params)
	var out []*Node
	done := 0
	for l, path := range paths {
		e := len(s.levels[l])
		rate := ScalarOne(path.Graph(), path.DType())
		if theta.rate != nil {
			rate = Reshape(SliceAxis(theta.rate, 1, AxisRange(done, done+e)), c*e, 1, 1)
		}
		length := SliceAxis(h, 0, AxisRange(done, done+e))
		length = Reshape(BroadcastPrefix(length, c), c*e, 1, 1)
		done += e
		mean := func(x *Node) *Node { // over the chains of a group
			dims := x.Shape().Dimensions
			return ReduceMean(Reshape(x, s.groups, c/s.groups, e, dims[1], dims[2]), 1)
		}
		scanned := []*Node{path}
		if s.charted {
			n := s.options.Steps
			scanned = append(scanned, SliceAxis(centres[l], 0, AxisRange(0, n)), SliceAxis(centres[l], 0, AxisRange(1)))
		}
		_, means := autodiff.Scan(s.options.Steps, func(_ *Node, _, in []*Node) ([]*Node, []*Node) {
			x := in[0]
			if s.charted {
				return nil, s.chartedStep(x, in[1], in[2], length, rate, c, theta, e, mean)
			}
			at := func(x *Node, times int) (_, _, _ *Node) {
				return s.at(geom.At(s.manifold, s.split(x, s.manifold.Dim())[0]), x, theta.along(e, times), theta.varies)
			}
			b, sigma, a := at(x, 1)
			if a == nil {
				a = linalg.MatMul(sigma, linalg.T(sigma))
			}
			out := []*Node{mean(x), mean(Mul(rate, a))}
			if b == nil {
				return nil, out
			}
			out = append(out, mean(Mul(rate, b)))
			if s.flat {
				drift := func(x *Node) *Node {
					rows := x.Shape().Size() / s.n
					b, _, _ := at(Reshape(x, rows, s.n, 1), rows/(c*e))
					return Reshape(b, x.Shape().Dimensions...)
				}
				out = append(out, mean(Mul(rate, autodiff.Jacobian(drift, Squeeze(x, -1)))))
			}
			return nil, out
		}, nil, scanned)
		out = append(out, means...)
	}
	return out
}

// auxiliary are the means over visits of what visit returns.
func (s *sampler[P]) auxiliary(seen visits, place []float64) [][]float64 {
	var means [][]float64
	for _, levels := range seen {
		args := []any{place, s.mean, s.scale, s.lengths()}
		for l, level := range s.levels {
			args = append(args, tensors.FromFlatDataAndDimensions(levels[l], s.options.Steps, s.total*len(level), s.wide, s.d))
		}
		for _, c := range s.centres.levels {
			args = append(args, c)
		}
		out := try.Get(s.process.Space.Call(s.key("visit"), s.visit, append(args, s.process.Params...)...))
		for i, x := range out {
			if len(means) == i {
				means = append(means, make([]float64, x.Size()))
			}
			tensors.MustConstFlatData(x, func(x []float64) { floats.AddScaled(means[i], 1/float64(len(seen)), x) })
			x.MustFinalizeAll() // Go does not know how large it is
		}
	}
	return means
}

// guide makes the messages of the auxiliary process that chains have seen; nil stands for messages that say next to nothing. They
// take the memory of the last ones.
func (s *sampler[P]) guide(seen visits) (err error) {
	defer try.Catch(&err)
	all := places(len(s.options.Unknown))
	at := monomials(len(s.options.Unknown))
	if s.told == nil {
		zeros := func(dims ...int) *tensors.Tensor { return tensors.FromShape(shapes.Make(dtypes.Float64, dims...)) }
		s.told = []told{{zeros(s.groups, len(all), 1, s.n, s.n), zeros(s.groups, len(all), 1, s.n, s.d)}}
		for _, level := range s.levels {
			dims := []int{s.options.Steps, s.groups, len(all), len(level), s.n}
			s.told = append(s.told, told{zeros(append(dims, s.n)...), zeros(append(dims, s.d)...)})
		}
	}
	for _, t := range s.told {
		tensors.MustMutableFlatData(t.b, func(x []float64) { clear(x) })
		tensors.MustMutableFlatData(t.f, func(x []float64) { clear(x) })
	}
	inChart := func(_, _ int, m message) message { return m }
	if s.charted {
		s.centres = s.middles(seen)
		charts := s.charts()
		inChart = func(group, i int, m message) message {
			centre, slope := charts(group, i)
			return s.inChart(m, centre, slope)
		}
	}
	noise := make([][]float64, len(all))
	for q, y := range all {
		means := s.auxiliary(seen, y)
		for group := range s.groups {
			step, errors := func(i, k int) transition { return s.transition(means, group, i, k) }, s.data[group].Noise/math.Sqrt(s.exponent)
			switch {
			case seen == nil:
				step, errors = func(int, int) transition { return transition{q: mat.NewDense(s.n, s.n, nil)} }, 1e6*s.data[group].Noise
			case s.noiseAt >= 0:
				errors = math.Exp(s.logs(group, y)[s.noiseAt]) / math.Sqrt(s.exponent)
			}
			here := func(i int) []message {
				if s.seen[group][i].b == nil {
					return nil
				}
				return []message{inChart(group, i, s.seen[group][i].scaled(errors))}
			}
			g := s.pull(s.options.Steps, here, step)
			s.told[0].tell(g.root, at, q, 1, group)
			for l, level := range s.levels {
				for k := range s.options.Steps {
					for e, i := range level {
						s.told[1+l].tell(g.along[i][k+1], at, q, len(level), (k*s.groups+group)*len(level)+e)
					}
				}
			}
			noise[q] = append(noise[q], errors)
		}
	}
	s.learned = seen
	s.fixed = s.arguments(at, noise)
	return nil
}

// transition is step k of the auxiliary process on the edge above node i, made of means of visits.
func (s *sampler[P]) transition(means [][]float64, group, i, k int) transition {
	h := s.tree.Length[i] / float64(s.options.Steps)
	level := s.depth[i] - 1
	kinds := len(means) / len(s.levels)
	read := func(of, columns int) *mat.Dense {
		size := s.n * columns
		at := ((k*s.groups+group)*len(s.levels[level]) + s.place[i]) * size
		return mat.NewDense(s.n, columns, slices.Clone(means[level*kinds+of][at:at+size]))
	}
	t := transition{q: read(1, s.n)}
	t.q.Scale(h, t.q)
	if kinds > 2 {
		t.beta = read(2, s.d)
		if kinds > 3 {
			t.phi = read(3, s.n)
			var turned mat.Dense
			turned.Mul(t.phi, read(0, s.d))
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
