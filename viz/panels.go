package viz

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Panels are figures side by side in rows, whatever Figure.Size says. Panels in one row are as wide as makes them equally high, between 0.8 and
// 1.5 of the mean width. They are equally wide in several rows, with SharedAxes and in space. Meshes, and other panels in space in one unit, have
// one scale; the title of a body that would be too small for it states how many times it is enlarged. A legend that all have in common stands once
// beneath them.
type Panels struct {
	columns int
	figures []*Figure
	shared  bool
	width   float64 // cm
}

// Row puts figures side by side. A legend that is the same in all is shown once. Tiles arranges figures in several rows.
func Row(figures ...*Figure) *Panels { return Tiles(len(figures), figures...) }

// Tiles puts figures side by side, so many in a row.
func Tiles(columns int, figures ...*Figure) *Panels {
	return &Panels{columns: columns, figures: figures, width: 17}
}

// SharedAxes gives the axes of all panels the same range, shapes the same scale and arrows of the same label the same factor, so
// that sizes can be compared between panels.
func (p *Panels) SharedAxes() *Panels { p.shared = true; return p }

// Width sets the width of all panels together, in cm; 17 without it.
func (p *Panels) Width(width float64) *Panels { p.width = width; return p }

// A Drawing is what Show and Save take: a *Layer, a *Figure, *Panels, or what Slider returns.
type Drawing interface {
	// sheet checks the data and lays the drawing out.
	sheet() (*sheet, error)
}

// A sheet is a drawing laid out: what stands where on a page of a size.
type sheet struct {
	size   vg.Point
	panels []panel
	legend legend // of all panels, at the foot
	extra  motion // nil: a still picture
}

// A panel is a figure in its place, from the lower left corner of the page.
type panel struct {
	scene *scene
	at    vg.Rectangle
}

// A motion is what a reader can move where HTML is shown.
type motion interface {
	html() string
}

func (s *sheet) draw(c draw.Canvas) {
	for _, p := range s.panels {
		p.scene.draw(draw.Canvas{Canvas: c.Canvas, Rectangle: p.at.Add(c.Min)})
	}
	s.legend.draw(c, s.foot().Add(c.Min))
}

// foot is where the legend stands that all panels share.
func (s *sheet) foot() vg.Rectangle {
	return vg.Rectangle{Max: vg.Point{X: s.size.X, Y: s.legend.foot(s.size.X)}}
}

func (l *Layer) sheet() (*sheet, error) { return Fig(l).sheet() }

func (f *Figure) sheet() (_ *sheet, err error) {
	defer try.Catch(&err)
	if n := try.Get(f.frames()); n > 0 {
		return f.play(n)
	}
	if f.drag != nil {
		return f.dragged()
	}
	s, err := f.scene()
	if f.title != "" {
		err = try.Name(err, "figure %q", f.title)
	}
	try.Do(err)
	width := 8.5 * cm
	if f.width > 0 {
		width = vg.Length(f.width) * cm
	}
	return (&layout{scenes: []*scene{s}, columns: 1, width: width}).withTurntable()
}

func (p *Panels) sheet() (_ *sheet, err error) {
	defer try.Catch(&err)
	try.FailIf(len(p.figures) == 0 || p.columns < 1, "panels: %d figures in %d columns: give at least one of each", len(p.figures), p.columns)
	try.FailIf(!(p.width >= 2 && p.width <= 100), "panels: Width(%v): give 2 to 100 cm", p.width)
	var same func(int, *Layer) any
	if p.shared {
		same = func(_ int, l *Layer) any { return l.label }
	}
	scenes := scenes(p.figures, func(i int) string { return fmt.Sprintf("figure %d", i) }, same)
	l := &layout{scenes: scenes, columns: p.columns, width: vg.Length(p.width) * cm, shared: p.shared}
	l.gather()
	l.enlarge()
	return l.withTurntable()
}

// A layout is scenes that are to stand side by side.
type layout struct {
	scenes  []*scene
	columns int
	width   vg.Length
	shared  bool // they have one range
	legend  legend
}

// gather takes the legend out of the scenes if all of them have the same: it is shown once.
func (l *layout) gather() {
	first := l.scenes[0].legend
	for _, s := range l.scenes {
		if len(l.scenes) == 1 || !s.legend.alike(first) {
			return
		}
	}
	l.legend = first
	for _, s := range l.scenes {
		s.legend = legend{}
	}
}

// withTurntable returns the sheet, with a turntable if there is something to turn that is not too large.
func (l *layout) withTurntable() (*sheet, error) {
	s, err := l.sheet()
	turned, turns, facets := *l, false, 0
	turned.scenes = lists.Each(l.scenes, func(s *scene) *scene {
		own := *s
		if s.inSpace {
			own.turning(sphere(s))
			turns, facets = true, facets+s.facets()
		}
		return &own
	})
	if err != nil || !turns || facets > maxFacets {
		return s, err
	}
	turning, err := turned.sheet()
	s.extra = &turntable{sheet: turning}
	return s, err
}

func (l *layout) sheet() (*sheet, error) {
	const gap = 10
	mean := (l.width - gap*vg.Length(l.columns-1)) / vg.Length(l.columns)
	if l.shared {
		alike(l.scenes, mean)
	}
	widths := l.widths(mean)
	rows := slices.Collect(slices.Chunk(l.scenes, l.columns))
	heights := lists.Each(rows, func(row []*scene) (tallest vg.Length) {
		for column, s := range row {
			tallest = max(tallest, s.naturalHeight(widths[column]))
		}
		return tallest
	})
	out := &sheet{size: vg.Point{X: l.width, Y: gap*vg.Length(len(heights)-1) + l.legend.foot(l.width)}, legend: l.legend}
	for _, h := range heights {
		out.size.Y += h
	}
	corner := vg.Point{Y: out.size.Y} // the upper left one of the next panel
	for r, row := range rows {
		for column, s := range row {
			page := vg.Point{X: widths[column], Y: heights[r]}
			if err := s.checkRoom(page); err != nil {
				if len(l.scenes) > 1 {
					err = fmt.Errorf("figure %d: %w", len(out.panels), err)
				}
				return nil, err
			}
			low := vg.Point{X: corner.X, Y: corner.Y - page.Y}
			out.panels = append(out.panels, panel{s, vg.Rectangle{Min: low, Max: vg.Point{X: low.X + page.X, Y: corner.Y}}})
			corner.X += page.X + gap
		}
		corner = vg.Point{Y: corner.Y - heights[r] - gap}
	}
	if l.shared && !l.scenes[0].chart || l.bodies() {
		oneScale(out.panels)
	}
	return out, nil
}

// bodies reports whether the scenes are in space and in one unit, or meshes: then they have one scale.
func (l *layout) bodies() bool {
	return !slices.ContainsFunc(l.scenes, func(s *scene) bool {
		own := s.unit != "" || slices.ContainsFunc(s.layers, func(l *Layer) bool { return l.form })
		return !s.inSpace || !own || s.unit != l.scenes[0].unit
	})
}

// enlarge gives bodies that would hardly be seen in the scale of the largest a larger one, which their titles state.
func (l *layout) enlarge() {
	const like, below = 4, 1.6 // ratio of sizes up to which bodies are drawn in one scale; by less than that a round number is too large
	high := 0.0
	for _, s := range l.scenes {
		high = math.Max(high, s.extent)
	}
	for _, s := range l.scenes {
		if l.bodies() && high > like*s.extent && s.extent > 0 {
			own := *s.Figure
			s.times = round(high / s.extent / below)
			s.Figure = own.Title(strings.TrimPrefix(fmt.Sprintf("%s, enlarged %v ×", own.title, s.times), ", "))
		}
	}
}

// widths returns those of the columns, whose mean is given: in one row such that the panels are about equally high, within limits.
func (l *layout) widths(mean vg.Length) []vg.Length {
	out := slices.Repeat([]vg.Length{mean}, l.columns)
	if l.columns != len(l.scenes) || l.shared || slices.ContainsFunc(l.scenes, func(s *scene) bool { return s.inSpace || s.height > 0 }) {
		return out
	}
	const least, most = 0.8, 1.5 // of the mean
	ratios := make([]vg.Length, l.columns)
	for i, s := range l.scenes {
		if ratios[i] = s.ratio(); !s.oneScale() {
			own := *s
			ratios[i] = own.naturalHeight(mean) / mean
		}
	}
	at := func(height vg.Length) (sum vg.Length) {
		for i, r := range ratios {
			out[i] = max(least*mean, min(most*mean, height/r))
			sum += out[i]
		}
		return sum
	}
	low, high := vg.Length(0), 10*mean
	for range 40 {
		if middle := (low + high) / 2; at(middle) < mean*vg.Length(l.columns) {
			low = middle
		} else {
			high = middle
		}
	}
	for i, s := range l.scenes {
		own := *s
		if own.checkRoom(vg.Point{X: out[i], Y: own.naturalHeight(out[i])}) != nil {
			return slices.Repeat([]vg.Length{mean}, l.columns)
		}
	}
	return out
}

// oneScale gives panels of shapes the scale of that in which they have the least room, or so many times a larger one.
func oneScale(panels []panel) {
	unit := 0.0 // data units a point
	for grown := true; grown; {
		grown = false
		for _, p := range panels {
			p.scene.coarsest = unit / p.scene.times
		}
		for _, p := range panels {
			f := p.frame()
			if own := (f.hi[0] - f.lo[0]) / float64(f.area.Size().X) * p.scene.times; own > unit*(1+1e-9) {
				unit, grown = own, true
			}
		}
	}
}

// alike gives scenes the same room for their legends, beneath the axes if one of them needs it there.
func alike(scenes []*scene, width vg.Length) {
	outside, reserve := false, vg.Length(0)
	for _, s := range scenes {
		s.naturalHeight(width)
		outside = outside || s.outside
		reserve = max(reserve, s.strip(width-2*rim))
	}
	if outside {
		for _, s := range scenes {
			s.outside, s.reserve = true, reserve
		}
	}
}

// scenes checks figures, and ends with what is wrong with one. Where same is given they have one range, and layers of vectors for which it returns the same have
// one factor, the least that one of them needs. Errors begin with the name of the figure.
func scenes(figures []*Figure, name func(i int) string, same func(i int, l *Layer) any) []*scene {
	all := make([]*scene, len(figures))
	union, colours := emptyBox(), ranges{}
	for i, f := range figures {
		try.FailIf(f == nil, "%s: no figure", name(i))
		colours.add(f)
	}
	factors := map[any]float64{}
	for i, f := range figures {
		s, err := f.record(colours)
		try.Do(try.Name(err, "%s", name(i)))
		all[i] = s
		for k, l := range s.layers {
			if _, longest := l.vectors(); longest > 0 && same != nil {
				factor := arrowFactor(longest, s.extent)
				if least, known := factors[same(k, l)]; !known || factor < least {
					factors[same(k, l)] = factor
				}
			}
		}
	}
	for i, s := range all {
		for k, l := range s.layers {
			if any, _ := l.vectors(); any && same != nil {
				l.scale = factors[same(k, l)]
			}
		}
		try.Do(try.Name(s.complete(), "%s", name(i)))
		first := all[0]
		try.FailIf(same != nil && (s.chart != first.chart || s.inSpace != first.inSpace || s.logX != first.logX || s.logY != first.logY),
			"%s: shared axes need panels of one kind: all shapes, all in space or all charts with like axes", name(i))
		union.add(s.bounds.lo[:])
		union.add(s.bounds.hi[:])
	}
	if same != nil {
		for _, s := range all {
			s.bounds = union
		}
	}
	return all
}
