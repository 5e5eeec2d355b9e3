package framebundle

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// SplinesOnSteps returns the values of the search's splines on pieces at the times of n steps.
func SplinesOnSteps(t testing.TB, pieces, n int) *mat.Dense {
	t.Helper()
	return splinesOn(t, pieces, n).values
}

func splinesOn(t testing.TB, pieces, n int) *splines {
	t.Helper()
	s, err := newSplines(pieces, n)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The splines are orthonormal for Simpson's rule, polynomials of degree 5 are among them, and so are splines on pieces twice as long
// and those for other steps.
func TestSplines(t *testing.T) {
	for _, pieces := range []int{2, 4, 8, 64} {
		n := 8 * pieces
		s := splinesOn(t, pieces, n)
		var gram mat.Dense
		gram.Mul(s.values.T(), weighted(s.values))
		for k := range s.count() {
			gram.Set(k, k, gram.At(k, k)-1)
		}
		if off := mat.Norm(&gram, 2); off > 1e-9 {
			t.Errorf("%d pieces: inner products are off by %g", pieces, off)
		}
		power := mat.NewDense(2*n+1, 1, nil)
		for j := range 2*n + 1 {
			power.Set(j, 0, math.Pow(float64(j)/float64(2*n), degree))
		}
		var shares, back mat.Dense
		shares.Mul(weighted(s.values).T(), power)
		back.Mul(s.values, &shares)
		back.Sub(&back, power)
		if off := mat.Norm(&back, 2); off > 1e-9 {
			t.Errorf("%d pieces: t⁵ is missed by %g", pieces, off)
		}
		for _, other := range []*splines{splinesOn(t, pieces/2, n), splinesOn(t, pieces, n/2), splinesOn(t, pieces, 2*n)} {
			from, err := s.from(other)
			if err != nil {
				t.Fatal(err)
			}
			want, err := other.onSteps(n)
			if err != nil {
				t.Fatal(err)
			}
			var same mat.Dense
			same.Mul(s.values, from)
			same.Sub(&same, want)
			if off := mat.Norm(&same, 2) / math.Sqrt(float64(n)); off > 1e-9 {
				t.Errorf("%d pieces: splines on %d pieces for %d steps are missed by %g", pieces, other.pieces, other.steps, off)
			}
		}
	}
}
