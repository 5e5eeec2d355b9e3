package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// best returns the best of the means that several starts lead to, where the samples are far apart and their logarithms have closed forms.
func (r *run) best(samples [][]float64, w []float64) *Mean[geom.Vec] {
	best := r.exactMean(samples, w)
	best.Starts, best.Agreed = 1, 1
	if _, closed := r.space.M.(geom.ClosedForms); !closed || r.from != nil || best.Status == geom.Cancelled || !r.wide(best, samples) {
		return best
	}
	found, n := []*Mean[geom.Vec]{best}, min(len(samples), 12)
	for k := range n {
		other := *r
		other.Task, other.from = r.Quiet(), samples[k*len(samples)/n]
		var m *Mean[geom.Vec]
		err := try.Run(func() { m = other.exactMean(samples, w) })
		if r.Stopped() {
			best.Status = geom.Cancelled
			return best
		}
		if err != nil { // the cut locus of a sample
			continue
		}
		if found = append(found, m); m.Status < best.Status || m.Status == best.Status && m.Variance < (1-1e-9)*best.Variance {
			best = m
		}
	}
	ends := repeat(best.Point, len(samples)) // as many as in the search, for which there is a program
	best.Starts, best.Agreed = len(found), 1
	for k, m := range slices.DeleteFunc(found, func(m *Mean[geom.Vec]) bool { return m == best }) {
		ends[k] = m.Point
	}
	for _, g := range r.perhaps(repeat(best.Point, len(ends)), ends)[:best.Starts-1] {
		if g.Length <= 1e-3*math.Sqrt(best.Variance) {
			best.Agreed++
		}
	}
	return best
}

// wide says whether the sum of squares at the sample furthest from m is less than flat space would have it, or has a cut locus.
func (r *run) wide(m *Mean[geom.Vec], samples [][]float64) bool {
	far := floats.MaxIdx(m.Distances)
	logs, err := r.space.LogAll(repeat(samples[far], len(samples)), samples)
	if err != nil {
		return true
	}
	square := m.Distances[far] * m.Distances[far]
	less := m.Variance + square - 2*floats.Dot(lists.Combine(m.Weights, m.Momenta), m.Velocities[far])
	for i, g := range logs {
		less -= m.Weights[i] * g.Length * g.Length
	}
	return less > 0.1*square
}

// lower returns a candidate where the sum is lower than at one that is settled: at the same point with shorter logarithms, or away from
// it, where it is a maximum or a saddle. It is nil where none is found.
func (r *run) lower(now *candidate, samples [][]float64, w []float64, at evaluation) *candidate {
	if logs := r.shortened(repeat(now.y, len(samples)), samples, now.logs); logs != nil {
		return newCandidate(now.y, logs, w)
	}
	return r.downhill(now, at)
}

// shortened searches anew for logarithms that were found from guesses, and returns them with those in place that are shorter; nil if
// none is. Closed forms know the shortest.
func (r *run) shortened(from, to [][]float64, logs []*geodesic) []*geodesic {
	if _, ok := r.space.M.(geom.ClosedForms); ok {
		return nil
	}
	anew, _ := r.space.LogAll(from, to) // an error is of those that are nil
	shorter, out := false, slices.Clone(logs)
	for i, g := range anew {
		if g != nil && g.Status == geom.Converged && g.Length < (1-1e-6)*logs[i].Length {
			shorter, out[i] = true, g
		}
	}
	if !shorter {
		return nil
	}
	return out
}

// downhill returns a candidate where the sum is lower than at one with the gradient 0, nil where it finds none. Lanczos' method,
// from a random vector, searches for the direction in which the second derivative is least, by differences of gradients: in up to 8
// dimensions among all directions, in more among 4, which find one that stands out of the others, as where the sum falls.
func (r *run) downhill(now *candidate, at evaluation) *candidate {
	const (
		short    = 1e-3 // of the spread: steps of differences
		accuracy = 1e-2 // of second derivatives, which are about 1 in flat space
	)
	limit := r.space.M.Dim()
	if limit > 8 {
		limit = 4
	}
	random, v := rand.New(rand.NewPCG(1, 0)), make([]float64, len(now.y))
	for k := range v {
		v[k] = random.NormFloat64()
	}
	var basis, flat [][]float64
	size := now.size()
	h, least, direction := mat.NewSymDense(limit, nil), 0.0, []float64(nil)
	for k := 0; k < limit; k++ {
		_, tangent := try.Get2(r.space.Project(now.y, v))
		out := musical(r.space, "flat", now.y, tangent[0], geom.Vector, geom.Covector, geom.Flat)
		q, p := tangent[0], out.Vector(0)
		norm := math.Sqrt(max(0, floats.Dot(q, p)))
		if k > 0 && norm*math.Abs(direction[k-1]) < accuracy {
			break
		}
		floats.Scale(1/norm, q)
		step := floats.ScaleTo(make([]float64, len(q)), short*size, q)
		if !(floats.Norm(step, 2) > 1e-10*floats.Norm(now.y, 2)) {
			return nil // for samples that are so close, space is flat
		}
		next, err := r.moved(now, step, at)
		if err != nil {
			break // at the cut locus of a sample
		}
		basis, flat = append(basis, q), append(flat, floats.ScaleTo(p, 1/norm, p))
		v = floats.SubTo(make([]float64, len(q)), now.step, next.step)
		floats.Scale(1/(short*size), v)
		for j := range basis {
			h.SetSym(j, k, floats.Dot(flat[j], v))
		}
		for j := range basis {
			floats.AddScaled(v, -floats.Dot(flat[j], v), basis[j])
		}
		values, vectors, ok := dense.Eigen(h.SliceSym(0, k+1))
		if !ok {
			break
		}
		least, direction = values[0], mat.Col(nil, 0, vectors)
	}
	if least > -accuracy {
		return nil
	}
	way := lists.Combine(direction, basis)
	for _, t := range []float64{0.3, -0.3, 0.1, -0.1, 0.03, -0.03} {
		next, err := r.moved(now, floats.ScaleTo(make([]float64, len(way)), t*size, way), at)
		if err == nil && next.value < now.value*(1-1e-9) {
			return next
		}
	}
	return nil
}
