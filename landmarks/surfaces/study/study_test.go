package study_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/kernels"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
	"anatomy/landmarks/surfaces/study"
)

func TestMain(m *testing.M) { geomtest.Main(m, geomtest.Quick) }

const modelXML = `<?xml version="1.0"?>
<model>
    <model-type>DeterministicAtlas</model-type>
    <dimension>3</dimension>
    <template>
        <object id="mandible">
            <deformable-object-type>SurfaceMesh</deformable-object-type>
            <attachment-type>Current</attachment-type>
            <noise-std>0.7</noise-std>
            <kernel-type>keops</kernel-type>
            <kernel-width>0.5</kernel-width>
            <filename>data/template.vtk</filename>
        </object>
    </template>
    <deformation-parameters>
        <kernel-width>0.9</kernel-width>
        <kernel-type>torch</kernel-type>
        <number-of-timepoints>11</number-of-timepoints>
    </deformation-parameters>
</model>
`

const dataSetXML = `<?xml version="1.0"?>
<data-set>
    <subject id="a">
        <visit id="experiment">
            <filename object_id="mandible">data/a.vtk</filename>
            <age>1</age>
        </visit>
    </subject>
    <subject id="b">
        <visit id="experiment">
            <filename object_id="other">nowhere.vtk</filename>
            <filename object_id="mandible">data/b.vtk</filename>
        </visit>
    </subject>
</data-set>
`

const optimizationXML = `<?xml version="1.0"?>
<optimization-parameters>
    <optimization-method-type>GradientAscent</optimization-method-type>
    <freeze-control-points>Off</freeze-control-points>
    <use-rk2>On</use-rk2>
    <sobolev-kernel-width-ratio>0.5</sobolev-kernel-width-ratio>
</optimization-parameters>
`

// ball is an ellipsoid of a size.
func ball(size float64) *mesh.Mesh { return mesh.Ellipsoid(size, 0.8*size, 0.6*size, 5, 9) }

// curve is an open one in space, pulled in by a factor.
func curve(pull float64) *mesh.Mesh {
	return mesh.Curve([][]float64{{0.9, 0, 0}, {0.3, 0.2, pull}, {-0.4, 0, pull}, {-0.9, -0.2, 0}}, false)
}

// folder makes files of their contents, a mesh or a text.
func folder(t *testing.T, files map[string]any) string {
	t.Helper()
	dir := t.TempDir()
	for name, what := range files {
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		switch what := what.(type) {
		case string:
			err = os.WriteFile(path, []byte(what), 0o666)
		case *mesh.Mesh:
			err = mesh.Write(path, what)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func deformetrica(t *testing.T, edits ...string) string {
	r := strings.NewReplacer(edits...)
	return folder(t, map[string]any{"model.xml": r.Replace(modelXML), "data_set.xml": r.Replace(dataSetXML), "optimization_parameters.xml": r.Replace(optimizationXML),
		"data/template.vtk": ball(1), "data/a.vtk": ball(1.1), "data/b.vtk": ball(0.9), "data/curve.vtk": curve(1), "data/bent.vtk": curve(0.7),
		"points.txt": "0 0 0\n1 0.5 0\n"})
}

// A study of Deformetrica means the same here: its kernels at a distance of their widths are 1/e, its grid is in the middle of the box.
func TestDeformetrica(t *testing.T) {
	s := expect.Must(study.Read(deformetrica(t)))
	if s.Kind != study.Atlas || fmt.Sprint(s.Names) != "[a b]" || len(s.Subjects) != 2 || s.Model.Objects[0].Norm.Varifold || !s.Model.Free {
		t.Errorf("%v of %v, model %+v", s.Kind, s.Names, s.Model)
	}
	expect.Abs(t, "template", s.Template[0].Vertices, ball(1).Vertices, 0)
	expect.Abs(t, "noise", s.Model.Objects[0].Noise, 0.7, 0)
	if s.Model.Space.Method() != ode.Heun || s.Model.Space.Steps() != 10 {
		t.Errorf("method %v, %d steps", s.Model.Space.Method(), s.Model.Space.Steps())
	}
	for _, k := range []struct {
		name  string
		at    func(x, y *graph.Node) *graph.Node
		width float64
	}{{"attachment", s.Model.Objects[0].Norm.Kernel.Gram, 0.5}, {"deformation", s.Model.Space.Manifold.Kernel.Gram, 0.9}, {"smoothing", s.Model.Objects[0].Smoothing.Gram, 0.45}} {
		out := expect.Must(engine.Run(func(in []*graph.Node) []*graph.Node { return []*graph.Node{k.at(in[0], in[1])} }, [][]float64{{0, 0, 0}}, [][]float64{{0, k.width, 0}}))
		expect.Rel(t, k.name+" at its width", out.Matrix(0)[0][0], math.Exp(-1), 1e-12)
	}
	low, high := make([]float64, 3), make([]float64, 3)
	for _, x := range s.Template[0].Vertices {
		for k, v := range x {
			low[k], high[k] = math.Min(low[k], v), math.Max(high[k], v)
		}
	}
	counts := []int{}
	for k := range 3 {
		seen := map[float64]bool{}
		least, most := math.Inf(1), math.Inf(-1)
		for _, c := range s.Controls {
			seen[c[k]] = true
			least, most = math.Min(least, c[k]), math.Max(most, c[k])
		}
		counts = append(counts, len(seen))
		expect.Abs(t, "room beside the grid", least-low[k], high[k]-most, 1e-12)
		expect.Abs(t, "spacing", (most-least)/math.Max(1, float64(len(seen)-1)), 0.9, 1e-12)
	}
	if got := fmt.Sprint(counts, len(s.Controls)); got != "[3 2 2] 12" {
		t.Errorf("grid %s", got)
	}
	if notes := strings.Join(s.Notes, "\n"); !strings.Contains(notes, "optimization-method-type") || strings.Contains(notes, "kernel") {
		t.Errorf("notes: %s", notes)
	}

	s = expect.Must(study.Read(deformetrica(t, "<dimension>3</dimension>", "<initial-control-points>points.txt</initial-control-points>", "SurfaceMesh", "NonOrientedSurfaceMesh",
		"<attachment-type>Current</attachment-type>", "", "noise-std", "data-sigma", "<use-rk2>On</use-rk2>", "")))
	expect.Abs(t, "given control points", s.Controls, [][]float64{{0, 0, 0}, {1, 0.5, 0}}, 0)
	if !s.Model.Objects[0].Norm.Varifold || s.Model.Space.Method() != ode.Euler {
		t.Errorf("of version 3: %+v", s.Model)
	}

	// A second object, a curve.
	both := []string{"</object>", `</object><object id="suture"><deformable-object-type>PolyLine</deformable-object-type><attachment-type>Varifold</attachment-type>
		<noise-std>0.1</noise-std><kernel-width>0.4</kernel-width><filename>data/curve.vtk</filename></object>`,
		"data/a.vtk</filename>", `data/a.vtk</filename><filename object_id="suture">data/curve.vtk</filename>`,
		"data/b.vtk</filename>", `data/b.vtk</filename><filename object_id="suture">data/bent.vtk</filename>`}
	s = expect.Must(study.Read(deformetrica(t, both...)))
	if o := s.Model.Objects; len(o) != 2 || o[0].ID != "mandible" || o[1].ID != "suture" || o[0].Norm.Varifold || !o[1].Norm.Varifold || o[1].Noise != 0.1 || o[1].Smoothing == nil {
		t.Fatalf("objects %+v", o)
	}
	expect.Abs(t, "the first object of the second subject", s.Subjects[1][0].Vertices, ball(0.9).Vertices, 0)
	expect.Abs(t, "its second object", s.Subjects[1][1].Vertices, curve(0.7).Vertices, 0)
	a := expect.Must(s.Estimate())
	t.Log(a)
	if a.Status != geom.Converged || len(a.Template) != 2 || a.Mismatch[1][1] > 0.1*a.Before[1][1] {
		t.Errorf("%s, of %g there is left %g", a, a.Before, a.Mismatch)
	}
	if err := s.Write(filepath.Join(t.TempDir(), "out"), a); err != nil {
		t.Error(err)
	}

	s = expect.Must(study.Read(deformetrica(t, "DeterministicAtlas", "BayesianAtlas", "<noise-std>0.7</noise-std>", "")))
	if s.Kind != study.Atlas || s.Model.Objects[0].Noise != 0 {
		t.Errorf("%v, objects %+v", s.Kind, s.Model.Objects)
	}

	one := strings.Split(dataSetXML, `    <subject id="b">`)[0] + "</data-set>"
	s = expect.Must(study.Read(deformetrica(t, "DeterministicAtlas", "Registration", dataSetXML, one)))
	if s.Kind != study.Registration || len(s.Subjects) != 1 {
		t.Errorf("%v of %d", s.Kind, len(s.Subjects))
	}
	match := expect.Must(s.Model.Space.MatchFrom(s.Controls, s.Template[0].Vertices, s.Model.Objects[0].Norm.Term(s.Template[0], s.Subjects[0][0]), s.Model.Objects[0].Noise))
	a = expect.Must(s.Estimate())
	if a.Status != geom.Converged || match.Status != geom.Converged {
		t.Errorf("%s; %s", a, match)
	}
	expect.Abs(t, "the template of a registration", a.Template[0].Vertices, s.Template[0].Vertices, 0)
	expect.Rel(t, "objective of a registration", a.Objective, match.Objective, 1e-4)
	twice := strings.Replace(one, "</visit>", "</visit><visit id=\"later\"><filename object_id=\"mandible\">data/b.vtk</filename><age>4</age></visit>", 1)
	s = expect.Must(study.Read(deformetrica(t, "DeterministicAtlas", "Regression", dataSetXML, twice, "</number-of-timepoints>", "</number-of-timepoints><concentration-of-timepoints>4</concentration-of-timepoints><t0>1</t0>")))
	expect.Abs(t, "ages", s.Times, []float64{1, 4}, 0)
	if s.Kind != study.Regression || fmt.Sprint(s.Names) != "[experiment later]" || s.Model.Space.Steps() != 6 || !strings.Contains(strings.Join(s.Notes, "\n"), "t0 is passed over") {
		t.Errorf("%v of %v, %d steps, %s", s.Kind, s.Names, s.Model.Space.Steps(), s.Notes)
	}

	for what, c := range map[string][]string{
		"LongitudinalAtlas: stats.TransportToMean": {"DeterministicAtlas", "LongitudinalAtlas"},
		"Mystery: there are Registration":          {"DeterministicAtlas", "Mystery"},
		"no model-type":                            {"<model-type>DeterministicAtlas</model-type>", ""},
		"two objects have the id: mandible":        {"</object>", "</object><object id=\"mandible\"></object>"},
		"pointcloud: landmarks":                    {"SurfaceMesh", "PointCloud"},
		"image: SurfaceMesh":                       {"SurfaceMesh", "Image"},
		"normal: Current and Varifold":             {"Current<", "Normal<"},
		"kernel-width of the object: positive":     {"0.5</kernel-width>", "-1</kernel-width>"},
		"noise-std: give one":                      {"<noise-std>0.7</noise-std>", ""},
		"noise-std is: much: number":               {"0.7", "much"},
		"no filename":                              {"<filename>data/template.vtk</filename>", ""},
		"template.obj: no such file":               {"template.vtk", "template.obj"},
		"polyline: cells of 3":                     {"SurfaceMesh", "PolyLine"},
		"number-of-timepoints is 1: 2 to 1000":     {"11</number", "1</number"},
		"use-rk2 is: perhaps: On or Off":           {"<use-rk2>On", "<use-rk2>perhaps"},
		"freeze-template is On: Registration":      {"<use-rk2>On</use-rk2>", "<freeze-template>On</freeze-template>"},
		"dimension is 2: 3 coordinates":            {"<dimension>3", "<dimension>2"},
		"subject: no filename of the object":       {"object_id=\"mandible\">data/a", "object_id=\"x\">data/a"},
		"no filename of the object: suture":        both[:2],
		"suture: has no noise-std":                 {both[0], strings.Replace(both[1], "noise-std", "noise", 2)},
		"2 subjects, a registration has 1":         {"DeterministicAtlas", "Registration"},
		"2 subjects, a regression has 1":           {"DeterministicAtlas", "Regression", "<age>1</age>", "<age>1</age>", "data/b.vtk</filename>", "data/b.vtk</filename><age>2</age>"},
		"no age: Regression needs":                 {"DeterministicAtlas", "Regression"},
		"a spacing of 0: positive":                 {"<dimension>3</dimension>", "<initial-cp-spacing>0</initial-cp-spacing>"},
		"more than 20000 points: spacing":          {"<dimension>3</dimension>", "<initial-cp-spacing>0.001</initial-cp-spacing>"},
		"points.txt: 3 numbers: control point has": {"SurfaceMesh", "PolyLine", "template.vtk", "flat.vtk", "<dimension>3</dimension>", "<initial-control-points>points.txt</initial-control-points>"},
		"triangles: b edges: either as curves":     {"data/b.vtk", "data/curve.vtk"},
	} {
		dir := deformetrica(t, c...)
		if strings.HasPrefix(what, "points.txt") {
			if err := mesh.Write(filepath.Join(dir, "data/flat.vtk"), mesh.Curve([][]float64{{0, 0}, {1, 0}, {0, 1}}, true)); err != nil {
				t.Fatal(err)
			}
		}
		t.Run(what, func(t *testing.T) {
			_, err := study.Read(dir)
			t.Log(err)
			expect.Refused(t, err, strings.Split(what, ": ")...)
		})
	}
	dir := deformetrica(t)
	if err := os.Remove(filepath.Join(dir, "model.xml")); err != nil {
		t.Fatal(err)
	}
	expect.Refused(t, expect.Error(study.Read(dir)), "model.xml")
}

// A folder of meshes or outlines is a population, or what is wrong with it is said.
func TestReadFolder(t *testing.T) {
	outlines := "specimen,landmark,x,y\n"
	for i, s := range []string{"p", "q"} {
		for k, x := range [][]float64{{0, 0}, {2, 0}, {2, 1}, {0, 1}} {
			outlines += fmt.Sprintf("%s,%d,%g,%g\n", s, k, x[0]+float64(i), x[1])
		}
	}
	twice := ball(1.1)
	twice.Vertices = append(twice.Vertices, twice.Vertices[0])
	s := expect.Must(study.Read(folder(t, map[string]any{"b.ply": ball(1), "a.vtp": ball(1.2), "c.obj": twice, "notes.txt": "x", "more/d.ply": ball(1), ".hidden": "x"})))
	if got := fmt.Sprint(s.Names); got != "[a.vtp b.ply c.obj]" {
		t.Errorf("subjects %s", got)
	}
	if got := strings.Join(s.Notes, "; "); got != "files that were skipped: notes.txt; c.obj: removed 1 unused vertex; folders that were skipped because the folder above contains meshes: more" {
		t.Errorf("notes: %s", got)
	}
	s = expect.Must(study.Read(folder(t, map[string]any{"squares.csv": outlines})))
	if len(s.Subjects) != 2 || len(s.Subjects[0][0].Cells) != 4 || s.Names[1] != "squares.csv: q" {
		t.Errorf("outlines: %v", s.Names)
	}
	// Landmarks of meshes, and a table of something else, beside them.
	s = expect.Must(study.Read(folder(t, map[string]any{"a.ply": ball(1), "b.ply": ball(1.1), "c.ply": ball(1.2), "a.txt": "8.049 20.267 7.161\n1 2 3\n4 5 6\n", "b.csv": outlines,
		"about.csv": "subject,age\na,7\n"})))
	if got := strings.Join(s.Notes, "; "); len(s.Subjects) != 3 || got != "files that were skipped: about.csv; landmarks of meshes, which an atlas does not use (morpho.Read reads them): a.txt, b.csv; the following have none: c" {
		t.Errorf("%d subjects, notes: %s", len(s.Subjects), got)
	}
	// Folders of subjects with several objects.
	parts := map[string]any{"b/b_left.ply": ball(1), "b/b-right.ply": ball(0.5), "b/notes.txt": "x", "b/bow.vtk": curve(1), "a/left.ply": ball(1.1), "a/right.vtp": ball(0.6), "a/bow.vtk": curve(0.9), "empty/x.txt": ""}
	s = expect.Must(study.Read(folder(t, parts)))
	if o := s.Model.Objects; fmt.Sprint(s.Names) != "[a b]" || len(o) != 3 || o[0].ID != "bow" || o[1].ID != "left" || o[2].ID != "right" {
		t.Errorf("subjects %s, objects %+v", s.Names, o)
	}
	expect.Abs(t, "the right one of b", s.Subjects[1][2].Vertices, ball(0.5).Vertices, 0)
	if got := strings.Join(s.Notes, "; "); got != "files that were skipped: b/notes.txt; files that were skipped: empty/x.txt; folder without meshes: empty" {
		t.Errorf("notes: %s", got)
	}
	if err := s.Start(0.5, 0.3, false); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(s.Notes); !strings.Contains(got, "bow: the norm is that of varifolds") || len(s.Model.Objects) != 3 || s.Model.Objects[0].Noise != 0.3 {
		t.Errorf("notes: %s, model %+v", got, s.Model)
	}
	s = expect.Must(study.Read(folder(t, map[string]any{"b/x.ply": ball(1), "a/y.ply": ball(1.1)})))
	if len(s.Model.Objects) != 1 || len(s.Subjects) != 2 {
		t.Errorf("one object each: %+v", s.Model)
	}
	for what, files := range map[string]map[string]any{
		"the same: b has the objects left, right":           {"b/left.ply": ball(1), "b/right.ply": ball(1), "a/left.ply": ball(1), "a/wrong.ply": ball(1)},
		"b has the objects left: the same":                  {"b/left.ply": ball(1), "a/left.ply": ball(1), "a/right.ply": ball(1)},
		"two meshes of the name: left":                      {"b/left.ply": ball(1), "b/left.obj": ball(1), "a/left.ply": ball(1), "a/right.ply": ball(1)},
		"b, right is 10 times as large":                     {"a/left.ply": ball(1), "a/right.ply": ball(1), "b/left.ply": ball(1), "b/right.ply": ball(10), "c/left.ply": ball(1), "c/right.ply": ball(1)},
		"b, right: triangles: edges":                        {"a/left.ply": ball(1), "a/right.ply": ball(1), "b/left.ply": ball(1), "b/right.vtk": curve(1)},
		"no meshes":                                         {"readme.txt": "x"},
		"a.ply is the only subject: at least 2":             {"a.ply": ball(1)},
		"empty: a.off":                                      {"a.off": "OFF\n0 0 0\n", "b.ply": ball(1)},
		"line: a.off":                                       {"a.off": "OFF\n3 1 0\n0 0 0\n1 0\n", "b.ply": ball(1)},
		"c.ply: 23.1 times: another unit":                   {"a.ply": ball(1), "b.ply": ball(1.1), "c.ply": ball(25.4)},
		"R^3: R^2: o.csv":                                   {"a.ply": ball(1), "o.csv": outlines},
		`o.csv: specimen "p": landmark 4 is at [-999 -999]`: {"o.csv": outlines + "p,4,-999,-999\nq,4,-999,-999\n"},
		"o.csv: line":                                       {"a.ply": ball(1), "o.csv": outlines + "q,5,nowhere,1\n"},
		"degenerate: a.off":                                 {"a.off": "OFF\n3 1 0\n0 0 0\n1 0 0\n2 0 0\n3 0 1 2\n", "b.ply": ball(1)},
	} {
		t.Run(what, func(t *testing.T) {
			_, err := study.Read(folder(t, files))
			t.Log(err)
			expect.Refused(t, err, strings.Split(what, ": ")...)
		})
	}
	expect.Refused(t, expect.Error(study.Read("/nowhere")), "/nowhere")
	s = expect.Must(study.Read(folder(t, map[string]any{"a.ply": ball(1), "b.ply": ball(1.1), "c.ply": ball(2.54)})))
	if got := strings.Join(s.Notes, "; "); got != "c.ply is 2.31 times as large as the median of the subjects: see whether it has another unit, such as inches among centimetres" {
		t.Errorf("notes: %s", got)
	}
	// Copies that lie elsewhere are known once they are aligned.
	away := bone(0).Map(func(x []float64) []float64 { return []float64{3 - x[1], x[0], x[2] + 1} })
	s = expect.Must(study.Read(folder(t, map[string]any{"a.ply": bone(0), "b.ply": away})))
	expect.Refused(t, s.Start(0.5, 0.3, false), "all 2 subjects are copies of a.ply", "give subjects that differ")
}

// What is read from any XML does not break, and a study without an error is one.
func FuzzDeformetrica(f *testing.F) {
	f.Add([]byte(modelXML), []byte(dataSetXML), []byte(optimizationXML))
	f.Add([]byte(strings.Replace(modelXML, "DeterministicAtlas", "Regression", 1)), []byte(dataSetXML), []byte("<optimization-parameters/>"))
	second := strings.Replace(modelXML, "</object>", "</object>"+strings.NewReplacer("mandible", "other").Replace(modelXML[strings.Index(modelXML, "<object"):strings.Index(modelXML, "</object>")])+"</object>", 1)
	f.Add([]byte(second), []byte(strings.NewReplacer("nowhere", "data/a", "</visit>", `<filename object_id="other">data/b.vtk</filename></visit>`).Replace(dataSetXML)), []byte(optimizationXML))
	f.Fuzz(func(t *testing.T, model, dataSet, optimization []byte) {
		dir := t.TempDir()
		for name, text := range map[string][]byte{"model.xml": model, "data_set.xml": dataSet, "optimization_parameters.xml": optimization} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(dir, "data"), 0o777); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"template", "a", "b"} {
			if err := mesh.Write(filepath.Join(dir, "data", name+".vtk"), ball(1)); err != nil {
				t.Fatal(err)
			}
		}
		s, err := study.Read(dir)
		if err == nil {
			err = s.Validate()
		}
		if err == nil && (s.Model.Space == nil || !(s.Model.Objects[0].Noise >= 0) || len(s.Controls) == 0 || len(s.Names) != len(s.Subjects)) {
			t.Errorf("a study without %+v", s)
		}
	})
}

// Subjects without names, or of one name, are refused before anything is estimated, not when it is written.
func TestNamesOfSubjects(t *testing.T) {
	expect.Refused(t, expect.Error(study.Read(deformetrica(t, `<subject id="b">`, `<subject>`))), "subject 1 has no name")
	expect.Refused(t, expect.Error(study.Read(deformetrica(t, `<subject id="b">`, `<subject id="a">`))), "flow_a_mandible: give subjects")
}

// A study that was put together in a program is looked at, too.
func TestEmptyMeshes(t *testing.T) {
	for _, m := range []*mesh.Mesh{nil, {}} {
		s := &study.Study{Names: []string{"a", "b"}, Subjects: population.Single([]*mesh.Mesh{m, ball(1)})}
		expect.Refused(t, s.Validate(), "a is empty")
	}
}

// Shapes of many cells, for which fast sums are taken, are aligned as they are by exact sums, from far away. They are nearly the same after half
// a turn, so that they must not differ by much.
func TestStartFromFar(t *testing.T) {
	t.Parallel()
	const n = 2100
	outline := func(bump float64, move func(x, y float64) []float64) *mesh.Mesh {
		var x [][]float64
		for i := range n {
			angle := 2 * math.Pi * float64(i) / n
			s, c := math.Sincos(angle)
			r := 10 * (1 + 0.3*math.Cos(angle+1) + 0.2*math.Sin(2*angle) + bump*math.Cos(3*angle))
			x = append(x, move(1.5*r*c, r*s))
		}
		return mesh.Curve(x, true)
	}
	s := &study.Study{Names: []string{"here", "far"}, Subjects: population.Single([]*mesh.Mesh{
		outline(0, func(x, y float64) []float64 { return []float64{x, y} }),
		outline(0.02, func(x, y float64) []float64 { return []float64{500 + 0.6*x - 0.8*y, 0.8*x + 0.6*y - 300} }),
	})}
	exact := []population.Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(2.635), Varifold: true}}}
	want := expect.Must(population.Align(exact, s.Subjects[0], s.Subjects[1:], false))[0]
	if err := s.Start(0.5, 0.2, false); err != nil {
		t.Fatal(err)
	}
	t.Log(s.Notes, s.Model.Objects[0].Norm)
	expect.Abs(t, "the far one", s.Subjects[1][0].Vertices, want.Objects[0].Vertices, 1e-2)

	// Where subjects are aligned, the model is the same.
	again := &study.Study{Names: s.Names, Subjects: s.Subjects, Aligned: true}
	if err := again.Start(0.5, 0.2, false); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(again.Model.Objects) != fmt.Sprint(s.Model.Objects) || fmt.Sprint(again.Model.Space.Manifold) != fmt.Sprint(s.Model.Space.Manifold) {
		t.Errorf("the model is %v of %v, was %v of %v", again.Model.Objects, again.Model.Space.Manifold, s.Model.Objects, s.Model.Space.Manifold)
	}
	expect.Abs(t, "control points", again.Controls, s.Controls, 0)
}

// Five profiles of six pieces that end and fork, as of skulls, whose ends differ from subject to subject. The template moves by smooth fields, so that
// the search ends without folds; that of closed outlines moves by all vertices.
func TestCurvesThatEndAndFork(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	profile := func() *mesh.Mesh {
		bend, long := 0.1*r.NormFloat64(), 1+0.1*r.NormFloat64()
		m := &mesh.Mesh{}
		piece := func(n int, at func(s float64) (x, y float64)) { // from one point to another
			from, end := len(m.Vertices), 1+0.1*r.NormFloat64()
			for k := range n {
				x, y := at(end * float64(k) / float64(n-1))
				m.Vertices = append(m.Vertices, []float64{60 * (long*x + bend*x*y), 60 * (y + bend*x*x)})
				if k > 0 {
					m.Cells = append(m.Cells, []int{from + k - 1, from + k})
				}
			}
		}
		piece(40, func(s float64) (float64, float64) { c := 4 * s; return 1.2 * math.Cos(c), math.Sin(c) })       // the vault
		piece(9, func(s float64) (float64, float64) { return 1.2 + 0.3*s, -0.9 * s })                             // the face, from where the vault begins
		piece(8, func(s float64) (float64, float64) { return 1.5 - 0.9*s, -0.9 - 0.1*s })                         // the palate, from where the face ends
		piece(7, func(s float64) (float64, float64) { return 0.7 + 0.2*math.Cos(5*s), -0.2 + 0.2*math.Sin(5*s) }) // the orbit
		piece(6, func(s float64) (float64, float64) { return 0.6 - s, -1 + 0.3*s })                               // the base
		piece(5, func(s float64) (float64, float64) { return -0.1 + 0.2*s, -0.5 - 0.4*s })                        // the ear
		_, err := m.Clean()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	s := &study.Study{Aligned: true}
	for i := range 5 {
		s.Names, s.Subjects = append(s.Names, fmt.Sprint(i)), append(s.Subjects, []*mesh.Mesh{profile()})
	}
	if err := s.Start(0.5, 0.2, false); err != nil || !s.Model.Hypertemplate {
		t.Fatal(err, s.Model.Hypertemplate)
	}
	if a := expect.Must(s.Estimate(solve.Tolerance(0.05))); a.Err() != nil || a.Folded > 0 {
		t.Error(a)
	}
	// These lie about alike, and Start turns the second one back from where it lies.
	turned := outlineOf(1.6).Map(func(x []float64) []float64 { return []float64{0.96*x[0] - 0.28*x[1], 0.28*x[0] + 0.96*x[1]} })
	closed := &study.Study{Names: s.Names[:2], Posed: true, Subjects: population.Single([]*mesh.Mesh{outlineOf(1.5), turned})}
	if err := closed.Start(0.5, 0.2, false); err != nil || closed.Model.Hypertemplate {
		t.Error(err, closed.Model.Hypertemplate)
	}
	expect.Abs(t, "the turned one", closed.Subjects[1][0].Vertices, outlineOf(1.6).Vertices, 1e-3)
}

// outlineOf is a closed one.
func outlineOf(size float64) *mesh.Mesh {
	var x [][]float64
	for k := range 20 {
		sin, cos := math.Sincos(math.Pi * float64(k) / 10)
		x = append(x, []float64{size * cos, sin})
	}
	return mesh.Curve(x, true)
}
