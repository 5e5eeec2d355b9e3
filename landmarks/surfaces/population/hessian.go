package population

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/engine"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/landmarks/surfaces/mesh"
)

// dataHessian is how the data terms hold a template that is its own subject, to second order. For displacements u of the vertices,
// ‖T + u − T‖² is uᵀ G u, one block of G per object; a momentum p moves them by J p, for the kernels J between vertices and control
// points. Parameters of other motions, which cost no energy, are counted after the momentum: their displacements are the last columns of J,
// and K is 0 there. Where landmarks are placed, M G M stands for G, with the matrices M of outwards: displacements along a surface are not
// seen.
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
	probes := 32
	if f.out == nil && len(others) > 0 { // for poses, of which no noise is estimated
		probes = 0
	}
	near, spacing := f.hessian != nil, f.spacing()
	for o, t := range f.start {
		near = near && floats.Distance(f.part(f.hessian.vertices, o), f.part(vertices, o), math.Inf(1)) <= 0.05*t.Spacing()
	}
	if near {
		return f.hessian
	}
	d, momenta, rows := f.Space.Manifold.D, f.Space.Manifold.Dim(), len(vertices)
	size := momenta + len(others)
	calls := (size + probes + f.perCall - 1) / f.perCall
	z, batch := engine.Unflatten(vertices, d), (size+probes+calls-1)/calls
	random := rand.New(rand.NewPCG(2, 1))
	jacobian := mat.NewDense(rows, size+probes, nil) // J, and the random displacements
	jacobian.Slice(0, rows, 0, momenta).(*mat.Dense).Copy(f.everyCoordinate(f.kernelBetween(z)))
	for row := range rows {
		for k := range probes {
			jacobian.Set(row, size+k, float64(1-2*random.IntN(2)))
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
			f.outward(column)
			shifts[b] = engine.Unflatten(column, d)
		}
		for b, g := range engine.Unflatten(try.Get(f.dataGradient.Call(z, shifts)).Flat(0), rows) {
			if from+b < size+probes {
				floats.Scale(1/steps[b], g)
				f.outward(g)
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
			trace += floats.Dot(g, mat.Col(nil, k, jacobian.Slice(from, end*d, 0, size+probes))) / float64(probes)
			square += floats.Dot(g, g) / float64(probes)
		}
		var hessian, squares mat.Dense
		own := o.pulls.Slice(from, end*d, 0, size)
		hessian.Mul(jacobian.Slice(from, end*d, 0, size).T(), own)
		squares.Mul(own.T(), own)
		o.trace, o.square = append(o.trace, trace), append(o.square, square)
		o.hessians, o.squares = append(o.hessians, dense.Symmetric(&hessian)), append(o.squares, dense.Symmetric(&squares))
		from = end * d
	}
	o.kernel = f.kernelMatrix(len(others))
	f.hessian = o
	return o
}

// outwards returns for every vertex the symmetric matrix M for which |M u|² is the mean of how far its cells move out of their planes or lines if it moves
// by u, squared: M² is Σ |c| (1 − Π_c)/Σ |c| over its cells c of size |c|, with the projection Π_c to the tangents of c (the quadric of M. Garland and P.
// Heckbert, Surface simplification using quadric error metrics, SIGGRAPH 1997). A border may also move along its cells: there M is 1.
func outwards(template []*mesh.Mesh) (all []*mat.Dense) {
	for _, m := range template {
		d := len(m.Vertices[0])
		squares, sizes := make([]*mat.SymDense, len(m.Vertices)), make([]float64, len(m.Vertices))
		for v := range squares {
			squares[v] = mat.NewSymDense(d, nil)
		}
		for i, normal := range m.Normals() {
			size := floats.Norm(normal, 2)
			if size == 0 {
				continue
			}
			n := mat.NewVecDense(d, normal) // of an edge it is the tangent
			for _, v := range m.Cells[i] {
				sizes[v] += size
				if len(m.Cells[i]) == 3 {
					squares[v].SymRankOne(squares[v], 1/size, n)
					continue
				}
				squares[v].SymRankOne(squares[v], -1/size, n)
				for a := range d {
					squares[v].SetSym(a, a, squares[v].At(a, a)+size)
				}
			}
		}
		for _, v := range slices.Concat(m.Boundary()...) {
			sizes[v] = 0
		}
		for v, square := range squares {
			root := dense.Rows(lists.Identity(d))
			if sizes[v] > 0 {
				square.ScaleSym(1/sizes[v], square)
				roots, axes := eigen(square)
				for k, value := range roots {
					roots[k] = math.Sqrt(math.Max(0, value))
				}
				root.Product(axes, mat.NewDiagDense(d, roots), axes.T())
			}
			all = append(all, root)
		}
	}
	return all
}

// outward multiplies displacements of the vertices, or pulls at them, by the matrices of outwards, if these are set.
func (f *fit) outward(u []float64) {
	for v, m := range f.out {
		d := m.RawMatrix().Cols
		x := mat.NewVecDense(d, u[v*d:(v+1)*d])
		var y mat.VecDense
		y.MulVec(m, x)
		x.CopyVec(&y)
	}
}

// maxResponding is the largest dimension of a momentum whose response is computed.
const maxResponding = 600

// response is how the momenta of an atlas follow the template: by −P⁻¹ Jᵀ W u to first order, if its vertices move by u, with P = K + Jᵀ W J.
type response struct {
	*dataHessian
	factor *mat.Cholesky // of P
}

// respond sets the response of momenta where all vertices of a template move.
func (f *fit) respond(vertices []float64) {
	f.response = nil
	if f.Hypertemplate || f.Space.Manifold.Dim() > maxResponding || !f.separate() {
		return
	}
	o, factor := f.dataHessianAt(vertices), &mat.Cholesky{}
	if factor.Factorize(o.posterior(f.weights(), 0.1*f.ridge)) {
		f.response = &response{o, factor}
	}
}

// weighed are numbers of the vertices, those of each object times −1/σ².
func (f *fit) weighed(u []float64) *mat.Dense {
	out := slices.Clone(u)
	for o, c := range f.precision() {
		floats.Scale(-2*c, f.part(out, o))
	}
	return mat.NewDense(len(out), 1, out)
}

// follow is the change of every momentum, by the response, if the template moves by u.
func (f *fit) follow(u []float64) []float64 {
	var p mat.Dense
	p.Mul(f.response.pulls.T(), f.weighed(u))
	solveTo(f.response.factor, &p, &p)
	return p.RawMatrix().Data
}

// lead is the adjoint of follow.
func (f *fit) lead(r []float64) []float64 {
	var p, out mat.Dense
	solveTo(f.response.factor, &p, mat.NewDense(len(r), 1, slices.Clone(r)))
	out.Mul(f.response.pulls, &p)
	return f.weighed(out.RawMatrix().Data).RawMatrix().Data
}

// weighted is Σ_o w_o H_o, for the weights 1/σ² of objects.
func (o *dataHessian) weighted(weights []float64) *mat.SymDense {
	out := mat.NewSymDense(o.kernel.SymmetricDim(), nil)
	for k, h := range o.hessians {
		var scaled mat.SymDense
		scaled.ScaleSym(weights[k], h)
		out.AddSym(out, &scaled)
	}
	return out
}

// posterior is K + Σ_o w_o H_o + ridge·1: the second derivatives of the objective by a momentum, for the weights 1/σ² of objects.
func (o *dataHessian) posterior(weights []float64, ridge float64) *mat.SymDense {
	out := o.weighted(weights)
	out.AddSym(o.kernel, out)
	return ridged(out, ridge)
}

// factorPosterior is the factor of posterior.
func (o *dataHessian) factorPosterior(weights []float64) *mat.Cholesky {
	return factored(o.posterior(weights, 1e-6*o.kernel.At(0, 0)), "give Noise, or take a wider kernel of the norm",
		"the matrix of the second derivatives by a momentum")
}
