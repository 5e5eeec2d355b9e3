package shapestats

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/landmarks/morpho"
)

// species are those of morpho.PlethodonTree with a number x and a habitat; the tree is their phylogeny with another order of children where
// turned is true.
func species(turned bool) (*morpho.Dataset, *tree.Tree) {
	d := morpho.PlethodonSpecies()
	for i := range d.Specimens {
		d.Specimens[i].Covariates = map[string]string{"x": fmt.Sprint(math.Sin(float64(3 * i))), "habitat": []string{"wood", "rock", "wood", "cave"}[i%4]}
	}
	text := morpho.PlethodonTree()
	if turned {
		text = "((((((P_electromorphus:4.295291,P_richmondi:4.295291):2.40605,P_hubrichti:6.70134):0.829942,P_nettingi:7.531283):2.045586,(P_virginia:4.980711,P_hoffmani:4.980711):4.596158):1.750954,(P_shenandoah:7.557223,P_cinereus:7.557223):3.7706):3.843164,P_serratus:15.170987);"
	}
	return d, expect.Must(tree.Parse(text))
}

// Generalised least squares with the matrix V of the tree says the same as contrasts: coefficients, and F of V^(-½)Y on V^(-½)X, with the
// constant first. The order of children and the unit of time say nothing.
func TestFitLinearOnTreeIsGeneralisedLeastSquares(t *testing.T) {
	d, phylogeny := species(false)
	x, habitat := linear.Covariate("x"), linear.Factor("habitat")
	m := expect.Must(FitOnTree(d, phylogeny, x, habitat))
	table := expect.Must(m.ANOVA(draws(99, 1)))
	for i, want := range []int{1, 2, 5, 8} {
		if table.Rows[i].DF != want {
			t.Errorf("%s has %d degrees of freedom, want %d", table.Rows[i].Term, table.Rows[i].DF, want)
		}
	}
	if got, want := m.String(), fmt.Sprintf("9 samples on a tree by constant, x, habitat: R² %.4f", 1-table.Rows[2].R2); got != want {
		t.Errorf("%s, want %s", got, want)
	}

	y, mean, err := tangentCoordinates(m.Data)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := y.Dims()
	shared := expect.Must(phylogeny.Shared())
	v := mat.NewSymDense(n, nil)
	for i, row := range shared {
		for j, s := range row {
			v.SetSym(i, j, s)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(v, true) {
		t.Fatal("no eigenvectors")
	}
	var vectors, root mat.Dense // V^(-½)
	eigen.VectorsTo(&vectors)
	powers := eigen.Values(nil)
	for i := range powers {
		powers[i] = 1 / math.Sqrt(powers[i])
	}
	root.Mul(&vectors, mat.NewDiagDense(n, powers))
	root.Mul(&root, vectors.T())
	design := mat.NewDense(n, 4, nil)
	for i, s := range m.Data.Specimens {
		number := number(s.Covariates["x"])
		first := m.Data.Specimens[0].Covariates["habitat"]
		design.Set(i, 0, 1)
		design.Set(i, 1, number)
		for c, column := range m.Columns[2:] {
			if column == "habitat "+s.Covariates["habitat"] {
				design.Set(i, c+2, 1)
			}
			if column == "habitat "+first {
				t.Errorf("the first habitat has a column of its own")
			}
		}
	}
	var ty, tx, beta mat.Dense
	ty.Mul(&root, y)
	tx.Mul(&root, design)
	if err := beta.Solve(&tx, &ty); err != nil {
		t.Fatal(err)
	}
	for c, coefficient := range m.Coefficients {
		for j, got := range coefficient {
			if c == 0 {
				got -= mean[j]
			}
			expect.Abs(t, m.Columns[c]+": coefficient", got, beta.At(c, j), 1e-12)
		}
	}
	var fitted mat.Dense
	fitted.Mul(design, &beta)
	for i := range n {
		for j, got := range m.Fitted[i] {
			expect.Abs(t, "fitted", got, mean[j]+fitted.At(i, j), 1e-12)
			expect.Abs(t, "residual", m.Residuals[i][j], y.At(i, j)-fitted.At(i, j), 1e-12)
		}
	}
	residual := func(columns int) float64 { // Σ of squares that the first columns leave
		sub := tx.Slice(0, n, 0, columns)
		var b, fit mat.Dense
		if err := b.Solve(sub, &ty); err != nil {
			t.Fatal(err)
		}
		fit.Mul(sub, &b)
		fit.Sub(&ty, &fit)
		return math.Pow(mat.Norm(&fit, 2), 2)
	}
	for row, ss := range []float64{residual(1) - residual(2), residual(2) - residual(4), residual(4), residual(1)} {
		expect.Rel(t, table.Rows[row].Term+": sum of squares", table.Rows[row].SS, ss, 1e-9)
	}

	same, turned := species(true)
	for i := range turned.Length {
		turned.Length[i] *= 1e6
	}
	for i, r := range expect.Must(expect.Must(FitOnTree(same, turned, x, habitat)).ANOVA(draws(99, 1))).Rows {
		expect.Rel(t, r.Term+": share on the turned tree", r.R2, table.Rows[i].R2, 1e-9)
		if i < 2 {
			expect.Rel(t, r.Term+": F on the turned tree", r.F, table.Rows[i].F, 1e-9)
		}
	}
}

// On a star, whose leaves are independent, species are specimens.
func TestFitLinearOnStar(t *testing.T) {
	d := noise(rand.New(rand.NewPCG(1, 2)), 12)
	text := "("
	for i, s := range d.Specimens {
		if i > 0 {
			text += ","
		}
		text += s.Name + ":3"
	}
	star := expect.Must(tree.Parse(text + ");"))
	terms := []linear.Term{linear.Covariate("x"), LogSize(), linear.Factor("group")}
	a, b := expect.Must(Fit(d, terms...)), expect.Must(FitOnTree(d, star, terms...))
	for c, coefficient := range a.Coefficients {
		for j, want := range coefficient {
			expect.Abs(t, a.Columns[c]+": coefficient", b.Coefficients[c][j], want, 1e-12)
		}
	}
	of, on := expect.Must(a.ANOVA(draws(999, 1))), expect.Must(b.ANOVA(draws(999, 1)))
	for i, r := range of.Rows {
		expect.Rel(t, r.Term+": sum of squares", 3*on.Rows[i].SS, r.SS, 1e-9)
		if i < 3 {
			expect.Rel(t, r.Term+": F", on.Rows[i].F, r.F, 1e-9)
			expect.Abs(t, r.Term+": p", on.Rows[i].P, r.P, 0.06)
		}
	}
}

// brownian is a data set of species and their tree, balanced with 2^levels leaves and edges of length 1: quadrilaterals and x evolve
// independently along it.
func brownian(rng *rand.Rand, levels int) (*morpho.Dataset, *tree.Tree) {
	d := &morpho.Dataset{Name: "brownian"}
	var evolve func(level int, values []float64) string
	evolve = func(level int, values []float64) string {
		if level == levels {
			s := morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Covariates: map[string]string{"x": fmt.Sprint(values[0])}}
			for l, p := range [][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}} {
				s.Points = append(s.Points, []float64{p[0] + 0.02*values[1+2*l], p[1] + 0.02*values[2+2*l]})
			}
			d.Specimens = append(d.Specimens, s)
			return s.Name
		}
		children := make([]string, 2)
		for c := range children {
			child := make([]float64, len(values))
			for j, v := range values {
				child[j] = v + rng.NormFloat64()
			}
			children[c] = evolve(level+1, child) + ":1"
		}
		return "(" + children[0] + "," + children[1] + ")"
	}
	return d, expect.Must(tree.Parse(evolve(0, make([]float64, 9)) + ";"))
}

// Where shapes evolve independently of x it is significant at 5 % in 5 % of 200 samples, within three standard errors; among species
// that are taken to be independent in a third.
func TestFitLinearOnTreeHoldsItsSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	const samples = 200
	rejected, alone := 0.0, 0.0
	for i := range samples {
		d, phylogeny := brownian(rng, 4)
		if expect.Must(expect.Must(FitOnTree(d, phylogeny, linear.Covariate("x"))).ANOVA(draws(59, rng.Uint64()))).Rows[0].P <= 0.05 {
			rejected++
		}
		if i < 40 && expect.Must(anova(d, draws(59, rng.Uint64()), linear.Covariate("x"))).Rows[0].P <= 0.05 {
			alone++
		}
	}
	if !atFivePercent(samples)(rejected/samples) || alone < 8 {
		t.Errorf("x is significant on the tree in %g of %d samples, without it in %g of 40", rejected, samples, alone)
	}
}

func TestFitLinearOnTreeRefuses(t *testing.T) {
	d, phylogeny := species(false)
	x, habitat := linear.Covariate("x"), linear.Factor("habitat")
	expect.Refused(t, expect.Error(FitOnTree(d, phylogeny, x.Over(habitat), habitat)), "linear model of salamander species on a tree",
		"the term x is tested over habitat: on a tree, and with weights, terms are tested over the residuals")
	expect.Refused(t, expect.Error(FitOnTree(d, phylogeny, x, linear.Covariate("y"))), `term y: salamander species: no covariate "y"`)
	expect.Refused(t, expect.Error(FitOnTree(d.Without("P_cinereus"), phylogeny, x)), `no specimens for the leaves "P_cinereus"`)
	for i := range phylogeny.Length {
		phylogeny.Length[i] = 0
	}
	expect.Refused(t, expect.Error(FitOnTree(d, phylogeny, x)), "are at distance 0")
	expect.Refused(t, expect.Error(Fit(d, linear.Covariate("y"))), `linear model of salamander species: term y`)
	expect.Refused(t, expect.Error(expect.Must(Fit(d)).ANOVA(draws(99, 1))), "no terms")
}

// pupfish are those of morpho.Pupfish in groups by population and sex, with the logarithm of their size.
func pupfish() *morpho.Dataset {
	d := morpho.Pupfish().GroupBy("population", "sex")
	for i, s := range d.Specimens {
		covariates := maps.Clone(s.Covariates)
		covariates["size"] = fmt.Sprint(math.Log(number(s.Covariates["centroid_size"])))
		d.Specimens[i].Covariates = covariates
	}
	return d
}

// Mean shapes of pupfish, alone and at the mean size, are as far apart as published (I. Dworkin's pages on RRPP's pairwise of geomorph's
// pupfish, 2020), by four decimals.
func TestPredictPupfish(t *testing.T) {
	d := pupfish()
	size, sex, population := linear.Covariate("size"), linear.Factor("sex"), linear.Factor("population")
	groups := []string{"Marsh F", "Sinkhole F", "Marsh M", "Sinkhole M"}
	mean := 0.0
	for _, s := range d.Specimens {
		mean += number(s.Covariates["size"]) / float64(len(d.Specimens))
	}
	for what, c := range map[string]struct {
		terms     []linear.Term
		residuals float64
		distances []float64 // of the pairs in order
	}{
		"alone":   {[]linear.Term{population, sex, linear.Interaction(population, sex)}, 0.0280, []float64{0.0330, 0.0461, 0.0388, 0.0461, 0.0257, 0.0280}},
		"by size": {[]linear.Term{size, population, sex, linear.Interaction(population, sex)}, 0.0241, []float64{0.0364, 0.0358, 0.0381, 0.0368, 0.0194, 0.0269}},
		"group":   {[]linear.Term{size, linear.Factor("group")}, 0.0241, []float64{0.0364, 0.0358, 0.0381, 0.0368, 0.0194, 0.0269}},
	} {
		m := expect.Must(Fit(d, c.terms...))
		ss := 0.0
		for _, r := range m.Residuals {
			ss += floats.Dot(r, r)
		}
		expect.Abs(t, what+": residual sum of squares", ss, c.residuals, 1e-4)
		shapes := make([][]float64, len(groups))
		for g, group := range groups {
			words := strings.Fields(group)
			shapes[g] = flat(expect.Must(m.Predict(map[string]string{"group": group, "population": words[0], "sex": words[1], "size": fmt.Sprint(mean)})))
		}
		i := 0
		for a := range groups {
			for b := a + 1; b < len(groups); b++ {
				expect.Abs(t, what+": "+groups[a]+" to "+groups[b], floats.Distance(shapes[a], shapes[b], 2), c.distances[i], 1e-4)
				i++
			}
		}
	}
}

// Predicted for a specimen's covariates is its fitted shape, with and without a tree. Scores grow by |b| with their number, and it explains of
// them what it explains of the shapes.
func TestPredictIsFitted(t *testing.T) {
	rats := morpho.Rats()
	m := expect.Must(Fit(rats, LogSize(), linear.Factor("rat"), linear.Interaction(LogSize(), linear.Factor("rat"))))
	d, phylogeny := species(false)
	brains := expect.Must(Fit(morpho.Brain3D(), LogSize(), linear.Factor("group"), linear.Interaction(LogSize(), linear.Factor("group"))))
	for _, m := range []*Model{m, brains, expect.Must(FitOnTree(d, phylogeny, linear.Covariate("x"), linear.Factor("habitat")))} {
		for i, s := range m.Data.Specimens {
			covariates := map[string]string{"group": s.Group}
			maps.Copy(covariates, s.Covariates)
			covariates["log size"] = fmt.Sprint(math.Log(morpho.CentroidSize(s.Points)))
			for j, got := range flat(expect.Must(m.Predict(covariates))) {
				expect.Abs(t, s.Name, got, m.Fitted[i][j], 1e-12)
			}
		}
	}

	alone := expect.Must(Fit(rats, LogSize()))
	scores, sizes, mean := expect.Must(alone.RegressionScores(LogSize())), make([]float64, 144), 0.0
	for i, s := range rats.Specimens {
		sizes[i] = math.Log(morpho.CentroidSize(s.Points))
		mean += sizes[i] / 144
	}
	floats.AddConst(-mean, sizes)
	expect.Rel(t, "growth of scores", floats.Dot(sizes, scores)/floats.Dot(sizes, sizes), floats.Norm(alone.Coefficients[1], 2), 1e-12)
	explained := expect.Must(alone.ANOVA(draws(9, 1))).Rows[0].SS
	expect.Rel(t, "sum of squares by scores", math.Pow(floats.Dot(sizes, scores), 2)/floats.Dot(sizes, sizes), explained, 1e-9)
}

func TestPredictRefuses(t *testing.T) {
	d := noise(rand.New(rand.NewPCG(3, 4)), 12)
	for i := range d.Specimens {
		d.Specimens[i].Covariates["site"] = fmt.Sprint(i / 6)
		if d.Specimens[i].Group == "2" {
			d.Specimens[i].Covariates["site"] = "0"
		}
	}
	x, group, site := linear.Covariate("x"), linear.Factor("group"), linear.Factor("site")
	m := expect.Must(Fit(d, x, group, site, linear.Interaction(group, site)))
	for want, covariates := range map[string]map[string]string{
		`x is "", want a number`:                                    {"group": "1", "site": "0"},
		`site is "3", want one of "0", "1"`:                         {"x": "1", "group": "1", "site": "3"},
		`the samples do not determine the effect of group 2:site 1`: {"x": "1", "group": "2", "site": "1"},
	} {
		expect.Refused(t, expect.Error(m.Predict(covariates)), "prediction", want)
	}
	if err := expect.Error(m.Predict(map[string]string{"x": "1", "group": "2", "site": "0", "other": "y"})); err != nil {
		t.Error(err)
	}
	expect.Refused(t, expect.Error(m.RegressionScores(linear.Covariate("y"))), "no term y in the model")
	expect.Refused(t, expect.Error(m.RegressionScores(group)), "the term group has 2 columns")
}

func flat(x [][]float64) (out []float64) {
	for _, p := range x {
		out = append(out, p...)
	}
	return out
}

// With errors that are alike the model is the one without, and the variances of errors and about the model add up to that of its residuals. With different ones a specimen that
// is known badly says less.
func TestFitWithErrors(t *testing.T) {
	d := morpho.Pupfish()
	sex := linear.Factor("sex")
	plain := expect.Must(Fit(d, sex))
	residual, squares := 0.0, 0.0
	for i, r := range plain.Residuals {
		residual += floats.Dot(r, r) / float64(len(d.Specimens)-2)
		d.Specimens[i].Covariates[morpho.ErrorColumn] = fmt.Sprint(0.002 * morpho.CentroidSize(d.Specimens[i].Points))
		squares = float64(len(d.Specimens[i].Points)) * 0.002 * 0.002 // one direction in the plane
	}
	m, between, err := FitWithErrors(d, sex)
	if err != nil {
		t.Fatal(err)
	}
	for c := range plain.Coefficients {
		expect.Abs(t, "coefficients", m.Coefficients[c], plain.Coefficients[c], 1e-10)
	}
	expect.Rel(t, "variance about the model and of errors", between+squares, residual, 1e-6)
	far := d.Specimens[0]
	far.Covariates[morpho.ErrorColumn] = fmt.Sprint(0.1 * morpho.CentroidSize(far.Points))
	m, _, err = FitWithErrors(d, sex)
	if err != nil {
		t.Fatal(err)
	}
	if before, after := floats.Norm(plain.Residuals[0], 2), floats.Norm(m.Residuals[0], 2); after <= before {
		t.Errorf("a specimen that is known badly is %g from the model, %g with equal weights", after, before)
	}
	far.Covariates[morpho.ErrorColumn] = ""
	_, _, err = FitWithErrors(d, sex)
	expect.Refused(t, err, "specimen \"", morpho.ErrorColumn)
}
