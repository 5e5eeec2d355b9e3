package geom

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/internal/shortest"
	"anatomy/geom/ode"
	"anatomy/internal/lists"
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
	times, err := s.conjugateTimes(given(z), given(v))
	return times, about("Conjugate", err)
}

func (s *space) conjugateTimes(z, v []any) ([]float64, error) {
	if len(z) != len(v) || len(z) == 0 {
		return nil, fmt.Errorf("%d points, %d velocities", len(z), len(v))
	}
	for i := range z {
		if err := s.check(fmt.Sprintf("point %d", i), z[i], v[i]); err != nil {
			return nil, err
		}
	}
	points, velocities := lists.Each(z, numbers), lists.Each(v, numbers)
	if err := s.checkRegular("point", points...); err != nil {
		return nil, err
	}
	if factors := s.factors(); factors != nil {
		times := slices.Repeat([]float64{math.Inf(1)}, len(z))
		for f, part := range factors {
			found, err := part.conjugateTimes(given(s.cut(f, points...)), given(s.cut(f, velocities...)))
			if err != nil {
				return nil, err
			}
			for i := range times {
				times[i] = min(times[i], found[i])
			}
		}
		return times, nil
	}
	found, err := s.conjugate(points, velocities, 1)
	if err != nil {
		return nil, err
	}
	times := make([]float64, len(z))
	for i, c := range found {
		if c.drift > MaxDrift {
			return nil, fmt.Errorf("geodesic %d: %w", i, s.tooFewSteps(s.steps, shortest.Estimated(s.method.Order, c.drift)))
		}
		if times[i] = c.time; math.IsNaN(c.time) {
			return nil, fmt.Errorf("geodesic %d, or one close by, is too fast for the steps, leaves the chart or meets a singular metric: it diverges, or "+
				"twice the steps move its conjugate point; use more steps (geom.Integrator) or a shorter vector", i)
		}
	}
	return times, nil
}

// conjugated is a geodesic with its first conjugate point.
type conjugated struct {
	time  float64 // in (0, 1], +Inf for none, NaN where it is not known
	path  []Vec   // the points after each step, from the start on
	drift float64 // of the energy
}

// conjugate begins with a multiple of the steps of the space, and doubles it until the times have settled. Where they do not, the drift is more
// than Exp accepts, or a geodesic diverges also with twice the steps, the time is NaN.
func (s *space) conjugate(z, v []Vec, times int) ([]conjugated, error) {
	const (
		settled = 1e-2 // of a time is how far twice the steps may move it
		few     = 8    // geodesics at a time have more steps
	)
	found, err := s.conjugateIn(z, v, times)
	if err != nil {
		return nil, err
	}
	open, most := lists.Range(len(z)), 2*times
	if s.doubles {
		most = max(most, shortest.Doubled)
	}
	// All at first, for whose number programs are compiled; then few.
	for size := len(z); len(open) > 0; size = min(size, few) {
		times *= 2
		var left []int
		for some := range slices.Chunk(open, size) {
			padded := append(slices.Clone(some), slices.Repeat(some[:1], size-len(some))...)
			finer, err := s.conjugateIn(lists.Pick(z, padded), lists.Pick(v, padded), times)
			if err != nil {
				return nil, err
			}
			for k, i := range some {
				before, now, drift := min(found[i].time, 1), min(finer[k].time, 1), found[i].drift
				diverges := math.IsNaN(before) && math.IsNaN(now) && !(finer[k].drift < math.Inf(1))
				found[i] = finer[k]
				switch {
				case math.Abs(now-before) <= settled*now || diverges:
				case times < most:
					left = append(left, i)
				default:
					found[i].time = math.NaN()
				}
				if !s.doubles {
					found[i].drift = drift
				}
			}
		}
		open = left
	}
	return found, nil
}

// conjugateIn is conjugate with exactly a multiple of the steps of the space. Geodesics by shares of the velocity follow each other, so that programs
// are compiled for the steps of the space only.
func (s *space) conjugateIn(z, v []Vec, times int) ([]conjugated, error) {
	d, n, share := s.M.Dim(), s.steps, 1/float64(times)
	state := []any{alike(s, z), alike(s, v)}
	m, closed := s.M.(ClosedForms)
	if !closed {
		out, err := s.Call(operation{name: "Conjugate, start"}, func(in []*Node) []*Node { return s.closeBy(in[0], in[1], in[2]) }, append(state, share)...)
		if err != nil {
			return nil, err
		}
		state = []any{out[0], out[1], out[2], out[3]}
	}
	found, fields, changes := make([]conjugated, len(z)), make([][]*mat.Dense, len(z)), make([][]*mat.Dense, len(z))
	for part := range times {
		if closed {
			state = append(state[:2:2], lists.Make(n+1, func(k int) float64 { return share * (float64(part) + float64(k)/float64(n)) }))
		}
		out, err := s.call("Conjugate", func(in []*Node) []*Node {
			if closed {
				return s.jacobiFields(exactFields(m, At(s.M, in[0]), in[1], in[2]))
			}
			return s.jacobiFields(s.fieldsByDifferences(in[0], in[1], in[2], in[3]))
		}, state...)
		if err != nil {
			return nil, err
		}
		if !closed {
			state[0], state[1] = out[4], out[5]
		}
		known := min(part, 1) // a part starts where the one before ends
		jacobi, moves, paths, drifts := matrices(out.Flat(0), d), matrices(out.Flat(1), d), out.Array3(2), out.Vector(3)
		for i := range found {
			fields[i] = append(fields[i], jacobi[i*(n+1)+known:(i+1)*(n+1)]...)
			changes[i] = append(changes[i], moves[i*n:(i+1)*n]...)
			found[i] = conjugated{math.NaN(), append(found[i].path, paths[i][known:]...), max(found[i].drift, drifts[i])}
		}
	}
	for i := range found {
		switch c := &found[i]; {
		case !(c.drift <= MaxDrift):
		case floats.Norm(v[i], 2) == 0:
			c.time = math.Inf(1)
		default:
			c.time = vanishing(fields[i], changes[i])
		}
	}
	return found, nil
}

// matrices are d × d matrices, one after the other.
func matrices(flat []float64, d int) (out []*mat.Dense) {
	for one := range slices.Chunk(flat, d*d) {
		out = append(out, mat.NewDense(d, d, one))
	}
	return out
}

// jacobiFields returns the fields J_j in the charts at the points after each step, [B, n + 1, d, d], the changes of these charts, [B, n, d, d], the
// points, [B, n + 1, a], and the rest, of points, [n + 1, B, a], and the fields there, [n + 1, d, B, a].
func (s *space) jacobiFields(points, fields *Node, rest []*Node) []*Node {
	n := s.steps
	jacobi := At(s.M, points).Enter(Vector, Transpose(fields, 0, 1))
	before, after := At(s.M, SliceAxis(points, 0, AxisRange(0, n))), At(s.M, SliceAxis(points, 0, AxisRange(1, n+1)))
	unit := basisAt(before.X)
	changes := unit
	if IsCharted(s.M) {
		changes = push(after.Coordinates, before.Z, before.Leave(Vector, unit))
	}
	return append([]*Node{TransposeAllDims(jacobi, 2, 1, 0, 3), TransposeAllDims(changes, 2, 1, 0, 3), TransposeAllDims(points, 1, 0, 2)}, rest...)
}

// exactFields are points and fields by closed forms at the times t, and no drift.
func exactFields(m ClosedForms, start Local, v, t *Node) (points, fields *Node, drift []*Node) {
	z, e := start.Z, start.Leave(Vector, basisAt(start.X))
	from := func(v *Node) *Node { return m.Exp(BroadcastToShape(ExpandLeftToRank(z, v.Rank()), v.Shape()), v) }
	tv := atTimes(t, v)
	return from(tv), Transpose(push(from, Identity(tv), Transpose(atTimes(t, e), 0, 1)), 0, 1), []*Node{ZerosLike(ReduceSum(v, -1))}
}

// closeBy returns the states of 2d + 1 geodesics from z, [2d + 1, B, a], the first of which has a share of the velocity v and the others are close
// by, with their differences, [d, B, 1], and the squared speed, [B].
func (s *space) closeBy(z, v, share *Node) []*Node {
	const small = 1e-5 // of the length of the geodesic is a difference, in any unit of its coordinate
	d, start := s.M.Dim(), At(s.M, z)
	basis := basisAt(start.X)
	e := start.Leave(Vector, basis)
	speed := Norm(start.Manifold, start.X, start.Enter(Vector, v))
	size := Div(MulScalar(BroadcastPrefix(speed, d), small), Norm(start.Manifold, BroadcastPrefix(start.X, d), basis)) // [d, B]
	size = ExpandAxes(Where(IsZero(size), OnesLike(size), size), -1)
	step := Mul(e, BroadcastToShape(size, e.Shape()))
	vs := BroadcastPrefix(v, d)
	vs = Concatenate([]*Node{ExpandAxes(v, 0), Add(vs, step), Sub(vs, step)}, 0)
	zs := BroadcastPrefix(z, 2*d+1)
	ps := Mul(share, flatAt(s.M, zs, vs))
	return []*Node{zs, ps, size, Mul(share, ReduceSum(Mul(v, entry(ps, 0)), -1))}
}

// fieldsByDifferences integrates the states of closeBy on. Differences are good to 1e-10, and 2d + 1 geodesics are compiled several times faster than
// derivatives. The rest is the drift of the energies, [B], and the states at the end.
func (s *space) fieldsByDifferences(zs, ps, size, square *Node) (points, fields *Node, rest []*Node) {
	d, n := s.M.Dim(), s.steps
	path := Path(s.M, Geodesics, s.method, n, ode.State{zs, ps}, Covector) // [n + 1, 2d + 1, B, a]
	along := func(x *Node, from, to int) *Node { return SliceAxis(x, 1, AxisRange(from, to)) }
	itself := ode.State{Squeeze(along(path[0], 0, 1), 1), Squeeze(along(path[1], 0, 1), 1)} // without the geodesics close by
	fields = Div(Sub(along(path[0], 1, d+1), along(path[0], d+1, 2*d+1)), MulScalar(ExpandLeftToRank(size, path[0].Rank()), 2))
	return itself[0], fields, []*Node{drift(square, squares(s.M, stations(itself))), entry(path[0], n), entry(path[1], n)}
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
		if _, bad := lists.NotFinite(slices.Concat(before.RawMatrix().Data, fields[k+1].RawMatrix().Data)); bad {
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
