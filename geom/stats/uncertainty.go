package stats

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/framebundle"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// Uncertainty describes how far the Fréchet mean y of samples is from that of the population they were drawn from: Log_y of the latter is about
// normal, with mean 0 and a covariance of the variances along the modes. Without RelativeNoise, modes are orthonormal and lengths are measured in the
// metric at y. With RelativeNoise both are those of the coordinates, because the noise is in coordinates.
type Uncertainty[P geom.Point] struct {
	Point         P         // y
	Modes         []P       // u_k, orthonormal tangent vectors at y
	Covectors     []P       // u_k♭: the component of a vector v at y along mode k is their product, the sum over all coordinates
	Variances     []float64 // along the modes, in the unit of lengths squared, the largest first; those below 1e-12 of the largest are left out
	StandardError float64   // √Σ Variances, the root of the expected ‖Log_y‖²
	Size          float64   // 1/Σ w_i², for equal weights the number of samples
	Stiffness     []float64 // the eigenvalues of H, above 0 at a minimum; without RelativeNoise 1 in flat space and more where curvature is negative
}

// MeanUncertainty returns the covariance of a Fréchet mean y by the central limit theorem,
//
//	H⁻¹ S H⁻¹,  S = Σ w_i² p_i p_iᵀ/(1 − 2w_i + Σ_j w_j²),  H = Σ w_i Hess_y ½ d(y, x_i)²,
//
// where p_i are the momenta of the logarithms of the samples x_i (Bhattacharya and Patrangenaru, Ann. Statist. 33, 2005). In flat space and without
// RelativeNoise H = 1, and for equal weights this is the covariance of the logarithms divided by N. For any weights S is unbiased there if the samples
// have one covariance: for independent x_i of variance 1, p_i = x_i − Σ_j w_j x_j has the variance 1 − 2w_i + Σ_j w_j². With RelativeNoise, H is the mean
// Hessian of ½ d_σ².
//
// Where the curvature is positive, H < 1, and the mean is less certain than the logarithms alone say. If H is singular, the mean
// is no longer normally distributed ("smeary"). If it is nearly so, small changes of the mean change the covariance much.
// Where points are more than about a right angle from their mean, as on a sphere with standard deviations of 1.3, the covariance is much too small.
//
// m is the result of FrechetMean on the same space. Its weights count as known numbers, not as numbers of repeated samples.
//
// It is an error if the mean has not converged, if there are fewer than 2 samples, if the space's Context ends
// before all Hessians are known, or if the sum of squared distances does not grow in some direction, to second order: then y is no
// local minimum.
//
// # Algorithm
//
// The Hessians are ∂p(1)/∂q(1) of geodesics from the samples to y. They come from differences of 2d geodesics per sample, with a
// relative error of about 1e-6.
func MeanUncertainty[P geom.Point](on geom.Of[P], m *Mean[P]) (_ *Uncertainty[P], err error) {
	s := on.Geometry()
	r := newRun("uncertainty of a mean", s, 0)
	defer r.end(&err)
	try.FailIf(m == nil || len(m.Momenta) < 2 || len(m.Weights) != len(m.Momenta),
		"want a mean of at least 2 samples with their momenta, as FrechetMean returns it")
	try.FailIf(m.Status != geom.Converged, "the mean is %s, want one that has converged", m.Status)
	square := try.Get(squares(m.Weights))
	y, d := shape.Flat(m.Point), s.M.Dim()
	basis, flat := basisFor(r, y, m.RelativeNoise > 0)
	momenta := shape.FlatAll(m.Momenta)
	a, pull, largest := scatter(momenta, m.Weights, square, basis)
	try.FailIf(largest == 0, "all samples are at the mean")
	if balance := mat.Norm(pull, 2) / mat.Norm(a, 2); !(balance < 0.1) {
		return nil, fmt.Errorf("the logarithms have a mean of %.2g standard errors, want 0: the Tolerance of the mean was too large, or these are not the samples or weights of the mean", balance)
	}
	symmetric, off := r.meanHessian(y, momenta, m.Weights, basis, 1e-4*largest, m.RelativeNoise)
	var eigen mat.EigenSym
	try.FailIf(!eigen.Factorize(symmetric, false), "the Hessian of the sum of squared distances has no eigenvalues in double precision")
	u := &Uncertainty[P]{Point: m.Point, Size: 1 / square, Stiffness: eigen.Values(nil)}
	if least, most := u.Stiffness[0], u.Stiffness[d-1]; !(least > 1e-5*most) {
		return nil, fmt.Errorf("the sum of squared distances does not grow in every direction, its Hessian has the eigenvalue %.2g: the point is no local minimum, or the samples reach their cut loci", least)
	} else if off > 1e-3*most {
		return nil, fmt.Errorf("the Hessian of the sum of squared distances is symmetric to %.2g of it alone: take more steps (geom.Integrator)", off/most)
	}
	var inverse mat.Cholesky
	var root mat.Dense
	try.FailIf(!inverse.Factorize(symmetric) || inverse.SolveTo(&root, a) != nil,
		"the Hessian of the sum of squared distances has no inverse in double precision")
	variances, modes, ok := dense.Eigen(dense.Gram(&root)) // H⁻¹ A (H⁻¹ A)ᵀ
	try.FailIf(!ok, "the covariance has no eigenvalues in double precision")
	for k := d - 1; k >= 0 && len(u.Modes) < len(momenta)-1 && variances[k] > 1e-12*variances[d-1]; k-- { // ascending
		c := mat.Col(nil, k, modes)
		mode := lists.Combine(c, basis)
		floats.Scale(signOf(mode), c)
		u.Modes, u.Covectors = append(u.Modes, s.Point(lists.Combine(c, basis))), append(u.Covectors, s.Point(lists.Combine(c, flat)))
		u.Variances = append(u.Variances, variances[k])
		u.StandardError += variances[k]
	}
	u.StandardError = math.Sqrt(u.StandardError)
	return u, nil
}

// scatter returns the root A of S = A Aᵀ, with a column a sample of weight, of momenta in a basis, their weighted sum and their largest number.
func scatter(momenta [][]float64, weights []float64, square float64, basis [][]float64) (a *mat.Dense, sum *mat.VecDense, largest float64) {
	a, sum = mat.NewDense(len(basis), len(momenta), nil), mat.NewVecDense(len(basis), nil)
	for i, p := range momenta {
		w := weights[i]
		if w == 0 {
			continue
		}
		for k, e := range basis {
			along := w * floats.Dot(e, p)
			sum.SetVec(k, sum.AtVec(k)+along)
			a.Set(k, i, along/math.Sqrt(1-2*w+square))
		}
		largest = max(largest, floats.Norm(p, math.Inf(1)))
	}
	return a, sum, largest
}

// meanHessian returns Σ w_i H_i of the samples with these momenta, in a basis at y, and by how much the sum is not symmetric: the Hessian of each sample is
// symmetric but for a term with the momentum, and those balance.
func (r *run) meanHessian(y []float64, momenta [][]float64, w []float64, basis [][]float64, step, sigma float64) (symmetric *mat.SymDense, off float64) {
	d := len(basis)
	hessian := mat.NewDense(d, d, nil)
	for i, p := range momenta {
		if w[i] == 0 {
			continue
		}
		try.FailIf(r.Stopped(), "interrupted at sample %d of %d", i, len(momenta))
		h, err := r.hessian(y, p, basis, step, sigma)
		try.Do(try.Name(err, "sample %d", i))
		h.Scale(w[i], h)
		hessian.Add(hessian, h)
	}
	var skew mat.Dense
	skew.Sub(hessian, hessian.T())
	return dense.Symmetric(hessian), mat.Max(&skew)
}

// Radii returns the half axes, along the modes, of the ellipsoid of tangent vectors that holds Log_y of the population's mean with a probability,
// such as 0.95: √Variances_k times the Factor of all dimensions. There is one number per dimension; those after the last mode are 0. There must be
// more samples than dimensions.
func (u *Uncertainty[P]) Radii(probability float64) ([]float64, error) {
	solve.NotNil(u)
	factor, err := u.Factor(probability, len(u.Stiffness))
	if err != nil {
		return nil, err
	}
	radii := make([]float64, len(u.Stiffness))
	for k, v := range u.Variances { // along the others the samples do not vary
		radii[k] = factor * math.Sqrt(v)
	}
	return radii, nil
}

// Factor returns the half axes, in standard deviations, of the confidence ellipsoid of d components of the mean, with a probability such as
// 0.95: Hotelling's √(d(N − 1)/(N − d) · F), with the quantile F of the F distribution with d and N − d degrees of freedom and Size as N.
// For the confidence region of one landmark, d = 2 or 3, multiply the standard deviations of its block of Covariance by it. There must be
// more samples than components.
func (u *Uncertainty[P]) Factor(probability float64, d int) (float64, error) {
	solve.NotNil(u)
	if !(probability > 0 && probability < 1) {
		return 0, fmt.Errorf("uncertainty of a mean: probability %g, want more than 0 and less than 1", probability)
	}
	if d < 1 || d > len(u.Stiffness) || !(u.Size > float64(d)) {
		return 0, fmt.Errorf("uncertainty of a mean: a region of %d components, want 1 to %d and fewer than samples, of which there are %.4g", d, len(u.Stiffness), u.Size)
	}
	k := float64(d)
	return math.Sqrt(k * (u.Size - 1) / (u.Size - k) * distuv.F{D1: k, D2: u.Size - k}.Quantile(probability)), nil
}

// Covariance returns Σ_k Variances_k u_k u_kᵀ, [n][n], for points of n numbers: coordinates or ambient vectors, the rows of shapes one
// after the other.
func (u *Uncertainty[P]) Covariance() [][]float64 {
	solve.NotNil(u)
	frame := shape.FlatAll(u.Modes)
	for k, v := range frame {
		frame[k] = floats.ScaleTo(make([]float64, len(v)), math.Sqrt(u.Variances[k]), v)
	}
	return framebundle.At(shape.Flat(u.Point), frame...).Covariance()
}

// String says what the uncertainty is in one line.
func (u *Uncertainty[P]) String() string {
	return fmt.Sprintf("mean of %.4g samples, standard error %.4g along %d modes", u.Size, u.StandardError, len(u.Modes))
}

// basisFor returns an orthonormal basis of the tangent space at y, and the covectors that take components along it: in the metric, or
// that of the coordinates.
func basisFor(r *run, y []float64, coordinates bool) (basis, flat [][]float64) {
	if coordinates {
		unit := make([][]float64, len(y))
		for k := range unit {
			unit[k] = make([]float64, len(y))
			unit[k][k] = 1
		}
		return unit, unit
	}
	out := try.Get(r.space.Call(key("basis"), func(in []*graph.Node) []*graph.Node {
		at := geom.At(r.space.M, in[0])
		e := linalg.T(geom.Orthonormal(at.Manifold, at.X))
		x := graph.BroadcastPrefix(at.X, e.Shape().Dim(0))
		return []*graph.Node{at.Leave(geom.Vector, e), at.Leave(geom.Covector, geom.Flat(at.Manifold, x, e))}
	}, y))
	basis, flat = out.Matrix(0), out.Matrix(1)
	for k := range basis {
		try.FailIf(!lists.Finite(floats.Sum(basis[k])) || !lists.Finite(floats.Sum(flat[k])),
			"the metric at the mean is singular: take a mean with RelativeNoise")
	}
	return basis, flat
}

// hessian is Hess ½ d(·, x)² at y in a basis, [d, d], for the geodesic from y with the momentum p to x, but for the term Γ(p), which
// balances among the samples of a mean. Geodesics from x whose momenta differ by a step end around y, with momenta that are the
// gradients of ½ d(·, x)² there. With a mismatch σ the momenta π move the starts of geodesics, too, to x + σ² π.
func (r *run) hessian(y, p []float64, basis [][]float64, step, sigma float64) (*mat.Dense, error) {
	s := r.space
	d := s.M.Dim()
	out, err := s.Call(shooting("Hessian of a distance", s), func(in []*graph.Node) []*graph.Node {
		y, p, basis, step, variance := in[0], in[1], in[2], in[3], in[4]
		flow := func(z, p *graph.Node) ode.State {
			return geom.Flow(s.M, geom.Geodesics, s.Method(), s.Steps(), ode.State{z, p}, geom.Covector)
		}
		each := func(v *graph.Node) *graph.Node { return graph.BroadcastPrefix(v, 2*d) }
		x := flow(y, p)
		change := graph.Mul(linalg.Eye(y.Graph(), y.DType(), d), step)
		change = geom.At(s.M, x[0]).Leave(geom.Covector, graph.Concatenate([]*graph.Node{change, graph.Neg(change)}, 0))
		start := each(x[0])
		if !geom.IsCharted(s.M) {
			start = graph.Add(start, graph.Mul(change, variance))
		}
		end := flow(start, graph.Sub(change, each(x[1])))
		at := geom.At(s.M, each(y))
		q := at.Coordinates(end[0])
		// By the chart at the end, which may be another configuration of its orbit than the one that the chart at y has.
		there, from := geom.At(s.M, end[0]), graph.Identity(q)
		gradient := autodiff.Pullback([]*graph.Node{there.Coordinates(at.Point(from))},
			[]*graph.Node{there.Enter(geom.Covector, end[1])}, []*graph.Node{from})[0]
		difference := func(v *graph.Node) *graph.Node {
			return graph.Sub(graph.SliceAxis(v, 0, graph.AxisRange(0, d)), graph.SliceAxis(v, 0, graph.AxisRange(d, 2*d)))
		}
		return []*graph.Node{difference(q), difference(gradient), geom.At(s.M, y).Enter(geom.Vector, basis)}
	}, y, p, basis, step, sigma*sigma)
	if err != nil {
		return nil, err
	}
	moves, gradients, e := mat.NewDense(d, d, out.Flat(0)), mat.NewDense(d, d, out.Flat(1)), mat.NewDense(d, d, out.Flat(2))
	if !lists.Finite(mat.Sum(moves)) || !lists.Finite(mat.Sum(gradients)) {
		return nil, fmt.Errorf("geodesics from it to the mean diverge, or leave the chart: take more steps (geom.Integrator)")
	}
	var h, product, result mat.Dense
	if err := h.Solve(moves, gradients); err != nil {
		return nil, fmt.Errorf("the mean is at a conjugate point of it, or nearly so (%w): its distance has no second derivative there", err)
	}
	product.Mul(e, &h)
	result.Mul(&product, e.T())
	return &result, nil
}
