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
)

// ancestors predicts the shapes at the inner nodes of the tree, with their errors, and compares rates of evolution.
func (a *analysis) ancestors() *Section {
	if a.tree == nil {
		return nil
	}
	rows := a.rows()
	draws := a.draws()
	draws.N = min(draws.N, customary) // a quantile of 95 % needs no more
	nodes, errs, height := try.Get(a.tree.Prune(rows)), try.Get(a.tree.Errors(rows, draws)), a.tree.Height()
	names, clades := a.tree.Clades()
	s := &Section{Title: "Ancestors and rates"}
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
	return s
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
