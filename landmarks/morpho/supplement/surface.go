package supplement

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/viz"
)

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
	var figures []*viz.Figure
	for k := range 2 {
		for end, score := range a.ends(k) {
			warp := try.Get(morpho.ThinPlateSpline(a.mean.Mean, a.along(k, score)))
			vertices := warp(surface.Vertices)
			moved := lists.Make(len(vertices), func(i int) float64 { return floats.Distance(vertices[i], surface.Vertices[i], 2) })
			title := fmt.Sprintf("(%c) component %d, %s score", 'a'+2*k+end, k+1, []string{"lowest", "highest"}[end])
			figures = append(figures, a.views.Of(viz.Fig(viz.Mesh(vertices, surface.Triangles()).ColorBy("displacement (centroid sizes)", moved...)).
				NoAxes().Title(title), surface.Vertices)...)
		}
	}
	return &Figure{Name: "surfaces", Caption: fmt.Sprintf("The surface of %s, warped by thin-plate splines to the ends of the first two components, and how far each of its points is from the surface of the mean shape. The landmarks are at most %.2g centroid sizes off it.", a.Surface, off),
		Drawing: viz.Tiles(2, figures...).SharedAxes()}
}
