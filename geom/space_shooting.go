package geom

import (
	"context"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/internal/shortest"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/internal/lists"
)

// shooting is a space as package shortest asks for it: each method is a graph function of the manifold's formulas, called with numbers.
type shooting struct{ s *space }

func (a shooting) Dim() int { return a.s.M.Dim() }

func (a shooting) HasVelocities() bool {
	_, sub := a.s.M.(SubRiemannian)
	return !sub
}

func (a shooting) Integrator() (steps, order int, doubles bool) {
	return a.s.steps, a.s.method.Order, a.s.doubles
}

// Costly geodesics are those in many dimensions on a CPU. A GPU computes many of them in the time of one.
func (a shooting) Costly() bool {
	const wide = 32
	return a.Dim() >= wide && !engine.ForGPU(nil)
}

func (a shooting) Finer(times int) shortest.Geometry {
	finer := *a.s
	finer.steps *= times
	return shooting{&finer}
}

// alike repeats the last row up to a multiple of as many as Log refines at a time, in the dimensions where it does: so one pair, a few, and
// what refines them are of one shape, for which programs are compiled.
func alike[T any](s *space, rows []T) []T {
	if n := len(rows); s.M.Dim() <= shortest.FewDimensions {
		return slices.Concat(rows, slices.Repeat(rows[n-1:], (shortest.Relaxing-n%shortest.Relaxing)%shortest.Relaxing))
	}
	return rows
}

// Start has gaps and distances of the points themselves.
func (a shooting) Start(x, y []Vec, far bool) (gaps []Vec, apart, shrunk []float64, err error) {
	s, name := a.s, "Log, start"
	if far {
		name += " from far"
	}
	out, err := s.Call(operation{name: name}, func(in []*Node) []*Node {
		at := At(s.M, in[1])
		start, apart := gap(s.M, in[0], at, in[0], far), euclidean(offset(in[0], at))
		if !IsCharted(s.M) {
			return []*Node{start, apart, OnesLike(apart)}
		}
		return []*Node{start, apart, shrinking(s.M, in[0], at, far)}
	}, alike(s, x), alike(s, y))
	if err != nil {
		return nil, nil, nil, err
	}
	return out.Matrix(0), out.Vector(1), out.Vector(2), nil
}

// gap returns the residual of the end point of a geodesic from z to y, where at is, as a tangent vector at z: the coordinates of the end
// point in the chart centred at y, as a vector of that chart at z. It is zero if the end point is y, and for end = Exp_z(v) close to
// v − Log_z(y). From far, where that chart does not reach z, they are taken for coordinates of the chart at z.
func gap(m Manifold, z *Node, at Local, end *Node, far bool) *Node {
	if at.chart == nil {
		return Sub(end, at.Z)
	}
	x := at.Coordinates(end)
	if far {
		return At(m, z).Leave(Vector, x)
	}
	there := at.Moved(at.Coordinates(fresh(z)))
	tangent := there.push(x)
	if _, ok := at.chart.(Quotient); ok { // there.Z may be another element of the orbit of z
		here := At(m, z)
		tangent = here.Leave(Vector, here.Through(there.Z).Enter(Vector, tangent))
	}
	return tangent
}

// offset is z − y of points z and y, where at is: of the element of the orbit of z next to y where points are orbits.
func offset(z *Node, at Local) *Node {
	direct := Sub(z, at.Z)
	if _, ok := at.chart.(Quotient); !ok {
		return direct
	}
	// Where the chart does not reach z, and this is not a number, the numbers that stand for points say alone how far these are from each other.
	aligned := Sub(at.Point(at.Coordinates(z)), at.Z)
	return Where(LessThan(euclidean(aligned), euclidean(direct)), aligned, direct)
}

func euclidean(v *Node) *Node { return Sqrt(ReduceSum(Square(v), -1)) }

// shrinking is the share of a short distance from y that its gap has at z, [...], the least along a coordinate of the chart centred at y:
// its derivative is much smaller at z than at y where these are nearly as far apart as the chart reaches.
func shrinking(m Manifold, z *Node, at Local, far bool) *Node {
	unit := basisAt(at.X)
	lengths := func(at Local) *Node { return Sqrt(ReduceSum(Square(at.push(unit)), -1)) } // [d, ...]
	there := at.Moved(at.Coordinates(fresh(z)))
	if far {
		there = At(m, z)
	}
	return ReduceMin(Div(lengths(there), lengths(at)), 0)
}

func (a shooting) Evaluate(f shortest.Formula, rows ...[]Vec) ([]Vec, error) {
	switch flat := !IsCharted(a.s.M); {
	case flat && (f == shortest.Gap || f == shortest.FarGap):
		return lists.Make(len(rows[0]), func(k int) Vec { return floats.SubTo(make(Vec, len(rows[1][k])), rows[2][k], rows[1][k]) }), nil
	case flat && (f == shortest.Slope || f == shortest.FarSlope):
		return rows[3], nil
	}
	args := lists.Each(rows, func(x []Vec) any { return alike(a.s, x) })
	out, err := a.s.call(string(f), func(in []*Node) []*Node { return []*Node{a.formula(f, in)} }, args...)
	if err != nil {
		return nil, err
	}
	return out.Matrix(0), nil
}

// formula is one of package shortest. Gaps are programs of their own, so that geodesics are the same programs from near and far.
func (a shooting) formula(f shortest.Formula, in []*Node) *Node {
	m, far := a.s.M, f == shortest.FarGap || f == shortest.FarSlope
	switch f {
	case shortest.Shoot:
		return a.part(in[0], a.momentum(in[0], in[1]))
	case shortest.Continue:
		n := in[0].Shape().Dim(-1) / 2
		return a.part(SliceAxis(in[0], -1, AxisRange(0, n)), SliceAxis(in[0], -1, AxisRange(n)))
	case shortest.Derivative:
		return a.derivative(in[0], in[1], in[2])
	case shortest.Gap, shortest.FarGap:
		return gap(m, in[0], At(m, in[1]), in[2], far)
	case shortest.Slope, shortest.FarSlope:
		at := At(m, in[1])
		return push(func(end *Node) *Node { return gap(m, in[0], at, end, far) }, fresh(in[2]), in[3])
	}
	panic(fmt.Sprintf("geom: no formula %q", f))
}

// momentum is that of an unknown v at points z: v♭ of a velocity; on a SubRiemannian manifold the momentum itself is unknown.
func (a shooting) momentum(z, v *Node) *Node {
	if !a.HasVelocities() {
		return v
	}
	return flatAt(a.s.M, z, v)
}

// part returns the points and then the momenta of a geodesic from z with momentum p at the ends of equal parts of the time.
func (a shooting) part(z, p *Node) *Node {
	s := a.s
	k := shortest.Parts(s.steps)
	_, y := autodiff.Scan(k, func(_ *Node, y, _ []*Node) (next, out []*Node) {
		next = Flow(s.M, Geodesics, s.method, s.steps/k, y, Covector)
		return next, next
	}, ode.State{z, MulScalar(p, 1/float64(k))}, nil)
	rows := func(x *Node) *Node { return Reshape(Transpose(x, 0, 1), x.Shape().Dim(1), -1) }
	return Concatenate([]*Node{rows(y[0]), rows(MulScalar(y[1], float64(k)))}, -1)
}

// derivative returns the end of the geodesic from z by v, and how it moves with dv.
func (a shooting) derivative(z, v, dv *Node) *Node {
	s := a.s
	if !IsCharted(s.M) {
		state := ode.State{z, a.momentum(z, v), ZerosLike(z), a.momentum(z, dv)}
		y := ode.Flow(ode.Tangent(Geodesics(s.M)), s.method, s.steps, state)
		return Concatenate([]*Node{y[0], y[2]}, -1)
	}
	// Step by step, so that the derivatives are one loop beside the steps.
	f, method := recentredField(s.M, Geodesics, s.method, []Kind{Covector})
	y := ode.Integrate(f, ode.NewMethod(method.Name, method.Order, func(f ode.Equation, t, dt, dw *Node, y ode.State) ode.State {
		next, moved := autodiff.Pushforward(func(y []*Node) []*Node { return method.Step(f, t, dt, dw, y) }, y[:2], y[2:])
		return append(next, moved...)
	}), ode.Drive{Steps: s.steps}, ode.State{z, a.momentum(z, v), ZerosLike(z), a.momentum(z, dv)})
	return Concatenate([]*Node{y[0], y[2]}, -1)
}

func (a shooting) Measure(x, y, v []Vec, points, momenta [][]Vec) ([]shortest.Measures, error) {
	s := a.s
	out, err := s.Call(operation{name: "Log, result"}, func(in []*Node) []*Node {
		at := At(s.M, in[0])
		covector := at.Enter(Covector, a.momentum(in[0], in[1]))
		v := Sharp(at.Manifold, at.X, covector)
		square := ReduceSum(Mul(v, covector), -1)
		return []*Node{at.Leave(Vector, v), at.Leave(Covector, covector), Sqrt(square),
			drift(square, squares(s.M, ode.State{Transpose(in[2], 0, 1), Transpose(in[3], 0, 1)})),
			euclidean(offset(Squeeze(SliceAxis(in[2], 1, AxisElem(in[2].Shape().Dim(1)-1)), 1), At(s.M, in[4])))}
	}, alike(s, x), alike(s, v), alike(s, points), alike(s, momenta), alike(s, y))
	if err != nil {
		return nil, err
	}
	velocities, covectors, lengths, drifts, misses := out.Matrix(0), out.Matrix(1), out.Vector(2), out.Vector(3), out.Vector(4)
	found := lists.Make(len(x), func(i int) shortest.Measures {
		return shortest.Measures{Velocity: velocities[i], Momentum: covectors[i], Length: lengths[i], Drift: drifts[i], Miss: misses[i]}
	})
	return found, nil
}

// Lines are the same line twice where there is one chart.
func (a shooting) Lines(x, y []Vec) (here, there []shortest.Curve, err error) {
	const n = shortest.Segments
	s := a.s
	out, err := s.Call(operation{name: "lines"}, func(in []*Node) []*Node {
		line := func(x, y *Node) (length, points *Node) {
			at := At(s.M, x)
			path := Add(BroadcastPrefix(at.X, n+1), times(n, Sub(at.Coordinates(y), at.X)))
			from, to := SliceAxis(path, 0, AxisRange(0, n)), SliceAxis(path, 0, AxisRange(1, n+1))
			length = ReduceSum(Norm(at.Manifold, MulScalar(Add(from, to), 0.5), Sub(to, from)), 0) // the metric in the middle of each chord
			return length, TransposeAllDims(at.Point(path), 1, 0, 2)
		}
		there, forwards := line(in[0], in[1])
		back, backwards := line(in[1], in[0])
		return []*Node{there, back, forwards, Reverse(backwards, 1)}
	}, alike(s, x), alike(s, y))
	if err != nil {
		return nil, nil, err
	}
	curves := func(lengths []float64, points [][]Vec) (out []shortest.Curve) {
		for i, l := range lengths[:len(x)] {
			out = append(out, shortest.Curve{Points: points[i], Length: l})
		}
		return out
	}
	return curves(out.Vector(0), out.Array3(2)), curves(out.Vector(1), out.Array3(3)), nil
}

func (a shooting) Rays(from, to, directions []Vec, length float64) (paths [][]Vec, hops [][]float64, err error) {
	s := a.s
	lengths := make([]float64, len(from))
	floats.AddConst(length, lengths)
	out, err := s.call("fan", func(in []*Node) []*Node {
		at := At(s.M, in[0])
		v := in[2]
		if s.M.Dim() <= 2 { // in more dimensions the directions are far apart, and the matrix of the cometric takes long to compile
			v = linalg.MatVec(Orthonormal(at.Manifold, at.X), v)
		}
		v = at.Leave(Vector, Mul(v, ExpandAxes(Div(in[3], Norm(at.Manifold, at.X, v)), -1)))
		path := Path(s.M, Geodesics, s.method, s.steps, ode.State{at.Z, flatAt(s.M, at.Z, v)}, Covector)[0]
		here := At(s.M, path)
		chord := Sub(here.Coordinates(BroadcastPrefix(in[1], s.steps+1)), here.X)
		hop := Norm(here.Manifold, Add(here.X, MulScalar(chord, 0.5)), chord) // NaN where a gap of the chart lies between, too
		return []*Node{TransposeAllDims(path, 1, 0, 2), TransposeAllDims(hop, 1, 0)}
	}, from, to, directions, lengths)
	if err != nil {
		return nil, nil, err
	}
	return out.Array3(0), out.Matrix(1), nil
}

func (a shooting) Lengths(x, v []Vec) ([]float64, error) {
	out, err := a.s.Call(operation{name: "lengths"}, func(in []*Node) []*Node {
		at := At(a.s.M, in[0])
		return []*Node{Norm(at.Manifold, at.X, at.Enter(Vector, in[1]))}
	}, x, v)
	if err != nil {
		return nil, err
	}
	return out.Vector(0), nil
}

func (a shooting) Unit(x Vec) (float64, error) {
	out, err := a.s.Call(operation{name: "unit"}, func(in []*Node) []*Node {
		at := At(a.s.M, in[0])
		e := basisAt(at.X)
		ambient := Sqrt(ReduceSum(Square(at.Leave(Vector, e)), -1))
		return []*Node{ReduceAllMax(Div(Norm(at.Manifold, BroadcastPrefix(at.X, a.s.M.Dim()), e), ambient))}
	}, x)
	if err != nil {
		return 0, err
	}
	return out.Scalar(0), nil
}

func (a shooting) Conjugate(x, v []Vec, times int) (first []float64, paths [][]Vec, err error) {
	found, err := a.s.conjugate(x, v, times)
	return lists.Each(found, func(c conjugated) float64 { return c.time }), lists.Each(found, func(c conjugated) []Vec { return c.path }), err
}

// Relax minimises the energy by non-linear conjugate gradients (E. Polak and G. Ribière, 1969), preconditioned by the steps of georce: steps that
// do not lower the energy are shortened. Velocities have errors of second order in a chord. A curve is done where the next step is expected to
// lower the energy by less than the tolerance, a share, and given up after 1000 evaluations. Where the metric is singular on the first curve,
// length and velocity are NaN, and so they are where ctx has ended before the first step.
func (a shooting) Relax(ctx context.Context, curves [][]Vec, tolerance float64) (velocities []Vec, lengths []float64, err error) {
	const (
		stretch, most = 25, 1000 // evaluations in a call, and in all
		shortened     = 1e-6     // is a multiple of a step that is not worth trying
	)
	many := func(x float64) []float64 { return slices.Repeat([]float64{x}, len(curves)) }
	still := lists.Each(curves, func(c []Vec) []Vec { return lists.Each(c, func(z Vec) Vec { return make(Vec, len(z)) }) })
	lengths = many(math.NaN())
	velocities = lists.Each(curves, func(c []Vec) Vec { return slices.Repeat(Vec{math.NaN()}, len(c[0])) })
	state := []any{curves, still, still, many(0.5), many(math.Inf(1)), many(math.Inf(1)), many(0), lengths, velocities}
	for done := 0; done < most && ctx.Err() == nil; done += stretch {
		out, err := a.s.Call(operation{name: "relaxed"}, func(in []*Node) []*Node {
			final, _ := autodiff.Scan(stretch, func(_ *Node, c, _ []*Node) (next, y []*Node) { return conjugateStep(a.s.M, c), nil }, in, nil)
			return final
		}, state...)
		if err != nil {
			return nil, nil, err
		}
		state = []any{out.Array3(0), out.Array3(1), out.Array3(2), out.Vector(3), out.Vector(4), out.Vector(5), out.Vector(6), out.Vector(7), out.Matrix(8)}
		velocities, lengths = out.Matrix(8), out.Vector(7)
		searching := false
		for i, energy := range out.Vector(4) {
			searching = searching || out.Vector(5)[i] > 2*tolerance*energy && out.Vector(3)[i] > shortened
		}
		if !searching {
			break
		}
	}
	return velocities, lengths, nil
}
