package geom

import "anatomy/geom/solve"

// Status says how an iteration ended.
type Status = solve.Status

const (
	Converged     = solve.Converged     // the tolerance was met
	Stalled       = solve.Stalled       // no step made progress any more: the best point found is returned
	MaxIterations = solve.MaxIterations // the limit of iterations was reached
	Cancelled     = solve.Cancelled     // the user stopped it
)
