package stats

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
)

// Statistic is what a permutation test compares two groups by.
type Statistic int

const (
	// MeanDistance is the distance of the groups' means, d(ȳ_A, ȳ_B), with two Fréchet means for every permutation. For
	// many landmarks take TangentMeanDistance.
	MeanDistance Statistic = iota
	// TangentMeanDistance is ‖mean of v_i over A − mean of v_i over B‖_g of the logarithms v_i at the mean of all.
	TangentMeanDistance
	// Dispersion is |D_A − D_B|, D the mean distance of a group's n samples from their own mean, times √(n/(n − 1)). What is
	// permuted are the vectors from the means to the samples, in one tangent space and scaled by the same factor; D is that of
	// the vectors of a permuted group from their mean (Anderson, Biometrics 62, 2006, permutes the residuals of the samples). The
	// distances alone are not exchangeable: those in small groups are smaller, and bound to each other. With Mismatch the
	// distances are those of the geodesics, without the noise. For the size of the test see geom/stats/calibrate.
	Dispersion
)

func (s Statistic) String() string {
	return [...]string{"distance of the means", "tangent distance of the means", "difference of dispersions"}[s]
}

// Comparison is the result of a permutation test.
type Comparison struct {
	Statistic    float64   // of the groups as they are
	P            float64   // (1 + #{permuted ≥ Statistic})/(1 + permutations)
	Permuted     []float64 // the statistic of every permutation
	MeanA, MeanB []float64 // the groups' means; for TangentMeanDistance nil
	Status       geom.Status
}

// PermutationTest tests whether two samples differ more than groups of their sizes drawn at random from all of them do. The
// seed fixes the permutations. A cancelled test has the permutations done so far.
//
// It takes Mismatch, Tolerance and MaxIterations, for the means.
func PermutationTest(space *geom.Space, a, b [][]float64, statistic Statistic, permutations int, seed uint64, opts ...Option) (*Comparison, error) {
	r, err := newRun("permutation test", 0, opts, "Mismatch")
	if err != nil {
		return nil, err
	}
	defer r.end()
	if statistic < MeanDistance || statistic > Dispersion {
		return nil, fmt.Errorf("%s: no statistic %d", r.task, int(statistic))
	}
	if permutations < 1 {
		return nil, fmt.Errorf("%s: %d permutations, want at least 1", r.task, permutations)
	}
	if len(a) < 2 || len(b) < 2 {
		return nil, fmt.Errorf("%s: groups of %d and %d samples, want at least 2 in each", r.task, len(a), len(b))
	}
	all := append(append([][]float64{}, a...), b...)
	if _, err := r.samples(space, all); err != nil {
		return nil, err
	}
	quiet := append(append([]Option{}, opts...), OnProgress(nil))
	c := &Comparison{}
	var of, observed func(order []int) (float64, error)
	switch statistic {
	case MeanDistance:
		of = func(order []int) (float64, error) {
			means := make([]*Mean, 2)
			for g, members := range [][]int{order[:len(a)], order[len(a):]} {
				group := make([][]float64, len(members))
				for k, i := range members {
					group[k] = all[i]
				}
				mean, err := FrechetMean(space, group, quiet...)
				if err != nil {
					return 0, err
				}
				means[g] = mean
				if s := mean.Status; s != geom.Converged {
					c.Status = s
				}
			}
			if c.MeanA == nil {
				c.MeanA, c.MeanB = means[0].Point, means[1].Point
			}
			log, err := space.LogAll([][]float64{means[0].Point}, [][]float64{means[1].Point})
			if err != nil {
				return 0, err
			}
			return log[0].Length, nil
		}
	case TangentMeanDistance:
		mean, err := FrechetMean(space, all, opts...)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.task, err)
		}
		c.Status = mean.Status
		of = func(order []int) (float64, error) {
			signs := make([]float64, len(all))
			for k, i := range order {
				if signs[i] = 1 / float64(len(a)); k >= len(a) {
					signs[i] = -1 / float64(len(b))
				}
			}
			return math.Sqrt(max(0, floats.Dot(combine(signs, mean.Momenta), combine(signs, mean.Velocities)))), nil
		}
	case Dispersion:
		means := make([]*Mean, 2)
		for g, group := range [][][]float64{a, b} {
			if means[g], err = FrechetMean(space, group, opts...); err != nil {
				return nil, fmt.Errorf("%s: the mean of group %d of 0 and 1: %w", r.task, g, err)
			}
			if s := means[g].Status; s != geom.Converged {
				c.Status = s
			}
		}
		c.MeanA, c.MeanB = means[0].Point, means[1].Point
		gram, err := r.residuals(space, means[0], means[1])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.task, err)
		}
		of = func(order []int) (float64, error) {
			return math.Abs(dispersion(gram, order[:len(a)]) - dispersion(gram, order[len(a):])), nil
		}
		observed = func([]int) (float64, error) {
			lengths := make([]float64, len(all)) // the mean of a group's own vectors is 0, and they have the factor
			for i := range lengths {
				lengths[i] = math.Sqrt(gram.At(i, i))
			}
			return math.Abs(floats.Sum(lengths[:len(a)])/float64(len(a)) - floats.Sum(lengths[len(a):])/float64(len(b))), nil
		}
	}
	if observed == nil {
		observed = of
	}

	random := rand.New(rand.NewPCG(seed, 0))
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	if c.Statistic, err = observed(order); err != nil {
		return nil, fmt.Errorf("%s: %w", r.task, err)
	}
	extreme := 0
	for k := range permutations {
		if r.ctx.Err() != nil {
			c.Status = geom.Cancelled
			break
		}
		r.progress(Progress{Task: r.task, Iteration: k, Total: permutations, Objective: c.Statistic})
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		v, err := of(order)
		if err != nil {
			return nil, fmt.Errorf("%s: permutation %d: %w", r.task, k, err)
		}
		c.Permuted = append(c.Permuted, v)
		if v >= c.Statistic*(1-1e-9) { // the same groups again, to rounding
			extreme++
		}
	}
	c.P = float64(1+extreme) / float64(1+len(c.Permuted))
	return c, nil
}
