package framebundle

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/internal/lists"
)

// Mean is a mean together with the covariance of the samples around it: a point (x, ν) of the frame bundle. See stats.FrameBundleMean.
type Mean[P geom.Point] struct {
	Point     P         // x, where the process starts whose ends the samples are; in flat space their mean
	Frame     []P       // ν_1 … ν_m, orthogonal in the metric; the covariance is ννᵀ
	Variances []float64 // ‖ν_α‖²_g, the largest first, in the unit of lengths squared
	Noise     float64   // σ, the standard deviation of the noise of a coordinate: the option or its default

	// Deviations are the standard deviations along the principal components of the samples' coordinates, the largest first. Where those
	// with the numbers m and m + 1 are alike, a frame of rank m can turn between both, and the search creeps: see Err.
	Deviations []float64

	Paths     []*Geodesic[P] // the most probable path from (x, ν) to each sample, without Momenta
	Objective float64        // the objective at mean and frame

	// The certificate. Let s_i be the derivative of what sample i adds to the objective, by mean and frame. Imbalance is ‖Σ w_i s_i‖/√(Σ w_i²
	// ‖s_i‖²), in the norm of the inverse Hessian: the derivative of the objective in standard errors. Residual is the largest of the paths, in units
	// of Noise: see Geodesic.
	Imbalance, Residual float64
	Unmatched           []int // the samples to which no most probable path was found; the Reason of a path says why
	Iterations          int   // steps of mean and frame
	Evaluations         int   // how often a path was computed
	Status              geom.Status
}

// What Err names as a cause of a long search.
const (
	costly    = 4     // times the median cost of a path
	bendShare = 0.25  // Noise as a share of the deviation along component m + 1, below which paths bend to reach it
	rankDeep  = 1e-14 // share of the largest variance below which one is rounding
)

// String says what the mean is in one line.
func (m *Mean[P]) String() string {
	line := fmt.Sprintf("frame bundle mean of %d samples, rank %d, noise %.3g, %s after %d iterations", len(m.Paths), len(m.Frame), m.Noise, m.Status, m.Iterations)
	if len(m.Unmatched) > 0 {
		line += fmt.Sprintf("; no most probable path found to the samples %v, counted from 0: leave them out, or take a larger Noise or rank", m.Unmatched)
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
func (m *Mean[P]) Err() error {
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
func (m *Mean[P]) farthest() string {
	if len(m.Paths) == 0 || !(m.Noise > 0) {
		return ""
	}
	costs := lists.Each(m.Paths, func(g *Geodesic[P]) float64 { return g.Energy + g.Mismatch/(2*m.Noise*m.Noise) })
	most := floats.MaxIdx(costs)
	cost := costs[most]
	slices.Sort(costs)
	median := costs[len(costs)/2]
	if !(cost > costly*median) {
		return ""
	}
	return fmt.Sprintf("; the path to sample %d, counted from 0, costs %.3g, the median is %.3g: look at that sample, and leave it out if it is wrong", most, cost, median)
}

// bent says whether the noise is so small that paths bend, "" if not.
func (m *Mean[P]) bent() string {
	rank := len(m.Frame)
	if rank >= len(m.Deviations) || !(m.Noise < bendShare*m.Deviations[rank]) {
		return ""
	}
	return fmt.Sprintf("; paths bend to reach deviations that the frame does not span, because the noise is less than a quarter of the standard deviation of principal component %d, which is %.3g: take a larger Noise or rank",
		rank+1, m.Deviations[rank])
}

// determined says whether n samples with these standard deviations along their principal components determine a frame of rank k: whether
// the variances k and k + 1 differ by more than the standard error of the first.
func determined(deviations []float64, k, n int) bool {
	if k >= len(deviations) {
		return true
	}
	a, b := deviations[k-1]*deviations[k-1], deviations[k]*deviations[k]
	return a > rankDeep*deviations[0]*deviations[0] && a-b > a*math.Sqrt(2/float64(n))
}

// At returns the mean as a point (x, ν) of the frame bundle.
func (m *Mean[P]) At() Point[P] {
	solve.NotNil(m)
	return At(m.Point, m.Frame...)
}

// Covariance returns the matrix ννᵀ, [n][n], for points of n numbers: coordinates or ambient vectors, the rows of shapes one after
// the other.
func (m *Mean[P]) Covariance() [][]float64 { return m.At().Covariance() }
