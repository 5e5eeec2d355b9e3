package population

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/engine"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/landmarks/surfaces/mesh"
)

// stiffness is the inverse of a model of the second derivatives of the objective by the field a of a hypertemplate and the coefficients m_k.
// With y_i = a + Σ_k design_ik m_k and small ε, the objective changes by
//
//	½ Σ_i y_iᵀ H_i y_i + ½ Σ_k m_kᵀ K m_k + ½ ε aᵀ K a,   H_i = Jᵀ S_i J,
//
// for the kernel matrix J between the vertices of the first template and the control points, and S_i of resistances. The coefficients are those of
// an atlas, each of one subject, or the one of a regression: they are eliminated one by one.
type stiffness struct {
	sigma        []float64     // of the data terms
	coefficients []*eliminated // one for all of an atlas whose H_i are the same
	template     *mat.Cholesky // of εK + Σ_i H_i − Σ_k B_k (K + Σ_i design_ik² H_i)⁻¹ B_k
}

// eliminated is a coefficient m_k.
type eliminated struct {
	factor   mat.Cholesky  // of K + Σ_i design_ik² H_i
	coupling *mat.SymDense // B_k = Σ_i design_ik H_i
	taken    mat.SymDense  // −B_k (K + Σ_i design_ik² H_i)⁻¹ B_k, while it is wanted
}

// maxStiff is the largest dimension of a momentum of which a stiffness is computed: beyond it, steps are those of precondition. maxApart is the
// largest square of it, times the number of subjects, where each subject has its own H_i: beyond it, all have the mean.
const maxStiff, maxApart = 3000, 5e7

// stiffens says whether steps are those of a stiffness.
func (f *fit) stiffens() bool { return f.Hypertemplate && f.Space.Manifold.Dim() <= maxStiff }

// stiffen computes the stiffness of a hypertemplate from the resistance of each subject, or one for all.
func (f *fit) stiffen(resistance [][]*mat.SymDense) {
	const free = 0.01 // ε
	size, s := f.Space.Manifold.Dim(), &stiffness{sigma: slices.Clone(f.sigma)}
	held := lists.Each(resistance, f.held) // H_i
	kernel := ridged(f.kernelMatrix(0), 0.1*f.ridge)
	rest := mat.NewSymDense(size, nil)
	rest.ScaleSym(free, kernel)
	sum := func(of *mat.SymDense, weight func(row []float64) float64) {
		apart := make([]float64, len(held))
		for i, row := range f.design {
			apart[min(i, len(held)-1)] += weight(row)
		}
		for i, w := range apart {
			if w != 0 {
				var h mat.SymDense
				h.ScaleSym(w, held[i])
				of.AddSym(of, &h)
			}
		}
	}
	sum(rest, func([]float64) float64 { return 1 })
	for k := range f.design[0] {
		if k > 0 && len(held) == 1 { // an atlas whose subjects resist alike
			rest.AddSym(rest, &s.coefficients[0].taken)
			s.coefficients = append(s.coefficients, s.coefficients[0])
			continue
		}
		e, own := &eliminated{coupling: mat.NewSymDense(size, nil)}, mat.NewSymDense(size, nil)
		own.CopySym(kernel)
		sum(own, func(row []float64) float64 { return row[k] * row[k] })
		sum(e.coupling, func(row []float64) float64 { return row[k] })
		if !e.factor.Factorize(own) {
			return // steps are those of precondition
		}
		var lower mat.TriDense
		var half mat.Dense // of B_k (K + …)⁻¹ B_k
		e.factor.LTo(&lower)
		try.Do(conditioned(half.Solve(&lower, e.coupling)))
		e.taken.SymOuterK(-1, half.T())
		rest.AddSym(rest, &e.taken)
		if len(held) > 1 {
			e.taken.Reset()
		}
		s.coefficients = append(s.coefficients, e)
	}
	s.template = &mat.Cholesky{}
	if s.template.Factorize(rest) {
		f.stiff = s
	}
}

// kernelMatrix is that of the control points for all coordinates, with rows of zeros for other parameters.
func (f *fit) kernelMatrix(others int) *mat.SymDense {
	size := f.Space.Manifold.Dim()
	out := mat.NewSymDense(size+others, nil)
	out.SliceSym(0, size).(*mat.SymDense).CopySym(dense.Symmetric(f.everyCoordinate(f.gram)))
	return out
}

// everyCoordinate is a matrix of points for all coordinates, each alike: its product of Kronecker with the unit matrix.
func (f *fit) everyCoordinate(k mat.Matrix) *mat.Dense {
	out := new(mat.Dense)
	out.Kronecker(k, dense.Rows(lists.Identity(f.Space.Manifold.D)))
	return out
}

// kernelBetween is the kernel matrix between points and the control points, [points, n].
func (f *fit) kernelBetween(points [][]float64) *mat.Dense {
	n := len(f.controls)
	return mat.NewDense(len(points), n, try.Get(f.kernelSums.Call(points, f.controls, lists.Identity(n))).Flat(0))
}

// held returns H = Jᵀ S J for the blocks of S.
func (f *fit) held(blocks []*mat.SymDense) *mat.SymDense {
	d, n := f.Space.Manifold.D, len(f.controls)
	j := f.kernelBetween(mesh.Vertices(f.start))
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

// resistances returns the blocks S_iv of each subject: how its data term at an evaluation resists a displacement of the deformed template that
// is the same in the neighbourhood of vertex v. They are the changes of the derivatives by v, on average over some neighbours, without
// what is negative of them. A template that is one of the subjects is held by it in all directions, while others hold it along its normals only.
// If there are too many subjects, it is the mean of all.
func (f *fit) resistances(e *evaluation) [][]*mat.SymDense {
	const averages = 2
	d := f.Space.Manifold.D
	step := 0.1 * f.spacing()
	sums := make([][]float64, len(f.design)) // of S_iv by vertices, rows and columns
	for _, c := range f.chunks {
		for a := range d {
			for _, side := range []float64{-step, step} {
				moved := make([][][]float64, c.size)
				for b := range moved {
					for _, x := range e.deformed[c.subjects[min(b, len(c.subjects)-1)]] {
						y := slices.Clone(x)
						y[a] += side
						moved[b] = append(moved[b], y)
					}
				}
				pulls := engine.Unflatten(try.Get(f.endPulls.Call(c.after(moved, f.precision())...)).Flat(0), len(e.x[:f.blocks()[0][1]]))
				for b, i := range c.subjects {
					if sums[i] == nil {
						sums[i] = make([]float64, d*len(pulls[b]))
					}
					for v, g := range pulls[b] {
						sums[i][v/d*d*d+a*d+v%d] += g / (2 * side)
					}
				}
			}
		}
	}
	if size := float64(f.Space.Manifold.Dim()); float64(len(sums))*size*size > maxApart {
		sums = [][]float64{lists.Mean(sums)}
	}
	var out [][]*mat.SymDense
	for _, s := range sums {
		for range averages {
			s = f.averaged(s)
		}
		out = append(out, f.blocksOf(s))
	}
	return out
}

// selfResistance is that of subjects which are the first template.
func (f *fit) selfResistance() [][]*mat.SymDense {
	z, d, step := mesh.Vertices(f.start), f.Space.Manifold.D, 1e-5*f.spacing()
	shifts := make([][][]float64, d)
	for a := range shifts {
		row := make([]float64, d)
		row[a] = step
		shifts[a] = slices.Repeat([][]float64{row}, len(z))
	}
	sums := make([]float64, len(z)*d*d)
	for a, column := range engine.Unflatten(try.Get(f.dataGradient.Call(z, shifts)).Flat(0), len(z)*d) {
		for o, c := range f.precision() {
			floats.Scale(2*c/step, f.part(column, o))
		}
		for v, g := range column {
			sums[v/d*d*d+a*d+v%d] = g
		}
	}
	return [][]*mat.SymDense{f.blocksOf(sums)}
}

// averaged are numbers of vertices, on average over the cells at each and the vertices of these.
func (f *fit) averaged(numbers []float64) []float64 {
	size := len(numbers) / f.ends[len(f.ends)-1]
	out, from := make([]float64, len(numbers)), 0
	for _, t := range f.start {
		counts := make([]float64, len(t.Vertices))
		row := func(x []float64, v int) []float64 { return x[(from+v)*size : (from+v+1)*size] }
		for _, c := range t.Cells {
			mean := make([]float64, size)
			for _, v := range c {
				floats.AddScaled(mean, 1/float64(len(c)), row(numbers, v))
			}
			for _, v := range c {
				floats.Add(row(out, v), mean)
				counts[v]++
			}
		}
		for v, n := range counts {
			floats.Scale(1/math.Max(1, n), row(out, v))
		}
		from += len(t.Vertices)
	}
	return out
}

// blocksOf are the blocks with these numbers, [vertices][D][D], symmetric and without what is negative of them.
func (f *fit) blocksOf(numbers []float64) (blocks []*mat.SymDense) {
	d := f.Space.Manifold.D
	for row := range slices.Chunk(numbers, d*d) {
		values, vectors := eigen(dense.Symmetric(mat.NewDense(d, d, row)))
		b := mat.NewSymDense(d, nil)
		for k, l := range values {
			b.SymRankOne(b, math.Max(0, l), vectors.ColView(k))
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// byField returns the derivatives by the field a of a hypertemplate, Jᵀ g, from those by its vertices.
func (f *fit) byField(g []float64) []float64 {
	return try.Get(f.kernelSums.Call(f.controls, mesh.Vertices(f.start), engine.Unflatten(g, f.Space.Manifold.D))).Flat(0)
}

// solveStiff takes a gradient to a step by the stiffness.
func (f *fit) solveStiff(g []float64) []float64 {
	at, size, s := f.blocks(), f.Space.Manifold.Dim(), f.stiff
	solve := func(factor *mat.Cholesky, x *mat.VecDense) {
		to := mat.NewDense(size, 1, x.RawVector().Data)
		solveTo(factor, to, to)
	}
	byField := mat.NewVecDense(size, slices.Clone(f.byField(g[:at[0][1]])))
	coefficients := mat.NewDense(len(s.coefficients), size, slices.Clone(g[at[1][0]:at[1][1]]))
	var product mat.VecDense
	for k, e := range s.coefficients {
		row := mat.NewVecDense(size, coefficients.RawRowView(k))
		solve(&e.factor, row)
		product.MulVec(e.coupling, row)
		byField.SubVec(byField, &product)
	}
	solve(s.template, byField)
	for k, e := range s.coefficients {
		product.MulVec(e.coupling, byField)
		solve(&e.factor, &product)
		row := mat.NewVecDense(size, coefficients.RawRowView(k))
		row.SubVec(row, &product)
	}
	moved := try.Get(f.kernelSums.Call(mesh.Vertices(f.start), f.controls, engine.Unflatten(byField.RawVector().Data, f.Space.Manifold.D)))
	step := slices.Concat(moved.Flat(0), coefficients.RawMatrix().Data, g[at[2][0]:])
	floats.Scale(f.scale[len(f.scale)-1], step[at[2][0]:])
	return step
}
