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
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/try"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/viz"
)

// box returns the least and the largest coordinates of points.
func box(points [][]float64) (low, high []float64) {
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
func Drawn(shape []*mesh.Mesh, unit, quantity string, values [][]float64, more ...*viz.Layer) *viz.Figure {
	var vertices [2][][]float64 // of curves and of surfaces
	var colours [2][]float64
	var edges [][][]float64
	var triangles [][3]int
	for o, m := range shape {
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

// Bodies turns a figure of meshes in space so that they are seen from the side and from above.
func Bodies(f *viz.Figure, shape []*mesh.Mesh) *viz.Figure {
	if len(shape[0].Vertices[0]) == 3 {
		f.Camera(-50, 20)
	}
	return f
}

// describeMesh fills the document with the measures of the mesh of the question, its defects and their repair.
func (document *Document) describeMesh(q Question) {
	plain := Question{Title: q.Title, Authors: q.Authors, Sums: q.Sums, Permutations: q.Permutations, Seed: q.Seed,
		Surface: q.Surface, Mesh: q.Mesh, Unit: q.Unit}
	if !reflect.DeepEqual(q, plain) {
		try.Fail("a mesh alone has no model, tree, curves, joint, links, parts, pairs, columns or corrections: they are about landmarks")
	}
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
		&Figure{Name: "mesh", Caption: about + ".", Drawing: Bodies(Drawn([]*mesh.Mesh{m}, q.Unit, "", nil), []*mesh.Mesh{m})})
	if surface && border == 0 && len(m.Vertices) <= mostMirrored {
		document.Sections = append(document.Sections, *mirror(m, q.Unit))
	}
	document.Add("Methods", Paragraph("Duplicate vertices are merged, degenerate and duplicate cells are removed, and neighbouring cells are oriented alike. Computed by "+Software()+"."))
	document.Title, document.Authors = cmp.Or(q.Title, q.Surface, "A mesh"), q.Authors
	document.record = record{Question: q, Unit: q.Unit}
}

// leftOut says what a document lacks because it needs XLA.
func leftOut(what string) string {
	return "Left out here: " + what + ". This needs XLA, and is in the report that “make report” of the project anatomy writes."
}

const mostMirrored = 100_000 // vertices, whose distances take seconds

// mirror compares a surface with its mirror images at the planes through its centre across its main axes: one of them is the plane of a body that is
// symmetric. The image that fits best is that with the least mean distance.
func mirror(m *mesh.Mesh, unit string) *Section {
	centre, axes, radius := mesh.Moments([]*mesh.Mesh{m})
	var far []float64
	which := 0
	for k := range centre {
		n := mat.Col(nil, k, axes)
		image := m.Map(func(x []float64) []float64 {
			above := floats.Dot(n, x) - floats.Dot(n, centre)
			return floats.AddScaledTo(make([]float64, len(x)), x, -2*above, n)
		})
		if d := try.Get(m.Distances(image)); far == nil || stat.Mean(d, nil) < stat.Mean(far, nil) {
			far, which = d, k
		}
	}
	s := &Section{Title: "Compared with its mirror image"}
	s.add(Paragraph(fmt.Sprintf("The mirror image is that at the plane through the centre of mass across the %s main axis, which fits better than those across the others. The distance of the surface from it is %s on average, or %s of the root mean square distance from the centre, and at most %s.",
		[]string{"shortest", "middle", "longest"}[which], strings.TrimSpace(fmt.Sprintf("%.3g %s", stat.Mean(far, nil), unit)), percent(stat.Mean(far, nil)/radius),
		strings.TrimSpace(fmt.Sprintf("%.3g %s", floats.Max(far), unit)))),
		&Figure{Name: "mirror", Caption: "The surface, coloured by its distance from its mirror image.", Cover: true,
			Drawing: Bodies(Drawn([]*mesh.Mesh{m}, unit, "distance from the mirror image", [][]float64{far}), []*mesh.Mesh{m})})
	return s
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
	low, high := box(m.Vertices)
	for a := range low {
		t.Add(WithUnit(fmt.Sprintf("extent along %c", 'x'+a), unit, ""), high[a]-low[a])
	}
	_, axes, _ := mesh.Moments([]*mesh.Mesh{m})
	turned := m.Map(func(x []float64) []float64 {
		y := mat.NewVecDense(len(x), nil)
		y.MulVec(axes.T(), mat.NewVecDense(len(x), x))
		return y.RawVector().Data
	})
	low, high = box(turned.Vertices)
	for k, name := range []string{"longest", "second", "third"}[:len(low)] {
		a := len(low) - 1 - k
		t.Add(WithUnit("extent along the "+name+" main axis", unit, ""), high[a]-low[a])
	}
	return t
}
