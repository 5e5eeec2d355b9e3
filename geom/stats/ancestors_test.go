package stats_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
)

const newick = "(((a:1,b:0.5):1,c:2):0.7,((d:1,e:2):0.3,(f:0.4,g:0.4,h:1):1.5):0.2);"

// In flat space both routes are generalised least squares at every node, and a leaf that is not known is predicted as there.
func TestAncestorsInFlatSpace(t *testing.T) {
	phylogeny := expect.Must(tree.Parse(newick))
	flat := geom.On(manifold.Euclidean(3))
	rng := rand.New(rand.NewPCG(1, 1))
	var samples []geom.Vec
	for range phylogeny.Leaves() {
		samples = append(samples, geom.Vec{rng.NormFloat64(), rng.NormFloat64(), 5 * rng.NormFloat64()})
	}
	want := expect.Must(phylogeny.Prune(samples)).Mean
	draws := linear.Permutations{N: 99, Seed: 1}
	found := expect.Must(stats.Ancestors(flat, phylogeny, samples, draws))
	means, errs := found.Points, expect.Must(phylogeny.Errors(samples, draws))
	for i, x := range expect.Must(stats.AncestorsByGeodesics(flat, phylogeny, samples)) {
		expect.Abs(t, "by geodesics", x, want[i], 1e-8)
		expect.Abs(t, "by weights", means[i], want[i], 1e-8)
		if !slices.Contains(phylogeny.Leaves(), i) {
			expect.Rel(t, "standard error", found.Errors.StandardError(i), errs.StandardError(i), 1e-6)
			expect.Rel(t, "radius", found.Errors.Radius(i, 0.95), errs.Radius(i, 0.95), 1e-6)
		}
	}
	samples[3] = nil
	gone := append([]geom.Vec{}, samples...)
	gone[3] = geom.Vec{math.NaN(), math.NaN(), math.NaN()}
	leaf := phylogeny.Leaves()[3]
	found = expect.Must(stats.Ancestors(flat, phylogeny, samples, draws))
	expect.Abs(t, "a leaf that is not known", found.Points[leaf], expect.Must(phylogeny.Prune(gone)).Mean[leaf], 1e-8)
	expect.Rel(t, "its radius", found.Errors.Radius(leaf, 0.95), expect.Must(phylogeny.Errors(gone, draws)).Radius(leaf, 0.95), 1e-6)
	expect.Refused(t, expect.Error(stats.AncestorsByGeodesics(flat, phylogeny, samples[1:])), "7 samples of 8 leaves")
	expect.Refused(t, expect.Error(stats.Ancestors(flat, expect.Must(tree.Parse("a;")), samples[:1], draws)), "one leaf")
}

// A leaf at the root is the ancestor, and of the others there are errors as anywhere.
func TestAncestorAtALeaf(t *testing.T) {
	phylogeny := expect.Must(tree.Parse("(a:0,(b:1,c:2):1);"))
	samples := []geom.Vec{{1, 0}, {0, 2}, {3, 3}}
	found := expect.Must(stats.Ancestors(geom.On(manifold.Euclidean(2)), phylogeny, samples, linear.Permutations{N: 99, Seed: 1}))
	want := expect.Must(phylogeny.Prune(samples))
	expect.Abs(t, "root", found.Points[0], samples[0], 1e-8)
	expect.Abs(t, "its error", found.Errors.StandardError(0), 0, 1e-12)
	expect.Abs(t, "inner node", found.Points[2], want.Mean[2], 1e-8)
	expect.Rel(t, "its error", found.Errors.StandardError(2), expect.Must(phylogeny.Errors(samples, linear.Permutations{N: 99, Seed: 1})).StandardError(2), 1e-6)
}

// On a sphere both routes agree to the order of curvature: a quarter of the spread gives a sixteenth of the difference, relative to the spread.
func TestAncestorsOnASphere(t *testing.T) {
	phylogeny := expect.Must(tree.Parse(newick))
	sphere := geom.On(manifold.Sphere(2))
	apart := func(spread float64) (far float64) {
		rng := rand.New(rand.NewPCG(2, 1))
		var samples []geom.Vec
		for range phylogeny.Leaves() {
			x := geom.Vec{spread * rng.NormFloat64(), spread * rng.NormFloat64(), 1}
			floats.Scale(1/floats.Norm(x, 2), x)
			samples = append(samples, x)
		}
		means := expect.Must(stats.Ancestors(sphere, phylogeny, samples, linear.Permutations{N: 1, Seed: 1})).Points
		for i, x := range expect.Must(stats.AncestorsByGeodesics(sphere, phylogeny, samples)) {
			far = math.Max(far, floats.Distance(x, means[i], 2)/spread)
		}
		return far
	}
	if wide, narrow := apart(0.2), apart(0.05); !(wide < 0.02) || !(narrow < wide/10) {
		t.Errorf("the routes are %.3g and %.3g of the spread apart", wide, narrow)
	}
}

// On landmarks every node is the Fréchet mean with its weights, which a search of its own finds, and so it is with noise. A chain of edges, a node of
// three children and an edge without length are part of the tree.
func TestAncestorsAreMeans(t *testing.T) {
	phylogeny := expect.Must(tree.Parse("((((a:1,b:0.5):1,c:2):0.7):0.1,((d:1,e:2):0.3,(f:0.4,g:0,h:1):1.5):0.2);"))
	const n, width = 7, 1.2
	space := landmarks.New(n, 2, kernels.Gaussian(width))
	rng := rand.New(rand.NewPCG(3, 1))
	var samples []geom.Shape
	for range phylogeny.Leaves() {
		var q geom.Shape
		for i := range n {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / n)
			q = append(q, []float64{1.5*cos + 0.15*rng.NormFloat64(), sin + 0.15*rng.NormFloat64()})
		}
		samples = append(samples, q)
	}
	samples[4] = nil
	known := lists.Each(samples, func(q geom.Shape) bool { return q != nil })
	weights := expect.Must(phylogeny.NodeWeights(known))
	given := slices.DeleteFunc(lists.Range(len(samples)), func(a int) bool { return !known[a] })
	for name, opts := range map[string][]stats.MeanOption{"default": nil, "exact": {stats.Tolerance(1e-8)}, "noise": {stats.RelativeNoise(0.1), stats.Tolerance(1e-6)}} {
		off := 1e-7
		if opts == nil {
			off = 5e-4 // 1e-3 of the spread
		}
		found := expect.Must(stats.Ancestors(space, phylogeny, samples, linear.Permutations{N: 9, Seed: 1}, opts...))
		expect.Must(found, found.Err())
		for i, w := range weights {
			if len(opts) != 1 && i%4 != 2 { // one with noise takes as long as all of them with exact geodesics
				continue
			}
			one := append(slices.Clone(opts), stats.Weights(lists.Pick(w, given)))
			want := expect.Must(stats.FrechetMean(space, lists.Pick(samples, given), one...))
			expect.Abs(t, fmt.Sprintf("%s, node %d", name, i), found.Points[i].Flat(), want.Point.Flat(), off)
		}
	}
}
