package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/stats/linear"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/landmarks/morpho"
	simulated "anatomy/notebooks/lab/recovery"
)

// random is the source of a simulation.
func (b *bench) random(simulation int) *rand.Rand {
	return rand.New(rand.NewPCG(b.seed, uint64(simulation)))
}

// drawing are the Permutations of a test in a simulation.
func (b *bench) drawing(simulation int) linear.Permutations {
	return linear.Permutations{N: b.permutations, Seed: uint64(simulation)}
}

// labels are the groups 0, 1, … of so many samples each.
func labels(sizes ...int) (group []string) {
	for g, n := range sizes {
		group = append(group, slices.Repeat([]string{fmt.Sprint(g)}, n)...)
	}
	return group
}

// spread is the standard deviation of a coordinate of the samples; on the sphere of radius 1, in radians.
const spread = 0.3

func normal(random *rand.Rand, d int) []float64 { return gaussian(d, spread)(random) }

func gaussian(n int, sd float64) func(random *rand.Rand) []float64 {
	return func(random *rand.Rand) []float64 {
		return lists.Make(n, func(int) float64 { return sd * random.NormFloat64() })
	}
}

// onSphere is Exp of a tangent vector at the pole (0, 0, 1).
func onSphere(v []float64) []float64 {
	angle := math.Hypot(v[0], v[1])
	s := math.Sin(angle) / max(angle, 1e-300)
	return []float64{s * v[0], s * v[1], math.Cos(angle)}
}

// turned is a point of the sphere turned about the second axis.
func turned(z []float64, angle float64) []float64 {
	sin, cos := math.Sincos(angle)
	return []float64{cos*z[0] + sin*z[2], z[1], cos*z[2] - sin*z[0]}
}

// square is one with noise, stretched and sheared: displacements that are orthogonal to each other and to similarities.
func square(random *rand.Rand, stretch, shear float64) geom.Shape {
	return simulated.Noisy(random, lists.Each(corners, func(p []float64) []float64 {
		x, y := p[0]-0.5, p[1]-0.5
		return []float64{p[0] + stretch*x + shear*y, p[1] + shear*x - stretch*y}
	}), 0.05)
}

var (
	corners = geom.Shape{{0, 0}, {1, 0}, {1, 1}, {0, 1}}
	face    = geom.Shape{{0, 3}, {0, -3}, {1, 2}, {-1, 2}, {2, 0}, {-2, 0}, {1.5, -2}, {-1.5, -2}}
)

// ring is a regular polygon.
func ring(n int) geom.Shape {
	return lists.Make(n, func(i int) []float64 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		return []float64{cos, sin}
	})
}

// pentagon is a regular one with noise, as a list of numbers.
func pentagon(random *rand.Rand) []float64 {
	return simulated.Noisy(random, [][]float64{ring(5).Flat()}, 0.3)[0]
}

// add adds a specimen of a group, with covariates: each name with its value behind it.
func add(d *morpho.Dataset, group string, points geom.Shape, covariates ...any) {
	s := morpho.Specimen{Name: fmt.Sprint(len(d.Specimens)), Group: group, Points: points, Covariates: map[string]string{}}
	for k := 0; k < len(covariates); k += 2 {
		s.Covariates[covariates[k].(string)] = fmt.Sprint(covariates[k+1])
	}
	d.Specimens = append(d.Specimens, s)
}

// onLeaves are species: of says points and covariates of leaf a, which is node i.
func onLeaves(t *tree.Tree, of func(a, i int) (points geom.Shape, covariates []any)) *morpho.Dataset {
	d := &morpho.Dataset{Name: "species"}
	for a, i := range t.Leaves() {
		points, covariates := of(a, i)
		add(d, "", points, covariates...)
		d.Specimens[a].Name = t.Name[i]
	}
	return d
}

// grown is a tree in which leaves split at random, with exponential lengths.
func grown(random *rand.Rand, leaves int) *tree.Tree {
	parent, length := []int{-1}, []float64{0}
	tips := []int{0}
	for len(tips) < leaves {
		k := random.IntN(len(tips))
		from := tips[k]
		tips = slices.Delete(tips, k, k+1)
		for range 2 {
			tips = append(tips, len(parent))
			parent, length = append(parent, from), append(length, random.ExpFloat64())
		}
	}
	return try.Get(tree.New(parent, length, lists.Make(len(parent), func(i int) string { return fmt.Sprint(i) })))
}

// evolved grows a tree of 24 species, along which rings of points evolve at one rate, and each second point besides with the others of these, and returns the
// points at its nodes.
func evolved(random *rand.Rand, points int, together float64) (*tree.Tree, []geom.Shape) {
	phylogeny := grown(random, 24)
	nodes := make([]geom.Shape, len(phylogeny.Parent))
	nodes[0] = ring(points)
	for i, parent := range phylogeny.Parent[1:] {
		step, common := math.Sqrt(phylogeny.Length[i+1]), 0.0
		if together > 0 {
			common = together * step * random.NormFloat64()
		}
		nodes[i+1] = simulated.Noisy(random, nodes[parent], 0.03*step)
		for l := 1; l < points; l += 2 {
			nodes[i+1][l][0] += common
		}
	}
	return phylogeny, nodes
}

// along is a row that was drawn, with multiples of others.
func along(row []float64, by float64, effect []float64) []float64 {
	floats.AddScaled(row, by, effect)
	return row
}
