package geom_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// An error in one part of a point or vector is one whatever the numbers of the other parts are.
func TestPartsAreCheckedAlone(t *testing.T) {
	const big = 1e8
	group := func(g *lie.Group) geom.Charted { return expect.Must(g.LeftInvariant(nil)) }
	sphereAndLine := geom.Product(manifold.Sphere(2), manifold.Euclidean(1))
	pole := []float64{0, 0, 1, big}
	far := []float64{1, 0, big, 0, 1, -big, 0, 0, 1}
	still := func(m geom.Manifold) []float64 { return make([]float64, geom.PointDim(m)) }
	with := func(x []float64, entries map[int]float64) []float64 {
		x = slices.Clone(x)
		for i, v := range entries {
			x[i] += v
		}
		return x
	}
	se2 := group(lie.SE(2))
	space := with(still(group(lie.SE(3))), map[int]float64{0: 1, 5: 1, 10: 1, 15: 1, 3: big, 7: 2 * big})
	for _, c := range []struct {
		name    string
		m       geom.Manifold
		x, v    []float64
		refused string
	}{
		{"product", sphereAndLine, pole, []float64{1, 0, 0, big}, ""},
		{"product", sphereAndLine, with(pole, map[int]float64{2: 1e-6}), still(sphereAndLine), "the point is not on the manifold"},
		{"product", sphereAndLine, pole, []float64{1, 0, 0.5, big}, "the vector is not tangent"},
		{"nested", geom.Product(manifold.Euclidean(2), sphereAndLine), append([]float64{big, 1}, with(pole, map[int]float64{2: 1e-6})...), make([]float64, 6), "not on"},
		{"hidden", struct{ geom.Charted }{sphereAndLine.(geom.Charted)}, with(pole, map[int]float64{2: 1e-6}), still(sphereAndLine), "not on"},
		{"SE(2)", se2, far, []float64{0, -1, big, 1, 0, 3, 0, 0, 0}, ""},
		{"SE(2)", se2, with(far, map[int]float64{1: 1e-6}), still(se2), "not on"},
		{"SE(2)", se2, with(far, map[int]float64{7: 1e-6}), still(se2), "not on"},
		{"SE(2)", se2, far, []float64{0, -1, big, 0.9, 0, 3, 0, 0, 0}, "not tangent"},
		{"SE(2)", se2, far, []float64{0, -1, big, 1, 0, 3, 0, 1e-3, 0}, "not tangent"},
		{"SE(3)", group(lie.SE(3)), space, still(group(lie.SE(3))), ""},
		{"SE(3)", group(lie.SE(3)), with(space, map[int]float64{1: 1e-4}), still(group(lie.SE(3))), "not on"},
		{"Affine(1)", group(lie.Affine(1)), []float64{2, big, 1e-3, 1}, make([]float64, 4), "not on"},
		{"SPD", manifold.SPD(2), []float64{1e12, 9e3, 9e3, 1}, []float64{1e10, 1, 1, 1e-3}, ""},
		{"SPD", manifold.SPD(2), []float64{1e12, 9e3, 0, 1}, make([]float64, 4), "not on"},
		{"SPD", manifold.SPD(2), []float64{1e12, 9e3, 9e3, 1}, []float64{1e10, 1e3, 0, 1e-3}, "not tangent"},
		{"cylinder", manifold.Cylinder(1), []float64{0.6, 0.8, big}, []float64{-0.8, 0.6, big}, ""},
		{"cylinder", manifold.Cylinder(1), []float64{0.6, 0.8 + 1e-6, big}, make([]float64, 3), "not on"},
		{"cylinder", manifold.Cylinder(1), []float64{0.6, 0.8, big}, []float64{-0.8, 0.7, big}, "not tangent"},
		{"ellipsoid", manifold.Ellipsoid(1, 1, big), []float64{1, 0, 0}, []float64{0.5, 0, big}, "not tangent"},
	} {
		err := geom.On(c.m).Check("point", c.x, c.v)
		if c.refused != "" {
			expect.Refused(t, err, c.refused)
		} else if err != nil {
			t.Errorf("%s, %v, %v: %v", c.name, c.x, c.v, err)
		}
	}
	expect.Refused(t, geom.On(sphereAndLine).CheckAll("sample", [][]float64{pole, with(pole, map[int]float64{2: 1e-6})}), "sample 1 is not on the manifold")
}

// What a product does on a factor does not depend on how far it goes on the others.
func TestFactorsHaveTheirOwnScale(t *testing.T) {
	surface := manifold.Ellipsoid(1, 1, 2)
	alone, both := geom.On(surface), geom.On(geom.Product(surface, manifold.Euclidean(1)))
	x, y := []float64{0.6, 0.8, 0}, []float64{-0.48, 0.6, 1.28}
	want := expect.Must(alone.Log(x, y))
	for _, b := range []float64{0, 1, 1e3, 1e8, 1e10} {
		g := expect.Must(both.Log(append(slices.Clone(x), 0), append(slices.Clone(y), b)))
		name := fmt.Sprintf("line of %g: ", b)
		if g.Status != geom.Converged || !math.IsInf(g.Conjugate, 1) {
			t.Errorf("%s%s, conjugate point at %g", name, g, g.Conjugate)
		}
		expect.Abs(t, name+"end", g.End[:3], want.End, 1e-8)
		expect.Abs(t, name+"velocity", g.Velocity[:3], want.Velocity, 1e-8)
		expect.Rel(t, name+"length", g.Length, math.Hypot(want.Length, b), 1e-14)
		// Fast on the ellipsoid, so that the steps are doubled for it.
		v := append(floats.ScaleTo(make([]float64, 3), 6, want.Velocity), b)
		fast, other := expect.Must(alone.Exp(x, v[:3])), expect.Must(both.Exp(append(slices.Clone(x), 0), v))
		expect.Abs(t, name+"end of Exp", other.End[:3], fast.End, 0)
		if other.Steps != fast.Steps || len(other.Path) != fast.Steps+1 {
			t.Errorf("%s%d steps, %d points, want %d steps", name, other.Steps, len(other.Path), fast.Steps)
		}
		times := expect.Must(both.Conjugate([][]float64{append(slices.Clone(x), 0)}, [][]float64{v}))
		expect.Abs(t, name+"conjugate point", times, expect.Must(alone.Conjugate([][]float64{x}, [][]float64{v[:3]})), 0)
	}
}

// SE(2) with the standard metric is flat, so that no geodesic has a conjugate point, by closed forms or without them, and rotations of
// SE(3) have theirs at 2π.
func TestConjugateOfMotions(t *testing.T) {
	plane, solid := lie.SE(2), lie.SE(3)
	closed, around := expect.Must(plane.LeftInvariant(nil)), expect.Must(solid.LeftInvariant(nil))
	for m, farthest := range map[geom.Charted]float64{closed: 1e7, struct{ geom.Charted }{closed}: 100} {
		var z, v [][]float64
		for _, far := range []float64{1, 100, 1e7} {
			if far <= farthest {
				z, v = append(z, plane.Identity()), append(v, expect.Must(plane.Tangent(0, far, 0)))
			}
		}
		for i, at := range expect.Must(geom.On(m).Conjugate(z, v)) {
			if !math.IsInf(at, 1) {
				t.Errorf("%T is flat: conjugate point of a translation of %g at %g", m, v[i][2], at)
			}
		}
	}
	turn := expect.Must(solid.Tangent(0, 7, 0, 50, 0, 0))
	at := expect.Must(geom.On(around).Conjugate([][]float64{solid.Identity()}, [][]float64{turn}))
	expect.Abs(t, "first conjugate point of a rotation", at[0], 2*math.Pi/7, 1e-3)
}

// Transport on a product is that of the factors, also far along one of them.
func TestTransportOfFarFactors(t *testing.T) {
	motions, surface := expect.Must(lie.SE(2).LeftInvariant(nil)), manifold.Ellipsoid(1, 1, 2)
	both, alone := geom.On(geom.Product(motions, surface, manifold.Euclidean(1))), geom.On(surface)
	x, v, w := []float64{1, 0, 0}, []float64{0, 0.6, 0.8}, []float64{0, 0.8, -0.6}
	joined := func(a, b []float64, c float64) []float64 { return append(slices.Concat(a, b), c) }
	start := joined(lie.SE(2).Identity(), x, 0)
	g := expect.Must(both.Exp(start, joined(expect.Must(lie.SE(2).Tangent(0.5, 1e6, -2e6)), v, 1e9)))
	turned := expect.Must(both.Transport(g, joined(expect.Must(lie.SE(2).Tangent(0, 1, 0)), w, 3)))[0]
	own := expect.Must(alone.Exp(x, v))
	want := expect.Must(alone.Transport(own, w))[0]
	end := turned[len(turned)-1]
	expect.Abs(t, "on the ellipsoid", end[9:12], want[len(want)-1], 1e-9)
	expect.Abs(t, "of a translation", end[:9], expect.Must(lie.SE(2).Tangent(0, 1, 0)), 1e-9)
	expect.Abs(t, "on the line", end[12:], []float64{3}, 0)
}

// Lengths are those of vectors of length 1, in proportion, down to the smallest numbers; so are curvatures.
func TestTinyAndHugeVectors(t *testing.T) {
	for _, c := range []struct {
		m    geom.Manifold
		x, v []float64
	}{
		{manifold.Sphere(2), []float64{0, 0.6, 0.8}, []float64{1, 0, 0}},
		{struct{ geom.Charted }{manifold.Sphere(2)}, []float64{0, 0.6, 0.8}, []float64{1, 0, 0}},
		{manifold.Euclidean(2), []float64{0, 0}, []float64{0.6, 0.8}},
		{manifold.Torus(2, 1), []float64{3, 0, 0}, []float64{0, 0.6, 0.8}},
		{manifold.SPD(1), []float64{2}, []float64{2}},
		{geom.Product(manifold.Torus(2, 1), manifold.SPD(1)), []float64{3, 0, 0, 2}, []float64{0, 0.36, 0.48, 1.6}},
	} {
		for _, size := range []float64{1e-3, 1e-160, 1e-300} {
			g := expect.Must(geom.On(c.m).Exp(c.x, floats.ScaleTo(make([]float64, len(c.v)), size, c.v)))
			expect.Rel(t, fmt.Sprintf("length of %g on %T", size, c.m), g.Length, size, 1e-13)
		}
	}
	g := expect.Must(geom.On(manifold.Euclidean(2)).Log([]float64{0, 0}, []float64{3e-160, 4e-160}))
	expect.Rel(t, "distance of numbers near 0", g.Length, 5e-160, 1e-14)
	u, v := []float64{1, 0, 0}, []float64{0.5, 0.8, -0.6}
	for _, size := range []float64{1, 1e-160, 1e-100, 1e100, 1e160} {
		s := geom.On(manifold.Sphere(2))
		k := expect.Must(s.SectionalCurvature([]float64{0, 0.6, 0.8}, floats.ScaleTo(make([]float64, 3), size, u), floats.ScaleTo(make([]float64, 3), 1/size, v)))
		expect.Abs(t, fmt.Sprintf("curvature by vectors of %g", size), k, 1, 1e-12)
	}
	_, err := geom.On(manifold.Sphere(2)).SectionalCurvature([]float64{0, 0.6, 0.8}, make([]float64, 3), v)
	expect.Refused(t, err, "one of them is 0")
	_, err = geom.On(manifold.Sphere(2)).SectionalCurvature([]float64{0, 0.6, 0.8}, v, v)
	expect.Refused(t, err, "span no plane: the square of the sine of their angle is")

	x, y := [][]float64{{0, 0}, {1e-160, 0}}, [][]float64{{0, 0}, {1.5e-160, 1e-160}}
	_, err = landmarks.New(2, 2, kernels.Gaussian(1e-160)).Log(x, y)
	if err == nil {
		t.Error("landmarks in units of 1e-160 are accepted")
	}
	t.Log(err)
}

// The norm has a kink at 0, where its derivative is 0 by symmetry.
func TestNormAtZero(t *testing.T) {
	for _, m := range []geom.Manifold{manifold.Sphere(2), manifold.Hyperbolic(2), manifold.SPD(2)} {
		out := expect.Must(engine.Run(func(v *Node) []*Node {
			at := geom.At(m, At0(m, v))
			norm := geom.Norm(at.Manifold, at.X, v)
			return []*Node{Gradient(ReduceAllSum(norm), v)[0]}
		}, [][]float64{make([]float64, m.Dim()), append([]float64{1e-3}, make([]float64, m.Dim()-1)...)}))
		slopes := out.Matrix(0)
		expect.Abs(t, fmt.Sprintf("gradient of the norm at 0, %T", m), slopes[0], make([]float64, m.Dim()), 0)
		if _, off := math.Modf(slopes[1][0]); math.IsNaN(off) || slopes[1][0] == 0 {
			t.Errorf("gradient of the norm near 0, %T: %v", m, slopes[1])
		}
	}
}

// At0 returns a point of the manifold for each vector.
func At0(m geom.Manifold, v *Node) *Node {
	z := map[geom.Manifold][]float64{manifold.Sphere(2): {0, 0.6, 0.8}, manifold.Hyperbolic(2): {1, 0, 0}, manifold.SPD(2): {2, 0, 0, 3}}[m]
	return BroadcastPrefix(Const(v.Graph(), z), v.Shape().Dim(0))
}

// A result says that it has converged only where something has found so.
func TestStatusOfNothing(t *testing.T) {
	var g geom.Geodesic[geom.Vec]
	expect.Refused(t, g.Err(), "unknown")
	s := geom.On(manifold.Torus(2, 1), geom.Integrator(geom.On(manifold.Euclidean(1)).Method(), 2))
	if g := expect.Must(s.With(geom.FixedSteps).Shoot([]float64{3, 0, 0}, []float64{0, 9, 9})); g.Err() == nil {
		t.Errorf("with two steps: %s, drift %.2g", g, g.Drift)
	}
	if g := expect.Must(s.Exp([]float64{3, 0, 0}, []float64{0, 0.1, 0})); g.Err() != nil {
		t.Error(g.Err())
	}
}

// A geodesic that goes farther than numbers do says so.
func TestTooFarForNumbers(t *testing.T) {
	_, err := geom.On(manifold.Hyperbolic(2)).Exp([]float64{1, 0, 0}, []float64{0, 300, 0})
	expect.Refused(t, err, "too large for double precision")
}
