package viz

import (
	"image/color"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Density colours a surface in space, a triangle mesh, by a quantity with one value a vertex: the density of a distribution
// on the sphere, a curvature, a distance. Write the unit with the quantity, "density (1/sr)": both stand at the colour bar,
// at whose ticks lines of equal value are drawn on the surface. Tessellate makes the mesh of a surface f(u, v).
func Density(vertices [][]float64, triangles [][3]int, quantity string, values []float64) *Layer {
	l := NewLayer("Density", each{len(vertices), func(c *Canvas) error {
		if err := facets(c, vertices, triangles); err != nil {
			return err
		}
		line := Stroke{Color: fade(White, 0.6), Width: c.Width(0.6)}
		for _, level := range c.layer.levels() {
			for _, t := range triangles {
				if piece := contour(vertices, values, t, level); piece != nil {
					c.Line(piece, false, line)
				}
			}
		}
		return nil
	}})
	if len(values) == 0 {
		l.fail("no values")
		return l
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

// colourBar reports whether the layer's colours are explained by a bar with ticks: those of a surface, where a reader wants
// numbers; for lines and points the legend states the range.
func (l *Layer) colourBar() bool {
	kind := l.drawn.kind()
	return l.byValue && (kind == areaMark || kind == faceMark)
}

// barRow is the height of a colour bar with its ticks and its name.
const barRow = vg.Length(30)

// levels returns the values at the ticks of the layer's colour bar.
func (l *Layer) levels() (values []float64) {
	for _, t := range l.ticks() {
		values = append(values, t.Value)
	}
	return values
}

// ticks returns those of the layer's colour bar, four to eight, or one if all values are the same.
func (l *Layer) ticks() []plot.Tick {
	if l.lo == l.hi {
		return []plot.Tick{{Value: l.lo, Label: short(l.lo)}}
	}
	return multiples(l.lo, l.hi, l.tickStep())
}

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

// drawBar draws the colour bar into a strip of the page.
func (l *Layer) drawBar(c draw.Canvas, strip vg.Rectangle) {
	const thickness, tick, steps = 6, 2.5, 128
	width := min(0.62*strip.Size().X, 7*cm)
	middle, top := (strip.Min.X+strip.Max.X)/2, strip.Max.Y-4
	place := func(t float64) vg.Length { return middle + width*vg.Length(t-0.5) }
	var all []stamp
	for i := range steps {
		from, to := place(float64(i)/steps), place(math.Min(1, (float64(i)+1.3)/steps)) // no hairline between
		all = append(all, stamp{at: []vg.Point{{X: from, Y: top - thickness}, {X: to, Y: top - thickness}, {X: to, Y: top}, {X: from, Y: top}}, closed: true, fill: fade(Ramp((float64(i)+0.5)/steps), l.opacity)})
	}
	sty := style(keyText)
	sty.XAlign, sty.YAlign = text.XCenter, text.YTop
	black := Stroke{Color: color.NRGBA{A: 0xff}, Width: 0.5}
	for _, t := range l.ticks() {
		at := 0.5
		if l.hi > l.lo {
			at = (t.Value - l.lo) / (l.hi - l.lo)
		}
		foot := vg.Point{X: place(at), Y: top - thickness - tick}
		all = append(all, stamp{at: []vg.Point{{X: foot.X, Y: top - thickness}, foot}, stroke: black})
		c.FillText(sty, vg.Point{X: foot.X, Y: foot.Y - 1}, t.Label)
	}
	ink(c.Canvas, all)
	name := l.quantity
	if l.label != "" {
		name = l.label + ", " + name
	}
	c.FillText(sty, vg.Point{X: middle, Y: top - thickness - tick - 10}, name)
}
