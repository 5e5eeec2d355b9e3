package guided

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// Maximum is the maximum of the likelihood of the unknowns.
type Maximum struct {
	Values         []float64 // in the order of Posterior.Unknown
	StandardErrors []float64 // of their logarithms, of Signed ones of themselves, from the curvature of the likelihood's logarithm
	Errors         []float64 // of the same, because draws are few: the jackknife over chains; NaN of one chain
}

// String says where the maximum is in one line.
func (m *Maximum) String() string {
	return fmt.Sprintf("maximum of the likelihood at %.4g, standard errors of the logarithms %.2g, by the draws %.2g", m.Values, m.StandardErrors, m.Errors)
}

// MaximumLikelihood returns the unknowns at which the likelihood of what was seen is largest, whatever their priors. The derivatives of
// the likelihood's logarithm are means over paths (R. A. Fisher, 1925),
//
//	∂ log p(y | θ)/∂θ = E[∂ log p(x, y | θ)/∂θ | y, θ],
//
// and those of a polynomial in log θ, which is fitted to them near the maximum by weighted least squares. Its degree is four, or three or
// two where draws are too few: with six unknowns four takes 2,800 draws, two 360. It is an error if it does not show a maximum where the
// draws are: the prior then says more than the data.
func (p *Posterior[P]) MaximumLikelihood() (_ *Maximum, err error) {
	defer try.Named(&err, "MaximumLikelihood")
	solve.NotNil(p)
	k, n := len(p.Unknown), len(p.Scores)
	try.FailIf(k == 0, "nothing is unknown")
	rows := lists.Make(n, func(c int) [][]float64 { // [chain][draw][unknown]
		return lists.Make(len(p.Scores[c]), func(i int) []float64 {
			return lists.Each(p.Unknown, func(u Estimate) float64 { return u.logarithm(u.Draws[c][i]) })
		})
	})
	top, information := try.Get2(summit(rows, p.Scores))
	m := &Maximum{Errors: make([]float64, k)}
	var covariance mat.SymDense
	try.Do(information.InverseTo(&covariance))
	for c := range n {
		if n == 1 {
			m.Errors = slices.Repeat([]float64{math.NaN()}, k)
			break
		}
		without := func(x [][][]float64) [][][]float64 { return append(append([][][]float64{}, x[:c]...), x[c+1:]...) }
		one, _, err := summit(without(rows), without(p.Scores))
		try.Do(try.Name(err, "without chain %d", c))
		for j := range k {
			m.Errors[j] += math.Pow(one[j]-top[j], 2) * float64(n-1) / float64(n)
		}
	}
	for j := range k {
		m.Values = append(m.Values, p.Unknown[j].number(top[j]))
		m.StandardErrors = append(m.StandardErrors, math.Sqrt(covariance.At(j, j)))
		m.Errors[j] = math.Sqrt(m.Errors[j])
	}
	return m, nil
}

// summit is where the derivatives, slopes, of a polynomial, which is fitted to them at logs by weighted least squares,
// are zero, with minus its second derivatives there. Draws count the less the farther they are from it, by a normal distribution whose
// variances are half those of all of them.
func summit(logs, slopes [][][]float64) (_ []float64, _ *mat.Cholesky, err error) {
	defer try.Catch(&err)
	u, r := slices.Concat(logs...), slices.Concat(slopes...)
	try.FailIf(len(u) == 0, "there are no draws: ask Sample for more")
	k := len(u[0])
	draws := mat.NewDense(len(u), k, nil)
	for i := range u {
		draws.SetRow(i, u[i])
	}
	var covariance mat.SymDense
	stat.CovarianceMatrix(&covariance, draws, nil)
	var spread mat.Cholesky
	try.FailIf(!spread.Factorize(&covariance), "there are too few draws, or all are equal: ask Sample for more draws, or a longer warm-up")
	var l mat.TriDense
	spread.LTo(&l)
	// Coordinates v = L⁻¹(u − top), in which the draws have the covariance 1.
	whitened := func(u, top []float64) []float64 {
		v := mat.NewVecDense(k, floats.SubTo(make([]float64, k), u, top))
		if err := v.SolveVec(&l, v); err != nil {
			floats.Scale(math.NaN(), v.RawVector().Data)
		}
		return v.RawVector().Data
	}
	mean := lists.Make(k, func(j int) float64 { return stat.Mean(mat.Col(nil, j, draws), nil) })
	terms := products(k, degree(u, func(u []float64) []float64 { return whitened(u, mean) }))
	top := slices.Clone(mean)
	for range 100 {
		coefficients := fitted(terms, u, r, &l, func(u []float64) []float64 { return whitened(u, top) })
		slope, second := mat.NewVecDense(k, nil), mat.NewDense(k, k, nil) // minus the second derivatives by v, at the top
		for t, term := range terms {
			switch c := coefficients.AtVec(t); len(term) {
			case 1:
				slope.SetVec(term[0], c)
			case 2:
				second.Set(term[0], term[1], second.At(term[0], term[1])-c)
				second.Set(term[1], term[0], second.At(term[1], term[0])-c)
			}
		}
		var half, information mat.Dense // by u: L⁻ᵀ·L⁻¹
		try.Do(errors.Join(half.Solve(l.T(), second), information.Solve(l.T(), half.T()), slope.SolveVec(l.T(), slope)))
		var chol mat.Cholesky
		if !chol.Factorize(dense.Symmetric(&information)) {
			break
		}
		var step mat.VecDense
		try.Do(chol.SolveVecTo(&step, slope))
		floats.Add(top, step.RawVector().Data)
		if v := whitened(top, mean); !(floats.Dot(v, v) < 9) {
			break
		}
		if mat.Norm(&step, 2) < 1e-9 {
			return top, &chol, nil
		}
	}
	return nil, nil, errors.New("the likelihood has no maximum within three standard deviations of the draws: the prior says more than the data; take a wider one, or more draws")
}

// rootWeight is the root of the weight of a draw with the coordinates v, exp(−‖v‖²).
func rootWeight(v []float64) float64 { return math.Exp(-floats.Dot(v, v) / 2) }

// degree is that of a polynomial for which draws u are enough: four, or less, but two at least.
func degree(u [][]float64, whitened func(u []float64) []float64) int {
	k, near := len(u[0]), 0.0
	for i := range u {
		near += rootWeight(whitened(u[i]))
	}
	for degree := 4; degree >= 2; degree-- {
		if near*float64(k) >= float64(10*len(products(k, degree))) {
			return degree
		}
	}
	try.Fail("%d draws are too few for the %d coefficients of a polynomial of degree two", len(u), len(products(k, 2)))
	return 0
}

// fitted returns the coefficients of a polynomial whose derivatives by u are the slopes r at draws u, in the coordinates v of whitened, which l leads back from.
func fitted(terms [][]int, u, r [][]float64, l *mat.TriDense, whitened func(u []float64) []float64) *mat.VecDense {
	k := len(u[0])
	design, right := mat.NewDense(len(u)*k, len(terms), nil), mat.NewVecDense(len(u)*k, nil)
	for i := range u {
		v := whitened(u[i])
		weight := rootWeight(v)
		var slope mat.VecDense // by v
		slope.MulVec(l.T(), mat.NewVecDense(k, r[i]))
		for j := range k {
			for t, term := range terms {
				design.Set(i*k+j, t, weight*derivative(term, v, j))
			}
			right.SetVec(i*k+j, weight*slope.AtVec(j))
		}
	}
	coefficients := new(mat.VecDense)
	try.Do(coefficients.SolveVec(design, right))
	return coefficients
}

// products are those of up to so many of k numbers, as the places of these in rising order.
func products(k, degree int) (out [][]int) {
	longest := [][]int{nil}
	for range degree {
		var longer [][]int
		for _, p := range longest {
			first := 0
			if len(p) > 0 {
				first = p[len(p)-1]
			}
			for j := first; j < k; j++ {
				longer = append(longer, append(slices.Clone(p), j))
			}
		}
		out, longest = append(out, longer...), longer
	}
	return out
}

// derivative is that of a product of numbers v by the one at place j.
func derivative(product []int, v []float64, j int) (sum float64) {
	for at, a := range product {
		if a != j {
			continue
		}
		rest := 1.0
		for i, b := range product {
			if i != at {
				rest *= v[b]
			}
		}
		sum += rest
	}
	return sum
}

// score takes the derivatives of the posterior's logarithm by y to those of the likelihood's by the logarithms u of the unknowns.
func (s *sampler[P]) score(group int, u, slopes []float64) []float64 {
	p := len(s.options.Unknown)
	if p == 0 {
		return nil
	}
	scale := mat.NewTriDense(p, mat.Lower, slices.Concat(s.scale[group]...))
	var out mat.VecDense
	if err := out.SolveVec(scale.T(), mat.NewVecDense(p, slopes)); ill(err) {
		return slices.Repeat([]float64{math.NaN()}, p)
	}
	for j, a := range s.options.Unknown {
		out.SetVec(j, out.AtVec(j)-a.Prior.slope(u[j]))
	}
	return out.RawVector().Data
}
