package manifold

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/internal/refuse"
)

// Torus returns the torus in R³ with the induced metric: the points at distance r from the circle of radius R around the origin in
// the plane of the first two coordinates, 0 < r < R. Its geodesics have no closed form. The coordinates of a chart are two angles in
// radians, along the circle and around it, counted from the centre of the chart.
func Torus(R, r float64) geom.Charted {
	positiveFinite("Torus", R, r)
	refuse.If(r >= R, "manifold.Torus: a tube of radius %g around a circle of radius %g meets itself", r, R)
	return torus{R, r}
}

type torus struct{ R, r float64 }

func (m torus) Dim() int        { return 2 }
func (m torus) AmbientDim() int { return 3 }

func (m torus) Chart(c *Node) geom.Chart {
	return torusChart{m.R, m.r, direction(c), direction(m.section(c))}
}

// section is the position of z relative to the nearest point of the circle, [..., 2]: outwards from the axis, and up.
func (m torus) section(z *Node) *Node {
	plane := from(z, 0, 2)
	return Concatenate([]*Node{AddScalar(Sqrt(dot(plane, plane)), -m.R), from(z, 2, 3)}, -1)
}

type torusChart struct {
	R, r          float64
	plane, across *Node // unit vectors of the centre: in the plane of the circle, and across it
}

func (m torusChart) Dim() int { return 2 }

func (m torusChart) Point(x *Node) *Node {
	across := m.turnAcross(x)
	around := scale(m.radius(across), turned(from(x, 0, 1), linalg.Lead(m.plane, x, 1)))
	return Concatenate([]*Node{around, MulScalar(from(across, 1, 2), m.r)}, -1)
}

// Coordinates at half a turn around the tube are those of one way round. Such points are in no cut locus as a rule: the inner way is
// shorter.
func (m torusChart) Coordinates(z *Node) *Node {
	section := torus{m.R, m.r}.section(z)
	return Concatenate([]*Node{uniqueAngle(linalg.Lead(m.plane, z, 1), from(z, 0, 2)), angleFrom(linalg.Lead(m.across, z, 1), section)}, -1)
}

func (m torusChart) turnAcross(x *Node) *Node {
	return turned(from(x, 1, 2), linalg.Lead(m.across, x, 1))
}

// radius is the distance from the axis, [..., 1].
func (m torusChart) radius(across *Node) *Node {
	return AddScalar(MulScalar(from(across, 0, 1), m.r), m.R)
}

// Flat is (ρ² v_1, r² v_2), ρ the distance from the axis.
func (m torusChart) Flat(x, v *Node) *Node {
	around := Square(m.radius(m.turnAcross(x)))
	return Concatenate([]*Node{Mul(from(v, 0, 1), around), MulScalar(from(v, 1, 2), m.r*m.r)}, -1)
}

func (m torusChart) Sharp(x, p *Node) *Node {
	around := Square(m.radius(m.turnAcross(x)))
	return Concatenate([]*Node{Div(from(p, 0, 1), around), MulScalar(from(p, 1, 2), 1/(m.r*m.r))}, -1)
}

// This file has derivatives in closed form. Without them a torus has the same geometry by automatic differentiation, and larger programs.

// Christoffel follows from the derivative −r sin φ of the distance ρ from the axis: Γ_1(u, v) = (u_1 v_2 + u_2 v_1) ρ'/ρ and
// Γ_2(u, v) = −u_1 v_1 ρρ'/r².
func (m torusChart) Christoffel(x, u, v *Node) *Node {
	across := m.turnAcross(x)
	radius, slope := m.radius(across), MulScalar(from(across, 1, 2), -m.r)
	u1, v1 := from(u, 0, 1), from(v, 0, 1)
	first := Mul(Add(Mul(u1, from(v, 1, 2)), Mul(from(u, 1, 2), v1)), Div(slope, radius))
	return Concatenate([]*Node{first, MulScalar(Mul(Mul(u1, v1), Mul(radius, slope)), -1/(m.r*m.r))}, -1)
}

// fields are the derivatives of a point z by the angles around the axis and around the tube.
func (m torus) fields(z *Node) (around, tube *Node) {
	plane, section := from(z, 0, 2), m.section(z)
	outwards, height := from(section, 0, 1), from(section, 1, 2)
	around = Concatenate([]*Node{Neg(from(z, 1, 2)), from(z, 0, 1), ZerosLike(height)}, -1)
	return around, Concatenate([]*Node{scale(Neg(Div(height, AddScalar(outwards, m.R))), plane), outwards}, -1)
}

// Push and Pull are those of the angles.
func (m torusChart) Push(z, _, v *Node) *Node {
	around, tube := torus{m.R, m.r}.fields(linalg.Lead(z, v, 1))
	return Add(scale(from(v, 0, 1), around), scale(from(v, 1, 2), tube))
}

func (m torusChart) Pull(z, _, v *Node) *Node {
	around, tube := torus{m.R, m.r}.fields(linalg.Lead(z, v, 1))
	return Concatenate([]*Node{Div(dot(around, v), dot(around, around)), MulScalar(dot(tube, v), 1/(m.r*m.r))}, -1)
}
