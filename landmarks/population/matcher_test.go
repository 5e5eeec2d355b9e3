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
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/attachment"
	"anatomy/landmarks/mesh"
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
	c := m.newMatcher(Single([]*mesh.Mesh{ball})[0], controls, Single([]*mesh.Mesh{mesh.Icosphere(1)}))
	defer c.free()
	x := make([]float64, len(c.x[0]))
	for i := range x {
		x[i] = 0.2 * math.Sin(float64(3*i+1))
	}
	e := c.evaluate(0, x)
	for i := range x {
		const h = 1e-5
		at := func(by float64) float64 {
			y := append([]float64{}, x...)
			y[i] += by
			return c.evaluate(0, y).value
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
		c := m.newMatcher(Single([]*mesh.Mesh{ball})[0], controls, Single([]*mesh.Mesh{mesh.Icosphere(1)}))
		c.hold()
		c.match(0, "match", nil)
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

// The covariance of a landmark, which the parameters of the match give, is that of a Gaussian process of displacements with a prior of
// similarities so wide that it is flat: C − C (1 + W C)⁻¹ W C, with W = G/σ² between all vertices.
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
	o := f.dataHessianAt(geom.Numbers(geom.Shape(ball.Vertices)), identity(rows)...)
	w := mat.DenseCopyOf(o.pulls.Slice(0, rows, 24, 24+rows))
	w.Scale(1/(0.3*0.3), w)
	at := append(append([][]float64{}, ball.Vertices...), marks...)
	n := 3 * len(at)
	// The displacements are spanned by kernels about the control points and by similarities.
	span := mat.NewDense(n, 24+7, nil)
	gram := mat.NewDense(24+7, 24+7, nil)
	kernel := func(x, y []float64) float64 { return math.Exp(-math.Pow(floats.Distance(x, y, 2), 2) / 2) }
	for i, x := range at {
		for j, y := range controls {
			for a := range 3 {
				span.Set(3*i+a, 3*j+a, kernel(x, y))
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
				gram.Set(3*i+a, 3*j+a, kernel(x, y))
			}
		}
	}
	for k := range 7 {
		gram.Set(24+k, 24+k, 1e-5)
	}
	var inverse, prior, taken, solved, posterior mat.Dense
	if err := inverse.Inverse(gram); err != nil {
		t.Fatal(err)
	}
	prior.Product(span, &inverse, span.T())
	half := prior.Slice(0, rows, 0, n)
	taken.Mul(w, prior.Slice(0, rows, 0, rows))
	for i := range rows {
		taken.Set(i, i, taken.At(i, i)+1)
	}
	var pulled mat.Dense
	pulled.Mul(w, half)
	if err := solved.Solve(&taken, &pulled); err != nil {
		t.Fatal(err)
	}
	posterior.Mul(half.T(), &solved)
	posterior.Sub(&prior, &posterior)
	errs := c.errors()
	placed := c.place(0, surfaces[1], 1.7, errs)
	for l, mark := range placed {
		frame := mat.NewDense(3, 3, nil)
		for a := range 3 {
			for b := range 3 {
				frame.Set(a, b, posterior.At(rows+3*l+a, rows+3*l+b))
			}
			frame.Set(a, a, frame.At(a, a)+c.beyond.At(l, l))
		}
		frame.Scale(1.7*1.7, frame)
		_, tangents := surfaces[1].locators[0].Nearest(marks[l])
		want := inTangent(frame, tangents)
		for a := range 3 {
			expect.Abs(t, "covariance", mark.Covariance[a], want[a], 1e-2*mark.StandardError()*mark.StandardError())
		}
	}
	// Between the two landmarks, too; of errors that are independent there are as many parts as numbers, of equal ones as of one landmark.
	for a := range 3 {
		for b := range 3 {
			want := posterior.At(rows+a, rows+3+b)
			if a == b {
				want += c.beyond.At(0, 1)
			}
			expect.Abs(t, "covariance of two landmarks", errs.At(a, 3+b), want, 1e-2*errs.At(a, a))
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
