package geom_test

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

// level is x² + y²/4 + z²/2.25 = 1.
func level() geom.Charted {
	return geom.LevelSet(3, 1, func(x *Node) *Node {
		weights := ConstAsDType(x.Graph(), x.DType(), []float64{1, 1. / 4, 1 / 2.25})
		return AddScalar(ReduceAndKeep(Mul(Square(x), ExpandLeftToRank(weights, x.Rank())), ReduceSum, -1), -1)
	})
}

// Besides passing the suite, an ellipsoid by its equation has the geodesics of the one by a chart.
func TestLevelSet(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, level(), []float64{0.6, 1.6, 0})
	steps := geom.Integrator(ode.RK4, 60) // as in the suite
	x, v := []float64{0, 0, 1.5}, []float64{0.7, 1.1, 0}
	g, want := expect.Must(geom.On(level(), steps).Exp(x, v)), expect.Must(geom.On(manifold.Ellipsoid(1, 2, 1.5), steps).Exp(x, v))
	expect.Rel(t, "length", g.Length, want.Length, 1e-8)
	expect.Abs(t, "end", g.End, want.End, 1e-8)
	expect.Refused(t, expect.Error(geom.On(level()).Log(x, []float64{0.6, 0.8, 0.8})), "not on the manifold")
}

// Two equations in R⁴: a product of circles, which is flat.
func TestLevelSetOfTwoEquations(t *testing.T) {
	t.Parallel()
	circles := geom.On(geom.LevelSet(4, 2, func(x *Node) *Node {
		circle := func(from int) *Node {
			return AddScalar(ReduceAndKeep(Square(SliceAxis(x, -1, AxisRange(from, from+2))), ReduceSum, -1), -1)
		}
		return Concatenate([]*Node{circle(0), circle(2)}, -1)
	}), geom.Integrator(ode.RK4, 100))
	x, y := []float64{1, 0, 0, 1}, []float64{math.Cos(0.5), math.Sin(0.5), math.Sin(0.7), math.Cos(0.7)}
	expect.Abs(t, "end", expect.Must(circles.Exp(x, []float64{0, 0.5, 0.7, 0})).End, y, 1e-8)
	expect.Abs(t, "scalar curvature", expect.Must(circles.ScalarCurvature(y)), 0, 1e-8)
}
