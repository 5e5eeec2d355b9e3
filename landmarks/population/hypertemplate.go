package population

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/engine"
	"anatomy/geom/try"
	"anatomy/landmarks/mesh"
)

// stiffness is the inverse of a model of the second derivatives of the objective by the field a of a hypertemplate and the coefficients m_k.
// With C = (1, design), the rows y = (a, m_1, …) and small ε, the objective changes by
//
//	½ Σ_i (Cy)_iᵀ H (Cy)_i + ½ Σ_k m_kᵀ K m_k + ½ ε aᵀ K a,   H = Jᵀ S J,
//
// to second order near the first template, for the kernel matrix J between its vertices and the control points. S has a block S_v = Σ_w G_vw/σ²
// per vertex, with the matrix G of dataHessian: the data resist a displacement that is constant over the width of their norm by S_v. This
// takes one gradient per coordinate, where G J takes one per number of a momentum. The columns v_j of V are those for which
// VᵀCᵀCV has the diagonal λ_j and Vᵀ diag(ε, 1, …) V is 1. The inverse is Σ_j v_j v_jᵀ ⊗ (λ_j H + K)⁻¹.
type stiffness struct {
	columns *mat.Dense
	factors []*mat.Cholesky // of λ_j H + K; nil where λ_j is 0
}

// maxStiff is the largest dimension of a momentum of which a stiffness is computed. Beyond it, steps are those of precondition.
const maxStiff = 3000

// stiffen computes the stiffness of a hypertemplate at the vertices that x begins with.
func (f *fit) stiffen(x []float64) {
	if !f.Hypertemplate || f.Space.Manifold.Dim() > maxStiff {
		return
	}
	f.stiff = nil
	const free = 0.01 // ε
	n := len(f.design[0]) + 1
	root := func(k int) float64 { // of diag(ε, 1, …)
		if k == 0 {
			return math.Sqrt(free)
		}
		return 1
	}
	products := mat.NewSymDense(n, nil)
	for _, row := range f.design {
		c := append([]float64{1}, row...)
		for k := range n {
			for l := range k + 1 {
				products.SetSym(k, l, products.At(k, l)+c[k]*c[l]/root(k)/root(l))
			}
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(products, true) {
		try.Do(errors.New("the eigenvalues of the design do not converge"))
	}
	h := f.held(x[:f.blocks()[0][1]])
	s := &stiffness{columns: &mat.Dense{}}
	eigen.VectorsTo(s.columns)
	values := eigen.Values(nil)
	for j, value := range values { // in ascending order
		for k := range n {
			s.columns.Set(k, j, s.columns.At(k, j)/root(k))
		}
		const same = 1e-9
		switch {
		case value < same*values[n-1]:
			s.factors = append(s.factors, nil)
			continue
		case j > 0 && value-values[j-1] < same*value:
			s.factors = append(s.factors, s.factors[j-1])
			continue
		}
		var m mat.SymDense
		m.ScaleSym(value, h)
		m.AddSym(&m, f.kernelMatrix(0))
		factor := &mat.Cholesky{}
		if !factor.Factorize(ridged(&m, 0.1*f.ridge)) {
			return // steps are those of precondition
		}
		s.factors = append(s.factors, factor)
	}
	f.stiff = s
}

// kernelMatrix is that of the control points for all coordinates, with rows of zeros for other parameters.
func (f *fit) kernelMatrix(others int) *mat.SymDense {
	n, d := len(f.controls), f.Space.Manifold.D
	out := mat.NewSymDense(n*d+others, nil)
	for i := range n {
		for j := range i + 1 {
			for a := range d {
				out.SetSym(i*d+a, j*d+a, f.gram.At(i, j))
			}
		}
	}
	return out
}

// held returns H = Jᵀ S J for the first template moved to these vertices.
func (f *fit) held(vertices []float64) *mat.SymDense {
	d, n := f.Space.Manifold.D, len(f.controls)
	z := engine.Unflatten(vertices, d)
	blocks := f.resistance(z)
	j := mat.NewDense(len(z), n, try.Get(f.kernelSums.Call(z, f.controls, identity(n))).Flat(0))
	h := mat.NewSymDense(n*d, nil)
	var weighted, product mat.Dense
	for a := range d {
		for b := range a + 1 {
			weighted.Apply(func(v, _ int, k float64) float64 { return k * blocks[v].At(a, b) }, j)
			product.Mul(j.T(), &weighted)
			for i := range n {
				for k := range n {
					h.SetSym(i*d+a, k*d+b, product.At(i, k))
				}
			}
		}
	}
	return h
}

// resistance returns the blocks S_v of a stiffness, without what is negative of them.
func (f *fit) resistance(z [][]float64) []*mat.SymDense {
	d, step := f.Space.Manifold.D, 1e-5*f.spacing()
	shifts := make([][][]float64, d)
	for a := range shifts {
		row := make([]float64, d)
		row[a] = step
		for range z {
			shifts[a] = append(shifts[a], row)
		}
	}
	columns := engine.Unflatten(try.Get(f.dataGradient.Call(z, shifts)).Flat(0), len(z)*d)
	for _, column := range columns {
		for o, c := range f.precision() {
			floats.Scale(2*c/step, f.part(column, o))
		}
	}
	blocks := make([]*mat.SymDense, len(z))
	for v := range z {
		b := mat.NewSymDense(d, nil)
		for k := range d {
			for l := range k + 1 {
				b.SetSym(k, l, (columns[k][v*d+l]+columns[l][v*d+k])/2)
			}
		}
		var eigen mat.EigenSym
		if !eigen.Factorize(b, true) {
			try.Do(errors.New("the eigenvalues of the second derivatives by a vertex do not converge"))
		}
		var vectors mat.Dense
		eigen.VectorsTo(&vectors)
		b.Zero()
		for k, l := range eigen.Values(nil) {
			b.SymRankOne(b, math.Max(0, l), vectors.ColView(k))
		}
		blocks[v] = b
	}
	return blocks
}

// byField returns the derivatives by the field a of a hypertemplate, Jᵀ g, from those by its vertices.
func (f *fit) byField(g []float64) []float64 {
	return try.Get(f.kernelSums.Call(f.controls, mesh.Vertices(f.start), engine.Unflatten(g, f.Space.Manifold.D))).Flat(0)
}

// solveStiff takes a gradient to a step by the stiffness.
func (f *fit) solveStiff(g []float64) []float64 {
	at, size := f.blocks(), f.Space.Manifold.Dim()
	rows := mat.NewDense(len(f.design[0])+1, size, append(f.byField(g[:at[0][1]]), g[at[1][0]:at[1][1]]...))
	var turned mat.Dense
	turned.Mul(f.stiff.columns.T(), rows)
	for j, factor := range f.stiff.factors {
		row := turned.RawRowView(j)
		if factor == nil {
			f.solve(row, row)
			continue
		}
		x := mat.NewDense(size, 1, row)
		solveTo(factor, x, x)
	}
	rows.Mul(f.stiff.columns, &turned)
	moved := try.Get(f.kernelSums.Call(mesh.Vertices(f.start), f.controls, engine.Unflatten(rows.RawRowView(0), f.Space.Manifold.D)))
	step := append(moved.Flat(0), rows.RawMatrix().Data[size:]...)
	step = append(step, g[at[2][0]:]...)
	floats.Scale(f.scale[len(f.scale)-1], step[at[2][0]:])
	return step
}
