package lie

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// MuntheKaas turns an integrator into one that stays on the group, for states whose first part is an element g of the group,
// [..., N²]. In place of the derivative of g the field must return the velocity ξ, [..., d]: g' = g ξ^ for Left and g' = ξ^ g for
// Right. Within a step the element is g exp u, or exp u · g for Right, and the integrator solves
//
//	u' = dexp⁻¹ ξ = ξ ± ½ [u, ξ] + 1/12 [u, [u, ξ]] + O(u⁴),  + for Left, − for Right.
//
// The order is that of the integrator, but at most 4 (H. Munthe-Kaas, Applied Numerical Mathematics 29, 1999).
func (g *Group) MuntheKaas(side Side, method ode.Method) ode.Method {
	return ode.NewMethod("Munthe-Kaas "+method.Name, min(method.Order, 4), func(f ode.Equation, t, dt, dw *Node, y ode.State) ode.State {
		at := y[0]
		moved := func(u *Node) *Node {
			if side == Left {
				return g.Mul(at, g.Exp(u))
			}
			return g.Mul(g.Exp(u), at)
		}
		lifted := func(t *Node, y ode.State, dt, dw *Node) ode.State {
			out := append(ode.State{}, f(t, append(ode.State{moved(y[0])}, y[1:]...), dt, dw)...)
			out[0] = g.chartVelocity(side, y[0], out[0])
			return out
		}
		dims := append([]int{}, at.Shape().Dimensions...)
		dims[len(dims)-1] = g.Dim()
		zero := BroadcastToDims(ScalarZero(at.Graph(), at.DType()), dims...)
		next := append(ode.State{}, method.Step(lifted, t, dt, dw, append(ode.State{zero}, y[1:]...))...)
		next[0] = moved(next[0])
		return next
	})
}

// chartVelocity is dexp⁻¹_(∓u) ξ, to third order in u: for the u of one step.
func (g *Group) chartVelocity(side Side, u, xi *Node) *Node {
	half := 0.5
	if side == Right {
		half = -0.5
	}
	once := g.Bracket(u, xi)
	return Add(xi, Add(MulScalar(once, half), MulScalar(g.Bracket(u, once), 1./12)))
}

// LiePoisson returns the field μ' = ad*_ξ μ for Left and μ' = −ad*_ξ μ for Right, with ξ = ∂h/∂μ, for a Hamiltonian h that takes
// momenta μ, [..., d], to numbers, [...]. States have one part, μ. The solutions conserve h, and μ stays on its coadjoint orbit.
func (g *Group) LiePoisson(side Side, h func(mu *Node) *Node) ode.Field {
	return func(_ *Node, y ode.State) ode.State {
		return ode.State{g.turned(side, autodiff.Grad(h, y[0]), y[0])}
	}
}

// turned is ad*_ξ μ, or −ad*_ξ μ for Right.
func (g *Group) turned(side Side, xi, mu *Node) *Node {
	force := g.BracketDual(xi, mu)
	if side == Right {
		return Neg(force)
	}
	return force
}

// EulerPoincare returns the field of the geodesics of an invariant metric on states (g, μ): g is [..., N²] and the momentum
// μ = A ξ is [..., d], in body coordinates for left-invariant metrics and in space coordinates for right-invariant ones. In place
// of g' it returns the velocity ξ, [..., d]; so it must be integrated by a method that Group.MuntheKaas makes. It panics if m is
// not from LeftInvariant or RightInvariant.
func EulerPoincare(m geom.Charted) ode.Field {
	im, ok := m.(invariantMetric)
	refuse.If(!ok, "lie.EulerPoincare: %T is not an invariant metric of a group", m)
	a := im.of()
	return func(_ *Node, y ode.State) ode.State {
		xi := a.velocity(y[1])
		return ode.State{xi, a.turned(a.side, xi, y[1])}
	}
}

// Motion is a geodesic of an invariant metric from time 0 to T, as the motion of a body.
type Motion[P geom.Point] struct {
	Times      []float64   // 0, T/n, …, T
	Path       []P         // g at these times
	Velocities [][]float64 // ξ, coordinates in the Lie algebra
	Momenta    [][]float64 // μ = A ξ
	Conserved  [][]float64 // Ad*_(g⁻¹) μ for left-invariant metrics, Ad*_g μ for right-invariant ones; constant up to the error
}

// Energy returns ½ A(ξ, ξ) at Times[i]; it is constant up to the error of the integration.
func (m *Motion[P]) Energy(i int) float64 {
	solve.NotNil(m)
	return floats.Dot(m.Velocities[i], m.Momenta[i]) / 2
}

// Move integrates the geodesic of an invariant metric from a point g, with the initial velocity ξ, coordinates in the Lie algebra,
// from time 0 to T in n steps. It integrates the equations of Euler and Poincaré, with g' = g ξ^ for left-invariant and g' = ξ^ g for
// right-invariant metrics, by the method of Munthe-Kaas of order 4. The points stay on the group; Energy and Conserved show how
// exact the motion is. A motion that diverges is an error.
func Move[P geom.Point](on geom.Of[P], start P, velocity []float64, T float64, n int) (_ *Motion[P], err error) {
	defer refuse.About(&err, "Move")
	s := on.Geometry()
	m, err := starting(s, start)
	if err == nil {
		err = m.checkCoordinates("velocity", velocity)
	}
	if err != nil {
		return nil, err
	}
	if n < 1 || !(T > 0) || math.IsInf(T, 1) {
		return nil, fmt.Errorf("%d steps over the time %g, want at least 1 and a finite positive time", n, T)
	}
	out, err := s.Call(operation{"Move", n}, func(in []*Node) []*Node {
		start, xi, T := in[0], in[1], in[2]
		field := EulerPoincare(m)
		scaled := func(t *Node, y ode.State) ode.State {
			out := field(t, y)
			return ode.State{Mul(T, out[0]), Mul(T, out[1])}
		}
		path := ode.Path(scaled, m.MuntheKaas(m.side, ode.RK4), n, ode.State{start, m.momentum(xi)})
		z, mu := path[0], path[1]
		to := z
		if m.side == Left {
			to = m.Inverse(z)
		}
		return []*Node{z, m.velocity(mu), mu, m.Coadjoint(to, mu)}
	}, shape.Flat(start), velocity, T)
	if err != nil {
		return nil, err
	}
	path := out.Matrix(0)
	motion := &Motion[P]{Path: s.Points(path), Velocities: out.Matrix(1), Momenta: out.Matrix(2), Conserved: out.Matrix(3)}
	for i, z := range path {
		t := T * float64(i) / float64(n)
		if !lists.Finite(floats.Sum(z), floats.Sum(motion.Momenta[i])) {
			return nil, fmt.Errorf("the motion diverges at step %d of %d (time %.4g of %.4g): use more steps", i, n, t, T)
		}
		motion.Times = append(motion.Times, t)
	}
	return motion, nil
}

// starting returns the invariant metric of a space, and an error if there is none or z is not an element of the group.
func starting[P geom.Point](s *geom.Space[P], z P) (*metric, error) {
	m, err := on(s.M)
	if err != nil {
		return nil, err
	}
	if err := s.Check("start", z); err != nil {
		return nil, fmt.Errorf("no element of %s: %w", m.name, err)
	}
	return m, nil
}

// checkCoordinates returns an error unless xi are coordinates in the Lie algebra.
func (m *metric) checkCoordinates(name string, xi []float64) error {
	if len(xi) != m.Dim() {
		return fmt.Errorf("the %s has %d coordinates, want %d, those in the Lie algebra of %s", name, len(xi), m.Dim(), m.name)
	}
	if i, bad := lists.NotFinite(xi); bad {
		return fmt.Errorf("coordinate %d of the %s is %g", i, name, xi[i])
	}
	return nil
}
