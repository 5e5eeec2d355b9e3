// Package ode integrates differential equations dy = f(t, y)·dz inside compiled loops: ordinary ones (dz = dt), Hamiltonian
// systems, and stochastic ones whose noise is an input (dz = (dt, dW)). Geodesics, transport and development are all integrated by
// it.
//
// A state y is a list of nodes of any shapes, such as a point with a frame, or a position with a momentum. All functions build
// graphs, so that an integration can be differentiated in reverse mode like any other graph. The harmonic oscillator from time 0
// to 1, in 20 steps of the method of Runge and Kutta:
//
//	field := ode.Hamilton(func(q, p *Node) *Node { // H = ½ (q² + p²)
//		return MulScalar(Add(Square(q), Square(p)), 0.5)
//	})
//	end := ode.Flow(field, ode.RK4, 20, ode.State{q, p}) // end[0] is q at time 1, end[1] is p
//
// Flow and Path are for a Field on [0, 1]; Integrate and IntegratePath for any duration, and with noise.
package ode

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// State is what an equation moves: a list of nodes, called its parts.
type State = []*Node

// Field is the right-hand side of dy/dt = f(t, y). The time t is a scalar node; the result has the parts and shapes of y.
type Field func(t *Node, y State) State

// Equation returns the increment dy = f(t, y)·dz of every part of the state, which is linear in the increment dz = (dt, dW) of a
// driving path. The time t and dt are scalar nodes; dW is [..., m], and nil without noise. A Field is the equation f(t, y) dt.
//
// A stochastic equation has one meaning in Itô's calculus and another in Stratonovich's: integrate it with a Scheme of the
// calculus it is written in. ItoFromStratonovich converts equations.
type Equation func(t *Node, y State, dt, dw *Node) State

// Equation returns the field as the equation dy = f(t, y) dt.
func (f Field) Equation() Equation {
	return func(t *Node, y State, dt, _ *Node) State { return scale(dt, f(t, y)) }
}

// Method is a method of integration, which takes steps of an equation along a driving path. Values of this type can be compared:
// they are equal if they come from the same call of NewMethod.
type Method struct{ *method }

type method struct {
	Name  string
	Order int // without noise the global error is O(dt^Order)
	// Step returns the state at time t + dt, for y at time t and the increment dW = dw.
	Step   func(f Equation, t, dt, dw *Node, y State) State
	stages []stage // nil where Step is all that is known
}

// Key names a compiled function that integrates with a method in so many steps, or does not integrate. Functions of one space share its keys, so
// that a name begins with that of its package.
type Key struct {
	Name   string
	Method Method
	Steps  int
}

func (k Key) String() string { return k.Name }

// stage is an evaluation k = f(t + c dt, y + a k)·dz, with the k of the stage before, for a step to y + Σ b k.
type stage struct{ a, b, c float64 }

// NewMethod makes a method from a function for its step. The order, at least 1, is for information: without noise the global error
// is O(dt^order).
func NewMethod(name string, order int, step func(f Equation, t, dt, dw *Node, y State) State) Method {
	return Method{&method{Name: name, Order: order, Step: step}}
}

// Euler is Euler's method, y + f(t, y)·dz, of order 1.
var Euler = NewMethod("Euler", 1, func(f Equation, t, dt, dw *Node, y State) State {
	return add(y, f(t, y, dt, dw))
})

// Heun is Heun's method, y + ½ (f(t, y) + f(t + dt, y + f(t, y)·dz))·dz, of order 2.
var Heun = NewMethod("Heun", 2, func(f Equation, t, dt, dw *Node, y State) State {
	k1 := f(t, y, dt, dw)
	k2 := f(Add(t, dt), add(y, k1), dt, dw)
	return axpy(0.5, k2, axpy(0.5, k1, y))
})

// RK4 is the classical method of Runge and Kutta, of order 4.
var RK4 = staged("RK4", 4, []stage{{0, 1. / 6, 0}, {0.5, 1. / 3, 0.5}, {0.5, 1. / 3, 0.5}, {1, 1. / 6, 1}})

// staged is the method of these stages.
func staged(name string, order int, stages []stage) Method {
	m := NewMethod(name, order, func(f Equation, t, dt, dw *Node, y State) State {
		if dw == nil && !engine.ForGPU(y[0]) && !engine.Plain(y[0]) {
			next, _ := steps(f, stages, 1, t, func(*Graph) *Node { return dt }, y, false)
			return next
		}
		next, at := y, y
		for i, s := range stages {
			k := f(Add(t, MulScalar(dt, s.c)), at, dt, dw)
			if s.b != 0 {
				next = axpy(s.b, k, next)
			}
			if i+1 < len(stages) {
				at = axpy(stages[i+1].a, k, y)
			}
		}
		return next
	})
	m.stages = stages
	return m
}

// steps is n steps of length h with the stages of all of them in one loop: the equation, which may be thousands of nodes, stands in
// the graph once, not once a stage, and that is most of what a program takes to compile. A reverse pass keeps three states a stage
// where it else keeps one a step, and takes no stage more often.
func steps(f Equation, stages []stage, n int, from *Node, h func(g *Graph) *Node, y State, keep bool) (final, before State) {
	parts := len(y)
	end, states := autodiff.Scan(n*len(stages), func(_ *Node, now, x []*Node) ([]*Node, []*Node) {
		y, k, next := now[:parts], now[parts:2*parts], now[2*parts:]
		a, b, time, last := number(x[0], 0), number(x[0], 1), number(x[0], 2), IsPositive(number(x[0], 3))
		dt := h(a.Graph())
		if time = Mul(time, dt); from != nil {
			time = Add(from, time)
		}
		k = f(time, Axpy(a, k, y), dt, nil)
		next = Axpy(b, k, next)
		after := combine(next, y, func(next, y *Node) *Node { return Where(last, next, y) })
		if keep {
			return slices.Concat(after, k, next), y
		}
		return slices.Concat(after, k, next), nil
	}, slices.Concat(y, zeros(y), y), []*Node{table(y[0], n, stages)})
	for _, s := range states {
		before = append(before, SliceAxis(s, 0, AxisRange().Stride(len(stages))))
	}
	return end[:parts], before
}

// table has for each stage of n steps a, b, the time in steps, and 1 at the end of a step or else 0, [n · stages, 4].
func table(like *Node, n int, stages []stage) *Node {
	rows := make([][]float64, 0, n*len(stages))
	for i := range n {
		for _, s := range stages {
			rows = append(rows, []float64{s.a, s.b, float64(i) + s.c, 0})
		}
		rows[len(rows)-1][3] = 1
	}
	return ConstAsDType(like.Graph(), like.DType(), rows)
}

// number is x[j].
func number(x *Node, j int) *Node { return Squeeze(SliceAxis(x, 0, AxisElem(j)), 0) }

func zeros(y State) State {
	return lists.Each(y, func(y *Node) *Node { return ZerosLike(y) })
}

// combine applies f to each pair of parts of two states.
func combine(x, y State, f func(x, y *Node) *Node) State {
	refuse.If(len(x) != len(y), "ode: the field returns %d parts for a state of %d", len(x), len(y))
	return lists.Make(len(y), func(j int) *Node {
		refuse.If(!x[j].Shape().Equal(y[j].Shape()), "ode: part %d of the state has shape %s, the field's %s", j, y[j].Shape(), x[j].Shape())
		return f(x[j], y[j])
	})
}

// axpy returns y + a x.
func axpy(a float64, x, y State) State {
	return combine(x, y, func(x, y *Node) *Node { return Add(y, MulScalar(x, a)) })
}

func add(y, x State) State {
	return combine(x, y, func(x, y *Node) *Node { return Add(y, x) })
}

func scale(a *Node, y State) State {
	return lists.Each(y, func(y *Node) *Node { return Mul(a, y) })
}

// Axpy returns y + a x for a scalar node a and every part of the state.
func Axpy(a *Node, x, y State) State {
	return combine(x, y, func(x, y *Node) *Node { return Add(y, Mul(a, x)) })
}

// Drive is the path z = (t, W) along which an equation is integrated: n steps of equal length from time 0 to T.
type Drive struct {
	Steps int   // n; 0 stands for the n of DW
	T     *Node // the duration, a scalar; nil stands for 1
	DW    *Node // the increments of W, [n, ..., m], as from Increments; nil without noise
}

// Flow integrates dy/dt = f(t, y) from t = 0 to t = 1 in n steps and returns the final state.
func Flow(f Field, m Method, n int, y State) State {
	return Integrate(f.Equation(), m, Drive{Steps: n}, y)
}

// Path is Flow that returns the states at all times 0, 1/n, …, 1: every part has an axis of n + 1 times in front.
func Path(f Field, m Method, n int, y State) State {
	return IntegratePath(f.Equation(), m, Drive{Steps: n}, y)
}

// Integrate integrates an equation along a driving path from the state y and returns the final state.
func Integrate(f Equation, m Method, z Drive, y State) State {
	final, _ := integrate(f, m, z, y, false)
	return final
}

// IntegratePath is Integrate that returns the states at all times 0, T/n, …, T: every part has an axis of n + 1 times in front.
func IntegratePath(f Equation, m Method, z Drive, y State) State {
	final, before := integrate(f, m, z, y, true)
	return lists.Make(len(final), func(j int) *Node { return Concatenate([]*Node{before[j], ExpandAxes(final[j], 0)}, 0) })
}

func integrate(f Equation, m Method, z Drive, y State, keep bool) (final, before State) {
	n := z.Steps
	var noise []*Node
	if z.DW != nil {
		refuse.If(z.DW.Rank() < 2 || n != 0 && n != z.DW.Shape().Dim(0), "ode: increments %s, want [n, ..., m]", z.DW.Shape())
		n, noise = z.DW.Shape().Dim(0), []*Node{z.DW}
	}
	dtype := y[0].DType()
	// Without a duration the step is a constant of the loop's body.
	step := func(g *Graph) *Node { return Scalar(g, dtype, 1/float64(n)) }
	if z.T != nil {
		refuse.If(z.T.Rank() != 0, "ode: duration %s, want a scalar", z.T.Shape())
		h := MulScalar(z.T, 1/float64(n))
		step = func(*Graph) *Node { return h }
	}
	bytes := 0
	for _, part := range y {
		bytes += int(part.Shape().ByteSize())
	}
	if !engine.ForGPU(y[0]) && m.stages != nil && noise == nil && 3*n*len(m.stages)*bytes <= autodiff.StoreLimit {
		return steps(f, m.stages, n, nil, step, y, keep)
	}
	return autodiff.Scan(n, func(i *Node, y, dw []*Node) ([]*Node, []*Node) {
		h := step(i.Graph())
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

// Hamilton returns the field q' = ∂H/∂p, p' = −∂H/∂q of a Hamiltonian H(q, p), by automatic differentiation, on states (q, p).
// H may return [...], one number for each point of a batch, which must depend on this point only.
func Hamilton(h func(q, p *Node) *Node) Field {
	return func(_ *Node, y State) State {
		g := Gradient(ReduceAllSum(h(y[0], y[1])), y[0], y[1])
		return State{g[1], Neg(g[0])}
	}
}

// Tangent returns the field of f together with its linearisation, δy' = Df(t, y) δy: the state is the parts of y followed by those
// of the variation δy. The flow of it gives the derivative of the flow of f in the direction δy(0).
func Tangent(f Field) Field {
	return func(t *Node, s State) State {
		k := len(s) / 2
		v, dv := autodiff.Pushforward(func(y []*Node) []*Node { return f(t, y) }, s[:k], s[k:])
		return append(v, dv...)
	}
}
