// Package lists has what packages ask of lists of numbers and of points.
package lists

import (
	"math"
	"slices"
)

// Pick returns x_i for some i, nil of nil.
func Pick[S ~[]T, T any](x S, which []int) S {
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

// Mean returns the mean of rows.
func Mean(x [][]float64) []float64 {
	return Combine(slices.Repeat([]float64{1 / float64(len(x))}, len(x)), x)
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

// Filter returns the values of which something holds, nil if there are none.
func Filter[S ~[]T, T any](x S, holds func(T) bool) (out S) {
	for _, v := range x {
		if holds(v) {
			out = append(out, v)
		}
	}
	return out
}

// Distinct returns each value once, in the order in which they come first, nil if there are none.
func Distinct[S ~[]T, T comparable](x S) S {
	seen := map[T]bool{}
	return Filter(x, func(v T) bool {
		before := seen[v]
		seen[v] = true
		return !before
	})
}

// Range returns 0, …, n − 1.
func Range(n int) []int { return Make(n, func(i int) int { return i }) }

// Zeros returns rows of so many zeros.
func Zeros(rows, columns int) [][]float64 {
	return Make(rows, func(int) []float64 { return make([]float64, columns) })
}

// Identity returns the rows of the unit matrix.
func Identity(n int) [][]float64 {
	out := Zeros(n, n)
	for i := range out {
		out[i][i] = 1
	}
	return out
}

// Fold joins f(0), …, f(n − 1), from the first on; the zero value of none.
func Fold[T any](n int, join func(a, b T) T, f func(i int) T) (all T) {
	for i := range n {
		if v := f(i); i == 0 {
			all = v
		} else {
			all = join(all, v)
		}
	}
	return all
}

// Sum returns f(0) + … + f(n − 1).
func Sum(n int, f func(i int) float64) (sum float64) {
	for i := range n {
		sum += f(i)
	}
	return sum
}

// Product returns the product of the numbers, 1 of none.
func Product(numbers ...int) int {
	n := 1
	for _, v := range numbers {
		n *= v
	}
	return n
}
