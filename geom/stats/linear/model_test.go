package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/geomtest/expect"
	"anatomy/internal/dense"
)

func normals(rng *rand.Rand, rows, columns int) [][]float64 {
	out := make([][]float64, rows)
	for i := range out {
		for range columns {
			out[i] = append(out[i], rng.NormFloat64())
		}
	}
	return out
}

// cycle are n categories, one after the other.
func cycle(n int, categories ...string) (out []string) {
	for i := range n {
		out = append(out, categories[i%len(categories)])
	}
	return out
}

// star is a tree of n independent leaves at distance 1, whose contrasts are Helmert's.
type star struct{}

func (star) Contrasts(values [][]float64) (contrasts [][]float64, root []float64, err error) {
	mean := slices.Clone(values[0])
	for i, row := range values[1:] {
		k := float64(i + 1)
		c := floats.SubTo(make([]float64, len(row)), mean, row)
		floats.AddScaled(mean, -1/(k+1), c)
		floats.Scale(math.Sqrt(k/(k+1)), c)
		contrasts = append(contrasts, c)
	}
	return contrasts, mean, nil
}

// Weighted least squares by the normal equations; neither units nor the place of the origin say anything, and slopes are those of the columns.
func TestWeightedLeastSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const n = 12
	y, w, age := normals(rng, n, 3), make([]float64, n), make([]float64, n)
	sex := cycle(n, "f", "m", "m")
	x := mat.NewDense(n, 4, nil)
	for i := range n {
		w[i], age[i] = 1+float64(i%4), rng.Float64()*50
		male := indicator(sex[i] == "m")
		x.SetRow(i, []float64{1, age[i], male, age[i] * male})
	}
	var xw, normal, right, beta mat.Dense
	xw.Mul(mat.NewDiagDense(n, w), x)
	normal.Mul(xw.T(), x)
	right.Mul(xw.T(), dense.Rows(y))
	expect.Must(0, beta.Solve(&normal, &right))
	a, s := Covariate("age", age...), Factor("sex", sex...)
	d := expect.Must(NewDesign(n, nil, w, a, s, Interaction(a, s)))
	m := expect.Must(d.Fit(y))
	if fmt.Sprint(m.Columns) != "[constant age sex m age:sex m]" {
		t.Errorf("%v", m.Columns)
	}
	for c, b := range m.Coefficients {
		expect.Abs(t, m.Columns[c], b, beta.RawRowView(c), 1e-12)
	}
	expect.Abs(t, "prediction", expect.Must(m.Predict(map[string]string{"age": fmt.Sprint(age[4]), "sex": sex[4], "other": "x"})), m.Fitted[4], 1e-12)
	total := floats.Sum(w)
	for k := range d.Columns {
		mean := 0.0
		for l := range d.Columns {
			product := 0.0
			for i, q := range d.Rows {
				product += w[i] / total * q[k] * q[l]
			}
			expect.Abs(t, "products of the rows", product, indicator(k == l), 1e-13)
		}
		for i := range y {
			mean += w[i] / total * x.At(i, k+1)
		}
		expect.Abs(t, "origin", d.Origin[k], mean, 1e-12)
	}
	// Combinations m of the rows q are those of the columns with the slopes.
	slopes := expect.Must(d.Slopes(normalsOf(m, d, w)))
	for k, slope := range slopes {
		expect.Abs(t, "slope", slope, m.Coefficients[k+1], 1e-12)
	}
	// A sample without weight says nothing, and is fitted as it would be predicted.
	more := expect.Must(expect.Must(NewDesign(n+1, nil, append(slices.Clone(w), 0), Covariate("age", append(slices.Clone(age), 33)...),
		Factor("sex", append(slices.Clone(sex), "m")...), Interaction(Covariate("age", append(slices.Clone(age), 33)...), Factor("sex", append(slices.Clone(sex), "m")...)))).
		Fit(append(slices.Clone(y), []float64{1e9, 1e9, 1e9})))
	expect.Abs(t, "fitted with a sample without weight", more.Fitted[:n], m.Fitted, 1e-12)
	expect.Abs(t, "its prediction", more.Fitted[n], expect.Must(m.Predict(map[string]string{"age": "33", "sex": "m"})), 1e-12)
	expect.Abs(t, "F with it", expect.Must(more.ANOVA(Permutations{N: 9})).Rows[2].F, expect.Must(m.ANOVA(Permutations{N: 9})).Rows[2].F, 1e-9)
	days := floats.ScaleTo(make([]float64, n), 365.25, age)
	floats.AddConst(738000, days)
	other := expect.Must(expect.Must(NewDesign(n, nil, w, Covariate("age", days...), s, Interaction(Covariate("age", days...), s))).Fit(y))
	expect.Abs(t, "fitted in days of the calendar", other.Fitted, m.Fitted, 1e-9)
}

// normalsOf are Σ_i w_i q_ik y_i.
func normalsOf(m *Model, d *Design, w []float64) [][]float64 {
	out := make([][]float64, len(d.Columns))
	for k := range out {
		out[k] = make([]float64, len(m.Fitted[0]))
		for i, row := range m.Fitted {
			floats.AddScaled(out[k], w[i]/floats.Sum(w)*d.Rows[i][k], row)
		}
	}
	return out
}

// What is fitted has no part in the residuals of rows whose columns nearly depend on each other, and no row is far from its place.
func TestNearlyCollinear(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	y, a := normals(rng, 9, 2), normals(rng, 9, 2)
	x, near, same := make([]float64, 9), make([]float64, 9), make([]float64, 9)
	for i := range a {
		x[i], near[i], same[i] = 1e6+a[i][0], 1e6+a[i][0]+1e-5*a[i][1], 3-2*a[i][0]
	}
	m := expect.Must(expect.Must(NewDesign(9, nil, nil, Covariate("x", x...), Covariate("near", near...))).Fit(y))
	for k, q := range m.Design.Rows[0] {
		if math.Abs(q) > 10 {
			t.Errorf("row 0, column %d: %g", k, q)
		}
	}
	var products mat.Dense
	products.Mul(dense.Rows(m.whole.basis), dense.Rows(m.Residuals))
	expect.Abs(t, "residuals along the columns", mat.Norm(&products, 2), 0, 1e-6)
	_, err := NewDesign(9, nil, nil, Covariate("x", x...), Covariate("same", same...))
	expect.Refused(t, err, "the term same adds nothing to the constant and the terms before it")
}

// The p-values are those of F in permuted residuals, row by row, by columns and by products, also where the terms explain nearly all, of levels,
// with weights and on a tree; those of the last terms together are theirs too.
func TestPermutedF(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n = 16
	y, x := normals(rng, n, 2), make([]float64, n)
	nearly, wide, w := normals(rng, n, 2), normals(rng, n, 100), make([]float64, n)
	for i := range n {
		x[i], w[i] = rng.NormFloat64(), 1+rng.Float64()
		floats.Scale(1e-5, nearly[i])
		nearly[i][0] += float64(i % 2)
	}
	number, group := Covariate("x", x...), Factor("group", cycle(n, "a", "b")...)
	individual, treated := Factor("individual", cycle(n, "0", "1", "2", "3", "4", "5", "6", "7")...), Factor("treated", cycle(n, "a", "a", "b", "b")...)
	design := func(w []float64, terms ...Term) *Design { return expect.Must(NewDesign(n, nil, w, terms...)) }
	for what, m := range map[string]*Model{
		"few numbers":  expect.Must(design(nil, number, group).Fit(y)),
		"many numbers": expect.Must(design(nil, number, individual).Fit(wide)),
		"nearly":       expect.Must(design(nil, group, number).Fit(nearly)),
		"weights":      expect.Must(design(w, group, number).Fit(y)),
		"of levels":    expect.Must(design(nil, treated.Over(individual), individual).Fit(y)),
		"on a tree":    expect.Must(design(nil, number, group).FitOnTree(y, star{})),
	} {
		p := Permutations{N: 99, Seed: 3}
		table := expect.Must(m.ANOVA(p))
		permuted := func(s *stratum, from, to int, f float64) (values []float64, share float64) {
			_, reduced := s.fit(s.y, s.blocks[from][0])
			rows := mat.DenseCopyOf(reduced)
			rng := rand.New(rand.NewPCG(3, 0))
			extreme := 1.0
			for range 99 {
				for i, j := range rng.Perm(rows.RawMatrix().Rows) {
					rows.SetRow(i, reduced.RawRowView(j))
				}
				if s.exchange == OrderAndSigns {
					for i := range rows.RawMatrix().Rows {
						if rng.IntN(2) == 1 {
							floats.Scale(-1, rows.RawRowView(i))
						}
					}
				}
				values = append(values, s.f(from, to, rows))
				extreme += indicator(values[len(values)-1] >= f*(1-1e-9))
			}
			return values, extreme / 100
		}
		for k, s := range m.errorOf {
			_, share := permuted(s, k+1, k+2, table.Rows[k].F)
			expect.Abs(t, what+": p of "+table.Rows[k].Term, table.Rows[k].P, share, 0)
		}
		both := expect.Must(m.Partial(0, p))
		df, left := float64(len(m.Design.columns)), float64(m.whole.left())
		f := both.R2 / df / ((1 - both.R2) / left)
		values, share := permuted(m.whole, 1, 3, f)
		expect.Abs(t, what+": p of both", both.P, share, 0)
		for k, f := range values {
			expect.Rel(t, what+": share", both.Permuted[k], f*df/(f*df+left), 1e-6)
		}
		residual, squares := m.whole.squares(m.whole.y)
		explained := floats.Sum(squares[1:])
		expect.Rel(t, what+": share of both", both.R2, explained/(explained+residual), 1e-9)
	}
}

// Terms have values of their own or those of the data, and both say the same; what they lack is an error that names the sample.
func TestTerms(t *testing.T) {
	y := normals(rand.New(rand.NewPCG(5, 6)), 6, 2)
	d := data{"sex": {"f", "m", "f", "m", "f", "m"}, "age": {"1", "2", "3", "5", "8", "13"}}
	named := expect.Must(expect.Must(NewDesign(6, d, nil, Factor("sex"), Covariate("age"))).Fit(y))
	given := expect.Must(expect.Must(NewDesign(6, nil, nil, Factor("sex", d["sex"]...), Covariate("age", 1, 2, 3, 5, 8, 13))).Fit(y))
	expect.Abs(t, "fitted", given.Fitted, named.Fitted, 0)
	names, members, err := Cells(6, d, Interaction(Factor("sex"), Factor("old", "no", "no", "no", "yes", "yes", "yes")))
	if err != nil || fmt.Sprint(names, members) != "[f no m no m yes f yes] [[0 2] [1] [3 5] [4]]" {
		t.Errorf("%v %v, %v", names, members, err)
	}
	weights := []float64{1, 1, 1, 1, 1, 0}
	for want, terms := range map[string]Terms{
		"term sex: 2 values for 6 samples":                            {Factor("sex", "f", "m")},
		"term age: 0 values for 6 samples":                            {Covariate("age")},
		"term sex: sample 1 has no sex":                               {Factor("sex", "f", "", "f", "f", "f", "f")},
		"term sex: sample 2: sex is NA":                               {Factor("sex", "f", "m", "NA", "f", "f", "f")},
		"term age: sample 3: age is +Inf":                             {Covariate("age", 1, 2, 3, math.Inf(1), 5, 6)},
		"the term age adds nothing to the constant":                   {Covariate("age", 7, 7, 7, 7, 7, 7)},
		"sample 5, which has no weight: the samples do not determine": {Factor("sex", "f", "m", "f", "m", "f", "x")},
	} {
		_, err := NewDesign(6, nil, weights, terms...)
		expect.Refused(t, err, want)
	}
	expect.Refused(t, expect.Error(NewDesign(0, nil, nil)), "0 samples: give at least one")
	_, _, err = Cells(0, nil, Factor("sex"))
	expect.Refused(t, err, "0 samples: give at least one")
	few := expect.Must(NewDesign(2, nil, nil, Covariate("x", 1, 2)))
	expect.Refused(t, expect.Error(few.Fit(y[:2])), "2 samples leave no degrees of freedom beside the 2 of the terms and the mean")
	expect.Refused(t, expect.Error(few.Fit(y)), "6 rows for 2 samples")
	one := expect.Must(NewDesign(3, nil, []float64{1, 2, 1}))
	expect.Refused(t, expect.Error(one.FitOnTree(y[:3], star{})), "no weights of their own")
	expect.Refused(t, expect.Error(one.Fit([][]float64{{math.NaN()}, {1}, {2}})), "a row has the norm NaN")
}

// data are columns by their names.
type data map[string][]string

func (d data) Column(name string) ([]string, error) { return d[name], nil }
func (d data) Row(i int) string                     { return fmt.Sprintf("row %d", i) }
func (d data) Numbers(name string) (out []float64, err error) {
	for _, text := range d[name] {
		var v float64
		fmt.Sscan(text, &v)
		out = append(out, v)
	}
	return out, nil
}

// Sums of squares of type II and III are differences of residual sums of squares of models, each fitted by itself through a pseudo-inverse, and the order
// of the terms does not matter. In a balanced design all three types are the same.
func TestTypes(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 1))
	const n = 40
	sex, site, age, y := make([]string, n), make([]string, n), make([]float64, n), make([][]float64, n)
	effect := map[string][]float64{}
	set := func(balanced bool) {
		for i := range n {
			a, b := i%2, i/2%2*2
			if !balanced {
				a, b = min(1, random.IntN(3)), random.IntN(3)
				if i < 6 { // each combination occurs
					a, b = i%2, i/2
				}
			}
			sex[i], site[i], age[i] = []string{"f", "m"}[a], []string{"north", "south", "west"}[b], 3+random.Float64()*float64(1+a)
			y[i] = []float64{random.NormFloat64() + float64(a*b), random.NormFloat64() + age[i], random.NormFloat64() - float64(b)}
		}
		levels := map[string][]string{"sex": {sex[0], map[string]string{"f": "m", "m": "f"}[sex[0]]}, "site": nil}
		for _, s := range site {
			if !slices.Contains(levels["site"], s) {
				levels["site"] = append(levels["site"], s)
			}
		}
		clear(effect)
		centre := stat.Mean(age, nil)
		for i := range n {
			effect["1"] = append(effect["1"], 1)
			effect["age"] = append(effect["age"], age[i]-centre)
			for name, own := range map[string]string{"sex": sex[i], "site": site[i]} {
				for k, level := range levels[name][1:] {
					key := name + string(rune('0'+k))
					effect[key] = append(effect[key], indicator(own == level)-indicator(own == levels[name][0]))
				}
			}
		}
	}
	product := func(names ...string) []float64 {
		out := slices.Repeat([]float64{1}, n)
		for _, name := range names {
			floats.Mul(out, effect[name])
		}
		return out
	}
	// residual is the sum of squares that columns leave, by a pseudo-inverse.
	residual := func(columns ...[]float64) float64 {
		x := dense.Rows(columns).T()
		var svd mat.SVD
		svd.Factorize(x, mat.SVDThin)
		var u mat.Dense
		svd.UTo(&u)
		rank := 0
		for _, v := range svd.Values(nil) {
			if v > 1e-10 {
				rank++
			}
		}
		var coefficients, left mat.Dense
		q := u.Slice(0, n, 0, rank)
		coefficients.Mul(q.T(), dense.Rows(y))
		left.Mul(q, &coefficients)
		left.Sub(dense.Rows(y), &left)
		return sumOfSquares(&left)
	}
	terms := func() []Term {
		a, b, c := Factor("sex", sex...), Factor("site", site...), Covariate("age", age...)
		return []Term{a, b, c, Interaction(a, b), Interaction(a, c)}
	}
	table := func(of SumsOfSquares, order ...int) map[string]ANOVARow {
		var in []Term
		for _, k := range order {
			in = append(in, terms()[k])
		}
		out := map[string]ANOVARow{}
		for _, r := range expect.Must(expect.Must(expect.Must(NewDesign(n, nil, nil, in...)).Fit(y)).ANOVAOfType(of, Permutations{N: 19, Seed: 1})).Rows {
			out[r.Term] = r
		}
		return out
	}
	set(false)
	columns := map[string][][]float64{"sex": {effect["sex0"]}, "site": {effect["site0"], effect["site1"]}, "age": {effect["age"]},
		"sex:site": {product("sex0", "site0"), product("sex0", "site1")}, "sex:age": {product("sex0", "age")}}
	all := func(without ...string) (out [][]float64) {
		out = [][]float64{effect["1"]}
		for _, name := range []string{"sex", "site", "age", "sex:site", "sex:age"} {
			if !slices.Contains(without, name) {
				out = append(out, columns[name]...)
			}
		}
		return out
	}
	for name, containing := range map[string][]string{"sex": {"sex:site", "sex:age"}, "site": {"sex:site"}, "age": {"sex:age"}, "sex:site": nil, "sex:age": nil} {
		for _, order := range [][]int{{0, 1, 2, 3, 4}, {2, 1, 0, 4, 3}} {
			two := table(TypeII, order...)[name]
			expect.Rel(t, name+", type II", two.SS, residual(all(append(containing, name)...)...)-residual(all(containing...)...), 1e-10)
			three := table(TypeIII, order...)[name]
			expect.Rel(t, name+", type III", three.SS, residual(all(name)...)-residual(all()...), 1e-10)
			expect.Rel(t, name+", F", three.F, three.SS/float64(three.DF)/(residual(all()...)/float64(n-8)), 1e-9)
		}
	}
	set(true)
	one, two, three := table(TypeI, 0, 1, 3), table(TypeII, 0, 1, 3), table(TypeIII, 0, 1, 3)
	for name := range one {
		expect.Rel(t, name+", balanced", two[name].SS, one[name].SS, 1e-10)
		expect.Rel(t, name+", balanced", three[name].SS, one[name].SS, 1e-10)
	}
	set(false)
	for i := range n { // a combination that was never seen
		if sex[i] == "m" && site[i] == "west" {
			site[i] = "north"
		}
	}
	d := expect.Must(NewDesign(n, nil, nil, Factor("sex", sex...), Factor("site", site...), Interaction(Factor("sex", sex...), Factor("site", site...))))
	_, err := expect.Must(d.Fit(y)).ANOVAOfType(TypeIII, Permutations{N: 19})
	expect.Refused(t, err, "the samples do not determine sex", "take sums of squares of type II")
}

// The effect size of no effect has mean 0 and standard deviation 1 over samples.
func TestEffectSizes(t *testing.T) {
	random := rand.New(rand.NewPCG(6, 1))
	var sizes []float64
	for range 300 {
		const n = 20
		var y [][]float64
		var groups []string
		for i := range n {
			y, groups = append(y, []float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}), append(groups, []string{"a", "b"}[i%2])
		}
		m := expect.Must(expect.Must(NewDesign(n, nil, nil, Factor("group", groups...))).Fit(y))
		sizes = append(sizes, expect.Must(m.ANOVA(Permutations{N: 199, Seed: 1})).Rows[0].Z)
	}
	mean, deviation := stat.MeanStdDev(sizes, nil)
	expect.Abs(t, "mean effect size", mean, 0, 3/math.Sqrt(300))
	expect.Abs(t, "standard deviation of effect sizes", deviation, 1, 0.15)
}
