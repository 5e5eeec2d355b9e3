package solve

import (
	"cmp"
	"context"
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
)

// LBFGS searches for the minimum of a function by the limited-memory BFGS method (J. Nocedal and S. J. Wright, Numerical Optimization,
// 2006, algorithm 7.4) with a preconditioner P and a backtracking line search. Evaluate the function at X and call Learn with the value
// and the gradient, until it is Done. Where no step along −H g leads down, it takes P for H again, and stalls if P leads nowhere either.
//
// LBFGS{X: x} starts a search at x. The fields are the whole state, and Learn changes no slice that it has made: a copy of the struct,
// or what encoding/json reads back, continues bit for bit.
type LBFGS struct {
	X          []float64   // where value and gradient are wanted next; Best, when it is Done
	Best       []float64   `json:",omitempty"` // the point that the steps set out from; nil before the first value
	Value      float64     // at Best
	Gradient   []float64   `json:",omitempty"` // at Best
	Direction  []float64   `json:",omitempty"` // d = −H g
	Slope      float64     // ⟨g, d⟩
	Part       float64     // the part of d that X tries
	Pairs      []LBFGSPair `json:",omitempty"` // the steps that are remembered
	Factor     float64     // of P in H
	Least      float64     // 1e-6 Scale of the objective
	Decrement  float64     // √|gᵀ H g| at Best, or what replaces it: see Minimum.Gradient
	Iterations int         // see Minimum
	Values     int         // how many values it has learned
	At         int         // which of these, from 0, is the value at Best
	Done       bool
	Status     Status // how it ended, if Done
}

// Err returns nil if the search is Done and has converged, and otherwise an error.
func (s *LBFGS) Err() error {
	if !NotNil(s).Done {
		return errors.New("minimum: the search has not ended")
	}
	return s.minimum().Err()
}

func (s *LBFGS) minimum() *Minimum {
	return &Minimum{X: s.Best, Value: s.Value, Gradient: s.Decrement, Iterations: s.Iterations, Status: s.Status}
}

// LBFGSPair is a step S with the change Y of the gradient along it, and 1/⟨S, Y⟩.
type LBFGSPair struct {
	S, Y []float64
	Rho  float64
}

// Learn takes value and gradient at X. The objective's Value is not used. The limits are those of Minimise, which describes the test of
// convergence; an error is one of Precondition or Residual.
func (s *LBFGS) Learn(ctx context.Context, o Objective, value float64, gradient []float64, limits Limits) error {
	if NotNil(s).Done {
		return nil
	}
	if o.Precondition == nil {
		o.Precondition = func(g []float64) ([]float64, error) { return append([]float64{}, g...), nil }
	}
	moved := s.Best == nil || s.descends(value, gradient)
	switch {
	case s.Best == nil:
		s.Factor, s.Least = o.FirstStep, 1e-6*cmp.Or(o.Scale, value)
	case moved:
		if err := s.remember(o, gradient); err != nil {
			return err
		}
		s.Iterations++
	default:
		s.Part /= 2
	}
	if moved {
		s.Best, s.Value, s.Gradient, s.At = s.X, value, gradient, s.Values
	}
	s.Values++
	for moved || !s.try(ctx, o) {
		if !moved {
			if ctx.Err() != nil {
				s.end(Cancelled)
				return nil
			}
			if len(s.Pairs) == 0 {
				s.end(Stalled)
				return nil
			}
			s.Pairs, s.Factor = nil, o.FirstStep // start again without memory
			s.Iterations++
		}
		moved = false
		converged, err := s.direct(o, limits.Tolerance)
		if err != nil {
			return err
		}
		if converged {
			s.end(Converged)
			return nil
		}
		if s.Iterations >= limits.MaxIterations { // the last point is tested too
			s.end(IterationLimit)
			return nil
		}
		if o.Report != nil {
			enough := limits.Tolerance
			if o.Residual == nil {
				enough *= math.Sqrt(math.Max(0, s.Value+s.Least))
			}
			o.Report(s.Iterations, s.Value, s.Decrement, enough)
		}
	}
	return nil
}

func (s *LBFGS) end(status Status) { s.X, s.Done, s.Status = s.Best, true, status }

// descends reports whether the step to X goes down far enough.
func (s *LBFGS) descends(value float64, gradient []float64) bool {
	if value <= s.Value+1e-4*s.Part*s.Slope {
		return true
	}
	if !(value <= s.Value+1e-9*(s.Value+s.Least)) {
		return false
	}
	// Where rounding hides the decrease, the slope along the step tells (Hager and Zhang, SIAM J. Optim. 16, 2005).
	after := floats.Dot(gradient, s.Direction)
	return 0.9*s.Slope <= after && after <= -0.9*s.Slope
}

// remember learns from the step to X and the gradient there.
func (s *LBFGS) remember(o Objective, gradient []float64) error {
	step := floats.ScaleTo(make([]float64, len(s.Direction)), s.Part, s.Direction)
	y := floats.SubTo(make([]float64, len(gradient)), gradient, s.Gradient)
	sy := floats.Dot(step, y)
	if !(sy > 0) {
		return nil
	}
	first := max(0, len(s.Pairs)+1-cmp.Or(o.Memory, 30))
	pair := LBFGSPair{step, y, 1 / sy}
	s.Pairs = append(s.Pairs[first:len(s.Pairs):len(s.Pairs)], pair)
	// The factor of the preconditioner is that which agrees best with the last difference of gradients.
	py, err := o.Precondition(y)
	if err != nil {
		return err
	}
	if ypy := floats.Dot(y, py); ypy > 0 {
		s.Factor = 1 / (pair.Rho * ypy)
	}
	return nil
}

// direct sets the direction −H g from Best by the two loops, and reports whether Best meets the tolerance.
func (s *LBFGS) direct(o Objective, tolerance float64) (converged bool, err error) {
	q := append([]float64{}, s.Gradient...)
	alpha := make([]float64, len(s.Pairs))
	for k := len(s.Pairs) - 1; k >= 0; k-- {
		alpha[k] = s.Pairs[k].Rho * floats.Dot(s.Pairs[k].S, q)
		floats.AddScaled(q, -alpha[k], s.Pairs[k].Y)
	}
	d, err := o.Precondition(q)
	if err != nil {
		return false, err
	}
	floats.Scale(-s.Factor, d)
	for k, c := range s.Pairs {
		floats.AddScaled(d, -alpha[k]-c.Rho*floats.Dot(c.Y, d), c.S)
	}
	s.Direction, s.Slope, s.Part = d, floats.Dot(s.Gradient, d), 1
	if o.Residual != nil {
		s.Decrement, err = o.Residual(s.Best)
		return s.Decrement <= tolerance, err
	}
	gain := math.Abs(s.Slope)
	if o.Soft != nil {
		gain = math.Max(gain, o.Soft(s.Gradient))
	}
	s.Decrement = math.Sqrt(gain)
	return gain <= tolerance*tolerance*(s.Value+s.Least), nil
}

// try sets X to the next point of the line search, and reports whether there is one.
func (s *LBFGS) try(ctx context.Context, o Objective) bool {
	for ; s.Slope <= 0 && s.Part > 1e-8 && ctx.Err() == nil; s.Part /= 2 { // uphill, H is not positive definite
		step := floats.ScaleTo(make([]float64, len(s.Direction)), s.Part, s.Direction)
		if o.Retract == nil {
			s.X = floats.AddTo(step, s.Best, step)
			return true
		}
		x, err := o.Retract(s.Best, step)
		if err == nil { // else out of bounds
			s.X = x
			return true
		}
	}
	return false
}
