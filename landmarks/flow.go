package landmarks

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Flow computes what geodesics do to space: their momenta make a velocity field, whose flow moves all points by diffeomorphisms. It is a part of
// a Space and of a JetSpace.
type Flow struct {
	*geom.Space[geom.Shape]
	of flowing
}

// flowing is a manifold whose points have velocity fields of R^D as momenta.
type flowing interface {
	geom.Manifold
	dimension() int                  // D
	Velocity(q, p, z *Node) *Node    // at points z
	places(x []float64) [][]float64  // of the landmarks of a point
	fits(points ...geom.Shape) error // whether the kernel's sums hold for points of R^D
}

func (s *Flow) call(name string, fn func(in []*Node) []*Node, args ...any) (engine.Values, error) {
	return s.compiled(name, fn).Call(args...)
}

func (s *Flow) compiled(name string, fn func(in []*Node) []*Node) *engine.Func {
	return s.Compiled(ode.Key{Name: "landmarks, " + name, Method: s.Method(), Steps: s.Steps()}, fn)
}

// Transform moves arbitrary points, [k][D], by the diffeomorphisms of a geodesic: z' = v(z) with the field v of its momenta, which for landmarks is
// Σ_j K(z, x_j) p_j. It returns their positions at the times 0, 1/n, …, 1 of the geodesic's path, [n + 1][k][D]. Points outside the box of a kernel
// with fast sums are an error.
func (s *Flow) Transform(g *Geodesic, points geom.Shape) (paths []geom.Shape, err error) {
	defer try.Named(&err, "Transform")
	s = s.along(g, points)
	out := try.Get(s.call("transform", func(in []*Node) []*Node {
		path := ode.Path(s.carrying(), s.Method(), s.Steps(), in)
		return []*Node{path[2], path[0]}
	}, shape.Flat(g.Start), shape.Flat(g.Momentum), points))
	for i, moved := range out.Array3(0) {
		try.Do(try.Name(s.of.fits(s.of.places(out.Matrix(1)[i]), moved), "step %d of %d", i, s.Steps()))
		paths = append(paths, moved)
	}
	return paths, nil
}

// along returns the space with the steps of a geodesic, for its flow at points, and an error if one of them is not valid.
func (s *Flow) along(g *Geodesic, points [][]float64) *Flow {
	if g == nil {
		try.Fail("no geodesic")
	}
	if steady := s.Steady(g); steady.Steps() != s.Steps() {
		s = &Flow{steady, s.of}
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
func (s *Flow) checkPoints(points [][]float64) {
	if len(points) == 0 {
		try.Fail("no points")
	}
	for i, z := range points {
		try.Do(try.Name(s.checkPoint(z), "point %d", i))
	}
}

// TransformOnGraph is a graph function: it returns where the diffeomorphisms at time 1 of the geodesics from q with initial momenta p,
// both [..., Dim], take points z, [..., k, D].
func (s *Flow) TransformOnGraph(q, p, z *Node) *Node {
	return ode.Flow(s.carrying(), s.Method(), s.Steps(), ode.State{q, p, z})[2]
}

// TransformLines is Transform for polylines, such as the lines of a grid. It returns the lines at time 1; line l has as many points as
// before.
func (s *Flow) TransformLines(g *Geodesic, lines []geom.Shape) ([]geom.Shape, error) {
	var points [][]float64
	for _, l := range lines {
		points = append(points, l...)
	}
	paths, err := s.Transform(g, points)
	if err != nil {
		return nil, err
	}
	end := paths[len(paths)-1]
	out := make([]geom.Shape, len(lines))
	for i, l := range lines {
		out[i], end = end[:len(l)], end[len(l):]
	}
	return out, nil
}

func (s *Flow) checkPoint(p []float64) error {
	if d := s.of.dimension(); len(p) != d {
		return fmt.Errorf("%d coordinates, the manifold's landmarks have %d", len(p), d)
	}
	if a, bad := lists.NotFinite(p); bad {
		return fmt.Errorf("coordinate %d is %g", a, p[a])
	}
	return nil
}

// carrying is the field of geodesics (q, p) together with points z that their flow moves, on states (q, p, z).
func (s *Flow) carrying() ode.Field {
	hamilton := geom.Geodesics(s.of)
	return func(t *Node, y ode.State) ode.State {
		return append(hamilton(t, y[:2]), s.of.Velocity(y[0], y[1], y[2]))
	}
}
