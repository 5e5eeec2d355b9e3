package geom_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// Spaces of constant curvature κ: Ric = (d − 1)κ g, scalar curvature d(d − 1)κ, R(u, v)w = κ(⟨v, w⟩u − ⟨u, w⟩v).
func TestConstantCurvature(t *testing.T) {
	for _, c := range []struct {
		name   string
		m      geom.Manifold
		kappa  float64
		points [][]float64
	}{
		{"sphere, tilted", tiltedSphere(), 1, randoms(1, 2, 2)},
		{"sphere, gnomonic immersion", geom.FromImmersion(geom.ImmersionFunc(2, gnomonic)), 1, randoms(1, 2, 2)},
		{"three-sphere, stereographic cometric", sphereCometric(3), 1, randoms(1, 2, 3)},
		{"half-plane", halfPlane(), -1, [][]float64{{0.3, 0.7}, {-1.2, 2.1}}},
	} {
		d := c.m.Dim()
		out := expect.Must(engine.Run(func(in []*Node) []*Node {
			x, u, v, w := in[0], in[1], in[2], in[3]
			side := func(a, b, e *Node) *Node { return Mul(ExpandAxes(geom.Inner(c.m, x, a, b), -1), e) }
			return []*Node{
				geom.Riemann(c.m, x, u, v, w), MulScalar(Sub(side(v, w, u), side(u, w, v)), c.kappa),
				geom.Ricci(c.m, x), MulScalar(geom.MetricMatrix(c.m, x), float64(d-1)*c.kappa),
			}
		}, c.points, randoms(2, 2, d), randoms(3, 2, d), randoms(4, 2, d)))
		expect.Rel(t, c.name+": R(u, v)w", out.Flat(0), out.Flat(1), 1e-11)
		expect.Rel(t, c.name+": Ricci", out.Flat(2), out.Flat(3), 1e-11)
	}
	for _, c := range []struct {
		m                 geom.Manifold
		scalar, sectional float64
	}{{tiltedSphere(), 2, 1}, {halfPlane(), -2, -1}} {
		s := geom.On(c.m)
		scalar, err := s.ScalarCurvature([]float64{0.3, 0.7})
		if err != nil {
			t.Fatal(err)
		}
		sectional, err := s.SectionalCurvature([]float64{0.3, 0.7}, []float64{1, 0.2}, []float64{0.5, -2})
		if err != nil {
			t.Fatal(err)
		}
		expect.Rel(t, "scalar and sectional curvature", []float64{scalar, sectional}, []float64{c.scalar, c.sectional}, 1e-11)
	}
}

func TestEllipsoidPole(t *testing.T) {
	a, b, c := 1.5, 0.8, 2.
	m := geom.FromImmersion(ellipsoid(a, b, c))
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		return []*Node{geom.ScalarCurvature(m, in[0]), geom.SectionalCurvature(m, in[0], in[1], in[2])}
	}, []float64{0, 0}, []float64{1, 0.2}, []float64{0.3, -1}))
	gauss := c * c / (a * a * b * b)
	expect.Rel(t, "scalar at the pole", out.Flat(0), []float64{2 * gauss}, 1e-13)
	expect.Rel(t, "sectional at the pole", out.Flat(1), []float64{gauss}, 1e-13)
}

func TestCurvatureSymmetries(t *testing.T) {
	m := wavy()
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, u, v, w := in[0], in[1], in[2], in[3]
		r := geom.RiemannTensor(m, x)
		lower := Einsum("bnl,blkij->bnkij", m.G(x), r) // R_nkij
		applied := Einsum("blkiz,bz->blki", r, v)
		applied = Einsum("blki,bi->blk", applied, u)
		applied = Einsum("blk,bk->bl", applied, w)
		return []*Node{
			geom.Riemann(m, x, u, v, w), applied,
			lower, Neg(TransposeAllDims(lower, 0, 2, 1, 3, 4)), // R_nkij = −R_knij
			TransposeAllDims(lower, 0, 3, 4, 1, 2),                                                   //             = R_ijnk
			Neg(Add(TransposeAllDims(lower, 0, 1, 3, 4, 2), TransposeAllDims(lower, 0, 1, 4, 2, 3))), // = −R_nijk − R_njki
			geom.Ricci(m, x), ReduceSum(Mul(r, Reshape(linalg.Eye(x.Graph(), x.DType(), 4), 1, 4, 1, 4, 1)), 1, 3), // R^i_kij
			geom.Riemann(cometricOf(m), x, u, v, w),
		}
	}, randoms(1, 2, 4), randoms(2, 2, 4), randoms(3, 2, 4), randoms(4, 2, 4)))
	expect.Rel(t, "contracted = tensor contracted", out.Flat(0), out.Flat(1), 1e-12)
	expect.Rel(t, "first pair", out.Flat(3), out.Flat(2), 1e-12)
	expect.Rel(t, "pairs exchanged", out.Flat(4), out.Flat(2), 1e-12)
	expect.Rel(t, "Bianchi", out.Flat(5), out.Flat(2), 1e-12)
	expect.Rel(t, "Ricci = trace", out.Flat(6), out.Flat(7), 1e-12)
	expect.Rel(t, "from the cometric", out.Flat(8), out.Flat(0), 1e-11)
}

// Two landmarks on a line: with s = x_1 − x_2 and y = x_1 + x_2 the metric is ds²/2(1 − k(s)) + dy²/2(1 + k(s)), so that
// with a = 2(1 − k) and b = 2(1 + k) the Gauss curvature is −√(ab) d/ds(−k' a^½ b^(−3/2)).
func TestCurvatureOfTwoLandmarks(t *testing.T) {
	m := landmarks.Manifold{N: 2, D: 1, Kernel: kernels.Gaussian(1)}
	s := []float64{0.4, 1, 2.3}
	var points, u, v [][]float64
	var want []float64
	for _, s := range s {
		points, u, v = append(points, []float64{s + 0.1, 0.1}), append(u, []float64{1, 0.4}), append(v, []float64{-0.3, 1})
		k := math.Exp(-s * s / 2)
		k1, k2 := -s*k, (s*s-1)*k
		a, b := 2*(1-k), 2*(1+k)
		slope := -k2*math.Sqrt(a)*math.Pow(b, -1.5) + k1*k1*math.Pow(a, -0.5)*math.Pow(b, -1.5) + 3*k1*k1*math.Sqrt(a)*math.Pow(b, -2.5)
		want = append(want, -math.Sqrt(a*b)*slope)
	}
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		return []*Node{geom.SectionalCurvature(m, in[0], in[1], in[2]), MulScalar(geom.ScalarCurvature(m, in[0]), 0.5)}
	}, points, u, v))
	expect.Rel(t, "sectional", out.Flat(0), want, 1e-12)
	expect.Rel(t, "half the scalar", out.Flat(1), want, 1e-12)
}

func TestCurvatureOfLandmarks(t *testing.T) {
	m, q, vectors := callosum()
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, u, v := in[0], in[1], in[2]
		ru := geom.Riemann(m, x, u, v, u)
		scale := Mul(geom.Norm(m, x, ru), geom.Norm(m, x, u))
		return []*Node{
			geom.SectionalCurvature(m, x, u, v), geom.SectionalCurvature(withFlat{m, m}, x, u, v),
			geom.SectionalCurvature(m, x, Add(MulScalar(u, 2), v), Sub(v, u)), // the same plane
			AddScalar(Div(geom.Inner(m, x, ru, u), scale), 1),                 // ⟨R(u, v)u, u⟩ = 0
		}
	}, q, vectors[0], vectors[1]))
	expect.Rel(t, "without closed form", out.Flat(1), out.Flat(0), 1e-9)
	expect.Rel(t, "another basis of the plane", out.Flat(2), out.Flat(0), 1e-9)
	expect.Rel(t, "R(u, v) is skew", out.Flat(3), []float64{1}, 1e-9)
}

// A metric without derivatives at a point has no curvature there, and one that is not positive no lengths.
func TestCurvatureRefuses(t *testing.T) {
	cone := geom.On(geom.MetricFunc(2, conformal(func(x *Node) *Node { return OnePlus(Sqrt(ReduceAndKeep(Square(x), ReduceSum, -1))) })))
	origin := []float64{0, 0}
	expect.Refused(t, expect.Error(cone.SectionalCurvature(origin, []float64{1, 0}, []float64{0, 1})), "SectionalCurvature", "singular")
	expect.Refused(t, expect.Error(cone.ScalarCurvature(origin)), "ScalarCurvature", "singular")
	negative := geom.On(geom.CometricFunc(2, func(_, p *Node) *Node { return Mul(p, ExpandLeftToRank(Const(p.Graph(), []float64{-1, 1}), p.Rank())) }))
	expect.Refused(t, expect.Error(negative.Shoot(origin, []float64{1, 0})), "not positive")
}

// In an orthonormal frame of a space of curvature κ the form is κ (u^a v_b − v^a u_b); in any frame its product with a third vector is R(u, v)w.
func TestCurvatureForm(t *testing.T) {
	m, kappa := halfPlane(), -1.
	out := expect.Must(engine.Run(func(in []*Node) []*Node {
		x, u, v, w := in[0], in[1], in[2], in[3]
		orthonormal := Transpose(linalg.T(geom.Orthonormal(m, x)), 0, 1) // [2, N, 2]
		components := func(v *Node) *Node {
			return Transpose(geom.Inner(m, BroadcastPrefix(x, 2), orthonormal, BroadcastPrefix(v, 2)), 0, 1)
		}
		a, b := components(u), components(v)
		want := MulScalar(Sub(linalg.Outer(a, b), linalg.Outer(b, a)), kappa)
		frame := Stack([]*Node{u, w}, 0)
		of := geom.CurvatureForm(m, x, frame, u, v)
		column := SliceAxis(of, -1, AxisRange(1, 2)) // R(u, v)w = Ω¹_2 u + Ω²_2 w
		sum := Squeeze(linalg.MatMul(Stack([]*Node{u, w}, -1), column), -1)
		return []*Node{geom.CurvatureForm(m, x, orthonormal, u, v), want, sum, geom.Riemann(m, x, u, v, w)}
	}, [][]float64{{0.3, 0.7}, {-1.2, 2.1}}, randoms(2, 2, 2), randoms(3, 2, 2), randoms(4, 2, 2)))
	expect.Rel(t, "in an orthonormal frame", out.Flat(0), out.Flat(1), 1e-11)
	expect.Rel(t, "in another frame", out.Flat(2), out.Flat(3), 1e-11)
}
