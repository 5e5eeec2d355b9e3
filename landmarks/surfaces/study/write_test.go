package study_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
)

// What is written of an atlas is read back: template, momenta, and the flow, which ends at the deformed template.
func TestWrite(t *testing.T) {
	controls := [][]float64{{-0.5, 0, 0}, {0.5, 0, 0}, {0, 0.7, 0}}
	m := population.Model{Space: landmarks.New(3, 3, kernels.Gaussian(0.8), geom.Integrator(ode.Heun, 4)), Objects: make([]population.Object, 1)}
	a := &population.Atlas{Template: []*mesh.Mesh{ball(1)}, Controls: controls,
		Momenta: []geom.Shape{{{0.1, 0, 0}, {0, 0.2, 0}, {0, 0, -0.1}}, {{0, 0, 0.3}, {0.1, 0.1, 0}, {0, 0, 0}}}}
	dir := filepath.Join(t.TempDir(), "out")
	for range 2 {
		if err := (&study.Study{Model: m, Names: []string{"a/1.ply", "b"}}).Write(dir, a); err != nil {
			t.Fatal(err)
		}
	}
	points, _, fields, err := mesh.ReadFields(filepath.Join(dir, "momenta.vtp"))
	if err != nil || len(fields) != 2 || fields[0].Name != "a/1.ply" {
		t.Fatal(err, len(fields))
	}
	expect.Abs(t, "control points", points, controls, 0)
	expect.Abs(t, "momenta", fields[1].Values, a.Momenta[1], 0)
	template := expect.Must(mesh.Read(filepath.Join(dir, "template.vtp")))
	expect.Abs(t, "template", template.Vertices, a.Template[0].Vertices, 0)
	mean := 0.0
	// moment reads a moment of a flow, whose files are in the folder that its list names.
	moment := func(flow string, k int) (points [][]float64, fields []mesh.Field) {
		t.Helper()
		list := string(expect.Must(os.ReadFile(filepath.Join(dir, flow))))
		sets := regexp.MustCompile(`timestep="([^"]*)" part="0" file="([^"]*)"`).FindAllStringSubmatch(list, -1)
		if len(sets) != 5 || sets[4][1] != "1" {
			t.Fatalf("%s: %s", flow, list)
		}
		points, _, fields, err := mesh.ReadFields(filepath.Join(dir, sets[k][2]))
		if err != nil {
			t.Fatal(err)
		}
		return points, fields
	}
	for i, name := range []string{"flow_a_1.ply.pvd", "flow_b.pvd"} {
		start, _ := moment(name, 0)
		last, maps := moment(name, 4)
		expect.Abs(t, "start", start, a.Template[0].Vertices, 1e-15)
		end := expect.Must(a.Shape(m, a.Momenta[i]))[0]
		expect.Abs(t, "end", last, end.Vertices, 1e-12)
		// The maps at vertex 5 are the means of its cells, and those of the template the means of both subjects.
		ratio, anisotropy, cells := 0.0, 0.0, 0.0
		strains := expect.Must(mesh.Strains(a.Template[0], end))
		for k, cell := range a.Template[0].Cells {
			if slices.Contains(cell, 5) {
				ratio, anisotropy, cells = ratio+strains[k].LogJacobian(), anisotropy+strains[k].Anisotropy(), cells+1
			}
		}
		if len(maps) != 3 || maps[1].Name != "log ratio of areas" || maps[2].Name != "anisotropy" {
			t.Fatal(maps)
		}
		expect.Abs(t, "ratio and anisotropy", []float64{maps[1].Values[5][0], maps[2].Values[5][0]}, []float64{ratio / cells, anisotropy / cells}, 1e-12)
		mean += maps[1].Values[5][0] / 2
	}
	_, _, means, err := mesh.ReadFields(filepath.Join(dir, "template.vtp"))
	if err != nil || len(means) != 3 || means[1].Name != "mean log ratio of areas" {
		t.Fatal(err, means)
	}
	expect.Abs(t, "the mean map", means[1].Values[5][0], mean, 1e-12)
	expect.Refused(t, (&study.Study{Model: m, Names: []string{"a/b", "a_b"}}).Write(dir, a), "one file")
	empty := filepath.Join(t.TempDir(), "out")
	expect.Refused(t, (&study.Study{Model: m, Names: []string{"a", ""}}).Write(empty, a), "subject 1 has no name")
	if _, err := os.Stat(empty); !os.IsNotExist(err) {
		t.Errorf("a part was written: %v", err)
	}
	m.Objects = make([]population.Object, 2)
	both := *a
	both.Template = []*mesh.Mesh{ball(1), curve(1)}
	expect.Refused(t, (&study.Study{Model: m, Names: []string{"a", "b"}}).Write(dir, &both), "one file")
	m.Objects[1].ID = "bow"
	if err := (&study.Study{Model: m, Names: []string{"a", "b"}}).Write(dir, &both); err != nil {
		t.Error(err)
	}
	bow, _ := moment("flow_b_bow.pvd", 4)
	expect.Abs(t, "the end of the second object", bow, expect.Must(both.Shape(m, a.Momenta[1]))[1].Vertices, 1e-12)
	m.Objects = m.Objects[:1]
	expect.Refused(t, (&study.Study{Model: m, Names: []string{"a"}}).Write(dir, a), "1 names for 2 subjects")
}
