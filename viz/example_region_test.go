package viz_test

import (
	"fmt"

	"anatomy/viz"
)

// A filled outline, in the colour of its group.
func ExampleRegion() {
	square := [][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}}
	fmt.Println(viz.Alt(viz.Region(square).Color(viz.Green).Label("a square")))
	// Output: region "a square", green. x from 0 to 1; y from 0 to 1. <nil>
}
