package framebundle

import (
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/try"
)

// Move returns the point to which u goes by a step. In coordinates x becomes x + dx, and the frame ν + dν moves so that its
// covectors ν_β♭ stay the same: of landmarks it remains a field of the kernel whatever dx is, while a geodesic in a direction
// that is rough for the kernel is wild. On a Charted manifold x moves along the geodesic with velocity dx, and ν + dν parallel along it.
//
// Like what follows it is for optimisers, on lists of numbers.
func (s *Space[P]) Move(u Point[geom.Vec], dx geom.Vec, dframe []geom.Vec) (_ Point[geom.Vec], err error) {
	defer try.Catch(&err)
	frame := [][]float64{dx}
	for k, v := range u.Frame {
		frame = append(frame, floats.AddTo(make([]float64, len(v)), v, dframe[k]))
	}
	out := s.call("Move", func(in []*Node) []*Node {
		m, x, nu := s.Base.M, in[0], in[1]
		if geom.IsCharted(m) {
			// The development of a straight line along the first vector of a longer frame.
			first := SliceAxis(linalg.Eye(x.Graph(), x.DType(), nu.Shape().Dim(0)), 0, AxisRange(0, 1))
			curve := Concatenate([]*Node{ZerosLike(first), first}, 0)
			x, nu = Develop(m, s.Base.Method(), x, nu, curve)
			last := AxisRange(1, 2)
			return []*Node{Squeeze(SliceAxis(x, 0, last), 0), Squeeze(SliceAxis(nu, 0, last), 0)}
		}
		covectors := flatFrame(m, x, nu)
		x = Add(x, Squeeze(SliceAxis(nu, 0, AxisRange(0, 1)), 0))
		return []*Node{x, sharpFrame(m, x, covectors)}
	}, u.X, frame)
	return Point[geom.Vec]{out.Vector(0), out.Matrix(1)[1:]}, nil
}

// alongMove returns the derivative along Move by dx, [B..., d], of a function with the derivatives p and P by x and by ν.
func alongMove(m geom.Manifold, x, nu, p, vertical *Node) *Node {
	covectors := flatFrame(m, x, nu)
	x = Squeeze(ExpandAxes(x, 0), 0) // a node of its own to differentiate by
	return Add(p, Gradient(ReduceAllSum(Mul(vertical, sharpFrame(m, x, covectors))), x)[0])
}

// LogVolume returns ½ log det(νᵀ g ν), the logarithm of the volume that the frame spans, and its derivative along Move: the
// normalising constant of a normal distribution on the manifold.
func (s *Space[P]) LogVolume(u Point[geom.Vec]) (_ float64, _ Momentum[geom.Vec], err error) {
	defer try.Named(&err, "LogVolume")
	try.Do(s.Check(s.point(u)))
	out := s.call("log volume", func(in []*Node) []*Node {
		x, nu := in[0], in[1]
		var value, pull *Node
		state := geom.InChart(s.Base.M, kinds, func(at geom.Local, y ode.State) ode.State {
			m, x, nu := at.Manifold, y[0], y[1]
			value = MulScalar(linalg.LogDet(Gram(m, x, nu)), 0.5)
			slope := Gradient(value, x, nu)
			pull = alongMove(m, x, nu, slope[0], slope[1])
			return invariant(m, ode.State{x, nu, slope[0], slope[1]})
		}, ode.State{x, nu, ZerosLike(x), ZerosLike(nu)})
		if geom.IsCharted(s.Base.M) {
			pull = state[2]
		}
		return []*Node{value, pull, state[3]}
	}, u.X, u.Frame)
	return out.Scalar(0), Momentum[geom.Vec]{Horizontal: out.Vector(1), Vertical: out.Matrix(2)}, nil
}
