package framebundle

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/internal/lists"
)

// Aligned returns points x_i as they stand in optimal position relative to z_i, where points of the manifold are orbits of ambient
// vectors (geom.Quotient), such as configurations up to rotation: as the chart centred at z_i has them. There |x_i − z_i| is least. A point
// in the cut locus of z_i, where no position is optimal, stays as it is, and so do all on other manifolds.
func Aligned[P geom.Point](on geom.Of[P], z, x []P) ([]P, error) {
	s := on.Geometry()
	if !geom.IsCharted(s.M) {
		return x, nil
	}
	out, err := s.Call(ode.Key{Name: "aligned"}, func(in []*Node) []*Node {
		return []*Node{facing(s.M, in[0], in[1])}
	}, shape.FlatAll(z), shape.FlatAll(x))
	if err != nil {
		return nil, err
	}
	aligned := append([]P{}, x...)
	for i, v := range out.Matrix(0) {
		if lists.Finite(v...) {
			aligned[i] = s.Point(v)
		}
	}
	return aligned, nil
}

// facing is Aligned on a graph, of ambient vectors x close to the manifold, whose size it keeps.
func facing(m geom.Manifold, z, x *Node) *Node {
	at := geom.At(m, z)
	if _, ok := at.Manifold.(geom.Quotient); !ok {
		return x
	}
	aligned := at.Point(at.Coordinates(x))
	square := func(x *Node) *Node { return ReduceAndKeep(Square(x), ReduceSum, -1) }
	return StopGradient(Mul(aligned, BroadcastToShape(Sqrt(Div(square(x), square(aligned))), aligned.Shape())))
}
