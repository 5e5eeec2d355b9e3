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

// bend is how the data term holds a template that is its own subject, to second order. For displacements u of the vertices,
// ‖T + u − T‖² is uᵀ G u; a momentum p moves them by J p, for the kernels J between vertices and control points.
type bend struct {
	vertices      []float64
	trace, square float64       // tr G and tr G², estimated along random displacements
	pulls         *mat.Dense    // G J
	hessian       *mat.SymDense // H = Jᵀ G J
	kernel        *mat.SymDense // K of the control points, for all coordinates
}

// bendAt returns the bend at vertices of the template, by differences of gradients: that of the last call, if no coordinate has moved
// by more than a twentieth of the spacing since.
func (f *fit) bendAt(vertices []float64) (*bend, error) {
	const probes = 32
	if f.bend != nil && floats.Distance(f.bend.vertices, vertices, math.Inf(1)) <= 0.05*f.start.Spacing() {
		return f.bend, nil
	}
	n, d := len(f.controls), f.Space.Manifold.D
	size, rows := n*d, len(vertices)
	z, cells, batch := engine.Unflatten(vertices, d), flatten(f.start.Cells), len(f.chunks[0].square)
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
			steps[b] = 1e-5 * f.start.Spacing() / math.Max(floats.Norm(column, math.Inf(1)), 1e-300)
			floats.Scale(steps[b], column)
			shifts[b] = engine.Unflatten(column, d)
		}
		out, err := f.pull.Call(z, shifts, cells)
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
	for k := size; k < size+probes; k++ {
		g := mat.Col(nil, k, pulls)
		o.trace += floats.Dot(g, mat.Col(nil, k, jacobian)) / probes
		o.square += floats.Dot(g, g) / probes
	}
	var hessian mat.Dense
	hessian.Mul(jacobian.Slice(0, rows, 0, size).T(), o.pulls)
	o.hessian = symmetric(&hessian)
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

// posterior is K + H/σ² + stiff·1: the second derivatives of the objective by a momentum.
func (o *bend) posterior(sigma, stiff float64) *mat.SymDense {
	n := o.kernel.SymmetricDim()
	out := mat.NewSymDense(n, nil)
	out.ScaleSym(1/(sigma*sigma), o.hessian)
	out.AddSym(out, o.kernel)
	for i := range n {
		out.SetSym(i, i, out.At(i, i)+stiff)
	}
	return out
}

// parts is Λ: see Atlas.Noise.
func (o *bend) parts() float64 { return o.trace * o.trace / o.square }

// count returns how many parts of the residual of a subject a momentum cannot follow, and how many of its own the data determine.
// Of a displacement u of the vertices it takes A u, for A = J (K + H/σ²)⁻¹ Jᵀ G/σ²; left is tr (1 − A)ᵀ G (1 − A), divided by
// tr G²/tr G, and determined is tr (K + H/σ²)⁻¹ H/σ².
func (o *bend) count(sigma float64) (left, determined float64, err error) {
	var factor mat.Cholesky
	if !factor.Factorize(o.posterior(sigma, 1e-6)) {
		return 0, 0, errors.New("the second derivatives by a momentum are not positive definite")
	}
	precision := 1 / (sigma * sigma)
	var squares, taken, held, both mat.Dense
	squares.Mul(o.pulls.T(), o.pulls)
	if err := factor.SolveTo(&taken, &squares); err != nil && !errors.As(err, new(mat.Condition)) {
		return 0, 0, err
	}
	if err := factor.SolveTo(&held, o.hessian); err != nil && !errors.As(err, new(mat.Condition)) {
		return 0, 0, err
	}
	both.Mul(&taken, &held)
	unit := o.square / o.trace
	return (o.trace - 2*precision*mat.Trace(&taken) + precision*precision*mat.Trace(&both)) / unit, precision * mat.Trace(&held), nil
}

// guess is a noise to begin with: where the data determine a quarter of a momentum, whatever the unit of K.
func (f *fit) guess(vertices []float64) (float64, error) {
	o, err := f.bendAt(vertices)
	if err != nil {
		return 0, err
	}
	quarter := math.Min(float64(f.Space.Manifold.Dim()), o.parts()) / 4
	for sigma, factor := 1.0, 1.0; ; {
		_, determined, err := o.count(sigma)
		if err != nil {
			return 0, err
		}
		next := 2.0
		if determined < quarter {
			next = 0.5
		}
		if factor*next == 1 {
			return sigma, nil
		}
		factor = next
		sigma *= factor
	}
}

// noise estimates Noise, Reach and Parts of an atlas from an evaluation at f.Noise, which is the σ/ρ that the search took: its minimum
// depends on no more. It is an error if template and deformations can follow the residuals, so that little of them is left.
func (f *fit) noise(e *evaluation, a *Atlas) error {
	const share = 0.2
	o, err := f.bendAt(e.x[:f.blocks()[0][1]])
	if err != nil {
		return err
	}
	n, momenta, weight := float64(len(f.design)), float64(len(f.design[0])), 1.0
	following := n - 1
	if !f.separate() {
		following, weight = momenta, f.weight()
	}
	left, determined, err := o.count(f.Noise / math.Sqrt(weight))
	if err != nil {
		return err
	}
	a.Parts = o.parts()
	free := (n-1)*a.Parts - following*(a.Parts-left)
	if free < share*n*a.Parts {
		return fmt.Errorf("the noise cannot be estimated: of %.0f independent parts of the residuals, template and deformations leave %.0f: give Noise, or take a wider kernel of the deformations, a narrower one of the norm, or more subjects", n*a.Parts, free)
	}
	// Rounding bounds σ from below, as where all subjects are the template.
	a.Noise = math.Sqrt(math.Max(floats.Sum(e.mismatch), 1e-8*f.squares) / free)
	const none = 1e-3 // of what the data determine; there ρ is 1
	a.Reach = math.Sqrt((2*floats.Sum(e.energy) + none) / (momenta*determined + none))
	return nil
}
