// Package geomtest is the suite that every manifold passes: Run compares what a manifold says of itself, in closed form
// or not, with what must hold for a metric, its connection, its geodesics and its curvature.
package geomtest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/internal/lists"
)

const (
	// identity bounds the relative error of what holds exactly: rounding, which second and third derivatives magnify.
	identity = 1e-8
	// integration bounds that of geodesics of length speed, with RK4 and so many steps.
	integration = 1e-8
	speed       = 0.6
	steps       = 60
)

// Run tests a manifold near the given points, which are ambient vectors for a geom.Charted and coordinates else: at
// points with other tangent vectors, all from a fixed pattern.
//
//   - The metric is symmetric and positive definite, ♯ and ♭ are inverse, Γ has no torsion and keeps the metric; Γ is
//     the same from the metric, from the cometric and in closed form.
//   - The curvature has its symmetries and fulfils Bianchi's first identity.
//   - Geodesics keep their energy; Log is the inverse of Exp; transport is an isometry and keeps the velocity. Where Log
//     converges between points two and five times as far apart, its geodesic ends at the second point in the ambient space, and on a
//     Charted manifold with the metric of that space is not below the chord. Over twice the distance it is not longer than the geodesic that led there.
//   - Geodesics and curvature are the same in a tilted chart; closed forms agree with the generic functions.
//
// For a geom.SubRiemannian manifold: the cometric is symmetric, that of the frame and of the given rank, geodesics can be run backwards, Log
// finds one to their ends that is not longer, vectors are refused.
func Run(t *testing.T, m geom.Manifold, points ...[]float64) {
	t.Helper()
	run(t, m, points)
}

// reporter is a *testing.T, or what sees whether the suite finds that a manifold is wrong.
type reporter interface {
	Helper()
	Failed() bool
	Logf(format string, args ...any)
	Error(args ...any)
	Errorf(format string, args ...any)
	Fatal(args ...any)
}

func run(t reporter, m geom.Manifold, points [][]float64) {
	t.Helper()
	if len(points) == 0 {
		t.Fatal("geomtest.Run: no points")
	}
	if sub, ok := m.(geom.SubRiemannian); ok {
		runSubRiemannian(t, sub, points)
		return
	}
	s := suite{t: t, m: m, sample: pointwise(t, m, points)}
	if !t.Failed() { // else geodesics take long to say nothing
		s.geodesics()
	}
}

// sample is what the pointwise tests leave to those of geodesics, one row a point.
type sample struct {
	points, v, w [][]float64 // points near those given, tangent vectors of length speed
	ends         [][]float64 // Exp of v, integrated in one tilted chart
	orbits       bool        // points are orbits: see geom.Quotient
}

// pattern is a vector of numbers in (−1, 1) that depend on the place and the seed, in the shape of x.
func pattern(x *Node, seed float64) *Node {
	rows := lists.Make(x.Shape().Size(), func(i int) float64 { return math.Sin(seed * float64(1+i+i*i%7)) })
	return Reshape(ConstAsDType(x.Graph(), x.DType(), rows), x.Shape().Dimensions...)
}

// inner returns ⟨u_i, v_i⟩ of vectors at x by one metric, which may be a thousand nodes.
func inner(m geom.Manifold, x *Node, u, v []*Node) func(i int) *Node {
	return entries(geom.Inner(m, BroadcastPrefix(x, len(u)), Stack(u, 0), Stack(v, 0)))
}

func push(f func(x *Node) *Node, x, v *Node) *Node {
	_, dy := autodiff.Pushforward(func(x []*Node) []*Node { return []*Node{f(x[0])} }, []*Node{x}, []*Node{v})
	return dy[0]
}

// entries are those of a stack.
func entries(all *Node) func(i int) *Node {
	return func(i int) *Node { return Squeeze(SliceAxis(all, 0, AxisElem(i)), 0) }
}

// residuals are the largest relative differences that were found, with what they say.
type residuals struct {
	names  []string
	values []*Node
}

func (r *residuals) compare(name string, a, b *Node) {
	r.names = append(r.names, name)
	r.values = append(r.values, ReduceAllMax(orInfinite(Div(Abs(Sub(a, b)), OnePlus(Abs(b))))))
}

// orInfinite is x ≥ 0, and +Inf where it is not a number: a maximum may pass over NaN.
func orInfinite(x *Node) *Node {
	return Where(IsFinite(x), x, AddScalar(ZerosLike(x), math.Inf(1)))
}

func pointwise(t reporter, m geom.Manifold, points [][]float64) sample {
	t.Helper()
	var r residuals
	var orbits bool
	out, err := engine.Run(func(in []*Node) []*Node {
		r = residuals{}
		centre := geom.At(m, in[0])
		_, orbits = centre.Manifold.(geom.Quotient)
		x := centre.X
		if geom.IsCharted(m) {
			x = MulScalar(pattern(x, 1.3), 0.25/math.Sqrt(float64(m.Dim())))
		}
		vectors := Stack([]*Node{pattern(x, 2.1), pattern(x, 0.7), pattern(x, 1.7), pattern(x, 3.1)}, 0)
		norms := ExpandAxes(geom.Norm(centre.Manifold, BroadcastPrefix(x, 4), vectors), -1)
		unit := entries(Div(vectors, BroadcastToShape(norms, vectors.Shape())))
		u, v, w, y := unit(0), unit(1), unit(2), unit(3)
		r.metric(centre.Manifold, x, u, v, w)
		here, chart, moved := x, centre, []*Node{u, v, w, y}
		if geom.IsCharted(m) {
			chart, here, moved = r.tilted(m, centre, x, moved)
		}
		r.curvature(m, centre, chart, []*Node{x, u, v, w, y}, append([]*Node{here}, moved...))

		v, w = MulScalar(v, speed), MulScalar(w, speed)
		ends := chart.Point(ode.Flow(geom.Geodesics(chart.Manifold), ode.RK4, steps, ode.State{here, geom.Flat(chart.Manifold, here, MulScalar(moved[1], speed))})[0])
		zero := ZerosLike(in[0])
		there := geom.InChart(m, []geom.Kind{geom.Vector, geom.Vector}, func(geom.Local, ode.State) ode.State {
			return ode.State{x, v, w}
		}, ode.State{in[0], zero, zero})
		return append(r.values, append(there, ends)...)
	}, points)
	if err != nil {
		t.Fatal(err)
	}
	for k, name := range r.names {
		if residual := out.Scalar(k); !(residual <= identity) { // also where it is not a number
			t.Errorf("%s: relative difference %.3g, want at most %.3g", name, residual, identity)
		}
	}
	k := len(r.names)
	return sample{points: out.Matrix(k), v: out.Matrix(k + 1), w: out.Matrix(k + 2), ends: out.Matrix(k + 3), orbits: orbits}
}

// metric tests g, ♯, ♭ and Γ at x.
func (r *residuals) metric(m geom.Manifold, x, u, v, w *Node) {
	g, k := geom.MetricMatrix(m, x), geom.CometricMatrix(m, x)
	r.compare("g is symmetric", g, linalg.T(g))
	l := linalg.Cholesky(g) // not a number where g is not positive definite
	r.compare("g is positive definite", linalg.MatMul(l, linalg.T(l)), g)
	r.compare("the cometric is the inverse of g", linalg.MatVec(k, linalg.MatVec(g, u)), u)
	flat := geom.Flat(m, x, u)
	r.compare("♭ is g", flat, linalg.MatVec(g, u))
	r.compare("♯ is the inverse of ♭", geom.Sharp(m, x, flat), u)

	// One Christoffel for all, since its derivatives are most of what there is to compile.
	first, second := Stack([]*Node{u, v, w, w}, 0), Stack([]*Node{v, u, u, v}, 0)
	all := geom.Christoffel(m, BroadcastPrefix(x, 4), first, second)
	at := entries(all)
	gamma := at(0)
	r.compare("Γ has no torsion", gamma, at(1))
	// A manifold that has Γ from its metric, or from its cometric, and no form of its own would be compared with itself.
	_, closed := m.(geom.ClosedChristoffel)
	_, points := m.(geom.PointCometric)
	if _, same := m.(geom.Metric); !same || closed {
		r.compare("Γ from the metric", geom.Christoffel(geom.MetricFunc(m.Dim(), func(x *Node) *Node { return geom.MetricMatrix(m, x) }), x, u, v), gamma)
	}
	if _, same := m.(geom.Cometric); !same || closed || points {
		r.compare("Γ from the cometric", geom.Christoffel(geom.CometricFunc(m.Dim(), func(q, p *Node) *Node { return geom.Sharp(m, q, p) }), x, u, v), gamma)
	}
	along := push(func(x *Node) *Node { return geom.Inner(m, x, u, v) }, Identity(x), w)
	kept := inner(m, x, []*Node{at(2), u}, []*Node{v, at(3)})
	r.compare("Γ keeps the metric", along, Add(kept(0), kept(1)))
}

// tilted tests that points, vectors and their products are the same in a chart with another centre, and returns them there.
func (r *residuals) tilted(m geom.Manifold, centre geom.Local, x *Node, vectors []*Node) (other geom.Local, there *Node, moved []*Node) {
	other = geom.At(m, centre.Point(MulScalar(pattern(x, 4.2), 0.2/math.Sqrt(float64(m.Dim())))))
	change := func(x *Node) *Node { return other.Coordinates(centre.Point(x)) }
	there = change(x)
	r.compare("Point is the inverse of Coordinates", other.Coordinates(other.Point(there)), there)
	r.compare("change of charts and back", centre.Coordinates(other.Point(there)), x)
	if d, ok := centre.Manifold.(geom.Differential); ok {
		z, off, middle := centre.Point(x), push(centre.Point, Identity(x), vectors[0]), push(centre.Point, Identity(centre.X), vectors[0])
		r.compare("Push is the derivative of Point", d.Push(z, x, vectors[0]), off)
		r.compare("Push is the derivative of Point at the centre", d.Push(centre.Z, nil, vectors[0]), middle)
		r.compare("Pull is the inverse of Push", d.Pull(z, x, off), vectors[0])
		r.compare("Pull is the inverse of Push at the centre", d.Pull(centre.Z, nil, middle), vectors[0])
	}
	at := entries(push(change, BroadcastPrefix(x, len(vectors)), Stack(vectors, 0)))
	for i := range vectors {
		moved = append(moved, at(i))
	}
	r.compare("⟨u, v⟩ in a tilted chart", geom.Inner(other.Manifold, there, moved[0], moved[1]), geom.Inner(centre.Manifold, x, vectors[0], vectors[1]))
	return other, there, moved
}

// curvature tests the symmetries of R(u, v)w for x, u, v, w and y in the chart of a centre, and in that of another one, where they are
// there; and that ⟨R(u, v)v, u⟩ is the same in both. One R does for all, since its derivatives are most of what there is to compile.
func (r *residuals) curvature(m geom.Manifold, centre, other geom.Local, here, there []*Node) {
	charts := centre.Manifold
	if geom.IsCharted(m) {
		charts = geom.At(m, Concatenate([]*Node{centre.Z, other.Z}, 0)).Manifold
		for i := range here {
			here[i] = Concatenate([]*Node{here[i], there[i]}, 0)
		}
	}
	x, u, v, w, y := here[0], here[1], here[2], here[3], here[4]
	of := func(a ...*Node) *Node { return Stack(a, 0) }
	first, second, third := of(u, v, w, w, u, u), of(v, w, u, y, v, v), of(w, u, v, u, y, v)
	at := entries(geom.Riemann(charts, BroadcastPrefix(x, 6), first, second, third))
	r.compare("Bianchi's first identity", Add(at(0), at(1)), Neg(at(2)))
	product := inner(charts, x, []*Node{at(0), at(4), at(3), at(5)}, []*Node{y, w, v, u})
	r.compare("⟨R(u, v)w, y⟩ = −⟨R(u, v)y, w⟩", product(0), Neg(product(1)))
	r.compare("⟨R(u, v)w, y⟩ = ⟨R(w, y)u, v⟩", product(0), product(2))
	if geom.IsCharted(m) {
		sectional, n := product(3), there[0].Shape().Dim(0)
		r.compare("⟨R(u, v)v, u⟩ in a tilted chart", SliceAxis(sectional, 0, AxisRange(n)), SliceAxis(sectional, 0, AxisRange(0, n)))
	}
}

type suite struct {
	t reporter
	m geom.Manifold
	sample
}

// geodesics tests geodesics by integration, and the closed forms against them.
func (s suite) geodesics() {
	s.t.Helper()
	generic := s.m
	closed, ok := s.m.(geom.ClosedForms)
	if ok { // hide them
		switch m := s.m.(type) {
		case geom.Charted:
			generic = struct{ geom.Charted }{m}
		case geom.Metric:
			generic = struct{ geom.Metric }{m}
		case geom.Cometric:
			generic = struct{ geom.Cometric }{m}
		}
	}
	space := geom.On(generic, geom.Integrator(ode.RK4, steps))
	var ends, v, w [][]float64
	for i, z := range s.points {
		g := expect.Must(space.Exp(z, s.v[i]))
		moved := expect.Must(space.Transport(g, s.v[i], s.w[i]))
		s.check("length of a geodesic", i, []float64{g.Length}, []float64{speed})
		// Momenta on transported vectors: the velocity is one of them.
		energy, angle := make([]float64, steps+1), make([]float64, steps+1)
		for k, p := range g.Momenta {
			energy[k], angle[k] = floats.Dot(p, moved[0][k]), floats.Dot(p, moved[1][k])
		}
		s.constant("energy of a geodesic", i, energy)
		s.constant("product of the velocity and a transported vector", i, angle)
		ends = append(ends, g.End)
		v, w = append(v, moved[0][steps]), append(w, moved[1][steps])
	}
	// From velocity 0, where Log begins without a guess, too, but then it looks for conjugate points and for shorter geodesics: no manifold
	// has code of its own for that, and it would be a fifth of all that is compiled here. TestConjugate and TestLogIsShortest have it.
	still := make([][]float64, len(ends))
	for i, v := range s.v {
		still[i] = make([]float64, len(v))
	}
	s.folds(space)
	s.logarithms("", space, ends, still)
	if ok {
		s.logarithms(" in closed form", geom.On(s.m), ends, still)
	}

	n := len(ends)
	products, separation := s.measure(slices.Concat(s.points, ends), slices.Concat(s.v, v), slices.Concat(s.w, w), slices.Concat(s.points, s.ends))
	for i := range n {
		s.check("inner products of transported vectors", i, products[n+i], products[i])
		if !(separation[n+i] <= integration) {
			s.t.Errorf("the ends of a geodesic with and without re-centring, point %d: %.3g apart", i, separation[n+i])
		}
	}
	if ok {
		s.closedForms(closed, ends, v, w)
	}
}

// closedForms compares them with the ends of the geodesics and with the vectors that were transported there.
func (s suite) closedForms(closed geom.ClosedForms, ends, v, w [][]float64) {
	s.t.Helper()
	out := expect.Must(engine.Run(func(z, y, v, w *Node) []*Node {
		out := []*Node{closed.Exp(z, v), closed.Log(z, y)}
		if m, ok := s.m.(geom.ClosedTransport); ok {
			out = append(out, m.Transport(z, v, v), m.Transport(z, v, w))
		}
		return out
	}, s.points, ends, s.v, s.w))
	for i := range ends {
		s.check("Exp in closed form", i, out.Matrix(0)[i], ends[i])
		s.check("Log in closed form", i, out.Matrix(1)[i], s.v[i])
		if len(out) > 2 {
			s.check("Transport of the velocity in closed form", i, out.Matrix(2)[i], v[i])
			s.check("Transport in closed form", i, out.Matrix(3)[i], w[i])
		}
	}
}

// led are the ends of geodesics that are so many times as long as those of the suite: where there is nothing so far, their starts.
func (s suite) led(space *geom.Space[geom.Vec], times float64) [][]float64 {
	ends := slices.Clone(s.points)
	for i, z := range s.points {
		if g, err := space.Exp(z, floats.ScaleTo(make([]float64, len(s.v[i])), times, s.v[i])); err == nil {
			ends[i] = g.End
		}
	}
	return ends
}

// folds tests whether charts tell points from others that lie farther away.
func (s suite) folds(space *geom.Space[geom.Vec]) {
	s.t.Helper()
	ends := s.led(space, 3)
	out := expect.Must(engine.Run(func(z, y *Node) []*Node {
		at := geom.At(s.m, z)
		return []*Node{at.Point(at.Coordinates(y))}
	}, s.points, ends))
	for i, z := range out.Matrix(0) { // not finite where the chart does not reach
		if off := floats.Distance(z, ends[i], 2); !s.orbits && !math.IsInf(off, 0) && off > integration*floats.Norm(z, 2) {
			s.t.Errorf("in the chart at point %d two points have the same coordinates: %.9g and %.9g", i, z, ends[i])
		}
	}
}

// logarithms tests those to the ends of the geodesics, which are their velocities, and, with the same calls, to ends about as far as the cut locus of
// a unit sphere. Log may refuse these; where it says Converged, Exp leads to the end in the ambient space and not in a chart alone, and where the
// metric is that of the ambient space the length is not below the chord.
func (s suite) logarithms(form string, space *geom.Space[geom.Vec], near, still [][]float64) {
	s.t.Helper()
	n := len(near)
	ends := slices.Concat(near, s.led(space, 2), s.led(space, 5))
	logs, err := space.LogFrom(slices.Repeat(s.points, 3), ends, slices.Repeat(still, 3))
	if logs == nil {
		s.t.Fatal(err)
	}
	for k, g := range logs {
		i, times, z := k%n, []float64{1, 2, 5}[k/n], ends[k]
		if found := g != nil && g.Status == geom.Converged; times == 1 && found {
			s.check("Log of Exp"+form, i, g.Velocity, s.v[i])
			continue
		} else if !found {
			if times == 1 {
				s.t.Errorf("Log%s at point %d: %v, %v", form, i, g, err)
			}
			continue
		}
		there, err := space.Exp(s.points[i], g.Velocity)
		if err != nil {
			s.t.Errorf("Exp of a logarithm%s that has converged, point %d: %v", form, i, err)
			continue
		}
		chord := floats.Distance(s.points[i], z, 2)
		off := floats.Distance(there.End, z, 2)
		if s.orbits { // another element of the orbit may stand for the point
			off = expect.Must(space.LogFrom([][]float64{there.End}, [][]float64{z}, still[:1]))[0].Length
		}
		if most := 1e-6 * (chord + floats.Norm(z, 2)); !(off <= most) {
			s.t.Errorf("Log%s at point %d to an end %g away: %s, but Exp leads %.3g beside the end", form, i, times*speed, g, off)
		}
		embedded := geom.IsCharted(s.m) && !s.orbits && math.Max(math.Abs(floats.Norm(s.v[i], 2)-speed), math.Abs(floats.Norm(s.w[i], 2)-speed)) < integration
		if times == 2 && !(g.Length <= times*speed*(1+integration)) {
			s.t.Errorf("Log%s at point %d to an end %g away: %s, longer than the geodesic that led there", form, i, times*speed, g)
		}
		if embedded && !(g.Length >= chord*(1-1e-6)) {
			s.t.Errorf("Log%s at point %d to an end %g away: %s, below the chord %.6g", form, i, times*speed, g, chord)
		}
	}
}

// measure returns ‖v‖², ⟨v, w⟩ and ‖w‖² at every point z, and how far y is from z in the chart centred at z.
func (s suite) measure(z, v, w, y [][]float64) (products [][]float64, separation []float64) {
	s.t.Helper()
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		at := geom.At(s.m, in[0])
		x := at.X
		z := Identity(in[0])
		v, w := push(at.Coordinates, z, in[1]), push(at.Coordinates, z, in[2])
		product := inner(at.Manifold, x, []*Node{v, v, w}, []*Node{v, w, w})
		apart := ReduceMax(orInfinite(Abs(Sub(at.Coordinates(in[3]), x))), -1)
		return []*Node{Stack([]*Node{product(0), product(1), product(2)}, -1), apart}
	}, z, v, w, y))
	return out.Matrix(0), out.Vector(1)
}

// check compares vectors: their distance is at most the tolerance of integration.
func (s suite) check(what string, point int, got, want []float64) {
	s.t.Helper()
	tolerance := integration * (1 + floats.Norm(want, 2)) / math.Sqrt(float64(len(want)))
	expect.Abs(s.t, fmt.Sprintf("%s, point %d", what, point), got, want, tolerance)
}

// constant checks that numbers at the times of a path are the first of them.
func (s suite) constant(what string, point int, values []float64) {
	s.t.Helper()
	expect.Abs(s.t, fmt.Sprintf("%s, point %d, at steps", what, point), values, slices.Repeat(values[:1], len(values)), integration*(1+math.Abs(values[0])))
}

// runSubRiemannian tests a degenerate cometric.
func runSubRiemannian(t reporter, m geom.SubRiemannian, points [][]float64) {
	t.Helper()
	var r residuals
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		r = residuals{}
		at := geom.At(m, in[0])
		k, e := geom.CometricMatrix(at.Manifold, at.X), geom.Orthonormal(at.Manifold, at.X)
		r.compare("the cometric is symmetric", k, linalg.T(k))
		r.compare("the cometric is that of the frame", k, linalg.MatMul(e, linalg.T(e)))
		return append(r.values, linalg.SymEig(k).Values)
	}, points))
	for k, name := range r.names {
		if residual := out.Scalar(k); !(residual <= identity) {
			t.Errorf("%s: relative difference %.3g, want at most %.3g", name, residual, identity)
		}
	}
	space := geom.On(m, geom.Integrator(ode.RK4, steps))
	s := suite{t: t, m: m}
	var ends [][]float64
	var lengths []float64
	for i, eigenvalues := range out.Matrix(len(r.names)) {
		for k, e := range eigenvalues {
			if null := m.Dim() - m.Rank(); k < null && math.Abs(e) > identity || k >= null && !(e > identity) {
				t.Errorf("the cometric has eigenvalues %.3g at point %d, want %d positive ones", eigenvalues, i, m.Rank())
			}
		}
		p := lists.Make(geom.PointDim(m), func(k int) float64 { return math.Sin(1.3 * float64(k+1)) })
		there := expect.Must(space.Shoot(points[i], p))
		back := floats.ScaleTo(make([]float64, len(p)), -1, there.Momenta[steps])
		again := expect.Must(space.Shoot(there.End, back))
		s.check("length of a geodesic run backwards", i, []float64{again.Length}, []float64{there.Length})
		s.check("start of a geodesic, run backwards", i, again.End, points[i])
		ends, lengths = append(ends, there.End), append(lengths, there.Length)
	}
	if _, err := space.Exp(points[0], points[0]); err == nil {
		t.Error("Exp of a vector: no error")
	}
	logs := expect.Must(space.LogAll(points, ends))
	for i, g := range logs {
		if g.Status != geom.Converged || g.Length > lengths[i]*(1+identity) {
			t.Errorf("Log to the end of a geodesic, point %d: %s, residual %.3g, length %.9g where that of the geodesic is %.9g", i, g.Status, g.Residual, g.Length, lengths[i])
		}
	}
}
