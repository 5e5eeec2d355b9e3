package shapestats_test

import (
	"fmt"
	"math"
	"slices"

	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/morpho/shapestats"
)

// Do the heads of two species of salamanders differ more where they live together?
func ExampleFit() {
	species, site := linear.Factor("species"), linear.Factor("site")
	model, err := shapestats.Fit(morpho.Plethodon(), species, site, linear.Interaction(species, site))
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := model.ANOVA(linear.Permutations{N: 999, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range table.Rows {
		fmt.Printf("%-13s%3d  %.4f\n", r.Term, r.DF, r.SS)
	}
	// Output:
	// species        1  0.0293
	// site           1  0.0644
	// species:site   1  0.0309
	// residuals     36  0.0724
	// total         39  0.1969
}

// Are the wings of one mosquito more alike than its left and right wings differ from sides as such?
func ExampleFit_over() {
	individual, side := linear.Factor("individual"), linear.Factor("side")
	both := linear.Interaction(individual, side)
	model, err := shapestats.Fit(morpho.MosquitoWings(), individual.Over(both), side.Over(both), both)
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := model.ANOVA(linear.Permutations{N: 999, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range table.Rows[:3] {
		fmt.Printf("%-16s%2d  F %.2f over %s\n", r.Term, r.DF, r.F, r.Over)
	}
	// Output:
	// individual       9  F 2.69 over individual:side
	// side             1  F 0.74 over individual:side
	// individual:side  9  F 1.04 over residuals
}

// Do salamanders with a red stripe on the back have heads of another shape? Relatives have both in common anyway.
func ExampleFitOnTree() {
	phylogeny, err := tree.Parse(morpho.PlethodonTree())
	if err != nil {
		fmt.Println(err)
		return
	}
	salamanders := morpho.PlethodonSpecies()
	for i, s := range salamanders.Specimens {
		striped := slices.Contains([]string{"P_cinereus", "P_serratus", "P_shenandoah"}, s.Name)
		salamanders.Specimens[i].Covariates = map[string]string{"stripe": fmt.Sprint(striped)}
	}
	model, err := shapestats.FitOnTree(salamanders, phylogeny, linear.Factor("stripe"))
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := model.ANOVA(linear.Permutations{N: 999, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range table.Rows {
		fmt.Printf("%-9s %d  R² %.4f\n", r.Term, r.DF, r.R2)
	}
	// Output:
	// stripe    1  R² 0.1675
	// residuals 7  R² 0.8325
	// total     8  R² 1.0000
}

// How far are mean heads of one size from each other, and what is that of a group at the size of the first?
func ExampleModel_PairsOfMeans() {
	heads := morpho.Plethodon().GroupBy("species", "site")
	group := linear.Factor("group")
	model, err := shapestats.Fit(heads, shapestats.LogSize(), group)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(model)
	pairs, err := model.PairsOfMeans(group, linear.Permutations{N: 999, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range pairs {
		fmt.Printf("%-10s %-10s %.4f\n", p.A, p.B, p.Distance)
	}
	mean, err := model.Predict(map[string]string{"group": "Jord Allo", "log size": fmt.Sprint(math.Log(morpho.CentroidSize(heads.Shapes()[0])))})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("its first landmark is at %.3f\n", mean[0])
	// Output:
	// 40 samples by constant, log size, group: R² 0.6513
	// Jord Symp  Teyah Symp 0.1055
	// Jord Symp  Jord Allo  0.0940
	// Jord Symp  Teyah Allo 0.0900
	// Teyah Symp Jord Allo  0.1015
	// Teyah Symp Teyah Allo 0.0995
	// Jord Allo  Teyah Allo 0.0247
	// its first landmark is at [0.138 -0.026]
}

// Do fish of a marsh and of a sinkhole vary as much, beside what sexes differ?
func ExampleModel_Disparity() {
	population, sex := linear.Factor("population"), linear.Factor("sex")
	model, err := shapestats.Fit(morpho.Pupfish(), population, sex, linear.Interaction(population, sex))
	if err != nil {
		fmt.Println(err)
		return
	}
	disparity, err := model.Disparity(population, linear.Permutations{N: 999, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range disparity.Groups {
		fmt.Printf("%-8s  Procrustes variance %.5f of %d fish\n", g.Group, g.Variance, g.Samples)
	}
	fmt.Printf("%.2f times as much, p %.3f\n", disparity.Ratios[0].Ratio, disparity.Ratios[0].P)
	// Output:
	// Marsh     Procrustes variance 0.00038 of 29 fish
	// Sinkhole  Procrustes variance 0.00077 of 25 fish
	// 0.49 times as much, p 0.001
}

// Do the sexes of fish differ as much, and in the same way, in a marsh and in a sinkhole?
func ExampleModel_Trajectories() {
	population, sex := linear.Factor("population"), linear.Factor("sex")
	model, err := shapestats.Fit(morpho.Pupfish(), population, sex, linear.Interaction(population, sex))
	if err != nil {
		fmt.Println(err)
		return
	}
	trajectories, err := model.Trajectories(population, sex, linear.Permutations{N: 999, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for g, population := range trajectories.Groups {
		fmt.Printf("%-8s  %.4f from %s to %s\n", population, trajectories.Lengths[g], trajectories.Stages[0], trajectories.Stages[1])
	}
	fmt.Printf("at %.1f°\n", trajectories.Pairs[0].Angle*180/math.Pi)
	// Output:
	// Marsh     0.0461 from F to M
	// Sinkhole  0.0257 from F to M
	// at 42.3°
}

// Are tail and head of pupfish modules, beside what populations and sexes differ?
func ExampleModel_Modularity() {
	fish := morpho.Pupfish().GroupBy("population", "sex")
	model, err := shapestats.Fit(fish, linear.Factor("group"))
	if err != nil {
		fmt.Println(err)
		return
	}
	tail := []int{0, 1, 2, 4, 5, 6, 7, 8, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37}
	var head []int
	for i := range 56 {
		if !slices.Contains(tail, i) {
			head = append(head, i)
		}
	}
	modularity, err := model.Modularity([][]int{tail, head}, linear.Permutations{N: 999, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(modularity)
	// Output:
	// CR 0.7890, p 0.144: 0.001 of 999 modules of random landmarks, 0.144 of 89 turned ones
}

// Do the heads of salamanders with a red stripe on the back evolve as fast as those of others?
func ExampleEvolutionaryRates() {
	phylogeny, err := tree.Parse(morpho.PlethodonTree())
	if err != nil {
		fmt.Println(err)
		return
	}
	salamanders := morpho.PlethodonSpecies()
	for i, s := range salamanders.Specimens {
		striped := slices.Contains([]string{"P_cinereus", "P_serratus", "P_shenandoah"}, s.Name)
		salamanders.Specimens[i].Covariates = map[string]string{"stripe": fmt.Sprint(striped)}
	}
	rates, err := shapestats.EvolutionaryRates(salamanders, phylogeny, linear.Factor("stripe"), linear.Permutations{N: 999, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, g := range rates.Groups {
		fmt.Printf("stripe %-5s  %d species, %.2e a unit of length\n", g.Group, g.Species, g.Rate)
	}
	fmt.Printf("ratio %.2f, p %.3f\n", rates.Ratios[0].Ratio, rates.Ratios[0].P)
	// Output:
	// stripe true   3 species, 1.68e-05 a unit of length
	// stripe false  6 species, 6.90e-05 a unit of length
	// ratio 0.24, p 0.005
}
