package supplement

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
)

// phylogeny asks for the signal of a tree.
func (a *analysis) phylogeny(s *Section) {
	signal := try.Get(shapestats.PhylogeneticSignal(a.data, a.tree, a.draws()))
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
		return
	}
	phylogenetic := try.Get(shapestats.PhylogeneticComponents(a.data, a.tree))
	s.add(&Figure{Name: "phylomorphospace", Caption: "The phylogeny with the species and their estimated ancestors (a) in the plane of the first two principal components of the shapes, with their shares of the variance, and (b) in that of the first two phylogenetic principal components, with their shares of the rate of evolution, seen from the estimated shape at the root.",
		Drawing: viz.Row(
			a.phylomorphospace(a.pca, "component").Title("(a) principal components"),
			a.phylomorphospace(phylogenetic, "phylogenetic component").Title("(b) phylogenetic components"))})
	a.method("Phylogenetic principal components are the eigenvectors of the covariance of independent contrasts. Their scores are correlated, because species are related.", "Revell 2009")
	s.add(sharesTable("phylogenetic-components", "Phylogenetic principal components: share of the rate of evolution, and its cumulative sum.", phylogenetic.Shares))
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

// ancestors predicts the shapes at the inner nodes of the tree, with their errors, and compares rates of evolution.
func (a *analysis) ancestors(s *Section) {
	rows := a.rows()
	draws := a.draws()
	draws.N = min(draws.N, customary) // a quantile of 95 % needs no more
	nodes, errs, height := try.Get(a.tree.Prune(rows)), try.Get(a.tree.Errors(rows, draws)), a.tree.Height()
	names, clades := a.tree.Clades()
	t := &Table{Name: "ancestors", Caption: "Predicted ancestors: the standard error of the shape, and the distance within which the true shape is in 95 % of the simulations.",
		Header: []string{"ancestor of", "leaves", "distance from the root", "standard error", "95 % radius"}}
	coordinates := &Table{Name: "ancestor-coordinates", Caption: "Coordinates of the predicted ancestors; the beginning.", Header: append([]string{"ancestor of"}, numbered("coordinate", len(rows[0]))...), Preview: true}
	if a.data.Flat {
		t.Caption += " It is too small, because it leaves out the errors of the atlas: in simulated families of surfaces 92 % of the true ancestors were within it, and 91 % where poses were searched."
	}
	others, root := a.overTrees(rows), nodes.Mean[0]
	if others != nil {
		coordinates.Caption = "Coordinates of the predicted ancestors, means over the trees that have the clade; the beginning."
		t.Header = append(t.Header, "share of trees", "spread over trees")
		t.Caption += fmt.Sprintf(" The spread is the root mean square distance of the ancestor by each of %d trees that have this clade from the mean of these ancestors.", len(a.trees))
	}
	for i, clade := range clades {
		if len(clade) < 2 {
			continue
		}
		row := []any{names[i], len(clade), height[i], errs.StandardError(i), errs.Radius(i, 0.95)}
		at := nodes.Mean[i]
		if others != nil {
			mean, share, spread := others(clade)
			row, at = append(row, Percent(share), Number(spread, "%.3g")), mean
		}
		if t.Add(row...); i == 0 {
			root = at
		}
		coordinates.Add(names[i], at)
	}
	s.add(t, coordinates, &Figure{Name: "ancestor", Caption: "The mean of the specimens and the predicted shape at the root.",
		Drawing: arranged(a.views, a.between("", a.mean.Shape(a.mean.Fitted[0]), a.mean.Shape(root), "mean", "root"))})
	a.method("Ancestors are the best linear unbiased predictions under Brownian motion. Their errors were simulated along the tree with independent contrasts, drawn with replacement and with random signs, as steps.",
		"Felsenstein 1985")
	a.rates(s)
}

// overTrees returns the mean of the ancestors of a clade by the trees that have it, the share of these, and how far the ancestors are from the mean;
// nil of one tree.
func (a *analysis) overTrees(rows [][]float64) func(clade []string) (mean []float64, share, spread float64) {
	if len(a.trees) < 2 {
		return nil
	}
	found := map[string][][]float64{}
	key := func(clade []string) string { return fmt.Sprintf("%q", slices.Sorted(slices.Values(clade))) }
	own := a.leafNames()
	for _, t := range a.trees {
		t = try.Get(t.Keep(own...))
		values := lists.Each(t.Leaves(), func(i int) []float64 { return rows[slices.Index(own, t.Name[i])] })
		nodes := try.Get(t.Prune(values))
		_, clades := t.Clades()
		for i, clade := range clades {
			if len(clade) > 1 {
				found[key(clade)] = append(found[key(clade)], nodes.Mean[i])
			}
		}
	}
	return func(clade []string) (mean []float64, share, spread float64) {
		all := found[key(clade)]
		mean = make([]float64, len(rows[0]))
		for _, x := range all {
			floats.AddScaled(mean, 1/float64(len(all)), x)
		}
		for _, x := range all {
			spread += math.Pow(floats.Distance(x, mean, 2), 2) / float64(len(all))
		}
		return mean, float64(len(all)) / float64(len(a.trees)), math.Sqrt(spread)
	}
}

// leafNames are the names of the leaves of the tree.
func (a *analysis) leafNames() []string { return lists.Pick(a.tree.Name, a.tree.Leaves()) }

// rates compares how fast the groups of the model evolve.
func (a *analysis) rates(s *Section) {
	_, factors, values := a.main()
	if values == nil || len(counts(values)) < 2 {
		return
	}
	d, _ := a.grouped(factors)
	found, err := shapestats.EvolutionaryRates(d, a.tree, linear.Factor("group"), a.draws())
	if err != nil {
		s.add(Paragraph(fmt.Sprintf("Rates of evolution were not compared: %v.", err)))
		return
	}
	t := &Table{Name: "rates", Caption: "Rates of evolution of groups: the variance of all coordinates that a unit of length of the tree adds.", Header: []string{"group", "species", "rate"}}
	for _, g := range found.Groups {
		t.Add(g.Group, g.Species, g.Rate)
	}
	pairs := &Table{Name: "rates-pairs", Caption: "Ratios of these rates.", Header: []string{"group", "other group", "ratio", "p"}}
	for _, r := range found.Ratios {
		pairs.Add(r.A, r.B, r.Ratio, PValue(r.P))
	}
	s.add(t, pairs)
	a.method("Rates of groups are those on the tree of their own species. They were compared by permuting independent contrasts and their signs.",
		"Denton & Adams 2015")
}

// ReadTrees returns the question with the trees of a file, all of them or the first, and what their reader says of them. It has the errors of tree.Read.
func (q Question) ReadTrees(path string, all bool) (_ Question, notes []string, err error) {
	trees, err := tree.Read(path)
	if err != nil {
		return q, nil, err
	}
	q.Tree, q.Trees, notes = trees[0].Newick(), nil, trees[0].Notes
	if all {
		for _, t := range trees {
			q.Trees = append(q.Trees, t.Newick())
		}
	} else if len(trees) > 1 {
		notes = append(notes, fmt.Sprintf("the file holds %d trees: the first was taken. --trees all takes all for signal and ancestors", len(trees)))
	}
	return q, notes, nil
}
