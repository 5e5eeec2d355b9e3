package shapestats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/solve"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
)

// Components are principal components of N rows, those that vary.
type Components struct {
	Axes   [][]float64 // [k][p], of length 1; the largest number of each is positive
	Scores [][]float64 // [k][N], ⟨row less mean, axis⟩, or less what is estimated for the root of a tree
	Shares []float64   // [k], of the variance
}

// Components returns the principal components of the residuals of the model: of one without terms those of the shapes. On a tree they are not
// the PhylogeneticComponents. It is an error if all residuals are 0.
func (m *Model) Components() (_ *Components, err error) {
	defer try.Named(&err, "principal components of %s", solve.NotNil(m).Data.Name)
	return principal(m.Residuals), nil
}

// most is how many components have 95 % of the variance, at most a third of the degrees of freedom, since a covariance of more numbers is not known.
func (c *Components) most(free int) int {
	k, sum := 0, 0.0
	for k < min(len(c.Shares), free/3) && sum < 0.95 {
		sum += c.Shares[k]
		k++
	}
	return max(1, k)
}

// PhylogeneticComponents returns the phylogenetic principal components of shapes on a tree whose leaves are the specimens (L. Revell, Size-correction
// and principal components for interspecific comparative studies, Evolution 63, 2009): eigenvectors of the rates of evolution R = UᵀU/(N − 1) by
// Brownian motion, with the phylogenetically independent contrasts U. Scores are those of the leaves in their order, seen from the estimate for the
// root. They are correlated, and their variances are not the Shares, which are those of the trace of R. The shapes are aligned as for Fit. It has the
// errors of OnTree and TangentShapes.
func PhylogeneticComponents(d *morpho.Dataset, t *tree.Tree) (_ *Components, err error) {
	defer try.Named(&err, "phylogenetic principal components of %s", d.Name)
	rows, _ := onTree(d, t)
	contrasts, root := try.Get2(t.Contrasts(rows))
	return components(contrasts, rows, root, 0), nil
}

// principal are the principal components of rows.
func principal(rows [][]float64) *Components {
	mean := lists.Mean(rows)
	off := lists.Each(rows, func(row []float64) []float64 { return floats.SubTo(make([]float64, len(row)), row, mean) })
	return components(off, rows, mean, 1e-26*float64(len(rows)-1)) // of shapes of size 1 rounding has a variance of about 1e-32
}

// components have the axes along which the sum of squares of some rows is largest, from a least one on, and the scores of others seen from a centre.
func components(of, rows [][]float64, centre []float64, least float64) *Components {
	var svd mat.SVD
	try.FailIf(!svd.Factorize(mat.NewDense(len(of), len(centre), slices.Concat(of...)), mat.SVDThinV), "the singular values were not found")
	var v mat.Dense
	svd.VTo(&v)
	variances := svd.Values(nil)
	floats.Mul(variances, variances)
	total, out := floats.Sum(variances), &Components{}
	for k, variance := range variances {
		if !(variance > 1e-18*variances[0]) || variance < least {
			break
		}
		axis := mat.Col(nil, k, &v)
		largest := 0
		for i, x := range axis { // the first of those that are equal but for rounding
			if math.Abs(x) > math.Abs(axis[largest])*(1+1e-9) {
				largest = i
			}
		}
		if axis[largest] < 0 {
			floats.Scale(-1, axis)
		}
		scores := lists.Each(rows, func(row []float64) float64 { return floats.Dot(row, axis) })
		floats.AddConst(-floats.Dot(centre, axis), scores)
		out.Axes, out.Scores, out.Shares = append(out.Axes, axis), append(out.Scores, scores), append(out.Shares, variance/total)
	}
	try.FailIf(out.Axes == nil, "all specimens are equal: look for copies")
	return out
}
