package viz

import (
	"encoding/xml"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"anatomy/geom/geomtest/expect"
)

func TestAlt(t *testing.T) {
	q := [][]float64{{0, 0}, {10, 0}, {0, 5}}
	panel := func(title string, v float64) *Figure {
		return Fig(Outline(q).Label("q & p"), Arrows(q, constant(3, 0, v)).Label("v")).Unit("mm").Title(title)
	}
	for _, c := range []struct {
		drawing Drawing
		want    string
	}{
		{panel("(a)", 1), `(a): outline "q & p", arrows (3) "v". x from 0 to 10 mm; y from 0 to 6 mm.`},
		{Fig(Series([]float64{1, 2}, []float64{0.1, 1000})).LogY().XLabel("step"), "series. step from 1 to 2; y from 0.1 to 1000, logarithmic."},
		{Row(panel("(a)", 1), panel("(b)", 0.1)), `(a): outline "q & p", arrows (3) "v". x from 0 to 10 mm; y from 0 to 6 mm. (b): outline "q & p", arrows (3) "v" (×20). x from 0 to 10 mm; y from 0 to 7 mm.`},
		{Row(Fig(Points(q).ColorBy("t")), Fig(Points(q).ColorBy("t"))), "points (3) coloured by t: 0 to 1. x from 0 to 10; y from 0 to 5. points (3) coloured by t: 0 to 1. x from 0 to 10; y from 0 to 5. Legend: t: 0 to 1."},
		{Fig(Ellipsoid(1, 1, 1)), "ellipsoid. In space."},
		{Slider("σ", []float64{1, 3}, func(i int) *Figure { return Fig(Outline(q)) }), "2 pictures, σ from 1 to 3. outline. x from 0 to 10; y from 0 to 5."},
	} {
		if got, err := Alt(c.drawing); err != nil || got != c.want {
			t.Errorf("got  %s %v\nwant %s", got, err, c.want)
		}
	}
	expect.Refused(t, expect.Error(Alt(Outline())), "no shape")
	// The same text stands in the SVG and beside the pictures for a notebook.
	s, err := panel("(a) <b>", 1).sheet()
	if err != nil {
		t.Fatal(err)
	}
	data, err := s.bundle()
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Role  string `xml:"role,attr"`
		Title string `xml:"title"`
		Desc  string `xml:"desc"`
	}
	if err := xml.Unmarshal([]byte(data.Data[protocol.MIMEImageSVG].(string)), &file); err != nil {
		t.Fatal(err)
	}
	if file.Role != "img" || file.Title != "(a) <b>" || file.Desc != s.alt() || data.Data[protocol.MIMETextPlain] != s.alt() {
		t.Errorf("the SVG holds %q and %q", file.Title, file.Desc)
	}
}
