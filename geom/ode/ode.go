// Package ode integrates fields dy = f(t, y)·dz inside compiled loops: ordinary differential equations (dz = dt),
// Hamiltonian systems, and stochastic equations with noise that is an input, dz = (dt, dW). Everything that moves goes through it: geodesics, transport, development.
//
// A state y is a list of nodes of any shapes, a point with its frame or a position with its momentum. All functions
// build graphs; reverse mode goes through an integration as through any other graph.
package ode

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
)

// State is what moves: one node for every part.
type State = []*Node

// Field is the right-hand side of dy/dt = f(t, y), t a scalar node.
type Field func(t *Node, y State) State

// Method takes one step of length h from time t; h and t are scalar nodes.
type Method struct {
	Name  string
	Order int // the global error is O(h^Order)
	Step  func(f Field, t, h *Node, y State) State
}

// Euler is y + h f(t, y), order 1; it is what the paper prints.
var Euler = Method{"Euler", 1, func(f Field, t, h *Node, y State) State {
	return Axpy(h, f(t, y), y)
}}

// Heun is the trapezoidal predictor-corrector, order 2.
var Heun = Method{"Heun", 2, func(f Field, t, h *Node, y State) State {
	k1 := f(t, y)
	k2 := f(Add(t, h), Axpy(h, k1, y))
	half := MulScalar(h, 0.5)
	return Axpy(half, k2, Axpy(half, k1, y))
}}

// RK4 is the classical Runge-Kutta method, order 4.
var RK4 = Method{"RK4", 4, func(f Field, t, h *Node, y State) State {
	half := MulScalar(h, 0.5)
	k1 := f(t, y)
	k2 := f(Add(t, half), Axpy(half, k1, y))
	k3 := f(Add(t, half), Axpy(half, k2, y))
	k4 := f(Add(t, h), Axpy(h, k3, y))
	out := make(State, len(y))
	for j := range y {
		sum := Add(Add(k1[j], k4[j]), MulScalar(Add(k2[j], k3[j]), 2))
		out[j] = Add(y[j], Mul(MulScalar(h, 1.0/6), sum))
	}
	return out
}}

// ImplicitMidpoint solves y' = y + h f(t + h/2, (y + y')/2) by the given number of fixed-point iterations from an
// Euler step, order 2. Solved to rounding it is symplectic for every Hamiltonian system, keeps quadratic invariants
// (momenta) and is its own inverse under time reversal; each iteration gains a factor of order h.
func ImplicitMidpoint(iterations int) Method {
	return Method{"implicit midpoint", 2, func(f Field, t, h *Node, y State) State {
		half := MulScalar(h, 0.5)
		mid := Axpy(half, f(t, y), y)
		for range iterations {
			mid = Axpy(half, f(Add(t, half), mid), y)
		}
		out := make(State, len(y))
		for j := range y {
			out[j] = Sub(MulScalar(mid[j], 2), y[j])
		}
		return out
	}}
}

// Axpy returns y + a x for a scalar node a and every part of the state.
func Axpy(a *Node, x, y State) State {
	if len(x) != len(y) {
		panic(fmt.Sprintf("ode: the field returns %d parts for a state of %d", len(x), len(y)))
	}
	out := make(State, len(y))
	for j := range y {
		if !x[j].Shape().Equal(y[j].Shape()) {
			panic(fmt.Sprintf("ode: part %d of the state has shape %s, the field's %s", j, y[j].Shape(), x[j].Shape()))
		}
		out[j] = Add(y[j], Mul(a, x[j]))
	}
	return out
}

// Flow integrates dy/dt = f(t, y) from t = 0 to t = 1 in n steps and returns the final state.
func Flow(f Field, m Method, n int, y State) State {
	final, _ := integrate(f, m, n, y, false)
	return final
}

// Path is Flow with all states: every part gets a leading axis of n + 1 times, the start first.
func Path(f Field, m Method, n int, y State) State {
	return withEnd(integrate(f, m, n, y, true))
}

// withEnd puts the final state behind those before the steps.
func withEnd(final, before State) State {
	out := make(State, len(final))
	for j := range final {
		out[j] = Concatenate([]*Node{before[j], ExpandAxes(final[j], 0)}, 0)
	}
	return out
}

func integrate(f Field, m Method, n int, y State, keep bool) (final, before State) {
	dtype := y[0].DType()
	return autodiff.Scan(n, func(i *Node, y, _ []*Node) ([]*Node, []*Node) {
		h := Scalar(i.Graph(), dtype, 1/float64(n))
		next := m.Step(f, Mul(ConvertDType(i, dtype), h), h, y)
		if !keep {
			return next, nil
		}
		return next, y
	}, y, nil)
}

// Hamilton is the field q' = ∂H/∂p, p' = −∂H/∂q of a Hamiltonian, by automatic differentiation. The state is (q, p);
// H(q, p) may have batch axes in front, which stay independent.
func Hamilton(h func(q, p *Node) *Node) Field {
	return func(_ *Node, y State) State {
		g := Gradient(ReduceAllSum(h(y[0], y[1])), y[0], y[1])
		return State{g[1], Neg(g[0])}
	}
}

// Tangent is the field of (y, δy) that carries a variation along with the solution: δy' = Df(t, y) δy.
func Tangent(f Field) Field {
	return func(t *Node, s State) State {
		k := len(s) / 2
		v, dv := autodiff.Pushforward(func(y []*Node) []*Node { return f(t, y) }, s[:k], s[k:])
		return append(v, dv...)
	}
}
