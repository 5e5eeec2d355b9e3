package tree

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/stats/linear"
	"anatomy/internal/lists"
)

// NodeWeights returns the weights of the leaves, in the order of Leaves, in the Mean of Prune at every node, [n][L]. known says of which leaves there is
// a value; nil is all. Weights sum to 1, and none is negative. So on a curved space the prediction of a node is the Fréchet mean with its weights. That
// of the root is Weights. A leaf that is known has the weight 1 at itself. It has the errors of Prune.
func (t *Tree) NodeWeights(known []bool) ([][]float64, error) {
	unit := lists.Identity(len(t.Leaves()))
	if known != nil && len(known) != len(unit) {
		return nil, fmt.Errorf("tree: of %d leaves it is known whether they have a value, but the tree has %d", len(known), len(unit))
	}
	for a := range unit {
		if known != nil && !known[a] {
			unit[a] = slices.Repeat([]float64{math.NaN()}, len(unit))
		}
	}
	out, err := t.Prune(unit)
	if err != nil {
		return nil, err
	}
	return out.Mean, nil
}

// Clades returns of every node a name, and the names of the leaves below it, in their order: a leaf has its own, an inner node its own name or the
// first and the last of its leaves.
func (t *Tree) Clades() (names []string, clades [][]string) {
	clades = make([][]string, len(t.Parent))
	for _, i := range t.Leaves() {
		for j := i; j >= 0; j = t.Parent[j] {
			clades[j] = append(clades[j], t.Name[i])
		}
	}
	for i, clade := range clades {
		name := clade[0]
		if len(clade) > 1 {
			name = fmt.Sprintf("%s … %s", clade[0], clade[len(clade)-1])
		}
		if t.Name[i] != "" {
			name = t.Name[i]
		}
		names = append(names, name)
	}
	return names, clades
}

// Errors are simulated errors of predictions, [n][N]: at every node distances from the truth, sorted.
type Errors [][]float64

// StandardError is the root mean square of the errors at a node.
func (e Errors) StandardError(node int) float64 {
	return floats.Norm(e[node], 2) / math.Sqrt(float64(len(e[node])))
}

// Radius is the distance from the prediction of a node within which the truth is in a share of the simulations, such as 0.95.
func (e Errors) Radius(node int, share float64) float64 {
	return stat.Quantile(share, stat.Empirical, e[node], nil)
}

// Errors simulates the errors of the Mean of Prune. In each of p.N draws values evolve along
// the tree, and the steps are contrasts of the given values [L][k], drawn with replacement, with random signs, times the roots of the lengths. The mean
// square of the errors of a node is about its Variance times the sum of the Rates, and their quantiles hold for values that are not normal, too. A leaf
// whose values are NaN is predicted as the nodes are. It has the errors of Prune, and is one if there are no draws, or more than 10 million errors.
func (t *Tree) Errors(values [][]float64, p linear.Permutations) (Errors, error) {
	if most := 10_000_000 / max(1, len(t.Parent)); p.N < 1 || p.N > most {
		return nil, fmt.Errorf("tree: %d draws of the errors at %d nodes, want 1 to %d", p.N, len(t.Parent), most)
	}
	contrasts, root, err := t.Contrasts(values)
	if err != nil {
		return nil, err
	}
	contrasts = slices.DeleteFunc(contrasts, floats.HasNaN)
	if len(contrasts) == 0 {
		return nil, fmt.Errorf("tree: no contrasts: the errors of predictions from one leaf are not known")
	}
	leaves, random := t.Leaves(), rand.New(rand.NewPCG(p.Seed, 0))
	truth, tips := lists.Zeros(len(t.Parent), len(root)), make([][]float64, len(leaves))
	out := make(Errors, len(t.Parent))
	for range p.N {
		for i := range t.Parent[1:] {
			step := math.Sqrt(t.Length[i+1]) * float64(2*random.IntN(2)-1)
			floats.AddScaledTo(truth[i+1], truth[t.Parent[i+1]], step, contrasts[random.IntN(len(contrasts))])
		}
		for a, i := range leaves {
			if tips[a] = truth[i]; floats.HasNaN(values[a]) {
				tips[a] = values[a]
			}
		}
		found, err := t.Prune(tips)
		if err != nil {
			return nil, err
		}
		for i, x := range found.Mean {
			out[i] = append(out[i], floats.Distance(x, truth[i], 2))
		}
	}
	for _, errs := range out {
		slices.Sort(errs)
	}
	return out, nil
}
