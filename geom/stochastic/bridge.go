package stochastic

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/shape"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Proposal says how simulated paths are led to the end v of a bridge, a time τ = T − t before the end. The weights of the paths
// correct for it.
type Proposal int

const (
	// Guided adds the drift g*∇ log q to Brownian motion, with the approximation q = (2πτ)^{−d/2} e^{−ρ/τ} of the transition
	// density, and gives paths the weight q at their start times exp ∫ (∂_t + ½Δ)q/q dt, where
	//
	//	(∂_t + ½Δ)q/q = (d/2 − ½Δρ)/τ + (½‖∇ρ‖² − ρ)/τ².
	//
	// If the manifold has geom.ClosedForms, ρ is half the squared distance from v, and the second term is zero (J. Thompson, Brownian
	// bridges to submanifolds, 2018). On a geom.Winding e^{−ρ/τ} is the sum over its geodesics, with their weights: on spheres and
	// hyperbolic spaces q is so close to the density that all paths weigh nearly the same, in one and three dimensions the same.
	// On other manifolds, and on a geom.Winding whose geodesics are not known, such as SO(4), ρ = ½ (x − v)ᵀ g(v) (x − v) in
	// coordinates (F. van der Meulen and M. Schauer, Guided proposals for simulating multi-dimensional diffusion bridges, 2017).
	Guided Proposal = iota
	// DelyonHu adds the drift (v − x)/τ in coordinates (B. Delyon and Y. Hu, Simulation of conditioned diffusion and application to
	// parameter estimation, 2006). The weight of a path is the density of its Euler-Maruyama steps without this drift divided by
	// that with it.
	DelyonHu
)

// Bridges are weighted paths of Brownian motion that start at one point and are at another at time T. A weighted mean over the
// paths estimates the mean over Brownian motion that is conditioned to end there. Paths that diverge are left out: see Likelihood.Diverged.
type Bridges[P geom.Point] struct {
	Times  []float64 // T s(2 − s) at s = 0, 1/n, …, 1: steps are shorter near the end, where the drift to the end is strong
	Points [][]P     // Points[k][i] is path k at Times[i]
	// LogWeights are, but for a constant, those of DelyonHu with either proposal: what the steps of a path lack to be Euler–Maruyama steps
	// of Brownian motion that end at v. They do not depend on how well the proposal leads: with long steps paths weigh more unequally.
	// The mean of exp(LogWeights) is p_T(start, end) as in Log.
	LogWeights []float64

	Likelihood // EffectiveSize is that of LogWeights
}

// String says what the bridges are in one line.
func (b *Bridges[P]) String() string {
	return fmt.Sprintf("%d bridges, effective size %.3g, log p = %.4g ± %.2g%s", len(b.Points), b.EffectiveSize, b.Log, b.StandardError, sayLost(b.Diverged))
}

// Likelihood is an estimate of a transition density p_T(x, v) of Brownian motion, with respect to the Riemannian volume.
//
// On a geom.Winding it is the density of all paths, however often they come round. With DelyonHu, on a geom.Winding whose windings are
// not known, and on any other Charted manifold without closed forms, it is the density of the motion in the chart of v, where a path that
// comes round to v in another way than it would by itself does not arrive: it leaves out a share of the density of about Wound.
type Likelihood struct {
	Log float64 // log p_T(x, v)
	// StandardError of Log has in it the spread of the weights, Wound, Diverged and StepError: +Inf where the weights spread too far, or have too
	// long a tail, to tell, NaN of one path or one step. The share of two standard errors that hold log p was counted: see the table of make calibrate.
	StandardError float64
	// StepError estimates the error of the time step in Log, which falls with 1/Run.Steps: Log of the same paths with half as many
	// steps, less Log. +Inf where these diverge. Log − StepError has less of this error, and more of the spread.
	StepError     float64
	EffectiveSize float64 // (Σ w)²/Σ w²: how many paths of equal weight these are worth
	Wound         float64 // the share that paths which passed the cut locus of v have in the weights; 0 where windings are summed
	// Diverged is how many paths diverged, where they left the chart of v or steps were too long. They have the weight 0, and their share is in
	// StandardError. It is an error if they are more than a tenth.
	Diverged int
}

// Bridge simulates Brownian motion from x, conditioned to be at v at the time r.Time: r.Paths weighted paths of r.Steps steps.
// The proposal says how paths are led to v. On a Charted manifold without closed forms, or whose windings are not known, and
// with DelyonHu on any manifold, the paths are those in the chart centred at v: see Likelihood. It is an error if a point is
// not on the manifold, if r has no paths, steps or time, or if more than a tenth of the paths diverge.
func Bridge[P geom.Point](on geom.Of[P], proposal Proposal, x, v P, r Run) (_ *Bridges[P], err error) {
	defer try.Named(&err, "Bridge")
	s := on.Geometry()
	out := runBridges(s, proposal, "Bridge", x, []P{v}, &r, true)
	for k, l := range out.law {
		if !lists.Finite(l, out.logWeights[k]) { // lost by either
			out.law[k], out.logWeights[k] = math.Inf(-1), math.Inf(-1)
		}
	}
	b := &Bridges[P]{Times: make([]float64, r.Steps+1), Likelihood: out.estimate(0, r.Paths, r.Steps)}
	for i := range b.Times {
		left := float64(r.Steps-i) / float64(r.Steps)
		b.Times[i] = r.Time * (1 - left*left)
	}
	for k, path := range out.paths {
		if !math.IsInf(out.law[k], -1) {
			points := s.Points(path)
			points[0], points[r.Steps] = geom.Clone(x), geom.Clone(v)
			b.Points, b.LogWeights = append(b.Points, points), append(b.LogWeights, out.law[k])
		}
	}
	total, size, _ := spreadOf(b.LogWeights)
	b.EffectiveSize = size
	floats.AddConst(b.Log+math.Log(float64(len(b.LogWeights)))-total, b.LogWeights)
	return b, nil
}

// LogLikelihood estimates the log transition density log p_T(x, v), with respect to the Riemannian volume, for each point of v,
// by importance sampling over bridges: r.Paths bridges of r.Steps steps for each, with T = r.Time. The result has one
// Likelihood for each point of v, with its standard error and its discretisation error. The errors are those of Bridge.
func LogLikelihood[P geom.Point](on geom.Of[P], proposal Proposal, x P, v []P, r Run) (_ []Likelihood, err error) {
	defer try.Named(&err, "LogLikelihood")
	try.FailIf(len(v) == 0, "no observations: give at least one")
	out := runBridges(on.Geometry(), proposal, "LogLikelihood", x, v, &r, false)
	estimates := make([]Likelihood, len(v))
	for j := range v {
		try.Do(try.Name(try.Run(func() { estimates[j] = out.estimate(j*r.Paths, (j+1)*r.Paths, r.Steps) }), "end %d", j))
	}
	return estimates, nil
}

// widestSpread is the largest standard error, relative to the mean, that is told from the weights: where it is larger, an
// effective size of 30 of many paths, few paths have most of the weight, and those that would have more are not among them.
const widestSpread = 0.18

// mostLost is the largest share of paths that may diverge where their share stands in an error that is told.
const mostLost = 0.1

// spreadOf returns the logarithm of the sum of weights, how many of equal weight they are worth, and the standard error of their mean relative
// to it, +Inf beyond widestSpread.
func spreadOf(logWeights []float64) (total, size, spread float64) {
	n := float64(len(logWeights))
	total = floats.LogSumExp(logWeights)
	var squares, variance, cubes float64
	for _, l := range logWeights {
		w := math.Exp(l - total)
		off := w - 1/n
		squares += w * w
		variance += off * off
		cubes += off * off * off
	}
	spread = math.Sqrt(variance * n / (n - 1)) // 0/0 is NaN
	if spread > widestSpread {
		spread = math.Inf(1)
	}
	// Weights have a long tail upwards. Of their skewness γ two standard errors hold the mean with a probability that is smaller
	// by about 0.2 γ²/n; a factor of 1 + γ²/n puts this right (P. Hall, The bootstrap and Edgeworth expansion, 1992, section 2.6).
	if variance > 0 {
		spread *= 1 + cubes*cubes/(variance*variance*variance)
	}
	return total, 1 / squares, spread
}

// tail is the shape k of the generalised Pareto distribution of the largest weights, NaN of fewer than five. From
// k = min(0.7, 1 − 1/log₁₀ n) on the mean of n weights says nothing (A. Vehtari, D. Simpson, A. Gelman, Y. Yao and J. Gabry, Pareto smoothed
// importance sampling, Journal of Machine Learning Research 25, 2024; the fit is that of J. Zhang and M. Stephens, Technometrics 51, 2009).
func tail(logWeights []float64, total float64) float64 {
	all := slices.Sorted(slices.Values(logWeights))
	n := len(all)
	m := int(math.Min(float64(n)/5, 3*math.Sqrt(float64(n))))
	if m < 5 {
		return math.NaN()
	}
	x := make([]float64, m) // over the largest of the others
	for i := range x {
		x[i] = math.Exp(all[n-m+i]-total) - math.Exp(all[n-m-1]-total)
	}
	shape := func(b float64) (k float64) {
		for _, v := range x {
			k += math.Log1p(-b*v) / float64(m)
		}
		return k
	}
	grid := 30 + int(math.Sqrt(float64(m)))
	bs, likelihoods := make([]float64, grid), make([]float64, grid)
	for j := range bs {
		bs[j] = 1/x[m-1] + (1-math.Sqrt(float64(grid)/(float64(j)+0.5)))/(3*x[int(float64(m)/4+0.5)-1])
		k := shape(bs[j])
		likelihoods[j] = float64(m) * (math.Log(-bs[j]/k) - k - 1)
	}
	sum, b := floats.LogSumExp(likelihoods), 0.0
	for j := range bs {
		b += bs[j] * math.Exp(likelihoods[j]-sum)
	}
	return (float64(m)*shape(b) + 5) / (float64(m) + 10)
}

// lose gives paths that diverged the weight 0, and returns how many these are.
func lose(logWeights []float64) (lost int) {
	for k, l := range logWeights {
		if !lists.Finite(l) {
			logWeights[k] = math.Inf(-1)
			lost++
		}
	}
	return lost
}

// missing is how much the logarithm of a mean is too small without a share of it.
func missing(share float64) float64 { return -math.Log1p(-math.Min(share, 1)) }

// estimate is that of the paths from the one with number first to that before end.
func (b *weighted) estimate(first, end, steps int) Likelihood {
	logWeights, coarse := b.logWeights[first:end], b.coarse[first:end]
	n := float64(len(logWeights))
	lost, away := lose(logWeights), lose(coarse)
	try.FailIf(float64(lost) > mostLost*n,
		"%d of %.0f paths diverge: they leave the chart of the end, or the steps are too long; "+
			"use a shorter time, more steps only if fewer paths diverge with them",
		lost, n)
	total, size, spread := spreadOf(logWeights)
	if b.inCharts && spread > 1e-9 && tail(logWeights, total) > math.Min(0.7, 1-1/math.Log10(n)) {
		spread = math.Inf(1)
	}
	share := 0.0
	for k, l := range logWeights {
		if b.wound[first+k] > 0 {
			share += math.Exp(l - total)
		}
	}
	far := share
	if b.winds {
		far += 1 / n // of no path that winds there may have been one
	}
	step := floats.LogSumExp(coarse) - total
	switch {
	case steps == 1:
		step = math.NaN() // half a step is none
	case float64(away) > mostLost*n:
		step = math.Inf(1)
	}
	return Likelihood{
		Log:           total - math.Log(n),
		StandardError: math.Hypot(math.Hypot(spread, step), math.Hypot(missing(far), missing(float64(lost)/n))),
		StepError:     step,
		EffectiveSize: size,
		Wound:         share,
		Diverged:      lost,
	}
}

// weighted are bridges: the paths to one end together, paths only where they are kept.
type weighted struct {
	logWeights, wound []float64     // [J·N]
	coarse            []float64     // logWeights of the same paths with half as many steps
	law               []float64     // log weights by step.ratio, [J·N]
	inCharts, winds   bool          // whether paths are those in a chart, and whether they may wind there
	paths             [][][]float64 // [J·N, n + 1, a]
}

// blockNumbers is about how many normal numbers one compiled call takes: the work of a second or so.
const blockNumbers = 1 << 21

// runBridges makes bridges in blocks, between which it can be stopped.
func runBridges[P geom.Point](s *geom.Space[P], proposal Proposal, what string, x P, v []P, r *Run, keep bool) *weighted {
	checkBridges(s, proposal, x, v, r)
	m, d, rows := s.M, s.M.Dim(), len(v)*r.Paths
	r.fits(2*len(v), d, geom.PointDim(m), keep)
	task := s.Begin(what)
	defer task.End()
	xi := r.bridging(rows, d)
	ends := make([][]float64, rows)
	for k, end := range shape.FlatAll(v) {
		for i := range r.Paths {
			ends[k*r.Paths+i] = end
		}
	}
	// All blocks have one shape, so that one program serves them; the last begins where it has to.
	blocks := 1 + int(float64(rows)*float64(r.Steps)*float64(d)/blockNumbers)
	size := (rows + blocks - 1) / blocks
	out := &weighted{inCharts: inCharts(m, proposal), winds: inCharts(m, proposal) && geom.IsCharted(m)}
	for done := 0; done < rows; {
		try.FailIf(task.Report(geom.Progress{Iteration: done, Total: rows}), "%w after %d of %d paths", context.Cause(task.Context()), done, rows)
		first := min(done, rows-size)
		noise := lists.Make(r.Steps, func(i int) [][]float64 { return xi[i][first : first+size] })
		values := try.Get(s.Call(operation{what, proposal, keep}, func(in []*Node) []*Node {
			x, v, T, xi := in[0], in[1], in[2], in[3]
			paths := v.Shape().Dim(0)
			one := Ones(v.Graph(), shapes.Make(v.DType(), paths))
			twice := func(a, b *Node, axis int) *Node { return Concatenate([]*Node{a, b}, axis) }
			logWeights, wound, law, path := bridges(m, proposal, forPaths(2*paths, x), twice(v, v, 0), T, twice(xi, coarser(xi), 1), twice(one, AddScalar(one, 1), 0), keep)
			fine := AxisRange(0, paths)
			out := []*Node{Slice(logWeights, fine), Slice(logWeights, AxisRange(paths)), Slice(wound, fine)}
			if keep {
				out = append(out, Slice(law, fine), Transpose(SliceAxis(path, 1, fine), 0, 1))
			}
			return out
		}, shape.Flat(x), ends[first:first+size], r.Time, noise))
		again := done - first
		out.logWeights = append(out.logWeights, values.Vector(0)[again:]...)
		out.coarse = append(out.coarse, values.Vector(1)[again:]...)
		out.wound = append(out.wound, values.Vector(2)[again:]...)
		if keep {
			out.law = append(out.law, values.Vector(3)[again:]...)
			out.paths = append(out.paths, values.Array3(4)[again:]...)
		}
		done = first + size
	}
	return out
}

// operation is the key of this package's compiled functions.
type operation struct {
	name     string
	proposal Proposal
	keep     bool
}

func (o operation) String() string { return o.name }

func checkBridges[P geom.Point](s *geom.Space[P], proposal Proposal, x P, v []P, r *Run) {
	r.check()
	try.FailIf(proposal != Guided && proposal != DelyonHu, "proposal %d, want Guided or DelyonHu", proposal)
	try.Do(s.Check("start", x))
	try.Do(s.CheckAll("end", v))
	try.Do(s.CheckRegular("end", append([]P{x}, v...)...))
	try.FailIf(s.M.Dim() == 1 && geom.IsCharted(s.M) && inCharts(s.M, proposal),
		"paths in a chart of a curve do not come round it: use Guided on a manifold with closed forms")
}

// repeatRows repeats every row of v, [J, a], n times, [J·n, a].
func repeatRows(v *Node, n int) *Node {
	j, a := v.Shape().Dim(0), v.Shape().Dim(1)
	return Reshape(BroadcastToDims(ExpandAxes(v, 1), j, n, a), j*n, a)
}

// bridges returns the log weights, [B], of paths from x to v, both [B, a], in time T with normal numbers xi, [n, B, d], 1 for those
// that wound, [B], and with keep the log weights by step.ratio, [B], and the states before the n steps and the end, [n + 1, B, a]. A path with the stride 2, [B], rests in
// every other step, and takes the others with the next ones.
func bridges(m geom.Manifold, proposal Proposal, x, v, T, xi, stride *Node, keep bool) (logWeights, wound, law, path *Node) {
	n := xi.Shape().Dim(0)
	g := newGuide(m, proposal, v)
	start := g.enter(x)
	none := ReduceSum(ZerosLike(start), -1)
	begin := []*Node{start, g.logDensity(start, T), none}
	if keep {
		begin = append(begin, none)
	}
	stride = ExpandAxes(stride, -1)
	final, before := autodiff.Scan(n, func(i *Node, y, in []*Node) ([]*Node, []*Node) {
		// τ = T (1 − s)², s = i/n, so that dt = 2τ/(1 − s) ds: the trapezoidal rule in s, whose last value is 0 in the mean.
		i = ConvertDType(i, T.DType())
		all := float64(n)
		left := AddScalar(Neg(i), all)
		tau := Mul(T, Square(MulScalar(left, 1/all)))
		rests := NotEqual(Mod(BroadcastToShape(i, stride.Shape()), stride), ZerosLike(stride))
		stride := Where(rests, ZerosLike(stride), stride)
		next := MaxScalar(Sub(left, stride), 0)
		root := Div(next, left)
		h := Mul(tau, OneMinus(Square(root)))
		dt := Div(Mul(tau, Sub(MinScalar(Add(left, stride), all), next)), left)
		end, term, law := g.step(step{y[0], in[0], tau, h, root, dt, keep})
		state := []*Node{end, Add(y[1], term), Max(y[2], g.wound(y[0], h))} // the last step goes to v
		if keep {
			return append(state, Add(y[3], law)), []*Node{g.leave(y[0])}
		}
		return state, nil
	}, begin, []*Node{xi})
	if keep {
		law, path = final[3], Concatenate([]*Node{before[0], ExpandAxes(v, 0)}, 0)
	}
	return final[1], final[2], law, path
}

// coarser returns normal numbers for steps twice as long, in the places of the first of each two of xi, [n, B, d]; where the manifold
// is flat they lead a bridge to the points where two steps with xi do. From a time τ_0 before the end to τ_2, over τ_1, they are
//
//	√((τ_0−τ_1) τ_2/(τ_0−τ_2) τ_1) ξ_1 + √((τ_1−τ_2) τ_0/(τ_0−τ_2) τ_1) ξ_2.
func coarser(xi *Node) *Node {
	n, paths, d := xi.Shape().Dim(0), xi.Shape().Dim(1), xi.Shape().Dim(2)
	pairs := (n + 1) / 2
	parts := make([][]float64, pairs)
	for k := range parts {
		parts[k] = make([]float64, 2)
		if left := float64(n - 2*k); left >= 2 { // τ_i is as (left − i)²
			parts[k][0] = (left - 2) / (left - 1) / 2 * math.Sqrt((2*left-1)/(left-1))
			parts[k][1] = left / (left - 1) / 2 * math.Sqrt((2*left-3)/(left-1))
		}
	}
	if n < 2*pairs {
		xi = Concatenate([]*Node{xi, Slice(ZerosLike(xi), AxisRange(0, 1))}, 0)
	}
	weights := Reshape(ConstAsDType(xi.Graph(), xi.DType(), parts), pairs, 2, 1, 1)
	sum := ReduceSum(Mul(Reshape(xi, pairs, 2, paths, d), weights), 1)
	spread := Reshape(Stack([]*Node{sum, ZerosLike(sum)}, 1), 2*pairs, paths, d)
	return Slice(spread, AxisRange(0, n))
}

// step is a step of length h at a time τ before the end, after which τ' = τ·root² is left, with the normal numbers ξ; dt is
// its weight in integrals over time. h, root and dt are those of each path, [B, 1]; in a step in which a path rests they are 0, 1 and 0.
type step struct {
	z, xi, tau, h, root, dt *Node
	law                     bool // whether ratio is wanted
}
