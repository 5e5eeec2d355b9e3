package manifold

import (
	. "github.com/gomlx/gomlx/core/graph"
)

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
	around, tube := torus{m.R, m.r}.fields(like(z, v))
	return Add(scale(from(v, 0, 1), around), scale(from(v, 1, 2), tube))
}

func (m torusChart) Pull(z, _, v *Node) *Node {
	around, tube := torus{m.R, m.r}.fields(like(z, v))
	return Concatenate([]*Node{Div(dot(around, v), dot(around, around)), MulScalar(dot(tube, v), 1/(m.r*m.r))}, -1)
}
