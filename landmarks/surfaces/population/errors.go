package population

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/landmarks/surfaces/mesh"
)

// prior is a Gaussian process of displacements u of the template, whose covariance is the kernel of the deformations for another width.
type prior struct {
	vertices  *mat.Dense // covariances of the places of thinned vertices, [Z, Z], of each coordinate
	marks     *mat.Dense // of landmarks, [L, L]
	crossing  *mat.Dense // of vertices with landmarks, [Z, L]
	share     float64    // its posterior probability
	variance  float64    // the factor of the covariance, over ρ²
	noise     float64    // that of the covariance of noise
	logarithm float64    // of the marginal likelihood
}

// errors is the covariance Σ of Model.Landmarks of the errors of all landmarks in a match, over ρ²: [L·D, L·D].
func (c *carrier) errors(reach float64) *mat.Dense {
	points, pulls := c.thinned()
	return c.errorsOf(pulls, c.priors(points, pulls, reach))
}

// errorsOf is errors for displacements of a mixture of processes.
func (c *carrier) errorsOf(pulls *mat.Dense, mixture []prior) *mat.Dense {
	held := c.solve(c.reach)
	var taken, out mat.Dense
	taken.Mul(pulls, held) // (R P⁻¹ Jᵀ W)ᵀ
	out.Product(held.T(), c.hessian.weighted(c.weights()), held)
	factor := 0.0
	for _, p := range mixture {
		factor += p.share * p.noise
	}
	out.Scale(factor, &out)
	for _, p := range mixture {
		out.Add(&out, p.missed(&taken, len(c.marks), c.Space.Manifold.D))
	}
	return &out
}

// missed is the share of a prior in the covariance of u(y) − takenᵀ u.
func (p *prior) missed(taken *mat.Dense, count, d int) *mat.Dense {
	out := mat.NewDense(count*d, count*d, nil)
	for a := range d { // coordinates of u are independent
		own := every(taken, a, d)
		var reached, both mat.Dense
		reached.Mul(p.crossing.T(), own) // [L, L·D]
		both.Product(own.T(), p.vertices, own)
		out.Add(out, &both)
		for l := range count {
			for k := range count * d {
				out.Set(l*d+a, k, out.At(l*d+a, k)-reached.At(l, k))
				out.Set(k, l*d+a, out.At(k, l*d+a)-reached.At(l, k))
			}
			for m := range count {
				out.Set(l*d+a, m*d+a, out.At(l*d+a, m*d+a)+p.marks.At(l, m))
			}
		}
	}
	out.Scale(p.share*p.variance, out)
	return out
}

// every returns the rows a, a + d, a + 2d, … of a matrix.
func every(m *mat.Dense, a, d int) *mat.Dense {
	rows, columns := m.Dims()
	out := mat.NewDense(rows/d, columns, nil)
	for i := range rows / d {
		out.SetRow(i, m.RawRowView(i*d+a))
	}
	return out
}

// thinned returns W J, [Z·D, size], with the vertices in one cell of a grid taken together at their mean: so many that there are at most a thousand.
func (c *carrier) thinned() (points [][]float64, pulls *mat.Dense) {
	const most = 1000
	d, size := c.Space.Manifold.D, c.hessian.pulls.RawMatrix().Cols
	side := c.spacing() / 8
	of, points := mesh.Boxes(c.vertices, side)
	for len(points) > most {
		side *= 1.25
		of, points = mesh.Boxes(c.vertices, side)
	}
	pulls = mat.NewDense(len(points)*d, size, nil)
	weights, object := c.weights(), 0
	for v, z := range of {
		for v >= c.fit.ends[object] {
			object++
		}
		for a := range d {
			floats.AddScaled(pulls.RawRowView(z*d+a), weights[object], c.hessian.pulls.RawRowView(v*d+a))
		}
	}
	return points, pulls
}

// priors returns the processes with their shares.
//
// The directions φ of momenta with Jᵀ W J φ = λ K φ, where the similarity is eliminated, are independent in a match: of what it finds along φ, λ/(1 + λ) is
// what the data say, and those with a share of a tenth at least are taken. Data along φ are ℓᵀu with ℓ = W J φ/λ, and a noise of variance τρ²/λ. τ is 1 if
// noise is as large along these smooth φ as in all residuals, which ρ² and w are from; that of other triangles may be smaller. The marginal likelihood over all
// subjects is maximised over τ and the variance of u for every width, with the prior of τ that one more subject with τ = 1 would give (unit information: Kass
// and Wasserman, J. Am. Stat. Assoc. 90, 1995). The widths are alike before the data.
func (c *carrier) priors(points [][]float64, pulls *mat.Dense, reach float64) []prior {
	const least = 0.1
	data, functionals := c.observed(pulls, reach, least)
	d := c.Space.Manifold.D
	var out []prior
	top := math.Inf(-1)
	for step := -4; step <= 4; step++ {
		p := c.prior(points, math.Pow(2, float64(step)/4))
		if data != nil {
			n, observed := data.Dims()
			signal := mat.NewDense(observed, observed, nil)
			for a := range d {
				own := every(functionals, a, d)
				var part mat.Dense
				part.Product(own.T(), p.vertices, own)
				signal.Add(signal, &part)
			}
			signals, axes := eigen(dense.Symmetric(signal))
			var along mat.Dense
			along.Mul(data, axes)
			squares := make([]float64, observed)
			for i := range n {
				for j, t := range along.RawRowView(i) {
					squares[j] += t * t
				}
			}
			p.variance, p.noise, p.logarithm = likeliest(signals, squares, float64(n))
		}
		top = math.Max(top, p.logarithm)
		out = append(out, p)
	}
	total := 0.0
	for k := range out {
		out[k].share = math.Exp(out[k].logarithm - top)
		total += out[k].share
	}
	for k := range out {
		out[k].share /= total
	}
	return out
}

// prior is the process of the kernel of the deformations with so many times its width, and of variance 1.
func (c *carrier) prior(points [][]float64, wider float64) prior {
	var at [][]float64
	for _, x := range slices.Concat(points, c.marks) {
		at = append(at, floats.ScaleTo(make([]float64, len(x)), 1/wider, x))
	}
	z, all := len(points), len(at)
	between := mat.NewDense(all, all, try.Get(c.gramOf.Call(at)).Flat(0))
	part := func(i, k, j, l int) *mat.Dense { return between.Slice(i, k, j, l).(*mat.Dense) }
	return prior{vertices: part(0, z, 0, z), marks: part(z, all, z, all), crossing: part(0, z, z, all), share: 1, variance: 1, noise: 1}
}

// observed returns the data of all subjects over ρ and the standard deviation of their noise, [subjects, observed], and the functionals ℓ in this
// unit, [Z·D, observed].
func (c *carrier) observed(pulls *mat.Dense, reach, least float64) (data, functionals *mat.Dense) {
	size, m := c.hessian.kernel.SymmetricDim(), len(c.controls)*c.Space.Manifold.D
	weighted := c.hessian.weighted(c.weights())
	hessian := mat.DenseCopyOf(weighted)
	// The similarity that makes up for a momentum p is −H_θθ⁻¹ H_θp p.
	var following, own, free mat.Dense
	solveTo(factorKernel(weighted.SliceSym(m, size), 0), &following, hessian.Slice(m, size, 0, m))
	own.Mul(hessian.Slice(0, m, m, size), &following)
	own.Sub(hessian.Slice(0, m, 0, m), &own)
	free.Mul(pulls.Slice(0, pulls.RawMatrix().Rows, m, size), &following)
	free.Sub(pulls.Slice(0, pulls.RawMatrix().Rows, 0, m), &free)
	// With K = L Lᵀ and the eigenvectors q of L⁻¹ H L⁻ᵀ, φ = L⁻ᵀ q.
	var lower mat.TriDense
	factorKernel(c.hessian.kernel.SliceSym(0, m), 1e-6*c.hessian.kernel.At(0, 0)).LTo(&lower)
	var half, whole, directions mat.Dense
	try.Do(conditioned(half.Solve(&lower, &own)))
	try.Do(conditioned(whole.Solve(&lower, half.T())))
	values, axes := eigen(dense.Symmetric(&whole))
	first := 0
	for first < m && values[first]/(1+values[first]) < least {
		first++
	}
	if first == m {
		return nil, nil
	}
	values = values[first:]
	seen := axes.Slice(0, m, first, m)
	try.Do(conditioned(directions.Solve(lower.T(), seen)))
	functionals = new(mat.Dense)
	functionals.Mul(&free, &directions)
	momenta := mat.NewDense(m, len(c.x), nil)
	count := 0
	for k, x := range c.x {
		if c.ends[k] != nil {
			momenta.SetCol(count, x[:m])
			count++
		}
	}
	var turned, found mat.Dense
	turned.Mul(lower.T(), momenta.Slice(0, m, 0, count))
	found.Mul(turned.T(), seen)
	for j, v := range values {
		for i := range count {
			found.Set(i, j, found.At(i, j)*(1+v)/math.Sqrt(v)/reach)
		}
		for i := range functionals.RawMatrix().Rows {
			functionals.Set(i, j, functionals.At(i, j)/math.Sqrt(v))
		}
	}
	return &found, functionals
}

// likeliest returns v and τ that maximise the likelihood of n samples of normal numbers of variances τ + v s_j, of which the sums of squares are given, times
// the prior of τ with the information of one sample at τ = 1, and the logarithm of this maximum but for a constant.
func likeliest(s, squares []float64, n float64) (v, noise, logarithm float64) {
	logarithm = math.Inf(-1)
	m := float64(len(s))
	for step := -80; step <= 80; step++ {
		ratio := math.Pow(1.05, float64(step)) // v/τ
		determinants, sum := 0.0, m
		for j, signal := range s {
			variance := 1 + ratio*math.Max(0, signal)
			determinants += n * math.Log(variance)
			sum += squares[j] / variance
		}
		trial := sum / ((n + 1) * m) // the best τ at this ratio
		if l := -(determinants + (n+1)*m*math.Log(trial)) / 2; l > logarithm {
			v, noise, logarithm = ratio*trial, trial, l
		}
	}
	return v, noise, logarithm
}
