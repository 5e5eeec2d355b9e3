package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
)

// Regression is the geodesic γ(t) = Exp_p((t − t₀) v) that fits samples x_i at times t_i best.
type Regression[P geom.Point] struct {
	Origin    float64   // t₀, the weighted mean of the times
	Point     P         // p = γ(t₀)
	Velocity  P         // v = γ'(t₀), in the unit of length per unit of t
	Momentum  P         // v♭
	Fitted    []P       // γ(t_i)
	Residuals []float64 // d(γ(t_i), x_i); with Mismatch d_σ
	Misses    []P       // Log of x_i at γ(t_i), tangent vectors; nil with Mismatch
	Variance  float64   // Σ w_i Residuals_i²
	R2        float64   // R² = 1 − Variance/Σ w_i d(y, x_i)², y the Fréchet mean of the samples

	Iterations int
	Status     geom.Status // the worse of those of the search and of the Fréchet mean, on which R2 depends
}

// Regress returns the geodesic γ that minimises Σ w_i d(γ(t_i), x_i)² (Fletcher, Int. J. Computer Vision 105, 2013). The times t
// are numbers in any unit, one for each sample and not all equal. The search starts at the Fréchet mean, with the regression in
// its tangent space. It uses the exact gradient, which reverse-mode differentiation computes from the logarithms of the residuals.
//
// Mismatch(σ), for many landmarks, replaces d by d_σ: from each γ(t_i) a second geodesic leads towards x_i, and may miss it. Only
// the lengths of these second geodesics are penalised, not the length of γ, so the velocity of γ is not shrunk. The points of
// the manifold must be coordinates; an Atlas is an error.
//
// It takes Weights, Start (for the Fréchet mean), Mismatch, Tolerance (default 1e-6, with Mismatch 0.01: see solve.Minimise) and
// MaxIterations (500).
func Regress[P geom.Point](on geom.Of[P], t []float64, samples []P, opts ...Option) (*Regression[P], error) {
	s := on.Geometry()
	r, err := newRun("geodesic regression", s, 0, opts, "Weights", "Start", "Mismatch")
	if err != nil {
		return nil, err
	}
	defer r.End()
	x, w, err := samplesOf(r, s, samples)
	if err != nil {
		return nil, err
	}
	g, err := r.regress(t, x, w)
	if err != nil {
		return nil, err
	}
	return &Regression[P]{g.Origin, s.Point(g.Point), s.Point(g.Velocity), s.Point(g.Momentum), s.Points(g.Fitted), g.Residuals, s.Points(g.Misses), g.Variance, g.R2,
		g.Iterations, g.Status}, nil
}

func (r *run) regress(t []float64, samples [][]float64, w []float64) (*Regression[geom.Vec], error) {
	if len(t) != len(samples) {
		return nil, fmt.Errorf("%s: %d times for %d samples", r.Name, len(t), len(samples))
	}
	for i, v := range t {
		if !finite(v) {
			return nil, fmt.Errorf("%s: time %d is %g", r.Name, i, v)
		}
	}
	origin, scale, standard := standardised(t, w)
	if scale == 0 {
		return nil, fmt.Errorf("%s: all times are %g, which determines no slope", r.Name, origin)
	}
	with, without := weighted(w)
	others, far := pick(samples, without), pick(standard, without)
	samples, w, standard = pick(samples, with), pick(w, with), pick(standard, with)
	first := *r
	mean, err := first.mean(samples, w)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	if r.tolerance == 0 {
		if r.tolerance = 1e-6; r.sigma > 0 {
			r.tolerance = 0.01
		}
	}
	f := &fit{run: r, samples: samples, weights: w, freePoint: true, variance: mean.Variance,
		model: model{p: mean.Point, m: [][]float64{make([]float64, len(mean.Point))}}}
	for i, s := range standard {
		f.s = append(f.s, []float64{s})
		floats.AddScaled(f.m[0], w[i]*s, mean.Momenta[i])
	}
	if r.sigma > 0 {
		f.shots = newShots(r.Context(), r.space, samples)
		f.shots.variance = r.sigma * r.sigma
		if f.shots.cometric, err = cometricAt(r.space, mean.Point); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		for i, root := range f.shots.roots {
			root.X = floats.AddScaledTo(make([]float64, len(mean.Point)), mean.Momenta[i], -f.s[i][0], f.m[0])
			f.shots.tolerance = max(f.shots.tolerance, 1e-3*r.tolerance*floats.Distance(samples[i], mean.Point, 2))
		}
	}
	found, err := f.optimise()
	if err != nil {
		return nil, err
	}
	g, err := r.space.Shoot(f.p, f.m[0])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	for _, v := range [][]float64{g.Velocity, g.Momentum} {
		for k := range v {
			if v[k] /= scale; !finite(v[k]) {
				return nil, fmt.Errorf("%s: coordinate %d of the velocity is %g by the unit of the times, whose standard deviation is %g: take another unit", r.Name, k, v[k], scale)
			}
		}
	}
	out := &Regression[geom.Vec]{Origin: origin, Point: f.p, Velocity: g.Velocity, Momentum: g.Momentum, Fitted: f.points,
		Iterations: found.Iterations, Status: found.Status}
	if f.shots != nil {
		squares, _, err := f.shots.distances()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		for _, square := range squares {
			out.Residuals = append(out.Residuals, math.Sqrt(max(0, square)))
		}
		if f.shots.worst() > 10*f.shots.tolerance && out.Status == geom.Converged {
			out.Status = geom.Stalled
		}
	} else {
		for _, g := range f.logs {
			out.Residuals, out.Misses = append(out.Residuals, g.Length), append(out.Misses, g.Velocity)
		}
	}
	for i, d := range out.Residuals {
		out.Variance += w[i] * d * d
	}
	out.R2 = 1
	if mean.Variance > 0 {
		out.R2 = 1 - out.Variance/mean.Variance
	}
	out.Status = max(out.Status, mean.Status)
	if without == nil {
		return out, nil
	}
	points := make([][]float64, len(others))
	for k, s := range far {
		if g, err := r.space.Shoot(f.p, floats.ScaleTo(make([]float64, len(f.p)), s, f.m[0])); err == nil {
			points[k] = g.End
		} else {
			points[k] = slices.Repeat([]float64{math.NaN()}, len(f.p))
		}
	}
	for k, g := range r.perhaps(points, others) {
		i := without[k]
		out.Fitted, out.Residuals = slices.Insert(out.Fitted, i, points[k]), slices.Insert(out.Residuals, i, g.Length)
		if f.shots == nil {
			out.Misses = slices.Insert(out.Misses, i, g.Velocity)
		}
	}
	if r.Stopped() {
		out.Status = geom.Cancelled
	}
	return out, nil
}

// standardised returns the weighted mean of times, rounded, their standard deviation from there, and what lies between them
// in units of this. Differences are taken before anything is rounded to the size of the times, and squares of numbers
// around 1: times may be days of any calendar, in any unit. The deviation is 0 where all that have weight are equal.
func standardised(t, w []float64) (origin, scale float64, standard []float64) {
	_, exponent := math.Frexp(floats.Norm(t, math.Inf(1)))
	first := 0
	for w[first] == 0 {
		first++
	}
	small := func(t float64) float64 { return math.Ldexp(t, -exponent) }
	centre, equal := small(t[first]), true
	for i := range t {
		centre += w[i] * (small(t[i]) - small(t[first]))
		equal = equal && (w[i] == 0 || t[i] == t[first])
	}
	if equal {
		return t[first], 0, nil
	}
	origin = math.Ldexp(centre, exponent)
	size := 0.0
	for i := range t {
		standard = append(standard, small(t[i])-centre)
		size = max(size, math.Abs(standard[i]))
	}
	for i, s := range standard {
		scale += w[i] * (s / size) * (s / size)
	}
	scale = size * math.Sqrt(scale)
	floats.Scale(1/scale, standard)
	return origin, math.Ldexp(scale, exponent), standard
}

// String says what the regression is in one line.
func (r *Regression[P]) String() string {
	return fmt.Sprintf("geodesic regression of %d samples, R² %.3f, %s after %d iterations", len(r.Fitted), r.R2, r.Status, r.Iterations)
}

// At returns the points γ(t), one for each given time, in the unit of the times of Regress.
func (r *Regression[P]) At(on geom.Of[P], t ...float64) ([]P, error) {
	points := make([]P, len(t))
	momentum := geom.Numbers(r.Momentum)
	for i, t := range t {
		p := floats.ScaleTo(make([]float64, len(momentum)), t-r.Origin, momentum)
		g, err := on.Geometry().Shoot(r.Point, geom.Like(r.Point, p))
		if err != nil {
			return nil, fmt.Errorf("geodesic regression at %g: %w", t, err)
		}
		points[i] = g.End
	}
	return points, nil
}
