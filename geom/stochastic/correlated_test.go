package stochastic_test

import (
	"math"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/stochastic"
)

// Correlated noise makes the paths of the frame that it has, and on a group those of the metric, from the same noise.
func TestCorrelated(t *testing.T) {
	run := stochastic.Run{Paths: 2, Steps: 20, Seed: 4}
	same := func(what string, p, q stochastic.Process[geom.Vec]) {
		t.Helper()
		a, b := expect.Must(p.Paths(run)), expect.Must(q.Paths(run))
		for k := range a.Points {
			for i := range a.Points[k] {
				expect.Abs(t, what, a.Points[k][i], b.Points[k][i], 1e-12)
			}
		}
	}
	sphere := geom.On(manifold.Sphere(2))
	development := func(frame ...geom.Vec) stochastic.Process[geom.Vec] {
		return stochastic.Development(sphere, geom.Vec{0, 0, 1}, frame...)
	}
	basis := development(geom.Vec{1, 0, 0}, geom.Vec{0, 1, 0})
	same("frame", expect.Must(stochastic.Correlated(basis, [][]float64{{0.5, 0}, {0.2, 0.3}})), development(geom.Vec{0.5, 0.2, 0}, geom.Vec{0, 0.3, 0}))
	group := lie.SO(3)
	l := [][]float64{{0.5, 0, 0}, {0.25, 0.4, 0}, {0, 0, 2}}
	// (LLᵀ)⁻¹, by hand.
	det := 0.25*(0.0625+0.16) - 0.125*0.125
	a := [][]float64{{(0.0625 + 0.16) / det, -0.125 / det, 0}, {-0.125 / det, 0.25 / det, 0}, {0, 0, 0.25}}
	brownian := func(a [][]float64) stochastic.Process[geom.Vec] {
		return expect.Must(lie.Brownian(geom.On(expect.Must(group.LeftInvariant(a))), group.Identity()))
	}
	same("metric", expect.Must(stochastic.Correlated(brownian(nil), l)), brownian(a))
	expect.Refused(t, expect.Error(stochastic.Correlated(basis, l)), "3 rows", "R^2")
	expect.Refused(t, expect.Error(stochastic.Correlated(basis, [][]float64{{1}, {1, 1}})), "row 0", "1 numbers")
	for _, wrong := range [][][]float64{{{1, 1}, {0, 1}}, {{0, 0}, {0, 1}}, {{1, 0}, {math.NaN(), 1}}} {
		expect.Refused(t, expect.Error(stochastic.Correlated(basis, wrong)), "lower triangular")
	}
}
