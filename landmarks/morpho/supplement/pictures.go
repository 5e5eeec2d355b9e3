package supplement

import (
	"cmp"
	"fmt"
	"image/color"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/shape"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/viz"
)

// parseLinks reads pairs of landmarks such as "1-2, 2-3".
func parseLinks(line string, d *morpho.Dataset) (links [][2]int) {
	for text := range strings.SplitSeq(line, ",") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		from, to, err := d.ParseLink(text)
		try.Do(try.Name(err, "the link %s", clip(text)))
		n := len(d.Specimens[0].Points)
		try.FailIf(len(links) == n*(n-1)/2, "more than the %d links that there can be: some are named twice", len(links))
		links = append(links, [2]int{from, to})
	}
	return links
}

// drawn says whether a shape is more than its points: lines join them.
func (a *analysis) drawn() bool { return a.links != nil || a.data.Closed }

// body draws a shape: its wireframe, its outline or its landmarks.
func (a *analysis) body(x [][]float64) *viz.Layer {
	switch {
	case a.links != nil:
		return viz.Wireframe(x, a.links)
	case a.data.Closed:
		return viz.Outline(x)
	}
	return viz.Points(x)
}

// morphospace has the scores of the specimens, with the shapes that lie at its margins.
func (a *analysis) morphospace(values []string) *viz.Figure {
	x, y := a.pca.Scores[0], a.pca.Scores[1]
	layers := a.byGroup(values, x, y, (*viz.Layer).Hull)
	if a.drawn() {
		var places [][]float64
		var shapes []shape.Shape
		for i, u := range []float64{floats.Min(x), 0, floats.Max(x)} {
			for j, v := range []float64{floats.Min(y), 0, floats.Max(y)} {
				if i == 1 && j == 1 {
					continue
				}
				row := slices.Concat(a.along(0, u)...)
				floats.AddScaled(row, v, a.pca.Axes[1])
				places = append(places, []float64{u + 0.25*float64(i-1)*(floats.Max(x)-floats.Min(x)), v + 0.25*float64(j-1)*(floats.Max(y)-floats.Min(y))})
				shapes = append(shapes, a.mean.Shape(row))
			}
		}
		layers = append([]*viz.Layer{viz.Miniatures(places, shapes, a.links)}, layers...)
	}
	return viz.Fig(layers...).XLabel(a.component(0)).YLabel(a.component(1)).EqualAxes()
}

// deformations are grids of thin-plate splines from the mean shape to the ends of the first two components, of shapes in the plane.
func (a *analysis) deformations() *Figure {
	if len(a.mean.Mean[0]) != 2 || a.data.Flat {
		return nil
	}
	figures := a.atEnds(func(title string, at [][]float64) []*viz.Figure {
		warp := try.Get(morpho.ThinPlateSpline(a.mean.Mean, at))
		grid := viz.Grid(lists.Each(viz.Lattice(10, a.mean.Mean), func(line shape.Shape) shape.Shape { return warp(line) })...)
		return []*viz.Figure{viz.Fig(grid, a.body(at).Color(viz.Black)).NoAxes().Title(title)}
	})
	columns := 4
	if low, high := extents(a.mean.Mean); high[1]-low[1] < (high[0]-low[0])/2 {
		columns = 2
	}
	return &Figure{Name: "deformations", Caption: "Thin-plate splines from the mean shape to the ends of the first two components.", Drawing: viz.Tiles(columns, figures...)}
}

// dendrogram joins groups whose means are alike; nil of fewer than three.
func dendrogram(pairs linear.Pairs) *tree.Tree {
	var names []string
	for _, p := range pairs {
		names = append(names, p.A, p.B)
	}
	names = lists.Distinct(names)
	distances := lists.Zeros(len(names), len(names))
	for _, p := range pairs {
		i, j := slices.Index(names, p.A), slices.Index(names, p.B)
		distances[i][j], distances[j][i] = p.Distance, p.Distance
	}
	if len(names) < 3 {
		return nil
	}
	t, err := tree.Average(names, distances)
	if err != nil { // a distance is not known
		return nil
	}
	return t
}

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

// atEnds draws the shapes at the ends of the first two components.
func (a *analysis) atEnds(draw func(title string, at [][]float64) []*viz.Figure) (figures []*viz.Figure) {
	for k := range 2 {
		for end, score := range a.ends(k) {
			title := fmt.Sprintf("(%c) component %d, %s score", 'a'+2*k+end, k+1, []string{"lowest", "highest"}[end])
			figures = append(figures, draw(title, a.along(k, score))...)
		}
	}
	return figures
}

// inTurn are the colours of groups, in the order in which figures have them.
var inTurn = []color.NRGBA{viz.Blue, viz.Vermilion, viz.Green, viz.Sky, viz.Orange, viz.Purple}

// byGroup draws points in the colours and symbols of a factor. Symbols change with each group and, like the colours, begin again after six, with other
// colours each time; so many groups have their names beside their means, too. Each has what is drawn about it.
func (a *analysis) byGroup(values []string, x, y []float64, about ...func(*viz.Layer) *viz.Layer) (layers []*viz.Layer) {
	members, groups := map[string][]int{}, lists.Distinct(values)
	var labels []string
	for i, v := range values {
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
	if a.drawn() {
		layers = [2]*viz.Layer{a.body(from), a.body(to).Label(names[1])}
	} else { // a tree joins the landmarks
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
func (a *analysis) vary(s *Section) {
	a.method("Principal components are those of the aligned shapes in the tangent space.", "Dryden & Mardia 2016")
	if len(a.pca.Scores) < 2 {
		s.add(Paragraph("The shapes vary along one component only."))
		return
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

// surface is the mesh of the question, warped by a thin-plate spline from the landmarks of its specimen to the mean shape, with how far the landmarks
// are off it in centroid sizes; nil without a mesh. It is an error if there is no such specimen, or the mesh is not its surface.
func (a *analysis) surface() (warped *mesh.Mesh, off float64, err error) {
	if a.Mesh == nil {
		return nil, 0, nil
	}
	defer try.Named(&err, "the mesh of %q", a.Surface)
	asked := a.Question
	asked.Joint = "" // which turns a part off the mesh
	points, err := try.Get(Ready(a.given, asked)).Find(a.Surface)
	try.FailIf(err != nil, "%w; name the file after its specimen, or write SPECIMEN=FILE", err)
	try.FailIf(len(a.Mesh.Triangles()) == 0 || len(points[0]) != 3,
		"it has %v, and the landmarks have %d coordinates: want triangles in space, and 3", a.Mesh, len(points[0]))
	locator := try.Get(a.Mesh.Locator())
	size := morpho.CentroidSize(points)
	radius := size / math.Sqrt(float64(len(points)))
	for l, p := range points {
		nearest, _ := locator.Nearest(p)
		far := floats.Distance(nearest, p, 2)
		try.FailIf(far > radius/4, "landmark %d is %.3g off it, and landmarks are about %.3g from their centre: "+
			"is it the surface of this specimen, in the same unit and with the same directions of the axes?", l, far, radius)
		off = max(off, far/size)
	}
	warp := try.Get(morpho.ThinPlateSpline(points, a.mean.Mean))
	return a.Mesh.With(warp(a.Mesh.Vertices)), off, nil
}

// surfaces are the surface at the ends of the first two components, coloured by how far it is from that of the mean; nil without a mesh.
func (a *analysis) surfaces() *Figure {
	if a.data.Flat {
		return a.flatEnds()
	}
	surface, off := try.Get2(a.surface())
	if surface == nil {
		return nil
	}
	figures := a.atEnds(func(title string, at [][]float64) []*viz.Figure {
		vertices := try.Get(morpho.ThinPlateSpline(a.mean.Mean, at))(surface.Vertices)
		moved := lists.Make(len(vertices), func(i int) float64 { return floats.Distance(vertices[i], surface.Vertices[i], 2) })
		return a.views.Of(viz.Fig(viz.Mesh(vertices, surface.Triangles()).ColorBy("displacement (centroid sizes)", moved...)).
			NoAxes().Title(title), surface.Vertices)
	})
	return &Figure{Name: "surfaces", Caption: fmt.Sprintf("The surface of %s, warped by thin-plate splines to the ends of the first two components, and how far each of its points is from the surface of the mean shape. The landmarks are at most %.2g centroid sizes off it.", a.Surface, off),
		Drawing: viz.Tiles(2, figures...).SharedAxes()}
}
