package stats

import (
	"anatomy/geom"
	"anatomy/geom/solve"
)

// Minimise calls solve.Minimise for an objective o, started at x, as a computation on a space: it reports its iterations under the
// name task, and ends early when the Context of the space ends. It takes Tolerance (the default is the argument) and
// MaxIterations (500); both are those of solve.Minimise.
func Minimise[P geom.Point](task string, on geom.Of[P], tolerance float64, o solve.Objective, x []float64, opts ...Option) (*solve.Minimum, error) {
	r, err := newRun(task, on.Geometry(), tolerance, opts)
	if err != nil {
		return nil, err
	}
	defer r.End()
	return r.minimise(o, x)
}
