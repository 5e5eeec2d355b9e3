package viz

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// A Layer is one thing to draw: outlines, points, arrows, … Its constructor takes the data, its methods set the looks
// and return the layer, so they chain:
//
//	viz.Outline(q).Label("q₀").Color(viz.Blue)
//
// Save returns an error, and Show panics, if the data are faulty or a method means nothing to the layer.
type Layer struct {
	traits
	draw func(c *canvas) // puts marks on the canvas, in the coordinates of the data, or ends by try.Fail with what is wrong with the data

	frames []instant // of a layer that moves; draw and values are those of the first

	label   string
	tint    *color.NRGBA
	opacity float64
	width   float64 // points; 0: the layer's own
	dashed  bool
	scale   float64 // 0: the layer's own

	quantity string // what the colours of ColorBy stand for
	values   []float64
	byValue  bool
	lo, hi   float64 // range of the ramp: of the values, in a scene of all that have the quantity's name

	hull, ellipse bool     // about the points of a Scatter
	hover         []string // names of points
	mark          int      // of the points of a group: see dotShapes

	drawn *canvas // in a scene: what it drew
	err   error
}

// Traits are what the layers of one constructor have in common: by them a layer describes itself to its methods, the legend and the
// alternative text.
type traits struct {
	name   string // in errors
	takes  string // the methods that mean something to the layer, of those in meant
	items  int    // which have a colour each: ColorBy takes so many values, and draw asks canvas.ink or canvas.stroke for that of item i
	chart  bool   // x and y are different quantities: axes need no common scale
	group  bool   // layers with labels have marks of different shapes
	filled bool   // surfaces and areas: signed values have a palette with white at 0
	form   bool   // lit surfaces: light carries their form, so their palette is of even lightness

	factorOf   string                          // the unit of the factor of Scale; "" for a pure number
	noun       string                          // what it is, with a place for the number of items or without; "": the name of the layer
	detail     func(s *scene, l *Layer) string // where it lies or leads, how it differs from another layer; nil: nothing is said
	shape      func(drawn *canvas) [][]float64 // the points of a layer that shows one shape; nil: it shows none
	closed     bool                            // the points of the shape are joined to an outline
	colourless bool                            // its colour means nothing
}

// meant says what the methods are for that do not mean something to every layer.
var meant = map[string]string{
	"ColorBy": "layers of several items",
	"Scale":   "arrows, ellipses and the like",
	"Hull":    "Scatter",
	"Ellipse": "Scatter",
	"Hover":   "Scatter, Points and Wireframe",
}

// An instant is a frame of a layer that moves.
type instant struct {
	draw   func(c *canvas)
	values []float64 // of its colours; nil: those of the layer
}

func newLayer(t traits, draw func(c *canvas)) *Layer {
	return &Layer{traits: t, draw: draw, opacity: 1}
}

// means fails if a method means nothing to the layer.
func (l *Layer) means(method string) bool {
	ok := slices.Contains(strings.Fields(l.takes), method)
	if !ok {
		l.fail("%s means nothing to this layer: it is for %s", method, meant[method])
	}
	return ok
}

// Label names the layer in the legend. Greek letters, sub- and superscripts are written as they are: "q₀", "σ²", "xᵢ".
func (l *Layer) Label(text string) *Layer { l.label = text; return l }

// Color sets the colour. Without it a layer takes a colour that no other layer of its figure was given.
func (l *Layer) Color(c color.Color) *Layer {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	l.tint, l.byValue = &n, false
	return l
}

// Opacity sets how much of what lies beneath the layer is covered: from 0, nothing, to 1, all.
func (l *Layer) Opacity(f float64) *Layer {
	if !(f >= 0 && f <= 1) {
		l.fail("Opacity(%v): give a number from 0 to 1", f)
	}
	l.opacity = f
	return l
}

// Width sets the width of lines, or the diameter of points, in points (1/72 inch).
func (l *Layer) Width(points float64) *Layer {
	if !(points > 0 && points < 1000) {
		l.fail("Width(%v): give a positive number of points", points)
	}
	l.width = points
	return l
}

// Dashed breaks lines into dashes.
func (l *Layer) Dashed() *Layer { l.dashed = true; return l }

// Scale sets how many times longer than the data arrows are drawn, or how many standard deviations ellipses reach. The
// legend states the factor. Layers that draw nothing of either kind report an error.
func (l *Layer) Scale(factor float64) *Layer {
	if l.means("Scale") && (!(factor > 0) || math.IsInf(factor, 0)) {
		l.fail("Scale(%v): give a positive number", factor)
	}
	l.scale = factor
	return l
}

// ColorBy colours by a quantity (a time, a density, a covariate) with one value for every shape of Outline, point of
// Points, time of Trajectories, line of Lines or vertex of Mesh. A colour bar beneath the figure explains them. Without values the colours follow the order of the items, from 0 to 1. Layers that are
// coloured by a quantity of the same name have one scale of colours in all panels of a drawing.
func (l *Layer) ColorBy(quantity string, values ...float64) *Layer {
	n := l.items
	if !l.means("ColorBy") {
		return l
	}
	if len(values) != 0 && len(values) != n {
		return l.fail("ColorBy(%q): %d values for %d items", quantity, len(values), n)
	}
	l.quantity, l.byValue, l.tint = quantity, true, nil
	for k := range l.frames { // the values are for all of them
		l.frames[k].values = nil
	}
	l.lo, l.hi = 0, 1
	if l.values = values; len(values) == 0 {
		l.values = lists.Make(n, func(i int) float64 { return float64(i) / math.Max(1, float64(n-1)) })
	} else if i, bad := lists.NotFinite(values); bad {
		return l.fail("ColorBy(%q): value %d is %v", quantity, i, values[i])
	} else {
		l.lo, l.hi = slices.Min(values), slices.Max(values)
	}
	return l
}

// fail records the first thing that is wrong with the layer, and returns it.
func (l *Layer) fail(format string, args ...any) *Layer {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
	return l
}

// checkPoints ends with the first fault of a set of points, called what: none, a coordinate that is no number, a
// dimension other than 2 or 3, or not the same for all.
func checkPoints(what string, points [][]float64) {
	try.FailIf(len(points) == 0, "%s has no points", what)
	dim := len(points[0])
	try.FailIf(dim != 2 && dim != 3, "%s, landmark 0 has %d coordinates: pictures are of 2 or 3", what, dim)
	for i, p := range points {
		if len(p) != dim {
			try.Fail("%s, landmark %d has %d coordinates, landmark 0 has %d", what, i, len(p), dim)
		}
		if k, bad := lists.NotFinite(p); bad {
			try.Fail("%s, landmark %d: coordinate %c is %v", what, i, "xyz"[k], p[k])
		}
	}
}

// checkShapes does checkPoints for several sets and ends with sets of different dimension and, where same is true, of
// different size.
func checkShapes(what string, shapes []shape.Shape, same bool) {
	try.FailIf(len(shapes) == 0, "no %s given", what)
	for k, s := range shapes {
		checkPoints(fmt.Sprintf("%s %d", what, k), s)
		try.FailIf(len(s[0]) != len(shapes[0][0]), "%s %d has %d coordinates a landmark, %s 0 has %d", what, k, len(s[0]), what, len(shapes[0][0]))
		try.FailIf(same && len(s) != len(shapes[0]), "%s %d has %d landmarks, %s 0 has %d", what, k, len(s), what, len(shapes[0]))
	}
}

// faulty is a layer that only tells what is wrong.
func faulty(name, format string, args ...any) *Layer {
	return newLayer(traits{name: name}, nil).fail(format, args...)
}
