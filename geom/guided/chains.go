package guided

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/try"
	"anatomy/internal/dense"
	"anatomy/internal/lists"
)

// iterations of the warm-up after which the guides are made anew, as shares of it.
var renewals = []float64{0.06, 0.15, 0.3, 0.5, 0.7}

func (s *sampler[P]) sample() (_ []*Posterior[P], err error) {
	defer try.Catch(&err)
	task := s.process.Space.Begin("guided.Sample")
	defer task.End()
	o := s.options
	r := s.resume()
	saved := time.Now()
	if r == nil {
		s.begin()
		r = &run[P]{Of: s.identity(), Posteriors: s.empty(), Steps: lists.Make(s.groups, func(int) *stepSize { return newStepSize(0.02) }), Pace: 1}
		saved = time.Time{} // where it cannot be saved that is said at once
	}
	var stopped error
	for ; r.Iteration < o.Warmup+o.Draws; r.Iteration++ {
		it := r.Iteration
		if task.Stopped() {
			stopped = fmt.Errorf("%w after %d of %d iterations", context.Cause(task.Context()), it, o.Warmup+o.Draws)
			break
		}
		if it%10 == 0 {
			task.Report(geom.Progress{Iteration: it, Total: o.Warmup + o.Draws})
		}
		if time.Since(saved) > saving {
			if stopped = s.save(r); stopped != nil {
				break
			}
			saved = time.Now()
		}
		s.iterate(r)
	}
	if stopped == nil || task.Stopped() {
		stopped = errors.Join(stopped, s.save(r))
	}
	for g, post := range r.Posteriors {
		post.end(r.Steps[g].value(), stopped)
	}
	return r.Posteriors, stopped
}

// iterate takes one step of all chains, and in the warm-up learns from it.
func (s *sampler[P]) iterate(r *run[P]) {
	o, it, k := s.options, r.Iteration, s.total/s.groups
	warm := it < o.Warmup
	if r.Renewed < len(renewals) && warm && float64(it) >= renewals[r.Renewed]*float64(o.Warmup) {
		s.renew(r)
	}
	if it == o.Warmup {
		for _, step := range r.Steps {
			step.Log = step.Average
		}
		r.Pace = pace(r.Logs, r.Angles, k)
	}
	limit := most
	if float64(it) < renewals[1]*float64(o.Warmup) {
		limit = few
	}
	m := s.move(r.Steps, limit, r.Pace)
	r.Log = m.log
	if warm {
		s.revive(r.Log)
	}
	for g, post := range r.Posteriors {
		accepted := stat.Mean(m.accept[g*k:(g+1)*k], nil)
		if warm {
			r.Steps[g].adapt(accepted)
		} else {
			post.Acceptance += accepted
		}
		post.Gradients += m.turns + 1
	}
	if warm {
		r.Logs, r.Scores, r.Angles = append(r.Logs, m.u), append(r.Scores, m.scores), append(r.Angles, m.angles)
		if r.Renewed < len(renewals) && it%max(3, o.Warmup/40) == 0 {
			s.look(&r.Seen)
		}
		return
	}
	s.record(r.Posteriors, m)
}

// renew makes the guides anew from what the warm-up has seen.
func (s *sampler[P]) renew(r *run[P]) {
	r.Renewed++
	if r.Seen != nil {
		s.learn(r.Logs, r.Scores)
		s.guide(r.Seen)
		if s.options.Save == "" { // nobody asks for them again
			s.learned = nil
		}
	}
	r.Seen, r.Logs, r.Scores, r.Angles = nil, nil, nil, nil
	for _, step := range r.Steps {
		step.restart()
	}
}

// origin puts the chains where neither noise nor unknowns are off their middle.
func (s *sampler[P]) origin() {
	s.mean, s.scale = lists.Zeros(s.groups, s.columns()), make([][][]float64, s.groups)
	for g := range s.mean {
		s.scale[g] = lists.Zeros(s.columns(), s.columns())
		for j, u := range s.options.Unknown {
			centre, width := u.Prior.centre()
			if u.kind == noise {
				centre = math.Log(s.data[g].Noise)
			}
			s.mean[g][j], s.scale[g][j][j] = centre, width
		}
	}
	s.w = s.drawn(0, zeros(s.options.Steps, s.total, len(s.order), s.k*s.d))
	s.xi = s.drawn(0, zeros(s.total, s.n*s.d))
	s.y = lists.Zeros(s.total, s.columns())
}

// begin puts the chains where they start and makes the first guides: towards what the guides themselves take for the mean.
func (s *sampler[P]) begin() {
	s.origin()
	var last visits
	for range 4 {
		s.guide(last)
		last = nil
		s.look(&last)
	}
	s.guide(last)
	s.drawn(startSize, s.w)
	s.drawn(1, s.xi)
	for c := range s.y {
		for j := range s.y[c] {
			s.y[c][j] = 0.5 * s.rng.NormFloat64()
		}
	}
}

// startSize is that of the noise with which chains start: paths near the guides' means are likelier than others where the guides are
// poor, and the noise grows by itself.
const startSize = 0.1

// columns is the number of unknowns, but at least 1: one that nothing depends on.
func (s *sampler[P]) columns() int { return max(1, len(s.options.Unknown)) }

// zeros are those of a tensor where programs read it: so large ones are there once, and can be written again.
func zeros(dims ...int) *tensors.Tensor {
	return try.Get(tensors.FromShapeForBackend(try.Get(engine.Backend()), 0, shapes.Make(dtypes.Float64, dims...)))
}

// drawn is a tensor with normal numbers of a standard deviation in place of what it had.
func (s *sampler[P]) drawn(deviation float64, x *tensors.Tensor) *tensors.Tensor {
	tensors.MustMutableFlatData(x, func(x []float64) {
		for i := range x {
			x[i] = deviation * s.rng.NormFloat64()
		}
	})
	return x
}

// revive begins chains anew that a change of the guides took to where nothing is finite.
func (s *sampler[P]) revive(logs []float64) {
	dims := s.w.Shape().Dimensions
	size := dims[2] * dims[3]
	for c, log := range logs {
		if lists.Finite(log) {
			continue
		}
		s.y[c] = make([]float64, s.columns())
		tensors.MustMutableFlatData(s.w, func(w []float64) {
			for k := range dims[0] {
				for i := range size {
					w[(k*dims[1]+c)*size+i] = startSize * s.rng.NormFloat64()
				}
			}
		})
	}
}

// moved is what an iteration returns.
type moved struct {
	accept, log, nodes, angles []float64
	u, scores                  [][]float64 // scores are the derivatives of the posterior's logarithm by y
	turns                      int
}

// The largest numbers of turns of one iteration, and of one of the first, in which steps are short because the guides are poor.
const most, few = 80, 8

// move is one trajectory of all chains, about a quarter of a turn of numbers that turn at a pace.
func (s *sampler[P]) move(steps []*stepSize, limit int, pace float64) moved {
	eps, logU := make([]float64, s.total), make([]float64, s.total)
	sizes := lists.Each(steps, func(step *stepSize) float64 { return step.value() })
	slices.Sort(sizes)
	jitter := 0.9 + 0.2*s.rng.Float64()
	for c := range eps {
		eps[c], logU[c] = steps[c*s.groups/s.total].value()*jitter, math.Log(s.rng.Float64())
	}
	turns := min(limit, max(1, int(math.Round(math.Pi/2/pace*(0.5+s.rng.Float64())/sizes[len(sizes)/2]))))
	angles := lists.Each(eps, func(x float64) float64 { return x * float64(turns) })
	if s.momenta == nil {
		s.momenta = []*tensors.Tensor{zeros(s.w.Shape().Dimensions...), zeros(s.total, s.columns()), zeros(s.xi.Shape().Dimensions...)}
	}
	args := s.state()
	for _, x := range s.momenta[:len(args)] {
		args = append(args, s.drawn(1, x))
	}
	out := try.Get(s.process.Space.Call(s.key("move"), s.trajectory, append(append(args, eps, turns, logU), s.fixed...)...))
	last := s.w
	s.w, s.y = out[0], out.Matrix(1)
	last.MustFinalizeAll() // Go does not know how large it is
	out = out[2:]
	if s.spread != nil {
		s.xi, out = out[0], out[1:]
	}
	return moved{out.Vector(0), out.Vector(3), out.Flat(1), angles, out.Matrix(2), out.Matrix(4), turns}
}

// longest is the largest step: a quarter of a turn then has at least three.
const longest = 0.5

// stepSize is adapted to a mean acceptance of 0.9 of the chains of a group by dual averaging (M. Hoffman and A. Gelman, The No-U-Turn
// sampler, 2014). With 0.8 the longer steps pay where most draws are, but chains then stay for many iterations where weights are large:
// there paths are unlike the guides, and fewer of the trajectories are accepted.
type stepSize struct {
	Log, Average, Sum, Centre float64
	N                         int
}

func newStepSize(x float64) *stepSize {
	return &stepSize{Log: math.Log(x), Average: math.Log(x), Centre: math.Log(2 * x)}
}

func (s *stepSize) adapt(accepted float64) {
	const target, gamma, t0, kappa = 0.9, 0.05, 10, 0.75
	s.N++
	m := float64(s.N)
	s.Sum += (target - accepted - s.Sum) / (m + t0)
	s.Log = math.Min(s.Centre-math.Sqrt(m)/gamma*s.Sum, math.Log(longest))
	eta := math.Pow(m, -kappa)
	s.Average += eta * (s.Log - s.Average)
}

func (s *stepSize) restart() {
	*s = stepSize{Log: s.Log, Average: s.Log, Centre: s.Log + math.Ln2}
}

func (s *stepSize) value() float64 { return math.Exp(s.Log) }

// learn takes mean and scale of the logarithms of the unknowns from the later half of draws and of their scores, [iteration][C][p], and
// keeps the chains' places.
func (s *sampler[P]) learn(draws, scores [][][]float64) {
	draws, scores = draws[len(draws)/2:], scores[len(scores)/2:]
	p, k := len(s.options.Unknown), s.total/s.groups
	if p == 0 || len(draws)*k < 5*p {
		return
	}
	for g := range s.mean {
		old := mat.NewTriDense(p, mat.Lower, slices.Concat(s.scale[g]...))
		rows, columns := mat.NewDense(len(draws)*k, p, nil), mat.NewDense(p, len(draws)*k, nil)
		for i := range draws {
			for c := range k {
				rows.SetRow(i*k+c, draws[i][g*k+c])
				columns.SetCol(i*k+c, scores[i][g*k+c])
			}
		}
		var score mat.Dense
		if err := score.Solve(old.T(), columns); ill(err) {
			continue
		}
		var cov, fisher mat.SymDense
		stat.CovarianceMatrix(&cov, rows, nil)
		dense.Shift(&cov, 1e-4)
		fisher.SymOuterK(1/float64(len(draws)*k), &score)
		l, ok := scale(&cov, &fisher)
		if !ok { // or where a chain was where nothing is finite
			continue
		}
		for j := range p {
			s.mean[g][j] = stat.Mean(mat.Col(nil, j, rows), nil)
			for i := range j + 1 {
				s.scale[g][j][i] = l.At(j, i)
			}
		}
		for c := g * k; c < (g+1)*k; c++ {
			var y mat.VecDense
			d := mat.NewVecDense(p, slices.Clone(draws[len(draws)-1][c]))
			d.SubVec(d, mat.NewVecDense(p, s.mean[g]))
			if y.SolveVec(l, d) == nil {
				s.y[c] = y.RawVector().Data
			}
		}
	}
}

// scale is the root of a matrix X for unknowns of which chains have the covariance C and the scores, the derivatives of the
// posterior's logarithm where the noise is held, the second moments F: the middle between C and the covariance F⁻¹ that they have for
// given noise, XFX = C, or C where that is smaller. With C alone steps are as short as F wants them, with F⁻¹ trajectories as long
// as C does.
func scale(cov, fisher *mat.SymDense) (*mat.TriDense, bool) {
	var chol mat.Cholesky
	if !lists.Finite(mat.Sum(fisher)) || !chol.Factorize(cov) {
		return nil, false
	}
	var l mat.TriDense
	chol.LTo(&l)
	var turned, x mat.Dense
	turned.Product(l.T(), fisher, &l)
	values, axes, ok := dense.Eigen(dense.Symmetric(&turned))
	if !ok {
		return nil, false
	}
	axes.Apply(func(_, j int, v float64) float64 { return v * math.Pow(math.Max(1, values[j]), -0.25) }, axes)
	x.Mul(&l, axes)
	if !chol.Factorize(dense.Gram(&x)) {
		return nil, false
	}
	chol.LTo(&l)
	return &l, true
}

// pace is how fast the unknowns turn: the ω, 0.3 to 1, for which cos ωθ is closest to the products of the standardised logarithms of
// unknowns before and after trajectories of angles θ, [iteration][C], in groups of k chains. Those that depend much on the noise
// are slower than it, and need longer trajectories.
func pace(logs [][][]float64, angles [][]float64, k int) float64 {
	type turned struct{ product, angle float64 }
	var all []turned
	for g := 0; g < len(angles[0]); g += k {
		for j := range logs[0][g] {
			var draws []float64
			for i := range logs {
				for c := g; c < g+k; c++ {
					draws = append(draws, logs[i][c][j])
				}
			}
			mean, variance := stat.MeanVariance(draws, nil)
			for i := 1; i < len(logs); i++ {
				for c := g; c < g+k; c++ {
					all = append(all, turned{(logs[i-1][c][j] - mean) * (logs[i][c][j] - mean) / variance, angles[i][c]})
				}
			}
		}
	}
	best, least := 1.0, math.Inf(1)
	for omega := 1.0; omega > 0.29; omega -= 0.05 {
		off := 10 * (1 - omega) * (1 - omega) // few trajectories say little
		for _, t := range all {
			off += math.Pow(t.product-math.Cos(omega*t.angle), 2)
		}
		if off < least {
			best, least = omega, off
		}
	}
	return best
}
