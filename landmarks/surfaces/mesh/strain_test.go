package mesh_test

import (
	"math"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/strain"
	"anatomy/landmarks/surfaces/mesh"
)

// A sphere that becomes an ellipsoid: the mean of the ratios of areas, weighted by area, is that of the areas. A cell that is turned and
// stretched has these stretches along these directions.
func TestStrains(t *testing.T) {
	sphere := mesh.Icosphere(2)
	ellipsoid := sphere.Map(func(x []float64) []float64 { return []float64{x[0], 2 * x[1], 1.5 * x[2]} })
	strains := expect.Must(mesh.Strains(sphere, ellipsoid))
	ratio, areas := 0.0, sphere.Sizes()
	for i, s := range strains {
		ratio += areas[i] * math.Exp(s.LogJacobian())
	}
	expect.Rel(t, "area", ratio, ellipsoid.Size(), 1e-12)

	triangle := &mesh.Mesh{Vertices: [][]float64{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, Cells: [][]int{{0, 1, 2}}}
	turned := triangle.Map(func(x []float64) []float64 { return []float64{5, 3 * x[0], -0.5 * x[1]} })
	s := expect.Must(mesh.Strains(triangle, turned))[0]
	expect.Abs(t, "stretches", s.Stretches, []float64{3, 0.5}, 1e-14)
	expect.Abs(t, "first direction", math.Abs(s.Directions[0][0]), 1, 1e-14)
	expect.Abs(t, "its image", math.Abs(s.Images[0][1]), 1, 1e-14)
	expect.Abs(t, "anisotropy", s.Anisotropy(), math.Log(6), 1e-14)

	expect.Refused(t, expect.Error(mesh.Strains(triangle, sphere)), "want the same mesh with other vertices")
	flat := triangle.Map(func(x []float64) []float64 { return []float64{x[0], 0, 0} })
	expect.Refused(t, expect.Error(mesh.Strains(flat, triangle)), "cell 0 has no size")
	expect.Refused(t, expect.Error(strain.Of([][]float64{{-1, 0}, {0, 1}})), "the determinant of the derivative is -1")
}
