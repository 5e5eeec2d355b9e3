package manifold

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
)

// Windings are those of the great circle through both points.
func (m sphere) Windings() func(v, z, tau *Node) *Node {
	return func(v, z, tau *Node) *Node {
		if m.n == 1 { // also between antipodes
			return geom.Wrapped(Square(angleBetween(v, z)), tau)
		}
		w := m.Log(v, z)
		return geom.Wrapped(Squeeze(dot(w, w), -1), tau)
	}
}

// Windings are those of a closed geodesic, whose length is π.
func (m kendall) Windings() func(v, z, tau *Node) *Node {
	return func(v, z, tau *Node) *Node {
		w := m.Log(v, z)
		return geom.Wrapped(MulScalar(Squeeze(dot(w, w), -1), 4), MulScalar(tau, 4))
	}
}

// Windings are those around the axis.
func (m cylinder) Windings() func(v, z, tau *Node) *Node {
	return func(v, z, tau *Node) *Node {
		height := Squeeze(Sub(from(z, 2, 3), from(v, 2, 3)), -1)
		return Sub(geom.Wrapped(Square(angleBetween(v, z)), MulScalar(tau, 1/(m.r*m.r))), MulScalar(Div(Square(height), tau), 0.5))
	}
}

// Windings are those around the axis and around the tube. ρ is that of the mean of the metric at v and at z, which is half the
// squared distance near v up to the fourth order, so that bridges weigh nearly the same.
func (m torus) Windings() func(v, z, tau *Node) *Node {
	return func(v, z, tau *Node) *Node {
		square := func(z *Node) *Node { return Squeeze(dot(from(z, 0, 2), from(z, 0, 2)), -1) } // of the distance from the axis
		around := geom.Wrapped(Square(angleBetween(v, z)), Div(tau, MulScalar(Add(square(v), square(z)), 0.5)))
		return Add(around, geom.Wrapped(Square(angleBetween(m.section(v), m.section(z))), MulScalar(tau, 1/(m.r*m.r))))
	}
}

// angleBetween is the angle from the first two coordinates of v to those of z, [...].
func angleBetween(v, z *Node) *Node {
	cross := linalg.MatVec(ConstAsDType(v.Graph(), v.DType(), [][]float64{{0, -1}, {1, 0}}), from(v, 0, 2))
	return Atan2(Squeeze(dot(cross, from(z, 0, 2)), -1), Squeeze(dot(from(v, 0, 2), from(z, 0, 2)), -1))
}
