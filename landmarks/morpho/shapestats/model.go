package shapestats

import (
	"fmt"
	"math"
	"slices"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/landmarks/morpho"
)

// Model is a linear model of shapes, Y = X B + E. Row i of Y is the shape of specimen i in the tangent space of the mean: n·d coordinates, those of
// one landmark after another. The embedded linear.Model has the Coefficients B, a row for each of Columns, and the Fitted and Residuals of each
// specimen, and makes tables and tests: ANOVA, PairsOfMeans, PairsOfSlopes, Disparity, Trajectories. Sums of squares are in squared centroid sizes,
// and distances in centroid sizes; of Forms both are in mean centroid sizes.
type Model struct {
	*linear.Model
	Data *morpho.Dataset // the specimens in the order of the rows: on a tree, that of its leaves
	Mean shape.Shape     // [n][d], the Procrustes mean, of size 1

	tree *tree.Tree // nil without
}

// Fit aligns the shapes of a data set (Procrustes, centroid size 1), projects them to the tangent space of their mean, and fits
// a linear model with the terms, in their order, by least squares: B minimises |Y − X B|². Without terms the model is the mean.
//
// Factors and covariates are columns of the data set, "group" or LogSize, or they have values of their own in the order of the
// specimens. Specimens are treated as independent, except for terms Over others; for species use FitOnTree.
//
// It is an error if landmarks are missing, if all shapes are the same or have no mean (morpho.Dataset.TangentShapes), if a column is not there or
// lacks a value (linear.NewDesign), or if no degrees of freedom are left or the levels of the error of a term are not exchangeable
// (linear.Design.Fit).
func Fit(d *morpho.Dataset, terms ...linear.Term) (*Model, error) { return fit(d, nil, terms) }

// FitWithErrors is Fit for landmarks with errors: the morpho.ErrorColumn of the data says how large they are. Specimen i has the weight 1/(V + E_i),
// where E_i is the variance that the errors of its landmarks add (morpho.Dataset.SquaredErrors) and V that of shapes about the model, which is
// estimated (linear.FitWithErrors) and returned as between, in squared centroid sizes. It is an error if the data have no such column, or no number
// of a specimen there; others are those of Fit.
func FitWithErrors(d *morpho.Dataset, terms ...linear.Term) (_ *Model, between float64, err error) {
	defer try.Named(&err, "linear model of %s with errors", d.Name)
	rows, mean := try.Get2(d.TangentShapes())
	squares := try.Get(d.SquaredErrors())
	try.FailIf(squares == nil, "no column %q: take Fit", morpho.ErrorColumn)
	m := &Model{Data: d, Mean: mean}
	m.Model, between, err = linear.FitWithErrors(columns{d}, rows, squares, terms...)
	return m, between, err
}

// FitOnTree is Fit for species, the leaves of a tree, by phylogenetic generalised least squares: see linear.Design.FitOnTree. Values of
// terms of their own are in the order of the leaves. It has the errors of Fit and morpho.Dataset.OnTree, and is one if two leaves are at
// distance 0.
func FitOnTree(d *morpho.Dataset, t *tree.Tree, terms ...linear.Term) (_ *Model, err error) {
	defer try.Catch(&err)
	return fit(try.Get(d.OnTree(t)), t, terms)
}

func fit(d *morpho.Dataset, t *tree.Tree, terms []linear.Term) (_ *Model, err error) {
	defer try.Named(&err, "linear model of %s%s", d.Name, map[bool]string{true: " on a tree"}[t != nil])
	rows, mean := try.Get2(d.TangentShapes())
	design := try.Get(linear.NewDesign(len(rows), columns{d}, nil, terms...))
	m := &Model{Data: d, Mean: mean, tree: t}
	if t != nil {
		m.Model, err = design.FitOnTree(rows, t)
	} else {
		m.Model, err = design.Fit(rows)
	}
	return m, err
}

// FitRows explains rows of numbers, [N][p], one for each specimen of a data set, by terms, which may name its columns as those of Fit do: other
// coordinates of the shapes, such as the scores of deformations (stats.TangentPCA). It has the errors of linear.NewDesign and linear.Design.Fit.
func FitRows(d *morpho.Dataset, rows [][]float64, terms ...linear.Term) (_ *linear.Model, err error) {
	defer try.Named(&err, "linear model of rows about %s", d.Name)
	try.FailIf(len(rows) != len(d.Specimens), "%d rows for %d specimens", len(rows), len(d.Specimens))
	return try.Get(linear.NewDesign(len(rows), columns{d}, nil, terms...)).Fit(rows)
}

// Shape returns a row of the model as a shape, [n][d]; they share their numbers.
func (m *Model) Shape(row []float64) shape.Shape {
	solve.NotNil(m)
	return points(row, len(m.Mean[0]))
}

// Predict returns the shape, [n][d], that the model expects for a specimen with these covariates, by name: "group" for
// Factor("group"), "log size" for LogSize, and columns of the data set. So the Covariates of a Specimen may be given. See
// linear.Model.Predict.
func (m *Model) Predict(covariates map[string]string) (_ shape.Shape, err error) {
	defer try.Catch(&err)
	return m.Shape(try.Get(solve.NotNil(m).Model.Predict(covariates))), nil
}

// points are numbers in rows of dim; they share them.
func points(x []float64, dim int) [][]float64 { return slices.Collect(slices.Chunk(x, dim)) }

const centroidSize = "centroid size"

// LogSize is the logarithm of the centroid size, the Covariate "log size", or the column of the data set that has this name: allometry. It is an
// error if the shapes were aligned or scaled before: see morpho.Dataset.LogSizes.
func LogSize() linear.Term { return linear.Covariate(morpho.LogSize) }

// columns are those of a data set, for terms.
type columns struct{ d *morpho.Dataset }

func (c columns) Column(name string) ([]string, error) { return c.d.Column(name) }

func (c columns) Row(i int) string { return fmt.Sprintf("specimen %q", c.d.Specimens[i].Name) }

func (c columns) Numbers(name string) ([]float64, error) { return Numbers(c.d, name) }

// Numbers returns a column of numbers, or where there is no such column "log size" and "centroid size". It has the errors of morpho.Dataset.Numbers
// and LogSizes.
func Numbers(d *morpho.Dataset, name string) ([]float64, error) {
	if _, err := d.Column(name); err == nil || name != morpho.LogSize && name != centroidSize {
		return d.Numbers(name)
	}
	sizes, err := d.LogSizes()
	for i := range sizes {
		if name == centroidSize {
			sizes[i] = math.Exp(sizes[i])
		}
	}
	return sizes, err
}

// PhylogeneticSignal returns the signal K of shapes on a tree whose leaves are the specimens (D. Adams, A generalized K statistic for
// estimating phylogenetic signal from shape and other high-dimensional multivariate data, Syst. Biol. 63, 2014; see tree.Tree.Signal).
// The shapes are aligned as for Fit, that is, as geomorph does. It has the errors of OnTree and TangentShapes.
func PhylogeneticSignal(d *morpho.Dataset, t *tree.Tree, p linear.Permutations) (_ *tree.Signal, err error) {
	defer try.Named(&err, "phylogenetic signal of %s", d.Name)
	rows, _ := onTree(d, t)
	return t.Signal(rows, p)
}

// PhylogeneticLambda returns the signal λ of shapes on a tree whose leaves are the specimens, by the likelihood of those principal components that
// have 95 % of the variance, at most a third of the specimens less one: see tree.Tree.Lambda. The shapes are aligned as for Fit. It has the errors of
// OnTree, TangentShapes and tree.Tree.Lambda.
func PhylogeneticLambda(d *morpho.Dataset, t *tree.Tree, p linear.Permutations) (_ *tree.Lambda, err error) {
	defer try.Named(&err, "phylogenetic signal of %s", d.Name)
	rows, _ := onTree(d, t)
	c, scores := principal(rows), make([][]float64, len(rows))
	for _, s := range c.Scores[:c.most(len(rows)-1)] {
		for i := range scores {
			scores[i] = append(scores[i], s[i])
		}
	}
	return t.Lambda(scores, p)
}

// EvolutionaryRates compares how fast the shapes of groups of species evolve along a tree whose leaves are the specimens, in the unit of
// Procrustes distances squared divided by that of lengths: see tree.Tree.Rates. The shapes are aligned as for Fit. It has the errors of
// OnTree, TangentShapes and Rates.
func EvolutionaryRates(d *morpho.Dataset, t *tree.Tree, groups linear.Term, p linear.Permutations) (_ *tree.Rates, err error) {
	defer try.Named(&err, "evolutionary rates of %s", d.Name)
	rows, data := onTree(d, t)
	return t.Rates(rows, data, groups, p)
}

// onTree are the shapes and the data of the leaves.
func onTree(d *morpho.Dataset, t *tree.Tree) ([][]float64, linear.Data) {
	ordered := try.Get(d.OnTree(t))
	rows, _ := try.Get2(ordered.TangentShapes())
	return rows, columns{ordered}
}
