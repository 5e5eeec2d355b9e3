package supplement

import (
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
	"cmp"
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
		draws, few := a.drawsFor(len(d.Groups()))
		pairs := try.Get(m.PairsOfMeans(group, draws))
		of := "" // which groups, if they are not called so
		if !slices.Equal(factors, []string{"group"}) {
			of = fmt.Sprintf(" (%s)", strings.Join(factors, " and "))
		}
		t := &Table{Name: fileName("pairs-" + strings.Join(factors, "-")), Caption: fmt.Sprintf("Procrustes distances between the means of groups%s.", of), Header: []string{"group", "other group", "distance", "p", "p, corrected (Holm)"}}
		corrected := holm(pairs)
		largest := 0
		for i, p := range pairs {
			if p.Distance > pairs[largest].Distance {
				largest = i
			}
			t.Add(p.A, p.B, p.Distance, PValue(p.P), PValue(corrected[i]))
		}
		if len(pairs) == 0 {
			continue
		}
		if len(a.formula.Numbers) > 0 {
			t.Caption += fmt.Sprintf(" The means are those at the mean of %s.", and(a.formula.Numbers))
		}
		if few := alone(d); few != nil {
			t.Caption += fmt.Sprintf(" Of %s there is one specimen, which is taken for the mean.", and(few))
		}
		t.Caption += few
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
			Drawing: arranged(a.views, a.between("", means[0], means[1], pairs[largest].A, pairs[largest].B))})
		a.method("Pairs of group means were compared by their Procrustes distance. Its p-value comes from permuting the residuals of the model without the groups. It was corrected for the number of pairs by Holm's method.", "S. Holm, A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6, 1979", "M. Collyer and D. Adams, RRPP: an R package for fitting linear models to high-dimensional data using residual randomization, Methods Ecol. Evol. 9, 2018")
	}
	if len(s.Parts) == 0 {
		return nil
	}
	return s
}

// alone are the groups of one specimen.
func alone(d *morpho.Dataset) (names []string) {
	count := counts(try.Get(d.Column("group")))
	for _, g := range d.Groups() {
		if count[g] == 1 {
			names = append(names, g)
		}
	}
	return names
}

// drawsFor are as many draws for the pairs of some groups that the smallest corrected p-value can be below 0.05, where the usual number of them or more was asked for; few says
// so where that is another number, or where fewer were asked for.
func (a *analysis) drawsFor(groups int) (draws linear.Permutations, few string) {
	draws = a.draws()
	pairs := groups * (groups - 1) / 2
	need := int(float64(pairs)/Significant) + 1
	switch {
	case draws.N >= need:
	case draws.N >= customary && pairs < 100*customary:
		draws.N = need
		few = fmt.Sprintf(" These tests used %d permutations, so that the smallest corrected p-value can be below %g.", need, Significant)
	default:
		few = fmt.Sprintf(" With %d permutations no corrected p-value of %d pairs can be below %g: take %d.", draws.N, pairs, Significant, need)
	}
	return draws, few
}

// holm are the p-values of pairs, corrected for their number: the k-th smallest of n is multiplied by n − k + 1, and none is smaller than those before it (S.
// Holm, Scand. J. Statistics 6, 1979).
func holm(pairs linear.Pairs) []float64 {
	order := lists.Range(len(pairs))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(pairs[i].P, pairs[j].P) })
	out, least := make([]float64, len(pairs)), 0.0
	for k, i := range order {
		least = max(least, math.Min(1, pairs[i].P*float64(len(pairs)-k)))
		out[i] = least
	}
	return out
}

// meanOf is the shape that a model predicts for a group at the means of its numbers.
func (a *analysis) meanOf(m *shapestats.Model, d *morpho.Dataset, group string) [][]float64 {
	at := map[string]string{"group": group}
	for _, name := range a.formula.Numbers {
		values := try.Get(shapestats.Numbers(d, name))
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
	large, _, small := a.largeGroups(values)
	if large == nil {
		return nil
	}
	terms := lists.Each(factors, func(f string) linear.Term { return linear.Factor(f) })
	groups := terms[0]
	if len(terms) > 1 {
		groups = linear.Interaction(terms...)
	}
	model := a.unweighted()
	if small != "" {
		model = try.Get(shapestats.Fit(large, a.formula.Terms...))
	}
	found := try.Get(model.Disparity(groups, a.draws()))
	s := &Section{Title: "Which groups vary more"}
	if small != "" {
		s.add(Paragraph(small))
	}
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

// largeGroups is the data without groups of one or two specimens, with the groups of those that are left, and a sentence about the others; nil if there are no two large groups.
func (a *analysis) largeGroups(values []string) (large *morpho.Dataset, groups []string, small string) {
	out := *a.data
	out.Specimens = nil
	var left []string
	count := counts(values)
	for i, s := range a.data.Specimens {
		if count[values[i]] > 2 {
			out.Specimens, groups = append(out.Specimens, s), append(groups, values[i])
		} else if !slices.Contains(left, values[i]) {
			left = append(left, values[i])
		}
	}
	if left != nil {
		small = fmt.Sprintf("Left out here, because they have fewer than three specimens: %s.", and(left))
	}
	if len(counts(groups)) < 2 {
		return nil, nil, small
	}
	return &out, groups, small
}
