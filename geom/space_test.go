package geom_test

import (
	"math"
	"sync"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/framebundle"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stats"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
)

func TestMain(m *testing.M) {
	geomtest.Main(m, geomtest.Plain,
		TestLogOfALevelSetIsThatOfItsChart, TestLogIsShortest, TestHopfDistance, TestLogsOfAFlatEllipsoid, TestLogToTheAntipode,
		TestStepsInTheHalfPlane, TestStoppedLog, TestHeisenbergBesideTheAxis, TestHeisenbergDistance, TestTinyAndHugeVectors,
		TestTransportAroundTriangle, TestSingularMetricIsAnError, TestKeys, TestRanksOverOneSpace)
}

// Spaces with other integrators share what is compiled, and each has its own.
func TestIntegratorsOverOneSpace(t *testing.T) {
	base := geom.On(halfPlane())
	u := framebundle.At([]float64{0, 1}, []float64{1, 0}, []float64{0, 1})
	p := framebundle.Momentum[geom.Vec]{Horizontal: []float64{0.5, 0.8}}
	for _, steps := range []int{10, 30} {
		s := framebundle.Over(base.With(geom.Integrator(ode.RK4, steps)))
		g, err := s.Exp(u, p)
		if err != nil {
			t.Fatal(err)
		}
		if len(g.Path) != steps+1 {
			t.Errorf("%d points on a path of %d steps", len(g.Path), steps)
		}
	}
	for _, method := range []ode.Method{ode.Euler, ode.RK4} {
		g, err := base.With(geom.Integrator(method, 10)).Exp([]float64{0, 1}, []float64{0.1, 0.1})
		if err != nil {
			t.Fatal(err)
		}
		if drifts := g.Drift > 1e-6; drifts != (method == ode.Euler) {
			t.Errorf("%s: the energy drifts by %g", method.Name, g.Drift)
		}
	}
}

// A mean of rank 2 after one of rank 1 over the same space.
func TestRanksOverOneSpace(t *testing.T) {
	s := landmarks.New(2, 2, kernels.Gaussian(1.2), geom.Integrator(ode.RK4, 2))
	samples := []geom.Shape{{{1, 0}, {0, 1}}, {{1.1, 0}, {0, 1.1}}, {{1, 0.1}, {0.1, 1}}}
	for rank := 1; rank <= 2; rank++ {
		m, err := stats.FrameBundleMean(s, samples, rank, stats.MaxIterations(1))
		if err != nil {
			t.Fatal(err)
		}
		if len(m.Frame) != rank {
			t.Errorf("%d frame vectors of rank %d", len(m.Frame), rank)
		}
	}
}

// A process with another scheme is another function.
func TestSchemesOfOneProcess(t *testing.T) {
	run := stochastic.Run{Paths: 1, Steps: 5, Seed: 3}
	ito := stochastic.Brownian(geom.On(manifold.Sphere(2)), []float64{0, 0, 1})
	stratonovich := ito
	stratonovich.Scheme = ode.EulerHeun
	a, err := ito.Sample(run)
	if err != nil {
		t.Fatal(err)
	}
	b, err := stratonovich.Sample(run)
	if err != nil {
		t.Fatal(err)
	}
	if a[0][0] == b[0][0] {
		t.Errorf("both schemes end at %v", a[0])
	}
}

type named struct{ name string }

// Another function under a key that is taken is refused, and so are keys of types that anybody may have.
func TestKeys(t *testing.T) {
	s := geom.On(manifold.Euclidean(2))
	once := func(in []*Node) []*Node { return in }
	twice := func(in []*Node) []*Node { return []*Node{Add(in[0], in[0])} }
	if _, err := s.Call(named{"a"}, once, 1.); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, f func()) {
		defer func() {
			if recover() == nil {
				t.Errorf("%s is taken", what)
			}
		}()
		f()
	}
	refused("another function under the same key", func() { _, _ = s.Call(named{"a"}, twice, 1.) })
	refused("a string as a key", func() { _, _ = s.Call("a", once, 1.) })

	defer geom.CheckKeys()()
	for name, of := range map[string]func(x *Node, c float64) *Node{
		"number":  func(x *Node, c float64) *Node { return MulScalar(x, c) },
		"list":    func(x *Node, c float64) *Node { return Const(x.Graph(), append(make([]float64, 50), c)) },
		"setting": func(x *Node, c float64) *Node { return engine.Setting(x.Graph(), x.DType(), []float64{c}) },
	} {
		for k, c := range []float64{1, 1, 1 + 1e-15} {
			fn := func(in []*Node) []*Node { return []*Node{of(in[0], c)} }
			call := func() { expect.Must(s.Call(named{name}, fn, 1.)) }
			if k < 2 {
				call()
			} else {
				refused("a key without a captured "+name, call)
			}
		}
	}
}

// Too few steps for a fast geodesic are an error that says so.
func TestTooFewSteps(t *testing.T) {
	s := landmarks.New(4, 2, kernels.Gaussian(1))
	q := geom.Shape{{0, 0}, {1, 0}, {1, 1}, {0, 1}}
	v := geom.Shape{{0, 0}, {100, 0}, {100, 100}, {0, 100}}
	expect.Refused(t, expect.Error(s.With(geom.Integrator(ode.RK4, 25)).Exp(q, v)), "the steps of RK4 are too few: 25 leave", "use more steps")
	expect.Refused(t, expect.Error(s.Exp(q, geom.Shape{{0, 0}, {3000, 0}, {3000, 3000}, {0, 3000}})), "the steps of RK4 are too few: 1600 leave")
	g := expect.Must(s.Exp(q, geom.Shape{{0, 0}, {0.3, 0}, {0.3, 0.1}, {0, 0.1}}))
	if g.Steps != 25 || !(g.Drift < 1e-8) {
		t.Errorf("%d steps, drift %g", g.Steps, g.Drift)
	}
}

// Shapes and lists of numbers are two ways to write the same points.
func TestShapesAndNumbers(t *testing.T) {
	p, q := geom.Shape{{2, 0.3}, {0.3, 1}}, geom.Shape{{1, -0.2}, {-0.2, 3}}
	shapes := geom.OnShapes(manifold.SPD(2))
	a, err := shapes.Log(p, q)
	if err != nil {
		t.Fatal(err)
	}
	b, err := geom.On(manifold.SPD(2)).Log(shape.Flat(p), shape.Flat(q))
	if err != nil {
		t.Fatal(err)
	}
	if a.Length != b.Length || len(a.Velocity) != 2 || a.Velocity[1][0] != b.Velocity[2] {
		t.Errorf("length %g and %g, velocity %v and %v", a.Length, b.Length, a.Velocity, b.Velocity)
	}
	m, err := stats.FrechetMean(shapes, []geom.Shape{p, q})
	if err != nil {
		t.Fatal(err)
	}
	if d := math.Abs(m.Point[0][0] - a.Path[12][0][0]); d > 0.1 || len(m.Point) != 2 {
		t.Errorf("mean %v, half-way %v", m.Point, a.Path[12])
	}
	expect.Refused(t, expect.Error(shapes.Log(p[:1], q)), "has 1 rows, the manifold has 2")
}

// One space may be used from several goroutines.
func TestGoroutines(t *testing.T) {
	s := geom.On(halfPlane())
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			if _, err := s.With(geom.Integrator(ode.RK4, 5+i%2)).Exp([]float64{0.1 * float64(i), 1}, []float64{0.1, 0.3}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
}

// Points that a space makes share no memory with what they are made of, also where they are the same.
func TestPointsAreCopies(t *testing.T) {
	flat := geom.On(manifold.Euclidean(2))
	x, v := geom.Vec{1, 2}, geom.Vec{3, 4}
	y, w, err := flat.Project(x, v)
	if err != nil {
		t.Fatal(err)
	}
	z := flat.FromFlat(x)
	shape := geom.Shape{{1, 2}, {3, 4}}
	clone := geom.Clone(shape)
	x[0], v[0], shape[1][0] = 9, 9, 9
	if y[0] != 1 || w[0][0] != 3 || z[0] != 1 || clone[1][0] != 3 || geom.Clone[geom.Vec](nil) != nil {
		t.Errorf("after a change of what was given: %v, %v, %v, %v", y, w, z, clone)
	}
}
