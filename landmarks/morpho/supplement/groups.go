package supplement

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
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
	return and(factors), factors, lists.Each(d.Specimens, func(s morpho.Specimen) string { return s.Group })
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
	numbers := lists.Filter(a.formula.Terms, func(t linear.Term) bool { return slices.Contains(a.formula.Numbers, t.Name()) })
	return d, append(numbers, linear.Factor("group"))
}

// differ compares groups pair by pair.
func (a *analysis) differ(s *Section) {
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
		t := &Table{Name: fileName("pairs-" + strings.Join(factors, "-")), Caption: fmt.Sprintf("Procrustes distances between the means of groups%s. The 95 %% limit is that of 95 %% of the permutations, if the groups do not differ.", of), Header: []string{"group", "other group", "distance", "95 % limit", "p", "p, corrected (Holm)"}}
		corrected := holm(pairs)
		largest := 0
		for i, p := range pairs {
			if p.Distance > pairs[largest].Distance {
				largest = i
			}
			t.Add(p.A, p.B, p.Distance, p.Limit, PValue(p.P), PValue(corrected[i]))
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
		p, count, which, most := pairs[largest], counts(try.Get(d.Column("group"))), fmt.Sprintf("The means of the two groups%s", of), ""
		if len(pairs) > 1 {
			which += fmt.Sprintf(" with the largest distance of %d pairs", len(pairs))
			most = fmt.Sprintf(", the most of %d pairs", len(pairs))
		}
		a.effects = append(a.effects, fmt.Sprintf("The means of %s and %s%s differ by a Procrustes distance of %.3g%s. This is %.2g times the root mean square distance of specimens from what the model predicts. The means differ%s.",
			p.A, p.B, of, p.Distance, most, p.Distance/math.Sqrt(meanSquare(a.model.Residuals)), a.mostAt(means[0], means[1])))
		s.add(&Figure{Name: t.Name, Caption: which + ".",
			Drawing: arranged(a.views, a.between("", means[0], means[1], fmt.Sprintf("%s, n = %d", p.A, count[p.A]), fmt.Sprintf("%s, n = %d", p.B, count[p.B])))})
		a.method("Pairs of group means were compared by their Procrustes distance. Its p-value comes from permuting the residuals of the model without the groups. It was corrected for the number of pairs by Holm's method.", "Holm 1979", "Collyer & Adams 2018")
	}
}

// meanSquare is that of the lengths of rows.
func meanSquare(rows [][]float64) float64 {
	return lists.Sum(len(rows), func(i int) float64 { return floats.Dot(rows[i], rows[i]) / float64(len(rows)) })
}

// mostAt names the three landmarks at which two shapes differ most.
func (a *analysis) mostAt(from, to [][]float64) string {
	if a.data.Flat {
		return " as the figure shows"
	}
	order := lists.Range(len(from))
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(floats.Distance(from[j], to[j], 2), floats.Distance(from[i], to[i], 2))
	})
	return " most at " + a.data.Called(order[:min(3, len(order))]...)
}

// alone are the groups of one specimen.
func alone(d *morpho.Dataset) []string {
	count := counts(try.Get(d.Column("group")))
	return lists.Filter(d.Groups(), func(g string) bool { return count[g] == 1 })
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
		values := try.Get(d.Numbers(name))
		at[name] = fmt.Sprint(floats.Sum(values) / float64(len(values)))
	}
	return try.Get(m.Predict(at))
}

// disparity compares how much groups vary.
func (a *analysis) disparity(s *Section) {
	_, factors, values := a.main()
	large, _, small := a.largeGroups(values)
	if large == nil {
		return
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
	a.method("Variances of groups were compared by permuting the residuals of the model, each divided by the square root of one minus its leverage.", "Anderson 2006")
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

// ANOVA returns the table of the analysis of variance alone, which is one of New's.
func ANOVA(d *morpho.Dataset, q Question) (table *Table, err error) {
	a := &analysis{Question: q, asked: q, given: d}
	err = try.Run(func() {
		if a.prepare(d); a.model == nil {
			try.Do(errors.New("there is nothing to test: give a model, or groups in a column of the table"))
		}
		found := try.Get(a.model.ANOVAOfType(a.sums, a.draws()))
		table = a.anovaTable("anova", strings.Join(append([]string{anovaCaption(found)}, a.readings()...), " "), found)
	})
	return table, err
}

// anovaCaption is the caption of an analysis of variance.
func anovaCaption(of *linear.ANOVA) string {
	return fmt.Sprintf("Procrustes analysis of variance: sums of squares of type %s, in squared centroid sizes.", of.Type)
}

// anovaTable is a table of an analysis of variance.
func (a *analysis) anovaTable(name, caption string, of *linear.ANOVA) *Table {
	t := &Table{Name: name, Caption: caption, Header: []string{"term", "df", "SS", "MS", "R²", "F", "Z", "p", "error of p"}}
	over := slices.ContainsFunc(of.Rows, func(r linear.ANOVARow) bool { return r.Over != "" && r.Over != "residuals" })
	if over {
		t.Header = append(t.Header, "F over")
	}
	for _, row := range of.Rows {
		errorOfP := math.NaN()
		if !math.IsNaN(row.P) {
			errorOfP = linear.Test{P: row.P, Permutations: of.Permutations}.StandardError()
		}
		cells := []any{row.Term, row.DF, row.SS, row.MS, row.R2, row.F, Number(row.Z, "%.3g"), PValue(row.P), Number(errorOfP, "%.2g")}
		if over {
			cells = append(cells, row.Over)
		}
		t.Add(cells...)
	}
	return t
}

// explain shows the analysis of variance of the model.
func (a *analysis) explain(s *Section) {
	kinds := []string{}
	if len(a.formula.Factors) > 0 {
		kinds = append(kinds, and(a.formula.Factors)+" "+isAre(len(a.formula.Factors))+" treated as categories")
	}
	if len(a.formula.Numbers) > 0 {
		kinds = append(kinds, and(a.formula.Numbers)+" "+isAre(len(a.formula.Numbers))+" treated as numbers")
	}
	s.add(Paragraph(fmt.Sprintf("The model is shape ~ %s, where %s. Each term is tested in addition to %s.", a.Model, and(kinds), [...]string{"the terms above it in the table", "all terms that do not contain it", "all other terms, at the mean over the categories of each factor"}[a.sums])))
	a.warn(s, a.formula.Factors)
	s.add(a.anovaTable("anova", anovaCaption(a.anova), a.anova))
	a.method("The effect size Z is the logarithm of F minus its mean over the permutations, in standard deviations of the permutations.", "Collyer et al. 2015")
	if a.tree != nil {
		a.method(fmt.Sprintf("Models were fitted by phylogenetic generalised least squares. Terms were tested by drawing the signs of independent contrasts at random, %d times.", a.Permutations), "Adams & Collyer 2018", "Felsenstein 1985")
	} else {
		a.method(fmt.Sprintf("Each term was tested by permuting, %d times, the residuals of the model with those terms in addition to which it is tested.", a.Permutations), "Freedman & Lane 1983", "Goodall 1991", "Collyer et al. 2015")
	}
}

// warn names the columns of categories, numbers not being such, in which specimens of one group differ, if the groups are the combinations of
// factors.
func (a *analysis) warn(s *Section, factors []string) {
	var names []string
	groups := len(a.data.GroupBy(factors...).Groups())
	for _, name := range append([]string{"group"}, a.data.Covariates()...) {
		values := counts(try.Get(a.data.Column(name)))
		_, err := a.data.Numbers(name)
		if err != nil && len(values) <= len(a.data.Specimens)/2 && len(a.data.GroupBy(append(slices.Clone(factors), name)...).Groups()) > groups {
			names = append(names, name)
		}
	}
	if names != nil {
		s.add(Paragraph(fmt.Sprintf("Not taken into account here: %s. Specimens that belong together are then treated as independent of each other. If the shapes of such groups differ, p-values can be far too small, above all those of slopes. Add the groups to the model, or say why they do not matter.", and(names))))
	}
}

// trajectories compares how groups change over the categories of a second factor, where the model has the interaction of both.
func (a *analysis) trajectories(s *Section) {
	for _, factors := range a.comparisons() {
		if len(factors) != 2 {
			continue
		}
		found, err := a.model.Trajectories(linear.Factor(factors[0]), linear.Factor(factors[1]), a.draws())
		if err != nil {
			s.add(Paragraph(fmt.Sprintf("Changes over %s were not compared: %v.", factors[1], err)))
			continue
		}
		name := fileName("trajectories-" + strings.Join(factors, "-"))
		t := &Table{Name: name, Caption: fmt.Sprintf("Changes of the groups of %s over %s: differences between the lengths of the paths, angles between them in degrees, and distances between the shapes of the paths, which exist for three stages or more.", factors[0], factors[1]),
			Header: []string{factors[0], "other " + factors[0], "difference of lengths", "p", "angle", "p of the angle", "distance of shapes", "p of the shapes"}}
		for _, p := range found.Pairs {
			t.Add(p.A, p.B, p.Size, PValue(p.PSize), p.Angle*180/math.Pi, PValue(p.PAngle), p.Shape, PValue(p.PShape))
		}
		var paths []shape.Shape
		var places [][]float64
		var names []string
		for g, stages := range found.Means {
			var path [][]float64
			for _, mean := range stages {
				off := floats.SubTo(make([]float64, len(mean)), mean, a.mean.Fitted[0])
				path = append(path, []float64{floats.Dot(off, a.pca.Axes[0]), floats.Dot(off, a.pca.Axes[1])})
			}
			paths = append(paths, path)
			for k, p := range path {
				places, names = append(places, p), append(names, found.Groups[g]+" "+found.Stages[k])
			}
		}
		s.add(t, &Figure{Name: name, Caption: fmt.Sprintf("Paths of the means of %s over %s, in the plane of the first two principal components.", factors[0], factors[1]),
			Drawing: viz.Fig(viz.Scatter(a.pca.Scores[0], a.pca.Scores[1]).Color(viz.LightGrey), viz.Lines(paths...).Color(viz.Black), viz.Points(places).Color(viz.Black), viz.Names(places, names)).XLabel(a.component(0)).YLabel(a.component(1))})
		a.method("Paths of groups were compared by their lengths, directions and shapes. The p-values come from permuting the residuals of the model without the interaction.", "Collyer & Adams 2013")
	}
}
