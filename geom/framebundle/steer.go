package framebundle

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// control returns the function of time, [m, B...], that has the values e, [2n + 1, m, B...], at the times 0, 1/2n, …, 1 and is linear
// between them. A step of RK4 sees it at these times only.
func control(e *Node) func(t *Node) *Node {
	last := float64(e.Shape().Dim(0) - 1)
	return func(t *Node) *Node {
		dims := slices.Repeat([]int{1}, e.Rank())
		dims[0] = e.Shape().Dim(0)
		number := Iota(t.Graph(), shapes.Make(t.DType(), dims...), 0)
		weight := Max(AddScalar(Neg(Abs(Sub(MulScalar(t, last), number))), 1), ZerosLike(number))
		return ReduceSum(Mul(weight, e), 0)
	}
}

// simpson returns the weights of Simpson's rule on n steps and their midpoints, 2n + 1 numbers: as RK4 integrates a function of time.
func simpson(n int) []float64 {
	w := lists.Make(2*n+1, func(j int) float64 { return float64(2+2*(j%2)) / float64(6*n) })
	w[0], w[2*n] = w[0]/2, w[2*n]/2
	return w
}

// steered tells how far a path with given controls misses its target.
type steered struct {
	end      []float64          // x(1)
	mismatch float64            // |x(1) − y|²
	momentum Momentum[geom.Vec] // minus the derivative of ½ |x(1) − y|² by the starting point, along lifts and by the frame
	pull     Momentum[geom.Vec] // the same as steps of move see it
	slope    [][]float64        // its derivative by the controls, [2n + 1][m]
	// drift is by how much, as a share, νᵀgν is not the same at the end as at the start, in the Frobenius norm where it is 1 at the
	// start: an error of the integration.
	drift float64
}

// steer develops the curve w from u whose velocities at the times 0, 1/2n, …, 1 are the controls, [2n + 1][m] for the n steps of
// the integrator, and compares its end with a point y, Aligned to it.
//
// Where the controls minimise the energy ½ ∫ |w'|² dt, by Simpson's rule, plus |x(1) − y|²/2σ², the path is the most probable one, and
// momentum/σ² is its momentum: minimising over controls is a search for most probable paths that no curvature makes unstable. On a
// Charted manifold the path stays in the chart centred at u. It does not Check u, so that an iteration need not at every step.
func (s *Space[P]) steer(u Point[geom.Vec], controls [][]float64, y []float64) *steered {
	out := s.call("steer", func(in []*Node) []*Node {
		x, nu, e, y := ExpandAxes(in[0], 0), ExpandAxes(in[1], 1), ExpandAxes(in[2], -1), ExpandAxes(in[3], 0)
		var ends, mismatch, pull, slope, drift *Node
		state := geom.InChart(s.Base.M, kinds, func(at geom.Local, in ode.State) ode.State {
			m, x, nu := at.Manifold, in[0], in[1]
			end := ode.Flow(DevelopmentField(m, control(e)), s.Base.Method(), s.Base.Steps(), ode.State{x, nu})
			drift = change(gram(m, x, nu), gram(m, end[0], end[1]))
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
		return []*Node{mismatch, state[2], Squeeze(state[3], 1), Squeeze(slope, -1), pull, ends, drift}
	}, u.X, u.Frame, controls, y)
	vertical := out.Matrix(2)
	return &steered{end: out.Matrix(5)[0], mismatch: out.Vector(0)[0], momentum: Momentum[geom.Vec]{out.Matrix(1)[0], vertical},
		pull: Momentum[geom.Vec]{out.Matrix(4)[0], vertical}, slope: out.Matrix(3), drift: out.Vector(6)[0]}
}

// change returns |L⁻¹ B L⁻ᵀ − 1|, [B...], of symmetric matrices A = LLᵀ and B, [B..., m, m], in the Frobenius norm.
func change(a, b *Node) *Node {
	off := Sub(linalg.Solve(a, b), linalg.EyeLike(a))
	return Sqrt(Max(linalg.Trace(linalg.MatMul(off, off)), ScalarZero(a.Graph(), a.DType())))
}

// SteeredPath returns the path from u with the velocities w' of its anti-development, [2n + 1][m] at the times 0, 1/2n, …, 1 for the n steps of
// the integrator, with points and frames at the times 0, 1/n, …, 1.
func (s *Space[P]) SteeredPath(u Point[geom.Vec], controls [][]float64) (_ *Geodesic[geom.Vec], err error) {
	defer try.Named(&err, "SteeredPath")
	steps := s.Base.Steps()
	try.FailIf(len(controls) != 2*steps+1, "controls at %d times, want %d", len(controls), 2*steps+1)
	out := s.call("SteeredPath", func(in []*Node) []*Node {
		field := func(m geom.Manifold) ode.Field { return DevelopmentField(m, control(in[2])) }
		return geom.Path(s.Base.M, field, s.Base.Method(), steps, in[:2], geom.Vector)
	}, u.X, u.Frame, controls)
	path := out.Matrix(0)
	diverges(path)
	g := &Geodesic[geom.Vec]{Start: u, Path: path, Frames: out.Array3(1), Steps: steps, End: path[steps]}
	for j, w := range simpson(steps) {
		g.Energy += w * floats.Dot(controls[j], controls[j]) / 2
		if j%2 == 0 {
			g.Velocities = append(g.Velocities, controls[j])
		}
	}
	return g, nil
}

// move returns the point to which u goes by a step, the numbers of dx and then those of the dν_β. In coordinates x becomes x + dx, and the
// frame ν + dν moves so that its covectors ν_β♭ stay the same: of landmarks it remains a field of the kernel whatever dx is, while a
// geodesic in a direction that is rough for the kernel is wild. On a Charted manifold x moves along the geodesic with velocity dx, and
// ν + dν parallel along it.
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
		covectors := geom.Flat(m, x, nu)
		x = Add(x, Squeeze(SliceAxis(nu, 0, AxisRange(0, 1)), 0))
		return []*Node{x, geom.Sharp(m, x, covectors)}
	}, u.X, frame)
	return Point[geom.Vec]{out.Vector(0), out.Matrix(1)[1:]}
}

// alongMove returns the derivative along move by dx, [B..., d], of a function with the derivatives p and P by x and by ν.
func alongMove(m geom.Manifold, x, nu, p, vertical *Node) *Node {
	covectors := geom.Flat(m, x, nu)
	x = Squeeze(ExpandAxes(x, 0), 0) // a node of its own to differentiate by
	return Add(p, Gradient(ReduceAllSum(Mul(vertical, geom.Sharp(m, x, covectors))), x)[0])
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
	out := slices.Clone(shape.Flat(p.Horizontal))
	for _, v := range p.Vertical {
		out = append(out, shape.Flat(v)...)
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

// degree is that of the splines by which a search describes controls: the energy that splines on pieces of length h miss is O(h¹²).
const degree = 5

// splines are the functions of time on [0, 1] that are polynomials of degree 5 on pieces of one length, with four continuous
// derivatives, in a basis that is orthonormal for Simpson's rule on n steps: the energy of controls that a step of RK4 sees is half
// the sum of squares of their coefficients.
type splines struct {
	pieces, steps int
	factor        mat.Cholesky // of the inner products of B-splines
	values        *mat.Dense   // of the basis at the times of steer, 0, 1/2n, …, 1, [2n + 1, count]
	one           []float64    // the coefficients of the function 1
}

// newSplines returns the splines on pieces for n steps, of which each piece should have a few.
func newSplines(pieces, steps int) (*splines, error) {
	s := &splines{pieces: pieces, steps: steps}
	values := s.bSplines(steps)
	var gram mat.Dense
	gram.Mul(values.T(), weighted(values))
	if !s.factor.Factorize(dense.Symmetric(&gram)) {
		return nil, fmt.Errorf("splines on %d pieces: %d steps are too few", pieces, steps)
	}
	var err error
	if s.values, err = s.onSteps(steps); err != nil {
		return nil, err
	}
	s.one = make([]float64, s.count())
	for j, w := range simpson(steps) {
		floats.AddScaled(s.one, w, s.values.RawRowView(j))
	}
	return s, nil
}

// count is the number of functions.
func (s *splines) count() int { return s.pieces + degree }

// onSteps returns the values of the basis at the times 0, 1/2n, …, 1 of any n, [2n + 1, count].
func (s *splines) onSteps(n int) (*mat.Dense, error) {
	var lower mat.TriDense
	s.factor.LTo(&lower)
	var out mat.Dense
	if err := out.Solve(&lower, s.bSplines(n).T()); err != nil {
		return nil, fmt.Errorf("splines on %d pieces: %w", s.pieces, err)
	}
	return mat.DenseCopyOf(out.T()), nil
}

// from returns the matrix that takes coefficients of other splines, on as many pieces or half as many, to those of the same function.
func (s *splines) from(other *splines) (*mat.Dense, error) {
	values, err := other.onSteps(s.steps)
	if err != nil {
		return nil, err
	}
	var out mat.Dense
	out.Mul(s.values.T(), weighted(values))
	return &out, nil
}

// weighted returns values at the times of steer times the weights of Simpson's rule.
func weighted(values *mat.Dense) *mat.Dense {
	times, _ := values.Dims()
	out := mat.DenseCopyOf(values)
	for j, w := range simpson(times / 2) {
		floats.Scale(w, out.RawRowView(j))
	}
	return out
}

// bSplines returns the values of the B-splines with knots at the ends of pieces, six at 0 and at 1, by the recursion of Cox and de Boor
// (C. de Boor, A Practical Guide to Splines, 2001, chapter 10), at the times 0, 1/2n, …, 1.
func (s *splines) bSplines(n int) *mat.Dense {
	out := mat.NewDense(2*n+1, s.count(), nil)
	knot := func(i int) float64 { return float64(max(0, min(s.pieces, i-degree))) }
	for j := range 2*n + 1 {
		t := float64(j*s.pieces) / float64(2*n)
		piece := min(int(t), s.pieces-1)
		b := [degree + 1]float64{1} // of degree d, those of numbers piece + 5 − d … piece + 5
		for d := 1; d <= degree; d++ {
			saved := 0.0
			for r := range d {
				left, right := knot(piece+degree+1+r-d), knot(piece+degree+1+r)
				share := b[r] / (right - left)
				b[r] = saved + (right-t)*share
				saved = (t - left) * share
			}
			b[d] = saved
		}
		for d, v := range b {
			out.Set(j, piece+d, v)
		}
	}
	return out
}
