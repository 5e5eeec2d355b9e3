package morpho

import (
	"fmt"
	"math"
)

// NearestSpacing returns the mean distance from a landmark to the one nearest to it: the natural length for the width of a
// kernel where the landmarks follow no curve, as MeanSpacing is where they do. Points are [n][d], n ≥ 2.
func NearestSpacing(points [][]float64) float64 {
	sum := 0.0
	for i, p := range points {
		nearest := math.Inf(1)
		for j, q := range points {
			if i == j {
				continue
			}
			square := 0.0
			for c := range p {
				square += (p[c] - q[c]) * (p[c] - q[c])
			}
			nearest = math.Min(nearest, square)
		}
		sum += math.Sqrt(nearest)
	}
	return sum / float64(len(points))
}

// Spread returns the numbers of n of the points, spread evenly over them: each is the point farthest from those before it and from others
// that are there already. Without others the first is point 0. Points of a mesh become semi-landmarks of its surface so, beside
// its landmarks. It panics if there are not as many points.
func Spread(points [][]float64, n int, others ...[]float64) []int {
	if n < 0 || n > len(points) {
		panic(fmt.Errorf("spread: %d of %d points", n, len(points)))
	}
	squares := make([]float64, len(points)) // of the distances to what there is
	for i := range squares {
		squares[i] = math.Inf(1)
	}
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
