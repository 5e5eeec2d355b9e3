package population

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
)

// filed is what a file gives back.
func filed[T any](t *testing.T, v *T) *T {
	t.Helper()
	out := new(T)
	if err := json.Unmarshal(expect.Must(json.Marshal(v)), out); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(out, v) {
		t.Fatalf("the file changed %+v to %+v", v, out)
	}
	return out
}

// play goes through all rounds of an atlas, by files.
func play(t *testing.T, r *Rounds) (rounds []*AtlasRound, parts [][]*Part) {
	t.Helper()
	rounds = append(rounds, filed(t, expect.Must(r.First())))
	for {
		now := rounds[len(rounds)-1]
		if now.Atlas != nil {
			return rounds, parts
		}
		var own []*Part
		for i := range r.subjects {
			var before *Part
			if now.From >= 0 {
				before = parts[now.From][i]
			}
			own = append(own, filed(t, expect.Must(r.Match(now, i, before))))
		}
		parts = append(parts, own)
		rounds = append(rounds, filed(t, expect.Must(r.Reduce(rounds[len(rounds)-1], func(k int) ([]*Part, error) { return parts[k], nil }))))
		last := rounds[len(rounds)-1].Last
		t.Logf("round %d of stage %d: %.8g, imbalance %.2g, unsettled %.2g, %d evaluations", now.Number, now.Stage, last.Value, last.Imbalance, last.Unsettled, last.Evaluations)
	}
}

// ovals are ellipses with noise at their points, a template and few control points, and a model.
func ovals(noise float64) (Model, []*mesh.Mesh, [][]float64, [][]*mesh.Mesh) {
	r := rand.New(rand.NewPCG(8, 1))
	ellipse := func(n int, a, b, noise float64) *mesh.Mesh {
		var x [][]float64
		for i := range n {
			s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			x = append(x, []float64{a*c + noise*r.NormFloat64(), b*s + noise*r.NormFloat64()})
		}
		return mesh.Curve(x, true)
	}
	var subjects [][]*mesh.Mesh
	for range 6 {
		h := 0.1 * r.NormFloat64()
		subjects = append(subjects, []*mesh.Mesh{ellipse(30, 1.3*(1+h), 1-h, noise)})
	}
	m := Model{Space: landmarks.New(5, 2, kernels.Gaussian(1), geom.Integrator(ode.Heun, 4)),
		Objects: []Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.3)}, Noise: 0.3, Smoothing: kernels.Gaussian(0.4)}}}
	return m, []*mesh.Mesh{ellipse(30, 1.4, 0.9, 0)}, ellipse(5, 1.3, 1, 0).Vertices, subjects
}

// Neither the unit of length nor that of the kernel changes an estimate: with lengths s times as large, the kernel A K and the noise √A σ
// objectives are s²/A times as large, and what says how close they are to the minimum is the same.
func TestUnits(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := ovals(0.02)
	var want []float64
	for _, unit := range []struct{ s, a float64 }{{1, 1}, {1e-6, 1e-4}} {
		s := unit.s
		large := func(shape []*mesh.Mesh) []*mesh.Mesh {
			return []*mesh.Mesh{shape[0].Map(func(x []float64) []float64 { return floats.ScaleTo(make([]float64, 2), s, x) })}
		}
		all := make([][]*mesh.Mesh, len(subjects))
		for i, shape := range subjects {
			all[i] = large(shape)
		}
		own, points := m, mesh.Curve(controls, true).Map(func(x []float64) []float64 { return floats.ScaleTo(make([]float64, 2), s, x) }).Vertices
		own.Space = landmarks.New(len(points), 2, kernels.Sum([]float64{unit.a}, kernels.Gaussian(s)), geom.Integrator(ode.Heun, 4))
		object := func(noise float64) []Object {
			return []Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.3 * s)}, Noise: noise, Smoothing: kernels.Gaussian(0.4 * s)}}
		}
		own.Objects = object(0.3 * math.Sqrt(unit.a))
		atlas := expect.Must(own.Atlas(large(template), points, all))
		match := expect.Must(own.Register(large(template), points, all[0]))
		own.Objects = object(0)
		noise := expect.Must(own.Atlas(large(template), points, all))
		var got []float64
		for _, a := range []*Atlas{atlas, match} {
			got = append(got, a.Objective*unit.a/(s*s))
			if a.Status != geom.Converged {
				t.Errorf("lengths times %g, kernel times %g: %v", s, unit.a, a)
			}
		}
		got = append(got, noise.Noise[0]/s, noise.Reach*math.Sqrt(unit.a)/s)
		t.Log(got, atlas, match, noise)
		if want == nil {
			want = got
		}
		for k, name := range []string{"atlas", "registration", "noise", "reach"} {
			expect.Rel(t, fmt.Sprintf("lengths times %g, kernel times %g: %s", s, unit.a, name), got[k], want[k], 0.005)
		}
	}
}

// One field moves both objects of a hypertemplate. At the minimum what pulls at one is balanced by what pulls at the other, which is much smaller
// and near: neither is balanced alone. The rounds end there, too. Subjects in the reverse order have the same template, within the tolerance.
func TestHypertemplateOfTwoObjects(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := ovals(0)
	m.Hypertemplate = true
	m.Objects = append(m.Objects, Object{ID: "small", Norm: attachment.Norm{Kernel: kernels.Gaussian(0.2)}, Noise: 0.1})
	near := func(y float64) *mesh.Mesh {
		return template[0].Map(func(x []float64) []float64 { return []float64{1.7 + 0.2*x[0], y + 0.2*x[1]} })
	}
	for i := range subjects {
		subjects[i] = append(subjects[i], near(0.15*float64(i%3)))
	}
	template = append(template, near(0))
	reversed := slices.Clone(subjects)
	slices.Reverse(reversed)
	a := expect.Must(m.Atlas(template, controls, reversed))
	tight := expect.Must(m.Atlas(template, controls, subjects, solve.Tolerance(0.003)))
	rounds := expect.Must(m.Rounds(template, controls, subjects, solve.Tolerance(0.3)))
	defer rounds.Close()
	all, _ := play(t, rounds)
	end := all[len(all)-1].Atlas
	for a, off := range map[*Atlas]float64{a: 1e-3, tight: 0, end: 0.05} {
		t.Logf("%s, %d evaluations, objective %g", a, a.Evaluations, a.Objective)
		if a.Status != geom.Converged {
			t.Error(a)
		}
		expect.Rel(t, "objective", a.Objective, tight.Objective, off)
	}
	for o, s := range tight.Template {
		deformed := make([]geom.Shape, len(subjects))
		mean := geom.Shape(s.Vertices).Scale(0)
		for i, d := range tight.Deformed {
			deformed[i] = d[o].Vertices
			mean = mean.Add(deformed[i].Scale(1 / float64(len(subjects))))
		}
		squares := 0.0
		for _, x := range deformed {
			squares += math.Pow(x.Distance(mean), 2)
		}
		miss := floats.Norm(expect.Must(a.Template[o].Distances(s)), 2) / math.Sqrt(squares/float64(len(subjects)*(len(subjects)-1)))
		t.Logf("object %d: the template is %.3g standard errors off", o, miss)
		if !(miss < 0.03) { // the tolerance of the search
			t.Errorf("object %d: the template is %g standard errors off", o, miss)
		}
	}
}

// The rounds end at the minimum of Model.Atlas, with free control points or fixed ones, and say so only there: the derivatives that
// they go by are those of the objective with the best momenta.
func TestRounds(t *testing.T) {
	t.Parallel()
	for _, free := range []bool{false, true} {
		m, template, controls, subjects := ovals(0)
		m.Free = free
		const tolerance = 0.01
		r := expect.Must(m.Rounds(template, controls, subjects, solve.Tolerance(tolerance), solve.MaxIterations(200)))
		defer r.Close()
		rounds, parts := play(t, r)
		end := rounds[len(rounds)-1]
		got, want := end.Atlas, expect.Must(m.Atlas(template, controls, subjects, solve.Tolerance(1e-3)))
		off := floats.Max(expect.Must(got.Template[0].Distances(want.Template[0])))
		t.Logf("rounds: %s, %d evaluations; at once: %s, %d evaluations; templates %.3g apart", got, got.Evaluations, want, want.Evaluations, off)
		if got.Status != geom.Converged || got.Imbalance > tolerance || got.Unsettled > tolerance {
			t.Errorf("%s", got)
		}
		expect.Rel(t, "objective", got.Objective, want.Objective, 2e-3)
		expect.Rel(t, "objective of the parts", end.Last.Value, got.Objective, 1e-10)
		expect.Rel(t, "imbalance of the parts", end.Last.Imbalance, got.Imbalance, 1e-6)
		expect.Abs(t, "distances at the start", got.Before, want.Before, 1e-12)
		if off > 0.01 {
			t.Errorf("the templates are %g apart", off)
		}

		if !free {
			continue
		}

		// In another process, each part and each round is the same bit for bit, whatever was computed before.
		again := expect.Must(m.Rounds(template, controls, subjects, solve.Tolerance(tolerance), solve.MaxIterations(200)))
		defer again.Close()
		middle := len(rounds) / 2
		part := expect.Must(again.Match(rounds[middle], 1, parts[rounds[middle].From][1]))
		if !reflect.DeepEqual(part, parts[middle][1]) {
			t.Errorf("computed again, a part is %+v, was %+v", part, parts[middle][1])
		}
		next := expect.Must(again.Reduce(rounds[middle], func(k int) ([]*Part, error) { return parts[k], nil }))
		if !reflect.DeepEqual(next, rounds[middle+1]) {
			t.Errorf("computed again, round %d is %+v, was %+v", middle+1, next, rounds[middle+1])
		}

		// The gradient of a round is that of the objective by differences, with momenta at their minimum: the tighter, the closer.
		now := *rounds[1]
		now.Goal = 1e-9
		at := func(h float64) (*Outcome, []float64) {
			moved := now
			moved.Template = r.fit.Space.FromFlat(slices.Clone(shape.Flat(now.Template)))
			for k, x := range moved.Template {
				x[0] += h * math.Sin(float64(2*k))
				x[1] += h * math.Cos(float64(3*k))
			}
			var own []*Part
			for i := range subjects {
				own = append(own, expect.Must(r.Match(&moved, i, parts[now.From][i])))
			}
			return r.total(&moved, own)
		}
		value := func(h float64) float64 {
			out, _ := at(h)
			return out.Value
		}
		_, gradient := at(0)
		slope := 0.0
		for k, g := range r.fit.Space.FromFlat(gradient[:60]) {
			slope += g[0]*math.Sin(float64(2*k)) + g[1]*math.Cos(float64(3*k))
		}
		const h = 3e-4
		expect.Rel(t, "derivative", slope, (8*(value(h)-value(-h))-(value(2*h)-value(-2*h)))/(12*h), 1e-6)
	}
}

// A noise that is estimated is that of Model.Atlas.
func TestRoundsOfNoise(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := ovals(0.03)
	m.Objects[0].Noise = 0
	of := expect.Must(m.Rounds(template, controls, subjects, solve.MaxIterations(200)))
	defer of.Close()
	rounds, _ := play(t, of)
	got, want := rounds[len(rounds)-1].Atlas, expect.Must(m.Atlas(template, controls, subjects))
	t.Logf("rounds: %s, σ %g, ρ %g; at once: %s, σ %g, ρ %g", got, got.Noise, got.Reach, want, want.Noise, want.Reach)
	if got.Status != geom.Converged {
		t.Errorf("%s", got)
	}
	expect.Rel(t, "noise", got.Noise, want.Noise, 0.02)
	expect.Rel(t, "reach", got.Reach, want.Reach, 0.05)
}

// What does not belong together is refused, with what is missing.
func TestRoundsRefuse(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := small(true, false)
	expect.Refused(t, expect.Error(m.Rounds(template, controls, subjects[:1])), "1 subjects")
	expect.Refused(t, expect.Error(m.Rounds(template, controls, subjects, solve.Tolerance(math.NaN()))), "Tolerance(NaN)")
	r, first, own := firstRound(m, template, controls, subjects, 1)
	defer r.Close()
	reduce := func(parts ...*Part) (*AtlasRound, error) {
		return r.Reduce(first, func(int) ([]*Part, error) { return parts, nil })
	}
	expect.Refused(t, expect.Error(reduce(own[0], own[2])), "no part of subject 1 in round 0")
	expect.Refused(t, expect.Error(r.Match(first, 3, nil)), "subject 3")
	expect.Refused(t, expect.Error(r.Match(first, 0, own[0])), "not its part")
	end := expect.Must(reduce(own...))
	if end.Atlas == nil || end.Atlas.Status != geom.IterationLimit {
		t.Fatalf("after its one round the atlas is %+v", end.Atlas)
	}
	expect.Refused(t, expect.Error(r.Match(end, 0, own[0])), "ended")
}

// firstRound is that of an atlas, with its parts.
func firstRound(m Model, template []*mesh.Mesh, controls [][]float64, subjects [][]*mesh.Mesh, most int) (r *Rounds, first *AtlasRound, parts []*Part) {
	r = expect.Must(m.Rounds(template, controls, subjects, solve.MaxIterations(most)))
	first = expect.Must(r.First())
	for i := range subjects {
		parts = append(parts, expect.Must(r.Match(first, i, nil)))
	}
	return r, first, parts
}

// A template for which the objective is no number is tried in vain: the next one is half as far away.
func TestRoundsStepBack(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := small(true, false)
	r, begin, own := firstRound(m, template, controls, subjects, 9)
	defer r.Close()
	rounds, parts := []*AtlasRound{begin}, [][]*Part{own}
	reduce := func() *AtlasRound {
		return filed(t, expect.Must(r.Reduce(rounds[len(rounds)-1], func(k int) ([]*Part, error) { return parts[k], nil })))
	}
	rounds = append(rounds, reduce())
	far := *rounds[1]
	far.Template = mesh.WithVertices(template, far.Template)[0].Map(func(x []float64) []float64 { return floats.ScaleTo(make([]float64, 2), 1e200, x) }).Vertices
	parts = append(parts, nil)
	for i := range subjects {
		p := expect.Must(r.Match(&far, i, parts[0][i]))
		if !p.Infinite {
			t.Errorf("far away, the part of subject %d is %+v", i, p)
		}
		parts[1] = append(parts[1], filed(t, p))
	}
	next := reduce()
	for k, x := range next.Template {
		half := floats.AddTo(make([]float64, 2), rounds[0].Template[k], rounds[1].Template[k])
		expect.Abs(t, "vertex", x, floats.ScaleTo(half, 0.5, half), 1e-12)
	}
	if next.From != 0 || next.Stage != 0 || !next.Last.Infinite {
		t.Errorf("the next round is %+v", next)
	}
}

// Where no step leads down, momenta are brought closer to their minimum; where this does not help either, the atlas has stalled.
func TestRoundsStall(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := small(true, false)
	r, begin, first := firstRound(m, template, controls, subjects, 200)
	defer r.Close()
	rounds := []*AtlasRound{begin}
	stages := 1
	for {
		now := rounds[len(rounds)-1]
		if now.Atlas != nil {
			if now.Atlas.Status != geom.Stalled || now.From != now.Stage || !reflect.DeepEqual(now.Atlas.Momenta[1], geom.Shape(first[1].Momentum)) {
				t.Errorf("it ended as %s, with round %d", now.Atlas, now.From)
			}
			break
		}
		// The template to start from is as it was, and every other one is worse.
		next := expect.Must(r.Reduce(now, func(k int) (parts []*Part, err error) {
			for _, p := range first {
				own := *p
				if own.Round = k; rounds[k].Stage != k {
					own.Mismatch = []float64{10 * p.Mismatch[0]}
				}
				parts = append(parts, &own)
			}
			return parts, nil
		}))
		if next.Atlas == nil && next.Stage == next.Number {
			stages++
			expect.Abs(t, "goal", next.Goal, now.Goal/10, 0)
			expect.Abs(t, "template", next.Template, rounds[0].Template, 0)
			if next.From != now.Stage || next.Number-now.Stage > 12 {
				t.Errorf("stage %d sets out from round %d, and took %d rounds", now.Stage, next.From, next.Number-now.Stage)
			}
		}
		rounds = append(rounds, next)
	}
	if stages != 3 || len(rounds) > 12*stages {
		t.Errorf("%d stages, %d rounds", stages, len(rounds))
	}
}

// Where no part of a remembered direction leads down, the search takes another one from the best round, as far from the minimum as that is.
func TestRoundsBeginAgain(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := small(true, false)
	r, first, own := firstRound(m, template, controls, subjects, 200)
	defer r.Close()
	parts := [][]*Part{own}
	reduce := func(now *AtlasRound) *AtlasRound {
		return expect.Must(r.Reduce(now, func(k int) ([]*Part, error) { return parts[k], nil }))
	}
	now := reduce(first)
	parts = append(parts, nil)
	for i := range subjects {
		parts[1] = append(parts[1], expect.Must(r.Match(now, i, own[i])))
	}
	now = reduce(now)
	missed := now.Search.Decrement
	if now.From != 1 || len(now.Search.Pairs) != 1 || missed == 0 {
		t.Fatalf("round %d sets out from round %d, and remembers %d steps", now.Number, now.From, len(now.Search.Pairs))
	}
	for now.Search.Pairs != nil {
		var worse []*Part
		for _, p := range parts[1] {
			q := *p
			q.Round, q.Mismatch = now.Number, []float64{10 * p.Mismatch[0]}
			worse = append(worse, &q)
		}
		parts = append(parts, worse)
		if now = reduce(now); now.Atlas != nil || now.From != 1 || now.Search.Decrement != missed {
			t.Fatalf("round %d: %+v", now.Number, now)
		}
	}
	if now.Number != 12 {
		t.Errorf("the next direction is tried in round %d", now.Number)
	}
}
