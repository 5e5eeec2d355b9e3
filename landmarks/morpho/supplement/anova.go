package supplement

import (
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/landmarks/morpho"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

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
func (a *analysis) explain() *Section {
	if a.model == nil {
		return nil
	}
	s := &Section{Title: "What the model explains"}
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
	return s
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
