package geom

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
	"anatomy/geom/try"
)

// Conjugate returns, for each geodesic from z_i with velocity v_i, the time in (0, 1] of its first point conjugate to z_i, and +Inf
// if there is none. Beyond this time a geodesic is not shortest, not even among curves close by. Let e_j be a basis of the tangent
// space; at a conjugate point some combination of the Jacobi fields
//
//	J_j(t) = ∂/∂ε Exp_z(t (v + ε e_j)) at ε = 0,  j = 1, …, d,
//
// is zero. The matrices A_k of these fields after k steps of the integrator, in the charts there, and the derivatives ψ_k of the changes from one of
// these charts to the next make X_k = ψ_k⁻¹ A_{k+1} A_k⁻¹, which takes the fields over a step. It is close to the identity for short steps, and as
// many of its eigenvalues are negative as there are conjugate points in the step, counted with multiplicity. Conjugate interpolates within the first
// step that has one. It costs as much as 2d + 1 geodesics, by closed forms or with the Steps of the space, 25 without an
// Integrator, and with twice as many: the times with both must agree to 1 %. Without an Integrator the steps are doubled, up to 1600,
// until they do. On a Product the first of the factors' times is taken.
//
// It is an error if a geodesic, or one close by, diverges, if its Drift is more than MaxDrift, or if more steps still move the time: then give
// an Integrator with more steps.
func (s *Space[P]) Conjugate(z, v []P) ([]float64, error) {
	return s.conjugateTimes(given(z), given(v))
}

func (s *space) conjugateTimes(z, v []any) (_ []float64, err error) {
	defer try.Named(&err, "Conjugate")
	if len(z) != len(v) || len(z) == 0 {
		return nil, fmt.Errorf("%d points, %d velocities", len(z), len(v))
	}
	for i := range z {
		try.Do(s.check(fmt.Sprintf("point %d", i), z[i], v[i]))
	}
	points, velocities := each(z, numbers), each(v, numbers)
	try.Do(s.checkRegular("point", points...))
	times := slices.Repeat([]float64{math.Inf(1)}, len(z))
	for f, part := range s.factors() {
		some := s.cut(f, points...)
		found := try.Get(part.conjugateTimes(given(some), given(s.cut(f, velocities...))))
		for i := range times {
			times[i] = min(times[i], found[i])
		}
	}
	if s.factors() != nil {
		return times, nil
	}
	times, _, drift := s.conjugate(points, velocities, 1)
	for i, t := range times {
		if drift[i] > MaxDrift {
			return nil, fmt.Errorf("geodesic %d: %w", i, s.tooFewSteps(s.steps, estimated(s.method, drift[i])))
		}
		if math.IsNaN(t) {
			return nil, fmt.Errorf("geodesic %d, or one close by, is too fast for the steps, leaves the chart or meets a singular metric: it diverges, or "+
				"twice the steps move its conjugate point; use more steps (geom.Integrator) or a shorter vector", i)
		}
	}
	return times, nil
}

// conjugate also returns the points of the geodesics after each step, [B, steps + 1], and the drift of their energies. It begins with a multiple
// of the steps of the space, and doubles it until the times have settled. Where they do not, the drift is more than Exp accepts, or a geodesic
// diverges also with twice the steps, the time is NaN.
func (s *space) conjugate(z, v []Vec, times int) (first []float64, paths [][]Vec, off []float64) {
	const close = 1e-2 // are times that have settled
	in := func(times int, z, v []Vec) ([]float64, [][]Vec, []float64) {
		return s.with([]Option{Integrator(s.method, times*s.steps)}).conjugateIn(z, v)
	}
	first, paths, off = in(times, z, v)
	open, most := make([]int, len(z)), 2*times
	for i := range open {
		open[i] = i
	}
	if s.doubles {
		most = max(most, doubled)
	}
	// All at first, for whose number programs are compiled; then few.
	for size := len(z); len(open) > 0; size = min(size, 8) {
		times *= 2
		var left []int
		for some := range slices.Chunk(open, size) {
			padded := append(slices.Clone(some), slices.Repeat(some[:1], size-len(some))...)
			finer, points, drift := in(times, pick(z, padded), pick(v, padded))
			for k, i := range some {
				before, now := min(first[i], 1), min(finer[k], 1)
				diverges := math.IsNaN(before) && math.IsNaN(now) && !(drift[k] < math.Inf(1))
				first[i], paths[i] = finer[k], points[k]
				switch {
				case math.Abs(now-before) <= close*now || diverges:
				case times < most:
					left = append(left, i)
				default:
					first[i] = math.NaN()
				}
				if s.doubles {
					off[i] = drift[k]
				}
			}
		}
		open = left
	}
	return first, paths, off
}

// conjugateIn is conjugate with exactly the steps of the space.
func (s *space) conjugateIn(z, v []Vec) (first []float64, paths [][]Vec, off []float64) {
	out := try.Get(s.call("Conjugate", func(in []*Node) []*Node {
		z, v, d, n := in[0], in[1], s.M.Dim(), s.steps
		start := At(s.M, z)
		basis := basisAt(start.X)
		e := start.Leave(Vector, basis)
		var points, fields, off *Node // [n + 1, B, a], [n + 1, d, B, a], [B]
		if m, ok := s.M.(ClosedForms); ok {
			tv := times(n, v)
			from := func(v *Node) *Node { return m.Exp(BroadcastToShape(ExpandLeftToRank(z, v.Rank()), v.Shape()), v) }
			points, off = from(tv), ZerosLike(ReduceSum(v, -1))
			fields = Transpose(push(from, Identity(tv), Transpose(times(n, e), 0, 1)), 0, 1)
		} else {
			speed := Norm(start.Manifold, start.X, start.Enter(Vector, v))
			// By differences, to 1e-10: in 2d + 1 geodesics, of which a program is compiled several times faster than of derivatives. Each is
			// 1e-5 as long as the geodesic, in any unit of its coordinate.
			size := Div(MulScalar(BroadcastPrefix(speed, d), 1e-5), Norm(start.Manifold, BroadcastPrefix(start.X, d), basis)) // [d, B]
			size = ExpandAxes(Where(IsZero(size), OnesLike(size), size), -1)
			step := Mul(e, BroadcastToShape(size, e.Shape()))
			vs := BroadcastPrefix(v, d)
			vs = Concatenate([]*Node{ExpandAxes(v, 0), Add(vs, step), Sub(vs, step)}, 0)
			zs := BroadcastPrefix(z, 2*d+1)
			ps := flatAt(s.M, zs, vs)
			path := Path(s.M, Geodesics, s.method, n, ode.State{zs, ps}, Covector) // [n + 1, 2d + 1, B, a]
			along := func(x *Node, from, to int) *Node { return SliceAxis(x, 1, AxisRange(from, to)) }
			itself := ode.State{Squeeze(along(path[0], 0, 1), 1), Squeeze(along(path[1], 0, 1), 1)} // without the geodesics close by
			p := Squeeze(SliceAxis(ps, 0, AxisElem(0)), 0)
			points, off = itself[0], drift(ReduceSum(Mul(v, p), -1), squares(s.M, stations(itself)))
			fields = Div(Sub(along(path[0], 1, d+1), along(path[0], d+1, 2*d+1)), MulScalar(ExpandLeftToRank(size, path[0].Rank()), 2))
		}
		jacobi := At(s.M, points).Enter(Vector, Transpose(fields, 0, 1))
		before, after := At(s.M, SliceAxis(points, 0, AxisRange(0, n))), At(s.M, SliceAxis(points, 0, AxisRange(1, n+1)))
		unit := basisAt(before.X)
		changes := unit
		if IsCharted(s.M) {
			changes = push(after.Coordinates, before.Z, before.Leave(Vector, unit))
		}
		return []*Node{TransposeAllDims(jacobi, 2, 1, 0, 3), TransposeAllDims(changes, 2, 1, 0, 3), // [B, n + 1, d, d]
			TransposeAllDims(points, 1, 0, 2), off}
	}, z, v))
	d := s.M.Dim()
	matrices := func(flat []float64) (out []*mat.Dense) { // a row for each vector
		for ; len(flat) > 0; flat = flat[d*d:] {
			out = append(out, mat.NewDense(d, d, flat[:d*d]))
		}
		return out
	}
	fields, changes := matrices(out.Flat(0)), matrices(out.Flat(1))
	first, off = make([]float64, len(z)), out.Vector(3)
	for i := range first {
		switch {
		case !(off[i] <= MaxDrift):
			first[i] = math.NaN()
		case floats.Norm(v[i], 2) == 0:
			first[i] = math.Inf(1)
		default:
			first[i] = vanishing(fields[i*(s.steps+1):(i+1)*(s.steps+1)], changes[i*s.steps:(i+1)*s.steps])
		}
	}
	return first, out.Array3(2), off
}

// vanishing returns the time in (0, 1] at which a combination of the fields is zero for the first time, +Inf for none and NaN where
// they are not finite. The fields are zero at first; changes are those of the charts.
func vanishing(fields, changes []*mat.Dense) float64 {
	const late = 1e-6 // of a step: what vanishes so soon after its end may be seen neither in it nor in the next one
	n := len(changes)
	for k, change := range changes {
		before := new(mat.Dense)
		if k > 0 {
			before.Mul(fields[k], change)
		} else { // t e_j after a step, for these are zero
			before.Scale(1/float64(n), change)
		}
		if _, bad := notFinite(slices.Concat(before.RawMatrix().Data, fields[k+1].RawMatrix().Data)); bad {
			return math.NaN()
		}
		var lu mat.LU
		var over mat.Dense // X_k, transposed and in another basis
		var eigen mat.Eigen
		lu.Factorize(before)
		if math.IsInf(lu.Cond(), 1) {
			return math.NaN()
		}
		lu.SolveTo(&over, false, fields[k+1]) // its error warns of the condition only
		if above(&over, late) {               // as in most steps: eigenvalues take longer than all else here
			continue
		}
		if !eigen.Factorize(&over, mat.EigenNone) {
			return math.NaN()
		}
		part := math.Inf(1)
		for _, value := range eigen.Values(nil) {
			if share := real(value); share <= late {
				part = min(part, 1/(1-share), 1)
			}
		}
		if part <= 1 {
			return (float64(k) + part) / float64(n)
		}
	}
	return math.Inf(1)
}

// above reports that the real parts of all eigenvalues of a matrix are more than a limit by Gershgorin's circles; they may also be
// where these do not show it.
func above(a *mat.Dense, limit float64) bool {
	n, _ := a.Dims()
	for i := range n {
		if row := a.RawRowView(i); !(2*row[i]-floats.Norm(row, 1) > limit) {
			return false
		}
	}
	return true
}

// fanned is the largest dimension in which Log asks whether a geodesic is a shortest one: a number of geodesics drawn from a point
// covers the directions of few dimensions only, and conjugate points cost as many flows as there are dimensions.
const fanned = 8

const (
	relaxing = 8    // curves at most are relaxed at a time
	distinct = 0.15 // of its length lie between a curve and another that runs elsewhere
)

// bridge searches where the chart at y does not reach x: from guesses, or along curves of the fan over the charts on the way.
func (l *logarithm) bridge(roots []*solve.Root, guess []Vec) (err error) {
	defer try.Catch(&err)
	s := l.space
	var which []int
	for i := range roots {
		if l.lost[i] != nil {
			which = append(which, i)
		}
	}
	if len(which) == 0 || l.far {
		return nil
	}
	if guess != nil {
		none := slices.Repeat([]Vec{slices.Repeat(Vec{math.NaN()}, len(l.x[0]))}, len(l.x))
		for _, i := range which {
			none[i] = guess[i]
		}
		other := newLogarithm(s, l.task, l.x, l.y, l.most) // of all: programs are compiled for their number
		other.far = true
		for i, r := range try.Get(other.search(none, true)) {
			if l.lost[i] != nil && r.Status == Converged {
				roots[i], l.found[i], l.times[i] = r, other.found[i], other.times[i]
			}
		}
	}
	for _, i := range which {
		// From the distance in the ambient space on, in the largest unit that the metric has of it.
		const most = 64
		length := 1.05 * l.apart[i] * try.Get(s.unit(l.x[i]))
		for times := 1.0; times <= most && roots[i].Status != Converged && !l.stopped(roots[i]); times *= 2 {
			curves := elsewhere(s.fan(l.x[i], l.y[i], times*length), nil)
			if len(curves) == 0 {
				continue
			}
			if better, _ := l.shorter(i, curves, math.Inf(1)); better != nil {
				roots[i] = better
			}
		}
	}
	return nil
}

// unit is the largest length that a coordinate of the chart at z has of a vector of the ambient length 1.
func (s *space) unit(z Vec) (float64, error) {
	out, err := s.Call(operation{name: "unit"}, func(in []*Node) []*Node {
		at := At(s.M, in[0])
		e := basisAt(at.X)
		ambient := Sqrt(ReduceSum(Square(at.Leave(Vector, e)), -1))
		return []*Node{ReduceAllMax(Div(Norm(at.Manifold, BroadcastPrefix(at.X, s.M.Dim()), e), ambient))}
	}, z)
	if err != nil {
		return 0, err
	}
	return out.Scalar(0), nil
}

// shorten replaces roots by shorter ones and stores the times of their conjugate points. It searches where no root was found, where
// its geodesic has a conjugate point, where a straight line with the same ends is shorter, and where on a surface a curve of the fan
// runs elsewhere and is hardly longer. If it is stopped, roots that are not known to be shortest are Cancelled.
func (l *logarithm) shorten(roots []*solve.Root) (err error) {
	defer try.Catch(&err)
	s := l.space
	if l.stopped(roots...) {
		return nil
	}
	times, paths := l.conjugates(roots)
	lines := try.Get(s.lines(l.x, l.y))
	changed := false
	for i, r := range roots {
		if l.stopped(r) {
			continue
		}
		direct := []curve{{lines.Array3(2)[i], lines.Vector(0)[i], 0}, {lines.Array3(3)[i], lines.Vector(1)[i], 0}}
		length, reach := math.Inf(1), math.Inf(1)
		for _, c := range direct {
			if c.length < reach { // NaN where a chart does not hold the other end
				reach = c.length
			}
		}
		if r.Status == Converged {
			length = l.found[i].length
		}
		// The lengths of curves have errors of a thousandth.
		minimal := times[i] > 1 && length <= reach*(1+1e-3)
		var known []curve
		if minimal {
			known = []curve{{resampled(paths[i], len(paths[i])-1), length, 0}}
		}
		if minimal && s.M.Dim() > 2 && l.lost[i] == nil {
			continue // a fan of few geodesics leaves gaps there
		}
		for reach = min(reach, length); !math.IsInf(reach, 1); reach = length {
			fan := s.fan(l.x[i], l.y[i], 1.05*reach)
			if minimal && !slices.ContainsFunc(elsewhere(fan, known), func(c curve) bool { return c.length < 1.2*length && c.hop < 0.25*length }) {
				break
			}
			others := elsewhere(slices.Concat(direct, fan), known)
			if len(others) == 0 { // no chart holds the other end
				break
			}
			better, now := l.shorter(i, others, length)
			if better != nil {
				better.Iterations += roots[i].Iterations
				roots[i], length, changed = better, now, true
			}
			if l.stopped(roots[i]) || better == nil {
				break
			}
		}
	}
	if changed {
		times, _ = l.conjugates(roots)
	}
	l.conjugate = times
	return nil
}

// conjugates returns the times of the conjugate points of the geodesics, with the points after each of their steps.
func (l *logarithm) conjugates(roots []*solve.Root) (times []float64, paths [][]Vec) {
	times, paths, _ = l.space.conjugate(l.x, velocities(roots), slices.Max(l.times))
	return times, paths
}

// curve is [segments + 1] points, its length and that of its last step alone, which is exact where it is short.
type curve struct {
	points      []Vec
	length, hop float64
}

// resampled takes segments + 1 of the first last + 1 points of a path.
func resampled(path []Vec, last int) []Vec {
	out := make([]Vec, segments+1)
	for j := range out {
		out[j] = path[j*last/segments]
	}
	return out
}

// elsewhere returns the shortest of the curves, at most relaxing of them, none of which runs along another or a known one.
func elsewhere(curves, known []curve) []curve {
	curves = slices.DeleteFunc(slices.Clone(curves), func(c curve) bool { return !(c.length < math.Inf(1)) })
	slices.SortFunc(curves, func(a, b curve) int { return cmp.Compare(a.length, b.length) })
	var out []curve
	for _, c := range curves {
		long := 0.0
		for j := range segments {
			long += floats.Distance(c.points[j], c.points[j+1], 2)
		}
		near := func(k curve) bool {
			for j := range c.points {
				if floats.Distance(c.points[j], k.points[j], 2) > distinct*long {
					return false
				}
			}
			return true
		}
		if !slices.ContainsFunc(known, near) && !slices.ContainsFunc(out, near) {
			out = append(out, c)
		}
		if len(out) == relaxing {
			break
		}
	}
	return out
}

// shorter returns a geodesic of pair i below a length, +Inf for any, with its own, or nil if it finds none. It relaxes curves, at most
// relaxing, to geodesics with the same ends, and shooting makes these exact.
func (l *logarithm) shorter(i int, curves []curve, length float64) (best *solve.Root, shortest float64) {
	s := l.space
	for len(curves) < relaxing { // one shape for all programs
		curves = append(curves, curves[0])
	}
	guess, _, err := s.relaxed(l.task.Context(), each(curves, func(c curve) []Vec { return c.points }), 1e-6)
	if err != nil || l.task.Stopped() {
		try.Do(err)
		return nil, 0
	}
	repeat := func(z Vec) []Vec { return slices.Repeat([]Vec{z}, len(guess)) }
	most := length
	if !math.IsInf(length, 1) {
		most = l.found[i].rough * (1 - 1e-9) // else it is the same geodesic
	}
	other := newLogarithm(s, l.task, repeat(l.x[i]), repeat(l.y[i]), most)
	other.far = l.lost[i] != nil
	found := try.Get(other.search(guess, true))
	shortest = length * (1 - 1e-9)
	for k, f := range found {
		if f.Status == Converged && other.found[k].rough < most && other.found[k].length < shortest {
			best, shortest, l.found[i], l.times[i] = f, other.found[k].length, other.found[k], other.times[k]
		}
	}
	return best, shortest
}

// fan returns curves from x to y: geodesics of one length from x and from y, in directions all around, up to where they come closest to
// the other end, each with a last step to it.
func (s *space) fan(x, y Vec, length float64) []curve {
	const rays = 48 // from either end
	repeat := func(z Vec) []Vec { return slices.Repeat([]Vec{z}, rays) }
	from, to := append(repeat(x), repeat(y)...), append(repeat(y), repeat(x)...)
	around := slices.Repeat(directions(rays, s.M.Dim()), 2)
	out := try.Get(s.call("fan", func(in []*Node) []*Node {
		at := At(s.M, in[0])
		v := in[2]
		if s.M.Dim() <= 2 { // in more dimensions 48 directions are far apart, and the matrix of the cometric takes long to compile
			v = linalg.MatVec(Orthonormal(at.Manifold, at.X), v)
		}
		v = at.Leave(Vector, Mul(v, ExpandAxes(Div(in[3], Norm(at.Manifold, at.X, v)), -1)))
		path := Path(s.M, Geodesics, s.method, s.steps, ode.State{at.Z, flatAt(s.M, at.Z, v)}, Covector)[0]
		here := At(s.M, path)
		chord := Sub(here.Coordinates(BroadcastPrefix(in[1], s.steps+1)), here.X)
		hop := Norm(here.Manifold, Add(here.X, MulScalar(chord, 0.5)), chord) // NaN where a gap of the chart lies between, too
		return []*Node{TransposeAllDims(path, 1, 0, 2), TransposeAllDims(hop, 1, 0)}
	}, from, to, around, slices.Repeat([]float64{length}, 2*rays)))
	fan := make([]curve, 2*rays)
	for k := range fan {
		last := 0
		fan[k].length, fan[k].hop = math.Inf(1), math.Inf(1)
		for t, hop := range out.Matrix(1)[k] {
			if hop < fan[k].hop { // NaN where the chart does not hold the other end
				last, fan[k].hop, fan[k].length = t, hop, hop+length*float64(t)/float64(s.steps)
			}
		}
		path := resampled(out.Array3(0)[k], last)
		path[segments] = to[k]
		if k >= rays {
			slices.Reverse(path)
		}
		fan[k].points = path
	}
	return fan
}

// directions returns n unit vectors of R^d all around: each is, of many random ones, the farthest from those before it.
func directions(n, d int) []Vec {
	const tried = 50
	random := rand.New(rand.NewPCG(1, uint64(d)))
	var out []Vec
	for range n {
		var best Vec
		widest := math.Inf(-1)
		for range tried {
			v := make(Vec, d)
			for j := range v {
				v[j] = random.NormFloat64()
			}
			floats.Scale(1/floats.Norm(v, 2), v)
			apart := math.Inf(1)
			for _, o := range out {
				apart = min(apart, floats.Distance(o, v, 2))
			}
			if apart > widest || best == nil {
				best, widest = v, apart
			}
		}
		out = append(out, best)
	}
	return out
}

// lines returns the lengths of two curves from x to y and their points, [segments + 1] each: the straight lines in the charts at x
// and at y. Where there is one chart, both are the same.
func (s *space) lines(x, y []Vec) (engine.Values, error) {
	return s.Call(operation{name: "lines"}, func(in []*Node) []*Node {
		line := func(x, y *Node) (length, points *Node) {
			at := At(s.M, x)
			path := Add(BroadcastPrefix(at.X, segments+1), times(segments, Sub(at.Coordinates(y), at.X)))
			return CurveLength(at.Manifold, path), TransposeAllDims(at.Point(path), 1, 0, 2)
		}
		there, forwards := line(in[0], in[1])
		back, backwards := line(in[1], in[0])
		return []*Node{there, back, forwards, Reverse(backwards, 1)}
	}, x, y)
}

// lengths returns ‖v_i‖_g at z_i.
func (s *space) lengths(z, v []Vec) ([]float64, error) {
	out, err := s.Call(operation{name: "lengths"}, func(in []*Node) []*Node {
		at := At(s.M, in[0])
		return []*Node{Norm(at.Manifold, at.X, at.Enter(Vector, in[1]))}
	}, z, v)
	if err != nil {
		return nil, err
	}
	return out.Vector(0), nil
}
