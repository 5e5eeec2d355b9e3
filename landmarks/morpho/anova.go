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
}

// Factor is a covariate whose values are categories, or the group for "group".
func Factor(covariate string) Term {
	return Term{covariate, func(d *Dataset) ([][]float64, error) {
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
	return Term{covariate, func(d *Dataset) ([][]float64, error) {
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
	return Term{"log size", func(d *Dataset) ([][]float64, error) {
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
	return Term{strings.Join(names, ":"), func(d *Dataset) ([][]float64, error) {
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
	F    float64 // MS by that of the residuals, +Inf if the terms explain all there is; NaN for residuals and total, as P
	P    float64 // (1 + #{permuted F ≥ F})/(1 + permutations)
}

// String is the table.
func (a *ANOVA) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\tDF\tSS\tMS\tR²\tF\tp\t")
	for _, r := range a.Rows {
		tail := "\t\t"
		if !math.IsNaN(r.F) {
			tail = fmt.Sprintf("%.3f\t%.3g\t", r.F, r.P)
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
// It is an error if landmarks or covariates are missing, all shapes are the same, a term adds nothing to those before it, or no degrees of
// freedom are left.
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
	// q is an orthonormal basis of the design, that of term k in the rows ends[k] … ends[k+1]: the first is the mean.
	ones := make([]float64, n)
	floats.AddConst(1/math.Sqrt(float64(n)), ones)
	q, ends := [][]float64{ones}, []int{1}
	for _, t := range terms {
		columns, err := t.columns(d)
		if err != nil {
			return fail(fmt.Errorf("term %s: %w", t.name, err))
		}
		for _, c := range columns {
			q = orthonormal(q, c)
		}
		if len(q) == ends[len(ends)-1] {
			return fail(fmt.Errorf("the term %s adds nothing to those before it", t.name))
		}
		ends = append(ends, len(q))
	}
	left := n - len(q)
	if left < 1 {
		return fail(fmt.Errorf("%d specimens leave no degrees of freedom beside the %d of the terms and the mean", n, len(q)))
	}
	basis := mat.NewDense(len(q), n, slices.Concat(q...))
	whole := func(x mat.Matrix) float64 { s := mat.Norm(x, 2); return s * s }
	var projected, rest mat.Dense
	// explain projects x to the design and returns the sum of squares that is left; squares are those of the rows of the basis
	// from one to another. What is left is no difference of sums, which would cancel where the terms explain nearly everything.
	explain := func(x mat.Matrix) float64 {
		projected.Reset()
		projected.Mul(basis, x)
		rest.Mul(basis.T(), &projected)
		rest.Sub(x, &rest)
		if left := whole(&rest); left > float64(n)*rounding*rounding {
			return left
		}
		return 0
	}
	squares := func(from, to int) float64 { return whole(projected.Slice(from, to, 0, projected.RawMatrix().Cols)) }
	// ratio is the F of term k by what is left: +Inf where nothing is, and 0 where nothing was to be explained.
	ratio := func(k int, residual float64) float64 {
		explained := squares(ends[k], ends[k+1])
		if explained <= float64(n)*rounding*rounding {
			return 0
		}
		return explained / float64(ends[k+1]-ends[k]) / (residual / float64(left))
	}

	residual := explain(y)
	total := squares(1, len(q)) + residual
	out := &ANOVA{Permutations: permutations}
	row := func(term string, df int, ss float64) *ANOVARow {
		out.Rows = append(out.Rows, ANOVARow{Term: term, DF: df, SS: ss, MS: ss / float64(df), R2: ss / total, F: math.NaN(), P: math.NaN()})
		return &out.Rows[len(out.Rows)-1]
	}
	for k, t := range terms {
		row(t.name, ends[k+1]-ends[k], squares(ends[k], ends[k+1])).F = ratio(k, residual)
	}
	row("residuals", left, residual)
	row("total", n-1, total)

	// What is permuted has no part in the terms before, and what the model with them fits has none in this one and those after it.
	rng := rand.New(rand.NewPCG(seed, 0))
	extreme := make([]int, len(terms))
	reduced := make([]*mat.Dense, len(terms))
	explain(y)
	for k := range terms {
		reduced[k] = new(mat.Dense)
		reduced[k].Mul(basis.Slice(0, ends[k], 0, n).T(), projected.Slice(0, ends[k], 0, projected.RawMatrix().Cols))
		reduced[k].Sub(y, reduced[k])
	}
	permuted := mat.DenseCopyOf(y)
	for range permutations {
		order := rng.Perm(n)
		for k := range terms {
			for i, j := range order {
				permuted.SetRow(i, reduced[k].RawRowView(j))
			}
			if ratio(k, explain(permuted)) >= out.Rows[k].F*(1-1e-10) {
				extreme[k]++
			}
		}
	}
	for k := range terms {
		out.Rows[k].P = float64(1+extreme[k]) / float64(1+permutations)
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
