package main

import (
	"fmt"

	"anatomy/geom"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
)

// measured tests what does nothing to individuals that were measured three times over these.
func measured(b *bench) {
	individual, treatment := morpho.Factor("individual"), morpho.Factor("treatment")
	b.tested(b.simulations, func(k int) ([]float64, geom.Status, error) {
		random := b.random(k)
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
		a, err := morpho.ProcrustesANOVA(d, b.permutations, uint64(k), treatment.Over(individual), individual)
		if err != nil {
			return nil, 0, err
		}
		return []float64{a.Rows[0].P}, geom.Converged, nil
	}, "Procrustes analysis of variance, treatment over individual | shapes of 4 landmarks | 5/5, three times each")
}

// species tests a covariate that evolves apart from shapes, by contrasts on a balanced tree.
func species(b *bench) {
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
	b.tested(b.simulations, func(k int) ([]float64, geom.Status, error) {
		random := b.random(k)
		phylogeny, err := tree.Parse(newick)
		if err != nil {
			return nil, 0, err
		}
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
		m, err := morpho.FitLinearOnTree(d, phylogeny, morpho.Variate("x"))
		if err != nil {
			return nil, 0, err
		}
		a, err := m.ANOVA(b.permutations, uint64(k))
		if err != nil {
			return nil, 0, err
		}
		return []float64{a.Rows[0].P}, geom.Converged, nil
	}, fmt.Sprintf("Procrustes analysis of variance, covariate on a tree | shapes of 4 landmarks | %d", count))
}

// pairs compares the means and slopes of the two smaller of three groups, which have one allometry.
func pairs(b *bench) {
	x, group := morpho.Variate("x"), morpho.Factor("group")
	const where = " | shapes of 4 landmarks | 5/8/15"
	b.tested(b.simulations, func(k int) ([]float64, geom.Status, error) {
		random := b.random(k)
		d := &morpho.Dataset{Name: "groups"}
		for g, n := range []int{5, 8, 15} {
			for range n {
				number := random.NormFloat64()
				d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Group: fmt.Sprint("group ", g),
					Points: square(random, 0, 0.07*number), Covariates: map[string]string{"x": fmt.Sprint(number)}})
			}
		}
		m, err := morpho.FitLinear(d, x, group, morpho.Interaction(x, group))
		if err != nil {
			return nil, 0, err
		}
		means, err := m.PairsOfMeans(group, b.permutations, uint64(k))
		if err != nil {
			return nil, 0, err
		}
		slopes, err := m.PairsOfSlopes(group, x, b.permutations, uint64(k))
		if err != nil {
			return nil, 0, err
		}
		return []float64{means[0].P, slopes[0].P, slopes[0].PAngle}, geom.Converged, nil
	}, "distance of two means of three, at one x"+where, "distance of two slopes of three"+where, "angle of two slopes of three"+where)
}

// parts tests the integration of landmarks that vary by themselves, and the asymmetries of faces that have none but by errors of measurement.
func parts(b *bench) {
	face := [][]float64{{0, 3}, {0, -3}, {1, 2}, {-1, 2}, {2, 0}, {-2, 0}, {1.5, -2}, {-1.5, -2}}
	sides := [][2]int{{2, 3}, {4, 5}, {6, 7}}
	b.tested(b.simulations, func(k int) ([]float64, geom.Status, error) {
		random := b.random(k)
		d := &morpho.Dataset{Name: "faces"}
		for i := range 20 {
			s := morpho.Specimen{Name: fmt.Sprint(i), Covariates: map[string]string{"individual": fmt.Sprint(i / 2)}}
			for _, p := range face {
				s.Points = append(s.Points, []float64{p[0] + 0.1*random.NormFloat64(), p[1] + 0.1*random.NormFloat64()})
			}
			d.Specimens = append(d.Specimens, s)
		}
		g, err := morpho.MeasureIntegration(d, []int{0, 2, 3, 4}, b.permutations, uint64(k))
		if err != nil {
			return nil, 0, err
		}
		s, err := morpho.ObjectSymmetry(d, sides, b.permutations, uint64(k))
		if err != nil {
			return nil, 0, err
		}
		a, err := morpho.ProcrustesANOVA(s.Asymmetric, b.permutations, uint64(k), morpho.Factor("individual"))
		if err != nil {
			return nil, 0, err
		}
		return []float64{g.P, s.P, a.Rows[0].P}, geom.Converged, nil
	}, "integration | parts of 4 landmarks | 20", "directional asymmetry | shapes of 8 landmarks | 10, twice each", "fluctuating asymmetry | shapes of 8 landmarks | 10, twice each")
}
