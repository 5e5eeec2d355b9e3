package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"anatomy/geom"
	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
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
				d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Points: square(random, 0.07*float64(cell%2), 0.05*effect*float64(cell/2)),
					Covariates: map[string]string{"first": fmt.Sprint(cell / 2), "second": fmt.Sprint(cell % 2)}})
			}
		}
		m := try.Get(shapestats.Fit(d, first, second, linear.Interaction(first, second)))
		var p []float64
		for _, of := range []linear.SumsOfSquares{linear.TypeII, linear.TypeIII} {
			a := try.Get(m.ANOVAOfType(of, b.drawing(k)))
			p = append(p, a.Rows[0].P)
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
				s := morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Points: square(random, 0, 0),
					Covariates: map[string]string{"individual": fmt.Sprint("i", i), "session": fmt.Sprint("s", session)}}
				for l, p := range s.Points {
					for c := range p {
						p[c] = own[l][c] + p[c]/4
					}
				}
				s.Points[0][0] += 0.02 * effect * float64(session)
				d.Specimens = append(d.Specimens, s)
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
					s := morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Group: fmt.Sprint("group ", g), Points: square(random, 0, (grow+0.05*effect*float64(which*g))*size)}
					for _, p := range s.Points {
						p[0], p[1] = size*p[0], size*p[1]
					}
					d.Specimens = append(d.Specimens, s)
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
				s := morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Group: g}
				for l, p := range ring(landmarks) {
					if l == 0 && g == "2" {
						p[0] += 0.1 * effect
					}
					s.Points = append(s.Points, []float64{p[0] + 0.05*random.NormFloat64(), p[1] + 0.05*random.NormFloat64()})
				}
				d.Specimens = append(d.Specimens, s)
			}
			v := try.Get(shapestats.CanonicalVariates(d, b.drawing(k)))
			c := try.Get(shapestats.BetweenGroupComponents(d, b.drawing(k)))
			return []float64{v.P, c.P}, geom.Converged
		}, lines(effect, "canonical variates"+where, "between-group components"+where)...)
	}
}

// differences compares how strongly parts covary in two samples.
func differences(b *bench, effect float64) {
	face := [][]float64{{0, 3}, {0, -3}, {1, 2}, {-1, 2}, {2, 0}, {-2, 0}, {1.5, -2}, {-1.5, -2}}
	for _, n := range [][2]int{{20, 20}, {15, 40}} {
		for _, together := range []float64{0, 0.2} {
			b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
				var found [2]*shapestats.Integration
				for sample := range n {
					d := &morpho.Dataset{Name: "faces"}
					for i := range n[sample] {
						s, common := morpho.Specimen{Name: fmt.Sprint(i)}, (together+0.4*effect*float64(sample))*random.NormFloat64()
						for l, p := range face {
							s.Points = append(s.Points, []float64{p[0] + 0.1*random.NormFloat64() + common*math.Mod(float64(l), 2), p[1] + 0.1*random.NormFloat64()})
						}
						d.Specimens = append(d.Specimens, s)
					}
					g := try.Get(shapestats.MeasureIntegration(d, []int{0, 2, 3, 4}, b.drawing(k)))
					found[sample] = g
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
		d := &morpho.Dataset{Name: "species"}
		for _, i := range phylogeny.Leaves() {
			d.Specimens = append(d.Specimens, morpho.Specimen{Name: phylogeny.Name[i], Points: nodes[i]})
		}
		on := try.Get(shapestats.MeasureIntegrationOnTree(d, phylogeny, []int{0, 1, 2, 3}, b.drawing(k)))
		off := try.Get(shapestats.MeasureIntegration(d, []int{0, 1, 2, 3}, b.drawing(k)))
		return []float64{on.P, off.P}, geom.Converged
	}, lines(effect, "integration on a tree | parts of 4 landmarks | 24 species", "integration without the tree | parts of 4 landmarks | 24 species")...)
}

// related tests whether relatives resemble each other, in species that have nothing to do with the tree, or evolve along it in part.
func related(b *bench, effect float64) {
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		phylogeny, nodes := evolved(random, 8, 0)
		d := &morpho.Dataset{Name: "species"}
		for _, i := range phylogeny.Leaves() {
			s := morpho.Specimen{Name: phylogeny.Name[i]}
			for l, p := range ring(8) {
				var point []float64
				for c := range p {
					point = append(point, p[c]+effect*(nodes[i][l][c]-p[c])+0.1*random.NormFloat64())
				}
				s.Points = append(s.Points, point)
			}
			d.Specimens = append(d.Specimens, s)
		}
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
