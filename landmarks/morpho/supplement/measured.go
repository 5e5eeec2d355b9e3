package supplement

import (
	"fmt"
	"slices"

	"anatomy/geom/shape"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/viz"
)

// measured says how exact the measurements are, where the data say by the columns "individual" and "replicate" which of them are repeated.
func (a *analysis) measured() *Section {
	columns := a.data.Covariates()
	if !slices.Contains(columns, "individual") || !slices.Contains(columns, "replicate") {
		return nil
	}
	names := []string{"individual"}
	if slices.Contains(columns, "side") {
		names = append(names, "side")
	}
	what, d := and(names), a.data.GroupBy(names...)
	found := try.Get(shapestats.MeasureRepeatability(d, linear.Factor("group"), a.draws(), linear.Factor("replicate")))
	s := &Section{Title: "How exact the measurements are"}
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
	return s
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
