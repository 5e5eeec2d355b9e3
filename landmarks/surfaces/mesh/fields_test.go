package mesh_test

import (
	"fmt"
	"html"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/surfaces/mesh"
)

// Data at vertices come back as they were written; and a reader of meshes passes over them.
func TestFields(t *testing.T) {
	m := awkward(mesh.Icosphere(1))
	height, normal := make([]float64, len(m.Vertices)), make([][]float64, len(m.Vertices))
	for i, x := range m.Vertices {
		height[i], normal[i] = x[2]/3, []float64{x[1], -x[0] / 7, math.Pi}
	}
	fields := []mesh.Field{mesh.Scalars(`height <"mm"> & more`, height), {Name: "normal", Values: normal}}
	dir := t.TempDir()
	with := filepath.Join(dir, "fields.vtp")
	if err := mesh.WriteFields(with, m, fields...); err != nil {
		t.Fatal(err)
	}
	back, cells, got, err := mesh.ReadFields(with)
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "points", back, m.Vertices, 0)
	if len(got) != 2 || got[0].Name != fields[0].Name || got[1].Name != "normal" || fmt.Sprint(cells) != fmt.Sprint(m.Cells) {
		t.Fatalf("%d fields", len(got))
	}
	expect.Abs(t, "scalars", got[0].Values, fields[0].Values, 0)
	expect.Abs(t, "vectors", got[1].Values, normal, 0)
	if plain := expect.Must(mesh.Read(with)); len(plain.Cells) != len(m.Cells) {
		t.Errorf("read as a mesh it has %d cells", len(plain.Cells))
	}

	path := filepath.Join(dir, "points.vtp")
	if err := mesh.WritePoints(path, [][]float64{{1, 2}, {3, 4.5}}, mesh.Field{Name: "p", Values: [][]float64{{0.1, 0.2}, {-1, 1e-300}}}); err != nil {
		t.Fatal(err)
	}
	points, cells, got, err := mesh.ReadFields(path)
	if err != nil || cells != nil {
		t.Fatal(err, cells)
	}
	expect.Abs(t, "points alone", points, [][]float64{{1, 2, 0}, {3, 4.5, 0}}, 0)
	expect.Abs(t, "their vectors", got[0].Values, [][]float64{{0.1, 0.2, 0}, {-1, 1e-300, 0}}, 0)
	expect.Refused(t, expect.Error(mesh.Read(path)), "points.vtp", "no edges or triangles")

	for what, err := range map[string]error{
		"1 values for":    mesh.WriteFields(path, m, mesh.Scalars("x", []float64{1})),
		"NaN":             mesh.WriteFields(path, m, mesh.Scalars("x", append(height[1:], math.NaN()))),
		"written to .vtp": mesh.WriteFields(filepath.Join(dir, "x.ply"), m),
		"no points":       mesh.WritePoints(path, nil),
		"value 0 of":      mesh.WritePoints(path, [][]float64{{0, math.Inf(1)}}),
	} {
		expect.Refused(t, err, what)
	}
	if points, _, _, err := mesh.ReadFields(path); err != nil || len(points) != 2 {
		t.Error("a failed write has changed the file", err)
	}
}

// Pieces without points, as a process of a cluster writes them that has none, add nothing to the fields of the others, with PointData or not.
func TestFieldsOfEmptyPieces(t *testing.T) {
	piece := func(n int, points, data string) string {
		return fmt.Sprintf(`<Piece NumberOfPoints="%d"><PointData>%s</PointData><Points><DataArray type="Float64" NumberOfComponents="3" format="ascii">%s</DataArray></Points></Piece>`, n, data, points)
	}
	data := func(values string) string {
		return `<DataArray type="Float64" Name="a" format="ascii">` + values + `</DataArray>`
	}
	path := filepath.Join(t.TempDir(), "pieces.vtp")
	text := `<VTKFile type="PolyData"><PolyData>` + piece(0, "", data("")) + piece(1, "1 2 3", data("7")) + piece(0, "", "") + piece(1, "4 5 6", data("8")) + `</PolyData></VTKFile>`
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	points, _, fields, err := mesh.ReadFields(path)
	if err != nil || len(fields) != 1 {
		t.Fatal(len(fields), "fields", err)
	}
	expect.Abs(t, "points", points, [][]float64{{1, 2, 3}, {4, 5, 6}}, 0)
	expect.Abs(t, "values", fields[0].Values, [][]float64{{7}, {8}}, 0)
}

// contents are the texts of the files below a folder.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	if err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		text, name := []byte("a folder"), expect.Must(filepath.Rel(dir, path))
		if err == nil && !e.IsDir() {
			text, err = os.ReadFile(path)
		}
		out[filepath.ToSlash(name)] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// readSequence reads what WriteSequence writes.
func readSequence(t *testing.T, path string) (out []mesh.Moment) {
	t.Helper()
	for _, set := range dataSet.FindAllStringSubmatch(string(expect.Must(os.ReadFile(path))), -1) {
		points, cells, fields, err := mesh.ReadFields(filepath.Join(filepath.Dir(path), html.UnescapeString(set[2])))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, mesh.Moment{Time: expect.Must(strconv.ParseFloat(set[1], 64)), Mesh: &mesh.Mesh{Vertices: points, Cells: cells}, Fields: fields})
	}
	return out
}

var dataSet = regexp.MustCompile(`timestep="([^"]*)" part="0" file="([^"]*)"`)

// A sequence that cannot be written leaves the one before and every other file as they were, and one that can be written removes no
// other's file.
func TestSequenceTouchesNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "flow.pvd")
	sequence := func(size float64) []mesh.Moment {
		var moments []mesh.Moment
		for k := range 3 {
			m := mesh.Icosphere(0).Map(func(x []float64) []float64 { return []float64{size * x[0], x[1], x[2]} })
			moments = append(moments, mesh.Moment{Time: float64(k), Mesh: m, Fields: []mesh.Field{mesh.Scalars("a", make([]float64, len(m.Vertices)))}})
		}
		return moments
	}
	written := func(size float64) {
		t.Helper()
		if err := mesh.WriteSequence(path, sequence(size)); err != nil {
			t.Fatal(err)
		}
		for k, m := range readSequence(t, path) {
			expect.Abs(t, "vertices", m.Mesh.Vertices, sequence(size)[k].Mesh.Vertices, 0)
		}
	}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	kept := func(before map[string]string, names ...string) {
		t.Helper()
		for _, name := range names {
			if after := contents(t, dir); after[name] != before[name] {
				t.Errorf("%s has changed", name)
			}
		}
	}
	unchanged := func(before map[string]string) {
		t.Helper()
		if diff := cmp.Diff(slices.Sorted(maps.Keys(before)), slices.Sorted(maps.Keys(contents(t, dir)))); diff != "" {
			t.Error(diff)
		}
		kept(before, slices.Collect(maps.Keys(before))...)
	}

	put("flow/0000.vtp", "of somebody else")
	before := contents(t, dir)
	written(1)
	kept(before, "flow/0000.vtp")
	before = contents(t, dir)
	spoil := map[string]func(m *mesh.Moment){
		"moment 2: coordinate 0 of vertex 3 is NaN":  func(m *mesh.Moment) { m.Mesh.Vertices[3][0] = math.NaN() },
		`moment 2: value 4 of the field "a" is +Inf`: func(m *mesh.Moment) { m.Fields[0].Values[4][0] = math.Inf(1) },
		"moment 2: the mesh is empty":                func(m *mesh.Moment) { m.Mesh.Cells = nil },
	}
	for want, spoil := range spoil {
		moments := sequence(2)
		spoil(&moments[2])
		expect.Refused(t, mesh.WriteSequence(path, moments), path, want)
		unchanged(before)
	}

	// What somebody else put into the folder of a sequence stays, with the folder; so do files that another list names.
	put("flow.1/notes.txt", "mine")
	before = contents(t, dir)
	written(3)
	kept(before, "flow/0000.vtp", "flow.1/notes.txt", "flow.1/0002.vtp")
	put("other/0000.vtp", "of somebody else")
	put("flow.pvd", `<VTKFile type="Collection"><Collection><DataSet timestep="0" file="other/0000.vtp"/></Collection></VTKFile>`)
	before = contents(t, dir)
	written(4)
	kept(before, "other/0000.vtp", "flow.2/0000.vtp")

	// A list that cannot be put in its place takes its files with it.
	put("full.pvd/x", "mine")
	before = contents(t, dir)
	if err := mesh.WriteSequence(filepath.Join(dir, "full.pvd"), sequence(5)); err == nil {
		t.Error("a folder was replaced")
	}
	unchanged(before)
}

// A sequence comes back with its times, meshes and data; its list names only files that are there.
func TestSequence(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "flow & more.pvd")
	var moments []mesh.Moment
	for k, time := range []float64{-0.5, 0, 1.25} {
		m := mesh.Icosphere(0).Map(func(x []float64) []float64 { return []float64{x[0] * float64(k+1), x[1], x[2]} })
		far := make([]float64, len(m.Vertices))
		far[3] = time
		moments = append(moments, mesh.Moment{Time: time, Mesh: m, Fields: []mesh.Field{mesh.Scalars("far", far)}})
	}
	// again over itself, each time in another folder
	for _, want := range [][]string{{"flow & more", "flow & more.pvd"}, {"flow & more.1", "flow & more.pvd"}, {"flow & more", "flow & more.pvd"}} {
		if err := mesh.WriteSequence(path, moments); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range expect.Must(os.ReadDir(dir)) {
			got = append(got, e.Name())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	got := readSequence(t, path)
	if len(got) != 3 {
		t.Fatalf("%d moments", len(got))
	}
	for k, m := range got {
		expect.Abs(t, "time", m.Time, moments[k].Time, 0)
		expect.Abs(t, "vertices", m.Mesh.Vertices, moments[k].Mesh.Vertices, 0)
		expect.Abs(t, "data", m.Fields[0].Values, moments[k].Fields[0].Values, 0)
	}
	expect.Refused(t, mesh.WriteSequence(path, []mesh.Moment{moments[1], moments[0]}), "moment 1", "times that grow")
	expect.Refused(t, mesh.WriteSequence(path, nil), "no moments")
	expect.Refused(t, mesh.WriteSequence(filepath.Join(dir, "x.vtp"), moments), ".pvd")
}
