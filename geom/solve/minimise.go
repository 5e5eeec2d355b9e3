package solve

import (
	"context"
	"fmt"
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
