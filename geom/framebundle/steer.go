package framebundle

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
)

// Modes is the number of polynomials that the controls of Steer combine.
const Modes = 4

// control returns e(t) = Σ_k c_k L_k(t), [m, B...], for c of [Modes, m, B...], with the Legendre polynomials that are
// orthonormal on [0, 1]: the energy of the path is ½ Σ |c_k|².
func control(c *Node) func(t *Node) *Node {
	return func(t *Node) *Node {
		s := AddScalar(MulScalar(t, 2), -1)
		legendre := []*Node{OnesLike(s), s}
		for k := 1; len(legendre) < Modes; k++ {
			next := Sub(MulScalar(Mul(s, legendre[k]), float64(2*k+1)), MulScalar(legendre[k-1], float64(k)))
			legendre = append(legendre, MulScalar(next, 1/float64(k+1)))
		}
		var e *Node
		for k, l := range legendre {
			term := Mul(Squeeze(SliceAxis(c, 0, AxisRange(k, k+1)), 0), MulScalar(l, math.Sqrt(float64(2*k+1))))
			if e == nil {
				e = term
			} else {
				e = Add(e, term)
			}
		}
		return e
	}
}

// Steered tells of paths from one point of the frame bundle with given controls how far they miss their targets.
type Steered struct {
	Mismatch []float64     // |x_i(1) − y_i|
	Momenta  []Momentum    // minus the derivatives of ½ |x_i(1) − y_i|² by the starting point
	Slope    [][][]float64 // its derivatives by the controls
}

// Steer develops the curves w_i from u with w_i' = Σ_k c_ki L_k, L_k the Legendre polynomials orthonormal on [0, 1], and
// compares their ends with points y_i. The controls are [Modes][m][N]. The energies of the paths are ½ Σ_k |c_ki|².
//
// Where the controls minimise the energy plus |x(1) − y|²/2σ², the path is the most probable one up to polynomials of
// higher degree, and Momenta/σ² is its momentum: minimising over controls is a search for most probable paths that no
// curvature makes unstable. On an Atlas the paths stay in the chart centred at u.
//
// It does not Check u, so that an iteration need not at every step.
func (s *Space) Steer(u Point, controls [][][]float64, ys [][]float64) (*Steered, error) {
	if len(controls) != Modes || len(controls[0]) != len(u.Frame) || len(controls[0][0]) != len(ys) {
		return nil, fmt.Errorf("Steer: controls are not [%d][%d][%d] for the modes, the frame vectors and the points", Modes, len(u.Frame), len(ys))
	}
	out, err := s.call("Steer", func(in []*Node) []*Node {
		x, nu, c, y := in[0], in[1], in[2], in[3]
		n := y.Shape().Dim(0)
		x, nu = copies(x, nu, n)
		var mismatch, slope *Node
		state := geom.InChart(s.Geometry.M, kinds, func(m geom.Manifold, in ode.State) ode.State {
			x, nu := in[0], in[1]
			end := ode.Flow(DevelopmentField(m, control(c)), s.method, s.steps, ode.State{x, nu})[0]
			if chart, ok := m.(geom.Chart); ok {
				end = chart.Point(end)
			}
			squares := ReduceSum(Square(Sub(end, y)), -1)
			mismatch = Sqrt(squares)
			slopes := Gradient(MulScalar(ReduceAllSum(squares), -0.5), x, nu, c)
			slope = Neg(slopes[2])
			return invariant(m, ode.State{x, nu, slopes[0], slopes[1]})
		}, ode.State{x, nu, ZerosLike(x), ZerosLike(nu)})
		return []*Node{mismatch, state[2], state[3], slope}
	}, u.X, u.Frame, controls, ys)
	if err != nil {
		return nil, err
	}
	return &Steered{Mismatch: out.Vector(0), Momenta: momenta(out.Matrix(1), out.Array3(2)), Slope: out.Array3(3)}, nil
}

// SteeredPath returns the path of Steer for one control, [Modes][m], with points and frames at the times 0, 1/n, …, 1.
func (s *Space) SteeredPath(u Point, c [][]float64) (*Geodesic, error) {
	out, err := s.call("SteeredPath", func(in []*Node) []*Node {
		e := control(in[2])
		field := func(m geom.Manifold) ode.Field { return DevelopmentField(m, e) }
		f, method := geom.Recentred(s.Geometry.M, field, s.method, geom.Vector)
		path := ode.Path(f, method, s.steps, in[:2])
		var w []*Node
		for k := range s.steps + 1 {
			w = append(w, e(Scalar(in[0].Graph(), in[0].DType(), float64(k)/float64(s.steps))))
		}
		return append(path, Stack(w, 0))
	}, u.X, u.Frame, c)
	if err != nil {
		return nil, err
	}
	g := &Geodesic{Start: u, Points: out.Matrix(0), Frames: out.Array3(1), Velocities: out.Matrix(2)}
	g.End = g.Points[s.steps]
	for _, c := range c {
		g.Energy += floats.Dot(c, c) / 2
	}
	return g, diverges("SteeredPath", g.Points)
}

// copies gives x and ν an axis of n equal points.
func copies(x, nu *Node, n int) (xs, nus *Node) {
	dims := nu.Shape().Dimensions
	return BroadcastPrefix(x, n), BroadcastToDims(ExpandAxes(nu, 1), dims[0], n, dims[1])
}

// momenta puts together the parts of N momenta, [N][d] and [m][N][d].
func momenta(horizontal [][]float64, vertical [][][]float64) []Momentum {
	out := make([]Momentum, len(horizontal))
	for i, h := range horizontal {
		out[i].Horizontal = h
		for _, p := range vertical {
			out[i].Vertical = append(out[i].Vertical, p[i])
		}
	}
	return out
}

// Transports returns, for each of the paths of Steer, the matrix T of parallel transport from x to its end in coordinates,
// T v the transported vector; of an Atlas T is 1, since tangent spaces there come without coordinates.
func (s *Space) Transports(u Point, controls [][][]float64) ([]*mat.Dense, error) {
	d, n := len(u.X), len(controls[0][0])
	out := make([]*mat.Dense, n)
	if _, ok := s.Geometry.M.(geom.Atlas); ok {
		for i := range out {
			out[i] = mat.NewDense(d, d, nil)
			for a := range d {
				out[i].Set(a, a, 1)
			}
		}
		return out, nil
	}
	rows, err := s.call("Transports", func(in []*Node) []*Node {
		c := in[2]
		// A frame with the basis behind ν, along which the controls vanish.
		nu := Concatenate([]*Node{in[1], linalg.Eye(c.Graph(), c.DType(), d)}, 0)
		rest := BroadcastToDims(ScalarZero(c.Graph(), c.DType()), Modes, d, n)
		x, nu := copies(in[0], nu, n)
		field := DevelopmentField(s.Geometry.M, control(Concatenate([]*Node{c, rest}, 1)))
		return []*Node{frameLast(SliceAxis(ode.Flow(field, s.method, s.steps, ode.State{x, nu})[1], 0, AxisRange(in[1].Shape().Dim(0), nu.Shape().Dim(0))))}
	}, u.X, u.Frame, controls)
	if err != nil {
		return nil, err
	}
	flat := rows.Flat(0)
	for i := range out {
		out[i] = mat.DenseCopyOf(mat.NewDense(d, d, flat[i*d*d:(i+1)*d*d]).T())
	}
	return out, nil
}
