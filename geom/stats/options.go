package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// MeanOption is an option of an estimate: Weights, Start, Tolerance and MaxIterations of all of them, Noise of FrameBundleMean, and RelativeNoise of
// the others. An estimate refuses one of the last two that it does not take.
type MeanOption interface {
	apply(*options) error
	mean()
}

// TestOption is a MeanOption that PermutationTest and Grow take, too: Tolerance, MaxIterations and, for the former, RelativeNoise.
type TestOption interface {
	MeanOption
	test()
}

// setting is an option of any kind. The functions that make options return it as the kind that it is.
type setting func(*options) error

func (s setting) apply(o *options) error { return s(o) }
func (setting) mean()                    {}
func (setting) test()                    {}

type options struct {
	solve.Limits
	weights []float64
	start   any     // a point of the samples' type
	sigma   float64 // of RelativeNoise
	noise   float64 // of Noise
}

// Weights sets the weights of the samples: w has one number for each sample, none negative. The weights are divided by their
// sum. Samples of weight 0 do not influence means and regressions. Their distances and logarithms are computed at the
// end, and are NaN if no geodesic is found. The default is equal weights.
func Weights(w []float64) MeanOption {
	return setting(func(o *options) error { o.weights = w; return nil })
}

// Start sets the point at which the iteration starts. The default is the weighted mean of the samples' coordinates, or, on a
// Charted manifold, the point nearest to the weighted mean of the ambient vectors.
func Start[P geom.Point](y P) MeanOption {
	return setting(func(o *options) error { o.start = y; return nil })
}

// RelativeNoise lets geodesics end near the samples instead of at them. It replaces the squared distance d(y, x)² by d_σ(y, x)², the
// minimum over v of
//
//	‖v‖²_g + |Exp_y(v) − x|²/σ².
//
// In this model deformations have the cometric as their covariance, and coordinates have independent noise of variance σ². For
// landmarks, whose kernels have k(0) = 1, σ has no unit: it is the standard deviation of the noise relative to that of a
// deformation. 0.1 suits outlines. Noise sets a standard deviation as a length.
func RelativeNoise(share float64) TestOption {
	return positive("RelativeNoise", share, func(o *options) { o.sigma = share })
}

// Noise sets σ, the standard deviation of the noise of each coordinate of the samples, in the unit of length. It is an option of FrameBundleMean.
// FrechetMean, Regress, RegressionTest and PermutationTest take RelativeNoise; Grow takes neither.
func Noise(length float64) MeanOption {
	return positive("Noise", length, func(o *options) { o.noise = length })
}

// positive is an option whose number must be positive, also when it is squared.
func positive(name string, sigma float64, set func(*options)) setting {
	return func(o *options) error {
		if set(o); !(sigma > 0 && sigma*sigma > 0 && !math.IsInf(sigma*sigma, 1)) {
			return fmt.Errorf("%s(%g), want a positive number whose square is neither 0 nor infinite", name, sigma)
		}
		return nil
	}
}

// Tolerance sets when an iteration ends: roughly, when its next step is shorter than t standard deviations of the samples. The
// comment of each function has the default and the precise meaning.
func Tolerance(t float64) TestOption { return limit(solve.Tolerance(t)) }

// MaxIterations sets the limit of iterations; a computation that reaches it has the Status geom.IterationLimit.
func MaxIterations(n int) TestOption { return limit(solve.MaxIterations(n)) }

func limit(change solve.Option) setting { return func(o *options) error { return change(&o.Limits) } }

// run is a computation while it runs, on a space with points as lists of numbers.
type run struct {
	options
	*geom.Task
	space   *geom.Space[geom.Vec]
	from    []float64 // the option Start; nil without
	lengths bool      // it takes Noise, and no RelativeNoise
}

// newRun begins a computation with its default tolerance. An error ends it; the caller must defer end.
func newRun[P geom.Point](task string, s *geom.Space[P], tolerance float64) *run {
	return &run{options: options{Limits: solve.Limits{Tolerance: tolerance, MaxIterations: 500}}, Task: s.Begin(task), space: s.OnNumbers()}
}

// end, deferred, ends a computation. The error that it returns, which may have ended it, begins with its name.
func (r *run) end(err *error) {
	r.End()
	try.Caught(err, recover())
	*err = try.Name(*err, "%s", r.Name)
}

// set takes the options.
func set[P geom.Point, O MeanOption](r *run, s *geom.Space[P], opts []O) {
	for _, o := range opts {
		try.Do(o.apply(&r.options))
	}
	if r.start != nil {
		start, ok := r.start.(P)
		try.FailIf(!ok, "Start is a %T, the points of the space are %T", r.start, start)
		try.Do(s.Check("start", start))
		r.from = shape.Flat(start)
	}
}

// report reports an iteration with the gradient at which the search ends, 0 if unknown, and returns whether the computation shall stop.
func (r *run) report(iteration int, objective, gradient, tolerance float64) (cancelled bool) {
	return r.Report(geom.Progress{Iteration: iteration, Objective: objective, Gradient: gradient, Tolerance: tolerance})
}

// minimise is solve.Minimise with the options of the run.
func (r *run) minimise(o solve.Objective, x []float64) *solve.Minimum {
	o.Report = func(iteration int, f, gradient, tolerance float64) { r.report(iteration, f, gradient, tolerance) }
	return try.Get(solve.Minimise(r.Context(), o, x, r.Tolerance, r.MaxIterations))
}

// samplesOf takes the options, checks the samples, and returns them as lists of numbers with the normalised weights. Where they are orbits,
// such as configurations up to rotation, they come close together, so that ambient means of them are near them.
func samplesOf[P geom.Point, O MeanOption](r *run, s *geom.Space[P], samples []P, opts []O) (x [][]float64, w []float64) {
	set(r, s, opts)
	try.FailIf(r.noise > 0 && !r.lengths, "Noise(%g) is an option of FrameBundleMean: give RelativeNoise, which has no unit", r.noise)
	try.FailIf(r.sigma > 0 && r.lengths, "RelativeNoise(%g) is no option of it: give Noise, a length", r.sigma)
	try.Do(s.CheckAll("sample", samples))
	// Fits with noise need no logarithms.
	if r.sigma == 0 {
		try.Do(s.CheckRegular("sample", samples...))
	}
	w = r.normalised(len(samples))
	first := slices.Repeat(samples[:1], len(samples))
	return shape.FlatAll(try.Get(framebundle.Aligned(s, first, samples))), w
}

// normalised returns the weights of n samples, divided by their sum.
func (r *run) normalised(n int) []float64 {
	if r.weights == nil {
		return even(n)
	}
	try.FailIf(len(r.weights) != n, "%d weights for %d samples", len(r.weights), n)
	for i, v := range r.weights {
		try.FailIf(!(v >= 0) || math.IsInf(v, 1), "weight %d is %g, want a number that is not negative", i, v)
	}
	sum := floats.Sum(r.weights)
	try.FailIf(!(sum > 0) || math.IsInf(sum, 1), "the weights sum to %g", sum)
	w := make([]float64, n)
	for i, v := range r.weights {
		w[i] = v / sum // 1/sum may be infinite
	}
	return w
}

// startingPoint is the option Start or its default.
func (r *run) startingPoint(samples [][]float64, w []float64) []float64 {
	if r.from != nil {
		return r.from
	}
	y := lists.Combine(w, samples)
	if !geom.IsCharted(r.space.M) {
		return y
	}
	if floats.Norm(y, 2) > 1e-6*floats.Norm(samples[0], 2) {
		if y, _, err := r.space.Project(y); err == nil {
			return y
		}
	}
	return samples[0] // the mean of the ambient vectors is near no point
}

// repeat returns n times the same point.
func repeat(y []float64, n int) [][]float64 { return slices.Repeat([][]float64{y}, n) }
