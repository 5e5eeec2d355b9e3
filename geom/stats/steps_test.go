package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// In coordinates of the plane whose lines are waves, where 25 steps are too few, means, regressions and principal components are the
// classical ones, to 1e-4 of the largest distance, and converge to their tolerances, though the steps change on the way. With 25 steps they
// are not.
func TestStepsOfStatistics(t *testing.T) {
	t.Parallel()
	const bump, waves = 0.16, 4.5
	m := geom.FromImmersion(geom.ImmersionFunc(2, func(x *Node) *Node {
		swapped := Concatenate([]*Node{SliceAxis(x, -1, AxisRange(1, 2)), SliceAxis(x, -1, AxisRange(0, 1))}, -1)
		return Add(x, MulScalar(Sin(MulScalar(swapped, waves)), bump))
	}))
	settled, coarse, exact := geom.On(m), geom.On(m, geom.Integrator(ode.RK4, 25)), geom.On(manifold.Euclidean(2))
	inPlane := func(p []float64) []float64 {
		return []float64{p[0] + bump*math.Sin(waves*p[1]), p[1] + bump*math.Sin(waves*p[0])}
	}
	// Points and vectors in the plane, by the derivative of inPlane.
	mapped := func(p, v []float64) (point, vector []float64) {
		bx, by := bump*waves*math.Cos(waves*p[1]), bump*waves*math.Cos(waves*p[0])
		return inPlane(p), []float64{v[0] + bx*v[1], v[1] + by*v[0]}
	}
	same := func(p, v []float64) (point, vector []float64) { return p, v }
	r := rand.New(rand.NewPCG(11, 1))
	var x, z [][]float64
	age := []float64{1, 2, 4, 3, 5}
	for i := range 5 {
		p := []float64{age[i] - 3 + 0.3*r.NormFloat64(), r.NormFloat64()}
		x, z = append(x, p), append(z, inPlane(p))
	}
	type found struct {
		status  geom.Status
		numbers []float64
	}
	// The mean, with its distances, a regression and a principal component.
	numbers := func(on *geom.Space[geom.Vec], x [][]float64, in func(p, v []float64) (point, vector []float64)) [3]found {
		mean := expect.Must(stats.FrechetMean(on, x))
		line := expect.Must(stats.Regress(on, x, linear.Terms{linear.Covariate("age", age...)}))
		pca := expect.Must(stats.TangentPCA(mean))
		centre, mode := in(mean.Point, pca.Modes[0])
		point, _ := in(line.Point, line.Point)
		return [3]found{{mean.Status, append(mean.Distances, centre...)}, {line.Status, append(line.Residuals, point...)}, {pca.Status, append(pca.Explained[:1:1], mode...)}}
	}
	wanted, fine, rough := numbers(exact, z, same), numbers(settled, x, mapped), numbers(coarse, x, mapped)
	size := floats.Max(wanted[0].numbers[:len(x)])
	for k, what := range []string{"mean", "regression", "principal component"} {
		want, status := wanted[k].numbers, fine[k].status
		good, bad := floats.Distance(fine[k].numbers, want, 2)/size, floats.Distance(rough[k].numbers, want, 2)/size
		t.Logf("%s: %s, off by %.2g, with 25 steps by %.2g", what, status, good, bad)
		if status != geom.Converged || good > 1e-4 || bad < 1.2e-4 {
			t.Errorf("%s: %s, off by %.2g of the largest distance, with 25 steps by %.2g", what, status, good, bad)
		}
	}
}

// The same with RelativeNoise, of landmarks that move by many widths of their kernel.
func TestStepsWithMismatch(t *testing.T) {
	t.Parallel()
	s := landmarks.New(4, 2, kernels.Gaussian(1))
	fine := s.With(geom.Integrator(ode.RK4, 100))
	q := geom.Shape{{0, 0}, {1, 0}, {1, 1}, {0, 1}}
	x := []geom.Shape{q, expect.Must(fine.Exp(q, geom.Shape{{15, 0}, {50, 5}, {50, 50}, {0, 30}})).End}
	deviation := func(on *landmarks.Space) float64 {
		m := expect.Must(stats.FrechetMean(on, x, stats.RelativeNoise(0.05), stats.Tolerance(1e-4)))
		if m.Status != geom.Converged {
			t.Error(m)
		}
		return math.Sqrt(m.Variance)
	}
	want := deviation(fine)
	good, bad := math.Abs(deviation(s)/want-1), math.Abs(deviation(s.With(geom.Integrator(ode.RK4, 25)))/want-1)
	t.Logf("off by %.2g, with 25 steps by %.2g", good, bad)
	if good > 1e-4 || bad < 1.5e-4 {
		t.Errorf("off by %.2g, with 25 steps by %.2g", good, bad)
	}
}
