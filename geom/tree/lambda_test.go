package tree

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/internal/lists"
)

func normal(rng *rand.Rand, n, k int) [][]float64 {
	out := lists.Zeros(n, k)
	for _, row := range out {
		for j := range row {
			row[j] = rng.NormFloat64()
		}
	}
	return out
}

// The likelihood is the density of a normal law with the covariance Σ ⊗ V_λ, and its maximum is that of a fine grid.
func TestLambdaIsTheMostLikely(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 5 {
		tr := randomTree(rng, 30)
		leaves := tr.Leaves()
		n, k := len(leaves), 3
		values := normal(rng, n, k)
		if n < 6 {
			t.Fatal("few leaves")
		}
		var all []int
		for a := range leaves {
			all = append(all, a)
		}
		g := newGLS(tr, all)
		plain := func(lambda float64) float64 {
			v := mat.NewSymDense(n, nil)
			v.CopySym(g.v)
			for a := range n {
				for b := range a {
					v.SetSym(a, b, lambda*v.At(a, b))
				}
			}
			var inverse, product mat.Dense
			if err := inverse.Inverse(v); err != nil {
				t.Fatal(err)
			}
			total := mat.Sum(&inverse)
			y := mat.NewDense(n, k, nil)
			for a, row := range values {
				y.SetRow(a, row)
			}
			product.Mul(&inverse, y)
			for j := range k {
				root := mat.Sum(product.ColView(j)) / total
				for a := range n {
					y.Set(a, j, y.At(a, j)-root)
				}
			}
			var sigma mat.Dense
			product.Mul(&inverse, y)
			sigma.Mul(y.T(), &product)
			whole := mat.NewSymDense(n*k, nil)
			flat := make([]float64, n*k)
			for a := range n {
				for i := range k {
					flat[a*k+i] = y.At(a, i)
					for b := range n {
						for j := range k {
							whole.SetSym(a*k+i, b*k+j, v.At(a, b)*sigma.At(i, j)/float64(n))
						}
					}
				}
			}
			law, ok := distmv.NewNormal(make([]float64, n*k), whole, nil)
			if !ok {
				t.Fatal("not positive")
			}
			return law.LogProb(flat)
		}
		for _, lambda := range []float64{0, 0.37, 1} {
			expect.Rel(t, "log-likelihood", expect.Must(tr.likelihood(values, lambda)), plain(lambda), 1e-10)
		}
		lambda, most, none, err := tr.mostLikely(values)
		if err != nil {
			t.Fatal(err)
		}
		expect.Rel(t, "log-likelihood of λ", most, plain(lambda), 1e-10)
		expect.Rel(t, "log-likelihood of 0", none, plain(0), 1e-10)
		for i := range 201 {
			if l := plain(float64(i) / 200); l > most+1e-6 {
				t.Errorf("log L is %g at λ = %g, and %g at %g", l, float64(i)/200, most, lambda)
			}
		}
		scaled := lists.Zeros(n, k)
		for a, row := range values {
			for j, x := range row {
				scaled[a][j] = 1e-9*x*float64(j*j*j*j*j*j*j*j*j) + x*1e-9
			}
		}
		other, _, _, err := tr.mostLikely(scaled)
		if err != nil {
			t.Fatal(err)
		}
		expect.Abs(t, "λ in other units", other, lambda, 1e-3)
	}
}

// Of values that have nothing to do with the tree the test finds 5 % at 5 %, within three standard errors. With the λ of the values in all draws, and
// with the components along which these covary most with the tree (M. Collyer and D. Adams, Methods Ecol. Evol. 12, 2021), as is published,
// it finds half of them. Under Brownian motion λ is near 1, and found.
func TestLambdaIsThatOfEachDraw(t *testing.T) {
	tr := expect.Must(Parse("((((A:1,B:1):1,(C:1,D:1):1):2,((E:1,F:1):1,(G:1,H:1):1):2):1,(((I:1,J:1):1,(K:1,L:1):1):2,((M:1,N:1):1,(O:1,P:1):1):2):1);"))
	rng := rand.New(rand.NewPCG(3, 4))
	shared := mat.NewDense(16, 16, slices.Concat(expect.Must(tr.Shared())...))
	const samples, draws = 200, 39
	own, aligned := 0., 0.
	for range samples {
		own += indicator(expect.Must(tr.Lambda(normal(rng, 16, 2), linear.Permutations{N: draws, Seed: rng.Uint64()})).P <= 0.05)
		var along, scores, axes mat.Dense
		y := mat.NewDense(16, 6, slices.Concat(normal(rng, 16, 6)...))
		for j := range 6 {
			mean := mat.Sum(y.ColView(j)) / 16
			y.Apply(func(_, c int, v float64) float64 { return v - mean*indicator(c == j) }, y)
		}
		along.Mul(shared, y)
		var svd mat.SVD
		if !svd.Factorize(&along, mat.SVDThin) {
			t.Fatal("no singular values")
		}
		svd.VTo(&axes)
		scores.Mul(y, axes.Slice(0, 6, 0, 2))
		values := slices.Collect(slices.Chunk(scores.RawMatrix().Data, 2))
		lambda, observed, _, err := tr.mostLikely(values)
		if err != nil {
			t.Fatal(err)
		}
		above := 1.
		for range draws {
			rng.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			above += indicator(expect.Must(tr.likelihood(values, lambda)) >= observed-1e-9)
		}
		aligned += indicator(above/(1+draws) <= 0.05)
	}
	expect.Abs(t, "share with p ≤ 0.05", own/samples, 0.05, 3*math.Sqrt(0.05*0.95/samples))
	if aligned/samples < 0.3 {
		t.Errorf("with aligned components %g of the samples have p ≤ 0.05", aligned/samples)
	}
	t.Logf("share with p ≤ 0.05: %.3f, with aligned components %.3f", own/samples, aligned/samples)
	found, sum := 0., 0.
	for range 20 {
		state := lists.Zeros(len(tr.Parent), 2)
		for i, p := range tr.Parent[1:] {
			for j := range state[i+1] {
				state[i+1][j] = state[p][j] + math.Sqrt(tr.Length[i+1])*rng.NormFloat64()
			}
		}
		var values [][]float64
		for _, i := range tr.Leaves() {
			values = append(values, state[i])
		}
		l := expect.Must(tr.Lambda(values, linear.Permutations{N: draws, Seed: rng.Uint64()}))
		found, sum = found+indicator(l.P <= 0.05), sum+l.Lambda
	}
	if found < 18 || sum/20 < 0.8 {
		t.Errorf("Brownian motion is found in %g of 20 samples, with a mean λ of %g", found, sum/20)
	}
}

func indicator(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

func TestLambdaRefuses(t *testing.T) {
	tr := expect.Must(Parse("((A:1,B:1):1,(C:1,D:1):1);"))
	p := linear.Permutations{N: 9, Seed: 1}
	rng := rand.New(rand.NewPCG(1, 2))
	expect.Refused(t, expect.Error(tr.Lambda(normal(rng, 4, 3), p)), "3 numbers for each of 4 leaves, want at most 2")
	expect.Refused(t, expect.Error(tr.Lambda([][]float64{{1, 2}, {2, 4}, {3, 6}, {5, 10}}, p)), "some values follow from the others")
	expect.Refused(t, expect.Error(tr.Lambda([][]float64{{1}, {1}, {1}, {1}}, p)), "some values follow from the others")
	expect.Refused(t, expect.Error(tr.Lambda(normal(rng, 3, 1), p)), "values of 3 leaves")
	expect.Refused(t, expect.Error(tr.Lambda(nil, p)), "values of 0 leaves")
	expect.Refused(t, expect.Error(tr.Lambda(normal(rng, 4, 1), linear.Permutations{})), "0 permutations")
	expect.Refused(t, expect.Error(tr.Lambda([][]float64{{1}, {math.NaN()}, {1}, {1}}, p)), `leaf "B": value 0 is missing`)
	// L − 1 numbers would have one likelihood.
	values := normal(rng, 4, 3)
	before := expect.Must(tr.likelihood(values, 0.7))
	values[0], values[2] = values[2], values[0]
	flat := expect.Must(Parse("(A:1,B:1,C:1,D:1);")) // all orders are as likely
	if none := expect.Must(flat.Lambda(normal(rng, 4, 1), linear.Permutations{N: 99, Seed: 1})); none.Lambda != 0 || none.P != 1 || !math.IsNaN(none.Effect.Z()) {
		t.Errorf("on a star: %v", none)
	}
	expect.Rel(t, "log-likelihood in another order", expect.Must(tr.likelihood(values, 0.7)), before, 1e-9)
}
