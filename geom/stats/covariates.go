package stats

import (
	"math"
	"slices"

	"anatomy/geom"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// RegressionTest tests whether the coefficients v_k of the tested terms are 0 in the model of Regress that has the known and the tested terms. There
// may be no known ones. P is (1 + n)/(1 + N), where n of the N permutations have a partial R² at least as large as that of the samples. This partial
// R² is the Statistic.
//
// A Factor of two categories is tested by the distance of the groups, as by TangentMeanDistance. With RelativeNoise the e_i below are the v of
// the minimum in d_σ, and norms are those of (g* + σ²)⁻¹ at p. The options Weights, Start, RelativeNoise, Tolerance and MaxIterations are
// those of Regress.
//
// # Algorithm
//
// The residuals of the model without the tested terms are permuted (Freedman and Lane, J. Business Econ. Statist. 1, 1983). They are the
// Misses of that model, times √w_i. Parallel transport along its geodesics moves them to p, where they are vectors e_i of one tangent
// space. Without known terms the e_i are the logarithms at the Fréchet mean.
//
// The partial R² is the share of Σ ‖e_i‖² that least squares in this tangent space explain by the tested terms, made orthogonal to a constant and the
// known terms. F orders permutations alike: it is R²/(1 − R²) times the ratio of the degrees of freedom. In flat space this is the R² of the
// regressions. On curved manifolds it neglects curvature times squares of the residuals and of the distance from p.
//
// If the moved residuals are independent and have one distribution, up to √w_i, a true hypothesis is rejected as often as the level says.
// notebooks/lab/calibrate measures how often that is on curved manifolds.
func RegressionTest[P geom.Point](on geom.Of[P], samples []P, known, tested linear.Terms, p linear.Permutations, opts ...MeanOption) (_ *Test, err error) {
	s := on.Geometry()
	r := newRun("test of covariates", s, 0)
	defer r.end(&err)
	x, w := samplesOf(r, s, samples, opts)
	try.FailIf(len(tested) == 0, "no terms to test: give at least one")
	d := try.Get(linear.NewDesign(len(x), nil, w, slices.Concat(known, tested)...))
	t := &Test{}
	var e, flat [][]float64
	var status geom.Status
	err = try.Run(func() { e, flat, status = r.left(known, x, w) })
	if r.Stopped() {
		t.Statistic, t.P, t.Status = math.NaN(), 1, geom.Cancelled
		return t, nil
	}
	try.Do(err)
	// Coordinates of the residuals, less their mean, in an orthonormal basis; those without weight are not looked at.
	with, _ := weighted(w)
	pca := tangentPCA(&Mean[geom.Vec]{Velocities: e, Momenta: flat, Weights: lists.Pick(w, with)})
	try.FailIf(len(pca.Modes) == 0, "all samples are on the model of the known terms, which leaves nothing to explain")
	rows := slices.Repeat([][]float64{make([]float64, len(pca.Modes))}, len(x))
	for k, i := range with {
		rows[i] = pca.Scores[k]
	}
	p.Task = r.Task
	partial := try.Get(try.Get(d.Fit(rows)).Partial(len(known), p))
	t.Statistic, t.Permuted = partial.R2, partial.Permuted
	t.end(partial.Test, p, status)
	return t, nil
}

// left returns the residuals of a model at its p, of the samples that have weight, as vectors and as covectors, whose products are the inner
// products.
func (r *run) left(terms linear.Terms, samples [][]float64, w []float64) (e, flat [][]float64, status geom.Status) {
	var point []float64
	inner := *r
	with, _ := weighted(w)
	if len(terms) == 0 {
		mean := inner.mean(lists.Pick(samples, with), lists.Pick(w, with))
		point, e, flat, status = mean.Point, mean.Velocities, mean.Momenta, mean.Status
	} else {
		d := try.Get(linear.NewDesign(len(samples), nil, w, terms...))
		g := inner.regress(d, samples, w)
		if r.Stopped() {
			return nil, nil, 0
		}
		point, status = g.Point, g.Status
		g.Misses, g.Fitted = lists.Pick(g.Misses, with), lists.Pick(g.Fitted, with)
		rows := lists.Each(with, d.Row)
		e = g.gathered(r.space, rows)
		if r.sigma == 0 {
			flat = musical(r.space, "flat", point, e, geom.Vector, geom.Covector, geom.Flat).Matrix(0)
		}
	}
	if r.sigma == 0 {
		return e, flat, status
	}
	at := cometricAt(r.space, point)
	flat = nil
	for _, v := range e {
		flat = append(flat, at.solve(r.sigma*r.sigma, v))
	}
	return e, flat, status
}
