package stats

import (
	"anatomy/geom"
	"anatomy/geom/solve"
)

// Minimise is solve.Minimise as a computation on a space, with the options of this package: Tolerance, in place of the one
// given, and MaxIterations (500).
func Minimise[P geom.Point](task string, on geom.Of[P], tolerance float64, o solve.Objective, x []float64, opts ...Option) (*solve.Minimum, error) {
	r, err := newRun(task, on.Geometry(), tolerance, opts)
	if err != nil {
		return nil, err
	}
	defer r.End()
	return r.minimise(o, x)
}
