package viz

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"

	"anatomy/geom/try"
)

// maxFacets bounds the figures in space that can be turned: more facets would make a page heavy and its motion slow.
const maxFacets = 80000

// A turntable is a drawing with figures in space, laid out with room for them in every position. What a slider makes of one
// figure has its frames, which share the marks and differ in where they are and in their colours.
type turntable struct {
	*sheet
	frames *animation // nil: nothing changes
	keys   string     // of the legend of the frames, as HTML
	first  int        // the frame that is shown before the reader acts
}

//go:embed turn.js
var turnScript string

// turnable returns the drawing's turntable, or nil if there is nothing to turn.
func (l *layout) turnable() (*turntable, error) {
	scenes := make([]*scene, len(l.scenes))
	any, facets := false, 0
	for i, s := range l.scenes {
		own := *s
		scenes[i] = &own
		if s.inSpace {
			any = true
			own.turning(sphere(s))
			facets += s.facets()
		}
	}
	if !any || facets > maxFacets {
		return nil, nil
	}
	turned := *l
	turned.scenes = scenes
	s, err := turned.sheet()
	if err != nil {
		return nil, err
	}
	return &turntable{sheet: s}, nil
}

// graded reports whether a surface of the scene is lit and has many colours.
func (s *scene) graded() bool {
	return slices.ContainsFunc(s.marks, func(m mark) bool { return m.tones != nil })
}

// facets is the number of triangles of the scene's surfaces.
func (s *scene) facets() (n int) {
	for _, m := range s.marks {
		if m.body != nil {
			n += len(m.body.triangles)
		}
	}
	return n
}

// turning gives the scene the range of a sphere about its data, and puts the legend where nothing comes by.
func (s *scene) turning(middle []float64, radius float64) {
	for k := range 2 {
		s.bounds.lo[k], s.bounds.hi[k] = middle[k]-radius, middle[k]+radius
	}
	s.outside = len(s.legend.keys) > 0
}

// sphere returns a sphere about the data of scenes, in their camera's frame.
func sphere(scenes ...*scene) (middle []float64, radius float64) {
	b := emptyBox()
	each := func(do func(p []float64)) {
		for _, s := range scenes {
			for _, m := range s.marks {
				for _, p := range m.at {
					do(p)
				}
			}
		}
	}
	each(b.add)
	middle = make([]float64, 3)
	for k := range middle {
		middle[k] = (b.lo[k] + b.hi[k]) / 2
	}
	each(func(p []float64) { radius = math.Max(radius, distance(p, middle)) })
	return middle, math.Max(radius, 1e-12)
}

// maxMoving bounds what a page holds of points that move, over all frames.
const maxMoving = 4000000

// turned returns the animation as a turntable whose marks move, from a first frame, or nil if its frames are not in space, are
// seen from several sides, or have other marks, another title, unit or legend from one to the next.
func (a *animation) turned(first int) *turntable {
	scenes := a.scenes()
	points := 0
	for _, s := range scenes {
		if !s.inSpace || s.camera != scenes[0].camera || len(s.marks) != len(scenes[0].marks) {
			return nil
		}
		if s.title != scenes[0].title || s.unit != scenes[0].unit || !s.legend.alike(scenes[0].legend) {
			return nil
		}
		for i, m := range s.marks {
			one := scenes[0].marks[i]
			if m.kind != one.kind || len(m.at) != len(one.at) || m.closed != one.closed || m.text != one.text || m.body != nil && !slices.Equal(m.body.triangles, one.body.triangles) {
				return nil
			}
			points += len(m.at)
		}
	}
	if scenes[0].facets() > maxFacets || points > maxMoving {
		return nil
	}
	own := *scenes[first]
	own.turning(sphere(scenes...))
	size := vg.Point{X: a.frames[first].size.X}
	size.Y = own.naturalHeight(size.X)
	return &turntable{sheet: &sheet{size: size, panels: []panel{{&own, vg.Rectangle{Max: size}}}}, frames: a, first: first}
}

// scenes are those of the frames.
func (a *animation) scenes() []*scene {
	out := make([]*scene, len(a.frames))
	for i, f := range a.frames {
		out[i] = f.panels[0].scene
	}
	return out
}

// html returns a fragment of HTML: still pictures, which give way to others that turn once one is touched. Panels stand
// side by side where there is room, and below each other on a phone.
func (t *turntable) html() string {
	columns := 0
	for _, p := range t.panels {
		if p.at.Max.Y == t.size.Y {
			columns++
		}
	}
	zoom := 1.05 // the letters of the directions then have 9 pixels
	if t.frames != nil {
		zoom = t.frames.zoom
	}
	width := func(w vg.Length) int { return int(zoom * w.Dots(cssDots)) }
	var out strings.Builder
	texts := ""
	if a := t.frames; a != nil {
		list := try.Get(json.Marshal(moments(a.quantity, a.values)))
		texts = fmt.Sprintf(" data-texts=\"%s\"", escaped(string(list)))
	}
	fmt.Fprintf(&out, "<figure class=\"viz-turn\"%s aria-label=\"%s\" style=\"margin:0;width:%dpx;max-width:100%%\">\n%s", texts, escaped(t.alt()), width(t.size.X), pageStyle)
	fmt.Fprintf(&out, "<div class=\"%s\" style=\"display:grid;gap:13px;grid-template-columns:repeat(auto-fit,minmax(min(100%%,max(180px,calc((100%% - %dpx)/%d))),1fr))\">\n", t.class(), 13*(columns-1), columns)
	picture := func(s *sheet, hidden, alt string) {
		var look image.Image = s.raster(screenDots)
		if !slices.ContainsFunc(s.panels, func(p panel) bool { return p.scene.graded() && !p.scene.hollow }) { // 256 colours are enough
			look = indexed(look.(*image.RGBA), paletteOf(look.(*image.RGBA)))
		}
		data := encodePNG(look, screenDots)
		fmt.Fprintf(&out, "<img%s alt=\"%s\" width=\"%d\" style=\"max-width:100%%;height:auto;vertical-align:top\" src=\"data:image/png;base64,%s\">\n", hidden, escaped(alt), width(s.size.X), base64.StdEncoding.EncodeToString(data))
	}
	for _, p := range t.panels {
		page, seen := vg.Rectangle{Max: p.at.Size()}, readable(p.scene.alt())
		fmt.Fprintf(&out, "<div style=\"position:relative;width:%dpx;max-width:100%%;justify-self:center\">\n", width(page.Max.X))
		picture(&sheet{size: page.Max, panels: []panel{{p.scene, page}}}, "", seen)
		if p.scene.inSpace {
			hollow := *p.scene
			hollow.hollow = true
			picture(&sheet{size: page.Max, panels: []panel{{&hollow, page}}}, " hidden", "")
			inside := page.Max.X - 2*rim
			above, below := rim+hollow.titleHeight(inside), rim // what lies beyond the data is not drawn over when a reader zooms
			if hollow.outside {
				below += hollow.strip(inside)
			}
			data := p.turnData(t.frames)
			names := ""
			if slices.ContainsFunc(p.scene.marks, func(m mark) bool { return m.name != "" }) {
				names = " data-names"
			}
			fmt.Fprintf(&out, "<canvas%s tabindex=\"0\" role=\"img\" aria-label=\"%s Drag, or press the arrow keys, to turn; plus and minus zoom, 0 resets.\" style=\"position:absolute;inset:0;width:100%%;height:100%%;clip-path:inset(%.2f%% 0 %.2f%%);cursor:grab;touch-action:pan-y\"></canvas>\n<script type=\"text/plain\">%s</script>\n",
				names, escaped(seen), 100*above/page.Max.Y, 100*below/page.Max.Y, data)
		}
		out.WriteString("</div>\n")
	}
	out.WriteString("</div>\n")
	if column := min(t.size.X, 8.5*cm); t.legend.height(column) > 0 {
		fmt.Fprintf(&out, "<div class=\"%s\" style=\"text-align:center\">\n", t.class())
		picture(&sheet{size: vg.Point{X: column, Y: rim + t.legend.height(column)}, legend: t.legend}, "", t.legend.alt())
		out.WriteString("</div>\n")
	}
	out.WriteString(t.keys)
	if a := t.frames; a != nil {
		out.WriteString(controls(width(t.size.X), len(a.frames)-1, t.first, a.quantity))
	}
	const button = "<button type=\"button\" aria-label=\"%s\">%s</button>\n"
	out.WriteString("<figcaption class=\"viz-controls viz-zoom\">\n<span style=\"opacity:.7\">drag to turn</span>\n")
	for _, b := range [][2]string{{"zoom in", "+"}, {"zoom out", "\u2212"}, {"reset", "reset"}} {
		fmt.Fprintf(&out, button, b[0], b[1])
	}
	fmt.Fprintf(&out, "</figcaption>\n<script>\n%s</script>\n</figure>\n", turnScript)
	return out.String()
}

// turnData is what the script of a turntable draws from: see turn.js.
type turnData struct {
	Azimuth   float64     `json:"azimuth"`
	Elevation float64     `json:"elevation"`
	Middle    [2]float64  `json:"middle"`    // of the data, in widths and heights of the canvas
	Scale     float64     `json:"scale"`     // of a unit of Points, in widths of the canvas
	Point     float64     `json:"point"`     // 1/72 inch, in widths of the canvas
	Reach     float64     `json:"reach"`     // extent of the data, in units of Points
	Tolerance float64     `json:"tolerance"` // what lies this little behind a facet lies on it
	Axes      *[2]float64 `json:"axes"`      // where the directions stand, in widths and heights of the canvas
	Points    []int       `json:"points"`    // three numbers a point, each less that of the point before
	Frames    [][]int     `json:"frames"`    // where the points are in every frame, less where they are in the one before, in the first less Points
	Looks     [][]int     `json:"looks"`     // the styles of the marks in every frame; none: those of Marks
	Styles    []turnStyle `json:"styles"`
	Marks     []int       `json:"marks"` // style, count, points
	Bodies    []turnBody  `json:"bodies"`
}

// A turnBody is the surface of a mark of the kind "face".
type turnBody struct {
	Triangles []int      `json:"triangles"` // their corners, numbers of the mark's points, each less that of the same corner before
	Normals   []int      `json:"normals"`   // corners, each less the one before, whose normal is not that of their point, and which it is
	Open      []int      `json:"open"`      // of the sky, in 255ths: see light
	Colours   [][4]uint8 `json:"colours"`
	Tones     [][]int    `json:"tones"` // the colour of each point in every frame, each less the one before; none: the first
}

type turnStyle struct {
	Kind   string   `json:"kind"`
	Fill   [4]uint8 `json:"fill"`
	Stroke [4]uint8 `json:"stroke"`
	Width  float64  `json:"width"`
	Radius float64  `json:"radius"`
	Dashed bool     `json:"dashed"`
	Closed bool     `json:"closed"`
	Level  int      `json:"level"`
	Text   string   `json:"text"`
}

// turnData returns the data of a panel in space, packed, with the frames of an animation if there is one.
func (p panel) turnData(a *animation) string {
	const fineness = 1 << 12 // from the middle to the rim, finer than a screen's pixels
	s := p.scene
	moments := []*scene{s}
	if a != nil {
		moments = a.scenes()
	}
	middle, radius := sphere(moments...)
	f := s.frame(s.inner(p.at))
	width, height := float64(p.at.Size().X), float64(p.at.Size().Y)
	onCanvas := func(at vg.Point) [2]float64 {
		return [2]float64{float64(at.X-p.at.Min.X) / width, float64(p.at.Max.Y-at.Y) / height}
	}
	unit := radius / fineness
	d := turnData{
		Azimuth: s.camera.azimuth, Elevation: s.camera.elevation,
		Middle: onCanvas(f.place(middle)), Scale: unit / (f.hi[0] - f.lo[0]) * float64(f.area.Size().X) / width, Point: 1 / width, Reach: 2 * fineness, Bodies: []turnBody{},
	}
	if s.scaleBar() {
		at := onCanvas(s.directionsAt(p.at))
		d.Axes = &at
	}
	points, styles := map[string]int{}, map[turnStyle]int{}
	placed := make([][]int, len(moments)) // where the points are in every frame
	lastPoint, longest := 0, 0.0
	for i, m := range s.marks {
		d.Marks = append(d.Marks, 0, len(m.at)) // the style follows
		for j := range m.at {
			var at []int
			for _, moment := range moments {
				q := moment.marks[i].at[j]
				for _, x := range s.camera.back([]float64{q[0] - middle[0], q[1] - middle[1], q[2] - middle[2]}) {
					at = append(at, int(math.Round(x/unit)))
				}
			}
			key := fmt.Sprint(at)
			number, known := points[key]
			if !known {
				number = len(points)
				points[key] = number
				for k := range moments {
					placed[k] = append(placed[k], at[3*k:3*k+3]...)
				}
			}
			d.Marks = append(d.Marks, number-lastPoint)
			lastPoint = number
		}
		if b := m.surface(); b != nil {
			d.Bodies = append(d.Bodies, bodyData(b, moments, i))
			for _, t := range b.triangles {
				longest = math.Max(longest, math.Max(distance(m.at[t[0]], m.at[t[1]]), distance(m.at[t[0]], m.at[t[2]]))/unit)
			}
		}
	}
	d.Points = steps(placed[0], 3)
	looks := make([][]int, len(moments))
	for k, moment := range moments {
		looks[k] = moment.styles(styles, &d.Styles)
	}
	for k, look := range looks {
		if a == nil {
			continue
		}
		d.Frames = append(d.Frames, steps(bends(placed, k), 3))
		if !slices.Equal(look, looks[0]) {
			d.Looks = make([][]int, len(looks))
		}
	}
	for k := range d.Looks {
		d.Looks[k] = steps(looks[k], 1)
	}
	for i, at := 0, 0; at < len(d.Marks); i, at = i+1, at+2+d.Marks[at+1] {
		d.Marks[at] = looks[0][i]
	}
	d.Tolerance = 0.01*d.Reach + longest*longest/(4*d.Reach)
	return pack(d)
}

// bodyData returns the surface of mark i of the scenes of an animation, or of one scene.
func bodyData(b *body, moments []*scene, i int) (d turnBody) {
	for t, corners := range b.triangles {
		d.Triangles = append(d.Triangles, corners[:]...)
		for k, v := range corners {
			if b.open != nil && b.normals[t][k] != v {
				d.Normals = append(d.Normals, 3*t+k, b.normals[t][k])
			}
		}
	}
	d.Triangles, d.Normals = steps(d.Triangles, 3), steps(d.Normals, 2)
	for _, open := range b.open {
		d.Open = append(d.Open, int(math.Round(255*open)))
	}
	d.Open = steps(d.Open, 1)
	m := moments[0].marks[i]
	d.Colours = [][4]uint8{channels(m.fill)}
	if m.tones == nil {
		return d
	}
	const finest = 255
	d.Colours = nil
	for k := range finest + 1 {
		d.Colours = append(d.Colours, channels(fade(m.layer.colour(float64(k)/finest), m.layer.opacity)))
	}
	for _, moment := range moments {
		var tones []int
		for _, t := range moment.marks[i].tones {
			tones = append(tones, int(math.Round(finest*t)))
		}
		d.Tones = append(d.Tones, steps(tones, 1))
	}
	return d
}

// bends returns the second differences of numbers by the frames at frame k, before which they stand still.
func bends(placed [][]int, k int) []int {
	off := slices.Clone(placed[k])
	one, two := placed[max(0, k-1)], placed[max(0, k-2)]
	for i := range off {
		off[i] -= 2*one[i] - two[i]
	}
	return off
}

// steps returns numbers, each less that which stands so many places before it.
func steps(x []int, width int) []int {
	out := slices.Clone(x)
	for i := len(x) - 1; i >= width; i-- {
		out[i] -= x[i-width]
	}
	return out
}

// styles returns the number of the style of every mark in a list, which grows by those that are new.
func (s *scene) styles(known map[turnStyle]int, list *[]turnStyle) (numbers []int) {
	var layer *Layer
	level := 0
	for _, m := range s.marks {
		if m.layer != layer {
			layer, level = m.layer, level+1
		}
		style := turnStyle{Fill: channels(m.fill), Stroke: channels(m.stroke.Color), Width: m.stroke.Width, Radius: m.radius,
			Dashed: m.stroke.Dashed, Closed: m.closed, Level: level, Text: m.text}
		switch m.kind {
		case lineMark:
			style.Kind = "line"
		case areaMark, faceMark:
			style = turnStyle{Kind: "face"}
		case dotMark:
			style.Kind, style.Text = "dot", m.name
		case arrowMark:
			style.Kind = "arrow"
		case textMark:
			style.Kind = "text"
		}
		number, found := known[style]
		if !found {
			number = len(*list)
			known[style] = number
			*list = append(*list, style)
		}
		numbers = append(numbers, number)
	}
	return numbers
}

// pack returns a value as deflated JSON in base64.
func pack(v any) string {
	text := try.Get(json.Marshal(v))
	var packed bytes.Buffer
	w := try.Get(flate.NewWriter(&packed, flate.BestCompression))
	try.Get(w.Write(text))
	try.Do(w.Close())
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

func channels(c color.NRGBA) [4]uint8 { return [4]uint8{c.R, c.G, c.B, c.A} }

// back undoes view.
func (c camera) back(p []float64) []float64 {
	sa, ca := math.Sincos(c.azimuth)
	se, ce := math.Sincos(c.elevation)
	return []float64{
		-sa*p[0] - se*ca*p[1] + ce*ca*p[2],
		ca*p[0] - se*sa*p[1] + ce*sa*p[2],
		ce*p[1] + se*p[2],
	}
}

// directionsAt returns where the directions of the axes stand on a figure's page.
func (s *scene) directionsAt(page vg.Rectangle) vg.Point {
	return vg.Point{X: page.Max.X - rim - 16, Y: s.inner(page).Min.Y - s.barStrip() + 8}
}
