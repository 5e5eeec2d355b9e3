package morpho

import (
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Term is what may explain shapes in a LinearModel and its ANOVA.
type Term struct {
	name    string
	parts   []string                           // the names of the terms that it is the interaction of; its own if it is none
	columns func(d *Dataset) ([]column, error) // of the design matrix
	over    string                             // the name of the term whose mean square it is tested over; empty for the residuals
}

// column is one of a design matrix: the product of its parts, one of each term in an interaction.
type column struct {
	parts  []part
	values []float64 // [N]
}

type part struct {
	term   string
	level  string                                              // the category that it is 1 for, and 0 for others; empty for a number
	values []float64                                           // [N]
	at     func(covariates map[string]string) (float64, error) // for a specimen with these
}

func (c column) name() string {
	names := make([]string, len(c.parts))
	for i, p := range c.parts {
		names[i] = strings.TrimSuffix(p.term+" "+p.level, " ")
	}
	return strings.Join(names, ":")
}

// has tells whether a term has a part in the column.
func (c column) has(term string) bool {
	return slices.ContainsFunc(c.parts, func(p part) bool { return p.term == term })
}

// level is the category of a term in the column; empty if it has none.
func (c column) level(term string) string {
	for _, p := range c.parts {
		if p.term == term {
			return p.level
		}
	}
	return ""
}

// term is one that is no interaction.
func term(name string, parts func(d *Dataset) ([]part, error)) Term {
	return Term{name: name, parts: []string{name}, columns: func(d *Dataset) ([]column, error) {
		of, err := parts(d)
		columns := make([]column, len(of))
		for i, p := range of {
			columns[i] = column{[]part{p}, p.values}
		}
		return columns, err
	}}
}

// Factor is a covariate whose values are categories, or the group for "group". The first category in the data is the one that the others
// are compared with in a LinearModel.
func Factor(covariate string) Term {
	return term(covariate, func(d *Dataset) ([]part, error) {
		values, err := d.Column(covariate)
		if err != nil {
			return nil, err
		}
		var levels []string
		for i, v := range values {
			switch v {
			case "":
				return nil, fmt.Errorf("specimen %q has no %s", d.Specimens[i].Name, covariate)
			case "NA", "NaN":
				return nil, fmt.Errorf("specimen %q: %s is %s, by which R marks a value that is not known: leave the specimen out with Without, or name the category otherwise",
					d.Specimens[i].Name, covariate, v)
			}
			if !slices.Contains(levels, v) {
				levels = append(levels, v)
			}
		}
		var parts []part
		for _, level := range append(levels[1:len(levels):len(levels)], levels[0]) { // beside the mean, the last adds nothing
			p := part{covariate, level, make([]float64, len(values)), func(covariates map[string]string) (float64, error) {
				value := covariates[covariate]
				if !slices.Contains(levels, value) {
					return 0, fmt.Errorf("%s is %q, want one of %s", covariate, value, listNames(levels))
				}
				return indicator(value == level), nil
			}}
			for i, v := range values {
				p.values[i] = indicator(v == level)
			}
			parts = append(parts, p)
		}
		return parts, nil
	})
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

// quantity is a part of a term whose values are numbers.
func quantity(name string, values []float64) []part {
	return []part{{name, "", values, func(covariates map[string]string) (float64, error) {
		v, err := parseCoordinate(covariates[name])
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return 0, fmt.Errorf("%s is %q, want a number", name, covariates[name])
		}
		return v, nil
	}}}
}

// Covariate is a covariate whose values are numbers, on which shapes depend linearly.
func Covariate(covariate string) Term {
	return term(covariate, func(d *Dataset) ([]part, error) {
		values, err := d.Numbers(covariate)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("specimen %q: %s is %g", d.Specimens[i].Name, covariate, v)
			}
		}
		return quantity(covariate, values), nil
	})
}

// LogSize is the logarithm of the centroid size, "log size": allometry. It is an error if the shapes were scaled to one size before, so that
// only rounding or the method of scaling is left of it.
func LogSize() Term {
	const name = "log size"
	return term(name, func(d *Dataset) ([]part, error) {
		sizes := make([]float64, len(d.Specimens))
		for i, s := range d.Specimens {
			sizes[i] = math.Log(CentroidSize(s.Points))
		}
		least, most := slices.Min(sizes), slices.Max(sizes)
		if math.Max(-least, most) < 0.01 || most-least < 1e-6 {
			return nil, fmt.Errorf("centroid sizes are from %.6g to %.6g: the shapes were scaled to one size; %s", math.Exp(least), math.Exp(most), d.unscaled())
		}
		return quantity(name, sizes), nil
	})
}

// Interaction is that part of the dependence on several terms which is not the sum of theirs; the terms stand before it.
func Interaction(terms ...Term) Term {
	var names, parts []string
	for _, t := range terms {
		names, parts = append(names, t.name), append(parts, t.parts...)
	}
	return Term{name: strings.Join(names, ":"), parts: parts, columns: func(d *Dataset) ([]column, error) {
		ones := make([]float64, len(d.Specimens))
		floats.AddConst(1, ones)
		products := []column{{values: ones}}
		for _, t := range terms {
			columns, err := t.columns(d)
			if err != nil {
				return nil, err
			}
			var next []column
			for _, p := range products {
				for _, c := range columns {
					next = append(next, column{slices.Concat(p.parts, c.parts), floats.MulTo(make([]float64, len(ones)), p.values, c.values)})
				}
			}
			products = next
		}
		return products, nil
	}}
}

// Over returns the term with another error: its F is its mean square by that of a term which stands after it, in place of that of the
// residuals. Where individuals were measured several times, a treatment of individuals is tested over them,
//
//	treat := Factor("treatment").Over(Factor("individual"))        // terms: treat, Factor("individual")
//
// and of an individual's two sides, each measured several times, both individual and side over Interaction(individual, side), by which
// they are no more than fluctuating asymmetry (Klingenberg and McIntyre, Evolution 52, 1998).
//
// Exchangeable under the null hypothesis are then the levels of the error term, each a whole with its specimens, once the terms before
// are taken away: their means are analysed, and permuted (Anderson and ter Braak, J. Stat. Comput. Simul. 73, 2003). Each level must
// have as many specimens, and the term one value in it. What stands after a term is among what is permuted: where the sides differ, a test
// of individuals is a sharper one with side before them.
func (t Term) Over(error Term) Term {
	t.over = error.name
	return t
}

// ANOVA is the table of LinearModel.ANOVA: a row a term in the order in which they were given, then "residuals" and "total".
type ANOVA struct {
	Rows         []ANOVARow
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
	F    float64 // MS by that of Over, +Inf if the terms explain all there is; NaN for residuals and total, as P
	P    float64 // (1 + #{permuted F ≥ F})/(1 + permutations)
}

// table lays out lines of cells, each of which ends with a tab.
func table(write func(w io.Writer)) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	write(w)
	w.Flush()
	return strings.TrimSuffix(b.String(), "\n")
}

// String is the table.
func (a *ANOVA) String() string {
	rows := table(func(w io.Writer) {
		fmt.Fprintln(w, "\tDF\tSS\tMS\tR²\tF\tp\t")
		for _, r := range a.Rows {
			tail := "\t\t"
			if r.Over != "" {
				tail = fmt.Sprintf("%.3f\t%.3g\t", r.F, r.P)
			}
			if r.Over != "" && r.Over != "residuals" {
				tail += "  over " + r.Over
			}
			fmt.Fprintf(w, "%s\t%d\t%.5g\t%.5g\t%.4f\t%s\n", r.Term, r.DF, r.SS, r.MS, r.R2, tail)
		}
	})
	return fmt.Sprintf("%s\n%d permutations of residuals", rows, a.Permutations)
}

// ProcrustesANOVA explains the shapes of a data set by terms, one after the other (Goodall, J. R. Statist. Soc. B 53, 1991;
// Anderson, Austral Ecology 26, 2001): it is the ANOVA of FitLinear.
//
// The specimens are taken to be independent: what is exchangeable under the null hypothesis are the specimens, once the terms before are
// taken away. If some are of one individual, or of one litter, what was done to all of these is to be tested Over them, and species that have
// a phylogeny need FitLinearOnTree: by residuals of specimens that belong together, chance alone makes a term significant.
func ProcrustesANOVA(d *Dataset, permutations int, seed uint64, terms ...Term) (*ANOVA, error) {
	m, err := fitLinear(d, nil, terms)
	if err != nil {
		return nil, fmt.Errorf("Procrustes analysis of variance of %s: %w", d.Name, err)
	}
	return m.ANOVA(permutations, seed)
}

// ANOVA returns the table of sums of squares of Procrustes distances, of type I, which depend on the order of the terms. A term is tested by
// permuting the residuals of the model with the terms before it (Freedman and Lane 1983; Collyer, Sekora and Adams, Heredity 115, 2015),
// among specimens, or the levels of the term that it is tested Over, or contrasts on a tree: these are exchangeable under the null
// hypothesis. The seed fixes the permutations, of which a thousand less one are customary.
func (m *LinearModel) ANOVA(permutations int, seed uint64) (*ANOVA, error) {
	fail := func(err error) (*ANOVA, error) {
		return nil, fmt.Errorf("Procrustes analysis of variance of %s: %w", m.Data.Name, err)
	}
	if permutations < 1 {
		return fail(fmt.Errorf("%d permutations, want at least 1", permutations))
	}
	if len(m.terms) == 0 {
		return fail(errors.New("no terms"))
	}
	residual, squares := m.whole.squares(m.whole.y)
	total := floats.Sum(squares[1:]) + residual
	out := &ANOVA{Permutations: permutations}
	row := func(term string, df int, ss float64) *ANOVARow {
		out.Rows = append(out.Rows, ANOVARow{Term: term, DF: df, SS: ss, MS: ss / float64(df), R2: ss / total, F: math.NaN(), P: math.NaN()})
		return &out.Rows[len(out.Rows)-1]
	}
	for k, t := range m.terms {
		r := row(t.name, m.whole.df(k+1), squares[k+1])
		r.Over = m.errorOf[k].name
		r.F, r.P = m.errorOf[k].test(k+1, permutations, rand.New(rand.NewPCG(seed, 0)))
	}
	row("residuals", m.whole.left(), residual)
	row("total", len(m.Data.Specimens)-1, total)
	return out, nil
}

// stratum is a linear model with residuals that are exchangeable under the null hypothesis: of the rows of y, the residuals of the model
// with the terms before the one that is tested.
type stratum struct {
	y          *mat.Dense  // [R, n·d]
	x          *mat.Dense  // [R, m], of what explains y; nil for a stratum of levels
	basis      [][]float64 // [m][R], orthonormal, of x
	blocks     [][2]int    // from where to where in basis a term is, after the mean; empty for terms that are not of this stratum
	name       string      // of what is left
	negligible float64     // a sum of squares of rounding errors
	signs      bool        // the sign of a row is arbitrary
}

func (s *stratum) df(k int) int { return s.blocks[k][1] - s.blocks[k][0] }

// left is the number of degrees of freedom of the residuals.
func (s *stratum) left() int { return s.y.RawMatrix().Rows - len(s.basis) }

// over returns the stratum of the levels of term e, at which the columns of e differ, for the test of term k: rows are √m times the
// means of the m specimens of a level, and what the terms before e leave of them is e.
func (s *stratum) over(k, e int, columns []column, name string) (*stratum, error) {
	var levels [][]int // the specimens of each
	level := map[string]int{}
	for i := range s.basis[0] {
		var key strings.Builder
		for _, c := range columns {
			fmt.Fprint(&key, c.values[i], " ")
		}
		u, ok := level[key.String()]
		if !ok {
			u, levels = len(levels), append(levels, nil)
			level[key.String()] = u
		}
		levels[u] = append(levels[u], i)
	}
	least, most := len(levels[0]), 0
	for _, of := range levels {
		least, most = min(least, len(of)), max(most, len(of))
	}
	if least < most {
		return nil, fmt.Errorf("its levels have from %d to %d specimens, and can be exchanged only if all have as many: leave some out with Without, or take the means", least, most)
	}
	root := math.Sqrt(float64(most))
	out := &stratum{y: mat.NewDense(len(levels), s.y.RawMatrix().Cols, nil), blocks: make([][2]int, e), name: name, negligible: s.negligible}
	for u, of := range levels {
		for _, i := range of {
			floats.AddScaled(out.y.RawRowView(u), 1/root, s.y.RawRowView(i))
		}
	}
	// An orthonormal column that is the same in each level is one of the means, and one that is not is of the differences within levels, if
	// it is no mixture of both.
	count := 0
	for j := range e + 1 {
		from := len(out.basis)
		for _, q := range s.basis[s.blocks[j][0]:s.blocks[j][1]] {
			means := make([]float64, len(levels))
			off := 0.0
			for u, of := range levels {
				means[u] = q[of[0]] * root
				for _, i := range of {
					off = math.Max(off, math.Abs(q[i]-q[of[0]]))
				}
			}
			switch {
			case off < 1e-6/math.Sqrt(float64(len(q))):
				count++
				if j < e {
					out.basis = append(out.basis, means)
				}
			case j == k:
				return nil, errors.New("it varies within the levels of that term, or is confounded with a term before that does")
			}
		}
		if j < e {
			out.blocks[j] = [2]int{from, len(out.basis)}
		}
	}
	if count < len(levels) {
		return nil, errors.New("a term before that one varies both between its levels and within them, or its values are no categories")
	}
	return out, nil
}

// columns returns the first m of the basis, [m, R], for m > 0.
func (s *stratum) columns(m int) *mat.Dense {
	return mat.NewDense(m, len(s.basis[0]), slices.Concat(s.basis[:m]...))
}

// fit returns what the first m columns of the basis explain of x, by these columns [m, n·d], and its residuals.
func (s *stratum) fit(x *mat.Dense, m int) (explained, residuals *mat.Dense) {
	residuals = mat.DenseCopyOf(x)
	if m == 0 {
		return nil, residuals
	}
	q := s.columns(m)
	var fitted mat.Dense
	explained = new(mat.Dense)
	explained.Mul(q, x)
	fitted.Mul(q.T(), explained)
	residuals.Sub(x, &fitted)
	return explained, residuals
}

// squares returns the sum of squares of the residuals of x and those of the terms. That of the residuals is no difference of sums, which
// would cancel where the terms explain nearly everything.
func (s *stratum) squares(x *mat.Dense) (residual float64, terms []float64) {
	explained, residuals := s.fit(x, len(s.basis))
	if residual = sumOfSquares(residuals); residual <= s.negligible {
		residual = 0
	}
	terms = make([]float64, len(s.blocks))
	for k, b := range s.blocks {
		if s.df(k) > 0 {
			terms[k] = sumOfSquares(explained.Slice(b[0], b[1], 0, x.RawMatrix().Cols))
		}
	}
	return residual, terms
}

// narrow returns rows as long as those of x and at the same angles, in no more columns than there are rows.
func narrow(x *mat.Dense) *mat.Dense {
	rows, columns := x.Dims()
	if columns <= rows {
		return x
	}
	var lq mat.LQ
	var l mat.Dense
	lq.Factorize(x)
	lq.LTo(&l)
	return mat.DenseCopyOf(l.Slice(0, rows, 0, rows))
}

func sumOfSquares(x mat.Matrix) float64 {
	size := mat.Norm(x, 2)
	return size * size
}

// f is the F of term k in x.
func (s *stratum) f(k int, x *mat.Dense) float64 {
	residual, squares := s.squares(x)
	return s.ratio(k, squares[k], residual)
}

// ratio is F by the sums of squares of term k and of the residuals: +Inf where nothing is left, and 0 where nothing was to be explained.
func (s *stratum) ratio(k int, square, residual float64) float64 {
	if square <= s.negligible {
		return 0
	}
	return square / float64(s.df(k)) / (residual / float64(s.left()))
}

// test returns the F of term k and the share of permutations with as large a one. What is permuted has no part in the terms before, and what
// the model with them fits has none in this one and those after it.
func (s *stratum) test(k, permutations int, rng *rand.Rand) (f, p float64) {
	f = s.f(k, s.y)
	_, reduced := s.fit(s.y, s.blocks[k][0])
	total := sumOfSquares(reduced)
	by := s.explainByColumns // in as many steps a permutation as the basis has columns, times R times n·d
	if rows, columns := reduced.Dims(); 4*rows < len(s.basis)*columns && rows <= 4000 {
		by = s.explainByProducts // in about 4 R² steps, and the memory of three matrices of R² numbers
	}
	explain := by(k, reduced)
	extreme := 1
	for range permutations {
		order, signs := s.permutation(rng)
		all, square := explain(order, signs)
		permuted := s.ratio(k, square, total-all)
		if total-all < 1e-3*total { // the difference has cancelled
			permuted = s.f(k, inOrder(reduced, order, signs))
		}
		if permuted >= f*(1-1e-10) {
			extreme++
		}
	}
	return f, float64(extreme) / float64(1+permutations)
}

// explainByColumns returns a function that tells which sums of squares the whole basis and term k explain of the permuted rows of x: it
// permutes the columns of the basis in place of the rows of x, which are many numbers each, and multiplies them by x.
func (s *stratum) explainByColumns(k int, x *mat.Dense) func(order []int, signs []float64) (all, term float64) {
	q := s.columns(len(s.basis))
	permuted := mat.DenseCopyOf(q)
	var explained mat.Dense
	return func(order []int, signs []float64) (all, term float64) {
		permuteColumns(permuted, q, order, signs)
		explained.Mul(permuted, x)
		return sumOfSquares(&explained), sumOfSquares(explained.Slice(s.blocks[k][0], s.blocks[k][1], 0, explained.RawMatrix().Cols))
	}
}

// explainByProducts is explainByColumns for many columns, as those of individuals, or many landmarks: with the projection H = QᵀQ to the
// columns Q of the basis and G = xxᵀ the sum of squares is Σ_ij H_ij G_ij, with G permuted, however many of either there are.
func (s *stratum) explainByProducts(k int, x *mat.Dense) func(order []int, signs []float64) (all, term float64) {
	rows, _ := x.Dims()
	whole, block := mat.NewSymDense(rows, nil), mat.NewSymDense(rows, nil)
	var gram mat.Dense
	q := s.columns(len(s.basis))
	gram.Mul(x, x.T())
	whole.SymOuterK(1, q.T())
	block.SymOuterK(1, q.Slice(s.blocks[k][0], s.blocks[k][1], 0, rows).T())
	return func(order []int, signs []float64) (all, term float64) {
		return traces(&gram, order, signs, whole, block)
	}
}

// traces returns Σ_ij H_ij G_ij for two H and the products G = xxᵀ of permuted rows of x, given those of rows in their order.
func traces(gram *mat.Dense, order []int, signs []float64, one, other *mat.SymDense) (first, second float64) {
	n := len(order)
	products := make([]float64, n)
	of := func(h *mat.SymDense, i int) []float64 { return h.RawSymmetric().Data[i*n+i : (i+1)*n] } // the upper triangle, which is what it holds
	for i, a := range order {
		row := gram.RawRowView(a)
		for j, b := range order[i:] {
			products[i+j] = 2 * signs[i] * signs[i+j] * row[b]
		}
		products[i] /= 2
		first += floats.Dot(products[i:], of(one, i))
		second += floats.Dot(products[i:], of(other, i))
	}
	return first, second
}

// permutation draws one, by which row i becomes signs[i] times row order[i]: signs are 1, or ±1 where those of rows are arbitrary.
func (s *stratum) permutation(rng *rand.Rand) (order []int, signs []float64) {
	order = rng.Perm(s.y.RawMatrix().Rows)
	signs = make([]float64, len(order))
	for i := range signs {
		if signs[i] = 1; s.signs && rng.IntN(2) == 1 {
			signs[i] = -1
		}
	}
	return order, signs
}

// inOrder returns the permuted rows of x.
func inOrder(x *mat.Dense, order []int, signs []float64) *mat.Dense {
	out := mat.NewDense(len(order), x.RawMatrix().Cols, nil)
	for i, j := range order {
		floats.AddScaled(out.RawRowView(i), signs[i], x.RawRowView(j))
	}
	return out
}

// permuteColumns writes the columns of q into out such that out · x is q times the permuted rows of x.
func permuteColumns(out, q *mat.Dense, order []int, signs []float64) {
	rows, _ := q.Dims()
	for c := range rows {
		from, to := q.RawRowView(c), out.RawRowView(c)
		for i, j := range order {
			to[j] = signs[i] * from[i]
		}
	}
}
