package morpho

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"text/tabwriter"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// Term is what may explain shapes in ProcrustesANOVA.
type Term struct {
	name    string
	columns func(d *Dataset) ([][]float64, error) // [k][N], of the design matrix
	over    string                                // the name of the term whose mean square it is tested over; empty for the residuals
}

// Factor is a covariate whose values are categories, or the group for "group".
func Factor(covariate string) Term {
	return Term{name: covariate, columns: func(d *Dataset) ([][]float64, error) {
		values, err := d.Column(covariate)
		if err != nil {
			return nil, err
		}
		var levels []string
		var columns [][]float64
		for i, v := range values {
			switch v {
			case "":
				return nil, fmt.Errorf("specimen %q has no %s", d.Specimens[i].Name, covariate)
			case "NA", "NaN":
				return nil, fmt.Errorf("specimen %q: %s is %s, by which R marks a value that is not known: leave the specimen out with Without, or name the category otherwise",
					d.Specimens[i].Name, covariate, v)
			}
			k := slices.Index(levels, v)
			if k < 0 {
				k, levels, columns = len(levels), append(levels, v), append(columns, make([]float64, len(values)))
			}
			columns[k][i] = 1
		}
		return columns, nil
	}}
}

// Variate is a covariate whose values are numbers, on which shapes depend linearly.
func Variate(covariate string) Term {
	return Term{name: covariate, columns: func(d *Dataset) ([][]float64, error) {
		values, err := d.Numbers(covariate)
		if err != nil {
			return nil, err
		}
		for i, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, fmt.Errorf("specimen %q: %s is %g", d.Specimens[i].Name, covariate, v)
			}
		}
		return [][]float64{values}, nil
	}}
}

// LogSize is the logarithm of the centroid size: allometry. It is an error if the shapes were scaled to one size before, so that only
// rounding or the method of scaling is left of it.
func LogSize() Term {
	return Term{name: "log size", columns: func(d *Dataset) ([][]float64, error) {
		sizes := make([]float64, len(d.Specimens))
		for i, s := range d.Specimens {
			sizes[i] = math.Log(CentroidSize(s.Points))
		}
		least, most := slices.Min(sizes), slices.Max(sizes)
		if math.Max(-least, most) < 0.01 || most-least < 1e-6 {
			return nil, fmt.Errorf("centroid sizes are from %.6g to %.6g: the shapes were scaled to one size; take the Variate of a covariate that holds the sizes before",
				math.Exp(least), math.Exp(most))
		}
		return [][]float64{sizes}, nil
	}}
}

// Interaction is that part of the dependence on several terms which is not the sum of theirs; the terms stand before it.
func Interaction(terms ...Term) Term {
	names := make([]string, len(terms))
	for i, t := range terms {
		names[i] = t.name
	}
	return Term{name: strings.Join(names, ":"), columns: func(d *Dataset) ([][]float64, error) {
		ones := make([]float64, len(d.Specimens))
		floats.AddConst(1, ones)
		products := [][]float64{ones}
		for _, t := range terms {
			columns, err := t.columns(d)
			if err != nil {
				return nil, err
			}
			var next [][]float64
			for _, p := range products {
				for _, c := range columns {
					next = append(next, floats.MulTo(make([]float64, len(c)), p, c))
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

// ANOVA is a table of ProcrustesANOVA: a row a term in the order in which they were given, then "residuals" and "total".
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

// String is the table.
func (a *ANOVA) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tDF\tSS\tMS\tR²\tF\tp\t")
	for _, r := range a.Rows {
		tail := "\t\t"
		if r.Over != "" {
			tail = fmt.Sprintf("%.3f\t%.3g\t", r.F, r.P)
		}
		if r.Over != "" && r.Over != "residuals" {
			tail += "  over " + r.Over
		}
		fmt.Fprintf(w, "%s\t%d\t%.6f\t%.6f\t%.4f\t%s\n", r.Term, r.DF, r.SS, r.MS, r.R2, tail)
	}
	w.Flush()
	fmt.Fprintf(&b, "%d permutations of residuals", a.Permutations)
	return b.String()
}

// ProcrustesANOVA explains the shapes of a data set by terms, one after the other (Goodall, J. R. Statist. Soc. B 53, 1991;
// Anderson, Austral Ecology 26, 2001): sums of squared Procrustes distances, of type I, which depend on the order of the terms. The
// shapes are brought to size 1, aligned by rotations (Procrustes with KeepSize) and projected orthogonally to the tangent space
// of their mean. A term is tested by permuting the residuals of the model with the terms before it (Freedman and Lane 1983;
// Collyer, Sekora and Adams, Heredity 115, 2015); the seed fixes the permutations, of which a thousand less one are customary.
//
// The specimens are taken to be independent: what is exchangeable under the null hypothesis are the specimens, once the terms before are
// taken away. If some are of one individual, or of one litter, what was done to all of these is to be tested Over them: by the residuals,
// chance alone makes it significant.
//
// It is an error if landmarks or covariates are missing, all shapes are the same, a term adds nothing to those before it, no degrees of
// freedom are left, or the levels of the error of a term are not exchangeable (see Over).
func ProcrustesANOVA(d *Dataset, permutations int, seed uint64, terms ...Term) (*ANOVA, error) {
	fail := func(err error) (*ANOVA, error) {
		return nil, fmt.Errorf("Procrustes analysis of variance of %s: %w", d.Name, err)
	}
	if permutations < 1 {
		return fail(fmt.Errorf("%d permutations, want at least 1", permutations))
	}
	if len(terms) == 0 {
		return fail(errors.New("no terms"))
	}
	y, err := d.tangentCoordinates()
	if err != nil {
		return fail(err)
	}
	n, _ := y.Dims()
	ones := make([]float64, n)
	floats.AddConst(1/math.Sqrt(float64(n)), ones)
	whole := &stratum{y: y, basis: [][]float64{ones}, blocks: [][2]int{{0, 1}}, name: "residuals", negligible: float64(n) * rounding * rounding}
	columns := make([][][]float64, len(terms))
	for k, t := range terms {
		if columns[k], err = t.columns(d); err != nil {
			return fail(fmt.Errorf("term %s: %w", t.name, err))
		}
		from := len(whole.basis)
		for _, c := range columns[k] {
			whole.basis = orthonormal(whole.basis, c)
		}
		if len(whole.basis) == from {
			return fail(fmt.Errorf("the term %s adds nothing to those before it", t.name))
		}
		whole.blocks = append(whole.blocks, [2]int{from, len(whole.basis)})
	}
	if whole.left() < 1 {
		return fail(fmt.Errorf("%d specimens leave no degrees of freedom beside the %d of the terms and the mean", n, len(whole.basis)))
	}
	errorOf := make([]*stratum, len(terms))
	for k, t := range terms {
		errorOf[k] = whole
		if t.over == "" {
			continue
		}
		e := k + 1
		for e < len(terms) && terms[e].name != t.over {
			e++
		}
		if e == len(terms) {
			return fail(fmt.Errorf("the term %s is tested over %s, which is not among the terms after it", t.name, t.over))
		}
		if errorOf[k], err = whole.over(k+1, e+1, columns[e], t.over); err != nil {
			return fail(fmt.Errorf("the term %s is tested over %s: %w", t.name, t.over, err))
		}
	}

	residual, squares := whole.squares(whole.y)
	total := floats.Sum(squares[1:]) + residual
	out := &ANOVA{Permutations: permutations}
	row := func(term string, df int, ss float64) *ANOVARow {
		out.Rows = append(out.Rows, ANOVARow{Term: term, DF: df, SS: ss, MS: ss / float64(df), R2: ss / total, F: math.NaN(), P: math.NaN()})
		return &out.Rows[len(out.Rows)-1]
	}
	for k, t := range terms {
		r := row(t.name, whole.df(k+1), squares[k+1])
		r.Over = errorOf[k].name
		r.F, r.P = errorOf[k].test(k+1, permutations, rand.New(rand.NewPCG(seed, 0)))
	}
	row("residuals", whole.left(), residual)
	row("total", n-1, total)
	return out, nil
}

// stratum is a linear model with residuals that are exchangeable under the null hypothesis: of the rows of y, the residuals of the model
// with the terms before the one that is tested.
type stratum struct {
	y          *mat.Dense  // [R, n·d]
	basis      [][]float64 // [m][R], orthonormal: of what explains y
	blocks     [][2]int    // from where to where in basis a term is, after the mean; empty for terms that are not of this stratum
	name       string      // of what is left
	negligible float64     // a sum of squares of rounding errors
}

func (s *stratum) df(k int) int { return s.blocks[k][1] - s.blocks[k][0] }

// left is the number of degrees of freedom of the residuals.
func (s *stratum) left() int { return len(s.basis[0]) - len(s.basis) }

// over returns the stratum of the levels of term e, at which the columns of e differ, for the test of term k: rows are √m times the means of the
// m specimens of a level, and what the terms before e leave of them is e.
func (s *stratum) over(k, e int, columns [][]float64, name string) (*stratum, error) {
	var levels [][]int // the specimens of each
	level := map[string]int{}
	for i := range s.basis[0] {
		var key strings.Builder
		for _, c := range columns {
			fmt.Fprint(&key, c[i], " ")
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

// squares returns the sum of squares of the residuals of x and those of the terms. That of the residuals is no difference of sums, which
// would cancel where the terms explain nearly everything.
func (s *stratum) squares(x *mat.Dense) (residual float64, terms []float64) {
	whole := func(x mat.Matrix) float64 { s := mat.Norm(x, 2); return s * s }
	_, cols := x.Dims()
	basis := mat.NewDense(len(s.basis), len(s.basis[0]), slices.Concat(s.basis...))
	var projected, rest mat.Dense
	projected.Mul(basis, x)
	rest.Mul(basis.T(), &projected)
	rest.Sub(x, &rest)
	if residual = whole(&rest); residual <= s.negligible {
		residual = 0
	}
	terms = make([]float64, len(s.blocks))
	for k, b := range s.blocks {
		if s.df(k) > 0 {
			terms[k] = whole(projected.Slice(b[0], b[1], 0, cols))
		}
	}
	return residual, terms
}

// f is the F of term k in x: +Inf where nothing is left, and 0 where nothing was to be explained.
func (s *stratum) f(k int, x *mat.Dense) float64 {
	residual, squares := s.squares(x)
	if squares[k] <= s.negligible {
		return 0
	}
	return squares[k] / float64(s.df(k)) / (residual / float64(s.left()))
}

// test returns the F of term k and the share of permutations with as large a one. What is permuted has no part in the terms before, and what
// the model with them fits has none in this one and those after it.
func (s *stratum) test(k, permutations int, rng *rand.Rand) (f, p float64) {
	f = s.f(k, s.y)
	var reduced, projected mat.Dense
	before := mat.NewDense(s.blocks[k][0], len(s.basis[0]), slices.Concat(s.basis[:s.blocks[k][0]]...))
	projected.Mul(before, s.y)
	reduced.Mul(before.T(), &projected)
	reduced.Sub(s.y, &reduced)
	permuted := mat.DenseCopyOf(s.y)
	extreme := 1
	for range permutations {
		for i, j := range rng.Perm(len(s.basis[0])) {
			permuted.SetRow(i, reduced.RawRowView(j))
		}
		if s.f(k, permuted) >= f*(1-1e-10) {
			extreme++
		}
	}
	return f, float64(extreme) / float64(1+permutations)
}

// rounding bounds what floating point leaves of a shape of size 1 that should be 0: less counts as 0.
const rounding = 1e-13

// orthonormal appends to an orthonormal basis what a column adds to it, if anything.
func orthonormal(basis [][]float64, column []float64) [][]float64 {
	c := slices.Clone(column)
	size := floats.Norm(c, 2)
	for range 2 { // twice for rounding
		for _, q := range basis {
			floats.AddScaled(c, -floats.Dot(q, c), q)
		}
	}
	norm := floats.Norm(c, 2)
	if !(norm > 1e-9*size) {
		return basis
	}
	floats.Scale(1/norm, c)
	return append(basis, c)
}

// tangentCoordinates returns the shapes at size 1, aligned by rotations and projected to the tangent space of their mean, [N, n·d].
// It is an error if they are all the same, but for rounding.
func (d *Dataset) tangentCoordinates() (*mat.Dense, error) {
	if err := d.CheckCodes(); err != nil {
		return nil, err
	}
	shapes := d.Shapes()
	if _, _, err := commonExtent(shapes); err != nil {
		return nil, err
	}
	unit := make([][][]float64, len(shapes))
	for i, x := range shapes {
		dim := len(x[0])
		unit[i] = Similarity{1 / CentroidSize(x), identity(dim), make([]float64, dim)}.Apply(x)
	}
	a, err := Procrustes(unit, KeepSize())
	if err != nil {
		return nil, err
	}
	mean := slices.Concat(a.Mean...)
	floats.Scale(1/floats.Norm(mean, 2), mean)
	out := mat.NewDense(len(shapes), len(mean), nil)
	for i, x := range a.Shapes {
		row := out.RawRowView(i)
		copy(row, slices.Concat(x...))
		floats.AddScaled(row, -floats.Dot(row, mean), mean)
	}
	if mat.Norm(out, 2) < rounding*math.Sqrt(float64(len(shapes))) {
		return nil, errors.New("all specimens have the same shape, which depends on nothing")
	}
	return out, nil
}
