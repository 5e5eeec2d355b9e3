package mesh_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/mesh"
)

// Data at vertices come back as they were written, in every encoding; and a reader of meshes passes over them.
func TestFields(t *testing.T) {
	m := awkward(mesh.Icosphere(1))
	height, normal := make([]float64, len(m.Vertices)), make([][]float64, len(m.Vertices))
	for i, x := range m.Vertices {
		height[i], normal[i] = x[2]/3, []float64{x[1], -x[0] / 7, math.Pi}
	}
	fields := []mesh.Field{mesh.Scalars(`height <"mm"> & more`, height), {Name: "normal", Values: normal}}
	dir := t.TempDir()
	for k, e := range []mesh.Encoding{mesh.ASCII, mesh.Base64, mesh.Base64 | mesh.Zlib, mesh.AppendedBase64, mesh.AppendedRaw, mesh.AppendedRaw | mesh.Zlib, mesh.AppendedBase64 | mesh.Zlib} {
		path := filepath.Join(dir, fmt.Sprintf("%d.vtp", k))
		var b bytes.Buffer
		if err := mesh.WriteVTP(&b, m, e, fields...); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		points, cells, got, err := mesh.ReadFields(path)
		if err != nil {
			t.Fatalf("%v: %v", e, err)
		}
		expect.Abs(t, "points", points, m.Vertices, 0)
		if len(got) != 2 || got[0].Name != fields[0].Name || got[1].Name != "normal" || fmt.Sprint(cells) != fmt.Sprint(m.Cells) {
			t.Fatalf("%v: %d fields", e, len(got))
		}
		expect.Abs(t, "scalars", got[0].Values, fields[0].Values, 0)
		expect.Abs(t, "vectors", got[1].Values, normal, 0)
		if plain := expect.Must(mesh.Read(path)); len(plain.Cells) != len(m.Cells) {
			t.Errorf("%v: read as a mesh it has %d cells", e, len(plain.Cells))
		}
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
		"coordinate 1":    mesh.WritePoints(path, [][]float64{{0, math.Inf(1)}}),
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
	for range 2 { // again over itself
		if err := mesh.WriteSequence(path, moments); err != nil {
			t.Fatal(err)
		}
	}
	got := expect.Must(mesh.ReadSequence(path))
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
	if err := os.Remove(filepath.Join(dir, "flow & more", "0001.vtp")); err != nil {
		t.Fatal(err)
	}
	expect.Refused(t, expect.Error(mesh.ReadSequence(path)), "0001.vtp")
	if err := os.WriteFile(path, []byte(strings.Repeat("<a>", 200)), 0o666); err != nil {
		t.Fatal(err)
	}
	expect.Refused(t, expect.Error(mesh.ReadSequence(path)), "flow & more.pvd")
}
