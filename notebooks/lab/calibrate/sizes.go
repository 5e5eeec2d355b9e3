package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"anatomy/geom"
	"anatomy/geom/engine"
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
	simulated "anatomy/notebooks/lab/recovery"
)

// anova is the Procrustes analysis of variance of a data set.
func anova(d *morpho.Dataset, p linear.Permutations, terms ...linear.Term) *linear.ANOVA {
	return try.Get(try.Get(shapestats.Fit(d, terms...)).ANOVA(p))
}

// sizes counts how often tests reject a true null hypothesis at 5 %.
func sizes(b *bench) {
	b.text("Each line has %d simulations of groups from one distribution, with %d permutations (19 for the distance of the means). *rejected* is the share of the converged simulations with p ≤ 5 %%. *largest T²*: the share in which any vertex has p ≤ 5 %%, corrected for all vertices; *largest F*: any place of a map. *departure*: that of growth from geodesics, for subjects that grow along geodesics. *covariate*: one without effect, which is correlated (0.89) with another one that moves the points. In the lines of interactions the two effects add up.", b.simulations, b.permutations)
	b.header("test", "space", "groups", "converged", "rejected")
	for _, lines := range []func(b *bench){distances, unrelated, interactions, measured, onTree, pairs, parts, disparities, trajectories, modularity,
		rates, pooled, regions, maps, signals, departures, beside} {
		lines(b)
	}
}

// distances tests groups of points.
func distances(b *bench) {
	flat := func(v []float64) []float64 { return v }
	few, many := [][]int{{3, 30}, {15, 15}, {3, 10, 30}}, [][]int{{3, 30}, {5, 30}, {2, 10}, {15, 15}, {3, 10, 30}}
	plane, sphere := geom.On(manifold.Euclidean(2)), geom.On(manifold.Sphere(2))
	for _, test := range []struct {
		statistic stats.Statistic
		name      string
		space     *geom.Space[geom.Vec]
		d         int
		point     func(v []float64) []float64
		sizes     [][]int
	}{
		{stats.MeanDistance, "R²", plane, 2, flat, few[:1]},
		{stats.TangentMeanDistance, "R²", plane, 2, flat, few},
		{stats.TangentMeanDistance, "S²", sphere, 2, onSphere, few},
		{stats.Dispersion, "R²", plane, 2, flat, many},
		{stats.Dispersion, "R¹⁰", geom.On(manifold.Euclidean(10)), 10, flat, many},
		{stats.Dispersion, "S²", sphere, 2, onSphere, many},
	} {
		for _, n := range test.sizes {
			permutations := b.permutations
			if test.statistic.String() == stats.MeanDistance.String() {
				permutations = 19 // two means each
			}
			b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
				group := labels(n...)
				samples := lists.Make(len(group), func(int) []float64 { return test.point(normal(random, test.d)) })
				c := try.Get(stats.PermutationTest(test.space, samples, linear.Factor("group", group...), test.statistic, linear.Permutations{N: permutations, Seed: uint64(k)}))
				return []float64{c.P}, c.Status
			}, fmt.Sprintf("%s | %s | %s", test.statistic, test.name, strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", "/"), "[]")))
		}
	}
}

// unrelated tests groups of shapes and a covariate that have nothing to do with them.
func unrelated(b *bench) {
	for _, n := range [][2]int{{3, 30}, {15, 15}} {
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			d := &morpho.Dataset{Name: "noise"}
			for _, group := range labels(n[:]...) {
				x := random.NormFloat64()
				add(d, group, square(random, 0, 0), "x", x)
			}
			a := anova(d, b.drawing(k), linear.Factor("group"), linear.Covariate("x"))
			return []float64{a.Rows[0].P, a.Rows[1].P}, geom.Converged
		}, fmt.Sprintf("Procrustes analysis of variance, group | shapes of 4 landmarks | %d/%d", n[0], n[1]),
			fmt.Sprintf("Procrustes analysis of variance, covariate | shapes of 4 landmarks | %d/%d", n[0], n[1]))
	}
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
						points := square(random, 0.07*float64(2*group-1), 0.07*x)
						add(d, fmt.Sprint("group ", group), points, "site", fmt.Sprint("site ", site), "x", x)
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
		samples := lists.Make(len(group), func(int) []float64 { return pentagon(random) })
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

// measured tests what does nothing to individuals that were measured three times over these.
func measured(b *bench) {
	individual, treatment := linear.Factor("individual"), linear.Factor("treatment")
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		d := &morpho.Dataset{Name: "individuals"}
		for i := range 10 {
			own := square(random, 0, 0)
			for range 3 {
				add(d, "", own.Add(square(random, 0, 0).Scale(0.25)), "individual", i, "treatment", i%2)
			}
		}
		return []float64{anova(d, b.drawing(k), treatment.Over(individual), individual).Rows[0].P}, geom.Converged
	}, "Procrustes analysis of variance, treatment over individual | shapes of 4 landmarks | 5/5, three times each")
}

// onTree tests a covariate that evolves apart from shapes, by contrasts on a balanced tree.
func onTree(b *bench) {
	const levels, leaves = 5, 32
	newick := "*"
	for range levels {
		newick = fmt.Sprintf("(%[1]s:1,%[1]s:1)", newick)
	}
	for i := range leaves {
		newick = strings.Replace(newick, "*", fmt.Sprint(i), 1)
	}
	phylogeny := try.Get(tree.Parse(newick + ";"))
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		nodes, numbers := make([]geom.Shape, len(phylogeny.Parent)), make([]float64, len(phylogeny.Parent))
		nodes[0] = square(random, 0, 0)
		for i, parent := range phylogeny.Parent[1:] {
			step := square(random, 0, 0).Sub(corners).Scale(0.5)
			nodes[i+1], numbers[i+1] = nodes[parent].Add(step), numbers[parent]+random.NormFloat64()
		}
		d := onLeaves(phylogeny, func(_, i int) (geom.Shape, []any) { return nodes[i], []any{"x", numbers[i]} })
		m := try.Get(shapestats.FitOnTree(d, phylogeny, linear.Covariate("x")))
		return []float64{try.Get(m.ANOVA(b.drawing(k))).Rows[0].P}, geom.Converged
	}, fmt.Sprintf("Procrustes analysis of variance, covariate on a tree | shapes of 4 landmarks | %d", leaves))
}

// pairs compares the means and slopes of the two smaller of three groups, which have one allometry.
func pairs(b *bench) {
	x, group := linear.Covariate("x"), linear.Factor("group")
	const where = " | shapes of 4 landmarks | 5/8/15"
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		d := &morpho.Dataset{Name: "groups"}
		for g, n := range []int{5, 8, 15} {
			for range n {
				number := random.NormFloat64()
				add(d, fmt.Sprint("group ", g), square(random, 0, 0.07*number), "x", number)
			}
		}
		m := try.Get(shapestats.Fit(d, x, group, linear.Interaction(x, group)))
		means := try.Get(m.PairsOfMeans(group, b.drawing(k)))
		slopes := try.Get(m.PairsOfSlopes(group, x, b.drawing(k)))
		return []float64{means[0].P, slopes[0].P, slopes[0].PAngle}, geom.Converged
	}, "distance of two means of three, at one x"+where, "distance of two slopes of three"+where, "angle of two slopes of three"+where)
}

// parts tests the integration of landmarks that vary by themselves, and the asymmetries of faces that have none but by errors of measurement.
func parts(b *bench) {
	sides := [][2]int{{2, 3}, {4, 5}, {6, 7}}
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		d := &morpho.Dataset{Name: "faces"}
		for i := range 20 {
			add(d, "", simulated.Noisy(random, face, 0.1), "individual", i/2)
		}
		g := try.Get(shapestats.MeasureIntegration(d, []int{0, 2, 3, 4}, b.drawing(k)))
		s := try.Get(shapestats.ObjectSymmetry(d, sides, b.drawing(k)))
		a := anova(s.Asymmetric, b.drawing(k), linear.Factor("individual"))
		return []float64{g.P, s.P, a.Rows[0].P}, geom.Converged
	}, "integration | parts of 4 landmarks | 20", "directional asymmetry | shapes of 8 landmarks | 10, twice each", "fluctuating asymmetry | shapes of 8 landmarks | 10, twice each")
}

// disparities compares two groups that vary alike, beside a third that varies more and in many dimensions.
func disparities(b *bench) {
	group, x := linear.Factor("group"), linear.Covariate("x")
	for _, c := range []struct {
		name      string
		landmarks int
		groups    [3]int
	}{
		{"shapes of 4 landmarks | 5/15, beside 8 that vary more", 4, [3]int{5, 15, 8}},
		{"shapes of 24 landmarks | 3/30", 24, [3]int{3, 30, 0}},
	} {
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			d := &morpho.Dataset{Name: "groups"}
			for g, n := range c.groups {
				for range n {
					number := random.NormFloat64()
					points := ring(c.landmarks)
					for _, p := range points {
						p[0] *= 1 + 0.05*number
					}
					add(d, fmt.Sprint("group ", g), simulated.Noisy(random, points, 0.03*float64(1+g/2)), "x", number)
				}
			}
			return []float64{try.Get(try.Get(shapestats.Fit(d, x, group)).Disparity(group, b.drawing(k))).Ratios[0].P}, geom.Converged
		}, "Procrustes variances | "+c.name)
	}
}

// trajectories compares groups that change alike over four stages, from different shapes.
func trajectories(b *bench) {
	group, stage := linear.Factor("group"), linear.Factor("stage")
	const where = " | shapes of 4 landmarks | 4 times 5 / 3+12+6+10"
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		d := &morpho.Dataset{Name: "stages"}
		for g, cells := range [2][4]int{{5, 5, 5, 5}, {3, 12, 6, 10}} {
			for s, n := range cells {
				for range n {
					add(d, fmt.Sprint("group ", g), square(random, 0.07*float64(g)+0.05*float64(s), 0.04*float64(s*s)/3), "stage", s)
				}
			}
		}
		m := try.Get(shapestats.Fit(d, group, stage, linear.Interaction(group, stage)))
		t := try.Get(m.Trajectories(group, stage, b.drawing(k)))
		return []float64{t.Pairs[0].PSize, t.Pairs[0].PAngle, t.Pairs[0].PShape}, geom.Converged
	}, "size of trajectories"+where, "angle of trajectories"+where, "shape of trajectories"+where)
}

// modularity tests halves and an end of outlines without modules, whose landmarks vary by themselves, or smoothly and alike everywhere.
func modularity(b *bench) {
	const n = 24
	divided := func(inside func(i int) bool) [][]int {
		modules := make([][]int, 2)
		for i := range n {
			k := 1
			if inside(i) {
				k = 0
			}
			modules[k] = append(modules[k], i)
		}
		return modules
	}
	halves, end := divided(func(i int) bool { return i < n/2 }), divided(func(i int) bool { return (i+3)%n < 6 })
	for i, width := range []float64{0, 0.6} {
		what, outline := []string{"by themselves", "smoothly"}[i], ring(n)
		for _, p := range outline {
			p[0] *= 3
		}
		root, where := simulated.Root(outline, width, 1e-6), fmt.Sprintf(" | ellipse of %d landmarks that vary %s | 30", n, what)
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			d := &morpho.Dataset{Name: "outlines"}
			for range 30 {
				noise := simulated.Normal(random, n, 2, 0.05)
				noise.Mul(root, noise)
				add(d, "", outline.Add(engine.Unflatten(noise.RawMatrix().Data, 2)))
			}
			m := try.Get(shapestats.Fit(d))
			var p []float64
			for _, modules := range [][][]int{halves, end} {
				r := try.Get(m.Modularity(modules, b.drawing(k)))
				p = append(p, r.P, r.Random.P)
			}
			return p, geom.Converged
		}, "modularity of halves"+where, "the same, beside random landmarks alone"+where, "modularity of an end"+where, "the same, beside random landmarks alone"+where)
	}
}

// rates compares groups of species, of which some are mixed over a random tree, that evolve at one rate.
func rates(b *bench) {
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		phylogeny, nodes := evolved(random, 6, 0)
		d := onLeaves(phylogeny, func(a, i int) (geom.Shape, []any) {
			return nodes[i], []any{"half", fmt.Sprint("h", a/12), "mixed", fmt.Sprint("m", min(1, a%4))}
		})
		var p []float64
		for _, groups := range []string{"half", "mixed"} {
			r := try.Get(shapestats.EvolutionaryRates(d, phylogeny, linear.Factor(groups), b.drawing(k)))
			p = append(p, r.Ratios[0].P)
		}
		return p, geom.Converged
	}, "evolutionary rates | shapes of 6 landmarks | 12/12, neighbours", "evolutionary rates | shapes of 6 landmarks | 6/18, mixed")
}
