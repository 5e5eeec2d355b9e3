package viz

import (
	"math"
	"reflect"
	"slices"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A key is one entry of a legend: a sample of the layer beside a text.
type key struct {
	layer  *Layer
	text   string
	lines  []string // the text, broken where it is wider than the legend
	sample []mark   // in the unit square
	indent vg.Length
	width  vg.Length
}

const (
	keyText   = 7.5 // points
	keyRow    = vg.Length(11)
	keyLine   = vg.Length(9)  // from one line of a text to the next
	keyMark   = vg.Length(16) // width of a sample
	keyHeight = vg.Length(5.2)
	keySpace  = vg.Length(4)
	keyGap    = vg.Length(12) // between the entries of a row
)

// keys lists what the legend says beside the colour bars: labels, factors of arrows and ellipses.
func keys(layers []*Layer) (out []key) {
	for _, l := range layers {
		if l.byValue && l.solid() {
			continue
		}
		label := l.label
		if factor := l.factor(); factor != "" {
			if label == "" {
				label = l.name
			}
			label += " (" + factor + ")"
		}
		if label == "" {
			continue
		}
		out = append(out, l.key(label))
	}
	return out
}

// factor returns how the legend states the factor that Scale or the figure set, "" for 1.
func (l *Layer) factor() string {
	switch {
	case l.scale == 0 || l.scale == 1:
		return ""
	case l.factorOf == "":
		return "×" + short(l.scale)
	}
	return short(l.scale) + " " + l.factorOf
}

// span states the range of the colours in words.
func (l *Layer) span() string { return l.quantity + ": " + strings.Join(apart(l.lo, l.hi), " to ") }

// key makes the layer's entry in the legend.
func (l *Layer) key(label string) key {
	pale := *l
	pale.opacity = math.Max(0.4, l.opacity)
	c := &canvas{layer: &pale}
	width := keyMark
	kind := l.drawn.kind()
	switch {
	case kind == textMark || kind == nameMark:
		width = 0
	case l.byValue:
		width *= 1.6
		const steps = 24
		for i := range steps {
			c.area(strip(float64(i)/steps, math.Min(1, (float64(i)+1.3)/steps)), l.colour(l.tone(l.lo+(l.hi-l.lo)*(float64(i)+0.5)/steps)))
		}
	case kind == dotMark:
		width /= 2
		c.dot([]float64{0.5, 0.5}, 3.6, c.ink(0), pen{})
		c.marks[0].shape = l.mark
	case kind == areaMark || kind == faceMark:
		c.area(strip(0, 1), fade(c.ink(0), 0.4))
	default:
		stroke := c.stroke(0, 1.2)
		stroke.Width = math.Min(stroke.Width, 3)
		if kind == arrowMark {
			c.add(mark{kind: arrowMark, at: [][]float64{{0, 0.5}, {1, 0.5}}, stroke: stroke})
		} else {
			c.line([][]float64{{0, 0.5}, {1, 0.5}}, false, stroke)
		}
	}
	indent := width + keySpace
	return key{l, label, []string{clipped(label, 200)}, c.marks, indent, indent + style(keyText).Width(clipped(label, 200))}
}

// within returns the entry no wider than a width, its text in several lines if need be.
func (k key) within(width vg.Length) key {
	if k.width <= width {
		return k
	}
	sty := style(keyText)
	k.lines, k.width = broken(k.lines[0], sty, width-k.indent), 0
	for _, line := range k.lines {
		k.width = max(k.width, k.indent+sty.Width(line))
	}
	return k
}

// strip is the part of the unit square between two values of x.
func strip(from, to float64) [][]float64 {
	return [][]float64{{from, 0}, {to, 0}, {to, 1}, {from, 1}}
}

// kind returns what the layer drew first.
func (c *canvas) kind() markKind {
	if len(c.marks) == 0 {
		return lineMark
	}
	return c.marks[0].kind
}

// draw draws the entry with the left end of the middle of its first line at p.
func (k key) draw(c draw.Canvas, p vg.Point) {
	sty := style(keyText)
	sty.YAlign = text.YCenter
	place := func(q []float64) vg.Point {
		return vg.Point{X: p.X + vg.Length(q[0])*(k.indent-keySpace), Y: p.Y + vg.Length(q[1]-0.5)*keyHeight}
	}
	ink(c.Canvas, stamps(k.sample, place, false, c.Rectangle))
	for i, line := range k.lines {
		c.FillText(sty, vg.Point{X: p.X + k.indent, Y: p.Y - vg.Length(i)*keyLine}, line)
	}
}

// A legend is what explains the layers: colour bars, and keys beneath them.
type legend struct {
	bars []*Layer
	keys []key
}

// alike reports whether two legends say the same in the same looks.
func (a legend) alike(b legend) bool {
	return slices.EqualFunc(a.bars, b.bars, (*Layer).sameBar) && slices.EqualFunc(a.keys, b.keys, func(k, l key) bool {
		return k.text == l.text && slices.EqualFunc(k.sample, l.sample, mark.looksLike)
	})
}

// looksLike reports whether two marks differ in their layer only.
func (m mark) looksLike(n mark) bool {
	m.layer, n.layer = nil, nil
	return reflect.DeepEqual(m, n)
}

// height returns what the legend takes of a page of the given width.
func (a legend) height(width vg.Length) vg.Length {
	height := vg.Length(0)
	for _, l := range a.bars {
		height += l.barHeight(width)
	}
	if len(a.keys) > 0 {
		height += 4
	}
	_, rows := inRows(a.keys, width)
	return height + rows
}

// foot returns what the legend takes at the foot of a sheet of the given width, 0 if it says nothing.
func (a legend) foot(width vg.Length) vg.Length {
	if height := a.height(width); height > 0 {
		return rim + height
	}
	return 0
}

// draw draws the legend from the upper edge of a strip downwards.
func (a legend) draw(c draw.Canvas, strip vg.Rectangle) {
	bands, spots := a.places(strip)
	for i, r := range bands {
		a.bars[i].drawBar(c, r)
	}
	for _, s := range spots {
		s.draw(c, s.at)
	}
}

// places are the parts of a strip that the colour bars take, and the entries beneath them, each in its place.
func (a legend) places(strip vg.Rectangle) (bands []vg.Rectangle, spots []spot) {
	level := strip.Max.Y
	for _, l := range a.bars {
		height := l.barHeight(strip.Size().X)
		bands = append(bands, vg.Rectangle{Min: vg.Point{X: strip.Min.X, Y: level - height}, Max: vg.Point{X: strip.Max.X, Y: level}})
		level -= height
	}
	spots, _ = inRows(a.keys, strip.Size().X)
	for i := range spots {
		spots[i].at = spots[i].at.Add(vg.Point{X: (strip.Min.X + strip.Max.X) / 2, Y: level - 4})
	}
	return bands, spots
}

// boxes are what the colour bars and the entries of the legend take of a strip, each by itself.
func (a legend) boxes(strip vg.Rectangle) (all []vg.Rectangle) {
	bands, spots := a.places(strip)
	for i, r := range bands {
		half, middle := a.bars[i].barWidth(strip.Size().X)/2, (r.Min.X+r.Max.X)/2
		r.Min.X, r.Max.X = max(r.Min.X, middle-half), min(r.Max.X, middle+half)
		all = append(all, r)
	}
	for _, s := range spots {
		top := s.at.Add(vg.Point{X: -keyGap / 2, Y: keyRow / 2})
		all = append(all, vg.Rectangle{Min: vg.Point{X: top.X, Y: top.Y - s.tall()}, Max: vg.Point{X: top.X + s.width + keyGap, Y: top.Y}})
	}
	return all
}

// A spot is an entry with its place: of the left end of the middle of its first line.
type spot struct {
	key
	at vg.Point
}

// tall is the height of an entry.
func (k key) tall() vg.Length { return keyRow + keyLine*vg.Length(max(1, len(k.lines))-1) }

// inRows sets entries in rows no wider than a width, beneath the middle of their upper edge, and returns their height.
func inRows(all []key, width vg.Length) (out []spot, height vg.Length) {
	first, used := 0, -keyGap // of the row
	end := func() {
		tall, left := vg.Length(0), -used/2
		for i := first; i < len(out); i++ {
			out[i].at = vg.Point{X: left, Y: -height - keyRow/2}
			tall, left = max(tall, out[i].tall()), left+out[i].width+keyGap
		}
		first, used, height = len(out), -keyGap, height+tall
	}
	for _, k := range all {
		k = k.within(width)
		if used+keyGap+k.width > width && used > 0 {
			end()
		}
		out, used = append(out, spot{key: k}), used+keyGap+k.width
	}
	end()
	return out, height
}

// fields returns the entries for a page: their texts keep their size on a narrow one, unlike those of a picture.
func (a legend) fields() (all []fields) {
	const zoom = 1.6 // pixels a point
	for _, k := range a.keys {
		sample := k
		sample.text, sample.lines, sample.width = "", nil, k.indent
		one := legend{keys: []key{sample}}
		s := &sheet{size: vg.Point{X: k.indent, Y: rim + one.height(k.indent)}, legend: one}
		all = append(all, fields{"Indent": float64(k.indent), "Row": float64(keyRow), "Width": zoom * float64(k.indent), "Sample": s.elements(), "Text": k.text})
	}
	return all
}

// withoutKeys returns the sheet of one figure without the entries of its legend and without the room that they take beneath it.
func (s *sheet) withoutKeys() *sheet {
	out, scene := *s, *s.panels[0].scene
	high := s.panels[0].scene.strip(s.size.X - 2*rim)
	scene.legend.keys, scene.reserve, scene.outside = nil, 0, len(scene.legend.bars) > 0
	out.size.Y -= high - scene.strip(s.size.X-2*rim)
	out.panels = []panel{{&scene, vg.Rectangle{Max: out.size}}}
	return &out
}

// blockSize returns the size of a legend of one entry a row.
func blockSize(all []key) vg.Point {
	var size vg.Point
	for _, k := range all {
		size.X = max(size.X, k.width)
		size.Y += keyRow
	}
	return size
}
