package morpho

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"anatomy/internal/lists"
	"anatomy/landmarks/internal/pointset"
)

// NearestSpacing returns the mean distance from a landmark to the one nearest to it: the natural length for the width of a
// kernel where the landmarks follow no curve, as MeanSpacing is where they do. Points are [n][d], n ≥ 2.
func NearestSpacing(points [][]float64) float64 {
	return lists.Sum(len(points), func(i int) float64 {
		nearest := math.Inf(1)
		for j, q := range points {
			if i != j {
				nearest = min(nearest, floats.Distance(points[i], q, 2))
			}
		}
		return nearest
	}) / float64(len(points))
}

// Spread returns the numbers of n of the points, spread evenly over them: each is the point farthest from those before it and from others
// that are there already. Without others the first is point 0. Points of a mesh become semi-landmarks of its surface so, beside
// its landmarks. It panics if there are not as many points.
func Spread(x [][]float64, n int, others ...[]float64) []int { return pointset.Spread(x, n, others...) }
