package landmarks

import (
	"errors"
	"fmt"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/strain"
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
	try.FailIf(g == nil, "no geodesic")
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
	try.FailIf(len(points) == 0, "no points")
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
	paths, err := s.Transform(g, slices.Concat(lines...))
	if err != nil {
		return nil, err
	}
	end := paths[len(paths)-1]
	return lists.Each(lines, func(l geom.Shape) (moved geom.Shape) {
		moved, end = end[:len(l)], end[len(l):]
		return moved
	}), nil
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

// Deformation is the derivative Dφ of a diffeomorphism φ at points.
type Deformation struct {
	Points   geom.Shape    // z, [k][D]
	Images   geom.Shape    // φ(z), [k][D]
	Jacobian [][][]float64 // Dφ(z), [k][D][D]: row a is the gradient of φ_a; a pure number
}

// Strains returns what the deformation does to lengths at each point: see strain.Tensor.
func (d *Deformation) Strains() (_ []strain.Tensor, err error) {
	defer try.Catch(&err)
	solve.NotNil(d)
	return lists.Make(len(d.Jacobian), func(i int) strain.Tensor {
		t, err := strain.Of(d.Jacobian[i])
		try.Do(try.Name(err, "strain at point %d", i))
		return t
	}), nil
}

// LogJacobians returns log det Dφ at each point: the logarithm of the ratio of volumes, in the plane of areas, after and before. It is positive where
// the deformation expands. It is an error if a determinant is not positive: then the integrator needs more steps.
func (d *Deformation) LogJacobians() ([]float64, error) {
	strains, err := solve.NotNil(d).Strains()
	return lists.Each(strains, strain.Tensor.LogJacobian), err
}

// Deform returns the derivative at points, [k][D], of the diffeomorphism φ at time 1 of a geodesic. With the velocity field v of the
// geodesic it solves the variational equation
//
//	z' = v(z),  F' = Dv(z) F,  F(0) = 1,
//
// whose F at time 1 is Dφ, by the integrator of the space and to its order. Points are taken in blocks, so that the memory does not
// grow with their number. The errors are those of Transform.
func (s *Flow) Deform(g *Geodesic, points [][]float64) (_ *Deformation, err error) {
	defer try.Named(&err, "Deform")
	s = s.along(g, points)
	return s.deform("deform", points, func(in []*Node, z, unit *Node) (images, frames *Node) {
		return s.TransformFramesOnGraph(in[0], in[1], z, unit)
	}, shape.Flat(g.Start), shape.Flat(g.Momentum)), nil
}

// DeformAlong returns the derivative at points, [k][D], of the diffeomorphism φ of a path of shapes x, such as one of Brownian motion, of
// Kunita's process, a bridge, or one that was observed. Of all fields that move the landmarks along the path it takes those of the least norm:
//
//	dz = K(z, x) K(x, x)⁻¹ ∘dx,  dF = D(K(z, x) K(x, x)⁻¹ ∘dx) F,  F(0) = 1,
//
// in Stratonovich's calculus. For a geodesic, and for a path of Langevin, these fields are the velocity fields of its own flow. The field of Kunita's
// process is random also where its landmarks are known, and this is the mean of its increments; to get one flow of the process itself, add the points
// to its landmarks before you simulate it.
//
// The integrator of the space takes one step from shape to shape, along the line between them. Landmarks stay on the path exactly. On smooth paths
// the error is O(n⁻²), that of the lines; on paths of a diffusion it tends to 0 with the time between shapes, as the scheme of their simulation does.
// It is an error if there are fewer than two shapes, if one is singular, or if the method of the space follows Itô's calculus: take ode.Heun or
// ode.RK4.
func (s *Flow) DeformAlong(path []geom.Shape, points [][]float64) (_ *Deformation, err error) {
	defer try.Named(&err, "DeformAlong")
	try.FailIf(len(path) < 2, "the path has %d shapes, want at least 2", len(path))
	try.FailIf(s.Method().Order < 2, "%s's method follows Itô's calculus: take ode.Heun or ode.RK4", s.Method().Name)
	try.Do(s.CheckAll("shape", path))
	try.Do(s.CheckRegular("shape", path...))
	s.checkPoints(points)
	out := s.deform("deform along", points, func(in []*Node, z, unit *Node) (images, frames *Node) {
		shapes := in[0]
		n := shapes.Shape().Dim(0) - 1
		end, _ := autodiff.Scan(n, func(_ *Node, y, in []*Node) ([]*Node, []*Node) {
			dx := Sub(in[1], in[0])
			field := func(t *Node, y ode.State) ode.State {
				q := Add(in[0], Mul(t, dx))
				v := s.of.Velocity(q, geom.Flat(s.of, q, dx), y[0])
				return ode.State{v, s.turn(v, y[0], y[1])}
			}
			one := ScalarOne(dx.Graph(), dx.DType())
			return s.Method().Step(ode.Field(field).Equation(), ZerosLike(one), one, nil, y), nil
		}, []*Node{z, unit}, []*Node{SliceAxis(shapes, 0, AxisRange(0, n)), SliceAxis(shapes, 0, AxisRange(1, n+1))})
		return end[0], end[1]
	}, shape.FlatAll(path))
	for i, z := range out.Images {
		try.FailIf(!lists.Finite(z...),
			"point %d is carried to %v: the kernel is too wide for the distances between landmarks, or the path has steps that are too long", i, z)
	}
	return out, nil
}

// blockOfPoints is the most numbers of the kernel matrix between a block of points and the landmarks.
var blockOfPoints = 1 << 22

// deform computes images of points and derivatives there by a graph function of args, points and unit matrices. Points are taken in blocks.
func (s *Flow) deform(name string, points [][]float64, fn func(in []*Node, z, unit *Node) (images, frames *Node), args ...any) *Deformation {
	d := s.of.dimension()
	block := min(len(points), max(1, blockOfPoints*d/s.of.Dim()))
	out := &Deformation{Points: points}
	padded := make([][]float64, block)
	for from := 0; from < len(points); from += block {
		n := copy(padded, points[from:])
		for i := n; i < block; i++ {
			padded[i] = points[from]
		}
		values := try.Get(s.call(name, func(in []*Node) []*Node {
			z := in[len(args)]
			images, frames := fn(in, z, BroadcastPrefix(linalg.Eye(z.Graph(), z.DType(), d), z.Shape().Dim(0)))
			return []*Node{images, frames}
		}, append(slices.Clone(args), padded)...))
		out.Images = append(out.Images, values.Matrix(0)[:n]...)
		out.Jacobian = append(out.Jacobian, values.Array3(1)[:n]...)
	}
	try.Do(s.of.fits(points, out.Images))
	return out
}

// Inverse returns the geodesic from the end of g back to its start. Its diffeomorphism is the inverse of that of g, so that Transform and
// Deform with it give φ⁻¹ and its derivative.
func (s *Flow) Inverse(g *Geodesic) (*Geodesic, error) {
	if g == nil || len(g.Momenta) == 0 {
		return nil, errors.New("Inverse: the geodesic is nil or has no momenta: give one that Exp, Shoot or Log returned without an error")
	}
	return s.Steady(g).With(geom.FixedSteps).Shoot(g.End, g.Momenta[len(g.Momenta)-1].Scale(-1))
}

// TransformFramesOnGraph is a graph function: it returns where the diffeomorphisms φ at time 1 of the geodesics from q with initial momenta
// p, both [..., Dim], take points z, [..., k, D], and what their derivatives do to vectors there, the columns of frames, [..., k, D, m].
func (s *Flow) TransformFramesOnGraph(q, p, z, frames *Node) (images, carried *Node) {
	end := ode.Flow(s.carryingFrames(), s.Method(), s.Steps(), ode.State{q, p, z, frames})
	return end[2], end[3]
}

// carryingFrames is carrying with frames at the points, F' = Dv(z) F.
func (s *Flow) carryingFrames() ode.Field {
	carrying := s.carrying()
	return func(t *Node, y ode.State) ode.State {
		dy := carrying(t, y[:3])
		return append(dy, s.turn(dy[2], y[2], y[3]))
	}
}

// turn is Dv(z) F for the velocities v of points z, [..., k, D], each of which depends on its own point only.
func (s *Flow) turn(v, z, frames *Node) *Node {
	rows := lists.Make(s.of.dimension(), func(a int) *Node { return Gradient(ReduceAllSum(SliceAxis(v, -1, AxisElem(a))), z)[0] })
	return linalg.MatMul(Stack(rows, -2), frames)
}
