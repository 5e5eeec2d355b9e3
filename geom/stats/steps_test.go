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
	still := []float64{0, 0}
	mean := expect.Must(stats.FrechetMean(exact, z))
	size := floats.Max(mean.Distances)
	numbers := func(what string, on *geom.Space[geom.Vec], x [][]float64, in func(p, v []float64) (point, vector []float64)) (geom.Status, []float64) {
		switch what {
		case "mean":
			of := expect.Must(stats.FrechetMean(on, x))
			point, _ := in(of.Point, still)
			return of.Status, append(of.Distances, point...)
		case "regression":
			of := expect.Must(stats.Regress(on, x, linear.Terms{linear.Covariate("age", age...)}))
			point, _ := in(of.Point, still)
			return of.Status, append(of.Residuals, point...)
		}
		mean := expect.Must(stats.FrechetMean(on, x))
		of := expect.Must(stats.TangentPCA(mean))
		_, mode := in(mean.Point, of.Modes[0])
		return of.Status, append(of.Explained[:1:1], mode...)
	}
	for _, what := range []string{"mean", "regression", "principal component"} {
		_, want := numbers(what, exact, z, same)
		status, found := numbers(what, settled, x, mapped)
		_, rough := numbers(what, coarse, x, mapped)
		good, bad := floats.Distance(found, want, 2)/size, floats.Distance(rough, want, 2)/size
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
