package solve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Objective is a function f ≥ 0 to be minimised over vectors.
type Objective struct {
	// Value returns f(x) and its gradient, of the length of x. It returns +Inf where x is out of bounds, but not at the start.
	Value func(x []float64) (f float64, gradient []float64, err error)
	// Precondition applies a symmetric positive definite matrix P, with FirstStep·P close to the inverse Hessian; nil is the
	// identity.
	Precondition func(gradient []float64) ([]float64, error)
	// FirstStep is the factor of P in the first step. Later steps take it from differences of gradients.
	FirstStep float64
	// Retract returns the point to which a step d leads from x; nil is x + d. An error means that the point is out of bounds.
	Retract func(x, d []float64) ([]float64, error)
	// Memory is how many steps the approximation of the Hessian remembers; 0 stands for 30.
	Memory int
	// Scale is a typical large value of f, used by the test of convergence where f itself goes to zero; 0 stands for f at the
	// start.
	Scale float64
	// Soft, if not nil, returns gᵀ S g for a gradient g, where S is like the inverse Hessian in directions in which f bends so little
	// that P is far below it. The test of convergence takes it where it is more than gᵀ H g.
	Soft func(gradient []float64) float64
	// Residual, if not nil, returns by how much x misses an equation of the minimum, in a unit of the caller's: Minimise has
	// converged when this is at most the tolerance, in place of its own test.
	Residual func(x []float64) (float64, error)
	// Report, if not nil, is called at every iteration with the value of f, the norm of the gradient, as in Minimum, and the norm at which
	// the search has converged.
	Report func(iteration int, f, gradient, tolerance float64)
	// Keep, if not nil, is called with the state of the search before each value and at the end. It may write the state to a file, and in the
	// first call set it to one that it wrote before: the search goes on from there, bit for bit.
	Keep func(s *LBFGS) error
}

// Minimum is the point where Minimise ended.
type Minimum struct {
	X     []float64
	Value float64
	// Gradient is √|gᵀ H g|, with the gradient g and the current approximation H of the inverse Hessian, or √(gᵀ S g) of Soft if that is
	// more; or the Residual.
	Gradient   float64
	Iterations int
	Status     Status
}

// Err returns nil if Status is Converged, and otherwise an error.
func (m *Minimum) Err() error {
	return NotNil(m).Status.Err(fmt.Sprintf("minimum %.6g after %d iterations, gradient %.2g", m.Value, m.Iterations, m.Gradient))
}

// Minimise minimises an objective from x by the method of LBFGS. It has converged when
//
//	|gᵀ H g| ≤ tolerance² (f + 1e-6 Scale),
//
// with the gradient g and the approximation H of the inverse Hessian, which rounding may make indefinite: then the next step is expected
// to lower f by less than about tolerance²·f. An objective's Residual replaces this test. If it stalls, reaches maxIterations or ctx
// ends, it returns the best point so far, and no error; an error is one of Value, Precondition, Residual or Keep.
func Minimise(ctx context.Context, o Objective, x []float64, tolerance float64, maxIterations int) (*Minimum, error) {
	s := &LBFGS{X: x}
	for {
		if o.Keep != nil {
			if err := o.Keep(s); err != nil {
				return nil, err
			}
		}
		if s.Done {
			return s.minimum(), nil
		}
		f, g, err := o.Value(s.X)
		if err != nil {
			return nil, err
		}
		if err := s.Learn(ctx, o, f, g, Limits{tolerance, maxIterations}); err != nil {
			return nil, err
		}
	}
}

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

// BFGS searches for the minimum of a function of few variables by the BFGS method with the whole Hessian (J. Nocedal and
// S. J. Wright, Numerical Optimization, 2006, chapter 6). Evaluate the function at X and call Learn with the value and the
// gradient, until it is Done: many searches share the calls that do so.
type BFGS struct {
	X       []float64     // where value and gradient are wanted next; Best, when it is Done
	Best    []float64     // the point with the least value
	Value   float64       // at Best
	Hessian *mat.SymDense // as it is known
	Excess  float64       // ½ gᵀ H⁻¹ g: by how much Value is more than the minimum, as far as the Hessian is known; +Inf if nothing is known
	Longest float64       // the length of a step at most; 0 for any
	Done    bool

	gradient, step []float64 // at Best; nil before the first value
	slope, alpha   float64   // along the step, and the part of it that is tried
}

// NewBFGS starts a search at x with a Hessian, which must be positive definite.
func NewBFGS(x []float64, hessian *mat.SymDense) *BFGS {
	return &BFGS{X: x, Best: x, Hessian: hessian, Excess: math.Inf(1)}
}

// Restart goes on at the best point with another function. What is known of the Hessian stays.
func (m *BFGS) Restart() { m.X, m.gradient, m.Excess, m.Done = m.Best, nil, math.Inf(1), false }

// Stop ends the search at the best point.
func (m *BFGS) Stop() { m.X, m.Done = m.Best, true }

// Learn takes value and gradient at X. The search is done where Excess is at most the tolerance, or where no step leads down. It is
// done with the Excess +Inf where it starts if the value or the gradient is not finite there, and where the Hessian is not positive
// definite. Learn returns whether X is better than Best was, and takes its place.
func (m *BFGS) Learn(value float64, gradient []float64, tolerance float64) (better bool) {
	if m.Done {
		return false
	}
	size := math.Abs(value) + floats.Norm(gradient, 1)
	finite := !math.IsNaN(size) && !math.IsInf(size, 1)
	if m.gradient == nil && !finite {
		m.Value = value
		m.Stop()
		return false
	}
	if m.gradient != nil {
		const rounding = 1e-13
		if !finite || value > m.Value+1e-4*m.alpha*m.slope+rounding*math.Abs(m.Value) {
			if m.alpha /= 4; m.alpha < 1e-6 {
				m.Stop()
				return false
			}
			m.X = floats.AddScaledTo(make([]float64, len(m.Best)), m.Best, m.alpha, m.step)
			return false
		}
		m.update(gradient)
	}
	m.Best, m.Value, m.gradient, m.Excess = m.X, value, gradient, math.Inf(1)
	var factor mat.Cholesky
	var step mat.VecDense
	if !factor.Factorize(m.Hessian) || factor.SolveVecTo(&step, mat.NewVecDense(len(gradient), gradient)) != nil {
		m.Stop()
		return true
	}
	m.step = floats.ScaleTo(make([]float64, len(gradient)), -1, step.RawVector().Data)
	m.slope, m.alpha = floats.Dot(m.step, gradient), 1
	m.Excess = -m.slope / 2
	if size := floats.Norm(m.step, 2); m.Longest > 0 && size > m.Longest {
		m.alpha = m.Longest / size
	}
	if m.Done = m.Excess <= tolerance; !m.Done {
		m.X = floats.AddScaledTo(make([]float64, len(m.Best)), m.Best, m.alpha, m.step)
	}
	return true
}

// update changes the Hessian so that it takes the last step to the change of the gradient, damped after Powell where it would
// not stay positive.
func (m *BFGS) update(gradient []float64) {
	s := mat.NewVecDense(len(m.X), floats.SubTo(make([]float64, len(m.X)), m.X, m.Best))
	y := mat.NewVecDense(len(m.X), floats.SubTo(make([]float64, len(m.X)), gradient, m.gradient))
	var hs mat.VecDense
	hs.MulVec(m.Hessian, s)
	shs, sy := mat.Dot(s, &hs), mat.Dot(s, y)
	if sy < 0.2*shs {
		theta := 0.8 * shs / (shs - sy)
		y.ScaleVec(theta, y)
		y.AddScaledVec(y, 1-theta, &hs)
		sy = 0.2 * shs
	}
	if shs > 0 {
		m.Hessian.SymRankOne(m.Hessian, -1/shs, &hs)
		m.Hessian.SymRankOne(m.Hessian, 1/sy, y)
	}
}
