package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
	simulated "anatomy/notebooks/lab/recovery"
)

// shapes counts how often tests of the shapes of landmarks reject a true null hypothesis at 5 %.
func shapes(b *bench) {
	b.text("Each line has %d simulations of shapes, with %d permutations. *rejected* is the share with p ≤ 5 %%. In lines that end with *effect* this is the power of the test; in the others the tested effect is absent, and it is the type I error.", b.simulations, b.permutations)
	b.header("test", "space", "groups", "converged", "rejected")
	for _, effect := range []float64{0, 1} {
		sums(b, effect)
		sessions(b, effect)
		slopes(b, effect)
		separations(b, effect)
		differences(b, effect)
		evolving(b, effect)
		related(b, effect)
	}
	labelled(b)
}

// lines are those of a table, with the effect that there is.
func lines(effect float64, all ...string) []string {
	for i := range all {
		if effect > 0 {
			all[i] += ", effect"
		}
	}
	return all
}

// sums tests a factor by sums of squares of each type, beside a second one that has an effect, in cells of unequal numbers.
func sums(b *bench, effect float64) {
	first, second := linear.Factor("first"), linear.Factor("second")
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		d := &morpho.Dataset{Name: "cells"}
		for cell, n := range []int{3, 10, 12, 4} {
			for range n {
				add(d, "", square(random, 0.07*float64(cell%2), 0.05*effect*float64(cell/2)), "first", cell/2, "second", cell%2)
			}
		}
		m := try.Get(shapestats.Fit(d, first, second, linear.Interaction(first, second)))
		var p []float64
		for _, of := range []linear.SumsOfSquares{linear.TypeII, linear.TypeIII} {
			p = append(p, try.Get(m.ANOVAOfType(of, b.drawing(k))).Rows[0].P)
		}
		return p, geom.Converged
	}, lines(effect, "first of two factors, type II | shapes of 4 landmarks | 3+10/12+4", "first of two factors, type III | shapes of 4 landmarks | 3+10/12+4")...)
}

// sessions tests the systematic error of two measurements that differ by chance.
func sessions(b *bench, effect float64) {
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		d := &morpho.Dataset{Name: "measurements"}
		for i := range 10 {
			own := square(random, 0, 0)
			for session := range 2 {
				points := own.Add(square(random, 0, 0).Scale(0.25))
				points[0][0] += 0.02 * effect * float64(session)
				add(d, "", points, "individual", fmt.Sprint("i", i), "session", fmt.Sprint("s", session))
			}
		}
		r := try.Get(shapestats.MeasureRepeatability(d, linear.Factor("individual"), b.drawing(k), linear.Factor("session")))
		return []float64{r.Table.Rows[1].P}, geom.Converged
	}, lines(effect, "systematic error of measurement | shapes of 4 landmarks | 10, twice each")...)
}

// slopes tests allometry, and whether that of two groups is one, in shapes that grow alike or not at all.
func slopes(b *bench, effect float64) {
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		var p []float64
		for which, grow := range []float64{0.05 * effect, 0.05} {
			random := b.random(k)
			d := &morpho.Dataset{Name: "groups"}
			for g, n := range []int{6, 15} {
				for range n {
					size := 2 + random.Float64() + 0.5*float64(g)
					add(d, fmt.Sprint("group ", g), square(random, 0, (grow+0.05*effect*float64(which*g))*size).Scale(size))
				}
			}
			a := try.Get(shapestats.MeasureAllometry(d, nil, b.drawing(k)))
			if which == 0 {
				p = append(p, a.Table.Rows[0].P)
			} else {
				p = append(p, a.Table.Rows[2].P, a.Pairs[0].P, a.Pairs[0].PAngle)
			}
		}
		return p, geom.Converged
	}, lines(effect, "allometry | shapes of 4 landmarks | 6/15", "slopes of groups | shapes of 4 landmarks | 6/15", "distance of slopes | shapes of 4 landmarks | 6/15", "angle of slopes | shapes of 4 landmarks | 6/15")...)
}

// separations tests axes that separate groups which do not differ, of few numbers and of many.
func separations(b *bench, effect float64) {
	for _, landmarks := range []int{4, 24} {
		where := fmt.Sprintf(" | shapes of %d landmarks | 5/8/12", landmarks)
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			d := &morpho.Dataset{Name: "groups"}
			for _, g := range labels(5, 8, 12) {
				points := ring(landmarks)
				if g == "2" {
					points[0][0] += 0.1 * effect
				}
				add(d, g, simulated.Noisy(random, points, 0.05))
			}
			v := try.Get(shapestats.CanonicalVariates(d, b.drawing(k)))
			c := try.Get(shapestats.BetweenGroupComponents(d, b.drawing(k)))
			return []float64{v.P, c.P}, geom.Converged
		}, lines(effect, "canonical variates"+where, "between-group components"+where)...)
	}
}

// differences compares how strongly parts covary in two samples.
func differences(b *bench, effect float64) {
	for _, n := range [][2]int{{20, 20}, {15, 40}} {
		for _, together := range []float64{0, 0.2} {
			b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
				var found [2]*shapestats.Integration
				for sample := range n {
					d := &morpho.Dataset{Name: "faces"}
					for range n[sample] {
						common := (together + 0.4*effect*float64(sample)) * random.NormFloat64()
						points := simulated.Noisy(random, face, 0.1)
						for l := 1; l < len(face); l += 2 {
							points[l][0] += common
						}
						add(d, "", points)
					}
					found[sample] = try.Get(shapestats.MeasureIntegration(d, []int{0, 2, 3, 4}, b.drawing(k)))
				}
				_, p := found[0].Difference(found[1])
				return []float64{p}, geom.Converged
			}, lines(effect, fmt.Sprintf("difference of integrations | parts of 4 landmarks, common variation %g times the other | %d/%d", together/0.1, n[0], n[1]))...)
		}
	}
}

// evolving tests parts of species that evolve by themselves, or also together.
func evolving(b *bench, effect float64) {
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		phylogeny, nodes := evolved(random, 8, 0.05*effect)
		d := onLeaves(phylogeny, func(_, i int) (geom.Shape, []any) { return nodes[i], nil })
		on := try.Get(shapestats.MeasureIntegrationOnTree(d, phylogeny, []int{0, 1, 2, 3}, b.drawing(k)))
		off := try.Get(shapestats.MeasureIntegration(d, []int{0, 1, 2, 3}, b.drawing(k)))
		return []float64{on.P, off.P}, geom.Converged
	}, lines(effect, "integration on a tree | parts of 4 landmarks | 24 species", "integration without the tree | parts of 4 landmarks | 24 species")...)
}

// related tests whether relatives resemble each other, in species that have nothing to do with the tree, or evolve along it in part.
func related(b *bench, effect float64) {
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		phylogeny, nodes := evolved(random, 8, 0)
		d := onLeaves(phylogeny, func(_, i int) (geom.Shape, []any) {
			return simulated.Noisy(random, ring(8).Add(nodes[i].Sub(ring(8)).Scale(effect)), 0.1), nil
		})
		signal := try.Get(shapestats.PhylogeneticSignal(d, phylogeny, b.drawing(k)))
		lambda := try.Get(shapestats.PhylogeneticLambda(d, phylogeny, b.drawing(k)))
		return []float64{signal.P, lambda.P}, geom.Converged
	}, lines(effect, "phylogenetic signal K | shapes of 8 landmarks | 24 species", "phylogenetic signal λ | shapes of 8 landmarks | 24 species")...)
}

// labelled tests slopes and paths of groups and stages that are drawn at random for real shapes, and how their halves are integrated.
func labelled(b *bench) {
	for _, of := range []struct {
		name   string
		data   *morpho.Dataset
		models []string // beside which slopes are tested
	}{
		{"*Plethodon*, 12 landmarks", morpho.Plethodon(), []string{"size", "size + species*site", "size*species*site"}},
		{"brains, 24 landmarks in space", morpho.Brain3D(), []string{"size", "size + group"}},
		{"great apes, 8 landmarks", morpho.GreatApes(), []string{"size", "size + group", "size*group"}},
		{"pupfish, 56 landmarks", morpho.Pupfish(), nil},
	} {
		n := len(of.data.Specimens)
		drawn := func(random *rand.Rand, name, levels string) linear.Term {
			values := make([]string, n)
			for i, j := range random.Perm(n) {
				values[i] = string(levels[j*len(levels)/n])
			}
			return linear.Factor(name, values...)
		}
		for _, model := range of.models {
			for _, levels := range []string{"01", "01111111"} {
				where := fmt.Sprintf(" of random groups, beside %s | %s | 1:%d", model, of.name, len(levels)-1)
				b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
					size, a := shapestats.LogSize(), drawn(random, "a", levels)
					m := try.Get(shapestats.Fit(of.data, append(try.Get(shapestats.Parse(model, of.data)).Terms, a, linear.Interaction(size, a))...))
					pair := try.Get(m.PairsOfSlopes(a, size, b.drawing(k)))[0]
					return []float64{pair.P, pair.PAngle}, geom.Converged
				}, "distance of slopes"+where, "angle of slopes"+where)
			}
		}
		where := fmt.Sprintf(" of random groups over random stages | %s | 1:1 over 1:1:1", of.name)
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			a, stage := drawn(random, "a", "01"), drawn(random, "stage", "012")
			p := try.Get(try.Get(shapestats.Fit(of.data, a, stage, linear.Interaction(a, stage))).Trajectories(a, stage, b.drawing(k))).Pairs[0]
			return []float64{p.PSize, p.PAngle, p.PShape}, geom.Converged
		}, "size of trajectories"+where, "angle of trajectories"+where, "shape of trajectories"+where)
		b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
			d, landmarks := of.data.GroupBy(), len(of.data.Specimens[0].Points)
			for i, j := range random.Perm(n) {
				d.Specimens[i].Group = fmt.Sprint(2 * j / n)
			}
			first := random.Perm(landmarks)[:landmarks/2]
			_, p := try.Get(shapestats.MeasureIntegration(d.Group("0"), first, b.drawing(k))).Difference(try.Get(shapestats.MeasureIntegration(d.Group("1"), first, b.drawing(k))))
			return []float64{p}, geom.Converged
		}, fmt.Sprintf("difference of integrations of random halves | %s | 1:1", of.name))
	}
}

// sheaf is what momenta p at 27 control points in space are drawn from: their numbers are normal and independent. Scores are Lᵀp, with LLᵀ the Gaussian kernel of
// the control points, so that their lengths are those of deformations.
type sheaf struct{ lower *mat.TriDense }

func newSheaf() *sheaf {
	controls := lists.Make(27, func(i int) []float64 { return []float64{float64(i % 3), float64(i / 3 % 3), float64(i / 9)} })
	return &sheaf{simulated.Root(controls, 1, 0)}
}

// draw returns the scores of a momentum.
func (s *sheaf) draw(random *rand.Rand, by float64) []float64 {
	n, _ := s.lower.Dims()
	var scores mat.Dense
	scores.Mul(s.lower.T(), simulated.Normal(random, n, 3, by))
	return scores.RawMatrix().Data
}

// ofScores is a data set of such rows.
func ofScores() *morpho.Dataset { return &morpho.Dataset{Name: "momenta", Flat: true, Measured: true} }

// momenta counts how often the tests of the report about meshes reject a true null hypothesis at 5 %.
func momenta(b *bench) {
	b.ofMomenta("Others are there: size, the first of two factors, a third group with another mean and twice the deviation.", b.models, b.groups, b.stages)
}

// species counts so for species on trees.
func species(b *bench) {
	b.ofMomenta("Species evolve by Brownian motion, but for the signal, where they have nothing to do with the tree.", b.species)
}

func (b *bench) ofMomenta(effects string, lines ...func(s *sheaf)) {
	b.text("Each line has %d simulations of momenta at 27 control points, as the report about a folder of meshes tests them, with %d permutations. The numbers of a momentum are normal and independent, and its scores have the metric of the control points. *rejected* is the share with p ≤ 5 %%; the tested effect is absent. %s", b.simulations, b.permutations, effects)
	b.header("test", "space", "groups", "converged", "rejected")
	s := newSheaf()
	for _, line := range lines {
		line(s)
	}
}

// models tests terms that do nothing beside others that have an effect.
func (b *bench) models(s *sheaf) {
	size, first, second := linear.Covariate("log size"), linear.Factor("first"), linear.Factor("second")
	const where = " | momenta at 27 control points | 3+10/12+4"
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		way, shift, d := s.draw(random, 1), s.draw(random, 1), ofScores()
		var rows, mass [][]float64
		for cell, n := range []int{3, 10, 12, 4} {
			for range n {
				x := random.NormFloat64() + float64(cell%2)
				row := along(along(s.draw(random, 1), 0.5*x, way), float64(cell%2), shift)
				rows, mass = append(rows, row), append(mass, normal(random, 3))
				add(d, "", geom.Shape{row}, "log size", x, "mass", x+random.NormFloat64(),
					"first", fmt.Sprint("f", cell/2), "second", fmt.Sprint("s", cell%2))
			}
		}
		m := try.Get(shapestats.Fit(d, size, second, first, linear.Covariate("mass"), linear.Interaction(first, second), linear.Interaction(size, second)))
		var p []float64
		for _, of := range []linear.SumsOfSquares{linear.TypeI, linear.TypeII, linear.TypeIII} {
			p = append(p, try.Get(m.ANOVAOfType(of, b.drawing(k))).Rows[2].P)
		}
		table := try.Get(m.ANOVA(b.drawing(k))).Rows
		p = append(p, table[3].P, table[4].P, table[5].P)
		return append(p, try.Get(shapestats.TwoBlockPLS(rows, mass, b.drawing(k))).P), geom.Converged
	}, "factor beside size and another, type I"+where, "the same, type II"+where, "the same, type III"+where, "covariate beside size"+where,
		"interaction of two factors"+where, "interaction of size and a factor"+where, "partial least squares with three measurements"+where)
}

// groups compares the two smaller of three groups, of which the third has another mean and varies twice as much.
func (b *bench) groups(s *sheaf) {
	size, group := linear.Covariate("log size"), linear.Factor("group")
	const where = " | momenta at 27 control points | 5/8/15"
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		way, shift, alike, unlike := s.draw(random, 1), s.draw(random, 1), ofScores(), ofScores()
		for g, n := range []int{5, 8, 15} {
			for range n {
				x := random.NormFloat64()
				add(alike, fmt.Sprint("g", g), geom.Shape{along(s.draw(random, 1), 0.5*x, way)}, "log size", x)
				add(unlike, fmt.Sprint("g", g), geom.Shape{along(s.draw(random, 1+float64(g/2)), float64(g/2), shift)}, "log size", x)
			}
		}
		m := try.Get(shapestats.Fit(alike, size, group, linear.Interaction(size, group)))
		means, slopes := try.Get(m.PairsOfMeans(group, b.drawing(k))), try.Get(m.PairsOfSlopes(group, size, b.drawing(k)))
		v := try.Get(try.Get(shapestats.Fit(unlike, group)).Disparity(group, b.drawing(k)))
		one := *alike
		one.Specimens = one.Specimens[:13]
		return []float64{means[0].P, slopes[0].P, slopes[0].PAngle, v.Ratios[0].P, try.Get(shapestats.MeasureAllometry(alike, nil, b.drawing(k))).Table.Rows[2].P,
			try.Get(shapestats.CanonicalVariates(&one, b.drawing(k))).P, try.Get(shapestats.BetweenGroupComponents(&one, b.drawing(k))).P}, geom.Converged
	}, "distance of two means of three, at one size"+where, "distance of two slopes of three"+where, "angle of two slopes of three"+where,
		"variances of two, beside a third that varies more"+where, "slopes of groups"+where,
		"canonical variates | momenta at 27 control points | 5/8", "between-group components | momenta at 27 control points | 5/8")
}

// stages compares groups that change alike.
func (b *bench) stages(s *sheaf) {
	group, stage := linear.Factor("group"), linear.Factor("stage")
	const where = " | momenta at 27 control points | 4 times 5 / 3+12+6+10"
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		way, bent, shift, d := s.draw(random, 1), s.draw(random, 1), s.draw(random, 1), ofScores()
		for g, cells := range [2][4]int{{5, 5, 5, 5}, {3, 12, 6, 10}} {
			for t, n := range cells {
				for range n {
					row := along(along(along(s.draw(random, 1), float64(t), way), float64(t*t)/3, bent), float64(g), shift)
					add(d, fmt.Sprint("g", g), geom.Shape{row}, "stage", t)
				}
			}
		}
		pair := try.Get(try.Get(shapestats.Fit(d, group, stage, linear.Interaction(group, stage))).Trajectories(group, stage, b.drawing(k))).Pairs[0]
		return []float64{pair.PSize, pair.PAngle, pair.PShape}, geom.Converged
	}, "size of trajectories"+where, "angle of trajectories"+where, "shape of trajectories"+where)
}

// species tests signal where there is none, and on the tree what evolves apart from the momenta.
func (b *bench) species(s *sheaf) {
	const where = " | momenta at 27 control points | 24 species"
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		phylogeny := grown(random, 24)
		nodes, numbers := make([][]float64, len(phylogeny.Parent)), make([][]float64, len(phylogeny.Parent))
		nodes[0], numbers[0] = make([]float64, 81), make([]float64, 3)
		for i, parent := range phylogeny.Parent[1:] {
			step := math.Sqrt(phylogeny.Length[i+1])
			nodes[i+1] = along(s.draw(random, step), 1, nodes[parent])
			numbers[i+1] = floats.AddScaledTo(make([]float64, 3), numbers[parent], step, normal(random, 3))
		}
		diets, leaves := random.Perm(24), phylogeny.Leaves()
		rows, mass := lists.Pick(nodes, leaves), lists.Pick(numbers, leaves)
		d := onLeaves(phylogeny, func(a, i int) (geom.Shape, []any) {
			return nodes[i : i+1], []any{"mass", numbers[i][0], "half", fmt.Sprint("h", a/12), "diet", fmt.Sprint("d", diets[a]/8)}
		})
		unrelated := onLeaves(phylogeny, func(int, int) (geom.Shape, []any) { return geom.Shape{s.draw(random, 1)}, nil })
		for _, of := range []*morpho.Dataset{d, unrelated} {
			of.Flat, of.Measured = true, true
		}
		diet, draws := linear.Factor("diet"), b.drawing(k)
		m := try.Get(shapestats.FitOnTree(d, phylogeny, linear.Covariate("mass"), diet))
		table := try.Get(m.ANOVA(draws)).Rows
		p := []float64{try.Get(shapestats.PhylogeneticSignal(unrelated, phylogeny, draws)).P, try.Get(shapestats.PhylogeneticLambda(unrelated, phylogeny, draws)).P,
			table[0].P, table[1].P, try.Get(m.PairsOfMeans(diet, draws))[0].P,
			try.Get(shapestats.TwoBlockPLSOnTree(phylogeny, rows, mass, draws)).P, try.Get(shapestats.TwoBlockPLS(rows, mass, draws)).P}
		for _, groups := range []string{"half", "diet"} {
			p = append(p, try.Get(shapestats.EvolutionaryRates(d, phylogeny, linear.Factor(groups), draws)).Ratios[0].P)
		}
		return p, geom.Converged
	}, "signal K"+where, "signal λ"+where, "covariate on a tree"+where, "factor on a tree"+where, "distance of two means of three on a tree"+where,
		"partial least squares with three measurements on a tree"+where, "the same without the tree"+where,
		"rates of evolution, two clades or so"+where, "rates of evolution, 8/8 mixed, beside 8"+where)
}
