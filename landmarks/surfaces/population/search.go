package population

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/geom/watch"
	"anatomy/internal/lists"
	"anatomy/landmarks/internal/text"
	"anatomy/landmarks/surfaces/mesh"
)

// remembered is how many steps the search remembers: its valleys are long.
const remembered = 100

// How many steps a search takes in all variables at once, and then in the template alone, each of which takes some 20 evaluations, unless told
// otherwise.
const maxIterations, maxTrail = 700, 200

// limits are those of a search with the default number of iterations.
func limits(tolerance float64) solve.Limits {
	return solve.Limits{Tolerance: tolerance, MaxIterations: 500}
}

// bounded is a value with its gradient for solve.Minimise: infinite where either is no number.
func bounded(value float64, gradient []float64) (float64, []float64, error) {
	if !lists.Finite(value) || !lists.Finite(gradient...) {
		value = math.Inf(1)
	}
	return value, gradient, nil
}

// start is where a search begins.
type start struct {
	template     []*mesh.Mesh
	controls     [][]float64
	coefficients []geom.Shape // nil: they are 0
	noise        []float64    // of objects whose noise is estimated; nil: see initialNoise
	flowing      bool         // the template moves in flows only at first
	frozen       bool         // the template stays
}

// estimate minimises the objective, and returns what it found.
func (m Model) estimate(name string, from start, subjects [][]*mesh.Mesh, design [][]float64, opts []solve.Option) *Atlas {
	m.check(from.template, from.controls, subjects)
	for i, p := range from.coefficients {
		try.Do(m.Space.CheckNumbers(fmt.Sprintf("momentum %d", i), p))
	}
	f := newFit(m, from.template, from.controls, subjects, design)
	defer f.free()
	f.frozen = from.frozen
	x := f.begin(from)
	first := f.at(x)
	text.RefuseIf(math.IsNaN(first.value) || math.IsInf(first.value, 0), "see whether coordinates and kernels are in one unit",
		"the objective at the start is %g", first.value)
	begin := time.Now()
	f.evaluate(x) // the first one compiled it
	f.evaluations--
	plan := f.plan(name, time.Since(begin))
	defer watch.Step(plan)()
	a := &Atlas{Before: first.mismatch, Noise: slices.Clone(f.sigma), Reach: 1}
	if from.flowing {
		// When all subjects are near, the template takes the details that these have in common.
		clear(f.scale[:len(f.Objects)])
		rough := f.run(name, f.chunks, f.objective(), x, limits(0.1), append(opts[:len(opts):len(opts)], solve.Tolerance(0.1)))
		x, a.Iterations, a.Flowing = rough.X, rough.Iterations, rough.Status == geom.Cancelled
	}
	x = f.searchWithNoise(name, x, a, opts)
	f.finish(a, f.at(x), subjects)
	return a
}

// begin returns the variables at the start, and sets the noise.
func (f *fit) begin(from start) []float64 {
	x := make([]float64, f.blocks()[2][1])
	at := copy(x, shape.Flat(mesh.Vertices(from.template)))
	for _, p := range from.coefficients {
		at += copy(x[at:], shape.Flat(p))
	}
	if f.Free {
		copy(x[f.blocks()[2][0]:], shape.Flat(from.controls))
	}
	if f.estimatesNoise() && from.noise == nil {
		f.sigma = f.initialNoise(x[:f.blocks()[0][1]])
	} else if f.estimatesNoise() {
		for o, object := range f.Objects {
			f.sigma[o] = cmp.Or(object.Noise, from.noise[o])
		}
	}
	return x
}

// searchWithNoise minimises the objective from x, where a noise is to be estimated again and again until the estimate holds. It sets Status,
// Noise, Reach and Parts of an atlas, and adds to its Iterations.
func (f *fit) searchWithNoise(name string, x []float64, a *Atlas, opts []solve.Option) []float64 {
	estimates := f.estimatesNoise()
	for stage := (annealing{Loose: estimates, Rough: 0.3}); ; {
		now := opts
		if rough := stage.tolerance(0); rough > 0 {
			now = append(opts[:len(opts):len(opts)], solve.Tolerance(rough))
		}
		found := f.search(name, x, now)
		x = found.X
		a.Status = found.Status
		a.Iterations += found.Iterations
		if !estimates || found.Status == geom.Cancelled {
			return x
		}
		done := f.anneal(&stage, f.at(x), a, found.Iterations)
		if stage.Renewals > maxRenewals {
			a.Status = geom.IterationLimit
		}
		if done {
			return x
		}
	}
}

// search minimises the objective from x, for a noise.
func (f *fit) search(name string, x []float64, opts []solve.Option) *solve.Minimum {
	f.respond(x[:f.blocks()[0][1]])
	f.calibrate(x)
	if f.stiff = nil; f.stiffens() {
		f.stiffen(f.resistances(f.at(x)))
	}
	o := f.objective()
	o.Residual = f.residual
	found := f.run(name, f.chunks, o, x, solve.Limits{Tolerance: 0.03, MaxIterations: maxIterations}, opts)
	if f.response != nil && !f.frozen && found.Status == geom.IterationLimit {
		before := found.Iterations
		found = f.trail(name, found.X, solve.Limits{Tolerance: 0.03, MaxIterations: maxTrail}, opts)
		found.Iterations += before
	}
	return found
}

// trail goes on where the noise is so small that steps in all variables at once leave the narrow valley of the template and its momenta. It steps
// with the template alone (and free control points), and searches for all momenta at every step. So the search for the template sees the objective of
// the best momenta (Golub and Pereyra, SIAM J. Numer. Anal. 10, 1973).
func (f *fit) trail(name string, x []float64, most solve.Limits, opts []solve.Option) *solve.Minimum {
	at, goal := f.blocks()[1], 0.01
	template := func(x []float64) []float64 { return slices.Concat(x[:at[0]], x[at[1]:]) }
	base := f.at(x) // from which the next step goes
	last := base
	found := try.Get(solve.Objective{
		Value: func(y []float64) (float64, []float64, error) {
			step := make([]float64, len(x))
			floats.SubTo(step[:at[0]], y[:at[0]], base.x[:at[0]])
			floats.SubTo(step[at[1]:], y[at[0]:], base.x[at[1]:])
			f.addFollowing(step)
			last = f.settle(floats.AddTo(step, step, base.x), goal)
			return bounded(last.value, slices.Concat(f.led(last.gradient), last.gradient[at[1]:]))
		},
		Precondition: func(g []float64) ([]float64, error) { return f.preconditionTemplate(g), nil },
		Residual: func(y []float64) (float64, error) {
			if slices.Equal(y, template(last.x)) {
				base = last
			}
			f.last = base
			left, err := f.residual(base.x)
			goal = 0.3 * math.Min(0.1, left)
			return left, err
		},
		FirstStep: 1,
		Memory:    remembered,
	}.Run(name, f.Space, template(x), most, opts...))
	found.X = base.x
	return found
}

// settle brings the momenta of x to their minimum for its template.
func (f *fit) settle(x []float64, goal float64) *evaluation {
	f.frozen = true
	defer func() { f.frozen = false }()
	o := f.objective()
	o.Residual = f.residual
	return f.at(try.Get(solve.Minimise(context.Background(), o, x, goal, 100)).X)
}

// residual is the larger of Imbalance and Unsettled, and Unsettled alone where the template stays.
func (f *fit) residual(x []float64) (float64, error) {
	imbalance, unsettled := f.balance(f.at(x))
	if f.frozen {
		return unsettled, nil
	}
	return max(imbalance, unsettled), nil
}

// objective is that of all variables.
func (f *fit) objective() solve.Objective {
	return solve.Objective{
		Value: func(x []float64) (float64, []float64, error) {
			e := f.at(x)
			return bounded(e.value, e.gradient)
		},
		Precondition: func(g []float64) ([]float64, error) { return f.precondition(g), nil },
		FirstStep:    1,
		Memory:       remembered,
	}
}

// Register returns the match of a template, which stays as it is, to one subject, as an atlas of that subject: it is landmarks.Space.MatchFrom for
// several objects. Every object must have a Noise: that of one subject cannot be estimated. The control points stay, also if Model.Free is set. Its
// Status is Converged if Unsettled is at most the tolerance; it does not speak of Imbalance, which is not 0. It is Stalled where cells of the
// deformed template are folded, which needs a wider kernel of the deformations or more noise, and where the integrator's steps are too few. The
// options are solve.Tolerance (default 0.03) and solve.MaxIterations (700).
func (m Model) Register(template []*mesh.Mesh, controls [][]float64, subject []*mesh.Mesh, opts ...solve.Option) (_ *Atlas, err error) {
	const name = "registration"
	defer try.Named(&err, name)
	m.Free, m.Hypertemplate = false, false
	text.RefuseIf(m.estimatesNoise(), "give Noise", "the noise of one subject cannot be estimated")
	a := m.estimate(name, start{template: template, controls: controls, frozen: true}, [][]*mesh.Mesh{subject}, lists.Identity(1), opts)
	a.countFolds(a.Deformed[0], template)
	return a, nil
}

// finish sets what an atlas, of which noise, status and iterations are known, is at an evaluation.
func (f *fit) finish(a *Atlas, e *evaluation, subjects [][]*mesh.Mesh) {
	a.Imbalance, a.Unsettled = f.balance(e)
	z, flat, q := f.split(e.x)
	a.Template = lists.Each(mesh.WithVertices(f.start, f.Space.FromFlat(z)), (*mesh.Mesh).Copy)
	a.Controls = f.Space.FromFlat(q)
	for i := range subjects {
		a.Momenta = append(a.Momenta, f.Space.FromFlat(f.momentum(i, flat)))
		a.Deformed = append(a.Deformed, mesh.WithVertices(a.Template, e.deformed[i]))
	}
	a.Mismatch, a.Energy, a.Evaluations = e.mismatch, e.energy, f.evaluations
	a.Objective = floats.Sum(e.energy) / (a.Reach * a.Reach)
	for o, mismatch := range sums(e.mismatch) {
		a.Objective += mismatch / (2 * a.Noise[o] * a.Noise[o])
	}
	a.countFolds(a.Template, f.start)
	f.checkAtlasBounds(a, subjects)
	for _, p := range a.Momenta {
		a.Drift = math.Max(a.Drift, try.Get(f.Space.With(geom.FixedSteps).Shoot(a.Controls, p)).Drift)
	}
	if a.Drift > geom.MaxDrift && a.Status == geom.Converged {
		a.Status = geom.Stalled
	}
}

// maxFolded is the largest FoldedShare where a search has converged: integrals over the template miss twice as much at most.
const maxFolded = 1e-3

// countFolds counts the cells of a shape that are folded and were not before.
func (a *Atlas) countFolds(shape, before []*mesh.Mesh) {
	for o, t := range shape {
		pairs, sizes, folded := t.Folds(before[o]), before[o].Sizes(), map[int]bool{}
		share := 0.0
		for _, p := range pairs {
			small := p[0]
			if sizes[p[1]] < sizes[p[0]] {
				small = p[1]
			}
			if !folded[small] {
				share += sizes[small] / before[o].Size()
			}
			folded[small] = true
		}
		a.addFolds(len(pairs), share)
	}
}

// addFolds adds pairs of cells that are folded.
func (a *Atlas) addFolds(pairs int, share float64) {
	a.Folded += pairs
	if a.FoldedShare = math.Max(a.FoldedShare, share); a.FoldedShare > maxFolded && a.Status == geom.Converged {
		a.Status = geom.Stalled
	}
}

// rootRatio is √(a/b), and 0 where a is 0.
func rootRatio(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return math.Sqrt(a / b)
}

// imbalance returns Imbalance and Unsettled, see Atlas, from sums over the subjects: ‖Σ g_i‖² and Σ ‖g_i‖² of squaredNorms, the mismatch of every
// object, Σ ‖r_i‖² and the energy.
func (f *fit) imbalance(total, apart, mismatch []float64, missed, energy float64) (imbalance, unsettled float64) {
	squares, same := f.squares, true
	if f.Hypertemplate {
		squares, mismatch = []float64{floats.Sum(squares)}, []float64{floats.Sum(mismatch)}
	}
	for k, missing := range mismatch {
		if missing > 1e-12*squares[k] { // else all subjects are the template
			imbalance, same = math.Max(imbalance, rootRatio(total[k], apart[k])), false
		}
	}
	least := 1e-12 * floats.Dot(f.squares, f.precision())
	if same && energy <= least {
		return 0, 0
	}
	return imbalance, rootRatio(missed, 2*math.Max(energy, least)) // where nothing moved yet, there is no energy
}

// balance returns Imbalance and Unsettled at an evaluation.
func (f *fit) balance(e *evaluation) (imbalance, unsettled float64) {
	at := f.blocks()
	z := e.x[:at[0][1]]
	total := f.squaredNorms(z, e.gradient[:at[0][1]])
	apart := make([]float64, len(total))
	for _, g := range e.pulls {
		floats.Add(apart, f.squaredNorms(z, g))
	}
	missed := 0.0
	for r := range slices.Chunk(e.gradient[at[1][0]:at[1][1]], f.Space.Manifold.Dim()) {
		missed += f.squaredNorm(r)
	}
	return f.imbalance(total, apart, sums(e.mismatch), missed, floats.Sum(e.energy))
}
