package shapestats

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/landmarks/morpho"
)

// morpho.Procrustes variances of pupfish and partial disparities as published (geomorph's course, Disparity Analysis, 2022), whose divisors are n
// and N − 1: to their last digit of the file's coordinates as they are, which are tangent coordinates, and to 0.2 % where these are
// projected again.
func TestDisparityOfPupfish(t *testing.T) {
	d := pupfish()
	population, sex := linear.Factor("population"), linear.Factor("sex")
	both := linear.Interaction(population, sex)
	within := expect.Must(expect.Must(Fit(d, population, sex, both)).Disparity(both, draws(99, 1)))
	about := expect.Must(expect.Must(Fit(d)).Disparity(linear.Factor("group"), draws(99, 1)))
	published := map[string][2]float64{
		"Marsh F": {0.0003439300, 0.0002824902}, "Marsh M": {0.0003607052, 0.0002761654},
		"Sinkhole F": {0.0005803226, 0.0002372006}, "Sinkhole M": {0.0008318581, 0.0002670281},
	}
	shapes, every := map[string][][]float64{}, [][]float64{}
	for _, s := range d.Specimens {
		shapes[s.Group], every = append(shapes[s.Group], flat(s.Points)), append(every, flat(s.Points))
	}
	for g, v := range within.Groups {
		want, partial := published[v.Group], about.Groups[g]
		if partial.Group != v.Group {
			t.Fatalf("groups %s and %s", v.Group, partial.Group)
		}
		expect.Abs(t, v.Group+": published variance", squaresFrom(shapes[v.Group], shapes[v.Group])/float64(v.Samples), want[0], 6e-11)
		expect.Abs(t, v.Group+": published partial disparity", squaresFrom(shapes[v.Group], every)/53, want[1], 6e-11)
		expect.Rel(t, v.Group+": variance", v.SS/float64(v.Samples), want[0], 2e-3)
		expect.Rel(t, v.Group+": partial disparity", partial.SS/53, want[1], 2e-3)
	}
	if p := within.Ratios[2].P; p > 0.03 || len(within.Ratios) != 6 { // published: 0.001
		t.Errorf("the table:\n%v", within)
	}
}

// squaresFrom is the sum of squares of rows from the mean of others.
func squaresFrom(x, others [][]float64) float64 {
	mean := make([]float64, len(x[0]))
	for _, row := range others {
		floats.AddScaled(mean, 1/float64(len(others)), row)
	}
	sum := 0.0
	for _, row := range x {
		sum += math.Pow(floats.Distance(row, mean, 2), 2)
	}
	return sum
}

// noisyGroups are n shapes of each group, quadrilaterals with noise of these sizes.
func noisyGroups(rng *rand.Rand, n []int, noise []float64) *morpho.Dataset {
	d := &morpho.Dataset{Name: "groups"}
	for g := range n {
		for range n[g] {
			s := morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Group: fmt.Sprint("group ", g), Covariates: map[string]string{"all": "all", "x": fmt.Sprint(rng.NormFloat64())}}
			for _, p := range [][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}} {
				s.Points = append(s.Points, []float64{p[0] + noise[g]*rng.NormFloat64(), p[1] + noise[g]*rng.NormFloat64()})
			}
			d.Specimens = append(d.Specimens, s)
		}
	}
	return d
}

// Of groups with means of their own variances are traces of covariance matrices; of any model sums of squares and degrees of freedom are
// those of the residuals in the table of variances; unit, place and order of specimens say nothing.
func TestDisparityAddsUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	d := noisyGroups(rng, []int{4, 9, 6}, []float64{0.02, 0.05, 0.03})
	group := linear.Factor("group")
	got := expect.Must(expect.Must(Fit(d, group)).Disparity(group, draws(99, 1)))
	y, _, err := tangentCoordinates(d)
	if err != nil {
		t.Fatal(err)
	}
	from := 0
	for g, n := range []int{4, 9, 6} {
		var covariance mat.SymDense
		stat.CovarianceMatrix(&covariance, y.Slice(from, from+n, 0, 8), nil)
		expect.Rel(t, "variance", got.Groups[g].Variance, mat.Trace(&covariance), 1e-10)
		from += n
	}
	for _, terms := range [][]linear.Term{nil, {linear.Covariate("x")}, {group, linear.Covariate("x"), linear.Interaction(group, linear.Covariate("x"))}} {
		m := expect.Must(Fit(d, terms...))
		ss, df := 0.0, 0.0
		for _, v := range expect.Must(m.Disparity(group, draws(1, 1))).Groups {
			ss, df = ss+v.SS, df+v.DF
		}
		want := expect.Must(m.Disparity(linear.Factor("all"), draws(1, 1)))
		expect.Rel(t, "sum of squares", ss, want.Groups[0].SS, 1e-12)
		expect.Rel(t, "degrees of freedom", df, want.Groups[0].DF, 1e-12)
		if len(terms) > 0 {
			row := expect.Must(m.ANOVA(draws(1, 1))).Rows[len(terms)]
			expect.Rel(t, "sum of squares of the table", ss, row.SS, 1e-12)
			expect.Rel(t, "degrees of freedom of the table", df, float64(row.DF), 1e-12)
		}
	}
}

// The p-value is the share of all ways to exchange the residuals of a pair, times √(n/(n − 1)), by which the variances are as different; the
// third group has no part in it. Groups of 2 and 6 have such different leverages that the share without that factor, or with its square, is another.
func TestDisparityOfAllArrangements(t *testing.T) {
	d := noisyGroups(rand.New(rand.NewPCG(3, 22)), []int{2, 6, 5}, []float64{0.05, 0.05, 0.4})
	group := linear.Factor("group")
	m := expect.Must(Fit(d, group))
	got := expect.Must(m.Disparity(group, draws(4999, 1))).Ratios[0]
	share := func(factor func(n float64) float64) float64 {
		ratio := func(chosen int) float64 { // of arranged residuals
			var parts [2][][]float64
			for i := range 8 {
				n := 2.
				if i >= 2 {
					n = 6
				}
				k := chosen >> i & 1
				parts[k] = append(parts[k], floats.ScaleTo(make([]float64, 8), factor(n), m.Residuals[i]))
			}
			return math.Abs(math.Log(squaresFrom(parts[1], parts[1]) / 1 / (squaresFrom(parts[0], parts[0]) / 5)))
		}
		extreme, all := 0.0, 0.0
		for chosen := range 1 << 8 {
			if bits.OnesCount(uint(chosen)) == 2 {
				all++
				extreme += indicator(ratio(chosen) >= math.Abs(math.Log(got.Ratio))*(1-1e-10))
			}
		}
		if all != 28 {
			t.Errorf("%g arrangements, want 28", all)
		}
		return extreme / all
	}
	squares := func(from, to int) float64 { return squaresFrom(m.Residuals[from:to], m.Residuals[from:to]) }
	expect.Rel(t, "ratio", got.Ratio, squares(0, 2)/(squares(2, 8)/5), 1e-10)
	want := share(func(n float64) float64 { return math.Sqrt(n / (n - 1)) })
	expect.Abs(t, "p", got.P, want, 4*math.Sqrt(0.25/5e3))
	for _, wrong := range []float64{share(func(float64) float64 { return 1 }), share(func(n float64) float64 { return n / (n - 1) })} {
		if math.Abs(want-wrong) < 0.1 {
			t.Errorf("p %g, with a wrong factor %g: this tells nothing", want, wrong)
		}
	}
}

// Groups that vary alike are told apart in 5 % of 200 samples, within three standard errors, though they are of different size, their means
// and slopes are fitted, and a third group varies more; one that varies nine times as much is.
func TestDisparityHoldsItsSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const samples = 200
	group, x := linear.Factor("group"), linear.Covariate("x")
	rejected, found := 0.0, 0
	for range samples {
		m := expect.Must(Fit(noisyGroups(rng, []int{4, 15, 8}, []float64{0.03, 0.03, 0.09}), x, group))
		ratios := expect.Must(m.Disparity(group, draws(19, rng.Uint64()))).Ratios
		rejected += indicator(ratios[0].P <= 0.05)
		if ratios[2].P <= 0.05 {
			found++
		}
	}
	if !atFivePercent(samples)(rejected/samples) || found < samples*9/10 {
		t.Errorf("groups that vary alike are told apart in %g of %d samples, those that do not in %d", rejected, samples, found)
	}
}

func TestDisparityRefuses(t *testing.T) {
	d := noisyGroups(rand.New(rand.NewPCG(3, 4)), []int{1, 4, 5}, []float64{0.03, 0.05, 0.04})
	for i := range d.Specimens {
		d.Specimens[i].Covariates["half"] = fmt.Sprint(i % 2)
	}
	group, x, half := linear.Factor("group"), linear.Covariate("x"), linear.Factor("half")
	m := expect.Must(Fit(d, group))
	expect.Refused(t, expect.Error(m.Disparity(group, draws(9, 1))), "disparity: the model fits all samples of group 0 exactly (1)")
	expect.Refused(t, expect.Error(m.Disparity(half, draws(0, 1))), "0 permutations")
	expect.Refused(t, expect.Error(m.Disparity(x, draws(9, 1))), "x is a number, and makes no groups")
	expect.Refused(t, expect.Error(m.Disparity(linear.Interaction(half, x), draws(9, 1))), "x is a number")
	expect.Refused(t, expect.Error(m.Disparity(linear.Factor("age"), draws(9, 1))), "term age")
	lone := expect.Must(m.Disparity(half, draws(99, 1))) // the specimen that is fitted exactly stays where it is
	expect.Abs(t, "degrees of freedom", lone.Groups[0].DF+lone.Groups[1].DF, 7, 1e-12)
	measured := repeated(rand.New(rand.NewPCG(3, 4)), 6, 2, 0.05, 0.03, 0.02)
	treated, individual := linear.Factor("treated"), linear.Factor("individual")
	expect.Refused(t, expect.Error(expect.Must(Fit(measured, treated.Over(individual), individual)).Disparity(treated, draws(9, 1))), "treated is tested over individual")
	evolved, phylogeny := species(false)
	expect.Refused(t, expect.Error(expect.Must(FitOnTree(evolved, phylogeny, x)).Disparity(linear.Factor("habitat"), draws(9, 1))), "the model is one on a tree")
	same := noisyGroups(rand.New(rand.NewPCG(3, 4)), []int{4, 4}, []float64{0, 0.05})
	expect.Refused(t, expect.Error(expect.Must(Fit(same, group)).Disparity(group, draws(9, 1))), "the samples of group 0 are equal")
}
