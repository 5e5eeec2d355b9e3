package viz

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Play shows a shape that moves: path[k] is the shape at time k/(n−1), such as the path of a geodesic. The layers lie
// beneath it; those made by Moving move with it. If one of them is named in the legend, so is the moving shape. The figure is as
// wide as a page. In a notebook and in HTML it plays once
// when it comes into view, unless the reader prefers reduced motion, and rests half-way; with a slider and a button; on paper some moments stand
// side by side. Save as .gif makes an animation, as .html a page of its own:
//
//	viz.Show(viz.Play(geodesic.Path, viz.Outline(target).Color(viz.Grey).Label("target")))
func Play(path []shape.Shape, layers ...*Layer) *Figure {
	frames := lists.Each(path, func(q shape.Shape) *Layer { return Outline(q) })
	if len(frames) > 0 && slices.ContainsFunc(layers, func(l *Layer) bool { return l != nil && l.label != "" }) {
		frames[0].Label("moving shape")
	}
	return Fig(append(slices.Clone(layers), Moving(frames...))...)
}

// Moving is a layer that moves: at time k/(n−1) it is frames[k], in the looks of the first frame; of frames with ColorBy each
// has the colours of its own values, which stand for one quantity. All moving layers of a figure need the same number of
// frames. A figure with such a layer is shown as Play says; beside other figures it stands still at its end. A grid that a flow deforms, lines[k] being its lines at time k/(n−1):
//
//	var grid []*viz.Layer
//	for _, l := range lines {
//		grid = append(grid, viz.Grid(l...))
//	}
//	viz.Show(viz.Play(path, viz.Moving(grid...)))
func Moving(frames ...*Layer) *Layer {
	if len(frames) == 0 {
		return faulty("Moving", "no frames given")
	}
	if slices.Contains(frames, nil) {
		return faulty("Moving", "frame %d is nil", slices.Index(frames, nil))
	}
	l := *frames[0]
	l.frames = nil
	for k, frame := range frames {
		own := instant{draw: frame.draw}
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

// paged returns the width of the figure: its own, or that of a page or less, so that it is no higher than one; and the zoom at which it is shown.
func (s *scene) paged() (width vg.Length, zoom float64) {
	if s.width > 0 {
		return vg.Length(s.width) * cm, 1
	}
	width = pageWidth * cm
	if high := s.naturalHeight(width); high > pageHeight*cm {
		width *= pageHeight * cm / high
	}
	return width, pageZoom
}

// play lays a figure with n frames out.
func (f *Figure) play(n int) (_ *sheet, err error) {
	defer try.Catch(&err)
	own, times := *f, playTimes(n)
	last, err := f.scene()
	try.Do(try.Name(err, "at t = 1"))
	width, zoom := last.paged()
	own.width = float64(width / cm)
	s := try.Get((&slider{"t", times, func(k int) *Figure { return own.moment(times[k]) }}).sheet())
	s.extra.(*animation).plays, s.extra.(*animation).zoom = true, zoom
	return s, nil
}

// evenly returns how many of n frames are shown: of numbers from most to least the largest with which they are at equal distances, or else the
// usual one.
func evenly(n, most, least, usual int) int {
	for count := min(n, most); count >= least; count-- {
		if (n-1)%(count-1) == 0 {
			return count
		}
	}
	return min(n, usual)
}

// playTimes returns the times at which n frames are shown: of many only some, at equal distances where that can be.
func playTimes(n int) []float64 {
	usual := 26
	if n <= 51 {
		usual = n
	}
	count := evenly(n, 31, 16, usual)
	last := math.Max(1, float64(n-1))
	return lists.Make(count, func(k int) float64 { return math.Round(float64(k*(n-1))/math.Max(1, float64(count-1))) / last })
}
