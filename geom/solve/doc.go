// Package solve finds roots and minima for functions that are dear to evaluate: flows on a graph, many of them in one
// call. It works on the host, on vectors of numbers.
//
//   - System is many independent systems of equations F_b(x_b) = 0 that are evaluated together. Broyden's method takes no
//     derivatives, Newton's method with GMRES takes them along directions.
//   - FixedPoint is one system, searched for by Anderson's method, that gives its next point out and takes the value in:
//     for searches whose equations change on the way, or are evaluated with those of others.
//   - Minimise is the limited-memory BFGS method with a preconditioner.
//   - BFGS is the same with the whole Hessian, for few variables, that gives its next point out and takes value and gradient in.
//   - Inverse and Anderson are what these remember, for iterations with a line search of their own.
//
// Everything ends at a tolerance, where no step makes progress, at a limit, or when its context ends; Status says which.
package solve

// Status says how an iteration ended.
type Status int

const (
	Converged     Status = iota // the tolerance was met
	Stalled                     // no step made progress any more: the best point found is returned
	MaxIterations               // the limit of iterations was reached
	Cancelled                   // the user stopped it
)

func (s Status) String() string {
	return [...]string{"converged", "stalled", "iteration limit", "cancelled"}[s]
}
