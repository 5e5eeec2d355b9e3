package geom

import (
	"errors"
	"fmt"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/ode"
)

// Geodesic is a geodesic on [0, 1] and, where it was searched for, how well it was found.
type Geodesic[P Point] struct {
	Start, End         P       // γ(0), γ(1)
	Velocity, Momentum P       // γ'(0) and its covector γ'(0)♭
	Path, Momenta      []P     // γ and γ'♭ at the times 0, 1/n, …, 1
	Length             float64 // ‖γ'(0)‖_g, the distance of the ends where the geodesic is minimal
	Drift              float64 // |H(1)/H(0) − 1|: the energy of a geodesic is constant, that of a coarse integration is not

	Residual   float64 // Log: root mean square of γ(1) − y over the coordinates
	Iterations int     // Log: evaluations of Exp and Newton steps
	Status     Status
	// Conjugate is the time of the first point conjugate to the start that Log found, +Inf if there is none: up to it no curve
	// close by is shorter. It is 0 where Log did not look: where it has a closed form or a guess, and on manifolds of one chart.
	Conjugate float64
}

// String says what the geodesic is in one line.
func (g *Geodesic[P]) String() string {
	s := fmt.Sprintf("geodesic of length %.4g, %s", g.Length, g.Status)
	if g.Iterations > 0 {
		s += fmt.Sprintf(" after %d iterations, residual %.2g", g.Iterations, g.Residual)
	}
	return s
}

// Err is nil where the search for the geodesic converged: what a script checks beside the error of Log.
func (g *Geodesic[P]) Err() error {
	if g.Status == Converged {
		return nil
	}
	return errors.New(g.String())
}

// Exp returns the geodesic from x with velocity v.
func (s *Space[P]) Exp(x, v P) (*Geodesic[P], error) {
	const what = "Exp"
	if err := s.Check("point", x, v); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := s.CheckRegular("point", x); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out, err := s.call(what, func(in []*Node) []*Node { return s.path(in[0], in[1], nil) }, s.Vector(x), s.Vector(v))
	return s.geodesic(what, out, err)
}

// Shoot returns the geodesic from x with momentum p.
func (s *Space[P]) Shoot(x, p P) (*Geodesic[P], error) {
	const what = "Shoot"
	if err := s.Check("point", x); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := s.CheckNumbers("momentum", p); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out, err := s.call(what, func(in []*Node) []*Node { return s.path(in[0], nil, in[1]) }, s.Vector(x), s.Vector(p))
	return s.geodesic(what, out, err)
}

// path returns points and momenta at all times, velocity, length and drift of the geodesic from z with a velocity or else a
// momentum.
func (s *Space[P]) path(z, v, p *Node) []*Node {
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
		starts := broadcastLike(start, tv)
		points := m.Exp(starts, tv)
		velocities := m.Transport(starts, tv, broadcastLike(v, tv))
		return []*Node{points, flatAt(s.M, points, velocities), v, Sqrt(square), ZerosLike(square)}
	}
	path := Path(s.M, Geodesics, s.method, s.steps, ode.State{start, p}, Covector)
	last := func(x *Node) *Node { return Squeeze(SliceAxis(x, 0, AxisElem(s.steps)), 0) }
	end := At(s.M, last(path[0]))
	covector := end.Enter(Covector, last(path[1]))
	drift := Abs(Sub(ReduceSum(Mul(covector, Sharp(end.Manifold, end.X, covector)), -1), square))
	return []*Node{path[0], path[1], v, Sqrt(square), Where(IsZero(square), drift, Div(drift, square))}
}

// flatAt is v♭ of tangent vectors at points, as a Space shows both.
func flatAt(m Manifold, z, v *Node) *Node {
	at := At(m, z)
	return at.Leave(Covector, Flat(at.Manifold, at.X, at.Enter(Vector, v)))
}

// times is t v at the times 0, 1/n, …, 1, [n + 1, …].
func times(n int, v *Node) *Node {
	t := MulScalar(IotaFull(v.Graph(), shapes.Make(v.DType(), n+1)), 1/float64(n))
	v = BroadcastPrefix(v, n+1)
	for t.Rank() < v.Rank() {
		t = ExpandAxes(t, -1)
	}
	return Mul(BroadcastToShape(t, v.Shape()), v)
}

// worstDrift is how far the energy of a geodesic may be off at its end.
const worstDrift = 0.01

func (s *Space[P]) geodesic(what string, out engine.Values, err error) (*Geodesic[P], error) {
	if err != nil {
		return nil, err
	}
	velocity, path := out.Vector(2), out.Matrix(0)
	if i, bad := notFinite(velocity); bad {
		return nil, fmt.Errorf("%s: coordinate %d of the velocity is %g: the metric is singular at the starting point", what, i, velocity[i])
	}
	for k, q := range path {
		if i, bad := notFinite(q); bad {
			return nil, fmt.Errorf("%s: the geodesic diverges at step %d of %d (coordinate %d is %g): it is too fast for the step, leaves the chart or meets a singular metric; use more steps or a shorter vector",
				what, k, s.steps, i, q[i])
		}
	}
	if m, ok := s.M.(Bounded); ok {
		for k, q := range path {
			if err := m.Fits(q); err != nil {
				return nil, fmt.Errorf("%s: step %d of %d: %w", what, k, s.steps, err)
			}
		}
	}
	g := &Geodesic[P]{Path: s.Points(path), Momenta: s.Points(out.Matrix(1)), Velocity: s.Point(velocity), Length: out.Scalar(3), Drift: out.Scalar(4)}
	g.Start, g.End, g.Momentum = g.Path[0], g.Path[s.steps], g.Momenta[0]
	if !(g.Drift <= worstDrift) {
		return nil, fmt.Errorf("%s: %d steps of %s are too few: the energy of the geodesic changes by %.2g %% on the way, at most %g %% is taken for an error of integration; use more steps (geom.Integrator) or a shorter vector",
			what, s.steps, s.method.Name, 100*g.Drift, 100*worstDrift)
	}
	return g, nil
}

// Bounded is a manifold whose cometric holds for points in some region only, as the fast sums of a kernel do.
type Bounded interface {
	Fits(x Vec) error
}

// FlowMap returns the end points and the end momenta, [..., d], of the geodesics from q with momenta p, on the graph, on a
// manifold with coordinates: ShootOnGraph with the other half.
func (s *Space[P]) FlowMap(q, p *Node) (end, momentum *Node) {
	y := ode.Flow(Geodesics(s.M), s.method, s.steps, ode.State{q, p})
	return y[0], y[1]
}

// FlowTangent returns the derivatives of what FlowMap returns along dp.
func (s *Space[P]) FlowTangent(q, p, dp *Node) (end, momentum *Node) {
	y := ode.Flow(ode.Tangent(Geodesics(s.M)), s.method, s.steps, ode.State{q, p, ZerosLike(q), dp})
	return y[2], y[3]
}

// ShootOnGraph returns the end points, [..., a], of the geodesics from z with momenta p, both [..., a], on the graph: what
// Shoot computes, for objectives that are differentiated by point and momentum.
func (s *Space[P]) ShootOnGraph(z, p *Node) *Node {
	if m, ok := s.M.(ClosedForms); ok {
		at := At(s.M, z)
		return m.Exp(z, at.Leave(Vector, Sharp(at.Manifold, at.X, at.Enter(Covector, p))))
	}
	return Flow(s.M, Geodesics, s.method, s.steps, ode.State{z, p}, Covector)[0]
}
