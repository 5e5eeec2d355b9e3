// Package pointset has the few measures of sets of points that both the manifold of landmarks and morphometrics need.
package pointset

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/internal/lists"
)

// CentroidSize returns sqrt(Σ_i |x_i − c|²), c the centroid.
func CentroidSize(points shape.Shape) float64 {
	centre := points.Centroid()
	distances := lists.Each(points, func(p []float64) float64 { return floats.Distance(p, centre, 2) })
	return floats.Norm(distances, 2)
}

// Spread returns the numbers of n of the points, spread evenly over them: each is the point farthest from those before it and from others
// that are there already. Without others the first is point 0. Points of a mesh become semi-landmarks of its surface so, beside
// its landmarks. It panics if there are not as many points.
func Spread(points [][]float64, n int, others ...[]float64) []int {
	if n < 0 || n > len(points) {
		panic(fmt.Errorf("spread: %d of %d points", n, len(points)))
	}
	squares := slices.Repeat([]float64{math.Inf(1)}, len(points)) // of the distances to what there is
	farthest := 0
	add := func(here []float64) {
		far := -1.0
		for i, p := range points {
			d := 0.0
			for c := range p {
				d += (p[c] - here[c]) * (p[c] - here[c])
			}
			if squares[i] = min(squares[i], d); squares[i] > far {
				far, farthest = squares[i], i
			}
		}
	}
	for _, o := range others {
		add(o)
	}
	chosen := make([]int, 0, n)
	for len(chosen) < n {
		l := farthest
		chosen, squares[l] = append(chosen, l), -1 // never again, even if others are at its place
		add(points[l])
	}
	return chosen
}
