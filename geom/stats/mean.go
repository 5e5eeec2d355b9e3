package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Mean is the Fréchet mean y of samples x_i. It holds the logarithms of the samples at y,
// which other statistics, such as TangentPCA, start from; those of a sample of weight 0 that has none are NaN.
type Mean[P geom.Point] struct {
	Point         P         // y
	Weights       []float64 // w_i, Σ w_i = 1
	Velocities    []P       // v_i = Log_y(x_i); with RelativeNoise the v of the minimum in d_σ
	Momenta       []P       // v_i♭
	Distances     []float64 // d(y, x_i); with RelativeNoise d_σ(y, x_i)
	Variance      float64   // Σ w_i Distances_i², in the unit of lengths squared; NaN where the computation was cancelled before a distance was known
	RelativeNoise float64   // σ of the option; 0 without

	Gradient float64 // ‖gradient‖_g of the sum that was minimised: 0 at the mean
	// Imbalance and Unsettled say how exact a mean with RelativeNoise is; both are 0 without. Imbalance is ‖Σ w_i v_i‖_g divided by the
	// standard error of the mean, √(Σ w_i² ‖v_i‖²_g). Unsettled is the error of the geodesics q_i, which minimise d_σ where
	// q_i(1) + σ² p_i(1) − x_i = 0: the largest norm of this vector, divided by √(Σ w_i |x_i − y|²).
	Imbalance, Unsettled float64
	Unmatched            []int   // with RelativeNoise, where Status is Stalled: of the samples to which no such geodesic was found, those that failed most often
	Residual             float64 // the largest |Exp_y(v_i) − x_i|/√d; with RelativeNoise this is the noise, not an error
	Starts, Agreed       int     // how many starts were made, and how many of these ended at y: see FrechetMean
	Iterations           int     // of the start that led to y
	// Status is Stalled if the gradient or a logarithm did not reach its tolerance; Residual says how far the logarithms
	// are off.
	Status geom.Status
}

// FrechetMean returns the Fréchet mean of samples: the point y that minimises
//
//	Σ_i w_i d(y, x_i)²,
//
// with the logarithms of the samples at y. If the samples are in a convex ball, there is one such point; otherwise the sum may have many
// local minima, and y is the best that was found, a mean and not the mean. Where the manifold has geom.ClosedForms and no Start is given,
// the search also starts at up to 12 of the samples if these are far apart. Starts counts all starts, Agreed those that ended at y: where few
// agreed, there may be a better mean. Starts is 1 where the samples are close together; where there are no closed forms, as for landmarks, since
// more starts would take too long; and with RelativeNoise.
//
// If all samples are at y up to rounding, the Variance, the Gradient and the logarithms are exactly 0. This is so where each logarithm, as a
// vector in the ambient space, is at most 1e-14 of y, and its length at most 1e-6 or twice that of this vector.
//
// With RelativeNoise it minimises Σ w_i d_σ(y, x_i)² instead. Use this for landmarks of real outlines; the result is the
// deterministic atlas of Durrleman et al. (NeuroImage 101, 2014). Points must then be coordinates: a Charted manifold is an
// error. If no smooth deformation leads to a sample, such as an outline whose points are in a wrong order, the Status is
// Stalled and Unmatched lists the samples. Leave them out or use a larger σ.
//
// It is an error if the logarithms of more than half of the samples at the start are not found. The options are Weights, Start, RelativeNoise,
// MaxIterations (500) and Tolerance (1e-8): without RelativeNoise the search ends when half of the Gradient is at most this times √Variance. With RelativeNoise
// the Tolerance (0.01) is in standard errors of the mean.
//
// # Algorithm
//
// The gradient of the sum is −2 Σ w_i Log_y(x_i) (Pennec, J. Math. Imaging Vision 25, 2006). The iteration takes quasi-Newton
// steps along geodesics and accepts a step only if the sum gets smaller. Where the gradient is 0 it computes the logarithms
// again, without closed forms, and continues if one is shorter. It leaves a maximum or a saddle along the direction in which
// the second derivative is least. In more than 8 dimensions it looks for this direction among 4 directions, so it may treat a
// saddle as a minimum if the sum decreases in few directions and slowly.
//
// In flat space the sum at a sample x is Variance + d(y, x)², and with negative curvature it is not less. Samples count as far apart where at
// the furthest one it is less by more than d(y, x)²/10. Then the search starts again at 12 samples, evenly chosen.
//
// With RelativeNoise the iteration ends when Imbalance is at most Tolerance and Unsettled at most Tolerance/100. It ends as Stalled if at three steps in a
// row the geodesic to some sample is not found. Each step decomposes the n×n matrix of the kernel, which is fast for up to about a thousand
// landmarks.
func FrechetMean[P geom.Point](on geom.Of[P], samples []P, opts ...MeanOption) (_ *Mean[P], err error) {
	s := on.Geometry()
	r := newRun("Fréchet mean", s, 0)
	defer r.end(&err)
	x, w := samplesOf(r, s, samples, opts)
	return meanOf(s, r.mean(x, w)), nil
}

// meanOf turns a mean of lists of numbers into one of points of a space.
func meanOf[P geom.Point](s *geom.Space[P], m *Mean[geom.Vec]) *Mean[P] {
	return &Mean[P]{s.FromFlat(m.Point), m.Weights, s.FromFlats(m.Velocities), s.FromFlats(m.Momenta), m.Distances, m.Variance, m.RelativeNoise,
		m.Gradient, m.Imbalance, m.Unsettled, m.Unmatched, m.Residual, m.Starts, m.Agreed, m.Iterations, m.Status}
}

// mean is FrechetMean.
func (r *run) mean(samples [][]float64, w []float64) *Mean[geom.Vec] {
	if r.sigma > 0 {
		return r.withWeight(samples, w, r.inexactMean)
	}
	if r.Tolerance == 0 {
		r.Tolerance = 1e-8
	}
	return r.withWeight(samples, w, r.best)
}

// withWeight computes a mean of the samples that have weight, and takes the geodesics to the others there.
func (r *run) withWeight(samples [][]float64, w []float64, mean func(x [][]float64, w []float64) *Mean[geom.Vec]) *Mean[geom.Vec] {
	with, without := weighted(w)
	m := mean(lists.Pick(samples, with), lists.Pick(w, with))
	if without == nil {
		return m
	}
	m.Weights, m.Unmatched = w, lists.Pick(with, m.Unmatched)
	for k, g := range r.perhaps(repeat(m.Point, len(without)), lists.Pick(samples, without)) {
		i := without[k]
		m.Velocities, m.Momenta = slices.Insert(m.Velocities, i, g.Velocity), slices.Insert(m.Momenta, i, g.Momentum)
		m.Distances = slices.Insert(m.Distances, i, g.Length)
		m.Residual = max(m.Residual, g.Residual)
	}
	if r.Stopped() {
		m.Status = geom.Cancelled
	}
	return m
}

// weighted are the numbers of the samples that have weight, and of those that have none.
func weighted(w []float64) (with, without []int) {
	for i, v := range w {
		if v > 0 {
			with = append(with, i)
		} else {
			without = append(without, i)
		}
	}
	return with, without
}

// perhaps is reach for samples without weight: a geodesic that is not found is NaN, with the Residual 0.
func (r *run) perhaps(y, x [][]float64) []*geodesic {
	var logs []*geodesic
	err := try.Run(func() { logs = r.reach(y, x) })
	if err != nil && len(x) > 1 { // perhaps of one of them
		logs = nil
		for i := range x {
			logs = append(logs, r.perhaps(y[i:i+1], x[i:i+1])...)
		}
		return logs
	}
	if err != nil {
		logs = []*geodesic{{Status: geom.Stalled}}
	}
	for i, g := range logs {
		if g.Status != geom.Converged {
			logs[i] = unknown(len(x[i]))
			logs[i].Status = g.Status
		}
	}
	return logs
}

// unknown is a geodesic of which nothing is known.
func unknown(n int) *geodesic {
	none := slices.Repeat([]float64{math.NaN()}, n)
	return &geodesic{Velocity: none, Momentum: none, Length: math.NaN()}
}

// known is a geodesic, or unknown if its search was cancelled before it had begun.
func known(g *geodesic) *geodesic {
	if g.Status == geom.Cancelled && g.Length == 0 && g.Residual > 0 {
		u := unknown(len(g.Velocity))
		u.Residual, u.Status = g.Residual, g.Status
		return u
	}
	return g
}

// rounded are geodesics from y, all 0 where all are lost in rounding: see FrechetMean.
func rounded(y []float64, logs []*geodesic) []*geodesic {
	for _, g := range logs {
		if !vanishes(y, g) {
			return logs
		}
	}
	return slices.Repeat([]*geodesic{{Velocity: make([]float64, len(y)), Momentum: make([]float64, len(y)), Status: geom.Converged}}, len(logs))
}

func vanishes(y []float64, g *geodesic) bool {
	size := floats.Norm(g.Velocity, 2)
	return g.Status == geom.Converged && size <= 1e-14*floats.Norm(y, 2) && g.Length <= max(1e-6, 2*size)
}

// reach returns the geodesics from points y_i to samples x_i; with RelativeNoise those that minimise d_σ, which is their Length, and the y_i
// are close together.
func (r *run) reach(y, x [][]float64) []*geodesic {
	if r.sigma == 0 {
		return try.Get(r.space.LogAll(y, x))
	}
	at := cometricAt(r.space, y[0])
	s := newShots(r.Context(), r.space, x)
	for i := range x {
		s.tolerance = max(s.tolerance, 1e-6*floats.Distance(x[i], y[i], 2))
	}
	var lost []int
	for more := true; more; {
		s.aim(y, at, r.sigma*r.sigma)
		more, lost = s.steady(r.space, lists.Range(len(x))...)
	}
	squares, misses := s.distances()
	velocities := s.velocities()
	logs := make([]*geodesic, len(x))
	for i, root := range s.roots {
		logs[i] = &geodesic{Start: y[i], Velocity: velocities[i], Momentum: root.X, Length: math.Sqrt(max(0, squares[i])),
			Residual: math.Sqrt(misses[i] / float64(len(x[i]))), Status: geom.Converged}
		if !root.Done || slices.Contains(lost, i) {
			logs[i].Status = geom.Stalled
		}
	}
	return logs
}

type geodesic = geom.Geodesic[geom.Vec]

// String says what the mean is in one line.
func (m *Mean[P]) String() string {
	line := fmt.Sprintf("mean of %d samples, standard deviation %.4g, %s after %d iterations", len(m.Weights), math.Sqrt(m.Variance), m.Status, m.Iterations)
	if m.Starts > 1 {
		line += fmt.Sprintf(", found by %d of %d starts", m.Agreed, m.Starts)
	}
	if len(m.Unmatched) > 0 {
		line += fmt.Sprintf("; no best geodesic found to the samples %v, counted from 0: leave them out, or take a larger RelativeNoise", m.Unmatched)
	}
	return line
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (m *Mean[P]) Err() error { return solve.NotNil(m).Status.Err(m) }

// candidate is a point y with the logarithms of the samples at y, and the step that they suggest.
type candidate struct {
	y        []float64
	logs     []*geodesic
	value    float64   // Σ w_i ‖Log_y(x_i)‖², which falls by 2 ‖step‖² along the step to first order
	step     []float64 // Σ w_i Log_y(x_i)
	covector []float64 // its ♭
	norm     float64   // ‖step‖_g: half of the gradient
}

// size is the spread of the samples, the unit in which steps are measured.
func (c *candidate) size() float64 { return math.Sqrt(c.value) }

// settled says whether the step is 0 within a tolerance of the spread.
func (c *candidate) settled(tolerance float64) bool { return c.norm <= tolerance*c.size() }

// newCandidate is the candidate with given logarithms at y, of samples with weights.
func newCandidate(y []float64, logs []*geodesic, w []float64) *candidate {
	logs = rounded(y, logs)
	c := &candidate{y: y, logs: logs}
	for i, g := range logs {
		c.value += w[i] * g.Length * g.Length
	}
	velocities, momenta := parts(logs)
	c.step, c.covector = lists.Combine(w, velocities), lists.Combine(w, momenta)
	c.norm = math.Sqrt(max(0, floats.Dot(c.step, c.covector)))
	return c
}

// evaluation is a candidate at y, with guesses of the logarithms there.
type evaluation func(y []float64, guess [][]float64) (*candidate, error)

// exactMean is meanFrom the starting point, of samples that have weight. Lengths change suddenly where geodesics get other steps, so it
// searches in a space in which all logarithms take the same, and again with more as long as those at the result need more.
func (r *run) exactMean(samples [][]float64, w []float64) *Mean[geom.Vec] {
	y := repeat(r.startingPoint(samples, w), len(samples))
	logs, err := r.space.LogAll(y, samples)
	if err == nil && !r.Stopped() {
		err = found(logs)
	}
	try.Do(try.Name(err, "at the start"))
	for iterations := 0; ; {
		steady := *r
		steady.space = r.space.Steady(logs...)
		if slices.ContainsFunc(logs, func(g *geodesic) bool { return g.Steps != steady.space.Steps() }) {
			velocities, _ := parts(logs)
			logs = try.Get(steady.space.LogFrom(y, samples, velocities))
		}
		m := steady.meanFrom(newCandidate(y[0], logs, w), samples, w)
		iterations += m.Iterations
		if m.Iterations = iterations; steady.space == r.space || r.Stopped() {
			return m
		}
		y = repeat(m.Point, len(samples))
		logs, err = r.space.LogFrom(y, samples, m.Velocities)
		try.Do(try.Name(err, "at the result"))
		if r.space.Steady(logs...).Steps() <= steady.space.Steps() {
			m.Status = max(m.Status, worst(logs))
			return m
		}
	}
}

// worst is the worst status of geodesics.
func worst(logs []*geodesic) geom.Status {
	status := geom.Converged
	for _, g := range logs {
		status = max(status, g.Status)
	}
	return status
}

// meanFrom searches for a point where the step Σ w_i Log_y(x_i) is zero, by Broyden's method in the ambient coordinates. As a function
// of y the step has a Jacobian close to −1. The vectors that the method remembers are not transported to new points: near the
// end steps are short, and far from it the line search decides. What it finds is asked for shorter logarithms, since those that
// follow y stay on their sides of the samples' cut loci, and for directions in which the sum falls.
func (r *run) meanFrom(now *candidate, samples [][]float64, w []float64) *Mean[geom.Vec] {
	at := func(y []float64, guess [][]float64) (*candidate, error) {
		logs, err := r.space.LogFrom(repeat(y, len(samples)), samples, guess)
		if err != nil {
			return nil, err
		}
		return newCandidate(y, logs, w), nil
	}
	var memory solve.Inverse
	iteration, status := 0, geom.IterationLimit
	for ; ; iteration++ { // the last point is tested too
		if now.settled(r.Tolerance) && !r.Stopped() {
			lower := r.lower(now, samples, w, at)
			if r.Stopped() { // and perhaps did not look for all
				status = geom.Cancelled
				break
			}
			if lower == nil {
				status = geom.Converged
				break
			}
			now, memory = lower, solve.Inverse{}
			continue
		}
		if iteration >= r.MaxIterations {
			break
		}
		if r.report(iteration, now.value, 2*now.norm, 2*r.Tolerance*now.size()) {
			status = geom.Cancelled
			break
		}
		next, step := r.search(now, &memory, at)
		if next == nil {
			switch status = geom.Stalled; {
			case r.Stopped():
				status = geom.Cancelled
			case floats.Norm(now.step, 2) <= 1e-15*floats.Norm(now.y, 2): // lost in rounding: the samples are at one point
				status = geom.Converged
			}
			break
		}
		memory.Learn(step, floats.SubTo(make([]float64, len(step)), now.step, next.step))
		now = next
	}
	m := r.result(now.y, now.logs, w)
	m.Gradient, m.Iterations = 2*now.norm, iteration
	if status != geom.Converged {
		m.Status = status
	}
	return m
}

// result makes a Mean of a point and the logarithms of the samples; its Status is Stalled if a logarithm was not found.
func (r *run) result(y []float64, logs []*geodesic, w []float64) *Mean[geom.Vec] {
	m := &Mean[geom.Vec]{Point: y, Weights: w, Status: geom.Converged}
	for i, g := range logs {
		g = known(g)
		m.Velocities, m.Momenta = append(m.Velocities, g.Velocity), append(m.Momenta, g.Momentum)
		m.Distances = append(m.Distances, g.Length)
		m.Variance += w[i] * g.Length * g.Length
		m.Residual = max(m.Residual, g.Residual)
		if g.Status != geom.Converged {
			m.Status = geom.Stalled
		}
	}
	return m
}

// search takes a step that lowers the sum, or its gradient where rounding hides a change of the sum: in the direction of
// Broyden's method, and if that fails in the direction of the gradient. It returns nil if no step was found.
func (r *run) search(now *candidate, memory *solve.Inverse, at evaluation) (*candidate, []float64) {
	for {
		direction := now.step
		plain := memory.Identity()
		if !plain {
			_, tangent := try.Get2(r.space.Project(now.y, memory.Apply(now.step)))
			direction = tangent[0]
		}
		slope := floats.Dot(now.covector, direction)
		if plain || slope > 0.05*now.norm*now.norm {
			for t := 1.0; t > 1e-2; t /= 2 {
				step := floats.ScaleTo(make([]float64, len(direction)), t, direction)
				next, err := r.moved(now, step, at)
				if err != nil {
					continue
				}
				if r.Stopped() { // and perhaps has not all logarithms there
					return nil, nil
				}
				falls := next.value <= now.value-2e-4*t*slope
				equal := math.Abs(next.value-now.value) <= 1e-9*now.value && next.norm < 0.9*now.norm
				if falls || equal {
					return next, step
				}
			}
		}
		if plain {
			return nil, nil
		}
		*memory = solve.Inverse{}
	}
}

// moved is the candidate at Exp_y(step). It is an error if the step leaves the chart, or a sample has no logarithm there.
func (r *run) moved(from *candidate, step []float64, at evaluation) (*candidate, error) {
	g, err := r.space.Exp(from.y, step)
	if err != nil {
		return nil, err
	}
	guess := lists.Each(from.logs, func(g *geodesic) []float64 { return floats.SubTo(make([]float64, len(step)), g.Velocity, step) })
	return at(g.End, guess)
}

// found returns an error if the logarithms of more than half of the samples were not found.
func found(logs []*geodesic) error {
	lost, worst := 0, 0.0
	for _, g := range logs {
		if g.Status != geom.Converged {
			lost++
			worst = max(worst, g.Residual)
		}
	}
	if 2*lost <= len(logs) {
		return nil
	}
	return fmt.Errorf("the logarithms of %d of %d samples were not found (residuals up to %.3g): give a Start in their middle, or allow for noise with RelativeNoise", lost, len(logs), worst)
}

// parts returns the velocities and momenta of geodesics.
func parts(g []*geodesic) (velocities, momenta [][]float64) {
	for _, g := range g {
		velocities = append(velocities, g.Velocity)
		momenta = append(momenta, g.Momentum)
	}
	return velocities, momenta
}
