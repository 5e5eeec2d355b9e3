package population

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/engine"
	"anatomy/geom/try"
	"anatomy/landmarks/internal/text"
)

// dataHessian is how the data terms hold a template that is its own subject, to second order. For displacements u of the vertices,
// ‖T + u − T‖² is uᵀ G u, one block of G an object; a momentum p moves them by J p, for the kernels J between vertices and control
// points. Parameters of other motions, which cost no energy, are counted after the momentum: their displacements are the last columns of J, and
// K is 0 there.
type dataHessian struct {
	vertices      []float64
	trace, square []float64       // tr G and tr G² of every object, estimated along random displacements
	pulls         *mat.Dense      // G J
	hessians      []*mat.SymDense // H = Jᵀ G J of every object
	squares       []*mat.SymDense // Jᵀ G² J of every object
	kernel        *mat.SymDense   // K of the control points, for all coordinates
	free          int             // how many parameters of other motions there are
}

// dataHessianAt returns it at vertices of the template, by differences of gradients: that of the last call, if no coordinate has moved
// by more than a twentieth of the spacing since. The displacements of other motions are given.
func (f *fit) dataHessianAt(vertices []float64, others ...[]float64) *dataHessian {
	const probes = 32
	near, spacing := f.hessian != nil, f.spacing()
	for o, t := range f.start {
		near = near && floats.Distance(f.part(f.hessian.vertices, o), f.part(vertices, o), math.Inf(1)) <= 0.05*t.Spacing()
	}
	if near {
		return f.hessian
	}
	n, d := len(f.controls), f.Space.Manifold.D
	momenta, rows := n*d, len(vertices)
	size := momenta + len(others)
	z, batch := engine.Unflatten(vertices, d), f.perCall
	reach := try.Get(f.kernelSums.Call(z, f.controls, identity(n))).Flat(0) // [vertices, n]
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
	for k, motion := range others {
		jacobian.SetCol(momenta+k, motion)
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
		for b, g := range engine.Unflatten(try.Get(f.dataGradient.Call(z, shifts)).Flat(0), rows) {
			if from+b < size+probes {
				floats.Scale(1/steps[b], g)
				pulls.SetCol(from+b, g)
			}
		}
	}
	o := &dataHessian{vertices: vertices, free: len(others), pulls: mat.DenseCopyOf(pulls.Slice(0, rows, 0, size))}
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
	o.kernel = f.kernelMatrix(len(others))
	f.hessian = o
	return o
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

// posterior is K + Σ_o w_o H_o + ridge·1: the second derivatives of the objective by a momentum, for the weights 1/σ² of objects.
func (o *dataHessian) posterior(weights []float64, ridge float64) *mat.SymDense {
	n := o.kernel.SymmetricDim()
	out := mat.NewSymDense(n, nil)
	out.CopySym(o.kernel)
	for k, h := range o.hessians {
		var scaled mat.SymDense
		scaled.ScaleSym(weights[k], h)
		out.AddSym(out, &scaled)
	}
	return ridged(out, ridge)
}

// factorPosterior is the factor of posterior.
func (o *dataHessian) factorPosterior(weights []float64) *mat.Cholesky {
	factor := &mat.Cholesky{}
	if !factor.Factorize(o.posterior(weights, 1e-6*o.kernel.At(0, 0))) {
		text.Refuse("give Noise, or take a wider kernel of the norm", "the second derivatives by a momentum are not positive definite")
	}
	return factor
}
