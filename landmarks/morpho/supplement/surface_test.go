package supplement

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/mesh"
)

// ellipsoids are bodies of other proportions, with twelve landmarks on each; the mesh is the surface of the third one. All are affine images of a sphere.
func ellipsoids() (*morpho.Dataset, *mesh.Mesh) {
	rng := rand.New(rand.NewPCG(7, 7))
	d, surface := &morpho.Dataset{Name: "ellipsoids"}, mesh.Icosphere(1)
	var third *mesh.Mesh
	for i := range 8 {
		x, y, size := 1.5+0.3*rng.NormFloat64(), 1+0.1*rng.NormFloat64(), 10+rng.Float64()
		own := surface.Map(func(p []float64) []float64 { return []float64{size*x*p[0] + 3, size * p[2], -size*y*p[1] + 8} })
		d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint("body ", i), Points: own.Vertices[:12]})
		if i == 2 {
			third = own
		}
	}
	return d, third
}

// affine is the affine map by least squares from points to others.
func affine(t *testing.T, from, to [][]float64) func(x []float64) []float64 {
	a, b := mat.NewDense(len(from), 4, nil), mat.NewDense(len(from), 3, nil)
	for i, p := range from {
		a.SetRow(i, []float64{p[0], p[1], p[2], 1})
		b.SetRow(i, to[i])
	}
	var m mat.Dense
	if err := m.Solve(a, b); err != nil {
		t.Fatal(err)
	}
	return func(x []float64) []float64 {
		var out mat.Dense
		out.Mul(mat.NewDense(1, 4, []float64{x[0], x[1], x[2], 1}), &m)
		return out.RawRowView(0)
	}
}

// The surface of an ellipsoid is warped as its landmarks are, by an affine map, and the picture shows how far.
func TestSurface(t *testing.T) {
	d, surface := ellipsoids()
	a := &analysis{Question: Question{Surface: "body 2", Mesh: surface}, given: d}
	a.prepare(d)
	mean, off, err := a.surface()
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "landmarks off the surface", off, 0, 1e-12)
	exact := affine(t, d.Specimens[2].Points, a.mean.Mean)
	for i, x := range surface.Vertices {
		expect.Abs(t, "vertex of the mean", mean.Vertices[i], exact(x), 1e-9)
	}
	f := a.surfaces()
	folder := t.TempDir()
	q := Question{Surface: "body 2", Mesh: surface, Permutations: 19}
	document := expect.Must(New(d, q))
	if _, err := document.Figure("surfaces"); err != nil || f.Name != "surfaces" {
		t.Error(err)
	}
	once, twice := filepath.Join(folder, "once"), filepath.Join(folder, "twice")
	if err := bare(document).Write(once); err != nil {
		t.Fatal(err)
	}
	data, again, err := Open(once)
	if err != nil {
		t.Fatal(err)
	}
	other := expect.Must(New(data, again))
	if err := bare(other).Write(twice); err != nil || !slices.Equal(pictures(document), pictures(other)) {
		t.Fatal(err, "or other figures when the report is made again")
	}
	want := files(t, once)
	for name, content := range files(t, twice) {
		if want[name] != content {
			t.Errorf("%s differs when the report is made again", name)
		}
	}
	path := filepath.Join(once, "data", "mesh.ply")
	for scan, surface := range map[string]string{path: "mesh", "body 2=" + path: "body 2"} {
		if named := expect.Must((&Answers{Scan: scan}).Asked()); named.Surface != surface {
			t.Errorf("%s is the surface of %q", scan, named.Surface)
		}
	}
	expect.Refused(t, expect.Error(New(d, Question{Surface: "skull", Mesh: surface})), `the mesh of "skull"`, "name the file after its specimen")
	expect.Refused(t, expect.Error(New(d, Question{Surface: "body 3", Mesh: surface.Map(func(x []float64) []float64 { return []float64{-x[0], -x[1], x[2]} })})), "off it", "the same directions")
	expect.Refused(t, expect.Error(New(morpho.Plethodon(), Question{Surface: morpho.Plethodon().Specimens[0].Name, Mesh: surface})), "the landmarks have 2 coordinates")
	if err := os.Remove(filepath.Join(once, "data", "mesh.ply")); err != nil {
		t.Fatal(err)
	}
	expect.Refused(t, func() error { _, _, err := Open(once); return err }(), "mesh.ply")
}
