package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
)

// measured tests what does nothing to individuals that were measured three times over these.
func measured(b *bench) {
	individual, treatment := linear.Factor("individual"), linear.Factor("treatment")
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		d := &morpho.Dataset{Name: "individuals"}
		for i := range 10 {
			own := square(random, 0, 0)
			for range 3 {
				s := morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Points: square(random, 0, 0),
					Covariates: map[string]string{"individual": fmt.Sprint(i), "treatment": fmt.Sprint(i % 2)}}
				for l, p := range s.Points {
					for c := range p {
						p[c] = own[l][c] + p[c]/4
					}
				}
				d.Specimens = append(d.Specimens, s)
			}
		}
		a := anova(d, b.drawing(k), treatment.Over(individual), individual)
		return []float64{a.Rows[0].P}, geom.Converged
	}, "Procrustes analysis of variance, treatment over individual | shapes of 4 landmarks | 5/5, three times each")
}

// onTree tests a covariate that evolves apart from shapes, by contrasts on a balanced tree.
func onTree(b *bench) {
	count := 0
	var branch func(levels int) string
	branch = func(levels int) string {
		if levels == 0 {
			count++
			return fmt.Sprint(count - 1)
		}
		return "(" + branch(levels-1) + ":1," + branch(levels-1) + ":1)"
	}
	newick := branch(5) + ";"
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		phylogeny := try.Get(tree.Parse(newick))
		nodes, numbers := make([][][]float64, len(phylogeny.Parent)), make([]float64, len(phylogeny.Parent))
		nodes[0] = square(random, 0, 0)
		for i, parent := range phylogeny.Parent[1:] {
			nodes[i+1], numbers[i+1] = square(random, 0, 0), numbers[parent]+random.NormFloat64()
			for l, p := range nodes[i+1] {
				for c := range p {
					p[c] = nodes[parent][l][c] + (p[c]-corners[l][c])/2
				}
			}
		}
		d := &morpho.Dataset{Name: "species"}
		for _, i := range phylogeny.Leaves() {
			d.Specimens = append(d.Specimens, morpho.Specimen{Name: phylogeny.Name[i], Points: nodes[i], Covariates: map[string]string{"x": fmt.Sprint(numbers[i])}})
		}
		m := try.Get(shapestats.FitOnTree(d, phylogeny, linear.Covariate("x")))
		a := try.Get(m.ANOVA(b.drawing(k)))
		return []float64{a.Rows[0].P}, geom.Converged
	}, fmt.Sprintf("Procrustes analysis of variance, covariate on a tree | shapes of 4 landmarks | %d", count))
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
				d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Group: fmt.Sprint("group ", g),
					Points: square(random, 0, 0.07*number), Covariates: map[string]string{"x": fmt.Sprint(number)}})
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
	face := [][]float64{{0, 3}, {0, -3}, {1, 2}, {-1, 2}, {2, 0}, {-2, 0}, {1.5, -2}, {-1.5, -2}}
	sides := [][2]int{{2, 3}, {4, 5}, {6, 7}}
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		d := &morpho.Dataset{Name: "faces"}
		for i := range 20 {
			s := morpho.Specimen{Name: fmt.Sprint(i), Covariates: map[string]string{"individual": fmt.Sprint(i / 2)}}
			for _, p := range face {
				s.Points = append(s.Points, []float64{p[0] + 0.1*random.NormFloat64(), p[1] + 0.1*random.NormFloat64()})
			}
			d.Specimens = append(d.Specimens, s)
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
					s := morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Group: fmt.Sprint("group ", g), Covariates: map[string]string{"x": fmt.Sprint(number)}}
					noise := 0.03 * float64(1+g/2)
					for _, p := range ring(c.landmarks) {
						s.Points = append(s.Points, []float64{p[0]*(1+0.05*number) + noise*random.NormFloat64(), p[1] + noise*random.NormFloat64()})
					}
					d.Specimens = append(d.Specimens, s)
				}
			}
			m := try.Get(shapestats.Fit(d, x, group))
			v := try.Get(m.Disparity(group, b.drawing(k)))
			return []float64{v.Ratios[0].P}, geom.Converged
		}, "Procrustes variances | "+c.name)
	}
}

// ring is a regular polygon.
func ring(n int) (out [][]float64) {
	for i := range n {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		out = append(out, []float64{cos, sin})
	}
	return out
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
					d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Group: fmt.Sprint("group ", g),
						Points: square(random, 0.07*float64(g)+0.05*float64(s), 0.04*float64(s*s)/3), Covariates: map[string]string{"stage": fmt.Sprint(s)}})
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
	var half, rest, end, others []int
	for i := range n {
		if i < n/2 {
			half = append(half, i)
		} else {
			rest = append(rest, i)
		}
		if (i+3)%n < 6 {
			end = append(end, i)
		} else {
			others = append(others, i)
		}
	}
	for _, width := range []float64{0, 0.6} {
		outline := ring(n)
		kernel := mat.NewSymDense(n, nil)
		for i, p := range outline {
			p[0] *= 3
			for j, q := range outline[:i] {
				if width > 0 {
					kernel.SetSym(i, j, math.Exp(-(math.Pow(p[0]-q[0], 2)+math.Pow(p[1]-q[1], 2))/(2*width*width)))
				}
			}
			kernel.SetSym(i, i, 1.000001)
		}
		what := "by themselves"
		if width > 0 {
			what = "smoothly"
		}
		var cholesky mat.Cholesky
		cholesky.Factorize(kernel)
		var lower mat.TriDense
		cholesky.LTo(&lower)
		where := fmt.Sprintf(" | ellipse of %d landmarks that vary %s | 30", n, what)
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			m := varied(random, outline, &lower)
			var p []float64
			for _, modules := range [][][]int{{half, rest}, {end, others}} {
				r := try.Get(m.Modularity(modules, b.drawing(k)))
				p = append(p, r.P, r.Random.P)
			}
			return p, geom.Converged
		}, "modularity of halves"+where, "the same, beside random landmarks alone"+where, "modularity of an end"+where, "the same, beside random landmarks alone"+where)
	}
}

// varied is the mean of 30 outlines with noise whose covariance has this root.
func varied(random *rand.Rand, outline [][]float64, root mat.Matrix) *shapestats.Model {
	d := &morpho.Dataset{Name: "outlines"}
	for s := range 30 {
		noise := mat.NewDense(len(outline), 2, nil)
		noise.Apply(func(_, _ int, _ float64) float64 { return 0.05 * random.NormFloat64() }, noise)
		noise.Mul(root, noise)
		points := make([][]float64, len(outline))
		for i, p := range outline {
			points[i] = []float64{p[0] + noise.At(i, 0), p[1] + noise.At(i, 1)}
		}
		d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint(s), Points: points})
	}
	return try.Get(shapestats.Fit(d))
}

// evolved grows a tree of 24 species, along which rings of points evolve at one rate, and each second point besides with the others of these, and returns the
// points at its nodes.
func evolved(random *rand.Rand, points int, together float64) (*tree.Tree, [][][]float64) {
	phylogeny := grown(random, 24)
	nodes := make([][][]float64, len(phylogeny.Parent))
	nodes[0] = ring(points)
	for i, parent := range phylogeny.Parent[1:] {
		common := 0.0
		if together > 0 {
			common = together * math.Sqrt(phylogeny.Length[i+1]) * random.NormFloat64()
		}
		for l, p := range nodes[parent] {
			step := 0.03 * math.Sqrt(phylogeny.Length[i+1])
			nodes[i+1] = append(nodes[i+1], []float64{p[0] + step*random.NormFloat64() + common*math.Mod(float64(l), 2), p[1] + step*random.NormFloat64()})
		}
	}
	return phylogeny, nodes
}

// rates compares groups of species, of which some are mixed over a random tree, that evolve at one rate.
func rates(b *bench) {
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		phylogeny, nodes := evolved(random, 6, 0)
		d := &morpho.Dataset{Name: "species"}
		for a, i := range phylogeny.Leaves() {
			half, mixed := "first", "few"
			if a >= 12 {
				half = "last"
			}
			if a%4 > 0 {
				mixed = "many"
			}
			d.Specimens = append(d.Specimens, morpho.Specimen{Name: phylogeny.Name[i], Points: nodes[i], Covariates: map[string]string{"half": half, "mixed": mixed}})
		}
		var p []float64
		for _, groups := range []string{"half", "mixed"} {
			r := try.Get(shapestats.EvolutionaryRates(d, phylogeny, linear.Factor(groups), b.drawing(k)))
			p = append(p, r.Ratios[0].P)
		}
		return p, geom.Converged
	}, "evolutionary rates | shapes of 6 landmarks | 12/12, neighbours", "evolutionary rates | shapes of 6 landmarks | 6/18, mixed")
}
