package solve

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
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
	// Report, if not nil, is called at every iteration with the value of f and the norm of the gradient, as in Minimum.
	Report func(iteration int, f, gradient float64)
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

// Minimise minimises an objective from x by the limited-memory BFGS method (J. Nocedal and S. J. Wright, Numerical Optimization,
// 2006, algorithm 7.4) with a preconditioner and a backtracking line search. It has converged when
//
//	|gᵀ H g| ≤ tolerance² (f + 1e-6 Scale),
//
// with the gradient g and the approximation H of the inverse Hessian, which rounding may make indefinite: then the next step is expected
// to lower f by less than about tolerance²·f. An objective's Residual replaces this test. Where no step along −H g leads down, it takes
// P for H again, and stalls if P leads nowhere either. If it stalls, reaches maxIterations or ctx ends, it returns the best point so
// far, and no error; an error is one of Value, Precondition or Residual.
func Minimise(ctx context.Context, o Objective, x []float64, tolerance float64, maxIterations int) (*Minimum, error) {
	if o.Memory == 0 {
		o.Memory = 30
	}
	type pair struct {
		s, y []float64
		rho  float64 // 1/⟨s, y⟩
	}
	if o.Precondition == nil {
		o.Precondition = func(g []float64) ([]float64, error) { return append([]float64{}, g...), nil }
	}
	if o.Retract == nil {
		o.Retract = func(x, d []float64) ([]float64, error) { return floats.AddTo(make([]float64, len(x)), x, d), nil }
	}
	var pairs []pair
	scale := o.FirstStep
	f, g, err := o.Value(x)
	if err != nil {
		return nil, err
	}
	least := 1e-6 * o.Scale
	if o.Scale == 0 {
		least = 1e-6 * f
	}
	m := &Minimum{Status: IterationLimit}
	for ; ; m.Iterations++ { // the last point is tested too
		// d = −H g by the two loops.
		q := append([]float64{}, g...)
		alpha := make([]float64, len(pairs))
		for k := len(pairs) - 1; k >= 0; k-- {
			alpha[k] = pairs[k].rho * floats.Dot(pairs[k].s, q)
			floats.AddScaled(q, -alpha[k], pairs[k].y)
		}
		d, err := o.Precondition(q)
		if err != nil {
			return nil, err
		}
		floats.Scale(-scale, d)
		for k, c := range pairs {
			floats.AddScaled(d, -alpha[k]-c.rho*floats.Dot(c.y, d), c.s)
		}
		slope := floats.Dot(g, d)
		gain := math.Abs(slope)
		if o.Soft != nil {
			gain = math.Max(gain, o.Soft(g))
		}
		m.Gradient = math.Sqrt(gain)
		converged := gain <= tolerance*tolerance*(f+least)
		if o.Residual != nil {
			if m.Gradient, err = o.Residual(x); err != nil {
				return nil, err
			}
			converged = m.Gradient <= tolerance
		}
		if converged {
			m.Status = Converged
			break
		}
		if m.Iterations >= maxIterations {
			break
		}
		if o.Report != nil {
			o.Report(m.Iterations, f, m.Gradient)
		}
		if ctx.Err() != nil {
			m.Status = Cancelled
			break
		}
		t, found := 1.0, false
		var next, gNext []float64
		var fNext float64
		for ; slope <= 0 && t > 1e-8; t /= 2 { // uphill, H is not positive definite
			step := floats.ScaleTo(make([]float64, len(d)), t, d)
			if next, err = o.Retract(x, step); err != nil {
				continue // out of bounds
			}
			if fNext, gNext, err = o.Value(next); err != nil {
				return nil, err
			}
			// Where rounding hides the decrease, the slope along the step tells (Hager and Zhang, SIAM J. Optim. 16, 2005).
			found = fNext <= f+1e-4*t*slope
			if !found && fNext <= f+1e-9*(f+least) {
				after := floats.Dot(gNext, d)
				found = 0.9*slope <= after && after <= -0.9*slope
			}
			if found || ctx.Err() != nil {
				break
			}
		}
		if !found {
			if ctx.Err() != nil {
				m.Status = Cancelled
				break
			}
			if len(pairs) == 0 {
				m.Status = Stalled
				break
			}
			pairs, scale = nil, o.FirstStep // start again without memory
			continue
		}
		s := floats.ScaleTo(make([]float64, len(d)), t, d)
		y := floats.SubTo(make([]float64, len(g)), gNext, g)
		if sy := floats.Dot(s, y); sy > 0 {
			if pairs = append(pairs, pair{s, y, 1 / sy}); len(pairs) > o.Memory {
				pairs = pairs[1:]
			}
			// The factor of the preconditioner is that which agrees best with the last difference of gradients.
			hy, err := o.Precondition(y)
			if err != nil {
				return nil, err
			}
			if yhy := floats.Dot(y, hy); yhy > 0 {
				scale = 1 / (pairs[len(pairs)-1].rho * yhy)
			}
		}
		x, f, g = next, fNext, gNext
	}
	m.X, m.Value = x, f
	return m, nil
}
