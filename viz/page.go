package viz

import (
	"cmp"
	"fmt"
	"math"

	"golang.org/x/image/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const cm = vg.Centimeter

const flattest, tallest = 0.25, 1.15 // height to width of the field of shapes

// ratio is that of the height of the data to their width, within limits.
func (s *scene) ratio() vg.Length {
	lo, hi := s.padded()
	return vg.Length(math.Min(tallest, math.Max(flattest, (hi[1]-lo[1])/(hi[0]-lo[0]))))
}

// naturalHeight returns the height that suits a figure of the given width, and decides where the legend stands.
func (s *scene) naturalHeight(width vg.Length) vg.Length {
	outside := s.outside
	s.outside = false
	height := vg.Length(s.height) * cm
	if s.height == 0 {
		height = 0.72*width + max(0, s.titleHeight(width-2*rim)-titleStrip) // further lines of a title take nothing from a chart
		if s.oneScale() || s.rows > 0 {
			trial := vg.Rectangle{Max: vg.Point{X: width, Y: width}}
			room := s.frame(s.inner(trial)).area.Size()
			height = width - room.Y + max(40, room.X*s.ratio())
			if s.rows > 0 {
				height = width - room.Y + max(24, vg.Points(s.row)*(vg.Length(s.rows)+0.3))
			}
		}
	}
	page := vg.Rectangle{Max: vg.Point{X: width, Y: height}}
	if _, fits := s.legendPlace(s.frame(s.inner(page))); outside || !fits {
		s.outside = true
		if s.height == 0 {
			height += s.strip(width - 2*rim)
		}
	}
	return height
}

// legendPlace finds a free place for the legend beside the data, inside the axes, where no colour bar stands.
func (s *scene) legendPlace(f *frame) (_ vg.Rectangle, fits bool) {
	if len(s.legend.bars) > 0 || len(s.legend.keys) == 0 {
		return vg.Rectangle{}, len(s.legend.bars) == 0
	}
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
	_, fits := s.legendPlace(s.frame(s.inner(c.Rectangle)))
	s.outside = s.outside || !fits
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
		if s.inSpace && !s.hollow && !s.camera.posed() {
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
	r, _ := s.legendPlace(f)
	at := vg.Point{X: r.Min.X, Y: r.Max.Y - keyRow/2}
	for _, k := range s.legend.keys {
		k.draw(c, at)
		at.Y -= keyRow
	}
}
