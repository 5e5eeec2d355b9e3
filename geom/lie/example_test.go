package lie_test

import (
	"fmt"
	"math"

	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/lie"
	"anatomy/geom/stats"
)

// The mean of rotations about z by 10°, 20° and 60°.
func ExampleGroup_LeftInvariant() {
	const degree = 0.017453292519943295
	G := lie.SO(3)
	M, err := G.LeftInvariant(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	space := geom.On(M)
	var samples [][]float64
	for _, angle := range []float64{10, 20, 60} {
		v, err := G.Tangent(0, 0, angle*degree)
		if err != nil {
			fmt.Println(err)
			return
		}
		g, err := space.Exp(G.Identity(), v)
		if err != nil {
			fmt.Println(err)
			return
		}
		samples = append(samples, g.End)
	}
	mean, err := stats.FrechetMean(space, samples)
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := space.Log(G.Identity(), mean.Point)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f°\n", g.Length/degree)
	// Output: 30.0000°
}

// A body that spins about its intermediate axis turns over, and keeps its momentum in space.
func ExampleMove() {
	G := lie.SO(3)
	M, err := G.LeftInvariant([][]float64{{1, 0, 0}, {0, 2, 0}, {0, 0, 3}})
	if err != nil {
		fmt.Println(err)
		return
	}
	m, err := lie.Move(geom.On(M), G.Identity(), []float64{0.01, 1, 0}, 16, 800)
	if err != nil {
		fmt.Println(err)
		return
	}
	lowest := 1.0
	for _, w := range m.Velocities {
		lowest = min(lowest, w[1])
	}
	first, last := m.Conserved[0], m.Conserved[800]
	fmt.Printf("spin from 1 to %.2f; momentum %.4f, then %.4f\n", lowest, first[:2], last[:2])
	// Output: spin from 1 to -1.00; momentum [0.0100 2.0000], then [0.0100 2.0000]
}

// Affine maps of the plane are matrices row by row: a stretch by 2 whose shift grows with it.
func ExampleAffine() {
	G := lie.Affine(2)
	out, err := engine.Run(func(xi *graph.Node) *graph.Node { return G.Exp(xi) }, []float64{math.Ln2, 0, 0, math.Ln2, math.Ln2, 0})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.2f\n", out.Flat(0))
	// Output: [2.00 0.00 1.00 0.00 2.00 0.00 0.00 0.00 1.00]
}
