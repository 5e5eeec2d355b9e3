package geom_test

import (
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/manifold"
)

func last(x *Node) *Node { return Squeeze(SliceAxis(x, -1, AxisRange(-1)), -1) }

// The height of a point of the sphere is an eigenfunction: Δz = −2z, and ‖grad z‖² = 1 − z².
func TestLaplacianOfHeight(t *testing.T) {
	for _, c := range []struct {
		name  string
		m     geom.Manifold
		embed func(x *Node) *Node
	}{
		{"cometric", sphereCometric(2), stereographic},
		{"tilted", tiltedSphere(), func(y *Node) *Node { return stereographic(tilted(y)) }},
		{"gnomonic immersion", geom.FromImmersion(geom.ImmersionFunc(2, gnomonic)), gnomonic},
	} {
		out := expect.Must(engine.Run(func(in []*Node) []*Node {
			x := in[0]
			height := func(x *Node) *Node { return last(c.embed(x)) }
			gradient := func(x *Node) *Node { return geom.GradientOf(c.m, height, x) }
			z := height(x)
			return []*Node{
				geom.LaplaceBeltrami(c.m, height, x), geom.Divergence(c.m, gradient, x), MulScalar(z, -2),
				Square(geom.Norm(c.m, x, gradient(x))), OneMinus(Square(z)),
			}
		}, randoms(5, 3, 2)))
		expect.Rel(t, c.name+": Δz", out.Flat(0), out.Flat(2), 1e-12)
		expect.Rel(t, c.name+": div grad z", out.Flat(1), out.Flat(2), 1e-12)
		expect.Rel(t, c.name+": ‖grad z‖²", out.Flat(3), out.Flat(4), 1e-12)
	}
}

// On the half-plane √g = y⁻² and Δy^s = s(s − 1)y^s.
func TestHalfPlane(t *testing.T) {
	m := halfPlane()
	const s = 2.5
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x := in[0]
		y := last(x)
		power := func(x *Node) *Node { return PowScalar(last(x), s) }
		frame := geom.Orthonormal(m, x)
		return []*Node{
			geom.LaplaceBeltrami(m, power, x), MulScalar(power(x), s*(s-1)),
			Exp(geom.LogVolume(m, x)), Reciprocal(Square(y)),
			linalg.MatMul(linalg.MatMul(linalg.T(frame), m.G(x)), frame), linalg.MatMul(linalg.Inverse(m.G(x)), m.G(x)),
		}
	}, [][]float64{{0.3, 0.7}, {-1.2, 2.1}}))
	expect.Rel(t, "Δy^s", out.Flat(0), out.Flat(1), 1e-12)
	expect.Rel(t, "volume", out.Flat(2), out.Flat(3), 1e-13)
	expect.Rel(t, "Eᵀ g E = 1", out.Flat(4), out.Flat(5), 1e-13)
}

// The Laplacian over 39 landmarks: closed forms against the bare cometric.
func TestLaplacianOfLandmarks(t *testing.T) {
	m, q, _ := callosum()
	f := func(x *Node) *Node { return ReduceSum(Mul(Sin(x), shiftedRight(x)), -1) }
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		return []*Node{geom.LaplaceBeltrami(m, f, in[0]), geom.LaplaceBeltrami(struct{ geom.Cometric }{m}, f, in[0])}
	}, q))
	expect.Rel(t, "Δf", out.Flat(0), out.Flat(1), 1e-11)
}

// shiftedRight moves the coordinates on by one.
func shiftedRight(x *Node) *Node {
	n := x.Shape().Dim(-1)
	return Concatenate([]*Node{SliceAxis(x, -1, AxisRange(n-1, n)), SliceAxis(x, -1, AxisRange(0, n-1))}, -1)
}

func TestOperatorsOnAtlas(t *testing.T) {
	m := manifold.Sphere(2)
	z := []float64{2. / 3, -1. / 3, 2. / 3}
	u, v := []float64{1, 2, 0}, []float64{0, 2, 1}
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		z, u, v := in[0], in[1], in[2]
		gradient := func(z *Node) *Node { return geom.GradientOf(m, last, z) }
		return []*Node{geom.LaplaceBeltrami(m, last, z), geom.Divergence(m, gradient, z), gradient(z), geom.Riemann(m, z, u, v, v)}
	}, z, u, v))
	expect.Rel(t, "Δz", out.Flat(0), []float64{-4. / 3}, 1e-12)
	expect.Rel(t, "div grad z", out.Flat(1), []float64{-4. / 3}, 1e-12)
	expect.Rel(t, "grad z", out.Flat(2), []float64{-4. / 9, 2. / 9, 1 - 4./9}, 1e-12) // e_z − z z_z
	expect.Rel(t, "R(u, v)v = ‖v‖²u − ⟨u, v⟩v", out.Flat(3), []float64{5, 2, -4}, 1e-12)

	s := geom.On(m)
	expect.Abs(t, "sectional curvature", expect.Must(s.SectionalCurvature(z, u, v)), 1, 1e-12)
	expect.Abs(t, "scalar curvature", expect.Must(s.ScalarCurvature(z)), 2, 1e-12)
	if _, err := s.SectionalCurvature(z, u, []float64{2, 4, 0}); err == nil {
		t.Error("parallel vectors: no error")
	}
	if _, err := s.SectionalCurvature(z, z, v); err == nil {
		t.Error("a vector that is not tangent: no error")
	}
}
