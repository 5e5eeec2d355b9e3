package geom

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/autodiff"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
)

// Regulariser is an optional interface of a Cometric that may be close to singular, as the cometric of landmarks is when the
// kernel is much wider than the distances between them: it has the inverse of g* + μ, by which vectors are smoothed.
type Regulariser interface {
	// RegularFlat returns (g*(q) + μ)⁻¹ v for points and vectors [..., d] and μ ≥ 0, [...].
	RegularFlat(q, v, mu *Node) *Node
}

// Log returns the geodesic from x to y. It solves Exp_x(v) = y for v, starting from v = 0, where the derivative of Exp is the
// identity, by Broyden's method, which needs no derivatives. If that fails it goes on by Newton's method; in more than 8 dimensions,
// as for landmarks whose kernel is wider than they are apart, it starts Newton's method from the curve of least energy between the
// points, relaxed from a straight line, and takes the whole derivative of Exp. Such a geodesic is not longer than that curve.
//
// Geodesic.Status is Converged if the residual |γ(1) − y| reached 1e-10 of |y − x| (1e-8 where closed forms are used), or what
// rounding leaves, and if the energy drifts by at most 1 %, the bound of Exp. Rounding leaves about 1e-15 |y|, and up to 1e-13 |y|
// where Broyden's or Newton's method makes it no less: the relative error is more than 1e-10 where points are close together and far
// from the origin. If a search does not converge, the best geodesic found is returned all the same, and the error is nil: see
// Geodesic.Err. It is an error if a point is off the manifold, if the metric is singular at x or y, if a closed form shows that y is in
// the cut locus of x, and if the chart at y does not reach x.
//
// The geodesic is a shortest one if y is not far beyond the injectivity radius. In up to 8 dimensions and without closed forms Log
// searches on if the first search fails, if its geodesic has a conjugate point, beyond which it cannot be a shortest one, or if
// another curve from x to y is shorter, the straight line of a chart; on surfaces also if geodesics drawn from x and from y, in
// directions all around, lead elsewhere, arrive close to the other end and are less than a fifth longer. It then relaxes such lines
// and geodesics to geodesics with these ends, until it finds none that is shorter.
// Geodesic.Conjugate says whether that one has a conjugate point too.
func (s *Space[P]) Log(x, y P) (*Geodesic[P], error) {
	gs, err := s.LogAll([]P{x}, []P{y})
	if err != nil {
		return nil, err
	}
	g, err := s.ShootInexact(x, gs[0].Momentum)
	if err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	g.Length, g.Residual, g.Iterations, g.Status, g.Conjugate = gs[0].Length, gs[0].Residual, gs[0].Iterations, gs[0].Status, gs[0].Conjugate
	return g, nil
}

// LogAll is Log for many pairs (x_i, y_i) at once, in the same compiled calls. The geodesics have no End, Path and Momenta.
func (s *Space[P]) LogAll(x, y []P) ([]*Geodesic[P], error) { return s.LogFrom(x, y, nil) }

// LogFrom is LogAll with a first guess of the velocity for each pair, used where it is better than 0; nil for none. From guesses
// Log does not search in other directions.
func (s *Space[P]) LogFrom(x, y, guess []P) ([]*Geodesic[P], error) {
	if len(x) != len(y) || len(x) == 0 || guess != nil && len(guess) != len(x) {
		return nil, fmt.Errorf("Log: %d starting points, %d end points, %d guesses", len(x), len(y), len(guess))
	}
	if err := s.CheckAll("start", x); err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	if err := s.CheckAll("end", y); err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	if err := s.CheckRegular("start", x...); err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	if err := s.CheckRegular("end", y...); err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	task := s.Begin("Log")
	defer task.End()
	l := &logarithm{space: s.Flat(), task: task, x: s.Vectors(x), y: s.Vectors(y)}
	roots, err := l.search(s.Vectors(guess), false)
	if err != nil {
		return nil, fmt.Errorf("Log: %w", err)
	}
	gs := make([]*Geodesic[P], len(x))
	for i, r := range roots {
		f := l.found[i]
		if k, bad := notFinite(f.momentum); bad {
			return nil, fmt.Errorf("Log: %scoordinate %d of the momentum is %g: the metric is singular at the starting point", l.pair(i), k, f.momentum[k])
		}
		gs[i] = &Geodesic[P]{Start: x[i], Velocity: s.Point(f.velocity), Momentum: s.Point(f.momentum), Length: f.length, Drift: f.drift,
			Residual: l.distance[i] / math.Sqrt(float64(s.M.Dim())), Iterations: r.Iterations, Status: r.Status}
		if l.conjugate != nil {
			gs[i].Conjugate = l.conjugate[i]
		}
	}
	return gs, nil
}

// rounding is the relative distance of consecutive numbers in double precision.
const rounding = 0x1p-52

// logarithm is the search for v with Exp_x(v) = y, for many pairs.
type logarithm struct {
	space *Space[Vec]
	task  *Task
	x, y  []Vec

	scale    []float64 // the factors of the residuals
	shrunk   []float64 // what is left of |Exp_x(v) − y| in a residual, times its factor: about this share, if not more
	distance []float64 // |Exp_x(v) − y| at the end, if not less: see shrinking

	last      []shot    // of each pair, the one that was evaluated last
	found     []result  // of the roots
	conjugate []float64 // times of conjugate points, where they were looked for
}

// pair begins what is said of one pair of several.
func (l *logarithm) pair(i int) string {
	if len(l.x) == 1 {
		return ""
	}
	return fmt.Sprintf("pair %d: ", i)
}

// shot is a velocity with the state (q, p) at the end of its geodesic.
type shot struct{ v, end, momentum Vec }

// result is what Log returns of a root.
type result struct {
	velocity, momentum Vec
	length, drift      float64
}

// gap returns the residual of the end point of a geodesic from z, as a tangent vector at z: the coordinates of the end point in
// the chart centred at y, as a vector of that chart at z. It is zero if the end point is y, and for end = Exp_z(v) close to
// v − Log_z(y). It also returns the distance |end − y|.
func gap(m Manifold, z, y, end *Node) (tangent, distance *Node) {
	length := func(v *Node) *Node { return Sqrt(ReduceSum(Square(v), -1)) }
	if !IsCharted(m) {
		d := Sub(end, y)
		return d, length(d)
	}
	at := At(m, y)
	x := at.Coordinates(end)
	tangent = push(at.Point, at.Coordinates(fresh(z)), x)
	return tangent, length(Sub(at.Point(x), y))
}

// shrinking is the share of a short distance from y that its gap has at z, [...], the least along a coordinate of the chart centred at y:
// its derivative is much smaller at z than at y where these are nearly as far apart as the chart reaches.
func shrinking(m Manifold, z, y *Node) *Node {
	at := At(m, y)
	unit := basisAt(at.X)
	lengths := func(x *Node) *Node { return Sqrt(ReduceSum(Square(push(at.Point, x, unit)), -1)) } // [d, ...]
	return ReduceMin(Div(lengths(at.Coordinates(fresh(z))), lengths(at.X)), 0)
}

// end is the state (q, p) at time 1 of the geodesic from z with the velocity v.
func (l *logarithm) end(z, v *Node) ode.State {
	s := l.space
	return Flow(s.M, Geodesics, s.method, s.steps, ode.State{z, flatAt(s.M, z, v)}, Covector)
}

// search returns the roots, started at 0, or at a guess where its residual is smaller; if anew, always at the guess.
func (l *logarithm) search(guess []Vec, anew bool) ([]*solve.Root, error) {
	s := l.space
	if m, ok := s.M.(ClosedForms); ok {
		return l.closed(m)
	}
	out, err := s.call("Log, start", func(in []*Node) []*Node {
		start, apart := gap(s.M, in[0], in[1], in[0])
		if !IsCharted(s.M) {
			return []*Node{start, apart, OnesLike(apart)}
		}
		return []*Node{start, apart, shrinking(s.M, in[0], in[1])}
	}, l.x, l.y)
	if err != nil {
		return nil, err
	}
	start, apart, shrunk := out.Matrix(0), out.Vector(1), out.Vector(2)
	roots := make([]*solve.Root, len(l.x))
	l.scale, l.shrunk, l.last = make([]float64, len(l.x)), make([]float64, len(l.x)), make([]shot, len(l.x))
	for i, f := range start {
		if _, bad := notFinite(append(f, apart[i])); bad {
			return nil, fmt.Errorf("%sthe chart at the end point does not reach the starting point: one is in the cut locus of the other, "+
				"or farther than a chart goes, or no curve leads to it: move one of them, or go by a point between them", l.pair(i))
		}
		// The chart shrinks vectors far from its centre: scaled, the first step is as long as the points are apart.
		l.scale[i] = 1
		if norm := floats.Norm(f, 2); norm > 0 {
			l.scale[i] = apart[i] / norm
		}
		floats.Scale(l.scale[i], f)
		l.shrunk[i] = l.scale[i] * shrunk[i]
		l.last[i] = shot{make(Vec, len(f)), l.x[i], make(Vec, len(f))}
		roots[i] = solve.NewRoot(l.last[i].v, f, l.shrunk[i]*(1e-10*apart[i]+4*rounding*floats.Norm(l.y[i], 2)))
	}
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
	if err := eq.Broyden(l.task.Context(), roots, 80); err != nil {
		return nil, err
	}
	settle := func() { // where rounding has the last word
		for i, r := range roots {
			ended := !r.Done || r.Status == Stalled || r.Status == IterationLimit
			if ended && r.Norm <= l.shrunk[i]*(1e-10*apart[i]+1e-13*floats.Norm(l.y[i], 2)) {
				r.Done, r.Status = true, Converged
			}
		}
	}
	settle()
	// Whole Jacobians of more unknowns would take too long.
	if d := s.M.Dim(); fanned < d && d <= 1500 {
		err = l.polished(roots)
	} else {
		err = eq.Newton(l.task.Context(), roots, 30)
	}
	if err != nil {
		return nil, err
	}
	settle()
	if err := l.measure(roots); err != nil {
		return nil, err
	}
	// Exp ends where it should, but the steps of the integrator are too long, or one of them leads over a singularity of the metric.
	for i, r := range roots {
		if r.Status == Converged && !(l.found[i].drift <= MaxDrift) {
			r.Status = Stalled
		}
	}
	// A guess says which of the geodesics is wanted.
	if guess == nil && s.M.Dim() <= fanned {
		if err := l.shorten(roots); err != nil {
			return nil, err
		}
	}
	l.distance = make([]float64, len(roots))
	for i, r := range roots {
		l.distance[i] = r.Norm / l.shrunk[i]
	}
	return roots, nil
}

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

// closed takes the roots from a closed form. Where the chart centred at an end does not reach the other, as one of hyperbolic
// space to a distance of 37, the numbers that stand for points say alone how far these are from each other.
func (l *logarithm) closed(m ClosedForms) ([]*solve.Root, error) {
	out, err := l.space.call("Log, closed form", func(in []*Node) []*Node {
		v := m.Log(in[0], in[1])
		end := m.Exp(in[0], v)
		away := func(z *Node) *Node { return Sqrt(ReduceSum(Square(Sub(z, in[1])), -1)) }
		_, distance := gap(l.space.M, in[0], in[1], end)
		direct := away(end)
		distance = Where(IsFinite(distance), Min(distance, direct), direct)
		at := At(l.space.M, in[0])
		return []*Node{v, distance, Norm(at.Manifold, at.X, at.Enter(Vector, v)), away(in[0])}
	}, l.x, l.y)
	if err != nil {
		return nil, err
	}
	apart := out.Vector(3)
	l.distance = out.Vector(1)
	roots := make([]*solve.Root, len(l.x))
	for i, v := range out.Matrix(0) {
		if math.IsInf(apart[i], 1) {
			return nil, fmt.Errorf("%sthe points are too far apart, or the numbers that stand for them too large, for double precision", l.pair(i))
		}
		if _, bad := notFinite(v); bad {
			return nil, fmt.Errorf("%sthere is no one shortest geodesic: the end point is in the cut locus of the starting point, "+
				"or no curve leads to it: move one of them", l.pair(i))
		}
		roots[i] = &solve.Root{X: v, Done: true}
		if !(l.distance[i] <= onManifold*apart[i]+1e-12*floats.Norm(l.y[i], 2)) {
			roots[i].Status = Stalled
		}
	}
	if err := l.measure(roots); err != nil {
		return nil, err
	}
	for i, length := range out.Vector(2) { // that of the product with the momentum is less exact
		l.found[i].length = length
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
	out, err := l.call("Log", func(in []*Node) *Node {
		end := l.end(in[0], in[2])
		f, _ := gap(l.space.M, in[0], in[1], end[0])
		return Concatenate([]*Node{f, end[0], end[1]}, -1)
	}, which, v)
	for k, f := range out {
		a := len(v[k])
		out[k], l.last[which[k]] = f[:a:a], shot{v[k], f[a : 2*a], f[2*a:]}
	}
	return out, err
}

func (l *logarithm) derivative(which []int, v, dv [][]float64) ([][]float64, error) {
	s := l.space
	if IsCharted(s.M) {
		return l.call("DExp", func(in []*Node) *Node {
			_, df := autodiff.Pushforward(func(v []*Node) []*Node {
				f, _ := gap(s.M, in[0], in[1], l.end(in[0], v[0])[0])
				return []*Node{f}
			}, in[2:3], in[3:4])
			return df[0]
		}, which, v, dv)
	}
	return l.call("DExp", func(in []*Node) *Node {
		z, v, dv := in[0], in[2], in[3]
		state := ode.State{z, flatAt(s.M, z, v), ZerosLike(z), flatAt(s.M, z, dv)}
		return ode.Flow(ode.Tangent(Geodesics(s.M)), s.method, s.steps, state)[2]
	}, which, v, dv)
}

// call evaluates a graph function of (x, y, rows…) for some of the pairs, and scales the vectors that it returns, which other numbers
// may follow, as residuals are. In high dimension, where every pair costs, it takes them in blocks of 64 and then of 8, the last one
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
		for k, f := range values.Matrix(0)[:min(n, len(which)-from)] {
			i := which[from+k]
			floats.Scale(l.scale[i], f[:len(l.x[i])])
			out = append(out, f)
		}
		from += n
	}
	return out, nil
}

// measure stores what Log returns of the roots.
func (l *logarithm) measure(roots []*solve.Root) error {
	s := l.space
	args := []any{l.x, velocities(roots)}
	_, closed := s.M.(ClosedForms)
	if !closed {
		var again []int // a root that was found is the last one that was evaluated
		var v []Vec
		for i, r := range roots {
			if &r.X[0] != &l.last[i].v[0] {
				again, v = append(again, i), append(v, r.X)
			}
		}
		if again != nil {
			if _, err := l.residual(again, v); err != nil {
				return err
			}
		}
		args = append(args, each(l.last, func(s shot) Vec { return s.end }), each(l.last, func(s shot) Vec { return s.momentum }))
	}
	out, err := s.call("Log, result", func(in []*Node) []*Node {
		at := At(s.M, in[0])
		p := flatAt(s.M, in[0], in[1])
		covector := at.Enter(Covector, p)
		v := Sharp(at.Manifold, at.X, covector)
		out := []*Node{at.Leave(Vector, v), at.Leave(Covector, covector), Sqrt(ReduceSum(Mul(v, covector), -1))}
		if !closed {
			out = append(out, drift(s.M, ReduceSum(Mul(in[1], p), -1), in[2], in[3]))
		}
		return out
	}, args...)
	if err != nil {
		return err
	}
	l.found = make([]result, len(roots))
	velocities, momenta := out.Matrix(0), out.Matrix(1)
	for i := range l.found {
		l.found[i] = result{velocity: velocities[i], momentum: momenta[i], length: out.Vector(2)[i]}
		if !closed {
			l.found[i].drift = out.Vector(3)[i]
		}
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
