package manifold_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
)

func TestTorus(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, manifold.Torus(2, 1), []float64{3, 0, 0}, []float64{0, 2, -1})
}

// Gauss's curvature is (ρ − R)/(r² ρ); Clairaut: ρ² φ' is constant along a geodesic, many times round the tube.
func TestTorusCurvatureAndClairaut(t *testing.T) {
	t.Parallel()
	m := manifold.Torus(2, 0.5)
	out := tilted(t, m, func(c geom.Chart, x *Node) *Node {
		induced := geom.FromImmersion(geom.ImmersionFunc(2, c.Point)).G(x)
		return Stack([]*Node{geom.ScalarCurvature(c, x), ReduceMax(Abs(Sub(induced, geom.MetricMatrix(c, x))), -1, -2)}, -1)
	}, []float64{2.5, 0, 0}, []float64{0, 1.5, 0}, []float64{-2, 0, 0.5})
	for i, v := range out.Matrix(0) {
		p := out.Matrix(1)[i]
		rho := math.Hypot(p[0], p[1])
		expect.Abs(t, "scalar curvature", v[0], 2*(rho-2)/(0.25*rho), 1e-10)
		expect.Abs(t, "induced metric", v[1], 0, 1e-12)
	}

	g := expect.Must(geom.On(m, geom.Integrator(ode.RK4, 400)).Exp([]float64{2.5, 0, 0}, []float64{0, 6, 8}))
	for k, p := range g.Path {
		v := g.Momenta[k] // of an induced metric: the velocity in R³
		expect.Abs(t, "ρ² φ'", p[0]*v[1]-p[1]*v[0], 15, 1e-5)
		expect.Abs(t, "speed", math.Sqrt(v[0]*v[0]+v[1]*v[1]+v[2]*v[2]), 10, 1e-5)
	}
}
