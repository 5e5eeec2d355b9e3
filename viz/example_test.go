package viz_test

import (
	"fmt"
	"math"

	"anatomy/viz"
)

// A shape with a tangent vector, under a notebook's cell.
func Example() {
	var q, v [][]float64
	for i := range 20 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / 20)
		q = append(q, []float64{40 * cos, 15 * sin})
		v = append(v, []float64{0, 3 * cos})
	}
	viz.Show(viz.Outline(q).Label("q₀"), viz.Arrows(q, v).Label("v₂"))
	// Output:
}

// Faulty data are named, not drawn.
func ExampleSave() {
	q := [][]float64{{0, 0}, {1, math.NaN()}, {1, 1}}
	fmt.Println(viz.Save("shape.png", viz.Outline(q)))
	// Output: viz: shape.png: Outline: shape 0, landmark 1: coordinate y is NaN
}
