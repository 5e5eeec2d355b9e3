package shapestats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/landmarks/morpho"
)

// The published table of the heads of salamanders (geomorph's procD.lm, species * site; Collyer, Sekora and Adams 2015).
func TestProcrustesANOVAOfPlethodon(t *testing.T) {
	species, site := linear.Factor("species"), linear.Factor("site")
	got, err := anova(morpho.Plethodon(), draws(999, 1), species, site, linear.Interaction(species, site))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []linear.ANOVARow{
		{Term: "species", DF: 1, SS: 0.029258, F: 14.544},
		{Term: "site", DF: 1, SS: 0.064375, F: 32.000},
		{Term: "species:site", DF: 1, SS: 0.030885, F: 15.352},
		{Term: "residuals", DF: 36, SS: 0.072422, F: math.NaN()},
		{Term: "total", DF: 39, SS: 0.196940, F: math.NaN()},
	} {
		r := got.Rows[i]
		if r.Term != want.Term || r.DF != want.DF {
			t.Errorf("row %d is %s with %d degrees of freedom, want %s with %d", i, r.Term, r.DF, want.Term, want.DF)
		}
		expect.Abs(t, r.Term+": sum of squares", r.SS, want.SS, 5.1e-7)
		expect.Abs(t, r.Term+": mean square", r.MS, r.SS/float64(r.DF), 1e-15)
		expect.Abs(t, r.Term+": share", r.R2, r.SS/got.Rows[4].SS, 1e-15)
		if i < 3 {
			expect.Abs(t, r.Term+": F", r.F, want.F, 1e-3) // geomorph ends its alignment at 1e-4
			expect.Abs(t, r.Term+": p", r.P, 0.001, 0)
		}
	}
	t.Logf("\n%v", got)
}

// noise is a data set of n random quadrilaterals, whose covariates say nothing about them.
func noise(rng *rand.Rand, n int) *morpho.Dataset {
	d := &morpho.Dataset{Name: "noise"}
	for i := range n {
		s := morpho.Specimen{Name: fmt.Sprint(i), Group: fmt.Sprint(i % 3), Covariates: map[string]string{"x": fmt.Sprint(rng.NormFloat64())}}
		for _, p := range [][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}} {
			s.Points = append(s.Points, []float64{p[0] + 0.05*rng.NormFloat64(), p[1] + 0.05*rng.NormFloat64()})
		}
		d.Specimens = append(d.Specimens, s)
	}
	return d
}

// Where nothing explains the shapes each term is significant at 5 % in 5 % of 400 samples, within three standard errors, the second also beside
// a first that explains much.
func TestProcrustesANOVAHoldsItsSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const samples = 400
	rejected := [2]int{}
	for range samples {
		d := noise(rng, 15)
		for i := range d.Specimens {
			if d.Specimens[i].Group == "1" {
				d.Specimens[i].Points[2][0] += 0.3
			}
		}
		a, err := anova(d, draws(99, rng.Uint64()), linear.Factor("group"), linear.Covariate("x"))
		if err != nil {
			t.Fatal(err)
		}
		for k := range rejected {
			if a.Rows[k].P <= 0.05 {
				rejected[k]++
			}
		}
	}
	if share := float64(rejected[0]) / samples; share < 0.99 {
		t.Errorf("the group that differs is found in %g of the samples", share)
	}
	expect.Abs(t, "share of samples in which x is significant", float64(rejected[1])/samples, 0.05, 3*math.Sqrt(0.05*0.95/samples))
}

// Terms that explain shapes linearly are found with their degrees of freedom, and sums of squares add up; allometry is one of them.
func TestProcrustesANOVATerms(t *testing.T) {
	rats := morpho.Rats()
	age := linear.Covariate("age")
	a, err := anova(rats, draws(99, 1), LogSize(), linear.Factor("rat"), age, linear.Interaction(LogSize(), age))
	if err != nil {
		t.Fatal(err)
	}
	sum, df := 0.0, 0
	for i, want := range []int{1, 17, 1, 1, 123} {
		if a.Rows[i].DF != want {
			t.Errorf("%s has %d degrees of freedom, want %d", a.Rows[i].Term, a.Rows[i].DF, want)
		}
		sum, df = sum+a.Rows[i].SS, df+a.Rows[i].DF
	}
	expect.Abs(t, "sum of the sums of squares", sum, a.Rows[5].SS, 1e-14)
	if df != a.Rows[5].DF || a.Rows[0].Term != "log size" || a.Rows[3].Term != "log size:age" || a.Rows[0].R2 < 0.5 || a.Rows[0].P != 0.01 {
		t.Errorf("%v", a)
	}
	if again, err := anova(rats, draws(99, 1), LogSize(), linear.Factor("rat"), age, linear.Interaction(LogSize(), age)); err != nil || again.String() != a.String() {
		t.Errorf("a second time: %v, %v", again, err)
	}
}

// Where a group determines the shape, F is +Inf, and p the share of the arrangements that do as well: of two groups of three 2 in 20, of
// two groups of two 2 in 6, whatever the residuals are in floating point.
func TestProcrustesANOVAExplainsAll(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range []struct {
		copies int
		p      float64
	}{{3, 0.1}, {2, 1. / 3}} {
		for seed := range uint64(10) {
			shapes := noise(rng, 2).Shapes()
			d := &morpho.Dataset{Name: "copies"}
			for i := range 2 * c.copies {
				angle := 6 * rng.Float64()
				turn := [][]float64{{math.Cos(angle), -math.Sin(angle)}, {math.Sin(angle), math.Cos(angle)}}
				d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint(i), Group: fmt.Sprint(i % 2),
					Points: morpho.Similarity{Scale: 1 + rng.Float64(), Rotation: turn, Translation: []float64{rng.NormFloat64(), rng.NormFloat64()}}.Apply(shapes[i%2])})
			}
			a := expect.Must(anova(d, draws(999, seed), linear.Factor("group")))
			group, residuals := a.Rows[0], a.Rows[1]
			if !math.IsInf(group.F, 1) || residuals.SS != 0 || group.R2 != 1 {
				t.Errorf("%d copies, seed %d:\n%v", c.copies, seed, a)
			}
			expect.Abs(t, fmt.Sprintf("p of %d copies", c.copies), group.P, c.p, 4*math.Sqrt(c.p*(1-c.p)/1000))
			for i := range d.Specimens { // a second term has nothing to explain
				d.Specimens[i].Covariates = map[string]string{"x": fmt.Sprint(i * i)}
			}
			if x := expect.Must(anova(d, draws(99, seed), linear.Factor("group"), linear.Covariate("x"))).Rows[1]; x.F != 0 || x.P != 1 {
				t.Errorf("%d copies, seed %d: x has F %g, p %g", c.copies, seed, x.F, x.P)
			}
		}
	}
}

// A design of many individuals is fitted at once, and a permutation copies no shapes: both took minutes of thousands of specimens.
func TestModelAllocates(t *testing.T) {
	d := repeated(rand.New(rand.NewPCG(3, 4)), 30, 3, 0.05, 0.03, 0.02) // 180 specimens in 60 cells
	individual, side := linear.Factor("individual"), linear.Factor("side")
	both := linear.Interaction(individual, side)
	allocated := func(f func()) float64 { // MiB
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		f()
		runtime.ReadMemStats(&after)
		return float64(after.TotalAlloc-before.TotalAlloc) / (1 << 20)
	}
	most := 5.0
	if info, _ := debug.ReadBuildInfo(); slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		most *= 4 // the detector allocates, too
	}
	var m *Model
	if fit := allocated(func() { m = expect.Must(Fit(d, individual, side, both)) }); fit > most {
		t.Errorf("the fit allocates %.1f MiB", fit)
	}
	if table := allocated(func() { expect.Must(m.ANOVA(draws(199, 1))) }); table > most {
		t.Errorf("the table allocates %.1f MiB", table)
	}
}

// The published analysis of symmetry of mosquito wings (geomorph's bilat.symmetry), whose F of individuals and of sides are by their
// interaction, and the same by hand: sums of squares of the means of the levels in a table of individuals by sides.
func TestOverOfMosquitoWings(t *testing.T) {
	d := morpho.MosquitoWings()
	individual, side := linear.Factor("individual"), linear.Factor("side")
	both := linear.Interaction(individual, side)
	a := expect.Must(anova(d, draws(99, 1), individual.Over(both), side.Over(both), both))
	for i, want := range []linear.ANOVARow{
		{Term: "individual", DF: 9, SS: 0.104888, F: 2.690, Over: "individual:side"},
		{Term: "side", DF: 1, SS: 0.003221, F: 0.744, Over: "individual:side"},
		{Term: "individual:side", DF: 9, SS: 0.038990, F: 1.041, Over: "residuals"},
	} {
		r := a.Rows[i]
		if r.Term != want.Term || r.DF != want.DF || r.Over != want.Over {
			t.Errorf("row %d: %+v, want %+v", i, r, want)
		}
		expect.Abs(t, r.Term+": sum of squares", r.SS, want.SS, 1e-6)
		expect.Abs(t, r.Term+": F", r.F, want.F, 1e-3)
	}
	if s := a.String(); !strings.Contains(s, "2.690   3.87  0.01  over individual:side\n") {
		t.Errorf("the table:\n%s", s)
	}

	y, _, err := tangentCoordinates(d)
	if err != nil {
		t.Fatal(err)
	}
	_, p := y.Dims()
	cell := func(individual, side string) []float64 { // the mean of these wings; all for ""
		mean, n := make([]float64, p), 0.0
		for i, s := range d.Specimens {
			if (individual == "" || s.Covariates["individual"] == individual) && (side == "" || s.Covariates["side"] == side) {
				floats.Add(mean, y.RawRowView(i))
				n++
			}
		}
		floats.Scale(1/n, mean)
		return mean
	}
	var individuals, sides, rest float64
	for i := range 10 {
		name := fmt.Sprint(i + 1)
		individuals += 4 * math.Pow(floats.Distance(cell(name, ""), cell("", ""), 2), 2)
		for s := range 2 {
			side := fmt.Sprint(s + 1)
			if i == 0 {
				sides += 20 * math.Pow(floats.Distance(cell("", side), cell("", ""), 2), 2)
			}
			off := cell(name, side)
			floats.Sub(off, cell(name, ""))
			floats.Sub(off, cell("", side))
			floats.Add(off, cell("", ""))
			rest += 2 * floats.Dot(off, off)
		}
	}
	expect.Abs(t, "F of individuals by hand", a.Rows[0].F, individuals/9/(rest/9), 1e-12)
	expect.Abs(t, "F of sides by hand", a.Rows[1].F, sides/(rest/9), 1e-12)

	// In another order, turned, in another unit and elsewhere the wings say the same.
	other := morpho.MosquitoWings()
	rand.New(rand.NewPCG(1, 2)).Shuffle(40, func(i, j int) { other.Specimens[i], other.Specimens[j] = other.Specimens[j], other.Specimens[i] })
	for i, s := range other.Specimens {
		other.Specimens[i].Points = morpho.Similarity{Scale: 25.4, Rotation: [][]float64{{0.6, -0.8}, {0.8, 0.6}}, Translation: []float64{100, -7}}.Apply(s.Points)
	}
	for i, r := range expect.Must(anova(other, draws(99, 1), individual.Over(both), side.Over(both), both)).Rows[:3] {
		expect.Rel(t, r.Term+": F of another order", r.F, a.Rows[i].F, 1e-8)
	}
}

// repeated is a data set of noise in which each of n individuals was measured several times on both sides; half of them were treated, which
// does nothing.
func repeated(rng *rand.Rand, n, times int, individuals, cells, specimens float64) *morpho.Dataset {
	d := &morpho.Dataset{Name: "repeated"}
	shift := func(x [][]float64, size float64) {
		for _, p := range x {
			p[0], p[1] = p[0]+size*rng.NormFloat64(), p[1]+size*rng.NormFloat64()
		}
	}
	copied := func(x [][]float64) (out [][]float64) {
		for _, p := range x {
			out = append(out, slices.Clone(p))
		}
		return out
	}
	treated := rng.Perm(n)
	for i := range n {
		individual := [][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}}
		shift(individual, individuals)
		for side := range 2 {
			cell := copied(individual)
			shift(cell, cells)
			for range times {
				s := morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Points: copied(cell), Covariates: map[string]string{
					"individual": fmt.Sprint(i), "side": fmt.Sprint(side), "treated": fmt.Sprint(treated[i] < n/2)}}
				shift(s.Points, specimens)
				d.Specimens = append(d.Specimens, s)
			}
		}
	}
	return d
}

// A treatment that does nothing to individuals, which were measured twice, is significant at 5 % in 5 % of 200 samples over individuals,
// within three standard errors; by the residuals it is in most. So is what individuals have in common over their sides, if it is nothing.
func TestOverHoldsItsSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	const samples = 200
	individual, side, treated := linear.Factor("individual"), linear.Factor("side"), linear.Factor("treated")
	both := linear.Interaction(individual, side)
	for _, c := range []struct {
		draw    func() *morpho.Dataset
		terms   []linear.Term
		samples int
		passes  func(share float64) bool
	}{
		{func() *morpho.Dataset { return repeated(rng, 8, 1, 0.05, 0, 0.02) }, []linear.Term{treated.Over(individual), individual}, samples, atFivePercent(samples)},
		{func() *morpho.Dataset { return repeated(rng, 6, 2, 0, 0.05, 0.02) }, []linear.Term{individual.Over(both), side.Over(both), both}, samples, atFivePercent(samples)},
		{func() *morpho.Dataset { return repeated(rng, 8, 1, 0.05, 0, 0.02) }, []linear.Term{treated, individual}, 40, func(share float64) bool { return share > 0.5 }},
	} {
		rejected := 0
		for range c.samples {
			if expect.Must(anova(c.draw(), draws(59, rng.Uint64()), c.terms...)).Rows[0].P <= 0.05 {
				rejected++
			}
		}
		if share := float64(rejected) / float64(c.samples); !c.passes(share) {
			t.Errorf("%s is significant in %g of the samples", c.terms[0].Name(), share)
		}
	}
}

// atFivePercent tells whether a share of samples is 5 % within three standard errors.
func atFivePercent(samples float64) func(share float64) bool {
	return func(share float64) bool { return math.Abs(share-0.05) < 3*math.Sqrt(0.05*0.95/samples) }
}

func TestOverRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	d := repeated(rng, 6, 2, 0.05, 0.03, 0.02)
	for i := range d.Specimens {
		d.Specimens[i].Covariates["x"] = fmt.Sprint(rng.NormFloat64())
		d.Specimens[i].Covariates["replicate"] = fmt.Sprint(i % 2)
	}
	individual, side, treated := linear.Factor("individual"), linear.Factor("side"), linear.Factor("treated")
	for what, c := range map[string]struct {
		data  *morpho.Dataset
		terms []linear.Term
		want  string
	}{
		"no error term": {d, []linear.Term{treated.Over(individual)}, "the term treated is tested over individual, which is not among the terms after it"},
		"before":        {d, []linear.Term{individual, side.Over(individual)}, "the term side is tested over individual, which is not among the terms after it"},
		"within":        {d, []linear.Term{side.Over(individual), individual}, "it varies within the levels of that term"},
		"mixed":         {d, []linear.Term{linear.Covariate("x"), treated.Over(individual), individual}, "it varies within the levels"},
		"mixed after":   {d, []linear.Term{treated.Over(individual), linear.Covariate("x"), individual}, "a term before that one varies both between its levels and within them"},
		"numbers":       {d, []linear.Term{treated.Over(linear.Covariate("individual")), linear.Covariate("individual")}, "its values are no categories"},
		"sizes":         {d.Without("3"), []linear.Term{treated.Over(individual), individual}, "its levels have from 3 to 4 samples"},
	} {
		err := expect.Error(anova(c.data, draws(9, 1), c.terms...))
		if err == nil {
			t.Errorf("%s: no error", what)
			continue
		}
		expect.Refused(t, err, c.want)
	}
	// What varies within levels alone is in nobody's way, before or between.
	for _, terms := range [][]linear.Term{{side, treated.Over(individual), individual}, {treated.Over(individual), linear.Factor("replicate"), individual}} {
		if err := expect.Error(anova(d, draws(9, 1), terms...)); err != nil {
			t.Error(err)
		}
	}
}

func TestProcrustesANOVARefuses(t *testing.T) {
	d := morpho.Plethodon()
	lost := morpho.Plethodon()
	delete(lost.Specimens[7].Covariates, "site")
	holes := morpho.Plethodon()
	holes.Specimens[2].Points[3][1] = math.NaN()
	point := morpho.Plethodon()
	for l := range point.Specimens[2].Points {
		point.Specimens[2].Points[l] = []float64{3, 4}
	}
	straight := noise(rand.New(rand.NewPCG(1, 1)), 8)
	straight.Name = d.Name
	for i, s := range straight.Specimens {
		for l := range s.Points {
			s.Points[l] = append(s.Points[l], []float64{1, 0, 0, 0}[l])
			if i == 2 {
				s.Points[l] = []float64{float64(l), 0, 0}
			}
		}
	}
	scattered := &morpho.Dataset{Name: d.Name}
	rng := rand.New(rand.NewPCG(232, 1))
	for i := range 5 {
		scattered.Specimens = append(scattered.Specimens, morpho.Specimen{Name: fmt.Sprint(i), Points: [][]float64{{rng.NormFloat64(), rng.NormFloat64()}, {rng.NormFloat64(), rng.NormFloat64()}, {rng.NormFloat64(), rng.NormFloat64()}, {rng.NormFloat64(), rng.NormFloat64()}}, Covariates: map[string]string{"x": fmt.Sprint(i * i)}})
	}
	few := morpho.Plethodon()
	few.Specimens = few.Specimens[:2]
	coded := morpho.Plethodon()
	coded.Specimens[2].Points[3] = []float64{-999, -999}
	unknown := morpho.Plethodon()
	unknown.Specimens[4].Covariates["site"], unknown.Specimens[5].Covariates["species"] = "NA", "NaN"
	scaled, sized, nearly, same := morpho.Plethodon(), morpho.Plethodon(), morpho.Plethodon(), morpho.Plethodon()
	for i := range same.Specimens {
		f := float64(i)
		turn := [][]float64{{math.Cos(f), -math.Sin(f)}, {math.Sin(f), math.Cos(f)}}
		size := morpho.CentroidSize(scaled.Specimens[i].Points)
		scaled.Specimens[i].Points = morpho.Similarity{Scale: 30 / size, Rotation: turn, Translation: []float64{100 * f, 0}}.Apply(scaled.Specimens[i].Points)
		sized.Specimens[i].Points, sized.Specimens[i].Covariates["SVL"] = scaled.Specimens[i].Points, fmt.Sprint(size)
		nearly.Specimens[i].Points = morpho.Similarity{Scale: (1 + 0.008*math.Cos(f)) / size, Rotation: turn, Translation: []float64{f, 0}}.Apply(nearly.Specimens[i].Points)
		same.Specimens[i].Points = morpho.Similarity{Scale: 1 + f, Rotation: turn, Translation: []float64{100 * f, 3}}.Apply(few.Specimens[0].Points)
	}
	for what, c := range map[string]struct {
		data         *morpho.Dataset
		permutations int
		terms        []linear.Term
		want         string
	}{
		"no terms":        {d, 99, nil, "no terms"},
		"no permutations": {d, 0, []linear.Term{linear.Factor("site")}, "0 permutations"},
		"unknown":         {d, 99, []linear.Term{linear.Factor("age")}, `term age: salamander heads: no covariate "age"; there are: "site", "species"`},
		"no number":       {d, 99, []linear.Term{linear.Covariate("site")}, "site is no number"},
		"twice":           {d, 99, []linear.Term{linear.Factor("site"), linear.Factor("site")}, "linear model of salamander heads: the term site adds nothing"},
		"lost":            {lost, 99, []linear.Term{linear.Factor("site")}, `specimen "s08" has no site`},
		"missing":         {holes, 99, []linear.Term{linear.Factor("site")}, `specimen "s03": landmark 4 is missing (y is NaN)`},
		"coincident":      {point, 99, []linear.Term{linear.Factor("site")}, `specimen "s03": all 12 landmarks coincide`},
		"straight":        {straight, 99, []linear.Term{linear.Factor("group")}, `specimen "2" and the mean: the best rotation is not determined`},
		"scattered":       {scattered, 99, []linear.Term{linear.Covariate("x")}, "the mean shape still changes after 1000 iterations"},
		"code":            {coded, 99, []linear.Term{linear.Factor("site")}, `specimen "s03": landmark 4 is at [-999 -999], by which many programs mark a missing one`},
		"NA":              {unknown, 99, []linear.Term{linear.Factor("site")}, `specimen "s05": site is NA, by which R marks a value that is not known: leave it out`},
		"NaN":             {unknown, 99, []linear.Term{linear.Factor("species")}, `specimen "s06": species is NaN`},
		"scaled":          {scaled, 99, []linear.Term{LogSize()}, "centroid sizes are from 30 to 30: the shapes were aligned or scaled before, and these are no sizes of specimens; read the sizes before as a column"},
		"scaled, sized":   {sized, 99, []linear.Term{LogSize()}, `the column "SVL" may hold the sizes before: write SVL in place of size in the model`},
		"nearly scaled":   {nearly, 99, []linear.Term{linear.Interaction(linear.Factor("site"), LogSize())}, "centroid sizes are from 0.992"},
		"same shape":      {same, 99, []linear.Term{linear.Factor("site")}, "all specimens have the same shape"},
		"few":             {few, 99, []linear.Term{LogSize()}, "leave no degrees of freedom"},
	} {
		_, err := anova(c.data, draws(c.permutations, 1), c.terms...)
		if err == nil {
			t.Errorf("%s: no error", what)
			continue
		}
		expect.Refused(t, err, c.want)
	}
	_, err := anova(morpho.Pupfish(), draws(99, 1), LogSize()) // as published, at size 1 but for 0.1 %
	expect.Refused(t, err, "centroid sizes are from 1.00019 to 1.00118")
}
