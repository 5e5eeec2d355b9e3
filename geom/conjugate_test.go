package geom_test

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
)

// The first conjugate point of a geodesic of the unit sphere is its antipode, in coordinates of any units, of the outer equator of a
// torus, where the curvature is 1/(r(R + r)), at π √(r(R + r)). On spheres of more dimensions all fields vanish at once, and on
// ellipsoids that are nearly round two shortly after one another, within a step: at the length l the first of them was missed, or not,
// by where the steps fall.
func TestConjugate(t *testing.T) {
	const R, r = 1, 0.45
	type geodesic struct {
		name string
		z, v []float64
		want float64
	}
	along := func(l float64) geodesic {
		return geodesic{fmt.Sprintf("length %g", l), []float64{1, 0, 0, 0}, []float64{0, l, 0, 0}, math.Pi / l}
	}
	for _, c := range []struct {
		name      string
		m         geom.Manifold
		geodesics []geodesic
	}{
		{"sphere", struct{ geom.Charted }{manifold.Sphere(2)}, []geodesic{
			{"once around", []float64{0.6, 0, 0.8}, []float64{0, 4, 0}, math.Pi / 4},
			{"half of the way", []float64{0.6, 0, 0.8}, []float64{0, 2, 0}, math.Inf(1)},
			{"no way", []float64{0.6, 0, 0.8}, []float64{0, 0, 0}, math.Inf(1)},
		}},
		{"torus", manifold.Torus(R, r), []geodesic{{"outer equator", []float64{R + r, 0, 0}, []float64{0, 4.5, 0}, math.Pi * math.Sqrt(r*(R+r)) / 4.5}}},
		{"round ellipsoid", manifold.Ellipsoid(1, 1, 1, 1), []geodesic{along(3.5), along(4), along(4.3), along(4.7)}},
		{"ellipsoid", manifold.Ellipsoid(1, 1, 1.03, 1), []geodesic{along(4), along(4.3), along(4.7), along(5)}},
	} {
		var z, v [][]float64
		for _, g := range c.geodesics {
			z, v = append(z, g.z), append(v, g.v)
		}
		got := expect.Must(geom.On(c.m).Conjugate(z, v))
		for i, g := range c.geodesics {
			t.Logf("%s, %s: %.5f, want %.5f", c.name, g.name, got[i], g.want)
			if !(math.Abs(got[i]-g.want) < 1e-3) && got[i] != g.want {
				t.Errorf("%s, %s: conjugate point at %.5f, want %.5f", c.name, g.name, got[i], g.want)
			}
		}
	}
}

// The unit of one coordinate, 1/R of the polar angle of a sphere, does not change the time of a conjugate point.
func TestConjugateInOtherUnits(t *testing.T) {
	var times []float64
	for _, R := range []float64{1, 1e6} {
		s := geom.On(geom.MetricFunc(2, func(x *Node) *Node {
			sine := Sin(DivScalar(SliceAxis(x, -1, AxisRange(0, 1)), R))
			diagonal := Concatenate([]*Node{MulScalar(OnesLike(sine), 1/(R*R)), Square(sine)}, -1)
			return Mul(ExpandAxes(diagonal, -1), ExpandLeftToRank(linalg.Eye(x.Graph(), x.DType(), 2), x.Rank()+1))
		}))
		got := expect.Must(s.Conjugate([][]float64{{R * math.Pi / 3, 1}}, [][]float64{{R * 4 * math.Cos(1.2), 4 * math.Sin(1.2) / math.Sin(math.Pi/3)}}))
		times = append(times, got[0])
	}
	expect.Abs(t, "first conjugate point", times[0], math.Pi/4, 1e-3)
	expect.Abs(t, "with a coordinate in another unit", times[1], times[0], 1e-6)
}

// Geodesics that diverge, or are integrated by too few steps, are errors, as in Exp. Without an Integrator there are enough.
func TestConjugateRefuses(t *testing.T) {
	fixed := geom.Integrator(ode.RK4, 25)
	plane, sphere := geom.On(halfPlane(), fixed), geom.On(manifold.Sphere(2))
	for _, v := range [][]float64{{100, 100}, {10, 10}} {
		expect.Refused(t, expect.Error(plane.Conjugate([][]float64{{0, 1}}, [][]float64{v})), "geodesic 0", "use more steps")
	}
	for _, length := range []float64{50, 70, 100, 300} {
		z, v := [][]float64{{1, 0, 0}}, [][]float64{{0, length, 0}}
		expect.Refused(t, expect.Error(sphere.With(fixed).Conjugate(z, v)), "geodesic 0", "use more steps")
		if times, err := sphere.Conjugate(z, v); err == nil {
			expect.Rel(t, "conjugate point of a long geodesic", times[0], math.Pi/length, 1e-2)
		} else if expect.Refused(t, err, "geodesic 0", "use more steps"); length < 100 { // longer ones diverge with twice the steps, too
			t.Error(err)
		}
	}
}

// Log finds the shortest geodesic from whichever end it starts, where the first one that it finds is not: along the outer equator
// of a torus (20,000 geodesics drawn from x pass y first at 3.66), over the pole of an ellipsoid, where the parallel alone is
// shorter, and over a hill that it is shorter to go round (3.62725 by minimising the energy of 200 chords). The second pair on the
// torus has a geodesic of length 2.56, without conjugate points and shorter than straight lines of charts, that is not the shortest.
func TestLogIsShortest(t *testing.T) {
	const u = 3.1
	onTorus := func(u, v float64) []float64 { // degrees
		u, v = u*math.Pi/180, v*math.Pi/180
		return []float64{(1 + 0.45*math.Cos(v)) * math.Cos(u), (1 + 0.45*math.Cos(v)) * math.Sin(u), 0.45 * math.Sin(v)}
	}
	radius := math.Sqrt(1 - 4./9)
	hill := geom.FromImmersion(geom.ImmersionFunc(2, func(x *Node) *Node {
		return Concatenate([]*Node{x, MulScalar(Exp(MulScalar(ReduceAndKeep(Square(x), ReduceSum, -1), -2)), 2)}, -1)
	}))
	for _, c := range []struct {
		name string
		m    geom.Manifold
		x, y []float64
		most float64
	}{
		{"torus", manifold.Torus(1, 0.45), []float64{1.45, 0, 0}, []float64{1.45 * math.Cos(u), 1.45 * math.Sin(u), 0}, 3.6615},
		{"torus, elsewhere", manifold.Torus(1, 0.45), onTorus(29.8, -126.7), onTorus(-93.87, 43.2), 2.1140},
		{"ellipsoid", manifold.Ellipsoid(1, 1, 3), []float64{radius, 0, 2}, []float64{radius * math.Cos(2.5), radius * math.Sin(2.5), 2}, 2.5 * radius},
		{"hill", hill, []float64{-1.5, 0.05}, []float64{1.5, 0}, 3.6275},
	} {
		s := geom.On(c.m)
		var lengths []float64
		gs, err := s.LogAll([][]float64{c.x, c.y}, [][]float64{c.y, c.x})
		if err != nil {
			t.Fatal(c.name, err)
		}
		for _, g := range gs {
			t.Logf("%s: %s, length %.5f, conjugate %.3f, %d iterations", c.name, g.Status, g.Length, g.Conjugate, g.Iterations)
			if g.Status != geom.Converged || !(g.Length <= c.most) || !(g.Conjugate > 1) {
				t.Errorf("%s: %s, length %.5f, want at most %.5f; conjugate point at %.3f", c.name, g.Status, g.Length, c.most, g.Conjugate)
			}
			lengths = append(lengths, g.Length)
		}
		expect.Abs(t, c.name+": length one way and the other", lengths[0], lengths[1], 1e-6)
	}
}

// Where the chart centred at the end hardly reaches the start, the end of the geodesic is as close as elsewhere, and the residual is
// what is left.
func TestLogToTheAntipode(t *testing.T) {
	sphere, ellipsoid := struct{ geom.Charted }{manifold.Sphere(2)}, manifold.Ellipsoid(1, 1, 3)
	for _, c := range []struct {
		name string
		m    geom.Charted
		x, y []float64
	}{
		{"sphere", sphere, []float64{0.6, 0, 0.8}, []float64{-0.6, 0.1, -0.8}},
		{"sphere", sphere, []float64{0.6, 0, 0.8}, []float64{-0.6, 1e-3, -0.8}},
		{"sphere", sphere, []float64{0.6, 0, 0.8}, []float64{-0.6, 1e-5, -0.8}},
		{"ellipsoid", ellipsoid, []float64{-0.973, 0.23, 0.1}, []float64{0.97, -0.249, 0.013}},
	} {
		s := geom.On(c.m)
		x, _, err := s.Project(c.x)
		if err != nil {
			t.Fatal(err)
		}
		y, _, err := s.Project(c.y)
		if err != nil {
			t.Fatal(err)
		}
		g := expect.Must(s.Log(x, y))
		off := floats.Distance(g.End, y, 2) / math.Sqrt2
		t.Logf("%s, %.3g from the antipode: %v, off by %.2g", c.name, floats.Norm(floats.AddTo(make([]float64, 3), x, y), 2), g, off)
		if g.Status != geom.Converged || !(off <= 1e-9) || !(off <= 2*g.Residual+1e-13) {
			t.Errorf("%s from %.3g to %.3g: %v, off by %.2g", c.name, x, y, g, off)
		}
	}
}
