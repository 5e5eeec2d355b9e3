package landmarks

import (
	"errors"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks/internal/pointset"
)

// DataTerm is a squared distance between the deformed source and a target, for Match. Correspondence, attachment.Current and attachment.Varifold
// make data terms; you can write others.
type DataTerm interface {
	// Inputs returns numbers of the target that Distance needs, for n points in R^d: arguments as for engine.Func.Call. An error
	// says why n points in R^d cannot be compared with the target.
	Inputs(n, d int) ([]any, error)
	// Distance returns the squared distance of the points x, [n, d], from the target: a scalar. The inputs are those of Inputs as
	// nodes. A term that compares points through a kernel multiplies the kernel's width by scale, a scalar.
	Distance(x, scale *Node, inputs []*Node) *Node
	// Scales returns the values of scale for which Match minimises one after the other, the largest first; the last is 1.
	Scales() []float64
}

// Correspondence returns the data term Σ_i w_i Σ_a (x_ia − y_ia)², where points x_i of a deformed shape correspond to the
// points y_i of the target, [n][D]. Coordinates of the target that are NaN are left out, so landmarks may be missing. weights
// has one number w_i ≥ 0 for each point; the default is 1.
func Correspondence(target geom.Shape, weights ...float64) DataTerm {
	return correspondence{geom.Clone(target), slices.Clone(weights)}
}

type correspondence struct {
	target  [][]float64
	weights []float64
}

func (c correspondence) Scales() []float64 { return []float64{1} }

func (c correspondence) Inputs(n, d int) ([]any, error) {
	if len(c.target) != n {
		return nil, fmt.Errorf("%d points, the target has %d", n, len(c.target))
	}
	if c.weights != nil && len(c.weights) != n {
		return nil, fmt.Errorf("%d weights for %d points", len(c.weights), n)
	}
	y, w := make([][]float64, n), make([][]float64, n)
	total := 0.0
	for i, p := range c.target {
		if len(p) != d {
			return nil, fmt.Errorf("point %d of the target has %d coordinates, want %d", i, len(p), d)
		}
		weight := 1.0
		if c.weights != nil {
			weight = c.weights[i]
		}
		if !(weight >= 0) || math.IsInf(weight, 1) {
			return nil, fmt.Errorf("weight %d is %g, want a number that is not negative", i, weight)
		}
		y[i], w[i] = make([]float64, d), make([]float64, d)
		for a, v := range p {
			if math.IsInf(v, 0) {
				return nil, fmt.Errorf("coordinate %d of point %d of the target is %g", a, i, v)
			}
			if !math.IsNaN(v) {
				y[i][a], w[i][a] = v, weight
				total += weight
			}
		}
	}
	if total == 0 {
		return nil, fmt.Errorf("no point of the target has a weight and coordinates: give both for at least one")
	}
	return []any{y, w}, nil
}

// typicalWeight is the mean of the weights that are not 0.
func (c correspondence) typicalWeight() float64 {
	sum, n := 0.0, 0.0
	for _, w := range c.weights {
		if sum += w; w > 0 {
			n++
		}
	}
	if n == 0 {
		return 1
	}
	return sum / n
}

// Distance is also that of many shapes, [..., n, d].
func (c correspondence) Distance(x, _ *Node, inputs []*Node) *Node {
	return ReduceSum(Mul(inputs[1], Square(Sub(x, inputs[0]))), -2, -1)
}

// Matching is a geodesic whose diffeomorphism moves a source close to a target.
type Matching struct {
	// Geodesic is the geodesic of the points with momenta: the source or the control points. Its Residual is √(Mismatch/Before),
	// the share of the distance that is left, 0 for Before = 0. Its Iterations and Status are those of the minimisation.
	Geodesic
	Source   []geom.Shape // the source points at the times 0, 1/n, …, 1, [n + 1][k][D]
	Deformed geom.Shape   // the source at time 1

	Before, Mismatch float64 // the data term of the source at times 0 and 1: squared distances
	Objective        float64 // ½ ‖v‖²_K + Mismatch/2σ²
	Evaluations      int     // how often the objective and its gradient were computed
}

// Match returns a deformation that moves a source towards a target: it minimises
//
//	½ ‖v‖²_K + T(φ(source))/2σ²,   ½ ‖v‖²_K = ½ Σ_ij K(x_i, x_j) p_i·p_j,
//
// over the momenta p_i at the points x_i of the source. φ is the diffeomorphism at time 1 of their geodesic, and T the data term
// (Vaillant, Miller, Younes and Trouvé, NeuroImage 23, 2004).
//
// source is [N][D], N and D those of the space. term compares the moved source with the target, which need not have the same
// number of points: Correspondence, or a norm of package attachment. The smaller σ, the closer the match. ‖v‖_K is a length, so σ
// has the unit of √T divided by a length: it is a pure number for landmarks, as in stats.RelativeNoise, and for curves, and a length
// for surfaces.
//
// Match with Correspondence also gives a good geodesic if the kernel is much wider than the distances between landmarks, where
// Log needs very large momenta to undo the smoothing of the kernel. Without Correspondence such a kernel and a small σ may take
// thousands of iterations.
//
// A search that does not converge is not an error: Match returns the best momenta found, and Status says how the search at the
// last scale of the term ended. It is an error if the source does not fit the space, if points coincide, if σ is not positive, or
// if the data term does not accept source and target.
//
// The options are solve.Tolerance (default 0.003; see solve.Minimise) and solve.MaxIterations (500 for every scale of the term).
// At the default tolerance the objective between outlines and surfaces was within 0.2 % of its value at a hundredth of this
// tolerance, and the velocity within 2 %.
//
// # Algorithm
//
// The gradient is exact, by reverse-mode differentiation through the integrator. The limited-memory BFGS method is preconditioned
// by the kernel. With Correspondence it starts where the momenta at time 1 balance the data force, and then has little to do.
//
// Converged needs one more test: a Newton step with K + βK² as the second derivatives, where β is estimated, would lower the
// objective by at most the share (20·tolerance)²/2. If the geodesic needs more than 25 steps and no Integrator was given, the
// search continues with more; it is Stalled if no number of steps is enough (see Geodesic.StepError).
func (s *Space) Match(source [][]float64, term DataTerm, sigma float64, opts ...solve.Option) (*Matching, error) {
	return s.matchOne("Match", source, nil, term, sigma, opts)
}

// MatchAll is Match for many sources, each with a term of its own. It returns one result for each. Where a source has none, its result is nil, and
// the error, which names the source, is joined to those of other such sources (errors.Join). On a GPU matches with Correspondence are
// computed in the same calls; other terms, and all on a CPU, one by one, as many at a time as there are cores.
func (s *Space) MatchAll(sources []geom.Shape, terms []DataTerm, sigma float64, opts ...solve.Option) ([]*Matching, error) {
	if len(sources) != len(terms) || len(sources) == 0 {
		return nil, fmt.Errorf("MatchAll: %d sources and %d terms, want one term for each source", len(sources), len(terms))
	}
	task := s.Begin(fmt.Sprintf("match of %d shapes", len(sources)))
	defer task.End()
	found, errs := make([]*Matching, len(sources)), make([]error, len(sources))
	engine.Together(task, len(sources), func(k int, call engine.Caller) {
		name := fmt.Sprintf("MatchAll: source %d", k)
		found[k], errs[k] = s.match(&matcher{name, call, task}, sources[k], nil, terms[k], sigma, opts)
	})
	return found, errors.Join(errs...)
}

// MatchFrom is Match with the momenta at separate control points, [N][D], N being the landmarks of the space; their flow moves the
// source, [k][D]. With control points about one width of the kernel apart, the deformation is as smooth as with momenta at all
// source points, and if there are fewer control points than source points, the match is faster (Durrleman et al., NeuroImage 101,
// 2014).
func (s *Space) MatchFrom(controls, source [][]float64, term DataTerm, sigma float64, opts ...solve.Option) (*Matching, error) {
	for i, z := range source {
		if err := s.checkPoint(z); err != nil {
			return nil, fmt.Errorf("MatchFrom: point %d of the source: %w", i, err)
		}
	}
	if len(source) == 0 {
		return nil, fmt.Errorf("MatchFrom: the source has no points")
	}
	return s.matchOne("MatchFrom", controls, source, term, sigma, opts)
}

// String says what the match is in one line.
func (m *Matching) String() string {
	return fmt.Sprintf("match of %d points, √(%.3g) of √(%.3g) left, %s after %d iterations", len(m.Deformed), m.Mismatch, m.Before, m.Status, m.Iterations)
}

// Err returns nil if Status is Converged, and otherwise an error with the line of String.
func (m *Matching) Err() error { return solve.NotNil(m).Status.Err(m) }

// checkMatch returns the inputs of the data term, or an error if an argument of match is not valid.
func (s *Space) checkMatch(controls, source [][]float64, term DataTerm, sigma float64) ([]any, error) {
	if err := s.CheckNumbers("source", controls); err != nil {
		return nil, fmt.Errorf("the points with momenta: %w", err)
	}
	if err := s.CheckRegular("source", controls); err != nil {
		return nil, fmt.Errorf("the points with momenta: %w", err)
	}
	if !(sigma*sigma > 0) || math.IsInf(sigma*sigma, 1) || sigma < 0 {
		return nil, fmt.Errorf("σ is %g, want a positive number whose square is neither 0 nor infinite", sigma)
	}
	if term == nil {
		return nil, errors.New("no data term: give Correspondence, or a norm of package attachment")
	}
	if scales := term.Scales(); len(scales) == 0 || scales[len(scales)-1] != 1 {
		return nil, fmt.Errorf("the data term has the scales %v, want 1 as the last", scales)
	}
	moved := s.Manifold.N
	if source != nil {
		moved = len(source)
	}
	return term.Inputs(moved, s.Manifold.D)
}

// matcher is how a match computes: its name in errors, what calls its functions, and what its searches run on, a space or the task of many matches.
type matcher struct {
	name string
	call engine.Caller
	on   interface{ Begin(name string) *geom.Task }
}

func (s *Space) matchOne(name string, controls, source [][]float64, term DataTerm, sigma float64, opts []solve.Option) (*Matching, error) {
	return s.match(&matcher{name, (*engine.Func).Call, s}, controls, source, term, sigma, opts)
}

// match moves the source to the target; a nil source stands for the controls themselves.
func (s *Space) match(by *matcher, controls, source [][]float64, term DataTerm, sigma float64, opts []solve.Option) (_ *Matching, err error) {
	defer try.Named(&err, "%s", by.name)
	inputs := try.Get(s.checkMatch(controls, source, term, sigma))
	q, scales := shape.Flat(controls), term.Scales()
	kernel := try.Get(s.newSpectrum(q))
	r := s.newRegistration(by, q, source, term, inputs, kernel)
	m := &Matching{}
	p := make([]float64, len(q))
	out := try.Get(r.at(p, 1, sigma))
	m.Before = out.Scalar(2)
	if !lists.Finite(out.Scalar(0)) {
		return nil, fmt.Errorf("the data term of the source is %g, want a finite number: check the coordinates of source and target", m.Before)
	}
	if c, ok := term.(correspondence); ok && source == nil {
		found, steps := try.Get2(s.balanced(by, q, inputs, c.typicalWeight(), sigma, kernel))
		m.Iterations = steps
		atStart := out.Scalar(0)
		out = try.Get(r.at(found, 1, sigma))
		if out.Scalar(0) < atStart {
			p = found
		}
	}
	for steady := s; steady != nil; {
		if steady != s { // goes on with more steps
			r, scales = steady.newRegistration(by, q, source, term, inputs, kernel), []float64{1}
		}
		found := try.Get(r.minimise(p, scales, sigma, opts))
		p = found.X
		iterations := m.Iterations + found.Iterations
		g, finer := try.Get2(s.found(steady, q, p, found.Status))
		m.Geodesic, steady = *g, finer
		m.Iterations = iterations
	}
	if m.Source = m.Path; source != nil {
		m.Source = try.Get(s.Transform(&m.Geodesic, source))
	}
	m.Deformed = m.Source[len(m.Source)-1]
	try.Do(s.holds(m, term))
	out = try.Get(r.at(p, 1, sigma))
	m.Objective, m.Mismatch, m.Evaluations = out.Scalar(0), out.Scalar(2), r.evaluations
	if m.Before > 0 {
		m.Residual = math.Sqrt(max(0, m.Mismatch) / m.Before)
	}
	return m, nil
}

// found returns the geodesic from q whose momentum p a search with the steps of a steady space found, and how the search ended: Stalled where
// it has converged, but no steps are enough. Where more steps are, it returns a space that takes them, in which to go on.
func (s *Space) found(steady *Space, q, p []float64, status geom.Status) (g *Geodesic, finer *Space, err error) {
	const fine = 1e-5 // of geodesics between outlines StepError, where it is not measured, is ten times too large
	if g, err = steady.With(geom.FixedSteps).Shoot(s.FromFlat(q), s.FromFlat(p)); err != nil {
		return nil, nil, err
	}
	if g.Status = status; status != geom.Converged || g.StepError <= fine {
		return g, nil, nil
	}
	settled, err := s.Shoot(s.FromFlat(q), s.FromFlat(p))
	if err != nil {
		g.Status = geom.Stalled
		return g, nil, nil
	}
	if more := s.Steady(settled); more.Steps() > steady.Steps() {
		return g, over(more, s.Manifold), nil
	}
	g.StepError = settled.StepError
	return g, nil, nil
}

// minimise searches for the momenta at the scales of the data term, one after the other.
func (r *registration) minimise(p []float64, scales []float64, sigma float64, opts []solve.Option) (found *solve.Minimum, err error) {
	defer try.Catch(&err)
	iterations := 0
	for k, scale := range scales {
		objective := r.around(p, scale, sigma)
		more := opts
		if k < len(scales)-1 {
			more = append(opts[:len(opts):len(opts)], solve.Tolerance(0.1)) // a coarse scale only shows the way
		}
		found = try.Get(objective.Run("match", r.by.on, p, solve.Limits{Tolerance: 0.003, MaxIterations: 500}, more...))
		iterations += found.Iterations
		if p = found.X; found.Status == geom.Cancelled {
			break
		}
	}
	found.Iterations = iterations
	return found, nil
}

// registration is the objective of Match.
type registration struct {
	by          *matcher
	objective   *engine.Func
	fixed       []any // arguments of objective that stay
	kernel      *spectrum
	size        float64 // the root mean square distance of all points from their centre
	evaluations int
	mismatch    float64 // the data term where the objective was last evaluated
}

// newRegistration is that of points z, or of the points x that have momenta where z is nil.
func (s *Space) newRegistration(by *matcher, x []float64, z [][]float64, term DataTerm, inputs []any, kernel *spectrum) *registration {
	fixed, points := []any{x}, slices.Concat(s.FromFlat(x), z)
	size := pointset.CentroidSize(points) / math.Sqrt(float64(len(points)))
	if z != nil {
		fixed = append(fixed, z)
	}
	graph := func(in []*Node) []*Node { return s.objective(term, z != nil, in) }
	objective := engine.Compile(graph, engine.Name("Match"))
	if _, ok := term.(correspondence); ok { // one for all, which differ in numbers alone
		objective = s.compiled([]string{"match", "match by control points"}[min(len(z), 1)], graph)
	}
	return &registration{by: by, objective: objective, fixed: append(fixed, inputs...), kernel: kernel, size: size}
}

// objective is a graph function of momenta, scale, 1/σ², the points with momenta, those that they carry, if they do, and the inputs of the term:
// the objective, its gradient, the data term and the sum of squares of the end. With Correspondence all may have leading axes.
func (s *Space) objective(term DataTerm, carries bool, in []*Node) []*Node {
	p, scale, precision, x, inputs := in[0], in[1], in[2], in[3], in[4:]
	var end *Node
	if carries {
		end, inputs = s.TransformOnGraph(x, p, in[4]), in[5:]
	} else {
		end = s.Manifold.points(ode.Flow(geom.Geodesics(s.Manifold), s.Method(), s.Steps(), ode.State{x, p})[0])
	}
	mismatch := term.Distance(end, scale, inputs)
	f := Add(geom.Hamiltonian(s.Manifold)(x, p), Mul(MulScalar(precision, 0.5), mismatch))
	return []*Node{f, Gradient(ReduceAllSum(f), p)[0], mismatch, ReduceSum(Square(end), -2, -1)}
}

// at returns the objective, its gradient, the data term and the sum of squares of the end at momenta p.
func (r *registration) at(p []float64, scale, sigma float64) (engine.Values, error) {
	r.evaluations++
	out, err := r.by.call(r.objective, append([]any{p, scale, 1 / (sigma * sigma)}, r.fixed...)...)
	if err == nil {
		r.mismatch = out.Scalar(2)
	}
	return out, err
}

// left is the root mean square by which coordinates of corresponding points were last off.
func (r *registration) left() float64 {
	return math.Sqrt(r.mismatch / float64(len(r.fixed[0].([]float64))))
}

// around is the objective for a search from p.
func (r *registration) around(p []float64, scale, sigma float64) solve.Objective {
	value := func(p []float64) (float64, []float64, error) {
		out, err := r.at(p, scale, sigma)
		if err != nil {
			return 0, nil, err
		}
		f, g := out.Scalar(0), out.Vector(1)
		if !lists.Finite(f, out.Scalar(3)) || !lists.Finite(g...) {
			return math.Inf(1), g, nil
		}
		return f, g, nil
	}
	stiffness := try.Get(r.kernel.stiffness(value, p, r.size))
	// At a tolerance of 0.003 there are then two thousandths of f to win at most.
	soft := func(g []float64) float64 { return r.kernel.gain(g, stiffness) / (20 * 20) }
	return solve.Objective{Value: value, Precondition: r.kernel.solve, FirstStep: 1 / (1 + stiffness*r.kernel.unit), Soft: soft}
}

// balanced searches for the momenta p of a match of corresponding points, at which the momenta at time 1 balance the pull of the
// data,
//
//	w_i (q_i(1) − y_i) + σ² p_i(1) = 0,
//
// as a root, with σ falling to the wanted one by halves. The derivative of the left side is close to w K + σ² if landmarks go less than
// a few widths of the kernel. This needs few flows where a descent creeps, because the kernel is wide or σ small; where landmarks go
// farther it gives up. What it returns is where the search ended, a root or not, and the number of steps that it took.
func (s *Space) balanced(by *matcher, q []float64, target []any, weight, sigma float64, kernel *spectrum) (_ []float64, _ int, err error) {
	defer try.Catch(&err)
	task := by.on.Begin(by.name)
	defer task.End()
	variance := sigma * sigma
	call := func(what string, fn func(in []*Node) *Node, x ...[]float64) ([][]float64, error) {
		args := append([]any{q, variance}, target...)
		for _, x := range x {
			args = append(args, x)
		}
		out, err := by.call(s.compiled(what, func(in []*Node) []*Node { in[1] = ExpandAxes(in[1], -1); return []*Node{fn(in)} }), args...)
		if err != nil {
			return nil, err
		}
		return [][]float64{out.Vector(0)}, nil
	}
	products, most := 0, 100 // of the derivative with a vector
	if s.Manifold.N >= 4*coarse {
		most = 30
	}
	system := solve.System{
		Residual: func(p [][]float64) ([][]float64, error) {
			return call("balance of a match", func(in []*Node) *Node {
				end, momentum := s.FlowMap(in[0], in[4])
				return Add(Mul(linalg.Vectors(in[3]), Sub(end, linalg.Vectors(in[2]))), Mul(in[1], momentum))
			}, p[0])
		},
		Derivative: func(p, dp [][]float64) ([][]float64, error) {
			if products++; products > most {
				return nil, errFar
			}
			return call("derivative of the balance of a match", func(in []*Node) *Node {
				end, momentum := s.FlowTangent(in[0], in[4], in[5])
				return Add(Mul(linalg.Vectors(in[3]), end), Mul(in[1], momentum))
			}, p[0], dp[0])
		},
		Precondition: func(f [][]float64) ([][]float64, error) {
			return [][]float64{kernel.apply(func(l float64) float64 { return 1 / (weight*l + variance) }, f[0])}, nil
		},
	}
	for variance < weight*kernel.lambda[len(kernel.lambda)-1] {
		variance *= 4
	}
	root := &solve.Root{X: make([]float64, len(q))}
	roots := []*solve.Root{root}
	for least := 0.0; variance >= 0.99*sigma*sigma; variance /= 4 {
		try.Do(system.Renew(roots))
		if least == 0 {
			least = 1e-6 * root.Norm
		}
		root.Tolerance = least
		if variance > 1.01*sigma*sigma { // on the way a hundredth will do
			root.Tolerance = max(least, 0.01*root.Norm)
		}
		root.Done = root.Norm <= root.Tolerance
		try.Do(system.Broyden(task.Context(), roots, 10))
		products = 0
		if err := system.Newton(task.Context(), roots, 10); errors.Is(err, errFar) {
			break
		} else if err != nil {
			return nil, 0, err
		}
		if task.Report(geom.Progress{Iteration: root.Iterations, Gradient: root.Norm, Tolerance: root.Tolerance}) {
			break
		}
	}
	return root.X, root.Iterations, nil
}

// errFar says that the derivative of a balance is far from w K + σ².
var errFar = errors.New("far from linear")

// holds returns an error if the fast sums of a kernel are valid in a box only and points of a match left it.
func (s *Space) holds(m *Matching, term DataTerm) error {
	for i := range m.Path {
		if err := s.Manifold.fits(m.Path[i], m.Source[i]); err != nil {
			return fmt.Errorf("step %d of %d: %w", i, len(m.Path)-1, err)
		}
	}
	if t, ok := term.(kernels.Bounded); ok {
		return t.Fits(m.Deformed)
	}
	return nil
}
