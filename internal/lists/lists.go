// Package lists has what packages ask of lists of numbers and of points.
package lists

import "math"

// Pick returns x_i for some i.
func Pick[S ~[]T, T any](x S, which []int) (some S) {
	for _, i := range which {
		some = append(some, x[i])
	}
	return some
}

// Combine returns Σ w_i x_i, of those x_i whose w_i is not 0: others may be NaN.
func Combine(w []float64, x [][]float64) []float64 {
	sum := make([]float64, len(x[0]))
	for i, v := range x {
		if w[i] != 0 {
			for a, v := range v {
				sum[a] += w[i] * v
			}
		}
	}
	return sum
}

// Finite says whether all numbers are finite.
func Finite(x ...float64) bool {
	_, bad := NotFinite(x)
	return !bad
}

// NotFinite returns the index of the first number that is NaN or infinite, and whether there is one.
func NotFinite(x []float64) (int, bool) {
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return i, true
		}
	}
	return 0, false
}
