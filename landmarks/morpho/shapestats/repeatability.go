package shapestats

import (
	"fmt"
	"math"
	"slices"

	"anatomy/geom/stats/linear"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
)

// Repeatability is how much of the variation of repeated measurements is that of what was measured, and how much is error of measurement.
type Repeatability struct {
	// ICC is the intraclass correlation of one measurement (C. Lessells and P. Boag, Auk 104, 1987; C. Fruciano, Dev. Genes Evol. 226, 2016),
	//
	//	(MS_b − MS_w)/(MS_b + (m − 1) MS_w),
	//
	// with the mean squares between and within individuals and m measurements of each; of unequal numbers m_i, m = (N − Σm_i²/N)/(a − 1) for a
	// individuals. It is 1 without error, and about 0 or below where measurements of one individual are no more alike than those of several.
	ICC float64
	// Table is the analysis of variance by individual and session, if sessions were named: the systematic error and its test are in the second row,
	// the random error in that of the residuals.
	Table  *linear.ANOVA
	Noise  []float64 // [n], standard deviation of each landmark within individuals, all coordinates together, in centroid sizes
	Spread []float64 // [n], the same of the means of the individuals
}

// String is the table with the repeatability.
func (r *Repeatability) String() string {
	return fmt.Sprintf("%v\nrepeatability of one measurement: %.4f", r.Table, r.ICC)
}

// MeasureRepeatability compares repeated measurements of individuals: how much of the variance of shape is between individuals, and how much is
// error of measurement. Individuals are the categories of a factor, or of an Interaction of factors, such as the sides of each. A session is the
// factor of who measured, or when: its term separates a systematic error from a random one.
//
// The test of a session permutes the residuals of the individuals' means, which are exchangeable if sessions do not differ. It is an error if no
// individual was measured twice; other errors are those of Fit.
func MeasureRepeatability(d *morpho.Dataset, individual linear.Term, p linear.Permutations, session ...linear.Term) (_ *Repeatability, err error) {
	defer try.Named(&err, "repeatability of %s", d.Name)
	names, members := try.Get2(linear.Cells(len(d.Specimens), columns{d}, individual))
	n, a, squares := float64(len(d.Specimens)), float64(len(names)), 0.0
	for _, m := range members {
		squares += float64(len(m) * len(m))
	}
	try.FailIf(squares == n, "each category of %s was measured once", individual.Name())
	try.FailIf(a < 2, "there is one individual: measure at least two")
	m := try.Get(Fit(d, linear.Factor(individual.Name(), cells(names, members)...)))
	out := &Repeatability{Noise: make([]float64, len(m.Mean)), Spread: make([]float64, len(m.Mean))}
	dim := len(m.Mean[0])
	centre := lists.Mean(m.Fitted)
	within, between := 0.0, 0.0
	for i := range m.Fitted {
		for c, r := range m.Residuals[i] {
			b := m.Fitted[i][c] - centre[c]
			out.Noise[c/dim] += r * r / (n - a)
			out.Spread[c/dim] += b * b / (a - 1) * a / n
			within, between = within+r*r, between+b*b
		}
	}
	for l := range out.Noise {
		out.Noise[l], out.Spread[l] = math.Sqrt(out.Noise[l]), math.Sqrt(out.Spread[l])
	}
	within, between = within/(n-a), between/(a-1)
	out.ICC = (between - within) / (between + ((n-squares/n)/(a-1)-1)*within)
	if len(session) > 0 {
		m = try.Get(Fit(d, append([]linear.Term{linear.Factor(individual.Name(), cells(names, members)...)}, session...)...))
	}
	out.Table = try.Get(m.ANOVA(p))
	return out, nil
}

// cells is the name of each sample's cell.
func cells(names []string, members [][]int) []string {
	out := make([]string, len(slices.Concat(members...)))
	for c, m := range members {
		for _, i := range m {
			out[i] = names[c]
		}
	}
	return out
}
