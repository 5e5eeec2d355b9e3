package linalg_test

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
)

// The gradient of log det A is A⁻¹.
func ExampleLogDet() {
	out, err := engine.Run(func(a *Node) *Node { return autodiff.Grad(linalg.LogDet, a) }, [][]float64{{2, 1}, {1, 2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", out.Matrix(0))
	// Output: [[0.6667 -0.3333] [-0.3333 0.6667]]
}
