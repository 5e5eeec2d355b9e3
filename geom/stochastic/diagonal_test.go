package stochastic_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/geomtest/heat"
	"anatomy/geom/manifold"
	"anatomy/geom/stochastic"
)

// In the plane the meeting point is normal around the mean of the samples with the variance T/J, and all paths weigh the same.
func TestMeetInThePlane(t *testing.T) {
	const T, paths = 0.7, 2000
	samples := [][]float64{{0, 0}, {2, 1}, {1, -3}}
	m := expect.Must(stochastic.Meet(geom.On(manifold.Euclidean(2)), samples, []float64{0, 1}, stochastic.Run{Paths: paths, Steps: 5, Time: T, Seed: 1}))
	squares := 0.0
	for _, x := range samples {
		squares += math.Pow(floats.Distance(x, []float64{1, -2. / 3}, 2), 2)
	}
	expect.Abs(t, "log density", m.Log, -squares/(2*T)-2*math.Log(2*math.Pi*T)-math.Log(3), 1e-10)
	expect.Rel(t, "effective size", m.EffectiveSize, paths, 1e-9)
	x, off := make([]float64, paths), make([]float64, paths)
	for k, p := range m.Points {
		x[k], off[k] = p[1], math.Pow(p[0]-1, 2)
	}
	expect.Mean(t, "meeting point", x, -2./3)
	expect.Mean(t, "squared deviation", off, T/3)
}

// On the sphere its density is the normalised product of heat kernels.
func TestMeetOnTheSphere(t *testing.T) {
	const T, paths, n = 0.3, 4000, 60
	samples := [][]float64{{0, 0, 1}, {0.6, 0, 0.8}, {0, 0.96, 0.28}}
	m := expect.Must(stochastic.Meet(geom.On(manifold.Sphere(2)), samples, []float64{0, 0.6, 0.8}, stochastic.Run{Paths: paths, Steps: 40, Time: T, Seed: 2}))
	var total, east float64
	for i := range n {
		z := (float64(i)+0.5)*2/n - 1
		for j := range 2 * n {
			s, c := math.Sincos(math.Pi * float64(j) / n)
			y := []float64{math.Sqrt(1-z*z) * c, math.Sqrt(1-z*z) * s, z}
			p := 2. / n * math.Pi / n
			for _, x := range samples {
				p *= heat.Kernel(T, floats.Dot(x, y))
			}
			total, east = total+p, east+p*y[0]
		}
	}
	expect.Estimate(t, "log density", m.Log, m.StandardError, math.Log(total))
	x := make([]float64, paths)
	for k, p := range m.Points {
		x[k] = p[0]
	}
	mean, variance := stat.MeanVariance(x, m.Weights())
	expect.Estimate(t, "mean of the meeting points", mean, math.Sqrt(variance/m.EffectiveSize), east/total)
	if m.EffectiveSize < paths/2 {
		t.Errorf("%v: want an effective size of at least %d", m, paths/2)
	}
	expect.Refused(t, expect.Error(stochastic.Meet(geom.On(manifold.Sphere(2)), samples[:1], samples[0], stochastic.Run{Paths: 1, Steps: 2})), "want at least 2")
}

// Log holds against quadrature in nine of ten runs: where few steps are far off, and where paths leave the chart, which are counted.
func TestMeetTellsItsError(t *testing.T) {
	const n = 60
	point := func(angle, x, y float64) []float64 {
		return []float64{x * math.Sin(angle), y * math.Sin(angle), math.Cos(angle)}
	}
	samples := [][]float64{point(0.8, 1, 0), point(0.7, 0, 1), point(0.9, -1, 0)}
	for _, c := range []struct {
		T     float64
		steps int
	}{{0.1, 20}, {1.2, 40}} {
		total := 0.0
		for i := range n {
			z := (float64(i)+0.5)*2/n - 1
			for j := range 2 * n {
				s, cos := math.Sincos(math.Pi * float64(j) / n)
				p := 2. / n * math.Pi / n
				for _, x := range samples {
					p *= heat.Kernel(c.T, floats.Dot(x, []float64{math.Sqrt(1-z*z) * cos, math.Sqrt(1-z*z) * s, z}))
				}
				total += p
			}
		}
		held, lost, finite := 0, 0, 0
		for seed := range uint64(10) {
			m := expect.Must(stochastic.Meet(sphere, samples, []float64{0, 0, 1}, stochastic.Run{Paths: 1000, Steps: c.steps, Time: c.T, Seed: seed}))
			if !math.IsInf(m.StandardError, 1) {
				finite++
			}
			if math.Abs(m.Log-math.Log(total)) <= 2*m.StandardError {
				held++
			}
			lost += m.Diverged
			if len(m.Points) != 1000-m.Diverged {
				t.Errorf("%d points, %d lost", len(m.Points), m.Diverged)
			}
		}
		t.Logf("T = %g: %d of 10 within two standard errors, %d finite, %d lost", c.T, held, finite, lost)
		if held < 9 || finite < 8 || (lost > 0) != (c.T > 1) {
			t.Errorf("T = %g: %d of 10 within two standard errors, %d finite, %d paths lost", c.T, held, finite, lost)
		}
	}
}

// On the sphere, given by its equation alone, noise of space that is projected to the tangent planes is Brownian motion: its mean height is
// e^{−T}.
func TestProjectedNoise(t *testing.T) {
	const T, paths = 0.5, 2000
	sphere := geom.On(geom.LevelSet(3, 1, func(x *Node) *Node { return AddScalar(ReduceAndKeep(Square(x), ReduceSum, -1), -1) }))
	process := expect.Must(stochastic.Projected(sphere, geom.Vec{0, 0, 1}))
	heights := make([]float64, paths)
	for k, x := range expect.Must(process.Sample(stochastic.Run{Paths: paths, Steps: 80, Time: T, Seed: 3})) {
		heights[k] = x[2]
		expect.Abs(t, "distance from the origin", x[0]*x[0]+x[1]*x[1]+x[2]*x[2], 1, 1e-9)
	}
	expect.Mean(t, "height", heights, math.Exp(-T))
	expect.Refused(t, expect.Error(stochastic.Projected(geom.On(manifold.Hyperbolic(2)), geom.Vec{1, 0.6, 0.8})), "not on the manifold")
	expect.Refused(t, expect.Error(stochastic.Projected(geom.On(manifold.Hyperbolic(2)), geom.Vec{math.Sqrt(2), 0.6, 0.8})), "use Brownian")
}
