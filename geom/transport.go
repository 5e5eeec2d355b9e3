package geom

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/try"
)

// Transport moves vectors in parallel along a curve γ, v' = −Γ(γ', v), and returns them at all samples of the curve, [n + 1, P..., B..., d]. The path
// is the samples γ(0), γ(1/n), …, γ(1), [n + 1, B..., d], n ≥ 1, and v the vectors at γ(0), [P..., B..., d]: the axes P are there where several
// vectors are moved, such as those of a frame. On a Charted manifold all are ambient; where points are orbits, such as configurations up to rotation,
// a returned vector belongs to the configuration that the path gives for its sample.
//
// The method takes one step from sample to sample, along the cubic through the four nearest samples. So with RK4 the error is
// O(n⁻⁴) on smooth curves. On a Charted manifold the cubic is one of coordinates, in the chart centred at one of the four. For a curve with
// corners call Transport for each smooth piece.
func Transport(m Manifold, method ode.Method, path, v *Node) *Node {
	n := checkCurve("Transport", path)
	one := ScalarOne(path.Graph(), path.DType())
	final, before := autodiff.Scan(n, func(_ *Node, y, in []*Node) ([]*Node, []*Node) {
		start, end, window, weights := in[0], in[1], in[2], in[3]
		// In one chart: ambient samples of orbits, such as those of shapes, or of matrices have no sums.
		at := At(m, Squeeze(SliceAxis(window, 0, AxisRange(1, 2)), 0))
		x := at.Coordinates(window)
		dims := x.Shape().Dimensions
		x = Reshape(linalg.MatMul(weights, Reshape(x, dims[0], -1)), append([]int{4}, dims[1:]...)...)
		samples := make([]*Node, 4)
		for k := range samples {
			samples[k] = Squeeze(SliceAxis(x, 0, AxisRange(k, k+1)), 0)
		}
		curve := cubic(samples)
		field := func(t *Node, y ode.State) ode.State {
			point, velocity := curve(t)
			return ode.State{Neg(NewConnection(at.Manifold, point).Gamma(velocity, y[0]))}
		}
		v := at.Through(start).Enter(Vector, y[0])
		v = method.Step(ode.Field(field).Equation(), ZerosLike(one), one, nil, ode.State{v})[0]
		// Back to the sample as it was given: the chart has another element of its orbit.
		there, given := at.Moved(samples[2]), At(m, end)
		return []*Node{given.Leave(Vector, given.Through(there.Z).Enter(Vector, there.Leave(Vector, v)))}, y
	}, []*Node{v}, windows(path, n))
	return Concatenate([]*Node{before[0], ExpandAxes(final[0], 0)}, 0)
}

func checkCurve(what string, path *Node) (n int) {
	if path.Rank() < 2 || path.Shape().Dim(0) < 2 {
		panic(fmt.Sprintf("geom.%s: curve %s, want [n + 1, ..., d] with n ≥ 1", what, path.Shape()))
	}
	return path.Shape().Dim(0) - 1
}

// windows returns, for each of the n pieces of a curve, the samples at its start and at its end, the four samples nearest to it, or as
// many as there are, and the weights by which these give the curve at the times −1, 0, 1 and 2 of the piece, [n, 4, samples]. Beyond
// its ends the curve is extrapolated by the polynomial through its samples.
func windows(path *Node, n int) []*Node {
	size := min(n, 3) + 1
	last := n + 1 - size
	samples := make([]*Node, size)
	for k := range samples {
		samples[k] = SliceAxis(path, 0, AxisRange(k, k+last+1))
	}
	inner := Stack(samples, 1)
	window := Concatenate([]*Node{SliceAxis(inner, 0, AxisRange(0, 1)), inner, SliceAxis(inner, 0, AxisRange(last, last+1))}, 0)
	weights := make([][][]float64, n)
	for j := range weights {
		before := j - max(0, min(j-1, last)) // samples of the window before the piece
		for t := -1; t <= 2; t++ {
			w := make([]float64, size)
			for k := range w {
				w[k] = 1
				for i := range size {
					if i != k {
						w[k] *= float64(t+before-i) / float64(k-i)
					}
				}
			}
			weights[j] = append(weights[j], w)
		}
	}
	return []*Node{SliceAxis(path, 0, AxisRange(0, n)), SliceAxis(path, 0, AxisRange(1, n+1)), SliceAxis(window, 0, AxisRange(0, n)),
		ConstAsDType(path.Graph(), path.DType(), weights)}
}

// cubic is the cubic x(t) through samples at the times −1, 0, 1 and 2, with its derivative.
func cubic(samples []*Node) func(t *Node) (x, dx *Node) {
	combine := func(w ...float64) *Node {
		sum := MulScalar(samples[0], w[0])
		for k := 1; k < 4; k++ {
			sum = Add(sum, MulScalar(samples[k], w[k]))
		}
		return sum
	}
	c1 := combine(-1./3, -1./2, 1, -1./6)
	c2 := combine(1./2, -1, 1./2, 0)
	c3 := combine(-1./6, 1./2, -1./2, 1./6)
	return func(t *Node) (x, dx *Node) {
		x = Add(samples[1], Mul(t, Add(c1, Mul(t, Add(c2, Mul(t, c3))))))
		dx = Add(c1, Mul(t, Add(MulScalar(c2, 2), Mul(MulScalar(t, 3), c3))))
		return x, dx
	}
}

// GeodesicTransport returns the field of geodesics together with vectors that are parallel along them, v' = −Γ(q', v), on states
// (q, p, v) in coordinates: q and p are [B..., d], v is [P..., B..., d].
func GeodesicTransport(m Manifold) ode.Field {
	hamilton := Geodesics(m)
	return func(t *Node, y ode.State) ode.State {
		h := hamilton(t, y[:2])
		return append(h, Neg(NewConnection(m, y[0]).Gamma(h[0], y[2])))
	}
}

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
	return each(moved, s.Points), err
}

func (s *space) transport(start, momentum any, vectors []any) (_ [][]Vec, err error) {
	defer try.Named(&err, "Transport")
	try.Do(s.checkNumbers("momentum", momentum))
	if factors := s.factors(); factors != nil {
		out := make([][]Vec, len(vectors))
		for i, f := range factors {
			at := s.cut(i, numbers(start), numbers(momentum))
			for k, moved := range try.Get(f.transport(at[0], at[1], given(s.cut(i, each(vectors, numbers)...)))) {
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
	}, start, vectors, numbers(start), numbers(momentum), each(vectors, numbers)), nil
}

// TransportGeodesic applies the deformation of one subject to another subject. The geodesic g is what happened to the first subject,
// such as its growth, and along is a geodesic from the first subject to the second. Both start at the first subject. The result starts at
// the end of along, with the velocity of g moved there by parallel transport along it, and has the length of g. It is an error if the two
// geodesics have different starts; the other errors are those of Transport and Exp.
func (s *Space[P]) TransportGeodesic(g, along *Geodesic[P]) (_ *Geodesic[P], err error) {
	defer try.Named(&err, "TransportGeodesic")
	if g == nil || along == nil {
		return nil, fmt.Errorf("no geodesic")
	}
	if !floats.EqualApprox(s.Vector(g.Start), s.Vector(along.Start), 1e-9) {
		return nil, fmt.Errorf("the geodesics start at different points: give two that start at the same subject")
	}
	moved := try.Get(s.Transport(along, g.Velocity))
	return s.Exp(along.End, moved[0][len(moved[0])-1])
}

// TransportAlong moves tangent vectors v at the first point of a curve in parallel along the curve, and returns them at all its
// points: out[k][i] is vector k at point i. The points, at least 2, are samples of a smooth curve at even times. The integrator
// of the space takes one step from sample to sample: see the function Transport.
func (s *Space[P]) TransportAlong(curve []P, v ...P) ([][]P, error) {
	moved, err := s.transportAlong(given(curve), given(v))
	return each(moved, s.Points), err
}

func (s *space) transportAlong(curve, v []any) (_ [][]Vec, err error) {
	defer try.Named(&err, "TransportAlong")
	if len(curve) < 2 {
		return nil, fmt.Errorf("the curve has %d points, want at least 2", len(curve))
	}
	try.Do(s.checkAll("point", curve))
	samples := each(curve, numbers)
	try.Do(s.checkRegular("point", samples...))
	return s.transported("transport along", func(in []*Node) []*Node {
		return []*Node{Transport(s.M, s.method, in[0], in[1])}
	}, curve[0], v, samples, each(v, numbers)), nil
}

// transported runs a function that takes vectors v at z, [k, a], to those at all times, [n + 1, k, a], and perhaps the drift of the
// energy of a geodesic. It returns the vectors as the first index and the times as the second.
func (s *space) transported(name string, fn func(in []*Node) []*Node, z any, v []any, args ...any) [][]Vec {
	if len(v) == 0 {
		try.Fail("no vectors")
	}
	try.Do(s.checkBoth("start", z, v...))
	out := try.Get(s.call(name, fn, args...))
	moved := out.Array3(0)
	vectors := make([][]Vec, len(v))
	for i, at := range moved {
		for k, w := range at {
			if a, bad := notFinite(w); bad {
				try.Fail("at point %d of %d coordinate %d of vector %d is %g: the metric is singular there, or the curve leaves the chart",
					i, len(moved)-1, a, k, w[a])
			}
			vectors[k] = append(vectors[k], w)
		}
	}
	if len(out) > 1 && !(out.Scalar(1) <= MaxDrift) {
		try.Do(s.tooFewSteps(s.steps, estimated(s.method, out.Scalar(1))))
	}
	return vectors
}
