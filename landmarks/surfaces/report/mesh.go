package report

import (
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/try"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho/supplement"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/viz"
)

// fastFrom is how many triangles of a surface are worth the plan of fast sums.
const fastFrom = 2000

// Mesh returns the document of supplement.New about a mesh, and in it the comparison of a closed surface with an ellipsoid of the same extents,
// before and after a deformation. It has the errors of supplement.New and of landmarks.Space.MatchFrom.
func Mesh(m *mesh.Mesh, unit string) (_ *supplement.Document, err error) {
	defer try.Catch(&err)
	document := try.Get(supplement.New(nil, supplement.Question{Mesh: m, Unit: unit}))
	document.LeftOut = ""
	m = m.Copy()
	try.Get(m.Clean())
	if len(m.Cells[0]) < 3 || len(m.Boundary()) > 0 {
		return document, nil
	}
	ellipsoid, match := matched(m)
	after := []*mesh.Mesh{ellipsoid.With(match.Deformed)}
	before, left := try.Get(m.Distances(ellipsoid)), try.Get(m.Distances(after[0]))
	s := &supplement.Section{Title: "Compared with an ellipsoid"}
	add(s, "The ellipsoid has the same extents along the coordinate axes as the surface. A deformation of space then moves it close to the surface.")
	figure(s, supplement.Figure{Name: "ellipsoid", Cover: true, Caption: "(a) The surface, coloured by its distance from the ellipsoid. (b) The deformed ellipsoid, coloured by the displacement of its vertices.",
		Drawing: viz.Row(supplement.Bodies(supplement.Drawn([]*mesh.Mesh{m}, unit, "distance", [][]float64{before}), after).Title("(a) the surface"),
			supplement.Bodies(supplement.Drawn(after, unit, "displacement", supplement.Displacements(after, []*mesh.Mesh{ellipsoid})), after).Title("(b) the deformed ellipsoid"))})
	t := &supplement.Table{Name: "ellipsoid", Caption: "Distances of the vertices of the surface from the ellipsoid before and after its deformation.",
		Header: []string{"distance from", supplement.WithUnit("mean", unit, ""), supplement.WithUnit("largest", unit, "")}}
	t.Add("the ellipsoid", stat.Mean(before, nil), floats.Max(before))
	t.Add("the deformed ellipsoid", stat.Mean(left, nil), floats.Max(left))
	s.Parts = append(s.Parts, t, converged("the deformation of the ellipsoid", match.Status),
		supplement.Claim{What: "The deformed ellipsoid is closer to the surface than the ellipsoid", Holds: stat.Mean(left, nil) < stat.Mean(before, nil)})
	document.Insert("Methods", *s)
	document.Add("Methods", supplement.Paragraph("The deformation is a geodesic flow. It minimises its energy plus a multiple of the squared varifold distance from the surface. The Gaussian kernel of the flow has a width of 0.4 times the mean half extent of the surface, that of the varifolds 0.2 times. Distances are those to the nearest point of the other surface."),
		supplement.List{"N. Charon and A. Trouvé, The varifold representation of nonoriented shapes for diffeomorphic registration, SIAM J. Imaging Sciences 6, 2013",
			"S. Durrleman et al., Morphometry of anatomical shape complexes with dense deformations and sparse parameters, NeuroImage 101, 2014"})
	return document, nil
}

// matched is an ellipsoid with the extents of a surface, and its deformation towards the surface.
func matched(m *mesh.Mesh) (*mesh.Mesh, *landmarks.Matching) {
	low, high := supplement.Extents(m.Vertices)
	r := 0.0 // the mean half axis
	for a := range low {
		r += (high[a] - low[a]) / 6
	}
	around := func(k int) *mesh.Mesh { // with 10·4^k + 2 vertices
		return mesh.Icosphere(k).Map(func(x []float64) []float64 {
			y := make([]float64, 3)
			for a := range y {
				y[a] = (low[a] + high[a] + (high[a]-low[a])*x[a]) / 2
			}
			return y
		})
	}
	ellipsoid, controls := around(3), around(2).Vertices
	kernel := kernels.Kernel(kernels.Gaussian(0.2 * r))
	if len(m.Cells) > fastFrom {
		kernel = try.Get(kernels.Fast(kernel, 1e-4, slices.Concat(m.Vertices, ellipsoid.Vertices)))
	}
	space := landmarks.New(len(controls), 3, kernels.Gaussian(0.4*r), geom.Integrator(ode.Heun, 8))
	return ellipsoid, try.Get(space.MatchFrom(controls, ellipsoid.Vertices, attachment.Varifold(kernel, ellipsoid, m).Coarse(2), 0.1*r))
}
