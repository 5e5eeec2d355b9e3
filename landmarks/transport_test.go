package landmarks_test

import (
	"math"
	"strings"
	"testing"

	"anatomy/geom"
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
		for a := range 2 {
			for _, c := range []struct {
				what      string
				got, want float64
			}{
				{"own velocity", moved[0][40][i][a], end.Velocity[i][a]},
				{"linear", moved[2][40][i][a], moved[0][40][i][a] + 2*moved[1][40][i][a]},
				{"along the path", along[0][40][i][a], moved[1][40][i][a]},
			} {
				if math.Abs(c.got-c.want) > 1e-6 {
					t.Errorf("%s, landmark %d: %g, want %g", c.what, i, c.got, c.want)
				}
			}
		}
	}
	if _, err := s.Transport(g, w[:2]); err == nil || !strings.Contains(err.Error(), "the vector has 2 landmarks, the manifold has 3") {
		t.Errorf("too few landmarks: error %v", err)
	}
	if _, err := s.TransportAlong([][][]float64{q, {{0, 0}, {0, 0}, {1, 1}}}, w); err == nil || !strings.Contains(err.Error(), "point 1: landmarks 0 and 1 coincide") {
		t.Errorf("coinciding landmarks: error %v", err)
	}
}

// Far from each other landmarks are free: the space is flat.
func TestSectionalCurvature(t *testing.T) {
	s := landmarks.New(2, 1, kernels.Gaussian(1))
	u, v := [][]float64{{1}, {0.4}}, [][]float64{{-0.3}, {1}}
	far, err := s.SectionalCurvature([][]float64{{0}, {9}}, u, v)
	if err != nil || math.Abs(far) > 1e-14 {
		t.Errorf("landmarks at 9σ: curvature %g, error %v", far, err)
	}
	if _, err := s.SectionalCurvature([][]float64{{0}, {1}}, u, u); err == nil || !strings.Contains(err.Error(), "span no plane") {
		t.Errorf("parallel vectors: error %v", err)
	}
}
