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
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
)

func TestSphere(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, manifold.Sphere(2), []float64{0.6, 0, 0.8}, []float64{-0.6, -0.64, 0.48}, []float64{-1, 0, 0})
}

// The charts turn smoothly with their centres, except at −e_0: noise in them gives smooth likelihoods. Close to −e_0, and there,
// they are charts as elsewhere.
func TestSphereCharts(t *testing.T) {
	t.Parallel()
	m := manifold.Sphere(2)
	charts := func(centres ...[]float64) [][]float64 {
		return expect.Must(engine.Run(func(c *Node) []*Node {
			chart := m.Chart(c)
			x := BroadcastPrefix(Const(c.Graph(), []float64{0.3, -0.2}), len(centres))
			z := chart.Point(x)
			return []*Node{Concatenate([]*Node{z, chart.Coordinates(z), chart.Point(ZerosLike(x)), ExpandAxes(ReduceSum(Mul(z, z), -1), -1)}, -1)}
		}, centres)).Matrix(0)
	}
	const h = 1e-9
	out := charts([]float64{h, 0.6, 0.8}, []float64{-h, 0.6, 0.8})
	expect.Abs(t, "both sides of the equator", out[1], out[0], 10*h)
	centres := [][]float64{{-1, 0, 0}, {-1, h, 0}, {-1, 0, -1e-170}, {-0.8, 0, 0.6}}
	for k, out := range charts(centres...) {
		expect.Abs(t, "coordinates", out[3:5], []float64{0.3, -0.2}, 1e-15)
		expect.Abs(t, "centre", out[5:8], centres[k], 1e-15)
		expect.Abs(t, "|z|²", out[8], 1, 1e-15)
	}
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
		expect.Abs(t, "Ric − g", v[0], 0, 1e-10)
		expect.Abs(t, "scalar curvature", v[1], 2, 1e-10)
		expect.Abs(t, "Δz + 2z", v[2]+2*v[3], 0, 1e-10)
		expect.Abs(t, "induced metric", v[4], 0, 1e-12)
	}
}

// Geodesics by integration alone are great circles, all the way round, and Log finds points close to the antipode.
func TestSphereGreatCircle(t *testing.T) {
	t.Parallel()
	m := struct{ geom.Charted }{manifold.Sphere(2)}
	s := geom.On(m, geom.Integrator(ode.RK4, 200))
	x, e := []float64{0.6, 0, 0.8}, []float64{0.48, 0.8, -0.36}
	circle := func(angle float64) []float64 {
		y := floats.ScaleTo(make([]float64, 3), math.Cos(angle), x)
		floats.AddScaled(y, math.Sin(angle), e)
		return y
	}
	once := floats.ScaleTo(make([]float64, 3), 2*math.Pi, e)
	g := expect.Must(s.Exp(x, once))
	expect.Abs(t, "length", g.Length, 2*math.Pi, 1e-12)
	for k, p := range g.Path { // RK4 on a circle of length 6 in 200 steps
		expect.Abs(t, "great circle", p, circle(2*math.Pi*float64(k)/200), 5.7e-8)
	}
	for _, angle := range []float64{0.01, 1, 2, 3, 3.1} {
		g := expect.Must(s.Log(x, circle(angle)))
		if g.Status != geom.Converged {
			t.Errorf("Log over %g radians: %s after %d iterations", angle, g.Status, g.Iterations)
		}
		expect.Abs(t, "Log", g.Velocity, floats.ScaleTo(make([]float64, 3), angle, e), 5e-9)
	}
	// Of many shortest geodesics to the antipode a search without a closed form returns one.
	antipode := expect.Must(s.Log(x, circle(math.Pi)))
	expect.Abs(t, "length to the antipode", antipode.Length, math.Pi, 1e-6)
	expect.Abs(t, "end at the antipode", antipode.End, circle(math.Pi), 1e-6)
}

// Integration that changes the chart at every step has the order of its method, and can be differentiated: both against
// closed forms.
func TestSphereRecentred(t *testing.T) {
	t.Parallel()
	closed := manifold.Sphere(2).(geom.ClosedForms)
	hidden := struct{ geom.Charted }{manifold.Sphere(2)}
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
	out = expect.Must(out, err)
	for i, m := range methods {
		order := math.Log2(out.Scalar(2*i) / out.Scalar(2*i+1))
		expect.Abs(t, "order of "+m.Name, order, float64(m.Order), 0.1)
	}
	expect.Abs(t, "derivative of Exp", out.Scalar(4), 0, 1e-7)
}

// A vector transported along a circle of latitude turns by 2π cos θ against the circle.
func TestSphereHolonomy(t *testing.T) {
	t.Parallel()
	s := geom.On(struct{ geom.Charted }{manifold.Sphere(2)})
	const n = 200
	sin, cos := 0.6, 0.8
	curve := make([][]float64, n+1)
	for k := range curve {
		y, x := math.Sincos(2 * math.Pi * float64(k) / n)
		curve[k] = []float64{sin * x, sin * y, cos}
	}
	south, east := []float64{cos, 0, -sin}, []float64{0, 1, 0}
	moved := expect.Must(s.TransportAlong(curve, south, east))
	angle := 2 * math.Pi * cos
	expect.Abs(t, "south", moved[0][n], combined(math.Cos(angle), south, -math.Sin(angle), east), 5e-7)
	expect.Abs(t, "east", moved[1][n], combined(math.Sin(angle), south, math.Cos(angle), east), 5e-7)
}

func TestSphereBadInput(t *testing.T) {
	t.Parallel()
	s := geom.On(manifold.Sphere(2))
	pole := []float64{0, 0, 1}
	expect.Refused(t, expect.Error(s.Log(pole, []float64{0, 0, -1})), "cut locus")                          // antipodes
	expect.Refused(t, expect.Error(s.Log(pole, []float64{0, 0, 1.1})), "the end is not on the manifold")    // end point off the sphere
	expect.Refused(t, expect.Error(s.Exp([]float64{0, 0.1, 1}, []float64{1, 0, 0})), "Space.Project")       // point off the sphere
	expect.Refused(t, expect.Error(s.Exp(pole, []float64{1, 0, 0.5})), "not tangent")                       // normal vector
	expect.Refused(t, expect.Error(s.Exp([]float64{0, 1}, []float64{1, 0})), "2 coordinates")               // wrong dimension
	expect.Refused(t, expect.Error(s.Exp([]float64{0, math.NaN(), 1}, []float64{1, 0, 0})), "coordinate 1") // NaN
	_, _, err := s.Project([]float64{0, 0, 0})
	expect.Refused(t, err, "no point of the manifold") // centre

	z, v, err := s.Project([]float64{0, 0, 2}, []float64{1, 0, 0.5})
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "projected point", z, pole, 5e-16)
	expect.Abs(t, "projected vector at (0, 0, 2)", v[0], []float64{0.5, 0, 0}, 5e-16)
	if g := expect.Must(s.Log(pole, pole)); g.Length != 0 || g.Status != geom.Converged {
		t.Errorf("Log to the point itself: length %g, %s", g.Length, g.Status)
	}
}
