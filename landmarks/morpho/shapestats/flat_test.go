package shapestats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
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
