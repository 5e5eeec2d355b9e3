package main

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/framebundle"
	"anatomy/geom/guided"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/geom/stats"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// measurer runs one computation, which passes where its parts differ by at most a tolerance.
type measurer func(name, precision string, tolerance float64, call func() [][]float64)

// The tolerances are rounding, amplified by the flow's dependence on its start.
var precisions = []struct {
	name                    string
	options, sums           []engine.Option
	exp, gradient, hamilton float64
}{
	{"float64", nil, nil, 1e-11, 1e-10, 1e-11},
	{"float32", []engine.Option{engine.Float32()}, []engine.Option{engine.Float32(0)}, 1e-5, 1e-4, 1e-4},
}

// programs measures single programs: the exponential map of 39 landmarks and its gradient, eigenvectors, and Hamilton's equations of many
// landmarks by each way to sum and by the one that Fast chooses on the device.
func programs(measure measurer, ns []int) {
	space, q, target := callosa(1)
	x, y, v := q.Flat(), target.Flat(), target.Sub(q).Flat()
	steady := space.With(geom.Integrator(ode.RK4, 25))
	exp := func(q, v *Node) *Node {
		end, _ := steady.FlowMap(q, geom.Flat(space.Manifold, q, v))
		return end
	}
	gradient := func(q, v, target *Node) *Node {
		return autodiff.Grad(func(v *Node) *Node { return ReduceAllSum(Square(Sub(exp(q, v), target))) }, v)
	}
	for _, p := range precisions {
		f := engine.Compile(exp, p.options...)
		measure("Exp, 39 landmarks", p.name, p.exp, func() [][]float64 { return flat(f.Call(x, v)) })
	}
	for _, p := range precisions {
		f := engine.Compile(gradient, p.options...)
		measure("gradient through it", p.name, p.gradient, func() [][]float64 { return flat(f.Call(x, v, y)) })
	}
	eigen := engine.Compile(func(x *Node) []*Node {
		s := linalg.SymEig(space.Manifold.Kernel.Gram(x, x))
		return []*Node{s.Values, s.Log()}
	})
	measure("SymEig, 39 × 39", "float64", 1e-11, func() [][]float64 { return flat(eigen.Call(q)) })
	for _, n := range ns {
		points, momenta := ellipsoid(n)
		k := kernels.Gaussian(0.25)
		for _, sum := range []struct {
			name      string
			tolerance float64 // 0 for that of rounding
			make      func() (kernels.Kernel, error)
		}{
			{"tiles", 0, func() (kernels.Kernel, error) { return kernels.Tiled(k), nil }},
			{"plane waves", 0, func() (kernels.Kernel, error) { return kernels.Expand(k, kernels.Extent(points), 1e-6) }},
			{"grid", 1e-5, func() (kernels.Kernel, error) { return kernels.Grid(k, kernels.Extent(points), 1e-6) }},
			{"Fast", 1e-5, func() (kernels.Kernel, error) { return kernels.Fast(k, 1e-6, points) }},
		} {
			for _, p := range precisions {
				var f *engine.Func
				measure(fmt.Sprintf("Hamilton, %d landmarks, %s", n, sum.name), p.name, max(p.hamilton, sum.tolerance), func() [][]float64 {
					if f == nil {
						way := try.Get(sum.make())
						f = engine.Compile(way.Hamilton, p.sums...)
					}
					return flat(f.Call(points, momenta))
				})
			}
		}
	}
}

// searches measures whole computations. The steps of a search amplify rounding: what is compared is what it converges to, to the
// tolerance of the search, and of chains the first draws.
func searches(measure measurer) {
	space, q, target := callosa(1)
	measure("Log, 39 landmarks", "float64", 1e-6, func() [][]float64 {
		g := try.Get(space.Log(q, target))
		try.Do(g.Err())
		return [][]float64{slices.Concat(g.Velocity...)}
	})
	wide, _, _ := callosa(2)
	measure("Match, 39 landmarks", "float64", 1e-4, func() [][]float64 {
		m := try.Get(wide.Match(q, landmarks.Correspondence(target), 0.3))
		try.Do(m.Err())
		return [][]float64{{m.Objective}, slices.Concat(m.Deformed...)}
	})
	// Problems that share programs have their number in front.
	const n = 8
	sources, way := slices.Repeat([]geom.Shape{q}, n), target.Sub(q)
	targets := lists.Make(n, func(k int) geom.Shape { return q.Add(way.Scale(float64(k+1) / n)) })
	measure("8 × Log, 39 landmarks", "float64", 1e-6, func() [][]float64 {
		return lists.Each(try.Get(space.LogAll(sources, targets)), func(g *landmarks.Geodesic) []float64 { return g.Velocity.Flat() })
	})
	measure("8 × Match, 39 landmarks", "float64", 1e-4, func() [][]float64 {
		terms := lists.Each(targets, func(x geom.Shape) landmarks.DataTerm { return landmarks.Correspondence(x) })
		return lists.Each(try.Get(wide.MatchAll(sources, terms, 0.3)), func(m *landmarks.Matching) []float64 { return m.Deformed.Flat() })
	})
	from, to := movedFar(60)
	narrow := landmarks.New(len(from), 2, kernels.Gaussian(0.2), geom.Integrator(ode.RK4, 20))
	measure("LogWithin, five widths", "float64", 1e-4, func() [][]float64 {
		g := try.Get(narrow.LogWithin(from, to, 1e-3))
		try.Do(g.Err())
		return [][]float64{{g.Length}}
	})
	source := mesh.Icosphere(1)
	term := attachment.Varifold(kernels.Gaussian(0.4), source, mesh.Ellipsoid(1.3, 1, 0.8, 8, 12))
	surfaces := landmarks.New(42, 3, kernels.Gaussian(0.7), geom.Integrator(ode.Heun, 5))
	measure("Match, surfaces", "float64", 1e-3, func() [][]float64 {
		m := try.Get(surfaces.Match(source.Vertices, term, 0.1))
		try.Do(m.Err())
		return [][]float64{{m.Objective}, slices.Concat(m.Deformed...)}
	})
	var subjects [][]*mesh.Mesh
	for i, h := range []float64{-0.2, -0.1, 0, 0.1, 0.2} {
		subjects = append(subjects, []*mesh.Mesh{mesh.Curve(ellipse(30+3*i, 2*(1+h), 1-h), true)})
	}
	model := population.Model{
		Space:   landmarks.New(12, 2, kernels.Gaussian(1), geom.Integrator(ode.Heun, 5)),
		Objects: []population.Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.5)}, Noise: 0.3}},
	}
	measure("atlas of 5 curves", "float64", 1e-3, func() [][]float64 {
		a := try.Get(model.Atlas(subjects[0], ellipse(12, 2, 1), subjects, solve.Tolerance(0.003)))
		if a.Status != geom.Converged {
			try.Do(fmt.Errorf("the atlas is %s", a.Status))
		}
		return [][]float64{{a.Objective}, slices.Concat(a.Template[0].Vertices...)}
	})
	measure("4 × placed landmarks", "float64", 1e-3, func() (places [][]float64) {
		marks := append([]geom.Shape{subjects[0][0].Vertices[3:5]}, make([]geom.Shape, 4)...)
		for _, placed := range try.Get(model.Landmarks(ellipse(12, 2, 1), subjects, marks, solve.Tolerance(0.001))).Placed[1:] {
			places = append(places, lists.Each(placed, func(l population.PlacedLandmark) []float64 { return l.Point })...)
		}
		return places
	})
	stochasticSearches(measure)
}

// stochasticSearches are those of the frame bundle and of guided sampling.
func stochasticSearches(measure measurer) {
	space, q, target := callosa(1)
	few := landmarks.New(13, 2, space.Manifold.Kernel, geom.Integrator(ode.RK4, 10))
	var start, end geom.Shape
	for i := 0; i < len(q); i += 3 {
		start, end = append(start, q[i]), append(end, target[i])
	}
	frame := []geom.Shape{end.Sub(start), slices.Repeat(geom.Shape{{1, 0}}, len(start))}
	measure("8 × Brownian bridge, 13 landmarks", "float64", 1e-8, func() [][]float64 {
		run := stochastic.Run{Paths: 8, Steps: 20, Time: 0.01, Seed: 1}
		l := try.Get(stochastic.LogLikelihood(few, stochastic.DelyonHu, start, slices.Repeat([]geom.Shape{end}, 8), run))
		return [][]float64{lists.Each(l, func(l stochastic.Likelihood) float64 { return l.Log })}
	})
	var curve [][]float64
	for k := range 11 {
		sin, cos := math.Sincos(float64(k) / 5)
		curve = append(curve, []float64{sin, 1 - cos})
	}
	bundle := framebundle.Over(few)
	measure("development in the frame bundle", "float64", 1e-10, func() [][]float64 {
		d := try.Get(bundle.Develop(framebundle.At(start, frame...), curve))
		last := len(d.Path) - 1
		return [][]float64{slices.Concat(d.Path[last]...), slices.Concat(slices.Concat(d.Frames[last]...)...)}
	})
	measure("frame bundle mean of 4 shapes", "float64", 1e-3, func() [][]float64 {
		var shapes []geom.Shape
		for _, w := range []float64{-1.5, -0.5, 0.5, 1.5} {
			d := try.Get(bundle.Develop(framebundle.At(start, frame[0]), [][]float64{{0}, {w / 4}, {w / 2}}))
			shapes = append(shapes, d.Path[len(d.Path)-1])
		}
		m := try.Get(stats.FrameBundleMean(few, shapes, 1))
		try.Do(m.Err())
		return [][]float64{slices.Concat(m.Point...), {m.Objective}}
	})
	triangle := geom.Shape{{0, 0}, {1, 0}, {0.5, 0.8}}
	measure("guided sampling, 10 draws", "float64", 1e-6, func() [][]float64 {
		flow := try.Get(landmarks.New(3, 2, kernels.Gaussian(0.6)).Kunita(triangle, 1, 0.1))
		edges := try.Get(tree.New([]int{-1, 0, 0}, []float64{0, 1, 0.5}, []string{"", "long", "short"}))
		post := try.Get(guided.Sample(flow, edges, guided.Observations[geom.Shape]{
			Leaves: []geom.Shape{{{0.2, -0.1}, {1.4, 0.2}, {0.4, 1.1}}, {{-0.1, 0.1}, {1.1, 0.1}, {0.6, 0.9}}},
			Noise:  0.02,
		}, guided.Options{
			Unknown: []guided.Unknown{guided.Rate(guided.LogNormal(1, 0.7))},
			Root:    0.3, Steps: 5, Warmup: 5, Draws: 5, Seed: 1,
		}))
		return [][]float64{slices.Concat(post.Log...), slices.Concat(post.Unknown[0].Draws...)}
	})
}

// flat returns all outputs of a program.
func flat(out engine.Values, err error) [][]float64 {
	try.Do(err)
	return lists.Make(len(out), out.Flat)
}

// callosa returns two corpora callosa in a space whose kernel is as wide as some of their spacings.
func callosa(spacings float64) (space *landmarks.Space, q, target geom.Shape) {
	cc := morpho.CorpusCallosum()
	return landmarks.New(39, 2, kernels.Gaussian(spacings*cc.Spacing())), cc.Shape("jhu_atlas"), cc.Shape("colin27")
}

func ellipse(n int, a, b float64) [][]float64 {
	return lists.Make(n, func(i int) []float64 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		return []float64{a * cos, b * sin}
	})
}

// movedFar returns an ellipse, and the same moved by its half axis and bent.
func movedFar(n int) (q, target [][]float64) {
	q = ellipse(n, 1, 0.7)
	return q, lists.Each(q, func(x []float64) []float64 { return []float64{x[0] + 1 + x[1]/7, x[1] + 0.1*x[0]*x[0]} })
}

// ellipsoid returns n points spread evenly over an ellipsoid, and smooth momenta.
func ellipsoid(n int) (points, momenta [][]float64) {
	for i := range n {
		z := 1 - (2*float64(i)+1)/float64(n)
		r, angle := math.Sqrt(1-z*z), float64(i)*math.Pi*(3-math.Sqrt(5))
		x := []float64{r * math.Cos(angle), 0.8 * r * math.Sin(angle), 0.6 * z}
		points = append(points, x)
		momenta = append(momenta, []float64{math.Sin(3*x[1]) / float64(n), math.Cos(2*x[2]) / float64(n), x[0] * x[1] / float64(n)})
	}
	return points, momenta
}
