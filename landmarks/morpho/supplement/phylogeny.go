package supplement

import (
	"anatomy/geom/try"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
	"fmt"
)

// phylogeny asks for the signal of a tree.
func (a *analysis) phylogeny() *Section {
	if a.tree == nil {
		return nil
	}
	signal := try.Get(shapestats.PhylogeneticSignal(a.data, a.tree, a.draws()))
	s := &Section{Title: "What the phylogeny explains"}
	verdict := "The phylogenetic signal is not significant"
	if signal.P <= Significant {
		verdict = "Relatives resemble each other"
	}
	likely := try.Get(shapestats.PhylogeneticLambda(a.data, a.tree, a.draws()))
	values := &Table{Name: "signal", Caption: "Phylogenetic signal. Brownian motion along the tree gives values about 1, and shapes that do not depend on the tree values about 0. Z is the effect size.", Header: []string{"signal", "value", "dimensions", "Z", "p"}}
	values.Add("K", signal.K, len(a.mean.Fitted[0]), signal.Effect.Z(), PValue(signal.P))
	values.Add("λ", likely.Lambda, likely.Dimensions, likely.Effect.Z(), PValue(likely.P))
	s.add(Paragraph(fmt.Sprintf("%s: K = %.3g (p = %s).", verdict, signal.K, PValue(signal.P))), values)
	a.method("The phylogenetic signal K was computed from all coordinates; its effect size Z is that of log K. The signal λ was estimated by maximum likelihood from the first principal components, and again for each permutation; its effect size Z is that of the log-likelihood.",
		"D. Adams, A generalized K statistic for estimating phylogenetic signal from shape and other high-dimensional multivariate data, Syst. Biol. 63, 2014", "M. Collyer, E. Baken and D. Adams, A standardized effect size for evaluating and comparing the strength of phylogenetic signal, Methods Ecol. Evol. 13, 2022",
		"M. Pagel, Inferring the historical patterns of biological evolution, Nature 401, 1999")
	if len(a.pca.Scores) < 2 {
		return s
	}
	phylogenetic := try.Get(shapestats.PhylogeneticComponents(a.data, a.tree))
	s.add(&Figure{Name: "phylomorphospace", Caption: "The phylogeny with the species and their estimated ancestors (a) in the plane of the first two principal components of the shapes, with their shares of the variance, and (b) in that of the first two phylogenetic principal components, with their shares of the rate of evolution, seen from the estimated shape at the root.",
		Drawing: viz.Row(
			a.phylomorphospace(a.pca, "component").Title("(a) principal components"),
			a.phylomorphospace(phylogenetic, "phylogenetic component").Title("(b) phylogenetic components"))})
	a.method("Phylogenetic principal components are the eigenvectors of the covariance of independent contrasts. Their scores are correlated, because species are related.", "L. Revell, Size-correction and principal components for interspecific comparative studies, Evolution 63, 2009")
	s.add(sharesTable("phylogenetic-components", "Phylogenetic principal components: share of the rate of evolution, and its cumulative sum.", phylogenetic.Shares))
	return s
}

// phylomorphospace draws the tree in the plane of the first two components.
func (a *analysis) phylomorphospace(c *shapestats.Components, name string) *viz.Figure {
	var points [][]float64
	for i := range a.data.Specimens {
		points = append(points, []float64{c.Scores[0][i], c.Scores[1][i]})
	}
	nodes := try.Get(a.tree.Prune(points))
	label := func(k int) string { return fmt.Sprintf("%s %d (%s)", name, k+1, percent(c.Shares[k])) }
	return viz.Fig(viz.Phylomorphospace(a.tree, nodes.Mean)).XLabel(label(0)).YLabel(label(1))
}
