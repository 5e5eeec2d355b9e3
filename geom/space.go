package geom

import (
	"fmt"
	"math"
	"sync"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/ode"
)

// Space computes on a manifold with host slices: every operation is one graph function, compiled at its first use and
// reused. It may be used from several goroutines.
//
// Points and vectors are coordinates, of an Atlas ambient vectors; those off the manifold or its tangent space are an
// error. Where the manifold has ClosedForms they take the place of integration.
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
	// Conjugate is the time of the first point conjugate to the start that Log found, +Inf if there is none: up to it no curve close
	// by is shorter. It is 0 where Log did not look: where it has a closed form or a guess, and on manifolds of one chart.
	Conjugate float64
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
	if err := s.riemannian("Exp"); err != nil {
		return nil, err
	}
	if err := s.check("Exp", "point", x, "velocity", v); err != nil {
		return nil, err
	}
	out, err := s.Call("Exp", func(in []*Node) []*Node {
		if s.direct() {
			return s.directPath(in[0], in[1], nil)
		}
		return s.path(in[0], in[1], Flat(s.M, in[0], in[1]))
	}, x, v)
	return s.geodesic("Exp", x, v, out, err)
}

// Shoot returns the geodesic from x with momentum p.
func (s *Space) Shoot(x, p []float64) (*Geodesic, error) {
	if err := s.check("Shoot", "point", x, "momentum", p); err != nil {
		return nil, err
	}
	out, err := s.Call("Shoot", func(in []*Node) []*Node {
		if s.direct() {
			return s.directPath(in[0], nil, in[1])
		}
		return s.path(in[0], Sharp(s.M, in[0], in[1]), in[1])
	}, x, p)
	return s.geodesic("Shoot", x, nil, out, err)
}

func (s *Space) path(x, v, p *Node) []*Node {
	y := ode.Path(Geodesics(s.M), s.method, s.steps, ode.State{x, p})
	return []*Node{y[0], y[1], v, Sqrt(ReduceSum(Mul(v, p), -1))}
}

func (s *Space) geodesic(what string, x, v []float64, out engine.Values, err error) (*Geodesic, error) {
	if err != nil {
		return nil, err
	}
	if s.direct() {
		if err := checkOn(what, "point", x, out.Scalar(4), "velocity", v, out.Scalar(5)); err != nil {
			return nil, err
		}
	}
	g := &Geodesic{Start: x, Points: out.Matrix(0), Momenta: out.Matrix(1), Velocity: out.Vector(2), Length: out.Scalar(3)}
	g.Momentum = g.Momenta[0]
	if i, bad := notFinite(g.Velocity); bad {
		return nil, fmt.Errorf("%s: coordinate %d of the velocity is %g: the metric is singular at the starting point", what, i, g.Velocity[i])
	}
	for k, q := range g.Points {
		if i, bad := notFinite(q); bad {
			return nil, fmt.Errorf("%s: the geodesic diverges at step %d of %d (coordinate %d is %g): it is too fast for the step, leaves the chart or meets a singular metric; use more steps or a shorter vector",
				what, k, s.steps, i, q[i])
		}
	}
	return g, nil
}

// riemannian refuses what needs a vector's covector where the cometric is degenerate.
func (s *Space) riemannian(what string) error {
	if m, ok := s.M.(SubRiemannian); ok {
		return fmt.Errorf("%s: the cometric has rank %d in dimension %d, so vectors have no momenta: use Shoot", what, m.Rank(), m.Dim())
	}
	return nil
}

// check validates two vectors of coordinates.
func (s *Space) check(what, nameA string, a []float64, nameB string, b []float64) error {
	for _, v := range []struct {
		name string
		x    []float64
	}{{nameA, a}, {nameB, b}} {
		if n := s.coordinates(); len(v.x) != n {
			return fmt.Errorf("%s: the %s has %d coordinates, those of the manifold have %d", what, v.name, len(v.x), n)
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
