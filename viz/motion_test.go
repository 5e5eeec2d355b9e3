package viz

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot/vg"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
)

// A figure in space carries what its script draws from: the points of the data about their middle, in whole steps.
func TestTurntable(t *testing.T) {
	var curve [][]float64
	for i := range 30 {
		sin, cos := math.Sincos(float64(i) / 5)
		curve = append(curve, []float64{7 + cos, 2 * sin, float64(i) / 10})
	}
	flat := Fig(Outline(ring(8, 0, 0, 1, 1)))
	s, err := Row(Fig(Ellipsoid(1, 1, 1), Lines(curve).Label("c")).Camera(20, 50).Unit("mm"), flat).sheet()
	if err != nil {
		t.Fatal(err)
	}
	bundle := expect.Must(s.bundle())
	html := bundle.Data[protocol.MIMETextHTML].(string)
	if strings.Count(html, "<canvas") != 1 || strings.Count(html, "<img") != 3 || strings.Contains(html, "http") {
		t.Errorf("%d canvases, %d pictures", strings.Count(html, "<canvas"), strings.Count(html, "<img"))
	}
	var d turnData
	unpack(t, html, &d)
	_, marks := positions(d)
	var got [][]float64
	for _, number := range marks[len(marks)-1] { // the curve: its points, up to a scale and a shift that all share
		got = append(got, []float64{float64(d.Points[3*number]), float64(d.Points[3*number+1]), float64(d.Points[3*number+2])})
	}
	if len(got) != len(curve) || d.Axes == nil || math.Abs(d.Azimuth-20*math.Pi/180) > 1e-12 {
		t.Fatalf("%d points, axes %v, azimuth %v", len(got), d.Axes, d.Azimuth)
	}
	unit := distance(curve[0], curve[29]) / distance(got[0], got[29])
	for i := range got {
		for k := range 3 {
			want := (curve[i][k] - curve[0][k]) / unit
			if math.Abs(got[i][k]-got[0][k]-want) > 5 { // of 4096
				t.Fatalf("point %d: %v, want %v", i, got[i][k]-got[0][k], want)
			}
		}
	}
	named, err := Fig(Wireframe(curve, nil).Hover(make([]string, 30)...), Points(curve[:1]).Hover("the first")).sheet()
	if err != nil {
		t.Fatal(err)
	}
	var text map[string]any
	page := named.extra.html()
	if unpack(t, page, &text); text["bodies"] == nil || !strings.Contains(page, "<canvas data-names") || !strings.Contains(fmt.Sprint(text["styles"]), "the first") {
		t.Errorf("a figure without surfaces: bodies %v, styles %v", text["bodies"], text["styles"])
	}
	if s, _ := flat.sheet(); s.extra != nil {
		t.Error("a flat figure cannot be turned")
	}
}

// turnData is what turn.js reads.
type turnData struct {
	Flat           bool
	Azimuth, Scale float64
	Axes           *[2]float64
	Points, Marks  []int
	Frames, Looks  [][]int
	Styles         []turnStyle
	Bodies         []struct{ Tones [][]int }
}

// positions returns where the points are in every frame, three numbers each, and the numbers of the points of every mark.
func positions(d turnData) (frames, marks [][]int) {
	sum := func(x []int, width int) []int {
		for i := width; i < len(x); i++ {
			x[i] += x[i-width]
		}
		return x
	}
	one := sum(d.Points, 3)
	two := one
	for _, off := range d.Frames {
		sum(off, 3)
		for i := range off {
			off[i] += 2*one[i] - two[i]
		}
		one, two = off, one
		frames = append(frames, off)
	}
	number := 0
	for i := 0; i < len(d.Marks); {
		n := d.Marks[i+1]
		var points []int
		for _, step := range d.Marks[i+2 : i+2+n] {
			number += step
			points = append(points, number)
		}
		marks = append(marks, points)
		i += 2 + n
	}
	return frames, marks
}

// unpack reads the data of a script from its page.
func unpack(t *testing.T, html string, v any) {
	t.Helper()
	packed, err := base64.StdEncoding.DecodeString(regexp.MustCompile(`(?s)"text/plain">(.*?)</script>`).FindStringSubmatch(html)[1])
	if err != nil {
		t.Fatal(err)
	}
	if err := json.NewDecoder(flate.NewReader(bytes.NewReader(packed))).Decode(v); err != nil {
		t.Fatal(err)
	}
}

func TestPlayTimes(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 26: 26, 30: 30, 41: 21, 48: 48, 51: 26, 101: 26, 84: 26, 1001: 26} {
		times := playTimes(n)
		if len(times) != want || times[0] != 0 || n > 1 && times[want-1] != 1 {
			t.Errorf("%d frames: %d times, want %d, from %v to %v", n, len(times), want, times[0], times[len(times)-1])
		}
		for k, v := range times {
			if frame := v * float64(n-1); math.Abs(frame-math.Round(frame)) > 1e-9 || k > 0 && v <= times[k-1] {
				t.Errorf("%d frames: time %d is %v", n, k, v)
			}
		}
	}
}

// What a reader can move turns light and dark over with the page, and its page brings a ground of the right colour.
func TestDarkPage(t *testing.T) {
	path := []shape.Shape{ring(8, 0, 0, 2, 1), ring(8, 1, 0, 2, 1)}
	for name, d := range map[string]Drawing{
		"turn": Fig(Ellipsoid(1, 1, 1)), "play": Play(path), "drag": Drag(path, constant(8, 1, 0), 1),
		"slider": Slider("t", []float64{0, 1}, func(i int) *Figure { return Fig(Outline(path[i])) }),
	} {
		file := filepath.Join(t.TempDir(), name+".html")
		if err := Save(file, d); err != nil {
			t.Fatal(err)
		}
		page, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if name != "turn" && !bytes.Contains(page, []byte("ariaValueText = ")) {
			t.Errorf("%s: the slider does not say its value", name)
		}
		for _, part := range []string{"prefers-color-scheme: dark", "data-jp-theme-light=false", `class="viz-ink"`, "color-scheme", "background: canvas"} {
			if !bytes.Contains(page, []byte(part)) {
				t.Errorf("%s: the page lacks %s", name, part)
			}
		}
	}
}

// An animation holds where the moving points stand on the page in every frame, and no more than what moves.
func TestPlay(t *testing.T) {
	var path []shape.Shape
	var arrows []*Layer
	for k := range 51 {
		q := ring(8, float64(k), 0, 10, 5)
		path = append(path, q)
		arrows = append(arrows, Arrows(q, constant(8, 0.1, float64(k)/100)).Label("v"))
	}
	figure := Play(path, Moving(arrows...), Points(path[0]).Label("start")).Unit("mm")
	s, err := figure.sheet()
	if err != nil {
		t.Fatal(err)
	}
	if len(s.panels) != 6 || s.panels[1].scene.title != "t = 0.2" {
		t.Errorf("on paper there are %d moments, the second %q", len(s.panels), s.panels[1].scene.title)
	}
	html := s.extra.html()
	if strings.Contains(html, "http") || strings.Count(html, "<img") != 2 || strings.Contains(html, "drag to turn") || !strings.Contains(html, " data-plays") {
		t.Errorf("the page points elsewhere, has %d pictures, or says that it turns", strings.Count(html, "<img"))
	}
	var d turnData
	unpack(t, html, &d)
	frames, marks := positions(d)
	if !d.Flat || len(frames) != 26 || len(marks) != 2*8+8+1+8 { // shafts and heads, points, the outline and its dots
		t.Fatalf("%d frames of %d marks", len(frames), len(marks))
	}
	a := s.extra.(*animation)
	scene := a.frames[0].panels[0].scene
	still, keys := a.apart()
	turned := still.turned(0)
	p := turned.panels[0]
	frame := p.scene.frame(p.scene.inner(p.at))
	for k := range frames {
		for i, q := range path[2*k] {
			at, number := frame.place(q), marks[24][i]
			x := p.at.Max.X/2 + turned.size.X*vg.Length(d.Scale*float64(frames[k][3*number]))
			y := p.at.Max.Y/2 + turned.size.X*vg.Length(d.Scale*float64(frames[k][3*number+1]))
			if off := (vg.Point{X: x, Y: y}).Sub(at); math.Hypot(float64(off.X), float64(off.Y)) > 0.1 {
				t.Fatalf("frame %d: landmark %d stands at (%v, %v), not %v", k, i, x, y, at)
			}
		}
		if scale := a.frames[k].panels[0].scene.layers[1].scale; scale != scene.layers[1].scale {
			t.Fatalf("frame %d: arrows are scaled by %v, in the first by %v", k, scale, scene.layers[1].scale)
		}
	}
	if len(keys) != 3 {
		t.Error("the page has no legend")
	}
	// What comes before all that moves is part of the still picture.
	beneath := expect.Must(Play(path, Points(path[0])).sheet()).extra.html()
	unpack(t, beneath, &d)
	if _, marks := positions(d); len(marks) != 1+8 {
		t.Errorf("%d marks move, of an outline and its dots", len(marks))
	}
	if alt := s.alt(); !strings.HasPrefix(alt, "Animation, t from 0 to 1. ") {
		t.Error(alt)
	}
	// Where another layer has an entry in the legend the moving shape has one, too.
	for label, want := range map[string][]string{"target": {"target", "moving shape"}, "": nil} {
		var got []string
		for _, k := range expect.Must(Play(path, Outline(path[50]).Label(label)).scene()).legend.keys {
			got = append(got, k.text)
		}
		if !slices.Equal(got, want) {
			t.Errorf("the legend says %q, want %q", got, want)
		}
	}
	// Beside other figures it stands still at its end.
	beside, err := Row(figure, Fig(Outline(path[0]))).sheet()
	if err != nil {
		t.Fatal(err)
	}
	if at := beside.panels[0].scene.marks[16].at[0]; beside.extra != nil || distance(at, path[50][0]) > 0 {
		t.Errorf("beside another figure the shape begins at %v", at)
	}
	// What cannot be moved point by point is shown frame by frame.
	if html = expect.Must(Fig(Moving(Points(path[0]), Points(path[0][1:]), Points(path[0]))).sheet()).extra.html(); strings.Count(html, "<img") != 3 {
		t.Errorf("%d frames as images", strings.Count(html, "<img"))
	}
	for want, figure := range map[string]*Figure{
		"no frames given":                   Play(nil),
		"frame 1 is nil":                    Fig(Moving(Outline(path[0]), nil)),
		"frame 1: Width(-1)":                Fig(Moving(Outline(path[0]), Outline(path[1]).Width(-1))),
		"51 frames, another moving layer 2": Play(path, Moving(arrows[:2]...)),
		"at t = 1: Outline: shape 0, landmark 1 has 1 coordinates": Play([]shape.Shape{path[0], {{1, 2, 3}, {1}}}),
	} {
		expect.Refused(t, expect.Error(figure.sheet()), want)
	}
}

// Every frame of what moves has the colours of its own values, on the ramp of all frames; in HTML, too.
func TestMovingColours(t *testing.T) {
	at := [][]float64{{0, 0}, {1, 1}}
	slow, fast := Points(at).ColorBy("speed", 0, 1), Points(at).ColorBy("speed", 10, 5)
	inks := func(f *Figure, time float64) (out []color.NRGBA) {
		for _, m := range expect.Must(f.moment(time).scene()).marks {
			out = append(out, m.fill)
		}
		return out
	}
	for name, c := range map[string]struct {
		layer  *Layer
		shares [2][2]float64 // of the ramp, at the start and the end
	}{
		"values of each":       {Moving(slow, fast), [2][2]float64{{0, 0.1}, {1, 0.5}}},
		"the first's":          {Moving(slow, Points(at)), [2][2]float64{{0, 1}, {0, 1}}},
		"values given for all": {Moving(slow, fast).ColorBy("height", 3, 2), [2][2]float64{{1, 0}, {1, 0}}},
	} {
		for k, shares := range c.shares {
			if got, want := inks(Fig(c.layer), float64(k)), []color.NRGBA{rampColour(shares[0]), rampColour(shares[1])}; !slices.Equal(got, want) {
				t.Errorf("%s, frame %d: colours %v, not %v", name, k, got, want)
			}
		}
	}
	if got := inks(Fig(Moving(Points(at).Color(Black), fast)), 1); !slices.Equal(got, []color.NRGBA{Black, Black}) {
		t.Errorf("a first frame of one colour: %v", got)
	}
	s := expect.Must(Fig(Moving(slow, fast)).sheet())
	var d turnData
	if unpack(t, s.extra.html(), &d); len(d.Looks) != 2 || len(d.Styles) != 4 || !strings.Contains(s.alt(), "speed: 0 to 10") {
		t.Errorf("%d styles in %d frames, %s", len(d.Styles), len(d.Looks), s.alt())
	}
	expect.Refused(t, expect.Error(Fig(Moving(slow, Points(at).ColorBy("height", 1, 2))).sheet()), `frame 1 is coloured by "height", the first by "speed"`)

	// Lines of equal value lie on the colours of their frame.
	vertices, triangles := [][]float64{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, [][3]int{{0, 1, 2}}
	last := []float64{0, 4, 0}
	moving := expect.Must(Fig(Moving(Density(vertices, triangles, "f", []float64{0, 0, 4}), Density(vertices, triangles, "f", last))).scene())
	still := expect.Must(Fig(Density(vertices, triangles, "f", last)).scene())
	if !slices.EqualFunc(moving.marks, still.marks, mark.looksLike) {
		t.Error("the last frame of a moving density is not the density at the end")
	}
}

// The page of Drag holds what it computes from, and no more than a small script.
func TestDrag(t *testing.T) {
	var path []shape.Shape
	for k := range 5 {
		path = append(path, ring(12, float64(k), 0, 20, 10))
	}
	p := constant(12, 0.5, 0)
	s, err := Drag(path, p, 4).Unit("mm").sheet()
	if err != nil {
		t.Fatal(err)
	}
	html := s.extra.html()
	if strings.Contains(strings.ReplaceAll(html, "http://www.w3.org/", ""), "http") || len(dragScript) > 25000 {
		t.Errorf("the page points elsewhere, or its script of %d bytes is not small", len(dragScript))
	}
	var d struct {
		At         [2]float64
		Unit       float64
		Start, End []float64
		Closed     bool
	}
	if err := json.Unmarshal([]byte(regexp.MustCompile(`(?s)"application/json">(.*?)</script>`).FindStringSubmatch(html)[1]), &d); err != nil {
		t.Fatal(err)
	}
	s = s.withoutKeys() // which stand beside the picture
	scene := s.panels[0].scene
	frame := scene.frame(scene.inner(s.panels[0].at))
	for i, q := range path[4] {
		at := frame.place(q)
		x, y := d.At[0]+d.Unit*d.End[2*i], d.At[1]-d.Unit*d.End[2*i+1]
		if math.Abs(x-float64(at.X)) > 1e-9 || math.Abs(y-float64(s.size.Y-at.Y)) > 1e-9 || d.Start[2*i] != path[0][i][0] || !d.Closed {
			t.Errorf("landmark %d stands at (%v, %v), not %v", i, x, y, at)
		}
	}
	for want, f := range map[string]*Figure{
		"no time given": Drag(nil, p, 1),
		"Drag: a path of one shape: give those from start to end":  Drag(path[:1], p, 1),
		"12×2 landmarks and 11×2 momenta: they must have one size": Drag(path, p[:11], 1),
		"a kernel of width 0: give a positive number":              Drag(path, p, 0),
		"shapes of 3 coordinates":                                  Drag([]shape.Shape{constant(2, 1, 2, 3), constant(2, 1, 2, 3)}, constant(2, 1, 2, 3), 1),
		"100 landmarks: give at most 80":                           Drag([]shape.Shape{ring(100, 0, 0, 1, 1), ring(100, 0, 0, 2, 1)}, constant(100, 1, 1), 1),
	} {
		expect.Refused(t, expect.Error(f.sheet()), want)
	}
}

func TestCameraBack(t *testing.T) {
	c, p := camera{azimuth: 0.7, elevation: -1.1}, []float64{1, -2, 3}
	if d := distance(c.back(c.view(p)), p); d > 1e-12 {
		t.Error(d)
	}
}

// pose turns the axes of a body to x, z and y by their length, without a reflection; and a body in another pose is seen alike.
func TestPose(t *testing.T) {
	var body, moved [][]float64
	for _, p := range ring(200, 0, 0, 2, 1) {
		for z := range 5 {
			q := []float64{p[0] + 0.5*p[0]*p[0], 0.2 * float64(z), 0.7 * p[1] * (1 + 0.2*p[1])}
			body, moved = append(body, q), append(moved, []float64{q[2], 3 + q[0], q[1]})
		}
	}
	one, two := Fig().pose(body).Camera(-90, 0).camera, Fig().pose(moved).Camera(-90, 0).camera
	at, there := one.view([]float64{0, 0, 0}), two.view([]float64{0, 3, 0})
	off := func(a, b []float64) []float64 { return []float64{a[0] - b[0], a[1] - b[1], a[2] - b[2]} }
	for i, p := range body {
		a, b := off(one.view(p), at), off(two.view(moved[i]), there)
		if distance(a, b) > 1e-9 {
			t.Fatalf("point %d is seen at %v, of the body in another pose at %v", i, a, b)
		}
	}
	for axis, want := range []int{0, 2, 1} { // the longest lies to the right, the second up, the shortest towards the reader
		e := make([]float64, 3)
		e[axis] = 1
		if v := off(one.view(e), at); math.Abs(v[want]) < 1-1e-4 {
			t.Errorf("axis %d is seen at %v", axis, v)
		}
	}
	sides := expect.Must(ParseViews("")).Of(Fig(Points(body)).Title("t"), body)
	if len(sides) != 2 || sides[0].title != "t, along main axis 3" || sides[1].title != "t, along main axis 2" || len(Views(nil).Of(Fig(), ring(4, 0, 0, 1, 1))) != 1 {
		t.Error(len(sides))
	}
	named := expect.Must(ParseViews("Lateral, left: -y, top: z, hind: -1")).Of(Fig(Points(body)), body)
	for i, want := range []string{"Lateral (main axis 3)", "left", "top", "hind"} {
		if posed := named[i].camera.posed(); named[i].title != want || posed != (i == 0 || i == 3) {
			t.Errorf("%d: %q, posed %t", i, named[i].title, posed)
		}
	}
	if up := named[1].camera.view([]float64{1, 0, 2}); distance(up, []float64{1, 2, 0}) > 1e-12 {
		t.Errorf("from -y x is not to the right and z not up: %v", up)
	}
	for _, wrong := range []string{"skyward", "a: w", "lateral: 4", ","} {
		expect.Refused(t, expect.Error(ParseViews(wrong)), "the view", "or a name with a direction")
	}
}

// The paper's copy of a slider shows the first frame, the last, and some at equal distances between.
func TestSliderOnPaper(t *testing.T) {
	for _, c := range []struct {
		frames int
		titles string
	}{{1, "0"}, {2, "0 1"}, {5, "0 1 2 3 4"}, {7, "0 2 4 6"}, {11, "0 2 4 6 8 10"}, {12, "0 2 4 6 8 11"}, {13, "0 3 6 9 12"}} {
		values := make([]float64, c.frames)
		for i := range values {
			values[i] = float64(i)
		}
		s, err := Slider("t", values, func(i int) *Figure { return Fig(Outline(ring(8, 0, 0, 1, 1))) }).sheet()
		if err != nil {
			t.Fatal(err)
		}
		var titles []string
		for _, p := range s.panels {
			titles = append(titles, strings.TrimPrefix(p.scene.title, "t = "))
		}
		if got := strings.Join(titles, " "); got != c.titles {
			t.Errorf("%d frames: %s, want %s", c.frames, got, c.titles)
		}
	}
}

func TestSaveAnimation(t *testing.T) {
	values := []float64{1, 2, 3, 4}
	path := filepath.Join(t.TempDir(), "x.gif")
	if err := Save(path, Slider("σ", values, func(i int) *Figure { return Fig(Outline(ring(8, 0, 0, values[i], 1))) })); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := gif.DecodeAll(f)
	if err != nil {
		t.Fatal(err)
	}
	if len(g.Image) != 4 || g.LoopCount != 0 || bytes.Equal(g.Image[0].Pix, g.Image[3].Pix) {
		t.Errorf("%d frames, repeated %d times", len(g.Image), g.LoopCount)
	}
	expect.Refused(t, Save(path, Outline(ring(8, 0, 0, 1, 1))), ".gif")
}

// Few colours are kept as they are; of many, none is far from one of the palette.
func TestPalette(t *testing.T) {
	few, many := image.NewRGBA(image.Rect(0, 0, 10, 10)), image.NewRGBA(image.Rect(0, 0, 128, 128))
	for i := range 100 {
		few.Set(i%10, i/10, color.RGBA{uint8(i % 7), uint8(i % 5), 200, 255})
	}
	for x := range 128 {
		for y := range 128 {
			many.Set(x, y, color.RGBA{uint8(2 * x), uint8(2 * y), uint8(x + y), 255})
		}
	}
	for _, c := range []struct {
		picture *image.RGBA
		most    int
	}{{few, 0}, {many, 24}} {
		colours := paletteOf(c.picture)
		got, worst := indexed(c.picture, colours), 0
		for i := 0; i < len(c.picture.Pix); i += 4 {
			r, g, b, _ := colours[got.Pix[i/4]].RGBA()
			for k, v := range []uint32{r, g, b} {
				d := int(v>>8) - int(c.picture.Pix[i+k])
				worst = max(worst, d, -d)
			}
		}
		if len(colours) > 256 || worst > c.most || colours.Convert(color.White) != (color.RGBA{0xff, 0xff, 0xff, 0xff}) {
			t.Errorf("%d colours, one is off by %d", len(colours), worst)
		}
	}
}

// A slider over figures in space that differ in where their marks are is one that can be turned: the page holds the marks
// once, and where they are in every frame.
func TestSliderInSpace(t *testing.T) {
	vertices, triangles := Tessellate(func(u, v float64) []float64 {
		return []float64{math.Cos(u) * math.Sin(v), math.Sin(u) * math.Sin(v), math.Cos(v)}
	}, [2]float64{0, 2 * math.Pi}, [2]float64{0.1, 3}, 12, 8)
	values := []float64{-2, -1, 0, 1.5}
	at := func(i int, x []float64) []float64 {
		return []float64{x[0] * (3 + values[i]), x[1], x[2] + 0.2*values[i]*x[0]*x[0]}
	}
	frame := func(i int) *Figure {
		var moved [][]float64
		var height []float64
		for _, x := range vertices {
			y := at(i, x)
			moved, height = append(moved, y), append(height, y[2])
		}
		return Fig(Mesh(moved, triangles).ColorBy("height", height...), Lines(moved[:9]).Color(Black))
	}
	path := filepath.Join(t.TempDir(), "mode.html")
	if err := Save(path, Slider("c", values, frame)); err != nil {
		t.Fatal(err)
	}
	html := string(expect.Must(os.ReadFile(path)))
	if strings.Count(html, "<canvas") != 1 || strings.Count(html, "<input") != 1 || !strings.Contains(html, "c = 1.5") {
		t.Fatalf("%d canvases, %d sliders", strings.Count(html, "<canvas"), strings.Count(html, "<input"))
	}
	var d turnData
	unpack(t, html, &d)
	if len(d.Frames) != len(values) || len(d.Bodies) != 1 || len(d.Bodies[0].Tones) != len(values) {
		t.Fatalf("%d frames, %d bodies", len(d.Frames), len(d.Bodies))
	}
	frames, marks := positions(d)
	last := marks[len(marks)-1] // the line; its points move as the first vertices do
	unit := 0.0
	for k, off := range frames {
		point := func(j int) []float64 {
			return []float64{float64(off[3*last[j]]), float64(off[3*last[j]+1]), float64(off[3*last[j]+2])}
		}
		if k == 0 {
			unit = distance(at(0, vertices[0]), at(0, vertices[8])) / distance(point(0), point(8))
		}
		for j := range last {
			for c := range 3 {
				want := (at(k, vertices[j])[c] - at(0, vertices[0])[c]) / unit
				got := point(j)[c] - float64(frames[0][3*last[0]+c])
				if math.Abs(got-want) > 5 { // of 4096
					t.Errorf("frame %d, point %d: %v, want %v", k, j, got, want)
				}
			}
		}
		tones := d.Bodies[0].Tones[k]
		for i := 1; i < len(tones); i++ {
			tones[i] += tones[i-1]
		}
		low, high := at(k, vertices[0])[2], at(k, vertices[8])[2] // the ends of the line
		if got := tones[0] - tones[8]; got <= 0 || low <= high {
			t.Errorf("frame %d: from %v to %v tones fall by %d", k, low, high, got)
		}
	}

	// Seen from several sides, or with words that differ, it is a film.
	for name, f := range map[string]func(i int) *Figure{
		"cameras": func(i int) *Figure { return frame(i).Camera(float64(10*i), 20) },
		"titles":  func(i int) *Figure { return frame(i).Title(fmt.Sprint(i)) },
		"units":   func(i int) *Figure { return frame(i).Unit([]string{"mm", "cm"}[i%2]) },
		"factors": func(i int) *Figure {
			return Fig(Points(vertices), Arrows(vertices[:1], [][]float64{{1, 0, 0}}).Scale(float64(i+1)))
		},
	} {
		if err := Save(path, Slider("c", values, f)); err != nil {
			t.Fatal(err)
		}
		if html := string(expect.Must(os.ReadFile(path))); strings.Contains(html, "<canvas") || strings.Count(html, "<img") != len(values) {
			t.Errorf("a slider over %s is turned", name)
		}
	}
}
