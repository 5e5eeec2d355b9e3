package guided

import (
	"fmt"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
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
	return key{name, s.model.key(), fmt.Sprint(s.tree.Parent, s.stands), fmt.Sprint(unknowns, s.spread != nil), s.dynamics, s.options.Steps, s.groups}
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
	args := []any{s.lengths(), tensors.FromFlatDataAndDimensions(begin, g, s.wide, d), s.told[0].b, s.told[0].f, s.mean, s.scale, s.spread, known, sharp}
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
	var xi *Node
	w, y := in[0], in[1]
	if in = in[2:]; s.spread != nil {
		xi, in = in[0], in[1:]
	}
	sweep, unknowns := s.parse(in)
	theta, _, _ := unknowns(y)
	return sweep.run(w, xi, theta, keep)
}
