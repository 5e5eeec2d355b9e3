package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Regression is the model γ(c) = Exp_p(Σ_k (c_k − c̄_k) v_k) of points by the K columns of a linear.Design that fits samples x_i, whose columns
// are c_ik, best. For one covariate γ is a geodesic.
type Regression[P geom.Point] struct {
	Columns    []string  // [K], "age" of a Covariate, "sex male" of a Factor: 1 for male, 0 for the first category
	Origin     []float64 // [K], c̄_k, the weighted means of the columns
	Point      P         // p = γ(c̄)
	Velocities []P       // [K], v_k at p, in the unit of length per unit of c_k
	Momenta    []P       // [K], v_k♭
	Fitted     []P       // γ(c_i)
	Residuals  []float64 // d(γ(c_i), x_i); with RelativeNoise d_σ
	Misses     []P       // Log of x_i at γ(c_i), tangent vectors; with RelativeNoise the v of the minimum in d_σ
	Variance   float64   // Σ w_i Residuals_i²
	R2         float64   // R² = 1 − Variance/Σ w_i d(y, x_i)², y the Fréchet mean of the samples; NaN if they are all at y (see FrechetMean)

	Iterations int
	Status     geom.Status // the worse of those of the search and of the Fréchet mean, on which R2 depends
}

// Regress returns the point p and the velocities v_k at p that minimise
//
//	Σ w_i d(Exp_p(Σ_k (c_ik − c̄_k) v_k), x_i)²
//
// for samples x_i and the columns c_k of a linear model. This is geodesic regression (Fletcher, Int. J. Computer Vision 105,
// 2013), and for several covariates that of Kim et al. (CVPR 2014). The terms of the model have one value per sample, numbers in
// any unit or categories; v_k is a length per unit of its column:
//
//	age, sex := linear.Covariate("age", ages...), linear.Factor("sex", sexes...)
//	r, err := stats.Regress(space, samples, linear.Terms{age})
//	both, err := stats.Regress(space, samples, linear.Terms{age, sex})
//	all, err := stats.Regress(space, samples, linear.Terms{age, sex, linear.Interaction(age, sex)})
//
// Velocities[1] of both is the difference of the sexes at any age. Velocities[2] of all is the difference of their speeds, and its Velocities[1] that of
// the sexes at age 0.
//
// With RelativeNoise(σ), for many landmarks, d_σ replaces d: a second geodesic leads from γ(c_i) towards x_i and may miss it. Only the
// lengths of these second geodesics are penalised, not that of γ, so the velocities are not shrunk. The points of the manifold
// must then be coordinates: a Charted manifold is an error.
//
// It is an error if there are no terms, if a term adds nothing to the constant and the terms before it (see linear.NewDesign), or
// if a sample is not a point. A search that does not converge is not an error: Status says so. RegressionTest tests whether a
// covariate matters.
//
// The options are Weights, Start (of the search for the Fréchet mean), RelativeNoise, Tolerance (default 1e-6, with RelativeNoise 0.01: see
// solve.Minimise) and MaxIterations (500).
//
// # Algorithm
//
// The search starts at the Fréchet mean, with the regression in its tangent space. It works with centred and orthonormal columns,
// so that neither their units nor their order matter. Its gradient is exact: reverse-mode differentiation computes it from the
// logarithms of the residuals.
func Regress[P geom.Point](on geom.Of[P], samples []P, model linear.Terms, opts ...MeanOption) (_ *Regression[P], err error) {
	s := on.Geometry()
	r := newRun("geodesic regression", s, 0)
	defer r.end(&err)
	x, w := samplesOf(r, s, samples, opts)
	try.FailIf(len(model) == 0, "no terms: then the model is the Fréchet mean")
	g := r.regress(try.Get(linear.NewDesign(len(x), nil, w, model...)), x, w)
	return &Regression[P]{g.Columns, g.Origin, s.Point(g.Point), s.Points(g.Velocities), s.Points(g.Momenta), s.Points(g.Fitted), g.Residuals, s.Points(g.Misses), g.Variance, g.R2,
		g.Iterations, g.Status}, nil
}

func (r *run) regress(d *linear.Design, samples [][]float64, w []float64) *Regression[geom.Vec] {
	with, without := weighted(w)
	others := lists.Pick(samples, without)
	samples, w = lists.Pick(samples, with), lists.Pick(w, with)
	first := *r
	mean := first.mean(samples, w)
	if r.Tolerance == 0 {
		if r.Tolerance = 1e-6; r.sigma > 0 {
			r.Tolerance = 0.01
		}
	}
	f := r.tangentFit(d, samples, w, mean, lists.Pick(d.Rows, with))
	var found *solve.Minimum
	if mean.Variance > 0 {
		found = f.optimise()
	} else { // all samples are at the mean, or it was cancelled before it was known: the model stays at it
		found, f.shots, f.points = &solve.Minimum{Status: mean.Status}, nil, repeat(mean.Point, len(samples))
		for k := range f.m {
			f.m[k] = make([]float64, len(mean.Point))
		}
		for i := range samples {
			f.logs = append(f.logs, &geodesic{Velocity: mean.Velocities[i], Length: mean.Distances[i]})
		}
	}
	out := &Regression[geom.Vec]{Columns: d.Columns, Origin: d.Origin, Point: f.p, Fitted: f.points, Iterations: found.Iterations, Status: found.Status}
	out.Velocities, out.Momenta = slopes(d, f)
	f.misses(out)
	for i, d := range out.Residuals {
		out.Variance += w[i] * d * d
	}
	out.R2 = 1 - out.Variance/mean.Variance
	out.Status = max(out.Status, mean.Status)
	if without == nil {
		return out
	}
	r.insert(out, f, without, lists.Pick(d.Rows, without), others)
	if r.Stopped() {
		out.Status = geom.Cancelled
	}
	return out
}

// tangentFit is a fit at the mean, with the regression in its tangent space.
func (r *run) tangentFit(d *linear.Design, samples [][]float64, w []float64, mean *Mean[geom.Vec], scores [][]float64) *fit {
	f := r.newFit(samples, w, mean, scores)
	for k := range d.Columns {
		f.m = append(f.m, make([]float64, len(mean.Point)))
		for i, s := range f.s {
			floats.AddScaled(f.m[k], w[i]*s[k], mean.Momenta[i])
		}
	}
	if r.sigma > 0 {
		f.shots = newShots(r.Context(), f.space, samples)
		f.shots.variance = r.sigma * r.sigma
		f.shots.cometric = cometricAt(r.space, mean.Point)
		for i, root := range f.shots.roots {
			root.X = floats.SubTo(make([]float64, len(mean.Point)), mean.Momenta[i], lists.Combine(f.s[i], f.m))
			f.shots.tolerance = max(f.shots.tolerance, 1e-3*r.Tolerance*floats.Distance(samples[i], mean.Point, 2))
		}
	}
	return f
}

// misses gives a regression the residuals.
func (f *fit) misses(out *Regression[geom.Vec]) {
	if f.shots == nil {
		for _, g := range f.logs {
			g = known(g)
			out.Residuals, out.Misses = append(out.Residuals, g.Length), append(out.Misses, g.Velocity)
		}
		return
	}
	squares, _ := f.shots.distances()
	for i, v := range f.shots.velocities() {
		out.Residuals, out.Misses = append(out.Residuals, math.Sqrt(max(0, squares[i]))), append(out.Misses, v)
	}
	if f.shots.worst() > 10*f.shots.tolerance && out.Status == geom.Converged {
		out.Status = geom.Stalled
	}
}

// insert adds the samples without weight, whose rows of the design are far, to a result.
func (r *run) insert(out *Regression[geom.Vec], f *fit, without []int, far, others [][]float64) {
	points := make([][]float64, len(others))
	for k, s := range far {
		if g, err := r.space.Shoot(f.p, lists.Combine(s, f.m)); err == nil {
			points[k] = g.End
		} else {
			points[k] = slices.Repeat([]float64{math.NaN()}, len(f.p))
		}
	}
	for k, g := range r.perhaps(points, others) {
		i := without[k]
		out.Fitted, out.Residuals = slices.Insert(out.Fitted, i, points[k]), slices.Insert(out.Residuals, i, g.Length)
		out.Misses = slices.Insert(out.Misses, i, g.Velocity)
	}
}

// slopes returns the velocities and momenta of a fit by the unit of each column.
func slopes(d *linear.Design, f *fit) (velocities, momenta [][]float64) {
	for _, to := range []struct {
		name string
		kind geom.Kind
		of   func(m geom.Manifold, x, p *graph.Node) *graph.Node
		out  *[][]float64
	}{
		{"sharp", geom.Vector, geom.Sharp, &velocities},
		{"covector", geom.Covector, func(_ geom.Manifold, _, p *graph.Node) *graph.Node { return p }, &momenta}, // without parts across charts
	} {
		values := musical(f.space, to.name, f.p, f.m, geom.Covector, to.kind, to.of)
		*to.out = try.Get(d.Slopes(values.Matrix(0)))
	}
	return velocities, momenta
}

// String says what the regression is in one line.
func (r *Regression[P]) String() string {
	by := ""
	if len(r.Origin) > 1 {
		by = fmt.Sprintf(" on %d columns", len(r.Origin))
	}
	return fmt.Sprintf("geodesic regression of %d samples%s, R² %.3f, %s after %d iterations", len(r.Fitted), by, r.R2, r.Status, r.Iterations)
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (r *Regression[P]) Err() error { return solve.NotNil(r).Status.Err(r) }

// At returns the point γ(c) for one value of each of the Columns, in the units of Regress.
func (r *Regression[P]) At(on geom.Of[P], c ...float64) (point P, err error) {
	solve.NotNil(r)
	if len(c) != len(r.Origin) {
		return point, fmt.Errorf("geodesic regression: %d values for %d columns", len(c), len(r.Origin))
	}
	g, err := r.shoot(on.Geometry(), c)
	if err != nil {
		return point, fmt.Errorf("geodesic regression at %g: %w", c, err)
	}
	return g.End, nil
}

// shoot returns the geodesic from p to γ(c).
func (r *Regression[P]) shoot(s *geom.Space[P], c []float64) (*geom.Geodesic[P], error) {
	momentum := make([]float64, len(shape.Flat(r.Point)))
	for k, p := range r.Momenta {
		floats.AddScaled(momentum, c[k]-r.Origin[k], shape.Flat(p))
	}
	return s.Shoot(r.Point, s.Point(momentum))
}

// gathered returns the Misses moved to p, in parallel along the geodesics from there, of samples with these values of the columns.
func (r *Regression[P]) gathered(s *geom.Space[P], values [][]float64) []P {
	var out []P
	for i, miss := range r.Misses {
		g := try.Get(r.shoot(s, values[i]))
		out = append(out, back(s, g, r.Fitted[i], miss)...)
	}
	return out
}
