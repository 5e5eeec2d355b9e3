package geom_test

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/bench"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
)

// circle samples the circle of latitude θ from the pole in stereographic coordinates, from longitude 0 to φ.
func circle(theta, phi float64, n int) [][]float64 {
	r := math.Tan(theta / 2)
	out := make([][]float64, n+1)
	for i := range out {
		a := phi * float64(i) / float64(n)
		out[i] = []float64{r * math.Cos(a), r * math.Sin(a)}
	}
	return out
}

// Along a circle of latitude a vector turns by −φ cos θ against the direction of the circle; in stereographic
// coordinates, which are conformal, that is a rotation of the coordinates by φ(1 − cos θ). The error has the order of
// the integrator, up to the 4 of the cubic between the samples.
func TestTransportAlongCircle(t *testing.T) {
	theta, phi := 1.1, 4.
	v := []float64{0.3, -0.4}
	turn := phi * (1 - math.Cos(theta))
	want := []float64{v[0]*math.Cos(turn) - v[1]*math.Sin(turn), v[0]*math.Sin(turn) + v[1]*math.Cos(turn)}
	for _, method := range []ode.Method{ode.Heun, ode.RK4} {
		var errors []float64
		for _, n := range []int{64, 128} {
			s := geom.On(sphereMetric(2), geom.Integrator(method, 1))
			out, err := s.TransportAlong(circle(theta, phi, n), v)
			if err != nil {
				t.Fatal(err)
			}
			if len(out) != 1 || len(out[0]) != n+1 || !floats.Equal(out[0][0], v) {
				t.Fatalf("%d vectors of %d samples, starting with %v", len(out), len(out[0]), out[0][0])
			}
			errors = append(errors, floats.Distance(out[0][n], want, 2))
		}
		order := math.Log2(errors[0] / errors[1])
		t.Logf("%s: errors %.3g, order %.3f", method.Name, errors, order)
		expect.Abs(t, method.Name+" along samples: order", order, float64(method.Order), 0.1)
	}
}

// Polynomials are their own interpolants: along a line of the half-plane two samples do as well as many, and a vector
// at (0, y) moved up to (0, Y) is stretched by Y/y.
func TestTransportAlongFewSamples(t *testing.T) {
	s := geom.On(halfPlane())
	for _, n := range []int{1, 2, 4} {
		curve := make([][]float64, n+1)
		for i := range curve {
			curve[i] = []float64{0, 1 + 0.02*float64(i)/float64(n)}
		}
		out, err := s.TransportAlong(curve, []float64{0.6, 0.8}, []float64{1, 0})
		if err != nil {
			t.Fatal(err)
		}
		expect.Rel(t, fmt.Sprintf("%d pieces", n), append(out[0][n], out[1][n]...), []float64{0.6 * 1.02, 0.8 * 1.02, 1.02, 0}, 1e-10)
	}
}

// Around a geodesic triangle of the sphere a vector turns by the area.
func TestTransportAroundTriangle(t *testing.T) {
	s := geom.On(tiltedSphere(), geom.Integrator(ode.RK4, 60))
	corners := [][]float64{{0.1, 0.1}, {0.9, 0.2}, {0.3, 1.1}}
	v := []float64{0.5, 0.3}
	moved := v
	var out, in [3]*geom.Geodesic[geom.Vec] // the sides, and the same backwards
	for i := range corners {
		var err error
		if out[i], err = s.Log(corners[i], corners[(i+1)%3]); err != nil {
			t.Fatal(err)
		}
		if in[i], err = s.Log(corners[(i+1)%3], corners[i]); err != nil {
			t.Fatal(err)
		}
		vectors, err := s.Transport(out[i], moved)
		if err != nil {
			t.Fatal(err)
		}
		moved = vectors[0][len(vectors[0])-1]
	}
	// Angles at the corners, the rotation and its sense, in the metric.
	angle := func(x, u, v []float64) float64 {
		r := expect.Must(engine.Run(func(in []*Node) []*Node {
			x, u, v := in[0], in[1], in[2]
			m := tiltedSphere()
			area := Mul(Exp(geom.LogVolume(m, x)), Sub(
				Mul(Slice(u, AxisRange(0, 1)), Slice(v, AxisRange(1, 2))), Mul(Slice(u, AxisRange(1, 2)), Slice(v, AxisRange(0, 1)))))
			return []*Node{area, geom.Inner(m, x, u, v)}
		}, x, u, v))
		return math.Atan2(r.Scalar(0), r.Scalar(1))
	}
	area := -math.Pi
	for i := range corners {
		area += angle(corners[i], out[i].Velocity, in[(i+2)%3].Velocity)
	}
	if area < 0.3 {
		t.Fatalf("area %g", area)
	}
	expect.Rel(t, "holonomy", angle(corners[0], v, moved), area, 1e-6)
}

func TestTransportOfLandmarks(t *testing.T) {
	m, q, vectors := callosum()
	s := geom.On(m, geom.Integrator(ode.RK4, 100))
	p := floats.ScaleTo(make([]float64, len(q)), 0.03, vectors[0])
	g, err := s.Shoot(q, p)
	if err != nil {
		t.Fatal(err)
	}
	moved, err := s.Transport(g, g.Velocity, vectors[1], vectors[2])
	if err != nil {
		t.Fatal(err)
	}
	along, err := s.TransportAlong(g.Path, vectors[1])
	if err != nil {
		t.Fatal(err)
	}
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, p, u, v := in[0], in[1], in[2], in[3]
		return []*Node{geom.Sharp(m, x, p), geom.Inner(m, x, u, u), geom.Inner(m, x, u, v), geom.Inner(m, x, v, v)}
	}, g.Path, g.Momenta, moved[1], moved[2]))
	for i := range g.Path {
		expect.Rel(t, fmt.Sprintf("the geodesic's own velocity at %d", i), moved[0][i], engine.Unflatten(out.Flat(0), len(q))[i], 1e-8)
		for k := 1; k < 4; k++ {
			expect.Rel(t, fmt.Sprintf("inner product %d at %d", k, i), out.Vector(k)[i:i+1], out.Vector(k)[:1], 1e-8)
		}
	}
	expect.Rel(t, "along the points of the geodesic", along[0][100], moved[1][100], 1e-7)
}

func TestGeodesicTransportOrder(t *testing.T) {
	m := sphereCometric(2)
	runs := []struct {
		method ode.Method
		n      int
	}{{ode.RK4, 400}, {ode.Heun, 20}, {ode.Heun, 40}, {ode.RK4, 20}, {ode.RK4, 40}}
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		var out []*Node
		for _, r := range runs {
			state := ode.State{in[0], geom.Flat(m, in[0], in[1]), in[2]}
			out = append(out, ode.Flow(geom.GeodesicTransport(m), r.method, r.n, state)[2])
		}
		return out
	}, []float64{0.4, -0.3}, []float64{1.1, 0.7}, []float64{-0.2, 0.9}))
	for i := 1; i < len(runs); i += 2 {
		e1, e2 := floats.Distance(out.Flat(i), out.Flat(0), 2), floats.Distance(out.Flat(i+1), out.Flat(0), 2)
		expect.Abs(t, runs[i].method.Name+": order", math.Log2(e1/e2), float64(runs[i].method.Order), 0.1)
	}
}

// On the atlas of the sphere a circle may go anywhere: a full turn at latitude θ turns vectors by 2π cos θ.
func TestTransportOnAtlas(t *testing.T) {
	theta := 2.
	n := 160
	curve := make([][]float64, n+1)
	for i := range curve {
		a := 2 * math.Pi * float64(i) / float64(n)
		curve[i] = []float64{math.Sin(theta) * math.Cos(a), math.Sin(theta) * math.Sin(a), math.Cos(theta)}
	}
	curve[n] = curve[0]
	s := geom.On(manifold.Sphere(2))
	south, east := []float64{math.Cos(theta), 0, -math.Sin(theta)}, []float64{0, 1, 0}
	out, err := s.TransportAlong(curve, south)
	if err != nil {
		t.Fatal(err)
	}
	end, turn := out[0][n], 2*math.Pi*math.Cos(theta)
	expect.Rel(t, "holonomy", []float64{floats.Dot(end, south), floats.Dot(end, east), floats.Norm(end, 2)},
		[]float64{math.Cos(turn), -math.Sin(turn), 1}, 1e-6)
	expect.Refused(t, expect.Error(s.TransportAlong(curve, curve[0])), "not tangent")
	curve[3] = []float64{0, 0, 1.5}
	expect.Refused(t, expect.Error(s.TransportAlong(curve, south)), "point 3 is not on the manifold")
}

// A vector moves with its configuration, however the samples of a curve are turned: the last of it = i·w where the curve is one shape
// that turns to i·z, and along a geodesic, each of whose configurations is turned in its own way, the closed form, turned with them.
func TestTransportAlongTurningShapes(t *testing.T) {
	s := geom.On(manifold.Kendall(4, 2))
	turned := func(angle float64, z []float64) []float64 {
		out, sin, cos := make([]float64, len(z)), math.Sin(angle), math.Cos(angle)
		for i := 0; i < len(z); i += 2 {
			out[i], out[i+1] = cos*z[i]-sin*z[i+1], sin*z[i]+cos*z[i+1]
		}
		return out
	}
	z, v, err := s.Project([]float64{0, 0, 2, 0, 2, 1.5, 0, 1.2}, []float64{0.3, 0.1, -0.2, 0.4, 0.1, 0.2, 0, -0.5}, []float64{0.1, 0, 0.2, 0.1, -0.4, 0.2, 0.3, 0.1})
	if err != nil {
		t.Fatal(err)
	}
	const n = 40
	g, err := s.Exp(z, v[0])
	if err != nil {
		t.Fatal(err)
	}
	moved, err := s.Transport(g, v[1])
	if err != nil {
		t.Fatal(err)
	}
	var still, along [][]float64
	for k := range n + 1 {
		still = append(still, turned(math.Pi/2*float64(k)/n, z))
	}
	angle := func(k int) float64 { return 2 * math.Sin(3*float64(k)) }
	for k, x := range g.Path {
		along = append(along, turned(angle(k), x))
	}
	out, err := s.TransportAlong(still, v...)
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range v {
		expect.Abs(t, "vector at a shape that turns", out[i][n], turned(math.Pi/2, v), 1e-12)
	}
	out, err = s.TransportAlong(along, v[1])
	if err != nil {
		t.Fatal(err)
	}
	for k := range along {
		expect.Abs(t, fmt.Sprintf("vector at turned configuration %d", k), out[0][k], turned(angle(k), moved[0][k]), 1e-6)
	}
}

// Multiples of the identity commute with all matrices: along them a vector of the left-invariant metric moves as the matrix does. The
// differences by which a polynomial through such samples goes on beyond its ends are no matrices of the group.
func TestTransportAlongMatrices(t *testing.T) {
	for _, c := range []struct {
		n     int
		sizes []float64
	}{{1, []float64{1, 2, 4, 8, 16}}, {2, []float64{1, 0.4}}, {2, []float64{1, 2}}} {
		m, err := lie.GL(c.n).LeftInvariant(nil)
		s := geom.On(expect.Must(m, err))
		curve := make([][]float64, len(c.sizes))
		v := make([]float64, c.n*c.n)
		for k, size := range c.sizes {
			curve[k] = make([]float64, c.n*c.n)
			for i := range c.n {
				curve[k][i*(c.n+1)] = size
			}
		}
		for i := range v {
			v[i] = 0.5 - 0.3*float64(i)
		}
		out, err := s.TransportAlong(curve, v)
		if err != nil {
			t.Errorf("GL(%d), %v: %v", c.n, c.sizes, err)
			continue
		}
		for k, size := range c.sizes {
			expect.Rel(t, fmt.Sprintf("GL(%d) at %g", c.n, size), out[0][k], floats.ScaleTo(make([]float64, len(v)), size, v), 1e-10)
		}
	}
}

func TestTransportErrors(t *testing.T) {
	s := geom.On(sphereMetric(2))
	g := &geom.Geodesic[geom.Vec]{Start: []float64{0, 0}, Momentum: []float64{1, 0}}
	short := &geom.Geodesic[geom.Vec]{Start: []float64{0}, Momentum: []float64{1, 0}}
	bounded := geom.On(geom.FromImmersion(ellipsoid(1.5, 1, 1)))
	for _, c := range []struct {
		want string
		call func() ([][][]float64, error)
	}{
		{"Transport: no vector", func() ([][][]float64, error) { return s.Transport(g) }},
		// Shot with many steps, and moved along with few.
		{"the steps of RK4 are too few: 25 leave", func() ([][][]float64, error) {
			plane := geom.On(halfPlane())
			fast := expect.Must(plane.With(geom.Integrator(ode.RK4, 1000)).Exp([]float64{0, 1}, []float64{10, 10}))
			return plane.With(geom.Integrator(ode.RK4, 25)).Transport(fast, []float64{1, 0})
		}},
		{"vector 1 has 3 coordinates", func() ([][][]float64, error) { return s.Transport(g, []float64{1, 0}, []float64{1, 0, 0}) }},
		{"start has 1 coordinates", func() ([][][]float64, error) { return s.Transport(short, []float64{1, 0}) }},
		{"the curve has 1 points", func() ([][][]float64, error) { return s.TransportAlong([][]float64{{0, 0}}, []float64{1, 0}) }},
		{"coordinate 1 of point 1 is NaN", func() ([][][]float64, error) {
			return s.TransportAlong([][]float64{{0, 0}, {0, math.NaN()}}, []float64{1, 0})
		}},
		{"at point 2 of 2 coordinate 0 of vector 0 is", func() ([][][]float64, error) {
			return bounded.TransportAlong([][]float64{{0, 0}, {1, 0}, {2, 0}}, []float64{1, 0})
		}},
	} {
		expect.Refused(t, expect.Error(c.call()), c.want)
	}
}

func BenchmarkTransport(b *testing.B) {
	m, q, vectors := callosum()
	s := geom.On(m, geom.Integrator(ode.RK4, 100))
	g, err := s.Shoot(q, floats.ScaleTo(make([]float64, len(q)), 0.03, vectors[0]))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		run  func() ([][][]float64, error)
	}{
		{"geodesic", func() ([][][]float64, error) { return s.Transport(g, vectors[0]) }},
		{"geodesic-4", func() ([][][]float64, error) { return s.Transport(g, vectors...) }},
		{"curve", func() ([][][]float64, error) { return s.TransportAlong(g.Path, vectors[0]) }},
	} {
		b.Run(c.name, func(b *testing.B) { bench.Call(b, func() error { _, err := c.run(); return err }) })
	}
}
