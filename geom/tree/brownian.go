package tree

import (
	"fmt"
	"math"
	"slices"

	"anatomy/geom/solve"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Shared returns V [L][L], over the leaves in the order of Leaves: V_ab is the length of the path from the root that a and b share.
// V is the covariance of the leaves under Brownian motion of rate 1 along the edges, from a fixed value at the root.
func (t *Tree) Shared() ([][]float64, error) {
	if err := t.CheckLengths(); err != nil {
		return nil, err
	}
	leaves, height := t.Leaves(), t.Height()
	above := make([]int, len(t.Parent)) // a node is above the leaf a − 1
	v := make([][]float64, len(leaves))
	for a, leaf := range leaves {
		for i := leaf; i >= 0; i = t.Parent[i] {
			above[i] = a + 1
		}
		v[a] = make([]float64, len(leaves))
		for b, i := range leaves {
			for above[i] != a+1 {
				i = t.Parent[i]
			}
			v[a][b] = height[i]
		}
	}
	return v, nil
}

// Weights returns w = V⁻¹1 / 1ᵀV⁻¹1, over the leaves in the order of Leaves, for V of Shared: with them the mean of the leaves is the
// best linear unbiased estimate of the root under Brownian motion, the phylogenetic mean. They sum to 1, and on a tree none is
// negative: in each branching point the estimates from its children are averaged, so w is a product of shares along the path. On a
// curved space the phylogenetic mean is the Fréchet mean with these weights.
func (t *Tree) Weights() ([]float64, error) {
	leaves := t.Leaves()
	up, err := t.sweepUp(lists.Zeros(len(leaves), 1))
	if err != nil {
		return nil, err
	}
	share := make([]float64, len(t.Parent))
	share[0] = 1
	for i, p := range t.Parent[1:] {
		i++
		share[i] = share[p]
		if v := up.Variance[i][0] + t.Length[i]; v > 0 {
			share[i] *= up.Variance[p][0] / v
		}
	}
	return lists.Each(leaves, func(i int) float64 { return share[i] }), nil
}

// Ancestors is what the leaves say of all nodes, if values evolve by Brownian motion along the edges and nothing is known of the root
// otherwise. There are n nodes, k coordinates, which evolve independently as far as the means are concerned, and L leaves.
type Ancestors struct {
	Mean      [][]float64 // [n][k], the best linear unbiased prediction; the value itself at a leaf where it was observed
	Variance  [][]float64 // [n][k], of the error of Mean for rate 1: a length of the tree
	Rate      []float64   // [k], variance a unit of length, without bias: Σ u² / (number of contrasts u); NaN without contrasts
	Contrasts []Contrast  // L − 1 of them; the squares of those in a clade have its own rate as their mean

	squares, logDet []float64 // [k], Σ u² and log det V over the leaves where the coordinate was observed
	observed        [][]int   // [k], these leaves
}

// Contrast is a phylogenetically independent contrast (J. Felsenstein, Phylogenies and the comparative method, 1985): the difference
// between what two children of a node, or one child and those before it, say of the node, divided by the root of its variance for
// rate 1. Contrasts are uncorrelated, each with the rate as its variance.
type Contrast struct {
	Node   int
	Values []float64 // [k]; NaN where one of both has no observation
}

// Prune returns the predictions from values [L][k], one row a leaf in the order of Leaves; NaN where a value was not observed. It takes
// one sweep up the tree and one down, with as many steps as there are nodes (J. Felsenstein, Maximum-likelihood estimation of
// evolutionary trees from continuous characters, 1973), and gives what generalised least squares with the covariance V of Shared gives.
//
// It is an error if a length is missing, a value is infinite, a coordinate was observed nowhere, or two leaves where it was observed
// are at distance 0 from each other.
func (t *Tree) Prune(values [][]float64) (*Ancestors, error) {
	out, err := t.sweepUp(values)
	if err != nil {
		return nil, err
	}
	// Down: given the parent, a node has the mean g·m + (1−g)·parent and the variance g·v, with g = ℓ/(v + ℓ), where m and v are
	// what those below it say.
	for i, p := range t.Parent[1:] {
		i++
		for j, v := range out.Variance[i] {
			g := 0.0
			switch {
			case v == 0:
				continue
			case math.IsInf(v, 1):
				out.Mean[i][j], v = 0, t.Length[i] // g v → ℓ for v → ∞
			default:
				g = t.Length[i] / (v + t.Length[i])
				v *= g
			}
			out.Mean[i][j] = g*out.Mean[i][j] + (1-g)*out.Mean[p][j]
			out.Variance[i][j] = v + (1-g)*(1-g)*out.Variance[p][j]
		}
	}
	return out, nil
}

// Contrasts returns the contrasts of values [L][k], one row for each leaf in the order of Leaves, [L − 1][k], and the Mean of the root: see Prune.
// With it a tree is a linear.Tree.
func (t *Tree) Contrasts(values [][]float64) (contrasts [][]float64, root []float64, err error) {
	up, err := t.sweepUp(values)
	if err != nil {
		return nil, nil, err
	}
	return lists.Each(up.Contrasts, func(c Contrast) []float64 { return c.Values }), up.Mean[0], nil
}

// measured returns the leaves of a tree whose lengths are known, if there are as many values.
func (t *Tree) measured(values [][]float64) ([]int, error) {
	leaves, err := t.Leaves(), t.CheckLengths()
	if err == nil && len(values) != len(leaves) {
		err = fmt.Errorf("tree: values of %d leaves, but the tree has %d", len(values), len(leaves))
	}
	return leaves, err
}

// sweepUp returns, as Mean and Variance of a node, what the leaves below it say of it, with the variance +Inf if they say nothing.
func (t *Tree) sweepUp(values [][]float64) (*Ancestors, error) {
	leaves, err := t.measured(values)
	if err != nil {
		return nil, err
	}
	n, k := len(t.Parent), len(values[0])
	out := &Ancestors{Mean: lists.Zeros(n, k), Variance: lists.Zeros(n, k), Rate: make([]float64, k),
		squares: make([]float64, k), logDet: make([]float64, k), observed: make([][]int, k)}
	for i := range n {
		for j := range k {
			out.Variance[i][j] = math.Inf(1)
		}
	}
	for a, i := range leaves {
		if len(values[a]) != k || k == 0 {
			return nil, fmt.Errorf("tree: leaf %s has %d values, leaf %s has %d: want the same number of all, at least 1", t.Label(i), len(values[a]), t.Label(leaves[0]), k)
		}
		for j, x := range values[a] {
			switch {
			case math.IsInf(x, 0):
				return nil, fmt.Errorf("tree: leaf %s: value %d is %v", t.Label(i), j, x)
			case !math.IsNaN(x):
				out.Mean[i][j], out.Variance[i][j] = x, 0
				out.observed[j] = append(out.observed[j], i)
			}
		}
	}
	joined := make([]bool, n) // the node has the estimate of a child already
	for i := n - 1; i > 0; i-- {
		p := t.Parent[i]
		contrast := make([]float64, k)
		for j := range k {
			// The estimates m and v from below the node and M and V from its siblings are averaged.
			m, v := out.Mean[i][j], out.Variance[i][j]+t.Length[i]
			M, V := out.Mean[p][j], out.Variance[p][j]
			contrast[j] = math.NaN()
			switch {
			case math.IsInf(v, 1):
			case math.IsInf(V, 1):
				out.Mean[p][j], out.Variance[p][j] = m, v
			case v+V == 0:
				a, b := t.coincident(p, values, j)
				return nil, fmt.Errorf("tree: the leaves %s and %s are at distance 0 from each other, and so have one value under Brownian motion: leave one of them out, or make an edge longer than 0", t.Label(a), t.Label(b))
			default:
				contrast[j] = (M - m) / math.Sqrt(v+V)
				out.squares[j] += contrast[j] * contrast[j]
				out.logDet[j] += math.Log(v + V)
				out.Mean[p][j], out.Variance[p][j] = (M*v+m*V)/(v+V), v*V/(v+V)
			}
		}
		if joined[p] {
			out.Contrasts = append(out.Contrasts, Contrast{p, contrast})
		}
		joined[p] = true
	}
	for j, v := range out.Variance[0] {
		if math.IsInf(v, 1) {
			return nil, fmt.Errorf("tree: value %d was observed in no leaf", j)
		}
		out.logDet[j] += math.Log(v)
		out.Rate[j] = out.squares[j] / float64(len(out.observed[j])-1)
	}
	return out, nil
}

// coincident returns two leaves where value j was observed and which are not away from node p.
func (t *Tree) coincident(p int, values [][]float64, j int) (a, b int) {
	a, b = -1, -1
	for l, leaf := range t.Leaves() {
		i := leaf
		for i != p && i > 0 && t.Length[i] == 0 {
			i = t.Parent[i]
		}
		if i == p && !math.IsNaN(values[l][j]) {
			a, b = b, leaf
		}
	}
	return a, b
}

// StandardError returns √(Variance·Rate) of a node, [k].
func (a *Ancestors) StandardError(node int) []float64 {
	solve.NotNil(a)
	return lists.Make(len(a.Rate), func(j int) float64 { return math.Sqrt(a.Variance[node][j] * a.Rate[j]) })
}

// Covariance returns the covariance of the errors of Mean at a node for some coordinates, such as those of one landmark: that of the
// contrasts without bias, Σ uuᵀ/(number), by the Variance; NaN without contrasts. The coordinates must have been observed in the same
// leaves: it panics if not.
func (a *Ancestors) Covariance(node int, coordinates ...int) [][]float64 {
	solve.NotNil(a)
	out := lists.Zeros(len(coordinates), len(coordinates))
	for r, i := range coordinates {
		for s, j := range coordinates {
			refuse.If(!slices.Equal(a.observed[i], a.observed[j]), "tree: the coordinates %d and %d were not observed in the same leaves", i, j)
			for _, c := range a.Contrasts {
				if !math.IsNaN(c.Values[i]) {
					out[r][s] += c.Values[i] * c.Values[j]
				}
			}
			out[r][s] *= a.Variance[node][i] / float64(len(a.observed[i])-1)
		}
	}
	return out
}
