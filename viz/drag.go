package viz

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Drag shows a geodesic of landmarks in the plane that the reader takes hold of: path holds its shapes from start to end,
// momentum its momentum at the start, one vector a landmark, and sigma is the width of the Gaussian kernel
// exp(−|x − y|²/2σ²) of the metric. In a notebook and in HTML every landmark of both shapes can be dragged, and a slider
// changes σ; the page then searches the geodesic anew, by Hamilton's equations, and draws its paths, its momentum and the
// grid that its flow deforms. It needs no network. On paper the given geodesic is shown. The landmarks follow a closed
// outline, which is drawn; those that follow none are for DragPoints.
//
//	r := nb.Must(M.Log(q0, q1))
//	viz.Show(viz.Drag(r.Path, r.Momentum, sigma).Unit("mm"))
func Drag(path []shape.Shape, momentum [][]float64, sigma float64) *Figure {
	return takeHold("Drag", path, momentum, sigma, true)
}

// DragPoints is Drag for landmarks that follow no outline: they are drawn as points.
func DragPoints(path []shape.Shape, momentum [][]float64, sigma float64) *Figure {
	return takeHold("DragPoints", path, momentum, sigma, false)
}

func takeHold(name string, path []shape.Shape, momentum [][]float64, sigma float64, closed bool) *Figure {
	if err := checkDrag(path, momentum, sigma); err != nil {
		f := Fig()
		f.err = fmt.Errorf("%s: %w", name, err)
		return f
	}
	start, end := path[0], path[len(path)-1]
	ways := lists.Make(len(start), func(i int) shape.Shape { return lists.Each(path, func(q shape.Shape) []float64 { return q[i] }) })
	draw := Points
	if closed {
		draw = func(q [][]float64) *Layer { return Outline(q) }
	}
	f := Fig(Lines(ways...).Color(Sky).Label("paths"), draw(start).Color(Grey).Label("start"), draw(end).Color(Blue).Label("end"),
		Arrows(start, momentum).Color(Vermilion).Label("momentum"))
	f.drag = &drag{start: start, end: end, momentum: momentum, sigma: sigma, closed: closed}
	return f
}

const mostDragged = 80 // landmarks: with more the page would be slow

func checkDrag(path []shape.Shape, momentum [][]float64, sigma float64) (err error) {
	defer try.Catch(&err)
	checkShapes("time", path, true)
	checkPoints("momentum", momentum)
	n, dim := len(path[0]), len(path[0][0])
	try.FailIf(len(path) < 2, "a path of one shape: give those from start to end")
	try.FailIf(dim != 2, "shapes of %d coordinates: give shapes in the plane", dim)
	try.FailIf(len(momentum) != n || len(momentum[0]) != dim, "%d×%d landmarks and %d×%d momenta: they must have one size", n, dim, len(momentum), len(momentum[0]))
	try.FailIf(n > mostDragged, "%d landmarks: give at most %d, the page computes with them as the reader drags", n, mostDragged)
	try.FailIf(!(sigma > 0) || math.IsInf(sigma, 0), "a kernel of width %v: give a positive number", sigma)
	return nil
}

// drag is what Drag or DragPoints was given.
type drag struct {
	start, end, momentum [][]float64
	sigma                float64
	closed               bool // the landmarks follow an outline
}

// draggable is the figure that takeHold makes, laid out.
type draggable struct {
	*drag
	alt   string
	sheet *sheet
	zoom  float64 // of the sheet, on the page
}

// dragged lays the figure out as wide as a page, with a margin into which a reader can drag.
func (f *Figure) dragged() (out *sheet, err error) {
	defer try.Catch(&err)
	own := *f
	own.bare = true
	s := try.Get(own.scene())
	s.outside = true
	for _, l := range f.drag.lattice() {
		for _, p := range l {
			s.bounds.add(p)
		}
	}
	width, zoom := s.paged()
	out = try.Get((&layout{scenes: []*scene{s}, columns: 1, width: width}).sheet())
	out.extra = &draggable{f.drag, out.alt(), out, zoom}
	return out, nil
}

// lattice returns the grid before its deformation.
func (d *drag) lattice() []shape.Shape { return Lattice(26, d.start, d.end) }

func (d *draggable) html() string {
	s := d.sheet.withoutKeys()
	p := s.panels[0]
	scene := p.scene
	scene.hollow = true
	var keys legend
	for _, l := range scene.layers { // without the factor of the arrows, which the page changes
		keys.keys = append(keys.keys, l.key(l.label))
	}
	frame := scene.frame(scene.inner(p.at))
	origin, one := frame.place([]float64{0, 0}), frame.place([]float64{1, 0})
	var grid []float64
	var lines []int // points of each
	for _, l := range d.lattice() {
		for i := 0; i < len(l); i += 2 { // two points a cell are enough for a grid that moves
			grid = append(grid, l[i]...)
		}
		lines = append(lines, (len(l)+1)/2)
	}
	data := fields{ // from which drag.js computes and draws; points are x₀, y₀, x₁, y₁, …
		"start": slices.Concat(d.start...), "end": slices.Concat(d.end...), "momentum": slices.Concat(d.momentum...), "sigma": d.sigma, "closed": d.closed,
		"grid": grid, "lines": lines,
		"at":    []vg.Length{origin.X, s.size.Y - origin.Y}, // of the origin, in points from the upper left corner
		"unit":  one.X - origin.X,                           // points
		"scale": scene.layers[len(scene.layers)-1].scale,    // of momenta
		"name":  strings.TrimRight(" "+scene.unit, " "),     // of the unit, after a space
	}
	return page("drag", fields{"Alt": d.alt, "Keys": keys.fields(), "Elements": s.elements(), "Width": d.zoom * s.size.X.Dots(cssDots), "Script": dragScript,
		"Across": float64(s.size.X), "Up": float64(s.size.Y), "Data": string(sure(json.Marshal(data)))})
}
