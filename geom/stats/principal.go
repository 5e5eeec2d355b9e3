package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/try"
)

// PrincipalGeodesics returns the first principal geodesics through the mean y of the samples. They are found one after the other:
// mode n is the unit vector u_n, orthogonal to u_1 … u_(n−1), for which the minimum over all scores s_ik of
//
//	Σ_i w_i d(Exp_y(Σ_(k≤n) s_ik u_k), x_i)²
//
// is least (Sommer, Lauze and Nielsen, Adv. Comput. Math. 40, 2014). In flat space, and for samples close to the mean, they are the
// modes of TangentPCA, where the search starts. Explained is the share of Σ w_i d(y, x_i)² by which each mode reduces this sum.
// Variances are those of the scores, (Σ w_i s_i² − (Σ w_i s_i)²)/(1 − Σ w_i²). Scores of samples of weight 0 are those of TangentPCA.
//
// The samples are those of which mean is the Fréchet mean, in the same order, made without Mismatch. It takes Tolerance (default
// 1e-6: see solve.Minimise) and MaxIterations (500 for every mode).
func PrincipalGeodesics[P geom.Point](on geom.Of[P], samples []P, mean *Mean[P], modes int, opts ...LimitOption) (_ *PCA[P], err error) {
	s := on.Geometry()
	r := newRun("principal geodesics", s, 1e-6)
	defer r.end(&err)
	x, _ := samplesOf(r, s, samples, opts)
	if mean == nil || len(samples) != len(mean.Velocities) {
		return nil, fmt.Errorf("%d samples, want those of the mean, all of them in the same order", len(samples))
	}
	if mean.Median {
		return nil, fmt.Errorf("want the Fréchet mean of the samples, not their median; TangentPCA takes it")
	}
	if mean.Imbalance > 0 || mean.Unsettled > 0 {
		return nil, fmt.Errorf("the mean was made with Mismatch: its distances hold noise, which no geodesic explains; take TangentPCA, or a mean without")
	}
	p := r.principalGeodesics(x, &Mean[geom.Vec]{Point: s.Vector(mean.Point), Weights: mean.Weights, Variance: mean.Variance, Status: mean.Status,
		Velocities: s.Vectors(mean.Velocities), Momenta: s.Vectors(mean.Momenta)}, modes)
	return pcaOf(p, s.Point), nil
}

func (r *run) principalGeodesics(samples [][]float64, mean *Mean[geom.Vec], modes int) *PCA[geom.Vec] {
	tangent := tangentPCA(mean)
	if modes < 1 || modes > len(tangent.Modes) {
		try.Fail("%d modes asked for; these samples have %d", modes, len(tangent.Modes))
	}
	with, without := weighted(mean.Weights)
	f := r.newFit(pick(samples, with), pick(mean.Weights, with), mean)
	f.freeScores, f.s = true, make([][]float64, len(with))
	p := &PCA[geom.Vec]{Point: mean.Point, Status: mean.Status}
	left := mean.Variance
	for k := range modes {
		f.fixed = k
		f.m = append(f.m, tangent.Momenta[k])
		for j, i := range with {
			f.s[j] = append(append([]float64{}, f.s[j]...), tangent.Scores[i][k])
		}
		found := f.optimise()
		f.orthonormalise(p)
		p.Explained = append(p.Explained, (left-found.Value)/mean.Variance)
		left = found.Value
		p.Iterations += found.Iterations
		if p.Status = max(p.Status, found.Status); found.Status == geom.Cancelled {
			break
		}
	}
	p.Scores = slices.Clone(f.s)
	for _, i := range without {
		p.Scores = slices.Insert(p.Scores, i, tangent.Scores[i][:len(p.Modes)])
	}
	square := floats.Dot(f.weights, f.weights)
	for k := range p.Modes {
		first, second := 0.0, 0.0
		for i, s := range f.s {
			first += f.weights[i] * s[k]
			second += f.weights[i] * s[k] * s[k]
		}
		p.Variances = append(p.Variances, (second-first*first)/(1-square))
	}
	return p
}

// orthonormalise makes the last momentum of the model a unit vector orthogonal to the others, changes the scores so that
// the points stay where they are, and adds the mode to p.
func (f *fit) orthonormalise(p *PCA[geom.Vec]) {
	last := len(f.m) - 1
	m := append([]float64{}, f.m[last]...)
	for range 2 { // twice is enough, to rounding
		for k, u := range p.Modes {
			c := floats.Dot(m, u)
			floats.AddScaled(m, -c, p.Momenta[k])
			for i := range f.s {
				f.s[i][k] += c * f.s[i][last]
			}
		}
	}
	v := f.sharp(m)
	norm := signOf(v) * math.Sqrt(floats.Dot(m, v))
	floats.Scale(1/norm, m)
	floats.Scale(1/norm, v)
	for i := range f.s {
		f.s[i][last] *= norm
	}
	f.m[last] = m
	p.Modes, p.Momenta = append(p.Modes, v), append(p.Momenta, m)
}
