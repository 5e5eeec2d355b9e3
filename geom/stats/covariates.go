package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
)

// RegressionTest tests whether covariates explain samples beside known ones, which may be none: whether the v_k of the tested ones are
// 0 in the model of Regress that has both. It permutes the residuals of the model without the tested covariates (Freedman and Lane, J.
// Business Econ. Statist. 1, 1983). These are the Misses, times √w_i, moved to p in parallel along the geodesics of that model, where they
// are vectors e_i of one tangent space; of no known covariates they are the logarithms at the Fréchet mean. The statistic is the partial
// R², the share of Σ ‖e_i‖² that least squares in this space explain by the tested covariates, with a constant and the known ones taken
// away from them: F, which orders permutations alike, is R²/(1 − R²) times the ratio of the degrees of freedom. In flat space it is that
// of the regressions; elsewhere what is left out are curvature times squares of the residuals and of the way from p. It holds its size if
// residuals, moved to p, are independent and alike, but for √w_i. The command notebooks/calibrate measures how often it rejects where
// the tested covariates do nothing.
//
// A covariate in two values, of groups, is tested by the distance of the groups as by TangentMeanDistance. A factor of more levels is
// tested by all of its covariates together. With Mismatch the vectors are the v of the minimum in d_σ, and norms are those of
// (g* + σ²)⁻¹ at p.
//
// It takes Weights, Start, Mismatch, Tolerance and MaxIterations as Regress does. Equal seeds give equal permutations.
func RegressionTest[P geom.Point](on geom.Of[P], known, tested [][]float64, samples []P, permutations int, seed uint64, opts ...MeanOption) (*Test, error) {
	s := on.Geometry()
	r, err := newRun("test of covariates", s, 0, opts)
	if err != nil {
		return nil, err
	}
	defer r.End()
	x, w, err := samplesOf(r, s, samples)
	if err != nil {
		return nil, err
	}
	with, _ := weighted(w)
	x, w = pick(x, with), pick(w, with)
	covariates := make([][]float64, 0, len(known)+len(tested))
	for k, c := range slices.Concat(known, tested) {
		if len(c) != len(samples) {
			return nil, fmt.Errorf("%s: covariate %d has %d values for %d samples", r.Name, k, len(c), len(samples))
		}
		covariates = append(covariates, pick(c, with))
	}
	if len(tested) == 0 {
		return nil, fmt.Errorf("%s: no covariates to test", r.Name)
	}
	d, err := newDesign(covariates, w)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; covariates are counted from the first known one on", r.Name, err)
	}
	if len(with) < len(covariates)+2 {
		return nil, fmt.Errorf("%s: %d samples with weight leave no degrees of freedom beside %d covariates and a constant", r.Name, len(with), len(covariates))
	}
	t := &Test{}
	return t, r.permute(t, "partial R²", len(x), permutations, seed, func() (of, observed func(order []int) (float64, error), err error) {
		e, flat, err := r.left(t, covariates[:len(known)], x, w)
		if err != nil || r.Stopped() {
			return nil, nil, err
		}
		of, err = d.partial(len(known), w, e, flat)
		return of, of, err
	})
}

// left returns the residuals of a model at its p, as vectors and as covectors, whose products are the inner products. It puts the Status
// of the model into t.
func (r *run) left(t *Test, covariates, samples [][]float64, w []float64) (e, flat [][]float64, err error) {
	var point []float64
	inner := *r
	if len(covariates) == 0 {
		mean, err := inner.mean(samples, w)
		if err != nil {
			return nil, nil, err
		}
		point, e, flat, t.Status = mean.Point, mean.Velocities, mean.Momenta, mean.Status
	} else {
		g, err := inner.regress(covariates, samples, w)
		if err != nil {
			return nil, nil, err
		}
		if point, t.Status = g.Point, g.Status; r.Stopped() {
			return nil, nil, nil
		}
		if e, err = g.gathered(r.space, covariates); err != nil {
			return nil, nil, err
		}
		if r.sigma == 0 {
			out, err := musical(r.space, "flat", point, e, geom.Vector, geom.Covector, geom.Flat)
			if err != nil {
				return nil, nil, err
			}
			flat = out.Matrix(0)
		}
	}
	if r.sigma == 0 {
		return e, flat, nil
	}
	at, err := cometricAt(r.space, point)
	if err != nil {
		return nil, nil, err
	}
	flat = nil
	for _, v := range e {
		flat = append(flat, at.solve(r.sigma*r.sigma, v))
	}
	return e, flat, nil
}

// partial returns the share of the squares of vectors e_i that the covariates from the number known on explain, as a function of the order
// of the e_i, with a constant and the covariates before taken away.
func (d *design) partial(known int, w []float64, e, flat [][]float64) (func(order []int) (float64, error), error) {
	constant := slices.Repeat([]float64{1}, len(w))
	columns := append([][]float64{constant}, d.standard...)
	rows, err := orthonormal(columns, triangle(columns, w))
	if err != nil {
		return nil, err
	}
	total := 0.0
	for i := range e {
		total += w[i] * floats.Dot(e[i], flat[i])
	}
	if total == 0 {
		return nil, fmt.Errorf("all samples are on the model of the known covariates, which leaves nothing to explain")
	}
	return func(order []int) (float64, error) {
		squares := make([]float64, len(columns))
		share := make([]float64, len(e))
		for k := range columns {
			for i, j := range order { // √w_i q_ik times √w_j e_j
				share[j] = math.Sqrt(w[i]*w[j]) * rows[i][k]
			}
			squares[k] = floats.Dot(combine(share, e), combine(share, flat))
		}
		explained := floats.Sum(squares[1+known:])
		return explained / (total - floats.Sum(squares[:1+known])), nil
	}, nil
}
