package mesh_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
)

// bump is a ball that is stretched and bent.
func bump(a, b float64) func(x []float64) []float64 {
	return func(x []float64) []float64 {
		return []float64{10 * (1 + a) * x[0], 10 * x[1], 10 * (0.8*x[2] + b*x[0]*x[0])}
	}
}

// bones are surfaces with the places of 12 landmarks.
func bones(level int) (surfaces []*mesh.Mesh, landmarks []shape.Shape) {
	for _, c := range [][2]float64{{0, 0}, {0.1, 0.2}, {-0.2, 0.1}, {0.15, -0.2}} {
		surfaces = append(surfaces, mesh.Icosphere(level).Map(bump(c[0], c[1])))
		landmarks = append(landmarks, mesh.Icosphere(0).Map(bump(c[0], c[1])).Vertices)
	}
	return surfaces, landmarks
}

// A thin-plate spline takes semi-landmarks of a template to other shapes; they come onto their surfaces and slide there, beside landmarks.
func Example() {
	surfaces, landmarks := bones(3)

	template := landmarks[0] // and 40 points spread over the first surface
	for _, v := range morpho.Spread(surfaces[0].Vertices, 40, template...) {
		template = append(template, surfaces[0].Vertices[v])
	}
	var on []morpho.Support
	for _, s := range surfaces {
		l, err := s.Locator()
		if err != nil {
			fmt.Println(err)
			return
		}
		on = append(on, l)
	}
	var points []int
	for l := 12; l < len(template); l++ {
		points = append(points, l)
	}
	semi := morpho.SurfaceSemilandmarks(template, 6, points...)
	for i := range semi {
		semi[i].On = on
	}
	var shapes []shape.Shape
	for _, x := range landmarks {
		spline, err := morpho.ThinPlateSpline(template[:12], x)
		if err != nil {
			fmt.Println(err)
			return
		}
		shapes = append(shapes, append(x, spline(template[12:])...))
	}
	slid, err := morpho.ProcrustesSliding(shapes, semi, morpho.BendingEnergy)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(slid)
	// Output:
	// 4 shapes aligned, 0.07532 from their mean (root mean square), converged after 3 iterations of sliding, with a bending energy of 0.004923 on average
}

// Finer meshes of a surface lead semi-landmarks to one place: half the triangles, less than half the way.
func TestSlidingOnMeshes(t *testing.T) {
	slide := func(level int) *morpho.SlidAlignment {
		surfaces, landmarks := bones(level)
		var on []morpho.Support
		for _, s := range surfaces {
			on = append(on, expect.Must(s.Locator()))
		}
		template := landmarks[0]
		var points []int
		for l, v := range mesh.Icosphere(1).Vertices[12:] {
			template, points = append(template, bump(0, 0)([]float64{v[0] + 0.1, v[1], v[2]})), append(points, 12+l)
		}
		semi := morpho.SurfaceSemilandmarks(template, 6, points...)
		for i := range semi {
			semi[i].On = on
		}
		var shapes []shape.Shape
		for _, x := range landmarks {
			shapes = append(shapes, append(x, expect.Must(morpho.ThinPlateSpline(template[:12], x))(template[12:])...))
		}
		out := expect.Must(morpho.ProcrustesSliding(shapes, semi, morpho.BendingEnergy))
		if out.Status != solve.Converged {
			t.Errorf("level %d: %v", level, out)
		}
		for i, x := range out.Slid {
			off := expect.Must((&mesh.Mesh{Vertices: x, Cells: [][]int{{0, 1, 2}}}).Distances(surfaces[i]))
			expect.Abs(t, "on the surface", off, make([]float64, len(x)), 1e-12)
		}
		return out
	}
	far := func(a, b *morpho.SlidAlignment) (largest float64) {
		for i, x := range a.Slid {
			for l, p := range x {
				largest = math.Max(largest, floats.Distance(p, b.Slid[i][l], 2))
			}
		}
		return largest
	}
	coarse, middle, fine := slide(2), slide(3), slide(4)
	if first, then := far(coarse, middle), far(middle, fine); first > 0.2 || then > 0.5*first {
		t.Errorf("semi-landmarks on a surface of radius 10 move by %g with triangles of half the size, by %g with a quarter", first, then)
	}
}

// Real outlines: 39 points of corpora callosa slide on outlines of 200 to the end, and stay on them.
func TestSlidingOfCallosa(t *testing.T) {
	var outlines []*mesh.Mesh
	var on []morpho.Support
	for _, x := range morpho.CorpusCallosumOutline().Shapes() {
		outlines = append(outlines, mesh.Curve(x, true))
		on = append(on, expect.Must(outlines[len(on)].Locator()))
	}
	shapes := morpho.CorpusCallosum().Shapes()
	before := expect.Must(morpho.Procrustes(shapes))
	for _, criterion := range []morpho.Criterion{morpho.BendingEnergy, morpho.ProcrustesDistance} {
		semi := morpho.Semilandmarks(39, true, 0, 20)
		for i := range semi {
			semi[i].On = on
		}
		out := expect.Must(morpho.ProcrustesSliding(shapes, semi, criterion))
		if out.Status != solve.Converged || criterion == morpho.ProcrustesDistance && out.RMS > 0.9*before.RMS {
			t.Errorf("%v; before sliding %v", out, before)
		}
		for i, x := range out.Slid {
			off := expect.Must(mesh.Curve(x, true).Distances(outlines[i]))
			off[0], off[20] = 0, 0
			expect.Abs(t, "on the outline", off, make([]float64, len(x)), 1e-10)
		}
	}
}
