package linear

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Model is rows of numbers y_i explained by a design: y_i = Σ_c x_ic β_c + residual_i with the columns x of the design, the constant before them.
type Model struct {
	Design            *Design
	Columns           []string    // "constant", and those of the design
	Coefficients      [][]float64 // [columns][p], β: change of y for a unit of the column
	Fitted, Residuals [][]float64 // [N][p], Σ_c x_ic β_c and what is left

	whole   *stratum   // of all samples
	errorOf []*stratum // of each term
}

// rounding bounds the share of a row that floating point leaves of what should be 0: less counts as 0.
const rounding = 1e-13

// Fit explains rows, [N][p], by least squares, with the weights of the design. Samples are taken to be independent, but
// for terms Over others; see FitOnTree for species. It is an error if no degrees of freedom are left, or the levels of the error of a term
// are not exchangeable (see Term.Over), as they are not with weights.
func (d *Design) Fit(y [][]float64) (*Model, error) { return d.fit(y, nil) }

// Tree is a phylogeny. Contrasts returns phylogenetically independent contrasts of its leaves, [N − 1][k], of values [N][k], and the best linear
// unbiased estimate of the values at the root.
type Tree interface {
	Contrasts(values [][]float64) (contrasts [][]float64, root []float64, err error)
}

// FitOnTree is Fit for species, the leaves of a tree in its order: phylogenetic generalised least squares (PGLS). The residuals are those of
// Brownian motion along the tree, of covariance V between leaves, and the coefficients are (XᵀV⁻¹X)⁻¹XᵀV⁻¹Y. Sums of squares are those of
// phylogenetically independent contrasts (Felsenstein, Am. Nat. 125, 1985), in the unit of y² divided by that of the tree's lengths: contrasts
// of the rows are explained by those of the columns, through the origin, which is the regression of V^(-½)Y on V^(-½)X (D. Adams and M.
// Collyer, Phylogenetic ANOVA: group-clade aggregation, biological challenges, and a refined permutation procedure, Evolution 72, 2018),
// without matrices of the size of the tree.
//
// Exchangeable under the null hypothesis are the contrasts, once the terms before are taken away, with either sign, which is that of the
// order of two children. It is so if y evolves by Brownian motion: where it has less phylogenetic signal, or its rate
// changes, F is not what it is compared with. A category that arose once on a binary tree is one contrast, and its p no less than one
// divided by their number. It has the errors of Fit and of the tree, and is one if the design has weights or a term is tested Over another.
func (d *Design) FitOnTree(y [][]float64, t Tree) (*Model, error) { return d.fit(y, t) }

// categories says of the factors of the terms how many categories they have.
func (d *Design) categories() string {
	var words []string
	for _, c := range slices.Concat(d.of...) {
		for _, p := range c.parts {
			if word := fmt.Sprintf("%s for %d categories", p.term, len(p.levels)); p.level != "" && !slices.Contains(words, word) {
				words = append(words, word)
			}
		}
	}
	if words == nil {
		return ""
	}
	return " (which take " + strings.Join(words, " and ") + ")"
}

func (d *Design) fit(rows [][]float64, t Tree) (_ *Model, err error) {
	defer try.Catch(&err)
	n := d.n
	try.FailIf(len(rows) != n, "%d rows for %d samples", len(rows), n)
	alike(rows)
	if len(d.with) <= len(d.basis) {
		try.Fail("%d samples leave no degrees of freedom beside the %d of the terms and the mean%s; take more samples, or fewer terms",
			len(d.with), len(d.basis), d.categories())
	}
	y, size := mat.NewDense(len(d.with), len(rows[0]), nil), 0.0
	for k, i := range d.with {
		floats.AddScaled(y.RawRowView(k), d.root[k], rows[i])
		size = max(size, floats.Norm(rows[i], 2))
	}
	try.FailIf(math.IsNaN(size) || math.IsInf(size*size, 1), "a row has the norm %g: take another unit", size)
	m := &Model{Design: d, Columns: append([]string{"constant"}, d.Columns...)}
	m.whole = &stratum{response: &response{y: y}, frame: d.frame, blocks: d.blocks, cells: d.cells(), name: "residuals", negligible: float64(n) * rounding * rounding * size * size}
	u := d.coefficients(y) // of the columns (1, z)
	if t != nil {
		u = m.contrast(t)
	}
	for k, term := range d.terms {
		m.errorOf = append(m.errorOf, m.whole)
		if term.over == "" {
			continue
		}
		e := k + 1
		for e < len(d.terms) && d.terms[e].name != term.over {
			e++
		}
		about := fmt.Sprintf("the term %s is tested over %s", term.name, term.over)
		try.FailIf(t != nil || d.weighted, "%s: on a tree, and with weights, terms are tested over the residuals", about)
		try.FailIf(e == len(d.terms), "%s, which is not among the terms after it", about)
		try.Do(try.Name(try.Run(func() { m.errorOf[k] = m.whole.over(k+1, e+1, d.of[e], term.over) }), "%s", about))
	}
	var fitted mat.Dense
	fitted.Mul(d.z, u)
	for i, row := range rows {
		m.Fitted = append(m.Fitted, fitted.RawRowView(i))
		m.Residuals = append(m.Residuals, floats.SubTo(make([]float64, len(row)), row, m.Fitted[i]))
	}
	d.unstandardise(u)
	for c := range m.Columns {
		m.Coefficients = append(m.Coefficients, u.RawRowView(c))
	}
	return m, nil
}

// String says what explains which share of the sum of squares.
func (m *Model) String() string {
	names := []string{"constant"}
	for _, t := range m.Design.terms {
		names = append(names, t.name)
	}
	residual, squares := m.whole.squares(m.whole.y)
	explained := floats.Sum(squares[1:])
	on := ""
	if m.whole.exchange != Order {
		on = " on a tree"
	}
	return fmt.Sprintf("%d samples%s by %s: R² %.4f", len(m.Fitted), on, strings.Join(names, ", "), explained/(explained+residual))
}

// Predict returns the expected row, [p], of a sample with these covariates: a category or a number for the name of each Factor and Covariate;
// others are not looked at. On a tree it is that of a species of which nothing else is known, not even its relatives.
//
// It is an error if one is missing, is no number or not one of the categories, or if the samples do not determine its effect: a combination
// of categories that was never seen, with their Interaction in the model.
func (m *Model) Predict(covariates map[string]string) (_ []float64, err error) {
	defer try.Named(&err, "prediction")
	solve.NotNil(m)
	out := make([]float64, len(m.Fitted[0]))
	for c, v := range m.Design.row(1, func(c column) float64 { return c.at(covariates) }) {
		floats.AddScaled(out, v, m.Coefficients[c])
	}
	return out, nil
}

// RegressionScores returns ⟨y_i − ȳ, b⟩/|b| of the samples, [N]: how far each row y, from the mean, goes along the coefficient b of a term
// that is a number (Drake and Klingenberg, Proc. R. Soc. B 275, 2008). Plotted against the number they show the predicted trend, and the
// residual variation along that direction. It is an error if the term is not in the model, has several columns, or does nothing.
func (m *Model) RegressionScores(t Term) (_ []float64, err error) {
	defer try.Named(&err, "regression scores")
	solve.NotNil(m)
	k := m.number(t)
	first := m.Design.blocks[k+1][0]
	df := m.Design.blocks[k+1][1] - first
	try.FailIf(df > 1, "the term %s has %d columns, and so no one direction", t.name, df)
	b := m.Coefficients[first]
	size := floats.Norm(b, 2)
	try.FailIf(size == 0, "the term %s does nothing", t.name)
	out := lists.Make(len(m.Fitted), func(i int) float64 { return (floats.Dot(m.Fitted[i], b) + floats.Dot(m.Residuals[i], b)) / size })
	floats.AddConst(-floats.Sum(out)/float64(len(out)), out)
	return out, nil
}

// number is that of a term of the model, counted from 0.
func (m *Model) number(t Term) int {
	k := slices.IndexFunc(m.Design.terms, func(other Term) bool { return other.name == t.name })
	try.FailIf(k < 0, "no term %s in the model", t.name)
	return k
}

// SumsOfSquares says beside which other terms a term is tested.
type SumsOfSquares int

const (
	// TypeI tests a term beside those before it: sums of squares add up, and depend on the order of the terms. What later terms do to unbalanced
	// groups counts for an earlier one: of 2000 samples in which the second of two factors has an effect, it found the first in 11 %, and types II and
	// III in 6 %.
	TypeI SumsOfSquares = iota
	// TypeII tests a term beside all those that do not contain it, as the interaction a:b contains a and b.
	TypeII
	// TypeIII tests a term beside all others, for the mean over the categories of each factor and at the mean of each number: the columns of a factor
	// sum to 0 over its categories, and numbers are centred.
	TypeIII
)

func (t SumsOfSquares) String() string { return [...]string{"I", "II", "III"}[t] }

// ANOVA is the table of Model.ANOVA: a row for each term in the order in which they were given, then "residuals" and "total".
type ANOVA struct {
	Rows         []ANOVARow
	Type         SumsOfSquares
	Permutations int
}

// ANOVARow is a row of an ANOVA.
type ANOVARow struct {
	Term string
	DF   int     // degrees of freedom
	SS   float64 // sum of squares
	MS   float64 // SS/DF
	R2   float64 // share of the total sum of squares
	Over string  // the term by whose MS the F is, "residuals" where none was named; empty for residuals and total
	F    float64 // MS divided by that of Over, +Inf if the terms explain all there is; NaN for residuals and total, as P and Z
	P    float64 // the p-value of F
	// Z is the effect size: by how many standard deviations the logarithm of F is above the mean of those of the draws, the data as they are being
	// one of them (M. Collyer, D. Sekora and D. Adams, Heredity 115, 2015, there of the distribution of F itself). It is NaN where F or a draw is 0 or
	// infinite, or there are fewer than two draws.
	Z float64
}

// String is the table.
func (a *ANOVA) String() string {
	lines := []string{"\tDF\tSS\tMS\tR²\tF\tZ\tp"}
	for _, r := range a.Rows {
		line := fmt.Sprintf("%s\t%d\t%.5g\t%.5g\t%.4f\t", r.Term, r.DF, r.SS, r.MS, r.R2)
		if r.Over != "" {
			line += fmt.Sprintf("%.3f\t%.2f\t%.3g", r.F, r.Z, r.P)
		} else {
			line += "\t\t"
		}
		if r.Over != "" && r.Over != "residuals" {
			line += "\tover " + r.Over
		}
		lines = append(lines, line)
	}
	five := Test{0.05, a.Permutations}
	return fmt.Sprintf("%s\n%d permutations of residuals: a p of 0.05 has the standard error %.1g", Table(lines), a.Permutations, five.StandardError())
}

// ANOVA is ANOVAOfType for sums of squares of type I: each term is tested in addition to the terms before it.
func (m *Model) ANOVA(p Permutations) (*ANOVA, error) {
	solve.NotNil(m)
	return m.ANOVAOfType(TypeI, p)
}

// ANOVAOfType returns the analysis of variance of the model with sums of squares of a type (Goodall, J. R. Statist. Soc. B 53,
// 1991; Anderson, Austral Ecology 26, 2001), and a permutation test of each term.
//
// A term is tested by permuting the residuals of the model with those terms in addition to which it is tested (Freedman and
// Lane 1983; Collyer, Sekora and Adams, Heredity 115, 2015). What is permuted is exchangeable under the null hypothesis:
// samples; or the levels of the term that it is tested Over; or contrasts on a tree.
//
// If several samples belong to one individual or litter, test a treatment of the whole individual Over the individuals. Species
// with a phylogeny need FitOnTree. Otherwise a term becomes significant by chance, because samples that belong together are not
// independent.
//
// It is an error if sums of squares are of type II or III and a term is tested Over another one, or of type III and the samples
// do not determine a column: a combination of categories without samples whose Interaction is in the model.
func (m *Model) ANOVAOfType(of SumsOfSquares, p Permutations) (out *ANOVA, err error) {
	solve.NotNil(m)
	const what = "analysis of variance"
	defer try.Named(&err, what)
	try.FailIf(len(m.Design.terms) == 0, "the model has no terms: add at least one")
	residual, squares := m.whole.squares(m.whole.y)
	total := floats.Sum(squares[1:]) + residual
	out = &ANOVA{Type: of, Permutations: p.N}
	row := func(term string, df int, ss float64) *ANOVARow {
		out.Rows = append(out.Rows, ANOVARow{Term: term, DF: df, SS: ss, MS: ss / float64(df), R2: ss / total, F: math.NaN(), P: math.NaN(), Z: math.NaN()})
		return &out.Rows[len(out.Rows)-1]
	}
	hypotheses := make([]hypothesis, len(m.Design.terms))
	var strata []*stratum // whose rows are permuted
	for k, t := range m.Design.terms {
		h, in := hypothesis{m.errorOf[k], k + 1, k + 2}, m.errorOf[k]
		if of != TypeI {
			h.stratum = m.beside(k, of)
			h.from, h.to = 1, 2
			_, blocks := h.squares(h.y)
			squares[k+1] = blocks[1]
		}
		if hypotheses[k] = h; !slices.Contains(strata, in) {
			strata = append(strata, in)
		}
		r := row(t.name, m.whole.df(k+1, k+2), squares[k+1])
		r.Over, r.F = h.name, h.f(h.from, h.to, h.y)
	}
	for _, s := range strata {
		var which []int
		var some []hypothesis
		for k := range hypotheses {
			if m.errorOf[k] == s {
				which, some = append(which, k), append(some, hypotheses[k])
			}
		}
		tests, permuted := s.test(what, some, p)
		for i, k := range which {
			logs := []float64{math.Log(out.Rows[k].F)}
			for _, f := range permuted[i] {
				logs = append(logs, math.Log(f))
			}
			out.Rows[k].Z, out.Rows[k].P = NewEffect(logs).Z(), tests[i].P
			out.Permutations = min(out.Permutations, tests[i].Permutations)
		}
	}
	row("residuals", m.whole.left(), residual)
	row("total", len(m.Design.with)-1, total)
	return out, nil
}

// beside returns the whole stratum with its columns in the order in which a term is tested: the columns beside which it is, with the constant, its own
// and the others.
func (m *Model) beside(k int, of SumsOfSquares) *stratum {
	d, s := m.Design, m.whole
	for _, t := range d.terms {
		try.FailIf(t.over != "", "the term %s is tested over %s: sums of squares are of type I there", t.name, t.over)
	}
	x := s.x
	if of == TypeIII {
		turn := d.centred()
		if rows, _ := turn.Dims(); s.blocks[0][1] == 0 { // on a tree contrasts of the constant are 0
			turn = mat.DenseCopyOf(turn.Slice(1, rows, 1, rows))
		}
		x = new(mat.Dense)
		x.Mul(s.x, turn)
	}
	out := &stratum{response: s.response, name: s.name, negligible: s.negligible, exchange: s.exchange, cells: s.cells}
	add := func(block int) {
		for c := s.blocks[block][0]; c < s.blocks[block][1]; c++ {
			out.basis = orthonormal(out.basis, mat.Col(nil, c, x), independent)
		}
	}
	var behind []int
	add(0)
	for j, other := range d.terms {
		switch {
		case j == k:
		case of == TypeII && other.contains(d.terms[k]):
			behind = append(behind, j+1)
		default:
			add(j + 1)
		}
	}
	from := len(out.basis)
	add(k + 1)
	to := len(out.basis)
	for _, j := range behind {
		add(j)
	}
	try.FailIf(len(out.basis) < len(s.basis) || to-from < s.df(k+1, k+2),
		"the term %s is confounded with the terms beside which it is tested", d.terms[k].name)
	out.blocks = [][2]int{{0, from}, {from, to}, {to, len(out.basis)}}
	return out
}

// contains says whether an interaction has all parts of another term, and more.
func (t Term) contains(other Term) bool {
	return len(t.parts) > len(other.parts) && !slices.ContainsFunc(other.parts, func(name string) bool { return !slices.Contains(t.parts, name) })
}

// centred returns the matrix T by which the columns (1, z) become those of centred numbers and of categories that sum to 0 over each factor, and their
// products: (1, z) T.
func (d *Design) centred() *mat.Dense {
	const otherwise = "take sums of squares of type II"
	first := func(p part) bool { return p.level != "" && p.level == p.levels[0] }
	for _, r := range d.redundant {
		try.FailIf(!slices.ContainsFunc(r.parts, first), "the samples do not determine %s: %s", r.name(), otherwise)
	}
	values := mat.NewDense(len(d.with), len(d.columns)+1, nil)
	values.SetCol(0, d.rooted(slices.Repeat([]float64{1}, d.n)))
	for k, c := range d.columns {
		try.FailIf(slices.ContainsFunc(c.parts, first), "%s is a part of an interaction without a term of its own: %s", c.name(), otherwise)
		product := slices.Repeat([]float64{1}, d.n)
		for _, p := range c.parts {
			floats.Mul(product, p.centred())
		}
		values.SetCol(k+1, d.rooted(product))
	}
	turn := d.coefficients(values)
	var missed mat.Dense
	missed.Mul(d.x, turn)
	missed.Sub(&missed, values)
	try.FailIf(mat.Norm(&missed, 2) > 1e-9*mat.Norm(values, 2), "a part of an interaction has no term of its own: %s", otherwise)
	return turn
}

// Partial is the test of the last terms of a model together.
type Partial struct {
	R2       float64 // the share that they explain of what the terms before leave
	Permuted []float64
	Test
}

// Partial tests the terms from number k on, counted from 0, beside those before, as ANOVA tests one.
func (m *Model) Partial(k int, p Permutations) (_ *Partial, err error) {
	defer try.Catch(&err)
	solve.NotNil(m)
	terms := len(m.Design.terms)
	try.FailIf(k < 0 || k >= terms, "partial test from term %d: the model has %d, counted from 0", k, terms)
	s, last := m.whole, len(m.whole.blocks)
	df, left := float64(s.df(k+1, last)), float64(s.left())
	share := func(f float64) float64 {
		if math.IsInf(f, 1) {
			return 1
		}
		return f * df / (f*df + left)
	}
	h := hypothesis{s, k + 1, last}
	out := &Partial{R2: share(h.f(h.from, h.to, h.y))}
	tests, permuted := s.test("partial R²", []hypothesis{h}, p)
	out.Test, out.Permuted = tests[0], lists.Each(permuted[0], share)
	return out, nil
}

// contrast has contrasts of the tree in place of samples, so that the constant is 0 in all of them, and returns the coefficients of the
// columns (1, z).
func (m *Model) contrast(t Tree) *mat.Dense {
	y, x := m.whole.y, m.whole.x
	try.FailIf(m.Design.weighted, "on a tree the samples have no weights of their own")
	n, p := y.Dims()
	_, columns := x.Dims()
	values := lists.Make(n, func(i int) []float64 { return slices.Concat(y.RawRowView(i), x.RawRowView(i)[1:]) })
	contrasts, root := try.Get2(t.Contrasts(values))
	s := &stratum{response: &response{y: mat.NewDense(n-1, p, nil)}, name: m.whole.name, exchange: OrderAndSigns}
	for i, c := range contrasts {
		s.y.SetRow(i, c[:p])
	}
	_, centred := m.whole.fit(y, 1)
	scale := mat.Norm(s.y, 2) / mat.Norm(centred, 2)
	s.negligible = m.whole.negligible * scale * scale
	for _, b := range m.whole.blocks {
		s.blocks = append(s.blocks, [2]int{max(0, b[0]-1), b[1] - 1})
	}
	out := mat.NewDense(columns, p, nil)
	out.SetRow(0, root[:p])
	if columns > 1 {
		x := mat.NewDense(n-1, columns-1, nil)
		for i, c := range contrasts {
			x.SetRow(i, c[p:])
		}
		for c := range columns - 1 {
			s.basis = orthonormal(s.basis, mat.Col(nil, c, x), independent)
		}
		try.FailIf(len(s.basis) < columns-1, "on this tree the terms are nearly collinear: leave one of them out")
		s.frame = newFrame(x, s.basis)
		slopes := s.coefficients(s.y)
		for c := range columns - 1 {
			out.SetRow(c+1, slopes.RawRowView(c))
			floats.AddScaled(out.RawRowView(0), -root[p+c], slopes.RawRowView(c))
		}
	}
	m.whole = s
	return out
}
