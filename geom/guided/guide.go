package guided

import (
	"fmt"
	"math"
	"slices"

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

// monomials are those of degree two at most of p unknowns, as the places of their factors: messages are polynomials of y of these.
func monomials(p int) [][]int { return append([][]int{nil}, products(p, 2)...) }

// places are the y at which guides are made, one for each of the monomials: 0, e_j, −e_j for e_j², and e_i + e_j.
func places(p int) [][]float64 {
	return lists.Each(monomials(p), func(factors []int) []float64 {
		y := make([]float64, max(1, p))
		for k, j := range factors {
			if y[j]++; k > 0 && factors[0] == j {
				y[j] = -1
			}
		}
		return y
	})
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

// coefficients is the matrix that makes those of the monomials of values at places.
func coefficients(p int) *mat.Dense {
	at, of := places(p), monomials(p)
	v := mat.NewDense(len(at), len(at), nil)
	v.Apply(func(q, t int, _ float64) float64 {
		value := 1.0
		for _, j := range of[t] {
			value *= at[q][j]
		}
		return value
	}, v)
	try.Do(v.Inverse(v))
	return v
}

// visits are states that chains went through, [visit][level], each [n, C·E, wide, D], and on a geom.Charted manifold after those of the
// levels those of the nodes, [C, V, wide, D].
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

// visit returns what the auxiliary process is made of along the edges of a level, with the unknowns at a place, [p]: the means over the chains of
// a group, along their paths, of the point, [n, G, E, n, D], of rate·σσᵀ, [n, G, E, n, n], of the drift, [n, G, E, n, D], and for flat
// models of the drift's derivative. On a geom.Charted manifold they are those of chartedStep.
func (s *sampler[P]) visit(level int) func(in []*Node) []*Node {
	return func(in []*Node) []*Node {
		place, middle, scale, h, path, params := in[0], in[1], in[2], in[3], in[4], in[5:]
		n, e := s.options.Steps, len(s.levels[level])
		scanned := []*Node{path}
		if s.charted {
			scanned = append(scanned, SliceAxis(params[0], 0, AxisRange(0, n)), SliceAxis(params[0], 0, AxisRange(1)))
			params = params[1:]
		}
		c := path.Shape().Dim(1) / e
		theta, _, _ := s.unknowns(BroadcastPrefix(place, c), middle, scale, params)
		rate := ScalarOne(path.Graph(), path.DType())
		if theta.rate != nil {
			rate = Reshape(perEdge(theta.rate, e), c*e, 1, 1)
		}
		length := Reshape(BroadcastPrefix(h, c), c*e, 1, 1)
		mean := func(x *Node) *Node { // over the chains of a group
			dims := x.Shape().Dimensions
			return ReduceMean(Reshape(x, s.groups, c/s.groups, e, dims[1], dims[2]), 1)
		}
		_, means := autodiff.Scan(n, func(_ *Node, _, in []*Node) ([]*Node, []*Node) {
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
		return means
	}
}

// auxiliary are the means over visits of what visit returns; nil of none.
func (s *sampler[P]) auxiliary(seen visits, place []float64, level int) (means [][]float64) {
	edges := s.levels[level]
	for _, paths := range seen {
		path := tensors.FromFlatDataAndDimensions(paths[level], s.options.Steps, s.total*len(edges), s.wide, s.d)
		args := []any{place, s.mean, s.scale, s.lengths(edges), path}
		if s.charted {
			args = append(args, s.centres.levels[level])
		}
		out := try.Get(s.process.Space.Call(s.key(fmt.Sprint("visit ", level)), s.visit(level), append(args, s.process.Params...)...))
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
	at := coefficients(len(s.options.Unknown))
	if s.told == nil {
		s.told = s.untold(len(all))
	}
	for _, t := range s.told {
		tensors.MustMutableFlatData(t.b, func(x []float64) { clear(x) })
		tensors.MustMutableFlatData(t.f, func(x []float64) { clear(x) })
	}
	view := func(group, i int) message { return s.seen[group][i].message }
	if s.charted {
		s.centres = s.middles(seen)
		charts := s.charts()
		view = func(group, i int) message {
			centre, slope := charts(group, i)
			return s.inChart(s.seen[group][i].message, centre, slope)
		}
	}
	noise := make([][]float64, len(all))
	for q, y := range all {
		noise[q] = lists.Make(s.groups, func(group int) float64 {
			switch {
			case seen == nil:
				return 1e6 * s.data[group].Noise
			case s.noiseAt >= 0:
				return math.Exp(s.logs(group, y)[s.noiseAt])
			}
			return s.data[group].Noise
		})
		s.pull(seen, y, func(group, i int) []message {
			if s.seen[group][i].b == nil {
				return nil
			}
			return []message{view(group, i).scaled(noise[q][group])}
		}, func(group, i, k int, m message) {
			edges := s.width(s.depth[i])
			s.told[s.depth[i]].tell(s.packed(m), at, q, edges, (k*s.groups+group)*edges+s.place[i])
		})
	}
	s.learned = seen
	s.fixed = s.arguments(at, noise)
}

// untold are terms of messages, so many of each, before something is told to them.
func (s *sampler[P]) untold(terms int) []told {
	rows, columns := s.packedSize()
	out := []told{{zeros(s.groups, terms, 1, rows, columns), zeros(s.groups, terms, 1, s.n, s.d)}}
	for _, level := range s.levels {
		dims := []int{s.options.Steps, s.groups, terms, len(level)}
		out = append(out, told{zeros(append(dims, rows, columns)...), zeros(append(dims, s.n, s.d)...)})
	}
	return out
}

// pull takes messages from where something is seen to the root, through the steps of the auxiliary process of visits at a place, level by level. It
// tells the message after each step k of the edge above each node, and that of the root, as soon as it is known, because all of them take too much
// memory to be kept, and so do the means of all levels.
func (s *sampler[P]) pull(visited visits, place []float64, seen func(group, node int) []message, tell func(group, node, k int, m message)) {
	gathered := lists.Make(s.groups, func(int) [][]message { return make([][]message, len(s.stands)) })
	join := func(group, i int) message {
		all := append(gathered[group][i], seen(group, i)...)
		if gathered[group][i] = nil; s.leaf[i] {
			return all[0]
		}
		m, _ := fuse(all)
		return m
	}
	for level, nodes := range slices.Backward(s.levels) {
		means := s.auxiliary(visited, place, level)
		for group, above := range gathered {
			for _, i := range slices.Backward(nodes) {
				m := join(group, i)
				for k := s.options.Steps - 1; k >= 0; k-- {
					if tell(group, i, k, m); means != nil {
						var err error
						m, err = m.back(s.transition(means, group, i, k))
						try.Do(try.Name(err, "step %d of the edge above %s", k+1, s.tree.Label(i)))
					}
				}
				above[s.parent(i)] = append(above[s.parent(i)], m)
			}
		}
	}
	for group := range gathered {
		tell(group, 0, 0, join(group, 0))
	}
}

// transition is step k of the auxiliary process on the edge above node i, made of means of visits.
func (s *sampler[P]) transition(means [][]float64, group, i, k int) transition {
	h := s.tree.Length[i] / float64(s.options.Steps)
	read := func(of, columns int) *mat.Dense {
		size := s.n * columns
		at := ((k*s.groups+group)*s.width(s.depth[i]) + s.place[i]) * size
		return mat.NewDense(s.n, columns, slices.Clone(means[of][at:at+size]))
	}
	t := transition{q: read(1, s.n)}
	t.q.Scale(h, t.q)
	if len(means) > 2 {
		t.beta = read(2, s.d)
		if len(means) > 3 {
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
