package landmarks_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// ellipses are two of them with corresponding points, the second one turned.
func ellipses(n int) (q, target [][]float64) {
	for i := range n {
		t := 2 * math.Pi * float64(i) / float64(n)
		c, s := math.Cos(t), math.Sin(t)
		q = append(q, []float64{c, 0.7 * s})
		target = append(target, []float64{0.8*c*math.Cos(0.3) - s*math.Sin(0.3), 0.8*c*math.Sin(0.3) + s*math.Cos(0.3)})
	}
	return q, target
}

// LogWithin finds the geodesic of Log.
func TestLogWithin(t *testing.T) {
	m, atlas, colin := callosa()
	want := expect.Must(m.Log(atlas, colin))
	got := expect.Must(m.LogWithin(atlas, colin, 1e-9))
	if got.Status != geom.Converged || got.Residual > 1e-9 {
		t.Fatalf("%s, residual %g after %d iterations", got.Status, got.Residual, got.Iterations)
	}
	expect.Abs(t, "momentum", got.Momentum, want.Momentum, 1e-6)
}

// The geodesic of some landmarks leaves little to do for all: one step, where without it there are twelve.
func TestLogStartsFromFewer(t *testing.T) {
	q, target := ellipses(2100)
	k := expect.Must(kernels.Fast(kernels.Gaussian(0.5), 1e-7, q, target))
	m := landmarks.New(len(q), 2, k, geom.Integrator(ode.RK4, 10))
	g := expect.Must(m.LogWithin(q, target, 1e-4))
	if g.Status != geom.Converged || g.Iterations > 1 {
		t.Fatalf("%s, residual %g after %d iterations", g.Status, g.Residual, g.Iterations)
	}
	expect.Abs(t, "end", expect.Must(m.Shoot(q, g.Momentum)).End, target, 5e-4)
}

// Without C functions. Package docker/gpucheck compares the other searches, Log, LogWithin and Match, with those that call C functions.
func TestPortable(t *testing.T) {
	t.Parallel()
	geomtest.Portable(t, TestManyLandmarks)
}

// 1500 landmarks: a match through fast sums keeps its energy, and its derivatives, fast sums with an error of their own, are those of
// the fast sums.
func TestManyLandmarks(t *testing.T) {
	q, target := ellipses(1500)
	k := expect.Must(kernels.Fast(kernels.Gaussian(0.4), 1e-7, q, target))
	if kernels.Exact(k).String() == k.String() {
		t.Fatalf("%s has no fast sums", k)
	}
	m := landmarks.New(len(q), 2, k)
	g := expect.Must(m.Log(q, target))
	if g.Residual > 1e-5 {
		t.Errorf("%s with residual %g after %d iterations", g.Status, g.Residual, g.Iterations)
	}
	energy := engine.Compile(func(x, p *Node) *Node { return MulScalar(ReduceAllSum(Mul(p, k.Sum(x, x, p))), 0.5) })
	at := func(i int) float64 {
		return expect.Must(energy.Call(g.Path[i], g.Momenta[i])).Scalar(0)
	}
	expect.Rel(t, "energy at the end", at(len(g.Path)-1), at(0), 1e-7)
	expect.Rel(t, "2H", 2*at(0), g.Length*g.Length, 1e-9)

	// The gradient of a function of Exp, along a direction, against differences of order 4.
	loss := engine.Compile(func(x, p, dp *Node) (*Node, *Node) {
		end := ode.Flow(geom.Geodesics(m.Manifold), ode.RK4, 4, ode.State{Reshape(x, -1), Reshape(p, -1)})
		l := ReduceAllSum(Square(end[0]))
		return l, ReduceAllSum(Mul(Gradient(l, p)[0], dp))
	})
	const h = 1e-3
	value := func(step float64) (float64, float64) {
		p := make([][]float64, len(q))
		for i := range p {
			p[i] = []float64{g.Momentum[i][0] + step*q[i][1]/1500, g.Momentum[i][1] + step*q[i][0]/1500}
		}
		direction := make([][]float64, len(q))
		for i := range p {
			direction[i] = []float64{q[i][1] / 1500, q[i][0] / 1500}
		}
		out := expect.Must(loss.Call(q, p, direction))
		return out.Scalar(0), out.Scalar(1)
	}
	_, slope := value(0)
	a, _ := value(h)
	b, _ := value(-h)
	c, _ := value(2 * h)
	d, _ := value(-2 * h)
	expect.Rel(t, "gradient", slope, (8*(a-b)-c+d)/(12*h), 1e-8)

	// Points that are carried along have to lie in the box too.
	expect.Refused(t, expect.Error(m.Transform(g, [][]float64{{40, 0}})), "wider extent")

	// A wide box for a short way: the same momentum times 3 leaves it.
	far := make([][]float64, len(q))
	for i, p := range g.Momentum {
		far[i] = []float64{6 * p[0], 6 * p[1]}
	}
	expect.Refused(t, expect.Error(m.Shoot(q, far)), "wider extent")
}

// A velocity becomes a momentum by conjugate gradients, to 1e-6 of itself; where the kernel is too wide for a rough
// velocity, Exp says so.
func TestExpOfManyLandmarks(t *testing.T) {
	q, _ := ellipses(1100)
	v := make([][]float64, len(q))
	for i, x := range q {
		v[i] = []float64{0.1 * x[1], 0.05 * x[0] * x[0]}
	}
	spacing := morpho.MeanSpacing(q, true)
	m := landmarks.New(len(q), 2, kernels.Tiled(kernels.Gaussian(1.2*spacing)), geom.Integrator(ode.RK4, 10))
	g := expect.Must(m.Exp(q, v))
	dense := expect.Must(engine.Run(func(x, p *Node) *Node { return kernels.Gaussian(1.2*spacing).Sum(x, x, p) }, q, g.Momentum))
	expect.Abs(t, "velocity of the momentum", dense.Matrix(0), v, 1e-6)
	wide := landmarks.New(len(q), 2, kernels.Tiled(kernels.Gaussian(30*spacing)), geom.Integrator(ode.RK4, 10))
	for i := range v {
		v[i][0] = 0.1 - 0.2*float64(i%2)
	}
	expect.Refused(t, expect.Error(wide.Exp(q, v)), "singular metric")
}

// movedFar are an ellipse and the same moved by 1, and bent.
func movedFar(n int) (q, target [][]float64) {
	q, target = ellipses(n)
	for i, x := range q {
		target[i] = []float64{x[0] + 1 + x[1]/7, x[1] + 0.1*x[0]*x[0]}
	}
	return q, target
}

// Shapes of few numbers, which the search soon knows in all directions. What is returned where the tolerance is out of reach says so,
// also if its energy drifts as no geodesic's should.
func TestLogWithinOfFewAndFar(t *testing.T) {
	two := landmarks.New(2, 1, kernels.Gaussian(1))
	expect.Abs(t, "end", expect.Must(two.LogWithin([][]float64{{0}, {1}}, [][]float64{{0}, {3}}, 1e-9)).End, [][]float64{{0}, {3}}, 1e-8)
	few := landmarks.New(3, 2, kernels.Gaussian(1))
	q, target := [][]float64{{0, 0}, {1, 0}, {0, 1}}, [][]float64{{0.2, 0.1}, {1.1, 0.3}, {-0.1, 1.2}}
	if g := expect.Must(few.LogWithin(q, target, 1e-18)); g.Status == geom.Converged || g.Residual > 1e-9 {
		t.Errorf("%s", g)
	}
	q, target = movedFar(20)
	narrow := landmarks.New(20, 2, kernels.Gaussian(0.1), geom.Integrator(ode.Euler, 3))
	g := expect.Must(narrow.LogWithin(q, target, 1e-9))
	if g.Status == geom.Converged || g.Drift <= geom.MaxDrift {
		t.Errorf("%s, drift %g", g, g.Drift)
	}
	expect.Refused(t, expect.Error(two.LogWithin([][]float64{{0}, {1}}, [][]float64{{0}, {3}}, math.Inf(1))), "tolerance")
	expect.Refused(t, expect.Error(narrow.Match(q, landmarks.Correspondence(target), 1e200)), "σ is 1e+200")
	expect.Refused(t, expect.Error(narrow.With(geom.Integrator(ode.Euler, 4)).Transform(g, q)), "has 3 steps")
}

// Landmarks that move by five and ten widths of the kernel, where steps with K alone stall with 0.06 left. Of the geodesics that end
// exactly at the target, 3.2123 and 4.5536 long, the first one is that of Log, the second one the limit of matches whose noise falls to 0,
// each of them a minimum. The geodesic found does not depend on rounding, here of the target.
func TestLogWithinNarrowKernel(t *testing.T) {
	for _, c := range []struct{ sigma, length, shift float64 }{{0.2, 3.2123, 0}, {0.1, 4.5536, 0}, {0.1, 4.5536, 1e-10}} {
		q, target := movedFar(60)
		for i := range target {
			target[i][i%2] += c.shift * math.Sin(float64(i*i))
		}
		m := landmarks.New(len(q), 2, kernels.Gaussian(c.sigma), geom.Integrator(ode.RK4, 20))
		g := expect.Must(m.LogWithin(q, target, 1e-3))
		if g.Status != geom.Converged || g.Residual > 1e-3 {
			t.Fatalf("σ = %g: %s, residual %g after %d iterations", c.sigma, g.Status, g.Residual, g.Iterations)
		}
		expect.Rel(t, "length", g.Length, c.length, 0.001)
		d := 0.0
		end := expect.Must(m.Shoot(q, g.Momentum)).End
		for i := range end {
			d += math.Pow(end[i][0]-target[i][0], 2) + math.Pow(end[i][1]-target[i][1], 2)
		}
		expect.Abs(t, "root mean square of what is left", math.Sqrt(d/120), g.Residual, 1e-9)
	}
}
