package population

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/engine"
)

// bend is how the data terms hold a template that is its own subject, to second order. For displacements u of the vertices,
// ‖T + u − T‖² is uᵀ G u, one block of G an object; a momentum p moves them by J p, for the kernels J between vertices and control
// points.
type bend struct {
	vertices      []float64
	trace, square []float64       // tr G and tr G² of every object, estimated along random displacements
	pulls         *mat.Dense      // G J
	hessians      []*mat.SymDense // H = Jᵀ G J of every object
	squares       []*mat.SymDense // Jᵀ G² J of every object
	kernel        *mat.SymDense   // K of the control points, for all coordinates
}

// bendAt returns the bend at vertices of the template, by differences of gradients: that of the last call, if no coordinate has moved
// by more than a twentieth of the spacing since.
func (f *fit) bendAt(vertices []float64) (*bend, error) {
	const probes = 32
	near, spacing := f.bend != nil, f.spacing()
	for o, t := range f.start {
		near = near && floats.Distance(f.part(f.bend.vertices, o), f.part(vertices, o), math.Inf(1)) <= 0.05*t.Spacing()
	}
	if near {
		return f.bend, nil
	}
	n, d := len(f.controls), f.Space.Manifold.D
	size, rows := n*d, len(vertices)
	z, batch := engine.Unflatten(vertices, d), f.batch
	out, err := f.apply.Call(z, f.controls, identity(n))
	if err != nil {
		return nil, err
	}
	reach := out.Flat(0) // [vertices, n]
	random := rand.New(rand.NewPCG(2, 1))
	jacobian := mat.NewDense(rows, size+probes, nil) // J, and the random displacements
	for v := range rows / d {
		for a := range d {
			for i := range n {
				jacobian.Set(v*d+a, i*d+a, reach[v*n+i])
			}
			for k := range probes {
				jacobian.Set(v*d+a, size+k, float64(1-2*random.IntN(2)))
			}
		}
	}
	pulls := mat.NewDense(rows, size+probes, nil)
	for from := 0; from < size+probes; from += batch {
		shifts, steps := make([][][]float64, batch), make([]float64, batch)
		for b := range shifts {
			column := mat.Col(nil, min(from+b, size+probes-1), jacobian)
			steps[b] = 1e-5 * spacing / math.Max(floats.Norm(column, math.Inf(1)), 1e-300)
			floats.Scale(steps[b], column)
			shifts[b] = engine.Unflatten(column, d)
		}
		out, err := f.pull.Call(z, shifts)
		if err != nil {
			return nil, err
		}
		for b, g := range engine.Unflatten(out.Flat(0), rows) {
			if from+b < size+probes {
				floats.Scale(1/steps[b], g)
				pulls.SetCol(from+b, g)
			}
		}
	}
	o := &bend{vertices: vertices, pulls: mat.DenseCopyOf(pulls.Slice(0, rows, 0, size))}
	from := 0
	for _, end := range f.ends {
		trace, square := 0.0, 0.0
		for k := size; k < size+probes; k++ {
			g := mat.Col(nil, k, pulls.Slice(from, end*d, 0, size+probes))
			trace += floats.Dot(g, mat.Col(nil, k, jacobian.Slice(from, end*d, 0, size+probes))) / probes
			square += floats.Dot(g, g) / probes
		}
		var hessian, squares mat.Dense
		own := o.pulls.Slice(from, end*d, 0, size)
		hessian.Mul(jacobian.Slice(from, end*d, 0, size).T(), own)
		squares.Mul(own.T(), own)
		o.trace, o.square = append(o.trace, trace), append(o.square, square)
		o.hessians, o.squares = append(o.hessians, symmetric(&hessian)), append(o.squares, symmetric(&squares))
		from = end * d
	}
	if out, err = engine.Run(func(in []*Node) []*Node { return []*Node{f.Space.Manifold.Kernel.Gram(in[0], in[0])} }, f.controls); err != nil {
		return nil, err
	}
	o.kernel = mat.NewSymDense(size, nil)
	for i, row := range out.Matrix(0) {
		for j := range i + 1 {
			for a := range d {
				o.kernel.SetSym(i*d+a, j*d+a, row[j])
			}
		}
	}
	f.bend = o
	return o, nil
}

// symmetric is the symmetric part of a matrix.
func symmetric(m *mat.Dense) *mat.SymDense {
	n, _ := m.Dims()
	out := mat.NewSymDense(n, nil)
	for i := range n {
		for j := range i + 1 {
			out.SetSym(i, j, (m.At(i, j)+m.At(j, i))/2)
		}
	}
	return out
}

// posterior is K + Σ_o w_o H_o + stiff·1: the second derivatives of the objective by a momentum, for the weights 1/σ² of objects.
func (o *bend) posterior(weights []float64, stiff float64) *mat.SymDense {
	n := o.kernel.SymmetricDim()
	out := mat.NewSymDense(n, nil)
	out.CopySym(o.kernel)
	for k, h := range o.hessians {
		var scaled mat.SymDense
		scaled.ScaleSym(weights[k], h)
		out.AddSym(out, &scaled)
	}
	for i := range n {
		out.SetSym(i, i, out.At(i, i)+stiff)
	}
	return out
}

// parts is Λ of an object: see Atlas.Noise.
func (o *bend) parts(k int) float64 { return o.trace[k] * o.trace[k] / o.square[k] }

// count returns how many parts of the residual of a subject a momentum cannot follow, of every object, and how many of its own the
// data determine. Of displacements u of the vertices it takes A u, for A = J P⁻¹ Jᵀ W, with P = K + Jᵀ W J and the blocks w_o G_o of
// W. Left of object o is E ‖(1 − A)u‖²_o, where the vertices of each object q are displaced independently, with the variance
// tr G_q/tr G_q²/w_q, and the unit is 1/w_o. Determined is tr P⁻¹ Jᵀ W J.
func (o *bend) count(weights []float64) (left []float64, determined float64, err error) {
	var factor mat.Cholesky
	if !factor.Factorize(o.posterior(weights, 1e-6*o.kernel.At(0, 0))) {
		return nil, 0, errors.New("the second derivatives by a momentum are not positive definite")
	}
	solved := func(of []*mat.SymDense) (all []*mat.Dense, err error) {
		for _, m := range of {
			var x mat.Dense
			if err := factor.SolveTo(&x, m); err != nil && !errors.As(err, new(mat.Condition)) {
				return nil, err
			}
			all = append(all, &x)
		}
		return all, nil
	}
	taken, err := solved(o.squares)
	if err != nil {
		return nil, 0, err
	}
	held, err := solved(o.hessians)
	if err != nil {
		return nil, 0, err
	}
	for k, w := range weights {
		l := o.parts(k) - 2*w*mat.Trace(taken[k])*o.trace[k]/o.square[k]
		for q, v := range weights {
			var both mat.Dense
			both.Mul(taken[q], held[k])
			l += w * v * mat.Trace(&both) * o.trace[q] / o.square[q]
		}
		left = append(left, l)
		determined += w * mat.Trace(held[k])
	}
	return left, determined, nil
}

// guess is a noise of every object to begin with, as of equal displacements of all vertices: where the data determine a quarter of a
// momentum, whatever the unit of K.
func (f *fit) guess(vertices []float64) ([]float64, error) {
	o, err := f.bendAt(vertices)
	if err != nil {
		return nil, err
	}
	parts := 0.0
	for k := range f.sigma {
		parts += o.parts(k)
	}
	quarter := math.Min(float64(f.Space.Manifold.Dim()), parts) / 4
	for sigma, factor := 1.0, 1.0; ; {
		all, weights := make([]float64, len(f.sigma)), make([]float64, len(f.sigma))
		for k := range all {
			all[k] = sigma * math.Sqrt(o.square[k]/o.trace[k]*o.trace[0]/o.square[0])
			weights[k] = 1 / (all[k] * all[k])
		}
		_, determined, err := o.count(weights)
		if err != nil {
			return nil, err
		}
		next := 2.0
		if determined < quarter {
			next = 0.5
		}
		if factor*next == 1 {
			return all, nil
		}
		factor = next
		sigma *= factor
	}
}

// noise estimates Noise, Reach and Parts of an atlas from an evaluation at f.sigma, which is the σ/ρ that the search took: its minimum
// depends on no more. It is an error if template and deformations can follow the residuals, so that little of them is left.
func (f *fit) noise(e *evaluation, a *Atlas) error {
	const share = 0.2
	o, err := f.bendAt(e.x[:f.blocks()[0][1]])
	if err != nil {
		return err
	}
	n, momenta := float64(len(f.design)), float64(len(f.design[0]))
	following := momenta
	if f.separate() {
		following = n - 1
	}
	left, determined, err := o.count(f.weights())
	if err != nil {
		return err
	}
	const none = 1e-3 // of what the data determine; there deformations are as large as the cells
	unit := f.spacing() * f.spacing() / o.kernel.At(0, 0)
	a.Reach = math.Sqrt((2*floats.Sum(e.energy) + none*unit) / (momenta*determined + none))
	a.Parts = make([]float64, len(f.sigma))
	for k, mismatch := range sums(e.mismatch) {
		a.Parts[k] = o.parts(k)
		if f.Objects[k].Noise > 0 {
			a.Noise[k] = f.Objects[k].Noise
			continue
		}
		free := (n-1)*a.Parts[k] - following*(a.Parts[k]-left[k])
		if free < share*n*a.Parts[k] {
			return fmt.Errorf("%s cannot be estimated: of %.0f independent parts of the residuals, template and deformations leave %.0f: give Noise, or take a wider kernel of the deformations, a narrower one of the norm, or more subjects", f.Label("the noise", k), n*a.Parts[k], free)
		}
		// Rounding bounds σ from below, as where all subjects are the template.
		a.Noise[k] = math.Sqrt(math.Max(mismatch, 1e-8*f.squares[k]) / free)
	}
	return nil
}
