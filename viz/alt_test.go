package viz

import (
	"encoding/xml"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
)

// alt is the alternative text of a drawing.
func alt(drawings ...Drawing) (string, error) {
	s, err := sheetOf(drawings)
	if err != nil {
		return "", err
	}
	return s.alt(), nil
}

func TestAlt(t *testing.T) {
	q := [][]float64{{0, 0}, {10, 0}, {0, 5}}
	panel := func(title string, v float64) *Figure {
		return Fig(Outline(q).Label("q & p"), Arrows(q, constant(3, 0, v)).Label("v")).Unit("mm").Title(title)
	}
	for _, c := range []struct {
		drawing Drawing
		want    string
	}{
		{panel("(a)", 1), `(a): outline "q & p", blue; 3 arrows "v", vermilion, all up. x from 0 to 10 mm; y from 0 to 6 mm.`},
		{Fig(Series([]float64{1, 2}, []float64{0.1, 1000})).LogY().XLabel("step"), "curve, blue, rises from 0.1 to 1000. step from 1 to 2; y from 0.1 to 1000, logarithmic."},
		{Row(panel("(a)", 1), panel("(b)", 0.1)), `(a): outline "q & p", blue; 3 arrows "v", vermilion, all up. x from 0 to 10 mm; y from 0 to 6 mm. (b): outline "q & p", blue; 3 arrows "v" (×20), vermilion, all up. x from 0 to 10 mm; y from 0 to 7 mm.`},
		{Row(Fig(Points(q).ColorBy("t")), Fig(Points(q).ColorBy("t"))), "3 points coloured by t: 0 to 1, its highest value at the upper left, its lowest at the lower left. x from 0 to 10; y from 0 to 5. 3 points coloured by t: 0 to 1, its highest value at the upper left, its lowest at the lower left. x from 0 to 10; y from 0 to 5. Legend: t: 0 to 1."},
		{Fig(Series([]float64{1e-4, 9.9e-4}, []float64{100.1, 100.3})), "curve, blue, rises from 100.1 to 100.3. x from 1·10⁻⁴ to 9.9·10⁻⁴; y from 100.1 to 100.3."},
		{Fig(Ellipsoid(1, 1, 1)), "ellipsoid. In space, x from −1 to 1, y from −1 to 1, z from −1 to 1; seen from azimuth 35° and elevation 22°."},
		{Fig(Ellipsoid(2, 1, 1), Lines([][]float64{{0, 0, 2}, {1, 0, 0}}), Lines([][]float64{{0, 0, 1}, {1, 0, 0}})).Unit("mm"), "ellipsoid; 2 × line. In space, x from −2 to 2, y from −1 to 1, z from −1 to 2 mm; seen from azimuth 35° and elevation 22°."},
		{Fig(Scatter([]float64{1, 2}, []float64{0, 1}), HLine(1)), "2 points, blue; horizontal line, grey, at 1. x from 1 to 2; y from 0 to 1."},
		{Slider("σ", []float64{1, 3}, func(i int) *Figure { return Fig(Outline(q)) }), "2 pictures, σ from 1 to 3. In the first: outline, blue. x from 0 to 10; y from 0 to 5."},
	} {
		if got, err := alt(c.drawing); err != nil || got != c.want {
			t.Errorf("got  %s %v\nwant %s", got, err, c.want)
		}
	}
	expect.Refused(t, expect.Error(alt(Outline())), "no shape")
	// The same text stands in the SVG and beside the pictures for a notebook.
	s, err := panel("(a) <b>", 1).sheet()
	if err != nil {
		t.Fatal(err)
	}
	data := expect.Must(s.bundle())
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

// The alternative text says what is seen, so it changes with the data.
func TestSeen(t *testing.T) {
	x := ramp(21, func(i float64) float64 { return i })
	curve := func(f func(x float64) float64) *Figure { return Fig(Series(x, ramp(21, f))) }
	q := ring(24, 0, 0, 20, 8)
	moved := func(from int, by ...float64) [][]float64 {
		out := make([][]float64, len(q))
		for i, p := range q {
			if out[i] = p; i == from {
				out[i] = []float64{p[0] + by[0], p[1] + by[1]}
			}
		}
		return out
	}
	shapes := func(other [][]float64) *Figure {
		return Fig(Outline(q).Label("start"), Outline(other).Label("end")).Unit("mm")
	}
	arrows := func(v ...[]float64) *Figure { return Fig(Outline(q), Arrows(q[:len(v)], v)) }
	corner := [][]float64{{0, 0}, {20, 20}}
	vertices, triangles := Tessellate(func(u, v float64) []float64 {
		return []float64{math.Sin(v) * math.Cos(u), math.Sin(v) * math.Sin(u), math.Cos(v)}
	}, [2]float64{0, 2 * math.Pi}, [2]float64{0, math.Pi}, 24, 12)
	density := func(f func(p []float64) float64, azimuth, elevation float64) *Figure {
		values := make([]float64, len(vertices))
		for i, p := range vertices {
			values[i] = f(p)
		}
		return Fig(Density(vertices, triangles, "density", values)).Camera(azimuth, elevation)
	}
	height, depth := func(p []float64) float64 { return p[2] }, func(p []float64) float64 { return p[0] }
	for _, c := range []struct {
		figure *Figure
		want   string
	}{
		{curve(func(i float64) float64 { return 3 + i }), "rises from 3 to 23. "},
		{curve(func(i float64) float64 { return 23 - i }), "falls from 23 to 3. "},
		{curve(func(i float64) float64 { return 100 - (i-5)*(i-5) }), "from 75 to −125, highest 100 at 5. "},
		{curve(func(i float64) float64 { return math.Sin(math.Pi * i / 10) }), "highest 1 at 5, lowest −1 at 15. "},
		{Fig(Series(x, ramp(21, func(float64) float64 { return 2 })).Label("flat"), Series(x, x)), `curve "flat", blue, level at 2; `},
		{Fig(Series(x, x), Scatter([]float64{1, 2, 3}, []float64{19, 18, 19})), "3 points, vermilion, at the upper left. "},
		{Fig(Series(x, x), Scatter([]float64{9, 10, 11}, []float64{1, 2, 1})), "3 points, vermilion, at the bottom. "},
		{Fig(Scatter(x, x)), "rising to the right. "},
		{Fig(Scatter(x, ramp(21, func(i float64) float64 { return -i }))), "falling to the right. "},
		{Fig(Points([][]float64{{3, 3}}), Points(corner)), "point, blue, at the lower left; "},
		{shapes(q), `outline "end", vermilion, on "start". `},
		{shapes(append(slices.Clone(q[5:]), q[:5]...)), `outline "end", vermilion, on "start". `}, // counted from another point
		{shapes(moved(0, 5, 0)), `outline "end", vermilion, at most 5 mm from "start", at the right. `},
		{shapes(moved(12, -2, 0)), `outline "end", vermilion, at most 2 mm from "start", at the left. `},
		{Fig(Outline(q, moved(6, 0, 3), moved(6, 0, -3))), "3 outlines, blue, at most 3 from the first of them, at the top. "},
		{Fig(Outline(q, moved(6, 0, 3), moved(6, 0, 7)).ColorBy("t")), "at most 7 from the first of them, at the top. "},
		{arrows([]float64{1, 0}, []float64{0, 3}), "2 arrows (×2), vermilion, the longest at the right, up. "},
		{arrows([]float64{-1, -1}, []float64{-3, -3}), "2 arrows, vermilion, all down to the left. "},
		{arrows([]float64{0, -1}), "arrow (×5), vermilion, at the right, down. "},
		{Fig(Histogram([]float64{1, 1.1, 1.2, 2, 3}, 2)), "histogram, blue, highest from 1 to 2. "},
		{Fig(Lines([][]float64{{0, 0}, {20, 0}, {20, 20}})), "line, blue, from the lower left to the upper right. "},
		{Fig(Names(corner, []string{"A", "B"})), "names, A, B. "},
		{density(height, 30, 0), "its highest value at the top, its lowest at the bottom. "},
		{density(depth, 0, 0), "its highest value in the middle, its lowest on the far side. "},
		{density(depth, 180, 0), "its highest value on the far side, its lowest in the middle. "},
	} {
		if got := expect.Must(alt(c.figure)); !strings.Contains(got, c.want) {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	// A kind of layer may have any marks.
	for _, l := range []*Layer{Series(x, x), Scatter(x, x), Outline(q), Lines(q), Arrows(q, q), Trajectories([]shape.Shape{q, q}), Histogram(x, 0), VLine(1), Tree(species()), Names(corner, []string{"A", "B"})} {
		for _, draw := range []func(c *canvas){
			func(c *canvas) { c.dot(q[0], 1, Blue, pen{}) },
			func(c *canvas) {
				c.area(q, Blue)
				c.line(q[:1], false, pen{})
				c.line(q, false, pen{})
			},
			func(c *canvas) { c.rows, c.row = 1, 5; c.nameAt([]float64{0, 7}, "A", Blue) },
		} {
			expect.Must(alt(Fig(Outline(q).Label("q"), newLayer(l.traits, draw))))
		}
	}
	slide := func(by float64) string {
		return expect.Must(alt(Slider("c", []float64{-1, 0, 1}, func(i int) *Figure {
			return Fig(Outline(q).Label("mean"), Outline(moved(0, by*float64(i), 0)).Label("mode")).Unit("mm")
		})))
	}
	if want := `. From the first to the last picture these move: outline "mode" by up to 4 mm, most at the right.`; !strings.HasSuffix(slide(2), want) || strings.Contains(slide(0), "move") {
		t.Errorf("got  %s\nwant %s\nand none without motion: %s", slide(2), want, slide(0))
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
			data := expect.Must(s.bundle())
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
