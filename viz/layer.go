package viz

import (
	"fmt"
	"image/color"
	"math"
)

// A Layer is one thing to draw: outlines, points, arrows, … Its constructor takes the data, its methods set the looks
// and return the layer, so they chain:
//
//	viz.Outline(q).Label("q₀").Color(viz.Blue)
//
// Faulty data or an option that means nothing to the layer are reported by Save (an error) and Show (a panic).
type Layer struct {
	name   string
	draw   func(*Canvas) error
	key    keyKind             // what stands beside the label in the legend
	chart  bool                // x and y are different quantities: axes need no common scale
	count  int                 // number of values that ColorBy takes; negative: the layer has one colour
	scaled bool                // Scale means something
	note   func(*Layer) string // what the legend adds to the label, "" for nothing

	label   string
	tint    *color.NRGBA
	opacity float64
	width   float64 // points; 0: the layer's own
	dashed  bool
	scale   float64 // 0: the layer's own

	quantity string // what the colours of ColorBy stand for
	values   []float64
	byValue  bool
	lo, hi   float64

	err error
}

// NewLayer makes a new kind of layer. name stands in error messages; draw puts marks on the canvas in data
// coordinates, or returns what is wrong with the data. See the package comment for an example.
func NewLayer(name string, draw func(*Canvas) error) *Layer {
	return &Layer{name: name, draw: draw, key: lineKey, count: -1, opacity: 1}
}

// Label names the layer in the legend. Greek letters, sub- and superscripts are written as they are: "q₀", "σ²", "xᵢ".
func (l *Layer) Label(text string) *Layer {
	l.label = text
	return l
}

// Color sets the colour. Without it a layer takes the next colour of the palette.
func (l *Layer) Color(c color.Color) *Layer {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	l.tint, l.byValue = &n, false
	return l
}

// Opacity sets how much a layer covers what lies beneath it: from 0, nothing, to 1, all.
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
func (l *Layer) Dashed() *Layer {
	l.dashed = true
	return l
}

// Scale sets how many times longer than the data arrows are drawn, or how many standard deviations ellipses reach.
func (l *Layer) Scale(factor float64) *Layer {
	switch {
	case !l.scaled:
		l.fail("Scale means nothing to this layer; it is for Arrows and Ellipses")
	case !(factor > 0) || math.IsInf(factor, 0):
		l.fail("Scale(%v): give a positive number", factor)
	}
	l.scale = factor
	return l
}

// ColorBy colours by a quantity (a time, a density, a covariate), one value for every shape of Outline, point of
// Points, time of Trajectories, line of Lines or vertex of Mesh, and shows its range in the legend, for a surface in a colour
// bar. Without values the colours follow the order, from 0 to 1.
func (l *Layer) ColorBy(quantity string, values ...float64) *Layer {
	if l.count < 0 {
		l.fail("ColorBy means nothing to this layer")
		return l
	}
	if len(values) != 0 && len(values) != l.count {
		l.fail("ColorBy(%q): %d values for %d items", quantity, len(values), l.count)
		return l
	}
	l.quantity, l.byValue, l.tint = quantity, true, nil
	l.lo, l.hi = 0, 1
	l.values = values
	if len(values) == 0 {
		l.values = make([]float64, l.count)
		for i := range l.values {
			l.values[i] = float64(i) / math.Max(1, float64(l.count-1))
		}
		return l
	}
	l.lo, l.hi = math.Inf(1), math.Inf(-1)
	for i, v := range values {
		if !finite(v) {
			l.fail("ColorBy(%q): value %d is %v", quantity, i, v)
			return l
		}
		l.lo, l.hi = math.Min(l.lo, v), math.Max(l.hi, v)
	}
	return l
}

// fail records the first thing that is wrong with the layer.
func (l *Layer) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// checkPoints reports the first fault of a set of points, called what: none, a coordinate that is no number, a
// dimension other than 2 or 3, or not the same for all.
func checkPoints(what string, points [][]float64) error {
	if len(points) == 0 {
		return fmt.Errorf("%s has no points", what)
	}
	dim := len(points[0])
	if dim != 2 && dim != 3 {
		return fmt.Errorf("%s, landmark 0 has %d coordinates: pictures are of 2 or 3", what, dim)
	}
	for i, p := range points {
		if len(p) != dim {
			return fmt.Errorf("%s, landmark %d has %d coordinates, landmark 0 has %d", what, i, len(p), dim)
		}
		for k, v := range p {
			if !finite(v) {
				return fmt.Errorf("%s, landmark %d: coordinate %c is %v", what, i, "xyz"[k], v)
			}
		}
	}
	return nil
}

// checkShapes does checkPoints for several sets and reports sets of different dimension and, where same is true, of
// different size.
func checkShapes(what string, shapes [][][]float64, same bool) error {
	if len(shapes) == 0 {
		return fmt.Errorf("no %s given", what)
	}
	for k, s := range shapes {
		if err := checkPoints(fmt.Sprintf("%s %d", what, k), s); err != nil {
			return err
		}
		if len(s[0]) != len(shapes[0][0]) {
			return fmt.Errorf("%s %d has %d coordinates a landmark, %s 0 has %d", what, k, len(s[0]), what, len(shapes[0][0]))
		}
		if same && len(s) != len(shapes[0]) {
			return fmt.Errorf("%s %d has %d landmarks, %s 0 has %d", what, k, len(s), what, len(shapes[0]))
		}
	}
	return nil
}
