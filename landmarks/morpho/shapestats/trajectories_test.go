package shapestats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
)

// Lengths of the ways from female to male pupfish, and their angle, as published (geomorph's course, Trajectory Analysis, 2022): to
// their last digit of the file's coordinates as they are, which are tangent coordinates, and to a thousandth where these are projected again.
func TestTrajectoriesOfPupfish(t *testing.T) {
	d := pupfish()
	population, sex := linear.Factor("population"), linear.Factor("sex")
	got := expect.Must(expect.Must(Fit(d, population, sex, linear.Interaction(population, sex))).Trajectories(population, sex, draws(999, 1)))
	way := func(population string) []float64 {
		sums, counts := map[string][]float64{}, map[string]float64{}
		for _, s := range d.Specimens {
			if s.Covariates["population"] == population {
				sex := s.Covariates["sex"]
				if sums[sex] == nil {
					sums[sex] = make([]float64, 112)
				}
				floats.Add(sums[sex], flat(s.Points))
				counts[sex]++
			}
		}
		floats.Scale(1/counts["M"], sums["M"])
		floats.AddScaled(sums["M"], -1/counts["F"], sums["F"])
		return sums["M"]
	}
	for g, want := range []float64{0.04611590, 0.02568508} {
		expect.Abs(t, "published length", floats.Norm(way(got.Groups[g]), 2), want, 6e-9)
		expect.Rel(t, "length", got.Lengths[g], want, 1e-3)
		expect.Rel(t, "length of the means", floats.Distance(got.Means[g][0], got.Means[g][1], 2), got.Lengths[g], 1e-12)
	}
	pair := got.Pairs[0]
	marsh, sinkhole := way("Marsh"), way("Sinkhole")
	cosine := floats.Dot(marsh, sinkhole) / floats.Norm(marsh, 2) / floats.Norm(sinkhole, 2)
	expect.Abs(t, "published angle", math.Acos(cosine)*180/math.Pi, 42.32209, 6e-6)
	expect.Abs(t, "angle", pair.Angle*180/math.Pi, 42.32209, 0.05)
	expect.Rel(t, "difference of lengths", pair.Size, got.Lengths[0]-got.Lengths[1], 1e-12)
	if pair.PSize > 0.005 || pair.PAngle > 0.005 || !math.IsNaN(pair.Shape) || !math.IsNaN(pair.PShape) || len(got.Pairs) != 1 ||
		strings.Contains(got.String(), "NaN") || strings.Count(got.String(), "  –") != 2 {
		t.Errorf("published are p of 0.001: %+v\n%v", pair, got)
	}
	t.Logf("\n%v", got)
}

// Two stages are slopes of the number 0 and 1, permutation by permutation, and means are those that are predicted.
func TestTrajectoriesAreSlopes(t *testing.T) {
	d := noise(rand.New(rand.NewPCG(5, 6)), 24)
	for i := range d.Specimens {
		d.Specimens[i].Covariates["late"] = fmt.Sprint(i / 3 % 2)
	}
	group, x := linear.Factor("group"), linear.Covariate("x")
	late, later := linear.Factor("late"), linear.Covariate("late")
	m := expect.Must(Fit(d, group, x, late, linear.Interaction(group, late)))
	got := expect.Must(m.Trajectories(group, late, draws(99, 3)))
	slopes := expect.Must(expect.Must(Fit(d, group, x, later, linear.Interaction(group, later))).PairsOfSlopes(group, later, draws(99, 3)))
	for i, p := range got.Pairs {
		expect.Abs(t, "angle", p.Angle, slopes[i].Angle, 1e-9)
		expect.Abs(t, "p of the angle", p.PAngle, slopes[i].PAngle, 0)
	}
	mean := 0.0
	for _, s := range d.Specimens {
		mean += number(s.Covariates["x"]) / 24
	}
	for g, name := range got.Groups {
		for s, stage := range got.Stages {
			want := expect.Must(m.Predict(map[string]string{"group": name, "late": stage, "x": fmt.Sprint(mean)}))
			expect.Abs(t, name+" "+stage, m.Shape(got.Means[g][s]), want, 1e-12)
		}
	}
}

// Groups that change alike over three stages, from different places, differ at 5 % in 5 % of 200 samples, within three standard errors; a
// group that goes another way, or farther, is found.
func TestTrajectoriesHoldTheirSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	const samples = 200
	var rejected [3]float64
	farther, turned := 0, 0
	group, stage := linear.Factor("group"), linear.Factor("stage")
	grown := func(times, turn float64) linear.TrajectoryPair {
		d := noisyGroups(rng, []int{12, 24}, []float64{0.02, 0.02})
		for i := range d.Specimens {
			s := &d.Specimens[i]
			k := i * 7 % 3
			s.Covariates["stage"] = fmt.Sprint(k)
			s.Points[0][1] += 0.1 * indicator(s.Group == "group 1")
			f := 1 + (times-1)*indicator(s.Group == "group 1")
			s.Points[2][0] += f * []float64{0, 0.05, 0.15}[k]
			s.Points[3][1] += f * []float64{0, 0.1, 0.1}[k]
			s.Points[1][0] += turn * float64(k) * indicator(s.Group == "group 1")
		}
		return expect.Must(expect.Must(Fit(d, group, stage, linear.Interaction(group, stage))).Trajectories(group, stage, draws(39, rng.Uint64()))).Pairs[0]
	}
	for i := range samples {
		p := grown(1, 0)
		for k, p := range []float64{p.PSize, p.PAngle, p.PShape} {
			rejected[k] += indicator(p <= 0.05)
		}
		if i < 20 {
			farther += int(indicator(grown(2, 0).PSize <= 0.05))
			turned += int(indicator(grown(1, 0.15).PAngle <= 0.05))
		}
	}
	for k, what := range []string{"size", "angle", "shape"} {
		if share := rejected[k] / samples; !atFivePercent(samples)(share) {
			t.Errorf("the %s is significant in %g of the samples", what, share)
		}
	}
	if farther < 19 || turned < 19 {
		t.Errorf("a way of twice the length is found in %d of 20 samples, one in another direction in %d", farther, turned)
	}
}

func TestTrajectoriesRefuse(t *testing.T) {
	d := noise(rand.New(rand.NewPCG(3, 4)), 24)
	for i := range d.Specimens {
		d.Specimens[i].Covariates["age"] = []string{"10", "9", "100", "9"}[i%4]
		d.Specimens[i].Covariates["part"] = fmt.Sprint(i / 12)
	}
	group, age, part := linear.Factor("group"), linear.Factor("age"), linear.Factor("part")
	m := expect.Must(Fit(d, group, age, linear.Interaction(group, age)))
	got := expect.Must(m.Trajectories(group, age, draws(9, 1)))
	if !slices.Equal(got.Stages, []string{"9", "10", "100"}) || !strings.Contains(got.String(), "shape") || len(got.Pairs) != 3 {
		t.Errorf("%v: \n%v", got.Stages, got)
	}
	expect.Refused(t, expect.Error(m.Trajectories(group, part, draws(9, 1))), "trajectories: no factor part in the model")
	expect.Refused(t, expect.Error(m.Trajectories(group, age, draws(0, 1))), "0 permutations")
	expect.Refused(t, expect.Error(m.Trajectories(group, group, draws(9, 1))), "group cannot be both")
	for what, terms := range map[string][]linear.Term{"group": {age}, "age": {group}} {
		m := expect.Must(Fit(d, append(terms, linear.Interaction(group, age))...))
		expect.Refused(t, expect.Error(m.Trajectories(group, age, draws(9, 1))), "the model has "+what+" in its interaction alone")
	}
	m = expect.Must(Fit(d, group, age))
	expect.Refused(t, expect.Error(m.Trajectories(group, age, draws(9, 1))), "no interaction of the two")
	for i := range d.Specimens { // of part 1 nothing at 100
		if covariates := d.Specimens[i].Covariates; covariates["part"] == "1" && covariates["age"] == "100" {
			covariates["age"] = "9"
		}
	}
	m = expect.Must(Fit(d, part, age, linear.Interaction(part, age)))
	expect.Refused(t, expect.Error(m.Trajectories(part, age, draws(9, 1))), "1 100: the samples do not determine the effect of")
}
