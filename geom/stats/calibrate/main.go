// Command calibrate counts how often the permutation tests of package stats reject a true null hypothesis: the size of the
// test, which is to be what it is said to be. It takes minutes, too long for the tests of every change.
//
//	go run ./geom/stats/calibrate -simulations 1000
//
// The two groups of every simulation are drawn from one normal distribution of the standard deviation -sd: in flat space, and
// on the sphere in the tangent space at a pole, whose exponential map takes them to the sphere. A line holds the space, the
// sizes of the groups and the share of simulations with P ≤ 0.05, with its standard error.
package main

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"anatomy/geom"
	"anatomy/geom/manifold"
	"anatomy/geom/stats"
)

func main() {
	simulations := flag.Int("simulations", 1000, "simulations a line")
	permutations := flag.Int("permutations", 199, "permutations of every test")
	sd := flag.Float64("sd", 0.3, "standard deviation of a coordinate; on the sphere of radius 1, in radians")
	seed := flag.Uint64("seed", 1, "seed of the simulations")
	flag.Parse()
	if err := table(*simulations, *permutations, *sd, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "calibrate:", err)
		os.Exit(1)
	}
}

func table(simulations, permutations int, sd float64, seed uint64) error {
	flat := func(d int) func(v []float64) []float64 { return func(v []float64) []float64 { return v[:d] } }
	round := func(v []float64) []float64 {
		angle := math.Hypot(v[0], v[1])
		s := math.Sin(angle) / max(angle, 1e-300)
		return []float64{s * v[0], s * v[1], math.Cos(angle)}
	}
	for _, where := range []struct {
		name  string
		space *geom.Space[geom.Vec]
		point func(v []float64) []float64
	}{
		{"R^2", geom.On(manifold.Euclidean(2)), flat(2)},
		{"R^10", geom.On(manifold.Euclidean(10)), flat(10)},
		{"sphere", geom.On(manifold.Sphere(2)), round},
	} {
		for _, sizes := range [][2]int{{3, 30}, {5, 30}, {2, 10}, {15, 15}} {
			for _, statistic := range []stats.Statistic{stats.Dispersion, stats.TangentMeanDistance} {
				rejected := 0
				for k := range simulations {
					random := rand.New(rand.NewPCG(seed, uint64(k)))
					draw := func(n int) [][]float64 {
						x := make([][]float64, n)
						for i := range x {
							v := make([]float64, 10)
							for j := range v {
								v[j] = sd * random.NormFloat64()
							}
							x[i] = where.point(v)
						}
						return x
					}
					test, err := stats.PermutationTest(where.space, draw(sizes[0]), draw(sizes[1]), statistic, permutations, uint64(k))
					if err != nil {
						return fmt.Errorf("%s, groups of %d and %d, simulation %d: %w", where.name, sizes[0], sizes[1], k, err)
					}
					if test.P <= 0.05 {
						rejected++
					}
				}
				share := float64(rejected) / float64(simulations)
				fmt.Printf("%-7s %2d/%-2d %-30s %.3f ± %.3f\n", where.name, sizes[0], sizes[1], statistic, share, math.Sqrt(share*(1-share)/float64(simulations)))
			}
		}
	}
	return nil
}
