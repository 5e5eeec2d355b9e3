package solve

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Objective is a function f to be minimised over vectors.
type Objective struct {
	// Value returns f(x) and its gradient; +Inf where x is out of bounds.
	Value func(x []float64) (f float64, gradient []float64, err error)
	// Precondition applies a symmetric positive definite matrix, close to a multiple of the inverse Hessian; nil is 1.
	Precondition func(gradient []float64) ([]float64, error)
	// FirstStep is that multiple, until there are differences of gradients that tell it.
	FirstStep float64
	// Retract returns the point to which a step d leads from x; nil is x + d. An error says that it is out of bounds.
	Retract func(x, d []float64) ([]float64, error)
	// Renew, if there is one, is called with the present point every 25 iterations: it may change the preconditioner.
	Renew func(x []float64) error
	// Done, if there is one, says by the gradient at the present point whether the search ends, in place of the tolerance.
	Done func(gradient []float64) (bool, error)
	// Scale is a large value of f, by which the end is told where f goes to zero; 0 for its value at the start.
	Scale float64
	// Report, if there is one, is told before every iteration where it stands.
	Report func(iteration int, f, gradient float64)
}

// Minimum is where Minimise ended.
type Minimum struct {
	X          []float64
	Value      float64
	Gradient   float64 // norm of the gradient by the inverse Hessian as it is known: √(gᵀH g)
	Iterations int
	Status     Status
}

// Minimise is the limited-memory BFGS method (J. Nocedal and S. J. Wright, Numerical Optimization, 2006, algorithm 7.4)
// with a preconditioner and a backtracking line search. It ends when a step promises to lower f by less than tolerance²
// times f, or where f goes to zero, of a millionth of its scale.
func Minimise(ctx context.Context, o Objective, x []float64, tolerance float64, maxIterations int) (*Minimum, error) {
	const remembered = 30
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
	m := &Minimum{Status: MaxIterations}
	// rescaled is what the preconditioner must be multiplied with to suit the last difference of gradients.
	rescaled := func() error {
		last := pairs[len(pairs)-1]
		hy, err := o.Precondition(last.y)
		if err != nil {
			return err
		}
		if yhy := floats.Dot(last.y, hy); yhy > 0 {
			scale = 1 / (last.rho * yhy)
		}
		return nil
	}
	for m.Iterations = 0; m.Iterations < maxIterations; m.Iterations++ {
		if o.Renew != nil && m.Iterations%25 == 24 {
			if err := o.Renew(x); err != nil {
				return nil, err
			}
			if len(pairs) > 0 {
				if err := rescaled(); err != nil {
					return nil, err
				}
			}
		}
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
		m.Gradient = math.Sqrt(math.Max(0, -slope))
		done := -slope <= tolerance*tolerance*(f+least)
		if o.Done != nil {
			if done, err = o.Done(g); err != nil {
				return nil, err
			}
		}
		if done {
			m.Status = Converged
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
		for ; t > 1e-8; t /= 2 {
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
			pairs, scale = nil, o.FirstStep // the memory misleads
			continue
		}
		s := floats.ScaleTo(make([]float64, len(d)), t, d)
		y := floats.SubTo(make([]float64, len(g)), gNext, g)
		if sy := floats.Dot(s, y); sy > 0 {
			if pairs = append(pairs, pair{s, y, 1 / sy}); len(pairs) > remembered {
				pairs = pairs[1:]
			}
			if err := rescaled(); err != nil {
				return nil, err
			}
		}
		x, f, g = next, fNext, gNext
	}
	m.X, m.Value = x, f
	return m, nil
}
