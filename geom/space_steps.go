package geom

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/internal/shortest"
	"anatomy/geom/ode"
)

// accuracy is the largest StepError where the space chose the steps.
const accuracy = shortest.Accuracy

// enough says whether the steps of a geodesic are enough.
func (s *space) enough(drift, stepError float64) bool {
	return shortest.Enough(drift, stepError, s.doubles)
}

// estimated is a StepError that was not measured.
func estimated(method ode.Method, drift float64) float64 {
	return shortest.Estimated(method.Order, drift)
}

// Steady returns a space with as many steps as the given geodesics took, if that is more than those of s, and these steps only. With
// it, lengths depend smoothly on points, as searches need it: a space that doubles its steps as needed does so suddenly. A space
// whose Integrator was given is returned as it is.
func (s *Space[P]) Steady(geodesics ...*Geodesic[P]) *Space[P] {
	most := s.steps
	for _, g := range geodesics {
		most = max(most, g.Steps)
	}
	return &Space[P]{*s.steady(most)}
}

func (s *space) steady(steps int) *space {
	if !s.doubles {
		return s
	}
	return s.with([]Option{Integrator(s.method, steps)})
}

// stations are the states at the ends of equal parts of a path, [parts, …], of one with a state at every step, [n + 1, …].
func stations(path ode.State) ode.State {
	out := make(ode.State, len(path))
	for j, x := range path {
		n := x.Shape().Dim(0) - 1
		stride := n / shortest.Parts(n)
		out[j] = SliceAxis(x, 0, AxisRange(stride, n+1).Stride(stride))
	}
	return out
}

// squares are 2H, the squared speeds, of states (q, p).
func squares(m Manifold, y ode.State) *Node {
	at := At(m, y[0])
	return MulScalar(Hamiltonian(at.Manifold)(at.X, at.Enter(Covector, y[1])), 2)
}

// drift is the largest |H(t)/H(0) − 1| of geodesics with the squared speed 2H(0), [...], of the squared speeds at some times, [k, ...];
// 2H(t) where they rest.
func drift(square, later *Node) *Node {
	off := Abs(Sub(later, BroadcastPrefix(square, later.Shape().Dim(0))))
	off = ReduceMax(orInfinite(off), 0)
	return Where(IsZero(square), off, Div(off, square))
}

// orInfinite is x ≥ 0, and +Inf where it is not a number: a maximum may pass over NaN.
func orInfinite(x *Node) *Node { return Where(IsFinite(x), x, AddScalar(ZerosLike(x), math.Inf(1))) }
