package viz

import (
	"bytes"
	"compress/flate"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"image/color"
	"math"
	"strings"

	"gonum.org/v1/plot/vg"
)

// maxFacets bounds the figures in space that can be turned: more facets would make a page heavy and its motion slow.
const maxFacets = 80000

// A turntable is a drawing with figures in space, laid out with room for them in every position.
type turntable struct{ *sheet }

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
			own.turning()
			for _, m := range s.marks {
				if m.kind == faceMark {
					facets++
				}
			}
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
	return &turntable{s}, nil
}

// turning gives the scene the range of a sphere about its data, and puts the legend where nothing comes by.
func (s *scene) turning() {
	middle, radius := s.sphere()
	for k := range 2 {
		s.bounds.lo[k], s.bounds.hi[k] = middle[k]-radius, middle[k]+radius
	}
	s.outside = len(s.legend.keys) > 0
}

// sphere returns a sphere about the scene's data, in the camera's frame.
func (s *scene) sphere() (middle []float64, radius float64) {
	b := emptyBox()
	for _, m := range s.marks {
		for _, p := range m.at {
			b.add(p)
		}
	}
	middle = make([]float64, 3)
	for k := range middle {
		middle[k] = (b.lo[k] + b.hi[k]) / 2
	}
	for _, m := range s.marks {
		for _, p := range m.at {
			radius = math.Max(radius, distance(p, middle))
		}
	}
	return middle, math.Max(radius, 1e-12)
}

// html returns a fragment of HTML: still pictures, which give way to others that turn once one is touched. Panels stand
// side by side where there is room, and below each other on a phone.
func (t *turntable) html() (string, error) {
	columns := 0
	for _, p := range t.panels {
		if p.at.Max.Y == t.size.Y {
			columns++
		}
	}
	width := func(w vg.Length) int { return int(w.Dots(cssDots)) }
	var out strings.Builder
	fmt.Fprintf(&out, "<figure class=\"viz-turn\" aria-label=\"%s\" style=\"margin:0;width:%dpx;max-width:100%%\">\n%s", html.EscapeString(t.alt()), width(t.size.X), darkStyle)
	fmt.Fprintf(&out, "<div class=\"viz-ink\" style=\"display:grid;gap:13px;grid-template-columns:repeat(auto-fit,minmax(min(100%%,max(240px,calc((100%% - %dpx)/%d))),1fr))\">\n", 13*(columns-1), columns)
	picture := func(s *sheet, hidden string) error {
		colours := s.raster(screenDots)
		data, err := encodePNG(indexed(colours, paletteOf(colours)), screenDots)
		fmt.Fprintf(&out, "<img%s alt=\"\" width=\"%d\" style=\"max-width:100%%;height:auto;vertical-align:top\" src=\"data:image/png;base64,%s\">\n", hidden, width(s.size.X), base64.StdEncoding.EncodeToString(data))
		return err
	}
	for _, p := range t.panels {
		page := vg.Rectangle{Max: p.at.Size()}
		fmt.Fprintf(&out, "<div style=\"position:relative;width:%dpx;max-width:100%%;justify-self:center\">\n", width(page.Max.X))
		if err := picture(&sheet{size: page.Max, panels: []panel{{p.scene, page}}}, ""); err != nil {
			return "", err
		}
		if p.scene.inSpace {
			hollow := *p.scene
			hollow.hollow = true
			if err := picture(&sheet{size: page.Max, panels: []panel{{&hollow, page}}}, " hidden"); err != nil {
				return "", err
			}
			above, below := rim, rim // what lies beyond the data is not drawn over when a reader zooms
			if hollow.title != "" {
				above += titleStrip
			}
			if hollow.outside {
				below += hollow.strip(page.Max.X - 2*rim)
			}
			data, err := p.turnData()
			if err != nil {
				return "", err
			}
			fmt.Fprintf(&out, "<canvas tabindex=\"0\" role=\"img\" aria-label=\"drag, or press the arrow keys, to turn; plus and minus zoom, 0 resets\" style=\"position:absolute;inset:0;width:100%%;height:100%%;clip-path:inset(%.2f%% 0 %.2f%%);cursor:grab;touch-action:pan-y\"></canvas>\n<script type=\"text/plain\">%s</script>\n",
				100*above/page.Max.Y, 100*below/page.Max.Y, data)
		}
		out.WriteString("</div>\n")
	}
	out.WriteString("</div>\n")
	if column := min(t.size.X, 8.5*cm); t.legend.height(column) > 0 {
		out.WriteString("<div class=\"viz-ink\" style=\"text-align:center\">\n")
		if err := picture(&sheet{size: vg.Point{X: column, Y: rim + t.legend.height(column)}, legend: t.legend}, ""); err != nil {
			return "", err
		}
		out.WriteString("</div>\n")
	}
	const button = "<button type=\"button\" aria-label=\"%s\" style=\"min-width:2.2em;height:2em\">%s</button>\n"
	out.WriteString("<figcaption style=\"display:flex;gap:.4em;align-items:center;justify-content:flex-end;font:13px sans-serif\">\n<span style=\"opacity:.7\">drag to turn</span>\n")
	for _, b := range [][2]string{{"zoom in", "+"}, {"zoom out", "\u2212"}, {"reset", "reset"}} {
		fmt.Fprintf(&out, button, b[0], b[1])
	}
	fmt.Fprintf(&out, "</figcaption>\n<script>\n%s</script>\n</figure>\n", turnScript)
	return out.String(), nil
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
	Points    []int       `json:"points"`
	Styles    []turnStyle `json:"styles"`
	Marks     []int       `json:"marks"` // style, count, points
}

type turnStyle struct {
	Kind   string   `json:"kind"`
	Fill   [4]uint8 `json:"fill"`
	Stroke [4]uint8 `json:"stroke"`
	Width  float64  `json:"width"`
	Radius float64  `json:"radius"`
	Dashed bool     `json:"dashed"`
	Closed bool     `json:"closed"`
	Lit    int      `json:"lit"` // 1: shaded, 2: shaded little, because the colour carries a value
	Level  int      `json:"level"`
	Text   string   `json:"text"`
}

// turnData returns the data of a panel in space, packed.
func (p panel) turnData() (string, error) {
	const steps = 1 << 12 // from the middle to the rim, finer than a screen's pixels
	s := p.scene
	middle, radius := s.sphere()
	f := s.frame(s.inner(p.at))
	width, height := float64(p.at.Size().X), float64(p.at.Size().Y)
	onCanvas := func(at vg.Point) [2]float64 {
		return [2]float64{float64(at.X-p.at.Min.X) / width, float64(p.at.Max.Y-at.Y) / height}
	}
	unit := radius / steps
	d := turnData{
		Azimuth: s.camera.azimuth, Elevation: s.camera.elevation,
		Middle: onCanvas(f.place(middle)), Scale: unit / (f.hi[0] - f.lo[0]) * float64(f.area.Size().X) / width, Point: 1 / width, Reach: 2 * steps,
	}
	if s.scaleBar() {
		at := onCanvas(s.directionsAt(p.at))
		d.Axes = &at
	}
	points, styles := map[[3]int]int{}, map[turnStyle]int{}
	var last [3]int
	lastPoint, longest := 0, 0.0
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
			style = turnStyle{Kind: "face", Fill: style.Fill}
			if m.kind == faceMark {
				style.Lit = 1
				if m.layer.byValue {
					style.Lit = 2
				}
				for _, q := range m.at {
					longest = math.Max(longest, distance(q, m.at[0])/unit)
				}
			}
		case dotMark:
			style.Kind = "dot"
		case arrowMark:
			style.Kind = "arrow"
		case textMark:
			style.Kind = "text"
		}
		number, known := styles[style]
		if !known {
			number = len(d.Styles)
			styles[style] = number
			d.Styles = append(d.Styles, style)
		}
		d.Marks = append(d.Marks, number, len(m.at))
		for _, q := range m.at {
			world := s.camera.back([]float64{q[0] - middle[0], q[1] - middle[1], q[2] - middle[2]})
			var at [3]int
			for k := range at {
				at[k] = int(math.Round(world[k] / unit))
			}
			i, known := points[at]
			if !known {
				i = len(points)
				points[at] = i
				d.Points = append(d.Points, at[0]-last[0], at[1]-last[1], at[2]-last[2])
				last = at
			}
			d.Marks = append(d.Marks, i-lastPoint)
			lastPoint = i
		}
	}
	d.Tolerance = 0.01*d.Reach + longest*longest/(4*d.Reach)
	return pack(d)
}

// pack returns a value as deflated JSON in base64.
func pack(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := w.Write(text); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(packed.Bytes()), nil
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
