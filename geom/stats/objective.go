package stats

import "anatomy/geom"

// Objective is a function of vectors for Minimise.
type Objective struct {
	// Value returns f(x) and its gradient; +Inf where x is out of bounds.
	Value func(x []float64) (f float64, gradient []float64, err error)
	// Precondition applies a symmetric positive definite matrix, close to a multiple of the inverse Hessian.
	Precondition func(gradient []float64) ([]float64, error)
	// FirstStep scales the preconditioner until there are differences of gradients to tell the scale.
	FirstStep float64
}

// Minimum is where Minimise ended.
type Minimum struct {
	X          []float64
	Value      float64
	Gradient   float64 // norm of the preconditioned gradient
	Iterations int
	Status     geom.Status
}

// Minimise minimises an objective from x by the preconditioned limited-memory BFGS method of this package: it shows task while it
// lasts, and an interrupt ends it at the best x so far. It ends where a step promises to lower f by less than tolerance² times f.
//
// It takes Tolerance, in place of the one given, and MaxIterations (500).
func Minimise(task string, tolerance float64, o Objective, x []float64, opts ...Option) (*Minimum, error) {
	r, err := newRun(task, tolerance, opts)
	if err != nil {
		return nil, err
	}
	defer r.end()
	m, err := r.minimise(problem{value: o.Value, precondition: o.Precondition, retract: add, firstStep: o.FirstStep}, x)
	if err != nil {
		return nil, err
	}
	return &Minimum{m.x, m.value, m.gradient, m.iterations, m.status}, nil
}
