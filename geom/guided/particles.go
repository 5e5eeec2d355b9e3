package guided

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/try"
)

// Evidence is what particles tell of a model as a whole.
type Evidence struct {
	Log           float64   // of the probability density of all that was seen, where unknowns, root and paths come from their priors
	StandardError float64   // of Log, from how much the populations differ; NaN of a single one
	Families      float64   // how many of the first particles have descendants among the draws: Σ over populations of 1/Σ share²
	Exponents     []float64 // of the likelihood, from 0 to 1, of all populations and sets of observations
}

// String says what the evidence is in one line.
func (e *Evidence) String() string {
	return fmt.Sprintf("log evidence %.4g ± %.2g, %.0f families, %d exponents", e.Log, e.StandardError, e.Families, len(e.Exponents))
}

// moves is how often particles move at each exponent.
const moves = 5

// climb takes populations of particles from the prior to the posterior (P. Del Moral, A. Doucet and A. Jasra, Sequential Monte Carlo
// samplers, 2006) over the distributions
//
//	π_τ(θ, x) ∝ p(θ) p(x | θ) p(y | x, θ)^τ,  0 ≤ τ ≤ 1,
//
// of unknowns θ and paths x. Each has guides of its own, for errors of noise/√τ, by which the same noise W gives different paths: a
// particle that comes from τ to τ' is weighted with ψ_τ'(W, θ)/ψ_τ(W, θ), where ψ_τ is the density of π_τ by p(θ) N(W), as move has it.
// Of a linear process with known θ this is the same for all W. Nothing guides at τ = 0, so that particles begin in all modes that
// the process has, whatever guides do between them.
func (s *sampler[P]) climb() (_ []*Posterior[P], err error) {
	defer try.Catch(&err)
	task := s.process.Space.Begin("guided.Sample")
	defer task.End()
	k := s.total / s.groups
	steps, family, evidence := make([]*stepSize, s.groups), make([]int, s.total), make([]float64, s.groups)
	for g := range steps {
		steps[g] = newStepSize(longest)
	}
	s.exponent = 0
	s.origin()
	s.w, s.xi = s.normal(1, s.w.Shape().Dimensions...), s.normal(1, s.xi.Shape().Dimensions...)
	for c := range family {
		family[c] = c
		for j, u := range s.options.Unknown {
			s.y[c][j] = (u.empty(0).logarithm(u.Prior.Draw(s.source)) - s.mean[c/k][j]) / s.scale[c/k][j][j]
		}
	}
	try.Do(s.guide(nil))
	m := try.Get(s.move(steps, 0, 1))
	out, gradients, exponents := s.empty(), 1, []float64{0}
	weights := ratios(m.log, m.log) // of paths where all is finite
	for {
		s.choose(weights, evidence, family)
		for range moves {
			if task.Report(geom.Progress{Iteration: gradients}) {
				for _, post := range out {
					post.Status = geom.Cancelled
				}
				return out, fmt.Errorf("%w at the exponent %.3g of the likelihood: particles have no draws before it is 1", context.Cause(task.Context()), s.exponent)
			}
			m = try.Get(s.move(steps, most, 1))
			gradients += m.turns + 1
			for g := range steps {
				steps[g].adapt(stat.Mean(m.accept[g*k:(g+1)*k], nil))
			}
		}
		if s.exponent == 1 {
			break
		}
		var tried int
		weights, tried = s.heat(m, steps)
		gradients, exponents = gradients+tried, append(exponents, s.exponent)
	}
	s.record(out, m)
	n := s.options.Chains
	for i, post := range out {
		post.assess()
		e := &Evidence{Exponents: exponents}
		logs := evidence[i*n : (i+1)*n]
		e.Log = floats.LogSumExp(logs) - math.Log(float64(n))
		relative := make([]float64, n)
		for r := range n {
			relative[r] = math.Exp(logs[r] - e.Log)
			g := i*n + r
			shares := make([]float64, k)
			for _, f := range family[g*k : (g+1)*k] {
				shares[f-g*k] += 1 / float64(k)
			}
			e.Families += 1 / floats.Dot(shares, shares)
			post.StepSize += steps[g].value() / float64(n)
		}
		e.StandardError = stat.StdErr(stat.StdDev(relative, nil), float64(n))
		post.Evidence, post.Gradients, post.Acceptance = e, gradients, stat.Mean(m.accept[i*n*k:(i+1)*n*k], nil)
		if e.Families < sufficient {
			post.Status = geom.IterationLimit
		}
	}
	return out, nil
}

// heat takes the exponent as far up as leaves half of the particles of every population effective, and returns the logarithms of their
// weights. Guides are made of where particles are now, or stay made of what they were where that leaves less than half, however
// little the exponent grows: as at first, when paths go where no guide should. It grows by a tenth at least.
func (s *sampler[P]) heat(m moved, steps []*stepSize) (weights []float64, tried int) {
	var seen visits
	try.Do(s.look(&seen))
	before, k := s.bare(m.log), s.total/s.groups
	attempt := func(seen visits, at float64) (share float64, err error) {
		tried++
		s.exponent = math.Min(1, math.Exp(at))
		if err := s.guide(seen); err != nil {
			return 0, err
		}
		m, err := s.move(steps, 0, 1)
		if err != nil {
			return 0, err
		}
		weights, share = ratios(s.bare(m.log), before), 1
		for g := range s.groups {
			w := weights[g*k : (g+1)*k]
			twice := floats.ScaleTo(make([]float64, k), 2, w)
			share = math.Min(share, math.Exp(2*floats.LogSumExp(w)-floats.LogSumExp(twice))/float64(k))
		}
		return share, nil
	}
	least := math.Log(math.Max(1.1*s.exponent, 1e-6))
	search := func(seen visits) (share float64, err error) {
		low, high := least, 0.0
		share, err = attempt(seen, high)
		for err == nil && !(share >= 0.5 && (share < 0.6 || s.exponent == 1)) {
			if high-low < 0.02 {
				return attempt(seen, low)
			}
			middle := (low + high) / 2
			if share, err = attempt(seen, middle); share >= 0.5 {
				low = middle
			} else {
				high = middle
			}
		}
		return share, err
	}
	last, mean, y := s.learned, geom.Clone(s.mean), slices.Clone(s.y)
	var scale [][][]float64
	for _, l := range s.scale {
		scale = append(scale, geom.Clone(l))
	}
	s.learn([][][]float64{m.u}, [][][]float64{m.scores})
	if share, err := search(seen); err == nil && share >= 0.5 {
		return weights, tried
	}
	s.mean, s.scale, s.y = mean, scale, y
	try.Get(search(last))
	return weights, tried
}

// choose replaces the particles of each population by as many that are drawn with the logarithms of weights, systematically: particle
// number c is the one at the share (c + U)/k of the sum. Their mean is multiplied to the evidence. Relatives stay neighbours, so
// that effective sizes, which fall where neighbours are alike, tell of them.
func (s *sampler[P]) choose(weights, evidence []float64, family []int) {
	k := s.total / s.groups
	from := make([]int, s.total)
	for g := range evidence {
		w := weights[g*k : (g+1)*k]
		total := floats.LogSumExp(w)
		if math.IsInf(total, -1) {
			try.Fail("none of %d particles has a path where all is finite, at the exponent %.3g of the likelihood: take more particles, more steps or narrower priors", k, s.exponent)
		}
		evidence[g] += total - math.Log(float64(k))
		i, upTo, shift := -1, 0.0, s.rng.Float64()
		for c := range k {
			for i < 0 || upTo <= float64(c)+shift && i < k-1 {
				i++
				upTo += math.Exp(w[i]-total) * float64(k)
			}
			from[g*k+c] = g*k + i
		}
	}
	tensors.MustMutableFlatData(s.w, func(w []float64) { take(w, s.options.Steps, from) })
	tensors.MustMutableFlatData(s.xi, func(xi []float64) { take(xi, 1, from) })
	take(s.y, 1, from)
	take(family, 1, from)
}

// take makes x, [outer][C][...], what it is at others of the C places.
func take[E any](x []E, outer int, from []int) {
	old, c := slices.Clone(x), len(from)
	size := len(x) / (outer * c)
	for i := range outer * c {
		copy(x[i*size:(i+1)*size], old[(i-i%c+from[i%c])*size:])
	}
}

// bare takes ½‖y‖² from logarithms of weights as move has them: the scale of y changes. Without unknowns it is not in them.
func (s *sampler[P]) bare(logs []float64) []float64 {
	out := slices.Clone(logs)
	if len(s.options.Unknown) > 0 {
		for c, y := range s.y {
			out[c] -= floats.Dot(y, y) / 2
		}
	}
	return out
}

// ratios are the logarithms of weights by those before; 0, whose logarithm is −∞, where they are not finite.
func ratios(logs, before []float64) []float64 {
	out := floats.SubTo(make([]float64, len(logs)), logs, before)
	for c, x := range out {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			out[c] = math.Inf(-1)
		}
	}
	return out
}
