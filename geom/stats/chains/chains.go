// Package chains says how far Markov chains have come: the rank-normalised split R̂ and the effective sizes of A. Vehtari,
// A. Gelman, D. Simpson, B. Carpenter and P.-C. Bürkner (Rank-normalization, folding, and localization: an improved R̂ for assessing
// convergence of MCMC, 2021). Draws of a number are [chain][draw], all chains equally long. It is plain Go.
//
// Every chain is cut in halves, so that one that drifts disagrees with itself. Chains that are too short to tell, fewer than 4 draws,
// and draws that are not finite give NaN; draws that are all equal have an R̂ of NaN and the effective size of their number.
package chains

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"anatomy/internal/lists"
)

// RHat is how much wider all chains together are than each by itself, the larger of that of the ranks and that of the
// distances from the median: 1 in the limit of long chains, below 1.01 where they agree.
func RHat(draws [][]float64) float64 {
	halves, ok := split(draws)
	if !ok {
		return math.NaN()
	}
	middle := median(halves)
	folded := apply(halves, func(x float64) float64 { return math.Abs(x - middle) })
	return math.Max(rHat(normal(halves)), rHat(normal(folded)))
}

// Bulk is the number of independent draws that would give the mean of the ranks as precisely.
func Bulk(draws [][]float64) float64 {
	halves, ok := split(draws)
	if !ok {
		return math.NaN()
	}
	return effective(normal(halves))
}

// Tail is the smaller of the effective sizes of the 5 % and 95 % quantiles.
func Tail(draws [][]float64) float64 {
	halves, ok := split(draws)
	if !ok {
		return math.NaN()
	}
	least := math.Inf(1)
	for _, p := range []float64{0.05, 0.95} {
		q := quantile(draws, p)
		least = math.Min(least, effective(apply(halves, func(x float64) float64 {
			if x <= q {
				return 1
			}
			return 0
		})))
	}
	return least
}

// split cuts chains in halves; the middle draw of an odd number is left out.
func split(draws [][]float64) (halves [][]float64, ok bool) {
	for _, c := range draws {
		n := len(c)
		if n < 4 || n != len(draws[0]) {
			return nil, false
		}
		if !lists.Finite(c...) {
			return nil, false
		}
		halves = append(halves, c[:n/2], c[n-n/2:])
	}
	return halves, len(halves) > 0
}

func apply(draws [][]float64, f func(x float64) float64) [][]float64 {
	out := make([][]float64, len(draws))
	for c := range draws {
		out[c] = make([]float64, len(draws[c]))
		for i, x := range draws[c] {
			out[c][i] = f(x)
		}
	}
	return out
}

func sorted(draws [][]float64) []float64 {
	all := slices.Concat(draws...)
	slices.Sort(all)
	return all
}

func median(draws [][]float64) float64 {
	all := sorted(draws)
	n := len(all)
	return 0.5 * (all[(n-1)/2] + all[n/2])
}

// quantile interpolates between the draws, of which the first is at 0 and the last at 1.
func quantile(draws [][]float64, p float64) float64 {
	all := sorted(draws)
	at := p * float64(len(all)-1)
	i := min(int(at), len(all)-2)
	return all[i] + (at-float64(i))*(all[i+1]-all[i])
}

// normal replaces draws by the normal quantiles of their ranks, (r − 3/8)/(S + 1/4), where equal draws share the mean of theirs.
func normal(draws [][]float64) [][]float64 {
	all := sorted(draws)
	size := float64(len(all))
	return apply(draws, func(x float64) float64 {
		first, _ := slices.BinarySearch(all, x)
		last, _ := slices.BinarySearch(all, math.Nextafter(x, math.Inf(1)))
		rank := 0.5 * float64(first+1+last)
		return distuv.UnitNormal.Quantile((rank - 0.375) / (size + 0.25))
	})
}

// variances returns the mean W of the variances of chains and the estimate var⁺ = (N − 1)/N W + B/N of that of all draws.
func variances(draws [][]float64) (within, all float64) {
	n := float64(len(draws[0]))
	means := make([]float64, len(draws))
	for c, x := range draws {
		mean, variance := stat.MeanVariance(x, nil)
		means[c], within = mean, within+variance/float64(len(draws))
	}
	return within, within*(n-1)/n + stat.Variance(means, nil)
}

func rHat(draws [][]float64) float64 {
	within, all := variances(draws)
	return math.Sqrt(all / within)
}

// effective is S/τ, τ = −1 + 2 Σ ρ_t, with the autocorrelations ρ_t = 1 − (W − mean of the chains' autocovariances)/var⁺ in pairs as long
// as these are positive, and made to fall (C. Geyer, Practical Markov chain Monte Carlo, 1992), and the last positive one of even t.
func effective(draws [][]float64) float64 {
	n, size := len(draws[0]), float64(len(draws)*len(draws[0]))
	within, all := variances(draws)
	if !(all > 0) {
		return size
	}
	centred := make([][]float64, len(draws))
	for c, x := range draws {
		centred[c] = slices.Clone(x)
		floats.AddConst(-stat.Mean(x, nil), centred[c])
	}
	rho := func(t int) float64 {
		sum := lists.Sum(len(centred), func(k int) float64 { return floats.Dot(centred[k][:n-t], centred[k][t:]) })
		return 1 - (within-sum/size)/all
	}
	even, odd := 1.0, rho(1)
	pairs := []float64{even + odd}
	for t := 2; t < n-2 && even+odd > 0; t += 2 {
		if even, odd = rho(t), rho(t+1); even+odd >= 0 {
			pairs = append(pairs, even+odd)
		}
	}
	last := 0.0
	if even+odd >= 0 && len(pairs) > 1 { // the last pair ended the draws, not the sum
		pairs = pairs[:len(pairs)-1]
	}
	if even > 0 {
		last = even
	}
	tau := -1 + last
	for i, p := range pairs {
		if i > 0 {
			p = math.Min(p, pairs[i-1])
			pairs[i] = p
		}
		tau += 2 * p
	}
	return size / math.Max(tau, 1/math.Log10(size))
}
