package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"anatomy/geom"
	"anatomy/geom/guided"
	"anatomy/geom/stats/chains"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// flowed is a simulated evolution by Kunita's flow with a Gaussian kernel: what is known of it, and what was seen.
type flowed struct {
	width, amplitude float64
	nodes            []geom.Shape
}

// evolve draws the unknowns and the states of the nodes, step by step, without the compiled functions that are tested.
func evolve(rng *rand.Rand, t *tree.Tree, mean geom.Shape, root float64, steps int, width, amplitude guided.Prior) flowed {
	f := flowed{width.Draw(rng), amplitude.Draw(rng), make([]geom.Shape, len(t.Parent))}
	n, d := len(mean), len(mean[0])
	for i := range t.Parent {
		x := mat.NewDense(n, d, nil)
		from := mean
		if i > 0 {
			from = f.nodes[t.Parent[i]]
		}
		for j := range from {
			x.SetRow(j, from[j])
		}
		noise := func(deviation float64) *mat.Dense {
			z := mat.NewDense(n, d, nil)
			for j := range n {
				for a := range d {
					z.Set(j, a, deviation*rng.NormFloat64())
				}
			}
			return z
		}
		if i == 0 {
			x.Add(x, noise(root))
		} else {
			h := t.Length[i] / float64(steps)
			for range steps {
				k := mat.NewSymDense(n, nil)
				for a := range n {
					for b := a; b < n; b++ {
						s := 0.0
						for c := range d {
							s += math.Pow((x.At(a, c)-x.At(b, c))/f.width, 2)
						}
						k.SetSym(a, b, f.amplitude*math.Exp(-s/2))
					}
				}
				var chol mat.Cholesky
				chol.Factorize(k)
				var l mat.TriDense
				chol.LTo(&l)
				var dx mat.Dense
				dx.Mul(&l, noise(math.Sqrt(h)))
				x.Add(x, &dx)
			}
		}
		for j := range n {
			f.nodes[i] = append(f.nodes[i], slices.Clone(x.RawRowView(j)))
		}
	}
	return f
}

// seen are the leaves with errors.
func (f flowed) seen(rng *rand.Rand, t *tree.Tree, noise float64) guided.Observations[geom.Shape] {
	o := guided.Observations[geom.Shape]{Noise: noise}
	for _, i := range t.Leaves() {
		var leaf geom.Shape
		for _, row := range f.nodes[i] {
			var moved []float64
			for _, v := range row {
				moved = append(moved, v+noise*rng.NormFloat64())
			}
			leaf = append(leaf, moved)
		}
		o.Leaves = append(o.Leaves, leaf)
	}
	return o
}

// study is how evolutions by Kunita's flow with a Gaussian kernel of width 1 are simulated and sampled.
type study struct {
	mean             geom.Shape // of the root
	width, amplitude guided.Prior
	noise            float64
	trees            []*tree.Tree
	unknown          []guided.Unknown // width and amplitude
	options          guided.Options
	quantities       []quantity // besides the unknowns
}

// quantity is a number that an ancestor has.
type quantity struct {
	name string
	of   func(ancestor geom.Shape) float64
}

// trees holds posteriors on trees against the truth from which data were drawn: its rank among the draws is uniform.
func trees(b *bench) {
	width, amplitude := guided.LogNormal(0.7, 0.3), guided.LogNormal(0.05, 0.5)
	s := study{width: width, amplitude: amplitude, noise: 0.05,
		unknown: []guided.Unknown{guided.Param(0, "width", width), guided.Param(1, "amplitude", amplitude)},
		options: guided.Options{Root: 0.2, Steps: 10, Chains: 2, Warmup: 100, Draws: 400}}
	for i := range 6 {
		a := 2 * math.Pi * float64(i) / 6
		s.mean = append(s.mean, []float64{math.Cos(a), math.Sin(a)})
	}
	for _, shape := range []struct {
		parent []int
		length []float64
	}{
		{[]int{-1, 0, 0, 0}, []float64{0, 1, 0.6, 1.3}},
		{[]int{-1, 0, 0, 1, 1}, []float64{0, 0.5, 1, 0.7, 0.4}},
		{[]int{-1, 0, 0, 1, 1, 2, 2}, []float64{0, 0.5, 0.8, 0.7, 0.4, 0.5, 1}},
		{[]int{-1, 0, 0, 1, 1, 1, 2, 2}, []float64{0, 0.6, 0.3, 0.7, 0.4, 0.9, 0.5, 1}},
	} {
		t := try.Get(tree.New(shape.parent, shape.length, nil))
		s.trees = append(s.trees, t)
	}
	s.quantities = []quantity{
		{"ancestor, landmark 0 in x", func(x geom.Shape) float64 { return x[0][0] }},
		{"ancestor, area", func(x geom.Shape) (sum float64) {
			for i := range x {
				j := (i + 1) % len(x)
				sum += (x[i][0]*x[j][1] - x[j][0]*x[i][1]) / 2
			}
			return sum
		}}}
	b.ranks("simulated trees of 3 to 5 leaves with 6 landmarks, Kunita's flow, a normal ancestor and errors", s, b.trees)
}

// bridges does so for paths from an outline of 39 landmarks to another, of which the first is known.
func bridges(b *bench) {
	cc := morpho.CorpusCallosum()
	bridge := try.Get(tree.New([]int{-1, 0}, []float64{0, 1}, nil))
	width, rate := guided.LogNormal(cc.Spacing(), 0.3), guided.LogNormal(4, 0.7)
	b.ranks("simulated bridges of 39 landmarks from an outline of the corpus callosum, Kunita's flow in 6 steps and errors of 0.5 mm", study{
		mean: cc.Shape("jhu_atlas"), width: width, amplitude: rate, noise: 0.5, trees: []*tree.Tree{bridge},
		unknown: []guided.Unknown{guided.Param(0, "width", width), guided.Rate(rate)},
		options: guided.Options{Steps: 6, Chains: 2, Warmup: 150, Draws: 300}}, b.bridges)
}

// ranks are tables of the truth's ranks among the draws of numbers with these names.
type ranks struct {
	names           []string
	of              [][]float64 // each between 0 and 1
	worst, smallest float64
	unsure          int
}

func newRanks(names ...string) *ranks {
	return &ranks{names: names, of: make([][]float64, len(names)), smallest: math.Inf(1)}
}

// add takes the ranks of numbers among their draws, [number][chain][draw].
func (r *ranks) add(rng *rand.Rand, truth []float64, draws [][][]float64) {
	for j := range r.names {
		below := 0
		all := slices.Concat(draws[j]...)
		for _, x := range all {
			if x < truth[j] {
				below++
			}
		}
		r.of[j] = append(r.of[j], (float64(below)+rng.Float64())/float64(len(all)+1))
		rhat, size := chains.RHat(draws[j]), chains.Bulk(draws[j])
		r.worst, r.smallest = math.Max(r.worst, rhat), math.Min(r.smallest, size)
		if rhat > 1.05 || size < 50 {
			r.unsure++
		}
	}
}

// table writes what they are of.
func (r *ranks) table(b *bench, what string) {
	b.text("The table has ranks of the truth among the draws of the posterior, for %d %s. If the posteriors are right, the ranks are uniform. χ² of 10 bins has 9 degrees of freedom. The Kolmogorov–Smirnov distance is in units of 1/√n; its 95 %% quantile is 1.36. The largest R̂ is %.3f, the smallest effective sample size %.0f. Of the posteriors of one number, %d of %d have an R̂ above 1.05 or an effective sample size below 50; the table includes them.",
		len(r.of[0]), what, r.worst, r.smallest, r.unsure, len(r.names)*len(r.of[0]))
	b.header("unknown", "χ²", "p", "Kolmogorov–Smirnov", "ranks in tenths")
	for j, name := range r.names {
		counts := make([]int, 10)
		slices.Sort(r.of[j])
		distance, n := 0.0, float64(len(r.of[j]))
		for i, r := range r.of[j] {
			counts[min(9, int(10*r))]++
			distance = math.Max(distance, math.Max(r-float64(i)/n, float64(i+1)/n-r))
		}
		chi := 0.0
		for _, c := range counts {
			chi += math.Pow(float64(c)-n/10, 2) / (n / 10)
		}
		b.row("%s | %.1f | %.2f | %.2f | %s", name, chi, distuv.ChiSquared{K: 9}.Survival(chi), distance*math.Sqrt(n), fmt.Sprint(counts))
	}
}

// ranks is a table for count evolutions, as many on each tree.
func (b *bench) ranks(what string, d study, count int) {
	process := try.Get(landmarks.New(len(d.mean), 2, kernels.Gaussian(1)).Kunita(d.mean, 1, 1))
	rng := rand.New(rand.NewPCG(b.seed, 5))
	d.options.Unknown, d.options.Seed = d.unknown, b.seed
	names := []string{d.unknown[0].Name, d.unknown[1].Name}
	for _, q := range d.quantities {
		names = append(names, q.name)
	}
	r := newRanks(names...)
	for _, t := range d.trees {
		truths := make([]flowed, count/len(d.trees))
		data := make([]guided.Observations[geom.Shape], len(truths))
		for k := range truths {
			truths[k] = evolve(rng, t, d.mean, d.options.Root, d.options.Steps, d.width, d.amplitude)
			data[k] = truths[k].seen(rng, t, d.noise)
		}
		posts := try.Get(guided.SampleAll(process, t, data, d.options))
		for k, post := range posts {
			truth := []float64{truths[k].width, truths[k].amplitude}
			draws := [][][]float64{post.Unknown[0].Draws, post.Unknown[1].Draws}
			for _, q := range d.quantities {
				truth = append(truth, q.of(truths[k].nodes[0]))
				ancestors := make([][]float64, len(post.Nodes[0]))
				for c, chain := range post.Nodes[0] {
					for _, x := range chain {
						ancestors[c] = append(ancestors[c], q.of(x))
					}
				}
				draws = append(draws, ancestors)
			}
			r.add(rng, truth, draws)
		}
	}
	r.table(b, what)
}
