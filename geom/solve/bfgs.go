package solve

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

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
