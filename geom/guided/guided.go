package guided

import (
	"anatomy/geom"
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
