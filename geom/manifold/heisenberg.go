package manifold

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
)

// Heisenberg returns the Heisenberg group R³ with the sub-Riemannian cometric Σ X_a ⊗ X_a of the vector fields
// X_1 = ∂_x − (y/2) ∂_z and X_2 = ∂_y + (x/2) ∂_z; points are coordinates (x, y, z). Only curves tangent to these fields have finite
// length. Along such a curve the change of z is the area that the ray from the origin to (x, y) sweeps over. Geodesics are
// those of geom.Space.Shoot; vectors have no covectors.
func Heisenberg() geom.SubRiemannian { return heisenberg{} }

type heisenberg struct{}

func (heisenberg) Dim() int  { return 3 }
func (heisenberg) Rank() int { return 2 }

func (heisenberg) Sharp(q, p *Node) *Node {
	x, y := MulScalar(from(q, 0, 1), 0.5), MulScalar(from(q, 1, 2), 0.5)
	pz := from(p, 2, 3)
	a, b := Sub(from(p, 0, 1), Mul(y, pz)), Add(from(p, 1, 2), Mul(x, pz))
	return Concatenate([]*Node{a, b, Sub(Mul(x, b), Mul(y, a))}, -1)
}
