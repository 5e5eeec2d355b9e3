package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"anatomy/geom"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
	"anatomy/landmarks/morpho"
)

// spread is the standard deviation of a coordinate of the samples; on the sphere of radius 1, in radians.
const spread = 0.3

// random is the source of a simulation.
func (b *bench) random(simulation int) *rand.Rand {
	return rand.New(rand.NewPCG(b.seed, uint64(simulation)))
}

// onSphere is Exp of a tangent vector at the pole (0, 0, 1).
func onSphere(v []float64) []float64 {
	angle := math.Hypot(v[0], v[1])
	s := math.Sin(angle) / max(angle, 1e-300)
	return []float64{s * v[0], s * v[1], math.Cos(angle)}
}

func normal(random *rand.Rand, d int) []float64 {
	v := make([]float64, d)
	for j := range v {
		v[j] = spread * random.NormFloat64()
	}
	return v
}

// sizes counts how often tests reject a true null hypothesis at 5 %.
func sizes(b *bench) error {
	b.text("Each line: %d simulations of two groups from one distribution, %d permutations, 19 for the distance of the means; rejected at 5 %%.", b.simulations, b.permutations)
	b.header("test", "space", "groups", "rejected")
	flat := func(v []float64) []float64 { return v }
	for _, test := range []struct {
		statistic stats.Statistic
		name      string
		space     *geom.Space[geom.Vec]
		d         int
		point     func(v []float64) []float64
		sizes     [][2]int
	}{
		{stats.MeanDistance, "R²", geom.On(manifold.Euclidean(2)), 2, flat, [][2]int{{3, 30}}},
		{stats.TangentMeanDistance, "R²", geom.On(manifold.Euclidean(2)), 2, flat, [][2]int{{3, 30}, {15, 15}}},
		{stats.TangentMeanDistance, "S²", geom.On(manifold.Sphere(2)), 2, onSphere, [][2]int{{3, 30}, {15, 15}}},
		{stats.Dispersion, "R²", geom.On(manifold.Euclidean(2)), 2, flat, [][2]int{{3, 30}, {5, 30}, {2, 10}, {15, 15}}},
		{stats.Dispersion, "R¹⁰", geom.On(manifold.Euclidean(10)), 10, flat, [][2]int{{3, 30}, {5, 30}, {2, 10}, {15, 15}}},
		{stats.Dispersion, "S²", geom.On(manifold.Sphere(2)), 2, onSphere, [][2]int{{3, 30}, {5, 30}, {2, 10}, {15, 15}}},
	} {
		for _, n := range test.sizes {
			permutations := b.permutations
			if test.statistic == stats.MeanDistance {
				permutations = 19 // two means each
			}
			rejected := 0
			for k := range b.simulations {
				random := b.random(k)
				draw := func(n int) [][]float64 {
					x := make([][]float64, n)
					for i := range x {
						x[i] = test.point(normal(random, test.d))
					}
					return x
				}
				c, err := stats.PermutationTest(test.space, draw(n[0]), draw(n[1]), test.statistic, permutations, uint64(k))
				if err != nil {
					return fmt.Errorf("%s, %s, groups of %d and %d, simulation %d: %w", test.statistic, test.name, n[0], n[1], k, err)
				}
				if c.P <= 0.05 {
					rejected++
				}
			}
			b.row("%s | %s | %d/%d | %s", test.statistic, test.name, n[0], n[1], share(rejected, b.simulations))
		}
	}
	for _, n := range [][2]int{{3, 30}, {15, 15}} {
		rejected := [2]int{}
		for k := range b.simulations {
			random := b.random(k)
			d := &morpho.Dataset{Name: "noise"}
			for i := range n[0] + n[1] {
				s := morpho.Specimen{Name: fmt.Sprint(i), Group: "a", Covariates: map[string]string{"x": fmt.Sprint(random.NormFloat64())}}
				if i >= n[0] {
					s.Group = "b"
				}
				for _, p := range [][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}} {
					s.Points = append(s.Points, []float64{p[0] + 0.05*random.NormFloat64(), p[1] + 0.05*random.NormFloat64()})
				}
				d.Specimens = append(d.Specimens, s)
			}
			a, err := morpho.ProcrustesANOVA(d, b.permutations, uint64(k), morpho.Factor("group"), morpho.Variate("x"))
			if err != nil {
				return fmt.Errorf("analysis of variance, simulation %d: %w", k, err)
			}
			for term := range rejected {
				if a.Rows[term].P <= 0.05 {
					rejected[term]++
				}
			}
		}
		for term, name := range []string{"group", "covariate"} {
			b.row("Procrustes analysis of variance, %s | shapes of 4 landmarks | %d/%d | %s", name, n[0], n[1], share(rejected[term], b.simulations))
		}
	}
	return nil
}
