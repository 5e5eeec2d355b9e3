package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// ridge is added to the cometric in preconditioners: directions with an eigenvalue below it count as equally stiff.
const ridge = 0.01

// inexactMean minimises Σ w_i (‖p_i‖²_g* + |q_i(1) − x_i|²/σ²) over the point y and the momenta p_i of the geodesics q_i from it.
//
// If each p_i minimises its term, the derivative of the sum with respect to y is −2 Σ w_i p_i. So the mean is a root of Σ w_i p_i,
// whose derivative with respect to y is close to −(g* + σ²)⁻¹. First σ falls from a value for which every term has only one minimum,
// with one step of y at each σ; then Broyden's method takes the steps. Until y is close to the mean, geodesics are integrated
// coarsely.
func (r *run) inexactMean(samples [][]float64, w []float64) *Mean[geom.Vec] {
	space := r.space
	try.FailIf(geom.IsCharted(space.M), "RelativeNoise is for manifolds with coordinates; on %T logarithms are exact: leave it out", space.M)
	if r.Tolerance == 0 {
		r.Tolerance = 0.01
	}
	y := r.startingPoint(samples, w)
	c := cometricAt(space, y)
	const (
		easy = 0.3  // σ at the start, divided by the square root of the mean eigenvalue of the cometric
		fall = 0.85 // the factor of σ at every step
	)
	sigma, miss := 0.0, r.Tolerance
	if r.sigma > 0 {
		miss *= missing
		sigma = math.Max(r.sigma, easy*math.Sqrt(floats.Sum(c.values)/float64(len(c.values))))
	}
	b := r.balance(samples, 5)
	b.weights, b.spread, b.finer, b.miss = w, deviation(y, samples, w), space, miss
	b.shots.tolerance = onTheWay * b.spread
	b.from(y, sigma*sigma)
	b.least = 1e-10 * b.standardError()
	for sigma > r.sigma && b.iterations < r.MaxIterations {
		if b.show() {
			break
		}
		step, _ := b.step()
		sigma = math.Max(r.sigma, fall*sigma)
		b.from(floats.AddTo(make([]float64, len(y)), b.point, b.limited(step)), sigma*sigma)
		b.iterations++
	}
	b.settle(math.Max(0.1, r.Tolerance), onTheWay)
	if b.lost < patience && b.refine() {
		b.from(b.point, sigma*sigma)
	}
	for {
		b.settle(r.Tolerance, b.miss)
		if !b.balanced() || r.Stopped() {
			return b.result(nil)
		}
		more, lost := b.steady(space, lists.Range(len(samples))...)
		if !more || r.Stopped() {
			return b.result(lost)
		}
		b.from(b.point, b.variance)
	}
}

const (
	onTheWay = 1e-2 // the tolerance of |F_i|, divided by the spread of the samples, while y is far from the mean
	missing  = 1e-2 // the tolerance of |F_i| at the end, divided by the spread and by the option Tolerance
)

// balance is a search for the point at which the momenta of geodesics to samples balance.
type balance struct {
	*run
	*shots
	point      []float64
	weights    []float64
	spread     float64 // √(Σ w_i |x_i − y|²)
	unit       float64 // where shares are set, what the Tolerance is a share of: √(Σ w_i |x_i − x̄|²), with noise √(Σ w_i² |x_i − x̄|²)
	miss       float64 // the tolerance of every |F_i| at the end, divided by the spread
	least      float64 // a lower bound of standard errors, for samples that are all at one point
	iterations int
	lost       int       // how many times in a row momenta were not found
	blame      []float64 // of each sample for what was not found
}

// balance is a search with few steps.
func (r *run) balance(samples [][]float64, steps int) *balance {
	s := newShots(r.Context(), r.space.With(geom.Integrator(ode.RK4, steps)), samples)
	return &balance{run: r, shots: s, blame: make([]float64, len(samples))}
}

// deviation is √(Σ w_i |x_i − y|²).
func deviation(y []float64, x [][]float64, w []float64) float64 {
	return math.Sqrt(lists.Sum(len(x), func(i int) float64 { return w[i] * math.Pow(floats.Distance(x[i], y, 2), 2) }))
}

// patience is how many times in a row momenta of samples may not be found at the wanted σ before the search ends.
const patience = 3

// from moves the start of all geodesics to y, and searches for their momenta with σ² = variance.
func (b *balance) from(y []float64, variance float64) {
	b.point = y
	b.aim(repeat(y, len(b.shots.samples)), cometricAt(b.shots.space, y), variance)
	open := b.open()
	if b.lost++; len(open) == 0 {
		b.lost = 0
	}
	for _, i := range open {
		b.blame[i] += 1 / float64(len(open))
	}
}

// missed are the samples to blame. Every attempt in which momenta are not found shares one blame among their samples: a point that
// one sample drew away from the others finds none to any, which tells little.
func (b *balance) missed() (samples []int) {
	for i, blame := range b.blame {
		if blame > 0 && blame == slices.Max(b.blame) {
			samples = append(samples, i)
		}
	}
	return samples
}

// pull returns Σ w_i p_i with its norm.
func (b *balance) pull() ([]float64, float64) {
	pull := make([]float64, len(b.point))
	for i, root := range b.roots {
		floats.AddScaled(pull, b.weights[i], root.X)
	}
	return pull, math.Sqrt(b.cometric.square(pull))
}

// standardError is √(Σ w_i² ‖p_i‖²), the standard error of Σ w_i p_i.
func (b *balance) standardError() float64 {
	square := lists.Sum(len(b.roots), func(i int) float64 { return b.weights[i] * b.weights[i] * b.cometric.square(b.roots[i].X) })
	return math.Max(b.least, math.Sqrt(square))
}

// imbalance is the norm of Σ w_i p_i in standard errors; where shares are set, the length of the step to the mean in the unit.
func (b *balance) imbalance() float64 {
	if b.share != nil {
		_, length := b.step()
		return length / b.unit
	}
	if _, norm := b.pull(); norm > 0 {
		return norm / b.standardError()
	}
	return 0
}

// unsettled is the largest |F_i|, divided by the spread.
func (b *balance) unsettled() float64 {
	if b.spread == 0 {
		return 0
	}
	return b.worst() / b.spread
}

// step returns (g* + σ²) Σ w_i p_i less Σ w_i F_i, by which the p_i that were found miss theirs: to first order the vector from y to the
// mean, and its length.
func (b *balance) step() ([]float64, float64) {
	pull, _ := b.pull()
	step := b.cometric.sharp(pull)
	floats.AddScaled(step, b.variance, pull)
	for i, root := range b.roots {
		if root.Done {
			floats.AddScaled(step, -b.weights[i], root.F)
		}
	}
	return step, floats.Norm(step, 2)
}

// limited is d, shortened to the spread of the samples if it is longer: momenta that were not found, which are part of it, may be of
// any size.
func (b *balance) limited(d []float64) []float64 {
	if length := floats.Norm(d, 2); length > b.spread {
		return floats.ScaleTo(make([]float64, len(d)), b.spread/length, d)
	}
	return d
}

// show reports how far the search has come, and returns whether it shall stop.
func (b *balance) show() (stop bool) {
	if b.share != nil { // which takes as long as a step
		return b.Stopped()
	}
	squares, _ := b.distances()
	_, norm := b.pull()
	enough := 2 * norm * b.Tolerance / b.imbalance()
	if b.variance > b.sigma*b.sigma { // on the way
		enough = 0
	}
	return b.report(b.iterations, floats.Dot(b.weights, squares), 2*norm, enough)
}

// settle moves y until the norm of Σ w_i p_i is at most imbalance standard errors, and every |F_i| at most miss times the spread.
func (b *balance) settle(imbalance, miss float64) {
	var memory solve.Inverse
	step, length := b.step()
	for bad := 0; bad < 5 && b.lost < patience && b.iterations < b.MaxIterations; b.iterations++ {
		now := b.imbalance()
		if now <= imbalance && b.worst() <= miss*b.spread {
			return
		}
		if b.show() {
			return
		}
		b.shots.tolerance = math.Min(onTheWay*b.spread, math.Max(0.3*length, 0.3*miss*b.spread))
		if now <= imbalance {
			b.shots.tolerance = 0.3 * miss * b.spread
		}
		d := b.limited(memory.Apply(step))
		from := b.point
		for short := 0; ; short++ {
			b.from(floats.AddTo(make([]float64, len(d)), from, d), b.variance)
			next, nextLength := b.step()
			if b.ctx.Err() != nil {
				return
			}
			if nextLength < 3*length || short == 2 {
				memory.Learn(d, floats.SubTo(make([]float64, len(d)), step, next))
				if bad++; nextLength < 0.9*length {
					bad = 0
				}
				step, length = next, nextLength
				break
			}
			memory = solve.Inverse{} // too far
			floats.Scale(0.25, d)
		}
	}
}

// balanced says whether the momenta balance and the geodesics are found, to the tolerance.
func (b *balance) balanced() bool {
	return b.variance == b.sigma*b.sigma && b.imbalance() <= b.Tolerance && b.unsettled() <= b.miss
}

// result makes a Mean of y and the geodesics to the samples, whether the search has ended at its tolerance or not. The geodesics to the
// lost samples have too few steps.
func (b *balance) result(lost []int) *Mean[geom.Vec] {
	squares, misses := b.distances()
	_, norm := b.pull()
	m := &Mean[geom.Vec]{Point: b.point, Weights: b.weights, RelativeNoise: b.sigma, Gradient: 2 * norm, Starts: 1, Agreed: 1, Iterations: b.iterations}
	if b.sigma > 0 {
		m.Imbalance, m.Unsettled = b.imbalance(), b.unsettled()
	}
	var logs []*geodesic
	for i, root := range b.roots {
		v := b.cometric.sharp(root.X)
		g := &geodesic{Momentum: root.X, Velocity: v, Length: math.Sqrt(math.Max(0, squares[i])), Residual: math.Sqrt(misses[i] / float64(len(v)))}
		if floats.Norm(root.X, 1) == 0 && misses[i] > 0 { // its search had not begun
			g.Length = math.NaN()
		}
		logs = append(logs, g)
	}
	for i, g := range rounded(b.point, logs) {
		m.Momenta, m.Velocities, m.Distances = append(m.Momenta, g.Momentum), append(m.Velocities, g.Velocity), append(m.Distances, g.Length)
		m.Variance += b.weights[i] * g.Length * g.Length
		m.Residual = math.Max(m.Residual, g.Residual)
	}
	switch {
	case b.ctx.Err() != nil:
		m.Status = geom.Cancelled
	case b.balanced() && lost != nil:
		m.Status, m.Unmatched = geom.Stalled, lost
	case b.balanced():
		m.Status = geom.Converged
	case b.iterations >= b.MaxIterations:
		m.Status = geom.IterationLimit
	default:
		m.Status, m.Unmatched = geom.Stalled, b.missed()
	}
	return m
}

// key names a compiled function of this package that does not integrate.
func key(name string) ode.Key { return ode.Key{Name: "statistics, " + name} }

// shooting is the key of a function that integrates geodesics.
func shooting(name string, s *geom.Space[geom.Vec]) ode.Key {
	return ode.Key{Name: "statistics, " + name, Method: s.Method(), Steps: s.Steps()}
}
