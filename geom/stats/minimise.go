package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
)

// problem is a function to be minimised over vectors.
type problem struct {
	// value returns f(x) and its gradient; +Inf where x is out of bounds.
	value func(x []float64) (f float64, gradient []float64, err error)
	// precondition applies a symmetric positive definite matrix, close to a multiple of the inverse Hessian.
	precondition func(gradient []float64) ([]float64, error)
	// renew, if there is one, is called with the present point every 25 iterations: it may change the preconditioner.
	renew func(x []float64) error
	// retract returns the point to which a step d leads from x.
	retract func(x, d []float64) ([]float64, error)
	// scale is a large value of f, by which the end is told where f goes to zero; 0 for its value at the start.
	scale float64
	// firstStep scales the preconditioner until there are differences of gradients to tell the scale.
	firstStep float64
}

// minimum is where an iteration ended.
type minimum struct {
	x          []float64
	value      float64
	gradient   float64 // norm of the preconditioned gradient
	iterations int
	status     geom.Status
}

// minimise is the limited-memory BFGS method (Nocedal and Wright, Numerical Optimization, 2006, algorithm 7.4) with a
// preconditioner and a backtracking line search. It ends when a step promises to lower f by less than tolerance² times
// f, or where f goes to zero, of a millionth of its scale.
func (r *run) minimise(p problem, x []float64) (*minimum, error) {
	const memory = 30
	type pair struct {
		s, y []float64
		rho  float64 // 1/⟨s, y⟩
	}
	var pairs []pair
	scale := p.firstStep
	f, g, err := p.value(x)
	if err != nil {
		return nil, err
	}
	least := 1e-6 * p.scale
	if p.scale == 0 {
		least = 1e-6 * f
	}
	m := &minimum{status: geom.MaxIterations}
	// rescaled is what the preconditioner must be multiplied with to suit the last difference of gradients.
	rescaled := func() error {
		last := pairs[len(pairs)-1]
		hy, err := p.precondition(last.y)
		if err != nil {
			return err
		}
		if yhy := floats.Dot(last.y, hy); yhy > 0 {
			scale = 1 / (last.rho * yhy)
		}
		return nil
	}
	for m.iterations = 0; m.iterations < r.maxIterations; m.iterations++ {
		if p.renew != nil && m.iterations%25 == 24 {
			if err := p.renew(x); err != nil {
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
		d, err := p.precondition(q)
		if err != nil {
			return nil, err
		}
		floats.Scale(-scale, d)
		for k, c := range pairs {
			floats.AddScaled(d, -alpha[k]-c.rho*floats.Dot(c.y, d), c.s)
		}
		slope := floats.Dot(g, d)
		m.gradient = math.Sqrt(math.Max(0, -slope))
		if -slope <= r.tolerance*r.tolerance*(f+least) {
			m.status = geom.Converged
			break
		}
		if r.report(m.iterations, f, m.gradient) {
			m.status = geom.Cancelled
			break
		}
		t, found := 1.0, false
		var next, gNext []float64
		var fNext float64
		for ; t > 1e-8; t /= 2 {
			step := floats.ScaleTo(make([]float64, len(d)), t, d)
			if next, err = p.retract(x, step); err != nil {
				continue // out of bounds
			}
			if fNext, gNext, err = p.value(next); err != nil {
				return nil, err
			}
			// Where rounding hides the decrease, the slope along the step tells (Hager and Zhang, SIAM J. Optim. 16, 2005).
			found = fNext <= f+1e-4*t*slope
			if !found && fNext <= f+1e-9*(f+least) {
				after := floats.Dot(gNext, d)
				found = 0.9*slope <= after && after <= -0.9*slope
			}
			if found || r.ctx.Err() != nil {
				break
			}
		}
		if !found {
			if r.ctx.Err() != nil {
				m.status = geom.Cancelled
				break
			}
			if len(pairs) == 0 {
				m.status = geom.Stalled
				break
			}
			pairs, scale = nil, p.firstStep // the memory misleads
			continue
		}
		s := floats.ScaleTo(make([]float64, len(d)), t, d)
		y := floats.SubTo(make([]float64, len(g)), gNext, g)
		if sy := floats.Dot(s, y); sy > 0 {
			if pairs = append(pairs, pair{s, y, 1 / sy}); len(pairs) > memory {
				pairs = pairs[1:]
			}
			if err := rescaled(); err != nil {
				return nil, err
			}
		}
		x, f, g = next, fNext, gNext
	}
	m.x, m.value = x, f
	return m, nil
}
