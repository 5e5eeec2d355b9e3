package shapestats

import (
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/stats/linear"
	"anatomy/landmarks/morpho"
)

func draws(n int, seed uint64) linear.Permutations { return linear.Permutations{N: n, Seed: seed} }

// anova is the table of a model.
func anova(d *morpho.Dataset, p linear.Permutations, terms ...linear.Term) (*linear.ANOVA, error) {
	m, err := Fit(d, terms...)
	if err != nil {
		return nil, err
	}
	return m.ANOVA(p)
}

// tangentCoordinates are the aligned shapes less their mean, [N, n·d], and the mean.
func tangentCoordinates(d *morpho.Dataset) (y *mat.Dense, mean []float64, err error) {
	rows, shape, err := d.TangentShapes()
	if err != nil {
		return nil, nil, err
	}
	y, mean = mat.NewDense(len(rows), len(rows[0]), slices.Concat(rows...)), slices.Concat(shape...)
	for i := range rows {
		floats.Sub(y.RawRowView(i), mean)
	}
	return y, mean, nil
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func number(text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return v
}
