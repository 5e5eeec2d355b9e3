package shapestats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
)

// Allometry is how shape changes with the logarithm of centroid size, by one slope for all groups, and by one for each.
type Allometry struct {
	Common *Model        // shape by size and group
	Slopes *Model        // and by size:group; nil without groups
	Table  *linear.ANOVA // of Slopes, or of Common without groups: the row "log size:group" is the test of slopes
	Pairs  linear.Pairs  // the slopes of pairs of groups; nil without groups

	Sizes []float64 // [N], logarithms of centroid sizes, as Scores and ResidualComponent in the order of Common.Data
	// Scores are the common allometric component, and with it the regression scores: how far a shape goes along the slope that all groups share (A.
	// Drake and C. Klingenberg, Proc. R. Soc. B 275, 2008; P. Mitteroecker and others, J. Human Evolution 46, 2004).
	Scores []float64
	// ResidualComponent are the scores on the first principal component of the shapes less their part along that slope, and its share of what they
	// vary.
	ResidualComponent []float64
	Share             float64
	// SizeFree are the shapes at the mean of the logarithm of size, by the common slope: data like others, which keep the differences between groups.
	SizeFree *morpho.Dataset
}

// MeasureAllometry fits shape to the logarithm of centroid size, and to the groups of the data set if there are several (morpho.Dataset.GroupBy makes
// them). With a tree, which may be nil, the specimens are species: see FitOnTree. Specimens whose landmarks have known errors are weighed by them:
// see FitWithErrors. Errors are those of Fit and of morpho.Dataset.LogSizes, as for shapes that were scaled before.
func MeasureAllometry(d *morpho.Dataset, t *tree.Tree, p linear.Permutations) (_ *Allometry, err error) {
	defer try.Named(&err, "allometry of %s", d.Name)
	fit := func(terms ...linear.Term) (*Model, error) {
		if t != nil {
			return FitOnTree(d, t, terms...)
		}
		if slices.Contains(d.Covariates(), morpho.ErrorColumn) {
			m, _, err := FitWithErrors(d, terms...)
			return m, err
		}
		return Fit(d, terms...)
	}
	size, group := LogSize(), linear.Factor("group")
	terms := linear.Terms{size}
	if len(d.Groups()) > 1 {
		terms = append(terms, group)
	}
	out := &Allometry{}
	out.Common = try.Get(fit(terms...))
	tested := out.Common
	if len(terms) > 1 {
		out.Slopes = try.Get(fit(append(terms, linear.Interaction(size, group))...))
		out.Pairs = try.Get(out.Slopes.PairsOfSlopes(group, size, p))
		tested = out.Slopes
	}
	out.Table = try.Get(tested.ANOVA(p))
	out.Scores = try.Get(out.Common.RegressionScores(size))
	out.Sizes = try.Get((columns{out.Common.Data}).Numbers(morpho.LogSize))
	free := *out.Common.Data
	free.Specimens, free.Unit = slices.Clone(free.Specimens), ""
	out.SizeFree = &free
	slope, mean := out.slope(), stat.Mean(out.Sizes, nil)
	length := floats.Norm(slope, 2)
	var rest [][]float64
	for i, s := range out.Sizes {
		row := slices.Clone(out.Common.Fitted[i])
		floats.Add(row, out.Common.Residuals[i])
		rest = append(rest, slices.Clone(row))
		floats.AddScaled(rest[i], -floats.Dot(row, slope)/(length*length), slope)
		floats.AddScaled(row, mean-s, slope)
		free.Specimens[i].Points = out.Common.Shape(row)
	}
	var left *Components
	err = try.Run(func() { left = principal(rest) })
	try.FailIf(err != nil, "the shapes vary along one line, and nothing is left beside their change with size")
	out.ResidualComponent, out.Share = left.Scores[0], left.Shares[0]
	return out, nil
}

// String is the table, and that of pairs.
func (a *Allometry) String() string {
	if len(a.Pairs) == 0 {
		return a.Table.String()
	}
	return a.Table.String() + "\n" + a.Pairs.String()
}

// slope is the common change of shape for a unit of log size.
func (a *Allometry) slope() []float64 {
	return a.Common.Coefficients[slices.Index(a.Common.Columns, morpho.LogSize)]
}

// Predict returns the shape [n][d] that the slope of a group predicts at a centroid size, and its score, on the axis of Scores. Without groups the
// argument group is ignored. Errors are those of Model.Predict.
func (a *Allometry) Predict(group string, size float64) (_ shape.Shape, score float64, err error) {
	defer try.Catch(&err)
	m := cmp.Or(solve.NotNil(a).Slopes, a.Common)
	predicted := try.Get(m.Predict(map[string]string{"group": group, morpho.LogSize: fmt.Sprint(math.Log(size))}))
	row, slope := predicted.Flat(), a.slope()
	floats.Sub(row, lists.Mean(m.Fitted))
	floats.Sub(row, lists.Mean(m.Residuals))
	return predicted, floats.Dot(row, slope) / floats.Norm(slope, 2), nil
}
