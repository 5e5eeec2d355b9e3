package stats

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
)

// Statistic is the number by which a permutation test compares two groups A and B.
type Statistic int

const (
	// MeanDistance is the distance d(ȳ_A, ȳ_B) of the Fréchet means of the groups. Every permutation computes two Fréchet means;
	// for many landmarks TangentMeanDistance is faster.
	MeanDistance Statistic = iota
	// TangentMeanDistance is ‖v̄_A − v̄_B‖_g, where v̄ is a group's mean of the logarithms v_i at the Fréchet mean of all samples.
	TangentMeanDistance
	// Dispersion is |D_A − D_B|, where D is the mean distance of a group's n samples from their Fréchet mean, times √(n/(n − 1)).
	//
	// A permutation exchanges not the samples but the residuals (Anderson, Biometrics 62, 2006): the vectors from the mean of a
	// group to its samples, moved to one tangent space and scaled by √(n/(n − 1)). D of a permuted group is the mean distance of
	// its vectors from their mean, times √(n/(n − 1)). The distances alone are not exchangeable, because those of a small group
	// are shorter and depend on each other. With Mismatch distances are the lengths ‖v‖_g of the geodesics, without the
	// noise. The command geom/stats/calibrate measures how often the test rejects equal groups.
	Dispersion
)

func (s Statistic) String() string {
	return [...]string{"distance of the means", "tangent distance of the means", "difference of dispersions"}[s]
}

// Comparison is the result of a permutation test.
type Comparison[P geom.Point] struct {
	Statistic    float64     // of the two groups; NaN where the test was stopped before it was known, and P is 1
	P            float64     // the p-value, (1 + number of Permuted ≥ Statistic)/(1 + number of Permuted)
	Permuted     []float64   // the statistic of each permutation; one that is NaN counts as ≥ Statistic
	MeanA, MeanB P           // the Fréchet means of the groups; nil for TangentMeanDistance
	Status       geom.Status // the worst of all means and logarithms: Converged only if all converged
}

// PermutationTest tests whether two groups a and b, of at least two samples each, differ more than random groups of the same sizes,
// drawn from all samples. It computes the statistic of the given number of random permutations; equal seeds give equal
// permutations. A test that is cancelled has the permutations computed so far.
//
// It takes Mismatch, Tolerance and MaxIterations; all three are those of FrechetMean, for the means.
func PermutationTest[P geom.Point](on geom.Of[P], a, b []P, statistic Statistic, permutations int, seed uint64, opts ...Option) (*Comparison[P], error) {
	s := on.Geometry()
	r, err := newRun("permutation test", s, 0, opts, "Mismatch")
	if err != nil {
		return nil, err
	}
	defer r.End()
	if statistic < MeanDistance || statistic > Dispersion {
		return nil, fmt.Errorf("%s: no statistic %d", r.Name, int(statistic))
	}
	if permutations < 1 {
		return nil, fmt.Errorf("%s: %d permutations, want at least 1", r.Name, permutations)
	}
	if len(a) < 2 || len(b) < 2 {
		return nil, fmt.Errorf("%s: groups of %d and %d samples, want at least 2 in each", r.Name, len(a), len(b))
	}
	all, _, err := samplesOf(r, s, append(append([]P{}, a...), b...))
	if err != nil {
		return nil, err
	}
	c, err := r.permutationTest(all, len(a), statistic, permutations, seed)
	if err != nil {
		return nil, err
	}
	return &Comparison[P]{c.Statistic, c.P, c.Permuted, s.Point(c.MeanA), s.Point(c.MeanB), c.Status}, nil
}

// permutationTest compares the first n samples with the others.
func (r *run) permutationTest(all [][]float64, n int, statistic Statistic, permutations int, seed uint64) (*Comparison[geom.Vec], error) {
	c := &Comparison[geom.Vec]{}
	random := rand.New(rand.NewPCG(seed, 0))
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	of, observed, err := r.statistic(c, all, n, statistic)
	if err == nil {
		c.Statistic, err = observed(order)
	}
	switch {
	case r.Stopped(): // on the way to it
		c.Statistic, c.P, c.Status = math.NaN(), 1, geom.Cancelled
		return c, nil
	case err != nil:
		return nil, fmt.Errorf("%s: %w", r.Name, err)
	case !finite(c.Statistic):
		return nil, fmt.Errorf("%s: the %s is %g: the numbers are too large, take another unit", r.Name, statistic, c.Statistic)
	}
	extreme := 0
	for k := range permutations {
		if r.Report(geom.Progress{Iteration: k, Total: permutations, Objective: c.Statistic}) {
			c.Status = geom.Cancelled
			break
		}
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		v, err := of(order)
		if r.Stopped() { // on the way to v
			c.Status = geom.Cancelled
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: permutation %d: %w", r.Name, k, err)
		}
		c.Permuted = append(c.Permuted, v)
		if math.IsNaN(v) || v >= c.Statistic*(1-1e-9) { // the same groups again, to rounding
			extreme++
		}
	}
	c.P = float64(1+extreme) / float64(1+len(c.Permuted))
	return c, nil
}

// statistic returns a statistic as a function of an order of the samples, of which the first n are one group and the others the other,
// and the function that gives it for the groups as they are. It puts their means and the Status into c.
func (r *run) statistic(c *Comparison[geom.Vec], all [][]float64, n int, statistic Statistic) (of, observed func(order []int) (float64, error), err error) {
	meanOf := func(quiet bool, members [][]float64) (*Mean[geom.Vec], error) {
		inner := *r
		if quiet {
			inner.Task = inner.Quiet()
		}
		return inner.mean(members, even(len(members)))
	}
	a, b := all[:n], all[n:]
	switch statistic {
	case MeanDistance:
		of = func(order []int) (float64, error) {
			means := make([]*Mean[geom.Vec], 2)
			for g, members := range [][]int{order[:len(a)], order[len(a):]} {
				group := make([][]float64, len(members))
				for k, i := range members {
					group[k] = all[i]
				}
				mean, err := meanOf(true, group)
				if err != nil {
					return 0, err
				}
				means[g] = mean
				c.Status = max(c.Status, mean.Status)
			}
			if c.MeanA == nil {
				c.MeanA, c.MeanB = means[0].Point, means[1].Point
			}
			log, err := r.space.LogAll([][]float64{means[0].Point}, [][]float64{means[1].Point})
			if err != nil {
				return 0, err
			}
			c.Status = max(c.Status, log[0].Status)
			return log[0].Length, nil
		}
	case TangentMeanDistance:
		mean, err := meanOf(false, all)
		if err != nil {
			return nil, nil, err
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
		means := make([]*Mean[geom.Vec], 2)
		for g, group := range [][][]float64{a, b} {
			if means[g], err = meanOf(false, group); err != nil {
				return nil, nil, fmt.Errorf("the mean of group %d, counted from 0: %w", g, err)
			}
			c.Status = max(c.Status, means[g].Status)
		}
		c.MeanA, c.MeanB = means[0].Point, means[1].Point
		gram, err := r.residuals(means[0], means[1])
		if err != nil {
			return nil, nil, err
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
	return of, observed, nil
}

// even are equal weights.
func even(n int) []float64 {
	w := make([]float64, n)
	floats.AddConst(1/float64(n), w)
	return w
}

// String says what the comparison found in one line.
func (c *Comparison[P]) String() string {
	return fmt.Sprintf("permutation test: statistic %.4g, p = %.3g of %d permutations, %s", c.Statistic, c.P, len(c.Permuted), c.Status)
}
