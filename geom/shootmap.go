package geom

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/ode"
)

// ShootMap returns the end points, [..., a], of the geodesics from z with momenta p, both [..., a], on the graph: what
// Shoot computes, for objectives that are differentiated by point and momentum.
func (s *Space) ShootMap(z, p *Node) *Node {
	if m, ok := s.M.(ClosedForms); ok {
		at := centredAt(s.M, z)
		return m.Exp(z, at.leave(Vector, Sharp(at.Manifold, at.x, at.enter(Covector, p))))
	}
	field, method := Recentred(s.M, Geodesics, s.method, Covector)
	return ode.Flow(field, method, s.steps, ode.State{z, p})[0]
}
