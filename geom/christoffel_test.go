package geom_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/bench"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// The unit sphere in stereographic coordinates, from the south pole: four ways to give it.

func squared(x *Node) *Node { return ReduceAndKeep(Square(x), ReduceSum, -1) } // |x|², [..., 1]

func conformal(factor func(x *Node) *Node) func(x *Node) *Node {
	return func(x *Node) *Node {
		d := x.Shape().Dim(-1)
		g := ExpandLeftToRank(linalg.Eye(x.Graph(), x.DType(), d), x.Rank()+1)
		return Mul(g, ExpandAxes(factor(x), -1))
	}
}

func sphereMetric(d int) geom.Metric { // 4/(1 + |x|²)² δ
	return geom.MetricFunc(d, conformal(func(x *Node) *Node { return Square(Div(Const(x.Graph(), 2.), OnePlus(squared(x)))) }))
}

func sphereCometric(d int) geom.Cometric {
	return geom.CometricFunc(d, func(q, p *Node) *Node { return Mul(p, MulScalar(Square(OnePlus(squared(q))), 0.25)) })
}

func stereographic(x *Node) *Node { // [..., 2] to [..., 3]
	s := squared(x)
	return Div(Concatenate([]*Node{MulScalar(x, 2), OneMinus(s)}, -1), OnePlus(s))
}

func gnomonic(x *Node) *Node {
	s := OnePlus(squared(x))
	return Div(Concatenate([]*Node{x, OnesLike(s)}, -1), Sqrt(s))
}

// tilt is a linear change of coordinates that no symmetry survives.
func tilt(x *Node) *Node {
	a := Const(x.Graph(), [][]float64{{0.9, 0.4}, {-0.3, 1.2}})
	return linalg.MatVec(a, x)
}

func tiltedSphere() geom.Metric { // in the coordinates y with x = A(y + c)
	return geom.MetricFunc(2, func(y *Node) *Node {
		a := Const(y.Graph(), [][]float64{{0.9, 0.4}, {-0.3, 1.2}})
		g := sphereMetric(2).G(tilted(y))
		return linalg.MatMul(linalg.MatMul(linalg.T(a), g), a)
	})
}

func tilted(y *Node) *Node {
	return tilt(Add(y, ExpandLeftToRank(Const(y.Graph(), []float64{0.2, -0.5}), y.Rank())))
}

func halfPlane() geom.Metric {
	return geom.MetricFunc(2, conformal(func(x *Node) *Node { return Reciprocal(Square(SliceAxis(x, -1, AxisRange(1, 2)))) }))
}

func ellipsoid(a, b, c float64) geom.Immersion { // near the pole z = c, by the plane under it
	return geom.ImmersionFunc(2, func(x *Node) *Node {
		first, second := SliceAxis(x, -1, AxisRange(0, 1)), SliceAxis(x, -1, AxisRange(1, 2))
		z := Sqrt(OneMinus(Add(MulScalar(Square(first), 1/(a*a)), MulScalar(Square(second), 1/(b*b)))))
		return Concatenate([]*Node{x, MulScalar(z, c)}, -1)
	})
}

// wavy is a metric on R^4 with no symmetry, 2δ + s sᵀ + diag(cos² Bx).
func wavy() geom.Metric {
	return geom.MetricFunc(4, func(x *Node) *Node {
		b := Const(x.Graph(), [][]float64{{.5, .3, -.2, .1}, {.2, -.7, .4, .3}, {-.4, .1, .6, -.3}, {.3, .2, .1, .8}})
		y := linalg.MatVec(b, x)
		s, c := Sin(y), Square(Cos(MulScalar(y, 1.3)))
		eye := ExpandLeftToRank(linalg.Eye(x.Graph(), x.DType(), 4), x.Rank()+1)
		return Add(linalg.Outer(s, s), Mul(eye, ExpandAxes(AddScalar(c, 2), -1)))
	})
}

// cometricOf gives a metric by its inverse.
func cometricOf(m geom.Metric) geom.Cometric {
	return geom.CometricFunc(m.Dim(), func(q, p *Node) *Node { return linalg.Solve(m.G(q), p) })
}

// withFlat is a cometric with the closed form of ♭ and nothing else.
type withFlat struct {
	geom.Cometric
	geom.Flattener
}

// callosum is the landmark manifold of the corpora callosa, its shape and random vectors.
func callosum() (m landmarks.Manifold, q []float64, vectors [][]float64) {
	cc := morpho.CorpusCallosum().Scale(1. / 20)
	shape := cc.Shape("jhu_atlas")
	m = landmarks.Manifold{N: 39, D: 2, Kernel: kernels.Gaussian(morpho.MeanSpacing(shape, true))}
	for _, p := range shape {
		q = append(q, p...)
	}
	return m, q, randoms(1, 4, len(q))
}

// routes gives the landmark manifold with all it knows, with the closed form of ♭ alone, and as a bare cometric.
func routes(m landmarks.Manifold) []geom.Manifold {
	return []geom.Manifold{m, withFlat{m, m}, struct{ geom.Cometric }{m}}
}

func randoms(seed uint64, n, d int) [][]float64 {
	r := rand.New(rand.NewPCG(seed, 0))
	out := make([][]float64, n)
	for i := range out {
		for range d {
			out[i] = append(out[i], r.NormFloat64())
		}
	}
	return out
}

func dot(a, b *Node) *Node { return ReduceSum(Mul(a, b), -1) }

func TestChristoffelOfTheSphere(t *testing.T) {
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, u, v := in[0], in[1], in[2]
		// g = e^2φ δ has Γ(u, v) = ⟨∂φ, u⟩v + ⟨∂φ, v⟩u − ⟨u, v⟩∂φ, φ = log 2 − log(1 + |x|²).
		slope := Div(MulScalar(x, -2), OnePlus(squared(x)))
		keep := func(a, b *Node) *Node { return ExpandAxes(dot(a, b), -1) }
		want := Sub(Add(Mul(keep(slope, u), v), Mul(keep(slope, v), u)), Mul(keep(u, v), slope))
		induced := geom.FromImmersion(geom.ImmersionFunc(2, stereographic))
		out := []*Node{want}
		for _, m := range []geom.Manifold{sphereMetric(2), sphereCometric(2), induced, struct{ geom.Metric }{induced}} {
			out = append(out, geom.Christoffel(m, x, u, v))
		}
		return append(out, geom.Christoffel(sphereMetric(2), x, u, u), geom.Christoffel(sphereCometric(2), x, u, u),
			geom.Christoffel(induced, x, u, u))
	}, randoms(1, 5, 2), randoms(2, 5, 2), randoms(3, 5, 2)))
	for i, name := range []string{"metric", "cometric", "immersion", "immersion as a metric"} {
		expect.Rel(t, name, out.Flat(i+1), out.Flat(0), 1e-13)
	}
	expect.Rel(t, "Γ(u, u) of metric and cometric", out.Flat(6), out.Flat(5), 1e-13)
	expect.Rel(t, "Γ(u, u) of metric and immersion", out.Flat(7), out.Flat(5), 1e-13)
}

// All arrays are batched over two points; the vectors of a frame stand in an axis in front.
func TestChristoffelRoutes(t *testing.T) {
	metric, cometric := wavy(), cometricOf(wavy())
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, frame := in[0], in[1] // [2, 4], [3, 2, 4]
		symbols := geom.ChristoffelSymbols(metric, x)
		c := geom.NewConnection(metric, x)
		left, right := ExpandAxes(frame, 1), ExpandAxes(frame, 0)
		all := c.Gamma(left, right) // [3, 3, 2, 4]
		contracted := Einsum("bikl,bkmn->bimnl", symbols, ExpandAxes(TransposeAllDims(frame, 1, 2, 0), -1))
		contracted = Squeeze(contracted, -2)                     // [b, i, m, l]
		contracted = Einsum("biml,nbl->mnbi", contracted, frame) // [3, 3, 2, 4]
		dg := autodiff.Jacobian(func(x *Node) *Node {
			return Reshape(metric.G(x), append(x.Shape().Dimensions[:x.Rank()-1:x.Rank()-1], 16)...)
		}, x)
		dg = Reshape(dg, 2, 4, 4, 4) // ∂_l g_mk
		lower := Einsum("bmi,bikl->bmkl", metric.G(x), symbols)
		// ∂_l g_mk = Γ_m,kl + Γ_k,ml
		compatible := Add(lower, TransposeAllDims(lower, 0, 2, 1, 3))
		trace := Einsum("bikl,bkl->bi", symbols, geom.CometricMatrix(metric, x))
		return []*Node{all, contracted,
			TransposeAllDims(all, 1, 0, 2, 3), geom.NewConnection(cometric, x).Gamma(left, right),
			symbols, geom.ChristoffelSymbols(cometric, x),
			dg, compatible,
			trace, geom.ChristoffelTrace(metric, x), geom.ChristoffelTrace(cometric, x),
			c.Gamma(SliceAxis(frame, 0, AxisRange(0, 1)), right), SliceAxis(all, 0, AxisRange(0, 1))}
	}, randoms(1, 2, 4), [][][]float64{randoms(2, 2, 4), randoms(3, 2, 4), randoms(4, 2, 4)}))
	expect.Rel(t, "contracted = full array contracted", out.Flat(0), out.Flat(1), 1e-13)
	expect.Rel(t, "symmetry", out.Flat(2), out.Flat(0), 1e-13)
	expect.Rel(t, "cometric = metric", out.Flat(3), out.Flat(0), 1e-12)
	expect.Rel(t, "arrays of cometric and metric", out.Flat(5), out.Flat(4), 1e-12)
	expect.Rel(t, "metric compatibility", out.Flat(7), out.Flat(6), 1e-13)
	expect.Rel(t, "trace", out.Flat(9), out.Flat(8), 1e-12)
	expect.Rel(t, "trace from the cometric", out.Flat(10), out.Flat(8), 1e-12)
	expect.Rel(t, "vectors that broadcast", out.Flat(11), out.Flat(12), 1e-13)
}

// The contraction over 39 landmarks, from central differences of the kernel matrix on the host.
func TestChristoffelOfLandmarks(t *testing.T) {
	m, q, vectors := callosum()
	u, v := vectors[0], vectors[1]
	cc := morpho.CorpusCallosum().Scale(1. / 20)
	sigma := morpho.MeanSpacing(cc.Shape("jhu_atlas"), true)
	product := func(x, p []float64) []float64 { // K(x) p
		out := make([]float64, len(x))
		for i := 0; i < len(x); i += 2 {
			for j := 0; j < len(x); j += 2 {
				k := math.Exp(-(math.Pow(x[i]-x[j], 2) + math.Pow(x[i+1]-x[j+1], 2)) / (2 * sigma * sigma))
				out[i] += k * p[j]
				out[i+1] += k * p[j+1]
			}
		}
		return out
	}
	at := func(w []float64, h float64) []float64 {
		x := append([]float64{}, q...)
		for i := range x {
			x[i] += h * w[i]
		}
		return x
	}
	const h = 1e-3 // sixth-order differences: truncation and rounding both below 1e-11
	along := func(w []float64, f func(x []float64) []float64) []float64 {
		out := make([]float64, len(f(q)))
		for s, c := range []float64{45, -9, 1} {
			up, down := f(at(w, float64(s+1)*h)), f(at(w, -float64(s+1)*h))
			for i := range out {
				out[i] += c * (up[i] - down[i]) / (60 * h)
			}
		}
		return out
	}
	flat := expect.Must(engine.Run(func(in []*Node) []*Node {
		return []*Node{geom.Flat(m, in[0], in[1]), geom.Flat(m, in[0], in[2])}
	}, q, u, v))
	a, b := flat.Flat(0), flat.Flat(1)
	gradient := make([]float64, len(q))
	for i := range q {
		e := make([]float64, len(q))
		e[i] = 1
		gradient[i] = along(e, func(x []float64) []float64 {
			s := 0.
			for j, y := range product(x, b) {
				s += a[j] * y
			}
			return []float64{s}
		})[0]
	}
	want := product(q, gradient)
	du := along(u, func(x []float64) []float64 { return product(x, b) })
	dv := along(v, func(x []float64) []float64 { return product(x, a) })
	for i := range want {
		want[i] = (want[i] - du[i] - dv[i]) / 2
	}
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		var out []*Node
		for _, m := range routes(m) {
			out = append(out, geom.Christoffel(m, in[0], in[1], in[2]))
		}
		symbols := geom.ChristoffelSymbols(m, in[0])
		d := m.Dim()
		first := linalg.MatVec(Reshape(symbols, d*d, d), in[2])
		return append(out, linalg.MatVec(Reshape(first, d, d), in[1]))
	}, q, u, v))
	for i, name := range []string{"closed form", "flat in closed form", "bare cometric", "full array"} {
		expect.Rel(t, name, out.Flat(i), want, 1e-9)
		expect.Rel(t, name+" against closed form", out.Flat(i), out.Flat(0), 1e-12)
	}
}

// A kernel with widths of its own along the axes and a factor that is not smooth in the squared distance.
func TestPointCometric(t *testing.T) {
	m := landmarks.Manifold{N: 3, D: 3, Kernel: kernels.Sum([]float64{0.6, 0.4}, kernels.Gaussian(1, 0.7, 1.2), kernels.Laplace(2, 1.1))}
	bare := struct{ geom.Cometric }{m}
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, u, v := in[0], in[1], in[2]
		var out []*Node
		for _, m := range []geom.Manifold{m, bare} {
			out = append(out, geom.Christoffel(m, x, u, v), geom.ChristoffelSymbols(m, x), geom.ChristoffelTrace(m, x),
				geom.LogVolume(m, x), geom.Orthonormal(m, x))
		}
		return append(out, linalg.MatMul(out[4], linalg.T(out[4])), geom.CometricMatrix(m, x))
	}, randoms(1, 2, 9), randoms(2, 2, 9), randoms(3, 2, 9)))
	for i, name := range []string{"Γ(u, v)", "Γ", "trace", "volume", "orthonormal frame"} {
		expect.Rel(t, name, out.Flat(i), out.Flat(i+5), 1e-11)
	}
	expect.Rel(t, "E Eᵀ", out.Flat(10), out.Flat(11), 1e-13)
}

func BenchmarkChristoffel(b *testing.B) {
	m, q, vectors := callosum()
	for _, c := range []struct {
		name string
		fn   func(in []*Node) []*Node
	}{
		{"contracted", func(in []*Node) []*Node { return []*Node{geom.Christoffel(m, in[0], in[1], in[2])} }},
		{"contracted-bare-cometric", func(in []*Node) []*Node {
			return []*Node{geom.Christoffel(struct{ geom.Cometric }{m}, in[0], in[1], in[2])}
		}},
		{"array", func(in []*Node) []*Node { return []*Node{geom.ChristoffelSymbols(m, in[0])} }},
		{"array-bare-cometric", func(in []*Node) []*Node {
			return []*Node{geom.ChristoffelSymbols(struct{ geom.Cometric }{m}, in[0])}
		}},
		{"trace", func(in []*Node) []*Node { return []*Node{geom.ChristoffelTrace(m, in[0])} }},
		{"sectional", func(in []*Node) []*Node { return []*Node{geom.SectionalCurvature(m, in[0], in[1], in[2])} }},
	} {
		b.Run(c.name, func(b *testing.B) {
			f := engine.Compile(c.fn)
			bench.Call(b, func() error { _, err := f.Call(q, vectors[0], vectors[1]); return err })
		})
	}
}

// Closed forms of Γ give the trace that derivatives of the metric or of the cometric give.
func TestTraceFromClosedForm(t *testing.T) {
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, centre := in[0], in[1]
		onTorus := MulScalar(SliceAxis(centre, -1, AxisRange(0, 3)), 2.7)
		var out []*Node
		for _, m := range []geom.Manifold{manifold.Sphere(3).Chart(centre), manifold.Torus(2, 0.7).Chart(onTorus)} {
			x := SliceAxis(x, -1, AxisRange(0, m.Dim()))
			out = append(out, geom.ChristoffelTrace(m, x), geom.ChristoffelTrace(struct{ geom.Cometric }{m.(geom.Cometric)}, x))
		}
		graph := geom.FromImmersion(geom.ImmersionFunc(3, func(x *Node) *Node {
			return Concatenate([]*Node{x, Sin(squared(x))}, -1)
		}))
		return append(out, geom.ChristoffelTrace(graph, x), geom.ChristoffelTrace(geom.MetricFunc(3, graph.G), x))
	}, randoms(1, 3, 3), slices.Repeat([][]float64{{0.8, 0.6, 0, 0}}, 3)))
	for i, name := range []string{"sphere", "torus", "graph of a function"} {
		expect.Rel(t, name, out.Flat(2*i), out.Flat(2*i+1), 1e-12)
	}
}

// Metrics that do not depend on the point have no gradient to speak of.
func TestFlatSpace(t *testing.T) {
	g := func(x *Node) *Node { return Const(x.Graph(), [][]float64{{2, 0.5}, {0.5, 1}}) }
	metric := geom.MetricFunc(2, func(x *Node) *Node { return BroadcastPrefix(g(x), x.Shape().Dimensions[:x.Rank()-1]...) })
	cometric := geom.CometricFunc(2, func(q, p *Node) *Node { return linalg.MatVec(g(q), p) })
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, u, v := in[0], in[1], in[2]
		var out []*Node
		for _, m := range []geom.Manifold{metric, cometric} {
			out = append(out, geom.Christoffel(m, x, u, v), geom.ChristoffelSymbols(m, x), geom.ChristoffelTrace(m, x),
				geom.Riemann(m, x, u, v, u), geom.Ricci(m, x))
		}
		return out
	}, []float64{1, 2}, []float64{3, 4}, []float64{5, 6}))
	for i := range out {
		expect.Rel(t, fmt.Sprintf("result %d", i), out.Flat(i), make([]float64, len(out.Flat(i))), 0)
	}
}

func TestShapesThatDoNotFit(t *testing.T) {
	m := sphereMetric(2)
	flattened := geom.ImmersionFunc(2, func(x *Node) *Node { return SliceAxis(x, -1, AxisRange(0, 1)) })
	x := randoms(1, 3, 2)
	for want, fn := range map[string]func(x, u *Node) *Node{
		"geom.Connection: vector (Float64)[4, 2] at points (Float64)[3, 2]": func(x, u *Node) *Node { return geom.Christoffel(m, x, u, u) },
		"geom.Connection: vectors (Float64)[2, 3, 2] and (Float64)[4, 3, 2] do not broadcast": func(x, _ *Node) *Node {
			return geom.NewConnection(m, x).Gamma(BroadcastPrefix(x, 2), BroadcastPrefix(x, 4))
		},
		"geom.Ricci: points (Float64)[3, 2], want last axis 3": func(x, _ *Node) *Node { return geom.Ricci(sphereMetric(3), x) },
		"geom.FromImmersion: 2 coordinates immersed in R^1":    func(x, _ *Node) *Node { return geom.FromImmersion(flattened).G(x) },
		"geom.MetricFunc: the metric is [2 2] for points [3 2], want [3 2 2]": func(x, _ *Node) *Node {
			return geom.MetricMatrix(geom.MetricFunc(2, func(x *Node) *Node { return linalg.Eye(x.Graph(), x.DType(), 2) }), x)
		},
		"geom.MetricFunc: the metric is [3 2] for points [3 2], want [3 2 2]": func(x, _ *Node) *Node {
			return geom.MetricMatrix(geom.MetricFunc(2, func(x *Node) *Node { return x }), x)
		},
		"geom.CometricFunc: p♯ is [3 1] for covectors [3 2], want the same": func(x, _ *Node) *Node {
			return geom.Sharp(geom.CometricFunc(2, func(_, p *Node) *Node { return SliceAxis(p, -1, AxisRange(0, 1)) }), x, x)
		},
		"geom.Transport: curve (Float64)[1, 2], want [n + 1, ..., d]": func(x, u *Node) *Node {
			return geom.Transport(m, ode.RK4, SliceAxis(x, 0, AxisRange(0, 1)), u)
		},
	} {
		expect.Refused(t, expect.Error(engine.Run(fn, x, randoms(2, 4, 2))), want)
	}
}

// A metric is symmetric, also where it was written down with a slip that leaves it so elsewhere.
func TestMetricThatIsNotSymmetric(t *testing.T) {
	s := geom.On(geom.MetricFunc(2, func(x *Node) *Node {
		one, slip := OnesLike(SliceAxis(x, -1, AxisRange(0, 1))), SliceAxis(x, -1, AxisRange(1, 2))
		return Stack([]*Node{Concatenate([]*Node{one, MulScalar(slip, 0.5)}, -1), Concatenate([]*Node{ZerosLike(one), one}, -1)}, -2)
	}))
	regular, slip, v := []float64{1, 0}, []float64{0, 1}, []float64{0.1, 0}
	expect.Refused(t, expect.Error(s.Exp(slip, v)), "Exp", "not symmetric", "differ by 0.5")
	expect.Refused(t, expect.Error(s.LogAll([][]float64{regular, regular}, [][]float64{{0, 0}, slip})), "end 1", "not symmetric")
	if _, err := s.Exp(regular, v); err != nil {
		t.Error(err)
	}
}
