package stochastic

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
)

// Mean is a diffusion mean of samples v_j: the most likely start of Brownian motions that are at the samples at time T.
type Mean[P geom.Point] struct {
	Point    P
	Variance float64 // T, in the unit of lengths squared; the mean squared distance of the samples from Point is about d·T

	LogLikelihood float64 // (1/J) Σ_j log p_T(Point, v_j) of the J samples, as estimated
	Gradient      float64 // √(T‖∂_x‖² + (2/d)(∂_log T)²), the length of the next step in units of standard deviations
	// EffectiveSize is the harmonic mean over the samples of Likelihood.EffectiveSize. The randomness of the bridges adds to the
	// estimate a variance of about 1/EffectiveSize times that which comes from the samples.
	EffectiveSize float64
	Wound         float64 // see Likelihood, as a mean over the samples
	// PointStep and VarianceStep estimate the error of the time step, which falls with 1/Run.Steps: how far, as a length, and by how
	// much Point and Variance move where the same bridges have half as many steps. NaN of one step, +Inf where these diverge.
	PointStep, VarianceStep float64
	// PointError is the standard error of Point, the root of the mean square distance, and VarianceError that of Variance. The squares of
	// both are those of the inverse of the observed information, minus the second derivatives of the log-likelihood, times
	// 1 + 1/EffectiveSize, and of the step. In flat space the first are d T/J and 2T²/dJ. NaN where the likelihood has no maximum there, and
	// after a search that was cancelled. Variance is more nearly normal in its logarithm: an interval is Variance exp(±2 VarianceError/Variance).
	PointError, VarianceError float64

	Iterations int
	Status     geom.Status // geom.Converged where Gradient is at most 1e-3, EffectiveSize at least 5 and Wound at most 0.01
}

// meanEffectiveSize is the least EffectiveSize of a diffusion mean with the Status geom.Converged. With a smaller one the estimate
// depends on the seed and on Run.Paths.
const meanEffectiveSize = 5

// meanWound is the largest share of wound paths of a diffusion mean that is called converged.
const meanWound = 0.01

// String says what the mean is in one line.
func (m *Mean[P]) String() string {
	return fmt.Sprintf("diffusion mean, variance %.4g ± %.2g, effective size %.3g, %s after %d iterations", m.Variance, m.VarianceError, m.EffectiveSize, m.Status, m.Iterations)
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (m *Mean[P]) Err() error { return solve.NotNil(m).Status.Err(m) }

const (
	meanAccuracy      = 1e-6 // of Gradient, where the iteration ends
	meanTolerance     = 1e-3 // of Gradient, for geom.Converged
	meanMaxIterations = 200
)

// DiffusionMean returns the x and T that maximise the mean log-likelihood (1/J) Σ_j log p_T(x, v_j) of J ≥ 2 samples v_j (S. Eltzner,
// P. Hansen, S. Huckemann and S. Sommer, Diffusion means in geometric spaces, 2023). The search starts at the point start, with
// T = r.Time; for r.Time = 0 with a T computed from the distances of the samples from start.
//
// The densities are estimated as by LogLikelihood, with r.Paths bridges to each sample and the same noise in all iterations. So
// the estimate is a smooth function of x and T, except for small jumps where the charts of a Charted manifold change, and its gradient is
// computed through the paths. The steps are Fisher's for a normal distribution, in coordinates at x: x ← x + T grad and
// log T ← log T + (2/d) ∂_log T. They are shortened until they raise the likelihood. From what it finds a second search goes on, of
// the same bridges with half as many steps: how far it gets is the error of the step. The standard errors take d + 1 gradients more.
func DiffusionMean[P geom.Point](on geom.Of[P], proposal Proposal, samples []P, start P, r Run) (_ *Mean[P], err error) {
	const what = "DiffusionMean"
	defer try.Named(&err, what)
	s := on.Geometry()
	try.FailIf(len(samples) < 2, "%d samples, want at least 2", len(samples))
	guess := r.Time
	checkBridges(s, proposal, start, samples, &r)
	task := s.Begin(what)
	defer task.End()
	v, m := shape.FlatAll(samples), s.M
	if guess == 0 {
		guess = spread(s, shape.Flat(start), v)
		try.FailIf(!(guess > 0) || math.IsInf(guess, 1),
			"the samples' mean squared distance from the start is %g: they must spread around it", float64(m.Dim())*guess)
	}
	r.fits(len(samples), m.Dim(), 0, false)
	c := &climber[P]{s, task, operation{what, proposal, false}, v, r.bridging(len(samples)*r.Paths, m.Dim())}
	mean := &Mean[P]{}
	now := c.at(shape.Flat(start), guess, 1, nil)
	if !now.finite() {
		return nil, fmt.Errorf("the likelihood at the start with variance %.4g is %g, its gradient %g: use more steps, or a start that is closer to the samples",
			guess, math.Exp(now.value), now.norm)
	}
	now, mean.Iterations = c.climb(now, 1, meanAccuracy)
	coarse := c.at(now.x, now.t, 2, nil)
	mean.PointStep, mean.VarianceStep = math.Inf(1), math.Inf(1)
	switch {
	case r.Steps == 1:
		mean.PointStep, mean.VarianceStep = math.NaN(), math.NaN() // half a step is none
	case coarse.finite():
		coarse, _ = c.climb(coarse, 2, meanTolerance)
		mean.PointStep = apart(s, now.x, coarse.x)
		mean.VarianceStep = coarse.t - now.t
	}
	switch {
	case task.Stopped():
		mean.Status = geom.Cancelled
	case now.norm <= meanTolerance && now.size >= meanEffectiveSize*(1-1e-9) && now.wound <= meanWound:
		mean.Status = geom.Converged
	case mean.Iterations == meanMaxIterations:
		mean.Status = geom.IterationLimit
	default:
		mean.Status = geom.Stalled
	}
	mean.Point, mean.Variance, mean.LogLikelihood, mean.Gradient, mean.EffectiveSize, mean.Wound = s.FromFlat(now.x), now.t, now.value, now.norm, now.size, now.wound
	random := 1 + 1/now.size
	point, logT := c.covariance(now)
	mean.PointError = math.Hypot(math.Sqrt(point*random), mean.PointStep)
	mean.VarianceError = math.Hypot(now.t*math.Sqrt(logT*random), mean.VarianceStep)
	return mean, nil
}

// spread is the mean squared distance of samples v from x, divided by the dimension.
func spread[P geom.Point](s *geom.Space[P], x []float64, v [][]float64) float64 {
	const brief = 1 / (2 * math.Pi) // at this time the log density is −ρ/brief, nearly
	out := try.Get(s.Call(operation{name: "spread"}, func(in []*Node) []*Node {
		g := newGuide(s.M, Guided, in[1])
		brief := Scalar(in[0].Graph(), in[0].DType(), brief)
		return []*Node{ReduceAllMean(g.logDensity(g.enter(forPaths(in[1].Shape().Dim(0), in[0])), brief))}
	}, x, v))
	return -2 / float64(s.M.Dim()) * brief * out.Scalar(0)
}

// climber raises the mean log-likelihood of samples by bridges to them.
type climber[P geom.Point] struct {
	s       *geom.Space[P]
	task    *geom.Task
	of      operation
	samples [][]float64
	noise   [][][]float64
}

// height is the objective at (x, t) with its gradient, as steps in the chart at x and in log T.
type height struct {
	x, step                            []float64
	slope                              []float64 // by √T times an orthonormal frame at x, and by log T, [d + 1]
	t, stepT, value, norm, size, wound float64
}

func (p *height) finite() bool { return !math.IsNaN(p.norm) && !math.IsInf(p.value, 0) }

// at evaluates the objective, with bridges of one step in place of stride steps, at off from (x, log t), in units of height.slope; nil is 0.
func (c *climber[P]) at(x []float64, t, stride float64, off []float64) *height {
	m, d := c.s.M, c.s.M.Dim()
	off = append(off, make([]float64, d+1-len(off))...)
	out := try.Get(c.s.Call(c.of, func(in []*Node) []*Node {
		x, v, logT, xi, stride, off := in[0], in[1], in[2], in[3], in[4], in[5]
		n := xi.Shape().Dim(1)
		stride = BroadcastToDims(stride, n)
		xi = Where(BroadcastToShape(Reshape(GreaterThan(stride, OnesLike(stride)), 1, n, 1), xi.Shape()), coarser(xi), xi)
		at := geom.At(m, x)
		frame := Mul(Exp(MulScalar(logT, 0.5)), geom.Orthonormal(at.Manifold, at.X))
		y := Add(at.X, linalg.MatVec(frame, Slice(off, AxisRange(0, d))))
		T := Exp(Add(logT, Squeeze(Slice(off, AxisRange(d)))))
		weights, wound, _, _ := bridges(m, c.of.proposal, forPaths(n, at.Point(y)), repeatRows(v, n/v.Shape().Dim(0)), T, xi, stride, false)
		weights, wound = Reshape(weights, v.Shape().Dim(0), -1), Reshape(wound, v.Shape().Dim(0), -1)
		value := ReduceAllMean(logMeanExp(weights))
		// (Σ w)²/Σ w² = N (mean w)²/mean w²
		sizes := Sub(MulScalar(logMeanExp(weights), 2), logMeanExp(MulScalar(weights, 2)))
		size := MulScalar(Reciprocal(ReduceAllMean(Exp(Neg(sizes)))), float64(weights.Shape().Dim(1)))
		shares := Exp(Sub(weights, BroadcastToShape(ReduceAndKeep(weights, ReduceMax, -1), weights.Shape())))
		share := Div(ReduceSum(Mul(shares, wound), -1), ReduceSum(shares, -1))
		slope := Gradient(value, off)[0]
		return []*Node{value, slope, linalg.MatVec(frame, Slice(slope, AxisRange(0, d))), size, ReduceAllMean(share)}
	}, x, c.samples, math.Log(t), c.noise, stride, off))
	p := &height{x: x, t: t, value: out.Scalar(0), slope: out.Vector(1), step: out.Vector(2), size: out.Scalar(3), wound: out.Scalar(4)}
	p.stepT = 2 / float64(d) * p.slope[d]
	p.norm = math.Sqrt(floats.Dot(p.slope[:d], p.slope[:d]) + p.stepT*p.slope[d])
	return p
}

// covariance returns the traces of the parts of the inverse of the observed information: by the point, in lengths squared, and by log T.
func (c *climber[P]) covariance(now *height) (point, logT float64) {
	const step = 1e-4
	n := len(now.slope)
	information := mat.NewSymDense(n, nil)
	for i := range n {
		if c.task.Stopped() {
			return math.NaN(), math.NaN()
		}
		off := make([]float64, n)
		off[i] = step
		for j, up := range c.at(now.x, now.t, 1, off).slope[:i+1] {
			information.SetSym(i, j, float64(len(c.samples))*(now.slope[j]-up)/step)
		}
	}
	var factor mat.Cholesky
	var inverse mat.SymDense
	if !factor.Factorize(information) || factor.InverseTo(&inverse) != nil {
		return math.NaN(), math.NaN()
	}
	logT = inverse.At(n-1, n-1)
	return now.t * (mat.Trace(&inverse) - logT), logT
}

// climb raises the objective until the norm of its gradient is at most the accuracy, and returns the iterations.
func (c *climber[P]) climb(now *height, stride, accuracy float64) (*height, int) {
	iterations := 0
	for better := true; better && now.norm > accuracy && !c.task.Stopped() && iterations < meanMaxIterations; iterations++ {
		better = false
		c.task.Report(geom.Progress{Iteration: iterations, Objective: -now.value, Gradient: now.norm, Tolerance: accuracy})
		// A step of one standard deviation is long enough.
		for scale := math.Min(1, 1/now.norm); scale > 1e-3 && !better; scale /= 4 {
			x := moved(c.s, now.x, floats.ScaleTo(make([]float64, len(now.step)), scale, now.step))
			next := c.at(x, now.t*math.Exp(scale*now.stepT), stride, nil)
			if better = next.value > now.value || next.norm < now.norm/2 && next.value > now.value-1e-9; better {
				now = next
			}
		}
	}
	return now, iterations
}

// apart is the length of the step from x to y in coordinates, on a Charted manifold those of the chart centred at x.
func apart[P geom.Point](s *geom.Space[P], x, y []float64) float64 {
	m := s.M
	return try.Get(s.Call(operation{name: "apart"}, func(in []*Node) []*Node {
		at := geom.At(m, in[0])
		return []*Node{geom.Norm(at.Manifold, at.X, Sub(at.Coordinates(in[1]), at.X))}
	}, x, y)).Scalar(0)
}

// moved is the point at x + step in coordinates, on a Charted manifold those of the chart centred at x.
func moved[P geom.Point](s *geom.Space[P], x, step []float64) []float64 {
	m := s.M
	return try.Get(s.Call(operation{name: "moved"}, func(in []*Node) []*Node {
		at := geom.At(m, in[0])
		return []*Node{at.Point(Add(at.X, in[1]))}
	}, x, step)).Vector(0)
}

// logMeanExp is log (1/n) Σ_k e^{x_k} over the last axis.
func logMeanExp(x *Node) *Node {
	top := StopGradient(ReduceAndKeep(x, ReduceMax, -1))
	sum := ReduceMean(Exp(Sub(x, BroadcastToShape(top, x.Shape()))), -1)
	return Add(Log(sum), Squeeze(top, -1))
}

// Density estimates the density of a distribution from samples x_i, with respect to the Riemannian volume. It returns, for each of
// the given points y,
//
//	f(y) = (1/N) Σ_i (2πh²)^{−d/2} exp(−|x_i − y|²_g(y) / 2h²),
//
// where x_i − y is a difference of coordinates, on a Charted manifold those of the chart centred at y. The bandwidth h is a length; the
// bias is O(h²) and the variance O(1/(N h^d)). The values have the unit of 1/length^d. A sample in the cut locus of y counts for nothing; a
// point y where the metric is not finite is an error.
func Density[P geom.Point](on geom.Of[P], samples, points []P, bandwidth float64) (_ []float64, err error) {
	defer try.Named(&err, "Density")
	s := on.Geometry()
	try.FailIf(!(bandwidth > 0) || math.IsInf(bandwidth, 1), "bandwidth %g, want a finite positive number", bandwidth)
	try.Do(s.CheckAll("sample", samples))
	try.Do(s.CheckAll("point", points))
	try.Do(s.CheckRegular("point", points...))
	out := try.Get(s.Call(operation{name: "Density"}, func(in []*Node) []*Node {
		samples, h := ExpandAxes(in[0], 1), in[2]
		n, d := samples.Shape().Dim(0), s.M.Dim()
		// One point at a time: what it has to do with the samples stays in the cache.
		_, values := autodiff.Scan(in[1].Shape().Dim(0), func(_ *Node, _, point []*Node) (_, density []*Node) {
			at := geom.At(s.M, ExpandAxes(point[0], 0))
			x := Sub(at.Coordinates(samples), BroadcastPrefix(at.X, n))
			g := geom.MetricMatrix(at.Manifold, at.X)
			square := ReduceSum(Mul(Einsum("nqi,qij->nqj", x, g), x), -1)
			terms := Exp(Div(square, MulScalar(Square(h), -2)))
			terms = Where(LogicalAll(IsFinite(x), -1), terms, ZerosLike(terms)) // samples in the cut locus of y are far from it
			return nil, []*Node{linalg.NaNWhere(LogicalNot(LogicalAll(IsFinite(g), -1, -2)), ReduceSum(terms, 0))}
		}, nil, in[1:2])
		norm := MulScalar(Pow(MulScalar(Square(h), 2*math.Pi), Scalar(h.Graph(), h.DType(), 0.5*float64(d))), float64(n))
		return []*Node{Div(Squeeze(values[0], 1), norm)}
	}, shape.FlatAll(samples), shape.FlatAll(points), bandwidth))
	values := out.Vector(0)
	for i, v := range values {
		try.FailIf(math.IsNaN(v), "the metric is singular at point %d: take a point where it is finite", i)
	}
	return values, nil
}
