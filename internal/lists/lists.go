// Package lists has what packages ask of lists of numbers and of points.
package lists

import "math"

// Pick returns x_i for some i, nil of nil.
func Pick[T any](x []T, which []int) []T {
	if x == nil {
		return nil
	}
	return Each(which, func(i int) T { return x[i] })
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

// Make returns f(0), …, f(n − 1).
func Make[T any](n int, f func(i int) T) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

// Each returns f of every value, nil of nil.
func Each[A, B any](x []A, f func(A) B) []B {
	if x == nil {
		return nil
	}
	return Make(len(x), func(i int) B { return f(x[i]) })
}

// Range returns 0, …, n − 1.
func Range(n int) []int { return Make(n, func(i int) int { return i }) }

// Zeros returns rows of so many zeros.
func Zeros(rows, columns int) [][]float64 {
	return Make(rows, func(int) []float64 { return make([]float64, columns) })
}
