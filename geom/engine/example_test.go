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

// A node that is marked prints its values each time the function runs.
func ExampleFunc_Call_logged() {
	half := engine.Compile(func(x *Node) *Node {
		y := MulScalar(x, 0.5)
		y.SetLogged("half of it")
		return Square(y)
	}, engine.Name("half"))
	if _, err := half.Call([]float64{3, 4}); err != nil {
		fmt.Println(err)
	}
	// Output:
	// DefaultNodeLogger(Graph "half#1"):
	// 	(Node #2) half of it: [2]float64{1.5, 2}
}
