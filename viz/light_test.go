package viz

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"

	"github.com/dop251/goja"
	"gonum.org/v1/plot/vg"

	"anatomy/geom/geomtest/expect"
	"anatomy/internal/lists"
)

// ball is a sphere of triangles, with a seam.
func ball(n int) ([][]float64, [][3]int) {
	return Tessellate(func(u, v float64) []float64 {
		sin, cos := math.Sincos(v)
		return []float64{sin * math.Cos(u), sin * math.Sin(u), cos}
	}, [2]float64{0, 2 * math.Pi}, [2]float64{0, math.Pi}, 2*n, n)
}

func cube() (corners [][]float64, sides [][3]int) {
	for i := range 8 {
		corners = append(corners, []float64{float64(i & 1), float64(i >> 1 & 1), float64(i >> 2)})
	}
	for _, q := range [][4]int{{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4}, {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}} {
		sides = append(sides, [3]int{q[0], q[1], q[2]}, [3]int{q[0], q[2], q[3]})
	}
	return corners, sides
}

// Triangles share a normal over blunt edges and over a seam, and not over sharp ones.
func TestNormals(t *testing.T) {
	vertices, triangles := ball(24)
	for i, n := range newBody(vertices, triangles).normalsAt(vertices) {
		if n == ([3]float64{}) {
			continue // of the seam's second side, which has those of the first
		}
		if off := 1 - math.Abs(dot3(n, [3]float64(vertices[i]))); off > 0.005 {
			t.Errorf("normal %d is off by %v", i, off)
		}
	}
	corners, sides := cube()
	b := newBody(corners, sides)
	if len(b.points) != 24 {
		t.Errorf("a cube has %d normals", len(b.points))
	}
	for k, n := range b.normals {
		if got, want := b.normalsAt(corners)[n[0]], unit3(across(corners, sides[k])); dot3(got, want) < 1-1e-12 {
			t.Errorf("triangle %d of the cube: normal %v, want %v", k, got, want)
		}
	}
}

// A coarse sphere becomes round, without cracks at its seam, and a cube stays a cube; values lie between those of the ends.
func TestRounded(t *testing.T) {
	vertices, triangles := ball(6)
	b := newBody(vertices, triangles)
	round, more, ends := b.rounded(vertices)
	if len(more) != 4*len(triangles) || len(round) != len(vertices)+len(ends) {
		t.Fatalf("%d vertices, %d triangles and %d new vertices of %d and %d", len(round), len(more), len(ends), len(vertices), len(triangles))
	}
	for i, p := range round[len(vertices):] {
		flat := blend(vertices[ends[i][0]], vertices[ends[i][1]], 0.5)
		off, before := math.Abs(1-math.Hypot(math.Hypot(p[0], p[1]), p[2])), 1-math.Hypot(math.Hypot(flat[0], flat[1]), flat[2])
		if before > 1e-9 && off > 0.2*before {
			t.Errorf("a new vertex is %v off the sphere, the middle of its edge %v", off, before)
		}
	}
	at := map[[3]int]int{}
	for _, p := range round {
		at[[3]int{int(math.Round(1e6 * p[0])), int(math.Round(1e6 * p[1])), int(math.Round(1e6 * p[2]))}]++
	}
	if want := 2 + 24*9 + 12*2; len(at) != want { // the poles, nine parallels, and those next to the poles
		t.Errorf("the round sphere has vertices at %d places, want %d", len(at), want)
	}
	corners, sides := cube()
	round, _, ends = newBody(corners, sides).rounded(corners)
	for i, e := range ends {
		expect.Abs(t, "distance of a new vertex of a cube from the middle of its edge", distance(round[8+i], blend(corners[e[0]], corners[e[1]], 0.5)), 0, 1e-12)
	}
	z := lists.Each(vertices, func(p []float64) float64 { return p[2] })
	s := expect.Must(Fig(Mesh(vertices, triangles).ColorBy("z", z...)).scene())
	m, up := s.marks[0], [3]float64(s.camera.view([]float64{0, 0, 1}))
	for i, p := range m.at {
		if math.Abs(m.tones[i]-0.5-0.5*dot3([3]float64(p), up)) > 0.02 {
			t.Fatalf("the value at %v is %v", p, m.tones[i])
		}
	}
	if len(m.body.triangles) < coarse || len(m.body.triangles) >= 4*coarse {
		t.Errorf("a mesh of %d triangles is drawn by %d", len(triangles), len(m.body.triangles))
	}
}

// A sphere sees all of the sky, and a floor beside a long wall (1 + cos φ)/2 of it, where φ is the elevation of the wall's top.
func TestOpenness(t *testing.T) {
	vertices, triangles := ball(20)
	for i, open := range newBody(vertices, triangles).open {
		if open < 0.999 && open != 0 { // 0: a normal without a triangle
			t.Errorf("at %v a sphere sees %v", vertices[i], open)
		}
	}
	profile := [][2]float64{{-1, -1}, {4, -1}, {4, 0}, {3, 0}, {2, 0}, {1.5, 0}, {1, 0}, {0.75, 0}, {0.5, 0}, {0.25, 0}, {0, 0}, {0, 1}, {-1, 1}}
	var wall [][]float64
	n := len(profile)
	for _, y := range []float64{-8, 0, 8} {
		for _, p := range profile {
			wall = append(wall, []float64{p[0], y, p[1]})
		}
	}
	var faces [][3]int
	for k := range 2 {
		for i := range n {
			a, b := k*n+i, k*n+(i+1)%n
			faces = append(faces, [3]int{a, b, b + n}, [3]int{a, b + n, a + n})
		}
	}
	for i := 1; i < n-1; i++ { // the first corner sees all others
		faces = append(faces, [3]int{0, i + 1, i}, [3]int{2 * n, 2*n + i, 2*n + i + 1})
	}
	open := (&body{triangles: faces}).smooth(wall)
	for _, i := range []int{4, 5, 6} {
		want := (1 + math.Cos(math.Atan(1/profile[i][0]))) / 2
		expect.Abs(t, fmt.Sprintf("a floor %v from a wall", profile[i][0]), open[n+i], want, 0.05)
	}
}

// smooth is openness with one normal a vertex.
func (b *body) smooth(at [][]float64) []float64 {
	b.normals = b.triangles
	for i := range at {
		b.points = append(b.points, i)
	}
	return b.openness(at)
}

// The page that turns draws the pixels of the picture on paper.
func TestPageDrawsThePicture(t *testing.T) {
	vertices, triangles := ball(7)
	var values []float64
	for i, p := range vertices {
		vertices[i] = []float64{p[0], p[1] * (1.5 + p[0]), p[2]}
		values = append(values, p[2]+0.5*p[0])
	}
	for name, l := range map[string]*Layer{"grey": Mesh(vertices, triangles), "colours": Mesh(vertices, triangles).ColorBy("z", values...), "glass": Mesh(vertices, triangles).Opacity(0.6)} {
		s := expect.Must(Fig(l).scene())
		const scale, shift, size = 20, 60, 120
		place := func(p []float64) vg.Point {
			return vg.Point{X: vg.Length(shift + scale*p[0]), Y: vg.Length(shift + scale*p[1])}
		}
		want := newSolid(s.marks, place, s.extent)
		b := want.buffer(1, vg.Point{}, vg.Point{X: size - 1, Y: size - 1})
		b.outline(s.extent)
		m := s.marks[0]
		data := bodyData(m.body, []*scene{s}, 0)
		text := expect.Must(json.Marshal(data))
		code := "let sum = (p, width) => { for (let i = width; i < p.length; i++) p[i] += p[i - width]; return p; };\n"
		for _, function := range []string{"light", "shade", "fill", "outline"} {
			code += regexp.MustCompile(`(?s)  const ` + function + ` = .*?;\n\n`).FindString(turnScript)
		}
		read := regexp.MustCompile(`(?s)for \(const b of data.bodies\) \{.*?\n    }`).FindString(turnScript)
		var x, y, z []float64
		var at []int
		for i, p := range m.at {
			x, y, z, at = append(x, shift+scale*p[0]), append(y, size-shift-scale*p[1]), append(z, scale*p[2]), append(at, i)
		}
		numbers := func(v any) string { return string(expect.Must(json.Marshal(v))) }
		code += fmt.Sprintf("const data = {bodies: [%s]}; %s\nconst b = data.bodies[0], X = %s, Y = %s, Z = %s, W = %d; b.at = %s; b.tone = (b.tones || [])[0];\n", text, read, numbers(x), numbers(y), numbers(z), size, numbers(at))
		code += fmt.Sprintf(`const depth = Array(W * W).fill(-Infinity), out = new Uint8ClampedArray(4 * W * W), order = [];
shade(b, X, Y, Z, false);
for (let i = 0; i < b.triangles.length; i += 3) order.push(i);
if (b.colours[0][3] < 255) { const far = i => [0, 1, 2].reduce((sum, k) => sum + Z[b.triangles[i + k]], 0); order.sort((i, j) => far(i) - far(j)); }
order.forEach(i => fill(b, i, X, Y, Z, 1, W, W, depth, out));
outline(depth, out, W, W, %v, 1);
Array.from(out)`, 0.02*scale*s.extent)
		var got []float64
		if err := goja.New().ExportTo(expect.Must(goja.New().RunString(code)), &got); err != nil {
			t.Fatal(err)
		}
		wrong, covered := 0, 0
		for i, c := range b.colour {
			if c[3] == 0 && got[4*i+3] == 0 {
				continue
			}
			covered++
			for k := range 3 {
				if math.Abs(got[4*i+k]-c[k]/math.Max(c[3], 1e-9)) > 4 {
					wrong++
					break
				}
			}
		}
		if covered < 1500 || wrong > covered/100 {
			t.Errorf("%s: %d of %d pixels differ", name, wrong, covered)
		}
	}
}

// Signed values on surfaces and areas have white at 0 and equal strength at equal distance from it; what light shapes has nearly even lightness.
func TestPalettes(t *testing.T) {
	square := [][]float64{{0, 0}, {1, 0}, {1, 1}}
	s := expect.Must(Fig(Region(square, square, square).ColorBy("change", -1, 0, 4)).scene())
	l := s.layers[0]
	if c := l.colour(l.tone(0)); min(c.R, c.G, c.B) < 0xf4 {
		t.Errorf("0 is %v", c)
	}
	if l.tone(4) != 1 || l.tone(-1) != 0.375 {
		t.Errorf("-1 and 4 are at %v and %v", l.tone(-1), l.tone(4))
	}
	for i := range 101 {
		c := levelColour(float64(i) / 100)
		if light := 0.3*float64(c.R) + 0.59*float64(c.G) + 0.11*float64(c.B); light < 120 || light > 190 {
			t.Errorf("at %d %% the palette of surfaces has lightness %.0f of 255", i, light)
		}
	}
}

// Landmarks without links are joined by the tree of least length, if none of its lines is long, and groups have marks that differ.
func TestSpanningAndShapes(t *testing.T) {
	links := spanning([][]float64{{0, 0, 0}, {3, 0, 0}, {1, 0, 0}, {2, 0.5, 0}, {2, 0, 0}})
	length := 0
	for _, l := range links {
		length += l[0] + 10*l[1]
	}
	if len(links) != 4 || length != 0+20+2+40+4+30+4+10 {
		t.Errorf("links %v", links)
	}
	if links := spanning([][]float64{{0, 0}, {1, 0}, {10, 0}, {11, 0}}); links != nil {
		t.Errorf("over a gap: %v", links)
	}
	x := []float64{0, 1}
	s := expect.Must(Fig(Scatter(x, x).Label("a"), Scatter(x, x).Label("b"), Scatter(x, x)).scene())
	for i, want := range []int{0, 0, 1, 1, 0, 0} {
		if s.marks[i].shape != want {
			t.Errorf("mark %d has the shape %d", i, s.marks[i].shape)
		}
	}
	if got := s.legend.keys[1].sample[0].shape; got != 1 {
		t.Errorf("in the legend b has the shape %d", got)
	}
}

// Meshes side by side have one scale, and where one would hardly be seen its title states how many times it is enlarged.
func TestBodiesHaveOneScale(t *testing.T) {
	for _, c := range []struct {
		size, want float64
		title      string
	}{{0.5, 1, "b"}, {0.1, 0.2, "b, enlarged 5 ×"}} {
		vertices, triangles := ball(6)
		var small [][]float64
		for _, p := range vertices {
			small = append(small, []float64{c.size * p[0], c.size * p[1], c.size * p[2]})
		}
		s := expect.Must(Row(Fig(Mesh(vertices, triangles)), Fig(Mesh(small, triangles)).Title("b")).sheet())
		var units []float64
		for _, p := range s.panels {
			f := p.scene.frame(p.scene.inner(p.at))
			units = append(units, (f.hi[0]-f.lo[0])/float64(f.area.Size().X))
		}
		expect.Abs(t, fmt.Sprint(c.size), units[1]/units[0], c.want, 1e-6)
		if got := s.panels[1].scene.title; got != c.title {
			t.Errorf("%v: the title is %q", c.size, got)
		}
	}
}

// Of names in space for which there is no room the nearest are written, and none stands on another.
func TestNamesInSpace(t *testing.T) {
	var points [][]float64
	var names []string
	for i := range 12 {
		points, names = append(points, []float64{float64(i), 0, 0}), append(names, fmt.Sprint("a long name, number ", i))
	}
	s := expect.Must(Fig(Names(append(points, []float64{0, 30, 30}), append(names, "beside"))).Camera(0, 0).scene())
	var got []string
	var boxes []vg.Rectangle
	for _, p := range s.stamps(s.frame(vg.Rectangle{Max: vg.Point{X: 300, Y: 300}})) {
		if p.text != "" {
			half := textBox(p.text).Scale(0.5)
			got, boxes = append(got, p.text), append(boxes, vg.Rectangle{Min: p.at[0].Sub(half), Max: p.at[0].Add(half)})
		}
	}
	for i, a := range boxes {
		for j, b := range boxes[:i] {
			if meet(a, b) {
				t.Errorf("%q stands on %q", got[i], got[j])
			}
		}
	}
	if !slices.Contains(got, names[11]) || slices.Contains(got, names[0]) || !slices.Contains(got, "beside") {
		t.Error(got)
	}
}

// Slivers and points at one place take no longer than other triangles, and have a light.
func TestHardBodies(t *testing.T) {
	vertices, triangles := [][]float64{{0, 0, 50}}, [][3]int{}
	const n = 3000
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		vertices, triangles = append(vertices, []float64{cos, sin, 0}), append(triangles, [3]int{0, 1 + i, 1 + (i+1)%n})
	}
	for _, b := range []*body{newBody(vertices, triangles), newBody([][]float64{{1, 1, 1}, {1, 1, 1}, {1, 1, 1}}, [][3]int{{0, 1, 2}})} {
		for i, open := range b.open {
			if bright := light(unit3([3]float64{}), open, false); !(open >= 0 && open <= 1) || !(bright > 0 && bright <= 1.3) {
				t.Fatalf("normal %d sees %v", i, open)
			}
		}
	}
}
