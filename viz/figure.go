package viz

import (
	"fmt"
	"math"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// A Figure is a list of layers, the first undermost, in one pair of axes. Shapes have axes of equal scale; points in
// space are seen through a camera.
type Figure struct {
	layers         []*Layer
	title          string
	xLabel, yLabel string
	unit           string
	width, height  float64 // cm; 0: chosen
	logX, logY     bool
	bare           bool
	camera         camera
	err            error
}

// Fig makes a figure of layers.
func Fig(layers ...*Layer) *Figure {
	return &Figure{layers: layers, camera: camera{azimuth: 35 * math.Pi / 180, elevation: 22 * math.Pi / 180}}
}

// Title writes a line above the figure.
func (f *Figure) Title(s string) *Figure { f.title = s; return f }

// XLabel names the x axis. Write the unit with it: "time (s)".
func (f *Figure) XLabel(s string) *Figure { f.xLabel = s; return f }

// YLabel names the y axis.
func (f *Figure) YLabel(s string) *Figure { f.yLabel = s; return f }

// Unit names the unit of the coordinates of shapes, "mm" say, on the axes or, where there are none, at a scale bar.
func (f *Figure) Unit(s string) *Figure { f.unit = s; return f }

// NoAxes leaves the axes of shapes away. A figure with a unit gets a scale bar instead.
func (f *Figure) NoAxes() *Figure { f.bare = true; return f }

// LogX makes the x axis of a chart logarithmic.
func (f *Figure) LogX() *Figure { f.logX = true; return f }

// LogY makes the y axis of a chart logarithmic.
func (f *Figure) LogY() *Figure { f.logY = true; return f }

// Size sets width and height in cm. A height of 0 is chosen by what is drawn. Without Size a figure is 8.5 cm wide, one
// column of a journal, and several side by side share 17 cm, two columns.
func (f *Figure) Size(width, height float64) *Figure {
	if !(width >= 2 && width <= 100) || !(height == 0 || height >= 2 && height <= 100) {
		f.err = fmt.Errorf("Size(%v, %v): give a width from 2 to 100 cm, and a height likewise or 0", width, height)
	}
	f.width, f.height = width, height
	return f
}

// Camera sets from where a figure in space is seen, in degrees: azimuth about the z axis, from x towards y, and
// elevation above the x–y plane. There is no perspective.
func (f *Figure) Camera(azimuth, elevation float64) *Figure {
	if !finite(azimuth) || !finite(elevation) {
		f.err = fmt.Errorf("Camera(%v, %v): give two angles in degrees", azimuth, elevation)
	}
	f.camera = camera{azimuth * math.Pi / 180, elevation * math.Pi / 180}
	return f
}

// A scene is a figure whose data are checked, ready to be laid out.
type scene struct {
	*Figure
	layers  []*Layer // with their colours
	marks   []mark   // in space: in the camera's frame
	inSpace bool
	texts   bool // there are texts beside points
	chart   bool
	bounds  box // of the marks' first two coordinates, as log₁₀ on logarithmic axes
	keys    []key
	outside bool      // the legend stands beneath the axes
	reserve vg.Length // least height of that legend, so that panels are alike
}

func (f *Figure) scene() (*scene, error) {
	if f.err != nil {
		return nil, f.err
	}
	for _, s := range []string{f.title, f.xLabel, f.yLabel, f.unit} {
		if err := checkText(s); err != nil {
			return nil, err
		}
	}
	s := &scene{Figure: f, bounds: emptyBox()}
	colours := 0
	for _, l := range f.layers {
		if l != nil && l.byValue {
			colours = 1 // blue is a colour of the ramp
		}
	}
	extent := emptyBox()
	var records [][]mark
	for i, l := range f.layers {
		if l == nil {
			return nil, fmt.Errorf("layer %d is nil", i)
		}
		own := *l
		if own.tint == nil && !own.byValue {
			own.tint = &palette[colours%len(palette)]
			colours++
		}
		s.layers = append(s.layers, &own)
		s.chart = s.chart || own.chart
		marks, err := own.record()
		if err != nil {
			return nil, err
		}
		records = append(records, marks)
		for _, m := range marks {
			if m.kind == vectorMark {
				extent.add(m.at[0])
				continue
			}
			for _, p := range m.at {
				extent.add(p)
			}
		}
	}
	for i, l := range s.layers {
		l.resolveVectors(records[i], 2*extent.radius(3))
		s.marks = append(s.marks, records[i]...)
	}
	if len(s.marks) == 0 {
		return nil, fmt.Errorf("nothing to draw: no layers, or only empty ones")
	}
	if (f.logX || f.logY) && !s.chart {
		return nil, fmt.Errorf("LogX and LogY are for charts (Series, Histogram, …): shapes keep axes of equal scale")
	}
	dim := len(s.marks[0].at[0])
	s.inSpace = dim == 3
	for i, m := range s.marks {
		s.texts = s.texts || m.kind == textMark
		if d := len(m.at[0]); d != dim {
			return nil, fmt.Errorf("%s has %d coordinates, %s has %d: one figure is either flat or in space", m.layer.name, d, s.marks[0].layer.name, dim)
		}
		if s.inSpace {
			seen := make([][]float64, len(m.at))
			for k, p := range m.at {
				seen[k] = f.camera.view(p)
			}
			s.marks[i].at = seen
		}
		for k, p := range s.marks[i].at {
			q := []float64{p[0], p[1]}
			for axis, log := range []bool{f.logX, f.logY} {
				if log {
					if q[axis] <= 0 {
						return nil, fmt.Errorf("%s: value %d has %c = %v on a logarithmic axis: it must be positive", m.layer.name, k, "xy"[axis], q[axis])
					}
					q[axis] = math.Log10(q[axis])
				}
			}
			s.bounds.add(q)
		}
	}
	if s.inSpace && s.chart {
		return nil, fmt.Errorf("a chart and points in space do not go into one figure")
	}
	for k := range 2 {
		if math.IsInf(s.bounds.lo[k], 1) { // only levels across the other axis
			s.bounds.lo[k], s.bounds.hi[k] = 0, 1
		}
		if !finite(s.bounds.size(k)) {
			return nil, fmt.Errorf("the coordinates from %v to %v span more than can be drawn", s.bounds.lo[k], s.bounds.hi[k])
		}
	}
	s.keys = keys(s.layers)
	return s, nil
}

// axes returns gonum/plot's plot with the figure's style and the range that the data need in an area of size page.
func (s *scene) axes(page vg.Rectangle) *plot.Plot {
	p := plot.New()
	p.BackgroundColor = nil
	p.TextHandler = letters
	p.Title.Text = s.title
	p.Title.TextStyle = style(9)
	p.Title.TextStyle.Font = sans(9, font.WeightBold)
	p.Title.TextStyle.XAlign, p.Title.TextStyle.YAlign = text.XCenter, text.YTop
	p.Title.Padding = 4
	for _, a := range []*plot.Axis{&p.X, &p.Y} {
		a.LineStyle.Width, a.Tick.LineStyle.Width, a.Tick.Length = 0, 0, 0 // drawn by body, joined at the corner
		align := a.Tick.Label
		a.Tick.Label = style(7.5)
		a.Tick.Label.XAlign, a.Tick.Label.YAlign = align.XAlign, align.YAlign
		a.Padding = tickLength
		if s.bare || s.inSpace {
			a.Padding = 0
			a.Tick.Marker = plot.ConstantTicks{}
		}
	}
	if s.logX {
		p.X.Scale = plot.LogScale{}
	}
	if s.logY {
		p.Y.Scale = plot.LogScale{}
	}
	// The room that tick labels take depends on the range, and that of equal axes on the room: a few rounds settle it.
	area := page.Size()
	for range 12 {
		s.fit(p, area)
		next := p.DataCanvas(draw.Canvas{Rectangle: page}).Rectangle.Size()
		if next == area {
			break
		}
		area = next
	}
	return p
}

// fit sets ranges and ticks for a data area of the given size in points.
func (s *scene) fit(p *plot.Plot, area vg.Point) {
	lo, hi := s.padded()
	sides := [2]float64{math.Max(1, float64(area.X)), math.Max(1, float64(area.Y))}
	count := [2]int{max(2, int(sides[0]/48)), max(2, int(sides[1]/30))}
	if !s.chart {
		unit := math.Max((hi[0]-lo[0])/sides[0], (hi[1]-lo[1])/sides[1]) // data units a point
		for k := range 2 {
			middle := (lo[k] + hi[k]) / 2
			lo[k], hi[k] = middle-unit*sides[k]/2, middle+unit*sides[k]/2
		}
	}
	step := [2]float64{round((hi[0] - lo[0]) / float64(count[0])), round((hi[1] - lo[1]) / float64(count[1]))}
	if !s.chart {
		both := math.Max(step[0], step[1])
		step = [2]float64{both, both}
	}
	for k, a := range []*plot.Axis{&p.X, &p.Y} {
		a.Min, a.Max = lo[k], hi[k]
		log := [2]bool{s.logX, s.logY}[k]
		if log {
			a.Min, a.Max = math.Pow(10, lo[k]), math.Pow(10, hi[k])
		}
		switch {
		case s.bare || s.inSpace:
		case log:
			a.Tick.Marker = decades{count[k]}
		default:
			a.Tick.Marker = rulings{step[k]}
		}
	}
}

// padded returns the range of the data with a margin. A chart that stands on zero keeps standing there.
func (s *scene) padded() (lo, hi [2]float64) {
	for k := range 2 {
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
		if margin == 0 {
			margin = 0.5 * math.Max(1e-12, math.Abs(lo[k]))
			if lo[k] == 0 {
				margin = 0.5
			}
		}
		log := [2]bool{s.logX, s.logY}[k]
		if !s.chart || log || lo[k] != 0 {
			lo[k] -= margin
		}
		hi[k] += margin
	}
	return lo, hi
}

const cm = vg.Centimeter

// naturalHeight returns the height that suits a figure of the given width, and decides where the legend stands.
func (s *scene) naturalHeight(width vg.Length) vg.Length {
	outside := s.outside
	s.outside = false
	height := vg.Length(s.height) * cm
	if s.height == 0 {
		height = 0.72 * width
		if !s.chart {
			trial := vg.Rectangle{Max: vg.Point{X: width, Y: width}}
			room := s.axes(s.inner(trial)).DataCanvas(draw.Canvas{Rectangle: s.inner(trial)}).Rectangle.Size()
			lo, hi := s.padded()
			ratio := math.Min(1.15, math.Max(0.25, (hi[1]-lo[1])/(hi[0]-lo[0])))
			height = width - room.Y + room.X*vg.Length(ratio)
		}
	}
	if outside || !s.legendFits(vg.Rectangle{Max: vg.Point{X: width, Y: height}}) {
		s.outside = true
		if s.height == 0 {
			height += s.strip(width)
		}
	}
	return height
}

// legendFits reports whether the legend finds room beside the data, inside the axes.
func (s *scene) legendFits(page vg.Rectangle) bool {
	if len(s.keys) == 0 {
		return true
	}
	c := draw.Canvas{Rectangle: s.inner(page)}
	p := s.axes(c.Rectangle)
	area := p.DataCanvas(c)
	_, ok := stainOf(area.Rectangle, s.stamps(p, area)).place(blockSize(s.keys))
	return ok
}

// labels returns what stands at the axes.
func (s *scene) labels() (x, y string) {
	if s.bare || s.inSpace {
		return "", ""
	}
	x, y = s.xLabel, s.yLabel
	if s.unit != "" && !s.chart {
		if x == "" {
			x = "x (" + s.unit + ")"
		}
		if y == "" {
			y = "y (" + s.unit + ")"
		}
	}
	return x, y
}

func (s *scene) scaleBar() bool { return (s.bare || s.inSpace) && s.unit != "" }

const (
	labelStrip = vg.Length(14)
	tickLength = vg.Length(3)
	rim        = vg.Length(3)
)

// barStrip is the height of the strip with the scale bar and, in space, the directions of the axes.
func (s *scene) barStrip() vg.Length {
	if s.inSpace {
		return 26
	}
	return 14
}

// keyRows breaks the legend beneath the axes into rows: one row fits beside the scale bar if it is short.
func (s *scene) keyRows(width vg.Length) (all [][]key, besideBar bool) {
	if s.scaleBar() {
		if all = rows(s.keys, 0.55*width); len(all) == 1 {
			return all, true
		}
	}
	return rows(s.keys, width), false
}

// checkRoom reports a page that leaves the data no room beside title, labels and legend.
func (s *scene) checkRoom(page vg.Point) error {
	c := draw.Canvas{Rectangle: s.inner(vg.Rectangle{Max: page})}
	if room := s.axes(c.Rectangle).DataCanvas(c).Rectangle.Size(); room.X < 20 || room.Y < 20 {
		return fmt.Errorf("a figure of %.2g by %.2g cm leaves its data no room beside title, labels and legend: make it larger", float64(page.X/cm), float64(page.Y/cm))
	}
	return nil
}

// strip is the height of a legend beneath the axes, on a page of the given width.
func (s *scene) strip(width vg.Length) vg.Length {
	all, besideBar := s.keyRows(width)
	if besideBar || len(all) == 0 {
		return s.reserve
	}
	return max(s.reserve, keyRow*vg.Length(len(all))+4)
}

// inner returns what the figure's rim, legend, scale bar and labels leave of a page.
func (s *scene) inner(page vg.Rectangle) vg.Rectangle {
	page.Min = page.Min.Add(vg.Point{X: rim, Y: rim})
	page.Max = page.Max.Sub(vg.Point{X: rim, Y: rim})
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

func (s *scene) stamps(p *plot.Plot, area draw.Canvas) []stamp {
	x, y := p.Transforms(&area)
	return stamps(s.marks, func(q []float64) vg.Point { return vg.Point{X: x(q[0]), Y: y(q[1])} }, s.inSpace, area.Rectangle)
}

// draw draws the figure on the page.
func (s *scene) draw(c draw.Canvas) {
	s.outside = s.outside || !s.legendFits(c.Rectangle)
	page := c
	page.Min = page.Min.Add(vg.Point{X: rim, Y: rim})
	page.Max = page.Max.Sub(vg.Point{X: rim, Y: rim})
	c.Rectangle = s.inner(c.Rectangle)
	p := s.axes(c.Rectangle)
	p.Add(body{s})
	p.Draw(c)
	area := p.DataCanvas(c)

	x, y := s.labels()
	sty := style(8)
	sty.XAlign, sty.YAlign = text.XCenter, text.YTop
	below := c.Min.Y // what is drawn so far ends here
	if x != "" {
		c.FillText(sty, vg.Point{X: area.Center().X, Y: below - 2 + sty.FontExtents().Descent}, x)
		below -= labelStrip
	}
	if y != "" {
		sty.Rotation = math.Pi / 2
		c.FillText(sty, vg.Point{X: page.Min.X - sty.FontExtents().Descent, Y: area.Center().Y}, y)
	}
	if s.scaleBar() {
		below -= s.barStrip()
		s.drawScaleBar(c, p, vg.Point{X: page.Min.X + 1, Y: below + 4})
		if s.inSpace {
			s.drawDirections(c, vg.Point{X: page.Max.X - 16, Y: below + 8})
		}
	}
	if !s.outside {
		return
	}
	all, besideBar := s.keyRows(page.Size().X)
	middle, level := page.Center().X, below-4-keyRow/2
	if besideBar {
		middle, level = page.Center().X+0.1*page.Size().X, below+4
	}
	for _, row := range all {
		var width vg.Length
		for _, k := range row {
			width += k.width() + keyGap
		}
		at := vg.Point{X: middle - (width-keyGap)/2, Y: level}
		for _, k := range row {
			k.draw(c, at)
			at.X += k.width() + keyGap
		}
		level -= keyRow
	}
}

func (s *scene) drawScaleBar(c draw.Canvas, p *plot.Plot, at vg.Point) {
	area := p.DataCanvas(c)
	points := float64(area.Size().X) / (p.X.Max - p.X.Min) // a data unit
	length := round(0.15 * float64(area.Size().X) / points)
	right := at.Add(vg.Point{X: vg.Length(length * points)})
	ink(c.Canvas, []stamp{{at: []vg.Point{at, right}, stroke: Stroke{Color: Black, Width: 1.2}}})
	sty := style(keyText)
	sty.YAlign = text.YCenter
	c.FillText(sty, right.Add(vg.Point{X: 4, Y: sty.FontExtents().Descent}), short(length)+" "+s.unit)
}

// drawDirections shows where x, y and z point.
func (s *scene) drawDirections(c draw.Canvas, origin vg.Point) {
	const length = 11
	for k := range 3 {
		axis := make([]float64, 3)
		axis[k] = 1
		d := s.camera.view(axis)
		tip := origin.Add(vg.Point{X: length * vg.Length(d[0]), Y: length * vg.Length(d[1])})
		shaft, head := arrow(origin, tip, 0.3)
		if head == nil {
			continue // the axis points at the reader
		}
		ink(c.Canvas, []stamp{
			{at: []vg.Point{origin, origin.Add(tip.Sub(origin).Scale(vg.Length(shaft)))}, stroke: Stroke{Color: Grey, Width: 0.6}},
			{at: head, closed: true, fill: Grey},
			{at: []vg.Point{origin.Add(tip.Sub(origin).Scale(1.4))}, text: "xyz"[k : k+1], fill: Grey},
		})
	}
}

// body draws the data and the legend inside the axes; gonum/plot calls it with the area that the axes leave.
type body struct{ *scene }

func (b body) Plot(c draw.Canvas, p *plot.Plot) {
	all := b.stamps(p, c)
	paint(c, all)
	if !b.bare && !b.inSpace {
		drawAxes(c, p)
	}
	if len(b.keys) == 0 || b.outside {
		return
	}
	r, _ := stainOf(c.Rectangle, all).place(blockSize(b.keys))
	at := vg.Point{X: r.Min.X, Y: r.Max.Y - keyRow/2}
	for _, k := range b.keys {
		k.draw(c, at)
		at.Y -= keyRow
	}
}

// drawAxes draws the two axes and their ticks along the edges of the data area.
func drawAxes(c draw.Canvas, p *plot.Plot) {
	black := Stroke{Color: Black, Width: 0.5}
	x, y := p.Transforms(&c)
	corner := c.Min
	all := []stamp{{at: []vg.Point{{X: corner.X, Y: c.Max.Y}, corner, {X: c.Max.X, Y: corner.Y}}, stroke: black}}
	length := func(t plot.Tick) vg.Length {
		if t.IsMinor() {
			return tickLength / 2
		}
		return tickLength
	}
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if at := x(t.Value); c.ContainsX(at) {
			all = append(all, stamp{at: []vg.Point{{X: at, Y: corner.Y}, {X: at, Y: corner.Y - length(t)}}, stroke: black})
		}
	}
	for _, t := range p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max) {
		if at := y(t.Value); c.ContainsY(at) {
			all = append(all, stamp{at: []vg.Point{{X: corner.X, Y: at}, {X: corner.X - length(t), Y: at}}, stroke: black})
		}
	}
	ink(c.Canvas, all)
}
