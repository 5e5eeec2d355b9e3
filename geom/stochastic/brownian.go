package stochastic

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
)

// Brownian is Brownian motion from a point, the process with the generator ½Δ, in coordinates:
//
//	dx^i = −½ g^kl Γ^i_kl dt + E^i_a dW^a,  E Eᵀ = g*, E the Cholesky factor,
//
// in Itô's calculus (E. Hsu, Stochastic analysis on manifolds, 2002, section 3.3).
func Brownian(s *geom.Space, start []float64) Process {
	return Process{Space: s, Name: "Brownian motion", Scheme: ode.EulerMaruyama, Noise: s.M.Dim(), Start: start,
		Equation: func(m geom.Manifold, _ []*Node) ode.Equation {
			return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
				drift := Mul(dt, MulScalar(geom.ChristoffelTrace(m, y[0]), -0.5))
				return ode.State{Add(drift, linalg.MatVec(geom.Orthonormal(m, y[0]), dw))}
			}
		}}
}

// Development is the stochastic development of Brownian motion in R^m from a point and a frame ν of m ≤ d tangent vectors
// there, one a row: the process x of
//
//	dx = Σ_α ν_α ∘ dW^α,  dν_β = −Γ(∘dx, ν_β),
//
// in Stratonovich's calculus, which keeps the frame parallel along the path (Hsu, section 2.3; S. Sommer, Anisotropic
// distributions on manifolds, 2015). With an orthonormal basis as its frame it is Brownian motion.
func Development(s *geom.Space, start []float64, frame [][]float64) (Process, error) {
	if d := s.M.Dim(); len(frame) < 1 || len(frame) > d {
		return Process{}, fmt.Errorf("Development: a frame of %d vectors, want 1 to %d, the dimension", len(frame), d)
	}
	return Process{Space: s, Name: "Development", Scheme: ode.EulerHeun, Noise: len(frame), Start: start,
		Parts: []Part{{geom.Vector, frame}},
		Equation: func(m geom.Manifold, _ []*Node) ode.Equation {
			return func(t *Node, y ode.State, _, dw *Node) ode.State {
				rate := Transpose(dw, 0, 1)
				return framebundle.DevelopmentField(m, func(*Node) *Node { return rate })(t, y)
			}
		}}, nil
}

// Orthonormal returns an orthonormal basis of the tangent space at a point, one vector a row.
func Orthonormal(s *geom.Space, x []float64) ([][]float64, error) {
	const what = "Orthonormal"
	if err := checkVector(s, what, "point", x); err != nil {
		return nil, err
	}
	if err := checkOn(s, what, x, nil); err != nil {
		return nil, err
	}
	out, err := s.Call(what, func(in []*Node) []*Node {
		none := Zeros(in[0].Graph(), in[0].Shape())
		basis := geom.InChart(s.M, []geom.Kind{geom.Vector}, func(m geom.Manifold, y ode.State) ode.State {
			return ode.State{y[0], linalg.T(geom.Orthonormal(m, y[0]))}
		}, ode.State{in[0], none})
		return basis[1:]
	}, x)
	if err != nil {
		return nil, err
	}
	return out.Matrix(0), nil
}
