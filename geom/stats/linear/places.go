package linear

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
)

// Places tests a term in each column of the rows alone. Columns are places, such as the cells of a template, where each sample has one
// number.
type Places struct {
	F []float64 // the F of the term at each place, beside the terms that do not contain it; 0 where the term explains nothing
	// P is corrected for all places: the share of permutations whose largest F is as large. If the term has no effect at any place, some P
	// is at most 5 % in 5 % of experiments.
	P            []float64
	Least        float64 // the least P: that of the hypothesis that the term has no effect anywhere
	Permutations int     // how many were drawn
}

// String returns the least p-value, and at how many places p is at most 0.05.
func (p *Places) String() string {
	significant := 0
	for _, q := range p.P {
		if q <= 0.05 {
			significant++
		}
	}
	return fmt.Sprintf("%v, corrected for %d places; p ≤ 0.05 at %d of them", Test{p.Least, p.Permutations}, len(p.P), significant)
}

// Places tests a term at each place, as ANOVAOfType with TypeII tests it for all columns together. Permutations of the residuals give the
// distribution of the largest F of all places (Westfall and Young, Resampling-Based Multiple Testing, 1993; Nichols and Holmes, Human Brain Mapping
// 15, 2001). It is an error if the term is not in the model or confounded with others, and if a term is tested Over another.
func (m *Model) Places(t Term, p Permutations) (out *Places, err error) {
	const what = "places"
	solve.NotNil(m)
	defer try.Named(&err, what)
	s := m.beside(m.number(t), TypeII)
	_, reduced := s.fit(s.y, s.blocks[1][0])
	rows, columns := reduced.Dims()
	totals, f := make([]float64, columns), make([]float64, columns)
	for i := range rows {
		for c, v := range reduced.RawRowView(i) {
			totals[c] += v * v
		}
	}
	of := func(explained *mat.Dense) {
		for c := range f {
			all, square := 0.0, 0.0
			for j := range s.basis {
				e := explained.At(j, c)
				all += e * e
				if s.blocks[1][0] <= j && j < s.blocks[1][1] {
					square += e * e
				}
			}
			f[c] = s.ratio(1, 2, square, max(0, totals[c]-all))
		}
	}
	project := newSums(dense.Rows(s.basis), s.cells).of(reduced, nil)
	of(project(newDraw(rows)))
	out = &Places{F: slices.Clone(f), Least: 1}
	tests := try.Get(p.Test(what, rows, s.exchange, out.F, func(d *Draw) ([]float64, error) {
		of(project(d))
		return slices.Repeat([]float64{floats.Max(f)}, columns), nil
	}))
	for _, test := range tests {
		out.P = append(out.P, test.P)
		out.Least, out.Permutations = min(out.Least, test.P), test.Permutations
	}
	return out, nil
}
