package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"anatomy/geom"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/tree"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/mesh"
	"anatomy/landmarks/morpho"
	"anatomy/landmarks/population"
)

// spread is the standard deviation of a coordinate of the samples; on the sphere of radius 1, in radians.
const spread = 0.3

// random is the source of a simulation.
func (b *bench) random(simulation int) *rand.Rand {
	return rand.New(rand.NewPCG(b.seed, uint64(simulation)))
}

// onSphere is Exp of a tangent vector at the pole (0, 0, 1).
func onSphere(v []float64) []float64 {
	angle := math.Hypot(v[0], v[1])
	s := math.Sin(angle) / max(angle, 1e-300)
	return []float64{s * v[0], s * v[1], math.Cos(angle)}
}

func normal(random *rand.Rand, d int) []float64 {
	v := make([]float64, d)
	for j := range v {
		v[j] = spread * random.NormFloat64()
	}
	return v
}

// sizes counts how often tests reject a true null hypothesis at 5 %.
func sizes(b *bench) error {
	b.text("Each line: %d simulations of two groups from one distribution, %d permutations, 19 for the distance of the means; rejected at 5 %%, of interactions beside two effects that add up. *Largest T²*: the share in which any vertex has a p-value of 5 %% or less, which is corrected for all vertices.", b.simulations, b.permutations)
	b.header("test", "space", "groups", "rejected")
	flat := func(v []float64) []float64 { return v }
	for _, test := range []struct {
		statistic stats.Statistic
		name      string
		space     *geom.Space[geom.Vec]
		d         int
		point     func(v []float64) []float64
		sizes     [][2]int
	}{
		{stats.MeanDistance, "R²", geom.On(manifold.Euclidean(2)), 2, flat, [][2]int{{3, 30}}},
		{stats.TangentMeanDistance, "R²", geom.On(manifold.Euclidean(2)), 2, flat, [][2]int{{3, 30}, {15, 15}}},
		{stats.TangentMeanDistance, "S²", geom.On(manifold.Sphere(2)), 2, onSphere, [][2]int{{3, 30}, {15, 15}}},
		{stats.Dispersion, "R²", geom.On(manifold.Euclidean(2)), 2, flat, [][2]int{{3, 30}, {5, 30}, {2, 10}, {15, 15}}},
		{stats.Dispersion, "R¹⁰", geom.On(manifold.Euclidean(10)), 10, flat, [][2]int{{3, 30}, {5, 30}, {2, 10}, {15, 15}}},
		{stats.Dispersion, "S²", geom.On(manifold.Sphere(2)), 2, onSphere, [][2]int{{3, 30}, {5, 30}, {2, 10}, {15, 15}}},
	} {
		for _, n := range test.sizes {
			permutations := b.permutations
			if test.statistic == stats.MeanDistance {
				permutations = 19 // two means each
			}
			rejected := 0
			for k := range b.simulations {
				random := b.random(k)
				draw := func(n int) [][]float64 {
					x := make([][]float64, n)
					for i := range x {
						x[i] = test.point(normal(random, test.d))
					}
					return x
				}
				c, err := stats.PermutationTest(test.space, draw(n[0]), draw(n[1]), test.statistic, permutations, uint64(k))
				if err != nil {
					return fmt.Errorf("%s, %s, groups of %d and %d, simulation %d: %w", test.statistic, test.name, n[0], n[1], k, err)
				}
				if c.P <= 0.05 {
					rejected++
				}
			}
			b.row("%s | %s | %d/%d | %s", test.statistic, test.name, n[0], n[1], share(rejected, b.simulations))
		}
	}
	for _, n := range [][2]int{{3, 30}, {15, 15}} {
		rejected := [2]int{}
		for k := range b.simulations {
			random := b.random(k)
			d := &morpho.Dataset{Name: "noise"}
			for i := range n[0] + n[1] {
				group := "a"
				if i >= n[0] {
					group = "b"
				}
				x := fmt.Sprint(random.NormFloat64())
				d.Specimens = append(d.Specimens, morpho.Specimen{Name: fmt.Sprint(i), Group: group, Covariates: map[string]string{"x": x}, Points: square(random, 0, 0)})
			}
			a, err := morpho.ProcrustesANOVA(d, b.permutations, uint64(k), morpho.Factor("group"), morpho.Variate("x"))
			if err != nil {
				return fmt.Errorf("analysis of variance, simulation %d: %w", k, err)
			}
			for term := range rejected {
				if a.Rows[term].P <= 0.05 {
					rejected[term]++
				}
			}
		}
		for term, name := range []string{"group", "covariate"} {
			b.row("Procrustes analysis of variance, %s | shapes of 4 landmarks | %d/%d | %s", name, n[0], n[1], share(rejected[term], b.simulations))
		}
	}
	if err := interactions(b); err != nil {
		return err
	}
	if err := pooled(b); err != nil {
		return err
	}
	if err := regions(b); err != nil {
		return err
	}
	return signals(b)
}

// square is one with noise, stretched and sheared: displacements that are orthogonal to each other and to similarities.
func square(random *rand.Rand, stretch, shear float64) [][]float64 {
	points := [][]float64{{0, 0}, {1, 0}, {1, 1}, {0, 1}}
	for _, p := range points {
		x, y := p[0]-0.5, p[1]-0.5
		p[0] += stretch*x + shear*y + 0.05*random.NormFloat64()
		p[1] += shear*x - stretch*y + 0.05*random.NormFloat64()
	}
	return points
}

// interactions tests for one between effects that add up: of the group, and of a second factor or a variate.
func interactions(b *bench) error {
	for _, c := range []struct {
		name  string
		term  morpho.Term
		cells [2][2]int // specimens by group and site
	}{
		{"site", morpho.Factor("site"), [2][2]int{{10, 10}, {10, 10}}},
		{"site", morpho.Factor("site"), [2][2]int{{3, 12}, {5, 30}}},
		{"x", morpho.Variate("x"), [2][2]int{{15, 0}, {15, 0}}},
		{"x", morpho.Variate("x"), [2][2]int{{5, 0}, {30, 0}}},
	} {
		rejected := 0
		for k := range b.simulations {
			random := b.random(k)
			d := &morpho.Dataset{Name: "noise"}
			for group, sites := range c.cells {
				for site, n := range sites {
					for range n {
						x := float64(2*site - 1)
						if c.name == "x" {
							x = random.NormFloat64()
						}
						d.Specimens = append(d.Specimens, morpho.Specimen{
							Name: fmt.Sprint(len(d.Specimens)), Group: fmt.Sprint("group ", group),
							Covariates: map[string]string{"site": fmt.Sprint("site ", site), "x": fmt.Sprint(x)},
							Points:     square(random, 0.07*float64(2*group-1), 0.07*x),
						})
					}
				}
			}
			group := morpho.Factor("group")
			a, err := morpho.ProcrustesANOVA(d, b.permutations, uint64(k), group, c.term, morpho.Interaction(group, c.term))
			if err != nil {
				return fmt.Errorf("interaction, simulation %d: %w", k, err)
			}
			if a.Rows[2].P <= 0.05 {
				rejected++
			}
		}
		groups := fmt.Sprintf("%d/%d", c.cells[0][0], c.cells[1][0])
		if c.name == "site" {
			groups = fmt.Sprintf("%d+%d/%d+%d", c.cells[0][0], c.cells[0][1], c.cells[1][0], c.cells[1][1])
		}
		b.row("Procrustes analysis of variance, group:%s | shapes of 4 landmarks | %s | %s", c.name, groups, share(rejected, b.simulations))
	}
	return nil
}

// pooled tests the tangent distance of means with Mismatch, of landmarks with noise, in a tenth of the simulations.
func pooled(b *bench) error {
	s := geom.On(landmarks.Manifold{N: 5, D: 2, Kernel: kernels.Gaussian(0.8)}, geom.Integrator(ode.RK4, 5))
	rejected, simulations := 0, max(1, b.simulations/10)
	n := [2]int{3, 12}
	for k := range simulations {
		random := b.random(k)
		draw := func(n int) (x [][]float64) {
			for range n {
				x = append(x, pentagon(random))
			}
			return x
		}
		c, err := stats.PermutationTest(s, draw(n[0]), draw(n[1]), stats.TangentMeanDistance, b.permutations, uint64(k), stats.Mismatch(0.3))
		if err != nil {
			return fmt.Errorf("landmarks with mismatch, simulation %d: %w", k, err)
		}
		if c.P <= 0.05 {
			rejected++
		}
	}
	b.row("%s, Mismatch 0.3 | 5 landmarks | %d/%d, %d simulations | %s", stats.TangentMeanDistance, n[0], n[1], simulations, share(rejected, simulations))
	return nil
}

// regions tests where on a template groups differ: a ring of 12 vertices, moved by three smooth waves and noise.
func regions(b *bench) error {
	const vertices, waves = 12, 3
	ring := func(move func(v int) (x, y float64)) []*mesh.Mesh {
		m := &mesh.Mesh{}
		for v := range vertices {
			sin, cos := math.Sincos(2 * math.Pi * float64(v) / vertices)
			x, y := move(v)
			m.Vertices = append(m.Vertices, []float64{cos + x, sin + y})
		}
		return []*mesh.Mesh{m}
	}
	for _, n := range [][2]int{{2, 10}, {3, 30}, {15, 15}} {
		rejected := 0
		for k := range b.simulations {
			random := b.random(k)
			a := &population.Atlas{Template: ring(func(int) (x, y float64) { return 0, 0 })}
			group := make([]bool, n[0]+n[1])
			for i := range group {
				group[i] = i < n[0]
				wave := normal(random, 2*waves)
				a.Deformed = append(a.Deformed, ring(func(v int) (x, y float64) {
					for j := range waves {
						c := math.Cos(2 * math.Pi * float64(j*v) / vertices)
						x, y = x+wave[2*j]*c, y+wave[2*j+1]*c
					}
					noise := normal(random, 2)
					return x + noise[0]/5, y + noise[1]/5
				}))
			}
			d, err := a.Compare(group, b.permutations, uint64(k))
			if err != nil {
				return fmt.Errorf("groups on a template, simulation %d: %w", k, err)
			}
			if d.Least <= 0.05 {
				rejected++
			}
		}
		b.row("largest T² on a template | ring of %d vertices | %d/%d | %s", vertices, n[0], n[1], share(rejected, b.simulations))
	}
	return nil
}

// signals tests for phylogenetic signal where there is none.
func signals(b *bench) error {
	for _, leaves := range []int{6, 20} {
		rejected := 0
		for k := range b.simulations {
			random := b.random(k)
			t, err := grown(random, leaves)
			if err != nil {
				return err
			}
			values := make([][]float64, leaves)
			for i := range values {
				values[i] = normal(random, 3)
			}
			signal, err := t.Signal(values, b.permutations, uint64(k))
			if err != nil {
				return fmt.Errorf("phylogenetic signal, simulation %d: %w", k, err)
			}
			if signal.P <= 0.05 {
				rejected++
			}
		}
		b.row("phylogenetic signal | R³ | %d leaves | %s", leaves, share(rejected, b.simulations))
	}
	return nil
}

// grown is a tree in which leaves split at random, with exponential lengths.
func grown(random *rand.Rand, leaves int) (*tree.Tree, error) {
	parent, length := []int{-1}, []float64{0}
	tips := []int{0}
	for len(tips) < leaves {
		k := random.IntN(len(tips))
		from := tips[k]
		tips = append(tips[:k], tips[k+1:]...)
		for range 2 {
			tips = append(tips, len(parent))
			parent, length = append(parent, from), append(length, random.ExpFloat64())
		}
	}
	name := make([]string, len(parent))
	for i := range name {
		name[i] = fmt.Sprint(i)
	}
	return tree.New(parent, length, name)
}
