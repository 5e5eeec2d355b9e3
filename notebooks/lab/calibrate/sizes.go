package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"

	"anatomy/geom"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// spread is the standard deviation of a coordinate of the samples; on the sphere of radius 1, in radians.
const spread = 0.3

// random is the source of a simulation.
func (b *bench) random(simulation int) *rand.Rand {
	return rand.New(rand.NewPCG(b.seed, uint64(simulation)))
}

// drawing are the Permutations of a test in a simulation.
func (b *bench) drawing(simulation int) linear.Permutations {
	return linear.Permutations{N: b.permutations, Seed: uint64(simulation)}
}

// labels are the groups 0, 1, … of so many samples each.
func labels(sizes ...int) (group []string) {
	for g, n := range sizes {
		group = append(group, slices.Repeat([]string{fmt.Sprint(g)}, n)...)
	}
	return group
}

// anova is the Procrustes analysis of variance of a data set.
func anova(d *morpho.Dataset, p linear.Permutations, terms ...linear.Term) *linear.ANOVA {
	return try.Get(try.Get(shapestats.Fit(d, terms...)).ANOVA(p))
}

// onSphere is Exp of a tangent vector at the pole (0, 0, 1).
func onSphere(v []float64) []float64 {
	angle := math.Hypot(v[0], v[1])
	s := math.Sin(angle) / max(angle, 1e-300)
	return []float64{s * v[0], s * v[1], math.Cos(angle)}
}

func normal(random *rand.Rand, d int) []float64 { return gaussian(d, spread)(random) }

// sizes counts how often tests reject a true null hypothesis at 5 %.
func sizes(b *bench) {
	b.text("Each line has %d simulations of groups from one distribution, with %d permutations (19 for the distance of the means). *rejected* is the share of the converged simulations with p ≤ 5 %%. *largest T²*: the share in which any vertex has p ≤ 5 %%, corrected for all vertices; *largest F*: any place of a map. *departure*: that of growth from geodesics, for subjects that grow along geodesics. *covariate*: one without effect, which is correlated (0.89) with another one that moves the points. In the lines of interactions the two effects add up.", b.simulations, b.permutations)
	b.header("test", "space", "groups", "converged", "rejected")
	flat := func(v []float64) []float64 { return v }
	for _, test := range []struct {
		statistic stats.Statistic
		name      string
		space     *geom.Space[geom.Vec]
		d         int
		point     func(v []float64) []float64
		sizes     [][]int
	}{
		{stats.MeanDistance, "R²", geom.On(manifold.Euclidean(2)), 2, flat, [][]int{{3, 30}}},
		{stats.TangentMeanDistance, "R²", geom.On(manifold.Euclidean(2)), 2, flat, [][]int{{3, 30}, {15, 15}, {3, 10, 30}}},
		{stats.TangentMeanDistance, "S²", geom.On(manifold.Sphere(2)), 2, onSphere, [][]int{{3, 30}, {15, 15}, {3, 10, 30}}},
		{stats.Dispersion, "R²", geom.On(manifold.Euclidean(2)), 2, flat, [][]int{{3, 30}, {5, 30}, {2, 10}, {15, 15}, {3, 10, 30}}},
		{stats.Dispersion, "R¹⁰", geom.On(manifold.Euclidean(10)), 10, flat, [][]int{{3, 30}, {5, 30}, {2, 10}, {15, 15}, {3, 10, 30}}},
		{stats.Dispersion, "S²", geom.On(manifold.Sphere(2)), 2, onSphere, [][]int{{3, 30}, {5, 30}, {2, 10}, {15, 15}, {3, 10, 30}}},
	} {
		for _, n := range test.sizes {
			permutations := b.permutations
			if test.statistic.String() == stats.MeanDistance.String() {
				permutations = 19 // two means each
			}
			b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
				group := labels(n...)
				var samples [][]float64
				for range group {
					samples = append(samples, test.point(normal(random, test.d)))
				}
				c := try.Get(stats.PermutationTest(test.space, samples, linear.Factor("group", group...), test.statistic, linear.Permutations{N: permutations, Seed: uint64(k)}))
				return []float64{c.P}, c.Status
			}, fmt.Sprintf("%s | %s | %s", test.statistic, test.name, strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", "/"), "[]")))
		}
	}
	for _, n := range [][2]int{{3, 30}, {15, 15}} {
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			d := &morpho.Dataset{Name: "noise"}
			for i := range n[0] + n[1] {
				group := "a"
				if i >= n[0] {
					group = "b"
				}
				x := fmt.Sprint(random.NormFloat64())
				d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint(i), Group: group, Covariates: map[string]string{"x": x}, Points: square(random, 0, 0)})
			}
			a := anova(d, b.drawing(k), linear.Factor("group"), linear.Covariate("x"))
			return []float64{a.Rows[0].P, a.Rows[1].P}, geom.Converged
		}, fmt.Sprintf("Procrustes analysis of variance, group | shapes of 4 landmarks | %d/%d", n[0], n[1]),
			fmt.Sprintf("Procrustes analysis of variance, covariate | shapes of 4 landmarks | %d/%d", n[0], n[1]))
	}
	interactions(b)
	measured(b)
	onTree(b)
	pairs(b)
	parts(b)
	disparities(b)
	trajectories(b)
	modularity(b)
	rates(b)
	pooled(b)
	regions(b)
	maps(b)
	signals(b)
	departures(b)
	beside(b)
}

// tested writes lines of the table for the p-values of tests that one simulation gives. An error ends them.
func (b *bench) tested(simulations int, draw simulation[[]float64], lines ...string) {
	converged, made, failed := simulate(b, simulations, draw)
	for i, line := range lines {
		if failed != nil {
			b.row("%s | %d of %d | %v", line, len(converged), made, failed)
			continue
		}
		rejected := 0
		for _, p := range converged {
			if p[i] <= 0.05 {
				rejected++
			}
		}
		b.row("%s | %d of %d | %s", line, len(converged), made, share(rejected, len(converged)))
	}
}

// departures tests whether subjects leave their geodesics together, which follow them.
func departures(b *bench) {
	times := func(int) []float64 { return []float64{-1, -0.5, 0, 0.5, 1} }
	for _, subjects := range []int{6, 20} {
		sphere := geom.On(manifold.Sphere(2))
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			tracks := tracked(sphere, subjects, times, random)
			g := try.Get(stats.Grow(sphere, tracks))
			d := try.Get(g.Departure(sphere, b.drawing(k)))
			return []float64{d.P, d.PAcross}, g.Status
		}, fmt.Sprintf("departure | S² | %d subjects", subjects), fmt.Sprintf("departure, across the slope | S² | %d subjects", subjects))
	}
}

// beside tests a covariate that does nothing beside one that it goes with, by which points move along a great circle.
func beside(b *bench) {
	round := geom.On(manifold.Sphere(2))
	for _, n := range []int{8, 12, 30} {
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			var known, tested []float64
			var samples [][]float64
			for range n {
				known = append(known, random.NormFloat64())
				tested = append(tested, known[len(samples)]+0.5*random.NormFloat64())
				v := normal(random, 2)
				samples = append(samples, turned(onSphere(v), 0.4*known[len(samples)]))
			}
			t := try.Get(stats.RegressionTest(round, samples, linear.Terms{linear.Covariate("known", known...)}, linear.Terms{linear.Covariate("tested", tested...)}, b.drawing(k)))
			return []float64{t.P}, t.Status
		}, fmt.Sprintf("covariate beside another | S² | %d", n))
	}
}

// turned is a point of the sphere turned about the second axis.
func turned(z []float64, angle float64) []float64 {
	sin, cos := math.Sincos(angle)
	return []float64{cos*z[0] + sin*z[2], z[1], cos*z[2] - sin*z[0]}
}

// square is one with noise, stretched and sheared: displacements that are orthogonal to each other and to similarities.
func square(random *rand.Rand, stretch, shear float64) [][]float64 {
	var points [][]float64
	for _, p := range corners {
		x, y := p[0]-0.5, p[1]-0.5
		points = append(points, []float64{p[0] + stretch*x + shear*y + 0.05*random.NormFloat64(), p[1] + shear*x - stretch*y + 0.05*random.NormFloat64()})
	}
	return points
}

var corners = [][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}}

// interactions tests for one between effects that add up: of the group, and of a second factor or a covariate.
func interactions(b *bench) {
	for _, c := range []struct {
		name  string
		term  linear.Term
		cells [2][2]int // specimens by group and site
	}{
		{"site", linear.Factor("site"), [2][2]int{{10, 10}, {10, 10}}},
		{"site", linear.Factor("site"), [2][2]int{{3, 12}, {5, 30}}},
		{"x", linear.Covariate("x"), [2][2]int{{15, 0}, {15, 0}}},
		{"x", linear.Covariate("x"), [2][2]int{{5, 0}, {30, 0}}},
	} {
		groups := fmt.Sprintf("%d/%d", c.cells[0][0], c.cells[1][0])
		if c.name == "site" {
			groups = fmt.Sprintf("%d+%d/%d+%d", c.cells[0][0], c.cells[0][1], c.cells[1][0], c.cells[1][1])
		}
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			d := &morpho.Dataset{Name: "noise"}
			for group, sites := range c.cells {
				for site, n := range sites {
					for range n {
						x := float64(2*site - 1)
						if c.name == "x" {
							x = random.NormFloat64()
						}
						d.Specimens = append(d.Specimens, morpho.Specimen{
							Name: fmt.Sprint(len(d.Specimens)), Group: fmt.Sprint("group ", group),
							Covariates: map[string]string{"site": fmt.Sprint("site ", site), "x": fmt.Sprint(x)},
							Points:     square(random, 0.07*float64(2*group-1), 0.07*x),
						})
					}
				}
			}
			group := linear.Factor("group")
			a := anova(d, b.drawing(k), group, c.term, linear.Interaction(group, c.term))
			return []float64{a.Rows[2].P}, geom.Converged
		}, fmt.Sprintf("Procrustes analysis of variance, group:%s | shapes of 4 landmarks | %s", c.name, groups))
	}
}

// pooled tests the tangent distance of means with Mismatch, of landmarks with noise, in a tenth of the simulations.
func pooled(b *bench) {
	s := geom.On(landmarks.Manifold{N: 5, D: 2, Kernel: kernels.Gaussian(0.8)}, geom.Integrator(ode.RK4, 5))
	n := [2]int{3, 12}
	b.tested(b.tenth(), func(k int, random *rand.Rand) ([]float64, geom.Status) {
		group := labels(n[:]...)
		var samples [][]float64
		for range group {
			samples = append(samples, pentagon(random))
		}
		c := try.Get(stats.PermutationTest(s, samples, linear.Factor("group", group...), stats.TangentMeanDistance, b.drawing(k), stats.RelativeNoise(0.3)))
		return []float64{c.P}, c.Status
	}, fmt.Sprintf("%s, Mismatch 0.3 | 5 landmarks | %d/%d", stats.TangentMeanDistance, n[0], n[1]))
}

// regions tests where on a template groups differ: a ring of 12 vertices, moved by three smooth waves and noise.
func regions(b *bench) {
	const vertices, waves = 12, 3
	ring := func(move func(v int) (x, y float64)) []*mesh.Mesh {
		m := &mesh.Mesh{}
		for v := range vertices {
			sin, cos := math.Sincos(2 * math.Pi * float64(v) / vertices)
			x, y := move(v)
			m.Vertices = append(m.Vertices, []float64{cos + x, sin + y})
		}
		return []*mesh.Mesh{m}
	}
	for _, n := range [][2]int{{2, 10}, {3, 30}, {15, 15}} {
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			a := &population.Atlas{Template: ring(func(int) (x, y float64) { return 0, 0 })}
			group := labels(n[:]...)
			for range group {
				wave := normal(random, 2*waves)
				a.Deformed = append(a.Deformed, ring(func(v int) (x, y float64) {
					for j := range waves {
						c := math.Cos(2 * math.Pi * float64(j*v) / vertices)
						x, y = x+wave[2*j]*c, y+wave[2*j+1]*c
					}
					noise := normal(random, 2)
					return x + noise[0]/5, y + noise[1]/5
				}))
			}
			d := try.Get(a.Compare(linear.Factor("group", group...), b.drawing(k)))
			return []float64{d.Least}, geom.Converged
		}, fmt.Sprintf("largest T² on a template | ring of %d vertices | %d/%d", vertices, n[0], n[1]))
	}
}

// maps tests where the log-Jacobians of random smooth deformations differ between groups or go with a covariate, at the places of a lattice.
func maps(b *bench) {
	const side, subjects = 20, 15
	var places [][]float64
	for i := range side {
		for j := range side {
			places = append(places, []float64{4*float64(i)/(side-1) - 2, 4*float64(j)/(side-1) - 2})
		}
	}
	s := landmarks.New(9, 2, kernels.Gaussian(1), geom.Integrator(ode.RK4, 5))
	var mean [][]float64
	for i := range 9 {
		mean = append(mean, []float64{float64(i%3) - 1, float64(i/3) - 1})
	}
	group := linear.Factor("group", labels(5, subjects-5)...)
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		var rows [][]float64
		var x []float64
		for range subjects {
			g := try.Get(s.With(geom.FixedSteps).Shoot(mean, s.FromFlat(normal(random, 18))))
			rows, x = append(rows, try.Get(try.Get(s.Deform(g, places)).LogJacobians())), append(x, random.NormFloat64())
		}
		least := func(t linear.Term) float64 {
			model := try.Get(try.Get(linear.NewDesign(subjects, nil, nil, t)).Fit(rows))
			return try.Get(model.Places(t, b.drawing(k))).Least
		}
		return []float64{least(group), least(linear.Covariate("x", x...))}, geom.Converged
	}, fmt.Sprintf("largest F of log-Jacobians, group | %d places | 5/%d", len(places), subjects-5),
		fmt.Sprintf("largest F of log-Jacobians, covariate | %d places | %d", len(places), subjects))
}

// signals tests for phylogenetic signal where there is none.
func signals(b *bench) {
	for _, leaves := range []int{6, 20} {
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			t := grown(random, leaves)
			values := lists.Make(leaves, func(int) []float64 { return normal(random, 3) })
			signal := try.Get(t.Signal(values, b.drawing(k)))
			return []float64{signal.P}, geom.Converged
		}, fmt.Sprintf("phylogenetic signal | R³ | %d leaves", leaves))
	}
}

// grown is a tree in which leaves split at random, with exponential lengths.
func grown(random *rand.Rand, leaves int) *tree.Tree {
	parent, length := []int{-1}, []float64{0}
	tips := []int{0}
	for len(tips) < leaves {
		k := random.IntN(len(tips))
		from := tips[k]
		tips = append(tips[:k], tips[k+1:]...)
		for range 2 {
			tips = append(tips, len(parent))
			parent, length = append(parent, from), append(length, random.ExpFloat64())
		}
	}
	return try.Get(tree.New(parent, length, lists.Make(len(parent), func(i int) string { return fmt.Sprint(i) })))
}
