package geom_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
)

// field makes a vector field from its coordinates.
func field(f func(x []*Node) []*Node) func(x *Node) *Node {
	return func(x *Node) *Node {
		var in []*Node
		for k := range x.Shape().Dim(-1) {
			in = append(in, SliceAxis(x, -1, AxisRange(k, k+1)))
		}
		return Concatenate(f(in), -1)
	}
}

// martinet is ker(dz − x²/2 dy), with the abnormal lines x = 0, z constant.
func martinet() geom.SubRiemannian {
	return geom.Distribution(manifold.Euclidean(3),
		field(func(x []*Node) []*Node { return []*Node{OnesLike(x[0]), ZerosLike(x[0]), ZerosLike(x[0])} }),
		field(func(x []*Node) []*Node { return []*Node{ZerosLike(x[0]), OnesLike(x[0]), MulScalar(Square(x[0]), 0.5)} }))
}

// hopf has the horizontal fields i z and j z of unit quaternions z: orthogonal to the fibres of the Hopf map, the orbits of k z.
func hopf() geom.SubRiemannian {
	return geom.Distribution(manifold.Sphere(3),
		field(func(z []*Node) []*Node { return []*Node{Neg(z[1]), z[0], Neg(z[3]), z[2]} }),
		field(func(z []*Node) []*Node { return []*Node{Neg(z[2]), z[3], z[0], Neg(z[1])} }))
}

func TestDistribution(t *testing.T) {
	t.Parallel()
	geomtest.Run(t, hopf(), []float64{0.1, 0.7, -0.5, 0.5})
}

// The distance on the Heisenberg group: a geodesic of length l that turns by w has a shadow, an arc with the chord r = 2 l sin(w/2)/w, and
// the height l² (w − sin w)/2w² (R. Montgomery, A tour of subriemannian geometries, 2002, section 1.3). Up the axis it is √(4π z).
func TestHeisenbergDistance(t *testing.T) {
	t.Parallel()
	space := geom.On(manifold.Heisenberg(), geom.Integrator(ode.RK4, 400))
	var starts, ends [][]float64
	var want []float64
	for _, c := range [][2]float64{{0.3, 2}, {2, 1}, {-4, 0.7}, {6, 1.5}} {
		w, l := c[0], c[1]
		r, z := 2*l*math.Sin(w/2)/w, l*l*(w-math.Sin(w))/(2*w*w)
		starts, ends, want = append(starts, []float64{0, 0, 0}), append(ends, []float64{r * math.Cos(1), r * math.Sin(1), z}), append(want, l)
	}
	starts, ends, want = append(starts, []float64{0, 0, 1}), append(ends, []float64{0, 0, 1.3}), append(want, math.Sqrt(4*math.Pi*0.3))
	for i, g := range expect.Must(space.LogAll(starts, ends)) {
		if g.Status != geom.Converged {
			t.Errorf("Log to %v: %v", ends[i], g)
		}
		expect.Rel(t, "distance", g.Length, want[i], 1e-8)
	}
}

// Beside the axis the derivative of Exp is nearly singular. Where Log finds no geodesic it does not say that brackets do not span, and it
// returns the geodesic of the other pair.
func TestHeisenbergBesideTheAxis(t *testing.T) {
	t.Parallel()
	origin := []float64{0, 0, 0}
	ends := [][]float64{{-0.0059, -0.0161, -1.115}, {0.8, 0.3, 0.1}, {-0.0021, -0.0027, 1.086}}
	gs, err := geom.On(manifold.Heisenberg()).LogAll([][]float64{origin, origin, origin}, ends)
	for i, g := range gs {
		if g == nil {
			expect.Refused(t, err, fmt.Sprintf("pair %d: paths lead to within", i), "many shortest geodesics")
		}
	}
	if err != nil && strings.Contains(err.Error(), "do not span") {
		t.Error(err)
	}
	if gs[1] == nil || gs[1].Err() != nil {
		t.Errorf("%v: %v", gs[1], err)
	}
}

// Along a fibre of the Hopf map the distance from z to e^{kφ} z is √(φ (2π − φ)): it is a horizontal lift of a circle on S² that encloses
// the area φ/2 (U. Boscain and F. Rossi, Invariant Carnot–Carathéodory metrics on S³, 2008).
func TestHopfDistance(t *testing.T) {
	t.Parallel()
	const phi = 0.8
	space := geom.On(hopf(), geom.Integrator(ode.RK4, 400))
	g := expect.Must(space.Log([]float64{1, 0, 0, 0}, []float64{math.Cos(phi), 0, 0, math.Sin(phi)}))
	expect.Rel(t, "distance", g.Length, math.Sqrt(phi*(2*math.Pi-phi)), 1e-8)
	if g.Corank != 0 {
		t.Errorf("corank %d on a contact manifold", g.Corank)
	}
}

// Lines x = 0 of the flat Martinet distribution are abnormal, and shortest.
func TestAbnormalIsTold(t *testing.T) {
	t.Parallel()
	space := geom.On(martinet(), geom.Integrator(ode.RK4, 100))
	line := expect.Must(space.Log([]float64{0, 0, 0}, []float64{0, 1, 0}))
	expect.Rel(t, "length of the abnormal line", line.Length, 1, 1e-8)
	other := expect.Must(space.Log([]float64{0, 0, 0}, []float64{0.3, 1, 0.1}))
	if line.Corank != 1 || other.Corank != 0 {
		t.Errorf("coranks %d and %d, want 1 and 0", line.Corank, other.Corank)
	}
	plane := geom.Distribution(manifold.Euclidean(3), field(func(x []*Node) []*Node { return []*Node{OnesLike(x[0]), ZerosLike(x[0]), ZerosLike(x[0])} }),
		field(func(x []*Node) []*Node { return []*Node{ZerosLike(x[0]), OnesLike(x[0]), ZerosLike(x[0])} }))
	expect.Refused(t, expect.Error(geom.On(plane).Log([]float64{0, 0, 0}, []float64{1, 1, 1})), "do not span all directions")
}

// Popp's volume has the density det^(−½) of brackets in closed form (D. Barilari and L. Rizzi, A formula for Popp's volume in sub-Riemannian
// geometry, 2013); on Martinet's it is 1/√2|x|, so that Δ = X_1² + X_2² − X_1/x. The Engel group has brackets of three fields.
func TestPopp(t *testing.T) {
	t.Parallel()
	engel := geom.Distribution(manifold.Euclidean(4),
		field(func(x []*Node) []*Node {
			return []*Node{OnesLike(x[0]), ZerosLike(x[0]), ZerosLike(x[0]), ZerosLike(x[0])}
		}),
		field(func(x []*Node) []*Node {
			return []*Node{ZerosLike(x[0]), OnesLike(x[0]), x[0], MulScalar(Square(x[0]), 0.5)}
		}))
	out := expect.Must(engine.Run(func(x, y *Node) []*Node {
		f := func(x *Node) *Node { return ReduceSum(Sin(x), -1) }
		return []*Node{geom.LogVolume(manifold.Heisenberg(), x), geom.LogVolume(martinet(), x), geom.LogVolume(engel, y), geom.LaplaceBeltrami(martinet(), f, x)}
	}, []float64{0.7, -0.3, 0.2}, []float64{0.7, -0.3, 0.2, 0.5}))
	expect.Abs(t, "Heisenberg", out.Scalar(0), -math.Log(2)/2, 1e-12)
	expect.Abs(t, "Martinet", out.Scalar(1), -math.Log(2)/2-math.Log(0.7), 1e-12)
	expect.Abs(t, "Engel", out.Scalar(2), -math.Log(2), 1e-12)
	// X_2² f = f_yy + x² f_yz + x⁴/4 f_zz
	laplacian := -math.Sin(0.7) - math.Sin(-0.3) - math.Pow(0.7, 4)/4*math.Sin(0.2) - math.Cos(0.7)/0.7
	expect.Abs(t, "Laplacian", out.Scalar(3), laplacian, 1e-12)
}
