package stochastic

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/tree"
	"anatomy/geom/try"
	"anatomy/internal/lists"
)

// Process is a diffusion dy = f(t, y)·(dt, dW) that starts at a point at time 0. Brownian and Development make the usual ones. For
// another one, set all fields; Parts and Params may be nil.
type Process[P geom.Point] struct {
	Space    *geom.Space[P]
	Name     string     // what messages call the process
	Scheme   ode.Scheme // its Calculus must be the one in which the equation is written
	Noise    int        // m ≥ 1, W is in R^m
	Start    P
	Parts    []Part[P] // vectors or covectors that move with the point
	Params   []any     // parameters of the equation: numbers and slices of them, as for engine.Func.Call
	Dynamics Dynamics  // the equation
}

// Part is a list of tangent vectors or covectors at the point of a process, such as a frame, or one momentum.
type Part[P geom.Point] struct {
	Kind    geom.Kind
	Vectors []P // k of them, 1 ≤ k ≤ d
}

// Dynamics is the equation of a process. It must be a value of a comparable type that holds everything the equation depends on
// besides Params, because processes with equal values share a compiled function.
type Dynamics interface {
	// Equation returns f in the coordinates of at. For N paths the state is the points, [N, d], and the parts,
	// [k, N, d]; dW is [N, m]. The params are the Params as nodes.
	Equation(at geom.Local, params []*Node) ode.Equation
}

// Stepwise is an optional interface of Dynamics on a Charted manifold whose equation costs less within a step from the centre of a chart.
// Paths are simulated and guided in such steps, most probable flows are not.
type Stepwise interface {
	Dynamics
	// NearCentre returns Dynamics that agree with these to third order in the coordinates.
	NearCentre() Dynamics
}

// EquationOf makes Dynamics from a function. Every call returns a different value, for which a function is compiled: for many
// processes with one equation, call it once. The equation may do without the inverse of the metric: it may start where the cometric is
// singular, and run on a geom.SubRiemannian manifold.
func EquationOf(f func(at geom.Local, params []*Node) ode.Equation) Dynamics { return &equation{f} }

type equation struct {
	f func(at geom.Local, params []*Node) ode.Equation
}

func (e *equation) Equation(at geom.Local, params []*Node) ode.Equation { return e.f(at, params) }

// Run says how many paths of a process are simulated, and how.
type Run struct {
	Paths int     // number of independent paths, at least 1
	Steps int     // n, steps of the scheme from time 0 to Time, at least 1
	Time  float64 // T; 0 stands for 1
	// Equal seeds give equal noise: see ode.Increments. The noise of bridges is independent of that of paths with the same seed, which may
	// have made what the bridges lead to.
	Seed uint64
}

// stream is a seed of noise that is independent of that of the paths of a run and of other streams: 0 is that of bridges, i that of the
// edge above node i of a tree.
func (r *Run) stream(i int) uint64 {
	return rand.New(rand.NewPCG(r.Seed, math.MaxUint64-uint64(i))).Uint64()
}

// bridging are the normal numbers of so many bridges in m dimensions, of variance 1, [r.Steps][paths][m].
func (r *Run) bridging(paths, m int) [][][]float64 {
	return ode.Increments(r.stream(0), r.Steps, paths, m, float64(r.Steps))
}

// Paths are simulated paths at the times 0, T/n, …, T.
type Paths[P geom.Point] struct {
	Points   [][]P         // Points[k][i] is path k at time iT/n
	Noise    [][][]float64 // Noise[k][i] is W at that time, the Brownian motion in R^m that drives path k
	Diverged int           // paths that diverged: they are not among the others, and their law is not in that of the others
}

// String says what the paths are in one line.
func (p *Paths[P]) String() string {
	return fmt.Sprintf("%d paths of %d steps with noise in R^%d%s", len(p.Points), len(p.Points[0])-1, len(p.Noise[0][0]), sayLost(p.Diverged))
}

// sayLost is the end of a line about paths.
func sayLost(lost int) string {
	if lost == 0 {
		return ""
	}
	return fmt.Sprintf(", %d lost", lost)
}

// Paths simulates r.Paths paths. Those that diverge are left out, and counted as Diverged; it is an error if they are more than 1 %, which names the
// first of them and its step.
func (p Process[P]) Paths(r Run) (_ *Paths[P], err error) {
	defer try.Named(&err, "%s", p.Name)
	out, kept, dw := p.run(&r, true)
	paths := &Paths[P]{Diverged: r.Paths - len(kept)}
	all := out.Array3(0)
	for _, k := range kept {
		w := make([]float64, p.Noise)
		noise := [][]float64{w}
		for i := range dw {
			w = floats.AddTo(make([]float64, p.Noise), w, dw[i][k])
			noise = append(noise, w)
		}
		paths.Points, paths.Noise = append(paths.Points, p.Space.FromFlats(all[k])), append(paths.Noise, noise)
	}
	return paths, nil
}

// Sample simulates r.Paths paths, with the errors of Paths, and returns their points at time T: fewer than r.Paths where some diverge.
func (p Process[P]) Sample(r Run) (_ []P, err error) {
	defer try.Named(&err, "%s", p.Name)
	out, kept, _ := p.run(&r, false)
	return p.Space.FromFlats(lists.Pick(out.Matrix(0), kept)), nil
}

// simulation is the key of the compiled function of a process.
type simulation struct {
	dynamics Dynamics
	scheme   ode.Scheme
	kinds    string
	each     bool // a start for every path
	paths    bool
}

func (s simulation) String() string { return fmt.Sprintf("simulation of %T", s.dynamics) }

// run returns, as its first value, the points of all paths, [N, n + 1, ...], or their ends, [N, ...], and the numbers of those that did not
// diverge.
func (p Process[P]) run(r *Run, paths bool) (out engine.Values, kept []int, dw [][][]float64) {
	p.check(r, paths)
	dw = ode.Increments(r.Seed, r.Steps, r.Paths, p.Noise, r.Time)
	start := []any{shape.Flat(p.Start)}
	for _, part := range p.Parts {
		start = append(start, shape.FlatAll(part.Vectors))
	}
	out, kept = p.simulate(dw, 0, r.Time, start, false, paths)
	return out, kept, dw
}

// check validates the process and a run of it.
func (p Process[P]) check(r *Run, keep bool) {
	p.valid()
	r.check()
	r.fits(1, p.Noise, geom.PointDim(p.Space.M), keep)
}

// simulate runs the process from a time t0 over a time T with increments dw, from a point and its parts, or with each from those of every
// path, [N, ...] and [k, N, ...]. It returns what run does; without paths the parts at the end follow the ends.
func (p Process[P]) simulate(dw [][][]float64, t0, T float64, start []any, each, paths bool) (engine.Values, []int) {
	args := append([]any{t0, T, dw}, start...)
	kinds := p.kinds()
	args = append(args, p.Params...)
	// The shapes of the arguments say the rest: numbers of steps and paths are not part of the key.
	key := simulation{p.Dynamics, p.Scheme, fmt.Sprint(kinds), each, paths}
	m, dynamics, scheme := p.Space.M, p.Dynamics, p.Scheme
	if s, ok := dynamics.(Stepwise); ok {
		dynamics = s.NearCentre()
	}
	out := try.Get(p.Space.Call(key, func(in []*Node) []*Node {
		start, params := in[3:4+len(kinds)], in[4+len(kinds):]
		z := ode.Drive{T: in[1], DW: in[2]}
		n := z.DW.Shape().Dim(1)
		var y ode.State
		for _, part := range start {
			if !each {
				part = forPaths(n, part)
			}
			y = append(y, part)
		}
		for range watched {
			y = append(y, ReduceSum(ZerosLike(y[0]), -1))
		}
		method := watching(m, dynamics, scheme, kinds, in[0], params)
		// The last step, too, may leave the manifold, where the numbers are finite and no chart is.
		arrive := func(end, done *Node) *Node {
			at := geom.At(m, end)
			return Add(done, MulScalar(ConvertDType(LogicalNot(LogicalAll(IsFinite(at.Moved(at.X).Z), -1)), done.DType()), -1))
		}
		if !paths {
			out := ode.Integrate(nil, method, z, y)
			last := len(out) - 1
			out[last] = arrive(out[0], out[last])
			return out
		}
		path := ode.IntegratePath(nil, method, z, y)
		out := []*Node{Transpose(path[0], 0, 1)}
		ended := func(x *Node) *Node { return Squeeze(SliceAxis(x, 0, AxisRange(-1)), 0) }
		for _, sum := range path[len(path)-watched:] {
			out = append(out, ended(sum))
		}
		out[watched] = arrive(ended(path[0]), out[watched])
		return out
	}, args...))
	return out, kept(out, len(dw), T)
}

// kept are the numbers of the paths of a simulation in n steps over the time T that did not diverge. It fails where these are too few, or the
// steps too long.
func kept(out engine.Values, n int, T float64) (kept []int) {
	sums := len(out) - watched
	all, first := out.Vector(sums+2), -1
	for k, done := range all {
		if int(done) == n {
			kept = append(kept, k)
		} else if first < 0 {
			first = k
		}
	}
	if lost := len(all) - len(kept); float64(lost) > mostLeftOut*float64(len(all)) {
		i := math.Max(all[first], 0) + 1
		try.Fail("%d of %d paths diverge, path %d at step %.0f of %d (time %.4g of %.4g): the steps are too long, or they leave the chart; use more steps or a shorter time",
			lost, len(all), first, i, n, T*i/float64(n), T)
	}
	if before, same := floats.Sum(lists.Pick(out.Vector(sums), kept)), floats.Sum(lists.Pick(out.Vector(sums+1), kept)); before > worstChange*same {
		try.Fail("the steps are too long: over one the metric of the chart changes by a factor of %.3g in the mean, at most %g is taken for small; use more steps or a shorter time",
			before/same, float64(worstChange))
	}
	return kept
}

// mostLeftOut is the largest share of paths that may diverge where no error is told: what the others say is that much off at most, if it is a share.
const mostLeftOut = 0.01

// kinds are those of the parts.
func (p Process[P]) kinds() []geom.Kind {
	return lists.Each(p.Parts, func(part Part[P]) geom.Kind { return part.Kind })
}

// worstChange is by how much the metric of a chart may change over a step dx, in the mean with weights |dx|² over all steps and
// paths. A step of a scheme has the metric of its start, where at its end |dx|² is |dx|²/ρ or ρ|dx|²: 1/ρ has the mean
//
//	Σ min(|dx|²_g(x + dx), |dx|⁴_g(x)/|dx|²_g(x + dx)) / Σ |dx|²_g(x).
//
// On S^n it is (1 + |dx|²/4)⁻², so that steps of 2 radii are the limit. Only a Charted manifold is watched: what its charts show depends on
// them, not on the manifold alone.
const worstChange = 4

const watched = 3 // sums over the steps at the end of a state of watching, [N]: both of worstChange, and the number of finite states

// watching takes steps of a process that begins at the time t0.
func watching(m geom.Manifold, dynamics Dynamics, scheme ode.Scheme, kinds []geom.Kind, t0 *Node, params []*Node) ode.Method {
	return ode.NewMethod(scheme.Name, scheme.Order, func(_ ode.Equation, t, dt, dw *Node, y ode.State) ode.State {
		moving, sums := y[:len(y)-watched], y[len(y)-watched:]
		before, same := sums[0], sums[1]
		next := geom.InChart(m, kinds, func(at geom.Local, y ode.State) ode.State {
			end := scheme.Step(dynamics.Equation(at, params), Add(t0, t), dt, dw, y)
			if _, sub := m.(geom.SubRiemannian); geom.IsCharted(m) && !sub {
				dx := Sub(end[0], y[0])
				first, last := geom.Inner(at.Manifold, y[0], dx, dx), geom.Inner(at.Manifold, end[0], dx, dx)
				still := IsZero(last)
				least := Min(last, Mul(first, Div(first, Where(still, OnesLike(last), last)))) // no square, which may vanish
				before, same = Add(before, first), Add(same, Where(still, last, least))
			}
			return end
		}, moving)
		finite := lists.Fold(len(next), LogicalAnd, func(k int) *Node {
			return LogicalAll(IsFinite(next[k]), append([]int{-1}, lists.Range(next[k].Rank()-2)...)...)
		})
		return append(next, before, same, Add(sums[2], ConvertDType(finite, dt.DType())))
	})
}

// forPaths repeats a part, [..., d], for N paths, [..., N, d].
func forPaths(n int, part *Node) *Node {
	dims := part.Shape().Dimensions
	last := len(dims) - 1
	repeated := append(append(append([]int{}, dims[:last]...), n), dims[last])
	return BroadcastToDims(ExpandAxes(part, last), repeated...)
}

func (r *Run) check() {
	if r.Time == 0 {
		r.Time = 1
	}
	switch {
	case r.Paths < 1:
		try.Fail("%d paths, want at least 1", r.Paths)
	case r.Steps < 1:
		try.Fail("%d steps, want at least 1", r.Steps)
	case !(r.Time > 0) || math.IsInf(r.Time, 1):
		try.Fail("time %g, want a finite positive number", r.Time)
	}
}

// fits refuses runs for which there is no memory: the noise in R^m of so many times the paths, on the host and on the device,
// and with keep their points, of d numbers, too.
func (r *Run) fits(times, m, d int, keep bool) {
	numbers := 2 * float64(m) * float64(r.Steps)
	if keep {
		numbers += 2 * float64(d) * (float64(r.Steps) + 1)
	}
	try.Do(engine.Fits(fmt.Sprintf("%d paths of %d steps", r.Paths, r.Steps), 8*numbers*float64(r.Paths)*float64(times)))
}

// Check returns an error unless the process has a Space, Dynamics and noise, and starts at a point of the manifold where the metric is
// regular, with parts of vectors and covectors there. All that runs a process checks it so.
func (p Process[P]) Check() (err error) {
	defer try.Named(&err, "%s", p.Name)
	p.valid()
	return nil
}

func (p Process[P]) valid() {
	try.FailIf(p.Space == nil || p.Dynamics == nil, "the process has no Space or no Dynamics: set both")
	try.FailIf(p.Noise < 1, "noise in R^%d, want at least 1 dimension", p.Noise)
	var tangent []P
	for j, part := range p.Parts {
		try.FailIf(len(part.Vectors) == 0, "part %d has no vectors", j)
		if n, d := len(part.Vectors), p.Space.M.Dim(); n > d {
			try.Fail("part %d has %d vectors, want at most %d, the dimension", j, n, d)
		}
		if part.Kind == geom.Vector {
			tangent = append(tangent, part.Vectors...)
			continue
		}
		for i, v := range part.Vectors {
			try.Do(p.Space.CheckNumbers(fmt.Sprintf("covector %d of part %d", i, j), v))
		}
	}
	try.Do(p.Space.Check("start", p.Start, tangent...))
	_, free := p.Dynamics.(*equation) // one that divides by a singular metric diverges
	if p.Dynamics == (brownian{}) {
		_, free = p.Space.M.(geom.SubRiemannian) // needs no inverse of the cometric
	}
	if !free {
		try.Do(p.Space.CheckRegular("start", p.Start))
	}
}

// Along simulates r.Paths evolutions along a tree: the process starts at the root, runs along every edge for the time r.Time times its
// length, and at a branching point goes on independently in all children from where it is, with its parts; its time is that since the
// root. It returns the points of the nodes, [nodes][r.Paths]. Each edge takes r.Steps steps; r.Time is the time of a unit of length, so for Brownian motion the rate of
// evolution. An evolution that diverges on one edge is left out at all nodes: there are fewer than r.Paths.
//
// It has the errors of Paths, and is one if the length of an edge is missing. While the rate is small, the coordinates of the leaves have
// the covariance V ⊗ g*, with V of tree.Tree.Shared and the cometric g* at the start.
func (p Process[P]) Along(t *tree.Tree, r Run) (_ [][]P, err error) {
	defer try.Named(&err, "%s", p.Name)
	try.Do(t.CheckLengths())
	p.check(&r, false)
	states := make([][]any, len(t.Parent)) // of all paths at the nodes: points, [N, ...], and parts, [k, N, ...]
	times := make([]float64, len(t.Parent))
	left := make([]int, len(t.Parent)) // children whose edges are still to be run
	for _, q := range t.Parent[1:] {
		left[q]++
	}
	points := lists.Make(r.Paths, func(_ int) []float64 { return shape.Flat(p.Start) })
	states[0] = []any{points}
	for _, part := range p.Parts {
		vectors := shape.FlatAll(part.Vectors)
		repeated := make([][][]float64, len(vectors))
		for j, v := range vectors {
			for range r.Paths {
				repeated[j] = append(repeated[j], v)
			}
		}
		states[0] = append(states[0], repeated)
	}
	ends := [][][]float64{points}
	kept := lists.Range(r.Paths)
	for i, q := range t.Parent[1:] {
		i++
		state := states[q]
		times[i] = times[q] + t.Length[i]*r.Time
		if time := t.Length[i] * r.Time; time > 0 {
			// Of its own for every edge, and independent of the numbers of paths and of other edges.
			var out engine.Values
			err := try.Run(func() {
				var here []int
				out, here = p.simulate(ode.Increments(r.stream(i), r.Steps, r.Paths, p.Noise, time), times[q], time, state, true, false)
				kept = slices.DeleteFunc(kept, func(k int) bool { _, ok := slices.BinarySearch(here, k); return !ok })
			})
			try.Do(try.Name(err, "edge above %s", t.Label(i)))
			state = []any{out.Matrix(0)}
			for j := range p.Parts {
				state = append(state, out.Array3(j+1))
			}
		}
		if left[q]--; left[q] == 0 {
			states[q] = nil
		}
		states[i] = state
		ends = append(ends, state[0].([][]float64))
	}
	if lost := r.Paths - len(kept); float64(lost) > mostLeftOut*float64(r.Paths) {
		try.Fail("%d of %d evolutions diverge on some edge: use more steps or a lower rate", lost, r.Paths)
	}
	return lists.Each(ends, func(end [][]float64) []P { return p.Space.FromFlats(lists.Pick(end, kept)) }), nil
}
