package landmarks

import (
	"fmt"
	"math"
	"sync"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/geom/try"
	"anatomy/kernels"
	"anatomy/landmarks/morpho"
)

// Space computes on the landmark manifold with shapes, [N][D]. It has all methods of geom.Space, such as Exp, and methods that only
// landmarks have. Functions that take a geom.Of, such as stats.FrechetMean, take it as well.
type Space struct {
	*geom.Space[geom.Shape]
	Manifold Manifold // for graph functions

	fewer func() *Space // the same for some of the landmarks
}

// String says in one line which manifold it is.
func (s *Space) String() string {
	return fmt.Sprintf("manifold of %d landmarks in R^%d, kernel %v", s.Manifold.N, s.Manifold.D, s.Manifold.Kernel)
}

// Geodesic is a geodesic of shapes.
type Geodesic = geom.Geodesic[geom.Shape]

// New returns the space of n landmarks in R^dim with the metric of a kernel: the length of a tangent vector is the least norm
// of a vector field with these values at the landmarks. Points are shapes, [n][dim]; the width of the kernel has the unit of
// their coordinates. The options are those of geom, such as geom.Integrator. A number n or dim below 1, or a nil kernel, is a
// panic.
func New(n, dim int, kernel kernels.Kernel, options ...geom.Option) *Space {
	if n < 1 || dim < 1 || kernel == nil {
		panic(fmt.Sprintf("landmarks.New: %d landmarks in R^%d with the kernel %v", n, dim, kernel))
	}
	m := Manifold{n, dim, kernel}
	return over(geom.OnShapes(m, options...), m)
}

func over(s *geom.Space[geom.Shape], m Manifold) *Space {
	return &Space{s, m, sync.OnceValue(func() *Space {
		method, steps := s.Method(), s.Steps()
		n, kernel := max(coarse, m.N/10), m.Kernel
		if n <= 4*coarse { // too few for fast sums to pay
			kernel = kernels.Exact(kernel)
		}
		return New(n, m.D, kernel, geom.Integrator(method, steps))
	})}
}

// With returns the space with other options; the two share their compiled functions.
func (s *Space) With(options ...geom.Option) *Space {
	out := over(s.Space.With(options...), s.Manifold)
	if out.Method() == s.Method() && out.Steps() == s.Steps() {
		out.fewer = s.fewer
	}
	return out
}

// operation is the key of this package's compiled functions; it holds the integrator.
type operation struct {
	name   string
	method ode.Method
	steps  int
}

func (o operation) String() string { return o.name }

func (s *Space) call(name string, fn func(in []*Node) []*Node, args ...any) (engine.Values, error) {
	return s.Call(operation{name, s.Method(), s.Steps()}, fn, args...)
}

// Log returns the geodesic from shape q to shape target, both [n][dim]: see geom.Space.Log. For more than 1000 landmarks it
// calls LogWithin with a tolerance of 1e-6 times the root mean square distance of the landmarks of q from their centre.
func (s *Space) Log(q, target [][]float64) (*Geodesic, error) {
	if s.Manifold.N > denseLimit && len(q) == s.Manifold.N {
		if err := s.CheckNumbers("starting shape", q); err != nil {
			return nil, fmt.Errorf("Log: %w", err)
		}
		return s.logWithin("Log", q, target, 1e-6*morpho.CentroidSize(q)/math.Sqrt(float64(len(q))))
	}
	return s.Space.Log(q, target)
}

// Carry moves arbitrary points, [k][D], by the diffeomorphisms of a geodesic, z' = Σ_j K(z, x_j) p_j. It returns their positions at
// the times 0, 1/n, …, 1 of the geodesic's path, [n + 1][k][D]. Points outside the box of a kernel with fast sums are an error.
func (s *Space) Carry(g *Geodesic, points [][]float64) (_ [][][]float64, err error) {
	defer try.Named(&err, "Carry")
	s = s.along(g, points)
	out := try.Get(s.call("carry", func(in []*Node) []*Node {
		path := ode.Path(s.carrying(), s.Method(), s.Steps(), in)
		return []*Node{path[2], path[0]}
	}, s.Vector(g.Start), s.Vector(g.Momentum), points))
	paths := out.Array3(0)
	for i, q := range out.Matrix(1) {
		try.Do(try.Name(s.Manifold.fits(s.Point(q), paths[i]), "step %d of %d", i, s.Steps()))
	}
	return paths, nil
}

// along returns the space with the steps of a geodesic, for its flow at points, and an error if one of them is not valid.
func (s *Space) along(g *Geodesic, points [][]float64) *Space {
	if g == nil {
		try.Fail("no geodesic")
	}
	if steady := s.Steady(g); steady.Steps() != s.Steps() {
		s = over(steady, s.Manifold)
	}
	if n := len(g.Path); n > 0 && n != s.Steps()+1 {
		try.Fail("the geodesic has %d steps, the space %d: take the space that made the geodesic, or Shoot its momentum in this one", n-1, s.Steps())
	}
	for i, x := range []geom.Shape{g.Start, g.Momentum} {
		try.Do(s.CheckNumbers([...]string{"start of the geodesic", "momentum of the geodesic"}[i], x))
	}
	s.checkPoints(points)
	return s
}

// checkPoints refuses points that are none of space.
func (s *Space) checkPoints(points [][]float64) {
	if len(points) == 0 {
		try.Fail("no points")
	}
	for i, z := range points {
		try.Do(try.Name(s.checkPoint(z), "point %d", i))
	}
}

// CarryOnGraph is a graph function: it returns where the diffeomorphisms at time 1 of the geodesics from q with initial momenta p,
// both [..., N·D], take points z, [..., k, D].
func (s *Space) CarryOnGraph(q, p, z *Node) *Node {
	return ode.Flow(s.carrying(), s.Method(), s.Steps(), ode.State{q, p, z})[2]
}

// CarryLines is Carry for polylines, such as the lines of a grid. It returns the lines at time 1; line l has as many points as
// before.
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

func (s *Space) checkPoint(p []float64) error {
	if len(p) != s.Manifold.D {
		return fmt.Errorf("%d coordinates, the manifold's landmarks have %d", len(p), s.Manifold.D)
	}
	for a, v := range p {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("coordinate %d is %g", a, v)
		}
	}
	return nil
}
