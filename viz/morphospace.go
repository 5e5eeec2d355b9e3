package viz

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Hull fills the convex hull of a Scatter, in its colour.
func (l *Layer) Hull() *Layer {
	l.hull = l.means("Hull")
	return l
}

// Ellipse draws the ellipse that has 95 % of a normal distribution with the mean and the covariance of a Scatter, which needs at least three points. Points on a line have none.
func (l *Layer) Ellipse() *Layer {
	l.ellipse = l.means("Ellipse")
	return l
}

// Hover names the points of a Scatter, of Points or of a Wireframe, one name each: in a page a name shows when the mouse is on its point.
func (l *Layer) Hover(names ...string) *Layer {
	if l.means("Hover") {
		l.hover = names
	}
	return l
}

// surround draws what Hull and Ellipse ask for about points.
func (c *canvas) surround(points [][]float64) {
	ring := func(corners [][]float64) {
		c.area(corners, fade(c.ink(0), 0.12))
		c.line(corners, true, pen{Color: fade(c.ink(0), 0.6), Width: 0.6})
	}
	if c.layer.hull && len(points) > 2 {
		ring(hull(points))
	}
	if !c.layer.ellipse {
		return
	}
	try.FailIf(len(points) < 3, "Ellipse: %d points have no covariance", len(points))
	x := lists.Each(points, func(p []float64) float64 { return p[0] })
	y := lists.Each(points, func(p []float64) float64 { return p[1] })
	xy := stat.Covariance(x, y, nil)
	if variance := stat.Variance(x, nil) * stat.Variance(y, nil); xy*xy > variance*(1-1e-12) { // on a line
		return
	}
	corners, err := ellipse([]float64{stat.Mean(x, nil), stat.Mean(y, nil)}, [][]float64{{stat.Variance(x, nil), xy}, {xy, stat.Variance(y, nil)}}, math.Sqrt(-2*math.Log(0.05)))
	try.Do(try.Name(err, "Ellipse"))
	ring(corners)
}

// hull returns the corners of the convex hull of points, counter-clockwise (A. Andrew, Information Processing Letters 9, 1979).
func hull(points [][]float64) [][]float64 {
	sorted := slices.SortedFunc(slices.Values(points), func(a, b []float64) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	half := func() (chain [][]float64) {
		for _, p := range sorted {
			for len(chain) > 1 {
				a, b := chain[len(chain)-2], chain[len(chain)-1]
				if (b[0]-a[0])*(p[1]-a[1])-(b[1]-a[1])*(p[0]-a[0]) > 0 {
					break
				}
				chain = chain[:len(chain)-1]
			}
			chain = append(chain, p)
		}
		return chain[:len(chain)-1]
	}
	lower := half()
	slices.Reverse(sorted)
	return append(lower, half()...)
}

// hovers are the names of points over a drawing as SVG: circles that cannot be seen, with titles.
func (s *sheet) hovers() string {
	var out strings.Builder
	for _, p := range s.panels {
		if !slices.ContainsFunc(p.scene.marks, func(m mark) bool { return m.name != "" }) {
			continue
		}
		f := p.frame() // where draw drew it
		for _, stamp := range p.scene.stamps(f) {
			if stamp.name != "" {
				at := middle(stamp.at)
				fmt.Fprintf(&out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%.2f\" fill=\"none\" pointer-events=\"all\"><title>%s</title></circle>\n",
					float64(at.X), float64(s.size.Y-at.Y), math.Max(3, float64(stamp.radius)), escaped(stamp.name))
			}
		}
	}
	return out.String()
}

// Wireframe draws a shape as its landmarks and the lines that link pairs of them. Links are data as the landmarks are: the same for all
// shapes. Without them, nil, the lines are those of the tree of least length that joins all landmarks, if its longest is short.
func Wireframe(shape [][]float64, links [][2]int) *Layer {
	return newLayer(traits{name: "Wireframe", takes: "Hover", shape: (*canvas).centres}, func(c *canvas) {
		checkPoints("shape", shape)
		checkLinks(links, len(shape))
		joins := links
		if joins == nil {
			joins = spanning(shape)
		}
		for _, l := range joins {
			c.line([][]float64{shape[l[0]], shape[l[1]]}, false, c.stroke(0, 1))
		}
		c.dots(shape, 2.5*c.width(1))
	})
}

// shortLink is the longest link of a tree that is drawn, in extents of the shape: longer ones would join parts that nobody sees together.
const shortLink = 0.5

// spanning returns the links of the tree of least length that joins points (Prim, Bell System Technical Journal 36, 1957); nil if one is
// longer than shortLink.
func spanning(points [][]float64) (links [][2]int) {
	near, from := slices.Repeat([]float64{math.Inf(1)}, len(points)), make([]int, len(points)) // of each point outside, to the tree
	limit := shortLink * 2 * boxOf(points).radius(len(points[0]))
	for last, n := 0, 1; n < len(points); n++ {
		near[last] = -1 // inside
		next := -1
		for i, p := range points {
			if near[i] < 0 {
				continue
			}
			if d := distance(p, points[last]); d < near[i] {
				near[i], from[i] = d, last
			}
			if next < 0 || near[i] < near[next] {
				next = i
			}
		}
		if near[next] > limit {
			return nil
		}
		links = append(links, [2]int{from[next], next})
		last = next
	}
	return links
}

func checkLinks(links [][2]int, n int) {
	for k, l := range links {
		try.FailIf(min(l[0], l[1]) < 0 || max(l[0], l[1]) >= n, "link %d joins the landmarks %d and %d of %d", k, l[0], l[1], n)
	}
}

// Miniatures draws shapes at places of a flat figure, such as those that belong to points of a morphospace, all on one scale, as tall as Layer.Width says, or
// 26 points: as wireframes, or without links as closed outlines. Of shapes in space are drawn the two coordinates along which the first one is largest.
func Miniatures(places [][]float64, shapes []shape.Shape, links [][2]int) *Layer {
	return newLayer(traits{name: "Miniatures", takes: "ColorBy", items: len(shapes)}, func(c *canvas) {
		checkShapes("shape", shapes, true)
		try.FailIf(len(places) != len(shapes), "%d places for %d shapes", len(places), len(shapes))
		checkLinks(links, len(shapes[0]))
		tall := c.width(26)
		small := glyphs(shapes, 1.6*tall, tall)
		try.FailIf(small[0] == nil, "all landmarks of all shapes coincide: give shapes with extent")
		for i, g := range small {
			stroke := pen{Color: c.ink(i), Width: 0.7}
			if links == nil {
				c.glyph(places[i], g, paper, stroke)
				continue
			}
			for _, l := range links {
				c.glyph(places[i], [][]float64{g[l[0]], g[l[1]]}, fade(paper, 0), stroke)
			}
		}
	}).Color(Grey)
}
