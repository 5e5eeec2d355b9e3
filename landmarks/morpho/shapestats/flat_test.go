package shapestats

import (
	"encoding/csv"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
)

// evolved are scores of so many species that evolved on a tree, with a covariate "mass" that moves them and three diets.
func evolved(species, scores int) (*morpho.Dataset, *tree.Tree) {
	rng := rand.New(rand.NewPCG(1, 1))
	parent, length, open := []int{-1}, []float64{0}, []int{0}
	for len(open) < species {
		k := rng.IntN(len(open))
		i := open[k]
		open = slices.Delete(open, k, k+1)
		for range 2 {
			open, parent, length = append(open, len(parent)), append(parent, i), append(length, 0.1+rng.ExpFloat64())
		}
	}
	names := make([]string, len(parent))
	t, err := tree.New(parent, length, names)
	if err != nil {
		panic(err)
	}
	rows, mass := make([][]float64, len(parent)), make([]float64, len(parent))
	rows[0] = make([]float64, scores)
	d := &morpho.Dataset{Name: "scores", Flat: true, Measured: true}
	for i := 1; i < len(parent); i++ {
		step := rng.NormFloat64() * math.Sqrt(length[i])
		mass[i] = mass[parent[i]] + step
		rows[i] = slices.Clone(rows[parent[i]])
		for j := range rows[i] {
			rows[i][j] += math.Sqrt(length[i]) * rng.NormFloat64() / float64(1+j)
		}
		rows[i][1] += 0.5 * step
	}
	for a, i := range t.Leaves() {
		t.Name[i] = fmt.Sprintf("species %d", a)
		d.Specimens = append(d.Specimens, morpho.Specimen{Name: t.Name[i], Group: []string{"plants", "insects", "fish"}[a%3], Points: [][]float64{rows[i]},
			Covariates: map[string]string{"mass": fmt.Sprint(mass[i])}})
	}
	return d, t
}

// Statistics of 322 × 321 scores on a tree of 322 leaves are those of plain linear algebra: K, the analysis of variance by generalised least squares,
// and the variances of groups.
func TestFlatScores(t *testing.T) {
	const n, k = 322, 321
	d, phylogeny := evolved(n, k)
	draws := linear.Permutations{N: 1, Seed: 1}
	y, mass := mat.NewDense(n, k, nil), expect.Must(d.Numbers("mass"))
	for i, s := range d.Specimens {
		y.SetRow(i, s.Points[0])
	}
	var inverse mat.Dense
	shared := expect.Must(phylogeny.Shared())
	if err := inverse.Inverse(mat.NewDense(n, n, slices.Concat(shared...))); err != nil {
		t.Fatal(err)
	}
	// residuals and sum of squares in the metric V⁻¹ of a regression on columns
	regress := func(columns ...[]float64) (left *mat.Dense, squares float64) {
		x := mat.NewDense(n, len(columns), nil)
		for c, column := range columns {
			x.SetCol(c, column)
		}
		var xv, gram, right, b, fitted, weighted mat.Dense
		xv.Mul(x.T(), &inverse)
		gram.Mul(&xv, x)
		right.Mul(&xv, y)
		if err := b.Solve(&gram, &right); err != nil {
			t.Fatal(err)
		}
		fitted.Mul(x, &b)
		left = new(mat.Dense)
		left.Sub(y, &fitted)
		weighted.Product(left.T(), &inverse, left)
		return left, mat.Trace(&weighted)
	}
	ones := slices.Repeat([]float64{1}, n)
	around, total := regress(ones)
	_, withMass := regress(ones, mass)
	found := expect.Must(expect.Must(FitOnTree(d, phylogeny, linear.Covariate("mass"))).ANOVA(draws))
	f := (total - withMass) / (withMass / (n - 2))
	expect.Rel(t, "F by generalised least squares", found.Rows[0].F, f, 1e-8)
	expect.Rel(t, "R²", found.Rows[0].R2, 1-withMass/total, 1e-8)

	trace, sum := 0.0, mat.Sum(&inverse)
	for i := range shared {
		trace += shared[i][i]
	}
	far := math.Pow(mat.Norm(around, 2), 2)
	expect.Rel(t, "K", expect.Must(PhylogeneticSignal(d, phylogeny, draws)).K, far/total/((trace-n/sum)/(n-1)), 1e-8)

	group := linear.Factor("group")
	variances := expect.Must(expect.Must(Fit(d, group)).Disparity(group, draws)).Groups
	for _, g := range variances {
		own := d.Group(g.Group)
		mean, squares := make([]float64, k), 0.0
		for _, s := range own.Specimens {
			floats.AddScaled(mean, 1/float64(len(own.Specimens)), s.Points[0])
		}
		for _, s := range own.Specimens {
			squares += math.Pow(floats.Distance(s.Points[0], mean, 2), 2)
		}
		expect.Rel(t, "variance of "+g.Group, g.Variance*g.DF, squares, 1e-9)
	}
}

// Statistics of scores of 16 simulated species are those that geomorph 4.0.8 with RRPP 2.1 prints in R, to its digits: K, sums of squares by phylogenetic
// generalised least squares and without the tree, variances of groups, the rate of evolution, ancestors, and the correlation of two blocks. geomorph divides
// variances by the numbers of specimens.
func TestFlatScoresAreThoseOfGeomorph(t *testing.T) {
	file := expect.Must(os.Open("testdata/momenta.csv"))
	defer file.Close()
	d := &morpho.Dataset{Name: "momenta", Flat: true, Measured: true}
	for _, row := range expect.Must(csv.NewReader(file).ReadAll())[1:] {
		var scores []float64
		for _, cell := range row[1:7] {
			scores = append(scores, expect.Must(strconv.ParseFloat(cell, 64)))
		}
		d.Specimens = append(d.Specimens, morpho.Specimen{Name: row[0], Points: [][]float64{scores}, Covariates: map[string]string{"mass": row[7], "diet": row[8]}})
	}
	phylogeny := expect.Must(tree.Parse("" +
		"((((s01:0.308825,((s02:0.100997,(s03:0.000402884,s04:0.000402884):0.100594):0.135404,s05:0.236402):0.0724231):0.0748027,((s06:0.117705,s07:0.117705):0.128172,s08:0.245877):0.137751):0.934481" +
		",(s09:0.695629,((s10:0.045089,(s11:0.0158506,s12:0.0158506):0.0292384):0.198621,(s13:0.053356,(s14:0.0346763,s15:0.0346763):0.0186798):0.190354):0.451919):0.62248):1.21033,s16:2.52844);"))
	d = expect.Must(d.OnTree(phylogeny))
	draws := linear.Permutations{N: 1, Seed: 1}
	mass, diet := linear.Covariate("mass"), linear.Factor("diet")
	const digits = 1e-11 // of which R prints twelve or more
	expect.Rel(t, "K", expect.Must(PhylogeneticSignal(d, phylogeny, draws)).K, 0.802635921767026, digits)
	onTree, alone := expect.Must(FitOnTree(d, phylogeny, mass, diet)), expect.Must(Fit(d, mass, diet))
	for k, want := range [][2]float64{{5.06751441682, 6.95478663644}, {17.74096472807, 3.23231089514}, {59.16064038182, 59.24781702279}, {81.96911952672, 69.43491455437}} {
		expect.Rel(t, "sum of squares on the tree", expect.Must(onTree.ANOVA(draws)).Rows[k].SS, want[0], digits)
		expect.Rel(t, "sum of squares", expect.Must(alone.ANOVA(draws)).Rows[k].SS, want[1], digits)
	}
	for _, g := range expect.Must(alone.Disparity(diet, draws)).Groups {
		expect.Rel(t, "variance of "+g.Group, g.SS/float64(g.Samples), map[string]float64{"fish": 3.66361362333767, "plants": 3.74236350451095}[g.Group], digits)
	}
	rows, _, err := d.TangentShapes()
	if err != nil {
		t.Fatal(err)
	}
	nodes, inner := expect.Must(phylogeny.Prune(rows)), 0
	expect.Rel(t, "rate of evolution", floats.Sum(nodes.Rate)*15/16/6, 0.853844995070028, digits)
	for _, want := range [][]float64{
		{-0.264078640774769, -0.715302016875353, 0.607979854225292, 0.0355526186253751, 0.155487036890217, -0.23420455723596},
		{-0.0665221099597309, -1.637095765437211, 1.288590907287812, -0.0966491233038578, 0.0913686974071902, -0.0969750223300491},
		{-0.1805253176559181, -2.819017657758526, 1.491638054433780, 0.5837703784930670, 0.1677973885422398, -0.1266600560820734}} {
		expect.Abs(t, "ancestor", nodes.Mean[inner], want, 1e-13)
		inner++
	}
	var other [][]float64
	for i, v := range expect.Must(d.Numbers("mass")) {
		other = append(other, []float64{v, rows[i][0] * rows[i][0]})
	}
	expect.Rel(t, "correlation of two blocks", expect.Must(TwoBlockPLS(rows, other, draws)).R, 0.451127459200595, digits)
}

// Blocks of species that evolve apart on a tree covary by chance, though without the tree they seem to do so for good. What contrasts say does not depend on where
// values are counted from.
func TestTwoBlockPLSOnTree(t *testing.T) {
	d, phylogeny := evolved(40, 5)
	draws := linear.Permutations{N: 99, Seed: 1}
	var rows [][]float64
	for _, s := range d.Specimens {
		rows = append(rows, s.Points[0])
	}
	rng := rand.New(rand.NewPCG(2, 1))
	on, off := 0, 0
	for range 20 {
		apart, alone := make([][]float64, len(phylogeny.Parent)), [][]float64(nil)
		apart[0] = []float64{0, 0}
		for i, parent := range phylogeny.Parent[1:] {
			step := math.Sqrt(phylogeny.Length[i+1])
			apart[i+1] = []float64{apart[parent][0] + step*rng.NormFloat64(), apart[parent][1] + step*rng.NormFloat64()}
		}
		for _, i := range phylogeny.Leaves() {
			alone = append(alone, apart[i])
		}
		if expect.Must(TwoBlockPLSOnTree(phylogeny, rows, alone, draws)).P <= 0.05 {
			on++
		}
		if expect.Must(TwoBlockPLS(rows, alone, draws)).P <= 0.05 {
			off++
		}
	}
	if on > 4 || off < 10 { // of 20; a binomial number of 5 % is larger than 4 once in 400
		t.Errorf("%d of 20 found on the tree, %d without", on, off)
	}
	var with, moved [][]float64
	for _, v := range expect.Must(d.Numbers("mass")) {
		with, moved = append(with, []float64{v}), append(moved, []float64{v + 100})
	}
	found := expect.Must(TwoBlockPLSOnTree(phylogeny, rows, with, draws))
	if found.P > 0.01 || len(found.Scores[0][0]) != 40 {
		t.Errorf("a mass that moves the scores: %v", found)
	}
	again := expect.Must(TwoBlockPLSOnTree(phylogeny, rows, moved, draws))
	expect.Rel(t, "R after a shift", again.R, found.R, 1e-10)
	expect.Abs(t, "scores after a shift", again.Scores[1][0], found.Scores[1][0], 1e-10)
	expect.Refused(t, expect.Error(TwoBlockPLSOnTree(phylogeny, rows, with[1:], draws)), "block 2", "39 leaves")
	two := expect.Must(tree.Parse("(a:1,b:2);"))
	expect.Refused(t, expect.Error(TwoBlockPLSOnTree(two, rows[:2], with[:2], draws)), "2 specimens, want at least 3")
}
