package solve

import (
	"fmt"
	"math"

	"anatomy/geom/watch"
)

// Limits say when a search ends.
type Limits struct {
	Tolerance     float64
	MaxIterations int
}

// Option changes the limits of a search: Tolerance or MaxIterations.
type Option func(*Limits) error

// Tolerance sets the tolerance, a finite positive number. The comment of each function gives its meaning and its default.
func Tolerance(t float64) Option {
	return func(l *Limits) error {
		if l.Tolerance = t; !(t > 0) || math.IsInf(t, 1) {
			return fmt.Errorf("Tolerance(%g), want a finite positive number", t)
		}
		return nil
	}
}

// MaxIterations sets the largest number of iterations, at least 1. A search that reaches it has the Status IterationLimit.
func MaxIterations(n int) Option {
	return func(l *Limits) error {
		if l.MaxIterations = n; n < 1 {
			return fmt.Errorf("MaxIterations(%d), want at least 1", n)
		}
		return nil
	}
}

// With returns the limits changed by options.
func (l Limits) With(opts ...Option) (Limits, error) {
	for _, change := range opts {
		if err := change(&l); err != nil {
			return l, err
		}
	}
	return l, nil
}

// Run calls Minimise as a computation with a name, on a space such as geom.Space: the space's listener gets the iterations, and the
// space's context stops it. The options change the limits.
func (o Objective) Run(name string, on interface{ Begin(name string) *watch.Task }, x []float64, limits Limits, opts ...Option) (*Minimum, error) {
	limits, err := limits.With(opts...)
	if err != nil {
		return nil, err
	}
	task := on.Begin(name)
	defer task.End()
	o.Report = func(iteration int, f, gradient, tolerance float64) {
		task.Report(watch.Progress{Iteration: iteration, Objective: f, Gradient: gradient, Tolerance: tolerance})
	}
	return Minimise(task.Context(), o, x, limits.Tolerance, limits.MaxIterations)
}
