package engine

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
)

// A quadratic form whose axes have curvatures from 0.1 to 50, at points of a shape and of a list; and Rosenbrock's valley.
func TestMinimise(t *testing.T) {
	target := shape.Shape{{1, -2}, {0.5, 3}, {7, 0}}
	weights := [][]float64{{0.1, 2}, {50, 1}, {3, 0.7}}
	quadratic := func(x, y, w *graph.Node) *graph.Node {
		return graph.ReduceAllSum(graph.Mul(w, graph.Square(graph.Sub(x, y))))
	}
	expect.Abs(t, "shape", expect.Must(Minimise(quadratic, target.Scale(0), target, weights)), target, 1e-5)
	expect.Abs(t, "list", expect.Must(Minimise(quadratic, make([]float64, 6), target.Flat(), shape.Flat(weights))), target.Flat(), 1e-5)
	valley := func(x *graph.Node) *graph.Node {
		a, b := graph.SliceAxis(x, -1, graph.AxisElem(0)), graph.SliceAxis(x, -1, graph.AxisElem(1))
		return graph.ReduceAllSum(graph.Add(graph.Square(graph.OneMinus(a)), graph.MulScalar(graph.Square(graph.Sub(b, graph.Square(a))), 100)))
	}
	expect.Abs(t, "valley", expect.Must(Minimise(valley, []float64{-1.2, 1})), []float64{1, 1}, 1e-4)
}

func TestMinimiseRefuses(t *testing.T) {
	expect.Refused(t, expect.Error(Minimise(func(x *graph.Node) *graph.Node { return graph.ReduceAllSum(graph.Log(x)) }, []float64{-1})), "engine.Minimise: minimum NaN")
	expect.Refused(t, expect.Error(Minimise(func(x, y *graph.Node) *graph.Node { return graph.ReduceAllSum(graph.Mul(x, y)) }, []float64{1})), "1 nodes for a function of 2")
	if _, err := Minimise(func(x *graph.Node) *graph.Node { return graph.Neg(graph.Exp(graph.ReduceAllSum(x))) }, []float64{1}); err == nil {
		t.Error("a loss without a minimum has one")
	}
	if x, _ := Minimise(func(x *graph.Node) *graph.Node { return graph.ReduceAllSum(graph.Square(x)) }, []float64{math.Pi}); math.Abs(x[0]) > 1e-5 {
		t.Error(x)
	}
}
