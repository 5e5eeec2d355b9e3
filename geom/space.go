package geom

import (
	"fmt"
	"math"
	"sync"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/engine"
	"anatomy/geom/ode"
)

// Space computes on a manifold with host slices: every operation is one graph function, compiled at its first use and
// reused. It may be used from several goroutines.
type Space struct {
	M      Manifold
	method ode.Method
	steps  int

	mu    sync.Mutex
	funcs map[string]*engine.Func
}

// Option changes how a Space integrates.
type Option func(*Space)

// Integrator sets the method and its number of steps on [0, 1]. The default is RK4 with 25 steps.
func Integrator(method ode.Method, steps int) Option {
	return func(s *Space) { s.method, s.steps = method, steps }
}

// On returns the space of a manifold.
func On(m Manifold, options ...Option) *Space {
	s := &Space{M: m, method: ode.RK4, steps: 25, funcs: map[string]*engine.Func{}}
	for _, o := range options {
		o(s)
	}
	return s
}

// Geodesic is a geodesic on [0, 1] and, where it was searched for, how well it was found.
type Geodesic struct {
	Start, Velocity, Momentum []float64   // γ(0), γ'(0) and its covector γ'(0)♭
	Points, Momenta           [][]float64 // γ and γ'♭ at the times 0, 1/n, …, 1
	Length                    float64     // ‖γ'(0)‖_g, the distance of the ends where the geodesic is minimal

	Residual   float64 // Log: root mean square of γ(1) − y over the coordinates
	Iterations int     // Log: evaluations of Exp and Newton steps
	Status     Status
}

// Call runs a graph function of this space under a name of its own, compiling it at the first call.
func (s *Space) Call(name string, fn func(in []*Node) []*Node, args ...any) (engine.Values, error) {
	s.mu.Lock()
	f := s.funcs[name]
	if f == nil {
		f = engine.Compile(fn, engine.Name(name))
		s.funcs[name] = f
	}
	s.mu.Unlock()
	return f.Call(args...)
}

// Exp returns the geodesic from x with velocity v.
func (s *Space) Exp(x, v []float64) (*Geodesic, error) {
	if err := s.check("Exp", "point", x, "velocity", v); err != nil {
		return nil, err
	}
	out, err := s.Call("Exp", func(in []*Node) []*Node {
		return s.path(in[0], in[1], Flat(s.M, in[0], in[1]))
	}, x, v)
	return s.geodesic("Exp", x, out, err)
}

// Shoot returns the geodesic from x with momentum p.
func (s *Space) Shoot(x, p []float64) (*Geodesic, error) {
	if err := s.check("Shoot", "point", x, "momentum", p); err != nil {
		return nil, err
	}
	out, err := s.Call("Shoot", func(in []*Node) []*Node {
		return s.path(in[0], Sharp(s.M, in[0], in[1]), in[1])
	}, x, p)
	return s.geodesic("Shoot", x, out, err)
}

func (s *Space) path(x, v, p *Node) []*Node {
	y := ode.Path(Geodesics(s.M), s.method, s.steps, ode.State{x, p})
	return []*Node{y[0], y[1], v, Sqrt(ReduceSum(Mul(v, p), -1))}
}

func (s *Space) geodesic(what string, x []float64, out engine.Values, err error) (*Geodesic, error) {
	if err != nil {
		return nil, err
	}
	g := &Geodesic{Start: x, Points: out.Matrix(0), Momenta: out.Matrix(1), Velocity: out.Vector(2), Length: out.Scalar(3)}
	g.Momentum = g.Momenta[0]
	if i, bad := notFinite(g.Velocity); bad {
		return nil, fmt.Errorf("%s: coordinate %d of the velocity is %g: the metric is singular at the starting point", what, i, g.Velocity[i])
	}
	for k, q := range g.Points {
		if i, bad := notFinite(q); bad {
			return nil, fmt.Errorf("%s: the geodesic diverges at step %d of %d (coordinate %d is %g): it is too fast for the step or leaves the chart; use more steps or a shorter vector",
				what, k, s.steps, i, q[i])
		}
	}
	return g, nil
}

// Log returns the geodesic from x to y: the root of Exp_x(v) = y, found by Broyden's method from v = 0, where the
// Jacobian is the identity, and by Newton's with GMRES where that does not get through. It is the minimal
// geodesic where y is not far beyond the injectivity radius. Geodesic.Status says whether the residual reached
// 1e-10 of |y − x|; the best velocity found is returned in any case.
func (s *Space) Log(x, y []float64) (*Geodesic, error) {
	gs, err := s.LogAll([][]float64{x}, [][]float64{y})
	if err != nil {
		return nil, err
	}
	g, err := s.Exp(x, gs[0].Velocity)
	if err != nil {
		return nil, err
	}
	g.Residual, g.Iterations, g.Status = gs[0].Residual, gs[0].Iterations, gs[0].Status
	return g, nil
}

// LogAll is Log for many pairs at once, without Points and Momenta. The pairs share every compiled call.
func (s *Space) LogAll(x, y [][]float64) ([]*Geodesic, error) { return s.LogFrom(x, y, nil) }

// LogFrom is LogAll with first guesses of the velocities; nil for none.
func (s *Space) LogFrom(x, y, guess [][]float64) ([]*Geodesic, error) {
	if len(x) != len(y) || len(x) == 0 {
		return nil, fmt.Errorf("Log: %d starting points, %d end points", len(x), len(y))
	}
	f0, tol := make([][]float64, len(x)), make([]float64, len(x))
	for b := range x {
		if err := s.check(fmt.Sprintf("Log of pair %d", b), "starting point", x[b], "end point", y[b]); err != nil {
			return nil, err
		}
		f0[b] = floats.SubTo(make([]float64, len(x[b])), x[b], y[b])
		tol[b] = 1e-10*floats.Norm(f0[b], 2) + 1e-13*floats.Norm(y[b], 2)
	}
	minus := func(end [][]float64) [][]float64 {
		for b := range end {
			floats.Sub(end[b], y[b])
		}
		return end
	}
	eq := equations{
		residual: func(v [][]float64) ([][]float64, error) {
			out, err := s.Call("Log", func(in []*Node) []*Node {
				return []*Node{ExpMap(s.M, s.method, s.steps, in[0], in[1])}
			}, x, v)
			if err != nil {
				return nil, err
			}
			return minus(out.Matrix(0)), nil
		},
		derivative: func(v, dv [][]float64) ([][]float64, error) {
			out, err := s.Call("DExp", func(in []*Node) []*Node {
				q, v, dv := in[0], in[1], in[2]
				state := ode.State{q, Flat(s.M, q, v), ZerosLike(q), Flat(s.M, q, dv)}
				return []*Node{ode.Flow(ode.Tangent(Geodesics(s.M)), s.method, s.steps, state)[2]}
			}, x, v, dv)
			if err != nil {
				return nil, err
			}
			return out.Matrix(0), nil
		},
	}
	roots, err := eq.solve(f0, guess, tol)
	if err != nil {
		return nil, err
	}
	v := make([][]float64, len(x))
	for b, r := range roots {
		v[b] = r.x
	}
	out, err := s.Call("Flat", func(in []*Node) []*Node {
		p := Flat(s.M, in[0], in[1])
		return []*Node{p, Sqrt(ReduceSum(Mul(in[1], p), -1))}
	}, x, v)
	if err != nil {
		return nil, err
	}
	momenta, lengths := out.Matrix(0), out.Vector(1)
	gs := make([]*Geodesic, len(x))
	for b, r := range roots {
		gs[b] = &Geodesic{Start: x[b], Velocity: r.x, Momentum: momenta[b], Length: lengths[b],
			Residual: r.norm / math.Sqrt(float64(s.M.Dim())), Iterations: r.iterations, Status: r.status}
	}
	return gs, nil
}

// check validates two vectors of coordinates.
func (s *Space) check(what, nameA string, a []float64, nameB string, b []float64) error {
	for _, v := range []struct {
		name string
		x    []float64
	}{{nameA, a}, {nameB, b}} {
		if len(v.x) != s.M.Dim() {
			return fmt.Errorf("%s: the %s has %d coordinates, the manifold %d", what, v.name, len(v.x), s.M.Dim())
		}
		if i, bad := notFinite(v.x); bad {
			return fmt.Errorf("%s: coordinate %d of the %s is %g", what, i, v.name, v.x[i])
		}
	}
	return nil
}

func notFinite(x []float64) (int, bool) {
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return i, true
		}
	}
	return 0, false
}
