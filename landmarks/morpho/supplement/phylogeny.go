package supplement

import (
	"fmt"
	"math"
	"slices"

	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
)

// phylogeny asks for the signal of a tree.
func (a *analysis) phylogeny() *Section {
	if a.tree == nil {
		return nil
	}
	signal := try.Get(shapestats.PhylogeneticSignal(a.data, a.tree, a.draws()))
	s := &Section{Title: "What the phylogeny explains"}
	likely := try.Get(shapestats.PhylogeneticLambda(a.data, a.tree, a.draws()))
	values := &Table{Name: "signal", Caption: "Phylogenetic signal. Brownian motion along the tree gives values about 1, and shapes that do not depend on the tree values about 0. Z is the effect size.", Header: []string{"signal", "value", "dimensions", "Z", "p"}}
	values.Add("K", signal.K, len(a.mean.Fitted[0]), signal.Effect.Z(), PValue(signal.P))
	values.Add("λ", likely.Lambda, likely.Dimensions, likely.Effect.Z(), PValue(likely.P))
	a.signal = fmt.Sprintf("%s: K = %.3g (p = %s).", verdict(signal.P, "Relatives resemble each other", "The phylogenetic signal is not significant"), signal.K, PValue(signal.P))
	s.add(Paragraph(a.signal), values)
	if len(a.trees) > 1 {
		s.add(a.signalOverTrees())
	}
	a.method("The phylogenetic signal K was computed from all coordinates; its effect size Z is that of log K. The signal λ was estimated by maximum likelihood from the first principal components, and again for each permutation; its effect size Z is that of the log-likelihood.",
		"Adams 2014", "Collyer et al. 2022",
		"Pagel 1999")
	if len(a.pca.Scores) < 2 {
		return s
	}
	phylogenetic := try.Get(shapestats.PhylogeneticComponents(a.data, a.tree))
	s.add(&Figure{Name: "phylomorphospace", Caption: "The phylogeny with the species and their estimated ancestors (a) in the plane of the first two principal components of the shapes, with their shares of the variance, and (b) in that of the first two phylogenetic principal components, with their shares of the rate of evolution, seen from the estimated shape at the root.",
		Drawing: viz.Row(
			a.phylomorphospace(a.pca, "component").Title("(a) principal components"),
			a.phylomorphospace(phylogenetic, "phylogenetic component").Title("(b) phylogenetic components"))})
	a.method("Phylogenetic principal components are the eigenvectors of the covariance of independent contrasts. Their scores are correlated, because species are related.", "Revell 2009")
	s.add(sharesTable("phylogenetic-components", "Phylogenetic principal components: share of the rate of evolution, and its cumulative sum.", phylogenetic.Shares))
	return s
}

// signalOverTrees is the signal over all trees of the question, of which each is pruned to the leaves of the first.
func (a *analysis) signalOverTrees() *Table {
	var k, p, lambda []float64
	for i, t := range a.trees {
		t, err := t.Keep(a.leafNames()...)
		try.Do(try.Name(err, "tree %d", i+1))
		signal := try.Get(shapestats.PhylogeneticSignal(a.data, t, a.draws()))
		once := linear.Permutations{N: 1, Seed: a.Seed} // its test is that of the first tree
		k, p, lambda = append(k, signal.K), append(p, signal.P), append(lambda, try.Get(shapestats.PhylogeneticLambda(a.data, t, once)).Lambda)
	}
	table := &Table{Name: "signal-trees", Header: []string{"signal", "trees", "median", "smallest", "largest"},
		Caption: fmt.Sprintf("The phylogenetic signal over all %d trees of the file. The rest of the report is about the first tree.", len(a.trees))}
	for i, values := range [][]float64{k, p, lambda} {
		slices.Sort(values)
		table.Add([]string{"K", "p of K", "λ"}[i], len(values), (values[(len(values)-1)/2]+values[len(values)/2])/2, values[0], values[len(values)-1])
	}
	below, _ := slices.BinarySearch(p, math.Nextafter(Significant, 1))
	a.signal += fmt.Sprintf(" Over all %d trees K is from %.3g to %.3g, and significant for %d of them.", len(k), k[0], k[len(k)-1], below)
	return table
}

// phylomorphospace draws the tree in the plane of the first two components.
func (a *analysis) phylomorphospace(c *shapestats.Components, name string) *viz.Figure {
	nodes := try.Get(a.tree.Prune(lists.Make(len(a.data.Specimens), func(i int) []float64 { return []float64{c.Scores[0][i], c.Scores[1][i]} })))
	label := func(k int) string { return fmt.Sprintf("%s %d (%s)", name, k+1, percent(c.Shares[k])) }
	return viz.Fig(viz.Phylomorphospace(a.tree, nodes.Mean)).XLabel(label(0)).YLabel(label(1))
}
