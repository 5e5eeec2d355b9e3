package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Statistic is the number by which PermutationTest compares groups. For two groups it is a distance; for more the root mean square
// of the distances δ_gh between any two of them, √(Σ_(g<h) n_g n_h δ_gh²/Σ_(g<h) n_g n_h), for groups of n_g samples.
type Statistic struct {
	name    string
	prepare func(g *grouping) (of, observed func(order []int) float64)
}

var (
	// MeanDistance has the distances d(ȳ_g, ȳ_h) of the Fréchet means of the groups. Every permutation computes all of these means;
	// for many landmarks TangentMeanDistance is faster.
	MeanDistance = Statistic{"distance of the means", (*grouping).meanDistance}
	// TangentMeanDistance has ‖v̄_g − v̄_h‖_g, where v̄ is a group's mean of the logarithms v_i at the Fréchet mean of all samples. Its
	// square times Σ_(g<h) n_g n_h/N is the sum of squares between groups, and the rest of Σ ‖v_i‖² is within them: the p-value is that of
	// the pseudo-F of the v_i (Anderson, Austral Ecology 26, 2001).
	TangentMeanDistance = Statistic{"tangent distance of the means", (*grouping).tangentMeanDistance}
	// Dispersion has |D_g − D_h|, where D is the mean distance of a group's n samples from their Fréchet mean, times √(n/(n − 1)).
	//
	// A permutation exchanges not the samples but the residuals (Anderson, Biometrics 62, 2006): the vectors from the mean of a
	// group to its samples, moved to the mean of another where they meet, and scaled by √(n/(n − 1)). D of a permuted group is the mean
	// distance of its vectors from their mean, times √(n/(n − 1)). The distances alone are not exchangeable, because those of a small
	// group are shorter and depend on each other. With RelativeNoise distances are the lengths ‖v‖_g of the geodesics, without the
	// noise. The command notebooks/lab/calibrate measures how often the test rejects equal groups.
	Dispersion = Statistic{"difference of dispersions", (*grouping).dispersion}
)

func (s Statistic) String() string { return s.name }

// Test is the result of a permutation test: see package linear.
type Test struct {
	Statistic float64 // of the samples as they are; NaN where the test was stopped before it was known, and P is 1
	linear.Test
	Permuted []float64   // the statistic of each permutation
	Status   geom.Status // the worst of all that was computed on the way: Converged only if all of it converged
}

// String says what the test found in one line.
func (t *Test) String() string {
	return fmt.Sprintf("permutation test: statistic %.4g, %v, %s", t.Statistic, t.Test, t.Status)
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (t *Test) Err() error { return solve.NotNil(t).Status.Err(t) }

// Comparison is the result of a permutation test of groups.
type Comparison[P geom.Point] struct {
	Test
	Groups []string // in the order of their first samples
	Means  []P      // the Fréchet means of the groups; nil for TangentMeanDistance
}

// Err returns nil if Status is Converged, and otherwise an error with the line of Test.String.
func (c *Comparison[P]) Err() error { return solve.NotNil(c).Test.Err() }

// PermutationTest tests whether groups of samples, at least two of at least two samples each, differ more than random groups of the same
// sizes. The groups are the categories of a factor, or the combinations of an Interaction of factors:
//
//	test, err := stats.PermutationTest(space, samples, linear.Factor("sex", sexes...), stats.TangentMeanDistance, linear.Permutations{N: 999})
//
// A test that is cancelled has the permutations computed so far.
//
// It takes RelativeNoise, Tolerance and MaxIterations; all three are those of FrechetMean, for the means.
func PermutationTest[P geom.Point](on geom.Of[P], samples []P, groups linear.Term, statistic Statistic, p linear.Permutations, opts ...TestOption) (_ *Comparison[P], err error) {
	s := on.Geometry()
	r := newRun("permutation test", s, 0)
	defer r.end(&err)
	try.FailIf(statistic.prepare == nil, "no statistic: take MeanDistance, TangentMeanDistance or Dispersion")
	names, members := try.Get2(linear.Cells(len(samples), nil, groups))
	try.FailIf(len(names) < 2, "%d groups, want at least 2", len(names))
	g := &grouping{run: r, status: geom.Converged}
	for k, of := range members {
		try.FailIf(len(of) < 2, "group %s has %d samples, want at least 2 in each", names[k], len(of))
		g.sizes = append(g.sizes, len(of))
	}
	g.all, _ = samplesOf(r, s, lists.Pick(samples, slices.Concat(members...)), opts)
	out := &Comparison[P]{Groups: names}
	var of, observed func(order []int) float64
	err = try.Run(func() {
		if of, observed = statistic.prepare(g); observed == nil {
			observed = of
		}
		if !r.Stopped() {
			out.Statistic = observed(lists.Range(len(g.all)))
		}
	})
	out.Means = s.Points(g.means)
	switch {
	case r.Stopped(): // on the way to it
		out.Statistic, out.P, out.Status = math.NaN(), 1, geom.Cancelled
		return out, nil
	case err != nil:
		return nil, err
	case !lists.Finite(out.Statistic):
		return nil, fmt.Errorf("the %s is %g: the numbers are too large, take another unit", statistic, out.Statistic)
	}
	p.Task = r.Task
	tests := try.Get(p.Test(r.Name, len(g.all), linear.Order, []float64{out.Statistic}, func(d *linear.Draw) ([]float64, error) {
		v := 0.0
		err := try.Run(func() { v = of(d.Order) })
		out.Permuted = append(out.Permuted, v)
		return []float64{v}, err
	}))
	out.end(tests[0], p, g.status)
	return out, nil
}

// end takes the result of the draws; the last one may have been stopped.
func (t *Test) end(test linear.Test, p linear.Permutations, status geom.Status) {
	t.Test, t.Permuted, t.Status = test, t.Permuted[:test.Permutations], status
	if test.Permutations < p.N {
		t.Status = geom.Cancelled
	}
}

// grouping are samples of which the first are one group, the next another and so on. A Statistic prepares a function of the order of all
// samples, and if that is another one, the function that gives it for the groups as they are; it puts their means and the Status here.
type grouping struct {
	*run
	all    [][]float64
	sizes  []int
	means  [][]float64 // nil until they are known
	status geom.Status
}

// mean is that of some samples.
func (g *grouping) mean(members []int, quiet bool) *Mean[geom.Vec] {
	inner := *g.run
	if quiet {
		inner.Task = inner.Quiet()
	}
	mean := inner.mean(lists.Pick(g.all, members), even(len(members)))
	g.status = max(g.status, mean.Status)
	return mean
}

func (g *grouping) meanDistance() (of, observed func(order []int) float64) {
	return func(order []int) float64 {
		means := lists.Each(grouped(order, g.sizes), func(members []int) []float64 { return g.mean(members, true).Point })
		if g.means == nil {
			g.means = means
		}
		var from, to [][]float64
		apart(g.sizes, func(a, b int) float64 {
			from, to = append(from, means[a]), append(to, means[b])
			return 0
		})
		logs := try.Get(g.space.LogAll(from, to))
		for _, log := range logs {
			g.status = max(g.status, log.Status)
		}
		return apart(g.sizes, func(a, b int) float64 {
			length := logs[0].Length
			logs = logs[1:]
			return length
		})
	}, nil
}

func (g *grouping) tangentMeanDistance() (of, observed func(order []int) float64) {
	mean := g.mean(lists.Range(len(g.all)), false)
	return func(order []int) float64 {
		var velocities, momenta [][]float64
		for _, members := range grouped(order, g.sizes) {
			share := even(len(members))
			velocities = append(velocities, lists.Combine(share, lists.Pick(mean.Velocities, members)))
			momenta = append(momenta, lists.Combine(share, lists.Pick(mean.Momenta, members)))
		}
		return apart(g.sizes, func(a, b int) float64 {
			v, p := floats.SubTo(make([]float64, len(velocities[a])), velocities[a], velocities[b]), floats.SubTo(make([]float64, len(momenta[a])), momenta[a], momenta[b])
			return math.Sqrt(max(0, floats.Dot(v, p)))
		})
	}, nil
}

func (g *grouping) dispersion() (of, observed func(order []int) float64) {
	var means []*Mean[geom.Vec]
	for k, members := range grouped(lists.Range(len(g.all)), g.sizes) {
		var mean *Mean[geom.Vec]
		err := try.Run(func() { mean = g.mean(members, false) })
		try.Do(try.Name(err, "the mean of group %d, counted from 0", k))
		means, g.means = append(means, mean), append(g.means, mean.Point)
	}
	gram := g.residuals(means)
	differ := func(order []int, dispersion func(members []int) float64) float64 {
		each := lists.Each(grouped(order, g.sizes), dispersion)
		return apart(g.sizes, func(a, b int) float64 { return math.Abs(each[a] - each[b]) })
	}
	return func(order []int) float64 {
			return differ(order, func(members []int) float64 { return dispersion(gram, members) })
		}, func(order []int) float64 { // the mean of a group's own vectors is 0, and they have the factor
			return differ(order, func(members []int) float64 {
				sum := 0.0
				for _, i := range members {
					sum += math.Sqrt(gram.At(i, i))
				}
				return sum / float64(len(members))
			})
		}
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
