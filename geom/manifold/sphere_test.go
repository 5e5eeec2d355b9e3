package manifold_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
)

func TestSphere(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, manifold.Sphere(2), []float64{0.6, 0, 0.8}, []float64{-0.6, -0.64, 0.48}, []float64{-1, 0, 0})
}

// Ric = g, scalar curvature 2 and Δz = −2z at tilted points; the charts' metric is what R³ induces.
func TestSphereCurvature(t *testing.T) {
	t.Parallel()
	m := manifold.Sphere(2)
	out := tilted(t, m, func(c geom.Chart, x *Node) *Node {
		height := func(x *Node) *Node { return Squeeze(SliceAxis(c.Point(x), -1, AxisElem(2)), -1) }
		return Stack([]*Node{
			ReduceMax(Abs(Sub(geom.Ricci(c, x), geom.MetricMatrix(c, x))), -1, -2),
			geom.ScalarCurvature(c, x),
			geom.LaplaceBeltrami(c, height, x),
			height(x),
			ReduceMax(Abs(Sub(geom.FromImmersion(geom.ImmersionFunc(2, c.Point)).G(x), geom.MetricMatrix(c, x))), -1, -2),
		}, -1)
	}, []float64{0, 0, 1}, []float64{0.6, 0, -0.8}, []float64{-0.48, 0.64, 0.6})
	for _, v := range out.Matrix(0) {
		geomtest.Near(t, "Ric − g", v[0], 0, 1e-10)
		geomtest.Near(t, "scalar curvature", v[1], 2, 1e-10)
		geomtest.Near(t, "Δz + 2z", v[2]+2*v[3], 0, 1e-10)
		geomtest.Near(t, "induced metric", v[4], 0, 1e-12)
	}
}

// Geodesics by integration alone are great circles, all the way round, and Log finds points close to the antipode.
func TestSphereGreatCircle(t *testing.T) {
	t.Parallel()
	m := struct{ geom.Atlas }{manifold.Sphere(2)}
	s := geom.On(m, geom.Integrator(ode.RK4, 200))
	x, e := []float64{0.6, 0, 0.8}, []float64{0.48, 0.8, -0.36}
	circle := func(angle float64) []float64 {
		y := floats.ScaleTo(make([]float64, 3), math.Cos(angle), x)
		floats.AddScaled(y, math.Sin(angle), e)
		return y
	}
	once := floats.ScaleTo(make([]float64, 3), 2*math.Pi, e)
	g, err := s.Exp(x, once)
	g = must(t, g, err)
	geomtest.Near(t, "length", g.Length, 2*math.Pi, 1e-12)
	for k, p := range g.Path { // RK4 on a circle of length 6 in 200 steps
		geomtest.NearVector(t, "great circle", p, circle(2*math.Pi*float64(k)/200), 1e-7)
	}
	for _, angle := range []float64{0.01, 1, 2, 3, 3.1} {
		g, err := s.Log(x, circle(angle))
		g = must(t, g, err)
		if g.Status != geom.Converged {
			t.Errorf("Log over %g radians: %s after %d iterations", angle, g.Status, g.Iterations)
		}
		geomtest.NearVector(t, "Log", g.Velocity, floats.ScaleTo(make([]float64, 3), angle, e), 1e-8)
	}
	_, err = s.Log(x, circle(math.Pi))
	if err == nil {
		t.Error("Log to the antipode by integration: no error")
	}
}

// Integration that changes the chart at every step has the order of its method, and can be differentiated: both against
// closed forms.
func TestSphereRecentred(t *testing.T) {
	t.Parallel()
	closed := manifold.Sphere(2).(geom.ClosedForms)
	hidden := struct{ geom.Atlas }{manifold.Sphere(2)}
	z, v, dv := []float64{0.6, 0, 0.8}, []float64{0.96, 1.6, -0.72}, []float64{0.8, 0.5, -0.6}
	methods := []ode.Method{ode.Heun, ode.RK4}
	out, err := engine.Run(func(z, v, dv *Node) []*Node {
		integrated := func(method ode.Method, n int) func(v []*Node) []*Node {
			return func(v []*Node) []*Node {
				// On the unit sphere v♭ is v in the ambient space.
				return geom.Flow(hidden, geom.Geodesics, method, n, ode.State{z, v[0]}, geom.Covector)[:1]
			}
		}
		exact, dExact := autodiff.Pushforward(func(v []*Node) []*Node { return []*Node{closed.Exp(z, v[0])} }, []*Node{v}, []*Node{dv})
		var out []*Node
		for _, m := range methods {
			for _, n := range []int{40, 80} {
				out = append(out, ReduceAllMax(Abs(Sub(integrated(m, n)([]*Node{v})[0], exact[0]))))
			}
		}
		_, derivative := autodiff.Pushforward(integrated(ode.RK4, 80), []*Node{v}, []*Node{dv})
		return append(out, ReduceAllMax(Abs(Sub(derivative[0], dExact[0]))))
	}, z, v, dv)
	out = must(t, out, err)
	for i, m := range methods {
		order := math.Log2(out.Scalar(2*i) / out.Scalar(2*i+1))
		geomtest.Near(t, "order of "+m.Name, order/float64(m.Order), 1, 0.1/float64(m.Order))
	}
	geomtest.Near(t, "derivative of Exp", out.Scalar(4), 0, 1e-7)
}

// A vector transported along a circle of latitude turns by 2π cos θ against the circle.
func TestSphereHolonomy(t *testing.T) {
	t.Parallel()
	s := geom.On(struct{ geom.Atlas }{manifold.Sphere(2)})
	const n = 200
	sin, cos := 0.6, 0.8
	curve := make([][]float64, n+1)
	for k := range curve {
		y, x := math.Sincos(2 * math.Pi * float64(k) / n)
		curve[k] = []float64{sin * x, sin * y, cos}
	}
	south, east := []float64{cos, 0, -sin}, []float64{0, 1, 0}
	moved, err := s.TransportAlong(curve, south, east)
	moved = must(t, moved, err)
	angle := 2 * math.Pi * cos
	geomtest.NearVector(t, "south", moved[0][n], combined(math.Cos(angle), south, -math.Sin(angle), east), 1e-6)
	geomtest.NearVector(t, "east", moved[1][n], combined(math.Sin(angle), south, math.Cos(angle), east), 1e-6)
}

func TestSphereBadInput(t *testing.T) {
	t.Parallel()
	s := geom.On(manifold.Sphere(2))
	pole := []float64{0, 0, 1}
	_, err := s.Log(pole, []float64{0, 0, -1})
	geomtest.Refused(t, "antipodes", err, "cut locus")
	_, err = s.Log(pole, []float64{0, 0, 1.1})
	geomtest.Refused(t, "end point off the sphere", err, "end point 0 is not on the manifold")
	_, err = s.Exp([]float64{0, 0.1, 1}, []float64{1, 0, 0})
	geomtest.Refused(t, "point off the sphere", err, "Space.Project")
	_, err = s.Exp(pole, []float64{1, 0, 0.5})
	geomtest.Refused(t, "normal vector", err, "not tangent")
	_, err = s.Exp([]float64{0, 1}, []float64{1, 0})
	geomtest.Refused(t, "wrong dimension", err, "2 coordinates")
	_, err = s.Exp([]float64{0, math.NaN(), 1}, []float64{1, 0, 0})
	geomtest.Refused(t, "NaN", err, "coordinate 1")
	_, _, err = s.Project([]float64{0, 0, 0})
	geomtest.Refused(t, "centre", err, "no point of the manifold")

	z, v, err := s.Project([]float64{0, 0, 2}, []float64{1, 0, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	geomtest.NearVector(t, "projected point", z, pole, 1e-15)
	geomtest.NearVector(t, "projected vector at (0, 0, 2)", v[0], []float64{0.5, 0, 0}, 1e-15)
	g, err := s.Log(pole, pole)
	if g = must(t, g, err); g.Length != 0 || g.Status != geom.Converged {
		t.Errorf("Log to the point itself: length %g, %s", g.Length, g.Status)
	}
}
