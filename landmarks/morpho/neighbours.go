package morpho

import "math"

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
