package solve

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"

	"anatomy/geom/watch"
)

// Status says how an iteration ended. The zero value is that of a result which no iteration has ended for: it is printed as "unknown", and
// Err of it is an error. Of two statuses the larger is the worse.
type Status int

const (
	Converged      Status = iota - 1 // the tolerance was met
	unknown                          // nothing was said of it
	Stalled                          // no step made progress; the result is the best point found
	IterationLimit                   // the limit of iterations was reached
	Cancelled                        // the context ended, for example because the user stopped the computation
)

func (s Status) String() string {
	return [...]string{"converged", "unknown", "stalled", "iteration limit", "cancelled"}[s-Converged]
}

// Certified is the status of a result: Converged if it meets its tolerance, however the search for it ended, and otherwise how that ended;
// Stalled where the search took the tolerance for met.
func (s Status) Certified(met bool) Status {
	switch {
	case met:
		return Converged
	case s <= unknown:
		return Stalled
	}
	return s
}

// Why a search has not met its tolerance. A program asks for them by errors.Is; ErrNotConverged is any of them.
var (
	ErrNotConverged         = errors.New("the tolerance was not met")
	ErrStalled        error = reason("no step made progress before the tolerance was met")
	ErrIterationLimit error = reason("the limit of iterations was reached before the tolerance was met")
	ErrCancelled      error = reason("the computation was cancelled before the tolerance was met")
	errUnknown        error = reason("whether the tolerance was met is unknown: the result was not computed, or its computation has not ended")
)

type reason string

func (r reason) Error() string        { return string(r) }
func (r reason) Is(target error) bool { return target == ErrNotConverged }

// Err returns nil if s is Converged, and otherwise an error that begins with the result which ended so. All results with a Status
// have a method Err that calls it.
func (s Status) Err(result any) error {
	if s == Converged {
		return nil
	}
	return fmt.Errorf("%v: %w", result, [...]error{unknown: errUnknown, Stalled: ErrStalled, IterationLimit: ErrIterationLimit, Cancelled: ErrCancelled}[s])
}

// NotNil returns a result. It panics if the result is nil, with the name of the calling function: methods of results call it
// first, because a failed call returns a nil result and its error is easily ignored.
func NotNil[T any](result *T) *T {
	if result == nil {
		at := make([]uintptr, 1)
		runtime.Callers(2, at)
		frame, _ := runtime.CallersFrames(at).Next()
		name := frame.Function[strings.LastIndex(frame.Function, "/")+1:]
		panic(strings.NewReplacer("(*", "", ")", "", "[...]", "").Replace(name) + " of nil, the result of a failed call: look at the error of that call")
	}
	return result
}

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
