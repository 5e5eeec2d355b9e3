package guided

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/stats/chains"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/geom/try"
)

// Observations are what is seen at the leaves of a tree, with independent normal errors: the landmarks there, or the coordinates of a point that is
// no shape, on a geom.Charted manifold its ambient vector. A leaf whose edge has length 0 is where its parent is: so other nodes are seen, and one
// more than once.
type Observations[P geom.Point] struct {
	Leaves []P     // in the order of tree.Leaves; NaN for a landmark, or coordinate, that was not seen there
	Noise  float64 // standard deviation of the errors of every coordinate, positive
}

// seen is the message of an observation with errors of 1.
type seen struct {
	message
	residual, count float64 // the least ‖y − x‖², and how many numbers were seen
}

// Unknown is a number that is sampled: Rate, Noise or Param.
type Unknown struct {
	Name  string
	Prior Prior

	kind  kind
	param int
}

type kind int

const (
	rate kind = iota
	noise
	param
)

// Rate is how much faster time runs for the process than on the tree: it multiplies all lengths.
func Rate(prior Prior) Unknown { return Unknown{Name: "rate", Prior: prior, kind: rate} }

// Noise is the standard deviation of the errors of the observations, in place of Observations.Noise, which is where to begin.
func Noise(prior Prior) Unknown { return Unknown{Name: "noise", Prior: prior, kind: noise} }

// Param is Process.Params[i], which must be one number. The equation of the process gets it as [N, 1], one value a path.
func Param(i int, name string, prior Prior) Unknown {
	return Unknown{Name: name, Prior: prior, kind: param, param: i}
}

// same says whether two unknowns are one number.
func (u Unknown) same(v Unknown) bool { return u.kind == v.kind && u.param == v.param }

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
	return try.Get(newSampler(p, t, seen, o)).sample()
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
	Gradients  int // how many gradients were taken of the weights of all chains, the warm-up's included

	// RHat is the largest, Bulk and Tail are the least of everything that was drawn: the unknowns, Log, and all coordinates of Nodes and
	// their Parts, but for those that are known or do not move. The Status is geom.Converged where they are below 1.01 and at least 400.
	RHat, Bulk, Tail float64
	Status           geom.Status
}

// String says in one line how many draws there are, what is known of the unknowns, and how good all draws are.
func (p *Posterior[P]) String() string {
	n := len(p.Log[0])
	out := fmt.Sprintf("%d chains of %d draws", len(p.Log), n)
	if n == 0 { // which say nothing
		return fmt.Sprintf("%s, %s", out, p.Status)
	}
	for _, u := range p.Unknown {
		out += fmt.Sprintf(", %s", u)
	}
	out += fmt.Sprintf(", all of them R̂ ≤ %.3f, effective sizes ≥ %.0f and %.0f", p.RHat, p.Bulk, p.Tail)
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

// empty are posteriors without a draw.
func (s *sampler[P]) empty() []*Posterior[P] {
	k := s.options.Chains
	out := make([]*Posterior[P], s.groups)
	for g := range out {
		out[g] = &Posterior[P]{Nodes: make([][][]P, len(s.tree.Parent)), Log: make([][]float64, k), Scores: make([][][]float64, k), Status: geom.IterationLimit}
		for i := range out[g].Nodes {
			out[g].Nodes[i] = make([][]P, k)
			if len(s.parts) > 0 {
				out[g].Parts = append(out[g].Parts, make([][][]P, k))
			}
		}
		for _, u := range s.options.Unknown {
			out[g].Unknown = append(out[g].Unknown, Estimate{Name: u.Name, Draws: make([][]float64, k), Signed: u.Prior.family == normal})
		}
	}
	return out
}

// record adds where all chains are to the draws.
func (s *sampler[P]) record(out []*Posterior[P], m moved) {
	dim, size := geom.PointDim(s.process.Space.M), s.wide*s.d
	logs := slices.Clone(m.log)
	if len(s.options.Unknown) > 0 { // without ½‖y‖², since the scale of y changes
		for c, y := range s.y {
			logs[c] -= floats.Dot(y, y) / 2
		}
	}
	for c := range s.total {
		post, chain := out[c/s.options.Chains], c%s.options.Chains
		post.Log[chain] = append(post.Log[chain], logs[c])
		post.Scores[chain] = append(post.Scores[chain], s.score(c*s.groups/s.total, m.u[c], m.scores[c]))
		for j := range s.options.Unknown {
			post.Unknown[j].Draws[chain] = append(post.Unknown[j].Draws[chain], post.Unknown[j].number(m.u[c][j]))
		}
		for i, stands := range s.stands {
			from := (c*(1+len(s.order)) + s.row[stands]) * size
			state := m.nodes[from : from+size]
			post.Nodes[i][chain] = append(post.Nodes[i][chain], s.process.Space.FromFlat(state[:dim]))
			var parts []P
			for v := dim; v < size; v += dim {
				parts = append(parts, s.process.Space.FromFlat(state[v:v+dim]))
			}
			if parts != nil {
				post.Parts[i][chain] = append(post.Parts[i][chain], parts)
			}
		}
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
				state := slices.Clone(shape.Flat(x))
				if p.Parts != nil {
					for _, v := range p.Parts[i][c][k] {
						state = append(state, shape.Flat(v)...)
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
