package linear

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
)

// Pair compares two categories of a factor.
type Pair struct {
	A, B     string
	Distance float64 // of their means, or of their slopes by the unit of the number
	P        float64 // the p-value of Distance
	Limit    float64 // Distance is at most so in 95 % of the draws, the data being one of them; of more than 10,000 draws by the first ones
	Angle    float64 // between their slopes, in [0, π]; NaN for means
	PAngle   float64 // the p-value of Angle
}

// Pairs are all pairs of categories of a factor. Each p-value is that of one comparison: for an error of 5 % in all k of them ask for
// 5 %/k of each (Bonferroni).
type Pairs []Pair

// String is a table with a row per pair.
func (p Pairs) String() string {
	angles := len(p) > 0 && !math.IsNaN(p[0].Angle)
	lines := []string{"\tdistance\tp"}
	if angles {
		lines[0] += "\tangle\tp"
	}
	for _, r := range p {
		line := fmt.Sprintf("%s – %s\t%.5g\t%.3g", r.A, r.B, r.Distance, r.P)
		if angles {
			line += fmt.Sprintf("\t%.1f°\t%.3g", r.Angle*180/math.Pi, r.PAngle)
		}
		lines = append(lines, line)
	}
	return Table(lines)
}

// PairsOfMeans compares the means of the categories of a factor, each for samples that have the other covariates of all
// (least-squares means). Exchangeable under the null hypothesis, that all categories have one mean, are the residuals of the model without
// the factor and its interactions, scaled to the variance of errors, among samples, or among contrasts on a tree. It is an error if the factor is
// not in the model, is tested Over another term, or the samples do not determine a mean: a combination of categories that was never
// seen, with their Interaction in the model.
func (m *Model) PairsOfMeans(factor Term, p Permutations) (Pairs, error) {
	solve.NotNil(m)
	return m.pairs("pairs of means", factor.name, 1, func(c column, level string) float64 { return m.average(c, map[string]string{factor.name: level}, -1) },
		func(c column) bool { return c.has(factor.name) }, p)
}

// PairsOfSlopes compares by how much, Distance, and to what direction, Angle, samples of the categories of a factor change for a unit of a
// number, such as the logarithm of size: their allometries, which Interaction(number, factor) lets be different (Collyer and Adams, Ecology
// 88, 2007). Exchangeable under the null hypothesis, that all have one slope, are the residuals of the model without this interaction and those
// that contain it, scaled as for PairsOfMeans. What that model fits is given: a draw changes only what the interaction adds to it. If it also
// carried noise of the common slope, which the estimate has already, its angles would be too small.
//
// The model is to have all known groups, and their own slopes if these differ. Where one is left out, the residuals depend on the number, and
// p-values are too small: of random halves of the salamanders of morpho.Plethodon, of two species at two sites, 21 % had different slopes at 5 %
// in the model of size alone, 6 % with species and sites, and 5 % with the slopes of these. The errors are those of PairsOfMeans, and a model
// without the interaction.
func (m *Model) PairsOfSlopes(factor, number Term, p Permutations) (Pairs, error) {
	solve.NotNil(m)
	both := func(c column) bool { return c.has(factor.name) && c.has(number.name) && c.level(number.name) == "" }
	return m.pairs("pairs of slopes", factor.name, 0, func(c column, level string) float64 {
		sum := 0.0 // the derivative of a product
		for i, part := range c.parts {
			if part.term == number.name {
				sum += m.average(c, map[string]string{factor.name: level}, i)
			}
		}
		return sum
	}, both, p)
}

// average returns the mean of a column over samples that all have these levels of some factors, without one of its parts.
func (m *Model) average(c column, at map[string]string, without int) float64 {
	sum := 0.0
	for i := range c.values {
		product := 1.0
		for k, p := range c.parts {
			level, fixed := at[p.term]
			switch {
			case k == without:
			case fixed:
				product *= indicator(p.level == level)
			default:
				product *= p.values[i]
			}
		}
		sum += product
	}
	return sum / float64(len(c.values))
}

// pairs compares the vectors of the levels of a factor whose rows of the design have this constant and these coefficients: means, with the constant 1, or
// slopes, with 0, which have angles.
func (m *Model) pairs(what, factor string, constant float64, coefficient func(c column, level string) float64, without func(c column) bool, p Permutations) (out Pairs, err error) {
	defer try.Named(&err, "%s", what)
	levels := m.compared(without, factor)[0]
	rows := m.rows(levels, constant, func(c column, i int) float64 { return coefficient(c, levels[i]) })
	drawn := make([][]float64, len(levels)*(len(levels)-1)/2) // distances of the data and of the draws
	seen := func(values []float64) {
		for k := range drawn {
			if len(drawn[k]) <= 10000 {
				drawn[k] = append(drawn[k], values[2*k])
			}
		}
	}
	numbers, tests := m.compare(what, rows, without, p, seen, func(vectors *mat.Dense) (out []float64) {
		for a, b := range Twos(len(levels)) {
			x, y := vectors.RawRowView(a), vectors.RawRowView(b)
			out = append(out, floats.Distance(x, y, 2), math.NaN())
			if constant == 0 {
				out[len(out)-1] = angle(x, y)
			}
		}
		return out
	})
	for a, b := range Twos(len(levels)) {
		k := len(out)
		slices.Sort(drawn[k])
		out = append(out, Pair{A: levels[a], B: levels[b], Distance: numbers[2*k], P: tests[2*k].P, Angle: numbers[2*k+1], PAngle: tests[2*k+1].P,
			Limit: stat.Quantile(0.95, stat.Empirical, drawn[k], nil)})
	}
	return out, nil
}

// Twos are the pairs a < b of n.
func Twos(n int) iter.Seq2[int, int] {
	return func(yield func(a, b int) bool) {
		for a := range n {
			for b := a + 1; b < n; b++ {
				if !yield(a, b) {
					return
				}
			}
		}
	}
}

// compared returns the levels of factors that a test can compare with the model without some columns, of which there is to be one.
func (m *Model) compared(without func(c column) bool, factors ...string) (levels [][]string) {
	for _, factor := range factors {
		levels = append(levels, m.levels(factor))
		try.FailIf(len(levels[len(levels)-1]) == 0, "no factor %s in the model", factor)
		for _, t := range m.Design.terms {
			try.FailIf(slices.Contains(t.parts, factor) && t.over != "",
				"the term %s is tested over %s, and pairs are compared by the residuals: take the means of the levels of %[2]s", t.name, t.over)
		}
	}
	try.FailIf(!slices.ContainsFunc(m.Design.columns, without),
		"the model has no interaction of the two, so it gives all groups one slope: add linear.Interaction to the model")
	return levels
}

// rows returns rows of the design matrix, or linear functions of such, with these names.
func (m *Model) rows(names []string, constant float64, coefficient func(c column, i int) float64) *mat.Dense {
	out := mat.NewDense(len(names), len(m.Columns), nil)
	for i, name := range names {
		err := try.Run(func() { out.SetRow(i, m.Design.row(constant, func(c column) float64 { return coefficient(c, i) })) })
		try.Do(try.Name(err, "%s", name))
	}
	return out
}

// compare returns numbers that compare the vectors rows · coefficients, and their tests, by permuting the residuals r of the model without
// some columns; seen, if it is not nil, gets those of the data and of each draw. A draw is ŷ + (1 − H)Πr with its fit ŷ and its projection H: of
// normal errors ŷ and r are independent, so that the test
// is that given ŷ, whatever ŷ is, as of angles to it.
func (m *Model) compare(what string, rows *mat.Dense, without func(c column) bool, p Permutations, seen func(values []float64), numbers func(vectors *mat.Dense) []float64) ([]float64, []Test) {
	d := m.Design
	null := &stratum{}
	first := m.whole.x.RawMatrix().Cols - len(d.columns) // 1 with the constant, which contrasts have not
	if first == 1 {
		null.basis = orthonormal(null.basis, mat.Col(nil, 0, m.whole.x), 0)
	}
	for c, column := range d.columns {
		if !without(column) {
			null.basis = orthonormal(null.basis, mat.Col(nil, c+first, m.whole.x), independent)
		}
	}
	// Rows in the columns (1, z) of the model's x.
	count, columns := rows.Dims()
	z := mat.DenseCopyOf(rows)
	for k, scale := range d.scale {
		for i := range count {
			z.Set(i, k+1, (rows.At(i, k+1)-rows.At(i, 0)*d.Origin[k])/scale)
		}
	}
	var weights mat.Dense // the vectors are rows · β = weights · y
	weights.Product(z.Slice(0, count, 1-first, columns), m.whole.inverse, dense.Rows(m.whole.basis))
	y := m.whole.short()
	var vectors, fitted mat.Dense
	vectors.Mul(&weights, y)
	observed := numbers(&vectors)
	if seen != nil {
		seen(observed)
	}
	_, residuals := null.fit(y, len(null.basis))
	fitted.Sub(y, residuals)
	vectors.Mul(&weights, &fitted)
	// Residuals vary less than errors, by the columns that were fitted, and a distance is no ratio to them as F is.
	r := float64(y.RawMatrix().Rows)
	residuals.Scale(math.Sqrt((r-float64(first))/(r-float64(len(null.basis)))), residuals)
	_, beside := null.fit(mat.DenseCopyOf(weights.T()), len(null.basis))
	weights.Copy(beside.T())
	sums := newSums(&weights, m.whole.cells)
	return observed, try.Get(p.OnCores(what, int(r), m.whole.exchange, observed, func() statistic {
		project := sums.of(residuals, &vectors)
		return func(d *Draw) ([]float64, error) { return numbers(project(d)), nil }
	}, seen))
}

// levels are the categories of a factor in the order of the samples.
func (m *Model) levels(factor string) []string {
	first := map[string]int{} // sample of a category
	for _, c := range slices.Concat(m.Design.of...) {
		for _, p := range c.parts {
			if p.term == factor && p.level != "" {
				first[p.level] = slices.Index(p.values, 1)
			}
		}
	}
	return slices.SortedFunc(maps.Keys(first), func(a, b string) int { return first[a] - first[b] })
}

// angle is that between vectors, exact also for nearly parallel ones; NaN if one is 0.
func angle(x, y []float64) float64 {
	less, more := make([]float64, len(x)), make([]float64, len(x))
	floats.AddScaled(less, 1/floats.Norm(x, 2), x)
	copy(more, less)
	floats.AddScaled(less, -1/floats.Norm(y, 2), y)
	floats.AddScaled(more, 1/floats.Norm(y, 2), y)
	return 2 * math.Atan2(floats.Norm(less, 2), floats.Norm(more, 2))
}

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
