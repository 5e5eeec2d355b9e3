package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/solve"
)

// Option changes how a statistic is computed. Each function names those that it takes; another one is an error.
type Option func(*options)

type options struct {
	given         []string
	weights       []float64
	start         any // a point of the samples' type
	sigma         float64
	tolerance     float64
	maxIterations int
}

// Weights gives the samples weights, one a sample, not negative; they are divided by their sum.
func Weights(w []float64) Option {
	return func(o *options) { o.weights = w; o.given = append(o.given, "Weights") }
}

// Start is the point from which the iteration sets out. The default is the weighted mean of the numbers that stand for
// points, on an Atlas the point nearest to it.
func Start[P geom.Point](y P) Option {
	return func(o *options) { o.start = y; o.given = append(o.given, "Start") }
}

// Mismatch lets geodesics miss the samples: a miss costs |Exp_y(v) − x|²/σ², beside ‖v‖²_g. Deformations have the cometric
// as their covariance, and noise of the coordinates σ². For landmarks, whose kernels have k(0) = 1, σ is a pure number, the
// noise as a share of the deformation in the large, whatever the unit of length; 0.1 suits outlines.
func Mismatch(share float64) Option {
	return func(o *options) { o.sigma = share; o.given = append(o.given, "Mismatch") }
}

// Noise is the standard deviation of the noise of a coordinate of the samples, in the unit of length.
func Noise(length float64) Option {
	return func(o *options) { o.sigma = length; o.given = append(o.given, "Noise") }
}

// Tolerance is the change at which an iteration ends, relative to the standard deviation of the samples.
func Tolerance(t float64) Option {
	return func(o *options) { o.tolerance = t; o.given = append(o.given, "Tolerance") }
}

// MaxIterations bounds the iterations.
func MaxIterations(n int) Option {
	return func(o *options) { o.maxIterations = n; o.given = append(o.given, "MaxIterations") }
}

// run is a computation under way on a space, with points as lists of numbers.
type run struct {
	options
	*geom.Task
	space *geom.Space[geom.Vec]
	from  []float64 // where Start says to set out; nil for a default
}

// newRun collects the options of a computation that takes those named, with its default tolerance.
// End it.
func newRun[P geom.Point](task string, s *geom.Space[P], tolerance float64, opts []Option, takes ...string) (*run, error) {
	r := &run{options: options{tolerance: tolerance, maxIterations: 500}, space: s.Flat()}
	for _, o := range opts {
		o(&r.options)
	}
	allowed := map[string]bool{"MaxIterations": true, "Tolerance": true}
	for _, name := range takes {
		allowed[name] = true
	}
	for _, name := range r.given {
		if !allowed[name] {
			return nil, fmt.Errorf("%s: takes no option %s", task, name)
		}
		switch {
		case (name == "Mismatch" || name == "Noise") && !(r.sigma > 0 && !math.IsInf(r.sigma, 1)):
			return nil, fmt.Errorf("%s: %s(%g), want a positive number", task, name, r.sigma)
		case name == "Tolerance" && !(r.tolerance > 0):
			return nil, fmt.Errorf("%s: Tolerance(%g), want a positive number", task, r.tolerance)
		case name == "MaxIterations" && r.maxIterations < 1:
			return nil, fmt.Errorf("%s: MaxIterations(%d), want at least 1", task, r.maxIterations)
		}
	}
	if r.start != nil {
		start, ok := r.start.(P)
		if !ok {
			return nil, fmt.Errorf("%s: Start is a %T, the points of the space are %T", task, r.start, start)
		}
		if err := s.Check("start", start); err != nil {
			return nil, fmt.Errorf("%s: %w", task, err)
		}
		r.from = s.Vector(start)
	}
	r.Task = s.Begin(task)
	return r, nil
}

// report says where an iteration is and whether it shall stop.
func (r *run) report(iteration int, objective, gradient float64) (cancelled bool) {
	return r.Report(geom.Progress{Iteration: iteration, Objective: objective, Gradient: gradient})
}

// minimise is solve.Minimise with the options of the run.
func (r *run) minimise(o solve.Objective, x []float64) (*solve.Minimum, error) {
	o.Report = func(iteration int, f, gradient float64) { r.report(iteration, f, gradient) }
	return solve.Minimise(r.Context(), o, x, r.tolerance, r.maxIterations)
}

// samplesOf checks points and returns their numbers and the normalised weights.
func samplesOf[P geom.Point](r *run, s *geom.Space[P], samples []P) (x [][]float64, w []float64, err error) {
	if err := s.CheckAll("sample", samples); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	// Inexact fits need no logarithms.
	if r.sigma == 0 {
		if err := s.CheckRegular("sample", samples...); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", r.Name, err)
		}
	}
	if w, err = r.normalised(len(samples)); err != nil {
		return nil, nil, err
	}
	return s.Vectors(samples), w, nil
}

// normalised returns the weights of n samples, divided by their sum.
func (r *run) normalised(n int) ([]float64, error) {
	if r.weights == nil {
		return even(n), nil
	}
	if len(r.weights) != n {
		return nil, fmt.Errorf("%s: %d weights for %d samples", r.Name, len(r.weights), n)
	}
	for i, v := range r.weights {
		if !(v >= 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("%s: weight %d is %g, want a number that is not negative", r.Name, i, v)
		}
	}
	sum := floats.Sum(r.weights)
	if !(sum > 0) || math.IsInf(sum, 1) {
		return nil, fmt.Errorf("%s: the weights sum to %g", r.Name, sum)
	}
	return floats.ScaleTo(make([]float64, n), 1/sum, r.weights), nil
}

// startingPoint is where an iteration over the samples sets out.
func (r *run) startingPoint(samples [][]float64, w []float64) []float64 {
	if r.from != nil {
		return r.from
	}
	y := combine(w, samples)
	if !geom.IsAtlas(r.space.M) {
		return y
	}
	if floats.Norm(y, 2) > 1e-6*floats.Norm(samples[0], 2) {
		if y, _, err := r.space.Project(y); err == nil {
			return y
		}
	}
	return samples[0] // the mean of the ambient vectors is near no point
}

// combine returns Σ w_i x_i.
func combine(w []float64, x [][]float64) []float64 {
	sum := make([]float64, len(x[0]))
	for i, v := range x {
		floats.AddScaled(sum, w[i], v)
	}
	return sum
}

// repeat returns n times the same point.
func repeat(y []float64, n int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = y
	}
	return out
}
