package geom

import (
	"errors"
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
)

// Regulariser is an optional interface of a Cometric that may be close to singular, as the cometric of landmarks is when the
// kernel is much wider than the distances between them: it has the inverse of g* + μ, by which vectors are smoothed.
type Regulariser interface {
	// RegularFlat returns (g*(q) + μ)⁻¹ v for points and vectors [..., d] and μ ≥ 0, [...].
	RegularFlat(q, v, mu *Node) *Node
}

// Log returns the geodesic from the point x to the point y: it solves Exp_x(v) = y for the velocity v.
//
// Geodesic.Status is Converged if two conditions hold:
//
//   - the distance |γ(1) − y| in the ambient space, which is √d times the Residual, is at most 1e-8 of |y − x|, or as small as rounding allows;
//   - the steps are enough: the end does not move with more steps or, with a given Integrator, the energy changes by at most 1
//     %.
//
// A search that does not converge is not an error: Log returns the best geodesic found, and Geodesic.Err says what is wrong
// with it. The result is a shortest geodesic if y is within the injectivity radius of x, and usually a little beyond;
// Geodesic.Conjugate says whether it has a conjugate point. Where several shortest geodesics lead to y, as to an antipode, closed forms refuse
// the pair, and a search returns one of the geodesics.
//
// On a SubRiemannian manifold Log solves for the momentum. The derivative of Exp at momentum 0 reaches the distribution only, so the
// search begins with paths of 24 random controls, which the end point map leads to y, and continues with Newton's method from their
// momenta. The result is the shortest of the geodesics found; Geodesic.Corank tells where the end point map is singular.
//
// It is an error if x or y is not a point, if the metric is singular at x or y, if a closed form shows that y is in the cut
// locus of x, or if no curve from x to y is found. The options of the space apply: Integrator, Context, OnProgress.
//
// # Algorithm
//
// Manifolds with closed forms use them. Otherwise Log starts from v = 0, where the derivative of Exp is the identity, and uses
// Broyden's method, which needs no derivatives. If that fails it continues with Newton's method. In more than 8 dimensions, as
// for landmarks whose kernel is wider than their distances, Newton's method starts from the curve of least energy between the
// points, which is relaxed from a straight line, and uses the whole derivative of Exp. Such a geodesic is not longer than that
// curve. Without an Integrator the steps are doubled as by Exp.
//
// The search aims at a residual of 1e-10 and reaches it unless the metric is nearly singular. Rounding leaves about 1e-15 |y|,
// and at most 1e-13 |y|; this matters if points are close together and far from the origin.
//
// In up to 8 dimensions and without closed forms, Log looks for shorter geodesics if the first search fails, if its geodesic
// has a conjugate point, or if another curve from x to y is shorter, such as the straight line of a chart. On surfaces it also
// shoots 48 geodesics from x and from y in all directions, and keeps those that arrive close to the other end and are less than a
// fifth longer. It relaxes these candidates to geodesics until none is shorter. In any dimension such curves over the charts on the way are
// where it starts from if the chart at y does not contain x.
func (s *Space[P]) Log(x, y P) (*Geodesic[P], error) { return converted(s, s.log, x, y) }

func (s *space) log(x, y any) (*Geodesic[Vec], error) {
	gs, err := s.logFrom([]any{x}, []any{y}, nil)
	if err != nil {
		return nil, err
	}
	found := gs[0]
	g, err := s.shoot("Log", shot{z: found.Start, p: found.Momentum}, found.Steps/s.steps)
	if err != nil {
		return nil, err
	}
	found.Start, found.End, found.Path, found.Momenta = g.Start, g.End, g.Path, g.Momenta
	if _, ok := s.M.(SubRiemannian); ok {
		if found.Corank, err = s.corank(found); err != nil {
			return nil, fmt.Errorf("Log: %w", err)
		}
	}
	return found, nil
}

// LogAll computes Log for many pairs (x_i, y_i) in the same compiled calls. It returns one geodesic for each pair; they have no
// End, Path and Momenta. Where a pair has none, its geodesic is nil and the error, which names the pair, is joined to those of other such
// pairs (errors.Join): the geodesics of all others are returned with it. If x or y has a point that is not on the manifold, all are nil.
func (s *Space[P]) LogAll(x, y []P) ([]*Geodesic[P], error) { return s.LogFrom(x, y, nil) }

// LogFrom is LogAll with an initial guess of the velocity for each pair; nil means no guesses. A guess is used if its geodesic
// ends closer to y_i than that of velocity 0. With guesses, Log does not look for other, shorter geodesics.
func (s *Space[P]) LogFrom(x, y, guess []P) ([]*Geodesic[P], error) {
	gs, err := s.logFrom(given(x), given(y), s.Vectors(guess))
	return each(gs, func(g *Geodesic[Vec]) *Geodesic[P] {
		if g == nil {
			return nil
		}
		return s.geodesic(g)
	}), err
}

func (s *space) logFrom(starts, ends []any, guess []Vec) ([]*Geodesic[Vec], error) {
	x, y := each(starts, numbers), each(ends, numbers)
	if len(x) != len(y) || len(x) == 0 || guess != nil && len(guess) != len(x) {
		return nil, fmt.Errorf("Log: %d starting points, %d end points and %d guesses, want equally many, or no guesses", len(x), len(y), len(guess))
	}
	if err := s.checkAll("start", starts); err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	if err := s.checkAll("end", ends); err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	if _, ok := s.M.(SubRiemannian); ok {
		if guess != nil {
			return nil, fmt.Errorf("Log: guesses are vectors, which have no momenta on a sub-Riemannian manifold")
		}
		return s.steered(x, y)
	}
	if err := s.checkRegular("start", x...); err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	if err := s.checkRegular("end", y...); err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	return s.searched(x, y, guess)
}

// searched are the geodesics that the search finds, from guesses or, with nil, from velocity 0.
func (s *space) searched(x, y, guess []Vec) ([]*Geodesic[Vec], error) {
	if factorsOf(s.M) != nil {
		return s.searchedFactors(x, y, guess)
	}
	task := s.Begin(logarithms(len(x)))
	defer task.End()
	l := newLogarithm(s, task, x, y, math.Inf(1))
	roots, err := l.search(guess, false)
	if err == nil {
		err = l.retry(roots, guess)
	}
	if err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	gs := make([]*Geodesic[Vec], len(x))
	_, closed := s.M.(ClosedForms)
	for i, r := range roots {
		f := l.found[i]
		if k, bad := notFinite(f.momentum); bad && l.lost[i] == nil {
			l.lost[i] = fmt.Errorf("coordinate %d of the momentum is %g: the metric is singular at the starting point", k, f.momentum[k])
		}
		if apart := floats.Distance(x[i], y[i], 2); !closed && !IsCharted(s.M) && 0 < apart && apart < 1e-140 {
			l.lost[i], r.Status = fmt.Errorf("the points are %.3g apart, and the squares of such numbers vanish in double precision: take another unit", apart), Stalled
		}
		if bad := l.lost[i]; bad != nil && r.Status != Converged {
			err = errors.Join(err, failed(i, len(x), bad))
			continue
		}
		gs[i] = &Geodesic[Vec]{Start: x[i], Velocity: f.velocity, Momentum: f.momentum, Length: f.length,
			Steps: l.times[i] * s.steps, Drift: f.drift, StepError: f.stepError,
			Residual: f.miss / math.Sqrt(float64(s.M.Dim())), Iterations: r.Iterations, Status: r.Status}
		if l.conjugate != nil {
			gs[i].Conjugate = l.conjugate[i]
		}
	}
	return gs, err
}

// logarithms names the computation of n logarithms.
func logarithms(n int) string {
	if n == 1 {
		return "Log"
	}
	return fmt.Sprintf("Log of %d pairs", n)
}

// evaluated counts an evaluation of residuals or of their derivatives, and reports the residual that is farthest from its tolerance.
func (l *logarithm) evaluated() {
	l.evaluations++
	p := Progress{Iteration: l.evaluations}
	worst := 1.0
	for i, r := range l.roots {
		if share := r.Norm / r.Tolerance; !r.Done && share > worst && !math.IsInf(share, 1) {
			unit := l.shrunk[i] * math.Sqrt(float64(l.space.M.Dim()))
			worst, p.Residual, p.Tolerance = share, r.Norm/unit, r.Tolerance/unit
		}
	}
	l.task.Detail(p)
}

// rounding is the relative distance of consecutive numbers in double precision.
const rounding = 0x1p-52

// logarithm is the search for v with Exp_x(v) = y, for many pairs.
type logarithm struct {
	space *space
	task  *Task
	x, y  []Vec
	most  float64 // geodesics that are not shorter than this, by the steps of the space, are of no use
	far   bool    // the charts at the ends do not reach the starts

	apart  []float64 // |y − x|
	scale  []float64 // the factors of the residuals
	shrunk []float64 // what is left of |Exp_x(v) − y| in a residual, times its factor: about this share, if not more
	lost   []error   // why a pair has no geodesic

	times       []int    // the multiples of the steps of the space
	last        []flown  // of each pair, the geodesic that was computed last
	found       []result // of the roots
	roots       []*solve.Root
	evaluations int // of residuals and their derivatives

	conjugate []float64 // times of conjugate points, where they were looked for
}

// failed is the error of pair i of n.
func failed(i, n int, err error) error {
	if n > 1 {
		err = fmt.Errorf("pair %d: %w", i, err)
	}
	return fmt.Errorf("Log: %w", err)
}

func newLogarithm(s *space, task *Task, x, y []Vec, most float64) *logarithm {
	n := len(x)
	return &logarithm{space: s, task: task, x: x, y: y, most: most, scale: make([]float64, n), shrunk: make([]float64, n), lost: make([]error, n),
		times: slices.Repeat([]int{1}, n), last: make([]flown, n), found: make([]result, n)}
}

// flown is a geodesic by its velocity.
type flown struct {
	v Vec
	arc
}

// result is what Log returns of a root.
type result struct {
	velocity, momentum       Vec
	length, drift, stepError float64
	miss                     float64 // |Exp_x(v) − y|
	rough                    float64 // the length by the steps of the space
}

// gap returns the residual of the end point of a geodesic from z to y, where at is, as a tangent vector at z: the coordinates of the end
// point in the chart centred at y, as a vector of that chart at z. It is zero if the end point is y, and for end = Exp_z(v) close to
// v − Log_z(y). From far, where that chart does not reach z, they are taken for coordinates of the chart at z.
func gap(m Manifold, z *Node, at Local, end *Node, far bool) *Node {
	if at.chart == nil {
		return Sub(end, at.Z)
	}
	x := at.Coordinates(end)
	if far {
		return At(m, z).Leave(Vector, x)
	}
	there := at.Moved(at.Coordinates(fresh(z)))
	tangent := there.push(x)
	if _, ok := at.chart.(Quotient); ok { // there.Z may be another element of the orbit of z
		here := At(m, z)
		tangent = here.Leave(Vector, here.Through(there.Z).Enter(Vector, tangent))
	}
	return tangent
}

// offset is z − y of points z and y, where at is: of the element of the orbit of z next to y where points are orbits.
func offset(z *Node, at Local) *Node {
	direct := Sub(z, at.Z)
	if _, ok := at.chart.(Quotient); !ok {
		return direct
	}
	// Where the chart does not reach z, and this is not a number, the numbers that stand for points say alone how far these are from each other.
	aligned := Sub(at.Point(at.Coordinates(z)), at.Z)
	return Where(LessThan(euclidean(aligned), euclidean(direct)), aligned, direct)
}

func euclidean(v *Node) *Node { return Sqrt(ReduceSum(Square(v), -1)) }

// shrinking is the share of a short distance from y that its gap has at z, [...], the least along a coordinate of the chart centred at y:
// its derivative is much smaller at z than at y where these are nearly as far apart as the chart reaches.
func shrinking(m Manifold, z *Node, at Local, far bool) *Node {
	unit := basisAt(at.X)
	lengths := func(at Local) *Node { return Sqrt(ReduceSum(Square(at.push(unit)), -1)) } // [d, ...]
	there := at.Moved(at.Coordinates(fresh(z)))
	if far {
		there = At(m, z)
	}
	return ReduceMin(Div(lengths(there), lengths(at)), 0)
}

// stations returns the states (q, p) at the ends of equal parts of the time, [k, B, a] each, of the geodesics from z with momenta p.
func (l *logarithm) stations(z, p *Node) ode.State {
	s := l.space
	k := parts(s.steps)
	_, y := autodiff.Scan(k, func(_ *Node, y, _ []*Node) (next, out []*Node) {
		next = Flow(s.M, Geodesics, s.method, s.steps/k, y, Covector)
		return next, next
	}, ode.State{z, MulScalar(p, 1/float64(k))}, nil)
	return ode.State{y[0], MulScalar(y[1], float64(k))}
}

// momentum is that of an unknown v at points z: v♭ of a velocity; on a SubRiemannian manifold the momentum itself is unknown.
func (l *logarithm) momentum(z, v *Node) *Node {
	if _, ok := l.space.M.(SubRiemannian); ok {
		return v
	}
	return flatAt(l.space.M, z, v)
}

// begin returns the roots at 0.
func (l *logarithm) begin() ([]*solve.Root, error) {
	s := l.space
	out, err := s.Call(operation{name: l.named("Log, start")}, func(in []*Node) []*Node {
		at := At(s.M, in[1])
		start, apart := gap(s.M, in[0], at, in[0], l.far), euclidean(offset(in[0], at))
		if !IsCharted(s.M) {
			return []*Node{start, apart, OnesLike(apart)}
		}
		return []*Node{start, apart, shrinking(s.M, in[0], at, l.far)}
	}, l.x, l.y)
	if err != nil {
		return nil, err
	}
	start, apart, shrunk := out.Matrix(0), out.Vector(1), out.Vector(2)
	roots := make([]*solve.Root, len(l.x))
	l.apart = apart
	for i, f := range start {
		if _, bad := notFinite(append(f, apart[i])); bad && !l.far {
			l.lost[i] = errors.New("the chart at the end point does not reach the starting point, and no curve over other charts was found: " +
				"one is in the cut locus of the other, or no curve leads to it: move one of them, or go by a point between them")
		}
		// The chart shrinks vectors far from its centre: scaled, the first step is as long as the points are apart.
		l.scale[i] = 1
		if norm := floats.Norm(f, 2); norm > 0 && apart[i] > 0 && !l.far {
			l.scale[i] = apart[i] / norm
		}
		floats.Scale(l.scale[i], f)
		l.shrunk[i] = l.scale[i] * shrunk[i]
		still := make(Vec, len(f))
		l.last[i] = flown{still, arc{l.x[i], slices.Repeat([]Vec{l.x[i]}, parts(s.steps)), slices.Repeat([]Vec{still}, parts(s.steps)), 0}}
		roots[i] = solve.NewRoot(l.last[i].v, f, l.shrunk[i]*(1e-10*apart[i]+4*rounding*floats.Norm(l.y[i], 2)))
		if l.lost[i] != nil {
			roots[i].Norm, roots[i].Done, roots[i].Status = math.Inf(1), true, Stalled
		}
	}
	return roots, nil
}

// search returns the roots, started at 0, or at a guess where its residual is smaller; if anew, always at the guess.
func (l *logarithm) search(guess []Vec, anew bool) ([]*solve.Root, error) {
	s := l.space
	if m, ok := s.M.(ClosedForms); ok {
		return l.closed(m)
	}
	roots, err := l.begin()
	if err != nil {
		return nil, err
	}
	l.roots = roots
	eq := l.equations(nil)
	switch {
	case anew:
		err = from(eq, roots, guess)
	case guess != nil:
		err = eq.Improve(roots, guess)
	}
	if err != nil {
		return nil, err
	}
	// Broyden's method begins with the identity, which is no derivative on a SubRiemannian manifold, or where gap takes coordinates of one chart
	// for those of another.
	if _, ok := s.M.(SubRiemannian); !ok && !l.far {
		if err := eq.Broyden(l.task.Context(), roots, 80); err != nil {
			return nil, err
		}
	}
	for i, r := range roots { // where rounding has the last word
		r.Done = r.Done || l.arrived(i, r, 1e-10)
	}
	// Whole Jacobians of more unknowns would take too long.
	if d := s.M.Dim(); fanned < d && d <= 1500 && !l.far {
		err = l.polished(roots)
	} else {
		err = eq.Newton(l.task.Context(), roots, 30)
	}
	if err != nil {
		return nil, err
	}
	if err := l.measure(roots); err != nil {
		return nil, err
	}
	for i := range l.found {
		f := &l.found[i]
		f.rough, f.stepError = f.length, estimated(s.method, f.drift)
	}
	if err := l.double(roots); err != nil {
		return nil, err
	}
	// Exp may end where it should while the steps are too long, or one of them leads over a singularity of the metric.
	for i, r := range roots {
		there := l.found[i].miss <= l.allowed(i, onManifold)
		r.Status = r.Status.Certified(there && s.enough(l.found[i].drift, l.found[i].stepError))
	}
	if err := l.bridge(roots, guess); err != nil {
		return nil, err
	}
	// A guess says which of the geodesics is wanted.
	if guess == nil && s.M.Dim() <= fanned {
		err = l.shorten(roots)
	}
	return roots, err
}

// allowed is how far from y the geodesic of pair i may end: a share of the distance, or as rounding allows.
func (l *logarithm) allowed(i int, tolerance float64) float64 {
	return tolerance*l.apart[i] + 1e-13*floats.Norm(l.y[i], 2)
}

// arrived says whether the geodesic of a root ends at the point where it should, to a share of the distance or to rounding.
func (l *logarithm) arrived(i int, r *solve.Root, tolerance float64) bool {
	return r.Norm <= l.shrunk[i]*l.allowed(i, tolerance)
}

// double gives twice the steps to the geodesics that end elsewhere with them, and searches for their roots anew, from what they were,
// until all have settled.
func (l *logarithm) double(roots []*solve.Root) error {
	var which []int
	for i, r := range roots {
		f := l.found[i]
		if l.space.doubles && l.arrived(i, r, onManifold) && f.drift > calm && f.length < l.most {
			which = append(which, i)
		}
	}
	for times := 2; times <= doubled && len(which) > 0; times *= 2 {
		if l.stopped(pick(roots, which)...) {
			for _, i := range which {
				l.found[i].stepError = math.NaN()
			}
			return nil
		}
		before, was := slices.Clone(l.last), make(map[int]solve.Root)
		for _, i := range which {
			l.times[i], was[i] = times, *roots[i]
		}
		eq := l.equations(which)
		if err := eq.Renew(pick(roots, which)); err != nil {
			return err
		}
		var open []int
		for _, i := range which {
			end := l.last[i].points[len(l.last[i].points)-1]
			if l.found[i].stepError = before[i].elsewhere(end); settled(l.found[i].stepError) {
				l.times[i], l.last[i], *roots[i] = times/2, before[i], was[i]
			} else {
				open = append(open, i)
			}
		}
		if len(open) == 0 {
			return nil
		}
		eq, which = l.equations(open), nil
		if err := eq.Broyden(l.task.Context(), pick(roots, open), 40); err != nil {
			return err
		}
		for _, i := range open {
			roots[i].Done = roots[i].Done || l.arrived(i, roots[i], onManifold)
		}
		d := l.space.M.Dim()
		eq.Whole = fanned < d && d <= 1500
		if err := eq.Newton(l.task.Context(), pick(roots, open), 12); err != nil {
			return err
		}
		if err := l.measure(roots); err != nil {
			return err
		}
		for _, i := range open {
			if f := &l.found[i]; f.drift <= calm {
				f.stepError = estimated(l.space.method, f.drift)
			} else if l.arrived(i, roots[i], onManifold) {
				which = append(which, i)
			}
		}
	}
	return nil
}

// retry searches with four times the steps for the roots that were not found where the steps of the space lead astray: where they change
// the energy by more than MaxDrift, no root of theirs is close to a geodesic. In more than 8 dimensions it would take too long.
func (l *logarithm) retry(roots []*solve.Root, guess []Vec) error {
	const finest = 16 * standard
	var lost []int
	for i, r := range roots {
		if l.space.doubles && l.space.M.Dim() <= fanned && r.Status != Converged && !(l.found[i].drift <= MaxDrift) {
			lost = append(lost, i)
		}
	}
	if len(lost) == 0 || l.space.steps >= finest || l.task.Stopped() {
		return nil
	}
	finer := *l.space
	finer.steps *= 4
	if guess != nil {
		guess = pick(guess, lost)
	}
	other := newLogarithm(&finer, l.task, pick(l.x, lost), pick(l.y, lost), l.most)
	again, err := other.search(guess, false)
	if err == nil {
		err = other.retry(again, guess)
	}
	if err != nil {
		return err
	}
	for k, i := range lost {
		if again[k].Status == Converged {
			again[k].Iterations += roots[i].Iterations
			roots[i], l.found[i], l.times[i] = again[k], other.found[k], 4*other.times[k]
			if l.conjugate != nil {
				l.conjugate[i] = other.conjugate[k]
			}
		}
	}
	return nil
}

// pick returns some of the values.
func pick[T any](x []T, which []int) []T { return each(which, func(i int) T { return x[i] }) }

// stopped reports whether the search shall stop, and if so says Cancelled of roots that it has not done with.
func (l *logarithm) stopped(roots ...*solve.Root) bool {
	if !l.task.Stopped() {
		return false
	}
	for _, r := range roots {
		r.Done, r.Status = true, Cancelled
	}
	return true
}

// from moves the roots to guesses, better or not. Those whose guess leads nowhere are done.
func from(eq solve.System, roots []*solve.Root, guess []Vec) error {
	for _, r := range roots {
		r.Norm = math.Inf(1)
	}
	err := eq.Improve(roots, guess)
	for _, r := range roots {
		if math.IsInf(r.Norm, 1) {
			r.Done, r.Status = true, Stalled
		}
	}
	return err
}

// closed takes the roots from a closed form.
func (l *logarithm) closed(m ClosedForms) ([]*solve.Root, error) {
	out, err := l.space.call("Log, closed form", func(in []*Node) []*Node {
		v := m.Log(in[0], in[1])
		end := m.Exp(in[0], v)
		at, there := At(l.space.M, in[0]), At(l.space.M, in[1])
		way := Sub(in[1], in[0])
		w := at.Enter(Vector, v)
		p := Flat(at.Manifold, at.X, w)
		return []*Node{v, offset(end, there), euclidean(way), at.Leave(Vector, w), at.Leave(Covector, p), Norm(at.Manifold, at.X, w), there.scale(way), there.scale(in[1])}
	}, l.x, l.y)
	if err != nil {
		return nil, err
	}
	apart, velocities, momenta, lengths := out.Vector(2), out.Matrix(3), out.Matrix(4), out.Vector(5)
	off, way, size := out.Matrix(1), out.Matrix(6), out.Matrix(7)
	roots := make([]*solve.Root, len(l.x))
	for i, v := range out.Matrix(0) {
		if _, bad := notFinite(v); math.IsInf(apart[i], 1) {
			l.lost[i] = errors.New("the points are too far apart, or the numbers that stand for them too large, for double precision")
		} else if bad {
			l.lost[i] = errors.New("there is no one shortest geodesic: the end point is in the cut locus of the starting point, " +
				"or no curve leads to it: move one of them")
		}
		roots[i] = &solve.Root{X: v, Done: true}
		tolerance := make(Vec, len(off[i]))
		for k := range tolerance { // no number is off by more than on a manifold without sizes
			tolerance[k] = min(onManifold*way[i][k]+1e-12*size[i][k], onManifold*apart[i]+1e-12*floats.Norm(l.y[i], 2))
		}
		roots[i].Status = roots[i].Status.Certified(l.lost[i] == nil && within(off[i], make(Vec, len(off[i])), tolerance))
		l.found[i] = result{velocity: velocities[i], momentum: momenta[i], length: lengths[i], miss: floats.Norm(off[i], 2)}
	}
	return roots, nil
}

// equations are Exp_x(v) = y for some of the pairs; nil for all.
func (l *logarithm) equations(which []int) solve.System {
	if which == nil {
		for i := range l.x {
			which = append(which, i)
		}
	}
	return solve.System{
		Residual:   func(v [][]float64) ([][]float64, error) { return l.residual(which, v) },
		Derivative: func(v, dv [][]float64) ([][]float64, error) { return l.derivative(which, v, dv) },
		Some: func(some []int) solve.System {
			of := make([]int, len(some))
			for k, i := range some {
				of[k] = which[i]
			}
			return l.equations(of)
		},
	}
}

func (l *logarithm) residual(which []int, v [][]float64) ([][]float64, error) {
	ends, states, shares := make([][]float64, len(which)), make([][]float64, len(which)), make([][]float64, len(which))
	for k, i := range which {
		l.last[i] = flown{v: slices.Clone(v[k]), arc: arc{start: l.x[i]}}
		shares[k] = v[k]
		if l.times[i] > 1 {
			shares[k] = floats.ScaleTo(make(Vec, len(v[k])), 1/float64(l.times[i]), v[k])
		}
	}
	for step := 1; ; step++ {
		var on []int // the numbers in which of the geodesics that go on
		for k, i := range which {
			if step <= l.times[i] {
				on = append(on, k)
			}
		}
		if on == nil {
			l.evaluated()
			return l.gaps(which, ends, nil)
		}
		// The geodesics of these shares of the velocities follow each other.
		var out [][]float64
		var err error
		if step == 1 {
			out, err = l.call("Log", func(in []*Node) *Node { return l.part(in[0], l.momentum(in[0], in[2])) }, pick(which, on), pick(shares, on))
		} else {
			out, err = l.call("Log, next part", func(in []*Node) *Node {
				a := in[0].Shape().Dim(-1)
				return l.part(SliceAxis(in[2], -1, AxisRange(0, a)), SliceAxis(in[2], -1, AxisRange(a)))
			}, pick(which, on), pick(states, on))
		}
		if err != nil {
			return nil, err
		}
		for j, k := range on {
			i := which[k]
			path := engine.Unflatten(out[j], len(v[k]))
			points, momenta := path[:len(path)/2], path[len(path)/2:]
			ends[k] = points[len(points)-1]
			states[k] = slices.Concat(ends[k], momenta[len(momenta)-1])
			l.last[i].points, l.last[i].momenta = append(l.last[i].points, points...), append(l.last[i].momenta, momenta...)
			if step == l.times[i] {
				l.last[i].thin(step)
			}
		}
	}
}

// part returns the stations of a geodesic from z with the momentum p: the points, then the momenta.
func (l *logarithm) part(z, p *Node) *Node {
	q := l.stations(z, p)
	rows := func(x *Node) *Node { return Reshape(Transpose(x, 0, 1), x.Shape().Dim(1), -1) }
	return Concatenate([]*Node{rows(q[0]), rows(q[1])}, -1)
}

// gaps returns the scaled residuals of the ends of geodesics or, with vectors at the ends, their derivatives along these. It is a program of
// its own, so that geodesics are the same programs from near and far.
func (l *logarithm) gaps(which []int, ends, along [][]float64) ([][]float64, error) {
	m := l.space.M
	out := along
	var err error
	switch {
	case IsCharted(m) && along == nil:
		out, err = l.call(l.named("Log, gap"), func(in []*Node) *Node { return gap(m, in[0], At(m, in[1]), in[2], l.far) }, which, ends)
	case IsCharted(m):
		out, err = l.call(l.named("Log, slope of gap"), func(in []*Node) *Node {
			at := At(m, in[1])
			return push(func(end *Node) *Node { return gap(m, in[0], at, end, l.far) }, fresh(in[2]), in[3])
		}, which, ends, along)
	case along == nil:
		out = make([][]float64, len(which))
		for k, i := range which {
			out[k] = floats.SubTo(make(Vec, len(ends[k])), ends[k], l.y[i])
		}
	}
	for k, f := range out {
		floats.Scale(l.scale[which[k]], f)
	}
	return out, err
}

// thin leaves one in so many of the points and momenta, and multiplies the momenta by this number.
func (f *flown) thin(times int) {
	if times == 1 {
		return
	}
	var points, momenta []Vec
	for k := times - 1; k < len(f.points); k += times {
		points = append(points, f.points[k])
		momenta = append(momenta, floats.ScaleTo(make(Vec, len(f.momenta[k])), float64(times), f.momenta[k]))
	}
	f.points, f.momenta = points, momenta
}

// derivative takes the steps of the space, also of geodesics with more: Newton's steps are then not exact, but few.
func (l *logarithm) derivative(which []int, v, dv [][]float64) ([][]float64, error) {
	s := l.space
	defer l.evaluated()
	// The end, and its derivative.
	out, err := l.call("DExp", func(in []*Node) *Node {
		z, v, dv := in[0], in[2], in[3]
		if !IsCharted(s.M) {
			state := ode.State{z, l.momentum(z, v), ZerosLike(z), l.momentum(z, dv)}
			y := ode.Flow(ode.Tangent(Geodesics(s.M)), s.method, s.steps, state)
			return Concatenate([]*Node{y[0], y[2]}, -1)
		}
		y, dy := autodiff.Pushforward(func(v []*Node) []*Node {
			return Flow(s.M, Geodesics, s.method, s.steps, ode.State{z, l.momentum(z, v[0])}, Covector)[:1]
		}, []*Node{v}, []*Node{dv})
		return Concatenate([]*Node{y[0], dy[0]}, -1)
	}, which, v, dv)
	if err != nil {
		return nil, err
	}
	half := func(from int) [][]float64 {
		return each(out, func(row []float64) []float64 { return row[from*len(row)/2 : (from+1)*len(row)/2] })
	}
	return l.gaps(which, half(0), half(1))
}

// named is the name of a program that calls gap.
func (l *logarithm) named(name string) string {
	if l.far {
		return name + " from far"
	}
	return name
}

// call evaluates a graph function of (x, y, rows…) for some of the pairs. In high dimension, where every pair costs, it takes them in blocks of 64 and then of 8, the last one
// padded: these two sizes are compiled. In low dimension, where the loop around costs, it takes all.
func (l *logarithm) call(name string, fn func(in []*Node) *Node, which []int, rows ...[][]float64) ([][]float64, error) {
	size := len(l.x)
	if l.space.M.Dim() >= 32 {
		size = min(size, 8)
	}
	var out [][]float64
	for from := 0; from < len(which); {
		n := size
		if len(which)-from >= 8*n {
			n *= 8
		}
		block := func(of [][]float64, index func(k int) int) [][]float64 {
			v := make([][]float64, n)
			for k := range v {
				v[k] = of[index(min(from+k, len(which)-1))]
			}
			return v
		}
		pair := func(k int) int { return which[k] }
		args := []any{block(l.x, pair), block(l.y, pair)}
		for _, r := range rows {
			args = append(args, block(r, func(k int) int { return k }))
		}
		values, err := l.space.call(name, func(in []*Node) []*Node { return []*Node{fn(in)} }, args...)
		if err != nil {
			return nil, err
		}
		out = append(out, values.Matrix(0)[:min(n, len(which)-from)]...)
		from += n
	}
	return out, nil
}

// measure stores what Log returns of the roots.
func (l *logarithm) measure(roots []*solve.Root) error {
	s := l.space
	var again []int // a root that was found is the last one that was evaluated
	var v []Vec
	for i, r := range roots {
		if !slices.Equal(r.X, l.last[i].v) {
			again, v = append(again, i), append(v, r.X)
		}
	}
	if again != nil {
		if _, err := l.residual(again, v); err != nil {
			return err
		}
	}
	out, err := s.Call(operation{name: "Log, result"}, func(in []*Node) []*Node {
		at := At(s.M, in[0])
		covector := at.Enter(Covector, l.momentum(in[0], in[1]))
		v := Sharp(at.Manifold, at.X, covector)
		square := ReduceSum(Mul(v, covector), -1)
		return []*Node{at.Leave(Vector, v), at.Leave(Covector, covector), Sqrt(square),
			drift(square, squares(s.M, ode.State{Transpose(in[2], 0, 1), Transpose(in[3], 0, 1)})),
			euclidean(offset(Squeeze(SliceAxis(in[2], 1, AxisElem(in[2].Shape().Dim(1)-1)), 1), At(s.M, in[4])))}
	}, l.x, velocities(roots), each(l.last, func(f flown) []Vec { return f.points }), each(l.last, func(f flown) []Vec { return f.momenta }), l.y)
	if err != nil {
		return err
	}
	velocities, momenta, lengths, drifts, misses := out.Matrix(0), out.Matrix(1), out.Vector(2), out.Vector(3), out.Vector(4)
	for i := range l.found {
		f := &l.found[i]
		f.velocity, f.momentum, f.length, f.drift, f.miss = velocities[i], momenta[i], lengths[i], drifts[i], misses[i]
		l.last[i].length = lengths[i]
	}
	return nil
}

func velocities(roots []*solve.Root) [][]float64 {
	return each(roots, func(r *solve.Root) []float64 { return r.X })
}

// polished searches for the roots that are still open from the curves of least energy between the same points: relaxed makes them of
// straight lines, and Newton's method with whole Jacobians takes their ends to the points. It leaves a root where it was if that
// leads to no smaller residual, or to a geodesic that is by a hundredth longer than the curve.
func (l *logarithm) polished(roots []*solve.Root) error {
	s := l.space
	var which []int
	var x, y []Vec
	for i, r := range roots {
		if !r.Done {
			which, x, y = append(which, i), append(x, l.x[i]), append(y, l.y[i])
		}
	}
	if which == nil {
		return nil
	}
	lines, err := s.lines(x, y)
	if err != nil {
		return err
	}
	guess, reach := make([]Vec, len(which)), make([]float64, len(which))
	for k, line := range lines.Array3(2) { // one by one: each takes as many cometrics as it has chords
		v, lengths, err := s.relaxed(l.task.Context(), [][]Vec{line}, 1e-9)
		if err != nil {
			return err
		}
		guess[k], reach[k] = v[0], lengths[0]
	}
	if l.stopped(each(which, func(i int) *solve.Root { return roots[i] })...) {
		return nil
	}
	found := make([]*solve.Root, len(which))
	for k, i := range which {
		found[k] = solve.NewRoot(roots[i].X, roots[i].F, roots[i].Tolerance)
	}
	eq := l.equations(which)
	eq.Whole = true
	if err := from(eq, found, guess); err != nil {
		return err
	}
	if err := eq.Newton(l.task.Context(), found, 12); err != nil {
		return err
	}
	lengths, err := s.lengths(x, velocities(found))
	if err != nil {
		return err
	}
	for k, i := range which {
		r := found[k]
		if r.Status == IterationLimit {
			r.Status = Stalled // as it would with more of them
		}
		r.Iterations += roots[i].Iterations
		if r.Norm < roots[i].Norm && lengths[k] <= 1.01*reach[k] {
			roots[i] = r
		} else {
			roots[i].Done, roots[i].Status = true, max(r.Status, Stalled)
		}
	}
	return nil
}
