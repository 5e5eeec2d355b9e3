package stochastic_test

import (
	"fmt"
	"math"

	"anatomy/geom"
	"anatomy/geom/manifold"
	"anatomy/geom/stochastic"
)

// Brownian motion on the sphere forgets where it began: E z = exp(−T) from the north pole.
func ExampleBrownian() {
	const T = 0.5
	ends, err := stochastic.Brownian(geom.On(manifold.Sphere(2)), []float64{0, 0, 1}).Sample(stochastic.Run{Paths: 4000, Steps: 20, Time: T, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	mean := 0.0
	for _, z := range ends {
		mean += z[2] / float64(len(ends))
	}
	fmt.Println("to 0.02:", math.Abs(mean-math.Exp(-T)) < 0.02)
	// Output: to 0.02: true
}
