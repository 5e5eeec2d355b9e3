package morpho

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
)

// Procrustes variances of pupfish and partial disparities as published (geomorph's course, Disparity Analysis, 2022), whose divisors are n
// and N − 1: to their last digit of the file's coordinates as they are, which are tangent coordinates, and to 0.2 % where these are
// projected again.
func TestDisparityOfPupfish(t *testing.T) {
	d := pupfish()
	population, sex := Factor("population"), Factor("sex")
	both := Interaction(population, sex)
	within := expect.Must(expect.Must(FitLinear(d, population, sex, both)).Disparity(both, 99, 1))
	about := expect.Must(expect.Must(FitLinear(d)).Disparity(Factor("group"), 99, 1))
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
		expect.Abs(t, v.Group+": published variance", squaresFrom(shapes[v.Group], shapes[v.Group])/float64(v.Specimens), want[0], 6e-11)
		expect.Abs(t, v.Group+": published partial disparity", squaresFrom(shapes[v.Group], every)/53, want[1], 6e-11)
		expect.Rel(t, v.Group+": variance", v.SS/float64(v.Specimens), want[0], 2e-3)
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
func noisyGroups(rng *rand.Rand, n []int, noise []float64) *Dataset {
	d := &Dataset{Name: "groups"}
	for g := range n {
		for range n[g] {
			s := Specimen{Name: fmt.Sprint(len(d.Specimens)), Group: fmt.Sprint("group ", g), Covariates: map[string]string{"all": "all", "x": fmt.Sprint(rng.NormFloat64())}}
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
	group := Factor("group")
	got := expect.Must(expect.Must(FitLinear(d, group)).Disparity(group, 99, 1))
	y, _, err := d.tangentCoordinates()
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
	for _, terms := range [][]Term{nil, {Covariate("x")}, {group, Covariate("x"), Interaction(group, Covariate("x"))}} {
		m := expect.Must(FitLinear(d, terms...))
		ss, df := 0.0, 0.0
		for _, v := range expect.Must(m.Disparity(group, 1, 1)).Groups {
			ss, df = ss+v.SS, df+v.DF
		}
		want := expect.Must(m.Disparity(Factor("all"), 1, 1))
		expect.Rel(t, "sum of squares", ss, want.Groups[0].SS, 1e-12)
		expect.Rel(t, "degrees of freedom", df, want.Groups[0].DF, 1e-12)
		if len(terms) > 0 {
			row := expect.Must(m.ANOVA(1, 1)).Rows[len(terms)]
			expect.Rel(t, "sum of squares of the table", ss, row.SS, 1e-12)
			expect.Rel(t, "degrees of freedom of the table", df, float64(row.DF), 1e-12)
		}
	}
}

// The p-value is the share of all ways to exchange the residuals of a pair, times √(n/(n − 1)), by which the variances are as different; the
// third group has no part in it.
func TestDisparityOfAllArrangements(t *testing.T) {
	d := noisyGroups(rand.New(rand.NewPCG(3, 4)), []int{3, 4, 5}, []float64{0.03, 0.05, 0.4})
	group := Factor("group")
	m := expect.Must(FitLinear(d, group))
	got := expect.Must(m.Disparity(group, 4999, 1)).Ratios[0]
	var scaled [][]float64
	for i := range 7 {
		n := 3 + float64(i/3)
		if i >= 3 {
			n = 4
		}
		row := flat(m.Residuals[i])
		floats.Scale(math.Sqrt(n/(n-1)), row)
		scaled = append(scaled, row)
	}
	ratio := func(chosen int) float64 {
		var parts [2][][]float64
		for i, row := range scaled {
			k := chosen >> i & 1
			parts[k] = append(parts[k], row)
		}
		return math.Log(squaresFrom(parts[1], parts[1]) / 2 / (squaresFrom(parts[0], parts[0]) / 3))
	}
	original := ratio(7) - math.Log((3./2)/(4./3)) // of the residuals as they are
	expect.Abs(t, "ratio", math.Log(got.Ratio), original, 1e-10)
	extreme, all := 0.0, 0.0
	for chosen := range 1 << 7 {
		if bits.OnesCount(uint(chosen)) == 3 {
			all++
			extreme += indicator(math.Abs(ratio(chosen)) >= math.Abs(original)*(1-1e-10))
		}
	}
	expect.Abs(t, "p", got.P, extreme/all, 4*math.Sqrt(0.25/5e3))
	if all != 35 {
		t.Errorf("%g arrangements, want 35", all)
	}
}

// Groups that vary alike are told apart in 5 % of 200 samples, within three standard errors, though they are of different size, their means
// and slopes are fitted, and a third group varies more; one that varies nine times as much is.
func TestDisparityHoldsItsSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const samples = 200
	group, x := Factor("group"), Covariate("x")
	rejected, found := 0.0, 0
	for range samples {
		m := expect.Must(FitLinear(noisyGroups(rng, []int{4, 15, 8}, []float64{0.03, 0.03, 0.09}), x, group))
		ratios := expect.Must(m.Disparity(group, 19, rng.Uint64())).Ratios
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
	group, x, half := Factor("group"), Covariate("x"), Factor("half")
	m := expect.Must(FitLinear(d, group))
	expect.Refused(t, expect.Error(m.Disparity(group, 9, 1)), "disparity of groups", "the model fits all of group 0 exactly (1 specimens)")
	expect.Refused(t, expect.Error(m.Disparity(half, 0, 1)), "0 permutations")
	expect.Refused(t, expect.Error(m.Disparity(x, 9, 1)), "x is a number, and makes no groups")
	expect.Refused(t, expect.Error(m.Disparity(Interaction(half, x), 9, 1)), "x is a number")
	expect.Refused(t, expect.Error(m.Disparity(Factor("age"), 9, 1)), "term age")
	lone := expect.Must(m.Disparity(half, 99, 1)) // the specimen that is fitted exactly stays where it is
	expect.Abs(t, "degrees of freedom", lone.Groups[0].DF+lone.Groups[1].DF, 7, 1e-12)
	measured := repeated(rand.New(rand.NewPCG(3, 4)), 6, 2, 0.05, 0.03, 0.02)
	treated, individual := Factor("treated"), Factor("individual")
	expect.Refused(t, expect.Error(expect.Must(FitLinear(measured, treated.Over(individual), individual)).Disparity(treated, 9, 1)), "treated is tested over individual")
	evolved, phylogeny := species(false)
	expect.Refused(t, expect.Error(expect.Must(FitLinearOnTree(evolved, phylogeny, x)).Disparity(Factor("habitat"), 9, 1)), "the model is one on a tree")
	same := noisyGroups(rand.New(rand.NewPCG(3, 4)), []int{4, 4}, []float64{0, 0.05})
	expect.Refused(t, expect.Error(expect.Must(FitLinear(same, group)).Disparity(group, 9, 1)), "the specimens of group 0 do not vary")
}
