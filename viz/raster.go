package viz

import (
	"cmp"
	"image"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"anatomy/internal/lists"
)

// A solid is all surfaces of a scene on the page. Pictures and files hold it as an image.
type solid struct {
	facets    []facet
	low, high vg.Point
	clear     bool    // something shines through
	reach     float64 // extent of the scene, in the unit of depths
	tolerance float64 // what lies this little behind a facet lies on it
	depths    *buffer // by which lines and dots are hidden
}

// A facet is a triangle on the page, with the depth and the colour of its corners.
type facet struct {
	at    [3]vg.Point
	depth [3]float64
	ink   [3][3]float64
	alpha float64
}

// A buffer is a picture of a solid with the depths of its pixels, those of nothing -∞, from the upper left.
type buffer struct {
	w, h   int
	low    vg.Point // lower left corner on the page
	dot    float64  // pixels a point
	depth  []float64
	colour [][4]float64 // premultiplied, with opacity
}

const hidingDots = 2.5 // pixels a point of the buffer that hides lines and dots

// newSolid lights the surfaces among marks; nil if there are none.
func newSolid(marks []mark, place func(p []float64) vg.Point, reach float64) *solid {
	s := &solid{reach: reach}
	longest := 0.0
	var all []vg.Point
	for _, m := range marks {
		b := m.body
		if b == nil {
			continue
		}
		normals := b.normalsAt(m.at)
		longest = max(longest, b.longest(m.at))
		at := lists.Each(m.at, place)
		all = append(all, at...)
		for t, corners := range b.triangles {
			var f facet
			facing := across(m.at, corners)[2]
			for k, v := range corners {
				i := b.normals[t][k]
				n := normals[i]
				if facing < 0 {
					n = [3]float64{-n[0], -n[1], -n[2]}
				}
				bright, ink := light(n, b.open[i], m.tones != nil), m.fill
				if m.tones != nil {
					ink = fade(m.layer.colour(m.tones[v]), m.layer.opacity)
				}
				f.at[k], f.depth[k], f.alpha = at[v], m.at[v][2], float64(ink.A)/0xff
				f.ink[k] = [3]float64{bright * float64(ink.R), bright * float64(ink.G), bright * float64(ink.B)}
			}
			s.clear = s.clear || f.alpha < 1
			s.facets = append(s.facets, f)
		}
	}
	if len(s.facets) == 0 {
		return nil
	}
	if s.clear { // the farthest first
		slices.SortStableFunc(s.facets, func(f, g facet) int {
			return cmp.Compare(f.depth[0]+f.depth[1]+f.depth[2], g.depth[0]+g.depth[1]+g.depth[2])
		})
	}
	s.low, s.high = extremes(all)
	s.tolerance = 0.01*reach + longest*longest/(4*reach) // a curved surface leaves its facets by about length²/8 radius; a line on it has width
	s.depths = s.buffer(hidingDots, s.low, s.high)
	return s
}

// buffer draws the solid on a part of the page, with so many pixels a point.
func (s *solid) buffer(dot float64, low, high vg.Point) *buffer {
	b := &buffer{w: int(math.Ceil(dot*float64(high.X-low.X))) + 1, h: int(math.Ceil(dot*float64(high.Y-low.Y))) + 1, low: low, dot: dot}
	b.depth, b.colour = slices.Repeat([]float64{math.Inf(-1)}, b.w*b.h), make([][4]float64, b.w*b.h)
	for i := range s.facets {
		b.facet(&s.facets[i])
	}
	return b
}

// pixel returns where a point of the page is in the buffer.
func (b *buffer) pixel(p vg.Point) (x, y float64) {
	return b.dot * float64(p.X-b.low.X), float64(b.h) - b.dot*float64(p.Y-b.low.Y)
}

// facet fills the pixels whose middles a triangle covers, row by row, each once where triangles meet.
func (b *buffer) facet(f *facet) {
	var x, y [3]float64
	for k, p := range f.at {
		x[k], y[k] = b.pixel(p)
	}
	ux, uy, vx, vy := x[1]-x[0], y[1]-y[0], x[2]-x[0], y[2]-y[0]
	area := ux*vy - uy*vx
	if area == 0 {
		return // seen edge on
	}
	order := []int{0, 1, 2}
	slices.SortFunc(order, func(i, j int) int { return cmp.Compare(y[i], y[j]) })
	at := func(i, j int, level float64) float64 { // where a row crosses an edge, from its upper end
		return x[i] + (level-y[i])*((x[j]-x[i])/(y[j]-y[i]))
	}
	top, mid, low := order[0], order[1], order[2]
	for row := max(0, int(math.Ceil(y[top]-0.5))); row < min(b.h, int(math.Ceil(y[low]-0.5))); row++ {
		level := float64(row) + 0.5
		left := at(top, low, level)
		right := 0.0
		if level < y[mid] {
			right = at(top, mid, level)
		} else {
			right = at(mid, low, level)
		}
		if right < left {
			left, right = right, left
		}
		along, across := (level-y[0])*vx, ux*(level-y[0])
		for col, end := max(0, int(math.Ceil(left-0.5))), min(b.w, int(math.Ceil(right-0.5))); col < end; col++ {
			px, i := float64(col)+0.5-x[0], row*b.w+col
			s, t := (px*vy-along)/area, (across-uy*px)/area
			z := f.depth[0] + s*(f.depth[1]-f.depth[0]) + t*(f.depth[2]-f.depth[0])
			if f.alpha == 1 && z <= b.depth[i] {
				continue
			}
			under, colour := 1-f.alpha, &b.colour[i]
			for k := range 3 {
				v := f.ink[0][k] + s*(f.ink[1][k]-f.ink[0][k]) + t*(f.ink[2][k]-f.ink[0][k])
				colour[k] = f.alpha*max(0, min(255, v)) + under*colour[k]
			}
			colour[3] = f.alpha + under*colour[3]
			b.depth[i] = max(b.depth[i], z)
		}
	}
}

// outline darkens the pixels at whose side the surface ends or jumps back, more than a steep surface falls, the nearer they are the more.
func (b *buffer) outline(reach float64) {
	near, far := math.Inf(-1), math.Inf(1)
	for _, z := range b.depth {
		near = max(near, z)
		if !math.IsInf(z, -1) {
			far = min(far, z)
		}
	}
	jump, step := 0.02*reach, max(1, int(math.Round(outlineWidth*b.dot)))
	for i, z := range b.depth {
		if math.IsInf(z, -1) {
			continue
		}
		x, y := i%b.w, i/b.w
		level := func(i, j int) bool {
			one, two := b.depth[i], b.depth[j]
			return one >= z-jump-max(0, two-z) && two >= z-jump-max(0, one-z)
		}
		inside := x >= step && x < b.w-step && y >= step && y < b.h-step
		if !inside || !level(i-step, i+step) || !level(i-step*b.w, i+step*b.w) {
			for k := range 3 {
				b.colour[i][k] *= 0.8 - 0.4*(z-far)/max(near-far, 1e-300)
			}
		}
	}
}

const outlineWidth = 0.35 // points

// hides reports whether a facet lies before a point on the page at the given depth.
func (s *solid) hides(p vg.Point, depth float64) bool {
	x, y := s.depths.pixel(p)
	i, j := int(math.Floor(x)), int(math.Floor(y))
	return i >= 0 && j >= 0 && i < s.depths.w && j < s.depths.h && s.depths.depth[j*s.depths.w+i] > depth+s.tolerance
}

// draw puts the solid on the page, as an image with smooth edges: of the mean of four pixels each.
func (s *solid) draw(c vg.Canvas) {
	dots := float64(printDots)
	switch c := c.(type) {
	case *vgimg.Canvas:
		dots = c.DPI()
	case *vgsvg.Canvas:
		dots = imageDots
	}
	dot := dots / 72
	down := func(v vg.Length) vg.Length { return vg.Length(math.Floor(float64(v)*dot) / dot) } // pixels of the page
	low := vg.Point{X: down(s.low.X), Y: down(s.low.Y)}
	w, h := int(math.Ceil(float64(s.high.X-low.X)*dot)), int(math.Ceil(float64(s.high.Y-low.Y)*dot))
	high := low.Add(vg.Point{X: vg.Length(float64(w) / dot), Y: vg.Length(float64(h) / dot)})
	b := s.buffer(2*dot, low, high)
	b.outline(s.reach)
	out := image.NewNRGBA(image.Rect(0, 0, w, h))
	first := b.h - 2*h // the row at the upper edge
	for y := range h {
		for x := range w {
			var sum [4]float64
			for _, i := range [4]int{0, 1, b.w, b.w + 1} {
				for k, v := range b.colour[(first+2*y)*b.w+2*x+i] {
					sum[k] += v
				}
			}
			if sum[3] > 0 {
				channel := func(k int) uint8 { return uint8(math.Round(min(255, sum[k]/sum[3]))) }
				out.SetNRGBA(x, y, color.NRGBA{channel(0), channel(1), channel(2), uint8(math.Round(255 * sum[3] / 4))})
			}
		}
	}
	c.DrawImage(vg.Rectangle{Min: low, Max: high}, out)
}

// extremes returns the corners of the rectangle about points.
func extremes(at []vg.Point) (low, high vg.Point) {
	low, high = at[0], at[0]
	for _, p := range at {
		low = vg.Point{X: min(low.X, p.X), Y: min(low.Y, p.Y)}
		high = vg.Point{X: max(high.X, p.X), Y: max(high.Y, p.Y)}
	}
	return low, high
}
