package framebundle

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
)

// exactPaths returns the most probable paths that end at observations, with a full frame and without noise. They have P(1) = 0
// and x(1) = y: as many equations as the momentum has components. The search for their root takes no derivatives and converges
// fast where the curvature, times the square of the distance, is moderate; where it does not reach y the Status says so.
func (s *Space) exactPaths(u Point, ys [][]float64) ([]*Geodesic, error) {
	rank, d := len(u.Frame), s.Geometry.M.Dim()
	search := make([]*approach, len(ys))
	for i := range ys {
		search[i] = &approach{step: 1, reached: make([]float64, (rank+1)*len(u.X))}
		search[i].set(min(memory, (rank+1)*d))
	}
	var out engine.Values
	evaluate := func() (err error) {
		unknown := make([][][]float64, rank+1) // [m + 1, N, a]
		parts := make([]float64, len(ys))
		for i, a := range search {
			for k := range unknown {
				unknown[k] = append(unknown[k], a.root.x[k*len(u.X):(k+1)*len(u.X)])
			}
			parts[i] = a.target
		}
		out, err = s.endConditions(u, ys, parts, unknown)
		return err
	}
	stalled := false
	for open := true; open; {
		if err := evaluate(); err != nil {
			return nil, err
		}
		open = false
		residuals, scales := out.Array3(0), out.Vector(1)
		for i, a := range search {
			if !a.done {
				var r []float64
				for k := range residuals {
					r = append(r, residuals[k][i]...)
				}
				a.learn(r, 1e-10*scales[i]+1e-14*floats.Norm(u.X, 2))
			}
			open = open || !a.done
			stalled = stalled || a.status == geom.Stalled
		}
	}
	if stalled { // these went back to their best points
		if err := evaluate(); err != nil {
			return nil, err
		}
	}
	starts := momenta(out.Matrix(2), out.Array3(3))
	energies, mismatches := out.Vector(4), out.Vector(5)
	gs := make([]*Geodesic, len(ys))
	for i, a := range search {
		if _, bad := notFinite([]float64{energies[i], mismatches[i]}); bad {
			return nil, diverged(i)
		}
		g, err := s.Exp(u, starts[i])
		if err != nil {
			return nil, err
		}
		g.Mismatch, g.Residual = mismatches[i], a.root.norm/math.Sqrt(float64(len(a.root.x)))
		g.Iterations, g.Status = a.iterations, a.status
		gs[i] = g
	}
	return gs, nil
}

func diverged(observation int) error {
	return fmt.Errorf("most probable path: that to observation %d diverges: it is too far away, or the frame too small for it", observation)
}

// endConditions evaluates, on the way to the given part of the distance to the observations and for unknowns (z, Z) of
// [m + 1, N, a], the residuals of the end conditions, of the same shape, and what the paths start and end with. With K = ννᵀ the
// momentum is
//
//	h = K⁻¹ z,  P^β = f_β h + K⁻¹ Z^β
//
// and the residuals are E⁻¹ρ for the derivative ρ of |x(1) − y|²/2 and the Euclidean metric E of the ambient vectors, and
// K P^β(1): all lengths, with the Jacobian 1 in flat space.
func (s *Space) endConditions(u Point, ys [][]float64, parts []float64, unknown [][][]float64) (engine.Values, error) {
	return s.call("most probable paths", func(in []*Node) []*Node {
		x, nu, y, part, unknown := in[0], in[1], in[2], ExpandAxes(in[3], -1), in[4]
		n, rank := y.Shape().Dim(0), nu.Shape().Dim(0)
		x, nu = copies(x, nu, n)
		z, rest := SliceAxis(unknown, 0, AxisRange(0, 1)), SliceAxis(unknown, 0, AxisRange(1, rank+1))
		var scale, energies, mismatch *Node
		kinds := []geom.Kind{geom.Vector, geom.Vector, geom.Vector, geom.Covector, geom.Covector}
		state := ode.State{x, nu, z, rest, ZerosLike(x), ZerosLike(rest)}
		out := geom.InChart(s.Geometry.M, kinds, func(m geom.Manifold, in ode.State) ode.State {
			x, nu, z, rest := in[0], in[1], Squeeze(in[2], 0), in[3]
			rows := frameLast(nu)
			k := linalg.MatMul(linalg.T(rows), rows)
			// In coordinates E = 1.
			target, embedded := y, func(x *Node) *Node { return x }
			raise := func(_, covector *Node) *Node { return covector }
			if chart, ok := m.(geom.Chart); ok {
				target, embedded = chart.Coordinates(y), chart.Point
				raise = func(x, covector *Node) *Node { return linalg.Solve(euclidean(chart, x), covector) }
			}
			target = Add(x, Mul(part, Sub(target, x)))
			// One factorisation serves all momenta.
			columns := linalg.T(frameLast(Concatenate([]*Node{ExpandAxes(z, 0), rest}, 0)))
			momenta := frameFirst(linalg.T(linalg.Solve(k, columns)))
			h := Squeeze(SliceAxis(momenta, 0, AxisRange(0, 1)), 0)
			f := velocities(nu, h)
			vertical := Add(SliceAxis(momenta, 0, AxisRange(1, rank+1)), Mul(ExpandAxes(f, -1), ExpandAxes(h, 0)))
			energies = energy(nu, h)

			end := ode.Flow(Geodesics(m), s.method, s.steps, coordinate(m, ode.State{x, nu, h, vertical}))
			end = invariant(m, end)
			reached := embedded(end[0])
			off := Sub(reached, embedded(target))
			mismatch = Sqrt(ReduceSum(Square(off), -1))
			rho := off
			if reached != end[0] {
				rho = autodiff.Pullback([]*Node{reached}, []*Node{off}, []*Node{end[0]})[0]
			}
			second := frameFirst(linalg.T(linalg.MatMul(k, linalg.T(frameLast(end[3])))))
			scale = Sqrt(ReduceSum(Square(Sub(target, x)), -1))
			return ode.State{x, nu, ExpandAxes(raise(target, rho), 0), second, h, vertical}
		}, state)
		return []*Node{Concatenate(out[2:4], 0), scale, out[4], out[5], energies, mismatch}
	}, u.X, u.Frame, ys, parts, unknown)
}

// euclidean returns E = JᵀJ, [..., d, d], for the derivative J of the ambient point.
func euclidean(chart geom.Chart, x *Node) *Node {
	j := autodiff.Jacobian(chart.Point, x)
	return linalg.MatMul(linalg.T(j), j)
}

const (
	patience = 30 // iterations at one target
	shortest = 1. / 64
	memory   = 20
)

// approach walks to an observation: straight away, and where that fails over targets on the way.
type approach struct {
	root       fixedPoint
	reached    []float64 // the unknown at the last target that was reached
	part       float64   // which part of the way that is
	step       float64   // the next step
	target     float64   // the part under way
	count      int       // iterations at this target
	iterations int
	done       bool
	status     geom.Status
}

// set starts the search at the next target.
func (a *approach) set(memory int) {
	a.target = min(1, a.part+a.step)
	x := append([]float64{}, a.reached...)
	if a.part > 0 {
		floats.Scale(a.target/a.part, x)
	}
	a.root, a.count = fixedPoint{x: x, damping: 1, memory: memory}, 0
}

func (a *approach) learn(f []float64, tolerance float64) {
	a.iterations++
	a.count++
	found := a.root.learn(f, tolerance)
	switch {
	case found && a.target == 1:
		a.done = true
	case found:
		a.reached, a.part = a.root.best, a.target
		a.set(a.root.memory)
	case a.count == patience || a.root.damping < shortest:
		if a.part == 1 { // the guess was bad
			floats.Scale(0, a.reached)
			a.part, a.step = 0, 2
		}
		if a.step /= 2; a.step < shortest {
			a.done, a.status = true, geom.Stalled
			a.root.x = a.root.best
			return
		}
		a.set(a.root.memory)
	}
}

// fixedPoint searches for a root of F, whose Jacobian is close to the identity, by Anderson's method: the step −F from the
// combination of the last points for which F, as an affine function, is smallest. Where |F| grows it goes back to the best
// point and takes shorter steps, without memory.
type fixedPoint struct {
	x, f    []float64 // the next point; the value at the best one
	best    []float64
	norm    float64 // |f|
	damping float64
	memory  int
	dx, df  [][]float64 // differences of points and of values
}

// learn takes the value f of F at x. It moves x on, or returns true where f vanishes.
func (p *fixedPoint) learn(f []float64, tolerance float64) bool {
	norm := floats.Norm(f, 2)
	if p.best != nil && !(norm <= 2*p.norm) { // also where it is not a number
		p.damping /= 4
		p.dx, p.df = nil, nil
		p.x = floats.AddScaledTo(make([]float64, len(f)), p.best, -p.damping, p.f)
		return false
	}
	if p.best != nil {
		p.dx = append(p.dx, floats.SubTo(make([]float64, len(f)), p.x, p.best))
		p.df = append(p.df, floats.SubTo(make([]float64, len(f)), f, p.f))
		if len(p.dx) > p.memory {
			p.dx, p.df = p.dx[1:], p.df[1:]
		}
	}
	p.best, p.f, p.norm = p.x, f, norm
	if norm <= tolerance {
		return true
	}
	p.x = floats.AddScaledTo(make([]float64, len(f)), p.x, -p.damping, f)
	for len(p.df) > 0 {
		a := mat.NewDense(len(f), len(p.df), nil)
		for j, d := range p.df {
			a.SetCol(j, d)
		}
		var c mat.VecDense
		var qr mat.QR
		qr.Factorize(a)
		if err := qr.SolveVecTo(&c, false, mat.NewVecDense(len(f), f)); err != nil { // dependent differences
			p.dx, p.df = p.dx[1:], p.df[1:]
			continue
		}
		for j := range p.df {
			floats.AddScaled(p.x, -c.AtVec(j), p.dx[j])
			floats.AddScaled(p.x, p.damping*c.AtVec(j), p.df[j])
		}
		break
	}
	return false
}
