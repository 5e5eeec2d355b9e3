package study

import (
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// Cubes merge layers that are closer, and their cells become duplicates. Rough poses are searched with few cells nevertheless.
func TestThinnedLayers(t *testing.T) {
	layers := mesh.Ellipsoid(1, 0.8, 0.6, 60, 60)
	inner := layers.Map(func(x []float64) []float64 { return []float64{0.999 * x[0], 0.999 * x[1], 0.999 * x[2]} })
	for _, c := range inner.Cells {
		layers.Cells = append(layers.Cells, []int{c[0] + len(layers.Vertices), c[1] + len(layers.Vertices), c[2] + len(layers.Vertices)})
	}
	layers.Vertices = append(layers.Vertices, inner.Vertices...)
	s := &Study{Names: []string{"layers", "layers"}, Subjects: [][]*mesh.Mesh{{layers}, {layers}}, Model: population.Model{Objects: make([]population.Object, 1)}}
	_, thin := s.thinned(400, 0.3)
	for _, shape := range thin {
		if cells := len(shape[0].Cells); cells > 1000 {
			t.Errorf("%d cells of %d, want a few hundred", cells, len(layers.Cells))
		}
		if err := shape[0].Validate(); err != nil {
			t.Error(err)
		}
		expect.Rel(t, "area of one layer", shape[0].Size(), layers.Size()/2, 0.1)
	}
}
