package framebundle

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
)

// Move returns the point to which u goes by a step: x along the geodesic with velocity dx, the vectors ν_β + dν_β parallel
// along it. Its derivative is what momenta pair with: ⟨h, dx⟩ + Σ_β ⟨P^β, dν_β⟩.
func (s *Space) Move(u Point, dx []float64, dframe [][]float64) (Point, error) {
	frame := [][]float64{dx}
	for k, v := range u.Frame {
		frame = append(frame, floats.AddTo(make([]float64, len(v)), v, dframe[k]))
	}
	// The development of a straight line along the first vector of a longer frame.
	out, err := s.call("Move", func(in []*Node) []*Node {
		x, nu := in[0], in[1]
		first := SliceAxis(linalg.Eye(x.Graph(), x.DType(), nu.Shape().Dim(0)), 0, AxisRange(0, 1))
		curve := Concatenate([]*Node{ZerosLike(first), first}, 0)
		x, nu = Develop(s.Geometry.M, s.method, x, nu, curve)
		return []*Node{x, nu}
	}, u.X, frame)
	if err != nil {
		return Point{}, err
	}
	return Point{out.Matrix(0)[1], out.Array3(1)[1][1:]}, diverges("Move", out.Matrix(0))
}

// LogVolume returns ½ log det(νᵀ g ν), the logarithm of the volume that the frame spans, and its derivative. With σ > 0 it
// is ½ log det(νᵀ E ν + σ²), E the Euclidean metric of the vectors that stand for points: the first of these is the
// normalising constant of a normal distribution on the manifold, the second that of its observation with noise.
func (s *Space) LogVolume(u Point, sigma float64) (float64, Momentum, error) {
	if err := s.Check(u); err != nil {
		return 0, Momentum{}, fmt.Errorf("LogVolume: %w", err)
	}
	name := "log volume"
	if sigma > 0 {
		name = "noisy log volume"
	}
	out, err := s.call(name, func(in []*Node) []*Node {
		x, nu, variance := in[0], in[1], Square(in[2])
		var value *Node
		state := geom.InChart(s.Geometry.M, kinds, func(m geom.Manifold, y ode.State) ode.State {
			x, nu := y[0], y[1]
			gram := Gram(m, x, nu)
			if sigma > 0 {
				e := linalg.Eye(x.Graph(), x.DType(), m.Dim())
				if chart, ok := m.(geom.Chart); ok {
					e = euclidean(chart, x)
				}
				noise := Mul(variance, linalg.Eye(x.Graph(), x.DType(), nu.Shape().Dim(0)))
				gram = Add(linalg.MatMul(linalg.MatMul(nu, e), linalg.T(nu)), noise)
			}
			value = MulScalar(linalg.LogDet(gram), 0.5)
			slope := Gradient(value, x, nu)
			return invariant(m, ode.State{x, nu, slope[0], slope[1]})
		}, ode.State{x, nu, ZerosLike(x), ZerosLike(nu)})
		return []*Node{value, state[2], state[3]}
	}, u.X, u.Frame, sigma)
	if err != nil {
		return 0, Momentum{}, err
	}
	return out.Scalar(0), Momentum{out.Vector(1), out.Matrix(2)}, nil
}
