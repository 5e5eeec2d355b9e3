package framebundle

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
)

// Space computes on the frame bundle of a manifold with host slices: every operation is one graph function, compiled at
// its first use and reused. Points and vectors are coordinates, of an Atlas ambient vectors.
type Space struct {
	Geometry *geom.Space // the manifold below

	method ode.Method
	steps  int
}

// Option changes how a Space integrates.
type Option func(*Space)

// Integrator sets the method and its number of steps on [0, 1]. The default is RK4 with 20 steps. Develop and
// AntiDevelop take one step of the method a piece of their curve.
func Integrator(method ode.Method, steps int) Option {
	return func(s *Space) { s.method, s.steps = method, steps }
}

// On returns the frame bundle of a Riemannian manifold.
func On(m geom.Manifold, options ...Option) *Space {
	s := Over(nil, options...)
	s.Geometry = geom.On(m, geom.Integrator(s.method, s.steps))
	return s
}

// Over returns the frame bundle over a space, which keeps what is compiled.
func Over(geometry *geom.Space, options ...Option) *Space {
	s := &Space{Geometry: geometry, method: ode.RK4, steps: 20}
	for _, o := range options {
		o(s)
	}
	return s
}

// call runs a graph function under a name of this package.
func (s *Space) call(name string, fn func(in []*Node) []*Node, args ...any) (engine.Values, error) {
	return s.Geometry.Call("frame bundle, "+name, fn, args...)
}

// Point is a point u = (x, ν) of the frame bundle.
type Point struct {
	X     []float64
	Frame [][]float64 // ν_1 … ν_m
}

// Covariance returns Σ_α ν_α ν_αᵀ.
func (u Point) Covariance() [][]float64 {
	out := make([][]float64, len(u.X))
	for i := range out {
		out[i] = make([]float64, len(u.X))
		for _, v := range u.Frame {
			floats.AddScaled(out[i], v[i], v)
		}
	}
	return out
}

// Momentum is a covector at a point of the frame bundle in its invariant parts; see the package.
type Momentum struct {
	Horizontal []float64   // h
	Vertical   [][]float64 // P^1 … P^m
}

// Development is a curve on the manifold with its anti-development.
type Development struct {
	Curve  [][]float64   // w in R^m at the times 0, 1/n, …, 1
	Points [][]float64   // x
	Frames [][][]float64 // ν: Frames[k][α]
	// Residual is the root mean square over the coordinates of what Points lie off the path that was anti-developed, where
	// that is largest: rounding for m = d, and where m < d what the frame cannot reach.
	Residual float64
}

// Develop returns the development of a curve in R^m from u. The curve is given by its corners, which a smooth one follows
// up to O(n⁻²); they need not begin at 0.
func (s *Space) Develop(u Point, curve [][]float64) (*Development, error) {
	const what = "Develop"
	if err := s.Check(u); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if len(curve) < 2 {
		return nil, fmt.Errorf("%s: the curve has %d points, want at least 2", what, len(curve))
	}
	for k, w := range curve {
		if len(w) != len(u.Frame) {
			return nil, fmt.Errorf("%s: point %d of the curve has %d coordinates, the frame %d vectors", what, k, len(w), len(u.Frame))
		}
		if i, bad := notFinite(w); bad {
			return nil, fmt.Errorf("%s: coordinate %d of point %d of the curve is %g", what, i, k, w[i])
		}
	}
	out, err := s.call(what, func(in []*Node) []*Node {
		x, nu := Develop(s.Geometry.M, s.method, in[0], in[1], in[2])
		return []*Node{x, nu}
	}, u.X, u.Frame, curve)
	if err != nil {
		return nil, err
	}
	d := &Development{Curve: curve, Points: out.Matrix(0), Frames: out.Array3(1)}
	return d, diverges(what, d.Points)
}

// AntiDevelop returns the curve in R^m, starting at 0, whose development from (path_0, frame) is the path, given by its
// samples at even times. It is the inverse of Develop; where the frame has fewer vectors than the manifold dimensions, the
// development stays as close as it can, and Residual tells how close.
func (s *Space) AntiDevelop(frame, path [][]float64) (*Development, error) {
	const what = "AntiDevelop"
	if len(path) < 2 {
		return nil, fmt.Errorf("%s: the path has %d points, want at least 2", what, len(path))
	}
	for k, x := range path {
		if err := s.checkVector(fmt.Sprintf("point %d of the path", k), x); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := s.Check(Point{path[0], frame}); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	out, err := s.call(what, func(in []*Node) []*Node {
		w, x, nu := AntiDevelop(s.Geometry.M, s.method, in[0], in[1])
		return []*Node{w, x, nu}
	}, path, frame)
	if err != nil {
		return nil, err
	}
	d := &Development{Curve: out.Matrix(0), Points: out.Matrix(1), Frames: out.Array3(2)}
	for k, x := range d.Points {
		d.Residual = max(d.Residual, floats.Distance(x, path[k], 2)/math.Sqrt(float64(len(x))))
	}
	return d, diverges(what, d.Points)
}

// Geodesic is a geodesic of the frame bundle on [0, 1], and for a most probable path how well it was found. What was steered, a
// most probable path too, has no Momenta.
type Geodesic struct {
	Start    Point
	Momentum Momentum // at the start
	Energy   float64  // ½ ∫ |w'|² dt, w in R^m the anti-development; half the squared sub-Riemannian length
	End      []float64

	Points     [][]float64   // x at the times 0, 1/n, …, 1
	Frames     [][][]float64 // ν
	Momenta    []Momentum
	Velocities [][]float64 // w'

	Mismatch float64 // most probable paths: |x(1) − y|
	// Residual is the root mean square over the coordinates by which Exp_FM(Start, Momentum) ends off End; without noise, by
	// which the end conditions fail.
	Residual   float64
	Iterations int
	Status     geom.Status
}

// Exp returns the geodesic Exp_FM from u with a momentum. Without vertical part the momentum may be left without one.
func (s *Space) Exp(u Point, p Momentum) (*Geodesic, error) {
	const what = "Exp_FM"
	if err := s.Check(u); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if p.Vertical == nil {
		p.Vertical = zeros(len(u.Frame), len(u.X))
	}
	if len(p.Vertical) != len(u.Frame) {
		return nil, fmt.Errorf("%s: the momentum has %d vertical parts, the frame %d vectors", what, len(p.Vertical), len(u.Frame))
	}
	for k, v := range append([][]float64{p.Horizontal}, p.Vertical...) {
		name := "the horizontal momentum"
		if k > 0 {
			name = fmt.Sprintf("vertical momentum %d", k-1)
		}
		if err := s.checkVector(name, v); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	out, err := s.call(what, func(in []*Node) []*Node {
		path := Shoot(s.Geometry.M, s.method, s.steps, in)
		return append(path, Transpose(velocities(timesSecond(path[1]), path[2]), 0, 1))
	}, u.X, u.Frame, p.Horizontal, p.Vertical)
	if err != nil {
		return nil, err
	}
	g := &Geodesic{Start: u, Points: out.Matrix(0), Frames: out.Array3(1), Velocities: out.Matrix(4)}
	vertical := out.Array3(3)
	for k, h := range out.Matrix(2) {
		g.Momenta = append(g.Momenta, Momentum{h, vertical[k]})
	}
	g.Momentum, g.End = g.Momenta[0], g.Points[s.steps]
	g.Energy = floats.Dot(g.Velocities[0], g.Velocities[0]) / 2
	return g, diverges(what, g.Points)
}

// rankTolerance is the least ratio of the smallest to the largest eigenvalue of νᵀ g ν for independent vectors.
const rankTolerance = 1e-12

// Check reports what keeps u from being a point of the frame bundle: lengths, numbers that are not finite, more vectors
// than dimensions, vectors that are linearly dependent, of an Atlas points off the manifold and vectors that are not tangent.
func (s *Space) Check(u Point) error {
	if err := s.checkVector("the point", u.X); err != nil {
		return err
	}
	if m, ok := s.Geometry.M.(geom.SubRiemannian); ok {
		return fmt.Errorf("%T has a degenerate cometric, so there is no connection to lift along", m)
	}
	d := s.Geometry.M.Dim()
	if m := len(u.Frame); m == 0 || m > d {
		return fmt.Errorf("a frame of %d vectors in dimension %d, want 1 to %d", m, d, d)
	}
	for k, v := range u.Frame {
		if err := s.checkVector(fmt.Sprintf("frame vector %d", k), v); err != nil {
			return err
		}
	}
	if _, ok := s.Geometry.M.(geom.Atlas); ok {
		x, vectors, err := s.Geometry.Project(u.X, u.Frame...)
		if err != nil {
			return err
		}
		const slack = 1e-8
		if off := floats.Distance(x, u.X, 2); off > slack*floats.Norm(x, 2) {
			return fmt.Errorf("the point is %.3g off the manifold; Space.Geometry.Project moves points to it", off)
		}
		for k, v := range vectors {
			if off := floats.Distance(v, u.Frame[k], 2); off > slack*floats.Norm(u.Frame[k], 2) {
				return fmt.Errorf("frame vector %d is not tangent: the part that is not has norm %.3g; Space.Geometry.Project removes it", k, off)
			}
		}
	}
	gram, err := s.Gram(u)
	if err != nil {
		return err
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, false) {
		return fmt.Errorf("the metric is not finite at the point: %v", mat.Formatted(gram))
	}
	values := eigen.Values(nil)
	if low, high := values[0], values[len(values)-1]; !(low > rankTolerance*high) {
		return fmt.Errorf("the %d frame vectors are linearly dependent: νᵀ g ν has eigenvalues from %.3g to %.3g", len(values), low, high)
	}
	return nil
}

// Gram returns νᵀ g ν.
func (s *Space) Gram(u Point) (*mat.SymDense, error) {
	m := len(u.Frame)
	out, err := s.call("Gram", func(in []*Node) []*Node {
		var gram *Node
		geom.InChart(s.Geometry.M, []geom.Kind{geom.Vector}, func(m geom.Manifold, y ode.State) ode.State {
			gram = Gram(m, y[0], y[1])
			return y
		}, in)
		return []*Node{gram}
	}, u.X, u.Frame)
	if err != nil {
		return nil, err
	}
	g := mat.NewSymDense(m, nil)
	for i, row := range out.Matrix(0) {
		for j := i; j < m; j++ {
			g.SetSym(i, j, row[j])
		}
	}
	return g, nil
}

func (s *Space) checkVector(name string, v []float64) error {
	n := s.Geometry.M.Dim()
	if a, ok := s.Geometry.M.(geom.Atlas); ok {
		n = a.AmbientDim()
	}
	if len(v) != n {
		return fmt.Errorf("%s has %d coordinates, those of the manifold have %d", name, len(v), n)
	}
	if i, bad := notFinite(v); bad {
		return fmt.Errorf("coordinate %d of %s is %g", i, name, v[i])
	}
	return nil
}

func diverges(what string, points [][]float64) error {
	for k, x := range points {
		if i, bad := notFinite(x); bad {
			return fmt.Errorf("%s: the path diverges at step %d of %d (coordinate %d is %g): it is too fast for the step or leaves the chart; use more steps or less momentum",
				what, k, len(points)-1, i, x[i])
		}
	}
	return nil
}

func notFinite(x []float64) (int, bool) {
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return i, true
		}
	}
	return 0, false
}

func zeros(n, m int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, m)
	}
	return out
}
