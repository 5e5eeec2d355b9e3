package population

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
)

func TestMain(m *testing.M) { geomtest.Main(m, geomtest.Quick) }

// small are three ellipses with different numbers of points, a template and control points in random places, and a model with a
// free choice of everything that the objective has.
func small(varifold, free bool) (Model, []*mesh.Mesh, [][]float64, [][]*mesh.Mesh) {
	r := rand.New(rand.NewPCG(3, 1))
	ellipse := func(n int, a, b float64) *mesh.Mesh {
		var x [][]float64
		for i := range n {
			s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			x = append(x, []float64{a*c + 0.02*r.NormFloat64(), b*s + 0.02*r.NormFloat64()})
		}
		return mesh.Curve(x, true)
	}
	var controls [][]float64
	for range 4 {
		controls = append(controls, []float64{r.NormFloat64(), r.NormFloat64()})
	}
	m := Model{Space: landmarks.New(4, 2, kernels.Gaussian(0.8), geom.Integrator(ode.Euler, 4)),
		Objects: []Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.5), Varifold: varifold}, Noise: 0.3}}, Free: free}
	return m, []*mesh.Mesh{ellipse(8, 1, 1)}, controls, Single([]*mesh.Mesh{ellipse(9, 1.2, 0.8), ellipse(7, 0.9, 1), ellipse(11, 1.1, 1.1)})
}

// pair is small with a second object, open curves, in another norm and with another noise.
func pair() (Model, []*mesh.Mesh, [][]float64, [][]*mesh.Mesh) {
	m, template, controls, subjects := small(false, true)
	m.Objects = append(m.Objects, Object{ID: "open", Norm: attachment.Norm{Kernel: kernels.Gaussian(0.4), Varifold: true}, Noise: 0.7, Smoothing: kernels.Gaussian(0.6)})
	open := func(n int, bend float64) *mesh.Mesh {
		var x [][]float64
		for i := range n {
			s := float64(i)/float64(n-1) - 0.5
			x = append(x, []float64{s, bend * s * s})
		}
		return mesh.Curve(x, false)
	}
	for i := range subjects {
		subjects[i] = append(subjects[i], open(5+2*i, 1+0.3*float64(i)))
	}
	return m, append(template, open(6, 0.8)), controls, subjects
}

// somewhere is a point of the variables away from the start.
func somewhere(f *fit) []float64 {
	r := rand.New(rand.NewPCG(5, 1))
	x := make([]float64, f.blocks()[2][1])
	for i := range x {
		x[i] = 0.1 * r.NormFloat64()
	}
	floats.Add(x[:f.blocks()[0][1]], shape.Flat(mesh.Vertices(f.start)))
	if f.Free {
		floats.Add(x[f.blocks()[2][0]:], shape.Flat(f.controls))
	}
	return x
}

// The objective is what it says, written in plain Go: Euler steps of the flow, the distance of the deformed template, the energy.
func TestObjective(t *testing.T) {
	t.Parallel()
	for k := range 3 {
		m, template, controls, subjects := pair()
		if k < 2 {
			m, template, controls, subjects = small(k == 1, false)
		}
		m.Free = false
		f := newFit(m, template, controls, subjects, [][]float64{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}})
		defer f.free()
		x := somewhere(f)
		got := f.evaluate(x)
		z, momenta, _ := f.split(x)
		want := 0.0
		for i, s := range subjects {
			T := mesh.WithVertices(template, m.Space.FromFlat(append([]float64{}, z...)))
			c := m.Space.FromFlat(append([]float64{}, shape.Flat(controls)...))
			p := m.Space.FromFlat(append([]float64{}, momenta[i]...))
			k := func(x, y []float64, width float64) float64 {
				return math.Exp(-math.Pow(floats.Distance(x, y, 2)/width, 2) / 2)
			}
			inner := func(o Object, width float64, a, b *mesh.Mesh) (sum float64) {
				na, nb, ca, cb := a.Normals(), b.Normals(), a.Centroids(), b.Centroids()
				for i := range na {
					for j := range nb {
						dot := floats.Dot(na[i], nb[j])
						if o.Norm.Varifold {
							dot *= dot / (floats.Norm(na[i], 2) * floats.Norm(nb[j], 2))
						}
						sum += k(ca[i], cb[j], width) * dot
					}
				}
				return sum
			}
			for a := range c {
				for b := range c {
					want += k(c[a], c[b], 0.8) * floats.Dot(p[a], p[b]) / 2
				}
			}
			for range 4 {
				flow := func(z []float64) []float64 {
					v := append([]float64{}, z...)
					for b := range c {
						floats.AddScaled(v, k(z, c[b], 0.8)/4, p[b])
					}
					return v
				}
				moved, pulled := m.Space.FromFlat(shape.Flat(c)), m.Space.FromFlat(shape.Flat(p))
				for a := range c {
					moved[a], pulled[a] = flow(c[a]), append([]float64{}, p[a]...)
					for b := range c {
						w := k(c[a], c[b], 0.8) * floats.Dot(p[a], p[b]) / (0.8 * 0.8) / 4
						floats.AddScaled(pulled[a], w, floats.SubTo(make([]float64, 2), c[a], c[b]))
					}
				}
				for o := range T {
					T[o] = T[o].Map(flow)
				}
				c, p = moved, pulled
			}
			for o, object := range m.Objects {
				width := []float64{0.5, 0.4}[o]
				want += (inner(object, width, T[o], T[o]) - 2*inner(object, width, T[o], s[o]) + inner(object, width, s[o], s[o])) / (2 * object.Noise * object.Noise)
			}
		}
		expect.Rel(t, "objective", got.value, want, 1e-10)
	}
}

// The gradient by template, momenta and control points is that of differences, for atlas and regression, in one chunk and several.
func TestGradient(t *testing.T) {
	t.Parallel()
	for k := range 3 {
		m, template, controls, subjects := pair()
		if k < 2 {
			m, template, controls, subjects = small(k == 1, true)
		}
		for _, design := range [][][]float64{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, {{-1}, {0.2}, {0.8}}} {
			f := newFit(m, template, controls, subjects, design)
			defer f.free()
			x := somewhere(f)
			e := f.evaluate(x)
			r := rand.New(rand.NewPCG(7, 1))
			for b, what := range []string{"template", "momenta", "control points"} {
				way := make([]float64, len(x))
				for i := f.blocks()[b][0]; i < f.blocks()[b][1]; i++ {
					way[i] = r.NormFloat64()
				}
				value := func(h float64) float64 {
					return f.evaluate(floats.AddScaledTo(make([]float64, len(x)), x, h, way)).value
				}
				const h = 3e-4
				want := (8*(value(h)-value(-h)) - (value(2*h) - value(-2*h))) / (12 * h)
				expect.Rel(t, "derivative by "+what, floats.Dot(e.gradient, way), want, 1e-8)
			}
			if len(design[0]) > 1 {
				few := *f
				few.measureSubjects(subjects, 2)
				if len(few.chunks) != 2 {
					t.Fatalf("%d chunks", len(few.chunks))
				}
				expect.Rel(t, "gradient in chunks", few.evaluate(x).gradient, e.gradient, 1e-12)
			}
		}
	}
}

// Two objects that are copies of one, with √2 times its noise, are as this one: they give the same objective, half of its gradient by
// the vertices each, and the whole gradient by momenta and control points.
func TestCopies(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := small(false, true)
	one := newFit(m, template, controls, subjects, lists.Identity(3))
	defer one.free()
	copies := m
	copies.Objects = []Object{m.Objects[0], m.Objects[0]}
	var both [][]*mesh.Mesh
	for o := range copies.Objects {
		copies.Objects[o].Noise *= math.Sqrt2
	}
	for _, s := range subjects {
		both = append(both, []*mesh.Mesh{s[0], s[0]})
	}
	two := newFit(copies, []*mesh.Mesh{template[0], template[0]}, controls, both, lists.Identity(3))
	defer two.free()
	x := somewhere(one)
	n := one.blocks()[0][1]
	a, b := one.evaluate(x), two.evaluate(append(slices.Clone(x[:n]), x...))
	expect.Rel(t, "objective", b.value, a.value, 1e-12)
	half := floats.ScaleTo(make([]float64, n), 0.5, a.gradient[:n])
	expect.Rel(t, "gradient by the first copy", b.gradient[:n], half, 1e-12)
	expect.Rel(t, "gradient by the second copy", b.gradient[n:2*n], half, 1e-12)
	expect.Rel(t, "gradient by the rest", b.gradient[2*n:], a.gradient[n:], 1e-12)
	// The same minimum, and what the atlas says of it.
	tight := solve.Tolerance(1e-5)
	p, q := expect.Must(m.Atlas(template, controls, subjects, tight)), expect.Must(copies.Atlas([]*mesh.Mesh{template[0], template[0]}, controls, both, tight))
	t.Log(p, q)
	expect.Rel(t, "objective at the minimum", q.Objective, p.Objective, 1e-8)
	expect.Abs(t, "templates of the copies", q.Template[1].Vertices, q.Template[0].Vertices, 1e-5)
	expect.Abs(t, "momenta", q.Momenta[2], p.Momenta[2], 1e-3)
}

// An atlas that was interrupted, and kept in a file, goes on to where an uninterrupted one ends.
func TestContinue(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := small(false, true)
	whole := expect.Must(m.Atlas(template, controls, subjects))
	ctx, cancel := context.WithCancel(context.Background())
	seen := 0
	stopped := m
	stopped.Space = m.Space.With(geom.Context(ctx), geom.OnProgress(func(geom.Progress) {
		if seen++; seen == whole.Iterations/2 {
			cancel()
		}
	}))
	half := expect.Must(stopped.Atlas(template, controls, subjects))
	t.Logf("whole: %s; half: %s", whole, half)
	if half.Status != geom.Cancelled || half.Objective < 1.001*whole.Objective {
		t.Fatalf("it was not interrupted: %s, objective %g, at the end %g", half, half.Objective, whole.Objective)
	}
	var read Atlas
	if err := json.Unmarshal(expect.Must(json.Marshal(half)), &read); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(&read, half) {
		t.Error("the file changed the atlas")
	}
	end := expect.Must(m.Continue(&read, subjects))
	t.Logf("end: %s", end)
	if end.Status != whole.Status || end.Iterations <= half.Iterations {
		t.Errorf("continued: %s; uninterrupted: %s", end, whole)
	}
	expect.Rel(t, "objective", end.Objective, whole.Objective, 1e-3)
	expect.Abs(t, "distances at the first start", end.Before, whole.Before, 0)
	expect.Refused(t, expect.Error(m.Continue(&read, subjects[:2])), "2 subjects")
}

// An atlas that was interrupted while its template moved in flows only goes on with that: interrupted before the first step, it is the
// uninterrupted one.
func TestContinueFlowing(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := ovals(0.05)
	m.Objects[0].Noise = 0.1
	whole := expect.Must(m.Atlas(template, controls, subjects))
	ctx, cancel := context.WithCancel(context.Background())
	stopped := m
	stopped.Space = m.Space.With(geom.Context(ctx), geom.OnProgress(func(geom.Progress) { cancel() }))
	part := expect.Must(stopped.Atlas(template, controls, subjects))
	end := expect.Must(m.Continue(filed(t, part), subjects))
	t.Logf("whole: %s; part: %s; end: %s", whole, part, end)
	if part.Status != geom.Cancelled || !part.Flowing || end.Flowing || end.Status != whole.Status {
		t.Errorf("cancelled: %s; continued: %s; uninterrupted: %s", part, end, whole)
	}
	expect.Rel(t, "objective", end.Objective, whole.Objective, 1e-6)
}

// Where the kernel is wide and the noise small, a search that could go on has not converged.
func TestRegistrationWithWideKernel(t *testing.T) {
	t.Parallel()
	template := []*mesh.Mesh{wavy(24, 0, 0)}
	m := Model{Space: landmarks.New(24, 2, kernels.Gaussian(3), geom.Integrator(ode.Heun, 10)),
		Objects: []Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.3), Varifold: true}, Noise: 0.03}}}
	var found []*Atlas
	for _, tolerance := range []float64{0.003, 1e-4} {
		found = append(found, expect.Must(m.Register(template, template[0].Vertices, []*mesh.Mesh{wavy(30, 0.3, 0.09)}, solve.Tolerance(tolerance), solve.MaxIterations(300))))
	}
	if found[0].Status == geom.Converged && found[0].Objective > 1.002*found[1].Objective {
		t.Errorf("%v: objective %g, then %g", found[0], found[0].Objective, found[1].Objective)
	}
}

// wavy is a circle with waves.
func wavy(n int, second, fifth float64) *mesh.Mesh {
	x := make([][]float64, n)
	for i := range x {
		angle := 2 * math.Pi * float64(i) / float64(n)
		sin, cos := math.Sincos(angle)
		r := 1 + second*math.Cos(2*angle) + fifth*math.Cos(5*angle)
		x[i] = []float64{r * cos, r * sin}
	}
	return mesh.Curve(x, true)
}

// Flows that are no geodesics, because the integrator's steps are too few, are no end of a search; they can be seen.
func TestTooFewSteps(t *testing.T) {
	t.Parallel()
	template, subject := []*mesh.Mesh{wavy(40, 0, 0)}, wavy(50, 0.65, 0)
	for steps, want := range map[int]geom.Status{5: geom.Stalled, 15: geom.Converged} {
		m := Model{Space: landmarks.New(14, 2, kernels.Gaussian(0.45), geom.Integrator(ode.Heun, steps)),
			Objects: []Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.25), Varifold: true}, Noise: 0.1}}}
		controls := wavy(14, 0, 0).Vertices
		a := expect.Must(m.Register(template, controls, []*mesh.Mesh{subject}))
		if a.Status != want || (a.Drift > geom.MaxDrift) != (want == geom.Stalled) || strings.Contains(a.String(), "steps") != (want == geom.Stalled) {
			t.Errorf("%d steps: %v, drift %g", steps, a, a.Drift)
		}
		// landmarks.Space.MatchFrom says the same.
		g := expect.Must(m.Space.MatchFrom(controls, template[0].Vertices, attachment.Varifold(kernels.Gaussian(0.25), template[0], subject), 0.1))
		if g.Status != want || (g.Err() != nil) != (want == geom.Stalled) {
			t.Errorf("%d steps: %v, %v", steps, g, g.Err())
		}
	}
}

// A match that folds cells of the template has not converged to a deformation; one that curvatures them less has.
func TestRegistrationFolds(t *testing.T) {
	t.Parallel()
	line := func(bend float64) *mesh.Mesh { // of five vertices, bent at the middle
		var x [][]float64
		for i := range 5 {
			s := float64(i-2) / 2
			sin, cos := math.Sincos(bend / 2)
			x = append(x, []float64{s * cos, math.Abs(s) * sin})
		}
		return mesh.Curve(x, false)
	}
	controls := line(0).Vertices
	m := Model{Space: landmarks.New(5, 2, kernels.Gaussian(0.7), geom.Integrator(ode.Heun, 10)),
		Objects: []Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.4)}, Noise: 0.01}}}
	for bend, want := range map[float64]geom.Status{math.Pi / 4: geom.Converged, 0.7 * math.Pi: geom.Stalled} {
		a := expect.Must(m.Register([]*mesh.Mesh{line(0)}, controls, []*mesh.Mesh{line(bend)}))
		if a.Status != want || (a.Folded > 0) != (want == geom.Stalled) || (a.FoldedShare >= 0.25) != (a.Folded > 0) {
			t.Errorf("bent by %.3g: %v, %d folded", bend, a, a.Folded)
		}
	}
}
