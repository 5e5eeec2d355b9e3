package geom

import (
	"errors"

	"anatomy/geom/internal/shortest"
	"anatomy/geom/solve"
)

// Status says how an iteration ended.
type Status = solve.Status

const (
	Converged      = solve.Converged      // the tolerance was met
	Stalled        = solve.Stalled        // no step made progress; the result is the best point found
	IterationLimit = solve.IterationLimit // the limit of iterations was reached
	Cancelled      = solve.Cancelled      // the context ended, for example because the user stopped the computation
)

// Errors that a program can ask for by errors.Is.
var (
	ErrNotConverged = solve.ErrNotConverged // of the method Err of results: the search has not met its tolerance
	ErrCancelled    = solve.ErrCancelled    // of the same: the context ended before
	ErrUnreached    = shortest.ErrUnreached // of Log: no curve over the charts leads to the end point
	ErrCutLocus     = errors.New("there is no one shortest geodesic: the end point is in the cut locus of the starting point, " +
		"or no curve leads to it: move one of them") // of Log on manifolds with closed forms
	ErrOffManifold = errors.New("is not on the manifold") // of all methods of a Space: a point is off
)
