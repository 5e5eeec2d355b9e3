package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/framebundle"
	"anatomy/geom/solve"
)

// FrameMean is a mean with the covariance around it: a point of the frame bundle.
type FrameMean[P geom.Point] struct {
	Point     P         // x, from where the process sets out whose ends the samples are; the mean in flat space
	Frame     []P       // ν: the covariance is ννᵀ; its vectors are orthogonal in the metric
	Variances []float64 // ‖ν_α‖²_g, falling
	Noise     float64   // σ, standard deviation of a coordinate's noise: as given or chosen, or estimated

	Paths     []*framebundle.Geodesic[P] // the most probable path to every sample, with a Status of its own
	Objective float64                    // what was minimised

	// The certificate. Imbalance is the gradient of the objective by mean and frame, Σ w_i s_i for the derivatives s_i of what
	// sample i adds to it, in standard errors: ‖Σ w_i s_i‖/√(Σ w_i² ‖s_i‖²), in the norm of the inverse Hessian of flat space.
	// Residual is the largest of the paths: by how much Exp_FM of the momentum ends elsewhere.
	Imbalance, Residual float64
	Iterations          int // steps of mean and frame
	Evaluations         int // of all paths
	Status              geom.Status
}

// FrameBundleMean returns the Fréchet mean on the frame bundle, the point x and the covariance ννᵀ of rank m that minimise
//
//	Σ w_i (½ ‖p_i‖² + λ |π Exp_FM(u, p_i) − x_i|²) + ½ log det(νᵀ g ν),  λ = 1/2σ²
//
// over u = (x, ν) and the momenta p_i: the negative logarithm of the likelihood of normal distributions on the manifold, with
// the energies of most probable paths in place of the logarithm of their density. (Sommer, Information Processing in Medical
// Imaging, 2015; Kühnel and Sommer print it with the opposite sign of the logarithm, without a lower bound.) In flat space
// it gives the mean and the covariance of the samples, the leading principal components for m < d. Distances |·| are those
// of the vectors that stand for points, coordinates or ambient vectors.
//
// A minimum over p_i is one over the paths from u, of ½ ∫ |w_i'|² dt in place of ½ ‖p_i‖², w_i the anti-development: the paths
// are most probable ones at every step of the search for u, see framebundle.Probable, and the derivative of the objective by u
// are their momenta. Steps are quasi-Newton ones, preconditioned by the inverse of the Hessian of flat space with the curvature
// of the logarithm, which damps what is rough for a kernel; x and the frame change by framebundle.Space.Move. The search sets
// out with much noise and few steps of the integrator, a fifth of them but at least 5.
//
// It is Converged where Imbalance is at most the Tolerance, whatever the number of samples and the unit of length, and Exp_FM of
// every path's momentum ends where the path does, within framebundle.EndTolerance of the distance of the farthest sample. With
// very small noise it may be Stalled for the latter alone: momenta grow with 1/σ, and the flow magnifies their last digits.
//
// Noise gives σ. The default is what principal components of the coordinates leave over, or a hundredth of the least
// standard deviation along the frame where that is more. A frame vector of length n costs log n and saves up to
// |x_i|²/2σ²: with σ² above a quarter of the variance in its direction it would shrink to nothing, which is an error; in
// flat space the variances come out smaller than those of the samples by about 2σ², and by 1 − 1/N than those of the
// distribution that they were drawn from. So what is smaller than σ vanishes from the frame; of landmarks that is what is
// rough, to which the metric of a wide kernel gives weight. What the frame leaves over and is much larger than σ bends the
// paths, for a curved path reaches what the frame does not span: with σ too small for the rank, mean and frame serve that
// rather than the spread. A sample whose landmarks are out of order, which no deformation reaches, makes its path stretch far
// and the search slow.
//
// It takes Weights, Start, Noise, Tolerance (default 0.01, in standard errors) and MaxIterations.
func FrameBundleMean[P geom.Point](on geom.Of[P], samples []P, rank int, opts ...Option) (*FrameMean[P], error) {
	return frameBundleMean("Frame bundle mean", false, on.Geometry(), samples, rank, opts)
}

// FrameBundlePCA is FrameBundleMean with the noise as a part of the model, and estimated: probabilistic principal components
// (Tipping and Bishop, J. Royal Statistical Society B 61, 1999) on a manifold of dimension d. It minimises
//
//	Σ w_i (½ ‖p_i‖² + |π Exp_FM(u, p_i) − x_i|²/2σ²) + ½ log det(νᵀ E ν + σ²) + ½ (d − m) log σ²
//
// over σ as well, E being the Euclidean metric of the vectors that stand for points. It wants m < d, and samples that do not
// lie in a submanifold of dimension m.
func FrameBundlePCA[P geom.Point](on geom.Of[P], samples []P, rank int, opts ...Option) (*FrameMean[P], error) {
	return frameBundleMean("Frame bundle PCA", true, on.Geometry(), samples, rank, opts)
}

// String says what the mean is in one line.
func (m *FrameMean[P]) String() string {
	return fmt.Sprintf("frame bundle mean of %d samples, rank %d, noise %.3g, %s after %d iterations", len(m.Paths), len(m.Frame), m.Noise, m.Status, m.Iterations)
}

// At is the point of the frame bundle.
func (m *FrameMean[P]) At() framebundle.Point[P] { return framebundle.At(m.Point, m.Frame...) }

// Covariance is ννᵀ in the numbers that stand for points, rows of shapes one after the other.
func (m *FrameMean[P]) Covariance() [][]float64 { return m.At().Covariance() }

// fiber is the frame bundle on lists of numbers.
type (
	fiber      = framebundle.Space[geom.Vec]
	fiberPoint = framebundle.Point[geom.Vec]
)

// bundle is the objective. Its unknowns are the numbers x, ν_1, …, ν_m and, where the noise is estimated, log σ².
type bundle struct {
	space    *fiber
	samples  [][]float64
	weights  []float64
	rank     int
	estimate bool // σ is estimated
	sigma    float64
	shift    float64 // makes the objective positive
	steady   steady

	firstStep float64 // of the search, in that of the preconditioner

	paths *framebundle.Probable
	// accuracy is that of what paths cost. It follows the gradient, whose error is larger by the ratio of frame and noise.
	accuracy float64
	scores   [][]float64 // the derivatives s_i at the last point that was evaluated
}

// unknowns is what the numbers of an objective stand for.
type unknowns struct {
	fiberPoint
	sigma float64
}

func frameBundleMean[P geom.Point](task string, estimate bool, s *geom.Space[P], samples []P, rank int, opts []Option) (*FrameMean[P], error) {
	takes := []string{"Weights", "Start"}
	if !estimate {
		takes = append(takes, "Noise")
	}
	r, err := newRun(task, s, 1e-2, opts, takes...)
	if err != nil {
		return nil, err
	}
	defer r.End()
	x, w, err := samplesOf(r, s, samples)
	if err != nil {
		return nil, err
	}
	m, err := r.frameMean(estimate, x, w, rank)
	if err != nil {
		return nil, err
	}
	out := &FrameMean[P]{s.Point(m.Point), s.Points(m.Frame), m.Variances, m.Noise, nil, m.Objective, m.Imbalance, m.Residual, m.Iterations, m.Evaluations, m.Status}
	for _, g := range m.Paths {
		out.Paths = append(out.Paths, framebundle.Shaped(s, g))
	}
	return out, nil
}

func (r *run) frameMean(estimate bool, samples [][]float64, w []float64, rank int) (*FrameMean[geom.Vec], error) {
	task, space := r.Name, framebundle.Over(r.space)
	d := r.space.M.Dim()
	if rank < 1 || rank > d || estimate && rank == d {
		return nil, fmt.Errorf("%s: rank %d in dimension %d", task, rank, d)
	}
	u, least, left, err := r.principal(samples, w, rank)
	if err != nil {
		return nil, err
	}
	b := &bundle{space: space, samples: samples, weights: w, rank: rank, estimate: estimate, sigma: r.sigma}
	switch {
	case r.sigma > 0 && r.sigma > 0.49*least:
		return nil, fmt.Errorf("%s: Noise(%.3g) is too large for rank %d: the samples' standard deviation in direction %d is %.3g, and must be more than twice as large; lower the rank or the noise",
			task, r.sigma, rank, rank-1, least)
	case r.sigma == 0:
		b.sigma = min(max(left, least/100), least/4)
	}
	b.paths = framebundle.NewProbable(r.space, samples)
	v := unknowns{u, b.sigma}
	m := &FrameMean[geom.Vec]{}
	b.firstStep = 1
	// The way there is short with much noise and few steps of the integrator.
	type stage struct {
		space *geom.Space[geom.Vec]
		sigma float64
	}
	stages := []stage{{r.space, b.sigma}}
	if few := max(fewestSteps, r.space.Steps()/5); 2*few <= r.space.Steps() {
		stages = append([]stage{{r.space.With(geom.Integrator(r.space.Method(), few)), b.sigma}}, stages...)
	}
	if !estimate {
		for s := 4 * b.sigma; s < least/3; s *= 4 {
			stages = append([]stage{{stages[0].space, s}}, stages...)
		}
	}
	tolerance, limit := r.tolerance, r.maxIterations
	for _, stage := range stages {
		if !estimate {
			b.sigma, v.sigma = stage.sigma, stage.sigma
		}
		b.space = framebundle.Over(stage.space)
		b.paths.On(stage.space)
		r.maxIterations = limit - m.Iterations
		if r.tolerance = tolerance; stage.sigma != stages[len(stages)-1].sigma {
			r.tolerance = max(tolerance, 0.1)
		}
		found, err := b.minimise(r, v)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", task, err)
		}
		v, b.firstStep = b.unknowns(found.X), 0.01 // what is left is what the preconditioner knows least of
		m.Objective, m.Iterations, m.Status = found.Value-b.shift, m.Iterations+found.Iterations, found.Status
		if m.Status == geom.Cancelled {
			break
		}
	}
	if m.Paths, err = b.paths.Paths(v.fiberPoint, v.sigma); err != nil {
		return nil, fmt.Errorf("%s: %w", task, err)
	}
	_, gradient, err := b.value(b.numbers(v))
	if err != nil {
		return nil, err
	}
	if m.Imbalance, err = b.certify(gradient); err != nil {
		return nil, err
	}
	m.Point, m.Noise, m.Evaluations = v.X, v.sigma, b.paths.Searches
	farthest := 0.0
	for i, g := range m.Paths {
		m.Residual = max(m.Residual, g.Residual)
		farthest = max(farthest, floats.Distance(samples[i], v.X, 2))
	}
	if !(m.Residual*math.Sqrt(float64(len(v.X))) <= framebundle.EndTolerance*farthest) && m.Status == geom.Converged {
		m.Status = geom.Stalled
	}
	if err := b.principalAxes(m, v.fiberPoint); err != nil {
		return nil, err
	}
	return m, nil
}

// fewestSteps is how many steps of the integrator the search sets out with at least.
const fewestSteps = 5

// principal returns the mean and the principal components of the vectors that stand for the samples, scaled to the standard
// deviations, with the least of these and what is left over in a direction off them.
//
// Components of landmarks are as rough as the noise, and geodesics in such directions wild. A kernel makes them smooth:
// the frame is searched for in the span of K (K + μ)⁻¹ ν.
func (r *run) principal(samples [][]float64, w []float64, rank int) (u fiberPoint, least, left float64, err error) {
	space := r.space
	fail := func(format string, a ...any) (fiberPoint, float64, float64, error) {
		return u, 0, 0, fmt.Errorf(r.Name+": "+format, a...)
	}
	u.X = r.startingPoint(samples, w)
	d := space.M.Dim()
	if len(samples) <= rank {
		return fail("%d samples have a covariance of rank %d at most, not %d: take more samples or a lower rank", len(samples), len(samples)-1, rank)
	}
	centre := combine(w, samples)
	var rows [][]float64
	for _, x := range samples {
		rows = append(rows, floats.SubTo(make([]float64, len(x)), x, centre))
	}
	if _, rows, err = space.Project(u.X, rows...); err != nil {
		return u, 0, 0, err
	}
	a := mat.NewDense(len(rows), len(u.X), nil)
	for i, v := range rows {
		a.SetRow(i, floats.ScaleTo(make([]float64, len(v)), math.Sqrt(w[i]), v))
	}
	values, frame, err := components(a, rank)
	if err != nil {
		return fail("%w", err)
	}
	if d > rank {
		left = math.Sqrt(max(0, math.Pow(mat.Norm(a, 2), 2)-floats.Dot(values, values)) / float64(d-rank))
	}
	if m, ok := space.M.(geom.Regulariser); ok {
		out, err := space.Call(operation{name: "smooth frame"}, func(in []*graph.Node) []*graph.Node {
			x := graph.BroadcastPrefix(in[0], in[1].Shape().Dim(0))
			mu := graph.MulScalar(graph.ReduceSum(graph.OnesLike(in[1]), -1), 0.1/float64(d))
			return []*graph.Node{geom.Sharp(space.M, x, m.RegularFlat(x, in[1], mu))}
		}, u.X, frame)
		if err != nil {
			return u, 0, 0, err
		}
		var qr mat.QR
		var q, along, projected mat.Dense
		qr.Factorize(mat.NewDense(rank, d, out.Flat(0)).T())
		qr.QTo(&q)
		basis := q.Slice(0, d, 0, rank)
		along.Mul(a, basis)
		projected.Mul(&along, basis.T())
		if values, frame, err = components(&projected, rank); err != nil {
			return fail("%w", err)
		}
	}
	u.Frame = frame
	return u, values[rank-1], left, nil
}

// components returns the first singular values of a matrix and the rows that go with them, as long as these values.
func components(a *mat.Dense, rank int) (values []float64, rows [][]float64, err error) {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		return nil, nil, errors.New("the principal components of the samples do not converge")
	}
	values = svd.Values(nil)[:rank]
	if !(values[rank-1] > 1e-7*values[0]) {
		return nil, nil, fmt.Errorf("the samples' standard deviation in direction %d is %.3g, in the first one %.3g: the rank of their covariance is below %d",
			rank-1, values[rank-1], values[0], rank)
	}
	var v mat.Dense
	svd.VTo(&v)
	for k, s := range values {
		column := mat.Col(nil, k, &v)
		floats.Scale(s, column)
		rows = append(rows, column)
	}
	return values, rows, nil
}

// minimise goes on from v at the present σ.
func (b *bundle) minimise(r *run, v unknowns) (*solve.Minimum, error) {
	normal, _, err := b.normalisation(v)
	if err != nil {
		return nil, err
	}
	// What rounding hides is told relative to the objective, which now is positive.
	b.shift = float64(b.rank+1) - normal
	renew := func(x []float64) error {
		b.steady, err = b.steadyAt(b.unknowns(x))
		return err
	}
	x := b.numbers(v)
	b.accuracy = roughly
	if _, err := b.paths.From(v.fiberPoint, v.sigma, b.accuracy); err != nil {
		return nil, err
	}
	if err := renew(x); err != nil {
		return nil, err
	}
	b.accuracy = roughly * b.steady.stiffness
	found, err := r.minimise(solve.Objective{Value: b.value, Precondition: b.precondition, Renew: renew, Retract: b.retract, FirstStep: b.firstStep,
		Done: func(gradient []float64) (bool, error) {
			imbalance, err := b.certify(gradient)
			return imbalance <= r.tolerance, err
		}}, x)
	if err != nil {
		return nil, err
	}
	if !finite(found.Value) {
		return nil, errors.New("the principal components of the coordinates, from which the search sets out, lead to no finite paths: give a Start, or more steps of the integrator")
	}
	return found, nil
}

// normalisation returns what the objective has beside the paths, and its derivatives by u and log σ².
func (b *bundle) normalisation(v unknowns) (value float64, slope []float64, err error) {
	if !b.estimate {
		value, p, err := b.space.LogVolume(v.fiberPoint, 0)
		return value, flatMomentum(p), err
	}
	value, p, err := b.space.LogVolume(v.fiberPoint, v.sigma)
	if err != nil {
		return 0, nil, err
	}
	rest := float64(b.space.Base.M.Dim() - b.rank)
	// ½ log det(νᵀ E ν + σ²) − ½ m log σ² does not change with the unit of length: Euler's formula gives its derivative.
	scaling := float64(b.rank)
	for k, nu := range v.Frame {
		scaling -= floats.Dot(p.Vertical[k], nu)
	}
	return value + rest*math.Log(v.sigma), append(flatMomentum(p), (scaling+rest)/2), nil
}

// value is the objective, +Inf where a path or the frame degenerates.
func (b *bundle) value(x []float64) (float64, []float64, error) {
	v := b.unknowns(x)
	gradient := make([]float64, len(x))
	outside := func() (float64, []float64, error) { return math.Inf(1), gradient, nil }
	if b.space.Check(v.fiberPoint) != nil {
		return outside()
	}
	f, slope, err := b.normalisation(v)
	if err != nil {
		return 0, nil, err
	}
	found, err := b.paths.From(v.fiberPoint, v.sigma, b.accuracy)
	if err != nil {
		return 0, nil, err
	}
	b.scores = b.scores[:0]
	for i, p := range found.Pull {
		score := append([]float64{}, slope...)
		floats.Sub(score[:(b.rank+1)*len(v.X)], flatMomentum(p))
		if b.estimate {
			score[len(x)-1] -= found.Cost[i] - found.Energy[i]
		}
		b.scores = append(b.scores, score)
		floats.AddScaled(gradient, b.weights[i], score)
		f += b.weights[i] * found.Cost[i]
	}
	if f += b.shift; !finite(f) || !finite(floats.Norm(gradient, 1)) {
		return outside()
	}
	return f, gradient, nil
}

// certify returns the Imbalance, and with its numerator says how accurate paths must be.
func (b *bundle) certify(gradient []float64) (float64, error) {
	square := func(v []float64) (float64, error) {
		step, err := b.precondition(v)
		return floats.Dot(v, step), err
	}
	g, err := square(gradient)
	if err != nil {
		return 0, err
	}
	variance := 0.0
	for i, s := range b.scores {
		v, err := square(s)
		if err != nil {
			return 0, err
		}
		variance += b.weights[i] * b.weights[i] * v
	}
	b.accuracy = min(roughly, 0.03*g) * b.steady.stiffness
	return math.Sqrt(g / variance), nil
}

// roughly is how accurate paths are at first, in units of log likelihood.
const roughly = 0.03

// steady is what the preconditioner knows of a point: the Hessian, with the end of path i as in flat space,
//
//	δx_i(1) = δx + Σ_α c_iα δν_α + ν δc_i
//
// with the means c_i of the controls, which follow x and ν, and so is log det(νᵀ g ν) in its second derivative
// (νᵀ g ν)⁻¹ ⊗ g off the span of ν, which weighs what is rough for a kernel.
type steady struct {
	hessian   mat.Cholesky // for x and ν
	stiffness float64      // σ²/tr(νᵀν + σ²)
}

func (b *bundle) steadyAt(v unknowns) (steady, error) {
	var s steady
	dim := len(v.X)
	frame := mat.NewDense(dim, b.rank, nil)
	for a, nu := range v.Frame {
		frame.SetCol(a, nu)
	}
	gram := mat.NewSymDense(b.rank, nil)
	gram.SymOuterK(1, frame.T())
	for a := range b.rank {
		gram.SetSym(a, a, gram.At(a, a)+v.sigma*v.sigma)
	}
	var inverse mat.Cholesky
	if !inverse.Factorize(gram) {
		return s, errors.New("the frame degenerates")
	}
	// (ν νᵀ + σ²)⁻¹ = (1 − ν (νᵀν + σ²)⁻¹ νᵀ)/σ²
	var follow, rest mat.Dense
	if err := inverse.SolveTo(&follow, frame.T()); err != nil {
		return s, err
	}
	rest.Mul(frame, &follow)
	const ridge = 1e-3 // keeps what few samples say of the frame invertible
	moments := mat.NewSymDense(b.rank+1, nil)
	means := b.paths.Controls()[0]
	for i, w := range b.weights {
		z := []float64{1}
		for a := range b.rank {
			z = append(z, means[a][i])
		}
		moments.SymRankOne(moments, w, mat.NewVecDense(len(z), z))
	}
	schur := mat.NewSymDense((b.rank+1)*dim, nil)
	for k := range b.rank + 1 {
		for l := range k + 1 {
			w := moments.At(k, l)
			if k == l {
				w += ridge
			}
			for j := range dim {
				for h := range dim {
					if at, to := k*dim+j, l*dim+h; at >= to {
						e := -(rest.At(j, h) + rest.At(h, j)) / 2
						if j == h {
							e++
						}
						schur.SetSym(at, to, w*e/(v.sigma*v.sigma))
					}
				}
			}
		}
	}
	if err := b.addVolume(schur, v); err != nil {
		return s, err
	}
	s.stiffness = v.sigma * v.sigma / mat.Trace(gram)
	if !s.hessian.Factorize(schur) {
		return s, errors.New("the metric is not finite or singular at the mean; of landmarks it is if the kernel is very wide for their distances")
	}
	return s, nil
}

// roughness is how much more than the second derivative of the objective says g weighs in the preconditioner, for x as for
// the frame: paths stretch what is rough for a kernel.
const roughness = 10

// addVolume adds the second derivative of ½ log det(νᵀ g ν) by ν, off the span of ν, to the Hessian for x and ν.
func (b *bundle) addVolume(h *mat.SymDense, v unknowns) error {
	m := b.space.Base.M
	if geom.IsAtlas(m) || b.estimate {
		return nil // g is that of the ambient vectors or close to it, and small beside what the paths say
	}
	out, err := b.space.Base.Call(operation{name: "metric"}, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{geom.MetricMatrix(m, in[0])}
	}, v.X)
	if err != nil {
		return err
	}
	dim := len(v.X)
	g := mat.NewDense(dim, dim, out.Flat(0))
	frame := mat.NewDense(b.rank, dim, nil)
	for a, nu := range v.Frame {
		frame.SetRow(a, nu)
	}
	var flat, gram, inverse, along, part mat.Dense
	flat.Mul(frame, g)
	gram.Mul(&flat, frame.T())
	if err := inverse.Inverse(&gram); err != nil {
		return fmt.Errorf("the frame degenerates: %w", err)
	}
	along.Mul(&inverse, &flat)
	part.Mul(flat.T(), &along) // g ν (νᵀ g ν)⁻¹ νᵀ g
	for k := range b.rank + 1 {
		for l := range k + 1 {
			var w float64
			switch {
			case l > 0:
				w = roughness * (inverse.At(k-1, l-1) + inverse.At(l-1, k-1)) / 2
			case k == 0:
				w = roughness * mat.Trace(&inverse) / float64(b.rank)
			default:
				continue
			}
			for j := range dim {
				for i := range dim {
					if at, to := k*dim+j, l*dim+i; at >= to {
						h.SetSym(at, to, h.At(at, to)+w*(g.At(j, i)+g.At(i, j)-part.At(j, i)-part.At(i, j))/2)
					}
				}
			}
		}
	}
	return nil
}

// precondition applies the inverse of that Hessian.
func (b *bundle) precondition(g []float64) ([]float64, error) {
	d := b.steady.hessian.SymmetricDim()
	var step mat.VecDense
	if err := b.steady.hessian.SolveVecTo(&step, mat.NewVecDense(d, g[:d])); err != nil {
		return nil, err
	}
	out := append([]float64{}, step.RawVector().Data...)
	if b.estimate {
		rest := float64(b.space.Base.M.Dim() - b.rank)
		out = append(out, 2/rest*g[d])
	}
	return out, nil
}

// retract is framebundle.Space.Move.
func (b *bundle) retract(x, step []float64) ([]float64, error) {
	v := b.unknowns(x)
	n := len(v.X)
	u, err := b.space.Move(v.fiberPoint, step[:n], engine.Unflatten(step[n:(b.rank+1)*n], n))
	if err != nil {
		return nil, err
	}
	next := floats.AddTo(make([]float64, len(x)), x, step)
	copy(next, u.X)
	for k, nu := range u.Frame {
		copy(next[(k+1)*n:], nu)
	}
	return next, nil
}

func (b *bundle) numbers(v unknowns) []float64 {
	x := append([]float64{}, v.X...)
	for _, nu := range v.Frame {
		x = append(x, nu...)
	}
	if b.estimate {
		x = append(x, 2*math.Log(v.sigma))
	}
	return x
}

func (b *bundle) unknowns(x []float64) unknowns {
	v := unknowns{sigma: b.sigma}
	if b.estimate {
		v.sigma = math.Exp(x[len(x)-1] / 2)
		x = x[:len(x)-1]
	}
	n := len(x) / (b.rank + 1)
	v.X, v.Frame = x[:n:n], engine.Unflatten(x[n:], n)
	return v
}

func flatMomentum(p framebundle.Momentum[geom.Vec]) []float64 {
	x := append([]float64{}, p.Horizontal...)
	for _, v := range p.Vertical {
		x = append(x, v...)
	}
	return x
}

// principalAxes takes the frame of the mean and of its paths to vectors that are orthogonal in the metric, which does not change
// ννᵀ, with the variances along them, falling.
func (b *bundle) principalAxes(m *FrameMean[geom.Vec], u fiberPoint) error {
	gram, err := b.space.Gram(u)
	if err != nil {
		return err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return errors.New("the metric is not finite at the mean")
	}
	var rotation mat.Dense
	eigen.VectorsTo(&rotation)
	m.Variances = eigen.Values(nil) // rising
	slices.Reverse(m.Variances)
	rotated := func(rows [][]float64) (out [][]float64) {
		for k := range rows {
			out = append(out, combine(mat.Col(nil, len(rows)-1-k, &rotation), rows))
		}
		return out
	}
	m.Frame = rotated(u.Frame)
	for _, g := range m.Paths {
		g.Start.Frame, g.Momentum.Vertical = m.Frame, rotated(g.Momentum.Vertical)
		for k, frame := range g.Frames {
			g.Frames[k] = rotated(frame)
			var w [][]float64
			for _, v := range g.Velocities[k] {
				w = append(w, []float64{v})
			}
			g.Velocities[k] = slices.Concat(rotated(w)...)
		}
	}
	return nil
}
