package recipes

import (
	"encoding/json"
	"fmt"
	"math"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
	"anatomy/notebooks/nb"
)

// How do I repair a mesh from a scanner?
func Example_mesh() {
	bone := nb.Must(mesh.Read("bone.ply"))
	bone.Cells = append(bone.Cells, bone.Cells[0]) // a duplicate triangle
	fmt.Println(nb.Must(bone.Clean()))
	fmt.Println(bone)
	// Output:
	// removed 1 duplicate cell (0.054 % of the size)
	// surface of 1280 triangles on 642 vertices, x from -1 to 1, y from -1 to 1, z from -1 to 1
}

// How do I write numbers on a mesh for ParaView, and read them again?
func Example_fields() {
	bone := nb.Must(mesh.Read("bone.ply")).Subdivide() // four triangles of each
	var height []float64
	for _, x := range bone.Vertices {
		height = append(height, x[2])
	}
	nb.Must(0, mesh.WriteFields("bone.vtp", bone, mesh.Scalars("height", height)))
	_, cells, fields, err := mesh.ReadFields("bone.vtp")
	fmt.Println(len(cells), len(bone.Centroids()), fields[0].Name, err)
	// Output:
	// 5120 5120 height <nil>
}

// How do I measure the distance between two surfaces?
func Example_distances() {
	sphere := mesh.Icosphere(3)
	far := nb.Must(sphere.Map(func(x []float64) []float64 { return []float64{2 * x[0], 2 * x[1], 2 * x[2]} }).Distances(sphere))
	fmt.Printf("%.2f\n", far[0])
	// Output:
	// 1.00
}

// How do I spread semi-landmarks over a surface and slide them?
func Example_surfaces() {
	bone, template := mesh.Icosphere(3), mesh.Icosphere(0).Vertices  // read yours; a template has the landmarks of one bone
	for _, v := range morpho.Spread(bone.Vertices, 3, template...) { // points far from each other and from the landmarks
		template = append(template, bone.Vertices[v])
	}
	other := mesh.Icosphere(0).Map(func(x []float64) []float64 { return []float64{x[0] + 0.3*x[1]*x[1], x[1], x[2]} }).Vertices
	spline := nb.Must(morpho.ThinPlateSpline(template[:12], other)) // takes the new points to the landmarks of another bone
	shapes := []geom.Shape{template, append(other, spline(template[12:])...)}
	slide := morpho.SurfaceSemilandmarks(template, 6, 12, 13, 14) // give them On, locators of the bones, to keep them on the surfaces
	a := nb.Must(morpho.ProcrustesSliding(shapes, slide, morpho.BendingEnergy))
	fmt.Println(len(a.Shapes[0]), a.Status)
	// Output:
	// 15 converged
}

// How do I register one mesh to another?
func Example_register() {
	from, to := mesh.Ellipsoid(2, 1, 1, 8, 12), mesh.Ellipsoid(2, 1.2, 1.1, 8, 12)
	controls := nb.Must(study.Grid(from.Vertices, 1)) // 1 apart, over the box of the mesh
	m := population.Model{
		Space:   landmarks.New(len(controls), 3, kernels.Gaussian(1), geom.Integrator(ode.Heun, 5)),
		Objects: []population.Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.5), Varifold: true}, Noise: 0.2}},
	}
	match := nb.Must(m.Register([]*mesh.Mesh{from}, controls, []*mesh.Mesh{to}))
	fmt.Printf("%s, %.2f of the distance is left\n", match.Status, math.Sqrt(match.Mismatch[0][0]/match.Before[0][0]))
	// Output:
	// converged, 0.01 of the distance is left
}

// How do I estimate the template of a folder of meshes?
func Example_study() {
	s := nb.Must(study.Read("bones"))
	if err := s.Start(0.5, 0.2, false); err != nil { // widths, relative to the size of the first subject
		panic(err)
	}
	atlas := nb.Must(s.Estimate(solve.Tolerance(0.1)))
	fmt.Println(len(s.Names), atlas.Status, s.Write("results", atlas)) // for ParaView
	// Output:
	// 3 converged <nil>
}

// How do I deform a template along a mode, or by the momentum of a subject?
func Example_templates() {
	s := nb.Must(study.Read("bones"))
	nb.Must(0, s.Start(0.5, 0.2, false))
	atlas := nb.Must(s.Estimate(solve.Tolerance(0.1)))
	modes := nb.Must(atlas.PCA(s.Model))
	ends := nb.Must(atlas.At(s.Model, modes, 2*math.Sqrt(modes.Variances[0]))) // two standard deviations along the first mode
	middle := nb.Must(atlas.Shape(s.Model, atlas.MeanMomentum()))
	fmt.Println(len(ends[0].Vertices), len(middle[0].Vertices))
	// Output:
	// 20 20
}

// How do I continue an estimate that was stopped?
func Example_resume() {
	s := nb.Must(study.Read("bones"))
	nb.Must(0, s.Start(0.5, 0.2, false))
	first := nb.Must(s.Estimate(solve.MaxIterations(2)))
	var stored population.Atlas
	nb.Must(0, json.Unmarshal(nb.Must(json.Marshal(first)), &stored)) // the text can go to a file, a queue or another machine
	last := nb.Must(s.Model.Continue(&stored, s.Subjects, solve.Tolerance(0.1)))
	fmt.Println(first.Status, last.Status, last.Evaluations > first.Evaluations)
	// Output:
	// iteration limit converged true
}

// How do I place the landmarks of one mesh on a folder of others?
func Example_place() {
	s := nb.Must(study.Read("bones"))
	nb.Must(0, s.ReadLandmarks("landmarks.csv")) // of some of the bones, by their names
	nb.Must(0, s.Start(0.5, 0.2, true))
	placed := nb.Must(s.Place())
	fmt.Println(len(placed.Placed[1]), "landmarks", placed.Placed[1][0].StandardError() > 0)
	fmt.Println(morpho.Write("placed.csv", s.PlacedData("bones", placed)))
	// Output:
	// 4 landmarks true
	// <nil>
}
