package supplement

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/surfaces/mesh"
)

// A mesh alone has a document with its measures in numbers, which says what it lacks, and which is made again to the same bytes.
func TestMeshAlone(t *testing.T) {
	ball := mesh.Icosphere(3)
	ball.Vertices = append(ball.Vertices, []float64{9, 9, 9}) // of no cell
	d := expect.Must(New(nil, Question{Title: "Ball", Mesh: ball, Unit: "mm"}))
	if w := words(d); !strings.Contains(w, "The mesh is a surface. It is closed. Repair: ") || d.LeftOut != "" {
		t.Error(w, d.LeftOut)
	}
	values := map[string]float64{}
	for _, row := range expect.Must(d.Table("measures")).Rows {
		values[row[0].String()] = row[1].Value()
	}
	expect.Rel(t, "area", values["area (mm²)"], 4*math.Pi, 0.01)
	expect.Rel(t, "volume", values["volume (mm³)"], 4*math.Pi/3, 0.02)
	if values["vertices"] != 642 || len(ball.Vertices) != 643 {
		t.Error(values, len(ball.Vertices))
	}
	once, twice := filepath.Join(t.TempDir(), "once"), filepath.Join(t.TempDir(), "twice")
	if err := d.Write(once); err != nil {
		t.Fatal(err)
	}
	data, q, err := Open(once)
	if err != nil || data != nil {
		t.Fatal(err, data)
	}
	if err := expect.Must(New(data, q)).Write(twice); err != nil {
		t.Fatal(err)
	}
	want := files(t, once)
	for name, content := range files(t, twice) {
		if want[name] != content {
			t.Errorf("%s differs when the report is made again", name)
		}
	}
	open := mesh.Curve([][]float64{{0, 0}, {1, 0}, {1, 1}}, false)
	if d := expect.Must(New(nil, Question{Mesh: open})); d.LeftOut != "" || !strings.Contains(words(d), "The mesh is a curve. It is open: it has 2 ends.") {
		t.Error(words(d), d.LeftOut)
	}
	expect.Refused(t, expect.Error(New(nil, Question{})), "neither landmarks nor a mesh")
	expect.Refused(t, expect.Error(New(nil, Question{Mesh: open, Model: "size"})), "a mesh alone has no model")
	expect.Refused(t, expect.Error(New(nil, Question{Mesh: open, Parts: "a: 0; b: 1"})), "a mesh alone has no model")
}

// shown is what a notebook is asked to show.
type shown struct{ lines []string }

func (s *shown) say(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf(format, args...))
}

// A notebook shows all parts in their order, what is left out at the end of the first section, and a claim with its object.
func TestShow(t *testing.T) {
	table := &Table{Caption: "Numbers.", Header: []string{"x"}}
	table.Add(1. / 3)
	d := &Document{LeftOut: "No XLA.", Sections: []Section{
		{Title: "A", Parts: []Part{Paragraph("p"), Warning("w"), List{"1", "2 %d"}}}, {Title: "B", Parts: []Part{table, Claim{"true", "left", true}}}}}
	var s shown
	d.Show(s.say, func(caption string, cells [][]string, csv []byte) { s.say("%s %v %q", caption, cells, csv) },
		func(what, object string, holds bool) { s.say("%s of %s: %t", what, object, holds) })
	if got := strings.Join(s.lines, "|"); got != `## A|p|**w**|- 1`+"\n- 2 %d\n"+`|No XLA.|## B|Numbers. [[x] [0.33333]] "x\n0.3333333333333333\n"|true of left: true` {
		t.Errorf("%q", got)
	}
}

// A body that is symmetric about one plane, however it lies, meets its mirror image there, and another does not.
func TestMirrorOfAMesh(t *testing.T) {
	for name, lump := range map[string][]float64{"symmetric": {0.7, 0.5, 0}, "lopsided": {0.7, 0.3, 0.5}} {
		body := mesh.Ellipsoid(1.2, 0.75, 0.6, 25, 48).Map(func(x []float64) []float64 {
			d := floats.Distance(x, lump, 2)
			y := slices.Clone(x)
			floats.Scale(1+0.4*math.Exp(-d*d/0.1), y)
			s, c := math.Sincos(0.7)
			return []float64{5 + c*y[0] - s*y[2], y[1], s*y[0] + c*y[2]}
		})
		d := expect.Must(New(nil, Question{Mesh: body, Unit: "mm"}))
		var share float64
		_, after, _ := strings.Cut(words(d), "on average, or ")
		expect.Must(fmt.Sscanf(after, "%f", &share))
		if (share < 1) != (name == "symmetric") {
			t.Errorf("%s: %s", name, words(d))
		}
	}
}
