package stats_test

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// A median is one wherever the search starts: at a sample, close to one, between samples.
func TestMedianOnLine(t *testing.T) {
	line := geom.On(manifold.Euclidean(1))
	x := [][]float64{{12}, {4}, {3}, {5}, {6}}
	for _, start := range []float64{6, 6 + 1e-15, 6 - 1e-12, 6 + 1e-10, 4 - 1e-9, 12, 4.5, 30} {
		m := expect.Must(stats.Median(line, x, stats.Start([]float64{start})))
		converged(t, "median", m.Status)
		expect.Abs(t, "median", m.Point, x[3], 0)
		expect.Abs(t, "its gradient", m.Gradient, 0, 0)
	}
	expect.Abs(t, "from the mean", expect.Must(stats.Median(line, x)).Point, x[3], 0)
	m := expect.Must(stats.Median(line, x, stats.Weights([]float64{1, 1, 1, 1, 0.5}), stats.Tolerance(1e-3)))
	expect.Abs(t, "weighted", m.Point, []float64{5}, 0)
}

// A median that is a sample is exactly this sample, also where logarithms are integrated and have errors.
func TestMedianIsSample(t *testing.T) {
	space := landmarks.New(3, 2, kernels.Gaussian(0.8), geom.Integrator(ode.RK4, 5)).OnNumbers()
	for seed := range uint64(4) {
		x := normal(seed, 6, 6)
		for _, v := range x {
			floats.Scale(0.1, v)
			floats.Add(v, []float64{0, 0, 0.9, 0.2, 0.4, 0.8})
		}
		m := expect.Must(stats.Median(space, x, stats.Weights([]float64{1, 1, 6, 1, 1, 1})))
		converged(t, "median", m.Status)
		expect.Abs(t, "median", m.Point, x[2], 0)
	}
	x := onCylinder(0, 10, 25, -30, 50)
	m := expect.Must(stats.Median(geom.On(manifold.Cylinder(1)), x, stats.Weights([]float64{5, 1, 1, 1, 1})))
	expect.Abs(t, "median on a cylinder", m.Point, x[0], 0)
	if says := m.String(); !strings.HasPrefix(says, "median of 5 samples") {
		t.Error(says)
	}
}

// In the plane the median of a triangle sees its sides at 120° (Fermat), also from a start at a corner or close to one. Among positive
// definite matrices, where a logarithm at the point itself is rounding and not 0, it is the same from wherever the search starts.
func TestMedianFromSamples(t *testing.T) {
	plane := geom.On(manifold.Euclidean(2))
	x := [][]float64{{0, 0}, {4, 0}, {1, 3}}
	for _, start := range [][]float64{{0, 0}, {1e-13, 0}, {4, 1e-10}, {1, 3}} {
		m := expect.Must(stats.Median(plane, x, stats.Start(start)))
		converged(t, "median", m.Status)
		for i := range x {
			u, v := m.Velocities[i], m.Velocities[(i+1)%3]
			expect.Abs(t, "cosine", floats.Dot(u, v)/floats.Norm(u, 2)/floats.Norm(v, 2), -0.5, 1e-6)
		}
	}
	cone := geom.On(manifold.SPD(2))
	p := [][]float64{{2, 0.3, 0.3, 1}, {1, 0.1, 0.1, 3}, {4, -1, -1, 2}, {1, 0.5, 0.5, 1}}
	want := expect.Must(stats.Median(cone, p))
	for _, start := range p {
		m := expect.Must(stats.Median(cone, p, stats.Start(start)))
		converged(t, "median of matrices", m.Status)
		expect.Abs(t, "median of matrices", m.Point, want.Point, 1e-6)
	}
}

// The components of samples at their median are those of the sample covariance, too.
func TestComponentsAtMedian(t *testing.T) {
	line := geom.On(manifold.Euclidean(1))
	p := expect.Must(stats.TangentPCA(expect.Must(stats.Median(line, [][]float64{{0}, {0}, {0}, {10}}))))
	expect.Abs(t, "variance", p.Variances, []float64{25}, 1e-12)
	expect.Abs(t, "scores from the median", p.Scores, [][]float64{{0}, {0}, {0}, {10}}, 1e-12)
	space := geom.On(manifold.Euclidean(3))
	x := normal(8, 4, 3)
	at := expect.Must(stats.TangentPCA(expect.Must(stats.Median(space, x))))
	want := expect.Must(stats.TangentPCA(expect.Must(stats.FrechetMean(space, x))))
	expect.Abs(t, "variances", at.Variances, want.Variances, 1e-12)
	expect.Abs(t, "modes", at.Modes, want.Modes, 1e-9)
	expect.Abs(t, "all scores give the sample back", expect.Must(at.At(space, at.Scores[2]...)), x[2], 1e-12)
}

func onCylinder(degrees ...float64) (x [][]float64) {
	for _, a := range degrees {
		sin, cos := math.Sincos(a * math.Pi / 180)
		x = append(x, []float64{cos, sin, 0})
	}
	return x
}

// Around a cylinder the mean is that of the angles by the shorter arcs, which a search among all angles finds: where samples come to
// lie beyond the cut locus of the mean on the way, their logarithms are taken anew.
func TestMeanOnCylinder(t *testing.T) {
	degrees := []float64{0, 0, 0, 0, 0, 0, 160, 160, 160, -150}
	m := expect.Must(stats.FrechetMean(geom.On(manifold.Cylinder(1)), onCylinder(degrees...)))
	converged(t, "mean", m.Status)
	least, best := math.Inf(1), 0.0
	for k := range 3600 {
		sum := 0.0
		for _, a := range degrees {
			off := math.Remainder(a-float64(k)/10, 360) * math.Pi / 180
			sum += off * off / 10
		}
		if sum < least {
			least, best = sum, float64(k)/10
		}
	}
	expect.Abs(t, "angle", math.Atan2(m.Point[1], m.Point[0])*180/math.Pi, best, 1e-6)
	expect.Abs(t, "variance", m.Variance, least, 1e-9)
	for i, a := range degrees {
		expect.Abs(t, "distance", m.Distances[i], math.Abs(math.Remainder(a-best, 360))*math.Pi/180, 1e-8)
	}
}

// Where the gradient is 0 by symmetry, at a maximum or a saddle, the search goes on to a minimum.
func TestMeanIsMinimum(t *testing.T) {
	sphere := geom.On(manifold.Sphere(2))
	north := []float64{0, 0, 1}
	var x [][]float64
	sin, cos := math.Sincos(150 * math.Pi / 180)
	for k := range 8 {
		x = append(x, north)
		s, c := math.Sincos(float64(k) * math.Pi / 4)
		x[k] = []float64{sin * c, sin * s, cos}
	}
	for range 7 {
		x = append(x, north)
	}
	sum := func(y []float64) float64 {
		s := 0.0
		for _, v := range x {
			s += arc(y, v) * arc(y, v) / 15
		}
		return s
	}
	m := expect.Must(stats.FrechetMean(sphere, x))
	converged(t, "mean", m.Status)
	best := nelderMead(t, func(a []float64) float64 {
		s, c := math.Sincos(a[0])
		return sum([]float64{math.Cos(a[1]) * s, math.Sin(a[1]) * s, c})
	}, []float64{1.5, 0.3})
	expect.Abs(t, "variance", m.Variance, best.F, 1e-9)
	if m.Variance > 0.7*sum(north) {
		t.Errorf("variance %g, %g at the pole", m.Variance, sum(north))
	}

	// Two points at 2.8 from a point between them are close to each other on the other side, along one direction of many.
	for _, d := range []int{2, 11} {
		a, b, start := make([]float64, d+1), make([]float64, d+1), make([]float64, d+1)
		start[0] = 1
		a[1], a[0] = math.Sincos(2.8)
		b[1], b[0] = math.Sincos(-2.8)
		m := expect.Must(stats.FrechetMean(geom.On(manifold.Sphere(d)), [][]float64{a, b}, stats.Start(start)))
		converged(t, "mean of two", m.Status)
		expect.Abs(t, "distance of either", m.Distances[1], math.Pi-2.8, 1e-8)
	}
}

// A regression starts at the mean of all samples, and goes so far from there for those of time 0 that one comes to lie beyond the cut
// locus of its point: the line through two times has the means of their angles, by the shorter arcs.
func TestRegressionOnCylinder(t *testing.T) {
	degrees := []float64{-79, 38, -60, -77, -96, 17, 172, 97, 144, 136, 94, 140}
	times := []float64{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1}
	space := geom.On(manifold.Cylinder(1))
	r := expect.Must(stats.Regress(space, onCylinder(degrees...), along(times)))
	converged(t, "regression", r.Status)
	for i, y := range r.Fitted {
		off := math.Remainder(degrees[i]*math.Pi/180-math.Atan2(y[1], y[0]), 2*math.Pi)
		expect.Abs(t, "residual", r.Residuals[i], math.Abs(off), 1e-8)
	}
	for k := range 2 {
		pull := 0.0
		for i, y := range r.Fitted[6*k : 6*k+6] {
			pull += math.Remainder(degrees[6*k+i]*math.Pi/180-math.Atan2(y[1], y[0]), 2*math.Pi) / 6
		}
		expect.Abs(t, "pull on the line", pull, 0, 1e-6)
	}
}
