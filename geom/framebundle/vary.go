package framebundle

import (
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
)

// move returns the point to which u goes by a step, the numbers of dx and then those of the dν_β. In coordinates x becomes x + dx, and the
// frame ν + dν moves so that its
// covectors ν_β♭ stay the same: of landmarks it remains a field of the kernel whatever dx is, while a geodesic in a direction
// that is rough for the kernel is wild. On a Charted manifold x moves along the geodesic with velocity dx, and ν + dν parallel along it.
func (s *Space[P]) move(u Point[geom.Vec], step []float64) Point[geom.Vec] {
	frame := engine.Unflatten(step, len(u.X)) // dx, and the frame
	for a, v := range u.Frame {
		frame[a+1] = floats.AddTo(make([]float64, len(v)), v, frame[a+1])
	}
	out := s.call("move", func(in []*Node) []*Node {
		m, x, nu := s.Base.M, in[0], in[1]
		if geom.IsCharted(m) {
			// The development of a straight line along the first vector of a longer frame.
			first := SliceAxis(linalg.Eye(x.Graph(), x.DType(), nu.Shape().Dim(0)), 0, AxisRange(0, 1))
			curve := Concatenate([]*Node{ZerosLike(first), first}, 0)
			x, nu = develop(m, s.Base.Method(), x, nu, curve)
			last := AxisRange(1, 2)
			return []*Node{Squeeze(SliceAxis(x, 0, last), 0), Squeeze(SliceAxis(nu, 0, last), 0)}
		}
		covectors := flatFrame(m, x, nu)
		x = Add(x, Squeeze(SliceAxis(nu, 0, AxisRange(0, 1)), 0))
		return []*Node{x, sharpFrame(m, x, covectors)}
	}, u.X, frame)
	return Point[geom.Vec]{out.Vector(0), out.Matrix(1)[1:]}
}

// alongMove returns the derivative along move by dx, [B..., d], of a function with the derivatives p and P by x and by ν.
func alongMove(m geom.Manifold, x, nu, p, vertical *Node) *Node {
	covectors := flatFrame(m, x, nu)
	x = Squeeze(ExpandAxes(x, 0), 0) // a node of its own to differentiate by
	return Add(p, Gradient(ReduceAllSum(Mul(vertical, sharpFrame(m, x, covectors))), x)[0])
}

// logVolume returns ½ log det(νᵀ g ν), the logarithm of the volume that the frame spans, and its derivative along move: the
// normalising constant of a normal distribution on the manifold.
func (s *Space[P]) logVolume(u Point[geom.Vec]) (float64, Momentum[geom.Vec]) {
	out := s.call("log volume", func(in []*Node) []*Node {
		x, nu := in[0], in[1]
		var value, pull *Node
		state := geom.InChart(s.Base.M, kinds, func(at geom.Local, y ode.State) ode.State {
			m, x, nu := at.Manifold, y[0], y[1]
			value = MulScalar(linalg.LogDet(gram(m, x, nu)), 0.5)
			slope := Gradient(value, x, nu)
			pull = alongMove(m, x, nu, slope[0], slope[1])
			return invariant(m, ode.State{x, nu, slope[0], slope[1]})
		}, ode.State{x, nu, ZerosLike(x), ZerosLike(nu)})
		if geom.IsCharted(s.Base.M) {
			pull = state[2]
		}
		return []*Node{value, pull, state[3]}
	}, u.X, u.Frame)
	return out.Scalar(0), Momentum[geom.Vec]{Horizontal: out.Vector(1), Vertical: out.Matrix(2)}
}

// list is the horizontal part and then the vertical ones in a row.
func (p Momentum[P]) list() []float64 {
	out := slices.Clone(geom.Numbers(p.Horizontal))
	for _, v := range p.Vertical {
		out = append(out, geom.Numbers(v)...)
	}
	return out
}

// scaled is a momentum times a number.
func scaled(p Momentum[geom.Vec], by float64) Momentum[geom.Vec] {
	times := func(v []float64) []float64 { return floats.ScaleTo(make([]float64, len(v)), by, v) }
	out := Momentum[geom.Vec]{Horizontal: times(p.Horizontal)}
	for _, v := range p.Vertical {
		out.Vertical = append(out.Vertical, times(v))
	}
	return out
}
