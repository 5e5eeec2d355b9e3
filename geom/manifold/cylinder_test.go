package manifold_test

import (
	"math"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
)

func TestCylinder(t *testing.T) {
	t.Parallel()
	m := manifold.Cylinder(2)
	geomtest.Run(t, m, []float64{2, 0, 0}, []float64{1.2, -1.6, 3})

	s := geom.On(m)
	g := expect.Must(s.Exp([]float64{2, 0, 0}, []float64{0, 8 * math.Pi, 5}))
	for k, p := range g.Path { // a helix, twice round
		time := float64(k) / float64(len(g.Path)-1)
		angle := 4 * math.Pi * time
		expect.Abs(t, "helix", p, []float64{2 * math.Cos(angle), 2 * math.Sin(angle), 5 * time}, 1e-12)
	}
	half := expect.Must(s.Log([]float64{2, 0, 0}, []float64{-2, 0, 1})) // half way round: both ways are as long, and one is returned
	expect.Rel(t, "half way round", half.Length, math.Hypot(2*math.Pi, 1), 1e-9)
	expect.Refused(t, expect.Error(s.Log([]float64{2, 0, 0}, []float64{1, 0, 1})), "not on the manifold") // inside
}
