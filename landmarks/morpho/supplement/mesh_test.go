package supplement

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

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
	bean := expect.Must(New(nil, Question{Mesh: mesh.Icosphere(3).Map(func(x []float64) []float64 {
		return []float64{(3*x[0] - x[1]) / math.Sqrt2, (3*x[0] + x[1]) / math.Sqrt2, 2 * x[2]}
	})}))
	var extents []string // along the coordinate axes, and along its own
	for _, row := range expect.Must(bean.Table("measures")).Rows {
		if strings.HasPrefix(row[0].String(), "extent") {
			extents = append(extents, fmt.Sprintf("%.1f", row[1].Value()))
		}
	}
	if got := strings.Join(extents, " "); got != "4.5 4.5 4.0 6.0 4.0 2.0" {
		t.Error(got)
	}
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
