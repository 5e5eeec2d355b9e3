package population

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/surfaces/attachment"
	"anatomy/landmarks/surfaces/mesh"
)

// potato is a template of few cells with control points and a model.
func potato() (Model, *mesh.Mesh, [][]float64) {
	ball := mesh.Icosphere(1).Map(func(x []float64) []float64 {
		return []float64{1.3*x[0] + 0.2*x[1]*x[1], x[1], 0.7*x[2] + 0.1*x[0]*x[0]}
	})
	var controls [][]float64
	for i := range 8 {
		controls = append(controls, []float64{float64(i&1) - 0.5, float64(i>>1&1) - 0.5, float64(i>>2&1) - 0.5})
	}
	space := landmarks.New(8, 3, kernels.Gaussian(1), geom.Integrator(ode.RK4, 5))
	return Model{Space: space, Objects: []Object{{Norm: attachment.Norm{Kernel: kernels.Gaussian(0.6), Varifold: true}, Noise: 0.3}}}, ball, controls
}

// The gradient by momenta and pose is that of differences.
func TestMatcherGradient(t *testing.T) {
	m, ball, controls := potato()
	c := m.newMatcher(Single([]*mesh.Mesh{ball})[0], controls, Single([]*mesh.Mesh{mesh.Icosphere(1)}), nil)
	defer c.free()
	x := make([]float64, len(c.x[0]))
	for i := range x {
		x[i] = 0.2 * math.Sin(float64(3*i+1))
	}
	e := c.evaluate((*engine.Func).Call, 0, x)
	for i := range x {
		const h = 1e-5
		at := func(by float64) float64 {
			y := append([]float64{}, x...)
			y[i] += by
			return c.evaluate((*engine.Func).Call, 0, y).value
		}
		expect.Abs(t, "derivative", e.gradient[i], (at(h)-at(-h))/(2*h), 1e-6*(1+math.Abs(e.gradient[i])))
	}
	// The motions of two parameters, one after the other and back.
	a, b := c.pose.at(x[24:]), c.pose.at(x[:7])
	for _, y := range ball.Vertices[:3] {
		expect.Abs(t, "two motions", a.after(b).Move(y), a.Move(b.Move(y)), 1e-12)
		expect.Abs(t, "there and back", a.inverse().after(a).Move(y), y, 1e-12)
	}
}

// Kernels of deformations whose widths differ by less than their names say have one file in Save, and each its own match.
func TestSavedMatchIsOfItsKernel(t *testing.T) {
	m, ball, controls := potato()
	m.Save = t.TempDir()
	ends := map[float64][]float64{}
	for _, width := range []float64{1.00001, 1.00004, 1.00001} {
		m.Space = landmarks.New(8, 3, kernels.Gaussian(width), geom.Integrator(ode.RK4, 5))
		c := m.newMatcher(Single([]*mesh.Mesh{ball})[0], controls, Single([]*mesh.Mesh{mesh.Icosphere(1)}), nil)
		c.hold()
		c.match("match", []int{0}, nil)
		if before := ends[width]; before != nil {
			expect.Abs(t, "the same match again", c.x[0], before, 1e-9)
		}
		ends[width] = c.x[0]
		c.free()
	}
	if files := expect.Must(os.ReadDir(m.Save)); len(files) != 1 {
		t.Fatalf("%d files, want one for both widths", len(files))
	}
	if slices.Equal(ends[1.00001], ends[1.00004]) {
		t.Error("two kernels have one match")
	}
}

// The covariance of landmarks is that of u(y) − A(u + noise) for a Gaussian process u of any width, where A is what a match makes of displacements: by whole
// matrices, with A from the normal equations of a match, and W = G/σ² between all vertices.
func TestPlacedCovarianceIsThatOfAProcess(t *testing.T) {
	m, ball, controls := potato()
	surfaces := []*located{}
	for _, s := range Single([]*mesh.Mesh{ball, ball.Copy()}) {
		surfaces = append(surfaces, &located{objects: s, locators: []*mesh.Locator{expect.Must(s[0].Locator())}})
	}
	marks := [][]float64{ball.Vertices[3], ball.Vertices[20]}
	c := m.newCarrier(0, marks, controls, surfaces)
	defer c.free()
	// G is what the pulls of unit displacements of all coordinates are.
	rows := 3 * len(ball.Vertices)
	f := *c.fit
	f.hessian = nil
	o := f.dataHessianAt(shape.Flat(ball.Vertices), lists.Identity(rows)...)
	w := mat.DenseCopyOf(o.pulls.Slice(0, rows, 24, 24+rows))
	w.Scale(1/(0.3*0.3), w)
	at := append(append([][]float64{}, ball.Vertices...), marks...)
	n := 3 * len(at)
	// The displacements of a match are spanned by kernels about the control points and by similarities.
	span := mat.NewDense(n, 24+7, nil)
	gram := mat.NewDense(24+7, 24+7, nil)
	kernel := func(x, y []float64, width float64) float64 {
		return math.Exp(-math.Pow(floats.Distance(x, y, 2)/width, 2) / 2)
	}
	for i, x := range at {
		for j, y := range controls {
			for a := range 3 {
				span.Set(3*i+a, 3*j+a, kernel(x, y, 1))
			}
		}
		for k, v := range c.pose.derivatives(x) {
			for a := range 3 {
				span.Set(3*i+a, 24+k, v[a])
			}
		}
	}
	for i, x := range controls {
		for j, y := range controls {
			for a := range 3 {
				gram.Set(3*i+a, 3*j+a, kernel(x, y, 1))
			}
		}
	}
	var pulled, normal, variables, taken, solved, noise, covariance, part mat.Dense
	jacobian := span.Slice(0, rows, 0, 24+7)
	pulled.Mul(jacobian.T(), w)
	normal.Mul(&pulled, jacobian)
	normal.Add(&normal, gram)
	if err := variables.Solve(&normal, &pulled); err != nil {
		t.Fatal(err)
	}
	taken.Mul(span.Slice(rows, n, 0, 24+7), &variables) // A for the landmarks
	if err := solved.Solve(&normal, span.Slice(rows, n, 0, 24+7).T()); err != nil {
		t.Fatal(err)
	}
	noise.Product(solved.T(), &pulled, jacobian, &solved)
	const wider = 0.7
	off := mat.NewDense(6, n, nil) // of u(y) − A u
	off.Slice(0, 6, 0, rows).(*mat.Dense).Scale(-1, &taken)
	process := mat.NewDense(n, n, nil)
	for i := range at {
		for j := range at {
			for a := range 3 {
				process.Set(3*i+a, 3*j+a, kernel(at[i], at[j], wider))
			}
		}
	}
	for k := range 6 {
		off.Set(k, rows+k, 1)
	}
	part.Product(off, process, off.T())
	covariance.Add(&part, &noise)
	points, pulls := c.thinned()
	if len(points) != len(ball.Vertices) {
		t.Fatalf("%d vertices of %d", len(points), len(ball.Vertices))
	}
	errs := c.errorsOf(pulls, []prior{c.prior(points, wider)})
	for k := range 6 {
		expect.Abs(t, "covariance of two landmarks", errs.RawRowView(k), covariance.RawRowView(k), 1e-3*errs.At(k, k))
	}
	placed := c.place(0, surfaces[1], 1.7, errs)
	for l, mark := range placed {
		frame := mat.DenseCopyOf(covariance.Slice(3*l, 3*l+3, 3*l, 3*l+3))
		frame.Scale(1.7*1.7, frame)
		_, tangents := surfaces[1].locators[0].Nearest(marks[l])
		want := inTangent(frame, tangents)
		for a := range 3 {
			expect.Abs(t, "covariance", mark.Covariance[a], want[a], 1e-2*mark.StandardError()*mark.StandardError())
		}
	}
	expect.Abs(t, "parts of independent errors", c.parts(mat.DenseCopyOf(mat.NewDiagDense(6, slices.Repeat([]float64{2}, 6))), surfaces[0]), 4, 1e-12)
	c.marks[1] = marks[0]
	equal := mat.NewDense(6, 6, nil)
	for i := range 6 {
		equal.Set(i, i%3, 1)
		equal.Set(i, 3+i%3, 1)
	}
	expect.Abs(t, "parts of equal errors", c.parts(equal, surfaces[0]), 2, 1e-12)
}

// Deformations have 40 parts that are what a subject has less what a template has, and subjects of another kind have a shift of half that variance more.
// Where all are of one kind Farther is near 1, and there the variance of the mean of three templates is that of two thirds of single
// matches. Where they are not, it is 1.5 on the other kind in the mean, and the variance of the mean is that of simulated errors.
func TestFarther(t *testing.T) {
	const parts, templates, subjects, runs = 40, 3, 8, 2000
	random := rand.New(rand.NewPCG(1, 2))
	for _, shift := range []float64{0, 1} {
		farther, squares, errs, expected := 0.0, 0.0, 0.0, 0.0
		for range runs {
			var shapes [subjects][parts]float64
			var common [parts]float64
			for k := range parts {
				common[k] = shift * random.NormFloat64()
				for i := range shapes {
					shapes[i][k] = random.NormFloat64()
					if i >= templates {
						shapes[i][k] += common[k]
					}
				}
			}
			all := &placements{surfaces: make([]*located, subjects), of: map[int]*matches{}}
			p := &Placement{Shared: 0.5}
			for s := range templates {
				of := &matches{known: parts}
				for i := range shapes {
					energy := floats.Distance(shapes[i][:], shapes[s][:], 2)
					of.far = append(of.far, energy*energy)
				}
				of.far[s] = math.NaN()
				all.of[s], p.Templates = of, append(p.Templates, s)
			}
			p.compareDistances(all)
			off := 0.0 // an error, of which the templates' own parts are averaged
			for s := range templates {
				off += (shapes[5][0] - shapes[s][0]) / templates
			}
			farther, squares = farther+p.Farther[5]/runs, squares+math.Pow(p.Farther[5]-1, 2)/runs
			errs, expected = errs+off*off/runs, expected+2*(p.Farther[5]-0.5*(1-1./templates))/runs
			if p.Farther[1] != 1 {
				t.Fatal("a template is farther from itself than from templates")
			}
		}
		expect.Abs(t, "mean of Farther", farther, 1+shift/2, 0.12)
		expect.Abs(t, "variance of the mean of three templates", errs, expected, 0.1*expected)
		if shift == 0 {
			expect.Abs(t, "deviation of Farther from 1", math.Sqrt(squares), 0.12, 0.05)
		}
	}
}

// Of simulated displacements of 600 subjects the width, the variance and the factor of the noise come back.
func TestPriors(t *testing.T) {
	m, ball, controls := potato()
	var subjects []*mesh.Mesh
	surfaces := []*located{}
	for range 601 {
		subjects = append(subjects, ball.Copy())
	}
	for _, s := range Single(subjects) {
		surfaces = append(surfaces, &located{objects: s, locators: []*mesh.Locator{expect.Must(s[0].Locator())}})
	}
	c := m.newCarrier(0, ball.Vertices[:2], controls, surfaces)
	defer c.free()
	random := rand.New(rand.NewPCG(3, 4))
	points, pulls := c.thinned()
	for _, test := range []struct{ wider, variance, noise float64 }{{0.5, 0.3, 1}, {math.Sqrt2, 3, 0.4}} {
		const reach = 0.2 // σ is 0.3 ρ
		var factor mat.Cholesky
		p := c.prior(points, test.wider)
		factor.Factorize(ridged(dense.Symmetric(p.vertices), 1e-9))
		var lower mat.TriDense
		factor.LTo(&lower)
		var noise mat.Cholesky
		noise.Factorize(ridged(c.hessian.weighted(c.weights()), 1e-9))
		var scores mat.TriDense
		noise.LTo(&scores)
		for k := range c.x {
			u, size := make([]float64, 3*len(points)), len(c.x[k])
			for a := range 3 {
				z, column := mat.NewVecDense(len(points), nil), new(mat.VecDense)
				for i := range points {
					z.SetVec(i, reach*math.Sqrt(test.variance)*random.NormFloat64())
				}
				column.MulVec(&lower, z)
				for i := range points {
					u[3*i+a] = column.AtVec(i)
				}
			}
			z, score := mat.NewVecDense(size, nil), new(mat.VecDense)
			for i := range size {
				z.SetVec(i, reach*math.Sqrt(test.noise)*random.NormFloat64())
			}
			score.MulVec(&scores, z) // Jᵀ W noise
			var data mat.VecDense
			data.MulVec(pulls.T(), mat.NewVecDense(len(u), u))
			data.AddVec(&data, score)
			c.x[k] = c.solve(mat.NewDense(size, 1, data.RawVector().Data)).RawMatrix().Data
			c.ends[k] = &matched{}
		}
		mean, expected, scale := 0.0, 0.0, 0.0
		for k, p := range c.priors(points, pulls, reach) {
			mean += p.share * math.Log2(math.Pow(2, float64(k-4)/4)/test.wider)
			expected += p.share * p.variance
			scale += p.share * p.noise
		}
		expect.Abs(t, "logarithm of the width", mean, 0, 0.15)
		expect.Rel(t, "variance", expected, test.variance, 0.15)
		expect.Rel(t, "factor of the noise", scale, test.noise, 0.2)
	}
}

// Out of their planes cells move by the normal part of a displacement: in a flat patch only by that, at its border by all of it, on a sphere and a circle nearly only by it.
func TestOutwards(t *testing.T) {
	patch := &mesh.Mesh{Vertices: [][]float64{{0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1}, {0.4, 0.6, 1}}, Cells: [][]int{{0, 1, 4}, {1, 2, 4}, {2, 3, 4}, {3, 0, 4}}}
	ball := mesh.Icosphere(3)
	var circle [][]float64
	for i := range 40 {
		s, c := math.Sincos(2 * math.Pi * float64(i) / 40)
		circle = append(circle, []float64{c, s})
	}
	for v, m := range outwards([]*mesh.Mesh{patch}) {
		want := []float64{1, 1, 1}
		if v == 4 {
			want = []float64{0, 0, 1}
		}
		expect.Abs(t, "patch", m.RawMatrix().Data, mat.DenseCopyOf(mat.NewDiagDense(3, want)).RawMatrix().Data, 1e-7)
	}
	for _, round := range []*mesh.Mesh{ball, mesh.Curve(circle, true)} {
		for v, m := range outwards([]*mesh.Mesh{round}) {
			x, out := mat.NewVecDense(len(round.Vertices[v]), round.Vertices[v]), new(mat.VecDense)
			out.MulVec(m, x)
			expect.Abs(t, "normal part", mat.Dot(x, out), 1, 0.02)
			expect.Abs(t, "all parts", mat.Trace(m), 1, 0.2)
		}
	}
}

// Joined, as on a GPU, subjects have the objectives and gradients of each alone, to rounding, and end where these do.
func TestMatcherTogether(t *testing.T) {
	m, ball, controls := potato()
	c := m.newMatcher(Single([]*mesh.Mesh{ball})[0], controls, Single([]*mesh.Mesh{mesh.Icosphere(1), mesh.Ellipsoid(1.2, 1, 0.8, 6, 9), ball}), nil)
	defer c.free()
	at := func(k int) []float64 {
		return lists.Make(len(c.x[k]), func(i int) float64 { return 0.2 * math.Sin(float64(3*i+k)) })
	}
	all := lists.Range(3)
	alone := lists.Each(all, func(k int) *matched { return c.evaluate((*engine.Func).Call, k, at(k)) })
	c.match("match", all, nil)
	ends := slices.Clone(c.ends)
	c.x = lists.Each(c.x, func(x []float64) []float64 { return make([]float64, len(x)) })
	t.Setenv(engine.RecordVariable, t.TempDir())
	engine.Together(m.Space.Begin("test"), 3, func(k int, call engine.Caller) {
		e := c.evaluate(call, k, at(k))
		expect.Rel(t, "objective", e.value, alone[k].value, 1e-12)
		expect.Abs(t, "gradient", e.gradient, alone[k].gradient, 1e-12*floats.Norm(alone[k].gradient, 1))
	})
	c.match("match", all, nil)
	for k, e := range c.ends {
		expect.Rel(t, "the least objective", e.value, ends[k].value, 1e-4)
	}
	c.sigma[0] *= 2 // another objective at the same place
	c.hold()
	c.match("match", all, []solve.Option{solve.Tolerance(1)}) // it stays where it is
	for k, e := range c.ends[:2] {                            // that of the template itself is 0
		expect.Rel(t, "the objective of another noise", e.value, c.evaluate((*engine.Func).Call, k, c.x[k]).value, 1e-9)
	}
}
