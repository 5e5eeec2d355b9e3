package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
)

// residuals returns the inner products of the vectors from the mean of each of two groups to the samples of the group. The vectors
// of the first group are moved to the mean of the second by parallel transport along the geodesic between the means. The vectors of
// a group of n are scaled by √(n/(n − 1)), because the mean of a small group is close to its samples.
func (r *run) residuals(a, b *Mean[geom.Vec]) (*mat.SymDense, error) {
	ways, err := r.reach([][]float64{a.Point}, [][]float64{b.Point})
	if err != nil {
		return nil, fmt.Errorf("between the means of the groups: %w", err)
	}
	way := ways[0]
	switch {
	case way.Status == geom.Converged:
	case r.sigma > 0:
		return nil, fmt.Errorf("the geodesic between the means of the groups was not found: take a larger Mismatch")
	default:
		return nil, fmt.Errorf("the geodesic between the means of the groups was not found (residual %.3g): allow for noise with Mismatch", way.Residual)
	}
	moved, err := forth(r.space, way, a.Velocities...)
	if err != nil {
		return nil, err
	}
	if geom.IsAtlas(r.space.M) {
		end, err := r.space.Shoot(way.Start, way.Momentum)
		if err != nil {
			return nil, err
		}
		if _, moved, err = placed(r.space, b.Point, end.End, moved...); err != nil {
			return nil, err
		}
	}
	na, nb := len(a.Velocities), len(b.Velocities)
	gram := mat.NewSymDense(na+nb, nil)
	for i := range na + nb {
		for j := i; j < na+nb; j++ {
			var inner float64
			switch {
			case j < na:
				inner = floats.Dot(a.Velocities[i], a.Momenta[j])
			case i >= na:
				inner = floats.Dot(b.Velocities[i-na], b.Momenta[j-na])
			default:
				inner = floats.Dot(moved[i], b.Momenta[j-na])
			}
			for _, k := range []int{i, j} {
				n := float64(na)
				if k >= na {
					n = float64(nb)
				}
				inner *= math.Sqrt(n / (n - 1))
			}
			gram.SetSym(i, j, inner)
		}
	}
	return gram, nil
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
