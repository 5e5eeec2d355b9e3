package supplement

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/shape"
	"anatomy/geom/try"
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
	var vertices [2][][]float64 // of curves and of surfaces
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
	document.record = record{Question: q, Unit: q.Unit}
}

// leftOut says what a document lacks because it needs XLA.
func leftOut(what string) string {
	return "Left out here: " + what + ". This needs XLA, and is in the report that “make report” of the project anatomy writes."
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
