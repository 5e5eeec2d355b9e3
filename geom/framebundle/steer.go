package framebundle

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/ode"
)

// control returns e(t) = Σ_k c_k L_k(t), [m, B...], for c of [modes, m, B...], with polynomials L_k of degree k that are
// orthonormal on [0, 1]: the energy of the path is ½ Σ |c_k|². They are so for Simpson's rule on the steps of the integrator, by
// which a step of RK4 sees them, and differ from Legendre's where the steps are few: what is orthonormal for the integral only
// would let a path with high degrees come off cheaper than it is.
func control(c *Node, steps int) func(t *Node) *Node {
	norms := recurrence(steps, c.Shape().Dim(0))
	return func(t *Node) *Node {
		s := AddScalar(MulScalar(t, 2), -1)
		var e, before *Node
		l := OnesLike(s)
		for k, norm := range norms {
			term := Mul(Squeeze(SliceAxis(c, 0, AxisRange(k, k+1)), 0), l)
			if e == nil {
				e = term
			} else {
				e = Add(e, term)
			}
			next := Mul(s, l)
			if before != nil {
				next = Sub(next, MulScalar(before, norms[k-1]))
			}
			before, l = l, MulScalar(next, 1/norm)
		}
		return e
	}
}

// recurrence returns b_1, …, b_n of the orthonormal polynomials b_{k+1} L_{k+1} = s L_k − b_k L_{k−1}, s = 2t − 1, for Simpson's
// rule on the steps.
func recurrence(steps, n int) (b []float64) {
	nodes := 2*steps + 1
	l, before := make([]float64, nodes), make([]float64, nodes)
	for j := range l {
		l[j] = 1
	}
	for range n {
		var square, last float64
		if len(b) > 0 {
			last = b[len(b)-1]
		}
		next := make([]float64, nodes)
		for j := range next {
			next[j] = (2*float64(j)/float64(nodes-1)-1)*l[j] - last*before[j]
			weight := float64(2 + 2*(j%2))
			if j == 0 || j == nodes-1 {
				weight = 1
			}
			square += weight / float64(6*steps) * next[j] * next[j]
		}
		norm := math.Sqrt(square)
		for j := range next {
			next[j] /= norm
		}
		b, before, l = append(b, norm), l, next
	}
	return b
}

// Steered tells of paths from one point of the frame bundle with given controls how far they miss their targets.
type Steered struct {
	Ends     [][]float64          // x_i(1)
	Mismatch []float64            // |x_i(1) − y_i|
	Momenta  []Momentum[geom.Vec] // minus the derivatives of ½ |x_i(1) − y_i|² by the starting point, along lifts and by the frame
	Pull     []Momentum[geom.Vec] // the same as steps of Move see them
	Slope    [][][]float64        // its derivatives by the controls
}

// Steer develops the curves w_i from u with w_i' = Σ_k c_ki L_k, L_k polynomials of degree k that are orthonormal on [0, 1], and
// compares their ends with points y_i, Aligned to them. The controls are [modes][m][N]. The energies of the paths are ½ Σ_k |c_ki|².
//
// Where the controls minimise the energy plus |x(1) − y|²/2σ², the path is the most probable one up to polynomials of
// higher degree, and Momenta/σ² is its momentum: minimising over controls is a search for most probable paths that no
// curvature makes unstable. On a Charted manifold the paths stay in the chart centred at u.
//
// It does not Check u, so that an iteration need not at every step.
func (s *Space[P]) Steer(u Point[geom.Vec], controls [][][]float64, ys [][]float64) (*Steered, error) {
	if len(controls) == 0 || len(controls[0]) != len(u.Frame) || len(controls[0][0]) != len(ys) {
		return nil, fmt.Errorf("Steer: controls are not [modes][%d][%d], of the frame vectors and the points", len(u.Frame), len(ys))
	}
	out, err := s.call("Steer", func(in []*Node) []*Node {
		x, nu, c, y := in[0], in[1], in[2], in[3]
		n := y.Shape().Dim(0)
		x, nu = copies(x, nu, n)
		var ends, mismatch, pull, slope *Node
		state := geom.InChart(s.Base.M, kinds, func(at geom.Local, in ode.State) ode.State {
			m, x, nu := at.Manifold, in[0], in[1]
			ends = at.Point(ode.Flow(DevelopmentField(m, control(c, s.Base.Steps())), s.Base.Method(), s.Base.Steps(), ode.State{x, nu})[0])
			squares := ReduceSum(Square(Sub(ends, facing(s.Base.M, StopGradient(ends), y))), -1)
			mismatch = Sqrt(squares)
			slopes := Gradient(MulScalar(ReduceAllSum(squares), -0.5), x, nu, c)
			slope = Neg(slopes[2])
			pull = alongMove(m, x, nu, slopes[0], slopes[1])
			return invariant(m, ode.State{x, nu, slopes[0], slopes[1]})
		}, ode.State{x, nu, ZerosLike(x), ZerosLike(nu)})
		if geom.IsCharted(s.Base.M) {
			pull = state[2]
		}
		return []*Node{mismatch, state[2], state[3], slope, pull, ends}
	}, u.X, u.Frame, controls, ys)
	if err != nil {
		return nil, err
	}
	vertical := out.Array3(2)
	return &Steered{Ends: out.Matrix(5), Mismatch: out.Vector(0), Momenta: momenta(out.Matrix(1), vertical), Pull: momenta(out.Matrix(4), vertical), Slope: out.Array3(3)}, nil
}

// SteeredPath returns the path of Steer for one control, [modes][m], with points and frames at the times 0, 1/n, …, 1.
func (s *Space[P]) SteeredPath(u Point[geom.Vec], c [][]float64) (*Geodesic[P], error) {
	const what = "SteeredPath"
	steps := s.Base.Steps()
	out, err := s.call(what, func(in []*Node) []*Node {
		e := control(in[2], steps)
		field := func(m geom.Manifold) ode.Field { return DevelopmentField(m, e) }
		path := geom.Path(s.Base.M, field, s.Base.Method(), steps, in[:2], geom.Vector)
		var w []*Node
		for k := range steps + 1 {
			w = append(w, e(Scalar(in[0].Graph(), in[0].DType(), float64(k)/float64(steps))))
		}
		return append(path, Stack(w, 0))
	}, u.X, u.Frame, c)
	if err != nil {
		return nil, err
	}
	path := out.Matrix(0)
	if err := diverges(what, path); err != nil {
		return nil, err
	}
	g := &Geodesic[P]{Start: s.point(u), Path: s.Base.Points(path), Frames: s.frames(out.Array3(1)), Velocities: out.Matrix(2)}
	g.End = g.Path[steps]
	for _, c := range c {
		g.Energy += floats.Dot(c, c) / 2
	}
	return g, nil
}

// copies gives x and ν an axis of n equal points.
func copies(x, nu *Node, n int) (xs, nus *Node) {
	dims := nu.Shape().Dimensions
	return BroadcastPrefix(x, n), BroadcastToDims(ExpandAxes(nu, 1), dims[0], n, dims[1])
}

// momenta puts together the parts of N momenta, [N][d] and [m][N][d].
func momenta(horizontal [][]float64, vertical [][][]float64) []Momentum[geom.Vec] {
	out := make([]Momentum[geom.Vec], len(horizontal))
	for i, h := range horizontal {
		out[i].Horizontal = h
		for _, p := range vertical {
			out[i].Vertical = append(out[i].Vertical, p[i])
		}
	}
	return out
}
