package stats_test

import (
	"fmt"

	"anatomy/geom"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
)

// The mean of three points of the sphere, and how they vary around it.
func ExampleFrechetMean() {
	space := geom.On(manifold.Sphere(2))
	mean, err := stats.FrechetMean(space, [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	pca, err := stats.TangentPCA(mean)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%v at %.4f, shares %.3f\n", mean.Status, mean.Point, pca.Explained)
	// Output: converged at [0.5774 0.5774 0.5774], shares [0.500 0.500]
}
