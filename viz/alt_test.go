package viz

import (
	"encoding/xml"
	"strings"
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
		{panel("(a)", 1), `(a): outline "q & p", 3 arrows "v". x from 0 to 10 mm; y from 0 to 6 mm.`},
		{Fig(Series([]float64{1, 2}, []float64{0.1, 1000})).LogY().XLabel("step"), "curve. step from 1 to 2; y from 0.1 to 1000, logarithmic."},
		{Row(panel("(a)", 1), panel("(b)", 0.1)), `(a): outline "q & p", 3 arrows "v". x from 0 to 10 mm; y from 0 to 6 mm. (b): outline "q & p", 3 arrows "v" (×20). x from 0 to 10 mm; y from 0 to 7 mm.`},
		{Row(Fig(Points(q).ColorBy("t")), Fig(Points(q).ColorBy("t"))), "3 points coloured by t: 0 to 1. x from 0 to 10; y from 0 to 5. 3 points coloured by t: 0 to 1. x from 0 to 10; y from 0 to 5. Legend: t: 0 to 1."},
		{Fig(Series([]float64{1e-4, 9.9e-4}, []float64{100.1, 100.3})), "curve. x from 1·10⁻⁴ to 9.9·10⁻⁴; y from 100.1 to 100.3."},
		{Fig(Ellipsoid(1, 1, 1)), "ellipsoid. In space, x from −1 to 1, y from −1 to 1, z from −1 to 1; seen from azimuth 35° and elevation 22°."},
		{Fig(Ellipsoid(2, 1, 1), Lines([][]float64{{0, 0, 2}, {1, 0, 0}}), Lines([][]float64{{0, 0, 1}, {1, 0, 0}})).Unit("mm"), "ellipsoid, 2 × line. In space, x from −2 to 2, y from −1 to 1, z from −1 to 2 mm; seen from azimuth 35° and elevation 22°."},
		{Fig(Scatter([]float64{1, 2}, []float64{0, 1}), HLine(1)), "2 points, horizontal line. x from 1 to 2; y from 0 to 1."},
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
	data := s.bundle()
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

// Names of any letters are drawn, as far as the font has the letters; the alternative text has all of them, and says what a box
// stands for.
func TestNamesOfAnyLetters(t *testing.T) {
	q := [][]float64{{0, 0}, {10, 0}, {0, 5}}
	for name, letters := range map[string]string{
		"頭蓋骨 1": "頭 蓋 骨", "🐭": "🐭", "ℵ₀ и é": "ℵ", "👨\u200d👩\ufe0f": "👨 👩", "two\nlines\a": "", "a\xffb": "", "plain": "", "\u202egnp.exe": "",
		"一二三四五六七八九十百": "一 二 三 四 五 六 七 八 九 十 …",
	} {
		values := []float64{1, 2, 3}
		for kind, drawing := range map[string]Drawing{
			"label": Outline(q).Label(name), "title": Fig(Outline(q)).Title(name), "axis": Fig(Series(values, values)).XLabel(name),
			"unit": Fig(Outline(q)).Unit(name), "quantity": Points(q).ColorBy(name, values...), "panels": Row(Fig(Outline(q).Label(name)), Fig(Points(q).Label(name))),
			"slider": Slider(name, values, func(int) *Figure { return Fig(Outline(q)) }),
		} {
			s, err := drawing.sheet()
			if err != nil {
				t.Errorf("%s %q: %v", kind, name, err)
				continue
			}
			data := s.bundle()
			var file struct {
				Title string `xml:"title"`
				Desc  string `xml:"desc"`
			}
			if err := xml.Unmarshal([]byte(data.Data[protocol.MIMEImageSVG].(string)), &file); err != nil {
				t.Errorf("%s %q: %v", kind, name, err)
			}
			want := ""
			if letters != "" {
				want = " A box □ stands for a letter that the font lacks: " + letters + "."
			}
			if got := file.Desc; !strings.HasSuffix(got, want) || strings.Count(got, "stands for") != min(1, len(letters)) {
				t.Errorf("%s %q: %s, want at the end %q", kind, name, got, want)
			}
		}
	}
	width := func(s string) float64 { return walk(s, sans(8, 0), nil) }
	if width("骨") != width("□") || width("日\ufe0f") != width("□") || width("a") == width("□") {
		t.Error("what is drawn of a letter that the font lacks is no box")
	}
}
