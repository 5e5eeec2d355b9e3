package geom

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/internal/shortest"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
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
	return lists.Each(moved, s.FromFlats), about("Transport", err)
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
	return lists.Each(moved, s.FromFlats), about("TransportAlong", err)
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
		return nil, s.tooFewSteps(s.steps, shortest.Estimated(s.method.Order, out.Scalar(1)))
	}
	return vectors, nil
}

// SectionalCurvature returns the sectional curvature of the plane that two tangent vectors at x span, of any lengths. The errors are
// those of ScalarCurvature, and vectors that span no plane.
func (s *Space[P]) SectionalCurvature(x, u, v P) (float64, error) {
	return s.sectionalCurvature(x, u, v)
}

func (s *space) sectionalCurvature(at ...any) (float64, error) {
	return s.curvature("SectionalCurvature", at, func(in []*Node) []*Node {
		at := At(s.M, in[0])
		u, _ := scaled(in[1])
		v, _ := scaled(in[2])
		u, v = at.Enter(Vector, u), at.Enter(Vector, v)
		inner := func(a, b *Node) *Node { return Inner(at.Manifold, at.X, a, b) }
		cosine2 := Div(Square(inner(u, v)), Mul(inner(u, u), inner(v, v)))
		return []*Node{SectionalCurvature(s.M, in[0], in[1], in[2]), OneMinus(cosine2)}
	})
}

// ScalarCurvature returns the scalar curvature g^jk Ric_jk at x, in the unit of 1/length². A point off the manifold is an
// error, and so is one where the metric is singular or has no second derivatives.
func (s *Space[P]) ScalarCurvature(x P) (float64, error) { return s.scalarCurvature(x) }

func (s *space) scalarCurvature(at ...any) (float64, error) {
	return s.curvature("ScalarCurvature", at, func(in []*Node) []*Node { return []*Node{ScalarCurvature(s.M, in[0])} })
}

// curvature is a function of a point and of vectors that span a plane, or of none; it also has the square of the sine of their angle.
func (s *space) curvature(what string, at []any, fn func(in []*Node) []*Node) (_ float64, err error) {
	defer refuse.About(&err, "%s", what)
	if err := s.checkBoth("point", at[0], at[1:]...); err != nil {
		return 0, err
	}
	out, err := s.call(what, fn, lists.Each(at, func(x any) any { return numbers(x) })...)
	if err != nil {
		return 0, err
	}
	if len(out) > 1 {
		switch sine2 := out.Scalar(1); {
		case slices.ContainsFunc(at[1:], func(v any) bool { return floats.Norm(numbers(v), 2) == 0 }):
			return 0, fmt.Errorf("the vectors span no plane: one of them is 0")
		case math.IsNaN(sine2):
			return 0, fmt.Errorf("the metric is singular at the point")
		case !(sine2 > 1e-12):
			return 0, fmt.Errorf("the vectors span no plane: the square of the sine of their angle is %.3g", sine2)
		}
	}
	if curvature := out.Scalar(0); lists.Finite(curvature) {
		return curvature, nil
	}
	return 0, fmt.Errorf("the metric is singular at the point, or not twice differentiable")
}
