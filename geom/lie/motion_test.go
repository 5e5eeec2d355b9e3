package lie_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mathext"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/lie"
	"anatomy/geom/linalg"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
)

func end(points [][]float64) []float64 { return points[len(points)-1] }

// A free body turns about its intermediate axis and tumbles: the half period is 2K(k)/rate in Jacobi's elliptic functions
// (L. Landau and E. Lifshitz, Mechanics, section 37). Energy and momentum in space are kept to the order of the
// integrator, the rotation stays orthogonal.
func TestTumblingBody(t *testing.T) {
	t.Parallel()
	moments := []float64{1, 2, 3}
	g := lie.SO(3)
	s := geom.On(expect.Must(g.LeftInvariant(diagonal(moments...))))
	w := []float64{0.001, 2, 0.001}
	twice, square := 0., 0. // 2E and M²
	for i, a := range moments {
		twice += a * w[i] * w[i]
		square += a * a * w[i] * w[i]
	}
	// M² < 2E I₂ or above: the axis about which the momentum turns.
	i1, i2, i3 := moments[0], moments[1], moments[2]
	if square < twice*i2 {
		i1, i3 = i3, i1
	}
	rate := math.Sqrt((i3 - i2) * (square - twice*i1) / (i1 * i2 * i3))
	modulus := (i2 - i1) * (twice*i3 - square) / ((i3 - i2) * (square - twice*i1)) // k²
	period := 4 * mathext.CompleteK(modulus) / rate

	drift := map[int][2]float64{}
	for _, n := range []int{2000, 4000} {
		m := expect.Must(lie.Move(s, g.Identity(), w, period, n))
		expect.Abs(t, "velocity after a period", end(m.Velocities), w, map[int]float64{2000: 1e-5, 4000: 1e-6}[n])
		if n == 4000 {
			expect.Abs(t, "velocity after half a period", m.Velocities[n/2], []float64{w[0], -w[1], -w[2]}, 1)
			expect.Abs(t, "it has turned over", m.Velocities[n/2][1], -w[1], 1e-6)
		}
		energy, momentum, off := 0., 0., 0.
		for i, z := range m.Path {
			energy = max(energy, math.Abs(m.Energy(i)-m.Energy(0)))
			momentum = max(momentum, floats.Distance(m.Conserved[i], m.Conserved[0], 2))
			for a := range 3 {
				for b := range 3 {
					want := 0.
					if a == b {
						want = 1
					}
					off = max(off, math.Abs(floats.Dot(z[3*a:3*a+3], z[3*b:3*b+3])-want))
				}
			}
		}
		expect.Abs(t, "RᵀR", off, 0, 1e-13)
		drift[n] = [2]float64{energy, momentum}
	}
	for k, what := range []string{"energy", "momentum in space"} {
		order := math.Log2(drift[2000][k] / drift[4000][k])
		t.Logf("%s: drift %.2g and %.2g, order %.2f, period %.4f", what, drift[2000][k], drift[4000][k], order, period)
		if !(drift[4000][k] < 1e-7) || order < 3.9 {
			t.Errorf("%s drifts by %.3g in 4000 steps, order %.2f", what, drift[4000][k], order)
		}
	}
}

// The order of the method of Munthe-Kaas, against the closed form of geodesics of GL(2) with the standard metric,
// exp ξᵀ exp(ξ − ξᵀ), or exp(ξ − ξᵀ) exp ξᵀ for the right-invariant one; on SE(3), with an inner product that couples all,
// the equations of Euler and Poincaré against Hamilton's in charts: two routes to one number.
func TestGeodesicsTwoRoutes(t *testing.T) {
	t.Parallel()
	gl := lie.GL(2)
	xi := []float64{0.5, -0.8, 0.3, 0.2}
	transposed, twist := []float64{xi[0], xi[2], xi[1], xi[3]}, []float64{0, xi[1] - xi[2], xi[2] - xi[1], 0}
	for side, s := range map[lie.Side]*geom.Space[geom.Vec]{
		lie.Left: geom.On(expect.Must(gl.LeftInvariant(nil))), lie.Right: geom.On(expect.Must(gl.RightInvariant(nil)))} {
		first, second := transposed, twist
		if side == lie.Right {
			first, second = twist, transposed
		}
		want := expect.Must(engine.Run(func(a, b *Node) *Node { return gl.Mul(gl.Exp(a), gl.Exp(b)) }, first, second)).Vector(0)
		var errors []float64
		for _, n := range []int{10, 20} {
			m := expect.Must(lie.Move(s, gl.Identity(), xi, 1, n))
			errors = append(errors, floats.Distance(end(m.Path), want, 2))
		}
		expect.Abs(t, side.String()+": order", math.Log2(errors[0]/errors[1]), 4, 0.1)
		expect.Abs(t, side.String()+": error", errors[1], 0, 2e-6)
	}

	inertia := [][]float64{{1, 0.2, 0, 0.1, 0, 0}, {0.2, 2, -0.1, 0, 0.3, 0}, {0, -0.1, 1.5, 0, 0, 0.1},
		{0.1, 0, 0, 1, 0.1, 0}, {0, 0.3, 0, 0.1, 1.2, 0}, {0, 0, 0.1, 0, 0, 0.9}}
	se := lie.SE(3)
	start, velocity := expm(se, []float64{0.3, -0.2, 0.5, 1, 2, -1}), []float64{0.6, 0.4, -0.5, 0.3, -0.8, 0.7}
	for side, m := range map[lie.Side]geom.Charted{lie.Left: expect.Must(se.LeftInvariant(inertia)), lie.Right: expect.Must(se.RightInvariant(inertia))} {
		s := geom.On(m, geom.Integrator(ode.RK4, 100))
		motion := expect.Must(lie.Move(s, start, velocity, 1, 100))
		v := expect.Must(engine.Run(func(z, xi *Node) *Node {
			if side == lie.Left {
				return se.Mul(z, se.Hat(xi))
			}
			return se.Mul(se.Hat(xi), z)
		}, start, velocity)).Vector(0)
		g := expect.Must(s.Exp(start, v))
		expect.Abs(t, side.String()+": Euler and Poincaré against Hamilton", end(motion.Path), end(g.Path), 1e-9)
		expect.Abs(t, side.String()+": length", g.Length, math.Sqrt(2*motion.Energy(0)), 1e-12)
		expect.Abs(t, side.String()+": conserved momentum", end(motion.Conserved), motion.Conserved[0], 5e-10)
		again := expect.Must(lie.Momenta(s, motion.Path, motion.Conserved[0]))
		expect.Abs(t, side.String()+": momentum from the conserved one", end(again), end(motion.Momenta), 5e-10)
	}
}

// A top in Lie and Poisson's form, h = ½ μ·A⁻¹μ + a linear term: h and |μ| are kept, and the order is 4.
func TestLiePoisson(t *testing.T) {
	t.Parallel()
	g := lie.SO(3)
	var ends [][]float64
	for _, n := range []int{40, 80, 640} {
		out := expect.Must(engine.Run(func(mu, inverse, field *Node) []*Node {
			h := func(mu *Node) *Node {
				kinetic := MulScalar(ReduceSum(Mul(mu, linalg.MatVec(inverse, mu)), -1), 0.5)
				return Add(kinetic, ReduceSum(Mul(field, Sin(mu)), -1))
			}
			final := ode.Flow(g.LiePoisson(lie.Left, h), ode.RK4, n, ode.State{mu})[0]
			return []*Node{final, Sub(h(final), h(mu)), Sub(ReduceAllSum(Square(final)), ReduceAllSum(Square(mu)))}
		}, []float64{2, -1, 1.5}, diagonal(2, 1, 0.6), []float64{0.3, 0.1, -0.4}))
		ends = append(ends, out.Vector(0))
		if n == 640 {
			expect.Abs(t, "Hamiltonian", out.Scalar(1), 0, 1e-9)
			expect.Abs(t, "|μ|²", out.Scalar(2), 0, 1e-9)
		}
	}
	expect.Abs(t, "order", math.Log2(floats.Distance(ends[0], ends[2], 2)/floats.Distance(ends[1], ends[2], 2)), 4, 0.1)
}

// SO(3) with the standard metric: sectional curvature ¼ |[ξ, η]|², scalar curvature 3/2, distance the angle; SE(3) with it
// is the product with R³, in which translations run straight.
func TestBiInvariant(t *testing.T) {
	t.Parallel()
	g := lie.SO(3)
	s := geom.On(expect.Must(g.LeftInvariant(nil)))
	z := expm(g, []float64{0.4, -0.3, 0.9})
	v := expect.Must(engine.Run(func(z, a, b *Node) []*Node { return []*Node{g.Mul(z, g.Hat(a)), g.Mul(z, g.Hat(b))} },
		z, []float64{1, 0.2, -0.3}, []float64{0.1, 0.5, 2}))
	expect.Abs(t, "sectional curvature", expect.Must(s.SectionalCurvature(z, v.Vector(0), v.Vector(1))), 0.25, 1e-10)
	expect.Abs(t, "scalar curvature", expect.Must(s.ScalarCurvature(z)), 1.5, 1e-10)
	expect.Abs(t, "distance", expect.Must(s.Log(g.Identity(), z)).Length, math.Sqrt(0.16+0.09+0.81), 1e-14)

	e := lie.SE(3)
	straight := expect.Must(geom.On(expect.Must(e.LeftInvariant(nil))).Exp(e.Identity(), expect.Must(e.Tangent(0.5, 0.8, -0.3, 1, -2, 0.5))))
	for k, z := range straight.Path {
		u := float64(k) / float64(len(straight.Path)-1)
		turn := expm(g, []float64{0.5 * u, 0.8 * u, -0.3 * u})
		for i := range 3 {
			expect.Abs(t, "rotation", z[4*i:4*i+3], turn[3*i:3*i+3], 5e-7)
			expect.Abs(t, "translation", z[4*i+3], u*[]float64{1, -2, 0.5}[i], 1e-6)
		}
	}
}

// No metric on SE(2) is bi-invariant, in whatever units its lengths are, and translations go straight in all of them.
func TestUnits(t *testing.T) {
	t.Parallel()
	e := lie.SE(2)
	for _, w := range []float64{1, 1e-13, 1e-30, 1e20} {
		m := expect.Must(e.LeftInvariant(diagonal(1, w, w)))
		if _, closed := m.(geom.ClosedForms); !closed {
			t.Errorf("the metric diag(1, %g, %g) is not taken for a product", w, w)
		}
		if _, closed := expect.Must(e.RightInvariant(diagonal(1, w, w))).(geom.ClosedForms); closed {
			t.Errorf("the metric diag(1, %g, %g) is taken for bi-invariant", w, w)
		}
		if w == 1e-13 {
			end := expect.Must(geom.On(m).Exp(e.Identity(), expect.Must(e.Tangent(math.Pi/2, 1/math.Sqrt(w), 0)))).End
			expect.Abs(t, "translation", []float64{end[2] * math.Sqrt(w), end[5] * math.Sqrt(w)}, []float64{1, 0}, 1e-5)
		}
		if _, closed := expect.Must(lie.SO(3).RightInvariant(diagonal(w, w, w))).(geom.ClosedForms); !closed {
			t.Errorf("the metric %g times the identity on SO(3) is not taken for bi-invariant", w)
		}
	}
	expect.Refused(t, expect.Error(e.LeftInvariant([][]float64{{1, 0, 0}, {0, 1e-13, 5e-14}, {0, 0, 1e-13}})), "not symmetric")
	expect.Refused(t, expect.Error(e.LeftInvariant([][]float64{{1, 0, 0}, {0, 1e-13, 2e-13}, {0, 2e-13, 1e-13}})), "not positive definite")
}

// Fréchet means of rotations: of two the middle, of a set that is symmetric about a rotation that one.
func TestMeanOfRotations(t *testing.T) {
	t.Parallel()
	g := lie.SO(3)
	s := geom.On(expect.Must(g.LeftInvariant(nil)))
	a, xi := expm(g, []float64{0.3, 1, -0.6}), []float64{1.1, -0.7, 1.9}
	mul := func(a, b []float64) []float64 {
		return expect.Must(engine.Run(func(a, b *Node) *Node { return g.Mul(a, b) }, a, b)).Vector(0)
	}
	scaled := func(c float64, x []float64) []float64 { return floats.ScaleTo(make([]float64, len(x)), c, x) }
	mean := expect.Must(stats.FrechetMean(s, [][]float64{a, mul(a, expm(g, xi))}))
	expect.Abs(t, "of two", mean.Point, mul(a, expm(g, scaled(0.5, xi))), 5e-9)
	var set [][]float64
	for _, x := range [][]float64{{1.2, 0, 0.4}, {0, 0.9, -0.5}, {0.3, 0.2, 2}} {
		set = append(set, mul(a, expm(g, x)), mul(a, expm(g, scaled(-1, x))))
	}
	mean = expect.Must(stats.FrechetMean(s, set))
	expect.Abs(t, "of a symmetric set", mean.Point, a, 5e-9)
	if mean.Status != geom.Converged {
		t.Errorf("mean: %s", mean.Status)
	}
	if pca := expect.Must(stats.TangentPCA(mean)); len(pca.Modes) != 3 {
		t.Errorf("%d modes of rotations, want 3", len(pca.Modes))
	}
}

// The half plane is Affine(1) with a left-invariant metric, y > 0 and x for (y x; 0 1): distances are those of the
// hyperboloid.
func TestAffineIsHyperbolic(t *testing.T) {
	t.Parallel()
	g := lie.Affine(1)
	s := geom.On(expect.Must(g.LeftInvariant(nil)), geom.Integrator(ode.RK4, 100))
	expect.Abs(t, "scalar curvature", expect.Must(s.ScalarCurvature([]float64{2, 1, 0, 1})), -2, 1e-10)
	d := expect.Must(s.Log([]float64{1, 0, 0, 1}, []float64{1.5, 0.7, 0, 1}))
	expect.Abs(t, "distance", d.Length, math.Acosh(1+(0.7*0.7+0.5*0.5)/(2*1.5)), 1e-8)
	expect.Abs(t, "scalar curvature of the hyperbolic plane", expect.Must(geom.On(manifold.Hyperbolic(2)).ScalarCurvature([]float64{1, 0, 0})), -2, 1e-10)
}

func TestErrors(t *testing.T) {
	t.Parallel()
	g := lie.SO(3)
	expect.Refused(t, expect.Error(g.LeftInvariant(diagonal(1, 2))), "2 rows, want 3")
	expect.Refused(t, expect.Error(g.RightInvariant(diagonal(1, 2, -1))), "right-invariant metric on SO(3): the inner product is not positive definite")
	expect.Refused(t, expect.Error(g.LeftInvariant([][]float64{{1, 0.5, 0}, {0, 1, 0}, {0, 0, 1}})), "not symmetric")
	expect.Refused(t, expect.Error(g.LeftInvariant(diagonal(1, 2, math.NaN()))), "entry (2, 2)")
	expect.Refused(t, expect.Error(g.Tangent(1, 2)), "2 coordinates")
	expect.Refused(t, expect.Error(lie.SE(2).Move(lie.SE(2).Identity(), [][]float64{{0, 1}, {1, 2, 3}})), "point 1 has 3 coordinates")
	expect.Refused(t, expect.Error(g.Move([]float64{1}, nil)), "want 9")

	s := geom.On(expect.Must(g.LeftInvariant(nil)))
	expect.Refused(t, expect.Error(s.Exp([]float64{1, 0, 0, 0, 1, 0.001, 0, 0, 1}, make([]float64, 9))), "Space.Project")                 // not orthogonal
	expect.Refused(t, expect.Error(s.Exp([]float64{1, 0, 0, 0, 1, 0, 0, 0, -1}, make([]float64, 9))), "no point of the manifold is near") // reflection
	expect.Refused(t, expect.Error(s.Exp(g.Identity(), g.Identity())), "not tangent")
	expect.Refused(t, expect.Error(s.Log(g.Identity(), []float64{-1, 0, 0, 0, -1, 0, 0, 0, 1})), "cut locus") // rotation by π
	z, _, err := s.Project([]float64{2, 0, 0, 0, 0.3, -0.4, 0, 0.4, 0.3})
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "projected", z, []float64{1, 0, 0, 0, 0.6, -0.8, 0, 0.8, 0.6}, 5e-15)
	expect.Refused(t, expect.Error(lie.Move(s, []float64{1, 0, 0, 0, 1, 0, 0, 0, 0.5}, []float64{1, 0, 0}, 1, 10)), "no element of SO(3)")
	expect.Refused(t, expect.Error(lie.Move(s, g.Identity(), []float64{1, 0}, 1, 10)), "2 coordinates")
	expect.Refused(t, expect.Error(lie.Move(s, g.Identity(), []float64{1, 0, 0}, 0, 10)), "positive time")
	expect.Refused(t, expect.Error(lie.Move(geom.On(manifold.Sphere(2)), g.Identity(), []float64{1, 0, 0}, 1, 10)), "LeftInvariant") // another manifold
	expect.Refused(t, expect.Error(lie.Coadjoint(s, g.Identity(), []float64{1, 0, 0}, nil)), "no vectors")
	expect.Refused(t, expect.Error(lie.Momenta(s, [][]float64{{1}}, []float64{1, 0, 0})), "the point has 1 coordinates")
	for _, bad := range [][]float64{{2, 0, 0, 0, 2, 0, 0, 0, 2}, {1, 0.5, 0, 0, 1, 0, 0, 0, 1}} { // twice the identity, a shear
		expect.Refused(t, expect.Error(lie.Momenta(s, [][]float64{g.Identity(), bad}, []float64{1, 2, 3})), "point 1")
	}

	gl := geom.On(expect.Must(lie.GL(2).LeftInvariant(nil)))
	expect.Refused(t, expect.Error(gl.Exp([]float64{0.1, 0.2, 0.3, 0.6}, []float64{1, 0, 0, 1})), "no point of the manifold is near") // singular
	expect.Refused(t, expect.Error(gl.Log([]float64{1, 0, 0, 1}, []float64{1, 0, 0, -1})), "cut locus")                               // two components
}
