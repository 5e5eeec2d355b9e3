package viz

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom/shape"
	"anatomy/internal/lists"
)

// colourNames are those of the palette, for the alternative text.
var colourNames = map[color.NRGBA]string{Black: "black", Blue: "blue", Vermilion: "vermilion", Green: "green", Purple: "purple", Orange: "orange", Sky: "sky blue", Grey: "grey", LightGrey: "light grey"}

// named is what a layer is, with what the legend says of it.
func (l *Layer) named() string {
	if l.label == "" {
		return l.called()
	}
	return fmt.Sprintf("%s %q", l.called(), l.label)
}

// called says what the layer draws: "outline", "23 outlines", "density on 642 vertices".
func (l *Layer) called() string {
	name := strings.ToLower(l.name)
	noun := cmp.Or(l.noun, strings.TrimSuffix(name, "s"))
	switch {
	case strings.Contains(noun, "%d"):
		return fmt.Sprintf(noun, l.items)
	case l.items > 1:
		return fmt.Sprintf("%d %ss", l.items, noun)
	case l.items == 0 && l.noun == "":
		return name
	}
	return noun
}

// seen says what a layer shows, for the alternative text: its colour, where it lies or leads, and how it differs from the shape that another layer
// shows.
func (s *scene) seen(l *Layer) []string {
	var said []string
	if colour := colourNames[ownColour(l)]; colour != "" && !l.byValue && !l.colourless {
		said = append(said, colour)
	}
	detail := s.differs(l)
	if detail == "" && l.detail != nil {
		detail = l.detail(s, l)
	}
	if l.byValue && (detail == "" || l.solid()) {
		detail = s.extremes(l)
	}
	if detail != "" {
		said = append(said, detail)
	}
	return said
}

// ownColour is the colour that all of a layer has, without its opacity.
func ownColour(l *Layer) color.NRGBA {
	if l.tint == nil {
		return color.NRGBA{}
	}
	return fade(color.NRGBA{l.tint.R, l.tint.G, l.tint.B, 0xff}, 1)
}

// points returns those of the marks of a kind, by mark.
func (c *canvas) points(kind markKind) []shape.Shape {
	all := lists.Filter(c.marks, func(m mark) bool { return m.kind == kind })
	return lists.Each(all, func(m mark) shape.Shape { return m.at })
}

// onPicture returns where a point of the data is between the left and the right end of the picture, and between the lower and the upper.
func (s *scene) onPicture(p []float64) (share [2]float64) {
	if s.inSpace {
		p = s.camera.view(p)
	}
	for k, log := range [2]bool{s.logX, s.logY} {
		v := p[k]
		if log {
			v = math.Log10(v)
		}
		share[k] = 0.5
		if size := s.bounds.size(k); size > 0 {
			share[k] = (v - s.bounds.lo[k]) / size
		}
	}
	return share
}

// where names the part of the picture, a ninth of it, in which a point of the data lies.
func (s *scene) where(p []float64) string {
	share := s.onPicture(p)
	third := func(k int, names ...string) string { return names[max(0, min(2, int(3*share[k])))] }
	across, up := third(0, "left", "", "right"), third(1, "lower", "", "upper")
	if across == "" {
		return third(1, "the bottom", "the middle", "the top")
	}
	return strings.TrimSpace("the " + strings.TrimSpace(up+" "+across))
}

// placed is where with its preposition.
func (s *scene) placed(p []float64) string {
	return strings.Replace("at "+s.where(p), "at the middle", "in the middle", 1)
}

// measured is a length in the unit of the shapes.
func (s *scene) measured(length float64) string {
	return strings.TrimSpace(digits(length, 2) + " " + s.unit)
}

// course says how a single curve runs.
func (s *scene) course(l *Layer) string {
	points := l.drawn.single()
	if points == nil {
		return ""
	}
	first, last := points[0], points[len(points)-1]
	if len(points) == 1 {
		return "at " + short(first[0]) + ", " + short(first[1])
	}
	up := func(a, b []float64) int { return cmp.Compare(a[1], b[1]) }
	low, high, way := slices.MinFunc(points, up), slices.MaxFunc(points, up), 0.0
	for i, p := range points[1:] {
		way += math.Abs(p[1] - points[i][1])
	}
	ends := apart(first[1], last[1])
	switch rise := last[1] - first[1]; {
	case high[1]-low[1] <= 0.02*s.bounds.size(1) && !s.logY:
		return "level at " + ends[0]
	case math.Abs(rise) > 0.95*way && rise > 0:
		return "rises from " + ends[0] + " to " + ends[1]
	case math.Abs(rise) > 0.95*way:
		return "falls from " + ends[0] + " to " + ends[1]
	}
	text := "from " + ends[0] + " to " + ends[1]
	if high[1] > math.Max(first[1], last[1]) {
		text += ", highest " + short(high[1]) + " at " + short(high[0])
	}
	if low[1] < math.Min(first[1], last[1]) {
		text += ", lowest " + short(low[1]) + " at " + short(low[0])
	}
	return text
}

// ends says where a single line begins and ends.
func (s *scene) ends(l *Layer) string {
	line := l.drawn.single()
	if len(line) < 2 || l.byValue {
		return ""
	}
	if from, to := s.where(line[0]), s.where(line[len(line)-1]); from != to {
		return "from " + from + " to " + to
	}
	return ""
}

// cloud says where points lie.
func (s *scene) cloud(l *Layer) string {
	points := l.drawn.centres()
	switch len(points) {
	case 0:
		return ""
	case 1:
		return s.placed(points[0])
	}
	var x, y []float64
	for _, p := range points {
		share := s.onPicture(p)
		x, y = append(x, share[0]), append(y, share[1])
	}
	if r := stat.Correlation(x, y, nil); s.chart && len(points) > 4 && math.Abs(r) > 0.8 {
		return map[bool]string{true: "rising", false: "falling"}[r > 0] + " to the right"
	}
	if stat.StdDev(x, nil) > 0.22 || stat.StdDev(y, nil) > 0.22 {
		return ""
	}
	return s.placed(shape.Shape(points).Centroid())
}

// centres are the points of all dots.
func (c *canvas) centres() [][]float64 { return slices.Concat(c.points(dotMark)...) }

// single are the points of a single line, nil if there are none or several.
func (c *canvas) single() [][]float64 {
	if lines := c.points(lineMark); len(lines) == 1 {
		return lines[0]
	}
	return nil
}

// differs compares a shape with the first one in the picture that has as many points: its points need not be those of the other.
func (s *scene) differs(l *Layer) string {
	if l.shape == nil || s.chart {
		return ""
	}
	own := l.shape(l.drawn)
	for _, other := range s.layers {
		if other == l || len(own) < 3 || len(own) > 1000 {
			return ""
		}
		if other.shape == nil || other.label == "" {
			continue
		}
		if first := other.shape(other.drawn); len(first) == len(own) {
			far, at := farthest(own, func(i int) float64 { return offShape(first, other.closed, own[i]) })
			if far <= 1e-6*s.extent {
				return fmt.Sprintf("on %q", other.label)
			}
			return fmt.Sprintf("at most %s from %q, %s", s.measured(far), other.label, s.placed(at))
		}
	}
	return ""
}

// farthest returns the largest distance of points, and the last point that has it.
func farthest(points [][]float64, off func(i int) float64) (far float64, at []float64) {
	for i, p := range points {
		if d := off(i); d >= far {
			far, at = d, p
		}
	}
	return far, at
}

// offShape is the distance of a point from points, or from the closed outline through them.
func offShape(shape [][]float64, closed bool, p []float64) float64 {
	near := math.Inf(1)
	for i, a := range shape {
		near = min(near, distance(a, p))
		if b := shape[(i+1)%len(shape)]; closed {
			along, square := 0.0, 0.0
			for k := range a {
				along, square = along+(p[k]-a[k])*(b[k]-a[k]), square+(b[k]-a[k])*(b[k]-a[k])
			}
			if square > 0 {
				near = min(near, distance(p, blend(a, b, max(0, min(1, along/square)))))
			}
		}
	}
	return near
}

// spread says how far several outlines are from the first of them.
func (s *scene) spread(l *Layer) string {
	shapes := l.drawn.points(lineMark)
	far, at := 0.0, []float64(nil)
	count := 0
	for _, q := range shapes {
		if count += len(q); count > 20000 {
			return ""
		}
		if d, p := farthest(q, func(i int) float64 { return offShape(shapes[0], true, q[i]) }); d > far {
			far, at = d, p
		}
	}
	if far <= 1e-6*s.extent {
		return ""
	}
	return "at most " + s.measured(far) + " from the first of them, " + s.placed(at)
}

// arrows says where the longest of several arrows is, and where it points.
func (s *scene) arrows(l *Layer) string { return s.longest(l.drawn.points(arrowMark)) }

// paths says the same of paths, from their beginnings to their ends, which are dots.
func (s *scene) paths(l *Layer) string {
	return s.longest(slices.Collect(slices.Chunk(shape.Shape(l.drawn.centres()), 2)))
}

var eighths = []string{"to the right", "up to the right", "up", "up to the left", "to the left", "down to the left", "down", "down to the right"}

// longest says where the longest of several ways from one point to another is, and where it points.
func (s *scene) longest(ways []shape.Shape) string {
	way := func(v, w shape.Shape) int { return cmp.Compare(distance(v[0], v[1]), distance(w[0], w[1])) }
	if len(ways) == 0 || len(ways[len(ways)-1]) != 2 {
		return ""
	}
	far, near, turned := slices.MaxFunc(ways, way), slices.MinFunc(ways, way), 0.0
	for _, w := range ways {
		turned = max(turned, math.Abs(math.Remainder(s.direction(w)-s.direction(ways[0]), 2*math.Pi)))
	}
	reach := distance(far[0], far[1])
	pointing := eighths[int(math.Round(s.direction(far)/(math.Pi/4)+8))%8]
	switch {
	case reach == 0:
		return ""
	case len(ways) == 1:
		return s.placed(far[0]) + ", " + pointing
	case turned < math.Pi/8:
		return "all " + pointing
	case distance(near[0], near[1]) > 0.95*reach:
		return ""
	}
	return "the longest " + s.placed(far[0]) + ", " + pointing
}

// direction is the angle of an arrow in the picture.
func (s *scene) direction(way [][]float64) float64 {
	from, to := way[0], way[1]
	if s.inSpace {
		from, to = s.camera.view(from), s.camera.view(to)
	}
	return math.Atan2(to[1]-from[1], to[0]-from[0])
}

// peak says where the highest bar of a histogram stands.
func (s *scene) peak(l *Layer) string {
	var highest [][]float64
	for _, bar := range l.drawn.points(areaMark) {
		if len(bar) == 4 && (highest == nil || bar[1][1] > highest[1][1]) {
			highest = bar
		}
	}
	if highest == nil {
		return ""
	}
	ends := apart(highest[0][0], highest[3][0])
	return "highest from " + ends[0] + " to " + ends[1]
}

// listed returns the names that marks show, of a tree from the top.
func (s *scene) listed(l *Layer) string {
	named := slices.DeleteFunc(slices.Clone(l.drawn.marks), func(m mark) bool { return m.text == "" })
	before := ""
	if l.drawn.rows > 0 && len(named) > 0 {
		before = "from the top "
		slices.SortStableFunc(named, func(m, n mark) int { return cmp.Compare(n.at[0][1], m.at[0][1]) })
	}
	names := lists.Each(named, func(m mark) string { return m.text })
	if most := 12; len(names) > most {
		names = append(names[:most:most], "…")
	}
	return before + strings.Join(names, ", ")
}

// extremes says where the values are highest and lowest that colours stand for.
func (s *scene) extremes(l *Layer) string {
	type part struct {
		tone float64
		at   [][]float64
	}
	var all []part
	kind := l.drawn.kind()
	for _, m := range l.drawn.marks {
		if m.kind == kind && m.tones == nil {
			all = append(all, part{m.tone, m.at})
		}
		for i, tone := range m.tones {
			all = append(all, part{tone, m.at[i : i+1]})
		}
	}
	if len(all) == 0 {
		return ""
	}
	rise := func(a, b part) int { return cmp.Compare(a.tone, b.tone) }
	high, low := slices.MaxFunc(all, rise), slices.MinFunc(all, rise)
	if high.tone == low.tone {
		return ""
	}
	return "its highest value " + s.placedMiddle(high.at) + ", its lowest " + s.placedMiddle(low.at)
}

// placedMiddle is where the middle of points lies, if it looks away from the reader on the far side.
func (s *scene) placedMiddle(points [][]float64) string {
	middle := shape.Shape(points).Centroid()
	if s.inSpace {
		centre := blend(s.reach.lo[:], s.reach.hi[:], 0.5)
		if s.camera.view(middle)[2] < s.camera.view(centre)[2]-0.05*s.extent {
			return "on the far side"
		}
	}
	return s.placed(middle)
}

// moved says which layers move from one scene to another that has the same marks, and how far.
func (s *scene) moved(last *scene) string {
	var said []string
	for i, l := range s.layers {
		if i == len(last.layers) || len(last.layers[i].drawn.marks) != len(l.drawn.marks) {
			return ""
		}
		far, at := 0.0, []float64(nil)
		for k, m := range last.layers[i].drawn.marks {
			if first := l.drawn.marks[k].at; len(first) == len(m.at) && m.kind != levelMark {
				if d, p := farthest(m.at, func(i int) float64 { return distance(first[i], m.at[i]) }); d > far {
					far, at = d, p
				}
			}
		}
		if far > 1e-6*s.extent {
			length := " by up to " + s.measured(far)
			if s.chart {
				length = ""
			}
			said = append(said, l.named()+length+", most "+last.placed(at))
		}
	}
	if len(said) == 0 {
		return ""
	}
	return " From the first to the last picture these move: " + strings.Join(said, "; ") + "."
}
