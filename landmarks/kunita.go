package landmarks

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
)

// Kunita returns the process in which landmarks are carried by a stochastic flow of the kernel k of the space, from a shape q, [N][D]:
//
//	dx = (σ(x) ⊗ I_D) dW,  σσᵀ = amplitude · k(x_i/width, x_j/width),
//
// in Itô's calculus, without drift, with W in R^(N·D) and σ the Cholesky factor (H. Kunita, Stochastic flows and stochastic differential equations,
// 1990). The amplitude, the variance of a landmark's coordinate in the time 1, is the square of a length (Amplitudes of NoiseFields are lengths); the
// width multiplies those of the kernel: give the space a kernel of width 1 for the width itself. The Params of the process are width and amplitude,
// in this order.
func (s *Space) Kunita(q geom.Shape, width, amplitude float64) (stochastic.Process[geom.Shape], error) {
	for _, x := range []struct {
		name  string
		value float64
	}{{"width", width}, {"amplitude", amplitude}} {
		if !(x.value > 0) || math.IsInf(x.value, 1) {
			return stochastic.Process[geom.Shape]{}, fmt.Errorf("Kunita: %s %g, want a finite positive number", x.name, x.value)
		}
	}
	return stochastic.Process[geom.Shape]{Space: s.Space, Name: "Kunita", Scheme: ode.EulerMaruyama, Noise: s.Manifold.Dim(), Start: geom.Clone(q),
		Params: []any{width, amplitude}, Dynamics: kunita{s.Manifold.N, s.Manifold.D}}, nil
}

type kunita struct{ n, d int }

func (k kunita) Equation(at geom.Local, params []*Node) ode.Equation {
	return func(_ *Node, y ode.State, _, dw *Node) ode.State {
		_, a := k.Separate(at, y, params)
		sigma := linalg.Cholesky(a)
		paths := y[0].Shape().Dim(0)
		return ode.State{Reshape(linalg.MatMul(sigma, Reshape(dw, paths, k.n, k.d)), paths, k.n*k.d)}
	}
}

// Separate is that of guided.Separable.
func (k kunita) Separate(at geom.Local, y ode.State, params []*Node) (b, a *Node) {
	gram := at.Manifold.(Manifold).Gram(Div(y[0], params[0]))
	amplitude := params[1]
	if amplitude.Rank() > 0 {
		amplitude = ExpandAxes(amplitude, -1)
	}
	return nil, Mul(amplitude, gram)
}
