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
)

// Conjugate returns the time of the first point conjugate to the start of each of the geodesics from z with velocities v, and +Inf
// where there is none in (0, 1]: beyond it a geodesic is not the shortest way, not even among curves close by. With a basis e_j
// of the tangent space it is where the determinant of the Jacobi fields
//
//	J_j(t) = ∂/∂ε Exp_z(t (v + ε e_j)),  j = 1, …, d,
//
// changes its sign, to within a step of the integrator: a conjugate point of even multiplicity is not seen. The cost is d flows
// with their derivatives.
func (s *Space) Conjugate(z, v [][]float64) ([]float64, error) {
	if err := s.riemannian("Conjugate"); err != nil {
		return nil, err
	}
	for i := range z {
		if err := s.check(fmt.Sprintf("Conjugate of geodesic %d", i), "point", z[i], "velocity", v[i]); err != nil {
			return nil, err
		}
	}
	out, err := s.Call("Conjugate", func(in []*Node) []*Node {
		z, v, d := in[0], in[1], s.M.Dim()
		at := centredAt(s.M, z)
		basis := func(like *Node) *Node { // e_j as coordinates, [d, B..., d]
			e := linalg.Eye(z.Graph(), z.DType(), d)
			for e.Rank() < like.Rank()+1 {
				e = ExpandAxes(e, 1)
			}
			dims := append([]int{d}, like.Shape().Dimensions...)
			dims[len(dims)-1] = d
			return BroadcastToDims(e, dims...)
		}
		e := at.leave(Vector, basis(z))
		zs := BroadcastPrefix(z, d)
		path, fields := autodiff.Pushforward(func(v []*Node) []*Node {
			field, method := Recentred(s.M, Geodesics, s.method, Covector)
			return ode.Path(field, method, s.steps, ode.State{zs, ambientFlat(s.M, zs, v[0])})[:1]
		}, []*Node{BroadcastPrefix(v, d)}, []*Node{e})
		points := Squeeze(SliceAxis(path[0], 1, AxisRange(0, 1)), 1) // [n + 1, B, a]
		along := centredAt(s.M, points)
		jacobi := along.enter(Vector, Transpose(fields[0], 0, 1)) // [d, n + 1, B, d]
		// Charts in turn may differ in orientation.
		n := s.steps
		turns := basis(SliceAxis(points, 0, AxisRange(0, n)))
		if along.chart != nil {
			before, after := SliceAxis(points, 0, AxisRange(0, n)), centredAt(s.M, SliceAxis(points, 0, AxisRange(1, n+1)))
			turns = push(after.chart.Coordinates, before, centredAt(s.M, before).leave(Vector, turns))
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

// shorten searches on, from other velocities, where a root is none or its geodesic passes a conjugate point. It replaces roots by
// shorter ones and returns the times of their conjugate points.
func (s *Space) shorten(z, y, start [][]float64, apart []float64, roots []*root) ([]float64, error) {
	velocities := func(roots []*root) [][]float64 {
		v := make([][]float64, len(roots))
		for i, r := range roots {
			v[i] = r.x
		}
		return v
	}
	times, err := s.Conjugate(z, velocities(roots))
	if err != nil {
		return nil, err
	}
	for i, r := range roots {
		if r.status == Converged && times[i] > 1 {
			continue
		}
		guess, err := s.starts(z[i], r.x, start[i])
		if err != nil {
			return nil, err
		}
		zs, ys, starts, aparts := make([][]float64, len(guess)), make([][]float64, len(guess)), make([][]float64, len(guess)), make([]float64, len(guess))
		for k := range guess {
			zs[k], ys[k], starts[k], aparts[k] = z[i], y[i], start[i], apart[i]
		}
		found, err := s.searchLog(zs, ys, guess, starts, aparts, true)
		if err != nil {
			return nil, err
		}
		found = append([]*root{r}, found...)
		lengths, err := s.lengths(append(zs, z[i]), velocities(found))
		if err != nil {
			return nil, err
		}
		best := 0
		for k, f := range found {
			if f.status == Converged && (found[best].status != Converged || lengths[k] < lengths[best]*(1-1e-9)) {
				best = k
			}
		}
		if best == 0 {
			continue
		}
		roots[i] = found[best]
		roots[i].iterations += r.iterations
		// As many as before, so that nothing is compiled again.
		again, err := s.Conjugate(z, velocities(roots))
		if err != nil {
			return nil, err
		}
		times[i] = again[i]
	}
	return times, nil
}

// lengths returns ‖v_i‖_g at z_i.
func (s *Space) lengths(z, v [][]float64) ([]float64, error) {
	out, err := s.Call("lengths", func(in []*Node) []*Node {
		at := centredAt(s.M, in[0])
		return []*Node{Norm(at.Manifold, at.x, at.enter(Vector, in[1]))}
	}, z, v)
	if err != nil {
		return nil, err
	}
	return out.Vector(0), nil
}

// starts are the velocities from which other geodesics from z are searched for: those of v turned in planes through it, drawn at
// random but the same every time, and of a length between that of v and that of −away.
func (s *Space) starts(z, v, away []float64) ([][]float64, error) {
	const planes = 5
	random := rand.New(rand.NewPCG(1, uint64(len(v))))
	drawn := make([][]float64, planes)
	for k := range drawn {
		drawn[k] = make([]float64, len(v))
		for j := range v {
			drawn[k][j] = random.NormFloat64()
		}
	}
	_, tangent, err := s.Project(z, drawn...)
	if err != nil {
		return nil, err
	}
	size := floats.Norm(v, 2)
	if size == 0 { // nothing was found
		v, size = floats.ScaleTo(make([]float64, len(away)), -1, away), floats.Norm(away, 2)
	}
	var out [][]float64
	for k, w := range tangent {
		floats.AddScaled(w, -floats.Dot(w, v)/(size*size), v) // orthogonal to v in the ambient space
		angle := math.Pi * float64(k+1) / (planes + 1)
		floats.Scale(size/math.Max(floats.Norm(w, 2), math.SmallestNonzeroFloat64), w)
		for _, sign := range []float64{-1, 1} {
			turned := floats.ScaleTo(make([]float64, len(v)), 0.8*math.Cos(angle), v)
			out = append(out, floats.AddScaledTo(make([]float64, len(v)), turned, 0.8*sign*math.Sin(angle), w))
		}
	}
	return out, nil
}
