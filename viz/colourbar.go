package viz

import (
	"image"
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"anatomy/internal/lists"
)

// Density colours a surface in space, a triangle mesh, by a quantity with one value a vertex: the density of a distribution
// on the sphere, a curvature, a distance. Write the unit with the quantity, "density (1/sr)": both stand at the colour bar,
// at whose ticks lines of equal value are drawn on the surface. Tessellate makes the mesh of a surface f(u, v).
func Density(vertices [][]float64, triangles [][3]int, quantity string, values []float64) *Layer {
	body := surface{vertices: vertices, triangles: triangles}
	l := newLayer(traits{name: "Density", takes: "ColorBy", items: len(vertices), noun: "density on %d vertices", filled: true, form: true}, func(c *canvas) {
		body.draw(c)
		drawn := c.marks[len(c.marks)-1]
		line := pen{Color: fade(paper, 0.6), Width: c.width(0.6)}
		for _, level := range c.layer.levels() {
			for _, t := range drawn.body.triangles {
				if piece := contour(body.round, drawn.tones, t, c.layer.tone(level)); piece != nil {
					c.line(piece, false, line)
				}
			}
		}
	})
	if len(values) == 0 {
		return l.fail("no values")
	}
	return l.ColorBy(quantity, values...)
}

// contour returns the piece of the line of a level that runs through a triangle, or nil.
func contour(vertices [][]float64, values []float64, t [3]int, level float64) (piece [][]float64) {
	for k := range 3 {
		a, b := t[k], t[(k+1)%3]
		if (values[a] < level) != (values[b] < level) {
			piece = append(piece, blend(vertices[a], vertices[b], (level-values[a])/(values[b]-values[a])))
		}
	}
	return piece
}

// solid reports whether the layer is a surface or an area. The colour bar of such a layer bears its label; lines and points have an
// entry of their own in the legend.
func (l *Layer) solid() bool {
	kind := l.drawn.kind()
	return kind == areaMark || kind == faceMark
}

// barLabel is what the layer's colour bar says beside the quantity.
func (l *Layer) barLabel() string {
	if l.solid() {
		return l.label
	}
	return ""
}

// sameBar reports whether one colour bar explains both layers.
func (l *Layer) sameBar(m *Layer) bool {
	return l.barLabel() == m.barLabel() && l.signed() == m.signed() && l.form == m.form && l.quantity == m.quantity && l.lo == m.lo && l.hi == m.hi && l.opacity == m.opacity
}

// barHeight returns the height of a colour bar with its ticks and its name.
func (l *Layer) barHeight(width vg.Length) vg.Length {
	return 30 + keyLine*vg.Length(len(l.barName(width))-1)
}

// barWidth returns the width that a colour bar takes of a page, with the ends of its labels and its name.
func (l *Layer) barWidth(width vg.Length) vg.Length {
	own := min(0.62*width, 7*cm) + 2*style(keyText).Width("·10⁻⁰⁰")
	for _, line := range l.barName(width) {
		own = max(own, style(keyText).Width(line))
	}
	return own
}

// barName returns what the layer's colours stand for, in lines no wider than a width.
func (l *Layer) barName(width vg.Length) []string {
	name := l.quantity
	if label := l.barLabel(); label != "" {
		name = label + ", " + name
	}
	return broken(name, style(keyText), width)
}

// levels returns the values at the ticks of the layer's colour bar: the multiples of a round number, four to ten, or the one
// value that all have.
func (l *Layer) levels() []float64 {
	if l.lo == l.hi {
		return []float64{l.lo}
	}
	return lists.Each(multiples(l.lo, l.hi, l.tickStep()), func(t plot.Tick) float64 { return t.Value })
}

// tickStep returns the largest number 1, 2 or 5 times a power of ten that goes into the range four times.
func (l *Layer) tickStep() float64 {
	span := l.hi - l.lo
	step := math.Pow(10, math.Floor(math.Log10(span)))
	for _, f := range []float64{1, 0.5, 0.2} {
		if span/(step*f) >= 4 {
			return step * f
		}
	}
	return step * 0.1
}

// labels returns those ticks of a colour bar of the given width that have labels: all, or every second, fourth, fifth or
// tenth multiple of their step, so that the labels do not touch; or one. They are multiples of ten to the layer's power.
func (l *Layer) labels(width vg.Length) (ticks []plot.Tick) {
	if l.lo == l.hi {
		return []plot.Tick{{Value: l.lo, Label: short(l.lo)}}
	}
	const between = 4 // points
	unit := math.Pow(10, float64(l.power()))
	lo, hi, step := l.lo/unit, l.hi/unit, l.tickStep()/unit
	for _, times := range []float64{1, 2, 4, 5, 10} {
		wider := times * step
		if times == 5 && math.Abs(wider-round(wider)) > 1e-9*wider {
			continue // 5·5 has a digit more than 5
		}
		all := multiples(lo, hi, wider)
		if len(all) == 0 {
			ticks = ticks[:1]
			break
		}
		ticks = all
		widest := vg.Length(0)
		for _, t := range ticks {
			widest = max(widest, style(keyText).Width(t.Label))
		}
		if widest+between <= width*vg.Length(wider/(hi-lo)) {
			break
		}
	}
	for i := range ticks {
		ticks[i].Value *= unit
	}
	return ticks
}

// power returns that of ten which stands beside the layer's colour bar: its labels are multiples of it.
func (l *Layer) power() int {
	if l.lo == l.hi {
		return 0
	}
	return powerOf(l.lo, l.hi)
}

// drawBar draws the colour bar at the upper edge of a strip of the page.
func (l *Layer) drawBar(c draw.Canvas, strip vg.Rectangle) {
	const thickness, tick, beside, steps = 6, 2.5, 3, 512
	sty := style(keyText)
	width, unit := min(0.62*strip.Size().X, 7*cm), ""
	if power := l.power(); power != 0 {
		unit = "·10" + superscript(power)
		width = min(width, strip.Size().X-2*(sty.Width(unit)+beside))
	}
	middle, top := (strip.Min.X+strip.Max.X)/2, strip.Max.Y-4
	place := func(t float64) vg.Length { return middle + width*vg.Length(t-0.5) }
	var all []stamp
	ramp := image.NewNRGBA(image.Rect(0, 0, steps, 1)) // an image has no hairlines
	for i := range steps {
		ramp.SetNRGBA(i, 0, fade(l.colour(l.tone(l.lo+(l.hi-l.lo)*(float64(i)+0.5)/steps)), l.opacity))
	}
	c.DrawImage(vg.Rectangle{Min: vg.Point{X: place(0), Y: top - thickness}, Max: vg.Point{X: place(1), Y: top}}, ramp)
	sty.YAlign = text.YCenter
	c.FillText(sty, vg.Point{X: place(1) + beside, Y: top - thickness/2}, unit)
	sty.XAlign, sty.YAlign = text.XCenter, text.YTop
	black := pen{Color: color.NRGBA{A: 0xff}, Width: 0.5}
	foot := func(value float64, length vg.Length) vg.Point { // of a tick
		at := 0.5
		if l.hi > l.lo {
			at = (value - l.lo) / (l.hi - l.lo)
		}
		p := vg.Point{X: place(at), Y: top - thickness - length}
		all = append(all, stamp{at: []vg.Point{{X: p.X, Y: top - thickness}, p}, stroke: black})
		return p
	}
	for _, level := range l.levels() {
		foot(level, tick/2)
	}
	if l.signed() { // zero goes through the bar
		p := foot(0, tick)
		all = append(all, stamp{at: []vg.Point{p, {X: p.X, Y: top + tick}}, stroke: pen{Color: black.Color, Width: 0.8}})
	}
	for _, t := range l.labels(width) {
		p := foot(t.Value, tick)
		c.FillText(sty, vg.Point{X: p.X, Y: p.Y - 1}, t.Label)
	}
	ink(c.Canvas, all)
	for i, line := range l.barName(strip.Size().X) {
		c.FillText(sty, vg.Point{X: middle, Y: top - thickness - tick - 10 - keyLine*vg.Length(i)}, line)
	}
}
