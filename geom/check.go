package geom

import (
	"fmt"
	"math"
	"strings"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
)

// onManifold bounds what a point may lie off its manifold, relative to the norm of the point, and a tangent vector off
// the tangent space, relative to that of the vector.
const onManifold = 1e-8

// Singular is a manifold that knows points at which its cometric is singular, so that vectors have no covectors, such as
// landmarks that coincide.
type Singular interface {
	CheckRegular(x Vec) error
}

// CheckNumbers reports what keeps x from being a point or vector at all: its length, a row's, numbers that are not finite.
func (s *Space[P]) CheckNumbers(name string, x P) error {
	name = called(name)
	check := func(v Vec, of string, want int) error {
		if len(v) != want {
			return fmt.Errorf("%s has %d coordinates, those of the %s have %d", name, len(v), of, want)
		}
		if i, bad := notFinite(v); bad {
			return fmt.Errorf("coordinate %d of %s is %g", i, name, v[i])
		}
		return nil
	}
	shape, ok := any(x).(Shape)
	if !ok {
		return check(s.Vector(x), "manifold", PointDim(s.M))
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

// Check reports what keeps x from being a point of the manifold, and vectors, if there are any, from being tangent to it
// there: besides CheckNumbers, of an Atlas points off the manifold and vectors that are not tangent.
func (s *Space[P]) Check(name string, x P, vectors ...P) error {
	if err := s.CheckNumbers(name, x); err != nil {
		return err
	}
	for k, v := range vectors {
		if err := s.CheckNumbers(vectorName(k, len(vectors)), v); err != nil {
			return err
		}
	}
	if !IsAtlas(s.M) {
		return nil
	}
	z := s.Vector(x)
	point, tangent, err := s.Flat().project(z, s.Vectors(vectors))
	if err != nil {
		return err
	}
	if err := near(called(name), z, point); err != nil {
		return err
	}
	norm := floats.Norm(z, 2)
	for k, v := range tangent {
		given := s.Vector(vectors[k])
		if off := floats.Distance(v, given, 2); !(off <= onManifold*floats.Norm(given, 2)+1e-12*norm) {
			return fmt.Errorf("%s is not tangent: the part that is not has norm %.3g of %.3g; Space.Project removes it",
				called(vectorName(k, len(vectors))), off, floats.Norm(given, 2))
		}
	}
	return nil
}

// near refuses a vector that is not the point of the manifold which it stands for.
func near(name string, z, point Vec) error {
	off := floats.Distance(point, z, 2)
	switch {
	case off <= onManifold*floats.Norm(z, 2):
		return nil
	case math.IsNaN(off):
		return fmt.Errorf("%s is not on the manifold", name)
	}
	return fmt.Errorf("%s is not on the manifold: it is %.3g off; Space.Project moves points to it", name, off)
}

// called is a name as a sentence has it: "the start", but "sample 3".
func called(name string) string {
	if strings.ContainsAny(name, "0123456789") {
		return name
	}
	return "the " + name
}

func vectorName(k, n int) string {
	if n == 1 {
		return "vector"
	}
	return fmt.Sprintf("vector %d", k)
}

// CheckAll is Check for many points, with their number in the message.
func (s *Space[P]) CheckAll(name string, x []P) error {
	if len(x) == 0 {
		return fmt.Errorf("no %ss", name)
	}
	for i, x := range x {
		if err := s.CheckNumbers(fmt.Sprintf("%s %d", name, i), x); err != nil {
			return err
		}
	}
	if !IsAtlas(s.M) {
		return nil
	}
	z := s.Vectors(x)
	out, err := s.call("project all", func(in []*Node) []*Node {
		at := At(s.M, in[0])
		return []*Node{at.Moved(at.X).Z}
	}, z)
	if err != nil {
		return err
	}
	for i, p := range out.Matrix(0) {
		if err := near(fmt.Sprintf("%s %d", name, i), z[i], p); err != nil {
			return err
		}
	}
	return nil
}

// CheckRegular refuses what needs a vector's covector where there is none: on a sub-Riemannian manifold, and at points
// where the manifold says that its cometric is singular.
func (s *Space[P]) CheckRegular(name string, x ...P) error {
	if m, ok := s.M.(SubRiemannian); ok {
		return fmt.Errorf("the cometric has rank %d in dimension %d, so vectors have no momenta and points no logarithms: use Shoot", m.Rank(), m.Dim())
	}
	if m, ok := s.M.(Singular); ok {
		for i := range x {
			if err := m.CheckRegular(s.Vector(x[i])); err != nil {
				if len(x) > 1 {
					return fmt.Errorf("%s %d: %w", name, i, err)
				}
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

// Project returns the point of an Atlas that an ambient vector close to it stands for, and the tangent parts of vectors
// there: what points need that were rounded or averaged in the ambient space. On other manifolds it changes nothing.
func (s *Space[P]) Project(z P, vectors ...P) (point P, tangent []P, err error) {
	if err := s.CheckNumbers("point", z); err != nil {
		return point, nil, fmt.Errorf("Project: %w", err)
	}
	for k, v := range vectors {
		if err := s.CheckNumbers(vectorName(k, len(vectors)), v); err != nil {
			return point, nil, fmt.Errorf("Project: %w", err)
		}
	}
	p, t, err := s.Flat().project(s.Vector(z), s.Vectors(vectors))
	if err != nil {
		return point, nil, fmt.Errorf("Project: %w", err)
	}
	return s.Point(p), s.Points(t), nil
}

func (s *Space[P]) project(z Vec, vectors []Vec) (point Vec, tangent []Vec, err error) {
	if !IsAtlas(s.M) {
		return z, vectors, nil
	}
	args := []any{z}
	if len(vectors) > 0 {
		args = append(args, vectors)
	}
	out, err := s.call("project", func(in []*Node) []*Node {
		at := At(s.M, in[0])
		out := []*Node{at.Moved(at.X).Z}
		for _, v := range in[1:] {
			out = append(out, at.Leave(Vector, at.Enter(Vector, v)))
		}
		return out
	}, args...)
	if err != nil {
		return nil, nil, err
	}
	if i, bad := notFinite(out.Vector(0)); bad {
		return nil, nil, fmt.Errorf("no point of the manifold is near: coordinate %d would be %g", i, out.Vector(0)[i])
	}
	if len(vectors) > 0 {
		tangent = out.Matrix(1)
	}
	return out.Vector(0), tangent, nil
}

func notFinite(x []float64) (int, bool) {
	for i, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return i, true
		}
	}
	return 0, false
}
