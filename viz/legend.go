package viz

import (
	"image/color"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A key is one line of the legend.
type key struct {
	layer *Layer
	text  string
}

const (
	keyText  = 7.5 // points
	keyRow   = vg.Length(11)
	keyMark  = vg.Length(16) // width of the sample beside the text
	keySpace = vg.Length(4)
	keyGap   = vg.Length(12) // between the entries of a row
)

// keys lists what the legend says: labels, factors of arrows and ellipses, ranges of colours.
func keys(layers []*Layer) []key {
	var out []key
	for _, l := range layers {
		if l.colourBar() {
			continue
		}
		label := l.label
		if l.note != nil {
			if note := l.note(l); note != "" {
				if label == "" {
					label = l.name
				}
				label += " (" + note + ")"
			}
		}
		if l.byValue {
			if label != "" {
				label += ", "
			}
			label += l.quantity + ": " + short(l.lo) + " to " + short(l.hi)
		}
		if label != "" {
			out = append(out, key{l, label})
		}
	}
	return out
}

func (k key) width() vg.Length {
	return k.sample() + keySpace + style(keyText).Width(k.text)
}

func (k key) sample() vg.Length {
	switch {
	case k.layer.key == noKey:
		return 0
	case k.layer.byValue:
		return 1.6 * keyMark
	case k.layer.key == dotKey:
		return keyMark / 2
	}
	return keyMark
}

// draw draws the entry with the middle of its left edge at p.
func (k key) draw(c draw.Canvas, p vg.Point) {
	l := k.layer
	w := k.sample()
	right := p.Add(vg.Point{X: w})
	patch := func(from, to vg.Point, fill color.NRGBA) stamp {
		return stamp{at: []vg.Point{{X: from.X, Y: p.Y - 2.6}, {X: to.X, Y: p.Y - 2.6}, {X: to.X, Y: p.Y + 2.6}, {X: from.X, Y: p.Y + 2.6}}, closed: true, fill: fill}
	}
	stroke := Stroke{Width: 1.2, Dashed: l.dashed}
	if l.tint != nil {
		stroke.Color = fade(*l.tint, math.Max(0.4, l.opacity))
	}
	if l.width > 0 && l.key != dotKey {
		stroke.Width = math.Min(l.width, 3)
	}
	var all []stamp
	switch {
	case l.key == noKey:
	case l.byValue:
		const steps = 24
		for i := range steps {
			from := p.Add(vg.Point{X: w * vg.Length(i) / steps})
			to := p.Add(vg.Point{X: w * vg.Length(min(steps, float64(i)+1.3)) / steps})
			all = append(all, patch(from, to, Ramp((float64(i)+0.5)/steps)))
		}
	case l.key == dotKey:
		all = append(all, stamp{at: []vg.Point{p.Add(vg.Point{X: w / 2})}, fill: stroke.Color, radius: 1.8})
	case l.key == areaKey:
		all = append(all, patch(p, right, fade(stroke.Color, 0.4)))
	case l.key == arrowKey:
		shaft, head := arrow(p, right, stroke.Width)
		all = append(all, stamp{at: []vg.Point{p, p.Add(vg.Point{X: w * vg.Length(shaft)})}, stroke: stroke},
			stamp{at: head, closed: true, fill: stroke.Color})
	default:
		all = append(all, stamp{at: []vg.Point{p, right}, stroke: stroke})
	}
	ink(c.Canvas, all)
	sty := style(keyText)
	sty.YAlign = text.YCenter
	c.FillText(sty, right.Add(vg.Point{X: keySpace}), k.text)
}

// rows breaks entries into rows no wider than width.
func rows(all []key, width vg.Length) [][]key {
	var out [][]key
	var used vg.Length
	for _, k := range all {
		if len(out) == 0 || used+keyGap+k.width() > width {
			out, used = append(out, nil), -keyGap
		}
		out[len(out)-1] = append(out[len(out)-1], k)
		used += keyGap + k.width()
	}
	return out
}

// blockSize returns the size of a legend of one entry a row.
func blockSize(all []key) vg.Point {
	var size vg.Point
	for _, k := range all {
		size.X = max(size.X, k.width())
		size.Y += keyRow
	}
	return size
}

// A stain is where the page is inked, in cells of 2 points.
type stain struct {
	area  vg.Rectangle
	w, h  int
	cells []bool
}

const cell = 2

func stainOf(area vg.Rectangle, all []stamp) *stain {
	s := &stain{area: area, w: max(0, int(area.Size().X/cell)) + 1, h: max(0, int(area.Size().Y/cell)) + 1}
	s.cells = make([]bool, s.w*s.h)
	for _, st := range all {
		switch {
		case st.text != "":
			half := vg.Point{X: style(textSize).Width(st.text) / 2, Y: textSize / 2}
			s.fill(vg.Rectangle{Min: st.at[0].Sub(half), Max: st.at[0].Add(half)})
			continue
		case st.radius > 0:
			r := vg.Point{X: st.radius, Y: st.radius}
			s.fill(vg.Rectangle{Min: st.at[0].Sub(r), Max: st.at[0].Add(r)})
			continue
		}
		n := len(st.at)
		for i := 1; i < n || i == n && st.closed; i++ {
			a, d := st.at[i-1], st.at[i%n].Sub(st.at[i-1])
			steps := math.Max(1, math.Ceil(math.Hypot(float64(d.X), float64(d.Y))))
			for k := 0.0; k <= steps; k++ {
				s.mark(a.Add(d.Scale(vg.Length(k / steps))))
			}
		}
		if st.fill.A > 0 {
			s.polygon(st.at)
		}
	}
	return s
}

func (s *stain) mark(p vg.Point) {
	i, j := int((p.X-s.area.Min.X)/cell), int((p.Y-s.area.Min.Y)/cell)
	if i >= 0 && i < s.w && j >= 0 && j < s.h {
		s.cells[j*s.w+i] = true
	}
}

func (s *stain) fill(r vg.Rectangle) {
	for x := r.Min.X; x <= r.Max.X+cell; x += cell {
		for y := r.Min.Y; y <= r.Max.Y+cell; y += cell {
			s.mark(vg.Point{X: min(x, r.Max.X), Y: min(y, r.Max.Y)})
		}
	}
}

// polygon marks the cells whose middle lies inside, by the even-odd rule along each row.
func (s *stain) polygon(at []vg.Point) {
	lo, hi := extremes(at)
	lo, hi = lo.Sub(s.area.Min), hi.Sub(s.area.Min)
	for j := max(0, int(lo.Y/cell)); j < min(s.h, int(hi.Y/cell)+1); j++ {
		y := s.area.Min.Y + vg.Length(j)*cell + cell/2
		for i := max(0, int(lo.X/cell)); i < min(s.w, int(hi.X/cell)+1); i++ {
			x := s.area.Min.X + vg.Length(i)*cell + cell/2
			if s.cells[j*s.w+i] {
				continue
			}
			inside := false
			for k, a := range at {
				b := at[(k+1)%len(at)]
				if (a.Y > y) != (b.Y > y) && x < a.X+(y-a.Y)/(b.Y-a.Y)*(b.X-a.X) {
					inside = !inside
				}
			}
			s.cells[j*s.w+i] = inside
		}
	}
}

// free reports whether a rectangle is inside the page's area and without ink.
func (s *stain) free(r vg.Rectangle) bool {
	if r.Min.X < s.area.Min.X || r.Min.Y < s.area.Min.Y || r.Max.X > s.area.Max.X || r.Max.Y > s.area.Max.Y {
		return false
	}
	for i := int((r.Min.X - s.area.Min.X) / cell); i <= int((r.Max.X-s.area.Min.X)/cell); i++ {
		for j := int((r.Min.Y - s.area.Min.Y) / cell); j <= int((r.Max.Y-s.area.Min.Y)/cell); j++ {
			if s.cells[j*s.w+i] {
				return false
			}
		}
	}
	return true
}

// place finds room for a block of the given size: the corners first, then the middles of the edges.
func (s *stain) place(size vg.Point) (vg.Rectangle, bool) {
	const rim, air = 2, 4
	free := s.area.Size().Sub(size).Sub(vg.Point{X: 2 * rim, Y: 2 * rim})
	for _, spot := range [][2]vg.Length{{1, 1}, {0, 1}, {1, 0}, {0, 0}, {0.5, 1}, {0.5, 0}, {1, 0.5}, {0, 0.5}} {
		low := s.area.Min.Add(vg.Point{X: rim + spot[0]*free.X, Y: rim + spot[1]*free.Y})
		r := vg.Rectangle{Min: low, Max: low.Add(size)}
		around := vg.Rectangle{
			Min: vg.Point{X: max(r.Min.X-air, s.area.Min.X), Y: max(r.Min.Y-air, s.area.Min.Y)},
			Max: vg.Point{X: min(r.Max.X+air, s.area.Max.X), Y: min(r.Max.Y+air, s.area.Max.Y)},
		}
		if s.free(r) && s.free(around) {
			return r, true
		}
	}
	return vg.Rectangle{}, false
}
