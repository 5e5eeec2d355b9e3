package supplement

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/stats/linear"
	"anatomy/viz"
)

// trajectories compares how groups change over the categories of a second factor, where the model has the interaction of both.
func (a *analysis) trajectories() *Section {
	if a.model == nil || a.tree != nil || a.over() || len(a.pca.Scores) < 2 {
		return nil
	}
	s := &Section{Title: "How groups change"}
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
	if len(s.Parts) == 0 {
		return nil
	}
	return s
}
