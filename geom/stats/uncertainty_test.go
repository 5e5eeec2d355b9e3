package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// In flat space the uncertainty of a mean is the sample covariance over N, in the metric, and Hotelling's ellipsoid.
func TestUncertaintyInFlatSpace(t *testing.T) {
	space, g := skewed()
	x := normal(3, 12, 3)
	u := expect.Must(stats.MeanUncertainty(space, expect.Must(stats.FrechetMean(space, x))))
	columns := mat.NewDense(12, 3, nil)
	for i, v := range x {
		columns.SetRow(i, v)
	}
	var want mat.SymDense
	stat.CovarianceMatrix(&want, columns, nil)
	want.ScaleSym(1./12, &want)
	rows := make([][]float64, 3)
	total := 0.0
	for i := range rows {
		for j := range 3 {
			rows[i] = append(rows[i], want.At(i, j))
			total += want.At(i, j) * g.At(i, j)
		}
	}
	expect.Abs(t, "covariance", u.Covariance(), rows, 1e-7)
	expect.Abs(t, "standard error", u.StandardError, math.Sqrt(total), 1e-7)
	expect.Abs(t, "H", u.Stiffness, []float64{1, 1, 1}, 1e-7)
	for k, m := range u.Modes {
		for l, c := range u.Covectors {
			want := 0.0
			if k == l {
				want = 1
			}
			expect.Abs(t, "product of a mode and a covector", floats.Dot(m, c), want, 1e-12)
		}
	}
	// t² of one coordinate is F with 1 and N − 1 degrees of freedom: 2.201 is the quantile of t₁₁.
	line := geom.On(manifold.Euclidean(1))
	one := expect.Must(stats.MeanUncertainty(line, expect.Must(stats.FrechetMean(line, [][]float64{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {9}, {10}, {11}}))))
	expect.Abs(t, "half a 95 % interval", expect.Must(one.Radii(0.95))[0], 2.200985160*math.Sqrt(13./12), 1e-8)
}

// On a sphere the Hessian of ½d² is 1 along a geodesic and d cot d across it.
func TestUncertaintyOnSphere(t *testing.T) {
	space := geom.On(manifold.Sphere(3))
	x := normal(4, 9, 4)
	for _, v := range x {
		v[0] += 3
		floats.Scale(1/floats.Norm(v, 2), v)
	}
	mean := expect.Must(stats.FrechetMean(space, x, stats.Weights([]float64{1, 2, 1, 1, 3, 1, 1, 0, 1})))
	u := expect.Must(stats.MeanUncertainty(space, mean))
	// On the tangent space, and 1 along the point itself.
	y := mat.NewVecDense(4, mean.Point)
	h, scatter := mat.NewDense(4, 4, nil), mat.NewDense(4, 4, nil)
	h.Outer(1, y, y)
	square := floats.Dot(mean.Weights, mean.Weights)
	for i, v := range mean.Velocities {
		d := mean.Distances[i]
		w, velocity := mean.Weights[i], mat.NewVecDense(4, v)
		var term mat.Dense
		term.Outer(w*(1-d/math.Tan(d))/(d*d), velocity, velocity)
		h.Add(h, &term)
		term.Outer(-w*d/math.Tan(d), y, y)
		h.Add(h, &term)
		for k := range 4 {
			h.Set(k, k, h.At(k, k)+w*d/math.Tan(d))
		}
		term.Outer(w*w/(1-2*w+square), velocity, velocity)
		scatter.Add(scatter, &term)
	}
	var inverse, half, want mat.Dense
	if err := inverse.Inverse(h); err != nil {
		t.Fatal(err)
	}
	half.Mul(&inverse, scatter)
	want.Mul(&half, &inverse)
	rows := make([][]float64, 4)
	for i := range rows {
		rows[i] = mat.Row(nil, i, &want)
	}
	expect.Abs(t, "covariance", u.Covariance(), rows, 1e-8)
	expect.Rel(t, "size", u.Size, 1/square, 1e-14)
}

// In flat space the square of the standard error is unbiased for any weights: a quadratic form Σ_ij m_ij x_i x_j of samples on a line,
// whose expectation for independent ones of variance 1, Σ m_ii, is the sum of its values for one x_i = 1 among zeros. It is the variance
// of Σ w_i x_i, which is Σ w_i².
func TestUncertaintyIsUnbiased(t *testing.T) {
	line := geom.On(manifold.Euclidean(1))
	for _, weights := range [][]float64{{9, 1, 1, 1, 1, 1, 1, 1, 1, 1}, {3, 3, 1, 1}, {9, 1}, {2, 0, 1, 1}} {
		expectation := 0.0
		var mean *stats.Mean[geom.Vec]
		for i, w := range weights {
			if w == 0 {
				continue
			}
			x := make([][]float64, len(weights))
			for j := range x {
				x[j] = []float64{0}
			}
			x[i][0] = 1
			mean = expect.Must(stats.FrechetMean(line, x, stats.Weights(weights)))
			u := expect.Must(stats.MeanUncertainty(line, mean))
			expectation += u.StandardError * u.StandardError
		}
		expect.Rel(t, "expectation of the square", expectation, floats.Dot(mean.Weights, mean.Weights), 1e-9)
	}
}

// The mean moves by H⁻¹ p_i for the weight that sample i gains: the covariance is that of the infinitesimal jackknife, the derivatives
// of the mean by its weights.
func TestUncertaintyIsThatOfWeights(t *testing.T) {
	ellipsoid := geom.On(manifold.Ellipsoid(1, 0.8, 0.6), geom.Integrator(ode.RK4, 40))
	var onEllipsoid []geom.Vec
	for _, v := range normal(5, 4, 3) {
		v[2] += 4
		z, _, err := ellipsoid.Project([]float64{v[0], 0.8 * v[1], 0.6 * v[2]})
		if err != nil {
			t.Fatal(err)
		}
		onEllipsoid = append(onEllipsoid, z)
	}
	jackknife(t, "ellipsoid", ellipsoid, onEllipsoid, 1e-5, stats.Tolerance(1e-10))

	shapes := landmarks.New(5, 2, kernels.Gaussian(0.7), geom.Integrator(ode.RK4, 10))
	r := rand.New(rand.NewPCG(6, 0))
	samples := make([]geom.Shape, 3)
	for i := range samples {
		for k := range 5 {
			a := 2 * math.Pi * float64(k) / 5
			samples[i] = append(samples[i], []float64{math.Cos(a) + 0.1*r.NormFloat64(), math.Sin(a) + 0.1*r.NormFloat64()})
		}
	}
	jackknife(t, "landmarks", shapes, samples, 1e-5, stats.Tolerance(1e-10))
	jackknife(t, "landmarks with a mismatch", shapes, samples, 1e-5, stats.RelativeNoise(0.3), stats.Tolerance(1e-8))
}

func jackknife[P geom.Point](t *testing.T, what string, on geom.Of[P], samples []P, tolerance float64, options ...stats.MeanOption) {
	t.Helper()
	const step = 1e-3
	n := len(samples)
	mean := expect.Must(stats.FrechetMean(on, samples, options...))
	u := expect.Must(stats.MeanUncertainty(on, mean))
	width := len(shape.Flat(mean.Point))
	want := make([][]float64, width)
	for k := range want {
		want[k] = make([]float64, width)
	}
	for i := range samples {
		var ends [2][]float64
		for e, sign := range []float64{1, -1} {
			w := make([]float64, n)
			for j := range w {
				w[j] = 1
			}
			w[i] += sign * step
			m := expect.Must(stats.FrechetMean(on, samples, append(options, stats.Weights(w), stats.Start(mean.Point))...))
			converged(t, what, m.Status)
			ends[e] = shape.Flat(m.Point)
		}
		slope := floats.SubTo(make([]float64, width), ends[0], ends[1])
		floats.Scale(1/(2*step), slope) // by w_i, when the others are 1: N times that by the share of i
		for k := range want {
			floats.AddScaled(want[k], slope[k]*float64(n)/float64(n-1), slope)
		}
	}
	top := 0.0
	for k := range want {
		top = max(top, want[k][k])
	}
	expect.Abs(t, what+": covariance", u.Covariance(), want, tolerance*top)
}

// A point where the gradient is 0 may be no minimum.
func TestUncertaintyRefuses(t *testing.T) {
	space := geom.On(manifold.Sphere(2))
	at := func(x, y float64) []float64 {
		d := math.Hypot(x, y)
		return []float64{math.Sin(d) / d * x, math.Sin(d) / d * y, math.Cos(d)}
	}
	// Across the great circle of two points at 2.8 from their middle, the sum of squared distances falls.
	north := []float64{0, 0, 1}
	saddle := &stats.Mean[geom.Vec]{Point: north, Weights: []float64{0.5, 0.5}, Status: geom.Converged}
	for _, v := range []float64{2.8, -2.8} {
		g := expect.Must(space.Log(north, at(v, 0)))
		saddle.Velocities, saddle.Momenta = append(saddle.Velocities, g.Velocity), append(saddle.Momenta, g.Momentum)
	}
	expect.Refused(t, expect.Error(stats.MeanUncertainty(space, saddle)), "no local minimum", "cut loci")
	x := [][]float64{at(0.3, 0), at(-0.2, 0.1), at(0.1, 0.4), at(0.9, 0.3)}
	loose := expect.Must(stats.FrechetMean(space, x, stats.Start(x[3]), stats.Tolerance(1.9)))
	converged(t, "mean with a large tolerance", loose.Status)
	expect.Refused(t, expect.Error(stats.MeanUncertainty(space, loose)), "standard errors, want 0", "Tolerance of the mean was too large")
	other := *expect.Must(stats.FrechetMean(space, x))
	other.Weights = []float64{0.4, 0.4, 0.1, 0.1}
	expect.Refused(t, expect.Error(stats.MeanUncertainty(space, &other)), "standard errors, want 0", "weights of the mean")
	expect.Refused(t, expect.Error(stats.MeanUncertainty(space, expect.Must(stats.FrechetMean(space, [][]float64{x[0], x[0]})))), "all samples are at the mean")
	early := expect.Must(stats.FrechetMean(space, x, stats.MaxIterations(1)))
	expect.Refused(t, expect.Error(stats.MeanUncertainty(space, early)), "converged")
	few := expect.Must(stats.MeanUncertainty(space, expect.Must(stats.FrechetMean(space, x[:2]))))
	expect.Refused(t, expect.Error(few.Radii(0.95)), "fewer than samples")
	expect.Refused(t, expect.Error(expect.Must(stats.MeanUncertainty(space, expect.Must(stats.FrechetMean(space, x)))).Radii(95)), "probability 95")
}
