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

// The distance of two shapes in space, however each configuration is turned, placed and scaled.
func ExampleKendall() {
	space := geom.OnShapes(manifold.Kendall(4, 3))
	a, _, err := space.Project([][]float64{{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	b, _, err := space.Project([][]float64{{5, 5, 9}, {5, 1, 3}, {1, 5, 3}, {1, 1, 7}}) // larger, and a corner is pulled out
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := space.Log(a, b)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", g.Length)
	// Output: 0.1709
}
