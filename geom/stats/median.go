package stats

import (
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
)

// Median returns the geometric median of samples: the point y that minimises
//
//	Σ_i w_i d(y, x_i).
//
// It is robust: outliers with less than half of the weight move it only a little. If the median is one of the samples, Point is
// exactly this sample and Gradient is 0. If distances are not convex, it is the best of the local minima that were found: Starts and Agreed are
// as for FrechetMean, and so is what becomes of samples that are all equal.
//
// The options are Weights, Start, Tolerance (default 1e-8) and MaxIterations (500). The tolerance is for the Gradient divided by
// Σ w_i d_i Σ w_i/d_i, a number without unit, in which each d_i counts as at least a tenth of the mean distance Σ w_i d_i.
//
// # Algorithm
//
// The steps are Weiszfeld's, Σ (w_i/d_i) Log_y(x_i) / Σ (w_i/d_i) with d_i = d(y, x_i), accelerated by Broyden's method
// (Fletcher, Venkatasubramanian and Joshi, NeuroImage 45, 2009). At a sample the sum has a kink; the sample is the median if
// its weight is at least the length of the sum of the others (Vardi and Zhang, PNAS 97, 2000). Gradient is ‖Σ w_i
// Log_y(x_i)/d_i‖_g, which has no unit, and at a sample what this exceeds the weight of the sample by.
func Median[P geom.Point](on geom.Of[P], samples []P, opts ...MedianOption) (_ *Mean[P], err error) {
	s := on.Geometry()
	r := newRun("geometric median", s, 1e-8)
	defer r.end(&err)
	x, w := samplesOf(r, s, samples, opts)
	return meanOf(s, r.withWeight(x, w, func(x [][]float64, w []float64) *Mean[geom.Vec] { return r.best(x, w, (*run).median) })), nil
}

// nearby is how far, of Σ w_i d_i, a sample is from y at most whose logarithm there is taken for 0.
const nearby = 1e-9

// median is the median that one start leads to, of samples that have weight.
func (r *run) median(samples [][]float64, w []float64) *Mean[geom.Vec] {
	sum := func(g []*geodesic) level {
		l := level{weights: make([]float64, len(g))}
		for i, g := range g {
			l.value += w[i] * g.Length
		}
		l.size = l.value
		for i, g := range g {
			if g.Length <= nearby*l.size {
				l.kink += w[i]
			} else {
				l.weights[i] = w[i] / g.Length
			}
			if l.size > 0 { // towards a sample that is close the sum is less stiff than across
				l.stiff += w[i] / max(g.Length, 0.1*l.size)
			}
		}
		if l.slope = floats.Sum(l.weights); l.slope > 0 {
			floats.Scale(1/l.slope, l.weights)
		}
		return l
	}
	m, space := r.centre(samples, w, sum)
	if m.Median = true; m.Status == geom.Cancelled {
		return m
	}
	// The sum has a kink at every sample, where its gradient need not vanish: try the nearest sample.
	nearest := floats.MinIdx(m.Distances)
	logs, err := space.LogFrom(repeat(samples[nearest], len(samples)), samples, nil)
	if r.Stopped() {
		m.Status = geom.Cancelled
		return m
	}
	if err != nil || slices.ContainsFunc(logs, func(g *geodesic) bool { return g.Status != geom.Converged }) {
		return m // some sample has no logarithm there
	}
	c := newCandidate(samples[nearest], logs, sum)
	value, rounding := floats.Dot(m.Weights, m.Distances), 1e-12
	if m.Distances[nearest] <= nearby*value { // where the sum has the kink of this sample already
		rounding = nearby
	}
	if c.value > value*(1+rounding) || !c.settled(r.Tolerance) {
		return m
	}
	out := r.result(c.y, c.logs, w)
	out.Median, out.Gradient, out.Iterations = true, c.slope*c.norm, m.Iterations
	return out
}
