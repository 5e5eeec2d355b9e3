package guided

import (
	"context"
	"math"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/stats/chains"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
)

// The evidence of a linear process is the likelihood by pruning, which all particles have for their weight; with an unknown rate and noise it
// is its mean over their priors, and the draws are those of the posterior.
func TestEvidence(t *testing.T) {
	const steps, root, noise = 4, 0.8, 0.3
	p := returning(0.3, 0.3, 1.2, 0.9)
	values := []float64{1.4, -0.6, 0.2}
	seen := Observations[geom.Vec]{Noise: noise}
	for _, x := range values {
		seen.Leaves = append(seen.Leaves, geom.Vec{x})
	}
	log := func(rate, noise float64) float64 {
		return likelihood(star, steps, 0.3, 0.3, 1.2, 0.9, rate, root, noise, values)
	}
	second := seen
	second.Noise = 0.5
	for i, post := range expect.Must(SampleAll(p, star, []Observations[geom.Vec]{seen, second}, Options{Root: root, Steps: steps, Chains: 2, Particles: 20, Seed: 1})) {
		known := post.Evidence
		expect.Rel(t, "evidence of a linear process", known.Log, log(1, []float64{noise, 0.5}[i]), 1e-10)
		expect.Abs(t, "its error", known.StandardError, 0, 1e-10)
		expect.Abs(t, "families", known.Families, 40, 1e-9)
		expect.Abs(t, "exponents", known.Exponents, []float64{0, 1}, 0)
		for _, logs := range post.Log {
			expect.Rel(t, "Log", logs, slices.Repeat([]float64{known.Log}, 20), 1e-10)
		}
	}

	const cells = 30
	prior := []Prior{LogNormal(1, 0.6), LogNormal(0.4, 0.7)}
	logs, rates := make([]float64, cells*cells), make([]float64, cells*cells)
	for i := range cells {
		for j := range cells {
			a, b := 9*((float64(i)+0.5)/cells-0.5), 9*((float64(j)+0.5)/cells-0.5)
			rates[i*cells+j] = math.Exp(0.6 * a)
			logs[i*cells+j] = log(math.Exp(0.6*a), 0.4*math.Exp(0.7*b)) + distuv.UnitNormal.LogProb(a) + distuv.UnitNormal.LogProb(b) + 2*math.Log(9./cells)
		}
	}
	want := floats.LogSumExp(logs)
	post := expect.Must(Sample(p, star, seen, Options{Root: root, Steps: steps, Particles: 250, Seed: 2, Unknown: []Unknown{Rate(prior[0]), Noise(prior[1])}}))
	t.Log(post.Unknown, post.Status, post.Acceptance, post.StepSize, *post.Evidence, want)
	said(t, post, "4 populations of 250 draws, rate ", "noise ", "log evidence -4.", "families, 2 exponents", "converged")
	expect.Estimate(t, "evidence", post.Evidence.Log, post.Evidence.StandardError, want)
	if post.Evidence.StandardError > 0.1 {
		t.Errorf("the standard error of the logarithm of the evidence is %.2g, want 0.1", post.Evidence.StandardError)
	}
	mean := 0.0
	for i := range logs {
		mean += math.Exp(logs[i]-want) * rates[i]
	}
	u := post.Unknown[0]
	expect.Estimate(t, "rate", u.Mean, u.Deviation/math.Sqrt(u.Bulk), mean)
}

// wells is dx = p₀(x − x³) dt + p₁ dW of both coordinates in R².
var wells = stochastic.EquationOf(func(_ geom.Local, p []*Node) ode.Equation {
	return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
		x := y[0]
		return ode.State{Add(Mul(dt, Mul(p[0], Sub(x, Mul(x, Square(x))))), Mul(p[1], dw))}
	}
})

// place is the middle of cell i of a grid over −3 to 3.
func place(i, cells int) float64 { return 6*(float64(i)+0.5)/float64(cells) - 3 }

// chapman returns the probabilities of the cells of the grid at the end of steps from each of the starts in wells, by the equation of
// Chapman and Kolmogorov.
func chapman(pull, sigma, time float64, steps, cells int, starts ...float64) (ends [][]float64) {
	h := time / float64(steps)
	step := func(x float64) []float64 {
		row := make([]float64, cells)
		for j := range row {
			row[j] = 6 / float64(cells) * distuv.Normal{Mu: x + h*pull*(x-x*x*x), Sigma: sigma * math.Sqrt(h)}.Prob(place(j, cells))
		}
		return row
	}
	kernel := make([][]float64, cells)
	for i := range kernel {
		kernel[i] = step(place(i, cells))
	}
	for _, x := range starts {
		end := step(x)
		for range steps - 1 {
			next := make([]float64, cells)
			for i, d := range end {
				floats.AddScaled(next, d, kernel[i])
			}
			end = next
		}
		ends = append(ends, end)
	}
	return ends
}

// Two coordinates leave the top between two wells, and their sum is seen near 0: one of them is in the right well, and it must have been
// the same all along, since both would have to change over at once. Chains stay where they are, or say that they do not agree. Particles have
// both ways with their probabilities, those of Chapman and Kolmogorov's equation on a grid.
func TestWells(t *testing.T) {
	const pull, sigma, time, steps, noise = 2.5, 0.5, 1.8, 7, 0.3
	p := stochastic.Process[geom.Vec]{Space: plane, Name: "wells", Scheme: ode.EulerMaruyama, Noise: 2, Start: geom.Vec{0.08, 0},
		Params: []any{pull, sigma}, Dynamics: wells}
	long := expect.Must(tree.New([]int{-1, 0}, []float64{0, time}, nil))
	seen := Observations[geom.Vec]{Leaves: []geom.Vec{{0}}, Noise: noise, Map: [][]float64{{1, 1}}}

	const cells = 200
	ends := chapman(pull, sigma, time, steps, cells, p.Start...)
	first, second, all := 0.0, 0.0, 0.0 // first is right, and so on
	for i, a := range ends[0] {
		for j, b := range ends[1] {
			d := a * b * distuv.Normal{Mu: place(i, cells) + place(j, cells), Sigma: noise}.Prob(0)
			all += d
			switch {
			case i >= cells/2 && j < cells/2:
				first += d
			case i < cells/2 && j >= cells/2:
				second += d
			}
		}
	}
	share := func(post *Posterior[geom.Vec]) (mean, rHat, size float64) {
		var in [][]float64
		for _, draws := range post.Nodes[1] {
			var x []float64
			for _, d := range draws {
				if d[0] > d[1] {
					x = append(x, 1)
					mean++
				} else {
					x = append(x, 0)
				}
			}
			in = append(in, x)
		}
		return mean / float64(len(in)*len(in[0])), chains.RHat(in), chains.Mean(in)
	}
	post := expect.Must(Sample(p, long, seen, Options{Steps: steps, Warmup: 30, Draws: 120, Seed: 1}))
	got, rHat, _ := share(post)
	t.Logf("first %.4f, second %.4f, chains %.4f (R̂ %.3f, %v, acceptance %.2f)", first/all, second/all, got, rHat, post.Status, post.Acceptance)
	if math.Abs(got-first/all) < 0.1 && rHat < agreed {
		t.Errorf("chains have both ways: %.3f of the first, R̂ %.3f: this is no test of particles", got, rHat)
	}
	if post.RHat < 1.1 || post.Status == geom.Converged {
		t.Errorf("chains in two wells are %v with R̂ %.3f of all, %.3f of the wells", post.Status, post.RHat, rHat)
	}
	post = expect.Must(Sample(p, long, seen, Options{Steps: steps, Particles: 220, Seed: 1}))
	got, rHat, size := share(post)
	t.Logf("particles %.4f (R̂ %.3f, effective %.0f, %v, acceptance %.2f, step %.2f), evidence %v, %.4f", got, rHat, size, post.Status, post.Acceptance, post.StepSize, *post.Evidence, math.Log(all))
	expect.Estimate(t, "share of the first way", got, math.Sqrt(got*(1-got)/size), first/all)
	expect.Estimate(t, "evidence", post.Evidence.Log, post.Evidence.StandardError, math.Log(all))
}

// Where the rate of the prior is too large for the steps paths go off, some to infinity. No guide is made of these, and they do not count.
func TestExplodingPaths(t *testing.T) {
	const pull, sigma, steps, noise, y, cells, wide = 2.5, 0.5, 3, 0.3, 0.9, 200, 1.2
	p := stochastic.Process[geom.Vec]{Space: line, Name: "wells", Scheme: ode.EulerMaruyama, Noise: 1, Start: geom.Vec{0.2},
		Params: []any{pull, sigma}, Dynamics: wells}
	post := expect.Must(Sample(p, bridge, Observations[geom.Vec]{Leaves: []geom.Vec{{y}}, Noise: noise},
		Options{Steps: steps, Chains: 3, Particles: 300, Seed: 1, Unknown: []Unknown{Rate(LogNormal(1, wide))}}))
	all, mean := 0.0, 0.0
	for c := range 60 {
		z := 8 * ((float64(c)+0.5)/60 - 0.5)
		rate := math.Exp(wide * z)
		if rate < 0.05 { // less than a cell in a step, and far from what was seen
			continue
		}
		for i, d := range chapman(pull, sigma, rate*bridge.Length[1], steps, cells, p.Start...)[0] {
			d *= distuv.Normal{Mu: place(i, cells), Sigma: noise}.Prob(y) * distuv.UnitNormal.Prob(z) * 8 / 60
			all += d
			mean += d * rate
		}
	}
	u := post.Unknown[0]
	t.Log(u, post.Status, *post.Evidence, math.Log(all))
	expect.Estimate(t, "evidence", post.Evidence.Log, post.Evidence.StandardError, math.Log(all))
	expect.Estimate(t, "rate", u.Mean, u.Deviation/math.Sqrt(u.Bulk), mean/all)
}

// Particles that are stopped have no draws, and say so.
func TestCancelParticles(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := returning(0, 1, 0, 1)
	p.Space = line.With(geom.Context(ctx), geom.OnProgress(func(pr geom.Progress) { cancel() }))
	post, err := Sample(p, bridge, Observations[geom.Vec]{Leaves: []geom.Vec{{1}}, Noise: 0.1}, Options{Steps: 4, Chains: 2, Particles: 20})
	expect.Refused(t, err, "exponent 0 ", "no draws")
	if post == nil || post.Status != geom.Cancelled || len(post.Log[0]) != 0 {
		t.Errorf("got %+v, want no draws", post)
	}
}
