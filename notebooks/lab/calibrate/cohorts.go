package main

import (
	"math/rand/v2"
	"slices"

	"anatomy/geom"
	"anatomy/geom/guided"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// cohorts does so for regressions by age: individuals that were seen once or more often, and grow by geodesic motion with noise in their
// momenta from one shape.
func cohorts(b *bench) {
	const steps, root, momentum = 4, 0.3, 0.6
	cohort := try.Get(tree.Cohort([]float64{0.4, 0.7, 1, 0.3, 0.9, 0.2, 0.8}, []string{"a", "a", "a", "b", "b", "c", "d"}))
	process := try.Get(landmarks.New(2, 2, kernels.Gaussian(1)).Langevin(geom.Shape{{0, 0}, {0.8, 0}}, geom.Shape{{0.5, 0}, {0, 0.5}}, 0, 1))
	process.Scheme = ode.EulerMaruyama // of which the model is made; the noise is additive
	deviation, noise := guided.LogNormal(0.3, 0.4), guided.LogNormal(0.05, 0.4)
	source := rand.NewPCG(b.seed, 6)
	rng := rand.New(source)
	about := func(x geom.Shape, by float64) geom.Shape {
		y := slices.Clone(shape.Flat(x))
		for a := range y {
			y[a] += by * rng.NormFloat64()
		}
		return shape.Like(x, y)
	}
	data, truths := make([]guided.Observations[geom.Shape], b.cohorts), make([][]float64, b.cohorts)
	for k := range data {
		one, strength, errors := process, deviation.Draw(source), noise.Draw(source)
		q, p := about(process.Start, root), about(process.Parts[0].Vectors[0], momentum)
		one.Start, one.Params = q, []any{0.0, strength}
		one.Parts = []stochastic.Part[geom.Shape]{{Kind: geom.Covector, Vectors: []geom.Shape{p}}}
		nodes := try.Get(one.Along(cohort, stochastic.Run{Paths: 1, Steps: steps, Seed: b.seed + uint64(k)}))
		data[k].Noise = 0.05
		for _, i := range cohort.Leaves() {
			data[k].Leaves = append(data[k].Leaves, about(nodes[i][0], errors))
		}
		truths[k] = []float64{strength, errors, q[0][0], p[1][1]}
	}
	posts := try.Get(guided.SampleAll(process, cohort, data, guided.Options{Steps: steps, Root: root, RootParts: []float64{momentum}, Chains: 2, Warmup: 80, Draws: 200, Seed: b.seed,
		Unknown: []guided.Unknown{guided.Param(1, "deviation", deviation), guided.Noise(noise)}}))
	r := newRanks("deviation", "errors", "shape at age 0, landmark 0 in x", "momentum at age 0, landmark 1 in y")
	for k, post := range posts {
		place, moving := make([][]float64, len(post.Log)), make([][]float64, len(post.Log))
		for c := range place {
			for i, q := range post.Nodes[0][c] {
				place[c], moving[c] = append(place[c], q[0][0]), append(moving[c], post.Parts[0][c][i][0][1][1])
			}
		}
		r.add(rng, truths[k], [][][]float64{post.Unknown[0].Draws, post.Unknown[1].Draws, place, moving})
	}
	r.table(b, "simulated cohorts of 4 individuals with 2 landmarks, observed 7 times at ages up to 1: geodesic motion with noise in the momenta and observation noise")
}
