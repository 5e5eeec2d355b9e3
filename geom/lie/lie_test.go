package lie_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/lie"
	"anatomy/geom/linalg"
)

func TestMain(m *testing.M) { geomtest.Main(m, geomtest.Plain) }

func diagonal(v ...float64) [][]float64 {
	a := make([][]float64, len(v))
	for i := range a {
		a[i] = make([]float64, len(v))
		a[i][i] = v[i]
	}
	return a
}

// largest is the largest absolute value of a difference.
func largest(a, b *Node) *Node { return ReduceAllMax(Abs(Sub(a, b))) }

// random are n vectors of d normal numbers.
func random(seed uint64, n, d int, size float64) [][]float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([][]float64, n)
	for i := range x {
		x[i] = make([]float64, d)
		for k := range x[i] {
			x[i][k] = size * rng.NormFloat64()
		}
	}
	return x
}

// expm is exp ξ by gonum.
func expm(g *lie.Group, xi []float64) []float64 {
	v := expect.Must(g.Tangent(xi...))
	n := int(math.Sqrt(float64(len(v))))
	var e mat.Dense
	e.Exp(mat.NewDense(n, n, v))
	return e.RawMatrix().Data
}

var groups = []*lie.Group{lie.SO(2), lie.SO(3), lie.SO(4), lie.SE(2), lie.SE(3), lie.GL(2), lie.Affine(2)}

// exp against gonum, log as its inverse, Ad_exp = exp(ad), dexp against the derivative of exp, the duals and Jacobi's
// identity.
func TestAlgebra(t *testing.T) {
	for _, g := range groups {
		t.Run(g.String(), func(t *testing.T) {
			t.Parallel()
			d := g.Dim()
			xi, eta, mu := random(1, 4, d, 0.4), random(2, 4, d, 0.6), random(3, 4, d, 1)
			for k := range xi[2] {
				xi[2][k] *= 1e-6
				xi[3][k] = 0
			}
			out := expect.Must(engine.Run(func(in []*Node) []*Node {
				xi, eta, mu := in[0], in[1], in[2]
				z := g.Exp(xi)
				ad := func(eta *Node) *Node { return g.Bracket(xi, eta) }
				adjoint := autodiff.Jacobian(func(e *Node) *Node { return g.Bracket(BroadcastPrefix(xi, e.Shape().Dimensions[:e.Rank()-2]...), e) }, eta)
				_, slope := autodiff.Pushforward(func(x []*Node) []*Node { return []*Node{g.Exp(x[0])} }, []*Node{xi}, []*Node{eta})
				right := linalg.MatVec(g.DExp(xi), eta)
				left := linalg.MatVec(g.DExp(Neg(xi)), eta)
				pair := func(a, b *Node) *Node { return ReduceSum(Mul(a, b), -1) }
				jacobi := Sub(g.Bracket(xi, g.Bracket(eta, mu)), Add(g.Bracket(g.Bracket(xi, eta), mu), g.Bracket(eta, g.Bracket(xi, mu))))
				logOf := func(x []*Node) []*Node { return []*Node{g.Log(g.Exp(x[0]))} }
				_, derivative := autodiff.Pushforward(logOf, []*Node{xi}, []*Node{eta})
				second := autodiff.Grad(func(x *Node) *Node {
					_, dy := autodiff.Pushforward(logOf, []*Node{x}, []*Node{eta})
					return pair(dy[0], mu)
				}, xi)
				return []*Node{z,
					largest(g.Log(z), xi), largest(g.Mul(z, g.Inverse(z)), g.Exp(ZerosLike(xi))),
					largest(g.Ad(z, eta), linalg.MatVec(linalg.Expm(adjoint), eta)),
					largest(slope[0], g.Mul(g.Hat(right), z)), largest(slope[0], g.Mul(z, g.Hat(left))),
					largest(pair(g.Coadjoint(z, mu), eta), pair(mu, g.Ad(z, eta))),
					largest(pair(g.BracketDual(xi, mu), eta), pair(mu, ad(eta))),
					ReduceAllMax(Abs(jacobi)), largest(g.Vee(g.Hat(xi)), xi),
					largest(g.Hat(ad(eta)), Sub(g.Mul(g.Hat(xi), g.Hat(eta)), g.Mul(g.Hat(eta), g.Hat(xi)))),
					largest(derivative[0], eta), ReduceAllMax(Abs(second)),
				}
			}, xi, eta, mu))
			for k, x := range xi {
				expect.Abs(t, "exp", out.Matrix(0)[k], expm(g, x), 5e-14)
			}
			for i, what := range []string{"log exp", "g g⁻¹", "Ad_exp = exp ad", "dexp on the left", "dexp on the right", "Ad*", "ad*", "Jacobi",
				"Vee Hat", "[ξ, η]", "derivative of log exp", "second derivative of log exp"} {
				tolerance := 1e-13
				if i >= 10 {
					tolerance = 1e-10
				}
				expect.Abs(t, what, out.Scalar(i+1), 0, tolerance)
			}
		})
	}
}

// Rodrigues' formula and its inverse from angle 0 to π, at both ends and near them, in the plane and in space.
func TestRotationAngles(t *testing.T) {
	t.Parallel()
	angles := []float64{0, 1e-300, 1e-160, 1e-12, 1e-8, 1e-4, 0.03, 0.5, 0.999, 1, 1.001, 1.5, 2, 3, 3.1, math.Pi - 1e-4, math.Pi - 1e-8, math.Pi - 1e-12, math.Pi}
	axes := [][]float64{{1, 0, 0}, {0, 0, -1}, {2. / 3, -2. / 3, 1. / 3}, {0.6, 0, 0.8}, {-0.36, 0.48, -0.8}}
	var xi, plane [][]float64
	for _, angle := range angles {
		for _, axis := range axes {
			xi = append(xi, floats.ScaleTo(make([]float64, 3), angle, axis))
		}
		plane = append(plane, []float64{angle}, []float64{-angle})
	}
	g := lie.SO(3)
	out := expect.Must(engine.Run(func(xi, plane *Node) []*Node {
		z := g.Exp(xi)
		x := g.Log(z)
		return []*Node{z, x, lie.SO(2).Log(lie.SO(2).Exp(plane)), g.Exp(x)}
	}, xi, plane))
	for k, x := range xi {
		angle, axis := angles[k/len(axes)], axes[k%len(axes)]
		s, c := math.Sincos(angle)
		half := math.Sin(angle / 2)
		want := make([]float64, 9)
		cross := expect.Must(g.Tangent(axis...))
		for i := range 3 {
			for j := range 3 {
				want[3*i+j] = s*cross[3*i+j] + 2*half*half*axis[i]*axis[j]
			}
			want[4*i] += c
		}
		expect.Abs(t, "Rodrigues", floats.Distance(out.Matrix(0)[k], want, 2), 0, 12e-16*math.Sqrt(3))
		got := out.Matrix(1)[k]
		if angle > math.Pi-1e-15 && floats.Dot(got, x) < 0 { // two logarithms
			floats.Scale(-1, got)
		}
		expect.Abs(t, fmt.Sprintf("log of a rotation by %g about %v", angle, axis), floats.Distance(got, x, 2), 0, 2e-15*angle)
		expect.Abs(t, "exp log", floats.Distance(out.Matrix(3)[k], out.Matrix(0)[k], 2), 0, 2e-15*math.Sqrt(3))
	}
	for k, x := range plane {
		expect.Rel(t, "log of a rotation of the plane", math.Abs(out.Matrix(2)[k][0]), math.Abs(x[0]), 1e-15)
	}
}

// Logarithms of SO(4), SO(5) and SE(4) up to the cut locus: also where a plane turns by nearly π.
func TestLogNearCutLocus(t *testing.T) {
	t.Parallel()
	for _, delta := range []float64{1.6, 0.1, 1e-3, 1e-5} {
		for _, g := range []*lie.Group{lie.SO(4), lie.SO(5), lie.SE(4)} {
			planes := make([]float64, g.Dim()) // turns by π − δ and 0.7 in two planes
			if g.String() == "SO(5)" {
				planes[0], planes[9] = math.Pi-delta, 0.7
			} else {
				planes[0], planes[5] = math.Pi-delta, 0.7
			}
			tilt := random(4, 1, g.Dim(), 0.5)
			out := expect.Must(engine.Run(func(xi, tilt *Node) []*Node {
				x := g.Ad(g.Exp(tilt), xi)
				return []*Node{largest(g.Log(g.Exp(x)), x)}
			}, [][]float64{planes}, tilt))
			expect.Abs(t, g.String()+" logarithm", out.Scalar(0), 0, 1e-14/math.Min(1, delta))
		}
	}
}

// Metrics pass the suite, left- and right-invariant, with closed forms where there are any. A left-invariant one without closed forms
// has it in TestHomogeneous, and other tests in TestGeodesicsTwoRoutes and TestAffineIsHyperbolic.
func TestManifolds(t *testing.T) {
	so3, se2 := lie.SO(3), lie.SE(2)
	for name, c := range map[string]struct {
		g *lie.Group
		m geom.Charted
	}{
		"SO(3) left":  {so3, expect.Must(so3.LeftInvariant(nil))},
		"SE(2) right": {se2, expect.Must(se2.RightInvariant(diagonal(1, 2, 0.5)))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, closed := c.m.(geom.ClosedForms); closed != (name == "SO(3) left") {
				t.Errorf("closed forms: %v", closed)
			}
			geomtest.Run(t, c.m, c.g.Identity(), expm(c.g, random(5, 1, c.g.Dim(), 0.5)[0]))
		})
	}
}

// The logarithm of a point to itself is 0, with the residual 0, also where rounding moves the coordinates of a point in its own chart.
func TestLogOfAPointToItself(t *testing.T) {
	t.Parallel()
	group := lie.SO(3)
	s := geom.On(expect.Must(group.LeftInvariant(diagonal(1, 2, 3))))
	random := rand.New(rand.NewPCG(1, 2))
	var x [][]float64
	for range 20 {
		x = append(x, expm(group, []float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}))
	}
	for i, g := range expect.Must(s.LogAll(x, x)) {
		if g.Status != geom.Converged || !(g.Length <= 1e-14) || !(g.Residual <= 1e-14) {
			t.Errorf("point %d: %v", i, g)
		}
	}
}
