package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// leastSquares returns the constants and slopes, [1 + K][d], that minimise Σ w_i |x_i − b_0 − Σ_k c_ik b_k|².
func leastSquares(covariates, x [][]float64, w []float64) [][]float64 {
	design, right := mat.NewDense(len(x), 1+len(covariates), nil), mat.NewDense(len(x), len(x[0]), nil)
	for i, row := range x {
		root := math.Sqrt(w[i])
		design.Set(i, 0, root)
		for k, c := range covariates {
			design.Set(i, k+1, root*c[i])
		}
		right.SetRow(i, floats.ScaleTo(make([]float64, len(row)), root, row))
	}
	var b mat.Dense
	expect.Must(0, b.Solve(design, right))
	rows := make([][]float64, 1+len(covariates))
	for k := range rows {
		rows[k] = b.RawRowView(k)
	}
	return rows
}

// An age in years, its square, and a sex.
func ageAndSex() (age, square, sex []float64) {
	for i := range 12 {
		t := float64(3+i*i%7) + 0.1*float64(i)
		age, square, sex = append(age, t), append(square, t*t), append(sex, float64(i*i%5%2))
	}
	return age, square, sex
}

// In flat space regression on several covariates is least squares, with weights and without, exact and with RelativeNoise.
func TestRegressOnSeveralInFlatSpace(t *testing.T) {
	space, _ := skewed()
	x := normal(1, 12, 3)
	w := []float64{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}
	age, square, sex := ageAndSex()
	covariates := [][]float64{age, square, sex}
	want := leastSquares(covariates, x, w)
	for name, c := range map[string]struct {
		tolerance float64
		options   []stats.MeanOption
	}{
		"exact":   {1e-10, []stats.MeanOption{stats.Tolerance(1e-12)}},
		"inexact": {1e-7, []stats.MeanOption{stats.Tolerance(1e-9), stats.RelativeNoise(0.4)}},
	} {
		r := expect.Must(stats.Regress(space, x, along(covariates...), append(c.options, stats.Weights(w))...))
		converged(t, name, r.Status)
		expect.Abs(t, name+" slopes", r.Velocities, want[1:], c.tolerance)
		at := append([]float64{}, want[0]...)
		for k, v := range []float64{6, 36, 1} {
			floats.AddScaled(at, v, want[k+1])
		}
		expect.Abs(t, name+" at age 6 of sex 1", expect.Must(r.At(space, 6, 36, 1)), at, c.tolerance)
	}
}

// Neither units, nor where covariates are measured from, nor their order play a part.
func TestRegressOnAnyUnits(t *testing.T) {
	round := geom.On(manifold.Sphere(2))
	x := sphere(41, 12)
	age, square, sex := ageAndSex()
	want := expect.Must(stats.Regress(round, x, along(age, square, sex)))
	converged(t, "regression", want.Status)
	var days, fromNow, women []float64
	for i := range age {
		days = append(days, age[i]*365.25)
		fromNow = append(fromNow, (age[i]-2026)*(age[i]-2026)) // with age, the squares and a constant
		women = append(women, 1-sex[i])
	}
	got := expect.Must(stats.Regress(round, x, along(women, days, fromNow)))
	converged(t, "regression in other units", got.Status)
	expect.Abs(t, "fitted", got.Fitted, want.Fitted, 1e-5)
	expect.Abs(t, "R²", got.R2, want.R2, 1e-10)
	expect.Abs(t, "steps", float64(got.Iterations), float64(want.Iterations), 2)
	expect.Abs(t, "velocity by sex", floats.Norm(got.Velocities[0], 2), floats.Norm(want.Velocities[2], 2), 1e-5)
	expect.Abs(t, "point of an age and a sex", expect.Must(got.At(round, 0, 5*365.25, 2021*2021)), expect.Must(want.At(round, 5, 25, 1)), 1e-5)
}

// Samples that a model has are explained by it to the last.
func TestRegressOnPlanes(t *testing.T) {
	age, _, sex := ageAndSex()
	shapes := landmarks.New(3, 2, kernels.Gaussian(0.8), geom.Integrator(ode.RK4, 10)).OnNumbers()
	for name, c := range map[string]struct {
		space   *geom.Space[geom.Vec]
		p, u, v []float64
	}{
		"sphere":    {geom.On(manifold.Sphere(3)), []float64{0, 0.6, 0.8, 0}, []float64{0.15, -0.08, 0.06, 0.02}, []float64{0, 0, 0, 0.4}},
		"SPD(2)":    {geom.On(manifold.SPD(2)), []float64{1, 0.2, 0.2, 0.5}, []float64{0.05, 0.02, 0.02, -0.05}, []float64{0.1, -0.2, -0.2, 0.3}},
		"landmarks": {shapes, []float64{0, 0, 0.7, 0.1, 0.3, 0.6}, []float64{0.02, 0.01, -0.03, 0.02, 0, 0.01}, []float64{0.1, 0, 0, 0.1, -0.1, 0}},
	} {
		at := func(age, sex float64) []float64 {
			w := floats.ScaleTo(make([]float64, len(c.p)), age-7, c.u)
			floats.AddScaled(w, sex, c.v)
			return expect.Must(c.space.Exp(c.p, w)).End
		}
		var x [][]float64
		for i := range age {
			x = append(x, at(age[i], sex[i]))
		}
		// The covariates and their negatives have the mean (7, 0), where p is the model's own.
		r := expect.Must(stats.Regress(c.space, mirrored(x, at, age, sex), along(centred(7, 0, age, sex)...)))
		converged(t, name, r.Status)
		expect.Abs(t, name+": R²", r.R2, 1, 1e-11)
		expect.Abs(t, name+": point", r.Point, c.p, 1e-6)
		expect.Abs(t, name+": velocities", r.Velocities, [][]float64{c.u, c.v}, 1e-6)
	}
}

// centred are covariates and their negatives about a place, whose mean is this place; mirrored are samples and those of the negatives.
func centred(age, sex float64, ages, sexes []float64) [][]float64 {
	out := [][]float64{append([]float64{}, ages...), append([]float64{}, sexes...)}
	for i := range ages {
		out[0], out[1] = append(out[0], 2*age-ages[i]), append(out[1], 2*sex-sexes[i])
	}
	return out
}

func mirrored(x [][]float64, at func(age, sex float64) []float64, ages, sexes []float64) [][]float64 {
	for i := range ages {
		x = append(x, at(14-ages[i], -sexes[i]))
	}
	return x
}

// Samples of a great sphere have their model there, and none of its parts leads out of it.
func TestRegressOnGreatSphere(t *testing.T) {
	x := sphere(43, 12)
	var in3 [][]float64
	for _, v := range x {
		in3 = append(in3, []float64{v[0], v[1], 0, v[2]})
	}
	age, _, sex := ageAndSex()
	covariates := [][]float64{age, sex}
	want, got := expect.Must(stats.Regress(geom.On(manifold.Sphere(2)), x, along(covariates...))), expect.Must(stats.Regress(geom.On(manifold.Sphere(3)), in3, along(covariates...)))
	converged(t, "regression", got.Status)
	expect.Abs(t, "residuals", got.Residuals, want.Residuals, 1e-5)
	expect.Abs(t, "parts that lead out", []float64{got.Point[2], got.Velocities[0][2], got.Velocities[1][2]}, []float64{0, 0, 0}, 1e-12)
}

// What has converged is a minimum: the slope of the sum of squares, computed by arcs alone, is 0 in every direction; another start ends
// there too, and a tolerance ten times smaller moves nothing by more than the first one says.
func TestRegressOnSeveralIsStationary(t *testing.T) {
	round := geom.On(manifold.Sphere(2))
	x := sphere(47, 12)
	age, _, sex := ageAndSex()
	covariates := [][]float64{age, sex}
	r := expect.Must(stats.Regress(round, x, along(covariates...)))
	converged(t, "regression", r.Status)
	sum := func(a []float64) float64 { // a are steps of p, v_0 and v_1 in ambient space
		p, _, err := round.Project(floats.AddTo(make([]float64, 3), r.Point, a[:3]))
		expect.Must(0, err)
		s := 0.0
		for i := range x {
			w := make([]float64, 3)
			for k, c := range covariates {
				v := floats.AddTo(make([]float64, 3), r.Velocities[k], a[3+3*k:6+3*k])
				floats.AddScaled(w, c[i]-r.Origin[k], v)
			}
			_, tangent, err := round.Project(p, w)
			expect.Must(0, err)
			angle := floats.Norm(tangent[0], 2)
			y := floats.ScaleTo(make([]float64, 3), math.Cos(angle), p)
			floats.AddScaled(y, math.Sin(angle)/angle, tangent[0])
			s += arc(y, x[i]) * arc(y, x[i]) / 12
		}
		return s
	}
	expect.Abs(t, "variance", r.Variance, sum(make([]float64, 9)), 1e-12)
	for j := range 9 {
		const h = 1e-4
		a := make([]float64, 9)
		a[j] = h
		up := sum(a)
		a[j] = -h
		expect.Abs(t, fmt.Sprint("slope of the sum of squares in direction ", j), (up-sum(a))/(2*h), 0, 1e-5)
	}
	other := expect.Must(stats.Regress(round, x, along(covariates...), stats.Start(x[3])))
	expect.Abs(t, "point from another start", other.Point, r.Point, 1e-5)
	tight := expect.Must(stats.Regress(round, x, along(covariates...), stats.Tolerance(1e-7)))
	converged(t, "regression with a smaller tolerance", tight.Status)
	expect.Abs(t, "fitted with a smaller tolerance", tight.Fitted, r.Fitted, 2e-6)
}

func TestRegressRefuses(t *testing.T) {
	plane := geom.On(manifold.Euclidean(2))
	x := normal(17, 5, 2)
	age, other := []float64{1, 2, 3, 5, 8}, []float64{0, 1, 0, 1, 1}
	both := floats.AddTo(make([]float64, 5), age, other)
	floats.AddConst(4, both)
	r := expect.Must(stats.Regress(plane, x, along(age, other)))
	for want, err := range map[string]error{
		"no terms: then the model is the Fréchet mean": expect.Error(stats.Regress(plane, x, nil)),
		"the term c2 adds nothing to the constant":     expect.Error(stats.Regress(plane, x, along(age, other, both))),
		"the term c1 adds nothing to the constant":     expect.Error(stats.Regress(plane, x, along(age, []float64{3, 6, 9, 15, 24}, other))),
		"term c1: 4 values for 5 samples":              expect.Error(stats.Regress(plane, x, along(age, []float64{1, 2, 3, 4}))),
		"the term c0 adds nothing":                     expect.Error(stats.Regress(plane, x, along([]float64{7, 7, 7, 7, 7}))),
		"the term c1 adds nothing":                     expect.Error(stats.Regress(plane, x, along(age, other), stats.Weights([]float64{0, 1, 1, 0, 0}))),
		"1 values for 2 columns":                       expect.Error(r.At(plane, 3)),
		"no terms to test":                             expect.Error(stats.RegressionTest(plane, x, along(age), nil, linear.Permutations{N: 9, Seed: 1})),
		"the term c0 adds nothing to the constant and": expect.Error(stats.RegressionTest(plane, x, along(age), along(age), linear.Permutations{N: 9, Seed: 1})),
		"0 permutations":                               expect.Error(stats.RegressionTest(plane, x, nil, along(age), linear.Permutations{N: 0, Seed: 1})),
		"no degrees of freedom":                        expect.Error(stats.RegressionTest(plane, x[:3], along(age[:3]), along(other[:3]), linear.Permutations{N: 9, Seed: 1})),
		"leaves nothing to explain":                    expect.Error(stats.RegressionTest(plane, [][]float64{x[0], x[0], x[0], x[0], x[0]}, nil, along(age), linear.Permutations{N: 9, Seed: 1})),
	} {
		expect.Refused(t, err, want)
	}
}

// The partial R² is that of two regressions, exactly so in flat space; of two groups the test is that of the distance of their means.
func TestRegressionTestIsPartialR2(t *testing.T) {
	space, g := skewed()
	x := normal(53, 12, 3)
	age, square, sex := ageAndSex()
	w := []float64{1, 2, 3, 4, 5, 6, 1, 0, 3, 4, 5, 6}
	weights := stats.Weights(w)
	for name, c := range map[string]struct{ known, tested [][]float64 }{
		"sex beside age":            {[][]float64{age}, [][]float64{sex}},
		"age and square beside sex": {[][]float64{sex}, [][]float64{age, square}},
	} {
		less := expect.Must(stats.Regress(space, x, along(c.known...), weights))
		more := expect.Must(stats.Regress(space, x, along(append(c.known, c.tested...)...), weights))
		want := 1 - more.Variance/less.Variance
		test := expect.Must(stats.RegressionTest(space, x, along(c.known...), along(c.tested...), linear.Permutations{N: 9, Seed: 1}, weights))
		converged(t, name, test.Status)
		expect.Abs(t, name, test.Statistic, want, 1e-6)
		// With RelativeNoise v = g*(g*+σ²)⁻¹ times what is left of x, in the norm of (g*+σ²)⁻¹.
		const sigma = 0.4
		var cometric, smooth, inverse, half, m mat.Dense
		expect.Must(0, cometric.Inverse(g))
		smooth.Apply(func(i, j int, v float64) float64 {
			if i == j {
				v += sigma * sigma
			}
			return v
		}, &cometric)
		expect.Must(0, inverse.Inverse(&smooth))
		half.Mul(&cometric, &inverse)
		m.Product(half.T(), &inverse, &half)
		squares := func(covariates [][]float64) (sum float64) {
			b := leastSquares(covariates, x, w)
			for i := range x {
				rest := floats.SubTo(make([]float64, 3), x[i], b[0])
				for k, c := range covariates {
					floats.AddScaled(rest, -c[i], b[k+1])
				}
				sum += w[i] * mat.Inner(mat.NewVecDense(3, rest), &m, mat.NewVecDense(3, rest))
			}
			return sum
		}
		inexact := expect.Must(stats.RegressionTest(space, x, along(c.known...), along(c.tested...), linear.Permutations{N: 9, Seed: 1}, weights, stats.RelativeNoise(sigma), stats.Tolerance(1e-8)))
		converged(t, name+" with mismatch", inexact.Status)
		expect.Abs(t, name+" with mismatch", inexact.Statistic, 1-squares(append(c.known, c.tested...))/squares(c.known), 1e-7)
	}
	round := geom.On(manifold.Sphere(2))
	y := sphere(59, 12)
	group := []float64{5, 5, 5, 5, 5, 2, 2, 2, 2, 2, 2, 2}
	test := expect.Must(stats.RegressionTest(round, y, nil, along(group), linear.Permutations{N: 199, Seed: 3}))
	groups := expect.Must(compare(round, [][]geom.Vec{y[:5], y[5:]}, stats.TangentMeanDistance, 199, 3))
	expect.Abs(t, "p of two groups", test.P, groups.P, 0)
	mean := expect.Must(stats.FrechetMean(round, y))
	for k, d := range groups.Permuted {
		expect.Abs(t, "share of the distance of two groups", test.Permuted[k], 5*7/144.*d*d/mean.Variance, 1e-9)
	}
}

// A covariate that does nothing beside one that it goes with is rejected as often as it should be, on a sphere, where without the known one
// it is always; one that does something is found.
func TestRegressionTestHoldsItsSize(t *testing.T) {
	round := geom.On(manifold.Sphere(2))
	const simulations, n = 60, 12
	rejected, alone, found := 0, 0, 0
	for k := range simulations {
		random := rand.New(rand.NewPCG(61, uint64(k)))
		var x [][]float64
		var age, size []float64
		for range n {
			a := random.NormFloat64()
			age, size = append(age, a), append(size, a+0.5*random.NormFloat64())
			angle := 0.4*a + 0.1*random.NormFloat64()
			up := 0.1 * random.NormFloat64()
			x = append(x, []float64{math.Sin(angle) * math.Cos(up), math.Sin(up), math.Cos(angle) * math.Cos(up)})
		}
		for count, c := range map[*int]struct{ known, tested [][]float64 }{
			&rejected: {[][]float64{age}, [][]float64{size}},
			&alone:    {nil, [][]float64{size}},
			&found:    {[][]float64{size}, [][]float64{age}},
		} {
			test := expect.Must(stats.RegressionTest(round, x, along(c.known...), along(c.tested...), linear.Permutations{N: 39, Seed: uint64(k)}))
			converged(t, "test", test.Status)
			if test.P <= 0.05 {
				*count++
			}
		}
	}
	if rejected > 8 || alone < 55 || found < 40 { // 3 expected, with a standard deviation of 1.7
		t.Errorf("of %d: %d rejected beside what explains all, %d alone, %d of what explains all", simulations, rejected, alone, found)
	}
}

// Of three groups the tangent distance is the sum of squares between them, which Anderson has from distances of all pairs, also after any
// permutation; dispersions that differ are found, those that do not are not; and the order of groups does not matter.
func TestPermutationOfThreeGroups(t *testing.T) {
	plane := geom.On(manifold.Euclidean(2))
	x := normal(67, 21, 2)
	sizes := []int{6, 7, 8}
	groups := [][]geom.Vec{x[:6], x[6:13], x[13:]}
	within := func(members []int) float64 {
		s := 0.0
		for _, i := range members {
			for _, j := range members {
				s += math.Pow(floats.Distance(x[i], x[j], 2), 2) / 2 / float64(len(members))
			}
		}
		return s
	}
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	total := within(order)
	between := func() float64 {
		rest, left := total, order
		for _, n := range sizes {
			rest, left = rest-within(left[:n]), left[n:]
		}
		return rest
	}
	pairs := float64(6*7+6*8+7*8) / 21
	means := expect.Must(compare(plane, groups, stats.MeanDistance, 19, 5))
	tangent := expect.Must(compare(plane, groups, stats.TangentMeanDistance, 19, 5))
	expect.Abs(t, "sum of squares between groups", pairs*tangent.Statistic*tangent.Statistic, between(), 1e-10)
	random := rand.New(rand.NewPCG(5, 0))
	for k := range tangent.Permuted {
		order = random.Perm(len(order))
		expect.Abs(t, "that of a permutation", pairs*tangent.Permuted[k]*tangent.Permuted[k], between(), 1e-10)
	}
	expect.Abs(t, "distance of the means", means.Permuted, tangent.Permuted, 1e-10)
	expect.Abs(t, "means", means.Means[2], expect.Must(stats.FrechetMean(plane, groups[2])).Point, 1e-12)

	in6, z := geom.On(manifold.Euclidean(6)), normal(67, 21, 6)
	dispersion := func() float64 {
		return expect.Must(compare(in6, [][]geom.Vec{z[:6], z[6:13], z[13:]}, stats.Dispersion, 99, 1)).P
	}
	same := dispersion()
	for _, v := range z[13:] {
		floats.Scale(3, v)
	}
	if wide := dispersion(); same < 0.1 || wide > 0.011 {
		t.Errorf("p of equal dispersions %g, of one 3 times as large %g", same, wide)
	}
	round := geom.On(manifold.Sphere(2))
	y := sphere(71, 12)
	for _, statistic := range []stats.Statistic{stats.MeanDistance, stats.TangentMeanDistance, stats.Dispersion} {
		a := expect.Must(compare(round, [][]geom.Vec{y[:3], y[3:7], y[7:]}, statistic, 1, 1))
		b := expect.Must(compare(round, [][]geom.Vec{y[7:], y[:3], y[3:7]}, statistic, 1, 1))
		converged(t, statistic.String(), a.Status)
		expect.Abs(t, statistic.String()+" in another order", b.Statistic, a.Statistic, 1e-9)
	}
}
