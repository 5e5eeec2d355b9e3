package geom_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// The steps of an integrator may be so long that Exp ends at y though its curve is no geodesic: its energy changes on the way. Log,
// LogAll and LogFrom say so alike, in few dimensions, where they search on, and in many. In the hyperbolic half-spaces the distance is
// arcosh(1 + |x − y|²/(2 x_d y_d)).
func TestLogWithTooFewSteps(t *testing.T) {
	at := func(d int, first, last float64) []float64 {
		x := make([]float64, d)
		x[0], x[d-1] = first, last
		return x
	}
	for _, c := range []struct {
		d      int
		method ode.Method
		steps  int
		y      [2]float64 // its first and its last coordinate
		found  bool
	}{
		{2, ode.Heun, 4, [2]float64{2, 1}, false},
		{9, ode.Heun, 4, [2]float64{2, 1}, false},
		{9, ode.RK4, 25, [2]float64{0, 8}, true},
	} {
		m := geom.MetricFunc(c.d, conformal(func(x *Node) *Node { return Reciprocal(Square(SliceAxis(x, -1, AxisRange(c.d-1, c.d)))) }))
		s := geom.On(m, geom.Integrator(c.method, c.steps))
		x, y := at(c.d, 0, 1), at(c.d, c.y[0], c.y[1])
		all := expect.Must(s.LogAll([][]float64{x}, [][]float64{y}))
		one := expect.Must(s.Log(x, y))
		from := expect.Must(s.LogFrom([][]float64{x}, [][]float64{y}, [][]float64{one.Velocity}))
		distance := math.Acosh(1 + math.Pow(floats.Distance(x, y, 2), 2)/(2*y[c.d-1]))
		t.Logf("%d dimensions: %s, drift %.2g, distance %.5g", c.d, one, one.Drift, distance)
		for _, g := range []*geom.Geodesic[geom.Vec]{one, all[0], from[0]} {
			expect.Abs(t, "drift", g.Drift, one.Drift, 1e-9)
			if c.found {
				expect.Rel(t, "length", g.Length, distance, 1e-3)
				if g.Err() != nil {
					t.Error(g.Err())
				}
				continue
			}
			if g.Status != geom.Stalled {
				t.Errorf("%s, drift %.2g, the distance is %.5g", g, g.Drift, distance)
			}
			expect.Refused(t, g.Err(), "the steps are too few", "geom.Integrator")
		}
	}
}

// Shapes far from the origin, as in metres of a map, have the logarithm that they have at the origin, to a few roundings of their
// coordinates.
func TestLogFarFromTheOrigin(t *testing.T) {
	const n, far = 6, 5e6
	s := geom.On(landmarks.Manifold{N: n, D: 2, Kernel: kernels.Gaussian(0.5)})
	var there, target [2][]float64
	for i := range n {
		a := float64(i)
		for k, by := range [2]float64{0, far} {
			x := []float64{math.Cos(a) + by, math.Sin(a) + by}
			there[k] = append(there[k], x...)
			target[k] = append(target[k], x[0]+0.1*math.Sin(3*a), x[1]+0.1*math.Cos(2*a))
		}
	}
	gs := expect.Must(s.LogAll(there[:], target[:]))
	one := expect.Must(s.Log(there[1], target[1]))
	off := floats.Distance(one.End, target[1], 2)
	t.Logf("%v: off by %.2g, %.2g roundings", gs, off, off/floats.Norm(target[1], 2)*0x1p52)
	if gs[0].Status != geom.Converged || gs[1].Status != geom.Converged || one.Status != geom.Converged {
		t.Errorf("%v", gs)
	}
	expect.Abs(t, "end", off, 0, 10*0x1p-52*floats.Norm(target[1], 2))
	expect.Abs(t, "velocity", gs[1].Velocity, gs[0].Velocity, 1e-7)

	// Rounding adds up over the steps: along a way of 1e-5 none of the velocities ends within a few roundings.
	beside := make([]float64, 2*n)
	for i, x := range there[1] {
		beside[i] = x + 1e-4*(target[1][i]-x)
	}
	if g := expect.Must(s.Log(there[1], beside)); g.Status != geom.Converged {
		t.Error(g)
	}
}

// A pair without a geodesic does not lose those of the others: its own is nil, and the error says which pair it is and why.
func TestLogAllWithPairsThatFail(t *testing.T) {
	t.Parallel()
	north, south, east := []float64{0, 0, 1}, []float64{0, 0, -1}, []float64{1, 0, 0}
	s := geom.On(manifold.Sphere(2))
	gs, err := s.LogAll([][]float64{north, north, east, east}, [][]float64{east, south, {-1, 0, 0}, north})
	expect.Refused(t, err, "pair 1:", "pair 2:", "cut locus")
	if !errors.Is(err, geom.ErrCutLocus) || errors.Is(err, geom.ErrOffManifold) {
		t.Errorf("a program cannot ask for the cut locus: %v", err)
	}
	if strings.Contains(err.Error(), "pair 0") || strings.Contains(err.Error(), "pair 3") {
		t.Error(err)
	}
	for i, g := range gs {
		if (g == nil) != (i == 1 || i == 2) {
			t.Errorf("pair %d: %v", i, g)
		} else if g != nil {
			expect.Rel(t, "length", g.Length, math.Pi/2, 1e-12)
		}
	}
	product := geom.On(geom.Product(manifold.Sphere(2), struct{ geom.Metric }{manifold.Euclidean(1)}))
	gs, err = product.LogAll([][]float64{{0, 0, 1, 0}, {0, 0, 1, 0}}, [][]float64{{0, 0, -1, 1}, {1, 0, 0, 1}})
	expect.Refused(t, err, "factor 0:", "pair 0:", "cut locus")
	if gs[0] != nil {
		t.Errorf("antipodes in one factor: %v", gs[0])
	}
	expect.Rel(t, "length in a product", gs[1].Length, math.Hypot(math.Pi/2, 1), 1e-9)
	none, err := s.LogAll([][]float64{north, north}, [][]float64{east, {0, 0, 2}})
	if expect.Refused(t, err, "not on the manifold"); !errors.Is(err, geom.ErrOffManifold) {
		t.Errorf("a program cannot ask for the point off the manifold: %v", err)
	}
	if none != nil {
		t.Errorf("%v with an error about a point", none)
	}
}
