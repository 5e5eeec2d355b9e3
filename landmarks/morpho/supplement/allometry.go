package supplement

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

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
	if values != nil && a.model != nil && !a.over() {
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
func (a *analysis) allometry() *Section {
	if _, err := a.data.LogSizes(); err != nil || a.KeepSize {
		return nil // they were scaled, or are forms, which sizes belong to
	}
	s := &Section{Title: "How shape changes with size"}
	found, d, factors, why := a.measureAllometry()
	if found == nil {
		s.add(Paragraph(fmt.Sprintf("This was not computed: %v.", why)))
		return s
	}
	if why != nil {
		s.add(Paragraph(fmt.Sprintf("The slopes of groups were not compared: %v.", why)))
	}
	_, _, values := a.main()
	table := *found.Table
	size, known := a.answered(table.Rows[0], "log size")
	verdict := sizeVerdict(size)
	text := strings.ToUpper(verdict[:1]) + verdict[1:]
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
		same := "do not differ significantly, so one slope may describe all groups"
		if slopes.P <= Significant {
			same = "differ significantly, so one slope does not describe all groups"
		}
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
	a.method("Allometry is the regression of shape on the logarithm of centroid size, with one slope for all specimens or groups. Scores of the common allometric component are projections on this slope. The residual component is the first principal component after removing the direction of the slope.", "A. Drake and C. Klingenberg, The pace of morphological change, Proc. R. Soc. B 275, 2008", "P. Mitteroecker, P. Gunz, M. Bernhard, K. Schaefer and F. Bookstein, Comparison of cranial ontogenetic trajectories among great apes and humans, J. Human Evolution 46, 2004")
	return s
}

// sizeVerdict is the answer to the question whether shape depends on size.
func sizeVerdict(row linear.ANOVARow) string {
	verdict := "the dependence of shape on size is not significant"
	if row.P <= Significant {
		verdict = "shape depends on size"
	}
	return fmt.Sprintf("%s: the logarithm of centroid size explains %s of the variation (p = %s).", verdict, percent(row.R2), pValue(row.P))
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
