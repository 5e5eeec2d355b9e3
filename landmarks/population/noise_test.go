package population

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
)

// The second derivatives by a momentum, and how much of a displacement it leaves, are those of whole matrices by differences.
func TestBend(t *testing.T) {
	t.Parallel()
	for _, varifold := range []bool{false, true} {
		m, template, controls, subjects := small(varifold, false)
		f := expect.Must(newFit(m, template, controls, subjects, identity(3)))
		defer f.free()
		x := geom.Numbers(geom.Shape(template.Vertices))
		o := expect.Must(f.bendAt(x))

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
			column := expect.Must(f.pull.Call(template.Vertices, shifts, flatten(template.Cells))).Flat(0)[:n]
			floats.Scale(1e5, column)
			g.SetCol(k, column)
		}
		for v, z := range template.Vertices {
			for i, c := range controls {
				for a := range 2 {
					j.Set(2*v+a, 2*i+a, math.Exp(-math.Pow(floats.Distance(z, c, 2)/0.8, 2)/2))
				}
			}
		}
		var h, weighted, a, rest, kept mat.Dense
		h.Product(j.T(), g, j)
		expect.Rel(t, "H", mat.DenseCopyOf(o.hessian).RawMatrix().Data, h.RawMatrix().Data, 1e-3)
		const sigma = 0.3
		weighted.Mul(j.T(), g)
		weighted.Scale(1/(sigma*sigma), &weighted)
		if err := a.Solve(o.posterior(sigma, 0), &weighted); err != nil {
			t.Fatal(err)
		}
		rest.Mul(j, &a)
		rest.Scale(-1, &rest)
		for i := range n {
			rest.Set(i, i, 1+rest.At(i, i))
		}
		kept.Product(rest.T(), g, &rest)
		left, determined, err := o.count(sigma)
		if err != nil {
			t.Fatal(err)
		}
		expect.Rel(t, "what momenta take", (o.parts()-left)*o.square/o.trace, mat.Trace(g)-mat.Trace(&kept), 1e-3)
		var own mat.Dense
		if err := own.Solve(o.posterior(sigma, 0), o.hessian); err != nil {
			t.Fatal(err)
		}
		expect.Rel(t, "what data determine of a momentum", determined, mat.Trace(&own)/(sigma*sigma), 1e-3)
		expect.Rel(t, "tr G", o.trace, mat.Trace(g), 0.2)

		// H is the second derivative of the data term, along a momentum.
		self := expect.Must(newFit(m, template, controls, append(subjects[:0:0], template, template), identity(2)))
		defer self.free()
		const step = 1e-4
		way := append(append([]float64{}, x...), make([]float64, 2*size)...)
		way[n] = step
		e := expect.Must(self.evaluate(way))
		bent := floats.SubTo(make([]float64, size), e.gradient[n:n+size], e.motion[0])
		floats.Scale(m.Noise*m.Noise/step, bent)
		expect.Rel(t, "H along a momentum", bent, mat.Col(nil, 0, o.hessian), 1e-2)
	}
}
