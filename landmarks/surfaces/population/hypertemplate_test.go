package population

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
	"anatomy/notebooks/lab/scanned"
)

// stiffBody is an ellipsoid with a hypertemplate, one in so many of its vertices as control points, and a norm a third as wide as the deformations.
func stiffBody(rings, segments, every int) (Model, *mesh.Mesh, [][]float64) {
	body := mesh.Ellipsoid(1.3, 1, 0.8, rings, segments)
	var controls [][]float64
	for i := 0; i < len(body.Vertices); i += every {
		controls = append(controls, body.Vertices[i])
	}
	return Model{Space: landmarks.New(len(controls), 3, kernels.Gaussian(0.6), geom.Integrator(ode.Euler, 2)), Hypertemplate: true,
		Objects: []Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.2)}, Noise: 0.05}}}, body, controls
}

// Where all subjects are the template and the norm is a third as wide as the deformations, the steps of a hypertemplate are those of Newton's
// method: second derivatives by differences of gradients, applied to a field and momenta, are taken back to these. That holds for an
// atlas, also where momenta undo what the field does, and for a regression.
func TestStiffness(t *testing.T) {
	t.Parallel()
	m, body, controls := stiffBody(16, 24, 15)
	subjects := Single([]*mesh.Mesh{body, body, body})
	for _, design := range [][][]float64{lists.Identity(3), {{-1}, {0.3}, {2}}} {
		f := newFit(m, subjects[0], controls, subjects, design)
		defer f.free()
		x := f.begin(start{template: subjects[0], controls: controls})
		if f.stiffen(f.selfResistance()); f.stiff == nil {
			t.Fatal("the matrix of a stiffness is singular")
		}
		r := rand.New(rand.NewPCG(1, 1))
		at := f.blocks()
		size := at[1][1] - at[1][0]
		field := make([]float64, f.Space.Manifold.Dim())
		for i := range field {
			field[i] = r.NormFloat64()
		}
		moved := expect.Must(f.kernelSums.Call(body.Vertices, controls, engine.Unflatten(field, 3))).Flat(0)
		random := make([]float64, size)
		for i := range random {
			random[i] = r.NormFloat64()
		}
		undone := make([]float64, 0, size)
		for range design[0] {
			undone = append(undone, floats.ScaleTo(make([]float64, len(field)), -1, field)...)
		}
		for what, way := range map[string][]float64{
			"momenta":               append(make([]float64, at[0][1]), random...),
			"field":                 append(append([]float64{}, moved...), make([]float64, size)...),
			"momenta and the field": append(append([]float64{}, moved...), undone...),
		} {
			h := 1e-4 / floats.Norm(way, math.Inf(1))
			after := f.evaluate(floats.AddScaledTo(make([]float64, len(way)), x, h, way))
			before := f.evaluate(floats.AddScaledTo(make([]float64, len(way)), x, -h, way))
			bend := floats.SubTo(make([]float64, len(way)), after.gradient, before.gradient)
			floats.Scale(1/(2*h), bend)
			step := f.precondition(bend)
			// As the objective sees it: ‖step − way‖² in the second derivatives.
			miss := floats.SubTo(make([]float64, len(way)), step, way)
			off := f.evaluate(floats.AddScaledTo(make([]float64, len(way)), x, h, miss))
			back := f.evaluate(floats.AddScaledTo(make([]float64, len(way)), x, -h, miss))
			curved := floats.Dot(miss, floats.SubTo(make([]float64, len(way)), off.gradient, back.gradient)) / (2 * h)
			t.Logf("%d coefficients, %s: %.3g of %.3g", len(design[0]), what, curved, floats.Dot(way, bend))
			if !(math.Abs(curved) < 0.02*floats.Dot(way, bend)) {
				t.Errorf("%d coefficients, %s: a step misses by %.3g of %.3g", len(design[0]), what, curved, floats.Dot(way, bend))
			}
		}
	}
}

// A step of a stiffness is the inverse of its model, whose matrix is written down here: for an atlas whose subjects resist unlike, a regression
// whose subjects do, and one whose subjects resist alike.
func TestStiffnessIsAnInverse(t *testing.T) {
	t.Parallel()
	m, body, controls := stiffBody(6, 9, 8)
	subjects := Single([]*mesh.Mesh{body, body, body})
	r := rand.New(rand.NewPCG(2, 1))
	for name, c := range map[string]struct {
		design [][]float64
		alike  bool
	}{"atlas": {lists.Identity(3), false}, "atlas, alike": {lists.Identity(3), true}, "regression": {[][]float64{{-1}, {0.3}, {2}}, false}, "regression, alike": {[][]float64{{-1}, {0.3}, {2}}, true}} {
		f := newFit(m, subjects[0], controls, subjects, c.design)
		defer f.free()
		var resistance [][]*mat.SymDense
		for range subjects {
			numbers := make([]float64, 9*len(body.Vertices))
			for i := range numbers {
				numbers[i] = r.NormFloat64()
			}
			resistance = append(resistance, f.blocksOf(numbers))
			if c.alike {
				break
			}
		}
		if f.stiffen(resistance); f.stiff == nil {
			t.Fatal(name)
		}
		if shared := f.stiff.coefficients[0] == f.stiff.coefficients[len(c.design[0])-1]; shared != (name != "atlas") {
			t.Errorf("%s: one matrix for all coefficients: %v", name, shared) // in memory of the order of the subjects
		}
		size, n := f.Space.Manifold.Dim(), len(c.design[0])
		kernel := ridged(f.kernelMatrix(0), 0.1*f.ridge)
		matrix := mat.NewDense((n+1)*size, (n+1)*size, nil)
		add := func(k, l int, w float64, m mat.Matrix) {
			block := matrix.Slice(k*size, (k+1)*size, l*size, (l+1)*size).(*mat.Dense)
			var scaled mat.Dense
			scaled.Scale(w, m)
			block.Add(block, &scaled)
		}
		for k := range n + 1 {
			w := 1.0
			if k == 0 {
				w = 0.01
			}
			add(k, k, w, kernel)
		}
		for i, row := range c.design {
			row = append([]float64{1}, row...)
			h := f.held(resistance[min(i, len(resistance)-1)])
			for k, a := range row {
				for l, b := range row {
					add(k, l, a*b, h)
				}
			}
		}
		at := f.blocks()
		g := make([]float64, at[1][1])
		for i := range g {
			g[i] = r.NormFloat64()
		}
		step := f.precondition(g)
		var want mat.VecDense
		if err := want.SolveVec(matrix, mat.NewVecDense((n+1)*size, append(f.byField(g[:at[0][1]]), g[at[1][0]:]...))); err != nil {
			t.Fatal(name, err)
		}
		x := want.RawVector().Data
		moved := expect.Must(f.kernelSums.Call(body.Vertices, controls, engine.Unflatten(x[:size], 3))).Flat(0)
		expect.Abs(t, name+": vertices", step[:at[0][1]], moved, 1e-7*floats.Norm(moved, math.Inf(1)))
		expect.Abs(t, name+": coefficients", step[at[1][0]:], x[size:], 1e-7*floats.Norm(x[size:], math.Inf(1)))
	}
}

// A plan counts the subjects and multiplies the time of one evaluation.
func TestPlan(t *testing.T) {
	m, body, controls := stiffBody(6, 9, 8)
	subjects := Single([]*mesh.Mesh{body, body, body})
	f := newFit(m, subjects[0], controls, subjects, lists.Identity(3))
	defer f.free()
	if got, want := f.plan("atlas", 2*time.Second), "atlas of 3 subjects: about 5m0s for 150 evaluations, and 0.2 GB"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// The memory of a search is within a third of the largest that processes had: of ellipsoids, 89 control points and five steps of Heun's method, after
// two to twenty evaluations. The last row is a plan.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		subjects, rings, segments int
		gigabytes                 float64
	}{{20, 24, 44, 0.4}, {20, 37, 70, 0.48}, {60, 37, 70, 0.95}, {20, 72, 141, 1.0}, {60, 72, 141, 1.7}, {4, 113, 223, 0.72}, {322, 113, 223, 9}} {
		body := mesh.Ellipsoid(1.3, 1, 0.8, c.rings, c.segments)
		f := &fit{Model: Model{Space: landmarks.New(89, 3, kernels.Gaussian(0.6), geom.Integrator(ode.Heun, 5)), Hypertemplate: true},
			start: []*mesh.Mesh{body}, ends: []int{len(body.Vertices)}, controls: body.Vertices[:89], design: lists.Identity(c.subjects)}
		f.shareOut(Single(slices.Repeat([]*mesh.Mesh{body}, c.subjects)))
		t.Logf("%d subjects of %d triangles: %.2f GB", c.subjects, len(body.Cells), f.memory()/1e9)
		expect.Rel(t, fmt.Sprintf("%d subjects of %d triangles", c.subjects, len(body.Cells)), f.memory()/1e9, c.gigabytes, 1./3)
	}
}

// The template is the first of three subjects, and with a norm narrower than its triangles that one holds it in all directions. Another mesh of
// the same ellipsoid holds it as well along its normals, and less than a quarter along its tangents. The third is the first one moved by a fifth
// of the norm's width. In sum, resistances are the second derivative by a displacement of the whole template, by differences of the data terms.
func TestResistances(t *testing.T) {
	t.Parallel()
	body := mesh.Ellipsoid(1.3, 1, 0.8, 16, 24)
	const width = 0.07
	moved := body.Map(func(x []float64) []float64 { return []float64{x[0] + width/5, x[1], x[2]} })
	m := Model{Space: landmarks.New(1, 3, kernels.Gaussian(1), geom.Integrator(ode.Euler, 2)), Hypertemplate: true,
		Objects: []Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(width)}, Noise: 0.05}}}
	subjects := Single([]*mesh.Mesh{body, mesh.Ellipsoid(1.3, 1, 0.8, 21, 31), moved})
	f := newFit(m, subjects[0], [][]float64{{0, 0, 0}}, subjects, lists.Identity(3))
	defer f.free()
	x := f.begin(start{template: subjects[0]})
	blocks := f.resistances(f.at(x))
	along, across := make([]float64, 3), make([]float64, 3)
	var trace [3]float64
	for v, y := range body.Vertices {
		n := []float64{y[0] / (1.3 * 1.3), y[1], y[2] / (0.8 * 0.8)}
		floats.Scale(1/floats.Norm(n, 2), n)
		for i := range subjects {
			normal := mat.Inner(mat.NewVecDense(3, n), blocks[i][v], mat.NewVecDense(3, n))
			across[i] += normal
			along[i] += (mat.Trace(blocks[i][v]) - normal) / 2
			trace[i] += mat.Trace(blocks[i][v])
		}
	}
	t.Logf("along normals %.3g, along tangents %.3g", across, along)
	expect.Rel(t, "along normals", across[1], across[0], 0.15)
	if along[1] > along[0]/4 {
		t.Errorf("along tangents %g, by itself %g", along[1], along[0])
	}
	const h = 0.1 * width
	for i := range subjects {
		bend := 0.0
		for a := range 3 {
			value := func(side float64) float64 {
				y := slices.Clone(x)
				for v := range body.Vertices {
					y[3*v+a] += side
				}
				return f.evaluate(y).mismatch[i][0] * f.precision()[0]
			}
			bend += (value(h) - 2*value(0) + value(-h)) / (h * h)
		}
		expect.Rel(t, "of the whole", trace[i], bend, 0.1)
	}
}

// Two bodies as a scanner has them, with a norm that is narrower than a triangle: the search converges and no cells fold. The template is the
// first one moved by a field, and no field or momentum lowers the objective: to its derivative by a field the subjects contribute much
// that cancels. The rounds end at the same objective.
func TestHypertemplate(t *testing.T) {
	t.Parallel()
	var bodies []*mesh.Mesh
	for seed := range uint64(2) {
		m := scanned.Body(seed+1, 24, 0.2, 1.2)
		expect.Must(m.Clean())
		bodies = append(bodies, m)
	}
	var controls [][]float64
	for i, x := range bodies[0].Vertices {
		if i%12 == 0 {
			controls = append(controls, x)
		}
	}
	width := bodies[0].Spacing()
	m := Model{Space: landmarks.New(len(controls), 3, kernels.Gaussian(2.1*width), geom.Integrator(ode.Euler, 5)), Hypertemplate: true,
		Objects: []Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.7 * width)}, Noise: 0.1}}}
	subjects, first := Single(bodies), bodies[:1]
	a := expect.Must(m.Atlas(first, controls, subjects))
	tight := expect.Must(m.Atlas(first, controls, subjects, solve.Tolerance(0.003)))
	t.Logf("%d control points: %s, %d evaluations, objective %g; %s, objective %g", len(controls), a, a.Evaluations, a.Objective, tight, tight.Objective)
	for tolerance, a := range map[float64]*Atlas{0.03: a, 0.003: tight} {
		if a.Status != geom.Converged || a.Imbalance > tolerance || a.Unsettled > tolerance || a.Folded > 0 {
			t.Errorf("to %g: %s", tolerance, a)
		}
	}
	expect.Rel(t, "objective at a tenth of the tolerance", a.Objective, tight.Objective, 1e-3)

	// Is the displacement of all vertices J a, by least squares?
	f := newFit(m, first, controls, subjects, lists.Identity(2))
	defer f.free()
	j := mat.NewDense(len(bodies[0].Vertices), len(controls), expect.Must(f.kernelSums.Call(bodies[0].Vertices, controls, lists.Identity(len(controls)))).Flat(0))
	moved := mat.NewDense(len(bodies[0].Vertices), 3, floats.SubTo(make([]float64, 3*len(bodies[0].Vertices)), slices.Concat(tight.Template[0].Vertices...), slices.Concat(bodies[0].Vertices...)))
	var field, left mat.Dense
	if err := field.Solve(j, moved); err != nil {
		t.Fatal(err)
	}
	left.Mul(j, &field)
	left.Sub(&left, moved)
	t.Logf("vertices moved by %.3g, other than a field by %.3g", mat.Norm(moved, 2), mat.Norm(&left, 2))
	if far := mat.Norm(moved, 2); far < width || mat.Norm(&left, 2) > 1e-6*far {
		t.Errorf("vertices moved by %g, other than a field by %g", far, mat.Norm(&left, 2))
	}

	// The derivative along the field that lowers the mismatch of a subject most steeply, by differences.
	x := slices.Concat(append([][]float64{slices.Concat(tight.Template[0].Vertices...)}, slices.Concat(tight.Momenta...)...)...)
	steepest := f.byField(f.evaluate(x).pulls[0])
	f.solve(steepest, steepest)
	moved.Mul(j, mat.NewDense(len(controls), 3, steepest))
	value := func(h float64) (all, one float64) {
		e := f.evaluate(slices.Concat(floats.AddScaledTo(make([]float64, 3*len(bodies[0].Vertices)), x[:3*len(bodies[0].Vertices)], h, moved.RawMatrix().Data), x[3*len(bodies[0].Vertices):]))
		return e.value, f.precision()[0] * e.mismatch[0][0]
	}
	h := 1e-3 * width / mat.Norm(moved, math.Inf(1))
	after, own := value(h)
	before, was := value(-h)
	t.Logf("along a field the objective changes by %.3g, the mismatch of a subject by %.3g", after-before, own-was)
	if math.Abs(after-before) > 0.01*math.Abs(own-was) {
		t.Errorf("along a field the objective changes by %g, the mismatch of a subject by %g", after-before, own-was)
	}

	rounds := expect.Must(m.Rounds(first, controls, subjects, solve.Tolerance(0.01)))
	defer rounds.Close()
	all, _ := play(t, rounds)
	end := all[len(all)-1].Atlas
	t.Logf("rounds: %s", end)
	if end.Status != geom.Converged {
		t.Errorf("rounds: %s", end)
	}
	expect.Rel(t, "objective by rounds", end.Objective, tight.Objective, 1e-3)
}
