// Package ode integrates fields dy = f(t, y)·dz inside compiled loops: ordinary differential equations (dz = dt),
// Hamiltonian systems, and stochastic equations with noise that is an input, dz = (dt, dW). Everything that moves goes through
// it: geodesics, transport, development.
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

// Equation returns the increment dy = f(t, y)·dz of every part, linear in that of a driving path, dz = (dt, dW): t and dt
// are scalar nodes, dW is [..., m], nil where no noise drives. A Field is the case f(t, y) dt.
//
// With noise, what an equation means depends on the calculus, so it goes with a Scheme of the same one. The two are
// related by ItoFromStratonovich and StratonovichFromIto.
type Equation func(t *Node, y State, dt, dw *Node) State

// Equation is f(t, y) dt.
func (f Field) Equation() Equation {
	return func(t *Node, y State, dt, _ *Node) State { return scale(dt, f(t, y)) }
}

// Method takes steps of an equation along a driving path. Two methods are equal, as values, where they are one.
type Method struct{ *method }

type method struct {
	Name  string
	Order int // without noise the global error is O(dt^Order)
	// Step returns y at time t + dt from that at t.
	Step func(f Equation, t, dt, dw *Node, y State) State
}

// NewMethod makes a method of one's own. Order is 1 at least.
func NewMethod(name string, order int, step func(f Equation, t, dt, dw *Node, y State) State) Method {
	return Method{&method{name, order, step}}
}

// Euler is y + f(t, y)·dz, order 1; it is what the paper prints.
var Euler = NewMethod("Euler", 1, func(f Equation, t, dt, dw *Node, y State) State {
	return add(y, f(t, y, dt, dw))
})

// Heun is the trapezoidal predictor-corrector, order 2.
var Heun = NewMethod("Heun", 2, func(f Equation, t, dt, dw *Node, y State) State {
	k1 := f(t, y, dt, dw)
	k2 := f(Add(t, dt), add(y, k1), dt, dw)
	return axpy(0.5, k2, axpy(0.5, k1, y))
})

// RK4 is the classical Runge-Kutta method, order 4.
var RK4 = NewMethod("RK4", 4, func(f Equation, t, dt, dw *Node, y State) State {
	middle := Add(t, MulScalar(dt, 0.5))
	k1 := f(t, y, dt, dw)
	k2 := f(middle, axpy(0.5, k1, y), dt, dw)
	k3 := f(middle, axpy(0.5, k2, y), dt, dw)
	k4 := f(Add(t, dt), add(y, k3), dt, dw)
	out := make(State, len(y))
	for j := range y {
		sum := Add(Add(k1[j], k4[j]), MulScalar(Add(k2[j], k3[j]), 2))
		out[j] = Add(y[j], MulScalar(sum, 1.0/6))
	}
	return out
})

// ImplicitMidpoint solves y' = y + f(t + dt/2, (y + y')/2)·dz by the given number of fixed-point iterations from an
// Euler step, order 2. Solved to rounding it is symplectic for every Hamiltonian system, keeps quadratic invariants
// (momenta) and is its own inverse under time reversal; each iteration gains a factor of order dt.
func ImplicitMidpoint(iterations int) Method {
	return NewMethod("implicit midpoint", 2, func(f Equation, t, dt, dw *Node, y State) State {
		mid := axpy(0.5, f(t, y, dt, dw), y)
		middle := Add(t, MulScalar(dt, 0.5))
		for range iterations {
			mid = axpy(0.5, f(middle, mid, dt, dw), y)
		}
		out := make(State, len(y))
		for j := range y {
			out[j] = Sub(MulScalar(mid[j], 2), y[j])
		}
		return out
	})
}

// combine returns what a function makes of the parts of two states.
func combine(x, y State, f func(x, y *Node) *Node) State {
	if len(x) != len(y) {
		panic(fmt.Sprintf("ode: the field returns %d parts for a state of %d", len(x), len(y)))
	}
	out := make(State, len(y))
	for j := range y {
		if !x[j].Shape().Equal(y[j].Shape()) {
			panic(fmt.Sprintf("ode: part %d of the state has shape %s, the field's %s", j, y[j].Shape(), x[j].Shape()))
		}
		out[j] = f(x[j], y[j])
	}
	return out
}

// axpy returns y + a x.
func axpy(a float64, x, y State) State {
	return combine(x, y, func(x, y *Node) *Node { return Add(y, MulScalar(x, a)) })
}

func add(y, x State) State {
	return combine(x, y, func(x, y *Node) *Node { return Add(y, x) })
}

func scale(a *Node, y State) State {
	out := make(State, len(y))
	for j := range y {
		out[j] = Mul(a, y[j])
	}
	return out
}

// Axpy returns y + a x for a scalar node a and every part of the state.
func Axpy(a *Node, x, y State) State {
	return combine(x, y, func(x, y *Node) *Node { return Add(y, Mul(a, x)) })
}

// Drive is the path z = (t, W) along which an equation is integrated, in steps of one length from time 0.
type Drive struct {
	Steps int   // n; 0 for as many as DW has
	T     *Node // duration, a scalar; nil for 1
	DW    *Node // increments of W, [n, ..., m]; nil without noise
}

// Flow integrates dy/dt = f(t, y) from t = 0 to t = 1 in n steps and returns the final state.
func Flow(f Field, m Method, n int, y State) State {
	return Integrate(f.Equation(), m, Drive{Steps: n}, y)
}

// Path is Flow with all states: every part gets a leading axis of n + 1 times, the start first.
func Path(f Field, m Method, n int, y State) State {
	return IntegratePath(f.Equation(), m, Drive{Steps: n}, y)
}

// Integrate takes the steps of a driving path and returns the final state.
func Integrate(f Equation, m Method, z Drive, y State) State {
	final, _ := integrate(f, m, z, y, false)
	return final
}

// IntegratePath is Integrate with all states: every part gets a leading axis of n + 1 times, the start first.
func IntegratePath(f Equation, m Method, z Drive, y State) State {
	final, before := integrate(f, m, z, y, true)
	out := make(State, len(final))
	for j := range final {
		out[j] = Concatenate([]*Node{before[j], ExpandAxes(final[j], 0)}, 0)
	}
	return out
}

func integrate(f Equation, m Method, z Drive, y State, keep bool) (final, before State) {
	n := z.Steps
	var noise []*Node
	if z.DW != nil {
		if z.DW.Rank() < 2 || n != 0 && n != z.DW.Shape().Dim(0) {
			panic(fmt.Sprintf("ode: increments %s, want [n, ..., m]", z.DW.Shape()))
		}
		n, noise = z.DW.Shape().Dim(0), []*Node{z.DW}
	}
	dtype := y[0].DType()
	// Without a duration the step is a constant of the loop's body.
	step := func(i *Node) *Node { return Scalar(i.Graph(), dtype, 1/float64(n)) }
	if z.T != nil {
		if z.T.Rank() != 0 {
			panic(fmt.Sprintf("ode: duration %s, want a scalar", z.T.Shape()))
		}
		h := MulScalar(z.T, 1/float64(n))
		step = func(*Node) *Node { return h }
	}
	return autodiff.Scan(n, func(i *Node, y, dw []*Node) ([]*Node, []*Node) {
		h := step(i)
		var increment *Node
		if len(dw) > 0 {
			increment = dw[0]
		}
		next := m.Step(f, Mul(ConvertDType(i, dtype), h), h, increment, y)
		if !keep {
			return next, nil
		}
		return next, y
	}, y, noise)
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
