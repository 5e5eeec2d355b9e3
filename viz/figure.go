package viz

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"

	"anatomy/geom/try"
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
	equal          bool // a chart has axes of one scale
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

// EqualAxes gives both axes of a chart one scale, as of two components of shape, whose distances then can be compared.
func (f *Figure) EqualAxes() *Figure { f.equal = true; return f }

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
// towards y, and the elevation is that above the x–y plane; of the main axes of a body where Views sees it from these. The projection has no perspective.
func (f *Figure) Camera(azimuth, elevation float64) *Figure {
	if !lists.Finite(azimuth) || !lists.Finite(elevation) {
		f.err = fmt.Errorf("Camera(%v, %v): give two angles in degrees", azimuth, elevation)
	}
	f.camera.azimuth, f.camera.elevation = azimuth*math.Pi/180, elevation*math.Pi/180
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
	times     float64   // larger than in the scale of the other panels
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
func (f *Figure) coloured(r ranges) []*Layer {
	taken := map[color.NRGBA]bool{}
	for i, l := range f.layers {
		try.FailIf(l == nil, "layer %d is nil", i)
		taken[Blue] = taken[Blue] || l.byValue
		if l.tint != nil {
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
	return out
}

// record lets the layers draw, in colours that stand for the given ranges.
func (f *Figure) record(r ranges) (_ *scene, err error) {
	defer try.Catch(&err)
	try.Do(f.err)
	s := &scene{Figure: f, layers: f.coloured(r), bounds: emptyBox(), times: 1}
	extent := emptyBox()
	for _, l := range s.layers {
		l.drawn = try.Get(l.record(1 - f.rest))
		s.chart = s.chart || l.chart || l.drawn.rows > 0
		s.rows, s.row = max(s.rows, l.drawn.rows), math.Max(s.row, l.drawn.row)
		for _, m := range l.drawn.marks {
			if m.kind == vectorMark {
				m.at = m.at[:1]
			}
			each([]mark{m}, extent.add)
		}
	}
	s.reach, s.extent = extent, 2*extent.radius(3)
	return s, nil
}

// complete gathers the marks of the layers, which have drawn, and checks what they make together.
func (s *scene) complete() (err error) {
	defer try.Catch(&err)
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
	try.FailIf(len(s.marks) == 0, "nothing to draw: no layers, or only empty ones")
	try.FailIf((s.logX || s.logY) && !s.chart, "LogX and LogY are for charts (Series, Histogram, …): shapes keep axes of equal scale")
	dim := len(s.marks[0].at[0])
	s.inSpace = dim == 3
	for i, m := range s.marks {
		s.texts = s.texts || m.kind == textMark
		if d := len(m.at[0]); d != dim {
			return fmt.Errorf("%s has %d coordinates, %s has %d: one figure is either flat or in space", m.layer.name, d, s.marks[0].layer.name, dim)
		}
		if s.inSpace {
			s.marks[i].at = lists.Each(m.at, s.camera.view)
		}
		for k, p := range s.marks[i].at {
			q := []float64{p[0], p[1]}
			for axis, log := range []bool{s.logX, s.logY} {
				if log {
					if q[axis] <= 0 {
						try.Fail("%s: value %d has %c = %v on a logarithmic axis: it must be positive", m.layer.name, k, "xy"[axis], q[axis])
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
	try.FailIf(s.inSpace && s.chart, "a chart and points in space do not go into one figure")
	for k := range 2 {
		if math.IsInf(s.bounds.lo[k], 1) { // only levels across the other axis
			s.bounds.lo[k], s.bounds.hi[k] = 0, 1
		}
		try.FailIf(!lists.Finite(s.bounds.size(k)), "the coordinates from %v to %v span more than can be drawn", s.bounds.lo[k], s.bounds.hi[k])
	}
	s.legend.keys = keys(s.layers)
	return nil
}
