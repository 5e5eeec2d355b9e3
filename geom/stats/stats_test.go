package stats_test

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

func TestMain(m *testing.M) {
	geomtest.Main(m, geomtest.Quick,
		TestRegressionTestIsPartialR2, TestEqualSamples, TestRegressionTestHoldsItsSize, TestMeanOfWideSamples, TestRegressOnSeveralInFlatSpace,
		TestGrowthOfTurned, TestPermutationStops)
}

func converged(t *testing.T, what string, s geom.Status) {
	t.Helper()
	if s != geom.Converged {
		t.Errorf("%s: %s", what, s)
	}
}

func normal(seed uint64, n, d int) [][]float64 {
	r := rand.New(rand.NewPCG(seed, 0))
	x := make([][]float64, n)
	for i := range x {
		x[i] = make([]float64, d)
		for j := range x[i] {
			x[i][j] = r.NormFloat64()
		}
	}
	return x
}

// skewed is R³ with a constant metric that is not the identity; its geometry is the generic one.
func skewed() (*geom.Space[geom.Vec], *mat.SymDense) {
	g := []float64{2, 0.5, 0, 0.5, 1, -0.3, 0, -0.3, 0.7}
	m := geom.MetricFunc(3, func(x *graph.Node) *graph.Node {
		c := graph.Reshape(graph.Const(x.Graph(), g), 3, 3)
		return graph.BroadcastToDims(graph.ExpandLeftToRank(c, x.Rank()+1), append(append([]int{}, x.Shape().Dimensions...), 3)...)
	})
	return geom.On(m, geom.Integrator(ode.RK4, 4)), mat.NewSymDense(3, g)
}

// On flat space the statistics are the classical ones.
func TestFlatSpace(t *testing.T) {
	space, g := skewed()
	x := normal(1, 12, 3)
	w := []float64{1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}
	sum := floats.Sum(w)

	m := expect.Must(stats.FrechetMean(space, x, stats.Weights(w)))
	converged(t, "mean", m.Status)
	want, variance := make([]float64, 3), 0.0
	for i := range x {
		floats.AddScaled(want, w[i]/sum, x[i])
	}
	for i := range x {
		v := mat.NewVecDense(3, floats.SubTo(make([]float64, 3), x[i], want))
		variance += w[i] / sum * mat.Inner(v, g, v)
	}
	expect.Abs(t, "mean", m.Point, want, 1e-12)
	expect.Abs(t, "variance", m.Variance, variance, 1e-12)

	// With x = L⁻ᵀ z, g = L Lᵀ, principal components are those of z in Euclidean space.
	m = expect.Must(stats.FrechetMean(space, x))
	var chol mat.Cholesky
	chol.Factorize(g)
	var l mat.TriDense
	chol.LTo(&l)
	z := mat.NewDense(12, 3, nil)
	for i := range x {
		z.RowView(i).(*mat.VecDense).MulVec(l.T(), mat.NewVecDense(3, x[i]))
	}
	var pc stat.PC
	pc.PrincipalComponents(z, nil)
	p := expect.Must(stats.TangentPCA(m))
	expect.Abs(t, "variances", p.Variances, pc.VarsTo(nil), 1e-12)
	var vectors mat.Dense
	pc.VectorsTo(&vectors)
	for k, u := range p.Modes {
		var v mat.VecDense
		v.MulVec(l.T(), mat.NewVecDense(3, u))
		expect.Abs(t, "|cosine| of a mode and a principal component", math.Abs(mat.Dot(&v, vectors.ColView(k))), 1, 1e-12)
	}
	expect.Abs(t, "explained", floats.Sum(p.Explained), 1, 1e-12)
	expect.Abs(t, "variance of the scores", stat.Variance([]float64{
		p.Scores[0][0], p.Scores[1][0], p.Scores[2][0], p.Scores[3][0], p.Scores[4][0], p.Scores[5][0],
		p.Scores[6][0], p.Scores[7][0], p.Scores[8][0], p.Scores[9][0], p.Scores[10][0], p.Scores[11][0]}, nil), p.Variances[0], 1e-12)
	expect.Abs(t, "all scores give the sample back", expect.Must(p.At(space, p.Scores[7]...)), x[7], 1e-12)

	times := []float64{50, 51, 53, 54, 56, 57, 60, 61, 64, 66, 67, 71}
	r := expect.Must(stats.Regress(space, x, along(times), stats.Weights(w)))
	converged(t, "regression", r.Status)
	for c := range 3 {
		y := make([]float64, len(x))
		for i := range x {
			y[i] = x[i][c]
		}
		a, b := stat.LinearRegression(times, y, w, false)
		expect.Abs(t, "slope", r.Velocities[0][c], b, 1e-7)
		expect.Abs(t, "value at the mean time", r.Point[c], a+b*r.Origin[0], 1e-6)
	}

	// With mismatch neither is another: what d_σ penalises is the way from the line to the samples.
	inexactLine := expect.Must(stats.Regress(space, x, along(times), stats.Weights(w), stats.RelativeNoise(0.4), stats.Tolerance(1e-8)))
	converged(t, "inexact regression", inexactLine.Status)
	for c, v := range inexactLine.Velocities[0] {
		y := make([]float64, len(x))
		for i := range x {
			y[i] = x[i][c]
		}
		a, b := stat.LinearRegression(times, y, w, false)
		expect.Abs(t, "inexact slope", v, b, 1e-6)
		expect.Abs(t, "inexact value at the mean time", inexactLine.Point[c], a+b*r.Origin[0], 1e-6)
	}

	// d_σ² = |x − y|²_(g*+σ²)⁻¹ where space is flat: the mean stays, the variance shrinks.
	sigma := 0.4
	inexact := expect.Must(stats.FrechetMean(space, x, stats.RelativeNoise(sigma), stats.Tolerance(1e-8)))
	converged(t, "inexact mean", inexact.Status)
	expect.Abs(t, "inexact mean", inexact.Point, m.Point, 1e-7)
	var cometric, shrunk mat.Dense
	cometric.Inverse(g)
	for i := range 3 {
		cometric.Set(i, i, cometric.At(i, i)+sigma*sigma)
	}
	shrunk.Inverse(&cometric)
	for i := range x {
		v := mat.NewVecDense(3, floats.SubTo(make([]float64, 3), x[i], m.Point))
		expect.Abs(t, "d_σ", inexact.Distances[i], math.Sqrt(mat.Inner(v, &shrunk, v)), 1e-7)
	}
	// Nor do momenta that are searched for only roughly on the way move it.
	for _, sigma := range []float64{0.1, 0.003} {
		rough := expect.Must(stats.FrechetMean(space, x, stats.RelativeNoise(sigma)))
		converged(t, "inexact mean at the usual tolerance", rough.Status)
		expect.Abs(t, "inexact mean at the usual tolerance", rough.Point, m.Point, 1e-9)
	}
}

// nelderMead minimises without gradients.
func nelderMead(t *testing.T, f func(x []float64) float64, x0 []float64) *optimize.Result {
	t.Helper()
	r, err := optimize.Minimize(optimize.Problem{Func: f}, x0, &optimize.Settings{FuncEvaluations: 4000,
		Converger: &optimize.FunctionConverge{Absolute: 1e-15, Iterations: 200}}, &optimize.NelderMead{})
	return expect.Must(r, err)
}

// sphere returns points of the unit sphere within a spread of about 1 around the north pole.
func sphere(seed uint64, n int) [][]float64 {
	x := normal(seed, n, 3)
	for _, v := range x {
		v[2] = 1.5 + math.Abs(v[2])
		floats.Scale(1/floats.Norm(v, 2), v)
	}
	return x
}

func arc(a, b []float64) float64 {
	return 2 * math.Asin(math.Min(1, floats.Distance(a, b, 2)/2))
}

// By closed forms and by integration alone, on the sphere.
func TestSphere(t *testing.T) {
	closed := geom.On(manifold.Sphere(2))
	generic := geom.On(struct{ geom.Charted }{manifold.Sphere(2)})
	x := sphere(3, 9)
	onSphere := func(a []float64) []float64 { // around the pole, without a metric
		p := []float64{a[0], a[1], 1}
		floats.Scale(1/floats.Norm(p, 2), p)
		return p
	}
	squares := nelderMead(t, func(a []float64) float64 {
		s := 0.0
		for _, x := range x {
			s += arc(onSphere(a), x) * arc(onSphere(a), x) / 9
		}
		return s
	}, []float64{0, 0})
	for name, space := range map[string]*geom.Space[geom.Vec]{"closed": closed, "generic": generic} {
		m := expect.Must(stats.FrechetMean(space, x))
		converged(t, name+" mean", m.Status)
		expect.Abs(t, name+" mean", m.Point, onSphere(squares.X), 1e-7)
		expect.Abs(t, name+" variance", m.Variance, squares.F, 1e-8) // 25 steps of RK4

		if name == "generic" {
			continue
		}

		expect.Abs(t, name+" mean from another start", expect.Must(stats.FrechetMean(space, x, stats.Start(x[4]))).Point, m.Point, 1e-7)

		two := expect.Must(stats.FrechetMean(space, x[:2], stats.Weights([]float64{1, 3})))
		expect.Abs(t, name+" a quarter of the way", arc(two.Point, x[1]), arc(x[0], x[1])/4, 1e-8)
		expect.Abs(t, name+" and three quarters", arc(two.Point, x[0]), arc(x[0], x[1])*3/4, 1e-8)
	}
	// Points opposite each other have no mean in the middle of their coordinates.
	opposite := [][]float64{{1, 0, 0}, {0, 1, 0}, {-1, 0, 0}, {0, -1, 0}, {0.6, 0, 0.8}}
	if m, err := stats.FrechetMean(closed, opposite); err == nil && m.Status == geom.Converged {
		expect.Abs(t, "gradient", m.Gradient, 0, 1e-7)
	} else if err != nil && !strings.Contains(err.Error(), "cut locus") {
		t.Error(err)
	}
}

// The half plane y > 0 with g = I/y², in one chart, against a search without gradients.
func TestHalfPlane(t *testing.T) {
	space := geom.On(geom.MetricFunc(2, func(x *graph.Node) *graph.Node {
		y := graph.SliceAxis(x, -1, graph.AxisElem(1))
		s := graph.ExpandAxes(graph.Reciprocal(graph.Square(y)), -1)
		one := graph.OnesLike(s)
		zero := graph.ZerosLike(s)
		rows := graph.Concatenate([]*graph.Node{graph.Concatenate([]*graph.Node{one, zero}, -1), graph.Concatenate([]*graph.Node{zero, one}, -1)}, -2)
		return graph.Mul(s, rows)
	}), geom.Integrator(ode.RK4, 100))
	distance := func(a, b []float64) float64 {
		return math.Acosh(1 + (math.Pow(a[0]-b[0], 2)+math.Pow(a[1]-b[1], 2))/(2*a[1]*b[1]))
	}
	x := normal(7, 8, 2)
	for _, v := range x {
		v[1] = math.Exp(0.8 * v[1])
	}
	m := expect.Must(stats.FrechetMean(space, x))
	converged(t, "mean", m.Status)
	best := nelderMead(t, func(a []float64) float64 {
		s := 0.0
		for _, x := range x {
			d := distance(x, []float64{a[0], math.Exp(a[1])})
			s += d * d / 8
		}
		return s
	}, []float64{0, 0})
	expect.Abs(t, "mean", m.Point, []float64{best.X[0], math.Exp(best.X[1])}, 1e-6)
	expect.Abs(t, "variance", m.Variance, best.F, 1e-6) // 100 steps of RK4

	// Regression: the geodesic from the fit has no smaller sum nearby.
	times := []float64{0, 1, 2, 3, 4, 5, 6, 7}
	r := expect.Must(stats.Regress(space, x, along(times)))
	converged(t, "regression", r.Status)
	sum := func(a []float64) float64 {
		s := 0.0
		for i, t := range times {
			y, err := space.Exp(a[:2], []float64{a[2] * (t - 3.5), a[3] * (t - 3.5)})
			if err != nil {
				return math.Inf(1)
			}
			d := distance(y.Path[100], x[i])
			s += d * d / 8
		}
		return s
	}
	at := append(append([]float64{}, r.Point...), r.Velocities[0]...)
	expect.Abs(t, "residual variance", r.Variance, sum(at), 1e-6)
	for j := range at { // central differences of the sum, whose second derivatives are of order 1 and 10
		h := 1e-4
		at[j] += h
		up := sum(at)
		at[j] -= 2 * h
		down := sum(at)
		at[j] += h
		expect.Abs(t, "slope of the sum of squares", (up-down)/(2*h), 0, 2e-5)
	}
	if r.R2 < 0 || r.R2 > 1 {
		t.Errorf("R² = %g", r.R2)
	}
}

// Samples on a geodesic: regression and the first principal component find it, on an atlas with closed forms and without.
func TestOneGeodesic(t *testing.T) {
	for name, m := range map[string]geom.Manifold{
		"sphere": manifold.Sphere(2), "integrated sphere": struct{ geom.Charted }{manifold.Sphere(2)}, "SPD(2)": manifold.SPD(2)} {
		space := geom.On(m)
		p, v := []float64{0, 0.6, 0.8}, []float64{0.15, -0.08, 0.06}
		if name == "SPD(2)" {
			p, v = []float64{1, 0.2, 0.2, 0.5}, []float64{0.15, 0.05, 0.05, -0.1}
		}
		times := []float64{1, 2, 4, 5, 8}
		var x [][]float64
		for _, s := range times {
			g := expect.Must(space.Exp(p, floats.ScaleTo(make([]float64, len(v)), s-4, v)))
			x = append(x, g.End)
		}
		r := expect.Must(stats.Regress(space, x, along(times)))
		converged(t, name+" regression", r.Status)
		expect.Abs(t, name+" R²", r.R2, 1, 1e-12)
		expect.Abs(t, name+" at its middle", expect.Must(r.At(space, 4)), p, 1e-7)
		expect.Abs(t, name+" at its end", expect.Must(r.At(space, 8)), x[4], 1e-7)

		if name == "integrated sphere" {
			continue
		}
		mean := expect.Must(stats.FrechetMean(space, x))
		pca := expect.Must(stats.TangentPCA(mean))
		expect.Abs(t, name+" explained by the first mode", pca.Explained[0], 1, 1e-9)
		expect.Abs(t, name+" point of the first mode", expect.Must(pca.At(space, pca.Scores[4][0])), x[4], 1e-6)
		expect.Abs(t, name+" middle of a mode", expect.Must(pca.Mode(space, 0, 0))[0], mean.Point, 1e-9)
	}
}

// callosa returns shapes like outlines of the corpus callosum: one deformed by smooth random momenta.
func callosa(t *testing.T, space *geom.Space[geom.Vec], q []float64, n int) [][]float64 {
	t.Helper()
	var x [][]float64
	r := rand.New(rand.NewPCG(11, 0))
	for range n {
		p := make([]float64, len(q))
		phase, size := r.Float64()*2*math.Pi, 0.02*r.NormFloat64()
		for i := 0; i < len(q); i += 2 {
			p[i] = size * math.Sin(2*math.Pi*float64(i)/float64(len(q))+phase)
			p[i+1] = size * math.Cos(4*math.Pi*float64(i)/float64(len(q))+2*phase)
		}
		g := expect.Must(space.Shoot(q, p))
		x = append(x, g.End)
	}
	return x
}

func callosumSpace(t *testing.T, n int) (*geom.Space[geom.Vec], []float64) {
	t.Helper()
	d := morpho.CorpusCallosum().Scale(1.0 / 20)
	q := expect.Must(morpho.Resample(d.Shape("jhu_atlas"), n, true))
	space := landmarks.New(n, 2, kernels.Gaussian(morpho.MeanSpacing(q, true)), geom.Integrator(ode.RK4, 10))
	return space.OnNumbers(), shape.Flat(q)
}

func TestLandmarks(t *testing.T) {
	space, q := callosumSpace(t, 16)
	x := callosa(t, space, q, 6)
	m := expect.Must(stats.FrechetMean(space, x))
	converged(t, "mean", m.Status)
	pull := make([]float64, len(q))
	for _, v := range m.Velocities {
		floats.AddScaled(pull, 1.0/6, v)
	}
	expect.Abs(t, "Σ v_i", floats.Norm(pull, 2), 0, 1e-8)
	for i, v := range m.Velocities {
		g := expect.Must(space.Exp(m.Point, v))
		expect.Abs(t, "Exp of the logarithm", g.End, x[i], 1e-8)
		expect.Abs(t, "distance", m.Distances[i], g.Length, 1e-10)
	}

	two := expect.Must(stats.FrechetMean(space, x[:2]))
	g := expect.Must(space.Log(x[0], x[1]))
	expect.Abs(t, "mean of two", two.Point, g.Path[5], 1e-6) // RK4 in 10 steps from the end, in 10 from the middle

	// With mismatch the momenta sum to zero, and end as the force of the misses, p_i(1) = −(Exp_y(v_i) − x_i)/σ².
	const sigma = 0.3
	inexact := expect.Must(stats.FrechetMean(space, x, stats.RelativeNoise(sigma), stats.Tolerance(1e-7)))
	converged(t, "inexact mean", inexact.Status)
	pull = make([]float64, len(q))
	for i, p := range inexact.Momenta {
		floats.AddScaled(pull, 1.0/6, p)
		g := expect.Must(space.Shoot(inexact.Point, p))
		force := floats.SubTo(make([]float64, len(q)), x[i], g.End)
		floats.Scale(1/(sigma*sigma), force)
		expect.Abs(t, "momentum at the end", g.Momenta[10], force, 1e-6)
		miss := floats.Distance(x[i], g.End, 2)
		expect.Abs(t, "d_σ", inexact.Distances[i], math.Sqrt(g.Length*g.Length+miss*miss/(sigma*sigma)), 1e-10)
	}
	expect.Abs(t, "Σ p_i", floats.Norm(pull, math.Inf(1)), 0, 1e-6)

	p := expect.Must(stats.TangentPCA(m))
	if len(p.Modes) != 5 {
		t.Errorf("%d modes of 6 samples", len(p.Modes))
	}
	expect.Abs(t, "all scores give the sample back", expect.Must(p.At(space, p.Scores[2]...)), x[2], 1e-7)

	times := []float64{-1, 0, 1, 2, 3, 4}
	var line [][]float64
	for _, s := range times {
		g := expect.Must(space.Shoot(m.Point, floats.ScaleTo(make([]float64, len(q)), 0.02*s, p.Momenta[0])))
		line = append(line, g.End)
	}
	r := expect.Must(stats.Regress(space, line, along(times)))
	converged(t, "regression", r.Status)
	expect.Abs(t, "regression at 0", expect.Must(r.At(space, 0)), m.Point, 1e-6)
	expect.Abs(t, "regression at 4", expect.Must(r.At(space, 4)), line[5], 1e-6)
}

func TestPermutation(t *testing.T) {
	space := geom.On(manifold.Euclidean(2))
	x := normal(13, 24, 2)
	a, b := x[:12], x[12:]
	same := expect.Must(compare(space, [][][]float64{a, b}, stats.MeanDistance, 199, 1))
	tangent := expect.Must(compare(space, [][][]float64{a, b}, stats.TangentMeanDistance, 199, 1))
	expect.Abs(t, "statistic in flat space", tangent.Statistic, same.Statistic, 1e-12)
	expect.Abs(t, "the same permutations", tangent.Permuted, same.Permuted, 1e-12)

	mirrored := make([][]float64, len(a)) // at the mean of a, so that the means agree
	for i := range a {
		mirrored[i] = []float64{2*same.Means[0][0] - a[i][0], 2*same.Means[0][1] - a[i][1]}
	}
	expect.Abs(t, "P of equal means", expect.Must(compare(space, [][][]float64{a, mirrored}, stats.TangentMeanDistance, 199, 1)).P, 1, 0)

	far := make([][]float64, len(b))
	for i := range b {
		far[i] = []float64{b[i][0] + 5, b[i][1]}
	}
	expect.Abs(t, "P of groups apart", expect.Must(compare(space, [][][]float64{a, far}, stats.MeanDistance, 99, 1)).P, 0.01, 0)

	wide := make([][]float64, len(b))
	for i := range b {
		wide[i] = []float64{8 * b[i][0], 8 * b[i][1]}
	}
	expect.Abs(t, "P of different spreads", expect.Must(compare(space, [][][]float64{a, wide}, stats.Dispersion, 99, 1)).P, 0.01, 0)
}

func TestBadInput(t *testing.T) {
	plane := geom.On(manifold.Euclidean(2))
	x := normal(17, 4, 2)
	one := expect.Must(stats.FrechetMean(plane, x[:1]))
	expect.Abs(t, "mean of one", one.Point, x[0], 0)
	expect.Abs(t, "its variance", one.Variance, 0, 0)
	for want, err := range map[string]error{
		"no samples":                             expect.Error(stats.FrechetMean(plane, nil)),
		"sample 1 has 3 coordinates":             expect.Error(stats.FrechetMean(plane, [][]float64{{1, 2}, {1, 2, 3}})),
		"coordinate 0 of sample 1 is NaN":        expect.Error(stats.FrechetMean(plane, [][]float64{{1, 2}, {math.NaN(), 3}})),
		"3 weights for 4 samples":                expect.Error(stats.FrechetMean(plane, x, stats.Weights([]float64{1, 2, 3}))),
		"weight 1 is -2":                         expect.Error(stats.FrechetMean(plane, x, stats.Weights([]float64{1, -2, 3, 4}))),
		"the weights sum to 0":                   expect.Error(stats.FrechetMean(plane, x, stats.Weights(make([]float64, 4)))),
		"the start has 1 coordinates":            expect.Error(stats.FrechetMean(plane, x, stats.Start([]float64{1}))),
		"RelativeNoise(0)":                       expect.Error(stats.FrechetMean(plane, x, stats.RelativeNoise(0))),
		"Noise(0.1) is an option of":             expect.Error(stats.FrechetMean(plane, x, stats.Noise(0.1))),
		"RelativeNoise(0.1) is no option":        expect.Error(stats.FrameBundleMean(plane, x, 1, stats.RelativeNoise(0.1))),
		"Grow takes exact geodesics":             expect.Error(stats.Grow(plane, []stats.Track[geom.Vec]{{Times: []float64{0, 1, 2}, Points: x[:3]}, {Times: []float64{0, 1, 2}, Points: x[1:]}}, stats.RelativeNoise(0.1))),
		"Tolerance(-1)":                          expect.Error(stats.FrechetMean(plane, x, stats.Tolerance(-1))),
		"MaxIterations(0)":                       expect.Error(stats.FrechetMean(plane, x, stats.MaxIterations(0))),
		"the cometric has rank 2 in dimension 3": expect.Error(stats.FrechetMean(geom.On(manifold.Heisenberg()), [][]float64{{1, 2, 3}})),
		"not on the manifold":                    expect.Error(stats.FrechetMean(geom.On(manifold.Sphere(1)), [][]float64{{1, 1}, {0, 1}})),
		"manifolds with coordinates":             expect.Error(stats.FrechetMean(geom.On(manifold.Sphere(1)), [][]float64{{1, 0}, {0, 1}}, stats.RelativeNoise(1))),
		"cut locus":                              expect.Error(stats.FrechetMean(geom.On(manifold.Sphere(1)), [][]float64{{1, 0}, {-1, 0}})),
		"1 samples, want at least 2":             expect.Error(stats.TangentPCA(one)),
		"term c0: 3 values for 4 samples":        expect.Error(stats.Regress(plane, x, along([]float64{1, 2, 3}))),
		"term c0: sample 2: c0 is +Inf":          expect.Error(stats.Regress(plane, x, along([]float64{1, 2, math.Inf(1), 3}))),
		"the term c0 adds nothing":               expect.Error(stats.Regress(plane, x, along([]float64{2, 2, 2, 2}))),
		"group 0 has 1 samples":                  expect.Error(compare(plane, [][][]float64{x[:1], x[1:]}, stats.MeanDistance, 9, 1)),
		"0 permutations":                         expect.Error(compare(plane, [][][]float64{x[:2], x[2:]}, stats.MeanDistance, 0, 1)),
		"no statistic":                           expect.Error(compare(plane, [][][]float64{x[:2], x[2:]}, stats.Statistic{}, 9, 1)),
	} {
		expect.Refused(t, err, want)
	}
}

// A stop keeps the best point so far.
func TestStop(t *testing.T) {
	space := geom.On(manifold.Sphere(2))
	x := sphere(3, 9)
	full := expect.Must(stats.FrechetMean(space, x))
	ctx, stop := context.WithCancel(context.Background())
	var seen []geom.Progress
	watched := space.With(geom.Context(ctx), geom.OnProgress(func(p geom.Progress) {
		if seen = append(seen, p); len(seen) == 2 {
			stop()
		}
	}))
	m := expect.Must(stats.FrechetMean(watched, x, stats.Start(x[0]), stats.Tolerance(1e-14)))
	if m.Status != geom.Cancelled {
		t.Errorf("%s after %d iterations", m.Status, m.Iterations)
	}
	if m.Variance < full.Variance || m.Variance > seen[0].Objective {
		t.Errorf("variance %g, at the start %g, at the mean %g", m.Variance, seen[0].Objective, full.Variance)
	}
	for k := 1; k < len(seen); k++ {
		if seen[k].Objective > seen[k-1].Objective {
			t.Errorf("the objective rises: %v", seen)
		}
	}
}
