package geom

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/ode"
)

// FlowMap returns the end points and the end momenta, [..., d], of the geodesics from q with momenta p, on the graph, on a
// manifold with coordinates: ShootMap with the other half.
func (s *Space) FlowMap(q, p *Node) (end, momentum *Node) {
	y := ode.Flow(Geodesics(s.M), s.method, s.steps, ode.State{q, p})
	return y[0], y[1]
}

// FlowTangent returns the derivatives of what FlowMap returns along dp.
func (s *Space) FlowTangent(q, p, dp *Node) (end, momentum *Node) {
	y := ode.Flow(ode.Tangent(Geodesics(s.M)), s.method, s.steps, ode.State{q, p, ZerosLike(q), dp})
	return y[2], y[3]
}
