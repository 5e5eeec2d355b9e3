package guided

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/solve"
	"anatomy/geom/stats/chains"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/geom/try"
)

// Observations are what is seen at the leaves of a tree: Lx with independent normal errors, where x are the landmarks there, or the
// coordinates of a point that is no shape, on a geom.Charted manifold its ambient vector. A leaf whose edge has length 0 is where its
// parent is: so other nodes are seen, and one more than once.
type Observations[P geom.Point] struct {
	Leaves []P         // in the order of tree.Leaves; NaN for a landmark, or coordinate, that was not seen there
	Noise  float64     // standard deviation of the errors of every coordinate, positive
	Map    [][]float64 // L, [r][n], for leaves of r rows; nil stands for the identity
}

// seen is the message of an observation with errors of 1.
type seen struct {
	message
	residual, count float64 // the least ‖y − Lx‖², and how many numbers were seen
}

// Unknown is a number that is sampled: Rate, BranchRate, Noise or Param.
type Unknown struct {
	Name  string
	Prior Prior

	kind     kind
	param    int
	leaves   []string // of the clade; nil for the whole tree
	branches []int    // of a rate: the nodes below its edges, which newSampler finds
}

type kind int

const (
	rate kind = iota
	noise
	param
)

// Rate is how much faster time runs for the process than on the tree: it multiplies all lengths.
func Rate(prior Prior) Unknown { return Unknown{Name: "rate", Prior: prior, kind: rate} }

// BranchRate is how much faster time runs for a clade than on the tree: it multiplies the length of the edge above the last common
// ancestor of some leaves, given by name, and those of all edges below it. One leaf stands for its own edge. Together with a Rate both
// count; two clades that share an edge are refused.
func BranchRate(name string, prior Prior, leaves ...string) Unknown {
	return Unknown{Name: name, Prior: prior, kind: rate, leaves: append([]string{}, leaves...)}
}

// Noise is the standard deviation of the errors of the observations, in place of Observations.Noise, which is where to begin.
func Noise(prior Prior) Unknown { return Unknown{Name: "noise", Prior: prior, kind: noise} }

// Param is Process.Params[i], which must be one number. The equation of the process gets it as [N, 1], one value a path.
func Param(i int, name string, prior Prior) Unknown {
	return Unknown{Name: name, Prior: prior, kind: param, param: i}
}

// same says whether two unknowns are one number; rates of clades are not.
func (u Unknown) same(v Unknown) bool {
	return u.kind == v.kind && u.leaves == nil && v.leaves == nil && u.param == v.param
}

// empty is the estimate of u before the chains have draws.
func (u Unknown) empty(chains int) Estimate {
	return Estimate{Name: u.Name, Draws: make([][]float64, chains), Signed: u.Prior.family == normal}
}

// Options say how to sample.
type Options struct {
	Unknown []Unknown
	// Root is the standard deviation of a normal prior of the root's point around Process.Start, on a geom.Charted manifold in the chart
	// centred there; 0: it is Process.Start.
	Root float64
	// RootParts are those of the root's parts around Process.Parts, one each: with a momentum that is not known the process is one of
	// regression, see tree.Cohort. Parts are known where there is none.
	RootParts []float64

	Steps  int // of Euler and Maruyama on every edge; 0 stands for 25
	Chains int // 0 stands for 4
	Warmup int // iterations that are not kept, in which step sizes and guides adapt; 0 stands for 200
	Draws  int // of each chain; 0 stands for 400
	Seed   uint64
	// Save is a file to which the run is written each minute and at its end; one that was interrupted, or is to have more Draws, goes on
	// from there. It is an error if the file is of another process, other data or other options, or has more draws.
	Save string

	// Particles, if it is not 0, is how many there are in each of Chains populations, which go from the prior to the posterior where chains
	// do not come from one mode to another. There is one draw of each, and no Warmup, Draws or Save.
	Particles int
}

// Posterior are draws of what is not known about a process on a tree, given what was seen at the leaves.
type Posterior[P geom.Point] struct {
	Unknown []Estimate // in the order of Options
	Nodes   [][][]P    // Nodes[i][chain][draw] is the point of node i of the tree
	Parts   [][][][]P  // Parts[i][chain][draw] are the vectors of all its parts; nil of a process without any
	// Log[chain][draw] is log p(y | x, θ) + log p(x | θ)/q(x | θ) + log p(log θ) for what was seen, y, the path x, the density q of paths
	// that are guided, and the unknowns θ, up to a constant of the priors. Of a linear process the first two are log p(y | θ), nearly,
	// whatever the path; guides are others in every run, so that logs are compared within one.
	Log        [][]float64
	Scores     [][][]float64 // [chain][draw][unknown]: derivatives of log p(path, observations) by the unknowns' logarithms, at fixed noise
	Acceptance float64
	StepSize   float64
	Gradients  int       // how many gradients were taken of the weights of all chains, the warm-up's included
	Evidence   *Evidence // of particles; nil of chains

	// RHat is the largest, Bulk and Tail are the least of everything that was drawn: the unknowns, Log, and all coordinates of Nodes and
	// their Parts, but for those that are known or do not move. The Status is geom.Converged where they are below 1.01 and at least 400.
	RHat, Bulk, Tail float64
	Status           geom.Status
}

// String says in one line how many draws there are, what is known of the unknowns, and how good all draws are.
func (p *Posterior[P]) String() string {
	what := "chains"
	if p.Evidence != nil {
		what = "populations"
	}
	n := len(p.Log[0])
	out := fmt.Sprintf("%d %s of %d draws", len(p.Log), what, n)
	if n == 0 { // which say nothing
		return fmt.Sprintf("%s, %s", out, p.Status)
	}
	for _, u := range p.Unknown {
		out += fmt.Sprintf(", %s", u)
	}
	out += fmt.Sprintf(", all of them R̂ ≤ %.3f, effective sizes ≥ %.0f and %.0f", p.RHat, p.Bulk, p.Tail)
	if p.Evidence != nil {
		out += fmt.Sprintf(", %s", p.Evidence)
	}
	return fmt.Sprintf("%s, %s", out, p.Status)
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (p *Posterior[P]) Err() error { return solve.NotNil(p).Status.Err(p) }

// Estimate is an unknown with its draws, and how good they are: see package chains.
type Estimate struct {
	Name             string
	Draws            [][]float64 // [chain][draw]
	Mean, Deviation  float64
	RHat, Bulk, Tail float64
	Signed           bool // its prior is Normal
}

// number is the one whose logarithm is u, of a Signed one u itself; logarithm is its inverse.
func (e Estimate) number(u float64) float64 {
	if e.Signed {
		return u
	}
	return math.Exp(u)
}

func (e Estimate) logarithm(x float64) float64 {
	if e.Signed {
		return x
	}
	return math.Log(x)
}

// String says what is known of it in one line.
func (e Estimate) String() string {
	return fmt.Sprintf("%s %.4g ± %.2g (R̂ %.3f, effective sizes %.0f and %.0f)", e.Name, e.Mean, e.Deviation, e.RHat, e.Bulk, e.Tail)
}

// Where chains agree and are long enough to be used.
const (
	agreed     = 1.01
	sufficient = 400
)

func estimate(name string, draws [][]float64) Estimate {
	mean, deviation := stat.MeanStdDev(slices.Concat(draws...), nil)
	return Estimate{Name: name, Draws: draws, Mean: mean, Deviation: deviation, RHat: chains.RHat(draws), Bulk: chains.Bulk(draws), Tail: chains.Tail(draws)}
}

// Sample draws from the posterior of a process on a tree, which begins at Process.Start at the root and splits into independent
// copies at each node.
func Sample[P geom.Point](p stochastic.Process[P], t *tree.Tree, seen Observations[P], o Options) (*Posterior[P], error) {
	all, err := SampleAll(p, t, []Observations[P]{seen}, o)
	if all == nil {
		return nil, err
	}
	return all[0], err
}

// SampleAll is Sample for many independent sets of observations of one tree, all of them in one compiled call.
func SampleAll[P geom.Point](p stochastic.Process[P], t *tree.Tree, seen []Observations[P], o Options) (_ []*Posterior[P], err error) {
	defer try.Named(&err, "guided.Sample")
	s := try.Get(newSampler(p, t, seen, o))
	if o.Particles > 0 {
		return s.climb()
	}
	return s.sample()
}

// iterations of the warm-up after which the guides are made anew, as shares of it.
var renewals = []float64{0.06, 0.15, 0.3, 0.5, 0.7}

func (s *sampler[P]) sample() (_ []*Posterior[P], err error) {
	defer try.Catch(&err)
	task := s.process.Space.Begin("guided.Sample")
	defer task.End()
	o := s.options
	r := s.resume()
	k := s.total / s.groups
	saved := time.Now()
	if r == nil {
		try.Do(s.begin())
		r = &run[P]{Of: s.identity(), Posteriors: s.empty(), Steps: make([]*stepSize, s.groups), Pace: 1}
		for c := range r.Steps {
			r.Steps[c] = newStepSize(0.02)
		}
		saved = time.Time{} // where it cannot be saved that is said at once
	}
	out, steps := r.Posteriors, r.Steps
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
		warm := it < o.Warmup
		if r.Renewed < len(renewals) && warm && float64(it) >= renewals[r.Renewed]*float64(o.Warmup) {
			s.renew(r)
		}
		if it == o.Warmup {
			for _, step := range steps {
				step.Log = step.Average
			}
			r.Pace = pace(r.Logs, r.Angles, k)
		}
		limit := most
		if float64(it) < renewals[1]*float64(o.Warmup) {
			limit = few
		}
		m := try.Get(s.move(steps, limit, r.Pace))
		r.Log = m.log
		if warm {
			s.revive(r.Log)
		}
		for g, post := range out {
			accepted := stat.Mean(m.accept[g*k:(g+1)*k], nil)
			if warm {
				steps[g].adapt(accepted)
			} else {
				post.Acceptance += accepted
			}
			post.Gradients += m.turns + 1
		}
		if warm {
			r.Logs, r.Scores, r.Angles = append(r.Logs, m.u), append(r.Scores, m.scores), append(r.Angles, m.angles)
			if r.Renewed < len(renewals) && it%max(3, o.Warmup/40) == 0 {
				try.Do(s.look(&r.Seen))
			}
			continue
		}
		s.record(out, m)
	}
	if stopped == nil || task.Stopped() {
		stopped = errors.Join(stopped, s.save(r))
	}
	for g, post := range out {
		post.end(steps[g].value(), stopped)
	}
	return out, stopped
}

// renew makes the guides anew from what the warm-up has seen.
func (s *sampler[P]) renew(r *run[P]) {
	r.Renewed++
	if r.Seen != nil {
		s.learn(r.Logs, r.Scores)
		try.Do(s.guide(r.Seen))
	}
	r.Seen, r.Logs, r.Scores, r.Angles = nil, nil, nil, nil
	for _, step := range r.Steps {
		step.restart()
	}
}

// end assesses the draws that there are.
func (post *Posterior[P]) end(step float64, stopped error) {
	done := len(post.Log[0])
	post.Acceptance /= float64(max(done, 1))
	post.StepSize = step
	if done > 0 {
		post.assess()
	}
	if stopped != nil {
		post.Status = geom.Cancelled
	}
}

// record adds where all chains, or particles, are to the draws.
func (s *sampler[P]) record(out []*Posterior[P], m moved) {
	dim, size, at := geom.PointDim(s.process.Space.M), s.wide*s.d, make([]int, len(s.stands))
	logs := s.bare(m.log)
	for v, i := range s.nodes() {
		at[i] = v
	}
	for c := range s.total {
		list := c / max(1, s.options.Particles)
		post, chain := out[list/s.options.Chains], list%s.options.Chains
		post.Log[chain] = append(post.Log[chain], logs[c])
		post.Scores[chain] = append(post.Scores[chain], s.score(c*s.groups/s.total, m.u[c], m.scores[c]))
		for j := range s.options.Unknown {
			post.Unknown[j].Draws[chain] = append(post.Unknown[j].Draws[chain], post.Unknown[j].number(m.u[c][j]))
		}
		for i, stands := range s.stands {
			from := (c*(1+len(s.order)) + at[stands]) * size
			state := slices.Clone(m.nodes[from : from+size])
			post.Nodes[i][chain] = append(post.Nodes[i][chain], s.process.Space.Point(state[:dim:dim]))
			var parts []P
			for v := dim; v < size; v += dim {
				parts = append(parts, s.process.Space.Point(state[v:v+dim:v+dim]))
			}
			if parts != nil {
				post.Parts[i][chain] = append(post.Parts[i][chain], parts)
			}
		}
	}
}

// assess says how good the draws are.
func (p *Posterior[P]) assess() {
	log := estimate("log", p.Log)
	p.RHat, p.Bulk, p.Tail = log.RHat, log.Bulk, log.Tail
	worst := func(e Estimate) {
		p.RHat, p.Bulk, p.Tail = math.Max(p.RHat, e.RHat), math.Min(p.Bulk, e.Bulk), math.Min(p.Tail, e.Tail)
	}
	for j, u := range p.Unknown {
		p.Unknown[j] = estimate(u.Name, u.Draws)
		p.Unknown[j].Signed = u.Signed
		worst(p.Unknown[j])
	}
	for i, node := range p.Nodes {
		states := make([][][]float64, len(node)) // [chain][draw][coordinate]
		for c, draws := range node {
			for k, x := range draws {
				state := slices.Clone(geom.Numbers(x))
				if p.Parts != nil {
					for _, v := range p.Parts[i][c][k] {
						state = append(state, geom.Numbers(v)...)
					}
				}
				states[c] = append(states[c], state)
			}
		}
		for a := range states[0][0] {
			draws, still := make([][]float64, len(states)), true
			for c := range states {
				for _, x := range states[c] {
					draws[c], still = append(draws[c], x[a]), still && x[a] == states[0][0][a]
				}
			}
			if !still {
				worst(estimate("", draws))
			}
		}
	}
	p.Status = geom.IterationLimit
	if p.RHat < agreed && p.Bulk >= sufficient && p.Tail >= sufficient {
		p.Status = geom.Converged
	}
}

// empty are posteriors without a draw.
func (s *sampler[P]) empty() []*Posterior[P] {
	k := s.options.Chains
	out := make([]*Posterior[P], s.total/(k*max(1, s.options.Particles)))
	for g := range out {
		out[g] = &Posterior[P]{Nodes: make([][][]P, len(s.tree.Parent)), Log: make([][]float64, k), Scores: make([][][]float64, k), Status: geom.IterationLimit}
		for i := range out[g].Nodes {
			out[g].Nodes[i] = make([][]P, k)
			if len(s.parts) > 0 {
				out[g].Parts = append(out[g].Parts, make([][][]P, k))
			}
		}
		for _, u := range s.options.Unknown {
			out[g].Unknown = append(out[g].Unknown, u.empty(k))
		}
	}
	return out
}

// origin puts the chains where neither noise nor unknowns are off their middle.
func (s *sampler[P]) origin() {
	s.mean, s.scale = make([][]float64, s.groups), make([][][]float64, s.groups)
	for g := range s.mean {
		s.scale[g] = make([][]float64, s.columns())
		for j := range s.scale[g] {
			s.scale[g][j] = make([]float64, s.columns())
		}
		s.mean[g] = make([]float64, s.columns())
		for j, u := range s.options.Unknown {
			centre, width := u.Prior.centre()
			if u.kind == noise {
				centre = math.Log(s.data[g].Noise)
			}
			s.mean[g][j], s.scale[g][j][j] = centre, width
		}
	}
	s.w = s.normal(0, s.options.Steps, s.total, len(s.order), s.k*s.d)
	s.xi = s.normal(0, s.total, s.n*s.d)
	s.y = make([][]float64, s.total)
	for c := range s.y {
		s.y[c] = make([]float64, s.columns())
	}
}

// begin puts the chains where they start and makes the first guides: towards what the guides themselves take for the mean.
func (s *sampler[P]) begin() (err error) {
	defer try.Catch(&err)
	s.origin()
	var last visits
	for range 4 {
		try.Do(s.guide(last))
		last = nil
		try.Do(s.look(&last))
	}
	try.Do(s.guide(last))
	s.w, s.xi = s.normal(startSize, s.w.Shape().Dimensions...), s.normal(1, s.xi.Shape().Dimensions...)
	for c := range s.y {
		for j := range s.y[c] {
			s.y[c][j] = 0.5 * s.rng.NormFloat64()
		}
	}
	return nil
}

// startSize is that of the noise with which chains start: paths near the guides' means are likelier than others where the guides are
// poor, and the noise grows by itself.
const startSize = 0.1

// columns is the number of unknowns, but at least 1: one that nothing depends on.
func (s *sampler[P]) columns() int { return max(1, len(s.options.Unknown)) }

// normal are normal numbers of a standard deviation.
func (s *sampler[P]) normal(deviation float64, dims ...int) *tensors.Tensor {
	size := 1
	for _, d := range dims {
		size *= d
	}
	x := make([]float64, size)
	for i := range x {
		x[i] = deviation * s.rng.NormFloat64()
	}
	return tensors.FromFlatDataAndDimensions(x, dims...)
}

// revive begins chains anew that a change of the guides took to where nothing is finite.
func (s *sampler[P]) revive(logs []float64) {
	dims := s.w.Shape().Dimensions
	for c, log := range logs {
		if !math.IsNaN(log) && !math.IsInf(log, 0) {
			continue
		}
		s.y[c] = make([]float64, s.columns())
		fresh := s.normal(startSize, dims[0], 1, dims[2], dims[3])
		tensors.MustMutableFlatData(s.w, func(w []float64) {
			tensors.MustConstFlatData(fresh, func(x []float64) {
				size := dims[2] * dims[3]
				for k := range dims[0] {
					copy(w[(k*dims[1]+c)*size:], x[k*size:(k+1)*size])
				}
			})
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
func (s *sampler[P]) move(steps []*stepSize, limit int, pace float64) (moved, error) {
	eps, logU, angles := make([]float64, s.total), make([]float64, s.total), make([]float64, s.total)
	sizes := make([]float64, len(steps))
	for c, step := range steps {
		sizes[c] = step.value()
	}
	slices.Sort(sizes)
	jitter := 0.9 + 0.2*s.rng.Float64()
	for c := range eps {
		eps[c], logU[c] = steps[c*s.groups/s.total].value()*jitter, math.Log(s.rng.Float64())
	}
	turns := min(limit, max(1, int(math.Round(math.Pi/2/pace*(0.5+s.rng.Float64())/sizes[len(sizes)/2]))))
	for c := range angles {
		angles[c] = eps[c] * float64(turns)
	}
	p := s.columns()
	momenta := []any{s.normal(1, s.w.Shape().Dimensions...), s.normal(1, s.total, p)}
	if s.spread != nil {
		momenta = append(momenta, s.normal(1, s.xi.Shape().Dimensions...))
	}
	args := append(append(s.state(), momenta...), eps, turns, logU)
	out, err := s.process.Space.Call(s.key("move"), s.trajectory, append(args, s.fixed...)...)
	if err != nil {
		return moved{}, err
	}
	s.w, s.y = out[0], out.Matrix(1)
	out = out[2:]
	if s.spread != nil {
		s.xi, out = out[0], out[1:]
	}
	return moved{out.Vector(0), out.Vector(3), out.Flat(1), angles, out.Matrix(2), out.Matrix(4), turns}, nil
}

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
		for j := range p {
			cov.SetSym(j, j, cov.At(j, j)+1e-4)
		}
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
	if sum := mat.Sum(fisher); math.IsNaN(sum) || math.IsInf(sum, 0) || !chol.Factorize(cov) {
		return nil, false
	}
	var l mat.TriDense
	chol.LTo(&l)
	var turned, x mat.Dense
	turned.Product(l.T(), fisher, &l)
	p := cov.SymmetricDim()
	inner := mat.NewSymDense(p, nil)
	for i := range p {
		for j := range i + 1 {
			inner.SetSym(i, j, (turned.At(i, j)+turned.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(inner, true) {
		return nil, false
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	values := eigen.Values(nil)
	axes.Apply(func(_, j int, v float64) float64 { return v * math.Pow(math.Max(1, values[j]), -0.25) }, &axes)
	x.Mul(&l, &axes)
	var middle mat.SymDense
	middle.SymOuterK(1, &x)
	if !chol.Factorize(&middle) {
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

func newSampler[P geom.Point](p stochastic.Process[P], t *tree.Tree, data []Observations[P], o Options) (_ *sampler[P], err error) {
	defer try.Catch(&err)
	try.Do(p.Check())
	if try.Get(p.Space.Orbits()) {
		try.Fail("points of %T are orbits, and what is seen would be of one element, which is not known: processes are guided where points are no orbits", p.Space.M)
	}
	if o.Particles < 0 {
		try.Fail("%d particles, want at least 1, or 0 for chains", o.Particles)
	}
	if o.Particles > 0 && (o.Warmup != 0 || o.Draws != 0 || o.Save != "") {
		try.Fail("particles have no Warmup, no Draws and no file to Save: there is one draw of each")
	}
	for _, x := range []struct {
		number   *int
		standard int
		name     string
	}{{&o.Steps, 25, "steps"}, {&o.Chains, 4, "chains"}, {&o.Warmup, 200, "iterations of warm-up"}, {&o.Draws, 400, "draws"}} {
		if *x.number == 0 {
			*x.number = x.standard
		}
		if *x.number < 1 {
			try.Fail("%d %s, want at least 1", *x.number, x.name)
		}
	}
	try.Do(t.CheckLengths())
	for i, length := range t.Length {
		if !(length >= 0) || math.IsInf(length, 1) {
			try.Fail("the edge above %s has length %g, want a finite number from 0", t.Label(i), length)
		}
	}
	s := &sampler[P]{model: newModel(p), plan: newPlan(t), process: p, options: o, data: data,
		source: rand.NewPCG(o.Seed, 0), groups: len(data), total: len(data) * o.Chains, exponent: 1, noiseAt: -1}
	if o.Particles > 0 { // a population is a group
		s.data = nil
		for _, d := range data {
			s.data = append(s.data, slices.Repeat([]Observations[P]{d}, o.Chains)...)
		}
		s.groups, s.total = s.total, s.total*o.Particles
	}
	s.rng = rand.New(s.source)
	for l := range s.inner {
		s.inner[l] = s.inner[l] || s.charted
	}
	if len(s.order) == 0 {
		try.Fail("the tree has no edge of a length")
	}
	s.start = start(p, s.model)
	s.free()
	if len(data) == 0 {
		try.Fail("no observations")
	}
	s.options.Unknown = slices.Clone(o.Unknown)
	s.assign(t)
	for g := range s.data {
		s.enter(g)
	}
	size := float64(o.Steps) * float64(s.total) * float64(len(s.order)) * float64(s.k*s.d)
	messages := float64(len(places(len(o.Unknown)))) * float64(o.Steps) * float64(s.groups) * float64(len(s.order)) * float64(s.n*(s.n+s.d))
	return s, engine.Fits("the run", 8*(40*size+3*messages))
}

// assign gives the unknowns of the options their priors' checks and their branches: no two are one number.
func (s *sampler[P]) assign(t *tree.Tree) {
	unknown := s.options.Unknown
	clade := make([]int, len(t.Parent)) // 1 + which unknown is that of the edge above node i
	for j, u := range unknown {
		try.Do(u.Prior.check(u.Name))
		if k := slices.IndexFunc(unknown[:j], u.same); k >= 0 {
			try.Fail("the unknowns %d and %d, %s and %s, are one number: leave one out", k, j, unknown[k].Name, u.Name)
		}
		switch {
		case u.kind != param && u.Prior.family == normal:
			try.Fail("%s is positive, but its prior is Normal: take LogNormal or InverseGamma", u.Name)
		case u.kind == noise:
			s.noiseAt = j
		case u.kind == rate && u.leaves == nil:
			s.options.Unknown[j].branches = s.order
		case u.kind == rate:
			nodes, err := t.Clade(u.leaves...)
			try.Do(try.Name(err, "%s", u.Name))
			for _, i := range nodes {
				if k := clade[i]; k > 0 && i > 0 {
					try.Fail("the edge above %s has two rates, %s and %s: name clades that share no edge", t.Label(i), unknown[k-1].Name, u.Name)
				}
				clade[i] = 1 + j
			}
			if !slices.ContainsFunc(nodes, func(i int) bool { return i > 0 && s.stands[i] == i }) {
				try.Fail("%s is the rate of edges without length, which nothing depends on", u.Name)
			}
			s.options.Unknown[j].branches = nodes
		case u.kind == param && (u.param < 0 || u.param >= len(s.process.Params)):
			try.Fail("%s is parameter %d of a process that has %d", u.Name, u.param, len(s.process.Params))
		case u.kind == param && !number(s.process.Params[u.param]):
			try.Fail("%s is parameter %d of the process, %v, which is not one number: give numbers that are unknown a parameter each", u.Name, u.param, s.process.Params[u.param])
		}
	}
}

// mapped returns the matrix that takes a state, k rows for each of n landmarks or coordinates, to what is observed of it: rows of a map, or all that there is
// without one.
func (s *sampler[P]) mapped(given [][]float64, rows, n, k int) *mat.Dense {
	l := mat.NewDense(rows*k, s.wide, nil)
	for i := range rows {
		row := make([]float64, n)
		row[i%n] = 1
		if given != nil {
			row = given[i]
		}
		if len(row) != n {
			try.Fail("row %d of the map has %d numbers for %d landmarks or coordinates", i, len(row), n)
		}
		for j, x := range row {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				try.Fail("row %d of the map has %g, want finite numbers", i, x)
			}
			for a := range k {
				l.Set(i*k+a, j*k+a, x)
			}
		}
	}
	return l
}

// number says whether a parameter is one number.
func number(param any) bool {
	switch param.(type) {
	case float64, float32, int:
		return true
	}
	return false
}

// free checks the priors of the root's state and makes a row of them.
func (s *sampler[P]) free() {
	if n := len(s.options.RootParts); n != 0 && n != len(s.process.Parts) {
		try.Fail("priors of %d parts of the root, want one for each of the %d parts of the process", n, len(s.process.Parts))
	}
	for j, x := range append([]float64{s.options.Root}, s.options.RootParts...) {
		if !(x >= 0) || math.IsInf(x, 1) {
			try.Fail("prior of the root with the standard deviation %g, want a finite number from 0", x)
		}
		rows := s.process.Space.M.Dim() / s.d
		if j > 0 {
			rows *= s.parts[j-1]
		}
		s.spread = append(s.spread, slices.Repeat([]float64{x}, rows)...)
	}
	if slices.Max(s.spread) == 0 {
		s.spread = nil
		return
	}
	s.spread = append(s.spread, make([]float64, s.n-len(s.spread))...) // of parts that are known
}

// enter checks a set of observations and makes rows of them.
func (s *sampler[P]) enter(g int) {
	o := s.data[g]
	leaves := s.tree.Leaves()
	if len(o.Leaves) != len(leaves) {
		try.Fail("%d observations for a tree of %d leaves", len(o.Leaves), len(leaves))
	}
	if !positive(o.Noise) {
		try.Fail("observations with errors of standard deviation %g, want a finite positive number", o.Noise)
	}
	n, columns := geom.PointDim(s.process.Space.M), 1 // of points; the other rows of states are parts, which nobody sees
	if r, ok := s.process.Space.M.(geom.Rows); ok {
		n, columns, _ = r.Rows()
	}
	k := columns / s.d // rows of states for one of points
	rows := n
	if o.Map != nil {
		rows = len(o.Map)
	}
	if rows == 0 {
		try.Fail("a map of no rows: nil stands for all that there is")
	}
	l := s.mapped(o.Map, rows, n, k)
	all := make([]seen, len(s.stands))
	for leaf, point := range o.Leaves {
		name := "the observation of " + s.tree.Label(leaves[leaf])
		shape, _ := any(point).(geom.Shape)
		for i, row := range shape {
			if len(row) != columns {
				try.Fail("row %d of %s has %d numbers, want %d", i, name, len(row), columns)
			}
		}
		flat := geom.Numbers(point)
		if len(flat) != rows*columns {
			try.Fail("%s has %d numbers, want %d", name, len(flat), rows*columns)
		}
		values := make([][]float64, rows*k)
		count := 0
		for i := range values {
			values[i] = flat[i*s.d : (i+1)*s.d]
			missing := 0
			for a, x := range values[i] {
				if math.IsInf(x, 0) {
					try.Fail("number %d of %s is %g", i*s.d+a, name, x)
				}
				if math.IsNaN(x) {
					missing++
				}
			}
			if missing == 0 {
				count += s.d
			} else if missing < s.d {
				try.Fail("row %d of %s is %v: the noise of this process is the same along all axes, so that all numbers of a landmark are seen or none", i, name, values[i])
			}
		}
		at := &all[s.stands[leaves[leaf]]]
		m, residual := observation(values, l)
		if at.b != nil {
			var off float64
			m, off = fuse([]message{at.message, m})
			residual += at.residual + off
		}
		*at = seen{m, residual, at.count + float64(count)}
	}
	s.seen = append(s.seen, all)
}
