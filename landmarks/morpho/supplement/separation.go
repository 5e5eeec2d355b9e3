package supplement

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/try"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
)

// separate asks whether the group of a specimen can be recognised by its shape. Axes that separate groups are shown with their cross-validation only.
func (a *analysis) separate() *Section {
	_, factors, values := a.main()
	if values == nil || a.model == nil || a.tree != nil || a.over() {
		return nil
	}
	d, values, small := a.largeGroups(values) // two without the one that is left out
	if d == nil {
		return nil
	}
	if !slices.Equal(factors, []string{"group"}) {
		d = d.GroupBy(factors...)
	}
	of := *a
	of.data = d
	s := &Section{Title: "Can the group be recognised by shape?"}
	t := &Table{Name: "separation", Caption: "Share of the specimens that are nearest to the mean of their own group. Cross-validated: each specimen on axes that were computed without it. Not cross-validated: on axes computed from all specimens. The test compares the means of the groups.",
		Header: []string{"axes", "principal components", "correct, cross-validated", "correct, not cross-validated", "p"}}
	s.add(t)
	for _, by := range []struct {
		name, file string
		measure    func() (*shapestats.Separation, error)
	}{
		{"canonical variates", "canonical-variates", func() (*shapestats.Separation, error) { return shapestats.CanonicalVariates(d, a.draws()) }},
		{"between-group components", "between-group-components", func() (*shapestats.Separation, error) { return shapestats.BetweenGroupComponents(d, a.draws()) }},
	} {
		found := try.Get(by.measure())
		t.Add(by.name, found.Components, Percent(found.Right), Percent(found.RightAgain), PValue(found.P))
		confusion := &Table{Name: by.file, Caption: fmt.Sprintf("Number of specimens of each group (rows) that are nearest to the mean of each group (columns), by %s, cross-validated.", by.name), Header: append([]string{"group"}, found.Groups...)}
		for g, row := range found.Confusion {
			cells := []any{found.Groups[g]}
			for _, n := range row {
				cells = append(cells, n)
			}
			confusion.Add(cells...)
		}
		s.add(confusion, of.separationFigure(by.name, by.file, values, found))
	}
	if small != "" {
		s.Parts = append([]Part{Paragraph(small)}, s.Parts...)
	}
	s.Parts = append([]Part{Paragraph(fmt.Sprintf("If specimens are few, axes that are computed to separate groups do so even if the groups do not differ. Therefore judge by the cross-validated numbers and pictures. By chance about %s of the specimens are nearest to the mean of their own group.",
		percent(1/float64(len(d.Groups())))))}, s.Parts...)
	a.method("Canonical variates were computed from the principal components that explain 95 % of the variance; their number is at most a third of the number of specimens minus the number of groups. Between-group components are the principal components of the group means. Both were cross-validated by leaving out one specimen at a time, and tested by permuting specimens among groups.",
		"P. Mitteroecker and F. Bookstein, Linear discrimination, ordination, and the visualization of selection gradients in modern morphometrics, Evol. Biol. 38, 2011",
		"A. Cardini, P. O'Higgins and F. J. Rohlf, Seeing distinct groups where there are none: spurious patterns from between-group PCA, Evol. Biol. 46, 2019")
	return s
}

// separationFigure has the scores of specimens that had no part in the axes beside those of such that had.
func (a *analysis) separationFigure(name, file string, values []string, found *shapestats.Separation) *Figure {
	low, high := floats.Min(found.Scores[0]), floats.Max(found.Scores[0])
	ends := func(title string) []*viz.Figure {
		return a.between(title, found.At(0, low), found.At(0, high), "lowest score", "highest score")
	}
	f := &Figure{Name: file}
	if len(found.Axes) == 1 {
		f.Caption = fmt.Sprintf("(a) Scores on the only axis, by %s. Horizontal: on the axis from all specimens. Vertical: cross-validated; these scores show how much the groups differ. (b) The shapes at the ends of the axis.", name)
		scores := viz.Fig(a.byGroup(values, found.Scores[0], found.CrossValidated[0])...).XLabel("axis 1, not cross-validated").YLabel("axis 1, cross-validated").Title("(a) scores")
		f.Drawing = viz.Tiles(2, append([]*viz.Figure{scores}, ends("(b) axis 1")...)...)
		return f
	}
	label := func(k int) string { return fmt.Sprintf("axis %d (%s)", k+1, percent(found.Shares[k])) }
	scores := func(of [][]float64, title string) *viz.Figure {
		return viz.Fig(a.byGroup(values, of[0], of[1], (*viz.Layer).Ellipse)...).Title(title).XLabel(label(0)).YLabel(label(1))
	}
	f.Drawing = viz.Tiles(2, append([]*viz.Figure{scores(found.CrossValidated, "(a) cross-validated"), scores(found.Scores, "(b) not cross-validated")},
		ends("(c) axis 1")...)...)
	f.Caption = fmt.Sprintf("The first two axes by %s, with their shares of the variance between groups: scores (a) cross-validated, (b) on axes from all specimens, with an ellipse for 95 %% of each group. (c) The shapes at the ends of the first axis.", name)
	return f
}

// counts says how often there is each value.
func counts(values []string) map[string]int {
	out := map[string]int{}
	for _, v := range values {
		out[v]++
	}
	return out
}
