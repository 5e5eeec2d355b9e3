package stats

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/framebundle"
	"anatomy/geom/solve"
	"anatomy/geom/try"
)

// FrameMean is a mean together with the covariance of the samples around it: a point (x, ν) of the frame bundle.
type FrameMean[P geom.Point] struct {
	Point     P         // x, where the process starts whose ends the samples are; in flat space their mean
	Frame     []P       // ν_1 … ν_m, orthogonal in the metric; the covariance is ννᵀ
	Variances []float64 // ‖ν_α‖²_g, the largest first, in the unit of lengths squared
	Noise     float64   // σ, the standard deviation of the noise of a coordinate: the option or its default

	// Deviations are the standard deviations along the principal components of the samples' coordinates, the largest first. Where those
	// with the numbers m and m + 1 are alike, a frame of rank m can turn between both, and the search creeps: see Err.
	Deviations []float64

	Paths     []*framebundle.Geodesic[P] // the most probable path from (x, ν) to each sample, without Momenta
	Objective float64                    // the objective at mean and frame

	// The certificate. Let s_i be the derivative of what sample i adds to the objective, by mean and frame. Imbalance is ‖Σ w_i s_i‖/√(Σ w_i²
	// ‖s_i‖²), in the norm of the inverse Hessian: the derivative of the objective in standard errors. Residual is the largest of the paths, in units
	// of Noise: see framebundle.Geodesic.
	Imbalance, Residual float64
	Lost                []int // the samples to which no most probable path was found; the Reason of a path says why
	Iterations          int   // steps of mean and frame
	Evaluations         int   // how often a path was computed
	Status              geom.Status
}

// FrameBundleMean returns the Fréchet mean on the frame bundle: a point x and a frame ν of rank m, 1 ≤ m ≤ d, at a local minimum
// of
//
//	Σ w_i (½ ‖p_i‖² + λ |π Exp_FM(u, p_i) − x_i|²) + ½ log det(νᵀ g ν),  λ = 1/2σ²,
//
// over u = (x, ν) and the momenta p_i of paths from u. Exp_FM is the geodesic flow of the frame bundle, π the projection
// (x, ν) ↦ x, and |·| the Euclidean norm of coordinates, or of ambient vectors on a Charted manifold. The covariance of the
// samples is ννᵀ. As σ → 0 the objective is the negative log-likelihood of a normal distribution on the manifold, with the energy
// of the most probable path to a sample in place of −log of its density (Sommer, Information Processing in Medical Imaging, 2015).
// Kühnel and Sommer print the logarithm with the opposite sign, for which there is no minimum.
//
// σ > 0 is the standard deviation of the noise of a coordinate. In flat space the covariance of the samples along the frame is
// then V + 2σ² + σ⁴V⁻¹ with V = ννᵀ, so V is too small by about 2σ². (The likelihood of samples with noise has V + σ².) As
// σ → 0 the result in flat space is the mean and the covariance of the samples, and for m < d the leading principal components. With σ > 0 the objective has no least value, because it tends to −∞ as the frame shrinks to 0. A local
// minimum exists where the standard deviations of the samples along the frame are more than 2σ.
//
// The samples determine a frame of rank m well if 2σ lies between the standard deviations of the principal components m and m + 1:
//
//   - It is an error if σ exceeds 0.49 of the standard deviation of component m, because the frame would lose a vector.
//   - If samples deviate in directions outside the frame by much more than 2σ, their paths bend, because a curved path also
//     reaches points in other directions. This is right for samples of a distribution of rank m on a curved manifold. For other
//     samples the frame then describes the bends and not the spread, and the search is long.
//   - A sample that no smooth deformation reaches, such as an outline with landmarks in a wrong order, has a path that turns many
//     times. If no most probable path to it is found, Status is not Converged, and Lost names the sample. Leave it out, or choose a
//     larger Noise or rank.
//
// Status is Converged if Imbalance is at most the Tolerance, whatever the number of samples and the unit of length, and the paths
// end within framebundle.EndTolerance of the distance of the farthest sample. A search that does not converge is not an error:
// Err says why. It is an error if the rank is not from 1 to d, if there are too few samples for it, or if a sample is not a point.
//
// The options are Weights, Start, Noise (σ; default: the standard deviation that the principal components leave in other
// directions, but at least 1/100 and at most 1/4 of the least standard deviation along the frame), Tolerance (default 0.01, in
// standard errors) and MaxIterations (50; 10 if the samples do not determine a frame of this rank).
//
// # Algorithm
//
// The paths are most probable ones at every step of the search (see framebundle.Probable), so the derivative of the objective
// with respect to u is given by their momenta. The search for u is quasi-Newton and starts from the Gauss–Newton Hessian, which
// comes from the derivatives of the ends of 2m paths whose anti-developments have the mean and the covariance of those of the
// samples. It begins with much noise and few steps of the integrator. framebundle.Space.Move changes x and ν. If the search for
// the path to a sample fails at steps of u that shrink, the search for u continues with the best path to it that is known.
func FrameBundleMean[P geom.Point](on geom.Of[P], samples []P, rank int, opts ...FrameOption) (_ *FrameMean[P], err error) {
	s := on.Geometry()
	r := newRun("Frame bundle mean", s, 1e-2)
	defer r.end(&err)
	r.MaxIterations = 0 // which cannot be given
	x, w := samplesOf(r, s, samples, opts)
	m := r.frameMean(x, w, rank)
	out := &FrameMean[P]{s.Point(m.Point), s.Points(m.Frame), m.Variances, m.Noise, m.Deviations, nil, m.Objective, m.Imbalance, m.Residual, m.Lost, m.Iterations, m.Evaluations, m.Status}
	for _, g := range m.Paths {
		out.Paths = append(out.Paths, framebundle.Shaped(s, g))
	}
	return out, nil
}

// The limits of iterations where no other one is given. Searches whose frame the samples determine take up to 30; others creep.
const (
	frameIterations        = 50
	undeterminedIterations = 10
)

// String says what the mean is in one line.
func (m *FrameMean[P]) String() string {
	line := fmt.Sprintf("frame bundle mean of %d samples, rank %d, noise %.3g, %s after %d iterations", len(m.Paths), len(m.Frame), m.Noise, m.Status, m.Iterations)
	if len(m.Lost) > 0 {
		line += fmt.Sprintf("; no most probable path found to the samples %v, counted from 0: leave them out, or take a larger Noise or rank", m.Lost)
	}
	return line
}

// Err returns nil if Status is Converged. Otherwise it is an error with the line of String and with what makes a search long:
//
//   - a sample whose path costs more than four times the median;
//   - a Noise of less than a quarter of the standard deviation along the principal component m + 1, so that paths bend to reach it;
//   - too few samples for the rank: where the variances of the principal components m and m + 1 differ by less than the standard error
//     of the first, √(2/n) of it, sampling mixes both (G. North et al., Monthly Weather Review 110, 1982). The error then names the ranks
//     at which they do not.
func (m *FrameMean[P]) Err() error {
	solve.NotNil(m)
	if m.Status == geom.Converged {
		return nil
	}
	line := m.String() + m.farthest() + m.bent()
	rank, n := len(m.Frame), len(m.Paths)
	if determined(m.Deviations, rank, n) {
		return m.Status.Err(line)
	}
	last := min(2*rank+2, len(m.Deviations)-1)
	advice := fmt.Sprintf("none up to %d is", last)
	var ranks []string
	for k := 1; k <= last; k++ {
		if determined(m.Deviations, k, n) {
			ranks = append(ranks, fmt.Sprint(k))
		}
	}
	if len(ranks) > 0 {
		advice = "take rank " + strings.Join(ranks, " or ")
	}
	return fmt.Errorf("%s: the standard deviations of the samples' principal components %d and %d, %.3g and %.3g, are too much alike for %d samples, so that a frame of rank %d is not determined; %s",
		line, rank, rank+1, m.Deviations[rank-1], m.Deviations[rank], n, rank, advice)
}

// farthest says which sample is far from the others, "" if none is.
func (m *FrameMean[P]) farthest() string {
	if len(m.Paths) == 0 || !(m.Noise > 0) {
		return ""
	}
	costs := make([]float64, len(m.Paths))
	for i, g := range m.Paths {
		costs[i] = g.Energy + g.Mismatch/(2*m.Noise*m.Noise)
	}
	most := floats.MaxIdx(costs)
	cost := costs[most]
	slices.Sort(costs)
	median := costs[len(costs)/2]
	if !(cost > 4*median) {
		return ""
	}
	return fmt.Sprintf("; the path to sample %d, counted from 0, costs %.3g, the median is %.3g: look at that sample, and leave it out if it is wrong", most, cost, median)
}

// bent says whether the noise is so small that paths bend, "" if not.
func (m *FrameMean[P]) bent() string {
	rank := len(m.Frame)
	if rank >= len(m.Deviations) || !(4*m.Noise < m.Deviations[rank]) {
		return ""
	}
	return fmt.Sprintf("; paths bend to reach deviations that the frame does not span, because the noise is less than a quarter of the standard deviation of principal component %d, which is %.3g: take a larger Noise or rank",
		rank+1, m.Deviations[rank])
}

// At returns the mean as a point (x, ν) of the frame bundle.
func (m *FrameMean[P]) At() framebundle.Point[P] {
	solve.NotNil(m)
	return framebundle.At(m.Point, m.Frame...)
}

// Covariance returns the matrix ννᵀ, [n][n], for points of n numbers: coordinates or ambient vectors, the rows of shapes one after
// the other.
func (m *FrameMean[P]) Covariance() [][]float64 { return m.At().Covariance() }

// fiber is the frame bundle with points as lists of numbers, and fiberPoint a point of it.
type (
	fiber      = framebundle.Space[geom.Vec]
	fiberPoint = framebundle.Point[geom.Vec]
)

// bundle is the search for a frame bundle mean. Its unknowns are the components of a step of framebundle.Space.Move, of x, ν_1, …,
// ν_m.
type bundle struct {
	*run
	space   *fiber
	samples [][]float64
	weights []float64
	rank    int
	sigma   float64
	paths   *framebundle.Probable
	search  *solve.BFGS

	at     fiberPoint  // the best point so far
	scores [][]float64 // there, the derivatives of what every sample adds to the objective
}

func (r *run) frameMean(samples [][]float64, w []float64, rank int) *FrameMean[geom.Vec] {
	if d := r.space.M.Dim(); rank < 1 || rank > d {
		try.Fail("rank %d, want 1 to %d", rank, d)
	}
	u, deviations, least, left := r.principal(samples, w, rank)
	b := &bundle{run: r, samples: samples, weights: w, rank: rank, at: u, sigma: r.sigma}
	switch {
	case r.sigma > 0 && r.sigma > 0.49*least:
		try.Fail("Noise(%.3g) is too large for rank %d: the samples' standard deviation in direction %d is %.3g, and must be more than twice as large; lower the rank or the noise",
			r.sigma, rank, rank-1, least)
	case r.sigma == 0:
		b.sigma = min(max(left, least/100), least/4)
	}
	if r.MaxIterations == 0 {
		if r.MaxIterations = undeterminedIterations; determined(deviations, rank, len(samples)) {
			r.MaxIterations = frameIterations
		}
	}
	m := b.mean(least)
	m.Deviations = deviations
	return m
}

// determined says whether n samples with these standard deviations along their principal components determine a frame of rank k: whether
// the variances k and k + 1 differ by more than the standard error of the first.
func determined(deviations []float64, k, n int) bool {
	if k >= len(deviations) {
		return true
	}
	a, b := deviations[k-1]*deviations[k-1], deviations[k]*deviations[k]
	return a > 1e-14*deviations[0]*deviations[0] && a-b > a*math.Sqrt(2/float64(n))
}

// fewestSteps is how many steps of the integrator the search sets out with at least.
const fewestSteps = 5

// mean searches, first with few steps of the integrator and with σ falling to its value from the least standard deviation along the
// frame, and certifies what it finds.
func (b *bundle) mean(least float64) *FrameMean[geom.Vec] {
	exact, coarse := b.run.space, b.run.space
	if few := max(fewestSteps, exact.Steps()/5); 2*few <= exact.Steps() {
		coarse = exact.With(geom.Integrator(exact.Method(), few))
	}
	b.paths = framebundle.NewProbable(exact, b.samples)
	levels := []float64{b.sigma}
	for s := 4 * b.sigma; s < least/3; s *= 4 {
		levels = append([]float64{s}, levels...)
	}
	m := &FrameMean[geom.Vec]{}
	for k, sigma := range levels {
		b.sigma = sigma
		spaces, tolerance := []*geom.Space[geom.Vec]{coarse}, max(b.Tolerance, 0.1)
		if k == len(levels)-1 {
			tolerance = b.Tolerance
			if coarse != exact {
				spaces = append(spaces, exact)
			}
		}
		for j, space := range spaces {
			b.space = framebundle.Over(space)
			b.paths.On(space)
			b.minimise(m, tolerance, j == 0)
		}
	}
	b.space = framebundle.Over(exact)
	b.paths.On(exact)
	persistence := framebundle.Persistence
	if m.Status != geom.Converged { // a path that is not found soon is one more sample to name, and no more
		persistence /= 10
	}
	m.Paths = try.Get(b.paths.Paths(b.at, b.sigma, persistence))
	found := try.Get(b.paths.From(b.at, b.sigma, 1e-14))
	value, gradient, scores := b.objective(b.at, found)
	b.scores = scores
	m.Point, m.Noise, m.Objective, m.Evaluations = b.at.X, b.sigma, value, b.paths.Searches
	m.Imbalance = b.imbalance(gradient)
	farthest := 0.0
	for i, g := range m.Paths {
		m.Residual = max(m.Residual, g.Residual)
		farthest = max(farthest, floats.Distance(b.samples[i], b.at.X, 2))
	}
	for i, g := range m.Paths {
		if found := g.Residual*b.sigma*math.Sqrt(float64(len(b.at.X))) <= framebundle.EndTolerance*farthest; !found && m.Status != geom.Cancelled {
			m.Lost = append(m.Lost, i)
		}
	}
	if m.Status == geom.Converged && !(m.Lost == nil && m.Imbalance <= b.Tolerance) {
		m.Status = geom.Stalled
	}
	b.principalAxes(m)
	return m
}

// principal returns the mean and the principal components of the samples' coordinates or ambient vectors, the components scaled to
// the standard deviations; all of these; least, the smallest of these deviations; and left, the standard deviation in a direction
// orthogonal to the components.
//
// Principal components of landmarks are as rough as the noise, and geodesics in rough directions bend wildly. So the frame is
// searched for in the span of the smoother vectors K (K + μ)⁻¹ ν.
func (r *run) principal(samples [][]float64, w []float64, rank int) (u fiberPoint, deviations []float64, least, left float64) {
	space := r.space
	u.X = r.startingPoint(samples, w)
	d := space.M.Dim()
	if len(samples) <= rank {
		try.Fail("%d samples have a covariance of rank %d at most, not %d: take more samples or a lower rank", len(samples), len(samples)-1, rank)
	}
	centre := combine(w, samples)
	var rows [][]float64
	for _, x := range samples {
		rows = append(rows, floats.SubTo(make([]float64, len(x)), x, centre))
	}
	_, rows = try.Get2(space.Project(u.X, rows...))
	a := mat.NewDense(len(rows), len(u.X), nil)
	for i, v := range rows {
		a.SetRow(i, floats.ScaleTo(make([]float64, len(v)), math.Sqrt(w[i]), v))
	}
	deviations, frame := components(a, rank)
	values := deviations[:rank]
	if d > rank {
		left = math.Sqrt(max(0, math.Pow(mat.Norm(a, 2), 2)-floats.Dot(values, values)) / float64(d-rank))
	}
	if m, ok := space.M.(geom.Regulariser); ok {
		out := try.Get(space.Call(operation{name: "smooth frame"}, func(in []*graph.Node) []*graph.Node {
			x := graph.BroadcastPrefix(in[0], in[1].Shape().Dim(0))
			mu := graph.MulScalar(graph.ReduceSum(graph.OnesLike(in[1]), -1), 0.1/float64(d))
			return []*graph.Node{geom.Sharp(space.M, x, m.RegularFlat(x, in[1], mu))}
		}, u.X, frame))
		var qr mat.QR
		var q, along, projected mat.Dense
		qr.Factorize(mat.NewDense(rank, d, out.Flat(0)).T())
		qr.QTo(&q)
		basis := q.Slice(0, d, 0, rank)
		along.Mul(a, basis)
		projected.Mul(&along, basis.T())
		values, frame = components(&projected, rank)
	}
	u.Frame = frame
	return u, deviations, values[rank-1], left
}

// components returns the singular values of a matrix, the largest first, and as many of its right singular vectors as the rank says,
// scaled to the length of these values, one a row.
func components(a *mat.Dense, rank int) (values []float64, rows [][]float64) {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		try.Fail("the principal components of the samples were not found: look for a sample with coordinates that are not finite or very large")
	}
	values = svd.Values(nil)
	if !(values[rank-1] > 1e-7*values[0]) {
		try.Fail("the samples' standard deviation in direction %d is %.3g, in the first one %.3g: the rank of their covariance is below %d; take a lower rank",
			rank-1, values[rank-1], values[0], rank)
	}
	var v mat.Dense
	svd.VTo(&v)
	for k, s := range values[:rank] {
		column := mat.Col(nil, k, &v)
		floats.Scale(s, column)
		rows = append(rows, column)
	}
	return values, rows
}

// minimise goes on from the best point with the present space and σ, until the derivatives of the samples balance. Its Hessian is
// renewed, or else what was learned of it before.
func (b *bundle) minimise(m *FrameMean[geom.Vec], tolerance float64, renew bool) {
	if m.Status == geom.Cancelled {
		return
	}
	const roughly = 0.03 // in units of log likelihood
	b.paths.TryAgain()
	found := try.Get(b.paths.From(b.at, b.sigma, roughly*b.stiffness()))
	value, gradient, scores := b.objective(b.at, found)
	if !finite(value) {
		try.Fail("the search starts from the principal components of the coordinates, and the paths there are not finite: give a Start, or more steps of the integrator")
	}
	b.scores = scores
	b.paths.Keep()
	if renew {
		b.search = solve.NewBFGS(make([]float64, len(gradient)), b.hessian())
	} else {
		b.search.Restart()
	}
	b.search.Learn(value, gradient, 0)
	for m.Status = geom.IterationLimit; ; m.Iterations++ {
		imbalance := b.imbalance(combine(b.weights, b.scores))
		switch {
		case imbalance <= 0.95*tolerance: // the certificate, from paths that are more accurate, differs in the last digits
			m.Status = geom.Converged
			return
		case m.Iterations >= b.MaxIterations:
			return
		case b.report(m.Iterations, b.search.Value, imbalance, 0.95*tolerance):
			m.Status = geom.Cancelled
			return
		}
		b.step()
		if b.search.Done { // no step leads down
			m.Status = geom.Stalled
			return
		}
	}
}

// shorter is how many steps are tried, each a quarter of the last, before the worst path of each further one is given up.
const shorter = 3

// growth is how many times as long as the step before a step may be.
const growth = 4

// step tries steps until one leads to a better point.
func (b *bundle) step() {
	best, accuracy, tries := slices.Clone(b.search.Best), 0.1*b.search.Excess*b.stiffness(), 0
	for !b.search.Done && slices.Equal(b.search.Best, best) {
		step := floats.SubTo(make([]float64, len(best)), b.search.X, best)
		n := len(b.at.X)
		value, gradient, scores := math.Inf(1), step, b.scores
		u, err := b.space.Move(b.at, step[:n], engine.Unflatten(step[n:], n))
		if err == nil && b.space.Check(u) == nil {
			found := try.Get(b.paths.Follow(u, step, b.sigma, accuracy))
			if worst := b.worst(found, 10*accuracy); worst >= 0 {
				if tries++; tries >= shorter {
					b.paths.GiveUp(worst)
				}
			} else {
				value, gradient, scores = b.objective(u, found)
			}
		}
		b.search.Longest = growth * floats.Norm(step, 2)
		b.search.Learn(value, gradient, 0)
		if !slices.Equal(b.search.Best, best) {
			b.at, b.scores = u, scores
			b.paths.Keep()
		}
	}
}

// worst returns the worst path if the paths make the derivatives of the objective worse than an excess of the objective would, and −1 if
// they do not: an excess e of a path changes its derivatives by √2e, in the norm of the inverse Hessian, and the objective has their
// weighted mean. Paths that were given up do not count.
func (b *bundle) worst(found *framebundle.Found, excess float64) int {
	sum, worst := 0.0, -1
	for i, e := range found.Excess {
		if b.paths.GivenUp(i) {
			continue
		}
		sum += b.weights[i] * math.Sqrt(e)
		if worst < 0 || e > found.Excess[worst] {
			worst = i
		}
	}
	if sum*sum <= excess {
		return -1
	}
	return worst
}

// stiffness is the share of what paths cost too much that mean and frame may see: the curvature of the objective off the frame is
// 1/σ², where the paths do not follow, and 1/(νᵀν + σ²) where they do.
func (b *bundle) stiffness() float64 {
	variance := b.sigma * b.sigma
	trace := variance
	for _, v := range b.at.Frame {
		trace += floats.Dot(v, v)
	}
	return variance / trace
}

// objective returns the objective with its gradient and the derivatives of what every sample adds to it, +Inf where a path is
// not finite.
func (b *bundle) objective(u fiberPoint, found *framebundle.Found) (f float64, gradient []float64, scores [][]float64) {
	f, volume := try.Get2(b.space.LogVolume(u))
	slope := flatMomentum(volume)
	for i, p := range found.Pull {
		if math.IsInf(found.Cost[i], 1) {
			return math.Inf(1), slope, nil
		}
		scores = append(scores, floats.SubTo(make([]float64, len(slope)), slope, flatMomentum(p)))
		f += b.weights[i] * found.Cost[i]
	}
	return f, combine(b.weights, scores), scores
}

// imbalance is a gradient in standard errors.
func (b *bundle) imbalance(gradient []float64) float64 {
	var factor mat.Cholesky
	if !factor.Factorize(b.search.Hessian) {
		try.Fail("the metric is singular or not finite at the mean: for landmarks, take a kernel that is narrower compared with their distances")
	}
	square := func(v []float64) float64 {
		x := mat.NewVecDense(len(v), v)
		var y mat.VecDense
		if factor.SolveVecTo(&y, x) != nil {
			return math.NaN()
		}
		return mat.Dot(x, &y)
	}
	variance := 0.0
	for i, s := range b.scores {
		variance += b.weights[i] * b.weights[i] * square(s)
	}
	return math.Sqrt(square(gradient) / variance)
}

// hessian returns the Gauss-Newton Hessian of the objective: of paths that follow mean and frame, Jᵀ (σ² + C Cᵀ)⁻¹ J with the
// derivatives J of their ends by mean and frame and C by their controls, and of log det(νᵀ g ν).
func (b *bundle) hessian() *mat.SymDense {
	tangents := try.Get(b.paths.Tangents(b.at, b.probes()))
	dim, variance := (b.rank+1)*len(b.at.X), b.sigma*b.sigma
	sum := mat.NewDense(dim, dim, nil)
	for _, t := range tangents {
		// (σ² + C Cᵀ)⁻¹ = (1 − C (σ² + CᵀC)⁻¹ Cᵀ)/σ²
		_, n := t.ByControls.Dims()
		gram := mat.NewSymDense(n, nil)
		gram.SymOuterK(1, t.ByControls.T())
		for k := range n {
			gram.SetSym(k, k, gram.At(k, k)+variance)
		}
		var factor mat.Cholesky
		if !factor.Factorize(gram) {
			try.Fail("the vectors of the frame become linearly dependent in the search: take a lower rank, or a larger Noise")
		}
		var along, follow, rest, part mat.Dense
		along.Mul(t.ByControls.T(), t.ByStart)
		try.Do(factor.SolveTo(&follow, &along))
		rest.Mul(t.ByControls, &follow)
		rest.Sub(t.ByStart, &rest)
		part.Mul(t.ByStart.T(), &rest)
		part.Scale(1/(float64(len(tangents))*variance), &part)
		sum.Add(sum, &part)
	}
	// A ridge keeps what few samples say of the frame, and directions that leave a Charted manifold, invertible.
	frame := 0.0
	for _, v := range b.at.Frame {
		frame += floats.Dot(v, v)
	}
	ridge := 1e-3 / frame
	h := mat.NewSymDense(dim, nil)
	for k := range dim {
		for l := k; l < dim; l++ {
			h.SetSym(k, l, (sum.At(k, l)+sum.At(l, k))/2)
		}
		h.SetSym(k, k, h.At(k, k)+ridge)
	}
	b.addVolume(h)
	return h
}

// probes returns 2m controls that are constant in time, with the mean and the covariance of those of the samples.
func (b *bundle) probes() [][]float64 {
	samples := b.paths.Constant()
	centre, covariance := combine(b.weights, samples), mat.NewSymDense(b.rank, nil)
	for i, w := range b.weights {
		covariance.SymRankOne(covariance, w, mat.NewVecDense(b.rank, floats.SubTo(make([]float64, b.rank), samples[i], centre)))
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(covariance, true) {
		try.Fail("the most probable paths at a step of the search are not finite: give more steps of the integrator, a larger Noise, or a Start closer to the samples")
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	var probes [][]float64
	for a, v := range eigen.Values(nil) {
		length := math.Sqrt(float64(b.rank) * max(0, v))
		for _, signed := range []float64{-length, length} {
			probes = append(probes, floats.AddScaledTo(make([]float64, b.rank), centre, signed, mat.Col(nil, a, &axes)))
		}
	}
	return probes
}

// addVolume adds the second derivative of ½ log det(νᵀ g ν) with respect to ν, on vectors orthogonal to the span of ν: it is
// (νᵀ g ν)⁻¹ ⊗ g as in flat space.
func (b *bundle) addVolume(h *mat.SymDense) {
	m := b.space.Base.M
	if geom.IsCharted(m) {
		return // g is E or close to it, and its term is small compared with that of the paths
	}
	out := try.Get(b.space.Base.Call(operation{name: "metric"}, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{geom.MetricMatrix(m, in[0])}
	}, b.at.X))
	dim := len(b.at.X)
	g := mat.NewDense(dim, dim, out.Flat(0))
	frame := mat.NewDense(b.rank, dim, nil)
	for a, nu := range b.at.Frame {
		frame.SetRow(a, nu)
	}
	var flat, gram, inverse, along, part mat.Dense
	flat.Mul(frame, g)
	gram.Mul(&flat, frame.T())
	try.Do(try.Name(inverse.Inverse(&gram), "the frame degenerates"))
	along.Mul(&inverse, &flat)
	part.Mul(flat.T(), &along) // g ν (νᵀ g ν)⁻¹ νᵀ g
	for k := range b.rank {
		for l := range k + 1 {
			w := (inverse.At(k, l) + inverse.At(l, k)) / 2
			for j := range dim {
				for i := range dim {
					if at, to := (k+1)*dim+j, (l+1)*dim+i; at >= to {
						h.SetSym(at, to, h.At(at, to)+w*(g.At(j, i)+g.At(i, j)-part.At(j, i)-part.At(i, j))/2)
					}
				}
			}
		}
	}
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
func (b *bundle) principalAxes(m *FrameMean[geom.Vec]) {
	var eigen mat.EigenSym
	if !eigen.Factorize(try.Get(b.space.Gram(b.at)), true) {
		try.Fail("the metric is not finite at the mean: give a Start closer to the samples")
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
	m.Frame = rotated(b.at.Frame)
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
}
