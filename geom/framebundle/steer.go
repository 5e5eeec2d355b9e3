package framebundle

import (
	"fmt"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/try"
)

// control returns the function of time, [m, B...], that has the values e, [2n + 1, m, B...], at the times 0, 1/2n, …, 1 and is linear
// between them. A step of RK4 sees it at these times only.
func control(e *Node) func(t *Node) *Node {
	last := float64(e.Shape().Dim(0) - 1)
	return func(t *Node) *Node {
		dims := make([]int, e.Rank())
		for a := range dims {
			dims[a] = 1
		}
		dims[0] = e.Shape().Dim(0)
		number := Iota(t.Graph(), shapes.Make(t.DType(), dims...), 0)
		weight := Max(AddScalar(Neg(Abs(Sub(MulScalar(t, last), number))), 1), ZerosLike(number))
		return ReduceSum(Mul(weight, e), 0)
	}
}

// simpson returns the weights of Simpson's rule on n steps and their midpoints, 2n + 1 numbers: as RK4 integrates a function of time.
func simpson(n int) []float64 {
	w := make([]float64, 2*n+1)
	for j := range w {
		w[j] = float64(2+2*(j%2)) / float64(6*n)
	}
	w[0], w[2*n] = w[0]/2, w[2*n]/2
	return w
}

// Steered tells of paths from one point of the frame bundle with given controls how far they miss their targets.
type Steered struct {
	Ends     [][]float64          // x_i(1)
	Mismatch []float64            // |x_i(1) − y_i|²
	Momenta  []Momentum[geom.Vec] // minus the derivatives of ½ |x_i(1) − y_i|² by the starting point, along lifts and by the frame
	Pull     []Momentum[geom.Vec] // the same as steps of Move see them
	Slope    [][][]float64        // its derivatives by the controls
	// Drift is by how much, as a share, νᵀgν is not the same at the end as at the start, in the Frobenius norm where it is 1 at the
	// start: an error of the integration.
	Drift []float64
}

// Steer develops the curves w_i from u whose velocities at the times 0, 1/2n, …, 1 are the controls, [2n + 1][m][N] for the n steps of
// the integrator, and compares their ends with points y_i, Aligned to them.
//
// Where the controls minimise the energy ½ ∫ |w'|² dt, by Simpson's rule, plus |x(1) − y|²/2σ², the path is the most probable one, and
// Momenta/σ² is its momentum: minimising over controls is a search for most probable paths that no curvature makes unstable. On a
// Charted manifold the paths stay in the chart centred at u.
//
// It does not Check u, so that an iteration need not at every step.
func (s *Space[P]) Steer(u Point[geom.Vec], controls [][][]float64, ys [][]float64) (_ *Steered, err error) {
	defer try.Named(&err, "Steer")
	if n := 2*s.Base.Steps() + 1; len(controls) != n || len(controls[0]) != len(u.Frame) || len(controls[0][0]) != len(ys) {
		return nil, fmt.Errorf("controls are not [%d][%d][%d], of the times, the frame vectors and the points", n, len(u.Frame), len(ys))
	}
	out := s.call("Steer", func(in []*Node) []*Node {
		x, nu, e, y := in[0], in[1], in[2], in[3]
		x, nu = copies(x, nu, y.Shape().Dim(0))
		var ends, mismatch, pull, slope, drift *Node
		state := geom.InChart(s.Base.M, kinds, func(at geom.Local, in ode.State) ode.State {
			m, x, nu := at.Manifold, in[0], in[1]
			end := ode.Flow(DevelopmentField(m, control(e)), s.Base.Method(), s.Base.Steps(), ode.State{x, nu})
			drift = change(Gram(m, x, nu), Gram(m, end[0], end[1]))
			ends = at.Point(end[0])
			mismatch = ReduceSum(Square(Sub(ends, facing(s.Base.M, StopGradient(ends), y))), -1)
			slopes := Gradient(MulScalar(ReduceAllSum(mismatch), -0.5), x, nu, e)
			slope = Neg(slopes[2])
			pull = alongMove(m, x, nu, slopes[0], slopes[1])
			return invariant(m, ode.State{x, nu, slopes[0], slopes[1]})
		}, ode.State{x, nu, ZerosLike(x), ZerosLike(nu)})
		if geom.IsCharted(s.Base.M) {
			pull = state[2]
		}
		return []*Node{mismatch, state[2], state[3], slope, pull, ends, drift}
	}, u.X, u.Frame, controls, ys)
	vertical := out.Array3(2)
	return &Steered{Ends: out.Matrix(5), Mismatch: out.Vector(0), Momenta: momenta(out.Matrix(1), vertical), Pull: momenta(out.Matrix(4), vertical),
		Slope: out.Array3(3), Drift: out.Vector(6)}, nil
}

// change returns |L⁻¹ B L⁻ᵀ − 1|, [B...], of symmetric matrices A = LLᵀ and B, [B..., m, m], in the Frobenius norm.
func change(a, b *Node) *Node {
	off := Sub(linalg.Solve(a, b), linalg.EyeLike(a))
	return Sqrt(Max(linalg.Trace(linalg.MatMul(off, off)), ScalarZero(a.Graph(), a.DType())))
}

// SteeredPath returns the path of Steer for one control, [2n + 1][m], with points and frames at the times 0, 1/n, …, 1.
func (s *Space[P]) SteeredPath(u Point[geom.Vec], controls [][]float64) (_ *Geodesic[P], err error) {
	defer try.Named(&err, "SteeredPath")
	steps := s.Base.Steps()
	if len(controls) != 2*steps+1 {
		return nil, fmt.Errorf("controls at %d times, want %d", len(controls), 2*steps+1)
	}
	out := s.call("SteeredPath", func(in []*Node) []*Node {
		field := func(m geom.Manifold) ode.Field { return DevelopmentField(m, control(in[2])) }
		return geom.Path(s.Base.M, field, s.Base.Method(), steps, in[:2], geom.Vector)
	}, u.X, u.Frame, controls)
	path := out.Matrix(0)
	diverges(path)
	g := &Geodesic[P]{Start: s.point(u), Path: s.Base.Points(path), Frames: s.frames(out.Array3(1)), Steps: steps}
	g.End = g.Path[steps]
	for j, w := range simpson(steps) {
		g.Energy += w * floats.Dot(controls[j], controls[j]) / 2
		if j%2 == 0 {
			g.Velocities = append(g.Velocities, controls[j])
		}
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
