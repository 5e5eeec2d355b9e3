package viz

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A frame is where a figure's data stand on the page, and the range and ticks of its axes.
type frame struct {
	area    vg.Rectangle
	lo, hi  [2]float64 // as log₁₀ on logarithmic axes
	log     [2]bool
	ticks   [2][]plot.Tick
	reach   *[2]float64 // ends of an x axis that stands alone
	crowded bool        // marks of given size, such as names, find no room
}

const (
	rim        = vg.Length(3)
	titleStrip = vg.Length(14)
	titleLine  = vg.Length(11) // from one line of a title to the next
	labelStrip = vg.Length(14)
	tickText   = 7.5 // points
	tickLength = vg.Length(3)
	tickSpace  = vg.Length(2) // between a tick and its label
)

// frame fits the axes into a page.
func (s *scene) frame(page vg.Rectangle) *frame {
	if s.bare || s.inSpace {
		return s.fit(page)
	}
	text := style(tickText)
	height := text.Height("0")
	page.Min.Y += tickLength + tickSpace + height
	page.Max.Y -= height / 2
	// The labels of the ticks need room, which changes range and ticks: the margins grow until the labels fit.
	var left, right vg.Length
	for {
		area := page
		area.Min.X += left
		area.Max.X -= right
		f := s.fit(area)
		needLeft, needRight := vg.Length(0), vg.Length(0)
		for _, t := range f.ticks[1] {
			needLeft = max(needLeft, tickLength+tickSpace+text.Width(t.Label))
		}
		for _, t := range f.ticks[0] {
			at, half := f.place([]float64{t.Value, 1}).X, text.Width(t.Label)/2
			needLeft, needRight = max(needLeft, half-(at-area.Min.X)), max(needRight, half-(area.Max.X-at))
		}
		if needLeft <= left && needRight <= right || area.Size().X < 1 {
			return f
		}
		left, right = max(left, needLeft), max(right, needRight)
	}
}

// fit sets ranges and ticks for an area of the page: of one scale for shapes.
func (s *scene) fit(area vg.Rectangle) *frame {
	f := &frame{area: area, log: [2]bool{s.logX, s.logY}}
	sides := [2]float64{math.Max(1, float64(area.Size().X)), math.Max(1, float64(area.Size().Y))}
	f.lo, f.hi = s.padded()
	s.makeRoom(f, sides)
	if s.oneScale() {
		unit := math.Max((f.hi[0]-f.lo[0])/sides[0], (f.hi[1]-f.lo[1])/sides[1]) // data units a point
		unit = math.Max(unit, s.coarsest)
		for k := range 2 {
			middle := (f.lo[k] + f.hi[k]) / 2
			f.lo[k], f.hi[k] = middle-unit*sides[k]/2, middle+unit*sides[k]/2
		}
	}
	if s.bare || s.inSpace {
		return f
	}
	count := [2]int{max(3, int(sides[0]/48)), max(3, int(sides[1]/30))}
	x, y := s.labels()
	step := [2]float64{round((f.hi[0] - f.lo[0]) / float64(count[0])), round((f.hi[1] - f.lo[1]) / float64(count[1]))}
	if !s.chart {
		step[0] = math.Max(step[0], step[1])
		if longer := math.Max(f.hi[0]-f.lo[0], f.hi[1]-f.lo[1]); longer/step[0] < 2.5 {
			step[0] = round(0.4 * step[0]) // two ticks at least on the longer axis
		}
		step[1] = step[0]
	}
	for k := range 2 {
		if f.log[k] {
			f.ticks[k] = decades(math.Pow(10, f.lo[k]), math.Pow(10, f.hi[k]), count[k])
			continue
		}
		if label := [2]string{x, y}[k]; inDegrees.MatchString(label) {
			step[k] = roundDegrees(step[k])
		}
		lo, hi := f.lo[k], f.hi[k]
		if s.rows > 0 {
			if lo, hi = s.bounds.lo[0], s.bounds.hi[0]; k == 1 || lo == hi {
				continue
			}
			f.reach = &[2]float64{lo, hi}
		}
		const apart = 10 // points at least between two ticks
		f.ticks[k] = multiples(lo, hi, step[k])
		for !s.chart && len(f.ticks[k]) < 2 { // an axis of a flat shape has two ticks, too, if there is room
			step[k] = round(0.4 * step[k])
			if step[k]/(hi-lo)*sides[k] < apart {
				break
			}
			f.ticks[k] = multiples(lo, hi, step[k])
		}
	}
	return f
}

// oneScale reports whether a unit is as long along x as along y.
func (s *scene) oneScale() bool { return !s.chart || s.equal && !s.logX && !s.logY }

// overhang is how far a mark of given size reaches beyond its place, in points.
type overhang struct{ at, before, after [2]float64 }

// overhangOf returns the reach of a name or glyph whose place is at, as log₁₀ on logarithmic axes.
func overhangOf(m mark, at []float64) overhang {
	f := overhang{at: [2]float64(at)}
	switch {
	case m.kind == nameMark: // fits above or below, at least
		size := textBox(m.text)
		f.before = [2]float64{float64(size.X) / 2, float64(size.Y) + nameGap}
		f.after = f.before
	case m.text != "":
		r := m.captionRect(vg.Point{})
		f.before, f.after = [2]float64{-float64(r.Min.X), -float64(r.Min.Y)}, [2]float64{float64(r.Max.X), float64(r.Max.Y)}
	default:
		for _, p := range m.glyph {
			for k, v := range p {
				f.before[k], f.after[k] = math.Max(f.before[k], -v), math.Max(f.after[k], v)
			}
		}
	}
	return f
}

// makeRoom widens the ranges of the axes so that marks of given size lie inside, on sides of so many points: to the fewest data units a point
// with which the ends of any two have room between the ends of the side.
func (s *scene) makeRoom(f *frame, sides [2]float64) {
	const most = 1024 // times the range of the data without marks: these would take a thousandth of the side
	all := append([]overhang{{at: f.lo}, {at: f.hi}}, s.overhangs...)
	var units [2]float64
	for k := range 2 {
		for _, left := range all {
			for _, right := range all {
				room := sides[k] - left.before[k] - right.after[k]
				if units[k] = math.Max(units[k], (right.at[k]-left.at[k])/room); room <= 0 || units[k] > most*(f.hi[k]-f.lo[k])/sides[k] {
					f.crowded = true
					return
				}
			}
		}
	}
	if s.oneScale() {
		units[0] = math.Max(units[0], units[1])
		units[1] = units[0]
	}
	for _, m := range all {
		for k, unit := range units {
			f.lo[k], f.hi[k] = math.Min(f.lo[k], m.at[k]-unit*m.before[k]), math.Max(f.hi[k], m.at[k]+unit*m.after[k])
		}
	}
}

// place returns where a point stands on the page.
func (f *frame) place(p []float64) vg.Point {
	var share [2]vg.Length
	for k := range 2 {
		v := p[k]
		if f.log[k] {
			v = math.Log10(v)
		}
		share[k] = vg.Length((v - f.lo[k]) / (f.hi[k] - f.lo[k]))
	}
	size := f.area.Size()
	return vg.Point{X: f.area.Min.X + share[0]*size.X, Y: f.area.Min.Y + share[1]*size.Y}
}

// draw draws the axes along the edges of the data's area, with ticks and their labels.
func (f *frame) draw(c draw.Canvas) {
	black := pen{Color: Black, Width: 0.5}
	corner := f.area.Min
	axes := []vg.Point{{X: corner.X, Y: f.area.Max.Y}, corner, {X: f.area.Max.X, Y: corner.Y}}
	if f.reach != nil {
		axes = []vg.Point{{X: f.place([]float64{f.reach[0], 0}).X, Y: corner.Y}, {X: f.place([]float64{f.reach[1], 0}).X, Y: corner.Y}}
	}
	lines := []stamp{{at: axes, stroke: black}}
	sty := style(tickText)
	for k, ticks := range f.ticks {
		for _, t := range ticks {
			length := tickLength
			if t.IsMinor() {
				length /= 2
			}
			at := f.place([]float64{t.Value, t.Value})
			foot, out := vg.Point{X: at.X, Y: corner.Y}, vg.Point{Y: -1}
			sty.XAlign, sty.YAlign = text.XCenter, text.YTop
			if k == 1 {
				foot, out = vg.Point{X: corner.X, Y: at.Y}, vg.Point{X: -1}
				sty.XAlign, sty.YAlign = text.XRight, text.YCenter
			}
			tip := foot.Add(out.Scale(length))
			lines = append(lines, stamp{at: []vg.Point{foot, tip}, stroke: black})
			c.FillText(sty, tip.Add(out.Scale(tickSpace)), t.Label)
		}
	}
	ink(c.Canvas, lines)
}

// padded returns the range of the data with a margin. A chart that stands on zero keeps standing there. Data at one place, but for
// rounding errors, stand in the middle of a range of their size.
func (s *scene) padded() (lo, hi [2]float64) {
	for k, log := range [2]bool{s.logX, s.logY} {
		lo[k], hi[k] = s.bounds.lo[k], s.bounds.hi[k]
		margin := 0.04 * (hi[k] - lo[k])
		if !s.chart {
			margin = 0.06 * s.bounds.radius(2)
			if s.bare || s.inSpace {
				margin /= 2
			}
			if s.texts {
				margin += 0.1 * s.bounds.radius(2)
			}
		}
		if s.rows > 0 && k == 1 {
			lo[1], hi[1] = lo[1]-0.8, hi[1]+0.5
			continue
		}
		switch largest := math.Max(math.Abs(lo[k]), math.Abs(hi[k])); {
		case log && hi[k]-lo[k] < 1e-12, margin == 0 && largest == 0:
			margin = 0.5
		case margin <= 1e-13*largest:
			margin = 0.5 * math.Max(1e-12, largest)
		}
		if !s.chart || log || lo[k] != 0 {
			lo[k] -= margin
		}
		hi[k] += margin
	}
	return lo, hi
}
