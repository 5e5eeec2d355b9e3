package viz

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// A canvas takes the marks of one layer, in the coordinates of the data. Points with 2 coordinates make a flat figure;
// points with 3 make a figure in space, which is projected as its camera sees it, without what a surface hides. Widths of
// strokes and diameters of dots are in points (1/72 inch).
type canvas struct {
	marks []mark
	layer *Layer
	rows  int     // y numbers so many rows, from 0: there is no y axis, and the x axis reaches as far as the data
	row   float64 // height of a row in points, if the figure's size is not set
	tone  float64 // of the item whose colour was asked for last
}

// A pen is the look of a line.
type pen struct {
	Color  color.NRGBA
	Width  float64 // points
	Dashed bool
}

type markKind int

const (
	lineMark   markKind = iota
	areaMark            // filled polygon
	faceMark            // lit surface of triangles
	dotMark             // disc
	arrowMark           // at[0] to at[1]
	vectorMark          // at[1] from at[0], before its factor is known: that of Layer.Scale, or one by which the figure's longest can be read
	textMark
	nameMark  // text beside a point, where it covers least
	glyphMark // line or area of given size in points, or a text, at a place
	levelMark // line across the whole chart at x = at[0][0] or y = at[0][1]; the other is NaN
)

type mark struct {
	kind   markKind
	at     [][]float64
	closed bool
	stroke pen
	fill   color.NRGBA
	radius float64 // points
	text   string
	glyph  [][]float64 // corners as offsets from at[0], in points; of a text glyph[0], by which it is moved: it begins there where that is positive,
	// ends there where it is negative, and has its middle there where it is 0
	layer *Layer
	name  string // that shows on a point
	shape int    // of a dot: see dotShapes
	body  *body
	tone  float64   // that its colour stands for, if its layer has several
	tones []float64 // likewise of the vertices of a surface
}

// line draws a line through the points and, if closed is true, back to the first.
func (c *canvas) line(points [][]float64, closed bool, s pen) {
	c.add(mark{kind: lineMark, at: points, closed: closed, stroke: s})
}

// area fills the polygon of a flat figure with the given corners.
func (c *canvas) area(points [][]float64, fill color.NRGBA) {
	c.add(mark{kind: areaMark, at: points, fill: fill})
}

// dot draws a disc, its diameter in points. An edge of no width, pen{}, is not drawn.
func (c *canvas) dot(at []float64, diameter float64, fill color.NRGBA, edge pen) {
	c.add(mark{kind: dotMark, at: [][]float64{at}, radius: diameter / 2, fill: fill, stroke: edge})
}

// dots draws discs at points, or other marks of the layer's shape, with the names that Hover gives them.
func (c *canvas) dots(points [][]float64, diameter float64) {
	names := c.layer.hover
	try.FailIf(names != nil && len(names) != len(points), "Hover: %d names for %d points", len(names), len(points))
	for i, p := range points {
		c.dot(p, diameter, c.ink(i), pen{})
		m := &c.marks[len(c.marks)-1]
		if m.shape = c.layer.mark; c.layer.hover != nil {
			m.name = c.layer.hover[i]
		}
	}
}

// write writes a text beside a point, on the side that is away from the other texts of the layer.
func (c *canvas) write(at []float64, text string, ink color.NRGBA) {
	c.add(mark{kind: textMark, at: [][]float64{at}, text: text, fill: ink})
}

// nameAt writes a text beside a point of a flat figure, on that side and as near as it can be where it covers least of what the figure
// draws.
func (c *canvas) nameAt(at []float64, text string, ink color.NRGBA) {
	c.add(mark{kind: nameMark, at: [][]float64{at}, text: text, fill: ink})
}

// glyph draws a closed line at a place of a flat figure, and fills it unless the fill has no opacity. Its points are offsets from the
// place in points: the size of a glyph does not follow the axes.
func (c *canvas) glyph(at []float64, points [][]float64, fill color.NRGBA, s pen) {
	c.add(mark{kind: glyphMark, at: [][]float64{at}, glyph: points, closed: true, fill: fill, stroke: s})
}

// ink returns the colour of item i of the layer: the colour for its value if the layer is coloured by values, and else the
// one colour of the layer.
func (c *canvas) ink(i int) color.NRGBA {
	l := c.layer
	if !l.byValue {
		return fade(*l.tint, l.opacity)
	}
	try.FailIf(i < 0 || i >= len(l.values), "item %d is drawn, of %d that the layer announced", i, len(l.values))
	c.tone = l.tone(l.values[i])
	return fade(l.colour(c.tone), l.opacity)
}

// width returns the width that Layer.Width set, or else the given one, in points.
func (c *canvas) width(points float64) float64 {
	return cmp.Or(c.layer.width, points)
}

// stroke returns the line style of item i of the layer: its colour, the width that Layer.Width set or else the given one in
// points, and whether it is dashed.
func (c *canvas) stroke(i int, points float64) pen {
	return pen{Color: c.ink(i), Width: c.width(points), Dashed: c.layer.dashed}
}

func (c *canvas) add(m mark) {
	m.layer, m.tone = c.layer, c.tone
	c.marks = append(c.marks, m)
}

// record lets the layer draw and checks what it drew, at a time from 0 to 1 if it moves.
func (l *Layer) record(t float64) (*canvas, error) {
	if l.err != nil {
		return nil, fmt.Errorf("%s: %w", l.name, l.err)
	}
	c := &canvas{layer: l}
	draw := l.draw
	if n := len(l.frames); n > 0 {
		frame := l.frames[int(math.Round(t*float64(n-1)))]
		if draw = frame.draw; frame.values != nil {
			l.values = frame.values
		}
	}
	err := try.Run(func() {
		draw(c)
		c.check()
	})
	return c, try.Name(err, "%s", l.name)
}

// check fails with what is wrong with the marks.
func (c *canvas) check() {
	for k, m := range c.marks {
		if m.kind == levelMark { // not a number across its axis; checked by the layer
			continue
		}
		checkPoints(fmt.Sprintf("mark %d", k), m.at)
		if m.kind == nameMark || m.kind == glyphMark || m.kind == areaMark {
			try.FailIf(len(m.at[0]) != 2, "mark %d: areas, names, captions and glyphs are for flat figures", k)
			for i, p := range m.glyph {
				try.FailIf(len(p) != 2 || !lists.Finite(p...), "mark %d: the offset %d is %v", k, i, p)
			}
		}
	}
}

// box is a range of x, y and z.
type box struct{ lo, hi [3]float64 }

func emptyBox() box {
	inf := math.Inf(1)
	return box{[3]float64{inf, inf, inf}, [3]float64{-inf, -inf, -inf}}
}

func (b *box) add(p []float64) {
	for k, v := range p {
		if !math.IsNaN(v) {
			b.lo[k], b.hi[k] = math.Min(b.lo[k], v), math.Max(b.hi[k], v)
		}
	}
}

func (b box) size(k int) float64 { return b.hi[k] - b.lo[k] }

// radius returns half the longest side.
func (b box) radius(dim int) float64 {
	r := 0.0
	for k := range dim {
		r = math.Max(r, b.size(k)/2)
	}
	return r
}

func boxOf(sets ...shape.Shape) box {
	b := emptyBox()
	for _, p := range slices.Concat(sets...) {
		b.add(p)
	}
	return b
}

// each calls a function of all points of marks.
func each(marks []mark, do func(p []float64)) {
	for _, m := range marks {
		for _, p := range m.at {
			do(p)
		}
	}
}
