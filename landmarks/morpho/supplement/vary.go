package supplement

import (
	"anatomy/viz"
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// along is the mean shape moved by a score along a component.
func (a *analysis) along(k int, score float64) [][]float64 {
	row := slices.Clone(a.mean.Fitted[0])
	floats.AddScaled(row, score, a.pca.Axes[k])
	return a.mean.Shape(row)
}

// ends are the lowest and the highest score on a component.
func (a *analysis) ends(k int) []float64 {
	return []float64{floats.Min(a.pca.Scores[k]), floats.Max(a.pca.Scores[k])}
}

// byGroup draws points in the colours of a factor.
func (a *analysis) byGroup(values []string, x, y []float64) (layers []*viz.Layer) {
	var seen []string
	for _, v := range values {
		if !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	if len(seen) < 2 {
		return []*viz.Layer{viz.Scatter(x, y).Hover(a.data.Names()...)}
	}
	for _, g := range seen {
		var gx, gy []float64
		var names []string
		for i, v := range values {
			if v == g {
				gx, gy, names = append(gx, x[i]), append(gy, y[i]), append(names, a.data.Specimens[i].Name)
			}
		}
		layers = append(layers, viz.Scatter(gx, gy).Label(cmp.Or(g, "without")).Hover(names...))
	}
	return layers
}

// between draws two shapes with lines between their landmarks.
func (a *analysis) between(from, to [][]float64, names ...string) *viz.Figure {
	if a.data.Flat {
		return a.bodies(from[0], to[0], names...)
	}
	if a.links != nil {
		return viz.Fig(viz.Wireframe(from, a.links).Label(names[0]), viz.Wireframe(to, a.links).Label(names[1])).Unit("centroid sizes")
	}
	if a.data.Closed {
		return viz.Fig(viz.Outline(from).Label(names[0]), viz.Outline(to).Label(names[1])).Unit("centroid sizes")
	}
	way := make([][]float64, len(from)) // a tree joins the landmarks
	for i := range from {
		way[i] = floats.SubTo(make([]float64, len(from[i])), to[i], from[i])
	}
	return viz.Fig(viz.Wireframe(from, nil).Label(names[0]), viz.Arrows(from, way).Label("to "+names[1])).Unit("centroid sizes")
}

// vary shows the principal components.
func (a *analysis) vary() *Section {
	s := &Section{Title: "How the shapes vary"}
	a.method("Principal components are those of the aligned shapes in the tangent space.", "")
	if len(a.pca.Scores) < 2 {
		s.add(Paragraph("The shapes vary along one component only."))
		return s
	}
	_, _, values := a.main()
	s.add(Paragraph(fmt.Sprintf("The morphospace shows the total variation; it is not a test. Its first two components explain %s and %s of the variance.", percent(a.pca.Shares[0]), percent(a.pca.Shares[1]))))
	caption := "Scores of the specimens on the first two principal components, with their shares of the variance. Both axes have one scale."
	if values == nil {
		caption += " The area is their convex hull."
	} else if slices.ContainsFunc(slices.Collect(maps.Values(counts(values))), func(n int) bool { return n > 2 }) {
		caption += " Areas are the convex hulls of the groups."
	}
	if a.drawn() {
		caption += " The small shapes at the margins are those at the lowest, the mean and the highest score."
	}
	s.add(&Figure{Name: "morphospace", Caption: caption, Drawing: a.morphospace(values)})
	if deformations := a.deformations(); deformations != nil {
		s.add(deformations)
	}
	var ends []*viz.Figure
	for k := range 2 {
		scores := a.ends(k)
		ends = append(ends, a.between(a.along(k, scores[0]), a.along(k, scores[1]), "lowest score", "highest score").Title(fmt.Sprintf("(%c) component %d", 'a'+k, k+1)))
	}
	caption = "The shapes at the ends of the first two components."
	if a.data.Flat {
		caption = "The shapes at the highest scores of the first two components, coloured by their displacement from those at the lowest."
	}
	s.add(&Figure{Name: "components", Caption: caption, Drawing: viz.Row(ends...)})
	if surfaces := a.surfaces(); surfaces != nil {
		s.add(surfaces)
	}
	if a.Mesh != nil {
		a.method("The mesh of a specimen was warped by thin-plate splines of its landmarks.", "F. Bookstein, Principal warps: thin-plate splines and the decomposition of deformations, IEEE Trans. Pattern Analysis and Machine Intelligence 11, 1989")
	}
	s.add(sharesTable("components", "Principal components: share of the variance, and its cumulative sum.", a.pca.Shares))
	return s
}

// sharesTable has the first shares of components, and their sums.
func sharesTable(name, caption string, shares []float64) *Table {
	t := &Table{Name: name, Caption: caption, Header: []string{"component", "share", "sum"}}
	sum := 0.0
	for k, share := range shares[:min(len(shares), 10)] {
		sum += share
		t.Add(k+1, share, sum)
	}
	return t
}
