package geom

import (
	"fmt"
	"math"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/shape"
	"anatomy/internal/lists"
)

// onManifold is how far a point may be off its manifold, relative to the norm of the point, and a tangent vector off the tangent
// space, relative to the norm of the vector; where a chart is Scaled, relative to the sizes that it says.
const onManifold = 1e-8

// Singular is an optional interface of manifolds whose cometric is singular at some points, where vectors have no covectors, as at shapes with
// landmarks that coincide, or whose coordinates are not all points, as y ≤ 0 of a half plane. On a Charted manifold it explains points at which the charts are NaN.
type Singular interface {
	// CheckRegular returns an error that says why the cometric is singular at x, nil where it is regular.
	CheckRegular(x Vec) error
}

// singular is CheckRegular of a Singular manifold, and nil for others.
func (s *space) singular(x Vec) error {
	if m, ok := s.M.(Singular); ok {
		return m.CheckRegular(x)
	}
	return nil
}

// CheckNumbers returns an error unless x has the length of a point or vector (for shapes the number of rows, and the length of
// each) and its numbers are finite. The name, such as "start", is what the message calls x.
func (s *Space[P]) CheckNumbers(name string, x P) error { return s.checkNumbers(name, x) }

func (s *space) checkNumbers(name string, x any) error {
	name = called(name)
	check := func(v Vec, of string, want int) error {
		if len(v) != want {
			return fmt.Errorf("%s has %d coordinates, those of the %s have %d", name, len(v), of, want)
		}
		if i, bad := lists.NotFinite(v); bad {
			return fmt.Errorf("coordinate %d of %s is %g", i, name, v[i])
		}
		return nil
	}
	shape, ok := x.(Shape)
	if !ok {
		return check(numbers(x), "manifold", PointDim(s.M))
	}
	if len(shape) != s.n {
		return fmt.Errorf("%s has %d %ss, the manifold has %d", name, len(shape), s.rows.name, s.n)
	}
	for i, row := range shape {
		if err := check(row, "manifold's "+s.rows.name+"s", s.columns); err != nil {
			return fmt.Errorf("%s %d: %w", s.rows.name, i, err)
		}
	}
	return nil
}

// Check returns an error unless x is a point of the manifold and the vectors, if there are any, are tangent to it at x. It does
// what CheckNumbers does, which in coordinates is all (Exp and Log ask a Singular manifold, too), and on a Charted manifold checks that x is on the manifold, to 1e-8 of the norm of x, and that the vectors are
// tangent, to 1e-8 of their norms. On a Product each factor has norms of its own, and so have the parts of a Scaled chart.
func (s *Space[P]) Check(name string, x P, vectors ...P) error {
	return s.check(name, x, given(vectors)...)
}

func (s *space) check(name string, x any, vectors ...any) error {
	if err := s.checkAllNumbers(name, x, vectors); err != nil {
		return err
	}
	if !IsCharted(s.M) {
		return nil
	}
	z := numbers(x)
	point, tangent, sizes, err := s.project(z, lists.Each(vectors, numbers))
	if err != nil {
		return err
	}
	if err := near(called(name), z, point, sizes[0]); err != nil {
		return err
	}
	for k, v := range tangent {
		tolerance := floats.AddScaledTo(make(Vec, len(z)), floats.ScaleTo(make(Vec, len(z)), 1e-12, sizes[0]), onManifold, sizes[k+1])
		if from := numbers(vectors[k]); !within(v, from, tolerance) {
			return fmt.Errorf("%s is not tangent: the part that is not has norm %.3g of %.3g; Space.Project removes it",
				called(numbered("vector", k, len(vectors))), floats.Distance(v, from, 2), floats.Norm(from, 2))
		}
	}
	return nil
}

func (s *space) checkAllNumbers(name string, x any, vectors []any) error {
	if err := s.checkNumbers(name, x); err != nil {
		return err
	}
	for k, v := range vectors {
		if err := s.checkNumbers(numbered("vector", k, len(vectors)), v); err != nil {
			return err
		}
	}
	return nil
}

// near returns an error unless the ambient vector z, of numbers of these sizes, agrees with its nearest point of the manifold.
func near(name string, z, point, size Vec) error {
	off := floats.Distance(point, z, 2)
	switch {
	case within(point, z, floats.ScaleTo(make(Vec, len(z)), onManifold, size)):
		return nil
	case math.IsNaN(off):
		return fmt.Errorf("%s %w", name, ErrOffManifold)
	}
	return fmt.Errorf("%s %w: it is %.3g off; Space.Project moves points to it", name, ErrOffManifold, off)
}

// called is a name as it is written in a sentence: "the start", but "sample 3".
func called(name string) string {
	if strings.ContainsAny(name, "0123456789") {
		return name
	}
	return "the " + name
}

// numbered is the name of the i-th of n things: with its number unless it is the only one.
func numbered(name string, i, n int) string {
	if n == 1 {
		return name
	}
	return fmt.Sprintf("%s %d", name, i)
}

// CheckAll is Check for many points: the message says "sample 3" for the name "sample", of a single point "the sample". No points at
// all are an error.
func (s *Space[P]) CheckAll(name string, x []P) error { return s.checkAll(name, given(x)) }

func (s *space) checkAll(name string, x []any) error {
	if len(x) == 0 {
		return fmt.Errorf("no %ss", name)
	}
	for i := range x {
		if err := s.checkNumbers(numbered(name, i, len(x)), x[i]); err != nil {
			return err
		}
	}
	if !IsCharted(s.M) {
		return nil
	}
	z := lists.Each(x, numbers)
	out, err := s.call("project all", func(in []*Node) []*Node {
		at := At(s.M, in[0])
		return []*Node{at.Moved(at.X).Z, at.scale(in[0])}
	}, z)
	if err != nil {
		return err
	}
	sizes := out.Matrix(1)
	for i, p := range out.Matrix(0) {
		name := called(numbered(name, i, len(x)))
		if err := near(name, z[i], p, sizes[i]); err != nil {
			if why := s.singular(z[i]); why != nil {
				return fmt.Errorf("%s: %w", name, why)
			}
			return err
		}
	}
	return nil
}

// CheckRegular returns an error where vectors have no covectors: on a SubRiemannian manifold, at points x where a Singular manifold
// says that its cometric is singular, and where the metric of MetricFunc is not symmetric. A function that needs v♭ calls it before it
// computes; users of a Space need not.
func (s *Space[P]) CheckRegular(name string, x ...P) error {
	return s.checkRegular(name, shape.FlatAll(x)...)
}

func (s *space) checkRegular(name string, x ...Vec) error {
	if m, ok := s.M.(SubRiemannian); ok {
		return fmt.Errorf("the cometric has rank %d in dimension %d, so vectors have no momenta: use Shoot, or Log between points", m.Rank(), m.Dim())
	}
	at := func(i int) string { return numbered(name, i, len(x)) }
	if m, ok := s.M.(metricFunc); ok && len(x) > 0 {
		out, err := s.call("symmetric", func(in []*Node) []*Node {
			off, size := m.skew(in[0])
			return []*Node{off, size}
		}, x)
		if err != nil {
			return err
		}
		for i, off := range out.Vector(0) {
			size := out.Vector(1)[i]
			if math.IsInf(size, 1) {
				return fmt.Errorf("%s: the metric is not finite there", at(i))
			}
			if off > 1e-9*size {
				return fmt.Errorf("%s: the metric is not symmetric there: g_ij and g_ji differ by %.3g, where the largest is %.3g", at(i), off, size)
			}
		}
	}
	for i := range x {
		if err := s.singular(x[i]); err != nil {
			return fmt.Errorf("%s: %w", at(i), err)
		}
	}
	return nil
}

// checkBoth is check and checkRegular.
func (s *space) checkBoth(name string, x any, vectors ...any) error {
	if err := s.check(name, x, vectors...); err != nil {
		return err
	}
	return s.checkRegular("point", numbers(x))
}

// Project returns a point of a Charted manifold close to the ambient vector z, and the tangent parts of vectors at that point. It repairs
// points and vectors that were rounded or averaged in the ambient space; no point near is an error. On other manifolds it
// returns copies of its arguments.
func (s *Space[P]) Project(z P, vectors ...P) (point P, tangent []P, err error) {
	err = s.checkAllNumbers("point", z, given(vectors))
	var p Vec
	var t []Vec
	if err == nil {
		p, t, _, err = s.project(shape.Flat(z), shape.FlatAll(vectors))
	}
	return s.FromFlat(p), s.FromFlats(t), about("Project", err)
}

// project also returns the sizes with which the numbers of the point, and then of each vector, are compared.
func (s *space) project(z Vec, vectors []Vec) (point Vec, tangent, sizes []Vec, err error) {
	if !IsCharted(s.M) {
		return z, vectors, nil, nil
	}
	args := []any{z}
	if len(vectors) > 0 {
		args = append(args, vectors)
	}
	out, err := s.call("project", func(in []*Node) []*Node {
		at := At(s.M, in[0])
		out := []*Node{at.Moved(at.X).Z, at.scale(in[0])}
		for _, v := range in[1:] {
			out = append(out, at.Leave(Vector, at.Enter(Vector, v)), at.scale(v))
		}
		return out
	}, args...)
	if err != nil {
		return nil, nil, nil, err
	}
	if i, bad := lists.NotFinite(out.Vector(0)); bad {
		if err := s.singular(z); err != nil {
			return nil, nil, nil, err
		}
		return nil, nil, nil, fmt.Errorf("no point of the manifold is near: coordinate %d would be %g", i, out.Vector(0)[i])
	}
	sizes = []Vec{out.Vector(1)}
	if len(vectors) > 0 {
		tangent, sizes = out.Matrix(2), append(sizes, out.Matrix(3)...)
	}
	return out.Vector(0), tangent, sizes, nil
}

// about puts what an error is about before it; nil for nil.
func about(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
