package linalg

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/bench"
)

// steps runs a step, which takes a matrix and two right-hand sides to two columns, 100 times in a scan, on the kernel
// matrix of n points of a circle that the step moves. It also reports the size of the graph; gradient adds the reverse pass.
func steps(b *testing.B, lead []int, n int, gradient bool, step func(a, b *Node) *Node) {
	circle, rhs := make([][]float64, n), make([][]float64, n)
	for i := range n {
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		circle[i], rhs[i] = []float64{c, s}, []float64{c * s, s * s}
	}
	size := 0
	f := engine.Compile(func(x, rhs *Node) *Node {
		dims := append(append([]int{}, lead...), n, 2)
		if len(lead) > 0 {
			x, rhs = graph.BroadcastPrefix(x, lead...), graph.BroadcastPrefix(rhs, lead...)
		}
		final, _ := autodiff.Scan(100, func(_ *Node, s, _ []*Node) ([]*Node, []*Node) {
			x := graph.Reshape(s[0], dims...)
			d := graph.ReduceSum(graph.Square(graph.Sub(graph.ExpandAxes(x, -2), graph.ExpandAxes(x, -3))), -1)
			k := graph.Exp(graph.MulScalar(d, -float64(n*n)/40))
			k = graph.Add(k, graph.MulScalar(EyeLike(k), 0.01))
			return []*Node{graph.Add(x, graph.MulScalar(step(k, rhs), 1e-5))}, nil
		}, []*Node{x}, nil)
		out := final[0]
		if gradient {
			out = graph.Gradient(graph.ReduceAllSum(graph.Square(out)), x)[0]
		}
		size = len(x.Graph().Nodes())
		return out
	})
	bench.Call(b, func() error { _, err := f.Call(circle, rhs); return err })
	b.ReportMetric(float64(size), "nodes")
}

func BenchmarkKernelMatrixAlone(b *testing.B) {
	for _, n := range []int{39, 60, 100, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { steps(b, nil, n, false, MatMul) })
	}
}

func BenchmarkSolve(b *testing.B) {
	for _, n := range []int{3, 39, 60, 100, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { steps(b, nil, n, false, Solve) })
	}
	b.Run("76x60", func(b *testing.B) { steps(b, []int{76}, 60, false, Solve) })
}

func BenchmarkSolveGradient(b *testing.B) {
	for _, n := range []int{39, 100} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { steps(b, nil, n, true, Solve) })
	}
}

func BenchmarkSymSqrt(b *testing.B) {
	for _, n := range []int{3, 39} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			steps(b, nil, n, false, func(a, b *Node) *Node { return MatMul(symSqrt(a), b) })
		})
	}
}

func BenchmarkCholesky2000(b *testing.B) {
	a := engine.Compile(func(x *Node) *Node {
		d := graph.Square(graph.Sub(graph.ExpandAxes(x, 0), graph.ExpandAxes(x, 1)))
		k := graph.Exp(graph.Neg(graph.Sqrt(d)))
		return LogDet(k)
	})
	x := make([]float64, 2000)
	for i := range x {
		x[i] = float64(i) / 10
	}
	bench.Call(b, func() error { _, err := a.Call(x); return err })
}
