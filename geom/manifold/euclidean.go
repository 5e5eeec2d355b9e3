package manifold

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

// Euclidean returns R^n, n ≥ 1, with the standard inner product; points are coordinates.
func Euclidean(n int) geom.Metric {
	atLeast("Euclidean", n, 1)
	return euclidean{flat{n}}
}

type euclidean struct{ flat }

func (m euclidean) Exp(x, v *Node) *Node          { return Add(x, v) }
func (m euclidean) Log(x, y *Node) *Node          { return Sub(y, x) }
func (m euclidean) Transport(_, _, w *Node) *Node { return w }

// Configurations returns R^(n·d) with the standard inner product, of configurations of n landmarks in R^d: Euclidean(n·d) whose points
// have rows. geom.OnShapes of it is the space of shapes that are aligned, where their principal components are those of Procrustes
// coordinates. Coordinates are landmark by landmark, x_1 y_1 x_2 y_2 …
func Configurations(n, d int) geom.Metric {
	atLeast("Configurations", min(n, d), 1)
	return configurations{euclidean{flat{n * d}}, d}
}

type configurations struct {
	euclidean
	d int
}

func (m configurations) Rows() (n, columns int, name string) { return m.n / m.d, m.d, "landmark" }

// flat is the constant metric δ in n coordinates.
type flat struct{ n int }

func (m flat) Dim() int { return m.n }

func (m flat) G(x *Node) *Node                 { return linalg.Eyes(x, m.n) }
func (m flat) Sharp(_, p *Node) *Node          { return p }
func (m flat) Flat(_, v *Node) *Node           { return v }
func (m flat) Christoffel(_, u, _ *Node) *Node { return ZerosLike(u) }

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
