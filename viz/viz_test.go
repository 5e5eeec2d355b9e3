package viz

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/recorder"
	"gonum.org/v1/plot/vg/vgimg"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/geom/tree"
)

var update = flag.Bool("update", false, "write the golden pictures anew")

// ring returns n points on an ellipse about (x, y).
func ring(n int, x, y, a, b float64) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		out[i] = []float64{x + a*cos, y + b*sin*(1+0.3*cos)}
	}
	return out
}

func constant(n int, v ...float64) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func ramp(n int, f func(i float64) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(float64(i))
	}
	return out
}

// gallery is a figure of every kind of layer.
func gallery() map[string]Drawing {
	q := ring(24, 10, 5, 20, 8)
	path := make([]shape.Shape, 11)
	for t := range path {
		path[t] = ring(12, 10+float64(t)/2, 5, 20, 8+float64(t)/3)
	}
	lines := Lattice(16, q)
	for _, l := range lines {
		for _, p := range l {
			p[1] += 2 * math.Sin(p[0]/8)
		}
	}
	covariances := make([][][]float64, 3)
	for i := range covariances {
		covariances[i] = [][]float64{{2, 1}, {1, 1 + float64(i)}}
	}
	iterations := ramp(30, func(i float64) float64 { return i })
	loss := func(f float64) []float64 { return ramp(30, func(i float64) float64 { return f * math.Exp(-0.4*i) }) }
	sphere := func(u, v float64) []float64 {
		sin, cos := math.Sincos(v)
		return []float64{sin * math.Cos(u), sin * math.Sin(u), cos}
	}
	vertices, triangles := Tessellate(sphere, [2]float64{0, 2 * math.Pi}, [2]float64{0, math.Pi}, 24, 12)
	heights := make([]float64, len(vertices))
	for i, p := range vertices {
		heights[i] = p[2]
	}
	circle := make([][]float64, 61)
	for i := range circle {
		circle[i] = []float64{math.Cos(math.Pi * float64(i) / 30), math.Sin(math.Pi * float64(i) / 30), 0}
	}
	equator := make([][]float64, 0, len(circle))
	for _, p := range circle {
		equator = append(equator, []float64{2 * p[0], p[1], 0})
	}
	heads, nodes := make([]shape.Shape, 10), ring(10, 0, 0, 2, 1)
	for i := range heads {
		heads[i] = ring(12, 0, 0, 3, 1+0.2*float64(i))
	}
	heads[2] = nil
	return map[string]Drawing{
		"shapes": Fig(Grid(lines...), Region(q).Color(Sky), Outline(q).Label("q₀, σ = 2½ mm"), Numbers(q),
			Arrows(q, constant(24, 0.1, 0.05)).Label("v₂").Color(Black)).Unit("mm").Title("A shape and a tangent vector"),
		"panels": Row(
			Fig(Trajectories(path), Ellipses(path[10][:3], covariances).Color(Vermilion).Label("Σ").Scale(2)).Title("(a)"),
			Fig(Outline(path...).Label("sample"), Outline(q).Color(Black).Label("mean"), Lines(q[:5]).Dashed()).Unit("mm").NoAxes().Title("(b)"),
		).SharedAxes(),
		"play": Play(path, Lines(q[:5]).Label("still")).Unit("mm").NoAxes(),
		"drag": Drag(path, constant(12, 0.1, 0.2), 8).Unit("mm"),
		"chart": Fig(Band(iterations, loss(0.5), loss(2)), Series(iterations, loss(1)).Label("∇E").Color(Vermilion),
			Scatter(iterations[:5], loss(1)[:5]), HLine(1e-4).Label("10⁻⁴")).LogY().XLabel("iteration").YLabel("‖Exp(v) − q₁‖²"),
		"histogram": Fig(Histogram(ramp(50, math.Sqrt), 8).Label("√i"), VLine(4)).YLabel("density"),
		"space": Fig(Mesh(vertices, triangles).ColorBy("z", heights...), Lines(circle).Color(Black),
			Arrows([][]float64{{1, 0, 0}}, [][]float64{{0, 0, 0.5}}).Color(Vermilion)).Unit("mm").Size(6, 0),
		"density": Fig(Density(vertices, triangles, "height (mm)", heights).Label("sphere"), Arrows([][]float64{{1, 0, 0}}, [][]float64{{0, 0, 0.5}}).Color(Vermilion).Label("v")).Size(6, 0),
		"tree":    Row(Fig(Tree(species(), heads...)).XLabel("length (million years)"), Fig(Phylomorphospace(species(), nodes).ColorBy("time", species().Height()...)).XLabel("PC 1")),
		"surface": Fig(Ellipsoid(2, 1, 1), Points(equator).Label("equator")).Camera(60, 30),
	}
}

// species is a tree of ten nodes, a polytomy among them.
func species() *tree.Tree {
	return expect.Must(tree.Parse("(A:3,((Plethodon_cinereus:1,'P. virginia':2):0.5,(C:0,D:1,E:2):0.4)x:1);"))
}

func raster(t *testing.T, d Drawing, dpi int) image.Image {
	t.Helper()
	s, err := d.sheet()
	if err != nil {
		t.Fatal(err)
	}
	data := s.png(dpi)
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// unlike returns the share of pixels in which a channel differs by more than an eighth.
func unlike(a, b image.Image) float64 {
	if a.Bounds() != b.Bounds() {
		return 1
	}
	n, size := 0, a.Bounds().Size()
	for y := range size.Y {
		for x := range size.X {
			p, q := color.NRGBAModel.Convert(a.At(x, y)).(color.NRGBA), color.NRGBAModel.Convert(b.At(x, y)).(color.NRGBA)
			for _, d := range []int{int(p.R) - int(q.R), int(p.G) - int(q.G), int(p.B) - int(q.B)} {
				if d > 32 || d < -32 {
					n++
					break
				}
			}
		}
	}
	return float64(n) / float64(size.X*size.Y)
}

func TestGolden(t *testing.T) {
	for name, d := range gallery() {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", name+".png")
			if *update {
				s, err := d.sheet()
				if err != nil {
					t.Fatal(err)
				}
				data := s.png(80)
				if err := os.WriteFile(file, data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := png.Decode(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			if share := unlike(raster(t, d, 80), want); share > 0.002 {
				t.Errorf("%.2g %% of the pixels differ from %s; look at both, then -update", 100*share, file)
			}
		})
	}
}

// Every drawing becomes a file of each format, without letters that need a font and of a size that a report can hold.
func TestFormats(t *testing.T) {
	dir := t.TempDir()
	for name, d := range gallery() {
		for _, ext := range []string{".png", ".svg", ".pdf"} {
			path := filepath.Join(dir, name+ext)
			if err := Save(path, d); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if len(data) < 1000 || len(data) > 600_000 {
				t.Errorf("%s has %d bytes", path, len(data))
			}
			switch ext {
			case ".svg":
				if bytes.Count(data, []byte("<image")) != bytes.Count(data, []byte(`<image preserveAspectRatio="none"`)) {
					t.Errorf("%s: an image keeps the ratio of its pixels, so that a colour bar of one row is not seen", path)
				}
				if bytes.Contains(data, []byte("<text")) || bytes.Contains(data, []byte("image/jpg")) || bytes.Contains(data, []byte(",NaN")) {
					t.Errorf("%s holds letters, a wrong image type or NaN", path)
				}
			case ".pdf":
				if !bytes.HasPrefix(data, []byte("%PDF")) {
					t.Errorf("%s is no PDF", path)
				}
			case ".png":
				// 300 dots an inch are 11811 a metre
				if i := bytes.Index(data, []byte("pHYs")); i < 0 || binary.BigEndian.Uint32(data[i+4:]) != 11811 {
					t.Errorf("%s does not state its resolution", path)
				}
			}
		}
	}
}

// A data unit measures the same along x and y in every figure of shapes, and all data lie inside the axes.
func TestEqualAxes(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		points := make([][]float64, 5)
		scale, stretch := math.Exp(random.NormFloat64()*8), math.Exp(random.NormFloat64()*2)
		for i := range points {
			points[i] = []float64{scale * random.NormFloat64(), scale * stretch * random.NormFloat64()}
		}
		f := Fig(Points(points).Label("q₀")).Size(4+10*random.Float64(), []float64{0, 5}[random.IntN(2)]).Unit("mm")
		s, err := f.scene()
		if err != nil {
			t.Fatal(err)
		}
		sheet, err := f.sheet()
		if err != nil {
			t.Fatal(err)
		}
		frame := s.frame(s.inner(vg.Rectangle{Max: sheet.size}))
		one := frame.place([]float64{s.bounds.lo[0] + scale, s.bounds.lo[1] + scale}).Sub(frame.place([]float64{s.bounds.lo[0], s.bounds.lo[1]}))
		perX, perY := float64(one.X), float64(one.Y)
		expect.Rel(t, "points of a unit along x and y", perX, perY, 1e-9)
		for _, q := range points {
			if at := frame.place(q); at.X < frame.area.Min.X || at.X > frame.area.Max.X || at.Y < frame.area.Min.Y || at.Y > frame.area.Max.Y {
				t.Fatalf("%v lies at %v, outside %v", q, at, frame.area)
			}
		}
	}
}

// The legend hides no data: where it goes, the picture of the data alone is white.
func TestLegendLeavesDataFree(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	inside := 0
	for range 60 {
		points := make([][]float64, 2+random.IntN(200))
		for i := range points {
			points[i] = []float64{random.Float64(), random.Float64()}
		}
		figure := Fig(Points(points).Label("a sample"), Region(points[:2], ring(8, 0.5, 0.5, 0.3, 0.3)).Label("regions"), Numbers(points[:2]))
		s, err := figure.scene()
		if err != nil {
			t.Fatal(err)
		}
		page := vg.Rectangle{Max: vg.Point{X: 8 * cm, Y: s.naturalHeight(8 * cm)}}
		if s.outside {
			continue
		}
		inside++
		frame := s.frame(s.inner(page))
		all := s.stamps(frame)
		r, ok := s.legendPlace(frame)
		if !ok {
			t.Fatal("the legend was said to fit")
		}
		sheet := vgimg.NewWith(vgimg.UseWH(page.Max.X, page.Max.Y), vgimg.UseDPI(72), vgimg.UseBackgroundColor(color.White))
		ink(sheet, all)
		img := sheet.Image()
		height := img.Bounds().Dy()
		for x := int(r.Min.X); x <= int(r.Max.X); x++ {
			for y := int(r.Min.Y); y <= int(r.Max.Y); y++ {
				if v := color.GrayModel.Convert(img.At(x, height-1-y)).(color.Gray).Y; v != 255 {
					t.Fatalf("the legend at %v covers ink at (%d, %d)", r, x, y)
				}
			}
		}
	}
	if inside < 10 || inside == 60 {
		t.Fatalf("%d of 60 legends are inside: the test must see both", inside)
	}
}

// Numbers stand beside the line through their points, also where these lie at unequal distances and so push each other along it.
func TestNumbersLeaveLinesFree(t *testing.T) {
	var q [][]float64
	for i := range 40 {
		sin, cos := math.Sincos(2 * math.Pi * (float64(i) + 0.3*float64(i%2)) / 40)
		q = append(q, []float64{cos * (1 + 0.3*cos), 0.5 * sin})
	}
	s, err := Fig(Grid(Lattice(10, q)...), Outline(q), Numbers(q)).scene()
	if err != nil {
		t.Fatal(err)
	}
	page := vg.Rectangle{Max: vg.Point{X: 8.5 * cm, Y: s.naturalHeight(8.5 * cm)}}
	frame := s.frame(s.inner(page))
	all := s.stamps(frame)
	drawn := stainOf(frame.area, slices.DeleteFunc(slices.Clone(all), func(m stamp) bool { return m.text != "" || m.stroke.Color == LightGrey }))
	texts := 0
	for _, m := range all {
		if m.text != "" {
			half := textBox(m.text).Scale(0.5).Sub(vg.Point{X: 2, Y: 2})
			if drawn.covered(vg.Rectangle{Min: m.at[0].Sub(half), Max: m.at[0].Add(half)}) > 0 {
				t.Errorf("the number %s at %v is drawn over the outline", m.text, m.at[0])
			}
			texts++
		}
	}
	if texts != len(q) {
		t.Errorf("%d numbers", texts)
	}
}

// The pieces of which a line in colours, and a line in space, is made leave no paper between them.
func TestLinesHaveNoSeams(t *testing.T) {
	grey := func(c color.Color) float64 { return float64(color.GrayModel.Convert(c).(color.Gray).Y) }
	for dim := 2; dim <= 3; dim++ {
		path := make([]shape.Shape, 361)
		for k := range path {
			path[k] = [][]float64{make([]float64, dim)}
			path[k][0][1] = float64(k) // along the page, seen from the x axis, too
			if dim == 2 {
				path[k][0] = []float64{float64(k), 0.1 * float64(k)}
			}
		}
		s, err := Fig(Trajectories(path)).NoAxes().Camera(0, 0).scene()
		if err != nil {
			t.Fatal(err)
		}
		page := vg.Rectangle{Max: vg.Point{X: 8 * cm, Y: 8 * cm}}
		sheet := vgimg.NewWith(vgimg.UseWH(page.Max.X, page.Max.Y), vgimg.UseDPI(screenDots), vgimg.UseBackgroundColor(color.White))
		ink(sheet, s.stamps(s.frame(page)))
		img := sheet.Image()
		size := img.Bounds().Size()
		var darkest []float64 // of each column that the line runs through
		for x := range size.X {
			least := 255.0
			for y := range size.Y {
				least = math.Min(least, grey(img.At(x, y)))
			}
			if least < 240 {
				darkest = append(darkest, least)
			}
		}
		for i, v := range darkest[20 : len(darkest)-20] { // between the dots
			if at := float64(i+20) / float64(len(darkest)); math.Abs(v-grey(rampColour(at))) > 12 {
				t.Fatalf("in %d dimensions, at %.3f of the line: lightness %v, want %v", dim, at, v, grey(rampColour(at)))
			}
		}
	}
}

// A filled polygon stains the cells whose middle lies inside by the even-odd rule, also where it crosses itself or reaches
// beyond the area, and takes hardly longer than its outline.
func TestStainOfPolygon(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	area := vg.Rectangle{Min: vg.Point{X: 10, Y: 20}, Max: vg.Point{X: 110, Y: 90}}
	for range 100 {
		at := make([]vg.Point, 3+random.IntN(9))
		for i := range at {
			at[i] = vg.Point{X: vg.Length(200*random.Float64() - 40), Y: vg.Length(random.IntN(120) - 20)} // many in the middle of a row
		}
		s := stainOf(area, nil)
		s.polygon(at)
		for k, got := range s.cells {
			x, y := area.Min.X+cell*(vg.Length(k%s.w)+0.5), area.Min.Y+cell*(vg.Length(k/s.w)+0.5)
			want := false
			for i, a := range at {
				b := at[(i+1)%len(at)]
				if (a.Y > y) != (b.Y > y) && x < a.X+(y-a.Y)/(b.Y-a.Y)*(b.X-a.X) {
					want = !want
				}
			}
			if got != want {
				t.Fatalf("%v: the cell at (%v, %v) is stained: %v", at, x, y, got)
			}
		}
	}
	circle := stamp{closed: true}
	for _, p := range ring(20000, 60, 55, 45, 30) {
		circle.at = append(circle.at, vg.Point{X: vg.Length(p[0]), Y: vg.Length(p[1])})
	}
	seconds := func(fill color.NRGBA) float64 {
		circle.fill = fill
		least := math.Inf(1)
		for range 3 {
			start := time.Now()
			stainOf(area, []stamp{circle})
			least = math.Min(least, time.Since(start).Seconds())
		}
		return least
	}
	if line, filled := seconds(color.NRGBA{}), seconds(Blue); filled > 10*line {
		t.Errorf("a polygon takes %v s, its outline %v", filled, line)
	}
}

func TestErrors(t *testing.T) {
	q := ring(5, 0, 0, 1, 1)
	bad := ring(5, 0, 0, 1, 1)
	bad[3][1] = math.NaN()
	inf := ring(5, 0, 0, 1, 1)
	inf[2][0] = math.Inf(1)
	ragged := ring(5, 0, 0, 1, 1)
	ragged[4] = []float64{1, 2, 3}
	solid := constant(5, 1, 2, 3)
	for _, c := range []struct {
		drawing Drawing
		want    string
	}{
		{Outline(q, bad), "Outline: shape 1, landmark 3: coordinate y is NaN"},
		{Points(inf), "Points: shape, landmark 2: coordinate x is +Inf"},
		{Outline(ragged), "Outline: shape 0, landmark 4 has 3 coordinates, landmark 0 has 2"},
		{Outline(), "no shape given"},
		{Outline(q, [][]float64{}), "shape 1 has no points"},
		{Points([][]float64{{1}}), "landmark 0 has 1 coordinates"},
		{Points([][]float64{{1, 2, 3, 4}}), "landmark 0 has 4 coordinates"},
		{Outline(q, solid), "shape 1 has 3 coordinates a landmark, shape 0 has 2"},
		{Fig(Outline(q), Points(solid)), "Points has 3 coordinates, Outline has 2"},
		{Fig(), "nothing to draw"},
		{Fig(Outline(q), nil), "layer 1 is nil"},
		{Arrows(q, q[:4]), "5×2 foot points and 4×2 vectors"},
		{Arrows(q, bad), "vectors, landmark 3: coordinate y is NaN"},
		{Arrows(q, q).Scale(0), "Scale(0): give a positive number"},
		{Outline(q).Scale(2), "Scale means nothing to this layer"},
		{Outline(q).ColorBy("t", 1, 2), "2 values for 1 items"},
		{Points(q).ColorBy("t", 1, 2, 3, math.NaN(), 5), "value 3 is NaN"},
		{Series(nil, nil), "no values"},
		{Arrows(nil, nil).ColorBy("t"), "Arrows: foot points has no points"},
		{Trajectories(nil), "no time given"},
		{HLine(1).ColorBy("t"), "ColorBy means nothing"},
		{Outline(q).Width(-1), "Width(-1)"},
		{Outline(q).Opacity(2), "Opacity(2)"},
		{Numbers(constant(501, 1, 2)), "501 landmarks"},
		{Trajectories([]shape.Shape{q, q[:4]}), "time 1 has 4 landmarks, time 0 has 5"},
		{Ellipses(q, nil), "5 centres and 0 covariance"},
		{Ellipses(q[:1], [][][]float64{{{1, 2}, {2, 1}}}), "covariance 0: [[1 2] [2 1]] is not positive definite"},
		{Ellipses(q[:1], [][][]float64{{{1, 2}, {0, 9}}}), "not symmetric"},
		{Ellipses(solid[:1], [][][]float64{{{1, 0}, {0, 1}}}), "need centres of 2 coordinates"},
		{Series([]float64{1, 2}, []float64{1}), "2 values of x, 1 of y"},
		{Series([]float64{1}, []float64{math.Inf(-1)}), "value 0 is (1, -Inf)"},
		{Fig(Series([]float64{1, 2}, []float64{1, 0})).LogY(), "Series: value 1 has y = 0 on a logarithmic axis"},
		{Fig(Outline(q)).LogX(), "shapes keep axes of equal scale"},
		{Band([]float64{1}, []float64{2}, []float64{1}), "value 0: the lower end 2 lies above the upper 1"},
		{Histogram(nil, 0), "no values"},
		{Histogram([]float64{1}, -1), "-1 bins"},
		{HLine(math.NaN()), "the value is NaN"},
		{Mesh(solid, [][3]int{{0, 1, 5}}), "triangle 0: vertex 5 of 5 does not exist"},
		{Mesh(q, [][3]int{{0, 1, 2}}), "a surface needs 3"},
		{Region(solid), "areas, names, captions and glyphs are for flat figures"},
		{Density(solid, [][3]int{{0, 1, 2}}, "f", nil), "no values"},
		{Density(solid, [][3]int{{0, 1, 2}}, "f", []float64{1, 2}), "2 values for 5 items"},
		{Points([][]float64{{-1e308, 0}, {1e308, 0}}), "span more than can be drawn"},
		{Fig(Outline(q)).Size(0, 0), "Size(0, 0)"},
		{Fig(Outline(q)).Camera(math.NaN(), 0), "Camera(NaN, 0)"},
		{Fig(Outline(q).Label("one"), Outline(q).Label("two")).Size(2, 2).Title("t").Unit("mm"), "no room"},
		{Row(), "0 figures in 0 columns"},
		{Row(Fig(Outline(q)), Fig(Outline(bad))), "figure 1: Outline: shape 0, landmark 3"},
		{Row(Fig(Outline(q)), Fig(HLine(1))).SharedAxes(), "figure 1: shared axes need panels of one kind"},
		{Slider("t", nil, nil), "0 values"},
		{newLayer(traits{name: "Mine"}, func(c *canvas) { c.line(bad, false, pen{}) }), "Mine: mark 0, landmark 3: coordinate y is NaN"},
	} {
		path := filepath.Join(t.TempDir(), "x.png")
		err := Save(path, c.drawing)
		expect.Refused(t, err, c.want)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a file was written", c.want)
		}
		func() {
			defer func() {
				if p := recover(); p == nil || !strings.Contains(fmt.Sprint(p), c.want) {
					t.Errorf("Show: got %v, want …%s…", p, c.want)
				}
			}()
			Show(c.drawing)
		}()
	}
	expect.Refused(t, Save(filepath.Join(t.TempDir(), "x.png"), Outline(q), Fig(Outline(q))), "different kinds")
	expect.Refused(t, Save(filepath.Join(t.TempDir(), "x.png"), Outline(q), nil), "drawing 1 is nil")
}

// Points that all coincide, huge and tiny coordinates, and shapes far from the origin are drawn.
func TestDegenerate(t *testing.T) {
	for _, q := range []shape.Shape{{{0, 0}}, {{5, 5}, {5, 5}}, {{1e12, 0}, {1e12 + 1, 1}}, {{1e-200, 0}, {0, 1e-200}}, {{1e150, 0}, {0, 1e150}}, {{3, 1}, {4, 1}}, {{1, 1, 1}}, {{1, 2, 3}, {1, 2, 3}}} {
		zero := make([][]float64, len(q))
		for i := range zero {
			zero[i] = make([]float64, len(q[0]))
		}
		img := raster(t, Fig(Outline(q).Label("q"), Points(q), Arrows(q, zero)).Unit("mm"), 72)
		if img.Bounds().Dx() != 241 {
			t.Errorf("%v: the picture is %d pixels wide", q, img.Bounds().Dx())
		}
	}
}

func TestSaveKeepsOldFileOnError(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.svg")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Save(path, Points([][]float64{{math.NaN(), 0}})); err == nil {
		t.Fatal("no error")
	}
	if data, _ := os.ReadFile(path); string(data) != "old" {
		t.Errorf("the file holds %q", data)
	}
	expect.Refused(t, Save(filepath.Join(dir, "x.bmp"), Points([][]float64{{1, 0}})), ".png, .svg or .pdf")
	if err := Save(filepath.Join(dir, "none", "x.png"), Points([][]float64{{1, 0}})); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

// What lies behind the sphere is hidden, what lies before it shows, also where it touches.
func TestHiddenParts(t *testing.T) {
	red := color.NRGBA{0xff, 0, 0, 0xff}
	reds := func(p ...float64) int {
		img := raster(t, Fig(Points([][]float64{p}).Color(red).Width(8), Ellipsoid(1, 1, 1)).Camera(0, 0), 72)
		n, size := 0, img.Bounds().Size()
		for y := range size.Y {
			for x := range size.X {
				if color.NRGBAModel.Convert(img.At(x, y)) == red {
					n++
				}
			}
		}
		return n
	}
	for _, c := range []struct {
		at    []float64
		shown bool
	}{{[]float64{1, 0, 0}, true}, {[]float64{-1, 0, 0}, false}, {[]float64{0.8, 0.5, 0.33}, true}, {[]float64{-0.8, 0.5, 0.33}, false}, {[]float64{0, 0, 0}, false}, {[]float64{0.9, 0, 0}, false}, {[]float64{0.5, 0.8, 0.3}, true}, {[]float64{-0.1, 0.9, 0.3}, false}, {[]float64{-2, 1.2, 0}, true}} {
		if n := reds(c.at...); (n > 20) != c.shown {
			t.Errorf("a point at %v shows in %d pixels; shown should be %v", c.at, n, c.shown)
		}
	}
}

func TestCamera(t *testing.T) {
	for _, c := range []struct {
		azimuth, elevation float64
		towards            []float64
	}{{0, 0, []float64{1, 0, 0}}, {90, 0, []float64{0, 1, 0}}, {0, 90, []float64{0, 0, 1}}} {
		cam := Fig().Camera(c.azimuth, c.elevation).camera
		if v := cam.view(c.towards); distance(v, []float64{0, 0, 1}) > 1e-15 {
			t.Errorf("%v seen from there is %v", c.towards, v)
		}
		p := []float64{1, 2, 3}
		expect.Abs(t, "distance", distance(cam.view(p), []float64{0, 0, 0}), math.Sqrt(14), 1e-14)
	}
}

// Arrows are as long as the vectors times the factor that the legend states.
func TestArrowScale(t *testing.T) {
	q := ring(12, 0, 0, 50, 50) // 100 across
	for _, c := range []struct {
		length, given, want float64
		legend              string
	}{{10, 0, 1, ""}, {30, 0, 1, ""}, {1, 0, 20, "v (×20)"}, {0.01, 0, 2000, "v (×2000)"}, {500, 0, 0.02, "v (×0.02)"}, {0.01, 1, 1, "v"}, {10, 3, 3, "v (×3)"}} {
		l := Arrows(q, constant(12, c.length, 0)).Label("v")
		if c.given > 0 {
			l.Scale(c.given)
		}
		s, err := Fig(Outline(q), l).scene()
		if err != nil {
			t.Fatal(err)
		}
		if c.legend == "" {
			c.legend = "v"
		}
		if s.legend.keys[0].text != c.legend {
			t.Errorf("length %v: the legend says %q, not %q", c.length, s.legend.keys[0].text, c.legend)
		}
		arrows := 0
		for _, m := range s.marks {
			if m.kind == arrowMark {
				arrows++
				expect.Rel(t, "length of an arrow", m.at[1][0]-m.at[0][0], c.want*c.length, 1e-12)
			}
		}
		if arrows != 12 {
			t.Errorf("%d arrows", arrows)
		}
	}
}

// Points of the ellipse satisfy (x−c)ᵀ Σ⁻¹ (x−c) = f².
func TestEllipse(t *testing.T) {
	s := [][]float64{{3, -1}, {-1, 2}}
	points, err := ellipse([]float64{5, 6}, s, 2)
	if err != nil {
		t.Fatal(err)
	}
	det := s[0][0]*s[1][1] - s[0][1]*s[1][0]
	for _, p := range points {
		x, y := p[0]-5, p[1]-6
		expect.Abs(t, "f²", (s[1][1]*x*x-2*s[0][1]*x*y+s[0][0]*y*y)/det, 4, 1e-13)
	}
}

// The histogram's bars have area 1 and together hold every value.
func TestHistogram(t *testing.T) {
	for _, bins := range []int{0, 1, 7} {
		l := Histogram([]float64{1, 2, 2, 3, 3, 3, 10, -4}, bins)
		s, err := Fig(l).scene()
		if err != nil {
			t.Fatal(err)
		}
		area, bars := 0.0, 0
		for _, m := range s.marks {
			if m.kind == areaMark {
				area += (m.at[2][0] - m.at[0][0]) * m.at[1][1]
				bars++
			}
		}
		if math.Abs(area-1) > 1e-14 || bins > 0 && bars != bins {
			t.Errorf("%d bins: area %v in %d bars", bins, area, bars)
		}
	}
}

// Values of which most are alike have bars, too: at least as many as Sturges' rule gives, the highest where most values are.
func TestHistogramOfTies(t *testing.T) {
	inflated := append(make([]float64, 70), ramp(30, func(i float64) float64 { return -math.Log(1 - i/30) })...)
	for name, c := range map[string]struct {
		values []float64
		least  int
	}{"five of six": {[]float64{1, 1, 1, 1, 1, 2}, 4}, "zeros": {inflated, 8}, "one far away": {append(make([]float64, 500), 1), 10}, "large": {[]float64{1e200, 1e200, 1e200, 1e200, 1e200, 2e200}, 4}} {
		var heights []float64
		for _, m := range expect.Must(Fig(Histogram(c.values, 0)).scene()).marks {
			if m.kind == areaMark {
				heights = append(heights, m.at[1][1])
			}
		}
		if len(heights) < c.least || len(heights) > 200 || slices.Max(heights) != heights[0] {
			t.Errorf("%s: bars of the heights %v", name, heights)
		}
	}
}

// A lattice holds the shapes, its cells are square, and its lines join at their ends.
func TestLattice(t *testing.T) {
	q := ring(9, 3, 4, 10, 5)
	lines := Lattice(10, q)
	b, inner := boxOf(lines...), boxOf(q)
	for k := range 2 {
		if b.lo[k] >= inner.lo[k] || b.hi[k] <= inner.hi[k] {
			t.Errorf("axis %d: %v to %v does not hold %v to %v", k, b.lo[k], b.hi[k], inner.lo[k], inner.hi[k])
		}
	}
	vertical := 0
	for _, l := range lines {
		if l[0][0] == l[1][0] {
			vertical++
		}
	}
	wide, high := b.size(0)/float64(vertical-1), b.size(1)/float64(len(lines)-vertical-1)
	expect.Rel(t, "width and height of a cell", wide, high, 1e-12)
}

func TestTicks(t *testing.T) {
	labels := func(lo, hi, step float64) (out string) {
		for _, k := range multiples(lo, hi, step) {
			out += k.Label + " "
		}
		return out
	}
	for _, c := range []struct {
		lo, hi, step float64
		want         string
	}{
		{-41, 40, 20, "−40 −20 0 20 40 "},
		{0, 1, 0.5, "0.0 0.5 1.0 "},
		{-0.1, 0.15, 0.1, "−0.1 0.0 0.1 "},
		{0, 2.1e-5, 1e-5, "0 1·10⁻⁵ 2·10⁻⁵ "},
		{0, 2.5e7, 1e7, "0 1·10⁷ 2·10⁷ "},
	} {
		if got := labels(c.lo, c.hi, c.step); got != c.want {
			t.Errorf("%v to %v: %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
	var got string
	for _, k := range decades(1e-9, 1, 4) {
		got += k.Label + " "
	}
	if want := "10⁻⁹ 10⁻⁶ 10⁻³ 10⁰"; strings.Join(strings.Fields(got), " ") != want {
		t.Errorf("decades: %q, want %q", got, want)
	}
	for _, c := range []struct {
		lo, hi float64
		want   string
	}{{0.4, 30, "0.5 1 2 5 10 20"}, {0.02, 5000, "0.1 1 10 100 1000"}, {1, 2, "1.0 1.2 1.4 1.6 1.8 2.0"}, {1e-6, 8e-6, "10⁻⁶ 2·10⁻⁶ 5·10⁻⁶"}} {
		got = ""
		for _, k := range decades(c.lo, c.hi, 5) {
			got += k.Label + " "
		}
		if got := strings.Join(strings.Fields(got), " "); got != c.want {
			t.Errorf("decades %v to %v: %q, want %q", c.lo, c.hi, got, c.want)
		}
	}
	for _, c := range []struct {
		label  string
		lo, hi float64
		want   string
	}{
		{"angle (°)", -180, 180, "−180 −90 0 90 180 "},
		{"angle in degrees", -180, 180, "−180 −90 0 90 180 "},
		{"angle (degrees)", 0, 10000, "0 5000 10000 "},
		{"temperature (°C)", -180, 180, "−100 0 100 "},
		{"degrees of freedom", 0, 350, "0 100 200 300 "},
	} {
		s := expect.Must(Fig(Series([]float64{c.lo, c.hi}, []float64{0, 1})).XLabel(c.label).scene())
		got = ""
		for _, k := range s.frame(vg.Rectangle{Max: vg.Point{X: 200, Y: 150}}).ticks[0] {
			got += k.Label + " "
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.label, got, c.want)
		}
	}
	for v, want := range map[float64]string{0: "0", math.Copysign(0, -1): "0", -1.5: "−1.5", 1e-3: "0.001", 5e-4: "5·10⁻⁴", 1e-4: "1·10⁻⁴", -2.5e-4: "−2.5·10⁻⁴", 1.234e-7: "1.23·10⁻⁷", 9.996: "10", 12345: "12345", 123456: "1.23·10⁵"} {
		if got := short(v); got != want {
			t.Errorf("%v: %q, want %q", v, got, want)
		}
	}
	for x, want := range map[float64]float64{1: 1, 1.3: 1, 1.5: 2, 3: 2, 3.5: 5, 7: 5, 7.2: 10, 0.04: 0.05, 2e9: 2e9} {
		expect.Rel(t, fmt.Sprintf("round(%v)", x), round(x), want, 1e-12)
	}
}

// Numbers beside each other have three digits, and more where they would look alike; what differs by rounding errors is alike.
func TestApart(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{[]float64{100.1, 100.2, 100.3}, "100.1 100.2 100.3"},
		{[]float64{1234.1, 1234.4}, "1234.1 1234.4"},
		{[]float64{100.4, 101.6}, "100.4 101.6"},
		{[]float64{1e6, 1e6 + 2}, "1·10⁶ 1.000002·10⁶"},
		{[]float64{2e-4, 2.003e-4}, "2·10⁻⁴ 2.003·10⁻⁴"},
		{[]float64{-1.0 / 3, 0, 1.0 / 3, 200.0 / 3}, "−0.333 0 0.333 66.7"},
		{[]float64{1e-4, math.Sqrt(1e-7), 1e-3, math.Sqrt(1e5)}, "1·10⁻⁴ 3.16·10⁻⁴ 0.001 316"},
		{[]float64{0.3, 0.1 + 0.2}, "0.3 0.3"},
		{[]float64{1.0 / 3}, "0.333"},
		{nil, ""},
	} {
		if got := strings.Join(apart(c.values...), " "); got != c.want {
			t.Errorf("%v: %q, want %q", c.values, got, c.want)
		}
	}
	ages := Slider("age", []float64{100.1, 100.2, 100.3}, func(int) *Figure {
		return Fig(Points([][]float64{{0, 0}, {1, 1}}).ColorBy("energy", 1234.1, 1234.4))
	})
	s := expect.Must(ages.sheet())
	html := s.extra.html()
	for i, age := range []string{"age = 100.1", "age = 100.2", "age = 100.3"} {
		if title := s.panels[i].scene.title; title != age || !strings.Contains(html, `&#34;`+age+`&#34;`) {
			t.Errorf("frame %d is %q in print, of %q", i, title, age)
		}
	}
	if alt := s.alt(); !strings.Contains(alt, "age from 100.1 to 100.3") || !strings.Contains(alt, "energy: 1234.1 to 1234.4") {
		t.Error(alt)
	}
}

// texts returns the boxes of what is written on the panels of a sheet, and beneath them.
func texts(s *sheet) (panels [][]vg.Rectangle, below []vg.Rectangle) {
	written := func(paint func(c draw.Canvas)) (boxes []vg.Rectangle) {
		var canvas recorder.Canvas
		paint(draw.NewCanvas(&canvas, s.size.X, s.size.Y))
		var ink color.Color
		for _, action := range canvas.Actions {
			switch a := action.(type) {
			case *recorder.SetColor:
				ink = a.Color
			case *recorder.Fill:
				var corners []vg.Point
				for _, part := range a.Path {
					if part.Type != vg.CloseComp {
						corners = append(append(corners, part.Pos), part.Control...)
					}
				}
				if color.NRGBAModel.Convert(ink) == Black {
					low, high := extremes(corners)
					boxes = append(boxes, vg.Rectangle{Min: low, Max: high})
				}
			}
		}
		return boxes
	}
	for _, p := range s.panels {
		panels = append(panels, written((&sheet{size: s.size, panels: []panel{p}}).draw))
	}
	return panels, written((&sheet{size: s.size, legend: s.legend}).draw)
}

// checkTexts reports texts that lie over each other or beyond their panel, and returns the boxes of those on the panels.
func checkTexts(t *testing.T, name string, s *sheet) (panels [][]vg.Rectangle) {
	t.Helper()
	check := func(boxes []vg.Rectangle, page vg.Rectangle) {
		for i, a := range boxes {
			if a.Min.X < page.Min.X || a.Min.Y < page.Min.Y || a.Max.X > page.Max.X || a.Max.Y > page.Max.Y {
				t.Errorf("%s: text %d at %v leaves its panel at %v", name, i, a, page)
			}
			for j, b := range boxes[:i] {
				if a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y {
					t.Errorf("%s: text %d at %v lies over text %d at %v", name, i, a, j, b)
				}
			}
		}
	}
	panels, below := texts(s)
	for i, boxes := range panels {
		check(boxes, s.panels[i].at)
	}
	check(below, vg.Rectangle{Max: s.size})
	return panels
}

// The labels of a colour bar do not touch, however small the numbers and the panels, and there are at least two.
func TestColourBarLabels(t *testing.T) {
	square := [][]float64{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}}
	bar := func(lo, hi float64) *Figure {
		return Fig(Density(square, [][3]int{{0, 1, 2}, {0, 2, 3}}, "density", []float64{lo, lo, hi, hi}))
	}
	for _, columns := range []int{1, 9} {
		for _, ends := range [][2]float64{{0, 0.0099}, {0, 9.5e-4}, {0, 7.2e-5}, {0, 9.9}, {0, 4}, {0, 1.99}, {-0.0077, 0}, {0, 99999}, {-9.5e-4, 9.5e-4}, {12345, 12354}, {1e5, 9e5}, {0, 1e-300}} {
			panels := make([]*Figure, columns)
			for i := range panels {
				panels[i] = bar(ends[0], ends[1]*(1-1e-3*float64(i)))
				panels[i].layers[0].quantity += fmt.Sprint(i) // a bar each
			}
			s := expect.Must(Row(panels...).sheet())
			name := fmt.Sprintf("%d of %v to %v", columns, ends[0], ends[1])
			for _, b := range checkTexts(t, name, s) {
				if columns < 9 && len(b) < 3 { // two labels and the name
					t.Errorf("%s: %d texts", name, len(b))
				}
			}
		}
	}
	// Labels are the ticks' values over a power of ten that stands beside the bar.
	l := bar(0, 9.5e-4).layers[0]
	got := ""
	for _, k := range l.labels(300) {
		got += k.Label + " "
		expect.Rel(t, "value of the tick "+k.Label, k.Value, expect.Must(strconv.ParseFloat(k.Label, 64))*1e-4, 1e-12)
	}
	if got != "0 1 2 3 4 5 6 7 8 9 " || l.power() != -4 {
		t.Errorf("labels %s, of 10 to the %d", got, l.power())
	}
}

// Titles, labels and names that are longer than a panel is wide stay in it, whole, and lie over nothing else.
func TestLongTexts(t *testing.T) {
	const long = "the right femur of specimen museum_1907_42_3 (\u1e8b is its velocity), seen from the front after all were aligned"
	q := ring(12, 0, 0, 5, 4)
	square := [][]float64{{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}}
	bar := func(label string) *Figure {
		return Fig(Density(square, [][3]int{{0, 1, 2}, {0, 2, 3}}, "density of the distribution (1/sr)", []float64{0, 0, 1, 1}).Label(label))
	}
	chart := func() *Figure {
		return Fig(Series([]float64{0, 1, 2}, []float64{1, 3, 2}).Label(long), Scatter([]float64{0, 1}, []float64{1, 2}).Label("dots")).XLabel(long).YLabel(long)
	}
	shape := func(label string) *Figure {
		return Fig(Outline(q).Label(label), Points(q).Label("p")).Unit("mm").NoAxes()
	}
	for name, d := range map[string]Drawing{
		"titles":           Row(Fig(Outline(q)).Title("(a) "+long), Fig(Outline(q)).Title("(b) "+long).Unit("mm"), Fig(Outline(q)).Title("(c)")),
		"a title in space": bar("").Title(long),
		"titles of charts": Row(chart().Title(long), chart().Title(long), chart().Title(long), chart().Title("(d)")),
		"labels":           Row(shape(long), shape("one of the labels of a panel"), shape("q")),
		"a common label":   Row(shape(long), shape(long)),
		"a word":           Fig(Outline(q).Label(strings.Repeat("word", 40))).Title(strings.Repeat("title", 30)),
		"arrows":           Row(Fig(Outline(q), Arrows(q, constant(12, 0.01, 0)).Label(long)), Fig(Outline(q))),
		"names of bars":    Row(bar(long), bar("estimate from the samples"), bar("")),
		"axes":             Row(chart(), chart().LogY()),
		"small":            chart().Size(5, 0),
		"a slider": Slider("standard deviations", []float64{-3, -1.5, 0, 1.5, 3}, func(int) *Figure {
			return Fig(Outline(q).Label(long)).Title("first mode of the right femur")
		}),
	} {
		s := expect.Must(d.sheet())
		checkTexts(t, name, s)
		if a, ok := s.extra.(*animation); ok {
			for _, frame := range a.frames {
				checkTexts(t, name, frame)
			}
		}
		if turned, ok := s.extra.(*turntable); ok {
			checkTexts(t, name+", turned", turned.sheet)
		}
	}
	for width := vg.Length(1); width < 700; width *= 1.3 {
		lines := broken(long, style(9), width)
		if got := strings.Join(lines, ""); strings.ReplaceAll(got, " ", "") != strings.ReplaceAll(long, " ", "") {
			t.Errorf("in lines of %v points: %q", width, lines)
		}
		for i, line := range lines {
			if style(9).Width(line) > width && len([]rune(line)) > 1 || width > 110 && i > 0 && !strings.Contains(long, lines[i-1]+" "+line) {
				t.Errorf("line %d of %v points: %q", i, width, line)
			}
		}
	}
}

// What is constant but for rounding errors has an axis of its size, whose ticks end, and a colour bar with one tick.
func TestConstant(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{{0, "0"}, {0.37, "0.37"}, {1, "1"}, {-3e6, "−3·10⁶"}, {2e-14, "2·10⁻¹⁴"}, {1e300, "1·10³⁰⁰"}} {
		up := math.Nextafter(c.v, math.Inf(1))
		if c.v == 0 {
			up = 0
		}
		for _, values := range [][]float64{{c.v, c.v, c.v}, {c.v, up, c.v}} {
			figures := []*Figure{Fig(Series([]float64{0, 1, 2}, values)), Fig(Histogram(values, 3)), Fig(Series(values, []float64{0, 1, 2})), Fig(Points([][]float64{{c.v, c.v}, {up, c.v}}))}
			if c.v > 0 {
				figures = append(figures, Fig(Series([]float64{0, 1, 2}, values)).LogY(), Fig(Series(values, []float64{1, 2, 3})).LogX())
			}
			for i, f := range figures {
				s := expect.Must(f.scene())
				for k, ticks := range s.frame(vg.Rectangle{Max: vg.Point{X: 200, Y: 150}}).ticks {
					if len(ticks) < 2 || len(ticks) > 40 {
						t.Errorf("figure %d of %v: %d ticks along %c", i, values, len(ticks), "xy"[k])
					}
				}
			}
			surface := expect.Must(Fig(Mesh([][]float64{{0, 0, 0}, {1, 0, 0}, {0, 1, 0}}, [][3]int{{0, 1, 2}}).ColorBy("curvature", values...)).scene())
			bar := surface.legend.bars[0].labels(100)
			if len(bar) != 1 || bar[0].Label != c.want || surface.marks[0].fill != levelColour(0.5) {
				t.Errorf("colours of %v: ticks %v, want %s, of the colour %v", values, bar, c.want, surface.marks[0].fill)
			}
		}
	}
}

// Scripts are narrower than their letters and take the same room wherever the font has a letter of its own for them.
func TestText(t *testing.T) {
	width := func(s string) float64 { return walk(s, sans(8, 0), nil) }
	for _, pair := range [][2]string{{"₀", "0"}, {"⁻⁵", "−5"}, {"ᵢⱼ", "ij"}} {
		expect.Abs(t, "width of "+pair[0], width(pair[0]), 0.7*width(pair[1]), 1e-3)
	}
	if width("q̇") != width("q") {
		t.Error("a dot above takes room of its own")
	}
	if letters := lacking("q₀ v₂ xᵢ σ² ξ λₘₙ Γⁱₖₗ 10⁻⁵ ∇f ‖v‖ q̇ ∂H/∂p ½×±≤∞√π Σ μ ν θ φ → °"); len(letters) > 0 {
		t.Errorf("the font lacks %q", letters)
	}
}

// Lightness (CIE luminance) rises all along the ramp, and its light end still stands out from white paper.
func TestRamp(t *testing.T) {
	luminance := func(c color.NRGBA) float64 {
		l := func(v uint8) float64 { return math.Pow((float64(v)/255+0.055)/1.055, 2.4) }
		return 0.2126*l(c.R) + 0.7152*l(c.G) + 0.0722*l(c.B)
	}
	last := -1.0
	for i := range 101 {
		y := luminance(rampColour(float64(i) / 100))
		if y <= last {
			t.Errorf("at %d %% luminance falls from %v to %v", i, last, y)
		}
		last = y
	}
	if last > 0.62 {
		t.Errorf("the light end has luminance %v", last)
	}
	if rampColour(-1) != rampColour(0) || rampColour(2) != rampColour(1) {
		t.Error("not clamped")
	}
}

// What goes to Jupyter holds both picture types, the size on the page, and passes the pipe's encoding.
func TestBundle(t *testing.T) {
	s, err := gallery()["shapes"].sheet()
	if err != nil {
		t.Fatal(err)
	}
	data := expect.Must(s.bundle())
	var pipe bytes.Buffer
	if err := gob.NewEncoder(&pipe).Encode(data); err != nil {
		t.Fatal(err)
	}
	var got protocol.DisplayData
	if err := gob.NewDecoder(&pipe).Decode(&got); err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(got.Data[protocol.MIMEImagePNG].([]byte)))
	if err != nil {
		t.Fatal(err)
	}
	width := got.Metadata["image/png"].(map[string]int)["width"]
	if width != 321 || img.Bounds().Dx() < 2*width-1 || img.Bounds().Dx() > 2*width+1 {
		t.Errorf("%d pixels for %d on the page", img.Bounds().Dx(), width)
	}
	if svg := got.Data[protocol.MIMEImageSVG].(string); !strings.Contains(svg, "<svg") {
		t.Error("no SVG")
	}
	// The smallest letters are those of ticks and legend, of numbers, or of a label that is longer than its axis.
	q := ring(8, 0, 0, 2, 1)
	for _, c := range []struct {
		figure *Figure
		want   float64
	}{
		{Fig(Outline(q)), 7.5}, {Fig(Outline(q), Numbers(q)), 6.5}, {Fig(Outline(q)).YLabel(strings.Repeat("long ", 12)), 4.9},
	} {
		expect.Abs(t, "letters", float64(expect.Must(c.figure.sheet()).letters()), c.want, 0.2)
	}
}

// A cover is as wide as a gallery shows it, with letters as large as those of the picture, and is made once.
func TestCoverOfReport(t *testing.T) {
	tall := Fig(Outline(ring(24, 0, 0, 8, 40)).Label("tall"), Outline(ring(24, 0, 0, 7, 30)).Label("short")).Title("(b) tall").Unit("mm").NoAxes()
	row := expect.Must(Row(Fig(Outline(ring(24, 10, 5, 20, 8)).Label("q")).Title("(a) wide"), tall).SharedAxes().sheet())
	for number, title := range map[int]string{1: "wide", 2: "tall", 9: "tall"} {
		cover := expect.Must(row.cover(number))
		if size := cover.size; len(cover.panels) != 1 || cover.title() != title || size.X != coverWidth*cm || size.Y > coverHeight*cm+1e-9 {
			t.Errorf("panel %d: %q of %v", number, cover.title(), size)
		}
		if err := cover.panels[0].scene.checkRoom(cover.size); err != nil {
			t.Error(err)
		}
	}
	round := func(a float64) *Figure { return Fig(Outline(ring(24, 0, 0, a, a)).Label("q")) }
	small := expect.Must(expect.Must(Row(round(1), round(5)).SharedAxes().sheet()).cover(1)).panels[0]
	if keys := small.scene.legend.keys; len(keys) != 1 || keys[0].text != "q" {
		t.Error("the cover lacks the legend that all panels share")
	}
	if f := small.scene.frame(small.scene.inner(small.at)); f.hi[1]-f.lo[1] > 4 {
		t.Errorf("a shape of height 2 has the axes of another panel, from %v to %v", f.lo[1], f.hi[1])
	}
	t.Setenv(coverNumber, "2")
	first, second := expect.Must(row.bundle()), expect.Must(row.bundle())
	if file, _ := first.Data[coverType].(string); !strings.Contains(file, "<title>tall</title>") || second.Data[coverType] != nil {
		t.Errorf("covers %.200q and %v", file, second.Data[coverType] != nil)
	}
}

// A slider is one HTML without outside references, all frames of one size and with the same axes.
func TestSlider(t *testing.T) {
	var ranges [][2]float64
	slider := Slider("σ (mm)", []float64{1, 2.5, 4}, func(i int) *Figure { return Fig(Outline(ring(8, 0, 0, float64(i+1), 1)).Label("q")) })
	s, err := slider.sheet()
	if err != nil {
		t.Fatal(err)
	}
	data := expect.Must(s.bundle())
	html := data.Data[protocol.MIMETextHTML].(string)
	if n := strings.Count(html, "data:image/png;base64,"); n != 2 || strings.Contains(html, "http") || !strings.Contains(html, "&#34;σ = 2.5 mm&#34;") {
		t.Errorf("%d frames in %.200s", n, html)
	}
	if data.Data[protocol.MIMEImagePNG] == nil || data.Data[protocol.MIMEImageSVG] == nil {
		t.Error("no still picture stands beside the HTML")
	}
	frames := s.extra.(*animation).frames
	for _, f := range frames {
		if f.size != frames[0].size {
			t.Error("frames differ in size")
		}
	}
	figures := []*Figure{Fig(Outline(ring(8, 0, 0, 1, 1))), Fig(Outline(ring(8, 0, 0, 3, 1)))}
	for _, sc := range scenes(figures, strconv.Itoa, func(i int, _ *Layer) any { return i }) {
		frame := sc.frame(vg.Rectangle{Max: vg.Point{X: 200, Y: 200}})
		ranges = append(ranges, [2]float64{frame.lo[0], frame.hi[0]})
	}
	if ranges[0] != ranges[1] {
		t.Errorf("ranges %v", ranges)
	}
	if err := Save(filepath.Join(t.TempDir(), "x.html"), slider); err != nil {
		t.Error(err)
	}
}

// vgpdf takes channels that are not multiplied by the opacity.
func TestPDFColour(t *testing.T) {
	r, g, b, a := straight(color.NRGBA{200, 100, 50, 128}).RGBA()
	if r>>8 != 200 || g>>8 != 100 || b>>8 != 50 || a>>8 != 128 {
		t.Error(r, g, b, a)
	}
}

// A layer in two figures, and drawing it twice, changes nothing of it.
func TestLayersAreReusable(t *testing.T) {
	q := ring(8, 0, 0, 1, 1)
	l := Arrows(q, constant(8, 0.001, 0))
	first := raster(t, Fig(l), 72)
	raster(t, Fig(Outline(ring(8, 0, 0, 100, 100)), l), 72)
	if unlike(first, raster(t, Fig(l), 72)) != 0 {
		t.Error("the second picture differs from the first")
	}
}

// A chart, whose axes have scales of their own, has no scale bar: Unit is for shapes.
func TestChartHasNoScaleBar(t *testing.T) {
	chart := func() *Figure { return Fig(Series([]float64{0, 1}, []float64{0, 100})).NoAxes() }
	if unlike(raster(t, chart(), 72), raster(t, chart().Unit("mm"), 72)) != 0 {
		t.Error("a unit changes a chart")
	}
}

// Each axis of a flat shape has two ticks at least, as long as their labels find room.
func TestTicksOfFlatShapes(t *testing.T) {
	for _, tall := range []float64{4, 3, 2.5, 2, 1.5} {
		s := expect.Must(Fig(Outline(ring(40, 0, 54, 7, tall/2))).scene())
		s.naturalHeight(8.5 * cm)
		f := s.frame(s.inner(vg.Rectangle{Max: vg.Point{X: 8.5 * cm, Y: s.naturalHeight(8.5 * cm)}}))
		if len(f.ticks[0]) < 2 || len(f.ticks[1]) < 2 {
			t.Errorf("a shape %v high: ticks %v and %v", tall, f.ticks[0], f.ticks[1])
		}
	}
}

// Where panels and the entries of their legend are goes to Jupyter with the picture.
func TestPanelsTellWhereTheyAre(t *testing.T) {
	a, b := Fig(Outline(ring(8, 0, 0, 1, 1)).Label("q")), Fig(Outline(ring(8, 0, 0, 2, 1)).Label("q"))
	coloured := Fig(Outline(ring(8, 0, 0, 1, 1), ring(8, 1, 0, 1, 1)).ColorBy("t").Label("path"), Points(ring(8, 0, 0, 1, 1)).Label("start"))
	for name, c := range map[string]struct {
		drawing        Drawing
		panels, legend int
		beside         bool
	}{
		"one":   {a, 0, 0, false},
		"row":   {Row(a, b), 2, 1, true},
		"tiles": {Tiles(1, a, b), 2, 1, false},
		"bar":   {Row(coloured, coloured), 2, 3, true},
	} {
		s, err := c.drawing.sheet()
		if err != nil {
			t.Fatal(err)
		}
		data := expect.Must(s.bundle())
		var pipe bytes.Buffer
		var got protocol.DisplayData
		if err := errors.Join(gob.NewEncoder(&pipe).Encode(data), gob.NewDecoder(&pipe).Decode(&got)); err != nil {
			t.Fatal(err)
		}
		boxes, _ := got.Metadata["panels"].([]float64)
		legend, _ := got.Metadata["legend"].([]float64)
		if len(boxes) != 4*c.panels || len(legend) != 4*c.legend {
			t.Errorf("%s: %v, legend %v", name, boxes, legend)
			continue
		}
		if c.panels == 2 && (c.beside && boxes[4] < boxes[0]+boxes[2] || !c.beside && boxes[5] < boxes[1]+boxes[3]-1e-12) {
			t.Errorf("%s: %v", name, boxes)
		}
		for i := 0; i < len(legend); i += 4 {
			x, y, width, height := legend[i], legend[i+1], legend[i+2], legend[i+3]
			if x < 0 || x+width > 1+1e-12 || y < boxes[5]+boxes[7]-1e-12 || y+height > 1+1e-12 {
				t.Errorf("%s: entry %d of the legend at %v", name, i/4, legend[i:i+4])
			}
			// No ink is cut off: beside an entry the page is white.
			if box := s.legend.boxes(s.foot())[i/4]; !blank(s, box.Min.X, box.Min.Y, box.Max.Y) || !blank(s, box.Max.X, box.Min.Y, box.Max.Y) {
				t.Errorf("%s: ink at the border of entry %d of the legend", name, i/4)
			}
		}
	}
}

// blank reports whether a vertical line of the sheet has no ink.
func blank(s *sheet, x, from, to vg.Length) bool {
	picture := s.raster(72)
	for y := from; y < to; y++ {
		at := picture.RGBAAt(min(int(x), picture.Bounds().Dx()-1), int(s.size.Y-y))
		if at.A != 0 && at != (color.RGBA{0xff, 0xff, 0xff, 0xff}) {
			return false
		}
	}
	return true
}
