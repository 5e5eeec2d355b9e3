package supplement

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
)

// measureAllometry regresses shape on size, with the groups of the data that are large enough for slopes; why says what was not compared.
func (a *analysis) measureAllometry() (found *shapestats.Allometry, d *morpho.Dataset, factors []string, why error) {
	_, factors, values := a.main()
	d = a.data
	if values != nil && a.compared() {
		d, _ = a.grouped(factors)
	} else {
		d, factors = d.GroupBy(), nil
	}
	found, why = shapestats.MeasureAllometry(d, a.tree, a.draws())
	if why != nil && len(d.Groups()) > 1 { // too few specimens for slopes
		var err error
		d, factors = d.GroupBy(), nil
		if found, err = shapestats.MeasureAllometry(d, a.tree, a.draws()); err != nil {
			why = err
		}
	}
	return found, d, factors, why
}

// answered returns the row of the model about a question that an allometry asks too, or that of the allometry: one question has one answer.
func (a *analysis) answered(row linear.ANOVARow, names ...string) (_ linear.ANOVARow, inModel bool) {
	for _, name := range names {
		if a.model != nil {
			if i := slices.IndexFunc(a.anova.Rows, func(r linear.ANOVARow) bool { return r.Term == name && !math.IsNaN(r.P) }); i >= 0 {
				return a.anova.Rows[i], true
			}
		}
	}
	return row, false
}

// allometry asks whether shape changes with size, and whether groups do so alike.
func (a *analysis) allometry(s *Section) {
	found, d, factors, why := a.measureAllometry()
	if found == nil {
		s.add(Paragraph(fmt.Sprintf("This was not computed: %v.", why)))
		return
	}
	if why != nil {
		s.add(Paragraph(fmt.Sprintf("The slopes of groups were not compared: %v.", why)))
	}
	_, _, values := a.main()
	table := *found.Table
	size, known := a.answered(table.Rows[0], "log size")
	text := sizeVerdict(size)
	text = strings.ToUpper(text[:1]) + text[1:]
	if known {
		text += " This is the test in the table of the model."
		table.Rows = table.Rows[1:]
	}
	if a.without != nil {
		if other, _, _, _ := a.without.measureAllometry(); other != nil {
			row, _ := a.without.answered(other.Table.Rows[0], "log size")
			text += fmt.Sprintf(" Without %s: %s", a.these(), sizeVerdict(row))
		}
	}
	groups := d.Groups()
	if len(groups) > 1 {
		slopes := found.Table.Rows[2]
		if len(factors) == 1 {
			if slopes, known = a.answered(slopes, "log size:"+factors[0], factors[0]+":log size"); known {
				table.Rows = slices.DeleteFunc(slices.Clone(table.Rows), func(r linear.ANOVARow) bool { return r.Term == "log size:group" })
			}
		}
		same := verdict(slopes.P, "differ significantly, so one slope does not describe all groups", "do not differ significantly, so one slope may describe all groups")
		text += fmt.Sprintf(" The slopes of the groups %s (p = %s).", same, pValue(slopes.P))
	}
	by := "size"
	if len(groups) > 1 {
		by = "size and group"
	}
	s.add(Paragraph(text))
	a.warn(s, factors)
	s.add(a.anovaTable("allometry", fmt.Sprintf("Analysis of variance of shape by %s.", by), &table))
	if len(found.Pairs) > 0 {
		t := &Table{Name: "allometry-slopes", Caption: "Slopes of pairs of groups: the length of their difference, per unit of the logarithm of size, and the angle between them in degrees. Groups that are left out make these p-values too small.", Header: []string{"group", "other group", "distance", "p", "angle", "p of the angle"}}
		for _, p := range found.Pairs {
			t.Add(p.A, p.B, p.Distance, PValue(p.P), p.Angle*180/math.Pi, PValue(p.PAngle))
		}
		s.add(t)
	}
	s.add(a.allometryFigure(found, groups, values))
	free := &Table{Name: "allometry-scores", Caption: "Scores of the specimens on the common allometric component and on the first residual component.", Header: []string{"specimen", a.sizeName(), "common component", "residual component"}}
	for i, specimen := range found.SizeFree.Specimens {
		free.Add(specimen.Name, found.Sizes[i], found.Scores[i], found.ResidualComponent[i])
	}
	s.add(free)
	a.method("Allometry is the regression of shape on the natural logarithm of centroid size, with one slope for all specimens or groups. Scores of the common allometric component are projections on this slope. The residual component is the first principal component after removing the direction of the slope.", "Drake & Klingenberg 2008", "Mitteroecker et al. 2004")
}

// sizeVerdict is the answer to the question whether shape depends on size.
func sizeVerdict(row linear.ANOVARow) string {
	return fmt.Sprintf("%s: the logarithm of centroid size explains %s of the variation (p = %s).",
		verdict(row.P, "shape depends on size", "the dependence of shape on size is not significant"), percent(row.R2), pValue(row.P))
}

// sizeName is what the size of the specimens is called.
func (a *analysis) sizeName() string {
	if a.data.Flat {
		return morpho.LogSize
	}
	return "log centroid size"
}

// allometryFigure has the scores with the lines of the groups, the two components, and predicted shapes.
func (a *analysis) allometryFigure(found *shapestats.Allometry, groups, values []string) *Figure {
	layers := a.byGroup(values, found.Sizes, found.Scores)
	for _, g := range groups {
		var x, y []float64
		for i, s := range found.Common.Data.Specimens {
			if s.Group == g {
				x = append(x, found.Sizes[i])
			}
		}
		x = []float64{floats.Min(x), floats.Max(x)}
		for _, size := range x {
			_, score := try.Get2(found.Predict(g, math.Exp(size)))
			y = append(y, score)
		}
		layers = append(layers, viz.Series(x, y).Color(viz.Grey))
	}
	var ends [2][][]float64
	for k, size := range []float64{floats.Min(found.Sizes), floats.Max(found.Sizes)} {
		ends[k], _ = try.Get2(found.Predict(groups[0], math.Exp(size)))
	}
	a.effects = append(a.effects, fmt.Sprintf("From the smallest to the largest specimen the shape that size predicts changes by a Procrustes distance of %.3g,%s.",
		floats.Distance(slices.Concat(ends[0]...), slices.Concat(ends[1]...), 2), a.mostAt(ends[0], ends[1])))
	label := WithUnit(a.sizeName(), a.data.Unit, "")
	of, lines := "", "the line is their slope"
	if len(groups) > 1 {
		of, lines = ", in the group "+groups[0], "lines are the slopes of the groups"
	}
	return &Figure{Name: "allometry", Caption: fmt.Sprintf("(a) Scores of the common allometric component; %s. (b) The first residual component, which explains %s of the remaining variance. (c) Predicted shapes at the smallest and the largest size%s.", lines, percent(found.Share), of),
		Drawing: viz.Tiles(2, append([]*viz.Figure{
			viz.Fig(layers...).Title("(a) allometry").XLabel(label).YLabel("common component"),
			viz.Fig(a.byGroup(values, found.Scores, found.ResidualComponent)...).Title("(b) residual").XLabel("common component").YLabel("residual component"),
		}, a.between("(c) predicted shapes", ends[0], ends[1], "smallest", "largest")...)...)}
}

// separate asks whether the group of a specimen can be recognised by its shape. Axes that separate groups are shown with their cross-validation only.
func (a *analysis) separate(s *Section) {
	_, factors, values := a.main()
	if values == nil {
		return
	}
	d, values, small := a.largeGroups(values) // two without the one that is left out
	if d == nil {
		return
	}
	if !slices.Equal(factors, []string{"group"}) {
		d = d.GroupBy(factors...)
	}
	of := *a
	of.data = d
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
			confusion.Add(found.Groups[g], row)
		}
		s.add(confusion, of.separationFigure(by.name, by.file, values, found))
	}
	if small != "" {
		s.Parts = append([]Part{Paragraph(small)}, s.Parts...)
	}
	s.Parts = append([]Part{Paragraph(fmt.Sprintf("If specimens are few, axes that are computed to separate groups do so even if the groups do not differ. Therefore judge by the cross-validated numbers and pictures. By chance about %s of the specimens are nearest to the mean of their own group.",
		percent(1/float64(len(d.Groups())))))}, s.Parts...)
	a.method("Canonical variates were computed from the principal components that explain 95 % of the variance; their number is at most a third of the number of specimens minus the number of groups. Between-group components are the principal components of the group means. Both were cross-validated by leaving out one specimen at a time, and tested by permuting specimens among groups.",
		"Mitteroecker & Bookstein 2011",
		"Cardini et al. 2019")
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

// measured says how exact the measurements are, where the data say by the columns "individual" and "replicate" which of them are repeated.
func (a *analysis) measured(s *Section) {
	names := []string{"individual"}
	if slices.Contains(a.data.Covariates(), "side") {
		names = append(names, "side")
	}
	what, d := and(names), a.data.GroupBy(names...)
	found := try.Get(shapestats.MeasureRepeatability(d, linear.Factor("group"), a.draws(), linear.Factor("replicate")))
	s.add(Paragraph(fmt.Sprintf("The repeatability of one measurement is %.3f. This is the share of the variance that is due to differences by %s and not to measurement error. Replicates %s (p = %s).",
		found.ICC, what, verdict(found.Table.Rows[1].P, "differ systematically", "show no systematic difference"), pValue(found.Table.Rows[1].P))))
	s.add(Paragraph("The other analyses treat each measurement as a specimen of its own. To test a term that differs between individuals against the variation of individuals, write “over individual” after the term."))
	found.Table.Rows[0].Term = what
	s.add(a.anovaTable("repeatability", fmt.Sprintf("Procrustes analysis of variance by %s and replicate. The residuals are the random error of measurement.", what), found.Table))
	t := &Table{Name: "repeatability-landmarks", Caption: "Standard deviations of the landmarks within and between specimens, in centroid sizes.", Header: []string{"landmark", "error", "between specimens"}}
	for l := range found.Noise {
		t.Add(a.data.Landmark(l), found.Noise[l], found.Spread[l])
	}
	s.add(t)
	if len(a.pca.Scores) > 1 {
		s.add(&Figure{Name: "repeatability", Caption: fmt.Sprintf("All measurements in the plane of the first two principal components. Lines join measurements of the same %s.", what), Drawing: a.joinedBy(d.Groups(), func(i int) string { return d.Specimens[i].Group })})
	}
	a.method("Repeatability is the intraclass correlation of the Procrustes analysis of variance.", "Fruciano 2016", "Lessells & Boag 1987")
}

// joinedBy draws the specimens in morphospace with lines between those of one group.
func (a *analysis) joinedBy(groups []string, of func(i int) string) *viz.Figure {
	lines := make([]shape.Shape, len(groups))
	for i := range a.data.Specimens {
		g := slices.Index(groups, of(i))
		lines[g] = append(lines[g], []float64{a.pca.Scores[0][i], a.pca.Scores[1][i]})
	}
	return viz.Fig(viz.Lines(lines...).Color(viz.Grey), viz.Scatter(a.pca.Scores[0], a.pca.Scores[1])).XLabel(a.component(0)).YLabel(a.component(1))
}

// component labels an axis of morphospace.
func (a *analysis) component(k int) string {
	return fmt.Sprintf("component %d (%s)", k+1, percent(a.pca.Shares[k]))
}
