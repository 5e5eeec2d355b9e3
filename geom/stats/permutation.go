package stats

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
)

// Statistic is the number by which a permutation test compares groups. For two groups it is a distance; for more the root mean square
// of the distances δ_gh between any two of them, √(Σ_(g<h) n_g n_h δ_gh²/Σ_(g<h) n_g n_h), for groups of n_g samples.
type Statistic int

const (
	// MeanDistance has the distances d(ȳ_g, ȳ_h) of the Fréchet means of the groups. Every permutation computes all of these means;
	// for many landmarks TangentMeanDistance is faster.
	MeanDistance Statistic = iota
	// TangentMeanDistance has ‖v̄_g − v̄_h‖_g, where v̄ is a group's mean of the logarithms v_i at the Fréchet mean of all samples. Its
	// square times Σ_(g<h) n_g n_h/N is the sum of squares between groups, and the rest of Σ ‖v_i‖² is within them: the p-value is that of
	// the pseudo-F of the v_i (Anderson, Austral Ecology 26, 2001).
	TangentMeanDistance
	// Dispersion has |D_g − D_h|, where D is the mean distance of a group's n samples from their Fréchet mean, times √(n/(n − 1)).
	//
	// A permutation exchanges not the samples but the residuals (Anderson, Biometrics 62, 2006): the vectors from the mean of a
	// group to its samples, moved to the mean of another where they meet, and scaled by √(n/(n − 1)). D of a permuted group is the mean
	// distance of its vectors from their mean, times √(n/(n − 1)). The distances alone are not exchangeable, because those of a small
	// group are shorter and depend on each other. With Mismatch distances are the lengths ‖v‖_g of the geodesics, without the
	// noise. The command notebooks/calibrate measures how often the test rejects equal groups.
	Dispersion
)

func (s Statistic) String() string {
	return [...]string{"distance of the means", "tangent distance of the means", "difference of dispersions"}[s]
}

// Test is the result of a permutation test.
type Test struct {
	Statistic float64     // of the samples as they are; NaN where the test was stopped before it was known, and P is 1
	P         float64     // the p-value, (1 + number of Permuted ≥ Statistic)/(1 + number of Permuted)
	Permuted  []float64   // the statistic of each permutation; one that is NaN counts as ≥ Statistic
	Status    geom.Status // the worst of all that was computed on the way: Converged only if all of it converged
}

// Comparison is the result of a permutation test of groups.
type Comparison[P geom.Point] struct {
	Test
	Means []P // the Fréchet means of the groups; nil for TangentMeanDistance
}

// PermutationTest tests whether groups, at least two of at least two samples each, differ more than random groups of the same sizes,
// drawn from all samples. It computes the statistic of the given number of random permutations; equal seeds give equal
// permutations. A test that is cancelled has the permutations computed so far.
//
// It takes Mismatch, Tolerance and MaxIterations; all three are those of FrechetMean, for the means.
func PermutationTest[P geom.Point](on geom.Of[P], groups [][]P, statistic Statistic, permutations int, seed uint64, opts ...TestOption) (*Comparison[P], error) {
	s := on.Geometry()
	r, err := newRun("permutation test", s, 0, opts)
	if err != nil {
		return nil, err
	}
	defer r.End()
	if statistic < MeanDistance || statistic > Dispersion {
		return nil, fmt.Errorf("%s: no statistic %d", r.Name, int(statistic))
	}
	if len(groups) < 2 {
		return nil, fmt.Errorf("%s: %d groups, want at least 2", r.Name, len(groups))
	}
	var samples []P
	var sizes []int
	for g, members := range groups {
		if len(members) < 2 {
			return nil, fmt.Errorf("%s: group %d, counted from 0, has %d samples, want at least 2 in each", r.Name, g, len(members))
		}
		samples, sizes = append(samples, members...), append(sizes, len(members))
	}
	all, _, err := samplesOf(r, s, samples)
	if err != nil {
		return nil, err
	}
	c := &Comparison[geom.Vec]{}
	if err := r.permute(&c.Test, statistic.String(), len(all), permutations, seed, func() (of, observed func(order []int) (float64, error), err error) {
		return r.statistic(c, all, sizes, statistic)
	}); err != nil {
		return nil, err
	}
	return &Comparison[P]{c.Test, s.Points(c.Means)}, nil
}

// permute computes a statistic of n things as they are, by observed, and in random orders, by of, and its p-value. The two may be nil
// where an error or a stop was on the way to them. The Status of the test only gets worse.
func (r *run) permute(t *Test, what string, n, permutations int, seed uint64, prepare func() (of, observed func(order []int) (float64, error), err error)) error {
	if permutations < 1 {
		return fmt.Errorf("%s: %d permutations, want at least 1", r.Name, permutations)
	}
	random := rand.New(rand.NewPCG(seed, 0))
	order := inOrder(n)
	of, observed, err := prepare()
	if err == nil && !r.Stopped() {
		t.Statistic, err = observed(order)
	}
	switch {
	case r.Stopped(): // on the way to it
		t.Statistic, t.P, t.Status = math.NaN(), 1, geom.Cancelled
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", r.Name, err)
	case !finite(t.Statistic):
		return fmt.Errorf("%s: the %s is %g: the numbers are too large, take another unit", r.Name, what, t.Statistic)
	}
	extreme := 0
	for k := range permutations {
		if r.Report(geom.Progress{Iteration: k, Total: permutations, Objective: t.Statistic}) {
			t.Status = geom.Cancelled
			break
		}
		random.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		v, err := of(order)
		if r.Stopped() { // on the way to v
			t.Status = geom.Cancelled
			break
		}
		if err != nil {
			return fmt.Errorf("%s: permutation %d: %w", r.Name, k, err)
		}
		t.Permuted = append(t.Permuted, v)
		if math.IsNaN(v) || v >= t.Statistic*(1-1e-9) { // the same groups again, to rounding
			extreme++
		}
	}
	t.P = float64(1+extreme) / float64(1+len(t.Permuted))
	return nil
}

// statistic returns a statistic as a function of an order of the samples, of which the first are one group, the next another and so
// on, and the function that gives it for the groups as they are. It puts their means and the Status into c.
func (r *run) statistic(c *Comparison[geom.Vec], all [][]float64, sizes []int, statistic Statistic) (of, observed func(order []int) (float64, error), err error) {
	meanOf := func(quiet bool, members []int) (*Mean[geom.Vec], error) {
		inner := *r
		if quiet {
			inner.Task = inner.Quiet()
		}
		return inner.mean(pick(all, members), even(len(members)))
	}
	switch statistic {
	case MeanDistance:
		of = func(order []int) (float64, error) {
			var means [][]float64
			for _, members := range grouped(order, sizes) {
				mean, err := meanOf(true, members)
				if err != nil {
					return 0, err
				}
				means = append(means, mean.Point)
				c.Status = max(c.Status, mean.Status)
			}
			if c.Means == nil {
				c.Means = means
			}
			var from, to [][]float64
			apart(sizes, func(g, h int) float64 {
				from, to = append(from, means[g]), append(to, means[h])
				return 0
			})
			logs, err := r.space.LogAll(from, to)
			if err != nil {
				return 0, err
			}
			for _, log := range logs {
				c.Status = max(c.Status, log.Status)
			}
			return apart(sizes, func(g, h int) float64 {
				length := logs[0].Length
				logs = logs[1:]
				return length
			}), nil
		}
	case TangentMeanDistance:
		mean, err := meanOf(false, inOrder(len(all)))
		if err != nil {
			return nil, nil, err
		}
		c.Status = mean.Status
		of = func(order []int) (float64, error) {
			var velocities, momenta [][]float64
			for _, members := range grouped(order, sizes) {
				share := even(len(members))
				velocities = append(velocities, combine(share, pick(mean.Velocities, members)))
				momenta = append(momenta, combine(share, pick(mean.Momenta, members)))
			}
			return apart(sizes, func(g, h int) float64 {
				v, p := floats.SubTo(make([]float64, len(velocities[g])), velocities[g], velocities[h]), floats.SubTo(make([]float64, len(momenta[g])), momenta[g], momenta[h])
				return math.Sqrt(max(0, floats.Dot(v, p)))
			}), nil
		}
	case Dispersion:
		var means []*Mean[geom.Vec]
		for g, members := range grouped(inOrder(len(all)), sizes) {
			mean, err := meanOf(false, members)
			if err != nil {
				return nil, nil, fmt.Errorf("the mean of group %d, counted from 0: %w", g, err)
			}
			means, c.Means = append(means, mean), append(c.Means, mean.Point)
			c.Status = max(c.Status, mean.Status)
		}
		gram, err := r.residuals(means)
		if err != nil {
			return nil, nil, err
		}
		differ := func(order []int, dispersion func(members []int) float64) (float64, error) {
			var each []float64
			for _, members := range grouped(order, sizes) {
				each = append(each, dispersion(members))
			}
			return apart(sizes, func(g, h int) float64 { return math.Abs(each[g] - each[h]) }), nil
		}
		of = func(order []int) (float64, error) {
			return differ(order, func(members []int) float64 { return dispersion(gram, members) })
		}
		observed = func(order []int) (float64, error) { // the mean of a group's own vectors is 0, and they have the factor
			return differ(order, func(members []int) float64 {
				sum := 0.0
				for _, i := range members {
					sum += math.Sqrt(gram.At(i, i))
				}
				return sum / float64(len(members))
			})
		}
	}
	if observed == nil {
		observed = of
	}
	return of, observed, nil
}

// inOrder are the numbers of n things.
func inOrder(n int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	return order
}

// grouped are parts of an order with given sizes, one after the other.
func grouped(order, sizes []int) (groups [][]int) {
	for _, n := range sizes {
		groups, order = append(groups, order[:n]), order[n:]
	}
	return groups
}

// apart is the root mean square of the distances of any two groups g < h, weighted by the number of pairs of their samples.
func apart(sizes []int, distance func(g, h int) float64) float64 {
	var distances, pairs []float64
	for h := range sizes {
		for g := range h {
			distances, pairs = append(distances, distance(g, h)), append(pairs, float64(sizes[g]*sizes[h]))
		}
	}
	total := floats.Sum(pairs)
	for k := range distances {
		distances[k] *= math.Sqrt(pairs[k] / total)
	}
	return floats.Norm(distances, 2)
}

// even are equal weights.
func even(n int) []float64 {
	w := make([]float64, n)
	floats.AddConst(1/float64(n), w)
	return w
}

// String says what the test found in one line.
func (t *Test) String() string {
	return fmt.Sprintf("permutation test: statistic %.4g, p = %.3g of %d permutations, %s", t.Statistic, t.P, len(t.Permuted), t.Status)
}
