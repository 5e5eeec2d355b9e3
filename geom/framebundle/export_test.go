package framebundle

import (
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/ode"
	"anatomy/geom/try"
	"anatomy/internal/pool"
)

// What tests in other packages see of the search.

const EndTolerance = endTolerance

func Geodesics(m geom.Manifold) ode.Field { return geodesics(m) }

// MostProbablePaths is MostProbablePath to many observations, on all cores.
func (s *Space[P]) MostProbablePaths(u Point[P], ys []P, sigma float64) ([]*Geodesic[P], error) {
	gs := make([]*Geodesic[P], len(ys))
	return gs, try.Run(func() {
		pool.Each(len(ys), func(i int) { gs[i] = try.Get(s.MostProbablePath(u, ys[i], sigma)) })
	})
}

// Probable is the search for many paths.
type Probable struct{ *paths }

// Found are the costs of paths, and minus their derivatives by steps of move.
type Found struct {
	Costs []float64
	Pulls []Momentum[geom.Vec]
}

func NewProbable(s *Space[geom.Vec], ys [][]float64) Probable { return Probable{newPaths(s, ys)} }

func (p Probable) From(u Point[geom.Vec], sigma, tolerance float64) (f Found) {
	for _, x := range p.from(u, sigma, tolerance) {
		f.Costs, f.Pulls = append(f.Costs, x.cost), append(f.Pulls, x.pull)
	}
	return f
}

func (p Probable) Tangents(u Point[geom.Vec], constant [][]float64) (byStart, byControls []*mat.Dense) {
	for _, t := range p.tangents(u, constant) {
		byStart, byControls = append(byStart, t.byStart), append(byControls, t.byControls)
	}
	return byStart, byControls
}

func (s *Space[P]) Move(u Point[geom.Vec], step ...[]float64) Point[geom.Vec] {
	var all []float64
	for _, v := range step {
		all = append(all, v...)
	}
	return s.move(u, all)
}

func (s *Space[P]) LogVolume(u Point[geom.Vec]) (float64, Momentum[geom.Vec]) { return s.logVolume(u) }

func (s *Space[P]) Steer(u Point[geom.Vec], controls [][]float64, y []float64) (mismatch float64, momentum, pull Momentum[geom.Vec], slope [][]float64) {
	t := s.steer(u, controls, y)
	return t.mismatch, t.momentum, t.pull, t.slope
}
