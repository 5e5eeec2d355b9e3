package linear

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// Design is the design matrix of N samples with weights w_i, Σ w_i = 1: a constant, and a column for each Covariate, for each but the first
// category of a Factor, and for the products of these in an Interaction. Columns that add nothing to those before them are left out.
type Design struct {
	Columns []string    // [K] after the constant: "age", "sex male", "age:sex male"
	Origin  []float64   // [K], the weighted means c̄_k of the columns c_k
	Weights []float64   // [N], w_i
	Rows    [][]float64 // [N][K], q_i: linear combinations of the c_ik − c̄_k with Σ_i w_i q_ik q_il = δ_kl

	source
	terms     Terms
	columns   []column    // those that add something
	redundant []redundant // the others
	blocks    [][2]int    // from where to where in the basis the constant and each term are
	of        [][]column  // all columns of each term
	scale     []float64   // [K], weighted standard deviations s_k of the columns
	z         *mat.Dense  // [N, 1 + K], (1, z_i) with z_ik = (c_ik − c̄_k)/s_k
	weighted  bool        // the weights differ
	with      []int       // the samples that have weight
	root      []float64   // [with], √(N w_i)
	frame                 // of the rows root_i z_i
}

// frame is columns and an orthonormal basis of what they span.
type frame struct {
	x       *mat.Dense  // [R, m]
	basis   [][]float64 // [m][R], the columns of x · inverse
	inverse *mat.Dense  // [m, m], upper triangular
}

func newFrame(x *mat.Dense, basis [][]float64) frame {
	var triangle mat.Dense
	triangle.Mul(dense.Rows(basis), x)
	f := frame{x, basis, new(mat.Dense)}
	err := f.inverse.Inverse(&triangle)
	var condition mat.Condition
	if errors.As(err, &condition) && !math.IsInf(float64(condition), 1) { // nearly singular, but its columns were found to be independent
		err = nil
	}
	try.Do(err)
	return f
}

// coefficients returns the β that minimise |y − xβ|, [m, columns of y].
func (f frame) coefficients(y mat.Matrix) *mat.Dense {
	var explained, out mat.Dense
	explained.Mul(dense.Rows(f.basis), y)
	out.Mul(f.inverse, &explained)
	return &out
}

// redundant is a column that is the combination of the constant and the columns with these factors.
type redundant struct {
	column
	of []float64
}

// independent is the share of a column that those before it must leave.
const independent = 1e-7

// NewDesign returns the design of n samples by terms, one after the other. The data may be nil if all terms have values of their own, and
// weights, one number for each sample and none negative, may be nil if they are equal. A column adds something to those before it if they leave
// more than 1e-7 of it, and more than rounding. It is an error if nothing of a term does, if a term has no values, or if the samples with
// weight do not determine the effect of a category that another sample has.
func NewDesign(n int, data Data, weights []float64, terms ...Term) (_ *Design, err error) {
	defer try.Catch(&err)
	d := &Design{source: source{n, data}, terms: slices.Clone(terms), blocks: [][2]int{{0, 1}}}
	d.source.check()
	try.FailIf(weights != nil && (len(weights) != n || !(floats.Sum(weights) > 0) || math.IsInf(floats.Sum(weights), 0) || slices.Min(weights) < 0),
		"%d weights for %d samples: give each a finite one that is not negative, and not all 0", len(weights), n)
	w := slices.Repeat([]float64{1}, n)
	if weights != nil {
		w = slices.Clone(weights)
	}
	floats.Scale(1/floats.Sum(w), w)
	d.Weights = w
	for i, v := range w {
		if d.weighted = d.weighted || v != w[0]; v > 0 {
			d.with, d.root = append(d.with, i), append(d.root, math.Sqrt(v*float64(n)))
		}
	}
	d.basis = orthonormal(nil, d.root, 0)
	var standard [][]float64 // [K][N], z
	for _, t := range terms {
		columns := d.source.of(t)
		from := len(d.basis)
		for _, c := range columns {
			origin, scale, z := standardised(c.values, w)
			more := d.basis
			if scale > 0 {
				least := 0.0
				if len(standard) > 0 {
					least = max(independent, 100*0x1p-52*floats.Norm(c.values, math.Inf(1))/scale)
				}
				more = orthonormal(d.basis, d.rooted(z), least)
			}
			if len(more) == len(d.basis) {
				d.redundant = append(d.redundant, redundant{column: c})
				continue
			}
			d.basis, standard, d.columns, d.Columns = more, append(standard, z), append(d.columns, c), append(d.Columns, c.name())
			d.Origin, d.scale = append(d.Origin, origin), append(d.scale, scale)
		}
		try.FailIf(len(d.basis) == from, "the term %s adds nothing to the constant and the terms before it", t.name)
		d.blocks, d.of = append(d.blocks, [2]int{from, len(d.basis)}), append(d.of, columns)
	}
	d.z = mat.NewDense(n, len(d.basis), nil)
	x := mat.NewDense(len(d.with), len(d.basis), nil)
	for k, z := range slices.Concat([][]float64{slices.Repeat([]float64{1}, n)}, standard) {
		d.z.SetCol(k, z)
		x.SetCol(k, d.rooted(z))
	}
	d.frame = newFrame(x, d.basis)
	d.Rows = make([][]float64, n)
	if k := len(standard); k > 0 {
		var q mat.Dense
		q.Mul(d.z.Slice(0, n, 1, 1+k), d.slopes())
		for i := range d.Rows {
			d.Rows[i] = q.RawRowView(i)
		}
	}
	d.relate()
	return d, nil
}

// slopes is the matrix S, [K, K], with q = zS, without the constant, so that this is so also where the Origin is rounded.
func (d *Design) slopes() *mat.Dense {
	var s mat.Dense
	s.Scale(math.Sqrt(float64(d.n)), d.inverse.Slice(1, len(d.basis), 1, len(d.basis)))
	return &s
}

// rooted returns the numbers of the samples that have weight, times the roots.
func (d *Design) rooted(values []float64) []float64 {
	return lists.Make(len(d.with), func(k int) float64 { return d.root[k] * values[d.with[k]] })
}

// Row returns the columns c_ik of sample i, [K].
func (d *Design) Row(i int) []float64 {
	return lists.Each(d.columns, func(c column) float64 { return c.values[i] })
}

// relate finds how redundant columns depend on the others: all at once, since for individuals and their sides there are hundreds.
func (d *Design) relate() {
	if len(d.redundant) == 0 {
		return
	}
	values := mat.NewDense(len(d.with), len(d.redundant), nil)
	for k, r := range d.redundant {
		values.SetCol(k, d.rooted(r.values))
	}
	of := d.coefficients(values)
	d.unstandardise(of)
	for k := range d.redundant {
		d.redundant[k].of = mat.Col(nil, k, of)
	}
	for i := range d.n {
		if _, has := slices.BinarySearch(d.with, i); !has {
			err := try.Run(func() { d.row(1, func(c column) float64 { return c.values[i] }) })
			try.Do(try.Name(err, "%s, which has no weight", d.source.row(i)))
		}
	}
}

// Slopes returns the u_k, [K][p], with Σ_k q_ik m_k = Σ_k (c_ik − c̄_k) u_k: what the rows of m, [K][p], are by the unit of each column. It is
// an error if this is no finite number.
func (d *Design) Slopes(m [][]float64) (_ [][]float64, err error) {
	defer try.Catch(&err)
	try.FailIf(len(m) != len(d.scale) || len(m) == 0, "slopes of %d rows, for %d columns: give a row for each", len(m), len(d.scale))
	try.Do(try.Name(try.Run(func() { alike(m) }), "slopes"))
	var u mat.Dense
	u.Mul(d.slopes(), dense.Rows(m))
	return lists.Make(len(m), func(k int) []float64 {
		row := u.RawRowView(k)
		for j := range row {
			row[j] /= d.scale[k]
		}
		if j, bad := lists.NotFinite(row); bad {
			try.Fail("number %d of the slope is %g by the unit of %s, whose standard deviation is %g: take another unit", j, row[j], d.Columns[k], d.scale[k])
		}
		return row
	}), nil
}

// alike refuses rows unless all have as many numbers.
func alike(rows [][]float64) {
	for i, row := range rows {
		try.FailIf(len(row) == 0 || len(row) != len(rows[0]),
			"row %d has %d numbers, and the first one %d: give each as many, and at least one", i, len(row), len(rows[0]))
	}
}

// unstandardise turns coefficients of the columns (1, z), [1 + K, p], to those of the columns (1, c).
func (d *Design) unstandardise(u *mat.Dense) {
	for k, scale := range d.scale {
		row := u.RawRowView(k + 1)
		floats.Scale(1/scale, row)
		floats.AddScaled(u.RawRowView(0), -d.Origin[k], row)
	}
}

// row returns the row of the design matrix, with the constant, in which columns have these values, or another linear function of rows. It is
// an error if the samples do not determine what it is multiplied with: if a category was never seen with another one.
func (d *Design) row(constant float64, value func(c column) float64) []float64 {
	out := append([]float64{constant}, lists.Each(d.columns, value)...)
	for _, r := range d.redundant {
		v := value(r.column)
		size := floats.Norm(r.values, math.Inf(1))
		for i, f := range r.of {
			size = math.Max(size, math.Abs(f*out[i]))
		}
		if math.Abs(v-floats.Dot(r.of, out)) > 1e-6*size {
			try.Fail("the samples do not determine the effect of %s", r.name())
		}
	}
	return out
}

// standardised returns the weighted mean of numbers, rounded, their standard deviation from there, and what lies between them
// in units of this. Differences are taken before anything is rounded to the size of the numbers, and squares of numbers
// around 1: times may be days of any calendar, in any unit. The deviation is 0 where all that have weight are equal.
func standardised(t, w []float64) (origin, scale float64, standard []float64) {
	_, exponent := math.Frexp(floats.Norm(t, math.Inf(1)))
	first := slices.IndexFunc(w, func(w float64) bool { return w != 0 })
	small := func(t float64) float64 { return math.Ldexp(t, -exponent) }
	centre, equal := small(t[first]), true
	for i := range t {
		centre += w[i] * (small(t[i]) - small(t[first]))
		equal = equal && (w[i] == 0 || t[i] == t[first])
	}
	if equal {
		return t[first], 0, nil
	}
	origin = math.Ldexp(centre, exponent)
	size := 0.0
	for i := range t {
		standard = append(standard, small(t[i])-centre)
		size = max(size, math.Abs(standard[i]))
	}
	for i, s := range standard {
		scale += w[i] * (s / size) * (s / size)
	}
	scale = size * math.Sqrt(scale)
	floats.Scale(1/scale, standard)
	return origin, math.Ldexp(scale, exponent), standard
}

// orthonormal appends to an orthonormal basis the direction that a column adds to it, if the basis leaves more than a share of the column.
func orthonormal(basis [][]float64, column []float64, least float64) [][]float64 {
	c := slices.Clone(column)
	size := floats.Norm(c, 2)
	for range 2 { // twice for rounding
		for _, q := range basis {
			floats.AddScaled(c, -floats.Dot(q, c), q)
		}
	}
	norm := floats.Norm(c, 2)
	if !(norm > least*size) {
		return basis
	}
	floats.Scale(1/norm, c)
	return append(basis[:len(basis):len(basis)], c)
}

// FitWithErrors explains rows y_i, [N][p], of N samples that were measured with errors. E_i is the mean square of the norm of the error of row i,
// 0 where there is none. The data may be nil, as in NewDesign. As in a random-effects model, samples have the weights 1/(V + E_i) for the
// variance V of the rows about the model. It is returned as between, and solves
//
//	Σ_i |y_i − ŷ_i|²/(V + E_i) = N − K
//
// for the K columns of the design and the constant; if nothing solves this, V is 0 (Paule and Mandel, J. Res. Natl. Bur. Stand. 87, 1982).
// Permutation tests take the residuals over √(V + E_i), with the V of the data in all draws. These are exchangeable if errors are distributed
// over the columns of y as the differences between samples are. Otherwise they are nearly so. The errors are those of NewDesign and Fit, and
// one for an E_i that is negative or no finite number.
func FitWithErrors(data Data, y [][]float64, errors []float64, terms ...Term) (m *Model, between float64, err error) {
	defer try.Catch(&err)
	n, usual := len(y), 0.0
	try.FailIf(len(errors) != n, "errors of %d samples for %d rows", len(errors), n)
	for i, e := range errors {
		try.FailIf(!(e >= 0) || math.IsInf(e, 1),
			"the mean square error of sample %d is %g: give a number that is not negative, or leave the sample out", i, e)
		usual += e / float64(n)
	}
	at := func(v float64) (excess float64) {
		weights := lists.Each(errors, func(e float64) float64 { return 1 / (v + e) })
		d := try.Get(NewDesign(n, data, weights, terms...))
		m = try.Get(d.Fit(y))
		excess = -float64(n - len(d.basis))
		for i, r := range m.Residuals {
			excess += floats.Dot(r, r) * weights[i]
		}
		return excess
	}
	if usual == 0 {
		excess := at(1)
		free := float64(n - len(m.Design.basis))
		return m, (excess + free) / free, nil
	}
	const least = 1e-9 // of V, as a share of the usual error, and of its precision
	between = root(at, least*usual, usual, least)
	at(between)
	if between <= 2*least*usual {
		between = 0
	}
	return m, between, nil
}

// root is where a function that falls with v > 0 is 0, to a share of v, between the low value and any, of which high is the first that is tried.
func root(of func(v float64) float64, low, high, share float64) float64 {
	for !(of(high) <= 0) {
		low, high = high, 2*high
	}
	for high/low > 1+share {
		if middle := math.Sqrt(low * high); of(middle) > 0 {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
