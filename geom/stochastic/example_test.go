package stochastic_test

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
)

// Brownian motion on the sphere forgets where it began: E z = exp(−T) from the north pole.
func ExampleBrownian() {
	const T = 0.5
	ends, err := stochastic.Brownian(geom.On(manifold.Sphere(2)), []float64{0, 0, 1}).Sample(stochastic.Run{Paths: 4000, Steps: 20, Time: T, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	mean := 0.0
	for _, z := range ends {
		mean += z[2] / float64(len(ends))
	}
	fmt.Println("to 0.02:", math.Abs(mean-math.Exp(-T)) < 0.02)
	// Output: to 0.02: true
}

// A process of one's own: an Ornstein–Uhlenbeck process dx = −θ x dt + σ dW on the line, whose mean is e^{−θT} x_0.
func ExampleEquationOf() {
	const theta, T = 1.5, 1.0
	p := stochastic.Brownian(geom.On(manifold.Euclidean(1)), []float64{2})
	p.Name, p.Params = "Ornstein–Uhlenbeck", []any{theta, 0.3}
	p.Dynamics = stochastic.EquationOf(func(_ geom.Local, params []*Node) ode.Equation {
		return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
			return ode.State{Add(Neg(Mul(Mul(params[0], y[0]), dt)), Mul(params[1], dw))}
		}
	})
	ends, err := p.Sample(stochastic.Run{Paths: 4000, Steps: 40, Time: T, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	mean := 0.0
	for _, x := range ends {
		mean += x[0] / float64(len(ends))
	}
	fmt.Println("to 0.02:", math.Abs(mean-2*math.Exp(-theta*T)) < 0.02)
	// Output: to 0.02: true
}
