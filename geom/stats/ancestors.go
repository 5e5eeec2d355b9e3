package stats

import (
	"fmt"
	"math"
	"slices"

	"anatomy/geom"
	"anatomy/geom/shape"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Ancestry is what samples at the leaves of a tree say of all its nodes.
type Ancestry[P geom.Point] struct {
	Nodes  []*Mean[P] // the prediction of every node; nil where it is a leaf that is known
	Errors tree.Errors
}

// Ancestors predicts points at all nodes of a tree from samples at its leaves, in the order of Leaves: the Fréchet means with the weights of
// tree.Tree.NodeWeights, which in flat space are the predictions of tree.Tree.Prune under Brownian motion. A sample without numbers, such as nil, is
// not known and is predicted, too. The errors are those of tree.Tree.Errors for p, from the logarithms of the samples at the root in the metric there.
// The options are those of FrechetMean but Weights. It is an error if the tree has one leaf; others are those of NodeWeights, FrechetMean and Errors.
func Ancestors[P geom.Point](on geom.Of[P], t *tree.Tree, samples []P, p linear.Permutations, opts ...MeanOption) (_ *Ancestry[P], err error) {
	defer try.Named(&err, "ancestors")
	known, given := make([]bool, len(samples)), []int(nil)
	for a, x := range samples {
		if known[a] = len(shape.Flat(x)) > 0; known[a] {
			given = append(given, a)
		}
	}
	weights, leaves := try.Get(t.NodeWeights(known)), t.Leaves()
	try.FailIf(len(leaves) == 1, "the tree has one leaf, and so no ancestors: give at least two")
	out := &Ancestry[P]{Nodes: make([]*Mean[P], len(weights))}
	for i, w := range weights {
		if a := slices.Index(leaves, i); a < 0 || !known[a] {
			out.Nodes[i], err = FrechetMean(on, lists.Pick(samples, given), append(slices.Clone(opts), Weights(lists.Pick(w, given)))...)
			try.Do(try.Name(err, "node %d", i))
		}
	}
	root := *out.Nodes[0]
	root.Weights = slices.Repeat([]float64{1 / float64(len(given))}, len(given)) // a leaf may say nothing of the root
	scores := try.Get(TangentPCA(&root)).Scores
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
