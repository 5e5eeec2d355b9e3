package supplement

import (
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/viz"
)

// parseLinks reads pairs of landmarks such as "1-2, 2-3".
func parseLinks(line string, d *morpho.Dataset) (links [][2]int, err error) {
	for _, text := range strings.Split(line, ",") {
		if strings.TrimSpace(text) == "" {
			continue
		}
		from, to, err := d.ParseLink(text)
		if err != nil {
			return nil, fmt.Errorf("the link %s: %w", clip(text), err)
		}
		if n := len(d.Specimens[0].Points); len(links) == n*(n-1)/2 {
			return nil, fmt.Errorf("more than the %d links that there can be: some are named twice", len(links))
		}
		links = append(links, [2]int{from, to})
	}
	return links, nil
}

// drawn says whether a shape is more than its points: lines join them.
func (a *analysis) drawn() bool { return a.links != nil || a.data.Closed }

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
	var figures []*viz.Figure
	for k := range 2 {
		for end, score := range a.ends(k) {
			at := a.along(k, score)
			warp := try.Get(morpho.ThinPlateSpline(a.mean.Mean, at))
			layers := []*viz.Layer{viz.Grid(lists.Each(viz.Lattice(10, a.mean.Mean), func(line shape.Shape) shape.Shape { return warp(line) })...)}
			switch {
			case a.links != nil:
				layers = append(layers, viz.Wireframe(at, a.links).Color(viz.Black))
			case a.data.Closed:
				layers = append(layers, viz.Outline(at).Color(viz.Black))
			default:
				layers = append(layers, viz.Points(at).Color(viz.Black))
			}
			name := fmt.Sprintf("(%c) component %d, %s score", 'a'+2*k+end, k+1, []string{"lowest", "highest"}[end])
			figures = append(figures, viz.Fig(layers...).NoAxes().Title(name))
		}
	}
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
		for _, name := range []string{p.A, p.B} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
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
