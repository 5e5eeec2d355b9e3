package geom

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"anatomy/geom/internal/shortest"
	"anatomy/internal/lists"
)

// factors are the spaces of the factors of a product without closed forms; nil for other manifolds.
func (s *space) factors() (out []*space) {
	s.programs.mu.Lock()
	defer s.programs.mu.Unlock()
	for i, m := range factorsOf(s.M) {
		if i == len(s.programs.factors) {
			s.programs.factors = append(s.programs.factors, &programs{funcs: map[any]*program{}})
		}
		out = append(out, &space{M: m, settings: s.settings, programs: s.programs.factors[i]})
	}
	return out
}

func factorsOf(m Manifold) []Manifold {
	switch m := m.(type) {
	case chartedBlocks:
		return m.of.factors
	case blocks:
		return m.factors
	}
	return nil
}

// cut returns the numbers of points or vectors that belong to a factor; nil for none.
func (s *space) cut(factor int, x ...Vec) []Vec {
	from, all := 0, factorsOf(s.M)
	for _, m := range all[:factor] {
		from += PointDim(m)
	}
	return lists.Each(x, func(x Vec) Vec {
		if x == nil {
			return nil
		}
		return x[from : from+PointDim(all[factor])]
	})
}

// beside is the geodesic of a product from those of its factors.
func (s *space) beside(parts []*Geodesic[Vec]) *Geodesic[Vec] {
	out := &Geodesic[Vec]{Status: Converged, Conjugate: math.Inf(1)}
	for i, g := range parts {
		out.Start, out.End = append(out.Start, g.Start...), append(out.End, g.End...)
		out.Velocity, out.Momentum = append(out.Velocity, g.Velocity...), append(out.Momentum, g.Momentum...)
		out.Length = math.Hypot(out.Length, g.Length)
		out.Steps, out.Iterations = max(out.Steps, g.Steps), out.Iterations+g.Iterations
		out.Drift, out.StepError, out.Status = max(out.Drift, g.Drift), max(out.StepError, g.StepError), max(out.Status, g.Status)
		out.Residual = math.Hypot(out.Residual, g.Residual*math.Sqrt(float64(factorsOf(s.M)[i].Dim())/float64(s.M.Dim())))
		out.Conjugate = min(out.Conjugate, g.Conjugate)
		if i == 0 {
			out.Path, out.Momenta = make([]Vec, len(g.Path)), make([]Vec, len(g.Path))
		}
		for k := range min(len(out.Path), len(g.Path)) { // of factors with the same steps
			out.Path[k], out.Momenta[k] = append(out.Path[k], g.Path[k]...), append(out.Momenta[k], g.Momenta[k]...)
		}
	}
	return out
}

// ofFactors is shoot of each factor; with times 0 settle, with the steps of the factor that needs most.
func (s *space) ofFactors(what string, from shot, times int) (*Geodesic[Vec], error) {
	var parts []*Geodesic[Vec]
	least, most := math.MaxInt, 1
	for i, f := range s.factors() {
		shoot := f.settle
		if times > 0 {
			shoot = func(what string, from shot) (*Geodesic[Vec], error) { return f.shoot(what, from, times) }
		}
		at := s.cut(i, from.z, from.v, from.p)
		g, err := shoot(what, shot{at[0], at[1], at[2]})
		if err != nil {
			return nil, fmt.Errorf("factor %d: %w", i, err)
		}
		parts, least, most = append(parts, g), min(least, g.Steps), max(most, g.Steps)
	}
	all := s.beside(parts)
	if least == most {
		return all, nil
	}
	g, err := s.ofFactors(what, from, most/s.steps)
	if err == nil {
		g.StepError, g.Status = all.StepError, all.Status
	}
	return g, err
}

// searchedFactors is searched of each factor.
func (s *space) searchedFactors(x, y, guess []Vec) ([]*Geodesic[Vec], error) {
	all := make([][]*Geodesic[Vec], len(x)) // of each pair
	var failures error
	for i, f := range s.factors() {
		start := s.cut(i, x...)
		gs, err := f.searched(start, s.cut(i, y...), s.cut(i, guess...))
		err = about(fmt.Sprintf("factor %d", i), err)
		if gs == nil {
			return nil, err
		}
		failures = errors.Join(failures, err)
		var found []int
		for k, g := range gs {
			if all[k] = append(all[k], g); g != nil {
				found = append(found, k)
			}
		}
		if _, closed := f.M.(ClosedForms); closed && guess == nil && s.M.Dim() <= shortest.FewDimensions && found != nil {
			points, err := f.conjugate(lists.Pick(start, found), lists.Each(lists.Pick(gs, found), func(g *Geodesic[Vec]) Vec { return g.Velocity }), 1)
			if err != nil {
				return nil, err
			}
			for k, g := range lists.Pick(gs, found) {
				g.Conjugate = points[k].time
			}
		}
	}
	return lists.Each(all, func(gs []*Geodesic[Vec]) *Geodesic[Vec] {
		if slices.Contains(gs, nil) {
			return nil
		}
		return s.beside(gs)
	}), failures
}
