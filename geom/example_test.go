package geom_test

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
)

// A manifold of one's own is its metric: here the half plane y > 0 with g = I/y², of curvature −1, where points above one
// another lie ln(y₁/y₀) apart. The rest follows by automatic differentiation.
func ExampleMetricFunc() {
	space := geom.On(geom.MetricFunc(2, func(x *Node) *Node { // [..., 2] to [..., 2, 2]
		y := SliceAxis(x, -1, AxisRange(1, 2))
		zero, g := ZerosLike(y), Reciprocal(Square(y))
		return Stack([]*Node{Concatenate([]*Node{g, zero}, -1), Concatenate([]*Node{zero, g}, -1)}, -2)
	}))
	g, err := space.Log([]float64{0, 1}, []float64{0, 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := g.Err(); err != nil { // the search has not converged
		fmt.Println(err)
		return
	}
	k, err := space.SectionalCurvature([]float64{0, 1}, []float64{1, 0}, []float64{0, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v, distance %.4f of %.4f, curvature %.3f\n", g.Status, g.Length, math.Ln2, k)
	// Output: converged, distance 0.6931 of 0.6931, curvature -1.000
}

// A cometric is enough, and may be degenerate. The same half plane:
func ExampleCometricFunc() {
	space := geom.On(geom.CometricFunc(2, func(q, p *Node) *Node { return Mul(p, Square(SliceAxis(q, -1, AxisRange(1, 2)))) }))
	g, err := space.Exp([]float64{0, 1}, []float64{0, math.Ln2})
	if err != nil {
		fmt.Println(err)
		return
	}
	end := g.End
	fmt.Printf("(%.4f, %.4f)\n", end[0], end[1])
	// Output: (0.0000, 2.0000)
}

// A surface is its parametrisation: a paraboloid of revolution, of Gauss curvature 1/(1 + r²)².
func ExampleImmersionFunc() {
	paraboloid := geom.ImmersionFunc(2, func(x *Node) *Node { // (x, y) to (x, y, (x² + y²)/2)
		return Concatenate([]*Node{x, MulScalar(ReduceAndKeep(Square(x), ReduceSum, -1), 0.5)}, -1)
	})
	k, err := geom.On(geom.FromImmersion(paraboloid)).SectionalCurvature([]float64{1, 0}, []float64{1, 0}, []float64{0, 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f at r = 1\n", k)
	// Output: 0.2500 at r = 1
}

// A search tells a listener how far it has come.
func ExampleOnProgress() {
	var seen geom.Progress
	sphere := geom.On(manifold.Sphere(2), geom.OnProgress(func(p geom.Progress) { seen = p }))
	if _, err := stats.FrechetMean(sphere, [][]float64{{1, 0, 0}, {0.8, 0.6, 0}, {0, 0.6, 0.8}}); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(seen.Task)
	// Output: Fréchet mean
}
