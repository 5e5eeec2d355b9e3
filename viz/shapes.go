package viz

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Outline draws closed outlines through the landmarks of each shape. One shape has a firm line and its landmarks are
// dots; several are thin and light, so that one drawn over them, a mean say, stands out. A path of shapes is best
// coloured by time: viz.Outline(path...).ColorBy("t").
func Outline(shapes ...shape.Shape) *Layer {
	return newLayer(traits{name: "Outline", takes: "ColorBy", items: len(shapes), detail: (*scene).spread, shape: (*canvas).single, closed: true}, func(c *canvas) {
		checkShapes("shape", shapes, false)
		for k, s := range shapes {
			stroke := c.stroke(k, 1.2)
			if len(shapes) > 1 {
				stroke.Width = c.width(0.6)
				if !c.layer.byValue {
					stroke.Color = fade(stroke.Color, 0.45)
				}
			}
			c.line(s, true, stroke)
			if len(shapes) == 1 && len(s) <= 100 { // more dots would only thicken the line
				for _, p := range s {
					c.dot(p, 1.8*stroke.Width, stroke.Color, pen{})
				}
			}
		}
	})
}

// Region fills closed outlines of the plane: in one colour so that what is beneath shows through, and by a quantity (Layer.ColorBy) in the colours of
// its bar.
func Region(shapes ...shape.Shape) *Layer {
	return newLayer(traits{name: "Region", takes: "ColorBy", items: len(shapes), filled: true}, func(c *canvas) {
		checkShapes("shape", shapes, false)
		cover := 0.3
		if c.layer.byValue {
			cover = 1
		}
		for k, s := range shapes {
			c.area(s, fade(c.ink(k), cover))
		}
	})
}

// Points draws a dot at each point, [n][2] or [n][3]: the landmarks of a shape, or a sample. If there are many, the dots are
// small.
func Points(points [][]float64) *Layer {
	return newLayer(traits{name: "Points", takes: "ColorBy Hover", items: len(points), detail: (*scene).cloud, shape: (*canvas).centres}, func(c *canvas) {
		checkPoints("shape", points)
		diameter := math.Min(4, math.Max(1.1, 40/math.Sqrt(float64(len(points)))))
		c.dots(points, c.width(diameter))
	})
}

// Numbers writes the number of each landmark, from 0, beside it: on the side away from its neighbours, or in the plane as near to that
// side as it covers no line.
func Numbers(points [][]float64) *Layer {
	return newLayer(traits{name: "Numbers", colourless: true}, func(c *canvas) {
		checkPoints("shape", points)
		const most = 500
		try.FailIf(len(points) > most, "%d landmarks: nobody can read more than %d numbers, give fewer", len(points), most)
		for i, p := range points {
			c.write(p, fmt.Sprint(i), c.ink(0))
		}
	}).Color(Grey)
}

// Arrows draws the vector v[i] at the point q[i], for every i: a tangent vector, or a momentum. Vectors that would be too
// short or too long to read in the figure are drawn longer or shorter by a round factor, which the legend states.
// Layer.Scale sets the factor; Scale(1) draws them as they are.
func Arrows(q, v [][]float64) *Layer {
	return newLayer(traits{name: "Arrows", takes: "ColorBy Scale", items: len(q), detail: (*scene).arrows}, func(c *canvas) {
		checkPoints("foot points", q)
		checkPoints("vectors", v)
		try.FailIf(len(q) != len(v) || len(q[0]) != len(v[0]), "%d×%d foot points and %d×%d vectors: they must have one size", len(q), len(q[0]), len(v), len(v[0]))
		for i, p := range q {
			c.add(mark{kind: vectorMark, at: [][]float64{p, v[i]}, stroke: c.stroke(i, 1.1)})
		}
	})
}

// vectors reports whether the layer has vectors whose factor Scale has not set, and the length of the longest.
func (l *Layer) vectors() (any bool, longest float64) {
	for _, m := range l.drawn.marks {
		if m.kind == vectorMark && l.scale == 0 {
			any, longest = true, math.Max(longest, floats.Norm(m.at[1], 2))
		}
	}
	return any, longest
}

// arrowFactor returns the factor with which vectors can be read: 1 if the longest measures 8 to 30 hundredths of extent, the
// longer side of all that the figure shows; otherwise the round number (1, 2 or 5 times a power of ten) that brings it near 15.
func arrowFactor(longest, extent float64) float64 {
	if share := longest / extent; longest > 0 && extent > 0 && (share < 0.08 || share > 0.3) {
		return round(0.15 / share)
	}
	return 1
}

// resolveVectors turns the vectors among the layer's marks into arrows.
func (l *Layer) resolveVectors() {
	for i, m := range l.drawn.marks {
		if m.kind == vectorMark {
			tip := floats.AddScaledTo(make([]float64, len(m.at[0])), m.at[0], l.scale, m.at[1])
			l.drawn.marks[i].kind, l.drawn.marks[i].at = arrowMark, [][]float64{m.at[0], tip}
		}
	}
}

// Lines draws open lines. Each is a list of points, [k][2] or [k][3].
func Lines(lines ...shape.Shape) *Layer {
	return newLayer(traits{name: "Lines", takes: "ColorBy", items: len(lines), detail: (*scene).ends}, func(c *canvas) {
		checkShapes("line", lines, false)
		for k, line := range lines {
			c.line(line, false, c.stroke(k, 1))
		}
	})
}

// Grid draws the lines of a deformed grid, thin and grey. Lattice makes the lines before the deformation.
func Grid(lines ...shape.Shape) *Layer {
	l := Lines(lines...)
	l.name = "Grid"
	l.noun, l.detail, l.colourless = "grid of %d lines", nil, true
	return l.Color(LightGrey).Width(0.5)
}

// Lattice returns the lines of a square grid that covers the shapes and a tenth of their size beyond, with about the given
// number of cells along the longer side: first the lines along y, then those along x. Every line has four points to a
// cell, so that it bends smoothly when its points are moved. It panics if the shapes do not lie in the plane.
func Lattice(cells int, shapes ...shape.Shape) []shape.Shape {
	if err := try.Run(func() { checkShapes("shape", shapes, false) }); err != nil {
		panic(fmt.Sprintf("viz: Lattice: %v", err))
	}
	refuse.If(len(shapes[0][0]) != 2 || cells < 1,
		"viz: Lattice: %d cells over shapes of %d coordinates: give planar shapes and at least one cell", cells, len(shapes[0][0]))
	const perCell = 4
	b := boxOf(shapes...)
	side := 2.2 * b.radius(2) / float64(cells)
	if side == 0 {
		side = 1
	}
	var first [2]float64
	var count [2]int
	for k := range 2 {
		margin := 0.2 * b.radius(2)
		count[k] = int(math.Ceil((b.size(k) + margin) / side))
		first[k] = (b.lo[k]+b.hi[k])/2 - side*float64(count[k])/2
	}
	var lines []shape.Shape
	for along := 1; along >= 0; along-- {
		across := 1 - along
		for i := range count[across] + 1 {
			line := make([][]float64, perCell*count[along]+1)
			for j := range line {
				p := make([]float64, 2)
				p[across] = first[across] + side*float64(i)
				p[along] = first[along] + side*float64(j)/perCell
				line[j] = p
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// Trajectories draws the path of every landmark, where path[t][i] is landmark i at time t. It is coloured by time and leads
// from an open dot at the start to a full one at the end.
func Trajectories(path []shape.Shape) *Layer {
	return newLayer(traits{name: "Trajectories", takes: "ColorBy", items: len(path), noun: "trajectories at %d times", detail: (*scene).paths}, func(c *canvas) {
		checkShapes("time", path, true)
		last := len(path) - 1
		pieces := 1
		if c.layer.byValue {
			pieces = min(last, 24)
		}
		for i := range path[0] {
			for k := range pieces {
				from, to := k*last/pieces, (k+1)*last/pieces
				stroke := c.stroke((from+to)/2, 1.3)
				if stroke.Color.A == 0xff { // pieces lap over each other, without a seam
					from = max(0, from-1)
				}
				c.line(lists.Each(path[from:to+1], func(q shape.Shape) []float64 { return q[i] }), false, stroke)
			}
		}
		for i := range path[0] {
			c.dot(path[0][i], 2.6, paper, pen{Color: c.ink(0), Width: 0.7})
			c.dot(path[last][i], 2.8, c.ink(last), pen{})
		}
	}).ColorBy("t")
}

// Ellipses draws covariance matrices, 2×2, symmetric and positive definite, as ellipses of one standard deviation about
// the centres: the spread of landmarks or of samples, or points of the manifold of such matrices. Layer.Scale sets another
// number of standard deviations.
func Ellipses(centres [][]float64, covariances [][][]float64) *Layer {
	return newLayer(traits{name: "Ellipses", takes: "ColorBy Scale", factorOf: "sd", items: len(centres)}, func(c *canvas) {
		checkPoints("centres", centres)
		try.FailIf(len(centres) != len(covariances), "%d centres and %d covariance matrices", len(centres), len(covariances))
		deviations := cmp.Or(c.layer.scale, 1)
		for i, centre := range centres {
			ring, err := ellipse(centre, covariances[i], deviations)
			try.FailIf(err != nil, "covariance %d: %w", i, err)
			c.area(ring, fade(c.ink(i), 0.2))
			c.line(ring, true, c.stroke(i, 0.7))
		}
	})
}

// ellipse returns the points centre + f·L·(cos a, sin a), where L Lᵀ is the covariance.
func ellipse(centre []float64, s [][]float64, f float64) (_ [][]float64, err error) {
	defer try.Catch(&err)
	try.FailIf(len(centre) != 2 || len(s) != 2 || len(s[0]) != 2 || len(s[1]) != 2, "ellipses need centres of 2 coordinates and 2×2 matrices")
	try.FailIf(math.Abs(s[0][1]-s[1][0]) > 1e-8*(math.Abs(s[0][0])+math.Abs(s[1][1])), "[%v %v] is not symmetric", s[0], s[1])
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(2, []float64{s[0][0], s[0][1], s[0][1], s[1][1]})) {
		return nil, fmt.Errorf("[%v %v] is not positive definite", s[0], s[1])
	}
	var low mat.TriDense
	chol.LTo(&low)
	const n = 96
	return lists.Make(n, func(i int) []float64 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
		return []float64{centre[0] + f*low.At(0, 0)*cos, centre[1] + f*(low.At(1, 0)*cos+low.At(1, 1)*sin)}
	}), nil
}
