package guided

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stats"
	regress "anatomy/geom/stats/linear"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// growing is dx = v dt, dv = −p₀ v dt + p₁ dW in R².
var growing = stochastic.EquationOf(func(_ geom.Local, p []*Node) ode.Equation {
	return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
		v := Squeeze(y[1], 0)
		return ode.State{Mul(dt, v), ExpandAxes(Add(Mul(dt, Neg(Mul(p[0], v))), Mul(p[1], dw)), 0)}
	}
})

// growth is the process of growing.
func growth(x, v geom.Vec, friction, deviation float64) stochastic.Process[geom.Vec] {
	return stochastic.Process[geom.Vec]{Space: plane, Name: "growth", Scheme: ode.EulerMaruyama, Noise: 2, Start: x,
		Parts: []stochastic.Part[geom.Vec]{{Kind: geom.Vector, Vectors: []geom.Vec{v}}}, Params: []any{friction, deviation}, Dynamics: growing}
}

// seenAges are of specimens, two of them at the root, some of one individual, which was seen twice at one age.
var (
	seenAges  = []float64{0.9, 0, 0.4, 1.3, 0.4, 0.4, 0.7, 0, 1.3}
	seenTwice = []string{"a", "b", "a", "a", "a", "c", "d", "d", "e"}
)

// Growth whose speed is an Ornstein-Uhlenbeck process, from a place and a speed that are not known: all weights are the likelihood of the
// joint normal distribution, and without noise paths, root and speeds are those of a Kalman smoother. So it is where specimens are seen
// at inner nodes, at the root, twice at a node, or not at all; and so it is where every step is taken in a chart of its own.
func TestGrowth(t *testing.T) {
	t.Run("plane", func(t *testing.T) { testGrowth(t, plane, seenAges, seenTwice) })
	// One specimen at the root, two at one node, and one further on: every depth is compiled by itself.
	t.Run("charts", func(t *testing.T) {
		testGrowth(t, geom.On(twisted{}), []float64{0, 0.4, 0.9, 0.4}, []string{"b", "a", "a", "a"})
	})
}

func testGrowth(t *testing.T, space *geom.Space[geom.Vec], ages []float64, individuals []string) {
	rng := rand.New(rand.NewPCG(21, 0))
	const friction, deviation, noise, root, speed, steps = 0.8, 0.6, 0.25, 0.7, 1.6, 4
	x, v := geom.Vec{0.2, -0.3}, geom.Vec{0.5, 1}
	cohort := expect.Must(tree.Cohort(ages, individuals))
	seen := Observations[geom.Vec]{Noise: noise}
	var at []int
	var values []float64
	for k, i := range cohort.Leaves() {
		y := geom.Vec{rng.NormFloat64(), 1 + rng.NormFloat64()}
		if k == 2 {
			y[1] = math.NaN()
		}
		for a := range y {
			if !math.IsNaN(y[a]) {
				at, values = append(at, 4*i+a), append(values, y[a])
			}
		}
		seen.Leaves = append(seen.Leaves, y)
	}
	o := Options{Steps: steps, Root: root, RootParts: []float64{speed}, Chains: 2, Seed: 3,
		Unknown: []Unknown{Param(1, "deviation", LogNormal(deviation, 0.4)), Noise(LogNormal(noise, 0.3))}}
	grows := func(deviation float64) stochastic.Process[geom.Vec] {
		p := growth(x, v, friction, deviation)
		p.Space = space
		return p
	}
	s := prepared(t, grows(deviation), cohort, seen, o)
	var post *Posterior[geom.Vec]
	for _, y := range places(2) {
		logs := s.logs(0, y)
		// walk has one deviation for all of the root: coordinates are divided by their own.
		by := []float64{root, root, speed, speed}
		j, sigma := [][]float64{{0, 0, -1, 0}, {0, 0, 0, -1}, {0, 0, friction, 0}, {0, 0, 0, friction}}, make([][]float64, 4)
		start := []float64{x[0], x[1], v[0], v[1]}
		for a := range by {
			sigma[a] = make([]float64, 4)
			start[a] /= by[a]
			for b := range by {
				j[a][b] *= by[b] / by[a]
			}
		}
		for a := 2; a < 4; a++ {
			sigma[a][a] = math.Exp(logs[0]) / by[a]
		}
		mean, cov := walk(cohort, steps, start, make([]float64, 4), j, sigma, 1)
		for a := range mean {
			mean[a] *= by[a%4]
			for b := range mean {
				cov.Set(a, b, cov.At(a, b)*by[a%4]*by[b%4])
			}
		}
		log, after, _ := given(mean, cov, at, values, math.Exp(logs[1]))
		if floats.Norm(y, 1) == 0 {
			known := seen
			known.Noise = math.Exp(logs[1])
			post = expect.Must(Sample(grows(math.Exp(logs[0])), cohort, known,
				Options{Steps: steps, Root: root, RootParts: []float64{speed}, Chains: 2, Warmup: 5, Draws: 3, Seed: 8}))
		}
		for chain := range s.y {
			copy(s.y[chain], y)
		}
		s.shake()
		weights, _ := s.weigh()
		for _, w := range weights {
			expect.Rel(t, fmt.Sprint("weight at ", logs), w, log, 1e-10)
		}
		s.still()
		_, nodes := s.weigh()
		for k, i := range append([]int{0}, s.order...) {
			expect.Abs(t, "smoothed", nodes[0][4*k:4*k+4], after[4*i:4*i+4], 1e-10)
		}
	}
	for i, parent := range cohort.Parent[1:] {
		if same := cohort.Length[i+1] == 0; same != (stat.Mean(post.Nodes[i+1][0][2], nil) == stat.Mean(post.Nodes[parent][0][2], nil)) ||
			same != (post.Parts[i+1][0][2][0][0] == post.Parts[parent][0][2][0][0]) {
			t.Errorf("node %d has an edge of length %g, and is at %v with %v, its parent at %v with %v", i+1, cohort.Length[i+1],
				post.Nodes[i+1][0][2], post.Parts[i+1][0][2], post.Nodes[parent][0][2], post.Parts[parent][0][2])
		}
	}
}

// Without deviations growth at a constant speed is linear regression: with priors the posterior's mean is that of normal equations, and
// without (nearly) that of stats.Regress. Draws have the mean and variance, too.
func TestLinearRegression(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 0))
	const noise = 0.3
	cohort := expect.Must(tree.Cohort(seenAges, nil))
	seen := Observations[geom.Vec]{Noise: noise}
	for _, age := range seenAges {
		seen.Leaves = append(seen.Leaves, geom.Vec{1 + 2*age + noise*rng.NormFloat64(), -0.5*age + noise*rng.NormFloat64()})
	}
	x, v := geom.Vec{0.2, -0.3}, geom.Vec{0.5, 1}
	for _, prior := range [][]float64{{0.7, 1.6}, {1e4, 1e4}} {
		o := Options{Steps: 3, Root: prior[0], RootParts: prior[1:], Chains: 4, Warmup: 20, Draws: 400, Seed: 4}
		s := prepared(t, growth(x, v, 0, 0), cohort, seen, o)
		s.still()
		_, nodes := s.weigh()
		precision := mat.NewSymDense(2, []float64{1 / (prior[0] * prior[0]), 0, 0, 1 / (prior[1] * prior[1])})
		right := mat.NewDense(2, 2, []float64{x[0] * precision.At(0, 0), x[1] * precision.At(0, 0), v[0] * precision.At(1, 1), v[1] * precision.At(1, 1)})
		for k, age := range seenAges {
			row := []float64{1, age}
			precision.SymRankOne(precision, 1/(noise*noise), mat.NewVecDense(2, row))
			for i := range row {
				for a := range 2 {
					right.Set(i, a, right.At(i, a)+row[i]*seen.Leaves[k][a]/(noise*noise))
				}
			}
		}
		var want mat.Dense
		expect.Must(0, want.Solve(precision, right))
		expect.Abs(t, "mean of place and speed", nodes[0][:4], want.RawMatrix().Data, 1e-8)
		if prior[0] > 1 {
			r := expect.Must(stats.Regress(plane, seen.Leaves, regress.Terms{regress.Covariate("age", seenAges...)}))
			expect.Abs(t, "regressed", nodes[0][:4], append(expect.Must(r.At(plane, 0)), r.Velocities[0]...), 1e-5)
			continue
		}
		post := expect.Must(Sample(s.process, cohort, seen, o))
		var covariance mat.Dense
		expect.Must(0, covariance.Inverse(precision))
		place, speed := make([][]float64, 4), make([][]float64, 4)
		for c := range place {
			for k, x := range post.Nodes[0][c] {
				place[c], speed[c] = append(place[c], x[0]), append(speed[c], post.Parts[0][c][k][0][0])
			}
		}
		for i, e := range []Estimate{estimate("place", place), estimate("speed", speed)} {
			expect.Estimate(t, e.Name, e.Mean, e.Deviation/math.Sqrt(e.Bulk), want.At(i, 0))
			expect.Rel(t, "its deviation", e.Deviation, math.Sqrt(covariance.At(i, i)), 0.1)
		}
	}
}

// Without deviations the posterior of landmarks' shape and momentum lies at the geodesic of stats.Regress, but for what lies in how they
// weight errors: in the coordinates or in the metric, which varies along the geodesic. They agree within a quarter of the errors. With
// deviations of small size σ it moves by O(σ²).
func TestGeodesicRegression(t *testing.T) {
	const noise = 0.002
	three := landmarks.New(3, 2, kernels.Gaussian(0.8), geom.Integrator(ode.RK4, 10))
	q, p := geom.Shape{{0, 0}, {0.7, 0.1}, {0.3, 0.6}}, geom.Shape{{0.4, 0.3}, {-0.5, 0.2}, {0.1, 0.5}}
	ages := []float64{0.2, 0.5, 0.8, 1, 0.3}
	rng := rand.New(rand.NewPCG(23, 0))
	seen := Observations[geom.Shape]{Noise: noise}
	for _, age := range ages {
		scaled := shape.Like(p, floats.ScaleTo(make([]float64, 6), age, shape.Flat(p)))
		y := expect.Must(three.Shoot(q, scaled)).End
		for _, row := range y {
			for a := range row {
				row[a] += noise * rng.NormFloat64()
			}
		}
		seen.Leaves = append(seen.Leaves, y)
	}
	cohort := expect.Must(tree.Cohort(ages, nil))
	root := func(deviation float64, steps int) []float64 {
		process := expect.Must(three.Langevin(seen.Leaves[0], geom.Shape{{0, 0}, {0, 0}, {0, 0}}, 0, deviation))
		s := prepared(t, process, cohort, seen, Options{Steps: steps, Root: 1, RootParts: []float64{3}, Chains: 1})
		s.settle(t)
		_, nodes := s.weigh()
		return nodes[0][:12]
	}
	r := expect.Must(stats.Regress(three, seen.Leaves, regress.Terms{regress.Covariate("age", ages...)}))
	g := expect.Must(three.Shoot(r.Point, shape.Like(r.Point, floats.ScaleTo(make([]float64, 6), -r.Origin[0], shape.Flat(r.Momenta[0])))))
	want := append(shape.Flat(g.End), floats.ScaleTo(make([]float64, 6), -1/r.Origin[0], shape.Flat(g.Momenta[len(g.Momenta)-1]))...)
	ten := root(0, 10)
	got := extrapolated([][]float64{ten, root(0, 20), root(0, 40)})
	expect.Abs(t, "place", got[:6], want[:6], noise/4)
	expect.Abs(t, "momentum", got[6:], want[6:], noise)
	far, near := root(0.0005, 10), root(0.00025, 10)
	if order := math.Log2(floats.Distance(far, ten, 2) / floats.Distance(near, ten, 2)); math.Abs(order-2) > 0.15 {
		t.Errorf("root and momentum go to those without deviations with the order %.2f, want 2", order)
	}
}

// halfPlane is the hyperbolic plane above the line y = 0.
var halfPlane = geom.On(geom.MetricFunc(2, func(x *Node) *Node {
	y := SliceAxis(x, -1, AxisRange(1, 2))
	return Div(linalg.EyeLike(Mul(ExpandAxes(x, -1), ExpandAxes(x, -2))), ExpandAxes(Square(y), -1))
}))

// settle takes the noise of the only chain away, and its guide to where it is then: the mode of a posterior, if deviations are small.
func (s *sampler[P]) settle(t *testing.T) {
	t.Helper()
	for range 4 {
		s.still()
		var v visits
		s.look(&v)
		s.guide(v)
	}
	s.still()
}

// extrapolated are numbers without the errors of the first and second order in the lengths of steps, of which there are so many, twice as
// many, and twice as many again.
func extrapolated(x [][]float64) []float64 {
	out := floats.ScaleTo(make([]float64, len(x[0])), 1./3, x[0])
	return floats.AddScaledTo(out, floats.AddScaledTo(out, out, -2, x[1]), 8./3, x[2])
}
