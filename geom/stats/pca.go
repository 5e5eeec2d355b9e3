package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// PCA describes samples by modes at a point y: tangent vectors u_k, orthonormal in the metric, and scores s_ik, for which the
// points Exp_y(Σ_k s_ik u_k) are close to the samples x_i. TangentPCA makes it.
type PCA[P geom.Point] struct {
	Point     P           // y
	Modes     []P         // u_k, tangent vectors at y with ‖u_k‖_g = 1
	Momenta   []P         // u_k♭
	Variances []float64   // the variance of the scores of each mode, in the unit of lengths squared
	Explained []float64   // the share of each mode in the variance, 0 to 1
	Scores    [][]float64 // s_ik, Scores[i][k] of sample i along mode k, lengths

	Status geom.Status // that of the mean
}

// TangentPCA returns the principal components of the logarithms v_i of the samples at their mean, with respect to the metric at
// the mean. They are the eigenvectors of v ↦ Σ w_i (v_i − v̄) ⟨v_i − v̄, v⟩_g/(1 − Σ w_i²), v̄ = Σ w_i v_i, for equal weights the sample
// covariance with the factor 1/(N − 1) (Fletcher, Lu, Pizer and Joshi, IEEE Trans. Med. Imaging 23, 2004), computed from a root of the N×N
// matrix of inner products, whose rank is at most the dimension. At a Fréchet mean v̄ is 0; at another point it is not, nor is the mean of the scores ⟨u_k, v_i⟩_g. Variances are the
// eigenvalues, the largest first, and Explained their shares in the sum of all eigenvalues. There are at most N − 1 modes; modes whose
// standard deviation is below 1e-7 of the largest are left out. If all samples are at the mean up to rounding (see FrechetMean), there are none. The scores of a sample of weight 0 without logarithm are NaN. The sign
// of a mode is chosen so that its component of largest absolute value is positive.
func TangentPCA[P geom.Point](m *Mean[P]) (_ *PCA[P], err error) {
	defer try.Catch(&err)
	try.FailIf(m == nil, "tangent PCA: the mean is nil: give the result of FrechetMean")
	p := tangentPCA(&Mean[geom.Vec]{Point: shape.Flat(m.Point), Weights: m.Weights, Velocities: shape.FlatAll(m.Velocities), Momenta: shape.FlatAll(m.Momenta), Status: m.Status})
	return pcaOf(p, func(v geom.Vec) P { return shape.Like(m.Point, v) }), nil
}

// pcaOf turns components of lists of numbers into those of points.
func pcaOf[P geom.Point](p *PCA[geom.Vec], point func(v geom.Vec) P) *PCA[P] {
	out := &PCA[P]{Point: point(p.Point), Variances: p.Variances, Explained: p.Explained, Scores: p.Scores, Status: p.Status}
	for k := range p.Modes {
		out.Modes, out.Momenta = append(out.Modes, point(p.Modes[k])), append(out.Momenta, point(p.Momenta[k]))
	}
	return out
}

// String says what the components are in one line.
func (p *PCA[P]) String() string {
	s := fmt.Sprintf("%d modes of %d samples", len(p.Modes), len(p.Scores))
	if len(p.Explained) > 0 {
		s += fmt.Sprintf(", the first explains %.1f %%", 100*p.Explained[0])
	}
	return fmt.Sprintf("%s, %s", s, p.Status)
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (p *PCA[P]) Err() error { return solve.NotNil(p).Status.Err(p) }

func tangentPCA(m *Mean[geom.Vec]) *PCA[geom.Vec] {
	n := len(m.Velocities)
	try.FailIf(n < 2, "tangent PCA: %d samples, want at least 2", n)
	try.FailIf(len(m.Momenta) != n || len(m.Weights) != n,
		"tangent PCA: a mean of %d velocities, %d momenta and %d weights, want as many of each", n, len(m.Momenta), len(m.Weights))
	square, err := squares(m.Weights)
	try.Do(try.Name(err, "tangent PCA"))
	centred := func(x [][]float64) (out [][]float64) {
		centre := lists.Combine(m.Weights, x)
		for _, v := range x {
			out = append(out, floats.SubTo(make([]float64, len(v)), v, centre))
		}
		return out
	}
	velocities, momenta := centred(m.Velocities), centred(m.Momenta)
	share := func(i int) float64 { return math.Sqrt(m.Weights[i] / (1 - square)) }
	inner := func(i, j int) float64 {
		if m.Weights[i] == 0 || m.Weights[j] == 0 {
			return 0 // they may have no logarithm
		}
		v := share(i) * share(j) * (floats.Dot(momenta[i], velocities[j]) + floats.Dot(momenta[j], velocities[i])) / 2
		try.FailIf(!lists.Finite(v), "tangent PCA: the inner product of the logarithms of samples %d and %d is %g", i, j, v)
		return v
	}
	root, total := rootOf(inner, n, min(n-1, len(velocities[0])))
	p := &PCA[geom.Vec]{Point: m.Point, Scores: make([][]float64, n), Status: m.Status}
	if root == nil {
		return p
	}
	values, vectors, ok := dense.Eigen(dense.Gram(root))
	try.FailIf(!ok, "tangent PCA: the eigenvalues of the matrix of inner products were not found")
	var parts mat.Dense
	parts.Mul(root.T(), vectors)
	for k := len(values) - 1; k >= 0 && values[k] > 1e-14*values[len(values)-1]; k-- { // ascending
		c := mat.Col(nil, k, &parts)
		for i := range c {
			c[i] *= share(i) / values[k]
		}
		u, a := lists.Combine(c, velocities), lists.Combine(c, momenta)
		if sign := signOf(u); sign < 0 {
			floats.Scale(sign, u)
			floats.Scale(sign, a)
		}
		p.Modes, p.Momenta = append(p.Modes, u), append(p.Momenta, a)
		p.Variances = append(p.Variances, values[k])
		p.Explained = append(p.Explained, values[k]/total)
		for i, v := range m.Velocities {
			p.Scores[i] = append(p.Scores[i], floats.Dot(a, v))
		}
	}
	return p
}

// rootOf returns the R of rank rows, [r, n], with Rᵀ R = G for the matrix of inner products G of n vectors, and the trace of G: Cholesky's
// decomposition with pivots, which takes r columns of G, r being at most the dimension that the vectors span. R is nil where they are all 0.
func rootOf(inner func(i, j int) float64, n, rank int) (root *mat.Dense, trace float64) {
	left := make([]float64, n) // the diagonal of what is left of G
	for i := range left {
		left[i] = inner(i, i)
	}
	trace = floats.Sum(left)
	var rows [][]float64
	for largest := floats.Max(left); len(rows) < rank; {
		pivot := floats.MaxIdx(left)
		if !(left[pivot] > 1e-15*largest) {
			break
		}
		row, scale := make([]float64, n), math.Sqrt(left[pivot])
		for i := range row {
			row[i] = inner(i, pivot)
		}
		for _, r := range rows {
			floats.AddScaled(row, -r[pivot], r)
		}
		floats.Scale(1/scale, row)
		for i, v := range row {
			left[i] = max(0, left[i]-v*v)
		}
		left[pivot] = 0
		rows = append(rows, row)
	}
	if rows == nil {
		return nil, trace
	}
	return mat.NewDense(len(rows), n, slices.Concat(rows...)), trace
}

// squares is Σ w_i², of weights of which more than one is not 0.
func squares(weights []float64) (float64, error) {
	square := floats.Dot(weights, weights)
	if square > 1-1e-12 {
		return 0, fmt.Errorf("one sample has all the weight, want at least 2 samples with weight")
	}
	return square, nil
}

// signOf is 1 if the component of a mode of largest absolute value is positive, else −1.
func signOf(mode []float64) float64 {
	top := 0.0
	for _, v := range mode {
		if math.Abs(v) > math.Abs(top) {
			top = v
		}
	}
	return math.Copysign(1, top)
}

// At returns the point Exp_y(Σ_k s_k u_k) for the given scores s_1, s_2, …, of the first modes. More scores than modes are an error.
func (p *PCA[P]) At(on geom.Of[P], scores ...float64) (point P, err error) {
	solve.NotNil(p)
	if len(scores) > len(p.Modes) {
		return point, fmt.Errorf("PCA: %d scores for %d modes", len(scores), len(p.Modes))
	}
	a := make([]float64, len(shape.Flat(p.Point)))
	for k, s := range scores {
		floats.AddScaled(a, s, shape.Flat(p.Momenta[k]))
	}
	g, err := on.Geometry().Shoot(p.Point, shape.Like(p.Point, a))
	if err != nil {
		return point, err
	}
	return g.End, nil
}

// Mode returns points along mode k, counted from 0: Exp_y(c √Variances_k u_k) for each number c of standard deviations.
func (p *PCA[P]) Mode(on geom.Of[P], k int, deviations ...float64) ([]P, error) {
	solve.NotNil(p)
	if k < 0 || k >= len(p.Modes) {
		return nil, fmt.Errorf("PCA: mode %d of %d, counted from 0", k, len(p.Modes))
	}
	points := make([]P, len(deviations))
	for i, c := range deviations {
		scores := make([]float64, k+1)
		scores[k] = c * math.Sqrt(p.Variances[k])
		var err error
		if points[i], err = p.At(on, scores...); err != nil {
			return nil, fmt.Errorf("PCA: mode %d at %g standard deviations: %w", k, c, err)
		}
	}
	return points, nil
}
