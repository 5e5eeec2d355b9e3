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
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
)

// Model is a linear model whose rows are shapes: see linear.Model. Sums of squares are in squared centroid sizes, and distances in centroid sizes.
type Model struct {
	*linear.Model
	Data *morpho.Dataset // the specimens in the order of the rows: on a tree, that of its leaves
	Mean shape.Shape     // [n][d], the Procrustes mean, of size 1

	tree *tree.Tree // nil without
}

// Fit aligns the shapes of a data set (Procrustes, centroid size 1), projects them to the tangent space of their mean, and fits
// a linear model with the terms, in their order, by least squares. Without terms the model is the mean.
//
// Factors and covariates are columns of the data set, "group" or LogSize, or they have values of their own in the order of the
// specimens. Specimens are treated as independent, except for terms Over others; for species use FitOnTree.
//
// The errors are those of morpho.Dataset.TangentShapes, linear.NewDesign and linear.Design.Fit.
func Fit(d *morpho.Dataset, terms ...linear.Term) (_ *Model, err error) {
	defer try.Named(&err, "linear model of %s", d.Name)
	return fit(d, nil, terms), nil
}

// FitWithErrors is Fit for landmarks with errors: the morpho.ErrorColumn of the data says how large they are. Weights are those of linear.FitWithErrors for
// the errors that morpho.Dataset.SquaredErrors returns. The variance of shapes about the model is returned as between. The errors are those of Fit, of these
// two, and one if the data have no such column.
func FitWithErrors(d *morpho.Dataset, terms ...linear.Term) (_ *Model, between float64, err error) {
	defer try.Named(&err, "linear model of %s with errors", d.Name)
	rows, mean := try.Get2(d.TangentShapes())
	squares := try.Get(d.SquaredErrors())
	if squares == nil {
		return nil, 0, fmt.Errorf("no column %q: take Fit", morpho.ErrorColumn)
	}
	m := &Model{Data: d, Mean: mean}
	m.Model, between, err = linear.FitWithErrors(columns{d}, rows, squares, terms...)
	return m, between, err
}

// FitOnTree is Fit for species, the leaves of a tree, by phylogenetic generalised least squares: see linear.Design.FitOnTree. Values of
// terms of their own are in the order of the leaves. It has the errors of Fit and morpho.Dataset.OnTree, and is one if two leaves are at
// distance 0.
func FitOnTree(d *morpho.Dataset, t *tree.Tree, terms ...linear.Term) (_ *Model, err error) {
	ordered, err := d.OnTree(t)
	if err != nil {
		return nil, err
	}
	defer try.Named(&err, "linear model of %s on a tree", d.Name)
	return fit(ordered, t, terms), nil
}

func fit(d *morpho.Dataset, t *tree.Tree, terms []linear.Term) *Model {
	rows, mean := try.Get2(d.TangentShapes())
	design := try.Get(linear.NewDesign(len(rows), columns{d}, nil, terms...))
	m := &Model{Data: d, Mean: mean, tree: t}
	if t != nil {
		m.Model = try.Get(design.FitOnTree(rows, t))
	} else {
		m.Model = try.Get(design.Fit(rows))
	}
	return m
}

// FitRows explains rows of numbers, [N][p], one for each specimen of a data set, by terms, which may name its columns as those of Fit do: other
// coordinates of the shapes, such as the scores of deformations (stats.TangentPCA). It has the errors of linear.NewDesign and linear.Design.Fit.
func FitRows(d *morpho.Dataset, rows [][]float64, terms ...linear.Term) (_ *linear.Model, err error) {
	defer try.Named(&err, "linear model of rows about %s", d.Name)
	if len(rows) != len(d.Specimens) {
		return nil, fmt.Errorf("%d rows for %d specimens", len(rows), len(d.Specimens))
	}
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
func (m *Model) Predict(covariates map[string]string) (shape.Shape, error) {
	solve.NotNil(m)
	row, err := m.Model.Predict(covariates)
	if err != nil {
		return nil, err
	}
	return m.Shape(row), nil
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
func PhylogeneticSignal(d *morpho.Dataset, t *tree.Tree, p linear.Permutations) (*tree.Signal, error) {
	return onTree("phylogenetic signal", d, t, func(rows [][]float64, _ linear.Data) (*tree.Signal, error) { return t.Signal(rows, p) })
}

// PhylogeneticLambda returns the signal λ of shapes on a tree whose leaves are the specimens, by the likelihood of those principal components that
// have 95 % of the variance, at most a third of the specimens less one: see tree.Tree.Lambda. The shapes are aligned as for Fit. It has the errors of
// OnTree, TangentShapes and tree.Tree.Lambda.
func PhylogeneticLambda(d *morpho.Dataset, t *tree.Tree, p linear.Permutations) (*tree.Lambda, error) {
	return onTree("phylogenetic signal", d, t, func(rows [][]float64, _ linear.Data) (*tree.Lambda, error) {
		c, err := principal(rows)
		if err != nil {
			return nil, err
		}
		scores := lists.Make(len(rows), func(i int) []float64 {
			return lists.Each(c.Scores[:c.most(len(rows)-1)], func(component []float64) float64 { return component[i] })
		})
		return t.Lambda(scores, p)
	})
}

// EvolutionaryRates compares how fast the shapes of groups of species evolve along a tree whose leaves are the specimens, in the unit of
// Procrustes distances squared divided by that of lengths: see tree.Tree.Rates. The shapes are aligned as for Fit. It has the errors of
// OnTree, TangentShapes and Rates.
func EvolutionaryRates(d *morpho.Dataset, t *tree.Tree, groups linear.Term, p linear.Permutations) (*tree.Rates, error) {
	return onTree("evolutionary rates", d, t, func(rows [][]float64, data linear.Data) (*tree.Rates, error) { return t.Rates(rows, data, groups, p) })
}

// onTree returns what f says of the shapes and the data of the leaves.
func onTree[T any](what string, d *morpho.Dataset, t *tree.Tree, f func(rows [][]float64, data linear.Data) (T, error)) (_ T, err error) {
	defer try.Named(&err, "%s of %s", what, d.Name)
	ordered := try.Get(d.OnTree(t))
	rows, _ := try.Get2(ordered.TangentShapes())
	return f(rows, columns{ordered})
}
