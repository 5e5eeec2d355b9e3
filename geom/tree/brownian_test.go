package tree

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/internal/lists"
)

// randomTree has n nodes, polytomies and nodes of one child among them; some inner edges have length 0.
func randomTree(rng *rand.Rand, n int) *Tree {
	parent, length := []int{-1}, []float64{0}
	for i := 1; i < n; i++ {
		parent, length = append(parent, rng.IntN(i)), append(length, 0.1+rng.Float64())
	}
	t := expect.Must(New(parent, length, nil))
	first, _ := t.links()
	for i := 1; i < n; i++ {
		if first[i] >= 0 && rng.IntN(4) == 0 {
			t.Length[i] = 0
		}
	}
	return t
}

// gls is generalised least squares with matrices, for the leaves at some places in Leaves.
type gls struct {
	shared  *mat.Dense // [nodes, leaves], of node and leaf
	height  []float64
	inverse *mat.SymDense // V⁻¹
	total   float64       // 1ᵀV⁻¹1
	v       *mat.SymDense
}

func newGLS(t *Tree, observed []int) gls {
	n, height, leaves := len(t.Parent), t.Height(), t.Leaves()
	meet := func(i, j int) float64 { // an independent route: the ways to the root in sets
		above := map[int]bool{}
		for ; i >= 0; i = t.Parent[i] {
			above[i] = true
		}
		for !above[j] {
			j = t.Parent[j]
		}
		return height[j]
	}
	g := gls{mat.NewDense(n, len(observed), nil), height, new(mat.SymDense), 0, mat.NewSymDense(len(observed), nil)}
	for a, l := range observed {
		for i := range n {
			g.shared.Set(i, a, meet(i, leaves[l]))
		}
		for b := range a + 1 {
			g.v.SetSym(a, b, meet(leaves[l], leaves[observed[b]]))
		}
	}
	var c mat.Cholesky
	if !c.Factorize(g.v) {
		panic("V is singular")
	}
	if err := c.InverseTo(g.inverse); err != nil {
		panic(err)
	}
	g.total = mat.Sum(g.inverse)
	return g
}

// predict returns the prediction and its variance for rate 1 at every node, and (y − 1â)ᵀV⁻¹(y − 1â).
func (g gls) predict(y []float64) (mean, variance []float64, squares float64) {
	n, l := g.shared.Dims()
	ones := mat.NewVecDense(l, slices.Repeat([]float64{1}, l))
	x := mat.NewVecDense(l, y)
	root := mat.Inner(ones, g.inverse, x) / g.total
	off := mat.NewVecDense(l, nil)
	off.AddScaledVec(x, -root, ones)
	for i := range n {
		c := mat.NewVecDense(l, mat.Row(nil, i, g.shared))
		short := 1 - mat.Inner(ones, g.inverse, c)
		mean = append(mean, root+mat.Inner(c, g.inverse, off))
		variance = append(variance, g.height[i]-mat.Inner(c, g.inverse, c)+short*short/g.total)
	}
	return mean, variance, mat.Inner(off, g.inverse, off)
}

// Pruning equals generalised least squares with matrices: predictions, their variances, rates, weights, K; also where some
// values were not observed.
func TestPruneIsGeneralisedLeastSquares(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for trial := range 20 {
		tree := randomTree(rng, 12+trial)
		leaves := tree.Leaves()
		const k = 3
		values := lists.Zeros(len(leaves), k)
		observed := make([][]int, k)
		for a := range values {
			for j := range values[a] {
				values[a][j] = 3 + rng.NormFloat64()
				if j == 2 && a%3 == 1 {
					values[a][j] = math.NaN()
					continue
				}
				observed[j] = append(observed[j], a)
			}
		}
		got := expect.Must(tree.Prune(values))
		sum, squares := 0.0, 0.0
		for j := range k {
			g := newGLS(tree, observed[j])
			var y []float64
			for _, a := range observed[j] {
				y = append(y, values[a][j])
			}
			mean, variance, ss := g.predict(y)
			column := func(rows [][]float64) (out []float64) {
				for _, row := range rows {
					out = append(out, row[j])
				}
				return out
			}
			expect.Abs(t, "mean", column(got.Mean), mean, 1e-10)
			expect.Abs(t, "variance", column(got.Variance), variance, 1e-10)
			expect.Rel(t, "rate", got.Rate[j], ss/float64(len(y)-1), 1e-10)
			expect.Abs(t, "standard error", got.StandardError(1)[j], math.Sqrt(math.Max(0, variance[1])*got.Rate[j]), 1e-10)
			if j < 2 {
				squares += ss
				for _, x := range y {
					sum += (x - mean[0]) * (x - mean[0])
				}
			}
			if j == 0 {
				var w []float64
				for a := range leaves {
					w = append(w, floats.Sum(mat.Row(nil, a, g.inverse))/g.total)
				}
				expect.Abs(t, "weights", expect.Must(tree.Weights()), w, 1e-10)
				v := expect.Must(tree.Shared())
				for a := range v {
					expect.Abs(t, "shared paths", v[a], mat.Row(nil, a, g.v), 0)
				}
			}
		}
		whole := newGLS(tree, observed[0])
		n := float64(len(leaves))
		want := sum / squares / ((mat.Trace(whole.v) - n/whole.total) / (n - 1))
		complete := make([][]float64, len(values))
		for a, row := range values {
			complete[a] = row[:2]
		}
		expect.Rel(t, "K", expect.Must(tree.Signal(complete, linear.Permutations{N: 1, Seed: 1})).K, want, 1e-10)
	}
}

// Contrasts are V^(−½)-coordinates: Σ uuᵀ = (Y − 1â)ᵀV⁻¹(Y − 1â), and the covariance at the root is theirs by its variance.
func TestContrasts(t *testing.T) {
	tree := expect.Must(Parse("(A:1,(B:2,C:1,D:0):1);"))
	a := expect.Must(tree.Prune([][]float64{{1, 0}, {2, 5}, {4, 1}, {3, 2}}))
	if len(a.Contrasts) != 3 {
		t.Fatalf("%d contrasts", len(a.Contrasts))
	}
	var uu [2][2]float64
	for _, c := range a.Contrasts {
		for r := range 2 {
			for s := range 2 {
				uu[r][s] += c.Values[r] * c.Values[s] / 3
			}
		}
	}
	got := a.Covariance(0, 0, 1)
	for r := range 2 {
		for s := range 2 {
			expect.Rel(t, "covariance", got[r][s], uu[r][s]*a.Variance[0][0], 1e-14)
		}
	}
	expect.Abs(t, "a leaf at a node is its value", a.Mean[2], []float64{3, 2}, 0)
	expect.Abs(t, "without error", a.StandardError(2), []float64{0, 0}, 0)
	// By hand: D is the node above B and C, at distance 1 from the root, as A.
	expect.Abs(t, "root", a.Mean[0], []float64{2, 1}, 1e-15)
	expect.Abs(t, "its variance", a.Variance[0], []float64{0.5, 0.5}, 1e-15)
	expect.Abs(t, "sibling contrast", a.Contrasts[0].Values, []float64{-1, 1}, 1e-15) // D and C: D comes first, at the end of the list
}

// Of two leaves, and of one.
func TestPruneSmall(t *testing.T) {
	two := expect.Must(Parse("(A:1,B:3);"))
	a := expect.Must(two.Prune([][]float64{{0}, {4}}))
	expect.Abs(t, "root", a.Mean[0][0], 1, 1e-15)
	expect.Abs(t, "variance", a.Variance[0][0], 0.75, 1e-15)
	expect.Abs(t, "rate", a.Rate[0], 4, 1e-15)
	one := expect.Must(Parse("(A:3);"))
	a = expect.Must(one.Prune([][]float64{{5}}))
	expect.Abs(t, "root", a.Mean[0][0], 5, 0)
	expect.Abs(t, "variance", a.Variance[0][0], 3, 0)
	if !math.IsNaN(a.Rate[0]) || len(a.Contrasts) != 0 {
		t.Errorf("one leaf has the rate %v", a.Rate)
	}
	// A leaf that was not observed is predicted as its parent is, with the edge's variance.
	a = expect.Must(two.Prune([][]float64{{0}, {math.NaN()}}))
	expect.Abs(t, "not observed", a.Mean[2][0], 0, 0)
	expect.Abs(t, "its variance", a.Variance[2][0], 4, 0)
	expect.Abs(t, "weights of one leaf", expect.Must(one.Weights()), []float64{1}, 0)
}

func TestPruneRefuses(t *testing.T) {
	tree := expect.Must(Parse("((A:1,B:1):1,C:2);"))
	x := [][]float64{{1, 2}, {3, 4}, {5, 7}}
	with := func(a, j int, v float64) [][]float64 {
		y := [][]float64{slices.Clone(x[0]), slices.Clone(x[1]), slices.Clone(x[2])}
		y[a][j] = v
		return y
	}
	nan := math.NaN()
	expect.Refused(t, expect.Error(tree.Prune(x[:2])), "values of 2 leaves, but the tree has 3")
	expect.Refused(t, expect.Error(tree.Prune([][]float64{{1, 2}, {3}, {5, 7}})), `leaf "B" has 1 values, leaf "A" has 2`)
	expect.Refused(t, expect.Error(tree.Prune([][]float64{{}, {}, {}})), `leaf "A" has 0 values`)
	expect.Refused(t, expect.Error(tree.Prune(with(1, 0, math.Inf(1)))), `leaf "B": value 0 is +Inf`)
	expect.Refused(t, expect.Error(tree.Prune([][]float64{{1, nan}, {1, nan}, {1, nan}})), "value 1 was observed in no leaf")
	none := expect.Must(Parse("((A:1,B):1,C:2);"))
	expect.Refused(t, expect.Error(none.Prune(x)), `the edge above "B" has no length`)
	expect.Refused(t, expect.Error(none.Weights()), `the edge above "B" has no length`)
	expect.Refused(t, expect.Error(none.Shared()), `the edge above "B" has no length`)
	same := expect.Must(Parse("((A:0,(B:0):0):1,C:2);"))
	expect.Refused(t, expect.Error(same.Prune(x)), `the leaves "A" and "B" are at distance 0`)
	expect.Abs(t, "seen in one of both", expect.Must(same.Prune([][]float64{{nan}, {1}, {2}})).Mean[1][0], 1, 0)
	expect.Refused(t, expect.Error(tree.Signal(with(2, 1, nan), linear.Permutations{N: 9, Seed: 1})), `leaf "C": value 1 is missing`)
	expect.Refused(t, expect.Error(tree.Signal(x, linear.Permutations{N: 0, Seed: 1})), "0 permutations")
	expect.Refused(t, expect.Error(tree.Signal([][]float64{{1}, {1}, {1}}, linear.Permutations{N: 9, Seed: 1})), "all leaves have the same values")
	expect.Refused(t, expect.Error(expect.Must(Parse("(A:1,B:1);")).Signal(x[:2], linear.Permutations{N: 9, Seed: 1})), "2 leaves")
}

// Under Brownian motion K has the mean 1, nearly: both sums have the expectations that K divides by. The test by permutations keeps its
// level where values have nothing to do with the tree.
func TestSignalOfSimulations(t *testing.T) {
	tree := expect.Must(Parse("(((A:1,B:1):1,(C:1,D:1):1):2,((E:1,F:1):1,(G:1,H:1):1):2);"))
	rng := rand.New(rand.NewPCG(3, 4))
	var above, below, ps []float64
	n := len(tree.Leaves())
	for range 400 {
		state := lists.Zeros(len(tree.Parent), 6)
		for i, p := range tree.Parent[1:] {
			for j := range state[i+1] {
				state[i+1][j] = state[p][j] + math.Sqrt(tree.Length[i+1])*rng.NormFloat64()
			}
		}
		var values [][]float64
		for _, i := range tree.Leaves() {
			values = append(values, state[i])
		}
		a := expect.Must(tree.Prune(values))
		sum := 0.0
		for _, row := range values {
			for j, x := range row {
				sum += (x - a.Mean[0][j]) * (x - a.Mean[0][j])
			}
		}
		above, below = append(above, sum/6), append(below, a.Rate[0])
		white := lists.Zeros(n, 1)
		for i := range white {
			white[i][0] = rng.NormFloat64()
		}
		ps = append(ps, expect.Must(tree.Signal(white, linear.Permutations{N: 39, Seed: rng.Uint64()})).P)
	}
	trace, variance := 4.0*float64(n), expect.Must(tree.Prune(lists.Zeros(n, 1))).Variance[0][0]
	expect.Mean(t, "Σ|y − â|²", above, trace-float64(n)*variance)
	expect.Mean(t, "rate", below, 1)
	low := make([]float64, len(ps))
	for i, p := range ps {
		if p <= 0.2 {
			low[i] = 1
		}
	}
	expect.Mean(t, "share of p ≤ 0.2", low, 0.2)
}

// Of a coordinate that one leaf shows nothing is known of the rate, and coordinates of different leaves have no covariance, though their
// contrasts are missing at the same nodes.
func TestCovarianceOfMissing(t *testing.T) {
	tr := expect.Must(Parse("((A:1,B:2):1,C:2,D:1);"))
	nan := math.NaN()
	a := expect.Must(tr.Prune([][]float64{{1, nan, nan}, {nan, 2, nan}, {3, 1, nan}, {0, 4, 5}}))
	if v := a.Covariance(0, 2); !math.IsNaN(v[0][0]) || !math.IsNaN(a.StandardError(0)[2]) {
		t.Errorf("the variance of a coordinate that was observed once is %g", v)
	}
	expect.Rel(t, "variance", a.Covariance(0, 0)[0][0], a.Variance[0][0]*a.Rate[0], 1e-14)
	defer func() {
		if recover() == nil {
			t.Error("the covariance of coordinates of different leaves does not panic")
		}
	}()
	a.Covariance(0, 0, 1)
}

// K is above 1 where close relatives resemble each other more than under Brownian motion, and below 1 where they do less.
func TestSignalHasTwoSides(t *testing.T) {
	tree := expect.Must(Parse("((A:1,B:1):1,(C:1,D:1):1);"))
	k := func(x ...float64) float64 {
		return expect.Must(tree.Signal([][]float64{x[:1], x[1:2], x[2:3], x[3:]}, linear.Permutations{N: 1, Seed: 1})).K
	}
	if close, apart := k(0, 0.1, 1, 1.1), k(0, 1, 0.1, 1.1); !(close > 1.5 && apart < 0.7) {
		t.Errorf("K is %.3g where sisters are alike, %.3g where they differ", close, apart)
	}
}
