package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
)

// Median returns the geometric median: the point y that minimises Σ w_i d(y, x_i). It is robust: outliers with less than half of the
// weight move it only a little. The iteration takes Weiszfeld's steps Σ (w_i/d_i) Log_y(x_i) / Σ (w_i/d_i) with d_i = d(y, x_i),
// accelerated by Broyden's method (Fletcher, Venkatasubramanian and Joshi, NeuroImage 45, 2009). Gradient is
// ‖Σ w_i Log_y(x_i)/d_i‖_g, a number without unit. If the median is one of the samples, Point is exactly this sample and Gradient
// is 0.
//
// It takes Weights, Start, Tolerance (default 1e-8 of Σ w_i d_i) and MaxIterations (500).
func Median[P geom.Point](on geom.Of[P], samples []P, opts ...Option) (*Mean[P], error) {
	s := on.Geometry()
	r, err := newRun("geometric median", s, 1e-8, opts, "Weights", "Start")
	if err != nil {
		return nil, err
	}
	defer r.End()
	x, w, err := samplesOf(r, s, samples)
	if err != nil {
		return nil, err
	}
	return meanOf(s)(r.median(x, w))
}

func (r *run) median(samples [][]float64, w []float64) (*Mean[geom.Vec], error) {
	sum := func(g []*geodesic) level {
		l := level{weights: make([]float64, len(g))}
		for i, g := range g {
			l.value += w[i] * g.Length
			if g.Length > 0 {
				l.weights[i] = w[i] / g.Length
			}
		}
		l.slope, l.size = floats.Sum(l.weights), l.value
		if l.slope > 0 {
			floats.Scale(1/l.slope, l.weights)
		}
		return l
	}
	m, err := r.centre(samples, w, sum)
	if err != nil || m.Status == geom.Cancelled {
		return m, err
	}
	// The sum has a kink at every sample, where its gradient need not vanish: try the nearest sample.
	nearest := floats.MinIdx(m.Distances)
	logs, err := r.space.LogFrom(repeat(samples[nearest], len(samples)), samples, nil)
	if err != nil {
		return m, nil // some sample has no logarithm there
	}
	l := sum(logs)
	if l.value > floats.Dot(m.Weights, m.Distances)*(1+1e-12) {
		return m, nil
	}
	atKink := 0.0 // weight of the samples there
	for i, g := range logs {
		if g.Length == 0 {
			atKink += w[i]
		}
	}
	velocities, momenta := parts(logs)
	pull := l.slope * math.Sqrt(max(0, floats.Dot(combine(l.weights, velocities), combine(l.weights, momenta))))
	if pull > atKink {
		return m, nil
	}
	out := r.result(samples[nearest], logs, w)
	out.Iterations = m.Iterations
	return out, nil
}
