package autodiff_test

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
)

// The derivative of x ↦ x^(2¹⁰), ten squarings in a compiled loop, at 1.
func ExampleScan() {
	power := func(x *Node) *Node {
		final, _ := autodiff.Scan(10, func(_ *Node, x, _ []*Node) (next, y []*Node) { return []*Node{Square(x[0])}, nil }, []*Node{x}, nil)
		return final[0]
	}
	out, err := engine.Run(func(x *Node) *Node { return autodiff.Grad(power, x) }, 1.0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(out.Scalar(0))
	// Output: 1024
}
