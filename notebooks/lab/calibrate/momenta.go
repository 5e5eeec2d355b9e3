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
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
)

// sheaf is what momenta p at 27 control points in space are drawn from: their numbers are normal and independent. Scores are Lᵀp, with LLᵀ the Gaussian kernel of
// the control points, so that their lengths are those of deformations.
type sheaf struct{ lower mat.TriDense }

func newSheaf() *sheaf {
	var controls [][]float64
	for i := range 27 {
		controls = append(controls, []float64{float64(i % 3), float64(i / 3 % 3), float64(i / 9)})
	}
	gram := mat.NewSymDense(len(controls), nil)
	for i, x := range controls {
		for j, y := range controls[:i+1] {
			gram.SetSym(i, j, math.Exp(-math.Pow(floats.Distance(x, y, 2), 2)/2))
		}
	}
	s, root := &sheaf{}, new(mat.Cholesky)
	root.Factorize(gram)
	root.LTo(&s.lower)
	return s
}

// draw returns the scores of a momentum, added to others.
func (s *sheaf) draw(random *rand.Rand, by float64, to []float64) []float64 {
	n, _ := s.lower.Dims()
	p, scores := mat.NewDense(n, 3, nil), new(mat.Dense)
	p.Apply(func(int, int, float64) float64 { return by * random.NormFloat64() }, p)
	scores.Mul(s.lower.T(), p)
	return floats.AddTo(make([]float64, 3*n), scores.RawMatrix().Data, to)
}

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
	none := make([]float64, 81)
	const where = " | momenta at 27 control points | 3+10/12+4"
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		along, shift := s.draw(random, 1, none), s.draw(random, 1, none)
		d := &morpho.Dataset{Name: "momenta", Flat: true, Measured: true}
		var rows, mass [][]float64
		for cell, n := range []int{3, 10, 12, 4} {
			for range n {
				x, row := random.NormFloat64()+float64(cell%2), s.draw(random, 1, none)
				floats.AddScaled(row, 0.5*x, along)
				floats.AddScaled(row, float64(cell%2), shift)
				rows, mass = append(rows, row), append(mass, normal(random, 3))
				d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Points: [][]float64{row}, Covariates: map[string]string{
					"log size": fmt.Sprint(x), "mass": fmt.Sprint(x + random.NormFloat64()), "first": fmt.Sprint("f", cell/2), "second": fmt.Sprint("s", cell%2)}})
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
	none := make([]float64, 81)
	const where = " | momenta at 27 control points | 5/8/15"
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		along, shift := s.draw(random, 1, none), s.draw(random, 1, none)
		alike, unlike := &morpho.Dataset{Name: "momenta", Flat: true, Measured: true}, &morpho.Dataset{Name: "momenta", Flat: true, Measured: true}
		for g, n := range []int{5, 8, 15} {
			for range n {
				x, row, other := random.NormFloat64(), s.draw(random, 1, none), s.draw(random, 1+float64(g/2), none)
				floats.AddScaled(row, 0.5*x, along)
				floats.AddScaled(other, float64(g/2), shift)
				one := morpho.Specimen{Name: fmt.Sprint(len(alike.Specimens)), Group: fmt.Sprint("g", g), Points: [][]float64{row}, Covariates: map[string]string{"log size": fmt.Sprint(x)}}
				alike.Specimens = append(alike.Specimens, one)
				one.Points = [][]float64{other}
				unlike.Specimens = append(unlike.Specimens, one)
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
	none := make([]float64, 81)
	const where = " | momenta at 27 control points | 4 times 5 / 3+12+6+10"
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		along, bent, shift := s.draw(random, 1, none), s.draw(random, 1, none), s.draw(random, 1, none)
		d := &morpho.Dataset{Name: "momenta", Flat: true, Measured: true}
		for g, cells := range [2][4]int{{5, 5, 5, 5}, {3, 12, 6, 10}} {
			for t, n := range cells {
				for range n {
					row := s.draw(random, 1, none)
					floats.AddScaled(row, float64(t), along)
					floats.AddScaled(row, float64(t*t)/3, bent)
					floats.AddScaled(row, float64(g), shift)
					d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Group: fmt.Sprint("g", g), Points: [][]float64{row}, Covariates: map[string]string{"stage": fmt.Sprint(t)}})
				}
			}
		}
		pair := try.Get(try.Get(shapestats.Fit(d, group, stage, linear.Interaction(group, stage))).Trajectories(group, stage, b.drawing(k))).Pairs[0]
		return []float64{pair.PSize, pair.PAngle, pair.PShape}, geom.Converged
	}, "size of trajectories"+where, "angle of trajectories"+where, "shape of trajectories"+where)
}

// species tests signal where there is none, and on the tree what evolves apart from the momenta.
func (b *bench) species(s *sheaf) {
	none := make([]float64, 81)
	const where = " | momenta at 27 control points | 24 species"
	b.tested(b.simulations, func(k int, random *rand.Rand) ([]float64, geom.Status) {
		phylogeny := grown(random, 24)
		nodes, numbers := make([][]float64, len(phylogeny.Parent)), make([][]float64, len(phylogeny.Parent))
		nodes[0], numbers[0] = none, make([]float64, 3)
		for i, parent := range phylogeny.Parent[1:] {
			step := math.Sqrt(phylogeny.Length[i+1])
			nodes[i+1] = s.draw(random, step, nodes[parent])
			numbers[i+1] = floats.AddScaledTo(make([]float64, 3), numbers[parent], step, normal(random, 3))
		}
		d, unrelated := &morpho.Dataset{Name: "momenta", Flat: true, Measured: true}, &morpho.Dataset{Name: "momenta", Flat: true, Measured: true}
		var rows, mass [][]float64
		diets := random.Perm(24)
		for a, i := range phylogeny.Leaves() {
			one := morpho.Specimen{Name: phylogeny.Name[i], Points: [][]float64{nodes[i]},
				Covariates: map[string]string{"mass": fmt.Sprint(numbers[i][0]), "half": fmt.Sprint("h", a/12), "diet": fmt.Sprint("d", diets[a]/8)}}
			d.Specimens, rows, mass = append(d.Specimens, one), append(rows, nodes[i]), append(mass, numbers[i])
			one.Points = [][]float64{s.draw(random, 1, none)}
			unrelated.Specimens = append(unrelated.Specimens, one)
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
