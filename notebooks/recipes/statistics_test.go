package recipes

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/guided"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/notebooks/nb"
)

// How do I compute a Fréchet mean?
func Example_mean() {
	S := geom.On(manifold.Sphere(2))
	mean := nb.Must(stats.FrechetMean(S, []geom.Vec{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}))
	fmt.Printf("%.4f, %s\n", mean.Point, mean.Status)
	// Output:
	// [0.5774 0.5774 0.5774], converged
}

// How do I get the modes of variation?
func Example_modes() {
	heads := nb.Must(morpho.Procrustes(morpho.Plethodon().Shapes()))
	M := landmarks.New(12, 2, kernels.Gaussian(0.2))
	mean := nb.Must(stats.FrechetMean(M, heads.Shapes, stats.RelativeNoise(0.1)))
	modes := nb.Must(stats.TangentPCA(mean))
	fmt.Printf("%.0f %% and %.0f %% of the variance\n", 100*modes.Explained[0], 100*modes.Explained[1])
	// Output:
	// 42 % and 23 % of the variance
}

// How do I test whether two groups differ on a manifold?
func Example_permutation() {
	S := geom.On(manifold.Sphere(2))
	a := nb.Must(stochastic.Brownian(S, geom.Vec{0, 0, 1}).Sample(stochastic.Run{Paths: 20, Steps: 20, Time: 0.1, Seed: 1}))
	b := nb.Must(stochastic.Brownian(S, geom.Vec{0.6, 0, 0.8}).Sample(stochastic.Run{Paths: 20, Steps: 20, Time: 0.1, Seed: 2}))
	names := slices.Concat(slices.Repeat([]string{"a"}, 20), slices.Repeat([]string{"b"}, 20))
	group, draws := linear.Factor("group", names...), linear.Permutations{N: 199, Seed: 1}
	test := nb.Must(stats.PermutationTest(S, append(a, b...), group, stats.TangentMeanDistance, draws)) // or stats.MeanDistance, which takes longer
	spread := nb.Must(stats.PermutationTest(S, append(a, b...), group, stats.Dispersion, draws))
	fmt.Printf("means: p = %.3f; one spread: %v\n", test.P, spread.P > 0.05)
	// Output:
	// means: p = 0.005; one spread: true
}

// How do I fit a geodesic to points in time?
func Example_regression() {
	S := geom.On(manifold.Sphere(2))
	points := []geom.Vec{{1, 0, 0}, {0.8, 0.6, 0}, {0.28, 0.96, 0}} // equal steps on a great circle
	r := nb.Must(stats.Regress(S, points, linear.Terms{linear.Covariate("time", 0, 1, 2)}))
	fmt.Printf("R² = %.6f\n", r.R2)
	// Output:
	// R² = 1.000000
}

// How do I test whether a covariate counts, beside another one?
func Example_regressionTest() {
	S := geom.On(manifold.Sphere(2))
	times, doses := []float64{0, 0.2, 0.3, 0.5, 0.6, 0.8, 0.9, 1}, []float64{2, 1, 3, 1, 2, 3, 1, 2}
	var points []geom.Vec // move with time, and not with the dose
	for i, t := range times {
		a := t + 0.01*math.Sin(float64(7*i))
		points = append(points, geom.Vec{math.Sin(a), 0, math.Cos(a)})
	}
	time, dose := linear.Terms{linear.Covariate("time", times...)}, linear.Terms{linear.Covariate("dose", doses...)}
	test := nb.Must(stats.RegressionTest(S, points, dose, time, linear.Permutations{N: 199, Seed: 1})) // time, beside the dose
	fmt.Println(test.P <= 0.01)
	// Output:
	// true
}

// How sure is a mean?
func Example_radii() {
	S := geom.On(manifold.Sphere(2))
	samples := []geom.Vec{{0.6, 0, 0.8}, {-0.6, 0, 0.8}, {0, 0.6, 0.8}, {0, -0.6, 0.8}, {0, 0, 1}}
	mean := nb.Must(stats.FrechetMean(S, samples, stats.MaxIterations(100)))
	u := nb.Must(stats.MeanUncertainty(S, mean))
	fmt.Printf("half axes of the 95 %% ellipse: %.2f\n", nb.Must(u.Radii(0.95)))
	// Output:
	// half axes of the 95 % ellipse: [1.09 1.09]
}

// How do I compare changes of individuals at one place?
func Example_gather() {
	S := geom.On(manifold.Sphere(2))
	mean := nb.Must(stats.FrechetMean(S, []geom.Vec{{0.6, 0, 0.8}, {-0.6, 0, 0.8}}))
	towards := nb.Must(stats.TransportToMean(S, mean, [][]geom.Vec{{{-0.8, 0, 0.6}}, {{-0.8, 0, -0.6}}})) // a vector at each sample
	fmt.Printf("%.2f %.2f\n", towards[0][0][0], towards[1][0][0])
	// Output:
	// -1.00 -1.00
}

// How do I simulate Brownian motion?
func Example_brownian() {
	S := geom.On(manifold.Sphere(2))
	ends := nb.Must(stochastic.Brownian(S, geom.Vec{0, 0, 1}).Sample(stochastic.Run{Paths: 2000, Steps: 50, Time: 1, Seed: 1}))
	sum := 0.0
	for _, x := range ends {
		sum += x[2] / 2000
	}
	fmt.Println(math.Abs(sum-math.Exp(-1)) < 0.03) // the mean height is 1/e
	// Output:
	// true
}

// How do I estimate a transition density?
func Example_density() {
	S := geom.On(manifold.Sphere(2))
	run := stochastic.Run{Paths: 200, Steps: 50, Time: 0.4, Seed: 1}
	for _, bridge := range []stochastic.Proposal{stochastic.Guided, stochastic.DelyonHu} { // the latter needs no closed forms
		l := nb.Must(stochastic.LogLikelihood(S, bridge, geom.Vec{0, 0, 1}, []geom.Vec{{1, 0, 0}}, run))[0]
		fmt.Println(math.Abs(l.Log-(-3.68)) < 0.15, l.StandardError < 0.1)
	}
	// Output:
	// true true
	// true true
}

// How do I simulate an equation of my own?
func Example_equation() {
	p := stochastic.Process[geom.Vec]{Space: geom.On(manifold.Euclidean(1)), Name: "pull", Scheme: ode.EulerMaruyama, Noise: 1,
		Start: geom.Vec{2}, Params: []any{1.0, 0.001}}
	p.Dynamics = stochastic.EquationOf(func(_ geom.Local, params []*Node) ode.Equation { // dx = −p₀ x dt + p₁ dW
		return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
			return ode.State{Add(Neg(Mul(dt, Mul(params[0], y[0]))), Mul(params[1], dw))}
		}
	})
	ends := nb.Must(p.Sample(stochastic.Run{Paths: 1, Steps: 1000, Time: 1, Seed: 1}))
	fmt.Printf("%.2f\n", ends[0][0]) // near 2/e
	// Output:
	// 0.74
}

// How do I estimate the rate and the measurement noise of a process from several data sets at once?
func Example_posterior() {
	star := nb.Must(tree.Star(6, 1))
	p := stochastic.Brownian(geom.On(manifold.Euclidean(1)), geom.Vec{0})
	data := []guided.Observations[geom.Vec]{
		{Leaves: []geom.Vec{{0.4}, {-0.6}, {0.9}, {-1.2}, {0.2}, {0.5}}, Noise: 0.1}, {Leaves: []geom.Vec{{2}, {-3}, {1}, {-2}, {4}, {-1}}, Noise: 0.1}}
	posts := nb.Must(guided.SampleAll(p, star, data, guided.Options{Steps: 2, Chains: 2, Warmup: 60, Draws: 100, Seed: 1,
		Unknown: []guided.Unknown{guided.Rate(guided.InverseGamma(2, 1)), guided.Noise(guided.LogNormal(0.1, 0.5))}}))
	fmt.Println(posts[0].Unknown[0].Mean < 2, posts[1].Unknown[0].Mean > 3)
	// Output:
	// true true
}

// How do I fit a trajectory from which individuals deviate, the more the older they are?
func Example_cohort() {
	M := landmarks.New(2, 2, kernels.Gaussian(1))
	young, rest := geom.Shape{{0, 0}, {1, 0}}, geom.Shape{{0, 0}, {0, 0}}
	growth := nb.Must(M.Langevin(young, rest, 0, 0.1)) // a geodesic with noise in its momenta
	cohort := nb.Must(tree.Cohort([]float64{0.5, 1, 1}, []string{"a", "a", "b"}))
	seen := guided.Observations[geom.Shape]{Leaves: []geom.Shape{{{0, 0.1}, {1.3, 0}}, {{0, 0.2}, {1.6, 0}}, {{0, 0.2}, {1.5, 0}}}, Noise: 0.05}
	post := nb.Must(guided.Sample(growth, cohort, seen, guided.Options{Root: 0.1, RootParts: []float64{1}, // shape and momentum at age 0 are not known
		Steps: 2, Chains: 2, Warmup: 60, Draws: 100, Seed: 1, Save: "growth.gob"})) // a run that was interrupted goes on from its file
	speed := post.Parts[0][0][99][0][1][0] // a draw of the momentum at age 0: landmark 1 goes outwards
	fmt.Println(speed > 0.3)
	// Output:
	// true
}
