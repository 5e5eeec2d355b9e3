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
)

// Conjugate returns, for each geodesic from z_i with velocity v_i, the time in (0, 1] of its first point conjugate to z_i, and +Inf
// if there is none. Beyond this time a geodesic is not shortest, not even among curves close by. Let e_j be a basis of the tangent
// space; at a conjugate point the determinant of the Jacobi fields
//
//	J_j(t) = ∂/∂ε Exp_z(t (v + ε e_j)) at ε = 0,  j = 1, …, d,
//
// is zero. Conjugate returns the first time at which the determinant changes its sign, interpolated within a step of the
// integrator; so it misses conjugate points of even multiplicity. It costs as much as 2d + 1 geodesics.
func (s *Space[P]) Conjugate(z, v []P) ([]float64, error) {
	const what = "Conjugate"
	if len(z) != len(v) {
		return nil, fmt.Errorf("%s: %d points, %d velocities", what, len(z), len(v))
	}
	for i := range z {
		if err := s.Check(fmt.Sprintf("point %d", i), z[i], v[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := s.CheckRegular("point", z...); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	times, _, err := s.conjugate(s.Vectors(z), s.Vectors(v))
	return times, err
}

// conjugate also returns the points of the geodesics after each step, [B, steps + 1].
func (s *Space[P]) conjugate(z, v []Vec) (first []float64, paths [][]Vec, err error) {
	out, err := s.call("Conjugate", func(in []*Node) []*Node {
		z, v, d, n := in[0], in[1], s.M.Dim(), s.steps
		start := At(s.M, z)
		e := start.Leave(Vector, basisAt(start.X))
		// By differences, to 1e-10: in 2d + 1 geodesics, of which a program is compiled several times faster than of derivatives.
		size := MulScalar(ReduceAndKeep(Abs(v), ReduceMax, -1), 1e-5)
		size = Where(IsZero(size), OnesLike(size), size)
		step := Mul(e, BroadcastToDims(ExpandAxes(size, 0), e.Shape().Dimensions...))
		vs := BroadcastPrefix(v, d)
		vs = Concatenate([]*Node{ExpandAxes(v, 0), Add(vs, step), Sub(vs, step)}, 0)
		zs := BroadcastPrefix(z, 2*d+1)
		path := Path(s.M, Geodesics, s.method, n, ode.State{zs, flatAt(s.M, zs, vs)}, Covector)[0] // [n + 1, 2d + 1, B, a]
		along := func(from, to int) *Node { return SliceAxis(path, 1, AxisRange(from, to)) }
		points := Squeeze(along(0, 1), 1) // [n + 1, B, a]
		fields := Div(Sub(along(1, d+1), along(d+1, 2*d+1)), MulScalar(ExpandLeftToRank(size, path.Rank()), 2))
		jacobi := At(s.M, points).Enter(Vector, Transpose(fields, 0, 1))
		// Consecutive charts may differ in orientation.
		before, after := At(s.M, SliceAxis(points, 0, AxisRange(0, n))), At(s.M, SliceAxis(points, 0, AxisRange(1, n+1)))
		unit := basisAt(before.X)
		turns := unit
		if IsAtlas(s.M) {
			turns = push(after.Coordinates, before.Z, before.Leave(Vector, unit))
		}
		return []*Node{TransposeAllDims(jacobi, 2, 1, 0, 3), TransposeAllDims(turns, 2, 1, 0, 3), // [B, n + 1, d, d]
			TransposeAllDims(points, 1, 0, 2)}
	}, z, v)
	if err != nil {
		return nil, nil, err
	}
	d := s.M.Dim()
	determinants := func(flat []float64) (out []float64) {
		for ; len(flat) > 0; flat = flat[d*d:] {
			out = append(out, mat.Det(mat.NewDense(d, d, flat[:d*d])))
		}
		return out
	}
	fields, turns := determinants(out.Flat(0)), determinants(out.Flat(1))
	first = make([]float64, len(z))
	for i := range first {
		first[i] = math.Inf(1)
		sign, before := 1.0, 0.0
		for k := 1; k <= s.steps; k++ {
			sign = math.Copysign(sign, sign*turns[i*s.steps+k-1])
			now := sign * fields[i*(s.steps+1)+k]
			if k == 1 && now < 0 { // the chart at the first point
				sign, now = -sign, -now
			}
			if now <= 0 {
				first[i] = (float64(k) - now/(now-before)) / float64(s.steps)
				break
			}
			before = now
		}
	}
	return first, out.Array3(2), nil
}

// fanned is the largest dimension in which Log asks whether a geodesic is a shortest one: a number of geodesics drawn from a point
// covers the directions of few dimensions only, and conjugate points cost as many flows as there are dimensions.
const fanned = 8

const (
	relaxing = 8    // curves at most are relaxed at a time
	distinct = 0.25 // of its length lie between a curve and another that runs elsewhere
)

// shorten replaces roots by shorter ones and stores the times of their conjugate points. It searches where no root was found, where
// its geodesic has a conjugate point, where a straight line with the same ends is shorter, and where on a surface a curve of the fan
// runs elsewhere and is hardly longer. If it is stopped, roots that are not known to be shortest are Cancelled.
func (l *logarithm) shorten(roots []*solve.Root) error {
	s := l.space
	if l.stopped(roots...) {
		return nil
	}
	times, paths, err := s.conjugate(l.x, velocities(roots))
	if err != nil {
		return err
	}
	lines, err := s.lines(l.x, l.y)
	if err != nil {
		return err
	}
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
			known = []curve{{resampled(paths[i], s.steps), length, 0}}
		}
		if minimal && s.M.Dim() > 2 {
			continue // a fan of few geodesics leaves gaps there
		}
		for reach = min(reach, length); !math.IsInf(reach, 1); reach = length {
			fan, err := s.fan(l.x[i], l.y[i], 1.05*reach)
			if err != nil {
				return err
			}
			if minimal && !slices.ContainsFunc(elsewhere(fan, known), func(c curve) bool { return c.length < 1.2*length && c.hop < 0.25*length }) {
				break
			}
			others := elsewhere(slices.Concat(direct, fan), known)
			if len(others) == 0 { // no chart holds the other end
				break
			}
			better, now, err := l.shorter(i, others, length)
			if err != nil {
				return err
			}
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
		if times, _, err = s.conjugate(l.x, velocities(roots)); err != nil {
			return err
		}
	}
	l.conjugate = times
	return nil
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
	curves = slices.DeleteFunc(curves, func(c curve) bool { return !(c.length < math.Inf(1)) })
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

// shorter returns a geodesic of pair i below a length, +Inf for any, with its own, or nil if it finds none. It relaxes curves, at most relaxing, to
// geodesics with the same ends, and shooting makes these exact.
func (l *logarithm) shorter(i int, curves []curve, length float64) (best *solve.Root, shortest float64, err error) {
	s := l.space
	for len(curves) < relaxing { // one shape for all programs
		curves = append(curves, curves[0])
	}
	guess, _, err := s.relaxed(l.task.Context(), each(curves, func(c curve) []Vec { return c.points }), 1e-6)
	if err != nil || l.task.Stopped() {
		return nil, 0, err
	}
	repeat := func(z Vec) []Vec { return slices.Repeat([]Vec{z}, len(guess)) }
	other := &logarithm{space: s, task: l.task, x: repeat(l.x[i]), y: repeat(l.y[i])}
	found, err := other.search(guess, true)
	if err != nil {
		return nil, 0, err
	}
	shortest = length * (1 - 1e-9)
	for k, f := range found {
		if f.Status == Converged && other.found[k].length < shortest {
			best, shortest, l.found[i] = f, other.found[k].length, other.found[k]
			best.Norm *= l.scale[i] / other.scale[k]
		}
	}
	return best, shortest, nil
}

// fan returns curves from x to y: geodesics of one length from x and from y, in directions all around, up to where they come closest to
// the other end, each with a last step to it.
func (s *Space[P]) fan(x, y Vec, length float64) ([]curve, error) {
	rays := 24 // from either end
	if s.M.Dim() > 2 {
		rays = 48
	}
	repeat := func(z Vec) []Vec { return slices.Repeat([]Vec{z}, rays) }
	from, to := append(repeat(x), repeat(y)...), append(repeat(y), repeat(x)...)
	around := slices.Repeat(directions(rays, s.M.Dim()), 2)
	out, err := s.call("fan", func(in []*Node) []*Node {
		at := At(s.M, in[0])
		v := in[2]
		if s.M.Dim() <= 2 { // in more dimensions 48 directions are far apart, and the matrix of the cometric takes long to compile
			v = linalg.MatVec(Orthonormal(at.Manifold, at.X), v)
		}
		v = at.Leave(Vector, Mul(v, ExpandAxes(Div(in[3], Norm(at.Manifold, at.X, v)), -1)))
		path := Path(s.M, Geodesics, s.method, s.steps, ode.State{at.Z, flatAt(s.M, at.Z, v)}, Covector)[0]
		here := At(s.M, path)
		hop := Norm(here.Manifold, here.X, Sub(here.Coordinates(BroadcastPrefix(in[1], s.steps+1)), here.X))
		return []*Node{TransposeAllDims(path, 1, 0, 2), TransposeAllDims(hop, 1, 0)}
	}, from, to, around, slices.Repeat([]float64{length}, 2*rays))
	if err != nil {
		return nil, err
	}
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
	return fan, nil
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
func (s *Space[P]) lines(x, y []Vec) (engine.Values, error) {
	return s.call("lines", func(in []*Node) []*Node {
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
func (s *Space[P]) lengths(z, v []Vec) ([]float64, error) {
	out, err := s.call("lengths", func(in []*Node) []*Node {
		at := At(s.M, in[0])
		return []*Node{Norm(at.Manifold, at.X, at.Enter(Vector, in[1]))}
	}, z, v)
	if err != nil {
		return nil, err
	}
	return out.Vector(0), nil
}
