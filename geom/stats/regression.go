package stats

import (
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
)

// Regression is the model γ(c) = Exp_p(Σ_k (c_k − c̄_k) v_k) of points by K covariates that fits samples x_i, whose covariates are c_ik,
// best. For one covariate γ is a geodesic.
type Regression[P geom.Point] struct {
	Origin     []float64 // [K], c̄_k, the weighted means of the covariates
	Point      P         // p = γ(c̄)
	Velocities []P       // [K], v_k at p, in the unit of length per unit of c_k
	Momenta    []P       // [K], v_k♭
	Fitted     []P       // γ(c_i)
	Residuals  []float64 // d(γ(c_i), x_i); with Mismatch d_σ
	Misses     []P       // Log of x_i at γ(c_i), tangent vectors; with Mismatch the v of the minimum in d_σ
	Variance   float64   // Σ w_i Residuals_i²
	R2         float64   // R² = 1 − Variance/Σ w_i d(y, x_i)², y the Fréchet mean of the samples

	Iterations int
	Status     geom.Status // the worse of those of the search and of the Fréchet mean, on which R2 depends
}

// Regress returns the p and v_k that minimise Σ w_i d(Exp_p(Σ_k (c_ik − c̄_k) v_k), x_i)²: geodesic regression (Fletcher, Int. J. Computer
// Vision 105, 2013), on several covariates that of Kim et al. (CVPR 2014). covariates[k] holds the values c_ik of covariate k, numbers in
// any unit, one for each sample:
//
//	r, err := stats.Regress(space, [][]float64{age}, samples)                // one geodesic
//	r, err := stats.Regress(space, [][]float64{age, sex}, samples)           // sex is 0 or 1: v_1 is the difference at any age
//	r, err := stats.Regress(space, [][]float64{age, squaresOfAge}, samples)  // a trend that bends
//
// A factor of G levels is G − 1 covariates of 0 and 1. The search starts at the Fréchet mean, with the regression in its tangent space,
// and has the covariates centred and orthonormal, so that neither their units nor their order play a part. It uses the exact gradient,
// which reverse-mode differentiation computes from the logarithms of the residuals. A covariate that is constant, or to rounding a
// combination of a constant and the covariates before it, is an error.
//
// Mismatch(σ), for many landmarks, replaces d by d_σ: from each γ(c_i) a second geodesic leads towards x_i, and may miss it. Only
// the lengths of these second geodesics are penalised, not those of γ, so the velocities are not shrunk. The points of
// the manifold must be coordinates; a Charted manifold is an error.
//
// It takes Weights, Start (for the Fréchet mean), Mismatch, Tolerance (default 1e-6, with Mismatch 0.01: see solve.Minimise) and
// MaxIterations (500). Whether a covariate matters tells RegressionTest.
func Regress[P geom.Point](on geom.Of[P], covariates [][]float64, samples []P, opts ...MeanOption) (*Regression[P], error) {
	s := on.Geometry()
	r, err := newRun("geodesic regression", s, 0, opts)
	if err != nil {
		return nil, err
	}
	defer r.End()
	x, w, err := samplesOf(r, s, samples)
	if err != nil {
		return nil, err
	}
	g, err := r.regress(covariates, x, w)
	if err != nil {
		return nil, err
	}
	return &Regression[P]{g.Origin, s.Point(g.Point), s.Points(g.Velocities), s.Points(g.Momenta), s.Points(g.Fitted), g.Residuals, s.Points(g.Misses), g.Variance, g.R2,
		g.Iterations, g.Status}, nil
}

func (r *run) regress(covariates [][]float64, samples [][]float64, w []float64) (*Regression[geom.Vec], error) {
	d, err := newDesign(covariates, w)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	with, without := weighted(w)
	others, far := pick(samples, without), pick(d.white, without)
	samples, w = pick(samples, with), pick(w, with)
	first := *r
	mean, err := first.mean(samples, w)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	if r.Tolerance == 0 {
		if r.Tolerance = 1e-6; r.sigma > 0 {
			r.Tolerance = 0.01
		}
	}
	f := &fit{run: r, samples: samples, weights: w, freePoint: true, variance: mean.Variance,
		model: model{p: mean.Point, s: pick(d.white, with)}}
	for k := range covariates {
		f.m = append(f.m, make([]float64, len(mean.Point)))
		for i, s := range f.s {
			floats.AddScaled(f.m[k], w[i]*s[k], mean.Momenta[i])
		}
	}
	if r.sigma > 0 {
		f.shots = newShots(r.Context(), r.space, samples)
		f.shots.variance = r.sigma * r.sigma
		if f.shots.cometric, err = cometricAt(r.space, mean.Point); err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		for i, root := range f.shots.roots {
			root.X = floats.SubTo(make([]float64, len(mean.Point)), mean.Momenta[i], combine(f.s[i], f.m))
			f.shots.tolerance = max(f.shots.tolerance, 1e-3*r.Tolerance*floats.Distance(samples[i], mean.Point, 2))
		}
	}
	found, err := f.optimise()
	if err != nil {
		return nil, err
	}
	out := &Regression[geom.Vec]{Origin: d.origin, Point: f.p, Fitted: f.points, Iterations: found.Iterations, Status: found.Status}
	if out.Velocities, out.Momenta, err = d.slopes(f); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	}
	if f.shots != nil {
		squares, _, err := f.shots.distances()
		if err == nil {
			out.Misses, err = f.shots.velocities()
		}
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
		if g, err := r.space.Shoot(f.p, combine(s, f.m)); err == nil {
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
	if r.Stopped() {
		out.Status = geom.Cancelled
	}
	return out, nil
}

// design are covariates as the search has them: z_ik = (c_ik − c̄_k)/s_k, in units of their standard deviations, and combinations of
// these that are orthonormal.
type design struct {
	origin, scale []float64     // [K], c̄_k and s_k
	standard      [][]float64   // [K][N], z
	white         [][]float64   // [N][K], q with z = q R and Σ_i w_i q_ik q_il = δ_kl
	triangle      *mat.TriDense // [K, K], R
}

func newDesign(covariates [][]float64, w []float64) (*design, error) {
	if len(covariates) == 0 {
		return nil, fmt.Errorf("no covariates: then the model is the Fréchet mean")
	}
	d := &design{}
	for k, c := range covariates {
		if len(c) != len(w) {
			return nil, fmt.Errorf("covariate %d has %d values for %d samples", k, len(c), len(w))
		}
		for i, v := range c {
			if !finite(v) {
				return nil, fmt.Errorf("value %d of covariate %d is %g", i, k, v)
			}
		}
		origin, scale, standard := standardised(c, w)
		if scale == 0 {
			return nil, fmt.Errorf("all values of covariate %d are %g, which determines no slope", k, origin)
		}
		d.origin, d.scale, d.standard = append(d.origin, origin), append(d.scale, scale), append(d.standard, standard)
	}
	with, _ := weighted(w)
	if len(covariates) >= len(with) {
		return nil, fmt.Errorf("%d covariates for %d samples with weight, want fewer", len(covariates), len(with))
	}
	d.triangle = triangle(d.standard, w)
	for k, c := range covariates {
		rounding := 0x1p-52 * floats.Norm(c, math.Inf(1)) / d.scale[k]
		if k > 0 && !(math.Abs(d.triangle.At(k, k)) > max(1e-7, 100*rounding)) {
			return nil, fmt.Errorf("covariate %d is a combination of a constant and the covariates before it, to rounding, which determines no slope: leave it out", k)
		}
	}
	var err error
	d.white, err = orthonormal(d.standard, d.triangle)
	return d, err
}

// triangle returns the R of the decomposition of columns c_k, [K][N], as Σ_l q_l R_lk with q orthonormal in the weights.
func triangle(columns [][]float64, w []float64) *mat.TriDense {
	a := mat.NewDense(len(w), len(columns), nil)
	for k, c := range columns {
		for i, v := range c {
			a.Set(i, k, math.Sqrt(w[i])*v)
		}
	}
	var qr mat.QR
	qr.Factorize(a)
	var r mat.Dense
	qr.RTo(&r)
	out := mat.NewTriDense(len(columns), mat.Upper, nil)
	for k := range columns {
		for l := range k + 1 {
			out.SetTri(l, k, r.At(l, k))
		}
	}
	return out
}

// orthonormal returns the rows of q, [N][K], for columns and their triangle.
func orthonormal(columns [][]float64, r *mat.TriDense) ([][]float64, error) {
	z := mat.NewDense(len(columns), len(columns[0]), slices.Concat(columns...))
	var q mat.Dense
	if err := r.SolveTo(&q, true, z); err != nil {
		return nil, fmt.Errorf("the covariates are too close to combinations of each other: %w", err)
	}
	rows := make([][]float64, len(columns[0]))
	for i := range rows {
		rows[i] = mat.Col(nil, i, &q)
	}
	return rows, nil
}

// slopes returns the velocities and momenta of a fit by the unit of each covariate: with Σ_k q_ik m_k = Σ_k z_ik u_k they are the
// u = R⁻¹ m, divided by s.
func (d *design) slopes(f *fit) (velocities, momenta [][]float64, err error) {
	for _, to := range []struct {
		name string
		kind geom.Kind
		of   func(m geom.Manifold, x, p *graph.Node) *graph.Node
		out  *[][]float64
	}{
		{"sharp", geom.Vector, geom.Sharp, &velocities},
		{"covector", geom.Covector, func(_ geom.Manifold, _, p *graph.Node) *graph.Node { return p }, &momenta}, // without parts across charts
	} {
		values, err := musical(f.space, to.name, f.p, f.m, geom.Covector, to.kind, to.of)
		if err != nil {
			return nil, nil, err
		}
		var u mat.Dense
		if err := d.triangle.SolveTo(&u, false, mat.NewDense(len(f.m), len(f.p), values.Flat(0))); err != nil {
			return nil, nil, fmt.Errorf("the covariates are too close to combinations of each other: %w", err)
		}
		for k, scale := range d.scale {
			row := u.RawRowView(k)
			for j := range row {
				if row[j] /= scale; !finite(row[j]) {
					return nil, nil, fmt.Errorf("coordinate %d of the velocity is %g by the unit of covariate %d, whose standard deviation is %g: take another unit", j, row[j], k, scale)
				}
			}
			*to.out = append(*to.out, row)
		}
	}
	return velocities, momenta, nil
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
	by := ""
	if len(r.Origin) > 1 {
		by = fmt.Sprintf(" on %d covariates", len(r.Origin))
	}
	return fmt.Sprintf("geodesic regression of %d samples%s, R² %.3f, %s after %d iterations", len(r.Fitted), by, r.R2, r.Status, r.Iterations)
}

// At returns the point γ(c) for one value of each covariate, in the units of Regress.
func (r *Regression[P]) At(on geom.Of[P], c ...float64) (point P, err error) {
	if len(c) != len(r.Origin) {
		return point, fmt.Errorf("geodesic regression: %d values for %d covariates", len(c), len(r.Origin))
	}
	g, err := r.shoot(on.Geometry(), c)
	if err != nil {
		return point, fmt.Errorf("geodesic regression at %g: %w", c, err)
	}
	return g.End, nil
}

// shoot returns the geodesic from p to γ(c).
func (r *Regression[P]) shoot(s *geom.Space[P], c []float64) (*geom.Geodesic[P], error) {
	momentum := make([]float64, len(s.Vector(r.Point)))
	for k, p := range r.Momenta {
		floats.AddScaled(momentum, c[k]-r.Origin[k], s.Vector(p))
	}
	return s.Shoot(r.Point, s.Point(momentum))
}

// gathered returns the Misses moved to p, in parallel along the geodesics from there.
func (r *Regression[P]) gathered(s *geom.Space[P], covariates [][]float64) ([]P, error) {
	var out []P
	c := make([]float64, len(covariates))
	for i, miss := range r.Misses {
		for k := range c {
			c[k] = covariates[k][i]
		}
		g, err := r.shoot(s, c)
		if err != nil {
			return nil, err
		}
		v, err := back(s, g, r.Fitted[i], miss)
		if err != nil {
			return nil, err
		}
		out = append(out, v...)
	}
	return out, nil
}
