package viz

import (
	_ "embed"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"anatomy/geom/shape"
)

// Play shows a shape that moves: path[k] is the shape at time k/(n−1), such as the path of a geodesic. The layers lie
// beneath it; those made by Moving move with it. If one of them is named in the legend, so is the moving shape. The figure is as
// wide as a page. In a notebook and in HTML it plays once
// when it comes into view, unless the reader prefers reduced motion, with a slider and a button; on paper some moments stand
// side by side. Save as .gif makes an animation, as .html a page of its own:
//
//	viz.Show(viz.Play(geodesic.Path, viz.Outline(target).Color(viz.Grey).Label("target")))
func Play(path []shape.Shape, layers ...*Layer) *Figure {
	frames := make([]*Layer, len(path))
	for k, q := range path {
		frames[k] = Outline(q)
	}
	if len(frames) > 0 && slices.ContainsFunc(layers, func(l *Layer) bool { return l != nil && l.label != "" }) {
		frames[0].Label("moving shape")
	}
	return Fig(append(slices.Clone(layers), Moving(frames...))...)
}

// Moving is a layer that moves: at time k/(n−1) it is frames[k], in the looks of the first frame; of frames with ColorBy each
// has the colours of its own values, which stand for one quantity. All moving layers of a figure need the same number of
// frames. A figure with such a layer is shown as Play says; beside other figures it stands still at its end. What moves is
// drawn over what stands still. A grid that a flow deforms, lines[k] being its lines at time k/(n−1):
//
//	var grid []*viz.Layer
//	for _, l := range lines {
//		grid = append(grid, viz.Grid(l...))
//	}
//	viz.Show(viz.Play(path, viz.Moving(grid...)))
func Moving(frames ...*Layer) *Layer {
	if len(frames) == 0 {
		return newLayer("Moving", drawFunc(func(*canvas) error { return fmt.Errorf("no frames given") }))
	}
	if slices.Contains(frames, nil) {
		return newLayer("Moving", drawFunc(func(*canvas) error { return fmt.Errorf("frame %d is nil", slices.Index(frames, nil)) }))
	}
	l := *frames[0]
	l.frames = nil
	for k, frame := range frames {
		own := instant{what: frame.what}
		switch {
		case frame.err != nil:
			l.fail("frame %d: %w", k, frame.err)
		case l.byValue && frame.byValue && frame.quantity != l.quantity:
			l.fail("frame %d is coloured by %q, the first by %q: give all frames one quantity", k, frame.quantity, l.quantity)
		case l.byValue && frame.byValue:
			own.values = frame.values
			l.lo, l.hi = math.Min(l.lo, frame.lo), math.Max(l.hi, frame.hi)
		}
		l.frames = append(l.frames, own)
	}
	return &l
}

// frames returns the number of frames of the figure's moving layers, 0 if all stand still.
func (f *Figure) frames() (n int, err error) {
	for _, l := range f.layers {
		if l == nil || len(l.frames) == 0 {
			continue
		}
		if n != 0 && len(l.frames) != n {
			return 0, fmt.Errorf("%s has %d frames, another moving layer %d: they must have the same number", l.name, len(l.frames), n)
		}
		n = len(l.frames)
	}
	return n, nil
}

// moment returns the figure at a time from 0 to 1.
func (f *Figure) moment(t float64) *Figure {
	own := *f
	own.rest = 1 - t
	return &own
}

// A figure as wide as a page is laid out smaller and shown larger: on a phone, 352 pixels wide, its legend still has 9 pixels.
const (
	pageWidth  = 10.3 // cm
	pageHeight = 6.9
	pageZoom   = 17.0 / pageWidth
	sliderZoom = 12.0 / pageWidth
)

// play lays a figure with n frames out.
func (f *Figure) play(n int) (*sheet, error) {
	own := *f
	f = &own
	times := playTimes(n)
	zoom := 1.0
	if f.width == 0 {
		f.width, zoom = pageWidth, pageZoom
		s, err := f.scene()
		if err != nil {
			return nil, fmt.Errorf("at t = 1: %w", err)
		}
		if high := float64(s.naturalHeight(pageWidth*cm) / cm); high > pageHeight {
			f.width *= pageHeight / high
		}
	}
	s, err := (&slider{"t", times, func(k int) *Figure { return f.moment(times[k]) }}).sheet()
	if err != nil {
		return nil, err
	}
	s.extra.(*animation).plays, s.extra.(*animation).zoom = true, zoom
	return s, nil
}

// playTimes returns the times at which n frames are shown: of many only some, at equal distances where that can be.
func playTimes(n int) []float64 {
	count := 26
	if n <= 51 {
		count = n
	}
	for c := 31; c > 15 && n > 31; c-- {
		if (n-1)%(c-1) == 0 {
			count = c
			break
		}
	}
	times := make([]float64, count)
	for k := range times {
		times[k] = math.Round(float64(k*(n-1))/math.Max(1, float64(count-1))) / math.Max(1, float64(n-1))
	}
	return times
}

//go:embed play.js
var playScript string

// A film is the marks that move, for play.js: a path or circle in SVG each, and where their points are in every frame.
type film struct {
	elements []string
	Kinds    string  `json:"kinds"` // of the elements: l line, z closed line or area, d disc, a arrow
	Counts   []int   `json:"counts"`
	Frames   [][]int `json:"frames"` // coordinates of all points, less those of the frame before
}

const filmUnit = 0.05 // points

// film returns the marks that move, or nil if they cannot be drawn by moving points alone: marks in space, which may hide
// each other, texts, or marks that are not the same, or of the same looks, from frame to frame.
func (a *animation) film() *film {
	out := &film{}
	var first []mark
	var last []int
	for k, frame := range a.frames {
		s := frame.panels[0].scene
		f := s.frame(s.inner(frame.panels[0].at))
		number := 0
		out.elements = nil
		var at []int
		for _, m := range s.marks {
			if len(m.layer.frames) == 0 {
				continue
			}
			points := make([]vg.Point, len(m.at))
			for i, p := range m.at {
				q := f.place(p)
				x, y := math.Round(float64(q.X)/filmUnit), math.Round(float64(frame.size.Y-q.Y)/filmUnit)
				points[i] = vg.Point{X: vg.Length(x), Y: vg.Length(y)}
				at = append(at, int(x), int(y))
			}
			kind, element := svgMark(m, points)
			if k == 0 {
				out.Kinds += kind
				out.Counts = append(out.Counts, len(m.at))
				first = append(first, m)
			}
			if s.inSpace || kind == "" || number == len(out.Counts) || out.Counts[number] != len(m.at) || out.Kinds[number] != kind[0] {
				return nil
			}
			if m.fill != first[number].fill || m.stroke != first[number].stroke || m.radius != first[number].radius {
				return nil
			}
			out.elements = append(out.elements, element)
			number++
		}
		if number != len(out.Counts) {
			return nil
		}
		difference := slices.Clone(at)
		for i := range last {
			difference[i] -= last[i]
		}
		out.Frames = append(out.Frames, difference)
		last = at
	}
	return out
}

// svgMark returns the kind of a moving mark and its element of SVG; no kind if there is none. Lengths are in film units.
func svgMark(m mark, at []vg.Point) (kind, element string) {
	paint := func(name string, c color.NRGBA) string {
		return fmt.Sprintf("%s:#%02x%02x%02x;%s-opacity:%.3g;", name, c.R, c.G, c.B, name, float64(c.A)/255)
	}
	path := func(points []vg.Point, end string) string {
		var out strings.Builder
		for i, p := range points {
			fmt.Fprintf(&out, "%c%g %g", "ML"[min(i, 1)], p.X, p.Y)
		}
		return out.String() + end
	}
	style, width := paint("fill", m.fill), m.stroke.Width/filmUnit
	if m.kind == arrowMark {
		head := arrow(at[0].Scale(filmUnit), at[1].Scale(filmUnit), m.stroke.Width)
		style, width = paint("fill", m.stroke.Color), head.width/filmUnit
	}
	if m.stroke.Width > 0 {
		style += paint("stroke", m.stroke.Color) + fmt.Sprintf("stroke-width:%.4g;stroke-linejoin:round;", width)
	}
	if m.stroke.Dashed {
		style += fmt.Sprintf("stroke-dasharray:%g %g;", 3/filmUnit, 2/filmUnit)
	}
	switch {
	case m.kind == dotMark:
		return "d", fmt.Sprintf(`<circle cx="%g" cy="%g" r="%.4g" style="%s"/>`, at[0].X, at[0].Y, m.radius/filmUnit, style)
	case m.kind == arrowMark:
		return "a", fmt.Sprintf(`<path d="%s" data-width="%g" style="%s"/>`, path(at, ""), m.stroke.Width, style)
	case m.kind == areaMark || m.kind == lineMark && m.closed:
		return "z", fmt.Sprintf(`<path d="%s" style="%s"/>`, path(at, "z"), style)
	case m.kind == lineMark:
		return "l", fmt.Sprintf(`<path d="%s" style="%s"/>`, path(at, ""), style)
	}
	return "", ""
}

// played returns a fragment of HTML in which the marks of the film move.
func (a *animation) played(f *film, keys string) string {
	sheet := *a.frames[0]
	scene := *sheet.panels[0].scene
	scene.still = true
	sheet.panels = []panel{{&scene, sheet.panels[0].at}}
	drawing := sheet.inline("img", a.alt(), fmt.Sprintf("<g class=\"viz-moving\" fill=\"none\" transform=\"scale(%g)\">\n%s\n</g>\n", filmUnit, strings.Join(f.elements, "\n")))
	data := pack(f)
	width := int(a.zoom * sheet.size.X.Dots(cssDots))
	return fmt.Sprintf(`<figure class="viz-play" style="margin:0;width:%dpx;max-width:100%%">
%s%s%s%s<script type="text/plain">%s</script>
<script>
%s</script>
</figure>
`, width, pageStyle, drawing, keys, controls(width, 1000, 0, "t"), data, playScript)
}
