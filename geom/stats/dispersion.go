package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/try"
)

// residuals returns the inner products of the vectors from the means of groups to the samples of these, group by group. Vectors of two
// groups meet at the mean of the later one, where those of the earlier are moved by parallel transport along the geodesic between the
// means. The vectors of a group of n are scaled by √(n/(n − 1)), because the mean of a small group is close to its samples.
func (r *run) residuals(means []*Mean[geom.Vec]) *mat.SymDense {
	var factors []float64
	first := make([]int, len(means)) // the place of the first vector of a group
	for g, m := range means {
		first[g] = len(factors)
		n := float64(len(m.Velocities))
		factors = append(factors, slices.Repeat([]float64{math.Sqrt(n / (n - 1))}, len(m.Velocities))...)
	}
	gram := mat.NewSymDense(len(factors), nil)
	for h, b := range means {
		for g, a := range means[:h+1] {
			vectors := a.Velocities
			if g < h {
				err := try.Run(func() { vectors = r.between(a, b) })
				try.Do(try.Name(err, "from the mean of group %d to that of group %d, counted from 0", g, h))
			}
			for i, v := range vectors {
				for j, p := range b.Momenta {
					i, j := first[g]+i, first[h]+j
					gram.SetSym(i, j, factors[i]*factors[j]*floats.Dot(v, p))
				}
			}
		}
	}
	return gram
}

// between returns the vectors of the samples at a mean moved to another mean.
func (r *run) between(a, b *Mean[geom.Vec]) [][]float64 {
	way := r.reach([][]float64{a.Point}, [][]float64{b.Point})[0]
	switch {
	case way.Status == geom.Converged:
	case r.sigma > 0:
		try.Fail("no geodesic was found: take a larger RelativeNoise")
	default:
		try.Fail("no geodesic was found (residual %.3g): allow for noise with RelativeNoise", way.Residual)
	}
	moved := forth(r.space, way, a.Velocities...)
	if geom.IsCharted(r.space.M) {
		end := try.Get(r.space.Shoot(way.Start, way.Momentum))
		_, moved = placed(r.space, b.Point, end.End, moved...)
	}
	return moved
}

// dispersion is the mean distance of the n members of a group from their mean, times √(n/(n − 1)), computed from the inner
// products of all vectors.
func dispersion(gram *mat.SymDense, members []int) float64 {
	n := float64(len(members))
	toMean := make([]float64, len(members))
	mean := 0.0
	for k, i := range members {
		for _, j := range members {
			toMean[k] += gram.At(i, j) / n
		}
		mean += toMean[k] / n
	}
	sum := 0.0
	for k, i := range members {
		sum += math.Sqrt(max(0, gram.At(i, i)-2*toMean[k]+mean))
	}
	return sum / math.Sqrt(n*(n-1))
}
