package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Ancestry is what samples at the leaves of a tree say of all its nodes.
type Ancestry[P geom.Point] struct {
	Points []P      // the prediction of every node; the sample at a leaf that is known
	Root   *Mean[P] // that of the root, of the samples that are known
	Errors tree.Errors
	Status geom.Status // the worst of all nodes
}

// String says in one line how many nodes there are, and how the searches ended.
func (a *Ancestry[P]) String() string {
	return fmt.Sprintf("the %d nodes of a tree, from %d samples, %s", len(a.Points), len(a.Root.Weights), a.Status)
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (a *Ancestry[P]) Err() error { return solve.NotNil(a).Status.Err(a) }

// Ancestors predicts points at all nodes of a tree from samples at its leaves, in the order of Leaves: the Fréchet means with the weights of
// tree.Tree.NodeWeights, which in flat space are the predictions of tree.Tree.Prune under Brownian motion. A sample without numbers, such as nil, is
// not known and is predicted, too. The errors are those of tree.Tree.Errors for p, from the logarithms of the samples at the root in the metric there.
// The options are those of FrechetMean but Weights. It is an error if the tree has one leaf; others are those of NodeWeights, FrechetMean and Errors.
//
// The root is a FrechetMean. Where points are coordinates, as for landmarks, the mean of every other node is followed from that of its parent, with the
// momenta to all samples: each is corrected once a step, and those of samples that weigh little need not be exact. So a node takes a few geodesics to a
// sample. A node that is not found so, and each one on a geom.Charted manifold, is a FrechetMean by itself.
func Ancestors[P geom.Point](on geom.Of[P], t *tree.Tree, samples []P, p linear.Permutations, opts ...MeanOption) (_ *Ancestry[P], err error) {
	s := on.Geometry()
	r := newRun("ancestors", s, 0)
	defer r.end(&err)
	known, given := make([]bool, len(samples)), []int(nil)
	for a, x := range samples {
		if known[a] = len(shape.Flat(x)) > 0; known[a] {
			given = append(given, a)
		}
	}
	weights, leaves := try.Get(t.NodeWeights(known)), t.Leaves()
	try.FailIf(len(leaves) == 1, "the tree has one leaf, and so no ancestors: give at least two")
	x, _ := samplesOf(r, s, lists.Pick(samples, given), opts)
	try.FailIf(r.weights != nil, "the weights are those of the tree: leave out Weights")
	for i, w := range weights {
		weights[i] = lists.Pick(w, given)
	}
	points := make([][]float64, len(weights))
	for k, a := range given {
		points[leaves[a]] = x[k]
	}
	root := r.mean(x, weights[0])
	points[0] = root.Point
	out := &Ancestry[P]{Root: meanOf(s, root), Status: max(root.Status, r.descend(t.Parent, root, x, weights, points))}
	out.Points = s.FromFlats(points)
	even := *out.Root
	even.Weights = slices.Repeat([]float64{1 / float64(len(given))}, len(given)) // a leaf may say nothing of the root
	scores := try.Get(TangentPCA(&even)).Scores
	rows := make([][]float64, len(samples))
	for a := range rows {
		rows[a] = slices.Repeat([]float64{math.NaN()}, len(scores[0]))
	}
	for k, a := range given {
		rows[a] = scores[k]
	}
	out.Errors = try.Get(t.Errors(rows, p))
	return out, nil
}

// descend finds the points of all nodes that have none, from the root, and returns the worst status.
func (r *run) descend(parent []int, root *Mean[geom.Vec], x, weights, points [][]float64) geom.Status {
	var b *balance
	if !geom.IsCharted(r.space.M) && root.Status == geom.Converged && lists.Finite(slices.Concat(root.Momenta...)...) {
		b = &balance{run: r, weights: weights[0], blame: make([]float64, len(x)), shots: newShots(r.Context(), r.space.Steady(), x)}
		b.begin(root)
	}
	last, places, status := make([]int, len(parent)), make([]place, len(parent)), geom.Converged
	for i, p := range parent[1:] {
		last[p] = i + 1
	}
	if b != nil {
		places[0] = b.place()
	}
	quiet := *r
	quiet.Task = r.Quiet()
	for i, p := range parent[1:] {
		i++
		if points[i] == nil && b != nil {
			points[i], places[i] = b.next(places[p], weights[i])
		}
		if points[i] == nil {
			var m *Mean[geom.Vec]
			try.Do(try.Name(try.Run(func() { m = quiet.mean(x, weights[i]) }), "node %d", i))
			points[i], status = m.Point, max(status, m.Status)
		}
		r.Report(geom.Progress{Iteration: i, Total: len(parent)})
		if last[p] == i {
			places[p] = place{} // which may be large
		}
	}
	return status
}

// place is where a balance is, and where its geodesics are.
type place struct {
	y    []float64
	p, f [][]float64
}

func (b *balance) place() place {
	return place{b.point, lists.Each(b.roots, func(r *solve.Root) []float64 { return r.X }), lists.Each(b.roots, func(r *solve.Root) []float64 { return r.F })}
}

// begin puts a balance where a mean is.
func (b *balance) begin(m *Mean[geom.Vec]) {
	for i, p := range m.Momenta {
		b.roots[i].X = p
	}
	b.weigh(m.Point, m.Weights)
	b.shots.tolerance = b.miss * b.spread
	b.from(m.Point, b.sigma*b.sigma)
	b.enough()
}

// weigh prepares the search for the mean of samples with weights w near y.
func (b *balance) weigh(y, w []float64) {
	b.point, b.weights, b.iterations, b.lost, b.least = y, w, 0, 0, 0
	b.share, b.spread = make([]float64, len(w)), 0
	for i, x := range b.samples {
		d := floats.Distance(x, y, 2)
		b.share[i], b.spread = min(1, w[i]*float64(len(w))), b.spread+w[i]*d*d
	}
	b.spread = math.Sqrt(b.spread)
	b.miss = max(missing*b.Tolerance, 1e-13*floats.Norm(y, 2)/b.spread)
}

// next goes from a place to the mean of samples with weights w. It returns the mean, nil if it is not found, and the place where it has come.
func (b *balance) next(from place, w []float64) ([]float64, place) {
	most := b.samples[floats.MaxIdx(w)]
	b.weigh(most, w)
	if b.spread <= 1e-14*floats.Norm(most, 2) { // they are all there
		return most, from
	}
	b.weigh(from.y, w)
	for i, r := range b.roots {
		r.X = from.p[i]
		r.Expect(from.f[i])
	}
	b.y, b.cometric = repeat(from.y, len(w)), cometricAt(b.shots.space, from.y)
	b.settle(b.Tolerance, b.miss)
	for b.balanced() && !b.enough() {
		b.settle(b.Tolerance, b.miss)
	}
	if !b.balanced() {
		return nil, from
	}
	return b.point, b.place()
}

// enough reports whether the longest geodesic needs no more steps. Otherwise all are computed with as many as it needs.
func (b *balance) enough() bool {
	i := floats.MaxIdx(lists.Each(b.roots, func(r *solve.Root) float64 { return b.cometric.square(r.X) }))
	g := try.Get(b.run.space.Shoot(b.point, b.roots[i].X))
	finer := b.run.space.Steady(g)
	if finer.Steps() <= b.shots.space.Steps() {
		return true
	}
	b.shots.space, b.y = finer, nil
	b.from(b.point, b.variance)
	return false
}

// AncestorsByGeodesics predicts points at all nodes of a tree by points on geodesics between two others. From the leaves up, a node is on the geodesic
// from what one child says of it to what the next one does, nearer to the one with the smaller variance; from the root down, on that from there to its
// parent. In flat space these are the predictions of tree.Tree.Prune. On a curved space they depend on the order of the children, but take one geodesic for
// an edge where Ancestors takes one for every node and leaf. All samples must be known. Geodesics
// that are not found are errors, as are those of Prune.
func AncestorsByGeodesics[P geom.Point](on geom.Of[P], t *tree.Tree, samples []P) (out []P, err error) {
	defer try.Named(&err, "ancestors")
	space, leaves := on.Geometry(), t.Leaves()
	if len(samples) != len(leaves) {
		return nil, fmt.Errorf("%d samples of %d leaves", len(samples), len(leaves))
	}
	between := func(x, y P, share float64) P {
		g := try.Get(space.Log(x, y))
		try.Do(g.Status.Err(g))
		v := slices.Clone(shape.Flat(g.Velocity))
		for k := range v {
			v[k] *= share
		}
		end := try.Get(space.Exp(x, space.FromFlat(v)))
		return end.Path[len(end.Path)-1]
	}
	try.Get(t.Weights()) // which checks lengths
	out = make([]P, len(t.Parent))
	variance, joined := make([]float64, len(t.Parent)), make([]bool, len(t.Parent))
	for a, i := range leaves {
		out[i], joined[i] = samples[a], true
	}
	for i := len(t.Parent) - 1; i > 0; i-- {
		p, v := t.Parent[i], variance[i]+t.Length[i]
		if !joined[p] {
			out[p], variance[p], joined[p] = out[i], v, true
			continue
		}
		out[p] = between(out[p], out[i], variance[p]/(variance[p]+v))
		variance[p] *= v / (variance[p] + v)
	}
	for i, p := range t.Parent[1:] {
		if v := variance[i+1]; v > 0 && t.Length[i+1] >= 0 {
			out[i+1] = between(out[i+1], out[p], v/(v+t.Length[i+1]))
		}
	}
	return out, nil
}
