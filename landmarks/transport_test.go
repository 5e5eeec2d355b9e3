package landmarks_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// Along a geodesic of shapes its own velocity is parallel, and so is a sum with another parallel vector.
func TestTransport(t *testing.T) {
	q := [][]float64{{0, 0}, {1, 0.2}, {0.4, 1.1}}
	p := [][]float64{{0.3, -0.1}, {-0.4, 0.2}, {0.1, 0.3}}
	w := [][]float64{{-0.2, 0.5}, {0.3, 0.1}, {0.2, -0.6}}
	s := landmarks.New(3, 2, kernels.Gaussian(0.8), geom.Integrator(ode.RK4, 40))
	g, err := s.Shoot(q, p)
	if err != nil {
		t.Fatal(err)
	}
	sum := make([][]float64, 3)
	for i := range sum {
		sum[i] = []float64{g.Velocity[i][0] + 2*w[i][0], g.Velocity[i][1] + 2*w[i][1]}
	}
	moved, err := s.Transport(g, g.Velocity, w, sum)
	if err != nil {
		t.Fatal(err)
	}
	along, err := s.TransportAlong(g.Path, w)
	if err != nil {
		t.Fatal(err)
	}
	if len(moved) != 3 || len(moved[0]) != len(g.Path) || len(along) != 1 {
		t.Fatalf("%d vectors at %d times, %d along the path", len(moved), len(moved[0]), len(along))
	}
	end, err := s.Shoot(g.End, g.Momenta[40])
	if err != nil {
		t.Fatal(err)
	}
	for i := range q {
		linear := floats.AddScaledTo(make([]float64, 2), moved[0][40][i], 2, moved[1][40][i])
		expect.Abs(t, fmt.Sprintf("own velocity, landmark %d", i), moved[0][40][i], end.Velocity[i], 1e-6)
		expect.Abs(t, fmt.Sprintf("linear, landmark %d", i), moved[2][40][i], linear, 1e-6)
		expect.Abs(t, fmt.Sprintf("along the path, landmark %d", i), along[0][40][i], moved[1][40][i], 1e-6)
	}
	expect.Refused(t, expect.Error(s.Transport(g, w[:2])), "the vector has 2 landmarks, the manifold has 3")
	expect.Refused(t, expect.Error(s.TransportAlong([]geom.Shape{q, {{0, 0}, {0, 0}, {1, 1}}}, w)), "point 1: landmarks 0 and 1 coincide")
}

// A deformation of another subject: its length stays, there and back it is as before, and the pole ladder (N. Guigui and X. Pennec,
// Foundations of Computational Mathematics 22, 2022), which is made of Exp and Log alone, tends to it with the second order.
func TestTransportGeodesic(t *testing.T) {
	q := [][]float64{{0, 0}, {1, 0.2}, {0.4, 1.1}}
	s := landmarks.New(3, 2, kernels.Gaussian(0.8), geom.Integrator(ode.RK4, 40))
	along := expect.Must(s.Shoot(q, [][]float64{{0.3, -0.1}, {-0.4, 0.2}, {0.1, 0.3}}))
	g := expect.Must(s.Shoot(q, [][]float64{{-0.2, 0.5}, {0.3, 0.1}, {0.2, -0.6}}))
	there := expect.Must(s.TransportGeodesic(g, along))
	expect.Rel(t, "length", there.Length, g.Length, 1e-6)
	back := expect.Must(s.TransportGeodesic(there, expect.Must(s.Inverse(along))))
	expect.Abs(t, "there and back", back.End, g.End, 1e-6)

	var errors []float64
	for _, rungs := range []int{2, 4} {
		v, stride := g.Velocity.Scale(1/float64(rungs)), 40/rungs
		for k := 0; k < 40; k += stride {
			x, middle, y := along.Path[k], along.Path[k+stride/2], along.Path[k+stride]
			pole := expect.Must(s.Exp(x, v)).End
			opposite := expect.Must(s.Exp(middle, expect.Must(s.Log(middle, pole)).Velocity.Scale(-1))).End
			v = expect.Must(s.Log(y, opposite)).Velocity.Scale(-1)
		}
		errors = append(errors, v.Scale(float64(rungs)).Distance(there.Velocity))
	}
	t.Logf("pole ladder: errors %.3g", errors)
	expect.Abs(t, "order of the pole ladder", math.Log2(errors[0]/errors[1]), 2, 0.3)
	expect.Refused(t, expect.Error(s.TransportGeodesic(there, along)), "start at different points")
}

// Far from each other landmarks are free: the space is flat.
func TestSectionalCurvature(t *testing.T) {
	s := landmarks.New(2, 1, kernels.Gaussian(1))
	u, v := [][]float64{{1}, {0.4}}, [][]float64{{-0.3}, {1}}
	far := expect.Must(s.SectionalCurvature([][]float64{{0}, {9}}, u, v))
	expect.Abs(t, "curvature with landmarks at 9σ", far, 0, 1e-14)
	expect.Refused(t, expect.Error(s.SectionalCurvature([][]float64{{0}, {1}}, u, u)), "span no plane")
}
