package viz

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

const (
	textSize  = 6.5 // points
	numberGap = 2.0 // points between a mark and its number
	nameGap   = 4.5 // points between a point and the name beside it
)

// placeTexts moves each text off its point to where it covers no other text and least of dots and lines: a number on the side away from its
// neighbours, or as near to it as can be; a name, with the pale area that dims what it must cover, where it finds room. Light lines, such as a
// grid, may be crossed. In space the nearest come first, and those that would stand on a nearer one, wherever they are put, are left out.
func (c *carver) placeTexts() {
	var order []int
	toward := map[int]float64{} // the angle of the side that a text likes best
	for _, texts := range c.texts {
		for _, t := range texts {
			toward[t] = c.away(texts, t)
		}
		order = append(order, texts...)
	}
	if len(order) == 0 {
		return
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(c.out[i].ground-c.out[j].ground, cmp.Compare(c.out[j].depth, c.out[i].depth), i-j)
	})
	var lines []stamp
	var placed []vg.Rectangle
	for i, s := range c.out {
		light := min(s.stroke.Color.R, s.stroke.Color.G, s.stroke.Color.B) > 0xa0 || s.stroke.Color.A < 0x80
		if _, moves := toward[i]; s.text != "" && !moves {
			placed = append(placed, s.box(0))
		} else if !moves && s.solid == nil && (s.radius > 0 || s.stroke.Width > 0 && !light || s.stroke.Width == 0 && s.fill.A > 0x80 && len(s.at) > 1) {
			s.fill = color.NRGBA{}
			lines = append(lines, s)
		}
	}
	drawn := stainOf(c.page, lines)
	for _, t := range order {
		s, size := &c.out[t], textBox(c.out[t].text)
		gap, half := vg.Points(numberGap), size.Scale(0.5)
		if s.ground > 0 {
			gap = vg.Points(nameGap)
		}
		least, best := math.Inf(1), vg.Rectangle{}
		rings := 4
		if c.inSpace { // a name farther off would seem to be that of another point
			rings = 1
		}
		for k := range rings * 24 {
			angle, ring := float64((k%24+1)/2)*math.Pi/12, k/24 // to both sides in turn, then farther off
			if k%2 == 0 {
				angle = -angle
			}
			sin, cos := math.Sincos(toward[t] + angle)
			off := gap * vg.Length(1+0.7*float64(ring))
			at := s.at[0].Add(vg.Point{X: vg.Length(cos) * (half.X + off), Y: vg.Length(sin) * (half.Y + off)})
			box := vg.Rectangle{Min: at.Sub(half), Max: at.Add(half)}
			cost := 10*float64(drawn.covered(box)) + 2*math.Abs(angle) + 4*float64(ring)
			if box.Min.X < c.page.Min.X+1 || box.Max.X > c.page.Max.X || box.Min.Y < c.page.Min.Y+1 || box.Max.Y > c.page.Max.Y {
				cost += 1e6
			}
			for _, other := range placed {
				if meet(box, other) {
					cost += 1e4
				}
			}
			if cost < least {
				least, best = cost, box
			}
		}
		if c.inSpace && least >= 1e4 {
			s.text = ""
			continue
		}
		s.at = []vg.Point{middle([]vg.Point{best.Min, best.Max})}
		if s.ground > 0 {
			c.out[t-s.ground].at = []vg.Point{best.Min, {X: best.Max.X, Y: best.Min.Y}, best.Max, {X: best.Min.X, Y: best.Max.Y}}
		}
		drawn.fill(best)
		placed = append(placed, best)
	}
}

// away is the angle of the direction away from the points of the other texts of a layer, as if they bore like charges; of a name to the right.
func (c *carver) away(texts []int, t int) float64 {
	if c.out[t].ground > 0 {
		return 0
	}
	push := vg.Point{X: 1e-9, Y: 1e-9}
	for _, other := range texts {
		d := c.out[t].at[0].Sub(c.out[other].at[0])
		if r := vg.Length(math.Hypot(float64(d.X), float64(d.Y))); r > 0 {
			push = push.Add(d.Scale(1 / (r * r * r)))
		}
	}
	return math.Atan2(float64(push.Y), float64(push.X))
}

// meet reports whether two rectangles overlap.
func meet(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

// textBox returns width and height of a text beside a mark.
func textBox(text string) vg.Point {
	return vg.Point{X: style(textSize).Width(text), Y: vg.Points(textSize)}
}

// captionRect returns the place of a caption on the page.
func (m mark) captionRect(at vg.Point) vg.Rectangle {
	half := textBox(m.text).Scale(0.5)
	side := func(v float64, half vg.Length) vg.Length { return vg.Points(v) + vg.Length(cmp.Compare(v, 0))*half }
	middle := at.Add(vg.Point{X: side(m.glyph[0][0], half.X), Y: side(m.glyph[0][1], half.Y)})
	return vg.Rectangle{Min: middle.Sub(half), Max: middle.Add(half)}
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
			s.fill(st.box(0))
			continue
		case st.radius > 0:
			r := vg.Point{X: st.radius, Y: st.radius}
			s.fill(vg.Rectangle{Min: st.at[0].Sub(r), Max: st.at[0].Add(r)})
			continue
		case st.solid != nil:
			b := st.solid.depths
			for i, z := range b.depth {
				if !math.IsInf(z, -1) {
					s.mark(b.low.Add(vg.Point{X: vg.Length(float64(i%b.w) / b.dot), Y: vg.Length(float64(b.h-i/b.w) / b.dot)}))
				}
			}
			continue
		}
		n := len(st.at)
		if n == 0 {
			continue
		}
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

// covered counts the marked cells in a rectangle.
func (s *stain) covered(r vg.Rectangle) int {
	lo, hi := r.Min.Sub(s.area.Min), r.Max.Sub(s.area.Min)
	count := 0
	for j := max(0, int(lo.Y/cell)); j <= min(s.h-1, int(hi.Y/cell)); j++ {
		for i := max(0, int(lo.X/cell)); i <= min(s.w-1, int(hi.X/cell)); i++ {
			if s.cells[j*s.w+i] {
				count++
			}
		}
	}
	return count
}

// polygon marks the cells whose middle lies inside, by the even-odd rule along each row.
func (s *stain) polygon(at []vg.Point) {
	first := func(from vg.Length, count int) int { // of so many cells that whose middle does not come before a place
		return int(max(0, min(vg.Length(count), vg.Length(math.Ceil(float64(from/cell-0.5))))))
	}
	crossings := make([][]vg.Length, s.h) // of the edges and the middle of each row
	for k, a := range at {
		b := at[(k+1)%len(at)]
		for j := first(min(a.Y, b.Y)-s.area.Min.Y, s.h); j < first(max(a.Y, b.Y)-s.area.Min.Y, s.h); j++ {
			y := s.area.Min.Y + vg.Length(j)*cell + cell/2
			crossings[j] = append(crossings[j], a.X+(y-a.Y)/(b.Y-a.Y)*(b.X-a.X))
		}
	}
	for j, xs := range crossings {
		slices.Sort(xs)
		for k := 0; k < len(xs); k += 2 {
			for i := first(xs[k]-s.area.Min.X, s.w); i < first(xs[k+1]-s.area.Min.X, s.w); i++ {
				s.cells[j*s.w+i] = true
			}
		}
	}
}

// place finds room for a block of the given size: the corners first, then the middles of the edges.
func (s *stain) place(size vg.Point) (vg.Rectangle, bool) {
	const rim, air = 6, 4 // from the axes, and from the data
	free := s.area.Size().Sub(size).Sub(vg.Point{X: 2 * rim, Y: 2 * rim})
	for _, spot := range [][2]vg.Length{{1, 1}, {0, 1}, {1, 0}, {0, 0}, {0.5, 1}, {0.5, 0}, {1, 0.5}, {0, 0.5}} {
		low := s.area.Min.Add(vg.Point{X: rim + spot[0]*free.X, Y: rim + spot[1]*free.Y})
		r := vg.Rectangle{Min: low, Max: low.Add(size)}
		around := vg.Rectangle{
			Min: vg.Point{X: max(r.Min.X-air, s.area.Min.X), Y: max(r.Min.Y-air, s.area.Min.Y)},
			Max: vg.Point{X: min(r.Max.X+air, s.area.Max.X), Y: min(r.Max.Y+air, s.area.Max.Y)},
		}
		if min(free.X, free.Y) >= -rim && s.covered(around) == 0 {
			return r, true
		}
	}
	return vg.Rectangle{}, false
}
