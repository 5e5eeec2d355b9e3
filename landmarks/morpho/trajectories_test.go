package morpho

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
)

// Lengths of the ways from female to male pupfish, and their angle, as published (geomorph's course, Trajectory Analysis, 2022): to
// their last digit of the file's coordinates as they are, which are tangent coordinates, and to a thousandth where these are projected again.
func TestTrajectoriesOfPupfish(t *testing.T) {
	d := pupfish()
	population, sex := Factor("population"), Factor("sex")
	got := expect.Must(expect.Must(FitLinear(d, population, sex, Interaction(population, sex))).Trajectories(population, sex, 999, 1))
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
		expect.Rel(t, "length of the means", floats.Distance(flat(got.Means[g][0]), flat(got.Means[g][1]), 2), got.Lengths[g], 1e-12)
	}
	pair := got.Pairs[0]
	expect.Abs(t, "published angle", angle(way("Marsh"), way("Sinkhole"))*180/math.Pi, 42.32209, 6e-6)
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
	group, x := Factor("group"), Covariate("x")
	late, number := Factor("late"), Covariate("late")
	m := expect.Must(FitLinear(d, group, x, late, Interaction(group, late)))
	got := expect.Must(m.Trajectories(group, late, 99, 3))
	slopes := expect.Must(expect.Must(FitLinear(d, group, x, number, Interaction(group, number))).PairsOfSlopes(group, number, 99, 3))
	for i, p := range got.Pairs {
		expect.Abs(t, "angle", p.Angle, slopes[i].Angle, 1e-9)
		expect.Abs(t, "p of the angle", p.PAngle, slopes[i].PAngle, 0)
	}
	mean := 0.0
	for _, s := range d.Specimens {
		mean += expect.Must(parseCoordinate(s.Covariates["x"])) / 24
	}
	for g, name := range got.Groups {
		for s, stage := range got.Stages {
			want := expect.Must(m.Predict(map[string]string{"group": name, "late": stage, "x": fmt.Sprint(mean)}))
			expect.Abs(t, name+" "+stage, got.Means[g][s], want, 1e-12)
		}
	}
}

// A path that is turned, moved and made larger has the same shape, twice the length, and an axis that turns with it; the angle and the
// distance of two triangles by hand.
func TestPath(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	random := func(r, c int) *mat.Dense {
		m := mat.NewDense(r, c, nil)
		m.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, m)
		return m
	}
	var qr mat.QR
	var turn, turned mat.Dense
	qr.Factorize(random(6, 6))
	qr.QTo(&turn)
	x := random(4, 6)
	turned.Mul(x, &turn)
	turned.Apply(func(_, j int, v float64) float64 { return 2*v + float64(j) }, &turned)
	a, b, other := newPath(x), newPath(&turned), newPath(random(4, 6))
	expect.Rel(t, "length", b.length, 2*a.length, 1e-12)
	expect.Abs(t, "distance from itself, turned", a.shapeFrom(b), 0, 1e-7)
	expect.Abs(t, "distance from another", other.shapeFrom(a), other.shapeFrom(b), 1e-12)
	var axis mat.VecDense
	axis.MulVec(turn.T(), mat.NewVecDense(6, a.axis))
	expect.Abs(t, "axis", angle(b.axis, axis.RawVector().Data), 0, 1e-9)
	// Σσ of 2 × 2 matrices is √(|M|² + 2 |det M|).
	p, q := random(3, 2), random(3, 2)
	centred := func(m *mat.Dense) *mat.Dense {
		out := mat.DenseCopyOf(m)
		for c := range 2 {
			column := mat.Col(nil, c, m)
			floats.AddConst(-floats.Sum(column)/3, column)
			out.SetCol(c, column)
		}
		out.Scale(1/mat.Norm(out, 2), out)
		return out
	}
	var product mat.Dense
	product.Mul(centred(p).T(), centred(q))
	sum := math.Sqrt(math.Pow(mat.Norm(&product, 2), 2) + 2*math.Abs(mat.Det(&product)))
	expect.Abs(t, "distance of triangles", newPath(p).shapeFrom(newPath(q)), math.Sqrt(2-2*sum), 1e-12)
	// The axis of a straight way is its direction.
	straight := mat.NewDense(3, 2, []float64{0, 0, 3, 4, 9, 12})
	expect.Abs(t, "axis of a straight way", angle(newPath(straight).axis, []float64{0.6, 0.8}), 0, 1e-12)
	expect.Abs(t, "its length", newPath(straight).length, 15, 1e-12)
	// Where nothing changes there is no shape.
	if still := newPath(mat.NewDense(4, 6, nil)); !math.IsNaN(a.shapeFrom(still)) || !math.IsNaN(still.shapeFrom(a)) {
		t.Error("a shape of what does not change")
	}
}

// Groups that change alike over three stages, from different places, differ at 5 % in 5 % of 200 samples, within three standard errors; a
// group that goes another way, or farther, is found.
func TestTrajectoriesHoldTheirSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	const samples = 200
	var rejected [3]float64
	farther, turned := 0, 0
	group, stage := Factor("group"), Factor("stage")
	grown := func(times, turn float64) TrajectoryPair {
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
		return expect.Must(expect.Must(FitLinear(d, group, stage, Interaction(group, stage))).Trajectories(group, stage, 39, rng.Uint64())).Pairs[0]
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
	group, age, part := Factor("group"), Factor("age"), Factor("part")
	m := expect.Must(FitLinear(d, group, age, Interaction(group, age)))
	got := expect.Must(m.Trajectories(group, age, 9, 1))
	if !slices.Equal(got.Stages, []string{"9", "10", "100"}) || !strings.Contains(got.String(), "shape") || len(got.Pairs) != 3 {
		t.Errorf("%v: \n%v", got.Stages, got)
	}
	expect.Refused(t, expect.Error(m.Trajectories(group, part, 9, 1)), "trajectories of noise", "no factor part in the model")
	expect.Refused(t, expect.Error(m.Trajectories(group, age, 0, 1)), "0 permutations")
	expect.Refused(t, expect.Error(m.Trajectories(group, group, 9, 1)), "group cannot be both")
	for what, terms := range map[string][]Term{"group": {age}, "age": {group}} {
		m := expect.Must(FitLinear(d, append(terms, Interaction(group, age))...))
		expect.Refused(t, expect.Error(m.Trajectories(group, age, 9, 1)), "the model has "+what+" in its interaction alone")
	}
	m = expect.Must(FitLinear(d, group, age))
	expect.Refused(t, expect.Error(m.Trajectories(group, age, 9, 1)), "no interaction of both in the model")
	for i := range d.Specimens { // of part 1 nothing at 100
		if covariates := d.Specimens[i].Covariates; covariates["part"] == "1" && covariates["age"] == "100" {
			covariates["age"] = "9"
		}
	}
	m = expect.Must(FitLinear(d, part, age, Interaction(part, age)))
	expect.Refused(t, expect.Error(m.Trajectories(part, age, 9, 1)), "1 100: the specimens do not tell the effect of")
}
