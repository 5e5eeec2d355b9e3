package shapestats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/solve"
)

// Components are principal components of N rows, those that vary.
type Components struct {
	Axes   [][]float64 // [k][p], of length 1; the largest number of each is positive
	Scores [][]float64 // [k][N], ⟨row less mean, axis⟩
	Shares []float64   // [k], of the variance
}

// Components returns the principal components of the residuals of the model: of one without terms those of the shapes. On a tree they are not
// phylogenetic ones. It is an error if all residuals are 0.
func (m *Model) Components() (*Components, error) {
	solve.NotNil(m)
	out, err := principal(m.Residuals)
	if err != nil {
		return nil, fmt.Errorf("principal components of %s: %w", m.Data.Name, err)
	}
	return out, nil
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

func principal(rows [][]float64) (*Components, error) {
	x := mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...))
	var pc stat.PC
	if !pc.PrincipalComponents(x, nil) {
		return nil, errors.New("the singular values were not found")
	}
	var v mat.Dense
	pc.VectorsTo(&v)
	variances := pc.VarsTo(nil)
	total, out := floats.Sum(variances), &Components{}
	for k, variance := range variances {
		if !(variance > 1e-18*variances[0]) || variance < 1e-26 { // of shapes of size 1 rounding has about 1e-32
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
		var scores []float64
		for _, row := range rows {
			scores = append(scores, floats.Dot(row, axis))
		}
		floats.AddConst(-stat.Mean(scores, nil), scores)
		out.Axes, out.Scores, out.Shares = append(out.Axes, axis), append(out.Scores, scores), append(out.Shares, variance/total)
	}
	if out.Axes == nil {
		return nil, errors.New("all specimens are equal: look for copies")
	}
	return out, nil
}
