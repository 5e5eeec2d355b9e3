package viz

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"maps"
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
// have other marks, another title, unit or legend from one to the next. What is drawn in the plane before all that moves stands still.
func (a *animation) turned(first int) *turntable {
	scenes, page := a.scenes(), a.frames[first].panels[0].at
	one, own, points := scenes[0], *scenes[first], 0
	marks := one.traces(page, 0)
	if own.still = len(marks); one.inSpace {
		own.still = 0
	}
	for _, s := range scenes {
		if s.inSpace != one.inSpace || s.camera != one.camera || s.title != one.title || s.unit != one.unit || !s.legend.alike(one.legend) {
			return nil
		}
		all := s.traces(page, 0)
		if !slices.EqualFunc(all, marks, trace.like) {
			return nil
		}
		for i, t := range all {
			points += len(t.at)
			if i < own.still && !reflect.DeepEqual(t, marks[i]) {
				own.still = i
			}
		}
	}
	if one.inSpace {
		own.turning(sphere(scenes...))
		page.Max.Y = own.naturalHeight(page.Max.X)
	}
	if points == 0 || points > maxMoving || one.facets() > maxFacets {
		return nil
	}
	return &turntable{sheet: &sheet{size: page.Max, panels: []panel{{&own, page}}}, frames: a, first: first}
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
	if column := min(t.size.X, 8.5*cm); t.legend.foot(column) > 0 {
		data["Legend"] = picture(&sheet{size: vg.Point{X: column, Y: t.legend.foot(column)}, legend: t.legend}, false, t.legend.alt())
	}
	data["Views"], data["Width"], data["Columns"], data["Gaps"] = views, width(t.size.X), columns, 13*(columns-1)
	return page("turn", data)
}

// A turnStyle is the look of marks for turn.js.
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

// turnData returns what turn.js draws a panel from, packed, with the frames of an animation if there is one.
func (p panel) turnData(a *animation) string {
	const fineness = 1 << 12 // from the middle to the rim, finer than a screen's pixels
	s := p.scene
	moments := []*scene{s}
	if a != nil {
		moments = a.scenes()
	}
	size := p.at.Size()
	width, height := float64(size.X), float64(size.Y)
	onCanvas := func(at vg.Point) [2]float64 { // in its widths and heights
		return [2]float64{float64(at.X-p.at.Min.X) / width, float64(p.at.Max.Y-at.Y) / height}
	}
	f, eye := s.frame(s.inner(p.at)), s.eye()
	middle, radius := []float64{width / 2, height / 2, 0}, max(width, height)
	unit, centre := radius/fineness, [2]float64{0.5, 0.5} // of points; the middle of the data
	scale := unit / width
	if s.inSpace {
		middle, radius = sphere(moments...)
		unit, centre = radius/fineness, onCanvas(f.place(middle))
		scale = unit / (f.hi[0] - f.lo[0]) * float64(f.area.Size().X) / width
	}
	var axes any
	if s.scaleBar() && !s.camera.posed() {
		axes = onCanvas(s.directionsAt(p.at))
	}
	traces := lists.Each(moments, func(m *scene) []trace { return m.traces(p.at, s.still) })
	bodies, longest := []fields{}, 0.0
	for i, t := range traces[0] {
		if b := t.body; b != nil {
			bodies = append(bodies, bodyData(b, moments, i))
			longest = math.Max(longest, b.longest(t.at)/unit)
		}
	}
	d := packed(traces, func(q []float64) (at [3]int) {
		for k, v := range eye.back([]float64{q[0] - middle[0], q[1] - middle[1], q[2] - middle[2]}) {
			at[k] = int(math.Round(v / unit))
		}
		return at
	})
	if a == nil {
		delete(d, "frames")
	}
	const reach = 2 * fineness // extent of the data, in units of points
	maps.Copy(d, fields{
		"flat": !s.inSpace, "azimuth": eye.azimuth, "elevation": eye.elevation, "middle": centre, "reach": reach, "bodies": bodies,
		"scale":     scale,                                  // of a unit of points, in widths of the canvas
		"point":     1 / width,                              // 1/72 inch, in widths of the canvas
		"tolerance": 0.01*reach + longest*longest/(4*reach), // what lies this little behind a facet lies on it
		"axes":      axes,                                   // where their directions stand
	})
	return pack(d)
}

// packed returns the marks of frames with their looks, and where their points are in every frame: points that move alike are one.
func packed(traces [][]trace, place func(q []float64) [3]int) fields {
	numbers, known, last := map[string]int{}, map[turnStyle]int{}, 0
	placed, looks := make([][]int, len(traces)), make([][]int, len(traces))
	var styles []turnStyle
	for k, frame := range traces {
		for _, t := range frame {
			if _, found := known[t.look]; !found {
				known[t.look], styles = len(styles), append(styles, t.look)
			}
			looks[k] = append(looks[k], known[t.look])
		}
	}
	var marks []int // style, count, points
	for i, t := range traces[0] {
		marks = append(marks, looks[0][i], len(t.at))
		for j := range t.at {
			at := lists.Each(traces, func(frame []trace) [3]int { return place(frame[i].at[j]) })
			key := fmt.Sprint(at)
			if _, found := numbers[key]; !found {
				numbers[key] = len(numbers)
				for k := range traces {
					placed[k] = append(placed[k], at[k][:]...)
				}
			}
			marks, last = append(marks, numbers[key]-last), numbers[key]
		}
	}
	d := fields{
		"styles": styles, "marks": marks,
		"points": steps(placed[0], 3), // three numbers a point, each less that of the point before
		// where the points are in every frame, less where they are in the one before, in the first less points
		"frames": lists.Make(len(placed), func(k int) []int { return steps(bends(placed, k), 3) }),
	}
	if slices.ContainsFunc(looks, func(l []int) bool { return !slices.Equal(l, looks[0]) }) { // else they are those of marks
		d["looks"] = lists.Each(looks, func(l []int) []int { return steps(l, 1) })
	}
	return d
}

// A trace is what a mark in space, or a stamp of a figure in the plane, is on a page that moves.
type trace struct {
	look turnStyle
	at   [][]float64 // in the camera's frame; of a stamp in points of the page
	body *body
}

// like reports whether another place and other colours make one trace of the other.
func (t trace) like(u trace) bool {
	return t.look.Kind == u.look.Kind && t.look.Closed == u.look.Closed && t.look.Text == u.look.Text && len(t.at) == len(u.at) &&
		(t.body == nil || slices.Equal(t.body.triangles, u.body.triangles))
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

// bodyData returns the surface of mark i of the scenes of an animation, or of one scene, for turn.js.
func bodyData(b *body, moments []*scene, i int) fields {
	const finest = 255
	fine := func(shares []float64) []int {
		return steps(lists.Each(shares, func(share float64) int { return int(math.Round(finest * share)) }), 1)
	}
	var triangles, normals []int
	for t, corners := range b.triangles {
		triangles = append(triangles, corners[:]...)
		for k, v := range corners {
			if b.normals[t][k] != v {
				normals = append(normals, 3*t+k, b.normals[t][k])
			}
		}
	}
	m := moments[0].marks[i]
	d := fields{
		"triangles": steps(triangles, 3), // their corners, numbers of the mark's points, each less that of the same corner before
		"normals":   steps(normals, 2),   // corners, each less the one before, whose normal is not that of their point, and which it is
		"open":      fine(b.open),        // of the sky: see light
		"colours":   [][4]uint8{channels(m.fill)},
	}
	if m.tones != nil {
		d["colours"] = lists.Make(finest+1, func(k int) [4]uint8 { return channels(fade(m.layer.colour(float64(k)/finest), m.layer.opacity)) })
		d["tones"] = lists.Each(moments, func(s *scene) []int { return fine(s.marks[i].tones) }) // the colour of each point in every frame
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
