package morpho

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/tree"
)

// LinearModel is shapes explained by terms: the aligned shape of specimen i is
//
//	μ + Σ_c x_ic β_c + residual_i
//
// in the tangent space of the mean shape μ, with the columns x of the design matrix, which hold the terms, and vectors β_c.
type LinearModel struct {
	Data              *Dataset      // the specimens in the order of all that follows: on a tree, that of its leaves
	Mean              [][]float64   // [n][d], μ: the Procrustes mean, of size 1
	Columns           []string      // "constant", and the others by their terms: "log size", "species Teyah", that is, Teyah against the first species
	Coefficients      [][][]float64 // [columns][n][d], β: change of the shape a unit of the column
	Fitted, Residuals [][][]float64 // [N][n][d], μ + Σ_c x_ic β_c and what is left

	terms     []Term
	columns   []column    // those that add something, after the constant
	redundant []redundant // the others
	whole     *stratum    // of all specimens
	errorOf   []*stratum  // of each term
}

// redundant is a column that is a combination of the constant and the columns before it, with these factors.
type redundant struct {
	column
	of []float64
}

// String says what explains which share of the sum of squares.
func (m *LinearModel) String() string {
	names := make([]string, len(m.terms))
	for k, t := range m.terms {
		names[k] = t.name
	}
	residual, squares := m.whole.squares(m.whole.y)
	explained := floats.Sum(squares[1:])
	of := "shapes"
	if m.whole.signs {
		of = "shapes on a tree"
	}
	return fmt.Sprintf("%d %s by %s: R² %.4f", len(m.Fitted), of, strings.Join(append([]string{"constant"}, names...), ", "), explained/(explained+residual))
}

// FitLinear explains the shapes of a data set by terms, one after the other, by least squares. The shapes are brought to size 1, aligned by
// rotations (Procrustes with KeepSize) and projected orthogonally to the tangent space of their mean. Without terms the model is that mean.
// For tests see LinearModel.ANOVA. The specimens are taken to be independent, but for terms Over others; see FitLinearOnTree for species.
//
// It is an error if landmarks or covariates are missing, all shapes are the same or have no mean (see Alignment.Converged), a term adds
// nothing to those before it, no degrees of freedom are left, or the levels of the error of a term are not exchangeable (see Over).
func FitLinear(d *Dataset, terms ...Term) (*LinearModel, error) {
	m, err := fitLinear(d, nil, terms)
	if err != nil {
		return nil, fmt.Errorf("linear model of %s: %w", d.Name, err)
	}
	return m, nil
}

// FitLinearOnTree is FitLinear for species, the leaves of a tree: phylogenetic generalised least squares (PGLS). The residuals are
// those of Brownian motion along the tree, of covariance V (Tree.Shared) between leaves, and the coefficients are
// (XᵀV⁻¹X)⁻¹XᵀV⁻¹Y. Sums of squares are those of phylogenetically independent contrasts (Tree.Prune; Felsenstein, Am. Nat. 125, 1985), in
// the unit of Procrustes distances squared a unit of the tree's lengths: contrasts of the shapes are explained by those of the
// columns, through the origin, which is the regression of V^(-½)Y on V^(-½)X (D. Adams and M. Collyer, Phylogenetic ANOVA: group-clade
// aggregation, biological challenges, and a refined permutation procedure, Evolution 72, 2018), without matrices of the size of the tree.
//
// Exchangeable under the null hypothesis are the contrasts, once the terms before are taken away, with either sign, which is that of the
// order of two children. It is so if shapes evolve by Brownian motion: where they have less phylogenetic signal, or their rate
// changes, F is not what it is compared with. A category that arose once on a binary tree is one contrast, and its p no less than one in
// their number. It has the errors of FitLinear and Dataset.OnTree, and is one if two leaves are at distance 0 or a term is tested
// Over another.
func FitLinearOnTree(d *Dataset, t *tree.Tree, terms ...Term) (*LinearModel, error) {
	ordered, err := d.OnTree(t)
	if err != nil {
		return nil, err
	}
	m, err := fitLinear(ordered, t, terms)
	if err != nil {
		return nil, fmt.Errorf("linear model of %s on a tree: %w", d.Name, err)
	}
	return m, nil
}

// fitLinear takes the specimens in the order of the leaves, if there is a tree.
func fitLinear(d *Dataset, t *tree.Tree, terms []Term) (*LinearModel, error) {
	y, mean, err := d.tangentCoordinates()
	if err != nil {
		return nil, err
	}
	n, _ := y.Dims()
	ones := make([]float64, n)
	floats.AddConst(1, ones)
	m := &LinearModel{Data: d, Columns: []string{"constant"}, terms: slices.Clone(terms)}
	q := orthonormal(nil, ones)
	m.whole = &stratum{y: y, blocks: [][2]int{{0, 1}}, name: "residuals", negligible: float64(n) * rounding * rounding}
	columns := make([][]column, len(terms))
	for k, t := range terms {
		if columns[k], err = t.columns(d); err != nil {
			return nil, fmt.Errorf("term %s: %w", t.name, err)
		}
		from := len(q)
		for _, c := range columns[k] {
			if more := orthonormal(q, c.values); len(more) > len(q) {
				q, m.columns, m.Columns = more, append(m.columns, c), append(m.Columns, c.name())
			} else {
				m.redundant = append(m.redundant, redundant{column: c})
			}
		}
		if len(q) == from {
			return nil, fmt.Errorf("the term %s adds nothing to those before it", t.name)
		}
		m.whole.blocks = append(m.whole.blocks, [2]int{from, len(q)})
	}
	if n <= len(q) {
		return nil, fmt.Errorf("%d specimens leave no degrees of freedom beside the %d of the terms and the mean", n, len(q))
	}
	m.whole.basis = q
	x := mat.NewDense(n, len(q), nil)
	x.SetCol(0, ones)
	for c := range m.columns {
		x.SetCol(c+1, m.columns[c].values)
	}
	m.whole.x = x
	if len(m.redundant) > 0 { // all at once: of individuals and their sides there are hundreds
		values := mat.NewDense(n, len(m.redundant), nil)
		for i, r := range m.redundant {
			values.SetCol(i, r.values)
		}
		of, err := m.whole.coefficients(values)
		if err != nil {
			return nil, err
		}
		for i := range m.redundant {
			m.redundant[i].of = mat.Col(nil, i, of)
		}
	}
	var coefficients *mat.Dense
	if t != nil {
		coefficients, err = m.contrast(t, x)
	} else {
		coefficients, err = m.whole.coefficients(y)
	}
	if err != nil {
		return nil, err
	}
	for k, term := range terms {
		m.errorOf = append(m.errorOf, m.whole)
		if term.over == "" {
			continue
		}
		e := k + 1
		for e < len(terms) && terms[e].name != term.over {
			e++
		}
		switch {
		case t != nil:
			return nil, fmt.Errorf("the term %s is tested over %s: on a tree, terms are tested over the residuals", term.name, term.over)
		case e == len(terms):
			return nil, fmt.Errorf("the term %s is tested over %s, which is not among the terms after it", term.name, term.over)
		}
		if m.errorOf[k], err = m.whole.over(k+1, e+1, columns[e], term.over); err != nil {
			return nil, fmt.Errorf("the term %s is tested over %s: %w", term.name, term.over, err)
		}
	}

	var fitted, residuals mat.Dense
	fitted.Mul(x, coefficients)
	residuals.Sub(y, &fitted)
	dim := len(d.Specimens[0].Points[0])
	m.Mean = points(mean, dim)
	for c := range m.Columns {
		m.Coefficients = append(m.Coefficients, points(coefficients.RawRowView(c), dim))
	}
	for i := range n {
		m.Fitted = append(m.Fitted, points(floats.AddTo(make([]float64, len(mean)), mean, fitted.RawRowView(i)), dim))
		m.Residuals = append(m.Residuals, points(residuals.RawRowView(i), dim))
	}
	return m, nil
}

// points are numbers in rows of dim; they share them.
func points(x []float64, dim int) [][]float64 { return slices.Collect(slices.Chunk(x, dim)) }

// coefficients returns the β that minimise |y − xβ|, [m, columns of y].
func (s *stratum) coefficients(y *mat.Dense) (*mat.Dense, error) {
	q := s.columns(len(s.basis))
	var triangle, explained, out mat.Dense
	triangle.Mul(q, s.x)
	explained.Mul(q, y)
	return &out, solvable(out.Solve(&triangle, &explained))
}

// solvable lets a matrix pass that is nearly singular: its columns were found to be independent.
func solvable(err error) error {
	var condition mat.Condition
	if errors.As(err, &condition) && !math.IsInf(float64(condition), 1) {
		return nil
	}
	return err
}

// contrast has contrasts of the tree in place of specimens, so that the constant is 0 in all of them, and returns the coefficients.
func (m *LinearModel) contrast(t *tree.Tree, x *mat.Dense) (*mat.Dense, error) {
	n, p := m.whole.y.Dims()
	_, columns := x.Dims()
	values := make([][]float64, n)
	for i := range values {
		values[i] = slices.Concat(m.whole.y.RawRowView(i), x.RawRowView(i)[1:])
	}
	up, err := t.Prune(values)
	if err != nil {
		return nil, err
	}
	s := &stratum{y: mat.NewDense(n-1, p, nil), name: m.whole.name, signs: true}
	for i, c := range up.Contrasts {
		s.y.SetRow(i, c.Values[:p])
	}
	scale := mat.Norm(s.y, 2) / mat.Norm(m.whole.y, 2)
	s.negligible = m.whole.negligible * scale * scale
	for _, b := range m.whole.blocks {
		s.blocks = append(s.blocks, [2]int{max(0, b[0]-1), b[1] - 1})
	}
	out := mat.NewDense(columns, p, nil)
	out.SetRow(0, up.Mean[0][:p])
	if columns > 1 {
		s.x = mat.NewDense(n-1, columns-1, nil)
		for i, c := range up.Contrasts {
			s.x.SetRow(i, c.Values[p:])
		}
		for c := range columns - 1 {
			s.basis = orthonormal(s.basis, mat.Col(nil, c, s.x))
		}
		if len(s.basis) < columns-1 {
			return nil, errors.New("on this tree the terms are nearly collinear")
		}
		slopes, err := s.coefficients(s.y)
		if err != nil {
			return nil, err
		}
		for c := range columns - 1 {
			out.SetRow(c+1, slopes.RawRowView(c))
			floats.AddScaled(out.RawRowView(0), -up.Mean[0][p+c], slopes.RawRowView(c))
		}
	}
	m.whole = s
	return out, nil
}

// row returns the row of the design matrix, with the constant, in which parts have these values, or another linear function of rows. It is an
// error if the data do not tell it: if a level was never seen with another one.
func (m *LinearModel) row(constant float64, column func(c column) (float64, error)) ([]float64, error) {
	out := []float64{constant}
	for _, c := range m.columns {
		v, err := column(c)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	for _, r := range m.redundant {
		v, err := column(r.column)
		if err != nil {
			return nil, err
		}
		size := floats.Norm(r.values, math.Inf(1))
		for i, f := range r.of {
			size = math.Max(size, math.Abs(f*out[i]))
		}
		if math.Abs(v-floats.Dot(r.of, out)) > 1e-6*size {
			return nil, fmt.Errorf("the specimens do not tell the effect of %s", r.name())
		}
	}
	return out, nil
}

// Predict returns the expected shape, [n][d], of a specimen with these covariates: of each term its own, that is "group" for
// Factor("group") and "log size" for LogSize; others are not looked at, so that Specimen.Covariates may be given. On a tree it is
// that of a species of which nothing else is known, not even its relatives.
//
// It is an error if one is missing, is no number or not one of the categories, or if the specimens do not tell: a combination of categories
// that was never seen, with their Interaction in the model.
func (m *LinearModel) Predict(covariates map[string]string) ([][]float64, error) {
	x, err := m.row(1, func(c column) (float64, error) {
		product := 1.0
		for _, p := range c.parts {
			v, err := p.at(covariates)
			if err != nil {
				return 0, err
			}
			product *= v
		}
		return product, nil
	})
	if err != nil {
		return nil, fmt.Errorf("prediction of %s: %w", m.Data.Name, err)
	}
	out := slices.Concat(m.Mean...)
	for c, v := range x {
		floats.AddScaled(out, v, slices.Concat(m.Coefficients[c]...))
	}
	return points(out, len(m.Mean[0])), nil
}

// RegressionScores returns ⟨y_i, b⟩/|b| of the specimens, [N]: how far each shape y, from the mean, goes along the coefficient b of a term
// that is a number, in the unit of Procrustes distance (Drake and Klingenberg, Proc. R. Soc. B 275, 2008). Plotted against the number
// they show, in one dimension, what shapes have of it, and the rest of their variation in that direction. It is an error if the term
// is not in the model, has several columns, or does nothing.
func (m *LinearModel) RegressionScores(t Term) ([]float64, error) {
	fail := func(format string, args ...any) ([]float64, error) {
		return nil, fmt.Errorf("regression scores of %s: %s", m.Data.Name, fmt.Sprintf(format, args...))
	}
	k := slices.IndexFunc(m.terms, func(other Term) bool { return other.name == t.name })
	if k < 0 {
		return fail("no term %s in the model", t.name)
	}
	if df := m.whole.df(k + 1); df > 1 {
		return fail("the term %s has %d columns, and so no one direction", t.name, df)
	}
	first := 1 // the column of term k
	for i := range k {
		first += m.whole.df(i + 1)
	}
	b := slices.Concat(m.Coefficients[first]...)
	size := floats.Norm(b, 2)
	if size == 0 {
		return fail("the term %s does nothing", t.name)
	}
	out := make([]float64, len(m.Fitted))
	for i := range out {
		for l, p := range m.Fitted[i] {
			for c := range p {
				out[i] += (p[c] + m.Residuals[i][l][c] - m.Mean[l][c]) * b[l*len(p)+c] / size
			}
		}
	}
	return out, nil
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

// tangentCoordinates returns the shapes at size 1, aligned by rotations and projected to the tangent space of their mean, [N, n·d], and
// the mean, of size 1. It is an error if they are all the same, but for rounding, or have no mean.
func (d *Dataset) tangentCoordinates() (coordinates *mat.Dense, mean []float64, err error) {
	pre, err := preshapes(d.Shapes(), d.specimen)
	if err != nil {
		return nil, nil, err
	}
	unit := make([][][]float64, len(pre))
	for i, z := range pre {
		unit[i] = points(z.points.RawMatrix().Data, len(z.centre))
	}
	a, err := procrustes(unit, d.specimen, KeepSize())
	if err != nil {
		return nil, nil, err
	}
	if !a.Converged {
		return nil, nil, fmt.Errorf("the mean shape still changes after %d iterations: the shapes have too little in common for a mean", a.Iterations)
	}
	mean = slices.Concat(a.Mean...)
	floats.Scale(1/floats.Norm(mean, 2), mean)
	out := mat.NewDense(len(pre), len(mean), nil)
	for i, x := range a.Shapes {
		row := out.RawRowView(i)
		copy(row, slices.Concat(x...))
		floats.AddScaled(row, -floats.Dot(row, mean), mean)
	}
	if mat.Norm(out, 2) < rounding*math.Sqrt(float64(len(pre))) {
		return nil, nil, errors.New("all specimens have the same shape, which depends on nothing")
	}
	return out, mean, nil
}
