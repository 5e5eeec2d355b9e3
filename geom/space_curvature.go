package geom

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
)

// SectionalCurvature returns the sectional curvature of the plane that two tangent vectors at x span, of any lengths. The errors are
// those of ScalarCurvature, and vectors that span no plane.
func (s *Space[P]) SectionalCurvature(x, u, v P) (float64, error) {
	k, err := s.sectionalCurvature(x, u, v)
	return k, about("SectionalCurvature", err)
}

func (s *space) sectionalCurvature(x, u, v any) (float64, error) {
	if err := s.checkBoth("point", x, u, v); err != nil {
		return 0, err
	}
	out, err := s.call("SectionalCurvature", func(in []*Node) []*Node {
		at := At(s.M, in[0])
		u, _ := scaled(in[1])
		v, _ := scaled(in[2])
		u, v = at.Enter(Vector, u), at.Enter(Vector, v)
		inner := func(a, b *Node) *Node { return Inner(at.Manifold, at.X, a, b) }
		cosine2 := Div(Square(inner(u, v)), Mul(inner(u, u), inner(v, v)))
		return []*Node{SectionalCurvature(s.M, in[0], in[1], in[2]), OneMinus(cosine2)}
	}, numbers(x), numbers(u), numbers(v))
	if err != nil {
		return 0, err
	}
	switch sine2 := out.Scalar(1); {
	case floats.Norm(numbers(u), 2) == 0 || floats.Norm(numbers(v), 2) == 0:
		return 0, fmt.Errorf("the vectors span no plane: one of them is 0")
	case math.IsNaN(sine2):
		return 0, fmt.Errorf("the metric is singular at the point")
	case !(sine2 > 1e-12):
		return 0, fmt.Errorf("the vectors span no plane: the square of the sine of their angle is %.3g", sine2)
	}
	return finiteCurvature(out.Scalar(0))
}

// ScalarCurvature returns the scalar curvature g^jk Ric_jk at x, in the unit of 1/length². A point off the manifold is an
// error, and so is one where the metric is singular or has no second derivatives.
func (s *Space[P]) ScalarCurvature(x P) (float64, error) {
	k, err := s.scalarCurvature(x)
	return k, about("ScalarCurvature", err)
}

func (s *space) scalarCurvature(x any) (float64, error) {
	if err := s.checkBoth("point", x); err != nil {
		return 0, err
	}
	out, err := s.call("ScalarCurvature", func(in []*Node) []*Node { return []*Node{ScalarCurvature(s.M, in[0])} }, numbers(x))
	if err != nil {
		return 0, err
	}
	return finiteCurvature(out.Scalar(0))
}

func finiteCurvature(curvature float64) (float64, error) {
	if math.IsNaN(curvature) || math.IsInf(curvature, 0) {
		return 0, fmt.Errorf("the metric is singular at the point, or not twice differentiable")
	}
	return curvature, nil
}
