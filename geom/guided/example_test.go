package guided_test

import (
	"fmt"
	"math"

	"anatomy/geom"
	"anatomy/geom/guided"
	"anatomy/geom/tree"
	"anatomy/kernels"
	"anatomy/landmarks"
)

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
