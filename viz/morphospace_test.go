package viz

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
)

// The hull of points holds all of them and turns to the left at each corner; the ellipse has 95 % of normal numbers.
func TestHullAndEllipse(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var points [][]float64
	for range 2000 {
		x := rng.NormFloat64()
		points = append(points, []float64{3 + 2*x, 1 + x + 0.5*rng.NormFloat64()})
	}
	corners := hull(points)
	left := func(a, b, p []float64) float64 { return (b[0]-a[0])*(p[1]-a[1]) - (b[1]-a[1])*(p[0]-a[0]) }
	for i, a := range corners {
		b := corners[(i+1)%len(corners)]
		if left(a, b, corners[(i+2)%len(corners)]) <= 0 {
			t.Errorf("corner %d of %d turns to the right", i, len(corners))
		}
		for _, p := range points {
			if left(a, b, p) < 0 {
				t.Fatalf("%v lies outside the hull", p)
			}
		}
	}
	x, y := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		x[i], y[i] = p[0], p[1]
	}
	drawn := expect.Must(Scatter(x, y).Ellipse().Color(Black).record(0))
	ring, inside := drawn.marks[len(points)].at, 0
	for _, p := range points {
		in := true
		for i, a := range ring {
			in = in && left(a, ring[(i+1)%len(ring)], p) > 0
		}
		if in {
			inside++
		}
	}
	expect.Abs(t, "share of points in the ellipse", float64(inside)/2000, 0.95, 3*math.Sqrt(0.95*0.05/2000))
	expect.Refused(t, expect.Error(Scatter(x[:2], y[:2]).Ellipse().Color(Black).record(0)), "2 points have no covariance")
	expect.Refused(t, expect.Error(Outline(points).Hull().Color(Black).record(0)), "Hull means nothing to this layer")
}

// A name stands in an SVG over its point, in the panel where this is, and shapes at places are drawn on one scale.
func TestHoverAndMiniatures(t *testing.T) {
	a, b := Fig(Scatter([]float64{1, 2, 4}, []float64{1, 3, 2}).Hover("one", "two <b>", "three").Hull()).Title("a"), Fig(Scatter([]float64{1, 2}, []float64{1, 3}).Hover("x", "y"))
	file := string(expect.Must(Encode(".svg", Row(a, b))))
	if strings.Count(file, "<circle ") != 5 || !strings.Contains(file, "<title>two &lt;b&gt;</title>") {
		t.Error(file)
	}
	expect.Refused(t, expect.Error(Scatter([]float64{1}, []float64{1}).Hover("a", "b").Color(Black).record(0)), "2 names for 1 points")

	corner := [][]float64{{0, 0}, {2, 0}, {2, 1}}
	twice := [][]float64{{0, 0}, {4, 0}, {4, 2}}
	drawn := expect.Must(Miniatures([][]float64{{0, 0}, {1, 1}}, []shape.Shape{corner, twice}, nil).record(0))
	if len(drawn.marks) != 2 || math.Abs(drawn.marks[1].glyph[1][0]-2*drawn.marks[0].glyph[1][0]) > 1e-12 {
		t.Error(drawn.marks)
	}
	space := [][]float64{{0, 0, 0}, {1, 0, 5}, {0, 3, 2}}
	if drawn = expect.Must(Miniatures([][]float64{{0, 0}}, []shape.Shape{space}, [][2]int{{0, 1}, {1, 2}}).record(0)); len(drawn.marks) != 2 || drawn.marks[0].glyph[1][1] <= drawn.marks[0].glyph[0][1] {
		t.Error("of a shape in space the two longest axes are drawn", drawn.marks)
	}
	expect.Refused(t, expect.Error(Wireframe(corner, [][2]int{{0, 3}}).Color(Black).record(0)), "link 0 joins the landmarks 0 and 3 of 3")
	if drawn = expect.Must(Wireframe(space, [][2]int{{0, 2}}).Color(Black).record(0)); len(drawn.marks) != 4 {
		t.Error(drawn.marks)
	}
}

// A chart with EqualAxes has one scale, and one without has two.
func TestEqualAxesOfChart(t *testing.T) {
	for _, f := range []*Figure{Fig(Scatter([]float64{0, 10}, []float64{0, 1})), Fig(Scatter([]float64{0, 10}, []float64{0, 1})).EqualAxes()} {
		s := expect.Must(f.sheet()).panels[0]
		frame := s.scene.frame(s.scene.inner(s.at))
		one, origin := frame.place([]float64{1, 1}), frame.place([]float64{0, 0})
		if across, up := float64(one.X-origin.X), float64(one.Y-origin.Y); f.equal != (math.Abs(across/up-1) < 1e-9) {
			t.Errorf("a unit is %v points along x and %v along y", across, up)
		}
	}
}
