package guided

import (
	"math"
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
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

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

// told are the terms of messages, [n, G, P, E, n, n] or packed, and [n, G, P, E, n, D], that were told to the steps; without the first axis to the
// root.
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

// visits are states that chains went through, [visit][level], each [n, C·E, wide, D], and on a geom.Charted manifold after those of the
// levels those of the nodes, [C, V, wide, D]. They take less memory than what guides are made of.
type visits [][][]float64

// look adds the states before all steps of the chains as they are now.
func (s *sampler[P]) look(v *visits) {
	out := try.Get(s.process.Space.Call(s.key("look"), func(in []*Node) []*Node {
		_, nodes, paths := s.swept(in, true)
		if s.charted {
			paths = append(paths, nodes)
		}
		return paths
	}, append(s.state(), s.fixed...)...))
	*v = append(*v, lists.Make(len(out), out.Flat))
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
			rate = Reshape(BroadcastToDims(ExpandAxes(theta.rate, 1), c, e), c*e, 1, 1)
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
func (s *sampler[P]) guide(seen visits) {
	all := places(len(s.options.Unknown))
	at := monomials(len(s.options.Unknown))
	if s.told == nil {
		zeros := func(dims ...int) *tensors.Tensor { return tensors.FromShape(shapes.Make(dtypes.Float64, dims...)) }
		rows, columns := s.packedSize()
		s.told = []told{{zeros(s.groups, len(all), 1, rows, columns), zeros(s.groups, len(all), 1, s.n, s.d)}}
		for _, level := range s.levels {
			dims := []int{s.options.Steps, s.groups, len(all), len(level)}
			s.told = append(s.told, told{zeros(append(dims, rows, columns)...), zeros(append(dims, s.n, s.d)...)})
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
			step, errors := func(i, k int) transition { return s.transition(means, group, i, k) }, s.data[group].Noise
			switch {
			case seen == nil:
				step, errors = func(int, int) transition { return transition{q: mat.NewDense(s.n, s.n, nil)} }, 1e6*s.data[group].Noise
			case s.noiseAt >= 0:
				errors = math.Exp(s.logs(group, y)[s.noiseAt])
			}
			here := func(i int) []message {
				if s.seen[group][i].b == nil {
					return nil
				}
				return []message{inChart(group, i, s.seen[group][i].scaled(errors))}
			}
			root := s.pull(s.options.Steps, here, step, func(i, k int, m message) {
				edges := len(s.levels[s.depth[i]-1])
				s.told[s.depth[i]].tell(s.packed(m), at, q, edges, (k*s.groups+group)*edges+s.place[i])
			})
			s.told[0].tell(s.packed(root), at, q, 1, group)
			noise[q] = append(noise[q], errors)
		}
	}
	s.learned = seen
	s.fixed = s.arguments(at, noise)
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
