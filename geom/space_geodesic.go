package geom

import (
	"cmp"
	"fmt"
	"math"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/engine"
	"anatomy/geom/internal/shortest"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/internal/lists"
)

// Geodesic is a geodesic γ on [0, 1]. For one that Log searched for, Residual, Iterations and Status say how well it was found.
type Geodesic[P Point] struct {
	Start, End         P       // γ(0), γ(1)
	Velocity, Momentum P       // γ'(0) and its covector γ'(0)♭
	Path, Momenta      []P     // γ and γ'♭ at the times 0, 1/n, …, 1
	Length             float64 // ‖γ'(0)‖_g: the distance of Start and End where the geodesic is a shortest one

	Steps int     // n, the steps of the integration
	Drift float64 // the largest |H(t)/H(0) − 1| at the end and at some times before: the energy H of a geodesic is constant
	// StepError is the error of the time steps: how far the end of the geodesic moves with twice as many steps, divided by Length. Where
	// the space chose the steps it is at most 1e-4. It is measured if the space chose the steps and Drift is more than 1e-7. Otherwise it
	// is estimated as Drift^(k/(k+1)) for a method of order k, which has the right order of magnitude but is too small for symplectic methods.
	StepError float64

	Residual   float64 // of Log: |γ(1) − y|/√d
	Iterations int     // of Log: evaluations of Exp plus Newton steps
	Status     Status  // Converged where the steps are enough, and of Log γ(1) is y to its tolerance: see Log
	// Conjugate is the time in (0, 1] of the first point conjugate to Start, +Inf if there is none. Up to that time no curve close by is shorter. It
	// is 0, which means unknown, after Exp and Shoot, and if Log did not search for conjugate points: it does so in up to 8 dimensions, without
	// closed forms, and not from a guess. It is NaN where Drift is more than 1 %, or geodesics close by diverge.
	Conjugate float64
	// Corank, of Log on a SubRiemannian manifold, is the number of directions in which the end cannot be moved to first order by other paths
	// close by. Where it is not 0 the geodesic is abnormal, too: its momentum is not unique, and a path that is no geodesic may be shorter.
	Corank int
}

// String returns one line with the length of the geodesic, its status and, from Log, the residual.
func (g *Geodesic[P]) String() string {
	s := fmt.Sprintf("geodesic of length %.4g, %s", g.Length, g.Status)
	if g.Iterations > 0 {
		s += fmt.Sprintf(" after %d iterations, residual %.2g", g.Iterations, g.Residual)
	}
	return s
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String, and what to do where Log has stalled. A
// script that must not go on with an inexact logarithm checks it after the error of Log.
func (g *Geodesic[P]) Err() error {
	solve.NotNil(g)
	switch g.Status {
	case Converged:
		return nil
	case Stalled:
		steps := ""
		if !shortest.Settled(g.StepError) {
			steps = fmt.Sprintf("the steps are too few: %s; or ", fewSteps(g.Steps, g.StepError))
		}
		return fmt.Errorf("%w: %sthe points are far apart for the search, or the metric is rough or nearly singular on the way: go by a point between "+
			"them; for landmarks, whose kernel may be much wider than they are apart, take a narrower kernel, or landmarks.Space.Match, which leaves a mismatch",
			g.Status.Err(g), steps)
	}
	return g.Status.Err(g)
}

// Exp returns the geodesic from the point x with the initial velocity v, a tangent vector at x. Its End is Exp_x(v), at time 1.
//
// Without an Integrator 25 steps are taken, which is enough if the Drift is at most 1e-7. Otherwise the number of steps is doubled, up to 1600, until
// this moves the end by at most 5e-5 of the length, or the Drift is that small: see Geodesic.StepError.
//
// It is an error if x is not a point or v not tangent, if the geodesic leaves the chart or meets a singular metric, or if the
// steps are too few: the end still moves with 1600 steps or, with a given Integrator, the energy changes by more than 1 %.
func (s *Space[P]) Exp(x, v P) (*Geodesic[P], error) { return converted(s, s.exp, x, v) }

func (s *space) exp(x, v any) (*Geodesic[Vec], error) {
	if err := s.checkBoth("point", x, v); err != nil {
		return nil, about("Exp", err)
	}
	return s.settle("Exp", shot{z: numbers(x), v: numbers(v)})
}

// converted is a geodesic with points of the type of the space.
func converted[P Point](s *Space[P], shoot func(x, v any) (*Geodesic[Vec], error), x, v P) (*Geodesic[P], error) {
	g, err := shoot(x, v)
	if err != nil {
		return nil, err
	}
	return s.geodesic(g), nil
}

func (s *Space[P]) geodesic(g *Geodesic[Vec]) *Geodesic[P] {
	out := &Geodesic[P]{Velocity: s.FromFlat(g.Velocity), Momentum: s.FromFlat(g.Momentum), Path: s.FromFlats(g.Path), Momenta: s.FromFlats(g.Momenta), Length: g.Length,
		Steps: g.Steps, Drift: g.Drift, StepError: g.StepError, Residual: g.Residual, Iterations: g.Iterations, Status: g.Status, Conjugate: g.Conjugate, Corank: g.Corank}
	if last := len(out.Path) - 1; last >= 0 {
		out.Start, out.End = out.Path[0], out.Path[last]
	} else {
		out.Start = s.FromFlat(g.Start)
	}
	return out
}

// Shoot returns the geodesic from the point x with the initial momentum p, a covector at x. It equals Exp with the velocity p♯
// = g*p. It also works on SubRiemannian manifolds. The errors are those of Exp.
func (s *Space[P]) Shoot(x, p P) (*Geodesic[P], error) { return converted(s, s.shootMomentum, x, p) }

func (s *space) shootMomentum(x, p any) (*Geodesic[Vec], error) {
	if err := cmp.Or(s.check("point", x), s.checkNumbers("momentum", p)); err != nil {
		return nil, about("Shoot", err)
	}
	return s.settle("Shoot", shot{z: numbers(x), p: numbers(p)})
}

// shot is where a geodesic starts, with a velocity or else a momentum.
type shot struct{ z, v, p Vec }

// settle is shoot with as many steps as the geodesic needs, if the space doubles them.
func (s *space) settle(what string, from shot) (*Geodesic[Vec], error) {
	if factorsOf(s.M) != nil {
		return s.ofFactors(what, from, 0)
	}
	g, err := s.shoot(what, from, 1)
	if s.inexact {
		return g, err
	}
	for times := 2; s.doubles && times <= shortest.Doubled && (err != nil || !(g.Drift <= shortest.Calm)); times *= 2 {
		finer, failed := s.shoot(what, from, times)
		if err != nil && failed != nil {
			return nil, err // as more steps do not help
		}
		if err == nil && failed == nil {
			if g.StepError = arcOf(g).Moved(finer.End); shortest.Settled(g.StepError) {
				break
			}
			if finer.Drift > shortest.Calm {
				finer.StepError = g.StepError
			}
		}
		g, err = finer, failed
	}
	if err != nil {
		return nil, err
	}
	if g.Status = g.Status.Certified(shortest.Enough(g.Drift, g.StepError, s.doubles)); g.Status != Converged {
		return nil, fmt.Errorf("%s: %w", what, s.tooFewSteps(g.Steps, g.StepError))
	}
	return g, nil
}

// arcOf is the geodesic without most of its Path.
func arcOf(g *Geodesic[Vec]) shortest.Arc {
	a := shortest.Arc{Start: g.Start, Length: g.Length}
	stride := g.Steps / shortest.Parts(g.Steps)
	for k := stride; k <= g.Steps; k += stride {
		a.Points, a.Momenta = append(a.Points, g.Path[k]), append(a.Momenta, g.Momenta[k])
	}
	return a
}

// shoot returns a geodesic by a multiple of the steps of the space, whatever its Drift. It is put together from geodesics with 1/times of
// its velocity, so that programs are compiled for the steps of the space only.
func (s *space) shoot(what string, from shot, times int) (*Geodesic[Vec], error) {
	if factorsOf(s.M) != nil {
		return s.ofFactors(what, from, times)
	}
	share := 1 / float64(times)
	scaled := func(by float64, x Vec) Vec { return floats.ScaleTo(make(Vec, len(x)), by, x) }
	g := &Geodesic[Vec]{Steps: times * s.steps}
	var path, momenta []Vec
	var square, off float64 // 2H(0), and by how much it changes at most
	for k := range times {
		var out engine.Values
		var err error
		if from.v != nil {
			out, err = s.call("Exp", func(in []*Node) []*Node { return s.path(in[0], in[1], nil) }, from.z, scaled(share, from.v))
		} else {
			out, err = s.call("Shoot", func(in []*Node) []*Node { return s.path(in[0], nil, in[1]) }, from.z, scaled(share, from.p))
		}
		if err != nil {
			return nil, err
		}
		points, covectors := out.Matrix(0), out.Matrix(1)
		if k == 0 {
			path, momenta = points[:1:1], []Vec{scaled(1/share, covectors[0])}
			velocity := scaled(1/share, out.Vector(2))
			if i, bad := lists.NotFinite(velocity); bad {
				return nil, fmt.Errorf("%s: coordinate %d of the velocity is %g: the metric is singular at the starting point", what, i, velocity[i])
			}
			square = out.Scalar(3)
			g.Velocity, g.Length = velocity, length(velocity, momenta[0])
		}
		for _, later := range out.Vector(4) {
			off = math.Max(off, math.Abs(later-square)) // NaN if one is
		}
		for i, q := range points[1:] {
			p := scaled(1/share, covectors[i+1])
			if err := s.passed(q, p, len(path), g.Steps); err != nil {
				return nil, about(what, err)
			}
			path, momenta = append(path, q), append(momenta, p)
		}
		from = shot{z: path[len(path)-1], p: momenta[len(momenta)-1]}
	}
	if math.IsNaN(g.Length) {
		return nil, fmt.Errorf("%s: the length of the geodesic is the root of a negative number: the metric is not positive at the starting point", what)
	}
	if g.Drift = off; square > 0 {
		g.Drift /= square
	}
	g.StepError = shortest.Estimated(s.method.Order, g.Drift)
	g.Status = g.Status.Certified(shortest.Enough(g.Drift, g.StepError, s.doubles))
	g.Path, g.Momenta = path, momenta
	g.Start, g.End, g.Momentum = path[0], path[len(path)-1], momenta[0]
	return g, nil
}

// passed returns an error where the point q or the momentum p of a geodesic after a step are not finite, or q is where the metric does not hold.
func (s *space) passed(q, p Vec, step, steps int) error {
	if i, bad := lists.NotFinite(q); bad {
		return fmt.Errorf("the geodesic diverges at step %d of %d (coordinate %d is %g): it is too fast for the step, leaves the chart or meets a "+
			"singular metric; use more steps or a shorter vector", step, steps, i, q[i])
	}
	if i, bad := lists.NotFinite(p); bad {
		return fmt.Errorf("at step %d of %d coordinate %d of the geodesic's momentum is %g: the numbers of the point are too large for double "+
			"precision, or the metric is singular there; take a shorter vector or, where the metric is a kernel's, a narrower kernel", step, steps, i, p[i])
	}
	if m, ok := s.M.(Bounded); ok {
		return about(fmt.Sprintf("step %d of %d", step, steps), m.Fits(q))
	}
	return nil
}

// length is the length √⟨p, v⟩ of a vector v with the covector p, also where the product is too small or too large for a number.
func length(v, p Vec) float64 {
	square, a, b := floats.Dot(v, p), floats.Norm(v, 2), floats.Norm(p, 2)
	if a == 0 || b == 0 || math.Abs(square) > 1e-290 && !math.IsInf(square, 0) {
		return math.Sqrt(square)
	}
	unit := func(x Vec, norm float64) Vec { return floats.ScaleTo(make(Vec, len(x)), 1/norm, x) }
	return math.Sqrt(a) * math.Sqrt(b) * math.Sqrt(floats.Dot(unit(v, a), unit(p, b)))
}

// path returns points and momenta at all times, the velocity and the squared speed of the geodesic from z with a velocity or else a
// momentum, and squared speeds on the way.
func (s *space) path(z, v, p *Node) []*Node {
	at := At(s.M, z)
	var x *Node
	if v != nil {
		x = at.Enter(Vector, v)
		p = at.Leave(Covector, Flat(at.Manifold, at.X, x))
	} else {
		x = Sharp(at.Manifold, at.X, at.Enter(Covector, p))
	}
	v = at.Leave(Vector, x)
	start := at.Moved(at.X).Z
	square := ReduceSum(Mul(v, p), -1)
	if m, ok := s.M.(ClosedForms); ok {
		tv := times(s.steps, v)
		starts := linalg.Lead(start, tv, 1)
		points := m.Exp(starts, tv)
		return []*Node{points, flatAt(s.M, points, closedVelocity(m, starts, tv, linalg.Lead(v, tv, 1))), v, square, ExpandAxes(square, 0)}
	}
	path := Path(s.M, Geodesics, s.method, s.steps, ode.State{start, p}, Covector)
	return []*Node{path[0], path[1], v, square, squares(s.M, stations(path))}
}

// flatAt is v♭ of tangent vectors v at points z; all are ambient on a Charted manifold. On a Regulariser it is (g* + 1e-12)⁻¹ v, which
// exists where rounding makes g* singular; g* of it is v otherwise, to that much.
func flatAt(m Manifold, z, v *Node) *Node {
	if r, ok := m.(Regulariser); ok {
		return r.RegularFlat(z, v, MulScalar(OnesLike(ReduceSum(v, -1)), 1e-12))
	}
	at := At(m, z)
	return at.Leave(Covector, Flat(at.Manifold, at.X, at.Enter(Vector, v)))
}

// times is t v at the times 0, 1/n, …, 1, [n + 1, …].
func times(n int, v *Node) *Node {
	return atTimes(MulScalar(IotaFull(v.Graph(), shapes.Make(v.DType(), n+1)), 1/float64(n)), v)
}

// atTimes is t v for each of the times t.
func atTimes(t, v *Node) *Node {
	v = BroadcastPrefix(v, t.Shape().Dim(0))
	for t.Rank() < v.Rank() {
		t = ExpandAxes(t, -1)
	}
	return Mul(BroadcastToShape(t, v.Shape()), v)
}

// MaxDrift is the largest Drift that is accepted where the number of steps is fixed. With an Integrator, Exp and Shoot return an error if the Drift
// is larger, and a logarithm is Stalled. Transport and Conjugate return an error on every space.
const MaxDrift = shortest.MaxDrift

// tooFewSteps is the error of a geodesic that needs more steps.
func (s *space) tooFewSteps(steps int, stepError float64) error {
	return fmt.Errorf("the steps of %s are too few: %s or a shorter vector", s.method.Name, fewSteps(steps, stepError))
}

// fewSteps says what more steps would change, and what to do.
func fewSteps(steps int, stepError float64) string {
	return fmt.Sprintf("%d leave the end of the geodesic wrong by about %.2g %% of its length; use more steps (geom.Integrator)", steps, 100*stepError)
}

// Bounded is an optional interface of manifolds whose cometric is computed correctly in some region only, as with the fast sums
// of a kernel, which are valid in a box.
type Bounded interface {
	// Fits returns an error if x is outside the region.
	Fits(x Vec) error
}

// FlowMap is Shoot on the graph, with the steps of the Integrator: it returns the points and the momenta at time 1 of the geodesics from z with
// initial momenta p, all [..., a] on a Charted manifold and [..., d] elsewhere. Where p has more leading axes than z, several geodesics start at
// each point. Both results can be differentiated with respect to z and p. For the geodesics with velocities v take p = Flat(m, z, v), in
// coordinates.
func (s *space) FlowMap(z, p *Node) (end, momentum *Node) {
	z = linalg.Lead(z, p, 1)
	m, ok := s.M.(ClosedForms)
	if !ok {
		y := Flow(s.M, Geodesics, s.method, s.steps, ode.State{z, p}, Covector)
		return y[0], y[1]
	}
	at := At(s.M, z)
	v := at.Leave(Vector, Sharp(at.Manifold, at.X, at.Enter(Covector, p)))
	return m.Exp(z, v), flatAt(s.M, m.Exp(z, v), closedVelocity(m, z, v, v))
}

// FlowTangent is a graph function: it returns the derivatives of both results of FlowMap in the direction dp of the initial momenta, with q fixed; all
// are [..., d]. It is for manifolds whose points are coordinates, not for a Charted manifold.
func (s *space) FlowTangent(q, p, dp *Node) (end, momentum *Node) {
	y := ode.Flow(ode.Tangent(Geodesics(s.M)), s.method, s.steps, ode.State{q, p, ZerosLike(q), dp})
	return y[2], y[3]
}

// closedVelocity is w, parallel to the geodesic from z with velocity v, at its end.
func closedVelocity(m ClosedForms, z, v, w *Node) *Node {
	if t, ok := m.(ClosedTransport); ok {
		return t.Transport(z, v, w)
	}
	return push(func(v *Node) *Node { return m.Exp(z, v) }, Identity(v), w)
}

// accuracy is the largest StepError where the space chose the steps.
const accuracy = shortest.Accuracy

// Steady returns a space with as many steps as the given geodesics took, if that is more than those of s, and these steps only. With
// it, lengths depend smoothly on points, as searches need it: a space that doubles its steps as needed does so suddenly. A space
// whose Integrator was given is returned as it is.
func (s *Space[P]) Steady(geodesics ...*Geodesic[P]) *Space[P] {
	most := s.steps
	for _, g := range geodesics {
		most = max(most, g.Steps)
	}
	return &Space[P]{*s.steady(most)}
}

func (s *space) steady(steps int) *space {
	if !s.doubles {
		return s
	}
	return s.with([]Option{Integrator(s.method, steps)})
}

// stations are the states at the ends of equal parts of a path, [parts, …], of one with a state at every step, [n + 1, …].
func stations(path ode.State) ode.State {
	out := make(ode.State, len(path))
	for j, x := range path {
		n := x.Shape().Dim(0) - 1
		stride := n / shortest.Parts(n)
		out[j] = SliceAxis(x, 0, AxisRange(stride, n+1).Stride(stride))
	}
	return out
}

// squares are 2H, the squared speeds, of states (q, p).
func squares(m Manifold, y ode.State) *Node {
	at := At(m, y[0])
	return MulScalar(Hamiltonian(at.Manifold)(at.X, at.Enter(Covector, y[1])), 2)
}

// drift is the largest |H(t)/H(0) − 1| of geodesics with the squared speed 2H(0), [...], of the squared speeds at some times, [k, ...];
// 2H(t) where they rest.
func drift(square, later *Node) *Node {
	off := Abs(Sub(later, BroadcastPrefix(square, later.Shape().Dim(0))))
	off = ReduceMax(orInfinite(off), 0)
	return Where(IsZero(square), off, Div(off, square))
}

// orInfinite is x ≥ 0, and +Inf where it is not a number: a maximum may pass over NaN.
func orInfinite(x *Node) *Node { return Where(IsFinite(x), x, AddScalar(ZerosLike(x), math.Inf(1))) }
