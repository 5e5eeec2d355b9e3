package guided_test

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/guided"
	"anatomy/geom/tree"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// Triangles at six ages: the shape at age 0 and the momentum with which it grows, where every one deviates by a noise of its own.
func ExampleSample_regression() {
	rest := geom.Shape{{0, 0}, {0, 0}, {0, 0}}
	start, ages := geom.Shape{{0, 0}, {1, 0}, {0.5, 0.8}}, []float64{0.2, 0.3, 0.5, 0.6, 0.8, 1}
	var seen []geom.Shape
	for _, t := range ages {
		seen = append(seen, geom.Shape{{-0.3 * t, 0}, {1 + 0.3*t, 0.02}, {0.5, 0.8 + 0.4*t}})
	}
	growth, err := landmarks.New(3, 2, kernels.Gaussian(0.5)).Langevin(start, rest, 0, 0.1)
	if err != nil {
		fmt.Println(err)
		return
	}
	cohort, err := tree.Cohort(ages, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	post, err := guided.Sample(growth, cohort, guided.Observations[geom.Shape]{Leaves: seen, Noise: 0.03},
		guided.Options{Root: 0.2, RootParts: []float64{1}, Steps: 4, Warmup: 20, Draws: 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	var up []float64
	for _, chain := range post.Parts[0] {
		for _, parts := range chain {
			up = append(up, parts[0][2][1]) // of landmark 2, in y
		}
	}
	mean, deviation := stat.MeanStdDev(up, nil)
	fmt.Println("the momentum goes up:", mean > 3*deviation)
	// Output:
	// the momentum goes up: true
}

// A triangle evolved along two edges from an ancestor that is not known, and its rate neither.
func ExampleSample() {
	ancestor := geom.Shape{{0, 0}, {1, 0}, {0.5, 0.8}}
	flow, err := landmarks.New(3, 2, kernels.Gaussian(0.6)).Kunita(ancestor, 1, 0.1)
	if err != nil {
		fmt.Println(err)
		return
	}
	t, err := tree.New([]int{-1, 0, 0}, []float64{0, 1, 0.5}, []string{"", "long", "short"})
	if err != nil {
		fmt.Println(err)
		return
	}
	post, err := guided.Sample(flow, t, guided.Observations[geom.Shape]{
		Leaves: []geom.Shape{{{0.2, -0.1}, {1.4, 0.2}, {0.4, 1.1}}, {{-0.1, 0.1}, {1.1, 0.1}, {0.6, 0.9}}},
		Noise:  0.02,
	}, guided.Options{
		Unknown: []guided.Unknown{guided.Rate(guided.LogNormal(1, 0.7))},
		Root:    0.3, Steps: 5, Warmup: 40, Draws: 60, Seed: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	rate := post.Unknown[0]
	fmt.Println(rate.Name, "between 0.2 and 5:", math.Abs(math.Log(rate.Mean)) < math.Log(5))
	fmt.Println(post.Status, "after", len(rate.Draws[0]), "draws of", len(rate.Draws), "chains")
	// Output:
	// rate between 0.2 and 5: true
	// iteration limit after 60 draws of 4 chains
}
