package geomtest

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// Near compares numbers to a tolerance relative to the larger of 1 and the wanted one.
func Near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*max(1, math.Abs(want))) {
		t.Errorf("%s: %.15g, want %.15g to %.1g", what, got, want, tolerance)
	}
}

// NearVector is Near of vectors and their distance.
func NearVector(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if d := floats.Distance(got, want, 2); !(d <= tolerance*max(1, floats.Norm(want, 2))) {
		t.Errorf("%s: %.12g, want %.12g, %.2g off", what, got, want, d)
	}
}

// Refused expects an error with a word in it.
func Refused(t *testing.T, what string, err error, word string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), word) {
		t.Errorf("%s: error %v, want one that says %q", what, err, word)
	}
}
