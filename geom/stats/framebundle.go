package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/framebundle"
)

// FrameMean is a mean with the covariance around it: a point of the frame bundle.
type FrameMean struct {
	framebundle.Point           // the mean X, and the Frame ν with the covariance ννᵀ
	Variances         []float64 // ‖ν_α‖²_g, falling; the vectors of Frame are orthogonal
	Sigma             float64   // standard deviation of a coordinate's noise: as given or chosen, or estimated

	Paths     []*framebundle.Geodesic // the most probable path to every sample
	Objective float64                 // what was minimised

	Gradient   float64 // norm of its gradient, by standard deviations: 0 at the mean
	Iterations int
	Status     geom.Status
}

// FrameBundleMean returns the Fréchet mean on the frame bundle, the mean x and the covariance ννᵀ of rank m that minimise
//
//	Σ w_i (½ ‖p_i‖² + λ |π Exp_FM(u, p_i) − x_i|²) + ½ log det(νᵀ g ν),  λ = 1/2σ²
//
// over u = (x, ν) and the momenta p_i: the negative logarithm of the likelihood of normal distributions on the manifold, with
// the energies of most probable paths in place of the logarithm of their density. (Sommer, Information Processing in Medical
// Imaging, 2015; Kühnel and Sommer print it with the opposite sign of the logarithm, without a lower bound.) In flat space
// it gives the mean and the covariance of the samples, the leading principal components for m < d. Distances |·| are those
// of the vectors that stand for points, coordinates or ambient vectors.
//
// For given u the momenta are those of most probable paths, and minus their mean is the derivative of the first sum; so the
// iteration varies u alone, along geodesics with the frame parallel, by preconditioned quasi-Newton steps.
//
// Mismatch gives σ. The default is 0 for m = d, where paths reach the samples, and else what principal components of the
// coordinates leave over. A frame vector of length n costs log n and saves up to |x_i|²/2σ²: with σ² above a quarter of the
// variance in its direction it would shrink to nothing, which is an error. λ grows from a small value to the one wanted.
//
// It takes Weights, Start, Mismatch, Tolerance (default 1e-5) and MaxIterations.
func FrameBundleMean(space *framebundle.Space, samples [][]float64, rank int, opts ...Option) (*FrameMean, error) {
	return frameBundleMean("Frame bundle mean", false, space, samples, rank, opts...)
}

// FrameBundlePCA is FrameBundleMean with the noise as a part of the model, and estimated: probabilistic principal components
// (Tipping and Bishop, J. Royal Statistical Society B 61, 1999) on a manifold of dimension d. It minimises
//
//	Σ w_i (½ ‖p_i‖² + |π Exp_FM(u, p_i) − x_i|²/2σ²) + ½ log det(νᵀ E ν + σ²) + ½ (d − m) log σ²
//
// over σ as well, E being the Euclidean metric of the vectors that stand for points. It wants m < d, and samples that do not
// lie in a submanifold of dimension m.
func FrameBundlePCA(space *framebundle.Space, samples [][]float64, rank int, opts ...Option) (*FrameMean, error) {
	return frameBundleMean("Frame bundle PCA", true, space, samples, rank, opts...)
}

// bundle is the objective, as a function of the numbers x, ν_1, …, ν_m and, where the noise is estimated, log σ².
type bundle struct {
	space    *framebundle.Space
	samples  [][]float64
	weights  []float64
	rank     int
	estimate bool // σ is estimated
	sigma    float64
	shift    float64 // makes the objective positive
	paths    []*framebundle.Geodesic
	steady   framebundle.Point // for the preconditioner
}

func frameBundleMean(task string, estimate bool, space *framebundle.Space, samples [][]float64, rank int, opts ...Option) (*FrameMean, error) {
	takes := []string{"Weights", "Start"}
	if !estimate {
		takes = append(takes, "Mismatch")
	}
	r, err := newRun(task, 1e-5, opts, takes...)
	if err != nil {
		return nil, err
	}
	defer r.end()
	w, err := r.samples(space.Geometry, samples)
	if err != nil {
		return nil, err
	}
	d := space.Geometry.M.Dim()
	if rank < 1 || rank > d || estimate && rank == d {
		return nil, fmt.Errorf("%s: rank %d in dimension %d", task, rank, d)
	}
	u, variances, err := r.principal(space, samples, w, rank)
	if err != nil {
		return nil, err
	}
	least := math.Sqrt(variances[rank-1])
	b := &bundle{space: space, samples: samples, weights: w, rank: rank, estimate: estimate, sigma: r.sigma}
	switch {
	case r.sigma > 0 && r.sigma > 0.49*least:
		return nil, fmt.Errorf("%s: Mismatch(%.3g) is too large for rank %d: the samples' standard deviation in direction %d is %.3g, and must be more than twice as large; lower the rank or the mismatch",
			task, r.sigma, rank, rank-1, least)
	case r.sigma == 0 && rank < d:
		var left float64
		for _, v := range variances[rank:] {
			left += v
		}
		b.sigma = min(max(math.Sqrt(left/float64(d-rank)), least/100), least/4)
	}
	levels := []float64{b.sigma}
	if !estimate {
		for s := max(4*b.sigma, least/64); s < least/3; s *= 4 {
			levels = append([]float64{s}, levels...)
		}
	}
	var found *minimum
	iterations := 0
	tolerance := r.tolerance
	for k, sigma := range levels {
		b.sigma, b.steady = sigma, u
		r.tolerance = max(tolerance, 1e-2)
		if k == len(levels)-1 {
			r.tolerance = tolerance
		}
		if found, err = b.minimise(r, u); err != nil {
			return nil, fmt.Errorf("%s: %w", task, err)
		}
		iterations += found.iterations
		if u, b.sigma = b.point(found.x); found.status == geom.Cancelled {
			break
		}
	}
	m := &FrameMean{Sigma: b.sigma, Objective: found.value - b.shift, Gradient: found.gradient, Iterations: iterations, Status: found.status}
	if m.Point, m.Variances, err = b.principalAxes(u); err != nil {
		return nil, err
	}
	ends, err := space.MostProbablePaths(m.Point, samples, b.sigma, b.paths)
	if err != nil {
		return nil, err
	}
	for _, end := range ends {
		g, err := space.Exp(m.Point, end.Momentum)
		if err != nil {
			return nil, err
		}
		g.Mismatch, g.Residual, g.Iterations, g.Status = end.Mismatch, end.Residual, end.Iterations, end.Status
		m.Paths = append(m.Paths, g)
	}
	return m, nil
}

// principal returns the mean and the principal components of the vectors that stand for the samples, scaled to the standard
// deviations, and the variances in all directions.
func (r *run) principal(space *framebundle.Space, samples [][]float64, w []float64, rank int) (u framebundle.Point, variances []float64, err error) {
	u.X, err = r.startingPoint(space.Geometry, samples, w)
	if err != nil {
		return u, nil, err
	}
	d := space.Geometry.M.Dim()
	if len(samples) <= rank {
		return u, nil, fmt.Errorf("%s: %d samples have a covariance of rank %d at most, not %d: take more samples or a lower rank", r.task, len(samples), len(samples)-1, rank)
	}
	centre := combine(w, samples)
	var rows [][]float64
	for _, x := range samples {
		rows = append(rows, floats.SubTo(make([]float64, len(x)), x, centre))
	}
	if _, ok := space.Geometry.M.(geom.Atlas); ok {
		if _, rows, err = space.Geometry.Project(u.X, rows...); err != nil {
			return u, nil, err
		}
	}
	a := mat.NewDense(len(rows), len(u.X), nil)
	for i, v := range rows {
		a.SetRow(i, floats.ScaleTo(make([]float64, len(v)), math.Sqrt(w[i]), v))
	}
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		return u, nil, fmt.Errorf("%s: the principal components of the samples do not converge", r.task)
	}
	values := svd.Values(nil)
	for _, s := range values[:min(d, len(values))] {
		variances = append(variances, s*s)
	}
	if !(values[rank-1] > 1e-7*values[0]) {
		return u, nil, fmt.Errorf("%s: the samples' standard deviation in direction %d is %.3g, in the first one %.3g: the rank of their covariance is below %d",
			r.task, rank-1, values[rank-1], values[0], rank)
	}
	var v mat.Dense
	svd.VTo(&v)
	for k := range rank {
		u.Frame = append(u.Frame, floats.ScaleTo(make([]float64, len(u.X)), values[k], mat.Col(nil, k, &v)))
	}
	return u, variances, nil
}

// minimise goes on from u at the present σ.
func (b *bundle) minimise(r *run, u framebundle.Point) (*minimum, error) {
	normal, _, err := b.normalisation(u, b.sigma)
	if err != nil {
		return nil, err
	}
	b.shift = float64(b.rank+1) - normal
	x := b.numbers(u)
	value, _, err := b.value(x)
	if err != nil {
		return nil, err
	}
	if math.IsInf(value, 1) {
		return nil, fmt.Errorf("at the start, the principal components of the coordinates, no most probable path was found to some sample; they spread too far for the curvature, or want a larger Mismatch")
	}
	return r.minimise(problem{value: b.value, precondition: b.precondition, retract: b.retract, firstStep: 1}, x)
}

// normalisation returns what the objective has beside the paths, and its derivatives by u and log σ².
func (b *bundle) normalisation(u framebundle.Point, sigma float64) (value float64, slope []float64, err error) {
	if !b.estimate {
		value, p, err := b.space.LogVolume(u, 0)
		return value, flatMomentum(p), err
	}
	value, p, err := b.space.LogVolume(u, sigma)
	if err != nil {
		return 0, nil, err
	}
	rest := float64(b.space.Geometry.M.Dim() - b.rank)
	// ∂/∂log σ² by Euler's formula: ½ log det(νᵀ E ν + σ²) − ½ m log σ² does not change with the unit of length.
	scaling := float64(b.rank)
	for k, v := range u.Frame {
		scaling -= floats.Dot(p.Vertical[k], v)
	}
	return value + rest*math.Log(sigma), append(flatMomentum(p), (scaling+rest)/2), nil
}

// value is the objective, +Inf where a most probable path was not found.
func (b *bundle) value(x []float64) (float64, []float64, error) {
	u, sigma := b.point(x)
	gradient := make([]float64, len(x))
	outside := func() (float64, []float64, error) { return math.Inf(1), gradient, nil }
	if b.space.Check(u) != nil {
		return outside()
	}
	f, slope, err := b.normalisation(u, sigma)
	if err != nil {
		return 0, nil, err
	}
	floats.Add(gradient, slope)
	paths, err := b.space.MostProbablePaths(u, b.samples, sigma, b.paths)
	if err != nil {
		return outside()
	}
	for i, g := range paths {
		if g.Status != geom.Converged {
			return outside()
		}
		f += b.weights[i] * g.Energy
		p := flatMomentum(g.Momentum)
		floats.AddScaled(gradient[:len(p)], -b.weights[i], p)
		if sigma > 0 {
			half := g.Mismatch * g.Mismatch / (2 * sigma * sigma)
			f += b.weights[i] * half
			if b.estimate {
				gradient[len(p)] -= b.weights[i] * half
			}
		}
	}
	if f += b.shift; !finite(f) || !finite(floats.Norm(gradient, 1)) {
		return outside()
	}
	b.paths = paths
	return f, gradient, nil
}

// precondition applies ννᵀ + σ² to the covectors of x and ν: in flat space the inverse Hessian of the objective, up to
// what its logarithm adds.
func (b *bundle) precondition(g []float64) ([]float64, error) {
	n := len(b.steady.X)
	out := make([]float64, len(g))
	for k := range b.rank + 1 {
		p, v := g[k*n:(k+1)*n], out[k*n:(k+1)*n]
		floats.AddScaled(v, b.sigma*b.sigma, p)
		for _, nu := range b.steady.Frame {
			floats.AddScaled(v, floats.Dot(nu, p), nu)
		}
	}
	if b.estimate {
		rest := float64(b.space.Geometry.M.Dim() - b.rank)
		out[len(g)-1] = 2 / rest * g[len(g)-1]
	}
	return out, nil
}

// retract is framebundle.Space.Move.
func (b *bundle) retract(x, step []float64) ([]float64, error) {
	u, _ := b.point(x)
	n := len(u.X)
	u, err := b.space.Move(u, step[:n], engine.Unflatten(step[n:(b.rank+1)*n], n))
	if err != nil {
		return nil, err
	}
	next := b.numbers(u)
	if b.estimate {
		next[len(x)-1] = x[len(x)-1] + step[len(x)-1]
	}
	return next, nil
}

func (b *bundle) numbers(u framebundle.Point) []float64 {
	x := append([]float64{}, u.X...)
	for _, v := range u.Frame {
		x = append(x, v...)
	}
	if b.estimate {
		x = append(x, 2*math.Log(b.sigma))
	}
	return x
}

func (b *bundle) point(x []float64) (u framebundle.Point, sigma float64) {
	n := len(x) / (b.rank + 1)
	sigma = b.sigma
	if b.estimate {
		sigma = math.Exp(x[len(x)-1] / 2)
	}
	return framebundle.Point{X: x[:n:n], Frame: engine.Unflatten(x[n:(b.rank+1)*n], n)}, sigma
}

func flatMomentum(p framebundle.Momentum) []float64 {
	x := append([]float64{}, p.Horizontal...)
	for _, v := range p.Vertical {
		x = append(x, v...)
	}
	return x
}

// principalAxes rotates the frame, which does not change ννᵀ, so that its vectors are orthogonal in the metric.
func (b *bundle) principalAxes(u framebundle.Point) (framebundle.Point, []float64, error) {
	gram, err := b.space.Gram(u)
	if err != nil {
		return u, nil, err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return u, nil, errors.New("the metric is not finite at the mean")
	}
	var v mat.Dense
	eigen.VectorsTo(&v)
	values := eigen.Values(nil) // rising
	slices.Reverse(values)
	axes := framebundle.Point{X: u.X}
	for k := range values {
		axes.Frame = append(axes.Frame, combine(mat.Col(nil, len(values)-1-k, &v), u.Frame))
	}
	return axes, values, nil
}
