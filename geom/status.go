package geom

import "anatomy/geom/solve"

// Status says how an iteration ended.
type Status = solve.Status

const (
	Converged      = solve.Converged      // the tolerance was met
	Stalled        = solve.Stalled        // no step made progress; the result is the best point found
	IterationLimit = solve.IterationLimit // the limit of iterations was reached
	Cancelled      = solve.Cancelled      // the context ended, for example because the user stopped the computation
)
