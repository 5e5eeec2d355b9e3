package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/internal/shortest"
	"anatomy/geom/ode"
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
	return fmt.Sprintf("points at the %d nodes of a tree, %s", len(a.Points), a.Status)
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (a *Ancestry[P]) Err() error { return solve.NotNil(a).Status.Err(a) }

// Ancestors predicts points at all nodes of a tree from samples at its leaves, in the order of Leaves: the Fréchet means with the weights of
// tree.Tree.NodeWeights, which in flat space are the predictions of tree.Tree.Prune under Brownian motion. A sample without numbers, such as nil, is
// not known and is predicted, too. The errors are those of tree.Tree.Errors for p, from the logarithms of the samples at the root in the metric there.
// The options are those of FrechetMean but Weights. It is an error if the tree has one leaf; others are those of NodeWeights, FrechetMean and Errors.
//
// The root is a FrechetMean. Where points are coordinates, as for landmarks, the mean of every other node is followed from that of its parent, with the
// momenta to all samples, each of which is corrected only as far as its weight matters. A node that is not found so, and each one on a geom.Charted
// manifold, is a FrechetMean by itself.
//
// In more than 8 dimensions and without closed forms, the root is found by balanced momenta, too, and the Tolerance is 1e-3 unless it is given. At
// every other node it is a share of √(Σ w_i |x_i − x̄|²), or with RelativeNoise of the standard error √(Σ w_i² |x_i − x̄|²), where x̄ is the mean of
// coordinates: the search may leave the mean that far off, and so may the steps of geodesics. These are 3 by ode.RK4, and more where that is too
// few, up to those that Exp takes. With 25 leaves of 118 landmarks it took 21 geodesics of 3 steps for each node and leaf, and 21 processor seconds: the
// landmarks lay on ellipsoids of half axes 0.8 to 1.5, their coordinates had the standard deviation 0.085, the Gaussian kernel the width 0.25.
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
	root := r.root(x, weights[0])
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

// root is the mean of samples with weights w at the root of a tree. Where geodesics are searched in many dimensions it balances their momenta, which
// takes fewer of them than FrechetMean.
func (r *run) root(x [][]float64, w []float64) (m *Mean[geom.Vec]) {
	_, closed := r.space.M.(geom.ClosedForms)
	if r.sigma == 0 && !closed && !geom.IsCharted(r.space.M) && r.space.M.Dim() > shortest.FewDimensions {
		r.Tolerance = cmp.Or(r.Tolerance, 1e-3)
		if try.Run(func() { m = r.withWeight(x, w, r.inexactMean) }) == nil && m.Status == geom.Converged {
			return m
		}
	}
	return r.mean(x, w)
}

// descend finds the points of all nodes that have none, from the root, and returns the worst status.
func (r *run) descend(parent []int, root *Mean[geom.Vec], x, weights, points [][]float64) geom.Status {
	var b *balance
	last, places, status := make([]int, len(parent)), make([]place, len(parent)), geom.Converged
	if !geom.IsCharted(r.space.M) && root.Status == geom.Converged && lists.Finite(slices.Concat(root.Momenta...)...) {
		b = r.balance(x, 3)
		places[0] = place{root.Point, root.Momenta, lists.Zeros(len(x), len(root.Point))}
	}
	for i, p := range parent[1:] {
		last[p] = i + 1
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

// place is where the next step leads, to first order.
func (b *balance) place() place {
	step, _ := b.step()
	moved := func(x []float64) []float64 { return floats.AddTo(make([]float64, len(x)), x, step) }
	p := lists.Each(b.roots, func(r *solve.Root) []float64 { return r.X })
	return place{moved(b.point), p, lists.Each(b.roots, func(r *solve.Root) []float64 { return moved(r.F) })}
}

// next goes from a place to the mean of samples with weights w. It returns the mean, nil if it is not found, and the place where it has come.
func (b *balance) next(from place, w []float64) ([]float64, place) {
	most := b.samples[floats.MaxIdx(w)]
	if deviation(most, b.samples, w) <= 1e-14*floats.Norm(most, 2) { // they are all there
		return most, from
	}
	b.point, b.weights, b.iterations, b.lost, b.spread = from.y, w, 0, 0, deviation(from.y, b.samples, w)
	b.share = lists.Make(len(w), func(i int) float64 { return min(1, w[i]*float64(len(w))) })
	unit := w // the weights of squares in it
	if b.sigma > 0 {
		unit = floats.MulTo(make([]float64, len(w)), w, w)
	}
	b.unit = max(deviation(lists.Combine(w, b.samples), b.samples, unit), 1e-13*floats.Norm(most, 2)/b.Tolerance) // of rounding
	b.miss = b.Tolerance * b.unit / b.spread
	for i, r := range b.roots {
		r.X, r.Tolerance = from.p[i], math.Inf(1)
		r.Expect(from.f[i])
	}
	b.variance, b.y, b.cometric = b.sigma*b.sigma, repeat(from.y, len(w)), cometricAt(b.shots.space, from.y)
	for {
		b.settle(b.Tolerance, b.miss)
		off, finer := b.discretisation()
		more := finer.Steps() != b.shots.space.Steps()
		switch balanced := b.balanced(); {
		case balanced && (off <= b.Tolerance*b.unit || !more && !math.IsInf(off, 1)):
			to := b.place()
			return to.y, to
		case !more:
			return nil, from
		}
		b.shots.space, b.y, b.lost = finer, nil, 0
		b.from(b.point, b.variance)
	}
}

// discretisation estimates Σ w_i |e_i|, where e_i is the error by the steps at the end of the geodesic to x_i. It is measured for the one with the
// largest w_i |x_i − y|⁵, as RK4 makes errors proportional to fifth powers of lengths. It returns a space with more steps, for where this is too much.
func (b *balance) discretisation() (float64, *geom.Space[geom.Vec]) {
	size := lists.Make(len(b.roots), func(i int) float64 { return b.weights[i] * math.Pow(floats.Distance(b.samples[i], b.point, 2), 5) })
	i, space := floats.MaxIdx(size), b.run.space
	g, err := space.Shoot(b.point, b.roots[i].X)
	if err != nil {
		return math.Inf(1), space
	}
	f := try.Get(b.equations([]int{i}).Residual([][]float64{b.roots[i].X}))[0]
	floats.Add(f, b.samples[i])
	floats.AddScaled(f, -b.variance, g.Momenta[g.Steps])
	off := b.weights[i] * floats.Distance(g.End, f, 2) * floats.Sum(size) / size[i]
	finer := space.Steady(g)
	if twice := 2 * b.shots.space.Steps(); twice < finer.Steps() {
		finer = space.With(geom.Integrator(ode.RK4, twice))
	}
	return off, finer
}

// AncestorsByGeodesics predicts points at all nodes of a tree by points on geodesics between two others. From the leaves up, a node is on the geodesic
// from what one child says of it to what the next one does, nearer to the one with the smaller variance; from the root down, on that from there to its
// parent. In flat space these are the predictions of tree.Tree.Prune. On a curved space they depend on the order of the children, but take one logarithm for
// each edge, where Ancestors takes some geodesics for each node and leaf. All samples must be known. Geodesics that are not found are errors, as are
// those of Prune.
func AncestorsByGeodesics[P geom.Point](on geom.Of[P], t *tree.Tree, samples []P) (out []P, err error) {
	defer try.Named(&err, "ancestors")
	space, leaves := on.Geometry(), t.Leaves()
	if len(samples) != len(leaves) {
		return nil, fmt.Errorf("%d samples of %d leaves", len(samples), len(leaves))
	}
	between := func(x, y P, share float64) P {
		g := try.Get(space.Log(x, y))
		try.Do(g.Err())
		v := slices.Clone(shape.Flat(g.Velocity))
		floats.Scale(share, v)
		return try.Get(space.Exp(x, space.FromFlat(v))).End
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
