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

// FrameMean is a mean together with the covariance of the samples around it: a point (x, ν) of the frame bundle.
type FrameMean[P geom.Point] struct {
	Point     P         // x, the mean
	Frame     []P       // ν_1 … ν_m, orthogonal in the metric; the covariance is ννᵀ
	Variances []float64 // ‖ν_α‖²_g, the largest first, in the unit of lengths squared
	Noise     float64   // σ, the standard deviation of the noise of a coordinate: the option, its default, or the estimate of PCA

	Paths     []*framebundle.Geodesic[P] // the most probable path from (x, ν) to each sample, without Momenta
	Objective float64                    // the least value found of the objective

	Gradient   float64 // as in solve.Minimum: √(gᵀ H g), a number without unit, 0 at a minimum
	Iterations int
	Status     geom.Status
}

// FrameBundleMean returns the Fréchet mean on the frame bundle: the mean x and the covariance ννᵀ of rank m, 1 ≤ m ≤ d, that
// minimise
//
//	Σ w_i (½ ‖p_i‖² + λ |π Exp_FM(u, p_i) − x_i|²) + ½ log det(νᵀ g ν),  λ = 1/2σ²,
//
// over u = (x, ν) and the momenta p_i of paths from u. Here Exp_FM is the geodesic flow of the frame bundle, π the projection
// (x, ν) ↦ x, and |·| the Euclidean norm of coordinates, or of ambient vectors on an Atlas. The objective is the negative
// log-likelihood of normal distributions on the manifold, with the energy of the most probable path to a sample in place of
// −log of the density (Sommer, Information Processing in Medical Imaging, 2015; Kühnel and Sommer print the logarithm with the
// opposite sign, for which there is no lower bound). In flat space the result is the mean and covariance of the samples, for
// m < d the leading principal components.
//
// The option Noise sets σ, a length. The default of σ is the standard deviation that the principal components of the coordinates
// leave in other directions, but at least 1/100 and at most 1/4 of the least standard deviation along the frame. Choose σ
// with care:
//
//   - In flat space the variances are smaller than those of the samples by about 2σ². Directions in which the samples vary less
//     than about 2σ would vanish from the frame, so a σ above 0.49 of the least standard deviation along the frame is an error.
//   - Deviations of the samples that the frame does not span and that are much larger than σ bend the paths, because a curved
//     path also reaches points in other directions. With σ too small for the rank m, mean and frame adapt to these deviations
//     and do not describe the spread of the samples.
//   - A sample that no smooth deformation reaches, such as landmarks in a wrong order, gives a very long path and a slow search.
//
// The search does not vary the p_i, but controls of the paths: the minimum over p_i is a minimum of ½ ∫ |w_i'|² dt over the
// anti-developments w_i of paths from u, and w_i' is described by framebundle.Modes·m numbers (see framebundle.Space.Steer). The
// steps are quasi-Newton steps with a preconditioner, the inverse of the Hessian in flat space with the second derivative of the
// logarithm; framebundle.Space.Move changes x and ν. λ grows in stages to its final value.
//
// It takes Weights, Start, Noise, Tolerance (default 0.01: see solve.Minimise) and MaxIterations (500 in all stages together).
func FrameBundleMean[P geom.Point](on geom.Of[P], samples []P, rank int, opts ...Option) (*FrameMean[P], error) {
	return frameBundleMean("Frame bundle mean", false, on.Geometry(), samples, rank, opts)
}

// FrameBundlePCA is FrameBundleMean with an estimated noise: probabilistic principal components (Tipping and Bishop, J. Royal
// Statistical Society B 61, 1999) on a manifold. It minimises
//
//	Σ w_i (½ ‖p_i‖² + |π Exp_FM(u, p_i) − x_i|²/2σ²) + ½ log det(νᵀ E ν + σ²) + ½ (d − m) log σ²
//
// over u = (x, ν), the p_i and σ, where E is the Euclidean metric of the coordinates or ambient vectors. The rank m must be
// smaller than d, and the samples must not lie in a submanifold of dimension m.
//
// It takes Weights, Start, Tolerance (default 0.01) and MaxIterations (500).
func FrameBundlePCA[P geom.Point](on geom.Of[P], samples []P, rank int, opts ...Option) (*FrameMean[P], error) {
	return frameBundleMean("Frame bundle PCA", true, on.Geometry(), samples, rank, opts)
}

// String says what the mean is in one line.
func (m *FrameMean[P]) String() string {
	return fmt.Sprintf("frame bundle mean of %d samples, rank %d, noise %.3g, %s after %d iterations", len(m.Paths), len(m.Frame), m.Noise, m.Status, m.Iterations)
}

// At returns the mean as a point (x, ν) of the frame bundle.
func (m *FrameMean[P]) At() framebundle.Point[P] { return framebundle.At(m.Point, m.Frame...) }

// Covariance returns the matrix ννᵀ, [n][n], for points of n numbers: coordinates or ambient vectors, the rows of shapes one after
// the other.
func (m *FrameMean[P]) Covariance() [][]float64 { return m.At().Covariance() }

// fiber is the frame bundle with points as lists of numbers, and fiberPoint a point of it.
type (
	fiber      = framebundle.Space[geom.Vec]
	fiberPoint = framebundle.Point[geom.Vec]
)

// bundle is the objective. Its unknowns are the numbers of x, ν_1, …, ν_m, the controls, [Modes][m][N], and, if the noise is
// estimated, log σ².
type bundle struct {
	space    *fiber
	samples  [][]float64
	weights  []float64
	rank     int
	estimate bool // σ is estimated
	sigma    float64
	shift    float64 // makes the objective positive
	steady   steady
}

// unknowns are the parts of the vector of unknowns.
type unknowns struct {
	fiberPoint
	controls []float64
	sigma    float64
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
	out := &FrameMean[P]{s.Point(m.Point), s.Points(m.Frame), m.Variances, m.Noise, nil, m.Objective, m.Gradient, m.Iterations, m.Status}
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
	levels := []float64{b.sigma}
	if !estimate {
		for s := 4 * b.sigma; s < least/3; s *= 4 {
			levels = append([]float64{s}, levels...)
		}
	}
	b.sigma = levels[0]
	v, err := b.start(u)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", task, err)
	}
	var found *solve.Minimum
	iterations, tolerance, limit := 0, r.tolerance, r.maxIterations
	for k, sigma := range levels {
		if !estimate {
			b.sigma, v.sigma = sigma, sigma
		}
		r.maxIterations = limit - iterations
		if r.tolerance = tolerance; k < len(levels)-1 {
			r.tolerance = max(tolerance, 0.05)
		}
		if found, err = b.minimise(r, v); err != nil {
			return nil, fmt.Errorf("%s: %w", task, err)
		}
		iterations += found.Iterations
		if v = b.unknowns(found.X); found.Status == geom.Cancelled {
			break
		}
	}
	m := &FrameMean[geom.Vec]{Noise: v.sigma, Objective: found.Value - b.shift, Gradient: found.Gradient, Iterations: iterations, Status: found.Status}
	if m.Variances, err = b.principalAxes(&v); err != nil {
		return nil, err
	}
	m.Point, m.Frame = v.X, v.Frame
	paths, err := space.Steer(v.fiberPoint, b.shaped(v.controls), samples)
	if err != nil {
		return nil, err
	}
	for i, mismatch := range paths.Mismatch {
		c := make([][]float64, framebundle.Modes)
		for k := range c {
			for a := range rank {
				c[k] = append(c[k], v.controls[(k*rank+a)*len(samples)+i])
			}
		}
		g, err := space.SteeredPath(v.fiberPoint, c)
		if err != nil {
			return nil, err
		}
		g.Mismatch, g.Status = mismatch, found.Status
		for _, p := range append([][]float64{paths.Momenta[i].Horizontal}, paths.Momenta[i].Vertical...) {
			floats.Scale(1/(v.sigma*v.sigma), p)
		}
		g.Momentum = paths.Momenta[i]
		m.Paths = append(m.Paths, g)
	}
	return m, nil
}

// principal returns the mean and the principal components of the samples' coordinates or ambient vectors, the components scaled to
// the standard deviations; least, the smallest of these deviations; and left, the standard deviation in a direction orthogonal
// to the components.
//
// Principal components of landmarks are as rough as the noise, and geodesics in rough directions bend wildly. So the frame is
// searched for in the span of the smoother vectors K (K + μ)⁻¹ ν.
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

// components returns the largest rank singular values of a matrix, and its right singular vectors scaled to the length of these
// values, one a row.
func components(a *mat.Dense, rank int) (values []float64, rows [][]float64, err error) {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		return nil, nil, errors.New("the principal components of the samples do not converge")
	}
	values = svd.Values(nil)[:rank]
	if !(values[rank-1] > 1e-7*values[0]) {
		return nil, nil, fmt.Errorf("the samples' standard deviation in direction %d is %.3g, in the first one %.3g: the rank of their covariance is below %d; take a lower rank",
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

// start returns the unknowns at u with the controls that are best in flat space, shortened where the path would end farther
// from the sample than it starts.
func (b *bundle) start(u fiberPoint) (unknowns, error) {
	n := len(b.samples)
	v := unknowns{u, make([]float64, framebundle.Modes*b.rank*n), b.sigma}
	distance := make([]float64, n)
	for i, y := range b.samples {
		off := floats.SubTo(make([]float64, len(y)), y, u.X)
		distance[i] = floats.Norm(off, 2)
		for a, nu := range u.Frame { // principal components are orthogonal
			v.controls[a*n+i] = floats.Dot(nu, off) / (floats.Dot(nu, nu) + b.sigma*b.sigma)
		}
	}
	for wild := true; wild; {
		paths, err := b.space.Steer(u, b.shaped(v.controls), b.samples)
		if err != nil {
			return v, err
		}
		wild = false
		for i, mismatch := range paths.Mismatch {
			if mismatch <= distance[i] || distance[i] == 0 {
				continue
			}
			for a := range b.rank {
				c := &v.controls[a*n+i]
				if *c /= 2; math.Abs(*c) < 1e-3 {
					*c = 0
				} else {
					wild = true
				}
			}
		}
	}
	return v, nil
}

// minimise minimises the objective from v on, with the current σ.
func (b *bundle) minimise(r *run, v unknowns) (*solve.Minimum, error) {
	normal, _, err := b.normalisation(v)
	if err != nil {
		return nil, err
	}
	// The convergence test is relative to the objective, which the shift makes positive.
	b.shift = float64(b.rank+1) - normal
	renew := func(x []float64) error {
		b.steady, err = b.steadyAt(b.unknowns(x))
		return err
	}
	x := b.numbers(v)
	if err := renew(x); err != nil {
		return nil, err
	}
	found, err := r.minimise(solve.Objective{Value: b.value, Precondition: b.precondition, Renew: renew, Retract: b.retract, FirstStep: 1}, x)
	if err != nil {
		return nil, err
	}
	if !finite(found.Value) {
		return nil, errors.New("the search starts from the principal components of the coordinates, and the paths there are not finite: give a Start, or more steps of the integrator")
	}
	return found, nil
}

// normalisation returns the terms of the objective that do not depend on the paths, and their derivatives with respect to u and
// log σ².
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
	paths, err := b.space.Steer(v.fiberPoint, b.shaped(v.controls), b.samples)
	if err != nil {
		return 0, nil, err
	}
	n, d := len(b.samples), (b.rank+1)*len(v.X)
	copy(gradient, slope[:d])
	precision := 1 / (v.sigma * v.sigma)
	for i, p := range paths.Pull {
		floats.AddScaled(gradient[:d], -b.weights[i]*precision, flatMomentum(p))
		half := precision / 2 * paths.Mismatch[i] * paths.Mismatch[i]
		f += b.weights[i] * half
		if b.estimate {
			slope[d] -= b.weights[i] * half
		}
	}
	controls := gradient[d : d+len(v.controls)]
	for k, modes := range paths.Slope {
		for a, samples := range modes {
			for i, slope := range samples {
				at := (k*b.rank+a)*n + i
				c := v.controls[at]
				f += b.weights[i] * c * c / 2
				controls[at] = b.weights[i] * (c + precision*slope)
			}
		}
	}
	if b.estimate {
		gradient[len(x)-1] = slope[d]
	}
	if f += b.shift; !finite(f) || !finite(floats.Norm(gradient, 1)) {
		return outside()
	}
	return f, gradient, nil
}

// steady holds what the preconditioner computes once at a point. It takes the change of the end of path i as in flat space,
//
//	δx_i(1) = δx + Σ_α c_iα δν_α + ν δc_i,
//
// with the means c_i of the controls. It also takes the second derivative of log det(νᵀ g ν) as in flat space,
// (νᵀ g ν)⁻¹ ⊗ g on vectors orthogonal to the span of ν, which damps directions that are rough for a kernel.
type steady struct {
	unknowns
	frame   *mat.Dense   // ν
	inverse mat.Cholesky // of νᵀν + σ²
	z       [][]float64  // (1, c_i)
	schur   mat.Cholesky // of the Hessian for x and ν, when the controls follow
}

func (b *bundle) steadyAt(v unknowns) (steady, error) {
	n, dim := len(b.samples), len(v.X)
	s := steady{unknowns: v, frame: mat.NewDense(dim, b.rank, nil)}
	for a, nu := range v.Frame {
		s.frame.SetCol(a, nu)
	}
	gram := mat.NewSymDense(b.rank, nil)
	gram.SymOuterK(1, s.frame.T())
	for a := range b.rank {
		gram.SetSym(a, a, gram.At(a, a)+v.sigma*v.sigma)
	}
	if !s.inverse.Factorize(gram) {
		return s, errors.New("the frame degenerates")
	}
	// (ν νᵀ + σ²)⁻¹ = (1 − ν (νᵀν + σ²)⁻¹ νᵀ)/σ²
	var follow, rest mat.Dense
	if err := s.inverse.SolveTo(&follow, s.frame.T()); err != nil {
		return s, err
	}
	rest.Mul(s.frame, &follow)
	const ridge = 1e-3 // keeps the moments invertible where there are few samples
	moments := mat.NewSymDense(b.rank+1, nil)
	for i := range n {
		z := []float64{1}
		for a := range b.rank {
			z = append(z, v.controls[a*n+i])
		}
		s.z = append(s.z, z)
		moments.SymRankOne(moments, b.weights[i], mat.NewVecDense(len(z), z))
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
	if !s.schur.Factorize(schur) {
		return s, errors.New("the metric is singular or not finite at the mean: for landmarks, take a kernel that is narrower compared with their distances")
	}
	return s, nil
}

// roughness is the factor of g in the preconditioner, beyond the second derivative of the objective, for x as for the frame:
// paths are stretched in directions that are rough for a kernel.
const roughness = 10

// addVolume adds the second derivative of ½ log det(νᵀ g ν) with respect to ν, on vectors orthogonal to the span of ν, to the
// Hessian for x and ν.
func (b *bundle) addVolume(h *mat.SymDense, v unknowns) error {
	m := b.space.Base.M
	if geom.IsAtlas(m) || b.estimate {
		return nil // g is E or close to it, and its term is small compared with that of the paths
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

// precondition applies the inverse Hessian of the linearised objective, by blocks.
func (b *bundle) precondition(g []float64) ([]float64, error) {
	s := &b.steady
	n, dim := len(b.samples), len(s.X)
	d := (b.rank + 1) * dim
	out := make([]float64, len(g))
	reduced := mat.NewVecDense(d, append([]float64{}, g[:d]...))
	eliminated := make([]mat.VecDense, n)
	for i, z := range s.z {
		e := mat.NewVecDense(b.rank, nil)
		for a := range b.rank {
			e.SetVec(a, g[d+a*n+i])
		}
		if err := s.inverse.SolveVecTo(&eliminated[i], e); err != nil {
			return nil, err
		}
		var end mat.VecDense
		end.MulVec(s.frame, &eliminated[i])
		for k, z := range z {
			floats.AddScaled(reduced.RawVector().Data[k*dim:(k+1)*dim], -z, end.RawVector().Data)
		}
	}
	var step mat.VecDense
	if err := s.schur.SolveVecTo(&step, reduced); err != nil {
		return nil, err
	}
	copy(out, step.RawVector().Data)
	for i, z := range s.z {
		end := make([]float64, dim)
		for k, z := range z {
			floats.AddScaled(end, z, out[k*dim:(k+1)*dim])
		}
		var along, follow mat.VecDense
		along.MulVec(s.frame.T(), mat.NewVecDense(dim, end))
		if err := s.inverse.SolveVecTo(&follow, &along); err != nil {
			return nil, err
		}
		w := b.weights[i]
		if w == 0 { // the path of a sample without weight stays as it is
			continue
		}
		for a := range b.rank {
			out[d+a*n+i] = s.sigma*s.sigma*eliminated[i].AtVec(a)/w - follow.AtVec(a)
		}
		for m := b.rank; m < framebundle.Modes*b.rank; m++ {
			out[d+m*n+i] = g[d+m*n+i] / w
		}
	}
	if b.estimate {
		rest := float64(b.space.Base.M.Dim() - b.rank)
		out[len(g)-1] = 2 / rest * g[len(g)-1]
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
	x = append(x, v.controls...)
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
	d := len(x) - framebundle.Modes*b.rank*len(b.samples)
	n := d / (b.rank + 1)
	v.X, v.Frame, v.controls = x[:n:n], engine.Unflatten(x[n:d:d], n), x[d:]
	return v
}

// shaped returns controls as [Modes][m][N].
func (b *bundle) shaped(controls []float64) [][][]float64 {
	out := make([][][]float64, framebundle.Modes)
	n := len(b.samples)
	for k := range out {
		out[k] = engine.Unflatten(controls[k*b.rank*n:(k+1)*b.rank*n], n)
	}
	return out
}

func flatMomentum(p framebundle.Momentum[geom.Vec]) []float64 {
	x := append([]float64{}, p.Horizontal...)
	for _, v := range p.Vertical {
		x = append(x, v...)
	}
	return x
}

// principalAxes rotates the frame, which does not change ννᵀ, so that its vectors are orthogonal in the metric, and the
// controls with it. It returns the variances along the vectors, falling.
func (b *bundle) principalAxes(v *unknowns) ([]float64, error) {
	gram, err := b.space.Gram(v.fiberPoint)
	if err != nil {
		return nil, err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return nil, errors.New("the metric is not finite at the mean")
	}
	var rotation mat.Dense
	eigen.VectorsTo(&rotation)
	variances := eigen.Values(nil) // rising
	slices.Reverse(variances)
	rotated := func(rows [][]float64) (out [][]float64) {
		for k := range rows {
			out = append(out, combine(mat.Col(nil, len(rows)-1-k, &rotation), rows))
		}
		return out
	}
	v.Frame = rotated(v.Frame)
	var controls []float64
	for _, rows := range b.shaped(v.controls) {
		for _, row := range rotated(rows) {
			controls = append(controls, row...)
		}
	}
	v.controls = controls
	return variances, nil
}
