package population

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/internal/lists"
	"anatomy/landmarks/surfaces/mesh"
)

// The second derivatives by a momentum, and how much of a displacement it leaves, are those of whole matrices by differences.
func TestBend(t *testing.T) {
	t.Parallel()
	for k := range 3 {
		m, template, controls, subjects := pair()
		if k < 2 {
			m, template, controls, subjects = small(k == 1, false)
		}
		m.Free = false
		f := newFit(m, template, controls, subjects, lists.Identity(3))
		defer f.free()
		points := mesh.Vertices(template)
		x := shape.Flat(points)
		o := f.dataHessianAt(x)

		// G by single vertices, and J by kernels in plain Go.
		n, size := len(x), 2*len(controls)
		g, j := mat.NewDense(n, n, nil), mat.NewDense(n, size, nil)
		for k := range n {
			shifts := make([][][]float64, 3)
			for b := range shifts {
				e := make([]float64, n)
				e[k] = 1e-5
				shifts[b] = engine.Unflatten(e, 2)
			}
			column := expect.Must(f.dataGradient.Call(points, shifts)).Flat(0)[:n]
			floats.Scale(1e5, column)
			g.SetCol(k, column)
		}
		for v, z := range points {
			for i, c := range controls {
				for a := range 2 {
					j.Set(2*v+a, 2*i+a, math.Exp(-math.Pow(floats.Distance(z, c, 2)/0.8, 2)/2))
				}
			}
		}
		// block is what a matrix of vertices has of an object, with 0 elsewhere.
		border := 2 * len(template[0].Vertices)
		block := func(m *mat.Dense, o int) *mat.Dense {
			out := mat.NewDense(n, n, nil)
			for a := range n {
				for b := range n {
					if (a >= border) == (o == 1) && (b >= border) == (o == 1) {
						out.Set(a, b, m.At(a, b))
					}
				}
			}
			return out
		}
		const sigma = 0.3
		weights := []float64{1 / (sigma * sigma), 3}[:len(template)]
		w, held := mat.NewDense(n, n, nil), mat.NewDense(size, size, nil)
		variance := mat.NewDense(n, n, nil)
		for k := range template {
			own := block(g, k)
			var h, weighted mat.Dense
			h.Product(j.T(), own, j)
			expect.Rel(t, "H", mat.DenseCopyOf(o.hessians[k]).RawMatrix().Data, h.RawMatrix().Data, 1e-3)
			weighted.Scale(weights[k], own)
			w.Add(w, &weighted)
			expect.Rel(t, "tr G", o.trace[k], mat.Trace(own), 0.2)
			// Displacements of the vertices that have the unit of this object.
			for a := range n {
				if own.At(a, a) != 0 {
					variance.Set(a, a, o.trace[k]/o.square[k]/weights[k])
				}
			}
		}
		var a, rest, weighted mat.Dense
		weighted.Mul(j.T(), w)
		if err := a.Solve(o.posterior(weights, 0), &weighted); err != nil {
			t.Fatal(err)
		}
		rest.Mul(j, &a)
		rest.Scale(-1, &rest)
		for i := range n {
			rest.Set(i, i, 1+rest.At(i, i))
		}
		left, determined := o.countParts(weights, o.factorPosterior(weights))
		for k := range template {
			var kept mat.Dense
			kept.Product(rest.T(), block(g, k), &rest, variance)
			// The traces of G are those of random displacements, here and there.
			expect.Rel(t, "what momenta take", o.parts(k)-left[k], o.parts(k)/o.trace[k]*mat.Trace(block(g, k))-weights[k]*mat.Trace(&kept), 1e-3)
		}
		held.Product(&weighted, j)
		var own mat.Dense
		if err := own.Solve(o.posterior(weights, 0), held); err != nil {
			t.Fatal(err)
		}
		expect.Rel(t, "what data determine of a momentum", determined, mat.Trace(&own), 1e-3)

		// H is the second derivative of the data terms, along a momentum.
		self := newFit(m, template, controls, [][]*mesh.Mesh{template, template}, lists.Identity(2))
		defer self.free()
		const step = 1e-4
		way := append(append([]float64{}, x...), make([]float64, 2*size)...)
		way[n] = step
		e := self.evaluate(way)
		bent := floats.SubTo(make([]float64, size), e.gradient[n:n+size], e.motion[0])
		floats.Scale(1/step, bent)
		want := make([]float64, size)
		for k, c := range self.weights() {
			floats.AddScaled(want, c, mat.Col(nil, 0, o.hessians[k]))
		}
		expect.Rel(t, "H along a momentum", bent, want, 1e-2)
	}
}

// Where momenta follow the template by their response, the derivative of the objective is that by the vertices with what leads them there.
func TestResponse(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := pair()
	f := newFit(m, template, controls, subjects, lists.Identity(3))
	defer f.free()
	x := somewhere(f)
	at, size := f.blocks(), m.Space.Manifold.Dim()
	if f.respond(x[:at[0][1]]); f.response == nil {
		t.Fatal("not positive definite")
	}
	u := make([]float64, at[0][1])
	for i := range u {
		u[i] = math.Sin(float64(3 * i))
	}
	value := func(h float64) float64 {
		step := append(floats.ScaleTo(make([]float64, len(u)), h, u), make([]float64, len(x)-len(u))...)
		f.addFollowing(step)
		return f.evaluate(floats.AddTo(step, step, x)).value
	}
	e := f.evaluate(x)
	rest := make([]float64, size)
	for g := range slices.Chunk(e.gradient[at[1][0]:at[1][1]], size) {
		floats.Add(rest, g)
	}
	const h = 1e-4
	want := (8*(value(h)-value(-h)) - (value(2*h) - value(-2*h))) / (12 * h)
	expect.Rel(t, "derivative", floats.Dot(e.gradient[:at[0][1]], u)+floats.Dot(f.lead(rest), u), want, 1e-7)
}

// A search for the template alone, with the momenta at their minimum, ends where one of all variables does.
func TestTrail(t *testing.T) {
	t.Parallel()
	m, template, controls, subjects := ovals(0)
	want := expect.Must(m.Atlas(template, controls, subjects, solve.Tolerance(0.003)))
	f := newFit(m, template, controls, subjects, lists.Identity(len(subjects)))
	defer f.free()
	x := f.begin(start{template: template, controls: controls})
	f.respond(x[:f.blocks()[0][1]])
	f.calibrate(x)
	before := f.evaluations
	found := f.trail("trail", x, solve.Limits{Tolerance: 0.003, MaxIterations: 500}, nil)
	t.Logf("%s after %d steps and %d evaluations, objective %g; of all variables %d evaluations, %g", found.Status, found.Iterations, f.evaluations-before, f.at(found.X).value, want.Evaluations, want.Objective)
	if left := expect.Must(f.residual(found.X)); found.Status != solve.Converged || left > 0.003 || f.frozen {
		t.Errorf("%s: %g is left", found.Status, left)
	}
	expect.Rel(t, "objective", f.at(found.X).value, want.Objective, 1e-3)
}
