package manifold

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

// Cylinder returns the surface x² + y² = r² of R³, which is flat; r > 0 is a length. A chart unrolls it; the cut locus of a point is
// the line on the opposite side.
func Cylinder(r float64) geom.Charted {
	positiveFinite("Cylinder", r)
	return cylinder{r}
}

type cylinder struct{ r float64 }

func (m cylinder) Dim() int        { return 2 }
func (m cylinder) AmbientDim() int { return 3 }

func (m cylinder) Chart(c *Node) geom.Chart {
	return cylinderChart{flat{2}, m.r, direction(c), from(c, 2, 3)}
}

type cylinderChart struct {
	flat
	r         float64
	c, height *Node // unit vector of the centre in the plane, [..., 2], and its third coordinate
}

func (m cylinderChart) Point(x *Node) *Node {
	plane := turned(MulScalar(from(x, 0, 1), 1/m.r), linalg.Lead(m.c, x, 1))
	return Concatenate([]*Node{MulScalar(plane, m.r), Add(linalg.Lead(m.height, x, 1), from(x, 1, 2))}, -1)
}

func (m cylinderChart) Coordinates(z *Node) *Node {
	along := MulScalar(uniqueAngle(linalg.Lead(m.c, z, 1), from(z, 0, 2)), m.r)
	return Concatenate([]*Node{along, Sub(from(z, 2, 3), linalg.Lead(m.height, z, 1))}, -1)
}

// Scale compares the plane and the height each with its own size.
func (m cylinderChart) Scale(_, v *Node) *Node {
	plane := from(v, 0, 2)
	size := BroadcastToShape(Sqrt(dot(plane, plane)), plane.Shape())
	return Concatenate([]*Node{size, Abs(from(v, 2, 3))}, -1)
}

// direction is the unit vector of the first two coordinates, [..., 2].
func direction(z *Node) *Node {
	plane := from(z, 0, 2)
	return Div(plane, BroadcastToShape(Sqrt(dot(plane, plane)), plane.Shape()))
}

// turned rotates a vector c of the plane, [..., 2], by an angle, [..., 1].
func turned(angle, c *Node) *Node {
	cos, sin := Cos(angle), Sin(angle)
	c0, c1 := from(c, 0, 1), from(c, 1, 2)
	return Concatenate([]*Node{Sub(Mul(cos, c0), Mul(sin, c1)), Add(Mul(sin, c0), Mul(cos, c1))}, -1)
}

// angleFrom is the angle in [−π, π] from c to y, vectors of the plane, [..., 1].
func angleFrom(c, y *Node) *Node {
	c0, c1, y0, y1 := from(c, 0, 1), from(c, 1, 2), from(y, 0, 1), from(y, 1, 2)
	return Atan2(Sub(Mul(c0, y1), Mul(c1, y0)), Add(Mul(c0, y0), Mul(c1, y1)))
}

// uniqueAngle is angleFrom with NaN at half a turn, where both ways round are as long.
func uniqueAngle(c, y *Node) *Node {
	angle := angleFrom(c, y)
	return linalg.NaNWhere(GreaterThan(Abs(angle), MulScalar(OnesLike(angle), math.Pi-cutLocus)), angle)
}
