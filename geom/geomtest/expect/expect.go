// Package expect compares what a test got with what it wants. Every comparison fails the test without ending it, and names
// what was compared, both numbers, their difference and the tolerance. A number that is none (NaN) agrees with nothing.
package expect

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom/shape"
)

// Numbers are a number, a vector or the rows of a matrix.
type Numbers interface {
	float64 | []float64 | ~[][]float64
}

// test is a *testing.T or a *rapid.T.
type test interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
}

// Abs wants |got − want| ≤ tolerance of every number.
func Abs[N Numbers](t test, what string, got, want N, tolerance float64) {
	t.Helper()
	if d, ok := compare(t, what, got, want); ok && !(d.off <= tolerance) {
		t.Errorf("%s: got %.15g, want %.15g, off by %.2g, tolerance %.2g", d.what, d.got, d.want, d.off, tolerance)
	}
}

// Rel wants the largest |got − want| of all numbers to be at most tolerance times the largest |want| of all numbers.
// Where all wanted numbers are 0, only 0 will do.
func Rel[N Numbers](t test, what string, got, want N, tolerance float64) {
	t.Helper()
	if d, ok := compare(t, what, got, want); ok && !(d.off <= tolerance*d.size) {
		t.Errorf("%s: got %.15g, want %.15g, off by %.2g, which is %.2g of the largest number wanted, tolerance %.2g of it",
			d.what, d.got, d.want, d.off, d.off/d.size, tolerance)
	}
}

// difference is the largest one between numbers, with its place, and size the largest |want|.
type difference struct {
	what      string
	got, want float64
	off, size float64
}

// compare fails where the numbers of two arguments are not arranged alike.
func compare(t test, what string, got, want any) (worst difference, ok bool) {
	t.Helper()
	switch want := want.(type) {
	case float64:
		got := got.(float64)
		return difference{what, got, want, math.Abs(got - want), math.Abs(want)}, true
	case []float64:
		return fold(t, what, got.([]float64), want)
	case shape.Shape:
		return fold(t, what, got.(shape.Shape), want)
	default:
		return fold(t, what, got.([][]float64), want.([][]float64))
	}
}

func fold[E any](t test, what string, got, want []E) (worst difference, ok bool) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got length %d, want %d", what, len(got), len(want))
		return worst, false
	}
	for i := range want {
		d, ok := compare(t, fmt.Sprintf("%s[%d]", what, i), got[i], want[i])
		if !ok {
			return worst, false
		}
		d.size = math.Max(d.size, worst.size)
		if worst.size = d.size; i == 0 || !(d.off <= worst.off) && !math.IsNaN(worst.off) {
			worst = d
		}
	}
	return worst, true
}

// Estimate wants a random number, whose standard error is known, to be at most 3 of these from its expectation.
func Estimate(t test, what string, got, standardError, want float64) {
	t.Helper()
	t.Logf("%s: %.5f ± %.5f, want %.5f", what, got, standardError, want)
	if off := math.Abs(got - want); !(off <= 3*standardError) {
		t.Errorf("%s: got %.5f, want %.5f, off by %.2g, which is %.1f standard errors, tolerance 3", what, got, want, off, off/standardError)
	}
}

// Mean is Estimate of an expectation by the mean of independent samples, whose standard error is s/√n for their standard
// deviation s.
func Mean(t test, what string, samples []float64, want float64) {
	t.Helper()
	mean, deviation := stat.MeanStdDev(samples, nil)
	Estimate(t, what, mean, stat.StdErr(deviation, float64(len(samples))), want)
}

// Distribution wants independent samples to be distributed as a cumulative distribution function says: Kolmogorov and Smirnov's
// distance is at most 1.63/√n, which has probability 1 %.
func Distribution(t test, what string, samples []float64, cumulative func(x float64) float64) {
	t.Helper()
	n, worst := float64(len(samples)), 0.0
	for k, x := range slices.Sorted(slices.Values(samples)) {
		f := cumulative(x)
		for _, d := range []float64{f - float64(k)/n, f - float64(k+1)/n} {
			worst = math.Max(worst, math.Abs(d))
		}
	}
	t.Logf("%s: Kolmogorov-Smirnov %.3f/√n", what, worst*math.Sqrt(n))
	if !(worst <= 1.63/math.Sqrt(n)) {
		t.Errorf("%s: the distribution is off by %.2g, tolerance %.2g", what, worst, 1.63/math.Sqrt(n))
	}
}

// Refused wants an error that says all of the words, and nothing twice in a row.
func Refused(t test, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("no error, want one that says %q", words)
		return
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q, want one that says %q", err, w)
		}
	}
	said := strings.Split(err.Error(), ": ")
	for k, part := range said[1:] {
		if part != "" && part == said[k] {
			t.Errorf("error %q says %q twice", err, part)
		}
	}
}

// Error is the error of a call that returns a value, too: Refused(t, Error(f()), "words").
func Error[T any](_ T, err error) error { return err }

// Must is the value of a call that returns no error. It panics with an error: what comes after could not be tested.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
