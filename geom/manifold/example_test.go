package manifold_test

import (
	"fmt"
	"math"

	"anatomy/geom"
	"anatomy/geom/manifold"
)

// Around an octant of the sphere a tangent vector comes back turned by the area, π/2.
func ExampleSphere() {
	space := geom.On(manifold.Sphere(2))
	x, y, z := []float64{1, 0, 0}, []float64{0, 1, 0}, []float64{0, 0, 1}
	v := []float64{0, 1, 0}
	for _, side := range [][2][]float64{{x, y}, {y, z}, {z, x}} {
		g, err := space.Log(side[0], side[1])
		if err != nil {
			fmt.Println(err)
			return
		}
		moved, err := space.Transport(g, v)
		if err != nil {
			fmt.Println(err)
			return
		}
		v = moved[0][len(moved[0])-1]
	}
	fmt.Printf("turned by %.4f, π/2 = %.4f\n", math.Atan2(v[2], v[1]), math.Pi/2)
	// Output: turned by 1.5708, π/2 = 1.5708
}
