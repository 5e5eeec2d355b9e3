package viz

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"anatomy/internal/lists"
)

// A Figure is a list of layers in one pair of axes; each layer is drawn over those before it. Shapes have axes of equal
// scale; points in space are seen by a camera.
type Figure struct {
	layers         []*Layer
	title          string
	xLabel, yLabel string
	unit           string
	width, height  float64 // cm; 0: chosen
	logX, logY     bool
	bare           bool
	camera         camera
	drag           *drag   // of Drag
	rest           float64 // of the time that moving layers take, from 1 to 0
	err            error
}

// Fig returns a figure of layers, which are drawn in this order. Its methods set the title, the unit, the size and the axes.
func Fig(layers ...*Layer) *Figure {
	return &Figure{layers: layers, camera: camera{azimuth: 35 * math.Pi / 180, elevation: 22 * math.Pi / 180}}
}

// Title writes a line above the figure, or several if it is wider.
func (f *Figure) Title(s string) *Figure { f.title = s; return f }

// XLabel names the x axis. Write the unit with it: "time (s)".
func (f *Figure) XLabel(s string) *Figure { f.xLabel = s; return f }

// YLabel names the y axis.
func (f *Figure) YLabel(s string) *Figure { f.yLabel = s; return f }

// Unit names the unit of the coordinates of shapes, "mm" say. It stands at the axes or, where there are none, at a scale
// bar.
func (f *Figure) Unit(s string) *Figure { f.unit = s; return f }

// NoAxes omits the axes. If a figure of shapes has a unit, a scale bar takes their place.
func (f *Figure) NoAxes() *Figure { f.bare = true; return f }

// LogX makes the x axis of a chart logarithmic.
func (f *Figure) LogX() *Figure { f.logX = true; return f }

// LogY makes the y axis of a chart logarithmic.
func (f *Figure) LogY() *Figure { f.logY = true; return f }

// Size sets width and height in cm; if height is 0, the data decide it. Without Size a figure is 8.5 cm wide, one column
// of a journal, and several side by side share 17 cm, two columns.
func (f *Figure) Size(width, height float64) *Figure {
	if !(width >= 2 && width <= 100) || !(height == 0 || height >= 2 && height <= 100) {
		f.err = fmt.Errorf("Size(%v, %v): give a width from 2 to 100 cm, and a height likewise or 0", width, height)
	}
	f.width, f.height = width, height
	return f
}

// Camera sets the direction from which a figure in space is seen, in degrees: the azimuth turns about the z axis, from x
// towards y, and the elevation is that above the x–y plane. The projection has no perspective.
func (f *Figure) Camera(azimuth, elevation float64) *Figure {
	if !lists.Finite(azimuth) || !lists.Finite(elevation) {
		f.err = fmt.Errorf("Camera(%v, %v): give two angles in degrees", azimuth, elevation)
	}
	f.camera = camera{azimuth * math.Pi / 180, elevation * math.Pi / 180}
	return f
}

// A scene is a figure whose data are checked, ready to be laid out.
type scene struct {
	*Figure
	layers    []*Layer // with their colours
	marks     []mark   // in space: in the camera's frame
	inSpace   bool
	texts     bool // there are texts beside points
	chart     bool
	rows      int     // y numbers rows, without an axis
	row       float64 // height of a row in points, where the figure has none of its own
	extent    float64 // the longer side of all that is drawn, without vectors
	reach     box     // of all that is drawn, in the coordinates of the data, without vectors
	overhangs []overhang
	bounds    box // of the marks' first two coordinates, as log₁₀ on logarithmic axes
	legend    legend
	outside   bool      // the legend stands beneath the axes
	reserve   vg.Length // least height of that legend, so that panels are alike
	coarsest  float64   // of shapes: data units a point at least, so that panels are alike
	hollow    bool      // the data are drawn by someone else, but for so many stamps that stand still
	still     int
}

// ranges are those of the quantities that colours stand for, by name.
type ranges map[string][2]float64

// add widens the ranges to those of the figure's layers.
func (r ranges) add(f *Figure) {
	for _, l := range f.layers {
		if l == nil || !l.byValue || l.err != nil {
			continue
		}
		own := [2]float64{l.lo, l.hi}
		if known, ok := r[l.quantity]; ok {
			own[0], own[1] = math.Min(own[0], known[0]), math.Max(own[1], known[1])
		}
		r[l.quantity] = own
	}
}

// scene checks the figure by itself.
func (f *Figure) scene() (*scene, error) {
	r := ranges{}
	r.add(f)
	s, err := f.record(r)
	if err != nil {
		return nil, err
	}
	return s, s.complete()
}

// coloured returns copies of the layers, with colours: those without one take the colours of the palette in turn that no
// layer was given by hand. Blue is left out, too, where colours stand for values: it is the first of the ramp.
func (f *Figure) coloured(r ranges) ([]*Layer, error) {
	taken := map[color.NRGBA]bool{}
	for i, l := range f.layers {
		switch {
		case l == nil:
			return nil, fmt.Errorf("layer %d is nil", i)
		case l.byValue:
			taken[Blue] = true
		case l.tint != nil:
			taken[*l.tint] = true
		}
	}
	free := slices.DeleteFunc(slices.Clone(palette), func(c color.NRGBA) bool { return taken[c] })
	if len(free) == 0 {
		free = palette
	}
	next, groups := 0, 0
	out := make([]*Layer, len(f.layers))
	for i, l := range f.layers {
		own := *l
		if own.byValue {
			if own.lo, own.hi = r[own.quantity][0], r[own.quantity][1]; flat(own.lo, own.hi) {
				own.hi = own.lo
			}
		} else if own.tint == nil {
			own.tint = &free[next%len(free)]
			next++
		}
		if own.group && own.label != "" && !own.byValue {
			own.mark = groups
			groups++
		}
		out[i] = &own
	}
	return out, nil
}

// record lets the layers draw, in colours that stand for the given ranges.
func (f *Figure) record(r ranges) (*scene, error) {
	if f.err != nil {
		return nil, f.err
	}
	layers, err := f.coloured(r)
	if err != nil {
		return nil, err
	}
	s := &scene{Figure: f, layers: layers, bounds: emptyBox()}
	extent := emptyBox()
	for _, l := range s.layers {
		if l.drawn, err = l.record(1 - f.rest); err != nil {
			return nil, err
		}
		s.chart = s.chart || l.chart || l.drawn.rows > 0
		s.rows, s.row = max(s.rows, l.drawn.rows), math.Max(s.row, l.drawn.row)
		for _, m := range l.drawn.marks {
			if m.kind == vectorMark {
				extent.add(m.at[0])
				continue
			}
			for _, p := range m.at {
				extent.add(p)
			}
		}
	}
	s.reach, s.extent = extent, 2*extent.radius(3)
	return s, nil
}

// complete gathers the marks of the layers, which have drawn, and checks what they make together.
func (s *scene) complete() error {
	for _, l := range s.layers {
		if any, longest := l.vectors(); any {
			l.scale = arrowFactor(longest, s.extent)
		}
		l.resolveVectors()
		s.marks = append(s.marks, l.drawn.marks...)
		if l.byValue && !slices.ContainsFunc(s.legend.bars, l.sameBar) {
			s.legend.bars = append(s.legend.bars, l)
		}
	}
	if len(s.marks) == 0 {
		return fmt.Errorf("nothing to draw: no layers, or only empty ones")
	}
	if (s.logX || s.logY) && !s.chart {
		return fmt.Errorf("LogX and LogY are for charts (Series, Histogram, …): shapes keep axes of equal scale")
	}
	dim := len(s.marks[0].at[0])
	s.inSpace = dim == 3
	for i, m := range s.marks {
		s.texts = s.texts || m.kind == textMark
		if d := len(m.at[0]); d != dim {
			return fmt.Errorf("%s has %d coordinates, %s has %d: one figure is either flat or in space", m.layer.name, d, s.marks[0].layer.name, dim)
		}
		if s.inSpace {
			seen := make([][]float64, len(m.at))
			for k, p := range m.at {
				seen[k] = s.camera.view(p)
			}
			s.marks[i].at = seen
		}
		for k, p := range s.marks[i].at {
			q := []float64{p[0], p[1]}
			for axis, log := range []bool{s.logX, s.logY} {
				if log {
					if q[axis] <= 0 {
						return fmt.Errorf("%s: value %d has %c = %v on a logarithmic axis: it must be positive", m.layer.name, k, "xy"[axis], q[axis])
					}
					q[axis] = math.Log10(q[axis])
				}
			}
			s.bounds.add(q)
			if m.kind == nameMark || m.kind == glyphMark {
				s.overhangs = append(s.overhangs, overhangOf(m, q))
			}
		}
	}
	if s.inSpace && s.chart {
		return fmt.Errorf("a chart and points in space do not go into one figure")
	}
	for k := range 2 {
		if math.IsInf(s.bounds.lo[k], 1) { // only levels across the other axis
			s.bounds.lo[k], s.bounds.hi[k] = 0, 1
		}
		if !lists.Finite(s.bounds.size(k)) {
			return fmt.Errorf("the coordinates from %v to %v span more than can be drawn", s.bounds.lo[k], s.bounds.hi[k])
		}
	}
	s.legend.keys = keys(s.layers)
	return nil
}

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
	if !s.chart {
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

// makeRoom widens the ranges of the axes so that marks of given size lie inside, on sides of so many points.
func (s *scene) makeRoom(f *frame, sides [2]float64) {
	reach := func(k int, unit float64) (lo, hi float64) { // with so many data units a point
		lo, hi = f.lo[k], f.hi[k]
		for _, m := range s.overhangs {
			lo, hi = math.Min(lo, m.at[k]-unit*m.before[k]), math.Max(hi, m.at[k]+unit*m.after[k])
		}
		return lo, hi
	}
	var units [2]float64
	for k := range 2 {
		fits := func(unit float64) bool { lo, hi := reach(k, unit); return hi-lo <= unit*sides[k]*(1+1e-9) }
		small := (f.hi[k] - f.lo[k]) / sides[k]
		large := small
		for doubled := 0; !fits(large); doubled++ {
			if doubled == 10 { // the data would take a thousandth of the side
				f.crowded = true
				return
			}
			large *= 2
		}
		for range 50 { // the smallest unit that fits
			if middle := (small + large) / 2; fits(middle) {
				large = middle
			} else {
				small = middle
			}
		}
		units[k] = large
	}
	if !s.chart {
		units[0] = math.Max(units[0], units[1])
		units[1] = units[0]
	}
	for k := range 2 {
		f.lo[k], f.hi[k] = reach(k, units[k])
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
			if k == 0 {
				at.Y = corner.Y - length
				lines = append(lines, stamp{at: []vg.Point{{X: at.X, Y: corner.Y}, at}, stroke: black})
				sty.XAlign, sty.YAlign = text.XCenter, text.YTop
				c.FillText(sty, vg.Point{X: at.X, Y: at.Y - tickSpace}, t.Label)
			} else {
				at.X = corner.X - length
				lines = append(lines, stamp{at: []vg.Point{{X: corner.X, Y: at.Y}, at}, stroke: black})
				sty.XAlign, sty.YAlign = text.XRight, text.YCenter
				c.FillText(sty, vg.Point{X: at.X - tickSpace, Y: at.Y}, t.Label)
			}
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
			margin = 0.08 * s.bounds.radius(2)
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

const cm = vg.Centimeter

// ratio is that of the height of the data to their width, within limits.
func (s *scene) ratio() vg.Length {
	lo, hi := s.padded()
	return vg.Length(math.Min(1.15, math.Max(0.25, (hi[1]-lo[1])/(hi[0]-lo[0]))))
}

// naturalHeight returns the height that suits a figure of the given width, and decides where the legend stands.
func (s *scene) naturalHeight(width vg.Length) vg.Length {
	outside := s.outside
	s.outside = false
	height := vg.Length(s.height) * cm
	if s.height == 0 {
		height = 0.72*width + max(0, s.titleHeight(width-2*rim)-titleStrip) // further lines of a title take nothing from a chart
		if !s.chart || s.rows > 0 {
			trial := vg.Rectangle{Max: vg.Point{X: width, Y: width}}
			room := s.frame(s.inner(trial)).area.Size()
			height = width - room.Y + max(40, room.X*s.ratio())
			if s.rows > 0 {
				height = width - room.Y + max(24, vg.Points(s.row)*(vg.Length(s.rows)+0.3))
			}
		}
	}
	if outside || !s.legendFits(vg.Rectangle{Max: vg.Point{X: width, Y: height}}) {
		s.outside = true
		if s.height == 0 {
			height += s.strip(width - 2*rim)
		}
	}
	return height
}

// legendFits reports whether the legend finds room beside the data, inside the axes.
func (s *scene) legendFits(page vg.Rectangle) bool {
	if len(s.legend.bars) > 0 {
		return false
	}
	if len(s.legend.keys) == 0 {
		return true
	}
	_, ok := s.legendPlace(s.frame(s.inner(page)))
	return ok
}

// legendPlace finds a free place inside the axes.
func (s *scene) legendPlace(f *frame) (vg.Rectangle, bool) {
	return stainOf(f.area, s.stamps(f)).place(blockSize(s.legend.keys))
}

// labels returns what stands at the axes.
func (s *scene) labels() (x, y string) {
	if s.bare || s.inSpace {
		return "", ""
	}
	x, y = s.xLabel, s.yLabel
	if s.chart {
		return x, y
	}
	unit := ""
	if s.unit != "" {
		unit = " (" + s.unit + ")"
	}
	return cmp.Or(x, "x"+unit), cmp.Or(y, "y"+unit)
}

func (s *scene) scaleBar() bool { return !s.chart && (s.bare || s.inSpace) && s.unit != "" }

// barStrip is the height of the strip with the scale bar and, in space, the directions of the axes.
func (s *scene) barStrip() vg.Length {
	if s.inSpace {
		return 26
	}
	return 14
}

// checkRoom reports a page that leaves the data no room beside title, labels and legend.
func (s *scene) checkRoom(page vg.Point) error {
	f := s.frame(s.inner(vg.Rectangle{Max: page}))
	if room := f.area.Size(); room.X < 20 || room.Y < 20 || f.crowded {
		return fmt.Errorf("a figure of %.2g by %.2g cm leaves its data no room beside title, labels, names and legend: make it larger", float64(page.X/cm), float64(page.Y/cm))
	}
	return nil
}

// strip is the height of a legend beneath the axes, on a page of the given width.
func (s *scene) strip(width vg.Length) vg.Length {
	return max(s.reserve, s.legend.height(width))
}

func titleStyle() text.Style {
	sty := style(9)
	sty.Font = sans(9, font.WeightBold)
	sty.XAlign, sty.YAlign = text.XCenter, text.YTop
	return sty
}

// titleHeight returns what the title takes of a page of the given width.
func (s *scene) titleHeight(width vg.Length) vg.Length {
	if s.title == "" {
		return 0
	}
	return titleStrip + titleLine*vg.Length(len(broken(s.title, titleStyle(), width))-1)
}

// inner returns what the figure's rim, title, legend, scale bar and labels leave of a page.
func (s *scene) inner(page vg.Rectangle) vg.Rectangle {
	page.Min = page.Min.Add(vg.Point{X: rim, Y: rim})
	page.Max = page.Max.Sub(vg.Point{X: rim, Y: rim})
	page.Max.Y -= s.titleHeight(page.Size().X)
	if s.outside {
		page.Min.Y += s.strip(page.Size().X)
	}
	if s.scaleBar() {
		page.Min.Y += s.barStrip()
	}
	x, y := s.labels()
	if x != "" {
		page.Min.Y += labelStrip
	}
	if y != "" {
		page.Min.X += labelStrip
	}
	return page
}

func (s *scene) stamps(f *frame) []stamp {
	return stamps(s.marks, f.place, s.inSpace, f.area)
}

// draw draws the figure on the page.
func (s *scene) draw(c draw.Canvas) {
	s.outside = s.outside || !s.legendFits(c.Rectangle)
	page := c
	page.Min = page.Min.Add(vg.Point{X: rim, Y: rim})
	page.Max = page.Max.Sub(vg.Point{X: rim, Y: rim})
	inner := s.inner(c.Rectangle)
	f := s.frame(inner)
	c.Rectangle = f.area
	if !s.hollow {
		paint(c, s.stamps(f))
	} else if s.still > 0 {
		paint(c, s.stamps(f)[:s.still])
	}
	if !s.bare && !s.inSpace && (s.rows == 0 || f.reach != nil) {
		f.draw(c)
	}
	for i, line := range broken(s.title, titleStyle(), page.Size().X) {
		c.FillText(titleStyle(), vg.Point{X: page.Center().X, Y: page.Max.Y - titleLine*vg.Length(i)}, line)
	}

	x, y := s.labels()
	below := inner.Min.Y // what is drawn so far ends here
	if x != "" {
		at := c.Center().X
		if f.reach != nil {
			at = f.place([]float64{(f.reach[0] + f.reach[1]) / 2, 0}).X
		}
		sty, at := axisLabel(x, at, inner.Min.X, inner.Max.X)
		c.FillText(sty, vg.Point{X: at, Y: below - 2}, x)
		below -= labelStrip
	}
	if y != "" {
		sty, at := axisLabel(y, c.Center().Y, below, inner.Max.Y)
		sty.Rotation = math.Pi / 2
		c.FillText(sty, vg.Point{X: page.Min.X, Y: at}, y)
	}
	if s.scaleBar() {
		below -= s.barStrip()
		s.drawScaleBar(c, f, vg.Point{X: page.Min.X + 1, Y: below + 4})
		if s.inSpace && !s.hollow {
			s.drawDirections(c, vg.Point{X: page.Max.X - 16, Y: below + 8})
		}
	}
	if !s.outside {
		s.drawLegend(c, f)
		return
	}
	s.legend.draw(c, vg.Rectangle{Min: page.Min, Max: vg.Point{X: page.Max.X, Y: below}})
}

// axisLabel returns the style of an axis's label and where its middle stands on a side of the page: at the middle of the axis
// or, of a label that is longer, as near as it can be. A label longer than the side is smaller.
func axisLabel(label string, middle, from, to vg.Length) (text.Style, vg.Length) {
	sty := style(8)
	sty.XAlign, sty.YAlign = text.XCenter, text.YTop
	sty.Font.Size *= min(1, (to-from)/sty.Width(label))
	half := sty.Width(label) / 2
	return sty, max(from+half, min(to-half, middle))
}

func (s *scene) drawScaleBar(c draw.Canvas, f *frame, at vg.Point) {
	length := round(0.15 * (f.hi[0] - f.lo[0]))
	points := float64(f.area.Size().X) / (f.hi[0] - f.lo[0]) // a data unit
	right := at.Add(vg.Point{X: vg.Length(length * points)})
	ink(c.Canvas, []stamp{{at: []vg.Point{at, right}, stroke: pen{Color: Black, Width: 1.2}}})
	sty := style(keyText)
	sty.YAlign = text.YCenter
	c.FillText(sty, right.Add(vg.Point{X: 4}), short(length)+" "+s.unit)
}

// drawDirections shows where x, y and z point.
func (s *scene) drawDirections(c draw.Canvas, origin vg.Point) {
	const length = 11
	for k := range 3 {
		axis := make([]float64, 3)
		axis[k] = 1
		d := s.camera.view(axis)
		tip := origin.Add(vg.Point{X: length * vg.Length(d[0]), Y: length * vg.Length(d[1])})
		head := arrow(origin, tip, 0.3)
		if head.width == 0 {
			continue // the axis points at the reader
		}
		ink(c.Canvas, []stamp{
			{at: []vg.Point{origin, origin.Add(tip.Sub(origin).Scale(vg.Length(head.shaft)))}, stroke: pen{Color: Grey, Width: 0.6}},
			{at: head.corners, closed: true, fill: Grey},
			{at: []vg.Point{origin.Add(tip.Sub(origin).Scale(1.4))}, text: "xyz"[k : k+1], fill: Grey},
		})
	}
}

// drawLegend draws the legend inside the axes.
func (s *scene) drawLegend(c draw.Canvas, f *frame) {
	if len(s.legend.keys) == 0 {
		return
	}
	r, _ := s.legendPlace(f)
	at := vg.Point{X: r.Min.X, Y: r.Max.Y - keyRow/2}
	for _, k := range s.legend.keys {
		k.draw(c, at)
		at.Y -= keyRow
	}
}
