package framebundle_test

import (
	"fmt"
	"math"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/manifold"
)

// A straight line of length π/2 in the plane develops to a quarter of a great circle.
func ExampleSpace_Develop() {
	space := framebundle.On(manifold.Sphere(2))
	north := framebundle.Point[geom.Vec]{X: []float64{0, 0, 1}, Frame: [][]float64{{1, 0, 0}, {0, 1, 0}}}
	var line [][]float64
	for k := range 41 {
		line = append(line, []float64{math.Pi / 2 * float64(k) / 40, 0})
	}
	d, err := space.Develop(north, line)
	if err != nil {
		fmt.Println(err)
		return
	}
	end := len(d.Path) - 1
	fmt.Printf("height %.4f above the equator, first frame vector points down: %.4f\n", math.Abs(d.Path[end][2]), d.Frames[end][0][2])
	// Output: height 0.0000 above the equator, first frame vector points down: -1.0000
}
