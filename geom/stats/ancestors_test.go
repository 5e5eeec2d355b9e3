package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
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
	means, errs := found.Nodes, expect.Must(phylogeny.Errors(samples, draws))
	for i, x := range expect.Must(stats.AncestorsByGeodesics(flat, phylogeny, samples)) {
		expect.Abs(t, "by geodesics", x, want[i], 1e-8)
		if means[i] != nil {
			expect.Abs(t, "by weights", means[i].Point, want[i], 1e-8)
			expect.Rel(t, "standard error", found.Errors.StandardError(i), errs.StandardError(i), 1e-6)
			expect.Rel(t, "radius", found.Errors.Radius(i, 0.95), errs.Radius(i, 0.95), 1e-6)
		}
	}
	samples[3] = nil
	gone := append([]geom.Vec{}, samples...)
	gone[3] = geom.Vec{math.NaN(), math.NaN(), math.NaN()}
	leaf := phylogeny.Leaves()[3]
	found = expect.Must(stats.Ancestors(flat, phylogeny, samples, draws))
	expect.Abs(t, "a leaf that is not known", found.Nodes[leaf].Point, expect.Must(phylogeny.Prune(gone)).Mean[leaf], 1e-8)
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
	expect.Abs(t, "root", found.Nodes[0].Point, samples[0], 1e-8)
	expect.Abs(t, "its error", found.Errors.StandardError(0), 0, 1e-12)
	expect.Abs(t, "inner node", found.Nodes[2].Point, want.Mean[2], 1e-8)
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
		means := expect.Must(stats.Ancestors(sphere, phylogeny, samples, linear.Permutations{N: 1, Seed: 1})).Nodes
		for i, x := range expect.Must(stats.AncestorsByGeodesics(sphere, phylogeny, samples)) {
			if means[i] != nil {
				far = math.Max(far, floats.Distance(x, means[i].Point, 2)/spread)
			}
		}
		return far
	}
	if wide, narrow := apart(0.2), apart(0.05); !(wide < 0.02) || !(narrow < wide/10) {
		t.Errorf("the routes are %.3g and %.3g of the spread apart", wide, narrow)
	}
}
