package manifold

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
)

// Heisenberg returns the Heisenberg group R³ with the sub-Riemannian cometric Σ X_a ⊗ X_a of the vector fields
// X_1 = ∂_x − (y/2) ∂_z and X_2 = ∂_y + (x/2) ∂_z; points are coordinates (x, y, z). Only curves tangent to these fields have finite
// length. Along such a curve the change of z is the area that the ray from the origin to (x, y) sweeps over.
func Heisenberg() geom.SubRiemannian {
	return geom.Distribution(Euclidean(3),
		func(q *Node) *Node {
			y := from(q, 1, 2)
			return Concatenate([]*Node{OnesLike(y), ZerosLike(y), MulScalar(y, -0.5)}, -1)
		},
		func(q *Node) *Node {
			x := from(q, 0, 1)
			return Concatenate([]*Node{ZerosLike(x), OnesLike(x), MulScalar(x, 0.5)}, -1)
		})
}
