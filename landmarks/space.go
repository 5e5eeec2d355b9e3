package landmarks

import (
	"fmt"
	"math"
	"sync"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks/morpho"
)

// Space is the landmark manifold for shapes on the host. Its geometry is the generic one of package geom.
type Space struct {
	Manifold
	Geometry *geom.Space // the same manifold on coordinate vectors x_1 y_1 x_2 y_2 …

	method ode.Method
	steps  int
	fewer  func() *Space // the same for some of the landmarks
}

// Option changes how a Space integrates.
type Option func(*Space)

// Integrator sets the method and its number of steps on [0, 1]. The default is RK4 with 25 steps.
func Integrator(method ode.Method, steps int) Option {
	return func(s *Space) { s.method, s.steps = method, steps }
}

// New returns the manifold of n landmarks in R^dim with the metric of a kernel.
func New(n, dim int, kernel kernels.Kernel, options ...Option) *Space {
	if n < 1 || dim < 1 {
		panic(fmt.Sprintf("landmarks.New: %d landmarks in R^%d", n, dim))
	}
	s := &Space{Manifold: Manifold{n, dim, kernel}, method: ode.RK4, steps: 25}
	for _, o := range options {
		o(s)
	}
	s.Geometry = geom.On(s.Manifold, geom.Integrator(s.method, s.steps))
	s.fewer = sync.OnceValue(func() *Space { return New(coarse, dim, kernel, options...) })
	return s
}

// Geodesic is a geodesic between shapes on [0, 1] and, where it was searched for, how well it was found.
type Geodesic struct {
	Start, End         [][]float64   // γ(0), γ(1)
	Velocity, Momentum [][]float64   // γ'(0), tangent vector and momentum at every landmark
	Path, Momenta      [][][]float64 // γ and its momenta at the times 0, 1/n, …, 1
	Length             float64       // ‖γ'(0)‖_g

	Residual   float64 // Log: root mean square of γ(1) − target over the coordinates
	Iterations int     // Log: evaluations of Exp and Newton steps
	Status     geom.Status
}

func (s *Space) geodesic(g *geom.Geodesic) *Geodesic {
	out := &Geodesic{Start: s.Shape(g.Start), Velocity: s.Shape(g.Velocity), Momentum: s.Shape(g.Momentum),
		Length: g.Length, Residual: g.Residual, Iterations: g.Iterations, Status: g.Status}
	for k := range g.Points {
		out.Path = append(out.Path, s.Shape(g.Points[k]))
		out.Momenta = append(out.Momenta, s.Shape(g.Momenta[k]))
	}
	if len(out.Path) > 0 {
		out.End = out.Path[len(out.Path)-1]
	}
	return out
}

// Exp returns the geodesic from a shape with a tangent vector: a velocity, in units of length, at every landmark.
func (s *Space) Exp(q, v [][]float64) (*Geodesic, error) {
	return s.shoot("Exp", s.Geometry.Exp, q, "velocity", v)
}

// Shoot returns the geodesic from a shape with a momentum at every landmark.
func (s *Space) Shoot(q, p [][]float64) (*Geodesic, error) {
	return s.shoot("Shoot", s.Geometry.Shoot, q, "momentum", p)
}

func (s *Space) shoot(what string, run func(x, v []float64) (*geom.Geodesic, error), q [][]float64, name string, v [][]float64) (*Geodesic, error) {
	x, err := s.Vector(q)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	w, err := s.rows(v)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", what, name, err)
	}
	g, err := run(x, w)
	if err != nil {
		return nil, err
	}
	return s.geodesic(g), s.fits(g.Points)
}

// bounded is a kernel, or a data term with one, whose fast sums hold for points in a box.
type bounded interface {
	Fits(points [][]float64) error
}

// fits says at which time of a path the landmarks leave the box of a bounded kernel.
func (s *Space) fits(path [][]float64) error {
	k, bounded := s.Kernel.(bounded)
	if !bounded {
		return nil
	}
	for i, x := range path {
		if err := k.Fits(s.Shape(x)); err != nil {
			return fmt.Errorf("step %d of %d: %w", i, len(path)-1, err)
		}
	}
	return nil
}

// Log returns the geodesic from shape q to shape target; see geom.Space.Log. Geodesic.Status and Residual say how well
// it meets the target. With more than 1000 landmarks it is LogWithin 1e-6 of the root mean square distance of the
// landmarks of q from their centre.
func (s *Space) Log(q, target [][]float64) (*Geodesic, error) {
	x, err := s.Vector(q)
	if err != nil {
		return nil, fmt.Errorf("Log: starting shape: %w", err)
	}
	y, err := s.Vector(target)
	if err != nil {
		return nil, fmt.Errorf("Log: target shape: %w", err)
	}
	if s.N > denseLimit {
		return s.LogWithin(q, target, 1e-6*morpho.CentroidSize(q)/math.Sqrt(float64(s.N)))
	}
	g, err := s.Geometry.Log(x, y)
	if err != nil {
		return nil, err
	}
	return s.geodesic(g), nil
}

// Carry moves arbitrary points, [k][D], with the diffeomorphisms of a geodesic, z' = Σ_j K(z, x_j) p_j, and returns
// their positions at every time of its path, [n + 1][k][D].
func (s *Space) Carry(g *Geodesic, points [][]float64) ([][][]float64, error) {
	for i, z := range points {
		if err := s.checkPoint(z); err != nil {
			return nil, fmt.Errorf("Carry: point %d: %w", i, err)
		}
	}
	out, err := s.Geometry.Call("Carry", func(in []*Node) []*Node {
		hamilton := geom.Geodesics(s.Manifold)
		field := func(t *Node, y ode.State) ode.State {
			return append(hamilton(t, y[:2]), s.Velocity(y[0], y[1], y[2]))
		}
		return ode.Path(field, s.method, s.steps, in)[2:]
	}, flatten(g.Start), flatten(g.Momentum), points)
	if err != nil {
		return nil, err
	}
	paths := out.Array3(0)
	if k, bounded := s.Kernel.(bounded); bounded {
		for i, q := range g.Path {
			if err := k.Fits(append(append([][]float64{}, q...), paths[i]...)); err != nil {
				return nil, fmt.Errorf("Carry: step %d of %d: %w", i, len(g.Path)-1, err)
			}
		}
	}
	return paths, nil
}

// CarryLines is Carry for polylines, as of a grid: it returns the lines at the end of the geodesic.
func (s *Space) CarryLines(g *Geodesic, lines [][][]float64) ([][][]float64, error) {
	var points [][]float64
	for _, l := range lines {
		points = append(points, l...)
	}
	paths, err := s.Carry(g, points)
	if err != nil {
		return nil, err
	}
	end := paths[len(paths)-1]
	out := make([][][]float64, len(lines))
	for i, l := range lines {
		out[i], end = end[:len(l)], end[len(l):]
	}
	return out, nil
}

// Vector returns the coordinates x_1 y_1 x_2 y_2 … of a shape after checking it: the number of landmarks and
// dimensions, finite numbers, no two landmarks in one place.
func (s *Space) Vector(q [][]float64) ([]float64, error) {
	x, err := s.rows(q)
	if err != nil {
		return nil, err
	}
	seen := make(map[[3]float64]int, len(q))
	for i, p := range q {
		var key [3]float64
		copy(key[:], p)
		if j, found := seen[key]; found && s.D <= 3 {
			return nil, fmt.Errorf("landmarks %d and %d coincide at %v: the kernel matrix is singular; remove one of them", j, i, p)
		}
		seen[key] = i
	}
	return x, nil
}

// Vectors is Vector for many shapes.
func (s *Space) Vectors(shapes [][][]float64) ([][]float64, error) {
	out := make([][]float64, len(shapes))
	for k, q := range shapes {
		var err error
		if out[k], err = s.Vector(q); err != nil {
			return nil, fmt.Errorf("shape %d: %w", k, err)
		}
	}
	return out, nil
}

func (s *Space) rows(q [][]float64) ([]float64, error) {
	if len(q) != s.N {
		return nil, fmt.Errorf("%d landmarks, the manifold has %d", len(q), s.N)
	}
	for i, p := range q {
		if err := s.checkPoint(p); err != nil {
			return nil, fmt.Errorf("landmark %d: %w", i, err)
		}
	}
	return flatten(q), nil
}

func (s *Space) checkPoint(p []float64) error {
	if len(p) != s.D {
		return fmt.Errorf("%d coordinates, the manifold's landmarks have %d", len(p), s.D)
	}
	for a, v := range p {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("coordinate %d is %g", a, v)
		}
	}
	return nil
}

// Shape is the inverse of Vector.
func (s *Space) Shape(x []float64) [][]float64 { return engine.Unflatten(x, s.D) }

// Shapes is Shape for many vectors.
func (s *Space) Shapes(x [][]float64) [][][]float64 {
	out := make([][][]float64, len(x))
	for k := range x {
		out[k] = s.Shape(x[k])
	}
	return out
}

func flatten(q [][]float64) []float64 {
	var x []float64
	for _, p := range q {
		x = append(x, p...)
	}
	return x
}
