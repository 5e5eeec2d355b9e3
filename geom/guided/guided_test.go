package guided

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/optimize"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/guided/native"
	"anatomy/geom/linalg"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
)

func TestMain(m *testing.M) {
	geomtest.Main(m, geomtest.Quick, TestGrowth, TestLinear, TestResume, TestNoUnknowns, TestGeodesicRegression)
}

// four leaves, one of which hangs at the root.
//
//	0 ─┬ 1 ─┬ 3
//	   │    └ 4 ─┬ 5
//	   └ 2       └ 6
var tree4 = expect.Must(tree.New([]int{-1, 0, 0, 1, 1, 4, 4}, []float64{0, 0.7, 1.3, 0.5, 0.4, 0.6, 0.8}, nil))

// star is a tree as unrooted ones are written: three edges meet at the root.
var star = expect.Must(tree.New([]int{-1, 0, 0, 0}, []float64{0, 0.7, 1.3, 0.5}, nil))

var bridge = expect.Must(tree.New([]int{-1, 0}, []float64{0, 0.8}, nil))

// linear is dx = (m − J x) dt + S dW in R², as it is written for any process.
var linear = stochastic.EquationOf(func(_ geom.Local, p []*Node) ode.Equation {
	return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
		drift := Sub(BroadcastPrefix(p[0], y[0].Shape().Dim(0)), linalg.MatMul(y[0], linalg.T(p[1])))
		return ode.State{Add(Mul(dt, drift), linalg.MatMul(dw, linalg.T(p[2])))}
	}
})

var (
	plane   = geom.On(manifold.Euclidean(2))
	mixing  = [][]float64{{0.9, 0}, {0.4, 0.6}}
	pulling = [][]float64{{1.1, -0.3}, {0.5, 0.7}}
)

func straight(drift bool) stochastic.Process[geom.Vec] {
	p := stochastic.Process[geom.Vec]{Space: plane, Name: "linear", Scheme: ode.EulerMaruyama, Noise: 2, Start: []float64{0.3, -0.2},
		Params: []any{[]float64{0, 0}, [][]float64{{0, 0}, {0, 0}}, mixing}, Dynamics: linear}
	if drift {
		p.Params = []any{[]float64{0.5, -1}, pulling, mixing}
	}
	return p
}

// walk is the covariance and mean of all states of a linear process with the steps of Euler and Maruyama, node by node and
// coordinate by coordinate. Row i·d of the covariance is node i.
func walk(t *tree.Tree, steps int, start, m []float64, j, s [][]float64, root float64) (mean []float64, cov *mat.Dense) {
	d, n := len(start), len(t.Parent)
	mean, cov = make([]float64, n*d), mat.NewDense(n*d, n*d, nil)
	copy(mean, start)
	for a := range d {
		cov.Set(a, a, root*root)
	}
	sigma := mat.NewDense(d, d, floatsOf(s))
	for i := 1; i < n; i++ {
		h := t.Length[i] / float64(steps)
		phi := mat.NewDense(d, d, nil)
		for a := range d {
			for b := range d {
				phi.Set(a, b, -h*j[a][b])
			}
			phi.Set(a, a, phi.At(a, a)+1)
		}
		p := t.Parent[i]
		power, x := mat.NewDense(d, d, nil), mat.NewVecDense(d, append([]float64{}, mean[p*d:(p+1)*d]...))
		v := mat.DenseCopyOf(cov.Slice(p*d, (p+1)*d, p*d, (p+1)*d))
		for a := range d {
			power.Set(a, a, 1)
		}
		for range steps {
			var next mat.VecDense
			next.MulVec(phi, x)
			next.AddScaledVec(&next, h, mat.NewVecDense(d, m))
			x = &next
			var turned, all, q mat.Dense
			turned.Mul(phi, v)
			all.Mul(&turned, phi.T())
			q.Mul(sigma, sigma.T())
			q.Scale(h, &q)
			all.Add(&all, &q)
			v = &all
			var longer mat.Dense
			longer.Mul(phi, power)
			power = &longer
		}
		copy(mean[i*d:], x.RawVector().Data)
		for k := range i {
			var c mat.Dense
			c.Mul(power, cov.Slice(p*d, (p+1)*d, k*d, (k+1)*d))
			cov.Slice(i*d, (i+1)*d, k*d, (k+1)*d).(*mat.Dense).Copy(&c)
			cov.Slice(k*d, (k+1)*d, i*d, (i+1)*d).(*mat.Dense).Copy(c.T())
		}
		cov.Slice(i*d, (i+1)*d, i*d, (i+1)*d).(*mat.Dense).Copy(v)
	}
	return mean, cov
}

func floatsOf(rows [][]float64) (flat []float64) {
	for _, r := range rows {
		flat = append(flat, r...)
	}
	return flat
}

// given is what is known of the states after some coordinates of leaves are seen: the log density of these, and all means and variances.
func given(mean []float64, cov *mat.Dense, at []int, seen []float64, noise float64) (log float64, after, variance []float64) {
	k := len(at)
	sub, m := mat.NewSymDense(k, nil), make([]float64, k)
	cross := mat.NewDense(len(mean), k, nil)
	for a, i := range at {
		m[a] = mean[i]
		for b := a; b < k; b++ {
			sub.SetSym(a, b, cov.At(i, at[b]))
		}
		sub.SetSym(a, a, sub.At(a, a)+noise*noise)
		for i2 := range mean {
			cross.Set(i2, a, cov.At(i2, i))
		}
	}
	normal, ok := distmv.NewNormal(m, sub, nil)
	if !ok {
		panic("not positive")
	}
	var chol mat.Cholesky
	chol.Factorize(sub)
	d := mat.NewVecDense(k, nil)
	for a := range at {
		d.SetVec(a, seen[a]-m[a])
	}
	var w mat.VecDense
	if err := chol.SolveVecTo(&w, d); err != nil {
		panic(err)
	}
	var shift mat.VecDense
	shift.MulVec(cross, &w)
	var gain mat.Dense
	if err := chol.SolveTo(&gain, cross.T()); err != nil {
		panic(err)
	}
	for i := range mean {
		after = append(after, mean[i]+shift.AtVec(i))
		variance = append(variance, cov.At(i, i)-mat.Dot(cross.RowView(i), gain.ColView(i)))
	}
	return normal.LogProb(seen), after, variance
}

// unguided is a sampler whose messages say next to nothing.
func unguided[P geom.Point](t *testing.T, p stochastic.Process[P], tr *tree.Tree, seen Observations[P], o Options) *sampler[P] {
	t.Helper()
	s := expect.Must(newSampler(p, tr, []Observations[P]{seen}, o))
	s.origin()
	s.guide(nil)
	return s
}

// prepared is a sampler with its guides.
func prepared[P geom.Point](t *testing.T, p stochastic.Process[P], tr *tree.Tree, seen Observations[P], o Options) *sampler[P] {
	t.Helper()
	s := expect.Must(newSampler(p, tr, []Observations[P]{seen}, o))
	s.begin()
	return s
}

func leavesOf(tr *tree.Tree, rng *rand.Rand) (v [][]float64) {
	for range tr.Leaves() {
		v = append(v, []float64{rng.NormFloat64(), rng.NormFloat64()})
	}
	return v
}

// through appends to states the values Lx of some of them, each of as many coordinates as l has columns, that begin at from.
func through(mean []float64, cov *mat.Dense, l [][]float64, from []int) ([]float64, *mat.Dense) {
	n := len(mean)
	all := mat.NewDense(n+len(from)*len(l), n, nil)
	for i := range n {
		all.Set(i, i, 1)
	}
	for k, f := range from {
		for r, row := range l {
			for j, x := range row {
				all.Set(n+k*len(l)+r, f+j, x)
			}
		}
	}
	var m mat.VecDense
	var right, c mat.Dense
	m.MulVec(all, mat.NewVecDense(n, mean))
	right.Mul(cov, all.T())
	c.Mul(all, &right)
	return m.RawVector().Data, &c
}

// Of a linear process the auxiliary one is the process itself: all weights are the likelihood, which is that of the joint normal
// distribution, and without noise the paths go to the means that a Kalman smoother has. So it is at the places of the unknowns for
// which guides are made, too.
func TestLinear(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	for _, c := range []struct {
		name        string
		tree        *tree.Tree
		drift       bool
		root, noise float64
		missing     bool
	}{
		{"Brownian tree", tree4, false, 0, 0.3, false},
		{"Brownian tree, root unknown, coordinates missing", tree4, false, 1.4, 0.3, true},
		{"Ornstein-Uhlenbeck tree, root unknown", tree4, true, 0.8, 0.2, false},
		{"star of which one leaf is not seen", star, false, 0.8, 0.2, true},
		{"Ornstein-Uhlenbeck bridge", bridge, true, 0, 0.1, false},
		{"Ornstein-Uhlenbeck bridge, seen exactly", bridge, true, 0, 1e-7, false},
	} {
		l := [][]float64{{1, 0}, {0, 1}}
		p := straight(c.drift)
		seen := Observations[geom.Vec]{Noise: c.noise}
		var at, from []int
		var values []float64
		size := 2 * len(c.tree.Parent)
		for k, i := range c.tree.Leaves() {
			from = append(from, 2*i)
			leaf := geom.Vec{}
			for a := range l {
				x := rng.NormFloat64()
				if c.missing && (k == 1 || a == 1 && k < 3) {
					x = math.NaN()
				} else {
					at, values = append(at, size+k*len(l)+a), append(values, x)
				}
				leaf = append(leaf, x)
			}
			seen.Leaves = append(seen.Leaves, leaf)
		}
		const steps = 6
		m, j := make([]float64, 2), [][]float64{{0, 0}, {0, 0}}
		if c.drift {
			m, j = []float64{0.5, -1}, pulling
		}
		o := Options{Steps: steps, Root: c.root, Chains: 3, Seed: 2, Unknown: []Unknown{Rate(LogNormal(1.2, 0.4)), Noise(LogNormal(1, 0.3))}}
		s := prepared(t, p, c.tree, seen, o)
		check := func(y []float64) (after []float64) {
			faster := &tree.Tree{Parent: c.tree.Parent, Name: c.tree.Name}
			logs := s.logs(0, y)
			for _, length := range c.tree.Length {
				faster.Length = append(faster.Length, length*math.Exp(logs[0]))
			}
			noise := math.Exp(logs[1])
			mean, cov := walk(faster, steps, p.Start, m, j, mixing, c.root)
			mean, cov = through(mean, cov, l, from)
			log, after, _ := given(mean, cov, at, values, noise)
			for chain := range s.y {
				copy(s.y[chain], y)
			}
			s.shake()
			weights, _ := s.weigh()
			for _, w := range weights {
				expect.Rel(t, fmt.Sprint(c.name, ": weight at ", logs), w, log, 1e-10)
			}
			return after
		}
		for _, y := range places(2) {
			after := check(y)
			if c.noise < 1e-3 {
				continue // errors of inverse variances, see the bridge above
			}
			s.still()
			_, nodes := s.weigh()
			order := append([]int{0}, s.order...)
			for v, i := range order {
				expect.Abs(t, c.name+": smoothed", nodes[0][2*v:2*v+2], after[2*i:2*i+2], 1e-10)
			}
		}
		// Guides of the same visits, after the scale of the unknowns was learned, are those of the new places.
		s.mean[0][0], s.scale[0][0][0] = s.mean[0][0]+0.2, 0.6
		s.guide(s.learned)
		check([]float64{1, 0})
	}
}

// independent are landmarks whose coordinates do not know of each other: a is param 0 times the identity.
type independent struct{}

func (independent) Equation(geom.Local, []*Node) ode.Equation {
	panic("separable processes are not asked")
}

func (independent) Separate(_ geom.Local, y ode.State, params []*Node) (b, a *Node) {
	one := BroadcastPrefix(linalg.Eye(y[0].Graph(), y[0].DType(), 3), y[0].Shape().Dim(0))
	amplitude := params[0]
	if amplitude.Rank() > 0 {
		amplitude = ExpandAxes(amplitude, -1)
	}
	return nil, Mul(amplitude, one)
}

// With landmarks that were not seen at some leaves, and one leaf that was not seen at all, likelihoods and ancestors are those of geom/tree.
func TestPruning(t *testing.T) {
	const noise, amplitude = 0.3, 0.6
	start := geom.Shape{{0, 0.1}, {1, -0.2}, {0.4, 0.8}}
	three := landmarks.New(3, 2, kernels.Gaussian(1))
	p := stochastic.Process[geom.Shape]{Space: three.Space, Name: "independent", Scheme: ode.EulerMaruyama, Noise: 6, Start: start,
		Params: []any{amplitude}, Dynamics: independent{}}
	rng := rand.New(rand.NewPCG(2, 2))
	seen := Observations[geom.Shape]{Noise: noise}
	values := [][]float64{shape.Flat(start)} // at a leaf that hangs at the root by an edge without length
	lengths := append(append([]float64{}, tree4.Length...), 0)
	for l := range tree4.Leaves() {
		var leaf geom.Shape
		for i := range 3 {
			row := []float64{rng.NormFloat64(), rng.NormFloat64()}
			if l == 1 || l == 2 && i == 0 || l == 3 && i == 2 {
				row = []float64{math.NaN(), math.NaN()}
			}
			leaf = append(leaf, row)
		}
		seen.Leaves, values = append(seen.Leaves, leaf), append(values, shape.Flat(leaf))
	}
	values = append(values[1:], values[0])
	s := prepared(t, p, tree4, seen, Options{Steps: 5, Chains: 2, Unknown: []Unknown{Param(0, "amplitude", LogNormal(amplitude, 0.5))}})
	for _, y := range places(1) {
		rate := amplitude * math.Exp(0.5*y[0])
		for _, i := range tree4.Leaves() {
			lengths[i] = tree4.Length[i] + noise*noise/rate
		}
		want := expect.Must(expect.Must(tree.New(append(append([]int{}, tree4.Parent...), 0), lengths, nil)).Prune(values))
		known := logDensity(expect.Must(tree.New(tree4.Parent, lengths[:7], nil)), values[:4], shape.Flat(start), rate)
		for chain := range s.y {
			copy(s.y[chain], y)
		}
		s.shake()
		weights, _ := s.weigh()
		for _, w := range weights {
			expect.Rel(t, "weight", w, known, 1e-10)
		}
		s.still()
		_, nodes := s.weigh()
		for v, i := range append([]int{0}, s.order...) {
			if !s.leaf[i] { // ends of edges of tree4 lie inside the longer ones there
				expect.Abs(t, "ancestor", nodes[0][6*v:6*v+6], want.Mean[i], 1e-10)
			}
		}
	}
}

// logDensity is that of the values of leaves, those that are numbers, under Brownian motion of a rate from the root.
func logDensity(t *tree.Tree, values [][]float64, root []float64, rate float64) float64 {
	shared := expect.Must(t.Shared())
	return lists.Sum(len(root), func(j int) float64 {
		seen := slices.DeleteFunc(lists.Range(len(values)), func(i int) bool { return math.IsNaN(values[i][j]) })
		covariance := mat.NewSymDense(len(seen), nil)
		for a, i := range seen {
			for b, k := range seen {
				covariance.SetSym(a, b, rate*shared[i][k])
			}
		}
		normal, _ := distmv.NewNormal(slices.Repeat(root[j:j+1], len(seen)), covariance, nil)
		return normal.LogProb(lists.Each(seen, func(i int) float64 { return values[i][j] }))
	})
}

// A landmark that was not seen is where the posterior says: its place has a uniform rank among the draws, for bridges of Kunita's flow.
func TestMissingLandmark(t *testing.T) {
	const noise, sets, steps = 0.05, 40, 6
	q := geom.Shape{{0, 0}, {0.6, 0}, {0.9, 0.5}, {0.2, 0.6}}
	p := expect.Must(landmarks.New(4, 2, kernels.Gaussian(1)).Kunita(q, 0.7, 0.2))
	ends := expect.Must(p.Sample(stochastic.Run{Paths: sets, Steps: steps, Time: bridge.Length[1], Seed: 3}))
	rng := rand.New(rand.NewPCG(4, 4))
	var data []Observations[geom.Shape]
	for _, end := range ends {
		leaf := geom.Shape{{math.NaN(), math.NaN()}}
		for _, x := range end[1:] {
			leaf = append(leaf, []float64{x[0] + noise*rng.NormFloat64(), x[1] + noise*rng.NormFloat64()})
		}
		data = append(data, Observations[geom.Shape]{Leaves: []geom.Shape{leaf}, Noise: noise})
	}
	posts := expect.Must(SampleAll(p, bridge, data, Options{Steps: steps, Chains: 2, Warmup: 60, Draws: 80, Seed: 5}))
	var ranks []float64
	for k, post := range posts {
		for a := range 2 {
			below := rng.Float64()
			for _, chain := range post.Nodes[1] {
				for _, x := range chain {
					if x[0][a] < ends[k][0][a] {
						below++
					}
				}
			}
			ranks = append(ranks, below/161)
		}
	}
	expect.Distribution(t, "rank of the truth", ranks, func(x float64) float64 { return x })
}

// shake draws the noise of all chains.
func (s *sampler[P]) shake() {
	s.drawn(1, s.w)
	s.drawn(1, s.xi)
}

// weigh returns the logarithms of the weights of the chains as they are, and the states of the nodes, [C][V·n·D].
func (s *sampler[P]) weigh() ([]float64, [][]float64) {
	out, err := s.process.Space.Call(s.key("weigh"), func(in []*Node) []*Node {
		log, nodes, _ := s.swept(in, false)
		return []*Node{log, nodes}
	}, append(s.state(), s.fixed...)...)
	if err != nil {
		panic(err)
	}
	return out.Vector(0), engine.Unflatten(out.Flat(1), len(out.Flat(1))/s.total)
}

// still takes the noise away.
func (s *sampler[P]) still() {
	s.w = tensors.FromShape(s.w.Shape())
	s.xi = tensors.FromShape(s.xi.Shape())
}

// Weights of a non-linear process have the likelihood for their mean, whatever the guide: here it is that of the posterior mean of the
// noise, one that knows nothing, where paths are those of the process and weights the densities of the errors, and one
// of a wrong noise.
func TestTwoGuides(t *testing.T) {
	s3 := landmarks.New(3, 2, kernels.Gaussian(1))
	q := geom.Shape{{0, 0}, {0.8, 0}, {0.3, 0.6}}
	p := expect.Must(s3.Kunita(q, 0.7, 0.2))
	two := expect.Must(tree.New([]int{-1, 0, 0}, []float64{0, 1, 0.5}, nil))
	seen := Observations[geom.Shape]{Leaves: []geom.Shape{{{0.3, 0.2}, {1.3, 0.1}, {0.5, 1}}, {{0.1, -0.1}, {0.7, 0.2}, {0.3, 0.5}}}, Noise: 0.4}
	unknown := []Unknown{Noise(LogNormal(0.4, 0.1))}
	var logs, errors []float64
	for k, chains := range []int{4000, 40000, 20000} {
		begin := prepared[geom.Shape]
		if k == 1 {
			begin = unguided
		}
		s := begin(t, p, two, seen, Options{Steps: 3, Chains: chains, Seed: uint64(3 + k), Unknown: unknown})
		for c := range s.y {
			s.y[c][0] = 0
		}
		if k == 2 {
			s.mean[0][0] = math.Log(0.6)
			var a visits
			s.look(&a)
			s.guide(a)
			for c := range s.y {
				s.y[c][0] = math.Log(0.4/0.6) / s.scale[0][0][0]
			}
		}
		s.shake()
		w, _ := s.weigh()
		total := floats.LogSumExp(w)
		for c := range w {
			w[c] = math.Exp(w[c]-total) * float64(len(w))
		}
		_, deviation := stat.MeanStdDev(w, nil)
		logs = append(logs, total-math.Log(float64(len(w))))
		errors = append(errors, stat.StdErr(deviation, float64(len(w))))
	}
	t.Log(logs, errors)
	for k := 1; k < 3; k++ {
		expect.Estimate(t, "log likelihood by another guide", logs[k], math.Hypot(errors[0], errors[k]), logs[0])
	}
}

// The posterior of the rate, and of the states of nodes, of a linear process is known by quadrature: what is sampled is distributed so.
func TestPosterior(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 0))
	p := straight(false)
	prior := LogNormal(1.5, 0.8)
	const noise, root, steps = 0.3, 0.7, 4
	seen := Observations[geom.Vec]{Leaves: leavesOf(tree4, rng), Noise: noise}
	var at []int
	for _, i := range tree4.Leaves() {
		at = append(at, 2*i, 2*i+1)
	}
	flat := floatsOf(seen.Leaves)
	const cells = 400
	logs, rates, states, spreads := make([]float64, cells), make([]float64, cells), make([]float64, cells), make([]float64, cells)
	for c := range logs {
		u := math.Log(1.5) + 0.8*8*((float64(c)+0.5)/cells-0.5)
		rates[c] = math.Exp(u)
		faster := &tree.Tree{Parent: tree4.Parent, Name: tree4.Name}
		for _, l := range tree4.Length {
			faster.Length = append(faster.Length, l*rates[c])
		}
		mean, cov := walk(faster, steps, p.Start, make([]float64, 2), [][]float64{{0, 0}, {0, 0}}, mixing, root)
		log, after, variance := given(mean, cov, at, flat, noise)
		logs[c] = log - 0.5*math.Pow((u-math.Log(1.5))/0.8, 2)
		states[c], spreads[c] = after[2*4], math.Sqrt(variance[2*4])
	}
	total := floats.LogSumExp(logs)
	mixture := func(f func(c int) float64) (sum float64) {
		for c := range logs {
			sum += math.Exp(logs[c]-total) * f(c)
		}
		return sum
	}
	post, err := Sample(p, tree4, seen, Options{Unknown: []Unknown{Rate(prior)}, Root: root, Steps: steps, Chains: 4, Warmup: 100, Draws: 800, Seed: 4})
	if err != nil {
		t.Fatal(err)
	}
	rate := post.Unknown[0]
	t.Log(rate, post.Acceptance, post.StepSize, post.Status)
	if post.Status != geom.Converged {
		t.Errorf("status %v", post.Status)
	}
	var thinned, state []float64
	for c, draws := range rate.Draws {
		for i := 0; i < len(draws); i += 12 {
			thinned, state = append(thinned, draws[i]), append(state, post.Nodes[4][c][i][0])
		}
	}
	expect.Distribution(t, "rate", thinned, func(x float64) float64 {
		return mixture(func(c int) float64 {
			if rates[c] <= x {
				return 1
			}
			return 0
		})
	})
	expect.Distribution(t, "state of a node", state, func(x float64) float64 {
		return mixture(func(c int) float64 { return distuv.Normal{Mu: states[c], Sigma: spreads[c]}.CDF(x) })
	})
}

// checkMaximum compares the maximum of the likelihood with that of its logarithm, from which it is off by its errors and a bias, of
// the polynomial, in standard errors; and these with second differences.
func checkMaximum(t *testing.T, post *Posterior[geom.Vec], bias float64, log func(u []float64) float64) {
	t.Helper()
	k := len(post.Unknown)
	found, err := optimize.Minimize(optimize.Problem{Func: func(u []float64) float64 { return -log(u) }}, make([]float64, k), nil, &optimize.NelderMead{})
	if err != nil {
		t.Fatal(err)
	}
	t.Log(post.Unknown, found.X, found.F, post.Acceptance)
	m := expect.Must(post.MaximumLikelihood())
	t.Log(m, found.X)
	const e = 1e-2
	h := mat.NewSymDense(k, nil)
	for i := range k {
		expect.Estimate(t, "maximum of the likelihood", math.Log(m.Values[i]), math.Hypot(m.Errors[i], bias*m.StandardErrors[i]), found.X[i])
		for j := range i + 1 {
			corner := func(a, b float64) float64 {
				u := slices.Clone(found.X)
				u[i] += a * e
				u[j] += b * e
				return log(u)
			}
			h.SetSym(i, j, -(corner(1, 1)-corner(1, -1)-corner(-1, 1)+corner(-1, -1))/(4*e*e))
		}
	}
	var inverse mat.Dense
	if err := inverse.Inverse(h); err != nil {
		t.Fatal(err)
	}
	for j := range k {
		expect.Rel(t, "standard error", m.StandardErrors[j], math.Sqrt(inverse.At(j, j)), 0.1)
	}
}

var line = geom.On(manifold.Euclidean(1))

// pulled is dx = p₀(p₁ − x) dt + p₂ dW in R.
var pulled = stochastic.EquationOf(func(_ geom.Local, p []*Node) ode.Equation {
	return func(_ *Node, y ode.State, dt, dw *Node) ode.State {
		return ode.State{Add(Mul(dt, Mul(p[0], Sub(p[1], y[0]))), Mul(p[2], dw))}
	}
})

// returning is the process of pulled.
func returning(start, pull, mean, noise float64) stochastic.Process[geom.Vec] {
	return stochastic.Process[geom.Vec]{Space: line, Name: "pulled", Scheme: ode.EulerMaruyama, Noise: 1, Start: geom.Vec{start},
		Params: []any{pull, mean, noise}, Dynamics: pulled}
}

// likelihood is the logarithm of that of values at the leaves under returning.
func likelihood(t *tree.Tree, steps int, start, pull, mean, sigma, rate, root, noise float64, values []float64) float64 {
	faster := &tree.Tree{Parent: t.Parent, Name: t.Name}
	for _, l := range t.Length {
		faster.Length = append(faster.Length, rate*l)
	}
	means, cov := walk(faster, steps, []float64{start}, []float64{pull * mean}, [][]float64{{pull}}, [][]float64{{sigma}}, root)
	log, _, _ := given(means, cov, t.Leaves(), values, noise)
	return log
}

// Parameters of the process, one or three unknowns: the maximum of the likelihood is that of an Ornstein-Uhlenbeck process at
// the leaves of a bush, which are jointly normal.
func TestMaximumOfParams(t *testing.T) {
	const steps, start, noise = 4, 3, 0.1
	parent, length := []int{-1}, []float64{0}
	for i := range 18 {
		parent, length = append(parent, 0), append(length, 0.4*math.Pow(1.13, float64(i)))
	}
	bush := expect.Must(tree.New(parent, length, nil))
	log := func(pull, mean, sigma float64, values []float64) float64 {
		return likelihood(bush, steps, start, pull, mean, sigma, 1, 0, noise, values)
	}
	leaves := bush.Leaves()
	means, cov := walk(bush, steps, []float64{start}, []float64{1}, [][]float64{{1}}, [][]float64{{0.5}}, 0)
	sub, at := mat.NewSymDense(len(leaves), nil), make([]float64, len(leaves))
	for a, i := range leaves {
		at[a] = means[i]
		for b, j := range leaves {
			sub.SetSym(a, b, cov.At(i, j))
		}
		sub.SetSym(a, a, cov.At(i, i)+noise*noise)
	}
	normal, _ := distmv.NewNormal(at, sub, rand.NewPCG(3, 0))
	values := normal.Rand(nil)
	seen := Observations[geom.Vec]{Noise: noise}
	for _, x := range values {
		seen.Leaves = append(seen.Leaves, geom.Vec{x})
	}
	p := returning(start, 1, 1, 0.5)
	o := Options{Steps: steps, Warmup: 60, Draws: 200, Seed: 1, Unknown: []Unknown{Param(0, "pull", LogNormal(1.3, 0.6))}}
	post := expect.Must(Sample(p, bush, seen, o))
	checkMaximum(t, post, 0.01, func(u []float64) float64 { return log(math.Exp(u[0]), 1, 0.5, values) })
	// Between the places for which guides are made they are polynomials, so that weights are the likelihood but for the third power of how far
	// the unknown is from its middle.
	for c, draws := range post.Unknown[0].Draws {
		mean, deviation := stat.MeanStdDev(draws, nil)
		for i, pull := range draws {
			want := log(pull, 1, 0.5, values) - math.Pow(math.Log(pull/1.3)/0.6, 2)/2
			off := math.Abs(pull-mean) / deviation
			expect.Abs(t, "Log", post.Log[c][i], want, 0.005*(1+off*off*off))
		}
	}
	// One chain tells of the maximum, not of how far off it is.
	chain := &Posterior[geom.Vec]{Unknown: []Estimate{{Draws: post.Unknown[0].Draws[:1]}}, Scores: post.Scores[:1]}
	whole, part := expect.Must(post.MaximumLikelihood()), expect.Must(chain.MaximumLikelihood())
	expect.Rel(t, "maximum of one chain", part.Values, whole.Values, 0.05)
	if !math.IsNaN(part.Errors[0]) {
		t.Errorf("the error of one chain is %g", part.Errors[0])
	}
	o.Unknown = append(o.Unknown, Param(1, "mean", LogNormal(1.3, 0.6)), Param(2, "noise", LogNormal(0.6, 0.6)))
	checkMaximum(t, expect.Must(Sample(p, bush, seen, o)), 0.01, func(u []float64) float64 {
		return log(math.Exp(u[0]), math.Exp(u[1]), math.Exp(u[2]), values)
	})
}

// Where the likelihood grows all along the draws it has no maximum there, and few draws tell nothing of one.
func TestNoMaximum(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 0))
	some := func(draws int, slope func(u float64) float64) *Posterior[geom.Vec] {
		post := &Posterior[geom.Vec]{Unknown: []Estimate{{Name: "rate"}}}
		for range 4 {
			var x []float64
			var scores [][]float64
			for range draws {
				u := rng.NormFloat64()
				x, scores = append(x, math.Exp(u)), append(scores, []float64{slope(u)})
			}
			post.Unknown[0].Draws, post.Scores = append(post.Unknown[0].Draws, x), append(post.Scores, scores)
		}
		return post
	}
	m := expect.Must(some(100, func(u float64) float64 { return 1 - 4*u }).MaximumLikelihood())
	expect.Abs(t, "maximum", math.Log(m.Values[0]), 0.25, 1e-9)
	expect.Abs(t, "standard error", m.StandardErrors[0], 0.5, 1e-9)
	m = expect.Must(some(100, func(u float64) float64 { return 2*math.Exp(-u) - 2 }).MaximumLikelihood()) // of a variance, from four numbers
	expect.Abs(t, "maximum, skewed", math.Log(m.Values[0]), 0, 0.02)
	expect.Abs(t, "standard error, skewed", m.StandardErrors[0], math.Sqrt(0.5), 0.02)
	expect.Refused(t, expect.Error(some(100, func(u float64) float64 { return 1 }).MaximumLikelihood()), "no maximum")
	expect.Refused(t, expect.Error(some(100, func(u float64) float64 { return 8 - u }).MaximumLikelihood()), "no maximum")
	expect.Refused(t, expect.Error(some(5, func(u float64) float64 { return -u }).MaximumLikelihood()), "too few")
	expect.Refused(t, expect.Error((&Posterior[geom.Vec]{}).MaximumLikelihood()), "nothing is unknown")
}

// Without unknowns nothing but the noise moves: where all weights are the likelihood, every trajectory keeps its energy.
func TestNoUnknowns(t *testing.T) {
	seen := Observations[geom.Vec]{Leaves: leavesOf(bridge, rand.New(rand.NewPCG(8, 0))), Noise: 0.3}
	post := expect.Must(Sample(straight(false), bridge, seen, Options{Steps: 3, Warmup: 30, Draws: 30, Seed: 1}))
	expect.Abs(t, "acceptance", post.Acceptance, 1, 1e-10)
}

// The scale of unknowns is the middle between their covariance and the one they have for given noise.
func TestScale(t *testing.T) {
	cov := mat.NewSymDense(2, []float64{2, 0.6, 0.6, 1})
	inverse := mat.NewDense(2, 2, nil)
	expect.Must(0, inverse.Inverse(cov))
	precision := func(factor float64) *mat.SymDense {
		f := mat.NewSymDense(2, nil)
		for i := range 2 {
			for j := range i + 1 {
				f.SetSym(i, j, factor*inverse.At(i, j))
			}
		}
		return f
	}
	for _, c := range []struct{ coupling, share float64 }{{0.5, 1}, {1, 1}, {1e4, 1e-2}} {
		l, ok := scale(cov, precision(c.coupling))
		if !ok {
			t.Fatal("no scale")
		}
		var x mat.Dense
		x.Mul(l, l.T())
		var want mat.Dense
		want.Scale(c.share, cov)
		expect.Abs(t, fmt.Sprint("scale for λ = ", c.coupling), x.RawMatrix().Data, want.RawMatrix().Data, 1e-12)
	}
	fisher := mat.NewSymDense(2, []float64{40, -3, -3, 7})
	l, _ := scale(cov, fisher)
	var x, xfx mat.Dense
	x.Mul(l, l.T())
	xfx.Product(&x, fisher, &x)
	expect.Rel(t, "XFX", xfx.RawMatrix().Data, cov.RawSymmetric().Data, 1e-12)
	if _, ok := scale(cov, precision(math.NaN())); ok {
		t.Error("scores that are no numbers gave a scale")
	}
}

// A step in C is that of the graph, and so are its derivatives, whatever the number of paths, landmarks and axes.
func TestNative(t *testing.T) {
	if _, err := engine.Backend(); err != nil || !engine.HasNative(native.Step, nil) {
		t.Skip("no C functions")
	}
	testNative(t, 12, 5, 2)
	testNative(t, 30, 9, 3)
	testNative(t, 1, 4, 1)
	testNative(t, 3, 1, 2)
}

func testNative(t *testing.T, paths, n, d int) {
	rng := rand.New(rand.NewPCG(3, 1))
	normal := func(dims ...int) *tensors.Tensor {
		size := 1
		for _, k := range dims {
			size *= k
		}
		x := make([]float64, size)
		for i := range x {
			x[i] = rng.NormFloat64()
		}
		return tensors.FromFlatDataAndDimensions(x, dims...)
	}
	rows, columns := (model{n: n}).packedSize()
	in := []any{normal(paths, n, n), normal(paths, n, d), normal(paths, rows, columns), normal(paths, n, d), normal(paths, n, d), normal(paths, n, d), normal(paths), normal(paths)}
	run := func(step func(x, a, xi, b, f *Node) (next, mean, value *Node)) engine.Values {
		return expect.Must(engine.Run(func(in []*Node) []*Node {
			wrt := make([]*Node, 5)
			for j := range wrt {
				wrt[j] = Identity(in[j])
			}
			root, x, b, f, xi := wrt[0], wrt[1], wrt[2], wrt[3], wrt[4]
			a := linalg.MatMul(root, linalg.T(root))
			a = Add(a, linalg.EyeLike(a))
			next, mean, value := step(x, a, xi, b, f)
			total := Add(ReduceAllSum(Mul(next, in[5])), Add(ReduceAllSum(Mul(mean, in[6])), ReduceAllSum(Mul(value, in[7]))))
			return append([]*Node{next, mean, value}, Gradient(total, wrt...)...)
		}, in...))
	}
	got, want := run(stepFrom), run(func(x, a, xi, b, f *Node) (next, mean, value *Node) {
		return step(x, a, linalg.MatMul(linalg.Cholesky(a), xi), b, f)
	})
	for i, what := range []string{"state", "mean", "value", "derivative by the root of A", "by x", "by B", "by f", "by ξ"} {
		expect.Rel(t, what, got.Flat(i), want.Flat(i), 1e-10)
	}
}

// A lower matrix is what it was after it was packed in half the memory, for even and odd sizes.
func TestPacked(t *testing.T) {
	for n := 2; n < 6; n++ {
		b := mat.NewDense(n, n, nil)
		for i := range n {
			for j := range i + 1 {
				b.Set(i, j, float64(10*i+j+1))
			}
		}
		p := (model{n: n}).packed(message{b, nil}).b
		rows, columns := p.Dims()
		out := expect.Must(engine.Run(func(in []*Node) []*Node { return []*Node{unpacked(in[0], n)} }, [][][]float64{lists.Make(rows, p.RawRowView)}))
		expect.Abs(t, "a lower matrix", out.Flat(0), b.RawMatrix().Data, 0)
		if rows*columns > n*(n+1)/2+(n+1)/2 {
			t.Errorf("%d numbers for %d rows", rows*columns, n)
		}
	}
}

// The memory that runs ask for is what BenchmarkMemory measured, in MB, to 10 %.
func TestMemory(t *testing.T) {
	for _, c := range []struct{ leaves, landmarks, unknowns, measured int }{{25, 20, 1, 316}, {25, 60, 2, 682}} {
		p, tree, seen, unknown := large(c.leaves, c.landmarks)
		s := expect.Must(newSampler(p, tree, []Observations[geom.Shape]{seen}, Options{Unknown: unknown[:c.unknowns]}))
		expect.Rel(t, fmt.Sprintf("memory of %d leaves with %d landmarks, in MB", c.leaves, c.landmarks), s.memory()/1e6, float64(c.measured), 0.1)
	}
}

// What cannot be sampled is refused, with the place.
func TestErrors(t *testing.T) {
	p := straight(true)
	rng := rand.New(rand.NewPCG(1, 2))
	good := Observations[geom.Vec]{Leaves: leavesOf(tree4, rng), Noise: 0.1}
	sample := func(tr *tree.Tree, seen Observations[geom.Vec], o Options) error {
		_, err := Sample(p, tr, seen, o)
		return err
	}
	few, silent, endless := good, good, good
	few.Leaves = good.Leaves[1:]
	silent.Noise = 0
	endless.Leaves = append([]geom.Vec{{math.Inf(1), 0}}, good.Leaves[1:]...)
	marked := good
	marked.Leaves = append([]geom.Vec{{1}}, good.Leaves[1:]...)
	long := func(length float64) *tree.Tree {
		t := &tree.Tree{Parent: tree4.Parent, Name: tree4.Name, Length: append([]float64{}, tree4.Length...)}
		t.Length[5] = length
		return t
	}
	expect.Refused(t, sample(&tree.Tree{}, good, Options{}), "no nodes")
	expect.Refused(t, sample(tree4, few, Options{}), "3 observations", "4 leaves")
	expect.Refused(t, sample(tree4, silent, Options{}), "standard deviation 0")
	expect.Refused(t, sample(tree4, endless, Options{}), "node 2", "+Inf")
	expect.Refused(t, sample(tree4, marked, Options{}), "node 2", "1 numbers, want 2")
	two := landmarks.New(2, 2, kernels.Gaussian(1))
	pair := geom.Shape{{0, 0}, {1, 0}}
	kunita := expect.Must(two.Kunita(pair, 1, 1))
	_, err := Sample(kunita, bridge, Observations[geom.Shape]{Leaves: []geom.Shape{{{0, math.NaN()}, {1, 0}}}, Noise: 0.1}, Options{})
	expect.Refused(t, err, "row 0", "node 1", "all numbers of a landmark")
	// What the process itself refuses.
	kunita.Start = pair[:1]
	moving := expect.Must(two.Langevin(pair, pair, 0.3, 0.6))
	for _, c := range []struct {
		momenta geom.Shape
		want    string
	}{{pair[:1], "covector 0 of part 0"}, {append(pair, pair[0]), "covector 0 of part 0"}, {geom.Shape{{0, math.NaN()}, {1, 0}}, "NaN"}} {
		moving.Parts = []stochastic.Part[geom.Shape]{{Kind: geom.Covector, Vectors: []geom.Shape{c.momenta}}}
		expect.Refused(t, expect.Error(Sample(moving, bridge, Observations[geom.Shape]{Leaves: []geom.Shape{pair}, Noise: 0.1}, Options{})), c.want)
	}
	expect.Refused(t, expect.Error(Sample(kunita, bridge, Observations[geom.Shape]{Leaves: []geom.Shape{pair}, Noise: 0.1}, Options{})), "start")
	silence := p
	silence.Noise = 0
	expect.Refused(t, expect.Error(Sample(silence, tree4, good, Options{})), "noise in R^0")
	expect.Refused(t, sample(long(-1), good, Options{}), "node 5", "length is -1")
	expect.Refused(t, sample(long(math.Inf(1)), good, Options{}), "node 5", "length is +Inf")
	expect.Refused(t, sample(long(math.NaN()), good, Options{}), "node 5", "no length")
	expect.Refused(t, sample(expect.Must(tree.New([]int{-1, 0}, []float64{0, 0}, nil)), good, Options{}), "no edge of a length")
	expect.Refused(t, sample(bridge, good, Options{}), "4 observations", "1 leaves")
	expect.Refused(t, sample(tree4, good, Options{Steps: -1}), "-1 steps")
	expect.Refused(t, sample(tree4, good, Options{Root: math.NaN()}), "prior of the root")
	expect.Refused(t, sample(tree4, good, Options{Root: -1}), "prior of the root")
	expect.Refused(t, sample(tree4, good, Options{RootParts: []float64{1}}), "1 parts", "0 parts")
	_, err = Sample(growth(geom.Vec{0, 0}, geom.Vec{0, 0}, 0, 1), tree4, good, Options{RootParts: []float64{math.NaN()}})
	expect.Refused(t, err, "prior of the root", "NaN")
	expect.Refused(t, sample(tree4, good, Options{Unknown: []Unknown{Param(7, "width", LogNormal(1, 1))}}), "width is parameter 7")
	expect.Refused(t, sample(tree4, good, Options{Unknown: []Unknown{Rate(InverseGamma(0, 1))}}), "rate")
	one := LogNormal(1, 1)
	expect.Refused(t, sample(tree4, good, Options{Unknown: []Unknown{Param(0, "drift", one)}}), "drift is parameter 0", "[0.5 -1]", "not one number")
	for _, twice := range [][]Unknown{{Noise(one), Rate(one), Noise(one)}, {Rate(one), Rate(one)}} {
		expect.Refused(t, sample(tree4, good, Options{Unknown: twice}), "unknowns 0 and", "are one number")
	}
	_, err = Sample(returning(0, 1, 1, 1), tree4, good, Options{Unknown: []Unknown{Param(0, "pull", one), Param(0, "drift", one)}})
	expect.Refused(t, err, "unknowns 0 and 1, pull and drift", "are one number")
	triangles := geom.On(manifold.Kendall(3, 2))
	_, err = Sample(stochastic.Brownian(triangles, []float64{math.Sqrt(0.5), 0, -math.Sqrt(0.5), 0, 0, 0}), bridge, Observations[geom.Vec]{}, Options{})
	expect.Refused(t, err, "orbits")
	expect.Refused(t, sample(tree4, good, Options{Unknown: []Unknown{Rate(Normal(1, 1))}}), "rate is positive", "LogNormal")
}

// What was drawn when the context ends is kept.
func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	p := straight(false)
	p.Space = plane.With(geom.Context(ctx), geom.OnProgress(func(pr geom.Progress) {
		if pr.Iteration >= 40 {
			cancel()
		}
	}))
	seen := Observations[geom.Vec]{Leaves: leavesOf(bridge, rand.New(rand.NewPCG(1, 2))), Noise: 0.1}
	post, err := Sample(p, bridge, seen, Options{Steps: 4, Chains: 2, Warmup: 20, Draws: 100})
	expect.Refused(t, err, "after 41 of 120 iterations")
	if post == nil || post.Status != geom.Cancelled || len(post.Nodes[1][0]) != 21 {
		t.Errorf("got %+v, want 21 draws", post)
	}
	said(t, post, "2 chains of 21 draws, all of them R̂ ≤ ", "cancelled")
	post.Unknown, post.RHat, post.Bulk, post.Tail = []Estimate{{Name: "rate", Mean: 1.2, Deviation: 0.3, RHat: 1, Bulk: 30, Tail: 20}}, 1.01, 25, 15
	said(t, post, "rate 1.2 ± 0.3 (R̂ 1.000, effective sizes 30 and 20), all of them R̂ ≤ 1.010, effective sizes ≥ 25 and 15, cancelled")
	said(t, &Posterior[geom.Vec]{Log: make([][]float64, 4), Status: geom.Cancelled}, "4 chains of 0 draws, cancelled")
	said(t, &Maximum{Values: []float64{1.5, 2}, StandardErrors: []float64{0.1, 0.2}, Errors: []float64{0.01, 0.02}}, "[1.5 2]", "[0.1 0.2]", "[0.01 0.02]")
}

// said checks what a result says of itself in one line.
func said(t *testing.T, result fmt.Stringer, words ...string) {
	t.Helper()
	line := fmt.Sprint(result)
	for _, w := range words {
		if !strings.Contains(line, w) || strings.Contains(line, "\n") {
			t.Errorf("says %q, want one line with %q", line, w)
		}
	}
}

// A run that was interrupted in the warm-up and in the draws ends as one that was not, bit by bit; a finished one goes on; and
// a file of another run, or of another process, is refused and kept.
func TestResume(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run")
	seen := Observations[geom.Vec]{Leaves: leavesOf(tree4, rand.New(rand.NewPCG(1, 2))), Noise: 0.1}
	p := straight(true)
	o := Options{Unknown: []Unknown{Rate(LogNormal(1, 0.5))}, Root: 0.5, Steps: 3, Chains: 3, Warmup: 30, Draws: 40, Seed: 5}
	whole := expect.Must(Sample(p, tree4, seen, o))
	o.Save = file
	run := func(until int, o Options) (*Posterior[geom.Vec], error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		q := p
		q.Space = plane.With(geom.Context(ctx), geom.OnProgress(func(pr geom.Progress) {
			if pr.Iteration >= until {
				cancel()
			}
		}))
		return Sample(q, tree4, seen, o)
	}
	_, err := run(10, o)
	expect.Refused(t, err, "after 11 of 70 iterations")
	_, err = run(50, o)
	expect.Refused(t, err, "after 51 of 70 iterations")
	fewer := o
	fewer.Draws = 30
	_, err = run(1000, fewer)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := run(1000, o)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(parts, whole) {
		t.Errorf("in parts %v, step %v, %d gradients, at once %v, %v, %d", parts.Unknown, parts.StepSize, parts.Gradients, whole.Unknown, whole.StepSize, whole.Gradients)
	}
	before := expect.Must(os.ReadFile(file))
	other := o
	other.Seed++
	_, err = run(1000, other)
	expect.Refused(t, err, file, "another run")
	_, err = run(1000, fewer)
	expect.Refused(t, err, file, "40 draws of each chain", "30")
	p.Dynamics = stochastic.EquationOf(func(at geom.Local, params []*Node) ode.Equation {
		f := linear.Equation(at, params)
		return func(time *Node, y ode.State, dt, dw *Node) ode.State { return f(time, y, dt, MulScalar(dw, 1.1)) }
	})
	_, err = run(1000, o)
	expect.Refused(t, err, file, "another process", "chain 1")
	if !bytes.Equal(before, expect.Must(os.ReadFile(file))) {
		t.Error("a run that was refused changed the file")
	}
	expect.Must(0, os.WriteFile(file, []byte("something else"), 0o600))
	_, err = run(1000, o)
	expect.Refused(t, err, file, "not a saved run")
	o.Save = filepath.Join(t.TempDir(), "missing", "run")
	_, err = run(10, o)
	expect.Refused(t, err, "not saved", "missing")
}

// Momenta are parts of the state that nobody sees, and noise that moves them only is guided through the drift: with the true steps for
// its mean the likelihood is that of paths without a guide.
func TestLangevin(t *testing.T) {
	two := landmarks.New(2, 2, kernels.Gaussian(1))
	p := expect.Must(two.Langevin(geom.Shape{{0, 0}, {0.8, 0}}, geom.Shape{{0.5, 0.2}, {-0.1, 0.6}}, 0.3, 0.6))
	seen := Observations[geom.Shape]{Leaves: []geom.Shape{{{0.5, 0.5}, {1.1, 0.3}}}, Noise: 0.25}
	var logs, errors, effective []float64
	for k, chains := range []int{300, 4000} {
		begin := prepared[geom.Shape]
		if k == 1 {
			begin = unguided
		}
		s := begin(t, p, bridge, seen, Options{Steps: 4, Chains: chains, Seed: uint64(5 + k), Unknown: []Unknown{Noise(LogNormal(0.25, 0.1))}})
		for c := range s.y {
			s.y[c][0] = 0
		}
		s.shake()
		w, _ := s.weigh()
		total := floats.LogSumExp(w)
		squares := 0.0
		for c := range w {
			w[c] = math.Exp(w[c]-total) * float64(len(w))
			squares += w[c] * w[c]
		}
		_, deviation := stat.MeanStdDev(w, nil)
		logs, errors = append(logs, total-math.Log(float64(len(w)))), append(errors, stat.StdErr(deviation, float64(len(w))))
		effective = append(effective, float64(len(w))/squares)
	}
	t.Logf("effective shares: guided %.3f, not guided %.3f", effective[0], effective[1])
	expect.Estimate(t, "log likelihood", logs[0], math.Hypot(errors[0], errors[1]), logs[1])
	if effective[0] < 0.8 {
		t.Errorf("guided paths have an effective share of %.3f, want 0.8", effective[0])
	}
}
