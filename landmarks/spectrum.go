package landmarks

import (
	"errors"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/linalg"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks/internal/pointset"
)

// spectrum is the kernel matrix K(x_i, x_j) of landmarks as Σ_k λ_k u_k u_kᵀ plus rest times the projection orthogonal to the u_k. For
// few landmarks it has all eigenvectors; for many it is the Nyström approximation from some landmarks, spread over the shape.
type spectrum struct {
	n, d   int
	lambda []float64
	u      *mat.Dense // [n, r], orthonormal columns
	rest   float64
	unit   float64 // K(x, x), without the part of fields that are nearly free
	top    float64 // the largest λ_k, without those of these fields
}

const (
	pivots  = 400
	columns = 40_000_000 // a limit on the numbers in the columns of the pivots
	cut     = 1e-6       // smaller eigenvalues, as a share of the largest, are left out
	// stiff times K(x, x) is added to the kernel matrix in the preconditioner: eigenvectors with smaller eigenvalues count as equally
	// stiff.
	stiff = 0.1
)

func (s *Space) newSpectrum(q []float64) (*spectrum, error) {
	m := s.Manifold
	x := s.FromFlat(q)
	chosen := pointset.Spread(x, min(m.N, pivots, columns/m.N))
	out, err := s.call("columns of the kernel matrix", func(in []*Node) []*Node {
		each := ExpandAxes(in[0], 1)
		return []*Node{m.Kernel.Gram(in[0], in[1]), Reshape(m.Kernel.Gram(each, each), m.N)}
	}, x, lists.Pick(x, chosen))
	if err != nil {
		return nil, err
	}
	r := len(chosen)
	c, diagonal := mat.NewDense(m.N, r, out.Flat(0)), out.Vector(1)
	w := mat.NewSymDense(r, nil)
	for k, i := range chosen {
		for l := k; l < r; l++ {
			w.SetSym(k, l, c.At(i, l))
		}
		w.SetSym(k, k, c.At(i, k)*(1+2e-9))
	}
	var chol mat.Cholesky
	if !chol.Factorize(w) {
		return nil, errors.New("the kernel matrix of the landmarks is not positive definite: take a narrower kernel, or remove landmarks that nearly coincide")
	}
	var upper mat.TriDense
	chol.UTo(&upper)
	unit, free := w.At(0, 0), 0
	if kernel, ok := m.Kernel.(kernels.NearlyFree); ok && r > kernel.Free() && kernel.Free() > 0 {
		unit, free = 0, kernel.Free()
		for k := free; k < r; k++ { // what as many pivots leave of K(x, x)
			unit = max(unit, upper.At(k, k)*upper.At(k, k))
		}
	}
	// Late pivots lie between many others: up to rounding, their columns may depend linearly on earlier columns.
	last := r
	for last > 1 && upper.At(last-1, last-1)*upper.At(last-1, last-1) < 1e-8*unit {
		last--
	}
	if r = last; r < len(chosen) {
		upper = *upper.SliceTri(0, r).(*mat.TriDense)
		c = c.Slice(0, m.N, 0, r).(*mat.Dense)
	}
	var a mat.Dense // K ≈ a aᵀ, a = C U⁻¹
	if err := upper.SolveTo(&a, true, c.T()); err != nil && !errors.As(err, new(mat.Condition)) {
		return nil, err
	}
	rest := 0.0 // the largest error of the approximation on the diagonal
	for i := range m.N {
		left := diagonal[i]
		for k := range r {
			left -= a.At(k, i) * a.At(k, i)
		}
		rest = max(rest, left)
	}
	all, v, ok := dense.Eigen(dense.Gram(&a))
	if !ok {
		return nil, errors.New("the eigenvalues of the kernel matrix were not found")
	}
	var u mat.Dense
	first := 0 // in rising order
	top := all[max(0, r-1-free)]
	for first < r && all[first] < cut*top {
		first++
	}
	u.Mul(a.T(), v.Slice(0, r, first, r))
	for k, l := range all[first:] {
		column := u.ColView(k).(*mat.VecDense)
		column.ScaleVec(1/math.Sqrt(l), column)
	}
	return &spectrum{m.N, m.D, all[first:], &u, rest, unit, top}, nil
}

// apply returns f(K) g for momenta or velocities g, [N·D].
func (k *spectrum) apply(f func(lambda float64) float64, g []float64) []float64 {
	in := mat.NewDense(k.n, k.d, append([]float64{}, g...))
	var parts, out mat.Dense
	parts.Mul(k.u.T(), in)
	outside := f(k.rest)
	for i, l := range k.lambda {
		row := parts.RawRowView(i)
		for a := range row {
			row[a] *= f(l) - outside
		}
	}
	out.Mul(k.u, &parts)
	in.Scale(outside, in)
	out.Add(&out, in)
	return out.RawMatrix().Data
}

// solve returns (K + stiff·unit)⁻¹ g: it takes the derivative g with respect to the momenta to a gradient in the metric of the kernel.
func (k *spectrum) solve(g []float64) ([]float64, error) {
	return k.apply(func(l float64) float64 { return 1 / (l + stiff*k.unit) }, g), nil
}

// stiffness returns β for which K + β K² approximates the second derivative of the objective of Match with respect to the momenta.
// It compares the gradient g of the objective at p with that after a step along (K + stiff·unit)⁻¹ g, which is short for points of
// the given size.
func (k *spectrum) stiffness(value func(p []float64) (float64, []float64, error), p []float64, size float64) (_ float64, err error) {
	defer try.Catch(&err)
	_, g := try.Get2(value(p))
	way := try.Get(k.solve(g))
	v := k.apply(func(l float64) float64 { return l }, way)
	length := floats.Norm(v, math.Inf(1))
	if length == 0 {
		return 0, nil
	}
	step := 1e-5 * size / length
	if size == 0 { // of a single point, whose way is straight
		step = 1e-5
	}
	_, after := try.Get2(value(floats.AddScaledTo(make([]float64, len(p)), p, step, way)))
	bend := (floats.Dot(way, after) - floats.Dot(way, g)) / step
	return max(0, (bend-floats.Dot(way, v))/floats.Dot(v, v)), nil
}

// gain returns gᵀ (K + β K²)⁻¹ g, twice what a step lowers an objective with the stiffness β and the derivative g with respect to the
// momenta.
func (k *spectrum) gain(g []float64, stiffness float64) float64 {
	least := cut * k.top // smaller ones are not known
	return floats.Dot(g, k.apply(func(l float64) float64 {
		l = max(l, least)
		return 1 / (l + stiffness*l*l)
	}, g))
}

// inputs are the arguments of nearlySolve.
func (k *spectrum) inputs() []any {
	return []any{lists.Make(k.n, k.u.RawRowView), k.lambda, k.rest}
}

// nearlySolve solves Σ_j K(x_i, x_j) p_j + μ p_i = v_i by at most 200 steps of conjugate gradients, to a relative residual of 1e-4,
// with the spectrum of K as a preconditioner.
func (m Manifold) nearlySolve(q, v, mu *Node, spectrum []*Node) *Node {
	u, inside, outside := spectrum[0], Inverse(Add(spectrum[1], mu)), Inverse(Add(spectrum[2], mu))
	more := ExpandAxes(Sub(inside, outside), -1)
	p, _ := linalg.PCG(m.regular(q, mu), func(r *Node) *Node {
		x := m.points(r)
		return linalg.Vectors(Add(Mul(outside, x), Einsum("ik,ka->ia", u, Mul(more, Einsum("ik,ia->ka", u, x)))))
	}, v, 1e-4, 200)
	return p
}
