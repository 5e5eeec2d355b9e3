package population_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/geom/stats/linear"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/landmarks/surfaces/population"
)

// known are subjects φ_{s_i p}(T) of a known outline and mode, resampled at random.
type known struct {
	template *mesh.Mesh
	controls [][]float64
	mode     [][]float64
	scores   []float64
	subjects [][]*mesh.Mesh
	model    population.Model
}

// sum is that of all numbers.
func sum(rows [][]float64) (total float64) {
	for _, row := range rows {
		total += floats.Sum(row)
	}
	return total
}

func generator() known {
	r := rand.New(rand.NewPCG(11, 1))
	var k known
	outline := func(n int, from float64) [][]float64 {
		var x [][]float64
		for i := range n {
			t := 2 * math.Pi * (float64(i) + from) / float64(n)
			s, c := math.Sincos(t)
			x = append(x, []float64{(1 + 0.15*math.Cos(2*t)) * c * 1.3, (1 + 0.15*math.Cos(3*t)) * s})
		}
		return x
	}
	k.template = mesh.Curve(outline(60, 0), true)
	// Control points on the outline, pushed across it: what a distance without correspondences can see.
	for i := 0; i < 60; i += 3 {
		x, before, after := k.template.Vertices[i], k.template.Vertices[(i+59)%60], k.template.Vertices[(i+1)%60]
		push := 0.4 * math.Sin(2*math.Pi*float64(i)/30+1) * math.Cos(2*math.Pi*float64(i)/60)
		k.controls = append(k.controls, x)
		k.mode = append(k.mode, []float64{push * (after[1] - before[1]), push * (before[0] - after[0])})
	}
	space := landmarks.New(20, 2, kernels.Gaussian(0.5), geom.Integrator(ode.Heun, 6))
	for i := range 7 {
		k.scores = append(k.scores, float64(i-3)/2)
		p := make([][]float64, 20)
		for a := range p {
			p[a] = floats.ScaleTo(make([]float64, 2), k.scores[i], k.mode[a])
		}
		n := 40 + r.IntN(25)
		g := expect.Must(space.Shoot(k.controls, p))
		path := expect.Must(space.Transform(g, outline(n, r.Float64())))
		k.subjects = append(k.subjects, []*mesh.Mesh{mesh.Curve(path[len(path)-1], true)})
	}
	k.model = population.Model{Space: space, Objects: []population.Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.3)}, Noise: 0.3}}}
	return k
}

// spacing is how far apart the points of the outlines are.
func (k known) spacing() float64 { return k.template.Size() / float64(len(k.template.Cells)) }

// angle is that between two momenta at the control points, in degrees and up to a sign, in the metric of the deformations.
func (k known) angle(p, q [][]float64) float64 {
	length := func(p [][]float64) float64 { return expect.Must(k.model.Space.Shoot(k.controls, p)).Length }
	sum := make([][]float64, len(p))
	for i := range p {
		sum[i] = floats.AddTo(make([]float64, 2), p[i], q[i])
	}
	a, b, c := length(p), length(q), length(sum)
	cosine := math.Abs(c*c-a*a-b*b) / (2 * a * b)
	return math.Acos(math.Min(1, cosine)) * 180 / math.Pi
}

// start is a subject resampled.
func (k known) start(subject, points int) []*mesh.Mesh {
	return []*mesh.Mesh{mesh.Curve(expect.Must(morpho.Resample(k.subjects[subject][0].Vertices, points, true)), true)}
}

// A known outline and its one mode come back from resampled subjects, whichever of them the search starts at, and with a
// tolerance ten times smaller.
func TestAtlasRecovers(t *testing.T) {
	t.Parallel()
	k := generator()
	var found []*population.Atlas
	var first []geom.Shape
	for _, run := range []struct {
		start     int
		tolerance float64
	}{{0, 0.03}, {6, 0.03}, {0, 0.003}} {
		start := k.start(run.start, 50)
		a := expect.Must(k.model.Atlas(start, k.controls, k.subjects, solve.Tolerance(run.tolerance), solve.MaxIterations(1500)))
		t.Logf("from subject %d: %s, %d evaluations", run.start, a, a.Evaluations)
		if a.Status != geom.Converged || a.Imbalance > run.tolerance || a.Unsettled > run.tolerance {
			t.Errorf("from subject %d: %s", run.start, a)
		}
		expect.Rel(t, "objective", a.Objective, sum(a.Mismatch)/(2*0.3*0.3)+floats.Sum(a.Energy), 1e-12)
		off := floats.Max(expect.Must(a.Template[0].Distances(k.template))) / k.spacing()
		was := floats.Max(expect.Must(start[0].Distances(k.template))) / k.spacing()
		modes := expect.Must(a.PCA(k.model))
		var scores []float64
		for _, s := range modes.Scores {
			scores = append(scores, s[0])
		}
		correlation, angle := math.Abs(stat.Correlation(scores, k.scores, nil)), k.angle(k.mode, modes.Momenta[0])
		t.Logf("template off by %.3f spacings, was %.3f; mode by %.2f°, explains %.4f; scores %.7f", off, was, angle, modes.Explained[0], correlation)
		if off > 0.1 || was < 2 || angle > 3 || modes.Explained[0] < 0.999 || correlation < 0.99999 {
			t.Errorf("template off by %g spacings, mode by %g°, explains %g, scores %g", off, angle, modes.Explained[0], correlation)
		}
		found, first = append(found, a), append(first, modes.Momenta[0])
	}
	for i, a := range found[1:] {
		off := floats.Max(expect.Must(a.Template[0].Distances(found[0].Template[0]))) / k.spacing()
		angle := k.angle(first[0], first[1+i])
		t.Logf("template %d is %.3f spacings from the first, its mode %.2f°", 1+i, off, angle)
		if off > 0.1 || angle > 2 {
			t.Errorf("template %d is %g spacings from the first, its mode %g°", 1+i, off, angle)
		}
	}

	// One mode reconstructs the subjects, and along it lie shapes of the generator.
	a := found[0]
	modes := expect.Must(a.PCA(k.model))
	left := expect.Must(a.Reconstruction(k.model, modes, k.subjects))
	t.Logf("mean distance by number of modes: %.3g", left)
	if left[1][0] > 0.01*left[0][0] || left[len(left)-1][0] > 1.01*sum(a.Mismatch)/7 {
		t.Errorf("reconstructions with 0, 1, … modes miss by %g, the atlas by %g", left, sum(a.Mismatch)/7)
	}
	along := expect.Must(a.Mode(k.model, modes, 0, k.scores[6]/stat.StdDev(k.scores, nil), k.scores[0]/stat.StdDev(k.scores, nil)))
	for _, i := range []int{0, 6} {
		off := min(floats.Max(expect.Must(along[0][0].Distances(k.subjects[i][0]))), floats.Max(expect.Must(along[1][0].Distances(k.subjects[i][0]))))
		if off > 0.15*k.spacing() {
			t.Errorf("subject %d is %g spacings from the shapes of its score", i, off/k.spacing())
		}
	}

	// Groups of high and low scores differ, where the mode moves most; random ones do not.
	apart := expect.Must(found[2].Compare(linear.Factor("scores", "low", "low", "low", "high", "high", "high", "high"), linear.Permutations{N: 500, Seed: 1}))
	mixed := expect.Must(found[2].Compare(linear.Factor("mixed", "a", "b", "a", "b", "a", "b", "a"), linear.Permutations{N: 500, Seed: 1}))
	t.Logf("least p-values %.3g and %.3g", apart.Least, mixed.Least)
	if apart.Least > 0.1 || mixed.Least < 0.2 { // of 35 ways to choose, some are as extreme
		t.Errorf("least p-values %g for high and low scores, %g for mixed ones", apart.Least, mixed.Least)
	}
}

// slope is the momentum of a regression per unit of time.
func slope(r *population.Atlas, times []float64) geom.Shape {
	last := len(times) - 1
	return r.Momenta[last].Sub(r.Momenta[0]).Scale(1 / (times[last] - times[0]))
}

// The subjects of known scores as times: the regression finds the shape at their mean and the momentum.
func TestRegressionRecovers(t *testing.T) {
	t.Parallel()
	k := generator()
	times := make([]float64, len(k.scores)) // about 30
	for i, s := range k.scores {
		times[i] = 30 + 4*s
	}
	r := expect.Must(k.model.Regress(k.start(1, 50), k.controls, k.subjects, times))
	t.Logf("%s, %d evaluations", r, r.Evaluations)
	p := slope(r, times).Scale(4)
	if angle := k.angle(k.mode, p); r.Status != geom.Converged || angle > 3 {
		t.Errorf("%s, momentum off by %g°", r, angle)
	}
	mean := 0.0 // Σ_i ½ p_iᵀ K p_i/N
	for _, p := range r.Momenta {
		mean += math.Pow(expect.Must(k.model.Space.Shoot(r.Controls, p)).Length, 2) / 2 / 7
	}
	expect.Rel(t, "energy", floats.Sum(r.Energy), mean, 1e-9)
	expect.Refused(t, expect.Error(k.model.Continue(r, k.subjects)), "regression")
	was, is := expect.Must(k.model.Space.Shoot(k.controls, k.mode)).Length, expect.Must(k.model.Space.Shoot(k.controls, p)).Length
	expect.Rel(t, "speed", is, was, 0.02)
	for i, when := range []float64{times[0], times[6]} {
		if off := floats.Max(expect.Must(expect.Must(r.Shape(k.model, slope(r, times).Scale(when-30)))[0].Distances(k.subjects[6*i][0]))); off > 0.15*k.spacing() {
			t.Errorf("at %g it is %g spacings from the subject", when, off/k.spacing())
		}
	}
}

// Free control points lower the objective below that of fixed ones.
func TestFreeControls(t *testing.T) {
	t.Parallel()
	k := generator()
	controls := mesh.Curve(expect.Must(morpho.Resample(k.template.Vertices, 8, true)), true).Vertices
	m := k.model
	m.Space = landmarks.New(8, 2, kernels.Gaussian(0.5), geom.Integrator(ode.Heun, 6))
	fixed := expect.Must(m.Atlas(k.start(3, 40), controls, k.subjects, solve.Tolerance(0.05)))
	m.Free = true
	free := expect.Must(m.Atlas(k.start(3, 40), controls, k.subjects, solve.Tolerance(0.05)))
	t.Logf("fixed %g, free %g; %s", fixed.Objective, free.Objective, free)
	if free.Status != geom.Converged || free.Objective > 0.95*fixed.Objective {
		t.Errorf("objective %g with fixed control points, %g with free ones, %s", fixed.Objective, free.Objective, free.Status)
	}
}

// The atlas of one shape, twice, is this shape.
func TestOneShape(t *testing.T) {
	t.Parallel()
	k := generator()
	a := expect.Must(k.model.Atlas([]*mesh.Mesh{k.template}, k.controls, [][]*mesh.Mesh{{k.template}, {k.template}}))
	if a.Status != geom.Converged || a.Objective > 1e-9 {
		t.Errorf("%s, objective %g", a, a.Objective)
	}
	expect.Abs(t, "template", a.Template[0].Vertices, k.template.Vertices, 1e-6)
}

// What cannot be an atlas is refused, with what is wrong.
func TestRefusals(t *testing.T) {
	t.Parallel()
	k := generator()
	try := func(change func(o *population.Object, template **mesh.Mesh, controls *[][]float64, subjects *[]*mesh.Mesh)) error {
		m, template, controls := k.model, k.template, append([][]float64{}, k.controls...)
		m.Objects = slices.Clone(m.Objects)
		var subjects []*mesh.Mesh
		for _, s := range k.subjects {
			subjects = append(subjects, s[0])
		}
		change(&m.Objects[0], &template, &controls, &subjects)
		return expect.Error(m.Atlas([]*mesh.Mesh{template}, controls, population.Single(subjects)))
	}
	expect.Refused(t, try(func(o *population.Object, _ **mesh.Mesh, _ *[][]float64, _ *[]*mesh.Mesh) { o.Noise = -1 }), "noise is -1")
	expect.Refused(t, try(func(o *population.Object, _ **mesh.Mesh, _ *[][]float64, _ *[]*mesh.Mesh) { o.Noise = 0 }), "noise cannot be estimated")
	expect.Refused(t, try(func(_ *population.Object, _ **mesh.Mesh, _ *[][]float64, s *[]*mesh.Mesh) { *s = (*s)[:1] }), "1 subjects", "MatchFrom")
	expect.Refused(t, try(func(_ *population.Object, _ **mesh.Mesh, c *[][]float64, _ *[]*mesh.Mesh) { (*c)[3] = (*c)[2] }), "coincide")
	expect.Refused(t, try(func(_ *population.Object, _ **mesh.Mesh, _ *[][]float64, s *[]*mesh.Mesh) {
		(*s)[2] = mesh.Icosphere(0)
	}), "subject 2", "R^3")
	expect.Refused(t, try(func(_ *population.Object, _ **mesh.Mesh, _ *[][]float64, s *[]*mesh.Mesh) { (*s)[1] = &mesh.Mesh{} }), "subject 1", "empty")
	expect.Refused(t, try(func(_ *population.Object, template **mesh.Mesh, _ *[][]float64, _ *[]*mesh.Mesh) {
		*template = (*template).Copy()
		(*template).Cells[4][0], (*template).Cells[4][1] = (*template).Cells[4][1], (*template).Cells[4][0]
	}), "template", "oriented against the rest")
	// Subjects as they come from files.
	for want, change := range map[string]func(s *mesh.Mesh) *mesh.Mesh{
		"subject 1 is 9.95 times as large": func(s *mesh.Mesh) *mesh.Mesh {
			return s.Map(func(x []float64) []float64 { return floats.ScaleTo(make([]float64, 2), 10, x) })
		},
		"subject 1 is inside out": (*mesh.Mesh).Flip,
		"subject 1: 64 duplicate edges": func(s *mesh.Mesh) *mesh.Mesh {
			return &mesh.Mesh{Vertices: s.Vertices, Cells: append(append([][]int{}, s.Cells...), s.Cells...)}
		},
		"subject 1: coordinate 0 of vertex 2 is NaN": func(s *mesh.Mesh) *mesh.Mesh {
			s = s.Copy()
			s.Vertices[2][0] = math.NaN()
			return s
		},
	} {
		bad := change(k.subjects[1][0])
		expect.Refused(t, try(func(_ *population.Object, _ **mesh.Mesh, _ *[][]float64, s *[]*mesh.Mesh) { (*s)[1] = bad }), want)
	}
	expect.Refused(t, try(func(_ *population.Object, _ **mesh.Mesh, _ *[][]float64, s *[]*mesh.Mesh) { (*s)[1] = nil }), "subject 1 is nil")
	// Widths and control points in another unit: a search would end at once, or after it had moved the shapes as they are.
	for width, want := range map[float64]string{3e-4: "much narrower than the cells of the template, whose sides are 0.13", 300: "much wider than the template, whose box"} {
		expect.Refused(t, try(func(o *population.Object, _ **mesh.Mesh, _ *[][]float64, _ *[]*mesh.Mesh) {
			o.Norm.Kernel = kernels.Gaussian(width)
		}), want)
	}
	for width, want := range map[float64]string{5e-4: "of the 60 vertices of the template are out of reach", 500: "all of which it moves alike"} {
		m := k.model
		m.Space = landmarks.New(20, 2, kernels.Gaussian(width))
		expect.Refused(t, expect.Error(m.Atlas([]*mesh.Mesh{k.template}, k.controls, k.subjects)), want)
	}
	expect.Refused(t, try(func(_ *population.Object, _ **mesh.Mesh, c *[][]float64, _ *[]*mesh.Mesh) {
		for i, x := range *c {
			(*c)[i] = floats.ScaleTo(make([]float64, 2), 1000, x)
		}
	}), "60 of the 60 vertices of the template are out of reach")
	// Objects are called by their names.
	two := k.model
	two.Objects = []population.Object{two.Objects[0], {ID: "spine", Norm: two.Objects[0].Norm, Noise: 1}}
	template := []*mesh.Mesh{k.template, k.template}
	expect.Refused(t, expect.Error(two.Atlas(template, k.controls, k.subjects)), "subject 0 has 1 meshes", "2 objects")
	var both [][]*mesh.Mesh
	for _, s := range k.subjects {
		both = append(both, []*mesh.Mesh{s[0], s[0]})
	}
	both[3] = []*mesh.Mesh{k.subjects[3][0], k.subjects[3][0].Flip()}
	expect.Refused(t, expect.Error(two.Atlas(template, k.controls, both)), "subject 3, spine is inside out")
	two.Objects[1].Norm.Kernel = nil
	expect.Refused(t, expect.Error(two.Atlas(template, k.controls, both)), "the model, spine has no Norm")
	expect.Refused(t, expect.Error(k.model.Regress([]*mesh.Mesh{k.template}, k.controls, k.subjects, make([]float64, 7))), "the term time adds nothing")
}
