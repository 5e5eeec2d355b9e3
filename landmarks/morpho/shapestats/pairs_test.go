package shapestats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
)

// The distances of the mean pupfish at one size and their p-values as published (see TestPredictPupfish): 0.001 and 0.031.
func TestPairsOfPupfish(t *testing.T) {
	m := expect.Must(Fit(pupfish(), linear.Covariate("size"), linear.Factor("group")))
	pairs := expect.Must(m.PairsOfMeans(linear.Factor("group"), draws(999, 1)))
	want := map[string][2]float64{
		"Marsh F, Sinkhole F": {0.0364, 0.001}, "Marsh F, Marsh M": {0.0358, 0.001}, "Marsh F, Sinkhole M": {0.0381, 0.001},
		"Sinkhole F, Marsh M": {0.0368, 0.002}, "Sinkhole F, Sinkhole M": {0.0194, 0.031}, "Marsh M, Sinkhole M": {0.0269, 0.001},
	}
	if len(pairs) != len(want) {
		t.Fatalf("%d pairs, want %d", len(pairs), len(want))
	}
	for _, p := range pairs {
		published, ok := want[p.A+", "+p.B]
		if !ok {
			published, ok = want[p.B+", "+p.A]
		}
		if !ok || !math.IsNaN(p.Angle) || !math.IsNaN(p.PAngle) {
			t.Errorf("%+v", p)
		}
		expect.Abs(t, p.A+" to "+p.B, p.Distance, published[0], 1e-4)
		expect.Abs(t, p.A+" to "+p.B+": p", p.P, published[1], 4*math.Sqrt(published[1]*2/1000))
	}
	lines := strings.Split(pairs.String(), "\n")
	for _, line := range lines {
		if len(lines) != 7 || utf8.RuneCountInString(line) != utf8.RuneCountInString(lines[0]) || strings.Contains(line, "angle") {
			t.Errorf("the table:\n%s", pairs)
		}
	}
	t.Logf("\n%v", pairs)
}

// Two groups and nothing else: the distance of the means is as significant as F, permutation by permutation, and is the length of the
// coefficient, also on a tree.
func TestPairsOfTwoMeans(t *testing.T) {
	d := noise(rand.New(rand.NewPCG(5, 6)), 16)
	evolved, phylogeny := brownian(rand.New(rand.NewPCG(7, 8)), 4)
	for i := range d.Specimens {
		d.Specimens[i].Covariates["half"] = fmt.Sprint(i % 2)
		evolved.Specimens[i].Covariates["half"] = fmt.Sprint(i % 3 / 2)
	}
	half := linear.Factor("half")
	for _, m := range []*Model{expect.Must(Fit(d, half)), expect.Must(FitOnTree(evolved, phylogeny, half))} {
		pairs := expect.Must(m.PairsOfMeans(half, draws(199, 3)))
		expect.Abs(t, "p of a pair and of F", pairs[0].P, expect.Must(m.ANOVA(draws(199, 3))).Rows[0].P, 0)
		expect.Abs(t, "distance", pairs[0].Distance, floats.Norm(m.Coefficients[1], 2), 1e-14)
	}
}

// Slopes of groups by hand: least squares of each group alone.
func TestPairsOfSlopesByHand(t *testing.T) {
	d := noise(rand.New(rand.NewPCG(5, 6)), 24)
	x, group := linear.Covariate("x"), linear.Factor("group")
	m := expect.Must(Fit(d, group, x, linear.Interaction(x, group)))
	y, _, err := tangentCoordinates(d)
	if err != nil {
		t.Fatal(err)
	}
	slope := func(group string) []float64 {
		var numbers []float64
		var shapes [][]float64
		for i, s := range d.Specimens {
			if s.Group == group {
				numbers, shapes = append(numbers, number(s.Covariates["x"])), append(shapes, y.RawRowView(i))
			}
		}
		floats.AddConst(-floats.Sum(numbers)/float64(len(numbers)), numbers)
		out := make([]float64, 8)
		for i, v := range numbers {
			floats.AddScaled(out, v/floats.Dot(numbers, numbers), shapes[i])
		}
		return out
	}
	pairs := expect.Must(m.PairsOfSlopes(group, x, draws(99, 1)))
	if len(pairs) != 3 || !strings.Contains(pairs.String(), "angle") {
		t.Fatalf("%v", pairs)
	}
	for _, p := range pairs {
		a, b := slope(p.A), slope(p.B)
		expect.Abs(t, p.A+" to "+p.B, p.Distance, floats.Distance(a, b, 2), 1e-12)
		expect.Abs(t, p.A+" to "+p.B+": angle", p.Angle, math.Acos(floats.Dot(a, b)/floats.Norm(a, 2)/floats.Norm(b, 2)), 1e-9)
	}
	// On a star species are specimens.
	star := "(" + strings.Join(d.Names(), ":1,") + ":1);"
	for i, p := range expect.Must(expect.Must(FitOnTree(d, expect.Must(tree.Parse(star)), group, x, linear.Interaction(x, group))).PairsOfSlopes(group, x, draws(99, 1))) {
		expect.Abs(t, p.A+" to "+p.B+" on a star", p.Distance, pairs[i].Distance, 1e-11)
	}
}

// Where the groups have one slope, though x changes the shapes, and one mean, pairs are significant at 5 % in 5 % of 200 samples, within
// three standard errors.
func TestPairsHoldTheirSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	const samples = 200
	rejected := [3]float64{}
	x, group := linear.Covariate("x"), linear.Factor("group")
	for range samples {
		d := noise(rng, 15)
		for _, s := range d.Specimens {
			s.Points[2][0] += 0.05 * number(s.Covariates["x"])
		}
		m := expect.Must(Fit(d, x, group, linear.Interaction(x, group)))
		means, slopes := expect.Must(m.PairsOfMeans(group, draws(39, rng.Uint64())))[0], expect.Must(m.PairsOfSlopes(group, x, draws(39, rng.Uint64())))[0]
		for k, p := range []float64{means.P, slopes.P, slopes.PAngle} {
			if p <= 0.05 {
				rejected[k]++
			}
		}
	}
	for k, what := range []string{"distance of means", "distance of slopes", "angle of slopes"} {
		if share := rejected[k] / samples; !atFivePercent(samples)(share) {
			t.Errorf("the %s is significant in %g of the samples", what, share)
		}
	}
}

func TestPairsRefuse(t *testing.T) {
	d := repeated(rand.New(rand.NewPCG(3, 4)), 6, 2, 0.05, 0.03, 0.02)
	for i := range d.Specimens {
		d.Specimens[i].Covariates["x"] = fmt.Sprint(i * i)
		d.Specimens[i].Covariates["part"] = fmt.Sprint(i / 6)
	}
	individual, side, treated, x, part := linear.Factor("individual"), linear.Factor("side"), linear.Factor("treated"), linear.Covariate("x"), linear.Factor("part")
	m := expect.Must(Fit(d, treated.Over(individual), individual, x))
	expect.Refused(t, expect.Error(m.PairsOfMeans(treated, draws(9, 1))), "pairs of means", "the term treated is tested over individual")
	expect.Refused(t, expect.Error(m.PairsOfMeans(side, draws(9, 1))), "no factor side in the model")
	expect.Refused(t, expect.Error(m.PairsOfMeans(x, draws(9, 1))), "no factor x in the model")
	expect.Refused(t, expect.Error(m.PairsOfSlopes(individual, x, draws(9, 1))), "pairs of slopes", "no interaction of the two")
	m = expect.Must(Fit(d, side, part, linear.Interaction(side, part)))
	expect.Refused(t, expect.Error(m.PairsOfSlopes(side, part, draws(9, 1))), "no interaction of the two")
	expect.Refused(t, expect.Error(m.PairsOfMeans(side, draws(0, 1))), "0 permutations")
	lone := expect.Must(Fit(d.Without("0"), side, part, linear.Interaction(side, part)))
	if err := expect.Error(lone.PairsOfMeans(side, draws(9, 1))); err != nil {
		t.Error(err)
	}
	for i := range d.Specimens { // of part 0 no side 1
		if d.Specimens[i].Covariates["part"] == "0" {
			d.Specimens[i].Covariates["side"] = "0"
		}
	}
	m = expect.Must(Fit(d, side, part, linear.Interaction(side, part)))
	expect.Refused(t, expect.Error(m.PairsOfMeans(side, draws(9, 1))), "the samples do not determine the effect of side")
}
