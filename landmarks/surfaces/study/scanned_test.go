package study_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/study"
	"anatomy/notebooks/lab/scanned"
)

// Meshes as a scanner has them are accepted with notes, in a folder and in a study of Deformetrica that wants currents.
func TestScanned(t *testing.T) {
	files := map[string]any{}
	for i := range 2 {
		files[fmt.Sprintf("body%d.vtk", i)] = scanned.Body(uint64(i+1), 24, 0.3, 1.3)
	}
	s := expect.Must(study.Read(folder(t, files)))
	if err := s.Start(0.8, 0.4, false); err != nil {
		t.Fatal(err)
	}
	note := "body0.vtk: removed 45 flaps of two cells with the same vertices (8.7 % of the size), removed 343 unused vertices, more than two cells meet at 9 places, which stay"
	if len(s.Notes) < 3 || s.Notes[0] != note || !strings.HasPrefix(s.Notes[2], "the norm is that of varifolds") {
		t.Error(strings.Join(s.Notes, "\n"))
	}
	files["body2.vtk"] = scanned.Body(3, 24, 0.3, 1.3)
	files["model.xml"] = strings.NewReplacer("template.vtk", "body0.vtk", "data/", "").Replace(modelXML)
	files["data_set.xml"] = strings.NewReplacer("data/a", "body1", "data/b", "body2").Replace(dataSetXML)
	s = expect.Must(study.Read(folder(t, files)))
	if s.Model.Objects[0].Norm.Varifold || len(s.Notes) < 3 || s.Notes[0] != note {
		t.Error(strings.Join(s.Notes, "\n"))
	}
	if err := s.Model.Objects[0].Norm.Check("the template", s.Template[0]); err != nil {
		t.Error(err)
	}
}

// The objective at the end of a study of Deformetrica on meshes as a scanner has them, in its own files, is its functional computed in plain
// Go from the template, the momenta and the files: Euler steps of the flow, currents and the energy, with the kernels exp(−r²/w²).
func TestFunctionalOfDeformetrica(t *testing.T) {
	files := map[string]any{}
	for i := range 3 {
		files[fmt.Sprintf("body%d.vtk", i)] = scanned.Body(uint64(i+1), 24, 0.1, 1.3)
	}
	files["model.xml"] = strings.NewReplacer("template.vtk", "body0.vtk", "data/", "").Replace(modelXML)
	files["data_set.xml"] = strings.NewReplacer("data/a", "body1", "data/b", "body2").Replace(dataSetXML)
	files["optimization_parameters.xml"] = strings.NewReplacer("points>Off", "points>On", "<use-rk2>On</use-rk2>", "").Replace(optimizationXML)
	dir := folder(t, files)
	s := expect.Must(study.Read(dir))
	a := expect.Must(s.Estimate())
	t.Log(a)
	const norm, width, noise, steps = 0.5, 0.9, 0.7, 10
	kernel := func(x, y []float64, w float64) float64 { return math.Exp(-math.Pow(floats.Distance(x, y, 2)/w, 2)) }
	inner := func(a, b *mesh.Mesh) (sum float64) {
		n, at, x := a.Normals(), b.Centroids(), b.Normals()
		for i, c := range a.Centroids() {
			for j := range at {
				sum += kernel(c, at[j], norm) * floats.Dot(n[i], x[j])
			}
		}
		return sum
	}
	want := 0.0
	for i, p := range a.Momenta {
		q, z := a.Controls, a.Template[0]
		for j := range q {
			for k := range q {
				want += kernel(q[j], q[k], width) * floats.Dot(p[j], p[k]) / 2
			}
		}
		for range steps {
			flow := func(x []float64) []float64 {
				y := append([]float64{}, x...)
				for k := range q {
					floats.AddScaled(y, kernel(x, q[k], width)/steps, p[k])
				}
				return y
			}
			z = z.Map(flow)
			moved, pulled := make([][]float64, len(q)), make([][]float64, len(q))
			for j := range q {
				moved[j], pulled[j] = flow(q[j]), append([]float64{}, p[j]...)
				for k := range q {
					w := 2 * kernel(q[j], q[k], width) * floats.Dot(p[j], p[k]) / (width * width) / steps
					floats.AddScaled(pulled[j], w, floats.SubTo(make([]float64, 3), q[j], q[k]))
				}
			}
			q, p = moved, pulled
		}
		expect.Abs(t, "deformed template", a.Deformed[i][0].Vertices, z.Vertices, 1e-10)
		subject := s.Subjects[i][0]
		want += (inner(z, z) - 2*inner(z, subject) + inner(subject, subject)) / (2 * noise * noise)
	}
	expect.Rel(t, "functional", a.Objective, want, 1e-8)
}
