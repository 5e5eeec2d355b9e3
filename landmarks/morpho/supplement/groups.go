package supplement

import (
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
)

// main returns the factors by which figures are coloured and variances compared, those of the first comparison, with the groups that they make
// of the specimens; nil where there are none.
func (a *analysis) main() (name string, factors, groups []string) {
	if all := a.comparisons(); len(all) > 0 {
		factors = all[0]
	} else if len(a.data.Groups()) > 1 {
		factors = []string{"group"}
	} else {
		return "", nil, nil
	}
	d, _ := a.grouped(factors)
	for _, s := range d.Specimens {
		groups = append(groups, s.Group)
	}
	return and(factors), factors, groups
}

// comparisons returns the factors of the model's interactions of two factors, and those that are in none.
func (a *analysis) comparisons() (all [][]string) {
	single := slices.Clone(a.formula.Factors)
	for _, names := range a.formula.Names {
		if len(names) == 2 && slices.Contains(a.formula.Factors, names[0]) && slices.Contains(a.formula.Factors, names[1]) {
			all = append(all, names)
			single = slices.DeleteFunc(single, func(f string) bool { return slices.Contains(names, f) })
		}
	}
	for _, f := range single {
		all = append(all, []string{f})
	}
	return all
}

// over says whether a term of the model is tested over another one.
func (a *analysis) over() bool {
	return slices.ContainsFunc(a.formula.Terms, func(t linear.Term) bool { return t.TestedOver() != "" })
}

// grouped returns the data with the combinations of factors as their groups, and the numbers of the model.
func (a *analysis) grouped(factors []string) (*morpho.Dataset, []linear.Term) {
	d := a.data
	if !slices.Equal(factors, []string{"group"}) {
		d = d.GroupBy(factors...)
	}
	var terms []linear.Term
	for _, t := range a.formula.Terms {
		if slices.Contains(a.formula.Numbers, t.Name()) {
			terms = append(terms, t)
		}
	}
	return d, append(terms, linear.Factor("group"))
}

// differ compares groups pair by pair.
func (a *analysis) differ() *Section {
	if a.model == nil || a.over() {
		return nil
	}
	s := &Section{Title: "Which groups differ"}
	for _, factors := range a.comparisons() {
		d, terms := a.grouped(factors)
		m := a.fit(d, terms...)
		group := terms[len(terms)-1]
		pairs := try.Get(m.PairsOfMeans(group, a.draws()))
		of := "" // which groups, if they are not called so
		if !slices.Equal(factors, []string{"group"}) {
			of = fmt.Sprintf(" (%s)", strings.Join(factors, " and "))
		}
		t := &Table{Name: fileName("pairs-" + strings.Join(factors, "-")), Caption: fmt.Sprintf("Procrustes distances between the means of groups%s.", of), Header: []string{"group", "other group", "distance", "p", "p, corrected (Bonferroni)"}}
		largest := 0
		for i, p := range pairs {
			if p.Distance > pairs[largest].Distance {
				largest = i
			}
			t.Add(p.A, p.B, p.Distance, PValue(p.P), PValue(math.Min(1, p.P*float64(len(pairs)))))
		}
		if len(pairs) == 0 {
			continue
		}
		if len(a.formula.Numbers) > 0 {
			t.Caption += fmt.Sprintf(" The means are those at the mean of %s.", and(a.formula.Numbers))
		}
		s.add(t)
		if d := dendrogram(pairs); d != nil {
			s.add(&Figure{Name: fileName("dendrogram-" + strings.Join(factors, "-")), Caption: fmt.Sprintf("Similarity of the means of groups%s: average linkage of their Procrustes distances. This is not a phylogeny.", of), Drawing: viz.Fig(viz.Tree(d)).XLabel("half the distance, from the root")})
		}
		var means [2][][]float64
		for k, g := range []string{pairs[largest].A, pairs[largest].B} {
			means[k] = a.meanOf(m, d, g)
		}
		which := fmt.Sprintf("The means of the two groups%s", of)
		if len(pairs) > 1 {
			which += fmt.Sprintf(" with the largest distance of %d pairs", len(pairs))
		}
		s.add(&Figure{Name: t.Name, Caption: which + ".",
			Drawing: a.between(means[0], means[1], pairs[largest].A, pairs[largest].B)})
		a.method("Pairs of group means were compared by their Procrustes distance. Its p-value comes from permuting the residuals of the model without the groups.", "M. Collyer and D. Adams, RRPP: an R package for fitting linear models to high-dimensional data using residual randomization, Methods Ecol. Evol. 9, 2018")
	}
	if len(s.Parts) == 0 {
		return nil
	}
	return s
}

// meanOf is the shape that a model predicts for a group at the means of its numbers.
func (a *analysis) meanOf(m *shapestats.Model, d *morpho.Dataset, group string) [][]float64 {
	at := map[string]string{"group": group}
	for _, name := range a.formula.Numbers {
		values, err := d.Numbers(name)
		if name == "log size" && err != nil {
			values, err = d.LogSizes()
		}
		try.Do(err)
		at[name] = fmt.Sprint(floats.Sum(values) / float64(len(values)))
	}
	return try.Get(m.Predict(at))
}

// disparity compares how much groups vary.
func (a *analysis) disparity() *Section {
	if a.model == nil || a.tree != nil || a.over() || len(a.formula.Factors) == 0 {
		return nil
	}
	_, factors, values := a.main()
	for _, n := range counts(values) {
		if n < 3 { // no variance to speak of
			return nil
		}
	}
	var terms []linear.Term
	for _, f := range factors {
		terms = append(terms, linear.Factor(f))
	}
	groups := terms[0]
	if len(terms) > 1 {
		groups = linear.Interaction(terms...)
	}
	found := try.Get(a.unweighted().Disparity(groups, a.draws()))
	s := &Section{Title: "Which groups vary more"}
	t := &Table{Name: "disparity", Caption: "Procrustes variances of the groups about the means that the model predicts.", Header: []string{"group", "specimens", "variance", "degrees of freedom"}}
	for _, g := range found.Groups {
		t.Add(g.Group, g.Samples, g.Variance, g.DF)
	}
	pairs := &Table{Name: "disparity-pairs", Caption: "Ratios of these variances.", Header: []string{"group", "other group", "ratio", "p"}}
	for _, r := range found.Ratios {
		pairs.Add(r.A, r.B, r.Ratio, PValue(r.P))
	}
	s.add(t, pairs)
	a.method("Variances of groups were compared by permuting the residuals of the model, each divided by the square root of one minus its leverage.", "M. Anderson, Distance-based tests for homogeneity of multivariate dispersions, Biometrics 62, 2006")
	return s
}
