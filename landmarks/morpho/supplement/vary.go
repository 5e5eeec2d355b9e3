package supplement

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/shape"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/viz"
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

// inTurn are the colours of groups, in the order in which figures have them.
var inTurn = []color.NRGBA{viz.Blue, viz.Vermilion, viz.Green, viz.Sky, viz.Orange, viz.Purple}

// byGroup draws points in the colours and symbols of a factor. Symbols change with each group and, like the colours, begin again after six, with other
// colours each time; so many groups have their names beside their means, too. Each has what is drawn about it.
func (a *analysis) byGroup(values []string, x, y []float64, about ...func(*viz.Layer) *viz.Layer) (layers []*viz.Layer) {
	members := map[string][]int{}
	var groups, labels []string
	for i, v := range values {
		if members[v] == nil {
			groups = append(groups, v)
		}
		members[v] = append(members[v], i)
	}
	if len(groups) < 2 {
		groups, layers = nil, []*viz.Layer{viz.Scatter(x, y).Hover(a.data.Names()...).Label(text.Counted(len(x), "specimens"))}
	}
	var means [][]float64
	for k, g := range groups {
		gx, gy, name := lists.Pick(x, members[g]), lists.Pick(y, members[g]), cmp.Or(g, "without")
		layer := viz.Scatter(gx, gy).Label(fmt.Sprintf("%s, n = %d", name, len(gx))).Hover(lists.Pick(a.data.Names(), members[g])...)
		if layers = append(layers, layer); len(groups) > len(inTurn) {
			layer.Color(inTurn[(k+k/len(inTurn))%len(inTurn)])
			means, labels = append(means, []float64{stat.Mean(gx, nil), stat.Mean(gy, nil)}), append(labels, name)
		}
	}
	for _, l := range layers {
		for _, draw := range about {
			draw(l)
		}
	}
	if labels != nil {
		layers = append(layers, viz.Names(means, labels).Color(viz.Grey))
	}
	return layers
}

// between draws two shapes with lines between their landmarks, in space from each side.
func (a *analysis) between(title string, from, to [][]float64, names ...string) []*viz.Figure {
	if a.data.Flat {
		return a.bodies(title, from[0], to[0], fmt.Sprintf("displacement of %s from %s", names[1], names[0]))
	}
	var layers [2]*viz.Layer
	switch {
	case a.links != nil:
		layers = [2]*viz.Layer{viz.Wireframe(from, a.links), viz.Wireframe(to, a.links).Label(names[1])}
	case a.data.Closed:
		layers = [2]*viz.Layer{viz.Outline(from), viz.Outline(to).Label(names[1])}
	default: // a tree joins the landmarks
		layers = [2]*viz.Layer{viz.Wireframe(from, nil), viz.Arrows(from, shape.Shape(to).Sub(from)).Label("to " + names[1])}
	}
	layers[0].Label(names[0])
	return a.views.Of(viz.Fig(layers[:]...).Unit("centroid sizes").Title(title), a.mean.Mean) // all in the pose of the mean
}

// arranged are figures in rows of a body each, or one by itself.
func arranged(views viz.Views, figures []*viz.Figure) viz.Drawing {
	if len(figures) == 1 {
		return figures[0]
	}
	return viz.Tiles(max(2, len(views)), figures...)
}

// vary shows the principal components.
func (a *analysis) vary() *Section {
	s := &Section{Title: "How the shapes vary"}
	a.method("Principal components are those of the aligned shapes in the tangent space.", "Dryden & Mardia 2016")
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
		ends = append(ends, a.between(fmt.Sprintf("(%c) component %d", 'a'+k, k+1), a.along(k, scores[0]), a.along(k, scores[1]), "lowest score", "highest score")...)
	}
	caption = "The shapes at the ends of the first two components."
	if a.data.Flat {
		caption = "The shapes at the highest scores of the first two components, coloured by their displacement from those at the lowest."
	}
	s.add(&Figure{Name: "components", Caption: caption, Drawing: arranged(a.views, ends)})
	if surfaces := a.surfaces(); surfaces != nil {
		s.add(surfaces)
	}
	if a.Mesh != nil {
		a.method("The mesh of a specimen was warped by thin-plate splines of its landmarks.", "Bookstein 1989")
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
