package stochastic_test

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/bench"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/geomtest/heat"
	"anatomy/geom/linalg"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

func TestMain(m *testing.M) {
	geomtest.Main(m, geomtest.Quick,
		TestStepErrorOfDiffusionMean, TestBridgesOnPositiveNumbers, TestDiffusionMeanOnSphere, TestMostProbableOfDevelopment,
		TestMostProbableToTheStart, TestStepErrorIsTold, TestHalfAsManySteps, TestDiffusionMeanOnCircle, TestMostProbableToTurned,
		TestBridgeHalfWay, TestMostProbableOfFields, TestMostProbableRefuses, TestStepsTooLongForTheChart, TestMostProbableThatWinds,
		TestCorrelated, TestOnePathHasNoStandardError, TestBridgeInFlatSpace, TestDiffusionMeanInFlatSpace, TestGuideIsTheHeatKernel,
		TestBridgeLikelihoodOnSphere)
}

var (
	sphere = geom.On(manifold.Sphere(2))
	pole   = []float64{0.48, -0.6, 0.64}
)

func isotropic(s *geom.Space[geom.Vec], x []float64) stochastic.Process[geom.Vec] {
	return stochastic.Development(s, x, expect.Must(stochastic.Orthonormal(s, x))...)
}

func cosines(x [][]float64, y []float64) []float64 {
	c := make([]float64, len(x))
	for k := range x {
		c[k] = floats.Dot(x[k], y)
	}
	return c
}

// Brownian motion on S² in charts, and by development: E z_T = z_0 e^{−T}, and the distribution is the heat kernel.
func TestSphere(t *testing.T) {
	const T, n = 0.6, 10000
	run := stochastic.Run{Paths: n, Steps: 100, Time: T, Seed: 1}
	for name, p := range map[string]stochastic.Process[geom.Vec]{"coordinates": stochastic.Brownian(sphere, pole), "development": isotropic(sphere, pole)} {
		run.Seed++
		ends := expect.Must(p.Sample(run))
		for a, v := range pole {
			x := make([]float64, n)
			for k := range ends {
				x[k] = ends[k][a]
			}
			expect.Mean(t, name+": coordinate", x, v*math.Exp(-T))
		}
		expect.Distribution(t, name+": heights", cosines(ends, pole), func(c float64) float64 { return heat.Cumulative(T, c) })
		if name == "coordinates" {
			density(t, ends, T)
		}
	}
}

// density compares the estimate with the heat kernel at time T + h², what a kernel of bandwidth h makes of it.
func density(t *testing.T, samples [][]float64, T float64) {
	t.Helper()
	const h = 0.15
	at := [][]float64{pole, {0.6, -0.48, 0.64}, {0.8, 0.6, 0}, {-0.48, 0.6, -0.64}}
	got := expect.Must(stochastic.Density(sphere, samples, at, h))
	for i, y := range at {
		want := heat.Kernel(T+h*h, floats.Dot(y, pole))
		expect.Estimate(t, fmt.Sprintf("density at %v", y), got[i], math.Sqrt(want/(4*math.Pi*h*h*float64(len(samples)))), want)
	}
}

// On the hyperbolic plane E cosh d(x_0, x_T) = e^T.
func TestHyperbolicPlane(t *testing.T) {
	const T = 0.5
	s := geom.On(manifold.Hyperbolic(2))
	start := []float64{math.Sqrt(1 + 0.09 + 0.25), 0.3, -0.5}
	for name, p := range map[string]stochastic.Process[geom.Vec]{"coordinates": stochastic.Brownian(s, start), "development": isotropic(s, start)} {
		ends := expect.Must(p.Sample(stochastic.Run{Paths: 5000, Steps: 100, Time: T, Seed: 3}))
		x := make([]float64, len(ends))
		for k, z := range ends {
			x[k] = z[0]*start[0] - z[1]*start[1] - z[2]*start[2]
		}
		expect.Mean(t, name, x, math.Exp(T))
	}
}

// Of one vector, the development runs on a geodesic: x_t = Exp(W_t ν). In flat space it is x_0 + W ν for any frame.
func TestDevelopmentAlongGeodesic(t *testing.T) {
	v := []float64{0.6, 0.8, 0.3} // a tangent vector after projection
	_, tangent, err := sphere.Project(pole, v)
	if err != nil {
		t.Fatal(err)
	}
	p := stochastic.Development(sphere, pole, tangent...)
	paths := expect.Must(p.Paths(stochastic.Run{Paths: 5, Steps: 2000, Time: 2, Seed: 4}))
	norm := floats.Norm(tangent[0], 2)
	for k, path := range paths.Points {
		for i, z := range path {
			w := paths.Noise[k][i][0]
			for a := range z {
				want := math.Cos(w*norm)*pole[a] + math.Sin(w*norm)*tangent[0][a]/norm
				expect.Abs(t, fmt.Sprintf("path %d, step %d", k, i), z[a], want, 2e-3)
			}
		}
	}
	flat := geom.On(manifold.Euclidean(3))
	frame := [][]float64{{1, 2, 0}, {0, 1, -1}}
	paths = expect.Must(stochastic.Development(flat, []float64{1, 2, 3}, frame...).Paths(stochastic.Run{Paths: 3, Steps: 10, Seed: 5}))
	for k, path := range paths.Points {
		for i, x := range path {
			w := paths.Noise[k][i]
			want := []float64{1 + w[0], 2 + 2*w[0] + w[1], 3 - w[1]}
			expect.Abs(t, fmt.Sprintf("flat space, path %d, step %d", k, i), x, want, 1e-12)
		}
	}
}

// threeLandmarks is a space where the drift matters: three landmarks about a width of the kernel apart.
func threeLandmarks() (*geom.Space[geom.Vec], []float64) {
	m := landmarks.Manifold{N: 3, D: 2, Kernel: kernels.Gaussian(1)}
	return geom.On(m), []float64{0, 0, 0.9, 0.2, 0.4, 0.8}
}

// testFunction is a function on R^6 with derivatives of all orders.
func testFunction(x *Node) *Node {
	n := x.Shape().Dim(-1)
	shifted := Concatenate([]*Node{SliceAxis(x, -1, AxisRange(n-1, n)), SliceAxis(x, -1, AxisRange(0, n-1))}, -1)
	return ReduceSum(Mul(Sin(MulScalar(x, 1.3)), shifted), -1)
}

// The generator: E f(x_t) − f(x_0) = ½ t Δf + O(t²), for Brownian motion in coordinates and by development, and not with the
// drift + g^kl Γ^i_kl, nor with the other contraction g^kl Γ^k_li, both of which are in print. The martingale part
// ⟨∇f(x_0), E W_t⟩, known from the noise, is taken off: what is left has a standard deviation of order t.
func TestGenerator(t *testing.T) {
	const T = 0.004
	s, x0 := threeLandmarks()
	out, err := engine.Run(func(in []*Node) []*Node {
		x := in[0]
		slope := Gradient(testFunction(x), x)[0]
		frame := linalg.MatMul(linalg.T(geom.Orthonormal(s.M, x)), ExpandAxes(slope, -1))
		return []*Node{testFunction(x), MulScalar(geom.LaplaceBeltrami(s.M, testFunction, x), 0.5), Squeeze(frame, -1)}
	}, x0)
	if err != nil {
		t.Fatal(err)
	}
	f0, want, slope := out.Scalar(0), out.Scalar(1), out.Vector(2)
	f := engine.Compile(func(x *Node) *Node { return testFunction(x) })

	// With the other drifts.
	printed := stochastic.Brownian(s, x0)
	printed.Dynamics = stochastic.EquationOf(func(at geom.Local, _ []*Node) ode.Equation {
		m := at.Manifold
		return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
			return ode.State{Add(Mul(dt, geom.ChristoffelTrace(m, y[0])), linalg.MatVec(geom.Orthonormal(m, y[0]), dw))}
		}
	})
	contracted := stochastic.Brownian(s, x0)
	contracted.Dynamics = stochastic.EquationOf(func(at geom.Local, _ []*Node) ode.Equation {
		m := at.Manifold
		return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
			x := y[0]
			trace := Einsum("nkl,nkli->ni", geom.CometricMatrix(m, x), geom.ChristoffelSymbols(m, x))
			return ode.State{Add(Mul(dt, MulScalar(trace, -0.5)), linalg.MatVec(geom.Orthonormal(m, x), dw))}
		}
	})
	for _, c := range []struct {
		name  string
		p     stochastic.Process[geom.Vec]
		right bool
	}{
		{"coordinates", stochastic.Brownian(s, x0), true},
		{"development", isotropic(s, x0), true},
		{"+ g^kl Γ^i_kl", printed, false},
		{"− ½ g^kl Γ^k_li", contracted, false},
	} {
		paths := expect.Must(c.p.Paths(stochastic.Run{Paths: 20000, Steps: 2, Time: T, Seed: 11}))
		ends := make([][]float64, len(paths.Points))
		for k, path := range paths.Points {
			ends[k] = path[len(path)-1]
		}
		values := expect.Must(f.Call(ends)).Vector(0)
		for k := range values {
			values[k] = (values[k] - f0 - floats.Dot(slope, paths.Noise[k][len(paths.Noise[k])-1])) / T
		}
		if c.right {
			expect.Mean(t, c.name, values, want)
			continue
		}
		mean, deviation := stat.MeanStdDev(values, nil)
		se := stat.StdErr(deviation, float64(len(values)))
		t.Logf("%s: %.4f ± %.4f, the generator gives %.4f", c.name, mean, se, want)
		if math.Abs(mean-want) < 10*se {
			t.Errorf("%s passes: this test cannot tell", c.name)
		}
	}
}

// A path is its seed's and its number's, however many there are.
func TestRunsRepeat(t *testing.T) {
	p := stochastic.Brownian(sphere, pole)
	a := expect.Must(p.Paths(stochastic.Run{Paths: 3, Steps: 20, Time: 0.5, Seed: 9}))
	b := expect.Must(p.Paths(stochastic.Run{Paths: 2, Steps: 20, Time: 0.5, Seed: 9}))
	ends := expect.Must(p.Sample(stochastic.Run{Paths: 3, Steps: 20, Time: 0.5, Seed: 9}))
	for k := range a.Points {
		if len(a.Points[k]) != 21 || len(a.Noise[k]) != 21 || floats.Distance(a.Points[k][0], pole, 2) > 1e-15 {
			t.Errorf("path %d: %d points from %v", k, len(a.Points[k]), a.Points[k][0])
		}
		for i := range a.Points[k] {
			if k < 2 && floats.Distance(a.Points[k][i], b.Points[k][i], 2) > 1e-15 {
				t.Errorf("path %d at step %d depends on the number of paths", k, i)
			}
		}
		if floats.Distance(ends[k], a.Points[k][20], 2) > 1e-15 {
			t.Errorf("path %d ends at %v, its sample is %v", k, a.Points[k][20], ends[k])
		}
	}
}

func TestErrors(t *testing.T) {
	chart := geom.On(geom.CometricFunc(2, func(q, p *Node) *Node { // S² in one chart, which paths leave
		r := ReduceAndKeep(Square(q), ReduceSum, -1)
		return Mul(p, MulScalar(Square(OnePlus(r)), 0.25))
	}))
	good := stochastic.Run{Paths: 2, Steps: 3, Seed: 1}
	sample := func(p stochastic.Process[geom.Vec], r stochastic.Run) error { _, err := p.Sample(r); return err }
	brownian := stochastic.Brownian(sphere, pole)
	_, densityErr := stochastic.Density(sphere, nil, [][]float64{pole}, 0.1)
	_, bandwidthErr := stochastic.Density(sphere, [][]float64{pole}, [][]float64{pole}, 0)
	for want, err := range map[string]error{
		"part 0 has 3 vectors, want at most 2, the dimension":           sample(stochastic.Development(sphere, pole, pole, pole, pole), good),
		"noise in R^0, want at least 1 dimension":                       sample(stochastic.Development(sphere, pole), good),
		"Brownian motion: 0 paths, want at least 1":                     sample(brownian, stochastic.Run{Steps: 3}),
		"Brownian motion: 1099511627776 paths of 3 steps: takes 106 TB": sample(brownian, stochastic.Run{Paths: 1 << 40, Steps: 3}),
		"Brownian motion: 0 steps, want at least 1":                     sample(brownian, stochastic.Run{Paths: 3}),
		"time -1, want a finite positive number":                        sample(brownian, stochastic.Run{Paths: 3, Steps: 3, Time: -1}),
		"the start is not on the manifold: it is 1 off":                 sample(stochastic.Brownian(sphere, []float64{0, 2, 0}), good),
		"the start has 2 coordinates, those of the manifold":            sample(stochastic.Brownian(sphere, []float64{0, 2}), good),
		"coordinate 1 of the start is NaN":                              sample(stochastic.Brownian(sphere, []float64{0, math.NaN(), 0}), good),
		"vector 1 is not tangent: the part that is not has no":          sample(stochastic.Development(sphere, []float64{1, 0, 0}, []float64{0, 1, 0}, []float64{1, 0, 0}), good),
		"10 of 10 paths diverge, path 0 at step ":                       sample(stochastic.Brownian(chart, []float64{3, 2}), stochastic.Run{Paths: 10, Steps: 40, Time: 40, Seed: 1}),
		"Density: no samples":                                           densityErr,
		"Density: bandwidth 0":                                          bandwidthErr,
	} {
		expect.Refused(t, err, want)
	}
}

// callosum is 39 landmarks and two tangent vectors.
func callosum() (s *geom.Space[geom.Vec], q []float64, frame [][]float64) {
	cc := morpho.CorpusCallosum()
	shape := cc.Shape("jhu_atlas")
	frame = make([][]float64, 2)
	for i, p := range shape {
		q = append(q, p...)
		angle := 2 * math.Pi * float64(i) / 39
		frame[0] = append(frame[0], math.Cos(angle), math.Sin(angle))
		frame[1] = append(frame[1], math.Sin(angle), math.Cos(2*angle))
	}
	return geom.On(landmarks.Manifold{N: 39, D: 2, Kernel: kernels.Gaussian(morpho.MeanSpacing(shape, true))}), q, frame
}

func benchmark(b *testing.B, p stochastic.Process[geom.Vec], r stochastic.Run) {
	bench.Call(b, func() error { _, err := p.Paths(r); return err })
}

func BenchmarkDevelopment39(b *testing.B) {
	s, q, frame := callosum()
	benchmark(b, stochastic.Development(s, q, frame...), stochastic.Run{Paths: 100, Steps: 100, Seed: 1})
}

func BenchmarkBrownian39(b *testing.B) {
	s, q, _ := callosum()
	benchmark(b, stochastic.Brownian(s, q), stochastic.Run{Paths: 200, Steps: 100, Seed: 1})
}
