package geom

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/ode"
)

// Where no Integrator is given, a Space doubles its steps until the end of a geodesic settles.
const (
	standard = 25   // steps at first
	doubled  = 64   // times as many at most
	accuracy = 1e-4 // is the largest StepError
	calm     = 1e-7 // is a Drift with which the steps are enough: of 100,000 geodesics the worst had an error of 7e-6
)

// settled says whether a geodesic with this StepError has settled. Half of the error is room for what even more steps would change.
func settled(stepError float64) bool { return stepError <= accuracy/2 }

// enough says whether the steps of a geodesic are enough.
func (s *space) enough(drift, stepError float64) bool {
	if s.doubles {
		return settled(stepError)
	}
	return drift <= MaxDrift
}

// estimated is a StepError that was not measured: the error of a method of order n in n·log h against its drift, which is often of
// order n + 1.
func estimated(method ode.Method, drift float64) float64 {
	return math.Pow(drift, float64(method.Order)/float64(method.Order+1))
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

// arc is a geodesic at the ends of equal parts of [0, 1], the last of which is its end: points and momenta, with its start and length.
type arc struct {
	start           Vec
	points, momenta []Vec
	length          float64
}

// elsewhere is how far from the end of an arc another point close by is: along the arc, as a share of its length, or in ambient
// coordinates, as a share of their way, whichever is more. By Gauss's lemma ⟨p(1), δ⟩/length is what δ = end − γ(1) adds to the length.
func (a arc) elsewhere(end Vec) float64 {
	if a.length == 0 {
		return 0
	}
	last, way, from := len(a.points)-1, 0.0, a.start
	for _, q := range a.points {
		way += floats.Distance(from, q, 2)
		from = q
	}
	miss := floats.SubTo(make(Vec, len(end)), end, a.points[last])
	return max(math.Abs(floats.Dot(a.momenta[last], miss))/(a.length*a.length), floats.Norm(miss, 2)/way)
}

// parts is into how many equal parts n steps are divided to see the energy on the way: up to 5.
func parts(n int) int {
	k := 5
	for n%k != 0 {
		k--
	}
	return k
}

// stations are the states at the ends of equal parts of a path, [parts, …], of one with a state at every step, [n + 1, …].
func stations(path ode.State) ode.State {
	out := make(ode.State, len(path))
	for j, x := range path {
		n := x.Shape().Dim(0) - 1
		stride := n / parts(n)
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
