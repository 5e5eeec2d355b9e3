package geom

import (
	"errors"
	"fmt"
	"math"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/ode"
)

// Geodesic is a geodesic γ on [0, 1]. For one that Log searched for, Residual, Iterations and Status say how well it was found.
type Geodesic[P Point] struct {
	Start, End         P       // γ(0), γ(1)
	Velocity, Momentum P       // γ'(0) and its covector γ'(0)♭
	Path, Momenta      []P     // γ and γ'♭ at the times 0, 1/n, …, 1, n being the steps of the space's Integrator
	Length             float64 // ‖γ'(0)‖_g: the distance of Start and End where the geodesic is a shortest one
	Drift              float64 // |H(1)/H(0) − 1|: the energy H of a geodesic is constant, and Drift is the error of the integration

	Residual   float64 // of Log: |γ(1) − y|/√d
	Iterations int     // of Log: evaluations of Exp plus Newton steps
	Status     Status  // of Log: Converged where γ(1) is y to the tolerance of Log, and Drift at most 1 %
	// Conjugate is the time in (0, 1] of the first point conjugate to Start, +Inf if there is none. Up to that time no curve close
	// by is shorter. It is 0 if Log did not search for conjugate points: it does so in up to 8 dimensions, without closed forms, and
	// not from a guess. It is NaN where Drift is more than 1 %, or geodesics close by diverge.
	Conjugate float64
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
	switch g.Status {
	case Converged:
		return nil
	case Stalled:
		steps := ""
		if !(g.Drift <= MaxDrift) {
			steps = fmt.Sprintf("the steps are too few: %s; or ", drifts(g.Drift))
		}
		return fmt.Errorf("%s: %sthe metric is rough or nearly singular on the way, as for landmarks whose kernel is much wider than they are apart; "+
			"take a narrower kernel, or landmarks.Space.Match, which leaves a mismatch", g, steps)
	}
	return errors.New(g.String())
}

// Exp returns the geodesic from x with the initial velocity v; its End is Exp_x(v). It is an error if x is not a point or v not
// tangent, if the geodesic leaves the chart or meets a singular metric, and if the steps of the integrator are too few: if its
// energy drifts by more than 1 %.
func (s *Space[P]) Exp(x, v P) (*Geodesic[P], error) {
	const what = "Exp"
	if err := s.Check("point", x, v); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := s.CheckRegular("point", x); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out, err := s.call(what, func(in []*Node) []*Node { return s.path(in[0], in[1], nil) }, s.Vector(x), s.Vector(v))
	return s.geodesic(what, out, err, MaxDrift)
}

// Shoot returns the geodesic from x with the initial momentum p, a covector. It is Exp of p♯, and works on SubRiemannian
// manifolds too. The errors are those of Exp.
func (s *Space[P]) Shoot(x, p P) (*Geodesic[P], error) {
	return s.shoot(x, p, MaxDrift)
}

// ShootInexact is Shoot whatever the drift of the energy: for momenta of a search that has not arrived.
func (s *Space[P]) ShootInexact(x, p P) (*Geodesic[P], error) {
	return s.shoot(x, p, math.Inf(1))
}

// shoot is Shoot with a bound on the drift of the energy.
func (s *Space[P]) shoot(x, p P, worst float64) (*Geodesic[P], error) {
	const what = "Shoot"
	if err := s.Check("point", x); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if err := s.CheckNumbers("momentum", p); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out, err := s.call(what, func(in []*Node) []*Node { return s.path(in[0], nil, in[1]) }, s.Vector(x), s.Vector(p))
	return s.geodesic(what, out, err, worst)
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
		velocities := push(func(v *Node) *Node { return m.Exp(starts, v) }, Identity(tv), broadcastLike(v, tv))
		return []*Node{points, flatAt(s.M, points, velocities), v, Sqrt(square), ZerosLike(square)}
	}
	path := Path(s.M, Geodesics, s.method, s.steps, ode.State{start, p}, Covector)
	return []*Node{path[0], path[1], v, Sqrt(square), drift(s.M, square, last(path[0]), last(path[1]))}
}

// last is the end of a path, [n + 1, …].
func last(path *Node) *Node { return Squeeze(SliceAxis(path, 0, AxisElem(path.Shape().Dim(0)-1)), 0) }

// drift is |H(1)/H(0) − 1| of a geodesic with the squared speed 2H(0), [...], that ends at a point z with the momentum p; 2H(1) where
// it rests.
func drift(m Manifold, square, z, p *Node) *Node {
	at := At(m, z)
	end := MulScalar(Hamiltonian(at.Manifold)(at.X, at.Enter(Covector, p)), 2)
	off := Abs(Sub(end, square))
	return Where(IsZero(square), off, Div(off, square))
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
	t := MulScalar(IotaFull(v.Graph(), shapes.Make(v.DType(), n+1)), 1/float64(n))
	v = BroadcastPrefix(v, n+1)
	for t.Rank() < v.Rank() {
		t = ExpandAxes(t, -1)
	}
	return Mul(BroadcastToShape(t, v.Shape()), v)
}

// MaxDrift is the largest Drift of a geodesic that is taken for an error of integration: with more Exp and Shoot return an error, and a
// search that has converged is Stalled.
const MaxDrift = 0.01

func (s *Space[P]) geodesic(what string, out engine.Values, err error, worst float64) (*Geodesic[P], error) {
	if err != nil {
		return nil, err
	}
	velocity, path, momenta := out.Vector(2), out.Matrix(0), out.Matrix(1)
	if i, bad := notFinite(velocity); bad {
		return nil, fmt.Errorf("%s: coordinate %d of the velocity is %g: the metric is singular at the starting point", what, i, velocity[i])
	}
	for k, q := range path {
		if i, bad := notFinite(q); bad {
			return nil, fmt.Errorf("%s: the geodesic diverges at step %d of %d (coordinate %d is %g): it is too fast for the step, leaves the chart or meets a singular metric; use more steps or a shorter vector",
				what, k, s.steps, i, q[i])
		}
		if i, bad := notFinite(momenta[k]); bad {
			return nil, fmt.Errorf("%s: the geodesic meets a singular metric at step %d of %d: coordinate %d of its momentum is %g; take a shorter vector or, where the metric is a kernel's, a narrower kernel",
				what, k, s.steps, i, momenta[k][i])
		}
	}
	if math.IsNaN(out.Scalar(3)) {
		return nil, fmt.Errorf("%s: the length of the geodesic is the root of a negative number: the metric is not positive at the starting point", what)
	}
	if m, ok := s.M.(Bounded); ok {
		for k, q := range path {
			if err := m.Fits(q); err != nil {
				return nil, fmt.Errorf("%s: step %d of %d: %w", what, k, s.steps, err)
			}
		}
	}
	g := &Geodesic[P]{Path: s.Points(path), Momenta: s.Points(momenta), Velocity: s.Point(velocity), Length: out.Scalar(3), Drift: out.Scalar(4)}
	g.Start, g.End, g.Momentum = g.Path[0], g.Path[s.steps], g.Momenta[0]
	if !(g.Drift <= worst) {
		return nil, s.tooFewSteps(what, g.Drift)
	}
	return g, nil
}

// tooFewSteps is the error of a geodesic whose energy drifts.
func (s *Space[P]) tooFewSteps(what string, drift float64) error {
	return fmt.Errorf("%s: %d steps of %s are too few: %s or a shorter vector", what, s.steps, s.method.Name, drifts(drift))
}

// drifts says how much an energy drifts, and what to do.
func drifts(drift float64) string {
	return fmt.Sprintf("the energy of the geodesic changes by %.2g %% on the way, at most %g %% is taken for an error of integration; "+
		"use more steps (geom.Integrator)", 100*drift, 100*MaxDrift)
}

// Bounded is an optional interface of manifolds whose cometric is computed correctly in some region only, as with the fast sums
// of a kernel, which are valid in a box.
type Bounded interface {
	// Fits returns an error if x is outside the region.
	Fits(x Vec) error
}

// FlowMap is a graph function: it returns the points and the momenta at time 1, both [..., d], of the geodesics from q with
// initial momenta p, both [..., d]. It is for manifolds whose points are coordinates, not for a Charted manifold.
func (s *Space[P]) FlowMap(q, p *Node) (end, momentum *Node) {
	y := ode.Flow(Geodesics(s.M), s.method, s.steps, ode.State{q, p})
	return y[0], y[1]
}

// FlowTangent is a graph function: it returns the derivatives of both results of FlowMap in the direction dp of the initial
// momenta, with q fixed; all are [..., d].
func (s *Space[P]) FlowTangent(q, p, dp *Node) (end, momentum *Node) {
	y := ode.Flow(ode.Tangent(Geodesics(s.M)), s.method, s.steps, ode.State{q, p, ZerosLike(q), dp})
	return y[2], y[3]
}

// ShootOnGraph is a graph function: it returns the points at time 1 of the geodesics from z with initial momenta p, all [..., a]
// on a Charted manifold and [..., d] elsewhere. It serves objectives that are differentiated with respect to z and p.
func (s *Space[P]) ShootOnGraph(z, p *Node) *Node {
	if m, ok := s.M.(ClosedForms); ok {
		at := At(s.M, z)
		return m.Exp(z, at.Leave(Vector, Sharp(at.Manifold, at.X, at.Enter(Covector, p))))
	}
	return Flow(s.M, Geodesics, s.method, s.steps, ode.State{z, p}, Covector)[0]
}
