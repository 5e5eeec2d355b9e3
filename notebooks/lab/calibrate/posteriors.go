package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/guided"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats/chains"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
	simulated "anatomy/notebooks/lab/recovery"
)

// flowed is a simulated evolution by Kunita's flow with a Gaussian kernel: what is known of it, and what was seen.
type flowed struct {
	width, amplitude float64
	nodes            []geom.Shape
}

// evolve draws the unknowns and the states of the nodes, step by step, without the compiled functions that are tested.
func evolve(rng *rand.Rand, t *tree.Tree, mean geom.Shape, root float64, steps int, width, amplitude guided.Prior) flowed {
	f := flowed{width.Draw(rng), amplitude.Draw(rng), []geom.Shape{simulated.Noisy(rng, mean, root)}}
	for i, parent := range t.Parent[1:] {
		x, h := f.nodes[parent], t.Length[i+1]/float64(steps)
		for range steps {
			var dx mat.Dense
			dx.Mul(simulated.Root(x, f.width, 0), simulated.Normal(rng, len(mean), len(mean[0]), math.Sqrt(f.amplitude*h)))
			x = x.Add(engine.Unflatten(dx.RawMatrix().Data, len(mean[0])))
		}
		f.nodes = append(f.nodes, x)
	}
	return f
}

// seen are the leaves with errors.
func (f flowed) seen(rng *rand.Rand, t *tree.Tree, noise float64) guided.Observations[geom.Shape] {
	o := guided.Observations[geom.Shape]{Noise: noise}
	for _, i := range t.Leaves() {
		o.Leaves = append(o.Leaves, simulated.Noisy(rng, f.nodes[i], noise))
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
	s := study{mean: ring(6), width: width, amplitude: amplitude, noise: 0.05,
		unknown: []guided.Unknown{guided.Param(0, "width", width), guided.Param(1, "amplitude", amplitude)},
		options: guided.Options{Root: 0.2, Steps: 10, Chains: 2, Warmup: 100, Draws: 400}}
	for _, shape := range []struct {
		parent []int
		length []float64
	}{
		{[]int{-1, 0, 0, 0}, []float64{0, 1, 0.6, 1.3}},
		{[]int{-1, 0, 0, 1, 1}, []float64{0, 0.5, 1, 0.7, 0.4}},
		{[]int{-1, 0, 0, 1, 1, 2, 2}, []float64{0, 0.5, 0.8, 0.7, 0.4, 0.5, 1}},
		{[]int{-1, 0, 0, 1, 1, 1, 2, 2}, []float64{0, 0.6, 0.3, 0.7, 0.4, 0.9, 0.5, 1}},
	} {
		s.trees = append(s.trees, try.Get(tree.New(shape.parent, shape.length, nil)))
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
				draws = append(draws, numbersOf(post.Nodes[0], q.of))
			}
			r.add(rng, truth, draws)
		}
	}
	r.table(b, what)
}

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
	about := func(x geom.Shape, by float64) geom.Shape { return simulated.Noisy(rng, x, by) }
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
		r.add(rng, truths[k], [][][]float64{post.Unknown[0].Draws, post.Unknown[1].Draws,
			numbersOf(post.Nodes[0], func(q geom.Shape) float64 { return q[0][0] }),
			numbersOf(post.Parts[0], func(parts []geom.Shape) float64 { return parts[0][1][1] })})
	}
	r.table(b, "simulated cohorts of 4 individuals with 2 landmarks, observed 7 times at ages up to 1: geodesic motion with noise in the momenta and observation noise")
}

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
			run := stochastic.Run{Paths: samples, Steps: 4 * steps, Seed: b.seed + uint64(k)}
			data[k].Leaves = simulated.Noisy(rng, try.Get(one.Sample(run)), noise)
		}
		posts := try.Get(guided.SampleAll(process, t, data, guided.Options{Unknown: unknown, Root: of.root, Steps: steps, Chains: 2, Warmup: 120, Draws: 500, Seed: b.seed}))
		if of.root > 0 {
			names = append(names, "start in x", "start in y")
		}
		r := newRanks(names...)
		held, found := make([]float64, len(priors)), 0.
		for k, post := range posts {
			draws := lists.Each(post.Unknown, func(u guided.Estimate) [][]float64 { return u.Draws })
			for a := range names[len(priors):] {
				draws = append(draws, numbersOf(post.Nodes[0], func(z geom.Vec) float64 { return z[a] }))
			}
			r.add(rng, truths[k], draws)
			if inside := holds(post, truths[k]); inside != nil {
				found++
				floats.Add(held, inside)
			}
		}
		r.table(b, fmt.Sprintf("%s, from %d samples each", of.name, samples))
		b.text("The next table has how often an interval of 1.96 standard errors around the maximum of the likelihood holds the truth. A maximum was found for %g of %d.", found, len(posts))
		b.header("unknown", "share")
		for j := range priors {
			b.row("%s | %.3f", names[j], held[j]/found)
		}
	}
}

// holds is 1 for every unknown of which 1.96 standard errors around the maximum of the likelihood hold the truth, else 0; nil if there
// is no maximum.
func holds(post *guided.Posterior[geom.Vec], truth []float64) []float64 {
	maximum, err := post.MaximumLikelihood()
	if err != nil {
		return nil
	}
	inside := make([]float64, len(post.Unknown))
	for j, u := range post.Unknown {
		off := maximum.Values[j] - truth[j]
		if !u.Signed {
			off = math.Log(maximum.Values[j] / truth[j])
		}
		if math.Abs(off) <= 1.96*maximum.StandardErrors[j] {
			inside[j] = 1
		}
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

// leaves07 are the leaves that notebook 07 of hyperiax 3.0.0 simulates and observes, a line each of 16 points.
//
//go:embed published.txt
var leaves07 string

//go:embed published.py
var hyperiax07 string

// published is the posterior of that notebook: Kunita's flow with the kernel Laplace-4, which is called Laplace-2 there, from a circle
// along a tree of depth 2 and degree 3, with 100 steps an edge.
func published(b *bench) {
	const steps, noise = 100, 1e-3
	o := guided.Observations[geom.Shape]{Noise: math.Sqrt(noise)}
	var rows [][]float64
	for line := range strings.Lines(leaves07) {
		row := lists.Each(strings.Fields(line), func(field string) float64 { return try.Get(strconv.ParseFloat(field, 64)) })
		rows, o.Leaves = append(rows, row), append(o.Leaves, engine.Unflatten(row, 2))
	}
	parent, length := []int{-1, 0, 0, 0}, []float64{0, 1, 1, 1}
	for i := range 9 {
		parent, length = append(parent, 1+i/3), append(length, 1)
	}
	t := try.Get(tree.New(parent, length, nil))
	process := try.Get(landmarks.New(16, 2, kernels.Laplace(4, 1)).Kunita(ring(16), 0.25, 0.1))
	b.text("The table has the posterior of amplitude and width of a stochastic flow of 16 landmarks along a tree with 9 leaves. The data were simulated with the amplitude 0.1 and the width 0.25 (notebook 07 of hyperiax 3.0.0, with 100 steps per edge). *sizes* are the effective sample sizes of all chains together, for the mean and for the tails. *seconds* are processor seconds, for hyperiax without compilation.")
	b.header("program", "draws", "seconds", "wall", "amplitude", "R̂", "sizes", "width", "R̂", "sizes", "smallest size per second")
	line := func(program string, amplitude, width [][]float64, seconds, wall float64) {
		cells := ""
		least := math.Inf(1)
		for _, draws := range [][][]float64{amplitude, width} {
			mean, deviation := stat.MeanStdDev(slices.Concat(draws...), nil)
			least = math.Min(least, math.Min(chains.Bulk(draws), chains.Tail(draws)))
			cells += fmt.Sprintf(" | %.3f ± %.3f | %.3f | %.0f, %.0f", mean, deviation, chains.RHat(draws), chains.Bulk(draws), chains.Tail(draws))
		}
		b.row("%s | %d × %d | %.0f | %.0f%s | %.2g", program, len(width), len(width[0]), seconds, wall, cells, least/seconds)
	}
	begin, processor := time.Now(), seconds()
	post := try.Get(guided.Sample(process, t, o, guided.Options{
		Unknown: []guided.Unknown{guided.Param(1, "amplitude", guided.InverseGamma(2, 0.5)), guided.Param(0, "width", guided.InverseGamma(3, 2))},
		Steps:   steps, Warmup: 100, Draws: b.draws, Seed: b.seed}))
	line("anatomy", post.Unknown[0].Draws, post.Unknown[1].Draws, seconds()-processor, time.Since(begin).Seconds())
	if b.python == "" {
		return
	}
	out := try.Get(b.ask(hyperiax07, rows, fmt.Sprint(b.theirs), fmt.Sprint(steps)))
	if out == "" {
		return
	}
	var theirs struct {
		Processor, Wall float64
		Draws           [2][][]float64
	}
	try.Do(try.Name(json.Unmarshal([]byte(out), &theirs), "hyperiax"))
	line("hyperiax", theirs.Draws[0], theirs.Draws[1], theirs.Processor, theirs.Wall)
}

// seconds is the processor time of this process.
func seconds() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return math.NaN()
	}
	return float64(r.Utime.Sec+r.Stime.Sec) + 1e-6*float64(r.Utime.Usec+r.Stime.Usec)
}

// numbersOf are those of the draws of all chains.
func numbersOf[T any](chains [][]T, of func(draw T) float64) [][]float64 {
	return lists.Each(chains, func(chain []T) []float64 { return lists.Each(chain, of) })
}
