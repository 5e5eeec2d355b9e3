package framebundle

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// Space computes on the frame bundle of a manifold with numbers of Go. On and Over make it. Points and vectors have the type of
// those of Base, and are checked and integrated as there; Develop takes one step of its method for each piece of its curve.
type Space[P geom.Point] struct {
	Base *geom.Space[P]
}

// On returns the frame bundle of a Riemannian manifold. Its base points are lists of numbers; Over makes the frame bundle of a
// given space. The options are those of geom.On.
func On(m geom.Manifold, options ...geom.Option) *Space[geom.Vec] {
	return Over(geom.On(m, options...))
}

// Over returns the frame bundle over a space, with points of the same type. Compiled functions are kept by the space.
func Over[P geom.Point](base geom.Of[P]) *Space[P] { return &Space[P]{base.Geometry()} }

func (s *Space[P]) call(name string, fn func(in []*Node) []*Node, args ...any) engine.Values {
	return try.Get(s.Base.Call(ode.Key{Name: "frame bundle, " + name, Method: s.Base.Method(), Steps: s.Base.Steps()}, fn, args...))
}

// Point is a point u = (x, ν) of the frame bundle.
type Point[P geom.Point] struct {
	X     P
	Frame []P // ν_1 … ν_m
}

// At returns the point (x, ν) of the frame bundle: the base point x with the frame of tangent vectors ν_1 … ν_m at x, in the
// form of x.
func At[P geom.Point](x P, frame ...P) Point[P] { return Point[P]{x, frame} }

// Covariance returns the matrix Σ_α ν_α ν_αᵀ, [n][n], for points of n numbers: coordinates or ambient vectors, the rows of shapes one
// after the other.
func (u Point[P]) Covariance() [][]float64 {
	n := len(shape.Flat(u.X))
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, n)
		for _, v := range u.Frame {
			nu := shape.Flat(v)
			floats.AddScaled(out[i], nu[i], nu)
		}
	}
	return out
}

// flat is u as lists of numbers.
func (s *Space[P]) flat(u Point[P]) Point[geom.Vec] {
	return Point[geom.Vec]{shape.Flat(u.X), shape.FlatAll(u.Frame)}
}

// Momentum is a covector at a point of the frame bundle, given by its invariant parts: see the package.
type Momentum[P geom.Point] struct {
	Horizontal P   // h
	Vertical   []P // P^1 … P^m
}

// Development is a curve on the manifold, with frames along it and its anti-development in R^m.
type Development[P geom.Point] struct {
	Curve  [][]float64 // w in R^m at the times 0, 1/n, …, 1
	Path   []P         // x at these times
	Frames [][]P       // ν at these times: Frames[k][α]
}

// String says what the development is in one line.
func (d *Development[P]) String() string {
	return fmt.Sprintf("development of a curve of %d pieces in R^%d", len(d.Curve)-1, len(d.Curve[0]))
}

// Develop returns the development of a curve in R^m from u. The curve is a polygon given by its corners, at least 2; if they are
// samples of a smooth curve, the error is O(n⁻²). The first corner need not be 0. A path that diverges is an error.
func (s *Space[P]) Develop(u Point[P], curve [][]float64) (_ *Development[P], err error) {
	defer try.Named(&err, "Develop")
	try.Do(s.check(u))
	try.FailIf(len(curve) < 2, "the curve has %d points, want at least 2", len(curve))
	for k, w := range curve {
		try.FailIf(len(w) != len(u.Frame), "point %d of the curve has %d coordinates, the frame %d vectors", k, len(w), len(u.Frame))
		if i, bad := lists.NotFinite(w); bad {
			return nil, fmt.Errorf("coordinate %d of point %d of the curve is %g", i, k, w[i])
		}
	}
	v := s.flat(u)
	out := s.call("Develop", func(in []*Node) []*Node {
		x, nu := develop(s.Base.M, s.Base.Method(), in[0], in[1], in[2])
		return []*Node{x, nu}
	}, v.X, v.Frame, curve)
	path := out.Matrix(0)
	diverges(path)
	return &Development[P]{Curve: curve, Path: s.Base.FromFlats(path), Frames: lists.Each(out.Array3(1), s.Base.FromFlats)}, nil
}

// Geodesic is a geodesic of the frame bundle on [0, 1] or a most probable path. For the latter Mismatch, Residual, Iterations and
// Status say how well it was found. Paths from SteeredPath, and those of a Mean, have no Momenta.
type Geodesic[P geom.Point] struct {
	Start    Point[P]
	Momentum Momentum[P] // at the start
	Energy   float64     // ½ ∫ |w'|² dt with the anti-development w: half the squared sub-Riemannian length, without unit
	End      P

	Path       []P           // x at the times 0, 1/n, …, 1
	Frames     [][]P         // ν at these times: Frames[k][α]
	Momenta    []Momentum[P] // (h, P) at these times
	Velocities [][]float64   // w' at these times, in R^m

	Mismatch float64 // of a most probable path to y: |x(1) − y|²
	// Residual, of a most probable path, is how far it may be off, in units of σ, as a root mean square over the coordinates (for σ = 0, in
	// units of |y − x|): by how much a step of the search with twice the integrator's steps moves it at any time, plus √(2e) for the e by
	// which its cost then exceeds the minimum, plus what the steps do to its end. It is +Inf where no such step was taken.
	Residual float64
	// StepError, of MostProbablePath, is how far from the End Exp_FM of the Momentum leads with twice the Steps, divided by |y − x|. It is NaN
	// where no path was found, and of the paths of a Mean.
	StepError  float64
	Steps      int // of the integrator, for a most probable path
	Iterations int
	Status     geom.Status // of Exp: Converged where the energy changes by at most geom.MaxDrift
	Reason     string      // why Status is not Converged
}

// String says what the path is in one line, with the Reason where it was not found.
func (g *Geodesic[P]) String() string {
	s := fmt.Sprintf("path of energy %.4g, mismatch √(%.2g), residual %.2g, %s", g.Energy, g.Mismatch, g.Residual, g.Status)
	if g.Reason != "" {
		s += fmt.Sprintf(": %s; take a larger σ or a frame with more vectors", g.Reason)
	}
	return s
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (g *Geodesic[P]) Err() error { return solve.NotNil(g).Status.Err(g) }

// shaped turns a geodesic with points as lists of numbers into one with the points of a space.
func shaped[P geom.Point](base *geom.Space[P], g *Geodesic[geom.Vec]) *Geodesic[P] {
	momentum := func(p Momentum[geom.Vec]) Momentum[P] {
		return Momentum[P]{base.FromFlat(p.Horizontal), base.FromFlats(p.Vertical)}
	}
	return &Geodesic[P]{Start: Point[P]{base.FromFlat(g.Start.X), base.FromFlats(g.Start.Frame)}, Momentum: momentum(g.Momentum), Energy: g.Energy,
		End: base.FromFlat(g.End), Path: base.FromFlats(g.Path), Frames: lists.Each(g.Frames, base.FromFlats),
		Momenta: lists.Each(g.Momenta, momentum), Velocities: g.Velocities, Mismatch: g.Mismatch, Residual: g.Residual, StepError: g.StepError, Steps: g.Steps, Iterations: g.Iterations,
		Status: g.Status, Reason: g.Reason}
}

// Exp returns the geodesic Exp_FM from u with the initial momentum p. A nil p.Vertical stands for P = 0. A path that diverges is an
// error.
func (s *Space[P]) Exp(u Point[P], p Momentum[P]) (_ *Geodesic[P], err error) {
	defer try.Named(&err, "Exp_FM")
	try.Do(s.check(u))
	v := s.flat(u)
	try.Do(s.Base.CheckNumbers("horizontal momentum", p.Horizontal))
	vertical := shape.FlatAll(p.Vertical)
	if vertical == nil {
		vertical = slices.Repeat([][]float64{make([]float64, len(v.X))}, len(v.Frame))
	}
	try.FailIf(len(vertical) != len(u.Frame), "the momentum has %d vertical parts, the frame %d vectors", len(vertical), len(u.Frame))
	for k, p := range p.Vertical {
		try.Do(s.Base.CheckNumbers(fmt.Sprintf("vertical momentum %d", k), p))
	}
	out := s.shoot(v, Momentum[geom.Vec]{shape.Flat(p.Horizontal), vertical})
	path := out.Matrix(0)
	diverges(path)
	g := &Geodesic[geom.Vec]{Start: v, Path: path, Frames: out.Array3(1), Velocities: out.Matrix(4), End: path[s.Base.Steps()]}
	verticals := out.Array3(3)
	for k, h := range out.Matrix(2) {
		g.Momenta = append(g.Momenta, Momentum[geom.Vec]{h, verticals[k]})
	}
	g.Momentum = g.Momenta[0]
	g.Energy, g.Status = floats.Dot(g.Velocities[0], g.Velocities[0])/2, geom.Converged
	for _, v := range g.Velocities { // the energy is constant
		if !(math.Abs(floats.Dot(v, v)/2-g.Energy) <= geom.MaxDrift*g.Energy) {
			g.Status, g.Reason = geom.Stalled, "the energy changes along the path: it takes more steps of the integrator"
		}
	}
	return shaped(s.Base, g), nil
}

// shoot returns x, ν, h, P and w' at the times of the geodesic Exp_FM.
func (s *Space[P]) shoot(u Point[geom.Vec], p Momentum[geom.Vec]) engine.Values {
	return s.call("Exp_FM", func(in []*Node) []*Node {
		path := shoot(s.Base.M, s.Base.Method(), s.Base.Steps(), in)
		return append(path, Transpose(velocities(timesSecond(path[1]), path[2]), 0, 1))
	}, u.X, u.Frame, p.Horizontal, p.Vertical)
}

// rankTolerance is the least ratio of the smallest to the largest eigenvalue of νᵀ g ν for independent vectors.
const rankTolerance = 1e-12

// check returns an error unless u is a point of the frame bundle: X must be a point of the manifold where the metric is regular, and
// Frame must be 1 to d linearly independent tangent vectors at X.
func (s *Space[P]) check(u Point[P]) (err error) {
	defer try.Catch(&err)
	try.Do(s.Base.CheckRegular("point", u.X))
	d := s.Base.M.Dim()
	if m := len(u.Frame); m == 0 || m > d {
		return fmt.Errorf("a frame of %d vectors in dimension %d, want 1 to %d", m, d, d)
	}
	try.Do(s.Base.Check("point", u.X, u.Frame...))
	gram := try.Get(s.Gram(u))
	values, _, ok := dense.Eigen(gram)
	try.FailIf(!ok, "the metric is not finite at the point: %v", mat.Formatted(gram))
	if low, high := values[0], values[len(values)-1]; !(low > rankTolerance*high) {
		return fmt.Errorf("the %d frame vectors are linearly dependent: νᵀ g ν has eigenvalues from %.3g to %.3g", len(values), low, high)
	}
	return nil
}

// Gram returns the matrix νᵀ g ν = ⟨ν_α, ν_β⟩_g, [m][m], of inner products of the frame vectors.
func (s *Space[P]) Gram(u Point[P]) (_ *mat.SymDense, err error) {
	defer try.Catch(&err)
	v := s.flat(u)
	out := s.call("Gram", func(in []*Node) []*Node {
		at := geom.At(s.Base.M, in[0])
		return []*Node{gram(at.Manifold, at.X, at.Enter(geom.Vector, in[1]))}
	}, v.X, v.Frame)
	return mat.NewSymDense(len(u.Frame), out.Flat(0)), nil
}

func diverges(points [][]float64) {
	for k, x := range points {
		if i, bad := lists.NotFinite(x); bad {
			try.Fail("the path diverges at step %d of %d (coordinate %d is %g): it is too fast for the step or leaves the chart; use more steps or less momentum",
				k, len(points)-1, i, x[i])
		}
	}
}
