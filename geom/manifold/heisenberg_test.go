package manifold_test

import (
	"math"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
)

func TestHeisenberg(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, manifold.Heisenberg(), []float64{2, 0, 0}, []float64{1.2, 1.6, 3})
}

// From the origin the shadow of a geodesic is a circle with angular velocity p_z, and the height is the area swept.
func TestHeisenbergCircle(t *testing.T) {
	t.Parallel()
	const w = 5.0
	g := expect.Must(geom.On(manifold.Heisenberg(), geom.Integrator(ode.RK4, 200)).Shoot([]float64{0, 0, 0}, []float64{1, 0, w}))
	expect.Abs(t, "length", g.Length, 1, 1e-14)
	for k, p := range g.Path {
		time := float64(k) / 200
		want := []float64{math.Sin(w*time) / w, (1 - math.Cos(w*time)) / w, (w*time - math.Sin(w*time)) / (2 * w * w)}
		expect.Abs(t, "geodesic", p, want, 5e-9)
	}
}
