package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"anatomy/geom"
	"anatomy/geom/guided"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/geom/try"
)

// factors holds metrics of SO(3), and start and frame of normal distributions on the sphere, which were inferred from samples, against
// those from which the samples were drawn: ranks of the posterior, and how often intervals around the maximum of the likelihood hold
// the truth.
func factors(b *bench) {
	const samples, steps, noise, root = 20, 8, 0.02, 0.3
	t := try.Get(tree.Star(samples, 1))
	sphere, north := geom.On(manifold.Sphere(2)), geom.Vec{0, 0, 1}
	group := lie.SO(3)
	rotations := geom.On(try.Get(group.LeftInvariant(nil)))
	for _, of := range []struct {
		name    string
		process stochastic.Process[geom.Vec]
		root    float64
	}{
		{"metrics of SO(3), as the factor L of the inverse of A", try.Get(lie.Brownian(rotations, group.Identity())), 0},
		{"normal distributions on S², as start and the factor L of the covariance", stochastic.Development(sphere, north, geom.Vec{1, 0, 0}, geom.Vec{0, 1, 0}), root},
	} {
		source := rand.NewPCG(b.seed, 7)
		rng := rand.New(source)
		unit, unknown, priors, names := factor(of.process.Noise)
		process := try.Get(stochastic.Correlated(of.process, unit))
		data, truths := make([]guided.Observations[geom.Vec], b.factors), make([][]float64, b.factors)
		for k := range data {
			one := process
			one.Params = append([]any{}, process.Params...)
			for j, prior := range priors {
				x := prior.Draw(source)
				one.Params[j], truths[k] = x, append(truths[k], x)
			}
			if of.root > 0 {
				startAt(&one, of.root*rng.NormFloat64(), of.root*rng.NormFloat64())
				truths[k] = append(truths[k], one.Start[0], one.Start[1])
			}
			data[k].Noise = noise
			for _, z := range try.Get(one.Sample(stochastic.Run{Paths: samples, Steps: 4 * steps, Seed: b.seed + uint64(k)})) {
				for a := range z {
					z[a] += noise * rng.NormFloat64()
				}
				data[k].Leaves = append(data[k].Leaves, z)
			}
		}
		posts := try.Get(guided.SampleAll(process, t, data, guided.Options{Unknown: unknown, Root: of.root, Steps: steps, Chains: 2, Warmup: 120, Draws: 500, Seed: b.seed}))
		if of.root > 0 {
			names = append(names, "start in x", "start in y")
		}
		r := newRanks(names...)
		held, found := make([]int, len(priors)), 0
		for k, post := range posts {
			var draws [][][]float64
			for _, u := range post.Unknown {
				draws = append(draws, u.Draws)
			}
			for a := range names[len(priors):] {
				place := make([][]float64, len(post.Nodes[0]))
				for c, chain := range post.Nodes[0] {
					for _, z := range chain {
						place[c] = append(place[c], z[a])
					}
				}
				draws = append(draws, place)
			}
			r.add(rng, truths[k], draws)
			if inside := holds(post, truths[k]); inside != nil {
				found++
				for j, in := range inside {
					if in {
						held[j]++
					}
				}
			}
		}
		r.table(b, fmt.Sprintf("%s, from %d samples each", of.name, samples))
		b.text("The next table has how often an interval of 1.96 standard errors around the maximum of the likelihood holds the truth. A maximum was found for %d of %d.", found, len(posts))
		b.header("unknown", "share")
		for j := range priors {
			b.row("%s | %.3f", names[j], float64(held[j])/float64(found))
		}
	}
}

// holds says of every unknown whether 1.96 standard errors around the maximum of the likelihood hold the truth; nil if there is no maximum.
func holds(post *guided.Posterior[geom.Vec], truth []float64) (inside []bool) {
	maximum, err := post.MaximumLikelihood()
	if err != nil {
		return nil
	}
	for j, u := range post.Unknown {
		off := maximum.Values[j] - truth[j]
		if !u.Signed {
			off = math.Log(maximum.Values[j] / truth[j])
		}
		inside = append(inside, math.Abs(off) <= 1.96*maximum.StandardErrors[j])
	}
	return inside
}

// factor is the lower triangle of an m×m matrix, as unknowns, at the unit matrix.
func factor(m int) (unit [][]float64, unknown []guided.Unknown, priors []guided.Prior, names []string) {
	unit = make([][]float64, m)
	for i := range m {
		unit[i] = make([]float64, m)
		unit[i][i] = 1
		for j := range i + 1 {
			prior := guided.LogNormal(0.3, 0.3)
			if j < i {
				prior = guided.Normal(0, 0.1)
			}
			names = append(names, fmt.Sprintf("L%d%d", i+1, j+1))
			unknown, priors = append(unknown, guided.Param(len(priors), names[len(names)-1], prior)), append(priors, prior)
		}
	}
	return unit, unknown, priors, names
}

// startAt makes a development on the sphere start at the point with the coordinates (x, y) in the chart at the north pole, with the
// frame of these coordinates.
func startAt(p *stochastic.Process[geom.Vec], x, y float64) {
	q := 1 + (x*x+y*y)/4
	p.Start = geom.Vec{x / q, y / q, (2 - q) / q}
	frame := make([]geom.Vec, 2)
	for a, d := range [][2]float64{{1, 0}, {0, 1}} {
		dq := (x*d[0] + y*d[1]) / 2
		frame[a] = geom.Vec{d[0]/q - x*dq/(q*q), d[1]/q - y*dq/(q*q), -2 * dq / (q * q)}
	}
	p.Parts = []stochastic.Part[geom.Vec]{{Kind: geom.Vector, Vectors: frame}}
}
