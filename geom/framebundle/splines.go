package framebundle

import (
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/internal/dense"
)

// degree is that of the splines by which a search describes controls: the energy that splines on pieces of length h miss is O(h¹²).
const degree = 5

// splines are the functions of time on [0, 1] that are polynomials of degree 5 on pieces of one length, with four continuous
// derivatives, in a basis that is orthonormal for Simpson's rule on n steps: the energy of controls that a step of RK4 sees is half
// the sum of squares of their coefficients.
type splines struct {
	pieces, steps int
	factor        mat.Cholesky // of the inner products of B-splines
	values        *mat.Dense   // of the basis at the times of steer, 0, 1/2n, …, 1, [2n + 1, count]
	one           []float64    // the coefficients of the function 1
}

// newSplines returns the splines on pieces for n steps, of which each piece should have a few.
func newSplines(pieces, steps int) (*splines, error) {
	s := &splines{pieces: pieces, steps: steps}
	values := s.bSplines(steps)
	var gram mat.Dense
	gram.Mul(values.T(), weighted(values))
	if !s.factor.Factorize(dense.Symmetric(&gram)) {
		return nil, fmt.Errorf("splines on %d pieces: %d steps are too few", pieces, steps)
	}
	var err error
	if s.values, err = s.onSteps(steps); err != nil {
		return nil, err
	}
	s.one = make([]float64, s.count())
	for j, w := range simpson(steps) {
		floats.AddScaled(s.one, w, s.values.RawRowView(j))
	}
	return s, nil
}

// count is the number of functions.
func (s *splines) count() int { return s.pieces + degree }

// onSteps returns the values of the basis at the times 0, 1/2n, …, 1 of any n, [2n + 1, count].
func (s *splines) onSteps(n int) (*mat.Dense, error) {
	var lower mat.TriDense
	s.factor.LTo(&lower)
	var out mat.Dense
	if err := out.Solve(&lower, s.bSplines(n).T()); err != nil {
		return nil, fmt.Errorf("splines on %d pieces: %w", s.pieces, err)
	}
	return mat.DenseCopyOf(out.T()), nil
}

// from returns the matrix that takes coefficients of other splines, on as many pieces or half as many, to those of the same function.
func (s *splines) from(other *splines) (*mat.Dense, error) {
	values, err := other.onSteps(s.steps)
	if err != nil {
		return nil, err
	}
	var out mat.Dense
	out.Mul(s.values.T(), weighted(values))
	return &out, nil
}

// weighted returns values at the times of steer times the weights of Simpson's rule.
func weighted(values *mat.Dense) *mat.Dense {
	times, _ := values.Dims()
	out := mat.DenseCopyOf(values)
	for j, w := range simpson(times / 2) {
		floats.Scale(w, out.RawRowView(j))
	}
	return out
}

// bSplines returns the values of the B-splines with knots at the ends of pieces, six at 0 and at 1, by the recursion of Cox and de Boor
// (C. de Boor, A Practical Guide to Splines, 2001, chapter 10), at the times 0, 1/2n, …, 1.
func (s *splines) bSplines(n int) *mat.Dense {
	out := mat.NewDense(2*n+1, s.count(), nil)
	knot := func(i int) float64 { return float64(max(0, min(s.pieces, i-degree))) }
	for j := range 2*n + 1 {
		t := float64(j*s.pieces) / float64(2*n)
		piece := min(int(t), s.pieces-1)
		b := [degree + 1]float64{1} // of degree d, those of numbers piece + 5 − d … piece + 5
		for d := 1; d <= degree; d++ {
			saved := 0.0
			for r := range d {
				left, right := knot(piece+degree+1+r-d), knot(piece+degree+1+r)
				share := b[r] / (right - left)
				b[r] = saved + (right-t)*share
				saved = (t - left) * share
			}
			b[d] = saved
		}
		for d, v := range b {
			out.Set(j, piece+d, v)
		}
	}
	return out
}
