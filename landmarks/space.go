package landmarks

import (
	"fmt"
	"math"
	"sync"

	"anatomy/geom"
	"anatomy/internal/refuse"
	"anatomy/kernels"
	"anatomy/landmarks/internal/pointset"
)

// Space computes on the landmark manifold with shapes, [N][D]. It has all methods of geom.Space, such as Exp, and methods that only
// landmarks have, such as Match, and those of a Flow. Functions that take a geom.Of, such as stats.FrechetMean, take it as well.
type Space struct {
	Flow
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
	refuse.If(n < 1 || dim < 1 || kernel == nil, "landmarks.New: %d landmarks in R^%d with the kernel %v", n, dim, kernel)
	m := Manifold{n, dim, kernel}
	return over(geom.OnShapes(m, options...), m)
}

func over(s *geom.Space[geom.Shape], m Manifold) *Space {
	return &Space{Flow{s, m}, m, sync.OnceValue(func() *Space {
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

// Log returns the geodesic from shape q to shape target, both [n][dim]: see geom.Space.Log. For more than 1000 landmarks it calls LogWithin with a
// tolerance of 1e-6 times the root mean square distance of the landmarks of q from their centre. LogAll and LogFrom, and what calls them, such as
// stats.FrechetMean without RelativeNoise, are those of geom.Space for any number of landmarks.
func (s *Space) Log(q, target geom.Shape) (*Geodesic, error) {
	if s.Manifold.N > denseLimit && len(q) == s.Manifold.N {
		if err := s.CheckNumbers("starting shape", q); err != nil {
			return nil, fmt.Errorf("Log: %w", err)
		}
		return s.logWithin("Log", q, target, 1e-6*pointset.CentroidSize(q)/math.Sqrt(float64(len(q))))
	}
	return s.Space.Log(q, target)
}

// Exp returns the geodesic from shape q with the initial velocity v: see geom.Space.Exp. It and the next three methods are those of geom.Space,
// and stand here because go doc does not show the methods of an embedded type of another package.
func (s *Space) Exp(q, v geom.Shape) (*Geodesic, error) { return s.Space.Exp(q, v) }

// Shoot returns the geodesic from shape q with the initial momentum p: see geom.Space.Shoot.
func (s *Space) Shoot(q, p geom.Shape) (*Geodesic, error) { return s.Space.Shoot(q, p) }

// LogAll returns the geodesics from each shape x_i to y_i: see geom.Space.LogAll.
func (s *Space) LogAll(x, y []geom.Shape) ([]*Geodesic, error) { return s.Space.LogAll(x, y) }

// Transport moves tangent vectors in parallel along a geodesic: see geom.Space.Transport.
func (s *Space) Transport(g *Geodesic, v ...geom.Shape) ([][]geom.Shape, error) {
	return s.Space.Transport(g, v...)
}
