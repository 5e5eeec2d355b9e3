// Package dragtest checks what the page of viz.Drag computes, against the library, and draws. It stands by itself so that the tests of
// viz need no XLA.
package dragtest

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dop251/goja"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/viz"
)

// check runs the functions of drag.js on these numbers and returns what they do.
const check = `
const {hamilton, shoot, energy, carry, log} = module.exports;
const d = JSON.parse(input);
const path = shoot(d.start, d.momentum, d.sigma, 25), v = hamilton(d.start, d.momentum, d.sigma)[0];
const end = Float64Array.from(d.end), zero = end.map(() => 0);
const found = log(zero, Float64Array.from(d.start), end, d.sigma, 25, 1e-9, null);
const fine = shoot(d.start, d.momentum, d.sigma, 100);
JSON.stringify({
	path: path.map(s => [...s[0]]), momenta: path.map(s => [...s[1]]), velocity: [...v],
	length: Math.sqrt(2 * energy(d.start, d.momentum, d.sigma)), found: [...found.p], carried: [...carry(d.points, fine, d.sigma)],
});
`

// The page's geodesics, momenta, velocities, logarithm and flow are those of the library.
func TestNumbers(t *testing.T) {
	const n, sigma = 24, 5.0
	var start, target [][]float64
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		start = append(start, []float64{30 * cos, 12 * sin})
		target = append(target, []float64{34*cos + 4, 10*sin + 5*cos*cos})
	}
	M := landmarks.New(len(start), 2, kernels.Gaussian(sigma))
	g, err := M.Log(start, target)
	if err != nil {
		t.Fatal(err)
	}
	points := [][]float64{{-30, 20}, {0, 10}, {28, 4}, {0, 30}}
	carried, err := M.Transform(g, points)
	if err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(map[string]any{"start": flat(g.Start), "end": flat(g.End), "momentum": flat(g.Momentum), "sigma": sigma, "points": flat(points)})
	if err != nil {
		t.Fatal(err)
	}
	script, err := os.ReadFile("../drag.js")
	if err != nil {
		t.Fatal(err)
	}
	page := goja.New()
	for name, value := range map[string]any{"module": map[string]any{}, "input": string(in)} {
		if err := page.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := page.RunScript("drag.js", string(script)); err != nil {
		t.Fatal(err)
	}
	out, err := page.RunString(check)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Path, Momenta            [][]float64
		Velocity, Found, Carried []float64
		Length                   float64
	}
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Path) != len(g.Path) {
		t.Fatalf("%d shapes, want %d", len(got.Path), len(g.Path))
	}
	for k := range g.Path {
		expect.Rel(t, "path", got.Path[k], flat(g.Path[k]), 1e-6)
		expect.Rel(t, "momenta", got.Momenta[k], flat(g.Momenta[k]), 1e-6)
	}
	expect.Rel(t, "velocity", got.Velocity, flat(g.Velocity), 1e-6)
	expect.Rel(t, "length", got.Length, g.Length, 1e-6)
	expect.Rel(t, "momentum of the logarithm", got.Found, flat(g.Momentum), 1e-6)
	expect.Rel(t, "carried points", got.Carried, flat(carried[len(carried)-1]), 1e-4) // the midpoint rule of 50 steps
}

func flat(q [][]float64) (out []float64) {
	for _, p := range q {
		out = append(out, p...)
	}
	return out
}

// stub is as much of a page as drag.js asks for: the elements of the figure that lies in html, and what draw says of them.
const stub = `
const elements = [], layer = {appendChild: e => (elements.push(e), e)};
const paths = () => elements.filter(e => e.name == "path"), circles = () => elements.filter(e => e.name == "circle");
const width = +html.match(/viewBox="0 0 ([\d.]+)/)[1];
const svg = {viewBox: {baseVal: {width}}, clientWidth: width, querySelector: () => layer,
	querySelectorAll: s => circles().filter(c => s == "circle" || c.a.class == "hold")};
const inside = {svg, input: {}, button: {}, "script[type='application/json']": {textContent: html.match(/"application\/json">(.*?)<\/script>/s)[1]}};
const figure = {dataset: {}, querySelector: s => inside[s], querySelectorAll: () => [{}, {}]};
const document = {querySelectorAll: () => [figure], createElementNS: (_, name) => {
	const a = {}, dataset = {};
	return {name, a, dataset, setAttribute: (k, v) => { a[k] = v; if (k.startsWith("data-")) dataset[k.slice(5)] = v; }};
}};
`

// What the page draws of landmarks that follow no outline are points and paths: no line joins a landmark to the next one.
func TestPoints(t *testing.T) {
	path, momentum := []shape.Shape{{{0, 0}, {9, 0}}, {{0, 0.5}, {9, 0.5}}}, [][]float64{{0, 0.5}, {0, 0.5}}
	for _, c := range []struct {
		name, alt     string
		figure        *viz.Figure
		paths, closed int // lines
	}{
		{"an outline", "outline", viz.Drag(path, momentum, 1), 6, 2}, // grid, paths, start, end, shafts and heads of arrows
		{"points", "2 points", viz.DragPoints(path, momentum, 1), 4, 0},
	} {
		file := filepath.Join(t.TempDir(), "page.html")
		if err := viz.Save(file, c.figure); err != nil {
			t.Fatal(err)
		}
		html, page := string(expect.Must(os.ReadFile(file))), goja.New()
		for _, end := range []string{"start", "end"} {
			if want := c.alt + " &#34;" + end + "&#34;, "; !strings.Contains(html, want) {
				t.Errorf("%s: the picture is not one of %s", c.name, want)
			}
		}
		if err := page.Set("html", html); err != nil {
			t.Fatal(err)
		}
		script := expect.Must(os.ReadFile("../drag.js"))
		out := expect.Must(page.RunString(stub + string(script) + `JSON.stringify({
	paths: paths().length, closed: paths().filter(p => /^stroke/.test(p.a.style) && /z/.test(p.a.d)).length,
	points: circles().filter(c => c.a.class != "hold" && c.a.cx).length,
})`))
		var got struct {
			Paths, Closed, Points int
		}
		if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
			t.Fatal(err)
		}
		if got.Paths != c.paths || got.Closed != c.closed || got.Points != 4 {
			t.Errorf("%s: the page has %d lines, %d of them closed, and %d points", c.name, got.Paths, got.Closed, got.Points)
		}
	}
}
