package geom

import (
	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Transport moves vectors in parallel along a curve γ, v' = −Γ(γ', v), and returns them at all samples of the curve, [n + 1, P..., B..., d]. The path
// is the samples γ(0), γ(1/n), …, γ(1), [n + 1, B..., d], n ≥ 1, and v the vectors at γ(0), [P..., B..., d]: the axes P are there where several
// vectors are moved, such as those of a frame. On a Charted manifold all are ambient; where points are orbits, such as configurations up to rotation,
// a returned vector belongs to the configuration that the path gives for its sample.
//
// The method takes one step from sample to sample, along the cubic through the four nearest samples. So with RK4 the error is
// O(n⁻⁴) on smooth curves. On a Charted manifold the cubic is one of coordinates, in the chart centred at one of the four. For a curve with
// corners call Transport for each smooth piece.
func Transport(m Manifold, method ode.Method, path, v *Node) *Node {
	refuse.If(path.Rank() < 2 || path.Shape().Dim(0) < 2, "geom.Transport: curve %s, want [n + 1, ..., d] with n ≥ 1", path.Shape())
	n := path.Shape().Dim(0) - 1
	one := ScalarOne(path.Graph(), path.DType())
	final, before := autodiff.Scan(n, func(_ *Node, y, in []*Node) ([]*Node, []*Node) {
		start, end, window, weights := in[0], in[1], in[2], in[3]
		// In one chart: ambient samples of orbits, such as those of shapes, or of matrices have no sums.
		at := At(m, Squeeze(SliceAxis(window, 0, AxisRange(1, 2)), 0))
		x := at.Coordinates(window)
		dims := x.Shape().Dimensions
		x = Reshape(linalg.MatMul(weights, Reshape(x, dims[0], -1)), append([]int{4}, dims[1:]...)...)
		samples := lists.Make(4, func(k int) *Node { return Squeeze(SliceAxis(x, 0, AxisRange(k, k+1)), 0) })
		curve := cubic(samples)
		field := func(t *Node, y ode.State) ode.State {
			point, velocity := curve(t)
			return ode.State{Neg(NewConnection(at.Manifold, point).Gamma(velocity, y[0]))}
		}
		v := at.Through(start).Enter(Vector, y[0])
		v = method.Step(ode.Field(field).Equation(), ZerosLike(one), one, nil, ode.State{v})[0]
		// Back to the sample as it was given: the chart has another element of its orbit.
		there, given := at.Moved(samples[2]), At(m, end)
		return []*Node{given.Leave(Vector, given.Through(there.Z).Enter(Vector, there.Leave(Vector, v)))}, y
	}, []*Node{v}, windows(path, n))
	return Concatenate([]*Node{before[0], ExpandAxes(final[0], 0)}, 0)
}

// windows returns, for each of the n pieces of a curve, the samples at its start and at its end, the four samples nearest to it, or as
// many as there are, and the weights by which these give the curve at the times −1, 0, 1 and 2 of the piece, [n, 4, samples]. Beyond
// its ends the curve is extrapolated by the polynomial through its samples.
func windows(path *Node, n int) []*Node {
	size := min(n, 3) + 1
	last := n + 1 - size
	samples := lists.Make(size, func(k int) *Node { return SliceAxis(path, 0, AxisRange(k, k+last+1)) })
	inner := Stack(samples, 1)
	window := Concatenate([]*Node{SliceAxis(inner, 0, AxisRange(0, 1)), inner, SliceAxis(inner, 0, AxisRange(last, last+1))}, 0)
	weights := make([][][]float64, n)
	for j := range weights {
		before := j - max(0, min(j-1, last)) // samples of the window before the piece
		for t := -1; t <= 2; t++ {
			w := make([]float64, size)
			for k := range w {
				w[k] = 1
				for i := range size {
					if i != k {
						w[k] *= float64(t+before-i) / float64(k-i)
					}
				}
			}
			weights[j] = append(weights[j], w)
		}
	}
	return []*Node{SliceAxis(path, 0, AxisRange(0, n)), SliceAxis(path, 0, AxisRange(1, n+1)), SliceAxis(window, 0, AxisRange(0, n)),
		ConstAsDType(path.Graph(), path.DType(), weights)}
}

// cubic is the cubic x(t) through samples at the times −1, 0, 1 and 2, with its derivative.
func cubic(samples []*Node) func(t *Node) (x, dx *Node) {
	combine := func(w ...float64) *Node {
		sum := MulScalar(samples[0], w[0])
		for k := 1; k < 4; k++ {
			sum = Add(sum, MulScalar(samples[k], w[k]))
		}
		return sum
	}
	c1 := combine(-1./3, -1./2, 1, -1./6)
	c2 := combine(1./2, -1, 1./2, 0)
	c3 := combine(-1./6, 1./2, -1./2, 1./6)
	return func(t *Node) (x, dx *Node) {
		x = Add(samples[1], Mul(t, Add(c1, Mul(t, Add(c2, Mul(t, c3))))))
		dx = Add(c1, Mul(t, Add(MulScalar(c2, 2), Mul(MulScalar(t, 3), c3))))
		return x, dx
	}
}

// GeodesicTransport returns the field of geodesics together with vectors that are parallel along them, v' = −Γ(q', v), on states
// (q, p, v) in coordinates: q and p are [B..., d], v is [P..., B..., d].
func GeodesicTransport(m Manifold) ode.Field {
	hamilton := Geodesics(m)
	return func(t *Node, y ode.State) ode.State {
		h := hamilton(t, y[:2])
		return append(h, Neg(NewConnection(m, y[0]).Gamma(h[0], y[2])))
	}
}
