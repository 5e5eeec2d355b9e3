package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/solve"
	"anatomy/geom/try"
)

// Clusters are samples in groups around means: see KMeans.
type Clusters[P geom.Point] struct {
	Of       []int      // [N], the cluster of each sample; clusters are in the order of their first samples
	Means    []*Mean[P] // [k], the Fréchet mean of each cluster; its Weights are those of the samples of the cluster, in their order
	Variance float64    // Σ_i d(x_i, y_c(i))²/N, y_c the mean of cluster c

	Starts, Agreed int         // how many starts were made, and how many of these ended with these clusters
	Iterations     int         // rounds of all starts
	Status         geom.Status // Converged if all means have, and no sample is nearer to another mean than to its own
}

// KMeans divides samples into k clusters around Fréchet means y_c so that Σ_i d(x_i, y_c(i))² is small: k-means. Every start draws k
// samples for the means, the first at random, each other with a probability in proportion to the squared distance from the nearest
// one so far (k-means++, Arthur and Vassilvitskii, SODA 2007). A round takes all N·k logarithms from the means to the samples, gives
// each sample to the nearest mean, and moves the means to Exp_y of the mean of the logarithms of their samples. A mean that has lost all its
// samples takes the sample that is furthest from its mean, of the clusters with two samples or more. A start ends when no sample changes its
// cluster and no mean moves by more than a thousandth of the standard deviation. For the best start FrechetMean then refines the means; if
// a sample is nearer to another mean afterwards, rounds go on.
//
// The sum has many local minima. If many of the Starts Agreed, the one found is likely to be the least. k-means always finds k clusters,
// whether the samples form groups or not.
//
// The options are Tolerance, that of FrechetMean, and MaxIterations (500), the limit both of the rounds of a start and of FrechetMean. If the
// computation is cancelled, the result is the best start so far.
func KMeans[P geom.Point](on geom.Of[P], samples []P, k, starts int, seed uint64, opts ...LimitOption) (_ *Clusters[P], err error) {
	s := on.Geometry()
	r := newRun("k-means", s, 0)
	defer r.end(&err)
	x, _ := samplesOf(r, s, samples, opts)
	switch {
	case k < 1 || k > len(x):
		return nil, fmt.Errorf("%d clusters of %d samples, want 1 to %d", k, len(x), len(x))
	case starts < 1:
		return nil, fmt.Errorf("%d starts, want at least 1", starts)
	}
	best, rounds, agreed, made := (*clustering)(nil), 0, 0, 0
	for start := range starts {
		var c *clustering
		err := try.Run(func() {
			if c = r.seeded(x, k, rand.New(rand.NewPCG(seed, uint64(start)))); c != nil {
				r.rounds(c)
				rounds += c.rounds
			}
		})
		try.Do(try.Name(err, "start %d", start))
		if r.Stopped() && best != nil {
			break
		}
		if c == nil || c.of[0] < 0 { // stopped before there were clusters
			return &Clusters[P]{Variance: math.NaN(), Status: geom.Cancelled}, nil
		}
		made++
		switch c.canonical(); {
		case best == nil || c.variance < best.variance*(1-1e-6) && !slices.Equal(c.of, best.of):
			best, agreed = c, 1
		case slices.Equal(c.of, best.of):
			agreed++
		}
	}
	means := r.settled(best)
	out := &Clusters[P]{Of: best.of, Variance: best.variance, Starts: made, Agreed: agreed, Iterations: rounds, Status: best.status}
	for _, m := range means {
		out.Means = append(out.Means, meanOf(s, m))
	}
	return out, nil
}

// clustering is a start of k-means while it runs.
type clustering struct {
	x, y     [][]float64 // samples; means
	of       []int
	variance float64
	rounds   int
	status   geom.Status
}

// seeded draws means by k-means++; nil if it was stopped.
func (r *run) seeded(x [][]float64, k int, random *rand.Rand) *clustering {
	c := &clustering{x: x, y: [][]float64{x[random.IntN(len(x))]}, of: slices.Repeat([]int{-1}, len(x))}
	nearest, largest := slices.Repeat([]float64{math.Inf(1)}, len(x)), 0.0
	for len(c.y) < k {
		logs, err := r.space.LogAll(repeat(c.y[len(c.y)-1], len(x)), x)
		if r.Stopped() {
			return nil
		}
		try.Do(err)
		for i, g := range logs {
			square := g.Length * g.Length
			if largest = max(largest, square); square < 1e-13*largest || vanishes(g.Start, g) { // rounding
				square = 0
			}
			nearest[i] = min(nearest[i], square)
		}
		total := floats.Sum(nearest)
		if !(total > 0) {
			try.Fail("the samples are %d different points, want at least %d", len(c.y), k)
		}
		at, sum := random.Float64()*total, 0.0
		next := floats.MaxIdx(nearest)
		for i, square := range nearest {
			if sum += square; sum > at {
				next = i
				break
			}
		}
		c.y = append(c.y, x[next])
	}
	return c
}

// nearer gives every sample to the nearest mean, and returns its logarithm there, and whether a sample changed its mean. One as near to
// its own as to another stays.
func (r *run) nearer(c *clustering) (own []*geodesic, changed bool) {
	n := len(c.x)
	var from, to [][]float64
	for _, y := range c.y {
		from, to = append(from, repeat(y, n)...), append(to, c.x...)
	}
	logs := try.Get(r.space.LogAll(from, to))
	c.variance, c.status = 0, geom.Converged
	for i := range n {
		best := c.of[i]
		for m := range c.y {
			if best < 0 || logs[m*n+i].Length < (1-1e-9)*logs[best*n+i].Length {
				best = m
			}
			c.status = max(c.status, logs[m*n+i].Status)
		}
		changed, c.of[i] = changed || best != c.of[i], best
		own = append(own, logs[best*n+i])
		c.variance += own[i].Length * own[i].Length / float64(n)
	}
	return own, changed
}

// rounds move means and samples until neither does.
func (r *run) rounds(c *clustering) {
	for ; c.rounds < r.MaxIterations; c.rounds++ {
		var own []*geodesic
		var changed bool
		err := try.Run(func() { own, changed = r.nearer(c) })
		if !r.Stopped() {
			try.Do(err)
		}
		if err != nil || r.report(c.rounds, c.variance, 0, 0) {
			c.status = geom.Cancelled
			return
		}
		moves := changed
		for m := range c.y {
			members := c.members()
			if len(members[m]) > 0 {
				continue
			}
			far := -1 // the one sample of a mean stays
			for i, g := range own {
				if len(members[c.of[i]]) > 1 && (far < 0 || g.Length > own[far].Length) {
					far = i
				}
			}
			none := make([]float64, len(c.x[far]))
			c.of[far], c.y[m], own[far], moves = m, c.x[far], &geodesic{Velocity: none, Momentum: none}, true
		}
		for m, members := range c.members() {
			velocities, momenta := parts(pick(own, members))
			step, flat := combine(even(len(members)), velocities), combine(even(len(members)), momenta)
			moves = moves || floats.Dot(step, flat) > 1e-6*c.variance
			c.y[m] = try.Get(r.space.Exp(c.y[m], step)).End
		}
		if !moves {
			return
		}
	}
	c.status = geom.IterationLimit
}

// members are the samples of each mean.
func (c *clustering) members() [][]int {
	members := make([][]int, len(c.y))
	for i, m := range c.of {
		members[m] = append(members[m], i)
	}
	return members
}

// canonical numbers the means by their first samples.
func (c *clustering) canonical() {
	var y [][]float64
	number := map[int]int{}
	for i, m := range c.of {
		if _, ok := number[m]; !ok {
			number[m], y = len(y), append(y, c.y[m])
		}
		c.of[i] = number[m]
	}
	c.y = y
}

// settled returns the Fréchet means of the clusters, and goes on with rounds from there until no sample is nearer to another one.
func (r *run) settled(c *clustering) (means []*Mean[geom.Vec]) {
	for again := 0; ; again++ {
		means = nil
		for m, members := range c.members() {
			inner := *r
			inner.Task, inner.from = inner.Quiet(), c.y[m]
			var mean *Mean[geom.Vec]
			err := try.Run(func() { mean = inner.mean(pick(c.x, members), even(len(members))) })
			try.Do(try.Name(err, "the mean of cluster %d", m))
			means, c.y[m] = append(means, mean), mean.Point
		}
		if c.status == geom.Cancelled || c.status == geom.IterationLimit || again == 10 || r.Stopped() {
			break
		}
		found := *c
		c.of = slices.Clone(c.of)
		changed := false
		err := try.Run(func() { _, changed = r.nearer(c) })
		if r.Stopped() { // and perhaps has not all logarithms
			*c = found
			break
		}
		try.Do(err)
		if !changed {
			for _, mean := range means {
				c.status = max(c.status, mean.Status)
			}
			return means
		}
		r.rounds(c)
		c.canonical()
	}
	if c.status = max(c.status, geom.Stalled); r.Stopped() {
		c.status = geom.Cancelled
	}
	return means
}

// String says what the clusters are in one line.
func (c *Clusters[P]) String() string {
	var sizes []int
	for _, m := range c.Means {
		sizes = append(sizes, len(m.Weights))
	}
	return fmt.Sprintf("k-means: clusters of %d samples, standard deviation %.4g, found by %d of %d starts, %s", sizes, math.Sqrt(c.Variance), c.Agreed, c.Starts, c.Status)
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (c *Clusters[P]) Err() error { return solve.NotNil(c).Status.Err(c) }
