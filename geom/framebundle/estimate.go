package framebundle

import (
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// Estimation is the problem of a Mean, with points as lists of numbers: see stats.FrameBundleMean.
type Estimation struct {
	Samples       [][]float64
	Weights       []float64 // of the samples, with the sum 1
	Start         []float64 // the point x where the search starts
	Rank          int       // of the frame
	Noise         float64   // σ; 0 stands for the default
	Tolerance     float64   // of the Imbalance
	MaxIterations int       // 0 stands for the default
	Task          *geom.Task
}

// Steps of mean and frame where no limit is given. Searches whose frame the samples determine take up to 30; others creep.
const (
	frameIterations        = 50
	undeterminedIterations = 10
)

// The noise, in units of the least standard deviation of the samples along the frame, and its default, which is that off the frame.
const (
	mostNoise      = 0.49 // of an option: from 0.5 on the frame would lose a vector
	defaultAtMost  = 0.25
	defaultAtLeast = 0.01
	noiseFall      = 4 // factor of σ at a time in the search, which begins below a third of the deviation
	firstNoise     = 3 // the deviation divided by the first σ, at least
)

// The search for mean and frame. Excesses are in units of log likelihood, imbalances in standard errors.
const (
	fewestSteps   = 5    // steps of the integrator with which it begins, at least
	fewerSteps    = 5    // the steps of the space are divided by this at first
	nearTolerance = 0.1  // imbalance that is enough before the last σ and steps, at least
	firstExcess   = 0.03 // excess of the paths at the start
	stepExcess    = 0.1  // excess of the paths after a step, as a share of the excess of the objective
	worstExcess   = 10   // times the excess that was asked for: beyond it paths spoil the derivatives of the objective
	lastExcess    = 1e-14
	margin        = 0.95 // of the tolerance: the certificate, from paths that are more accurate, differs in the last digits
	shorter       = 3    // steps that are tried, each a quarter of the last, before the worst path of each further one is given up
	growth        = 4    // times as long as the step before a step may be
	lostEffort    = 10   // a path is certified with so many times less work where the search has not converged: it is one more sample to name
	ridge         = 1e-3 // added to the Hessian, divided by the sum of the frame's variances
	smoothing     = 0.1  // μ of the smoother vectors, in the unit of the kernel, which is 1 at distance 0
	dependent     = 1e-7 // singular value of the samples as a share of the first, at which the rank ends
)

// estimation is the search for a Mean. Its unknowns are the numbers of a step of Space.move: of x, ν_1, …, ν_m.
type estimation struct {
	Estimation
	space  *Space[geom.Vec]
	paths  *paths
	search *solve.BFGS
	sigma  float64

	at     Point[geom.Vec] // the best point so far
	scores [][]float64     // there, the derivatives of what every sample adds to the objective
}

// Estimate searches for the Mean of a problem.
func Estimate[P geom.Point](base *geom.Space[P], of Estimation) (_ *Mean[P], err error) {
	defer try.Catch(&err)
	m := (&estimation{Estimation: of, space: Over(base.OnNumbers())}).mean()
	out := &Mean[P]{Point: base.FromFlat(m.Point), Frame: base.FromFlats(m.Frame), Variances: m.Variances, Noise: m.Noise, Deviations: m.Deviations,
		Objective: m.Objective, Imbalance: m.Imbalance, Residual: m.Residual, Unmatched: m.Unmatched, Iterations: m.Iterations, Evaluations: m.Evaluations, Status: m.Status}
	out.Paths = lists.Each(m.Paths, func(g *Geodesic[geom.Vec]) *Geodesic[P] { return shaped(base, g) })
	return out, nil
}

// mean starts from the principal components, searches and certifies what it finds.
func (e *estimation) mean() *Mean[geom.Vec] {
	if d := e.space.Base.M.Dim(); e.Rank < 1 || e.Rank > d {
		try.Fail("rank %d, want 1 to %d", e.Rank, d)
	}
	frame, deviations, least, left := e.principal()
	e.at = Point[geom.Vec]{e.Start, frame}
	switch e.sigma = e.Noise; {
	case e.sigma > mostNoise*least:
		try.Fail("Noise(%.3g) is too large for rank %d: the samples' standard deviation in direction %d is %.3g, and must be more than twice as large; lower the rank or the noise",
			e.sigma, e.Rank, e.Rank-1, least)
	case e.sigma == 0:
		e.sigma = min(max(left, defaultAtLeast*least), defaultAtMost*least)
	}
	if e.MaxIterations == 0 {
		if e.MaxIterations = undeterminedIterations; determined(deviations, e.Rank, len(e.Samples)) {
			e.MaxIterations = frameIterations
		}
	}
	try.Do(e.space.check(e.at))
	e.paths = newPaths(e.space, e.Samples)
	m := &Mean[geom.Vec]{Deviations: deviations, Noise: e.sigma}
	e.fall(m, least)
	e.certify(m)
	e.principalAxes(m)
	return m
}

// fall minimises with few steps of the integrator while σ falls to its value, from the least standard deviation along the frame, and then with
// those of the space.
func (e *estimation) fall(m *Mean[geom.Vec], least float64) {
	exact, coarse := e.space, e.space
	if few := max(fewestSteps, exact.Base.Steps()/fewerSteps); 2*few <= exact.Base.Steps() {
		coarse = e.paths.at(few)
	}
	levels := []float64{e.sigma}
	for s := noiseFall * e.sigma; s < least/firstNoise; s *= noiseFall {
		levels = append([]float64{s}, levels...)
	}
	for k, sigma := range levels {
		e.sigma = sigma
		if last := k == len(levels)-1; !last {
			e.minimise(m, coarse, max(e.Tolerance, nearTolerance), true)
			continue
		}
		e.minimise(m, coarse, e.Tolerance, true)
		if coarse != exact {
			e.minimise(m, exact, e.Tolerance, false)
		}
	}
}

// certify certifies the paths and with them the mean.
func (e *estimation) certify(m *Mean[geom.Vec]) {
	effort := persistence
	if m.Status != geom.Converged {
		effort /= lostEffort
	}
	m.Paths = e.paths.certified(e.at, e.sigma, effort)
	value, gradient, scores := e.objective(e.at, e.paths.from(e.at, e.sigma, lastExcess))
	e.scores = scores
	m.Point, m.Objective, m.Evaluations = e.at.X, value, e.paths.searches
	m.Imbalance = e.imbalance(gradient)
	farthest := 0.0
	for i, g := range m.Paths {
		m.Residual = max(m.Residual, g.Residual)
		farthest = max(farthest, floats.Distance(e.Samples[i], e.at.X, 2))
	}
	for i, g := range m.Paths {
		if found := g.Residual*e.sigma*math.Sqrt(float64(len(e.at.X))) <= endTolerance*farthest; !found && m.Status != geom.Cancelled {
			m.Unmatched = append(m.Unmatched, i)
		}
	}
	if m.Status == geom.Converged && !(m.Unmatched == nil && m.Imbalance <= e.Tolerance) {
		m.Status = geom.Stalled
	}
}

// principal returns the principal components of the samples' coordinates or ambient vectors at the start, scaled to
// the standard deviations; all of these; least, the smallest of these deviations; and left, the standard deviation in a direction
// orthogonal to the components.
//
// Principal components of landmarks are as rough as the noise, and geodesics in rough directions bend wildly. So the frame is
// searched for in the span of the smoother vectors K (K + μ)⁻¹ ν.
func (e *estimation) principal() (frame [][]float64, deviations []float64, least, left float64) {
	base := e.space.Base
	d := base.M.Dim()
	try.FailIf(len(e.Samples) <= e.Rank,
		"%d samples have a covariance of rank %d at most, not %d: take more samples or a lower rank", len(e.Samples), len(e.Samples)-1, e.Rank)
	centre := lists.Combine(e.Weights, e.Samples)
	off := lists.Each(e.Samples, func(x []float64) []float64 { return floats.SubTo(make([]float64, len(x)), x, centre) })
	_, off = try.Get2(base.Project(e.Start, off...))
	a := dense.Rows(off)
	for i, w := range e.Weights {
		floats.Scale(math.Sqrt(w), a.RawRowView(i))
	}
	deviations, frame = components(a, e.Rank)
	values := deviations[:e.Rank]
	if d > e.Rank {
		left = math.Sqrt(max(0, math.Pow(mat.Norm(a, 2), 2)-floats.Dot(values, values)) / float64(d-e.Rank))
	}
	if m, ok := base.M.(geom.Regulariser); ok {
		out := e.space.call("smooth frame", func(in []*Node) []*Node {
			x := BroadcastPrefix(in[0], in[1].Shape().Dim(0))
			mu := MulScalar(ReduceSum(OnesLike(in[1]), -1), smoothing/float64(d))
			return []*Node{geom.Sharp(base.M, x, m.RegularFlat(x, in[1], mu))}
		}, e.Start, frame)
		var qr mat.QR
		var q, along, projected mat.Dense
		qr.Factorize(mat.NewDense(e.Rank, d, out.Flat(0)).T())
		qr.QTo(&q)
		basis := q.Slice(0, d, 0, e.Rank)
		along.Mul(a, basis)
		projected.Mul(&along, basis.T())
		values, frame = components(&projected, e.Rank)
	}
	return frame, deviations, values[e.Rank-1], left
}

// components returns the singular values of a matrix, the largest first, and as many of its right singular vectors as the rank says,
// scaled to the length of these values, one a row.
func components(a *mat.Dense, rank int) (values []float64, vectors [][]float64) {
	var svd mat.SVD
	try.FailIf(!svd.Factorize(a, mat.SVDThin),
		"the principal components of the samples were not found: look for a sample with coordinates that are not finite or very large")
	values = svd.Values(nil)
	try.FailIf(!(values[rank-1] > dependent*values[0]),
		"the samples' standard deviation in direction %d is %.3g, in the first one %.3g: the rank of their covariance is below %d; take a lower rank",
		rank-1, values[rank-1], values[0], rank)
	var v mat.Dense
	svd.VTo(&v)
	for k, s := range values[:rank] {
		column := mat.Col(nil, k, &v)
		floats.Scale(s, column)
		vectors = append(vectors, column)
	}
	return values, vectors
}

// minimise goes on from the best point in a space and with the present σ, until the derivatives of the samples balance. Its Hessian is
// renewed, or else what was learned of it before.
func (e *estimation) minimise(m *Mean[geom.Vec], in *Space[geom.Vec], tolerance float64, renew bool) {
	e.space, e.paths.space = in, in
	if m.Status == geom.Cancelled {
		return
	}
	for _, x := range e.paths.all { // none is given up
		x.lost = false
	}
	value, gradient, scores := e.objective(e.at, e.paths.from(e.at, e.sigma, firstExcess*e.stiffness()))
	try.FailIf(!lists.Finite(value),
		"the search starts from the principal components of the coordinates, and the paths there are not finite: give a Start, or more steps of the integrator")
	e.scores = scores
	e.paths.keep()
	if renew {
		e.search = solve.NewBFGS(make([]float64, len(gradient)), e.hessian())
	} else {
		e.search.Restart()
	}
	e.search.Learn(value, gradient, 0)
	for m.Status = geom.IterationLimit; ; m.Iterations++ {
		imbalance := e.imbalance(lists.Combine(e.Weights, e.scores))
		switch {
		case imbalance <= margin*tolerance:
			m.Status = geom.Converged
			return
		case m.Iterations >= e.MaxIterations:
			return
		case e.Task.Report(geom.Progress{Iteration: m.Iterations, Objective: e.search.Value, Gradient: imbalance, Tolerance: margin * tolerance}):
			m.Status = geom.Cancelled
			return
		}
		e.step()
		if e.search.Done { // no step leads down
			m.Status = geom.Stalled
			return
		}
	}
}

// step tries steps until one leads to a better point.
func (e *estimation) step() {
	best, accuracy, tries := e.search.Best, stepExcess*e.search.Excess*e.stiffness(), 0
	for better := false; !e.search.Done && !better; {
		step := floats.SubTo(make([]float64, len(best)), e.search.X, best)
		value, gradient, scores := math.Inf(1), step, e.scores
		var u Point[geom.Vec]
		err := try.Run(func() {
			u = e.space.move(e.at, step)
			try.Do(e.space.check(u))
		})
		if err == nil {
			found := e.paths.follow(u, step, e.sigma, accuracy)
			if worst := e.worst(found, worstExcess*accuracy); worst == nil {
				value, gradient, scores = e.objective(u, found)
			} else if tries++; tries >= shorter {
				worst.lost = true
			}
		}
		e.search.Longest = growth * floats.Norm(step, 2)
		if better = e.search.Learn(value, gradient, 0); better {
			e.at, e.scores = u, scores
			e.paths.keep()
		}
	}
}

// worst returns the worst path if the paths make the derivatives of the objective worse than an excess of the objective would, and nil if
// they do not: an excess e of a path changes its derivatives by √2e, in the norm of the inverse Hessian, and the objective has their
// weighted mean. Paths that were given up do not count.
func (e *estimation) worst(found []reached, excess float64) *path {
	sum, most := 0.0, -1
	for i, x := range e.paths.all {
		if x.lost {
			continue
		}
		sum += e.Weights[i] * math.Sqrt(found[i].excess)
		if most < 0 || found[i].excess > found[most].excess {
			most = i
		}
	}
	if sum*sum <= excess {
		return nil
	}
	return e.paths.all[most]
}

// stiffness is the share of what paths cost too much that mean and frame may see: the curvature of the objective off the frame is
// 1/σ², where the paths do not follow, and 1/(νᵀν + σ²) where they do.
func (e *estimation) stiffness() float64 {
	variance := e.sigma * e.sigma
	return variance / (variance + e.at.spread())
}

// spread is the sum of the squares of a frame's numbers.
func (u Point[P]) spread() (sum float64) {
	for _, v := range u.Frame {
		nu := shape.Flat(v)
		sum += floats.Dot(nu, nu)
	}
	return sum
}

// objective returns the objective with its gradient and the derivatives of what every sample adds to it, +Inf where a path is
// not finite.
func (e *estimation) objective(u Point[geom.Vec], found []reached) (f float64, gradient []float64, scores [][]float64) {
	f, volume := e.space.logVolume(u)
	slope := volume.list()
	for i, x := range found {
		if math.IsInf(x.cost, 1) {
			return math.Inf(1), slope, nil
		}
		scores = append(scores, floats.SubTo(make([]float64, len(slope)), slope, x.pull.list()))
		f += e.Weights[i] * x.cost
	}
	return f, lists.Combine(e.Weights, scores), scores
}

// imbalance is a gradient in standard errors.
func (e *estimation) imbalance(gradient []float64) float64 {
	var factor mat.Cholesky
	try.FailIf(!factor.Factorize(e.search.Hessian),
		"the metric is singular or not finite at the mean: for landmarks, take a kernel that is narrower compared with their distances")
	square := func(v []float64) float64 {
		x := mat.NewVecDense(len(v), v)
		var y mat.VecDense
		if factor.SolveVecTo(&y, x) != nil {
			return math.NaN()
		}
		return mat.Dot(x, &y)
	}
	variance := lists.Sum(len(e.scores), func(i int) float64 { return e.Weights[i] * e.Weights[i] * square(e.scores[i]) })
	return math.Sqrt(square(gradient) / variance)
}

// principalAxes takes the frame of the mean and of its paths to vectors that are orthogonal in the metric, which does not change
// ννᵀ, with the variances along them, falling.
func (e *estimation) principalAxes(m *Mean[geom.Vec]) {
	rising, rotation, ok := dense.Eigen(try.Get(e.space.Gram(e.at)))
	try.FailIf(!ok, "the metric is not finite at the mean: give a Start closer to the samples")
	m.Variances = rising
	slices.Reverse(m.Variances)
	rotated := func(rows [][]float64) (out [][]float64) {
		for k := range rows {
			out = append(out, lists.Combine(mat.Col(nil, len(rows)-1-k, rotation), rows))
		}
		return out
	}
	m.Frame = rotated(e.at.Frame)
	for _, g := range m.Paths {
		g.Start.Frame, g.Momentum.Vertical = m.Frame, rotated(g.Momentum.Vertical)
		for k, frame := range g.Frames {
			g.Frames[k] = rotated(frame)
			w := lists.Each(g.Velocities[k], func(v float64) []float64 { return []float64{v} })
			g.Velocities[k] = slices.Concat(rotated(w)...)
		}
	}
}

// hessian returns the Gauss-Newton Hessian of the objective: of paths that follow mean and frame, Jᵀ (σ² + C Cᵀ)⁻¹ J with the
// derivatives J of their ends by mean and frame and C by their controls, and of log det(νᵀ g ν).
func (e *estimation) hessian() *mat.SymDense {
	tangents := e.paths.tangents(e.at, e.probes())
	dim, variance := (e.Rank+1)*len(e.at.X), e.sigma*e.sigma
	sum := mat.NewDense(dim, dim, nil)
	for _, t := range tangents {
		// (σ² + C Cᵀ)⁻¹ = (1 − C (σ² + CᵀC)⁻¹ Cᵀ)/σ²
		var factor mat.Cholesky
		try.FailIf(!factor.Factorize(dense.Shift(dense.Gram(t.byControls.T()), variance)), "the vectors of the frame become linearly dependent in the search: take a lower rank, or a larger Noise")
		var along, follow, rest, part mat.Dense
		along.Mul(t.byControls.T(), t.byStart)
		try.Do(factor.SolveTo(&follow, &along))
		rest.Mul(t.byControls, &follow)
		rest.Sub(t.byStart, &rest)
		part.Mul(t.byStart.T(), &rest)
		part.Scale(1/(float64(len(tangents))*variance), &part)
		sum.Add(sum, &part)
	}
	// A ridge keeps what few samples say of the frame, and directions that leave a Charted manifold, invertible.
	h := dense.Shift(dense.Symmetric(sum), ridge/e.at.spread())
	e.addVolume(h)
	return h
}

// probes returns 2m controls that are constant in time, with the mean and the covariance of those of the samples.
func (e *estimation) probes() [][]float64 {
	samples := e.paths.constant()
	centre, covariance := lists.Combine(e.Weights, samples), mat.NewSymDense(e.Rank, nil)
	for i, w := range e.Weights {
		covariance.SymRankOne(covariance, w, mat.NewVecDense(e.Rank, floats.SubTo(make([]float64, e.Rank), samples[i], centre)))
	}
	variances, axes, ok := dense.Eigen(covariance)
	try.FailIf(!ok,
		"the most probable paths at a step of the search are not finite: give more steps of the integrator, a larger Noise, or a Start closer to the samples")
	var probes [][]float64
	for a, v := range variances {
		length := math.Sqrt(float64(e.Rank) * max(0, v))
		for _, signed := range []float64{-length, length} {
			probes = append(probes, floats.AddScaledTo(make([]float64, e.Rank), centre, signed, mat.Col(nil, a, axes)))
		}
	}
	return probes
}

// addVolume adds the second derivative of ½ log det(νᵀ g ν) with respect to ν, on vectors orthogonal to the span of ν: it is
// (νᵀ g ν)⁻¹ ⊗ g as in flat space.
func (e *estimation) addVolume(h *mat.SymDense) {
	m := e.space.Base.M
	if geom.IsCharted(m) {
		return // g is E or close to it, and its term is small compared with that of the paths
	}
	out := e.space.call("metric", func(in []*Node) []*Node { return []*Node{geom.MetricMatrix(m, in[0])} }, e.at.X)
	dim := len(e.at.X)
	g := mat.NewDense(dim, dim, out.Flat(0))
	frame := dense.Rows(e.at.Frame)
	var flat, gram, inverse, along, part mat.Dense
	flat.Mul(frame, g)
	gram.Mul(&flat, frame.T())
	try.Do(try.Name(inverse.Inverse(&gram), "the frame degenerates"))
	along.Mul(&inverse, &flat)
	part.Mul(flat.T(), &along) // g ν (νᵀ g ν)⁻¹ νᵀ g
	for k := range e.Rank {
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
