package tree

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"anatomy/geom/stats/linear"
)

// Lambda is the phylogenetic signal λ of values on a tree (M. Pagel, Nature 401, 1999): the share of the covariance of relatives that shows in
// them, 1 under Brownian motion along the tree and 0 without any relation to it.
type Lambda struct {
	Lambda        float64 // in [0, 1], the most likely one
	LogLikelihood float64 // with it
	Ratio         float64 // log L(λ) − log L(0) ≥ 0
	Dimensions    int     // numbers of each leaf

	// The test is that of Ratio, each draw with its own most likely λ.
	linear.Test
	// Effect is that of Ratio with this λ in all draws; its Z is NaN if λ is 0.
	Effect linear.Effect
}

// String is the signal on one line.
func (l *Lambda) String() string {
	return fmt.Sprintf("λ = %.3f, log L = %.3f in %d dimensions, Z = %.2f, %v", l.Lambda, l.LogLikelihood, l.Dimensions, l.Effect.Z(), l.Test)
}

// Lambda returns the phylogenetic signal of values [L][k] by likelihood, one row for each leaf in the order of Leaves. With V of Shared, the columns of
// the values have the covariance V_λ = λ V + (1 − λ) diag V times that of the coordinates, which is estimated together with the root:
//
//	log L(λ) = −½ (L k log 2π + k log det V_λ + L log det Σ_λ + L k),  Σ_λ = Σ u uᵀ/L, over the contrasts u of the tree with V_λ.
//
// The ratio of the likelihoods, log L(λ) − log L(0), is tested by permuting the values among the leaves. The likelihood alone would be larger where
// variances follow the heights of leaves, whether or not relatives covary. Each draw has its own λ, as the values have. The dimensions must be chosen
// without the tree, as principal components are: those that covary most with the tree (physignal.z of the R package geomorph, after M. Collyer,
// E. Baken and D. Adams, Methods Ecol. Evol. 13, 2022) have a signal where there is none; TestLambdaIsThatOfEachDraw counts how often.
//
// It is an error, besides those of Signal, if k is larger than L − 2, since L − 1 coordinates have the same likelihood in every order, or if fewer
// than k of them vary by themselves: take the first principal components.
func (t *Tree) Lambda(values [][]float64, p linear.Permutations) (*Lambda, error) {
	leaves, err := t.checkSignal(values)
	if err != nil {
		return nil, err
	}
	out := &Lambda{Dimensions: len(values[0])}
	if most := len(leaves) - 2; out.Dimensions > most {
		return nil, fmt.Errorf("tree: %d numbers for each of %d leaves, want at most %d: take the first principal components", out.Dimensions, len(leaves), most)
	}
	lambda, most, none, err := t.mostLikely(values)
	if err != nil {
		return nil, err
	}
	out.Lambda, out.LogLikelihood, out.Ratio = lambda, most, most-none
	ratios := []float64{out.Ratio}
	tests, err := permuteLeaves(values, []float64{out.Ratio, out.Ratio}, p, func(permuted [][]float64) ([]float64, error) {
		_, most, none, err := t.mostLikely(permuted)
		if err != nil {
			return nil, err
		}
		same, err := t.likelihood(permuted, lambda)
		return []float64{most - none, same - none}, err
	}, func(drawn []float64) { ratios = append(ratios, drawn[1]) })
	if err != nil {
		return nil, fmt.Errorf("tree: signal: %w", err)
	}
	out.Test, out.Effect = tests[0], linear.NewEffect(ratios)
	return out, nil
}

// mostLikely returns the λ with the largest log-likelihood, which may have several maxima: the best of eleven is improved by a golden section; this
// log-likelihood; and that of λ = 0.
func (t *Tree) mostLikely(values [][]float64) (lambda, most, none float64, err error) {
	most = math.Inf(-1)
	at := func(x float64) float64 {
		l, e := t.likelihood(values, x)
		if err = errors.Join(err, e); l > most {
			lambda, most = x, l
		}
		return l
	}
	none = at(0)
	const cells = 10
	for i := 1; i <= cells && err == nil; i++ {
		at(float64(i) / cells)
	}
	if err != nil {
		return 0, 0, 0, err
	}
	low, high := max(0, lambda-1./cells), min(1, lambda+1./cells)
	const section = 1 / math.Phi
	a, b := high-section*(high-low), low+section*(high-low)
	left, right := at(a), at(b)
	for high-low > 1e-4 {
		if left > right {
			high, b, right = b, a, left
			a = high - section*(high-low)
			left = at(a)
		} else {
			low, a, left = a, b, right
			b = low + section*(high-low)
			right = at(b)
		}
	}
	return lambda, most, none, err
}

// likelihood returns log L(λ) of Lambda.
func (t *Tree) likelihood(values [][]float64, lambda float64) (float64, error) {
	up, err := t.relaxed(lambda).sweepUp(values)
	if err != nil {
		return 0, err
	}
	n, k := float64(len(values)), len(values[0])
	logDet, correlation := float64(k)*up.logDet[0], mat.NewSymDense(k, nil)
	for _, u := range up.Contrasts {
		correlation.SymRankOne(correlation, 1, mat.NewVecDense(k, u.Values))
	}
	for i, squares := range up.squares {
		for j := range i + 1 {
			correlation.SetSym(i, j, correlation.At(i, j)/math.Sqrt(squares*up.squares[j]))
		}
		logDet += n * math.Log(squares/n)
	}
	var c mat.Cholesky
	if !c.Factorize(correlation) || c.Cond() > 1e14 {
		return 0, errors.New("tree: some values follow from the others, which leaves no likelihood: take the first principal components")
	}
	return -(n*float64(k)*(math.Log(2*math.Pi)+1) + logDet + n*c.LogDet()) / 2, nil
}

// relaxed has the inner edges times λ, and leaves of the same height.
func (t *Tree) relaxed(lambda float64) *Tree {
	out := &Tree{Parent: t.Parent, Length: make([]float64, len(t.Length)), Name: t.Name}
	height := t.Height()
	for i, l := range t.Length {
		out.Length[i] = lambda * l
	}
	for _, i := range t.Leaves() {
		out.Length[i] += (1 - lambda) * height[i]
	}
	return out
}
