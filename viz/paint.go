package viz

import (
	"cmp"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"anatomy/internal/lists"
)

// A stamp is a mark on the page: a polygon or disc that is filled, a line that is drawn, or a text.
type stamp struct {
	at     []vg.Point
	closed bool
	fill   color.NRGBA // of no opacity: not filled
	stroke pen         // of no width: not drawn
	radius vg.Length   // of a disc about at[0]
	text   string
	solid  *solid // an image of surfaces, about which at is the rectangle
	ground int    // the stamp so many before is a pale area beneath a name
	depth  float64
	name   string // that shows on it
}

const (
	dense     = 3000 // more stamps than these become an image inside a vector file
	printDots = 300  // dots an inch, on paper
	imageDots = 200  // dots an inch of an image inside an SVG
)

// stamps places marks on the page, the farthest first in a figure in space. place gives page coordinates.
func stamps(marks []mark, place func(p []float64) vg.Point, inSpace bool, page vg.Rectangle) []stamp {
	c := &carver{place: place, inSpace: inSpace, page: page, texts: map[*Layer][]int{}}
	var solid *solid
	if inSpace {
		b := emptyBox()
		each(marks, b.add)
		c.reach = 2 * b.radius(3)
		if solid = newSolid(marks, place, c.reach); solid != nil {
			low, high := solid.low, solid.high
			c.add(stamp{at: []vg.Point{low, {X: high.X, Y: low.Y}, high, {X: low.X, Y: high.Y}}, closed: true, solid: solid, depth: solid.facets[0].depth[0]})
		}
	}
	var layer *Layer
	level := 0.0
	for _, m := range marks {
		if m.layer != layer {
			layer, level = m.layer, level+1
		}
		first := len(c.out)
		c.carve(m)
		if solid != nil {
			for i := first; i < len(c.out); i++ {
				// What no facet hides comes after all facets; of what lies together the later layer comes last.
				// The rest comes before the facets, so that they dim it if they let it through.
				if s := &c.out[i]; solid.hides(middle(s.at), s.depth) {
					s.depth -= 10 * c.reach
				} else {
					s.depth += (10 + 0.01*level) * c.reach
				}
			}
		}
	}
	c.placeTexts()
	if inSpace {
		order := lists.Range(len(c.out)) // a stamp is large to be moved often
		slices.SortFunc(order, func(i, j int) int { return cmp.Or(cmp.Compare(c.out[i].depth, c.out[j].depth), i-j) })
		return lists.Pick(c.out, order)
	}
	return c.out
}

// dotShapes are those of the points of groups, in radii: disc, square, triangles, diamond and cross, which cover about the same area.
var dotShapes = [][]vg.Point{nil,
	{{X: -0.9, Y: -0.9}, {X: 0.9, Y: -0.9}, {X: 0.9, Y: 0.9}, {X: -0.9, Y: 0.9}},
	{{X: -1.2, Y: -0.8}, {X: 1.2, Y: -0.8}, {X: 0, Y: 1.3}},
	{{X: 0, Y: -1.3}, {X: 1.3, Y: 0}, {X: 0, Y: 1.3}, {X: -1.3, Y: 0}},
	{{X: -1.2, Y: 0.8}, {X: 0, Y: -1.3}, {X: 1.2, Y: 0.8}},
	{{X: -0.4, Y: -1.3}, {X: 0.4, Y: -1.3}, {X: 0.4, Y: -0.4}, {X: 1.3, Y: -0.4}, {X: 1.3, Y: 0.4}, {X: 0.4, Y: 0.4}, {X: 0.4, Y: 1.3}, {X: -0.4, Y: 1.3}, {X: -0.4, Y: 0.4}, {X: -1.3, Y: 0.4}, {X: -1.3, Y: -0.4}, {X: -0.4, Y: -0.4}},
}

// A carver makes stamps of marks.
type carver struct {
	out     []stamp
	place   func(p []float64) vg.Point
	inSpace bool
	page    vg.Rectangle
	reach   float64          // extent of the scene in space
	texts   map[*Layer][]int // the stamps of texts and names
}

func (c *carver) add(s ...stamp) { c.out = append(c.out, s...) }

// depth is the mean depth of points.
func (c *carver) depth(points ...[]float64) float64 {
	if !c.inSpace {
		return 0
	}
	sum := 0.0
	for _, p := range points {
		sum += p[2]
	}
	return sum / float64(len(points))
}

// line adds a line in space, cut into short pieces, each with its own depth.
func (c *carver) line(points [][]float64, s pen) {
	for i := 1; i < len(points); i++ {
		a, b := points[i-1], points[i]
		n := 1
		if c.reach > 0 {
			n += int(distance(a, b) / (0.01 * c.reach))
		}
		for k := range n {
			from, to := blend(a, b, float64(k)/float64(n)), blend(a, b, float64(k+1)/float64(n))
			head, tail := c.place(from), c.place(to)
			if way := tail.Sub(head); s.Color.A == 0xff && way != (vg.Point{}) { // pieces lap over each other, without a seam
				tail = tail.Add(way.Scale(vg.Length(0.3 / math.Hypot(float64(way.X), float64(way.Y)))))
			}
			c.add(stamp{at: []vg.Point{head, tail}, stroke: s, depth: c.depth(from, to)})
		}
	}
}

// carve adds the stamps of a mark.
func (c *carver) carve(m mark) {
	at := lists.Each(m.at, c.place)
	switch m.kind {
	case lineMark:
		switch {
		case !c.inSpace:
			c.add(stamp{at: at, closed: m.closed, stroke: m.stroke})
		case m.closed:
			c.line(append(append([][]float64(nil), m.at...), m.at[0]), m.stroke)
		default:
			c.line(m.at, m.stroke)
		}
	case areaMark:
		c.add(stamp{at: at, closed: true, fill: m.fill})
	case dotMark:
		s := stamp{at: at, fill: m.fill, stroke: m.stroke, radius: vg.Points(m.radius), depth: c.depth(m.at...), name: m.name}
		if shape := dotShapes[m.shape%len(dotShapes)]; shape != nil {
			s.closed, s.radius = true, 0
			s.at = lists.Each(shape, func(p vg.Point) vg.Point { return at[0].Add(p.Scale(vg.Points(m.radius))) })
		}
		c.add(s)
	case textMark:
		c.add(stamp{at: at, text: m.text, fill: m.fill, depth: c.depth(m.at...)})
		c.texts[m.layer] = append(c.texts[m.layer], len(c.out)-1)
	case nameMark:
		c.add(stamp{at: at, closed: true, fill: fade(paper, 0.7)}, stamp{at: at, text: m.text, fill: m.fill, ground: 1})
		c.texts[m.layer] = append(c.texts[m.layer], len(c.out)-1)
	case glyphMark:
		if m.text != "" {
			at[0] = middle([]vg.Point{m.captionRect(at[0]).Min, m.captionRect(at[0]).Max})
			c.add(stamp{at: at, text: m.text, fill: m.fill})
			return
		}
		corners := lists.Each(m.glyph, func(p []float64) vg.Point { return at[0].Add(vg.Point{X: vg.Points(p[0]), Y: vg.Points(p[1])}) })
		c.add(stamp{at: corners, closed: m.closed, fill: m.fill, stroke: m.stroke})
	case levelMark:
		p := m.at[0]
		if math.IsNaN(p[0]) {
			y := c.place([]float64{1, p[1]}).Y
			at = []vg.Point{{X: c.page.Min.X, Y: y}, {X: c.page.Max.X, Y: y}}
		} else {
			x := c.place([]float64{p[0], 1}).X
			at = []vg.Point{{X: x, Y: c.page.Min.Y}, {X: x, Y: c.page.Max.Y}}
		}
		c.add(stamp{at: at, stroke: m.stroke})
	case arrowMark:
		c.arrow(m, at)
	}
}

func (c *carver) arrow(m mark, at []vg.Point) {
	head := arrow(at[0], at[1], m.stroke.Width)
	shaft := m.stroke
	shaft.Width = head.width
	if c.inSpace {
		c.line([][]float64{m.at[0], blend(m.at[0], m.at[1], head.shaft)}, shaft)
	} else {
		tail := at[0].Add(at[1].Sub(at[0]).Scale(vg.Length(head.shaft)))
		c.add(stamp{at: []vg.Point{at[0], tail}, stroke: shaft})
	}
	c.add(stamp{at: head.corners, closed: true, fill: shaft.Color, depth: c.depth(m.at[1])})
}

// middle returns the mean of points.
func middle(at []vg.Point) (mean vg.Point) {
	for _, p := range at {
		mean = mean.Add(p.Scale(1 / vg.Length(len(at))))
	}
	return mean
}

// An arrowhead is the end of an arrow on the page.
type arrowhead struct {
	corners []vg.Point
	shaft   float64 // share of the arrow's length at which the shaft ends
	width   float64 // of the shaft, in points
}

// arrow returns the head of an arrow, of no size and width if the arrow has no length. Head and shaft are as large as the
// width asks, and smaller in a short arrow, in proportion to its length.
func arrow(from, to vg.Point, width float64) arrowhead {
	d := to.Sub(from)
	length := math.Hypot(float64(d.X), float64(d.Y))
	if length < 1e-6 {
		return arrowhead{corners: []vg.Point{to, to, to}}
	}
	size := math.Min(3.2+1.8*width, 0.5*length)
	along := d.Scale(vg.Length(size / length))
	side := vg.Point{X: -along.Y, Y: along.X}.Scale(0.36)
	foot := to.Sub(along)
	return arrowhead{
		corners: []vg.Point{to, foot.Add(side), foot.Sub(side)},
		shaft:   1 - 0.9*size/length,
		width:   math.Min(width, 0.2*length),
	}
}

// paint draws the stamps on c, whose rectangle holds them.
func paint(c draw.Canvas, all []stamp) {
	if _, raster := c.Canvas.(*vgimg.Canvas); !raster && len(all) > dense {
		const rim = 6                                                  // points: dots on the edge reach over it
		whole := func(p vg.Point, to func(float64) float64) vg.Point { // so that a file does not tell how a processor rounds
			return vg.Point{X: vg.Length(to(float64(p.X))), Y: vg.Length(to(float64(p.Y)))}
		}
		area := vg.Rectangle{Min: whole(c.Min.Sub(vg.Point{X: rim, Y: rim}), math.Floor), Max: whole(c.Max.Add(vg.Point{X: rim, Y: rim}), math.Ceil)}
		dots := printDots
		if _, ok := c.Canvas.(*vgsvg.Canvas); ok {
			dots = imageDots
		}
		sheet := vgimg.NewWith(vgimg.UseWH(area.Size().X, area.Size().Y), vgimg.UseDPI(dots), vgimg.UseBackgroundColor(color.Transparent))
		sheet.Translate(vg.Point{}.Sub(area.Min))
		ink(sheet, all)
		c.DrawImage(area, sheet.Image())
		return
	}
	ink(c.Canvas, all)
}

func ink(c vg.Canvas, all []stamp) {
	for _, s := range all {
		switch {
		case s.text != "":
			sty := style(textSize)
			sty.Color, sty.XAlign, sty.YAlign = s.fill, text.XCenter, text.YCenter
			sty.Handler.Draw(c, s.text, sty, s.at[0]) // its middle
			continue
		case s.solid != nil:
			s.solid.draw(c)
			continue
		case len(s.at) == 1 && s.radius == 0:
			continue // a line of one point
		}
		var path vg.Path
		if s.radius > 0 {
			path.Move(s.at[0].Add(vg.Point{X: s.radius}))
			path.Arc(s.at[0], s.radius, 0, 2*math.Pi)
			path.Close()
		} else {
			path.Move(s.at[0])
			for _, p := range s.at[1:] {
				path.Line(p)
			}
			if s.closed {
				path.Close()
			}
		}
		if s.fill.A > 0 {
			c.SetColor(s.fill)
			c.Fill(path)
		}
		if s.stroke.Width > 0 && s.stroke.Color.A > 0 {
			var dashes []vg.Length
			if s.stroke.Dashed {
				dashes = []vg.Length{3, 2}
			}
			c.SetLineDash(dashes, 0)
			c.SetLineWidth(vg.Points(s.stroke.Width))
			c.SetColor(s.stroke.Color)
			c.Stroke(path)
			c.SetLineDash(nil, 0)
		}
	}
}

func distance(a, b []float64) float64 { return floats.Distance(a, b, 2) }

func blend(a, b []float64, t float64) []float64 {
	p := floats.ScaleTo(make([]float64, len(a)), 1-t, a)
	floats.AddScaled(p, t, b)
	return p
}
