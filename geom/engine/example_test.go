package engine_test

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
)

// A graph function is compiled once for each shape of its arguments, which are numbers and slices of them.
func ExampleCompile() {
	energy := engine.Compile(func(x *Node) *Node { return MulScalar(ReduceAllSum(Square(x)), 0.5) })
	for _, x := range [][]float64{{3, 4}, {6, 8}} {
		out, err := energy.Call(x)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(out.Scalar(0))
	}
	// Output:
	// 12.5
	// 50
}
