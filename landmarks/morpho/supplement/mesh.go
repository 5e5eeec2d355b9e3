package supplement

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/viz"
)

// extents returns the least and the largest coordinates of points.
func extents(points [][]float64) (low, high []float64) {
	low, high = slices.Clone(points[0]), slices.Clone(points[0])
	for _, x := range points {
		for a := range x {
			low[a], high[a] = math.Min(low[a], x[a]), math.Max(high[a], x[a])
		}
	}
	return low, high
}

// WithUnit is the name of a quantity with its unit to a power, as "area (mm²)", or without where there is none.
func WithUnit(quantity, unit, power string) string {
	if unit == "" {
		return quantity
	}
	return fmt.Sprintf("%s (%s%s)", quantity, unit, power)
}

// Drawn draws curves and surfaces together, in coordinates of a unit, coloured by the values of a quantity at the vertices of each unless they are
// nil, and with more layers.
func Drawn(objects []*mesh.Mesh, unit, quantity string, values [][]float64, more ...*viz.Layer) *viz.Figure {
	unit = cmp.Or(unit, "units of the file") // of the scale bar
	var vertices [2][][]float64              // of curves and of surfaces
	var colours [2][]float64
	var edges []shape.Shape
	var triangles [][3]int
	for o, m := range objects {
		kind := len(m.Cells[0]) - 2
		for _, c := range m.Cells {
			if from := len(vertices[1]); kind == 1 {
				triangles = append(triangles, [3]int{from + c[0], from + c[1], from + c[2]})
			} else {
				edges = append(edges, [][]float64{m.Vertices[c[0]], m.Vertices[c[1]]})
			}
		}
		vertices[kind] = append(vertices[kind], m.Vertices...)
		if values != nil {
			colours[kind] = append(colours[kind], values[o]...)
		}
	}
	var layers []*viz.Layer
	if triangles != nil {
		layers = append(layers, viz.Mesh(vertices[1], triangles))
		if values != nil {
			layers[0].ColorBy(WithUnit(quantity, unit, ""), colours[1]...)
		}
	}
	if edges != nil {
		layers = append(layers, viz.Lines(edges...).Color(viz.Black).Width(1))
		if values != nil {
			layers = append(layers, viz.Points(vertices[0]).ColorBy(WithUnit(quantity, unit, ""), colours[0]...))
		}
	}
	return viz.Fig(append(layers, more...)...).NoAxes().Unit(unit)
}

// Displacements are the distances between the vertices of two positions of meshes, mesh by mesh.
func Displacements(a, b []*mesh.Mesh) [][]float64 {
	all := make([][]float64, len(a))
	for o := range a {
		for i, x := range a[o].Vertices {
			all[o] = append(all[o], floats.Distance(x, b[o].Vertices[i], 2))
		}
	}
	return all
}

// describeMesh fills the document with the measures of the mesh of the question, its defects and their repair.
func (document *Document) describeMesh(q Question) {
	plain := Question{Title: q.Title, Authors: q.Authors, Sums: q.Sums, Permutations: q.Permutations, Seed: q.Seed,
		Surface: q.Surface, Mesh: q.Mesh, Unit: q.Unit, View: q.View}
	try.FailIf(!reflect.DeepEqual(q, plain),
		"a mesh alone has no model, tree, curves, joint, links, parts, pairs, columns or corrections: they are about landmarks")
	views := try.Get(viz.ParseViews(q.View))
	m := q.Mesh.Copy()
	repair := try.Get(m.Clean())
	surface, border := len(m.Cells[0]) == 3, len(m.Boundary())
	kind, state, about := "curve", "closed", "The mesh"
	if surface {
		kind = "surface"
	}
	switch {
	case border > 0 && surface:
		state = fmt.Sprintf("open: its border has %d edges", border)
	case border > 0:
		state = fmt.Sprintf("open: it has %d ends", border)
	}
	if repair != (mesh.Cleaning{}) {
		about = "The mesh after its repair"
	}
	document.Add("Summary", Paragraph(fmt.Sprintf("The mesh is a %s. It is %s. Repair: %s.", kind, state, repair)), measures(m, q.Unit),
		&Figure{Name: "mesh", Cover: true, Caption: about + ".",
			Drawing: arranged(views, views.Of(Drawn([]*mesh.Mesh{m}, q.Unit, "", nil), m.Vertices))})
	document.Add("Methods", Paragraph("Duplicate vertices are merged, degenerate and duplicate cells are removed, and neighbouring cells are oriented alike. Computed by "+Software()+"."))
	document.Title, document.Authors = cmp.Or(q.Title, q.Surface, "A mesh"), q.Authors
	document.record = record{Question: q, Of: morpho.Dataset{Unit: q.Unit}}
}

// measures is the table of the measures of a mesh.
func measures(m *mesh.Mesh, unit string) *Table {
	t := &Table{Name: "measures", Caption: "Measurements of the mesh.", Header: []string{"quantity", "value"}}
	cells, size, power := "edges", "length", ""
	if len(m.Cells[0]) == 3 {
		cells, size, power = "triangles", "area", "²"
	}
	t.Add("vertices", len(m.Vertices))
	t.Add(cells, len(m.Cells))
	t.Add(WithUnit("mean length of a side", unit, ""), m.Spacing())
	t.Add(WithUnit(size, unit, power), m.Size())
	if volume, err := m.Volume(); err == nil && len(m.Cells[0]) == 3 && len(m.Boundary()) == 0 {
		t.Add(WithUnit("volume", unit, "³"), volume)
	}
	low, high := extents(m.Vertices)
	for a := range low {
		t.Add(WithUnit(fmt.Sprintf("extent along %c", 'x'+a), unit, ""), high[a]-low[a])
	}
	_, axes, _ := mesh.Moments([]*mesh.Mesh{m})
	var along mat.Dense
	along.Mul(mat.NewDense(len(m.Vertices), len(low), slices.Concat(m.Vertices...)), axes)
	for a := range low {
		x := mat.Col(nil, len(low)-1-a, &along)
		t.Add(WithUnit(fmt.Sprintf("extent along main axis %d", a+1), unit, ""), floats.Max(x)-floats.Min(x))
	}
	return t
}

// Body returns the meshes that a specimen of coordinates is, [K], of data that are Flat: the template, deformed by the momentum of these scores.
type Body func(coordinates []float64) ([]*mesh.Mesh, error)

// checkFlat refuses questions about landmarks where the data have none, and data that nothing draws.
func (a *analysis) checkFlat(d *morpho.Dataset) {
	without := a.Corrections
	without.Without = ""
	switch {
	case !d.Flat:
	case a.Body == nil:
		try.Fail("coordinates in a flat space need a Body, which says what they look like")
	case a.Curves+a.Slide+a.Joint+a.Links+a.Surface+a.Parts+a.Pairs != "" || without != (morpho.Corrections{}):
		try.Fail("curves, a joint, links, a surface, parts, pairs and corrections are about landmarks, and these data are coordinates in a flat space")
	}
}

// describeFlat says what the coordinates are.
func (a *analysis) describeFlat(s *Section) {
	s.add(Paragraph(fmt.Sprintf("The mean square of the distances of the specimens from their mean is %.3g. Distances are lengths of deformations: those between the momenta at the template, in the metric of the control points.", meanSquare(a.mean.Residuals))))
	for _, note := range a.data.Notes {
		s.add(Paragraph("Note on the data: " + note + "."))
	}
	a.method("Coordinates are the scores of the momenta at the template along all of their principal components, in the metric of the control points. The space of momenta is flat, and statistics are those of vectors.",
		"Vaillant et al. 2004")
}

// bodies draws the meshes of coordinates, coloured by their displacement from those of others, from each side.
func (a *analysis) bodies(title string, from, to []float64, quantity string) []*viz.Figure {
	body := try.Get(a.Body(to))
	return a.views.Of(Drawn(body, a.Question.Unit, quantity, Displacements(body, try.Get(a.Body(from)))).Title(title), body[0].Vertices)
}

// flatEnds are the meshes at the ends of the first two components, coloured by their displacement from the mean.
func (a *analysis) flatEnds() *Figure {
	figures := a.atEnds(func(title string, at [][]float64) []*viz.Figure {
		return a.bodies(title, a.mean.Mean[0], at[0], "displacement")
	})
	return &Figure{Name: "surfaces", Caption: "The template, deformed to the ends of the first two components, coloured by the displacement from the mean.", Drawing: viz.Tiles(2, figures...).SharedAxes()}
}

// coordinates has all scores and distances as files.
func (a *analysis) coordinates(s *Section) {
	scores := &Table{Name: "scores", Caption: "Scores of the specimens on all principal components; the beginning.", Header: append([]string{"specimen"}, numbered("component", len(a.pca.Scores))...), Preview: true}
	distances := &Table{Name: "distances", Caption: "Distances between the specimens; the beginning.", Header: append([]string{"specimen"}, a.data.Names()...), Preview: true}
	for i, specimen := range a.data.Specimens {
		scores.Add(specimen.Name, lists.Each(a.pca.Scores, func(component []float64) float64 { return component[i] }))
		distances.Add(specimen.Name, lists.Each(a.data.Specimens, func(other morpho.Specimen) float64 { return floats.Distance(specimen.Points[0], other.Points[0], 2) }))
	}
	s.add(scores, distances)
}

// flatWords are what coordinates in a flat space have in place of words about landmarks.
var flatWords = strings.NewReplacer("Procrustes distances between", "Distances between", "squared Procrustes distances", "squared distances", "Procrustes distance", "distance",
	"Procrustes analysis of variance", "Analysis of variance", "Procrustes variances", "Variances", "squared centroid sizes", "squared lengths of deformations",
	"the aligned shapes", "the coordinates", "centroid size", "size", "in the tangent space", "in the flat space",
	"Specimens", "Subjects", "specimens", "subjects", "Specimen", "Subject", "specimen", "subject")

// reword gives the texts of the document the words of coordinates in a flat space. References and names of other columns keep theirs.
func (d *Document) reword() {
	for s := range d.Sections {
		d.Sections[s].Title = flatWords.Replace(d.Sections[s].Title)
		for k, part := range d.Sections[s].Parts {
			switch p := part.(type) {
			case Paragraph:
				d.Sections[s].Parts[k] = Paragraph(flatWords.Replace(string(p)))
			case List:
				if d.Sections[s].Title != "Methods" {
					for i, line := range p {
						p[i] = flatWords.Replace(line)
					}
				}
			case *Table:
				p.Caption = flatWords.Replace(p.Caption)
				for k, name := range p.Header {
					if name == "specimen" || name == "specimens" { // and not a group or a column of the data
						p.Header[k] = flatWords.Replace(name)
					}
				}
			case *Figure:
				p.Caption = flatWords.Replace(p.Caption)
			}
		}
	}
}
