package guided

import (
	"math"
	"slices"

	"anatomy/internal/lists"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// learn takes mean and scale of the logarithms of the unknowns from the later half of draws and of their scores, [iteration][C][p], and
// keeps the chains' places.
func (s *sampler[P]) learn(draws, scores [][][]float64) {
	draws, scores = draws[len(draws)/2:], scores[len(scores)/2:]
	p, k := len(s.options.Unknown), s.total/s.groups
	if p == 0 || len(draws)*k < 5*p {
		return
	}
	for g := range s.mean {
		old := mat.NewTriDense(p, mat.Lower, slices.Concat(s.scale[g]...))
		rows, columns := mat.NewDense(len(draws)*k, p, nil), mat.NewDense(p, len(draws)*k, nil)
		for i := range draws {
			for c := range k {
				rows.SetRow(i*k+c, draws[i][g*k+c])
				columns.SetCol(i*k+c, scores[i][g*k+c])
			}
		}
		var score mat.Dense
		if err := score.Solve(old.T(), columns); ill(err) {
			continue
		}
		var cov, fisher mat.SymDense
		stat.CovarianceMatrix(&cov, rows, nil)
		for j := range p {
			cov.SetSym(j, j, cov.At(j, j)+1e-4)
		}
		fisher.SymOuterK(1/float64(len(draws)*k), &score)
		l, ok := scale(&cov, &fisher)
		if !ok { // or where a chain was where nothing is finite
			continue
		}
		for j := range p {
			s.mean[g][j] = stat.Mean(mat.Col(nil, j, rows), nil)
			for i := range j + 1 {
				s.scale[g][j][i] = l.At(j, i)
			}
		}
		for c := g * k; c < (g+1)*k; c++ {
			var y mat.VecDense
			d := mat.NewVecDense(p, slices.Clone(draws[len(draws)-1][c]))
			d.SubVec(d, mat.NewVecDense(p, s.mean[g]))
			if y.SolveVec(l, d) == nil {
				s.y[c] = y.RawVector().Data
			}
		}
	}
}

// scale is the root of a matrix X for unknowns of which chains have the covariance C and the scores, the derivatives of the
// posterior's logarithm where the noise is held, the second moments F: the middle between C and the covariance F⁻¹ that they have for
// given noise, XFX = C, or C where that is smaller. With C alone steps are as short as F wants them, with F⁻¹ trajectories as long
// as C does.
func scale(cov, fisher *mat.SymDense) (*mat.TriDense, bool) {
	var chol mat.Cholesky
	if !lists.Finite(mat.Sum(fisher)) || !chol.Factorize(cov) {
		return nil, false
	}
	var l mat.TriDense
	chol.LTo(&l)
	var turned, x mat.Dense
	turned.Product(l.T(), fisher, &l)
	p := cov.SymmetricDim()
	inner := mat.NewSymDense(p, nil)
	for i := range p {
		for j := range i + 1 {
			inner.SetSym(i, j, (turned.At(i, j)+turned.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(inner, true) {
		return nil, false
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	values := eigen.Values(nil)
	axes.Apply(func(_, j int, v float64) float64 { return v * math.Pow(math.Max(1, values[j]), -0.25) }, &axes)
	x.Mul(&l, &axes)
	var middle mat.SymDense
	middle.SymOuterK(1, &x)
	if !chol.Factorize(&middle) {
		return nil, false
	}
	chol.LTo(&l)
	return &l, true
}

// pace is how fast the unknowns turn: the ω, 0.3 to 1, for which cos ωθ is closest to the products of the standardised logarithms of
// unknowns before and after trajectories of angles θ, [iteration][C], in groups of k chains. Those that depend much on the noise
// are slower than it, and need longer trajectories.
func pace(logs [][][]float64, angles [][]float64, k int) float64 {
	type turned struct{ product, angle float64 }
	var all []turned
	for g := 0; g < len(angles[0]); g += k {
		for j := range logs[0][g] {
			var draws []float64
			for i := range logs {
				for c := g; c < g+k; c++ {
					draws = append(draws, logs[i][c][j])
				}
			}
			mean, variance := stat.MeanVariance(draws, nil)
			for i := 1; i < len(logs); i++ {
				for c := g; c < g+k; c++ {
					all = append(all, turned{(logs[i-1][c][j] - mean) * (logs[i][c][j] - mean) / variance, angles[i][c]})
				}
			}
		}
	}
	best, least := 1.0, math.Inf(1)
	for omega := 1.0; omega > 0.29; omega -= 0.05 {
		off := 10 * (1 - omega) * (1 - omega) // few trajectories say little
		for _, t := range all {
			off += math.Pow(t.product-math.Cos(omega*t.angle), 2)
		}
		if off < least {
			best, least = omega, off
		}
	}
	return best
}
