package tree

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stats/linear"
	"anatomy/internal/lists"
)

// grown is a tree of so many leaves whose root has two children, with lengths drawn at random.
func grown(rng *rand.Rand, leaves int) *Tree {
	t := &Tree{Parent: []int{-1}, Length: []float64{0}}
	open := []int{0}
	for len(open) < leaves {
		k := rng.IntN(len(open))
		i := open[k]
		open = append(open[:k], open[k+1:]...)
		for range 2 {
			open = append(open, len(t.Parent))
			t.Parent, t.Length = append(t.Parent, i), append(t.Length, 0.2+rng.ExpFloat64())
		}
	}
	t.Name = make([]string, len(t.Parent))
	for a, i := range t.Leaves() {
		t.Name[i] = string(rune('A'+a/26)) + string(rune('a'+a%26))
	}
	return t
}

// Weights of nodes make the predictions of Prune, also of leaves that are not known, and are shares.
func TestNodeWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	tree := grown(rng, 12)
	values, known := make([][]float64, 12), make([]bool, 12)
	for a := range values {
		values[a], known[a] = []float64{rng.NormFloat64(), rng.NormFloat64()}, a != 4
	}
	values[4] = []float64{math.NaN(), math.NaN()}
	weights, want := expect.Must(tree.NodeWeights(known)), expect.Must(tree.Prune(values)).Mean
	for i, w := range weights {
		if floats.Min(w) < 0 || math.Abs(floats.Sum(w)-1) > 1e-12 {
			t.Fatal(i, w)
		}
		got := make([]float64, 2)
		for a, x := range values {
			if a != 4 {
				floats.AddScaled(got, w[a], x)
			}
		}
		expect.Abs(t, "prediction", got, want[i], 1e-12)
	}
	expect.Abs(t, "root", expect.Must(tree.NodeWeights(nil))[0], expect.Must(tree.Weights()), 1e-12)
	expect.Refused(t, expect.Error(tree.NodeWeights(known[:3])), "3 leaves", "12")
}

// Simulated errors have the mean square that generalised least squares says, and their quantiles contain the true ancestors of new evolutions as
// often as they say.
func TestErrorsCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	tree := grown(rng, 30)
	inside, count, squares := 0.0, 0.0, 0.0
	for trial := range 60 {
		truth := lists.Zeros(len(tree.Parent), 8)
		for i := 1; i < len(truth); i++ {
			for j := range truth[i] {
				truth[i][j] = truth[tree.Parent[i]][j] + math.Sqrt(tree.Length[i]*float64(1+j))*rng.NormFloat64()
			}
		}
		var tips [][]float64
		for _, i := range tree.Leaves() {
			tips = append(tips, truth[i])
		}
		found := expect.Must(tree.Prune(tips))
		errs := expect.Must(tree.Errors(tips, linear.Permutations{N: 400, Seed: uint64(trial)}))
		for i, e := range errs {
			if found.Variance[i][0] == 0 {
				continue
			}
			ratio := math.Pow(floats.Norm(e, 2), 2) / 400 / (found.Variance[i][0] * floats.Sum(found.Rate))
			squares += ratio
			if count++; floats.Distance(found.Mean[i], truth[i], 2) <= e[380-1] {
				inside++
			}
		}
	}
	expect.Abs(t, "mean square by that of least squares", squares/count, 1, 0.03)
	expect.Abs(t, "share of true ancestors within the 95 % radius", inside/count, 0.95, 0.025)
}

// A leaf that is held out is within the 95 % radius of its prediction as often as that says.
func TestHeldOutLeaves(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	tree := grown(rng, 20)
	inside, count := 0.0, 0.0
	for trial := range 25 {
		truth := lists.Zeros(len(tree.Parent), 6)
		for i := 1; i < len(truth); i++ {
			for j := range truth[i] {
				truth[i][j] = truth[tree.Parent[i]][j] + math.Sqrt(tree.Length[i]*float64(1+j))*rng.NormFloat64()
			}
		}
		leaves := tree.Leaves()
		for a, leaf := range leaves {
			tips := make([][]float64, len(leaves))
			for b, i := range leaves {
				tips[b] = truth[i]
			}
			tips[a] = slices.Repeat([]float64{math.NaN()}, 6)
			errs := expect.Must(tree.Errors(tips, linear.Permutations{N: 200, Seed: uint64(trial)}))[leaf]
			if count++; floats.Distance(expect.Must(tree.Prune(tips)).Mean[leaf], truth[leaf], 2) <= errs[190-1] {
				inside++
			}
		}
	}
	expect.Abs(t, "share of held-out leaves within the 95 % radius", inside/count, 0.95, 0.035)
}

// Clades are called by their first and last leaves.
func TestClades(t *testing.T) {
	names, clades := expect.Must(Parse("(A:1,(B:1,C:1)bc:1):3;")).Clades()
	if names[0] != "A … C" || names[2] != "bc" || len(clades[2]) != 2 || clades[1][0] != "A" {
		t.Error(names, clades)
	}
}
