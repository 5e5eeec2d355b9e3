package viz

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/plot/vg"

	"anatomy/internal/lists"
)

// maxFacets bounds the figures in space that can be turned: more facets would make a page heavy and its motion slow.
const maxFacets = 80000

// A turntable is a drawing with figures in space, laid out with room for them in every position. What a slider makes of one
// figure has its frames, which share the marks and differ in where they are and in their colours.
type turntable struct {
	*sheet
	frames *animation // nil: nothing changes
	keys   []fields   // of the legend of the frames
	first  int        // the frame that is shown before the reader acts
}

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

// lowest is the height of the field in which a figure turns, in diameters of a sphere about its data, at least: a long body that lies would
// else stand in a white square.
const lowest = 0.62

// turning gives the scene the range of a sphere about its data, but no more height than it needs, and puts the legend where nothing comes by.
func (s *scene) turning(middle []float64, radius float64) {
	up := math.Min(radius, math.Max(lowest*radius, math.Max(s.bounds.hi[1]-middle[1], middle[1]-s.bounds.lo[1])))
	for k, reach := range []float64{radius, up} {
		s.bounds.lo[k], s.bounds.hi[k] = middle[k]-reach, middle[k]+reach
	}
	s.outside = len(s.legend.keys) > 0
}

// sphere returns a sphere about the data of scenes, in their camera's frame.
func sphere(scenes ...*scene) (middle []float64, _ float64) {
	b, radius := emptyBox(), 1e-12
	for _, s := range scenes {
		each(s.marks, b.add)
	}
	middle = lists.Make(3, func(k int) float64 { return (b.lo[k] + b.hi[k]) / 2 })
	for _, s := range scenes {
		each(s.marks, func(p []float64) { radius = math.Max(radius, distance(p, middle)) })
	}
	return middle, radius
}

// maxMoving bounds what a page holds of points that move, over all frames.
const maxMoving = 4000000

// turned returns the animation as a turntable whose marks move, from a first frame, or nil if its frames are seen from several sides, or
// have other marks, another title, unit or legend from one to the next.
func (a *animation) turned(first int) *turntable {
	scenes := a.scenes()
	points, one := 0, scenes[0]
	for _, s := range scenes {
		if s.inSpace != one.inSpace || s.camera != one.camera || s.title != one.title || s.unit != one.unit || !s.legend.alike(one.legend) {
			return nil
		}
		if !s.inSpace {
			continue
		}
		if !slices.EqualFunc(s.marks, one.marks, func(m, n mark) bool {
			return m.kind == n.kind && len(m.at) == len(n.at) && m.closed == n.closed && m.text == n.text && (m.body == nil || slices.Equal(m.body.triangles, n.body.triangles))
		}) {
			return nil
		}
		for _, m := range s.marks {
			points += len(m.at)
		}
	}
	own, page := *scenes[first], a.frames[first].panels[0].at
	if one.inSpace {
		own.turning(sphere(scenes...))
		page.Max.Y = own.naturalHeight(page.Max.X)
	} else if own.still, points = a.still(); points == 0 {
		return nil
	}
	if one.facets() > maxFacets || points > maxMoving {
		return nil
	}
	return &turntable{sheet: &sheet{size: page.Max, panels: []panel{{&own, page}}}, frames: a, first: first}
}

// still returns how many stamps come before the first that is not the same in all frames of an animation in the plane, and how many points the
// others have in all of them: none, if from frame to frame they are others.
func (a *animation) still() (count, points int) {
	same := func(s, t stamp) bool {
		return s.text == t.text && s.closed == t.closed && s.name == t.name && len(s.at) == len(t.at)
	}
	var one []stamp
	for k, f := range a.frames {
		p := f.panels[0]
		all := p.scene.stamps(p.frame())
		if k == 0 {
			one, count = all, len(all)
		}
		if !slices.EqualFunc(one, all, same) {
			return 0, 0
		}
		for i := range all {
			if i < count && !reflect.DeepEqual(one[i], all[i]) {
				count = i
			}
			points += len(all[i].at)
		}
	}
	return count, points
}

// scenes are those of the frames.
func (a *animation) scenes() []*scene {
	return lists.Each(a.frames, func(f *sheet) *scene { return f.panels[0].scene })
}

// html returns a fragment of HTML: still pictures, which give way to others that turn once one is touched. Panels stand
// side by side where there is room, and below each other on a phone.
func (t *turntable) html() string {
	zoom, columns := 1.05, 0 // the letters of the directions then have 9 pixels
	turns := slices.ContainsFunc(t.panels, func(p panel) bool { return p.scene.inSpace })
	var views []fields
	data := fields{"Alt": t.alt(), "Class": t.class(), "Turns": turns, "Keys": t.keys, "Script": turnScript}
	if a := t.frames; a != nil {
		data["Texts"], data["Alt"], data["Plays"] = string(sure(json.Marshal(moments(a.quantity, a.values)))), a.alt(), a.plays
		data["Last"], data["First"], data["Quantity"] = len(a.frames)-1, t.first, a.quantity
		zoom = a.zoom
	}
	width := func(w vg.Length) int { return int(zoom * w.Dots(cssDots)) }
	picture := func(s *sheet, hidden bool, alt string) fields {
		var look image.Image = s.raster(screenDots)
		if !slices.ContainsFunc(s.panels, func(p panel) bool { return p.scene.graded() && !p.scene.hollow }) { // 256 colours are enough
			look = indexed(look.(*image.RGBA), paletteOf(look.(*image.RGBA)))
		}
		return pictureField(alt, width(s.size.X), encodePNG(look, screenDots), hidden)
	}
	for _, p := range t.panels {
		if p.at.Max.Y == t.size.Y {
			columns++
		}
		page := vg.Rectangle{Max: p.at.Size()}
		own := func(s *scene) *sheet { return &sheet{size: page.Max, panels: []panel{{s, page}}} }
		view := fields{"Width": width(page.Max.X), "Alt": readable(p.scene.alt())}
		pictures := []fields{picture(own(p.scene), false, readable(p.scene.alt()))}
		if p.scene.inSpace || !turns {
			hollow := *p.scene
			hollow.hollow = true
			pictures = append(pictures, picture(own(&hollow), true, ""))
			inside := page.Max.X - 2*rim
			above, below := rim+hollow.titleHeight(inside), rim // what lies beyond the data is not drawn over when a reader zooms
			if hollow.outside {
				below += hollow.strip(inside)
			}
			view["Above"], view["Below"], view["Data"] = 100*above/page.Max.Y, 100*below/page.Max.Y, p.turnData(t.frames)
			view["Named"] = slices.ContainsFunc(p.scene.marks, func(m mark) bool { return m.name != "" })
		}
		view["Pictures"] = pictures
		views = append(views, view)
	}
	if column := min(t.size.X, 8.5*cm); t.legend.height(column) > 0 {
		data["Legend"] = picture(&sheet{size: vg.Point{X: column, Y: rim + t.legend.height(column)}, legend: t.legend}, false, t.legend.alt())
	}
	data["Views"], data["Width"], data["Columns"], data["Gaps"] = views, width(t.size.X), columns, 13*(columns-1)
	return page("turn", data)
}

// turnData is what the script of a turntable draws from: see turn.js.
type turnData struct {
	Flat      bool        `json:"flat"` // a figure in the plane, which does not turn
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
	middle, radius := []float64{float64(p.at.Size().X) / 2, float64(p.at.Size().Y) / 2, 0}, float64(max(p.at.Size().X, p.at.Size().Y))
	if s.inSpace {
		middle, radius = sphere(moments...)
	}
	f := s.frame(s.inner(p.at))
	width, height := float64(p.at.Size().X), float64(p.at.Size().Y)
	onCanvas := func(at vg.Point) [2]float64 {
		return [2]float64{float64(at.X-p.at.Min.X) / width, float64(p.at.Max.Y-at.Y) / height}
	}
	unit := radius / fineness
	d := turnData{
		Azimuth: s.eye().azimuth, Elevation: s.eye().elevation,
		Middle: onCanvas(f.place(middle)), Scale: unit / (f.hi[0] - f.lo[0]) * float64(f.area.Size().X) / width, Point: 1 / width, Reach: 2 * fineness, Bodies: []turnBody{},
	}
	if s.scaleBar() && !s.camera.posed() {
		at := onCanvas(s.directionsAt(p.at))
		d.Axes = &at
	}
	if d.Flat = !s.inSpace; d.Flat {
		d.Middle, d.Scale = onCanvas(vg.Point{X: p.at.Min.X + vg.Length(middle[0]), Y: p.at.Min.Y + vg.Length(middle[1])}), unit/width
	}
	traces := make([][]trace, len(moments))
	for k, moment := range moments {
		traces[k] = moment.traces(p.at, s.still)
	}
	eye, longest := s.eye(), 0.0
	placed := d.pack(traces, func(q []float64) (at [3]int) { // where the points are in every frame
		for k, v := range eye.back([]float64{q[0] - middle[0], q[1] - middle[1], q[2] - middle[2]}) {
			at[k] = int(math.Round(v / unit))
		}
		return at
	})
	for i, t := range traces[0] {
		if b := t.body; b != nil {
			d.Bodies = append(d.Bodies, bodyData(b, moments, i))
			for _, c := range b.triangles {
				longest = math.Max(longest, math.Max(distance(t.at[c[0]], t.at[c[1]]), distance(t.at[c[0]], t.at[c[2]]))/unit)
			}
		}
	}
	d.Points = steps(placed[0], 3)
	for k := range placed {
		if a != nil {
			d.Frames = append(d.Frames, steps(bends(placed, k), 3))
		}
	}
	d.Tolerance = 0.01*d.Reach + longest*longest/(4*d.Reach)
	return pack(d)
}

// pack adds the marks of frames with their looks, and returns where their points are in every frame: points that move alike are one.
func (d *turnData) pack(traces [][]trace, place func(q []float64) [3]int) (placed [][]int) {
	points, styles, last := map[string]int{}, map[turnStyle]int{}, 0
	placed, d.Looks = make([][]int, len(traces)), make([][]int, len(traces))
	change := false
	for k, frame := range traces {
		for _, t := range frame {
			number, found := styles[t.look]
			if !found {
				number = len(d.Styles)
				styles[t.look], d.Styles = number, append(d.Styles, t.look)
			}
			d.Looks[k] = append(d.Looks[k], number)
		}
		change = change || !slices.Equal(d.Looks[k], d.Looks[0])
	}
	for i, t := range traces[0] {
		d.Marks = append(d.Marks, d.Looks[0][i], len(t.at))
		for j := range t.at {
			at := make([][3]int, len(traces))
			for k := range traces {
				at[k] = place(traces[k][i].at[j])
			}
			key := fmt.Sprint(at)
			number, known := points[key]
			if !known {
				number = len(points)
				points[key] = number
				for k := range traces {
					placed[k] = append(placed[k], at[k][:]...)
				}
			}
			d.Marks, last = append(d.Marks, number-last), number
		}
	}
	for k := range d.Looks {
		d.Looks[k] = steps(d.Looks[k], 1)
	}
	if !change {
		d.Looks = nil
	}
	return placed
}

// A trace is what a mark in space, or a stamp of a figure in the plane, is on a page that moves.
type trace struct {
	look turnStyle
	at   [][]float64 // in the camera's frame; of a stamp in points of the page
	body *body
}

// markKinds are the names of marks in space for turn.js.
var markKinds = map[markKind]string{lineMark: "line", dotMark: "dot", arrowMark: "arrow", textMark: "text"}

// traces returns what a scene in a place of the page is made of: in space its marks, in the plane its stamps but for so many.
func (s *scene) traces(at vg.Rectangle, still int) (all []trace) {
	if !s.inSpace {
		for _, p := range s.stamps(s.frame(s.inner(at)))[still:] {
			look := turnStyle{Kind: "path", Fill: channels(p.fill), Stroke: channels(p.stroke.Color), Width: p.stroke.Width, Radius: float64(p.radius), Dashed: p.stroke.Dashed, Closed: p.closed, Text: p.name}
			if p.text != "" {
				look.Kind, look.Text = "word", p.text
			}
			t := trace{look: look}
			for _, q := range p.at {
				t.at = append(t.at, []float64{float64(q.X), float64(q.Y), 0})
			}
			all = append(all, t)
		}
		return all
	}
	var layer *Layer
	level := 0
	for _, m := range s.marks {
		if m.layer != layer {
			layer, level = m.layer, level+1
		}
		look := turnStyle{Kind: "face"}
		if kind := markKinds[m.kind]; kind != "" {
			look = turnStyle{Kind: kind, Fill: channels(m.fill), Stroke: channels(m.stroke.Color), Width: m.stroke.Width, Radius: m.radius,
				Dashed: m.stroke.Dashed, Closed: m.closed, Level: level, Text: m.text + m.name}
		}
		all = append(all, trace{look, m.at, m.body})
	}
	return all
}

// eye is the camera before which a scene stands; one in the plane is seen from above.
func (s *scene) eye() camera {
	if s.inSpace {
		return s.camera
	}
	return camera{azimuth: -math.Pi / 2, elevation: math.Pi / 2}
}

// bodyData returns the surface of mark i of the scenes of an animation, or of one scene.
func bodyData(b *body, moments []*scene, i int) (d turnBody) {
	for t, corners := range b.triangles {
		d.Triangles = append(d.Triangles, corners[:]...)
		for k, v := range corners {
			if b.normals[t][k] != v {
				d.Normals = append(d.Normals, 3*t+k, b.normals[t][k])
			}
		}
	}
	d.Triangles, d.Normals = steps(d.Triangles, 3), steps(d.Normals, 2)
	const finest = 255
	fine := func(share float64) int { return int(math.Round(finest * share)) }
	d.Open = steps(lists.Each(b.open, fine), 1)
	m := moments[0].marks[i]
	d.Colours = [][4]uint8{channels(m.fill)}
	if m.tones == nil {
		return d
	}
	d.Colours = nil
	for k := range finest + 1 {
		d.Colours = append(d.Colours, channels(fade(m.layer.colour(float64(k)/finest), m.layer.opacity)))
	}
	for _, moment := range moments {
		d.Tones = append(d.Tones, steps(lists.Each(moment.marks[i].tones, fine), 1))
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

// pack returns a value as deflated JSON in base64.
func pack(v any) string {
	var packed bytes.Buffer
	w := sure(flate.NewWriter(&packed, flate.BestCompression))
	sure(w, json.NewEncoder(w).Encode(v))
	sure(w, w.Close())
	return base64.StdEncoding.EncodeToString(packed.Bytes())
}

func channels(c color.NRGBA) [4]uint8 { return [4]uint8{c.R, c.G, c.B, c.A} }

// directionsAt returns where the directions of the axes stand on a figure's page.
func (s *scene) directionsAt(page vg.Rectangle) vg.Point {
	return vg.Point{X: page.Max.X - rim - 16, Y: s.inner(page).Min.Y - s.barStrip() + 8}
}
