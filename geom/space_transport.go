package geom

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/internal/lists"
)

// Transport moves tangent vectors v at the start of a geodesic by parallel transport along it. It returns them at the times 0,
// 1/n, …, 1 of the geodesic's Path: out[k][i] is vector k at time i.
//
// The geodesic is computed again from its Start and Momentum, with the Integrator of this space if one was given, and otherwise
// with the Steps of the geodesic. It is an error if a vector is not tangent, if the metric is singular, or if the steps are so
// few that the energy changes by more than 1 %.
func (s *Space[P]) Transport(g *Geodesic[P], v ...P) ([][]P, error) {
	if g == nil {
		return nil, fmt.Errorf("Transport: the geodesic is nil: give one that Exp, Shoot or Log returned without an error")
	}
	moved, err := s.steady(max(s.steps, g.Steps)).transport(g.Start, g.Momentum, given(v))
	return lists.Each(moved, s.Points), about("Transport", err)
}

func (s *space) transport(start, momentum any, vectors []any) ([][]Vec, error) {
	if err := s.checkNumbers("momentum", momentum); err != nil {
		return nil, err
	}
	if factors := s.factors(); factors != nil {
		out := make([][]Vec, len(vectors))
		for i, f := range factors {
			at := s.cut(i, numbers(start), numbers(momentum))
			parts, err := f.transport(at[0], at[1], given(s.cut(i, lists.Each(vectors, numbers)...)))
			if err != nil {
				return nil, err
			}
			for k, moved := range parts {
				if i == 0 {
					out[k] = make([]Vec, len(moved))
				}
				for t, w := range moved {
					out[k][t] = append(out[k][t], w...)
				}
			}
		}
		return out, nil
	}
	return s.transported("transport", func(in []*Node) []*Node {
		z, p, v := in[0], in[1], in[2]
		if m, ok := s.M.(ClosedTransport); ok {
			at := At(s.M, z)
			velocity := times(s.steps, at.Leave(Vector, Sharp(at.Manifold, at.X, at.Enter(Covector, p))))
			each := func(x *Node) *Node { // [n + 1, a] for every vector
				return BroadcastToDims(ExpandAxes(x, -2), s.steps+1, v.Shape().Dim(0), v.Shape().Dim(1))
			}
			return []*Node{m.Transport(each(BroadcastPrefix(z, s.steps+1)), each(velocity), BroadcastPrefix(v, s.steps+1))}
		}
		path := Path(s.M, GeodesicTransport, s.method, s.steps, ode.State{z, p, v}, Covector, Vector)
		at := At(s.M, z)
		square := MulScalar(Hamiltonian(at.Manifold)(at.X, at.Enter(Covector, p)), 2)
		return []*Node{path[2], drift(square, squares(s.M, stations(path[:2])))}
	}, start, vectors, numbers(start), numbers(momentum), lists.Each(vectors, numbers))
}

// TransportGeodesic applies the deformation of one subject to another subject. The geodesic g is what happened to the first subject,
// such as its growth, and along is a geodesic from the first subject to the second. Both start at the first subject. The result starts at
// the end of along, with the velocity of g moved there by parallel transport along it, and has the length of g. It is an error if the two
// geodesics have different starts; the other errors are those of Transport and Exp.
func (s *Space[P]) TransportGeodesic(g, along *Geodesic[P]) (*Geodesic[P], error) {
	const what = "TransportGeodesic"
	if g == nil || along == nil {
		return nil, fmt.Errorf("%s: no geodesic", what)
	}
	if !floats.EqualApprox(shape.Flat(g.Start), shape.Flat(along.Start), 1e-9) {
		return nil, fmt.Errorf("%s: the geodesics start at different points: give two that start at the same subject", what)
	}
	moved, err := s.Transport(along, g.Velocity)
	if err != nil {
		return nil, about(what, err)
	}
	out, err := s.Exp(along.End, moved[0][len(moved[0])-1])
	return out, about(what, err)
}

// TransportAlong moves tangent vectors v at the first point of a curve in parallel along the curve, and returns them at all its
// points: out[k][i] is vector k at point i. The points, at least 2, are samples of a smooth curve at even times. The integrator
// of the space takes one step from sample to sample: see the function Transport.
func (s *Space[P]) TransportAlong(curve []P, v ...P) ([][]P, error) {
	moved, err := s.transportAlong(given(curve), given(v))
	return lists.Each(moved, s.Points), about("TransportAlong", err)
}

func (s *space) transportAlong(curve, v []any) ([][]Vec, error) {
	if len(curve) < 2 {
		return nil, fmt.Errorf("the curve has %d points, want at least 2", len(curve))
	}
	if err := s.checkAll("point", curve); err != nil {
		return nil, err
	}
	samples := lists.Each(curve, numbers)
	if err := s.checkRegular("point", samples...); err != nil {
		return nil, err
	}
	return s.transported("transport along", func(in []*Node) []*Node {
		return []*Node{Transport(s.M, s.method, in[0], in[1])}
	}, curve[0], v, samples, lists.Each(v, numbers))
}

// transported runs a function that takes vectors v at z, [k, a], to those at all times, [n + 1, k, a], and perhaps the drift of the
// energy of a geodesic. It returns the vectors as the first index and the times as the second.
func (s *space) transported(name string, fn func(in []*Node) []*Node, z any, v []any, args ...any) ([][]Vec, error) {
	if len(v) == 0 {
		return nil, fmt.Errorf("no vectors")
	}
	if err := s.checkBoth("start", z, v...); err != nil {
		return nil, err
	}
	out, err := s.call(name, fn, args...)
	if err != nil {
		return nil, err
	}
	moved := out.Array3(0)
	vectors := make([][]Vec, len(v))
	for i, at := range moved {
		for k, w := range at {
			if a, bad := lists.NotFinite(w); bad {
				return nil, fmt.Errorf("at point %d of %d coordinate %d of vector %d is %g: the metric is singular there, or the curve leaves the chart",
					i, len(moved)-1, a, k, w[a])
			}
			vectors[k] = append(vectors[k], w)
		}
	}
	if len(out) > 1 && !(out.Scalar(1) <= MaxDrift) {
		return nil, s.tooFewSteps(s.steps, estimated(s.method, out.Scalar(1)))
	}
	return vectors, nil
}
