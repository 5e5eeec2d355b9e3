package geom

import (
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/autodiff"
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
// integrator; so it misses conjugate points of even multiplicity. It costs as much as d geodesics with their derivatives.
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
	return s.conjugate(s.Vectors(z), s.Vectors(v))
}

func (s *Space[P]) conjugate(z, v []Vec) ([]float64, error) {
	out, err := s.call("Conjugate", func(in []*Node) []*Node {
		z, v, d, n := in[0], in[1], s.M.Dim(), s.steps
		basis := func(like *Node) *Node { // e_j as coordinates, [d, B..., d]
			e := linalg.Eye(z.Graph(), z.DType(), d)
			for e.Rank() < like.Rank()+1 {
				e = ExpandAxes(e, 1)
			}
			dims := append([]int{d}, like.Shape().Dimensions...)
			dims[len(dims)-1] = d
			return BroadcastToDims(e, dims...)
		}
		e := At(s.M, z).Leave(Vector, basis(z))
		zs := BroadcastPrefix(z, d)
		path, fields := autodiff.Pushforward(func(v []*Node) []*Node {
			return Path(s.M, Geodesics, s.method, n, ode.State{zs, flatAt(s.M, zs, v[0])}, Covector)[:1]
		}, []*Node{BroadcastPrefix(v, d)}, []*Node{e})
		points := Squeeze(SliceAxis(path[0], 1, AxisRange(0, 1)), 1) // [n + 1, B, a]
		jacobi := At(s.M, points).Enter(Vector, Transpose(fields[0], 0, 1))
		// Consecutive charts may differ in orientation.
		before, after := At(s.M, SliceAxis(points, 0, AxisRange(0, n))), At(s.M, SliceAxis(points, 0, AxisRange(1, n+1)))
		unit := basis(before.Z)
		turns := unit
		if IsAtlas(s.M) {
			turns = push(after.Coordinates, before.Z, before.Leave(Vector, unit))
		}
		return []*Node{TransposeAllDims(jacobi, 2, 1, 0, 3), TransposeAllDims(turns, 2, 1, 0, 3)} // [B, n + 1, d, d]
	}, z, v)
	if err != nil {
		return nil, err
	}
	d := s.M.Dim()
	determinants := func(flat []float64) (out []float64) {
		for ; len(flat) > 0; flat = flat[d*d:] {
			out = append(out, mat.Det(mat.NewDense(d, d, flat[:d*d])))
		}
		return out
	}
	fields, turns := determinants(out.Flat(0)), determinants(out.Flat(1))
	first := make([]float64, len(z))
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
	return first, nil
}

// shorten searches again, from other velocities, where no root was found or its geodesic has a conjugate point. It replaces roots
// by shorter ones and stores the times of their conjugate points.
func (l *logarithm) shorten(roots []*solve.Root) error {
	velocities := func(roots []*solve.Root) [][]float64 {
		return each(roots, func(r *solve.Root) []float64 { return r.X })
	}
	s := l.space
	times, err := s.conjugate(l.x, velocities(roots))
	if err != nil {
		return err
	}
	for i, r := range roots {
		if l.task.Stopped() {
			break
		}
		if r.Status == Converged && times[i] > 1 {
			continue
		}
		guess, err := l.starts(l.x[i], l.y[i], r.X)
		if err != nil {
			return err
		}
		all := func(z Vec) []Vec { return each(guess, func(Vec) Vec { return z }) }
		other := &logarithm{space: s, task: l.task, x: all(l.x[i]), y: all(l.y[i]), mu: make([]float64, len(guess))}
		found, err := other.search(guess, true)
		if err != nil {
			return err
		}
		found = append([]*solve.Root{r}, found...)
		lengths, err := s.lengths(append(all(l.x[i]), l.x[i]), velocities(found))
		if err != nil {
			return err
		}
		best := 0
		for k, f := range found {
			if f.Status == Converged && (found[best].Status != Converged || lengths[k] < lengths[best]*(1-1e-9)) {
				best = k
			}
		}
		if best == 0 {
			continue
		}
		found[best].Iterations += r.Iterations
		found[best].Norm *= l.scale[i] / other.scale[best-1]
		roots[i] = found[best]
		// As many as before, so that nothing is compiled again.
		again, err := s.conjugate(l.x, velocities(roots))
		if err != nil {
			return err
		}
		times[i] = again[i]
	}
	l.conjugate = times
	return nil
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

// starts returns velocities from which to search for other geodesics from z to y: the velocity v of one, rotated in planes that
// contain it. The planes are random, with a fixed seed.
func (l *logarithm) starts(z, y, v Vec) ([]Vec, error) {
	const planes = 5
	random := rand.New(rand.NewPCG(1, uint64(len(v))))
	drawn := make([]Vec, planes)
	for k := range drawn {
		drawn[k] = make(Vec, len(v))
		for j := range v {
			drawn[k][j] = random.NormFloat64()
		}
	}
	if floats.Norm(v, 2) == 0 { // nothing was found
		drawn = append(drawn, floats.SubTo(make(Vec, len(z)), y, z))
	}
	_, tangent, err := l.space.project(z, drawn)
	if err != nil {
		return nil, err
	}
	if len(tangent) > planes {
		v, tangent = tangent[planes], tangent[:planes]
	}
	size := floats.Norm(v, 2)
	var out []Vec
	for k, w := range tangent {
		floats.AddScaled(w, -floats.Dot(w, v)/math.Max(size*size, math.SmallestNonzeroFloat64), v) // orthogonal to v in the ambient space
		angle := math.Pi * float64(k+1) / (planes + 1)
		floats.Scale(size/math.Max(floats.Norm(w, 2), math.SmallestNonzeroFloat64), w)
		for _, sign := range []float64{-1, 1} {
			turned := floats.ScaleTo(make(Vec, len(v)), 0.8*math.Cos(angle), v)
			out = append(out, floats.AddScaledTo(make(Vec, len(v)), turned, 0.8*sign*math.Sin(angle), w))
		}
	}
	return out, nil
}
