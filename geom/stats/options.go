package stats

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/signal"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
)

// Option changes how a statistic is computed. Each function names those that it takes; another one is an error.
type Option func(*options)

type options struct {
	given         []string
	weights       []float64
	start         []float64
	sigma         float64
	tolerance     float64
	maxIterations int
	ctx           context.Context
	progress      func(Progress)
}

// Weights gives the samples weights, one a sample, not negative; they are divided by their sum.
func Weights(w []float64) Option {
	return func(o *options) { o.weights = w; o.given = append(o.given, "Weights") }
}

// Start is the point from which the iteration sets out. The default is the weighted mean of the coordinates, on an Atlas
// the point nearest to it.
func Start(y []float64) Option {
	return func(o *options) { o.start = y; o.given = append(o.given, "Start") }
}

// Mismatch lets geodesics miss the samples: a miss costs |Exp_y(v) − x|²/σ², beside ‖v‖²_g. Deformations have the cometric
// as their covariance, and noise of the coordinates σ². For landmarks, whose kernels have k(0) = 1, σ is a pure number, the
// noise as a share of the deformation in the large, whatever the unit of length; 0.1 suits outlines.
func Mismatch(sigma float64) Option {
	return func(o *options) { o.sigma = sigma; o.given = append(o.given, "Mismatch") }
}

// Tolerance is the change at which an iteration ends, relative to the standard deviation of the samples.
func Tolerance(t float64) Option {
	return func(o *options) { o.tolerance = t; o.given = append(o.given, "Tolerance") }
}

// MaxIterations bounds the iterations.
func MaxIterations(n int) Option {
	return func(o *options) { o.maxIterations = n; o.given = append(o.given, "MaxIterations") }
}

// Context cancels when ctx ends.
func Context(ctx context.Context) Option { return func(o *options) { o.ctx = ctx } }

// OnProgress calls f after every iteration, in place of the display that long computations have in a notebook or a
// terminal; nil shows nothing.
func OnProgress(f func(Progress)) Option {
	if f == nil {
		f = func(Progress) {}
	}
	return func(o *options) { o.progress = f }
}

// run is a computation under way: its options, and how it hears of a wish to stop.
type run struct {
	options
	task string
	end  func() // frees what the run holds; call it when the computation is over
}

// newRun collects the options of a computation that takes those named, with its default tolerance.
func newRun(task string, tolerance float64, opts []Option, takes ...string) (*run, error) {
	r := &run{task: task}
	r.options = options{tolerance: tolerance, maxIterations: 500, ctx: context.Background()}
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
		case name == "Mismatch" && !(r.sigma > 0 && !math.IsInf(r.sigma, 1)):
			return nil, fmt.Errorf("%s: Mismatch(%g), want a positive standard deviation", task, r.sigma)
		case name == "Tolerance" && !(r.tolerance > 0):
			return nil, fmt.Errorf("%s: Tolerance(%g), want a positive number", task, r.tolerance)
		case name == "MaxIterations" && r.maxIterations < 1:
			return nil, fmt.Errorf("%s: MaxIterations(%d), want at least 1", task, r.maxIterations)
		}
	}
	var stop func()
	r.ctx, stop = signal.NotifyContext(r.ctx, os.Interrupt)
	clear := func() {}
	if r.progress == nil {
		r.progress, clear = display()
	}
	r.end = func() { clear(); stop() }
	return r, nil
}

// report says where an iteration is and whether it shall stop.
func (r *run) report(iteration int, objective, gradient float64) (cancelled bool) {
	r.progress(Progress{Task: r.task, Iteration: iteration, Objective: objective, Gradient: gradient})
	return r.ctx.Err() != nil
}

// samples checks points and returns the normalised weights.
func (r *run) samples(space *geom.Space, samples [][]float64) ([]float64, error) {
	if m, ok := space.M.(geom.SubRiemannian); ok {
		return nil, fmt.Errorf("%s: %T has a degenerate cometric, so its points have no logarithms", r.task, m)
	}
	if len(samples) == 0 {
		return nil, fmt.Errorf("%s: no samples", r.task)
	}
	for i, x := range samples {
		if err := checkPoint(space, x); err != nil {
			return nil, fmt.Errorf("%s: sample %d: %w", r.task, i, err)
		}
	}
	if r.start != nil {
		if err := checkPoint(space, r.start); err != nil {
			return nil, fmt.Errorf("%s: the start: %w", r.task, err)
		}
	}
	w := make([]float64, len(samples))
	if r.weights == nil {
		floats.AddConst(1/float64(len(w)), w)
		return w, nil
	}
	if len(r.weights) != len(samples) {
		return nil, fmt.Errorf("%s: %d weights for %d samples", r.task, len(r.weights), len(samples))
	}
	for i, v := range r.weights {
		if !(v >= 0) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("%s: weight %d is %g, want a number that is not negative", r.task, i, v)
		}
	}
	sum := floats.Sum(r.weights)
	if !(sum > 0) || math.IsInf(sum, 1) {
		return nil, fmt.Errorf("%s: the weights sum to %g", r.task, sum)
	}
	return floats.ScaleTo(w, 1/sum, r.weights), nil
}

func checkPoint(space *geom.Space, x []float64) error {
	d := coordinates(space)
	if len(x) != d {
		return fmt.Errorf("%d coordinates, the space has %d", len(x), d)
	}
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("coordinate %d is %g", i, v)
		}
	}
	return nil
}

// coordinates is the length of the vectors that stand for points.
func coordinates(space *geom.Space) int {
	if a, ok := space.M.(geom.Atlas); ok {
		return a.AmbientDim()
	}
	return space.M.Dim()
}

// startingPoint is where an iteration over the samples sets out.
func (r *run) startingPoint(space *geom.Space, samples [][]float64, w []float64) ([]float64, error) {
	if r.start != nil {
		return r.start, nil
	}
	y := combine(w, samples)
	if _, ok := space.M.(geom.Atlas); !ok {
		return y, nil
	}
	if floats.Norm(y, 2) > 1e-6*floats.Norm(samples[0], 2) {
		if y, _, err := space.Project(y); err == nil {
			return y, nil
		}
	}
	return samples[0], nil // the mean of the ambient vectors is near no point
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
