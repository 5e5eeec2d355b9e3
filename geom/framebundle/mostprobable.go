package framebundle

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/solve"
)

// exactPaths returns the most probable paths that end at observations, with a full frame and without noise. They have P(1) = 0
// and x(1) = y: as many equations as the momentum has components. The search for their root takes no derivatives and converges
// fast where the curvature, times the square of the distance, is moderate; where it does not reach y the Status says so.
func (s *Space[P]) exactPaths(task *geom.Task, u Point[geom.Vec], ys [][]float64) ([]*Geodesic[geom.Vec], error) {
	rank, a := len(u.Frame), len(u.X)
	search := make([]*approach, len(ys))
	for i := range ys {
		search[i] = &approach{step: 1, reached: make([]float64, (rank+1)*a)}
		search[i].set()
	}
	var out engine.Values
	evaluate := func() (err error) {
		unknown := make([][][]float64, rank+1) // [m + 1, N, a]
		parts := make([]float64, len(ys))
		for i, search := range search {
			for k := range unknown {
				unknown[k] = append(unknown[k], search.root.X[k*a:(k+1)*a])
			}
			parts[i] = search.target
		}
		out, err = s.endConditions(u, ys, parts, unknown)
		return err
	}
	stalled := false
	for open := true; open; {
		if err := evaluate(); err != nil {
			return nil, err
		}
		if task.Stopped() {
			for _, a := range search {
				if !a.done {
					a.done, a.status = true, geom.Cancelled
				}
			}
			break
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
	gs := make([]*Geodesic[geom.Vec], len(ys))
	for i, a := range search {
		if _, bad := notFinite([]float64{energies[i], mismatches[i]}); bad {
			return nil, diverged(i)
		}
		g, err := (&Space[geom.Vec]{s.Base.Flat()}).Exp(u, starts[i])
		if err != nil {
			return nil, err
		}
		g.Mismatch, g.Residual = mismatches[i], a.root.Norm/math.Sqrt(float64(len(a.root.X)))
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
func (s *Space[P]) endConditions(u Point[geom.Vec], ys [][]float64, parts []float64, unknown [][][]float64) (engine.Values, error) {
	return s.call("most probable paths", func(in []*Node) []*Node {
		x, nu, y, part, unknown := in[0], in[1], in[2], ExpandAxes(in[3], -1), in[4]
		n, rank := y.Shape().Dim(0), nu.Shape().Dim(0)
		x, nu = copies(x, nu, n)
		z, rest := SliceAxis(unknown, 0, AxisRange(0, 1)), SliceAxis(unknown, 0, AxisRange(1, rank+1))
		var scale, energies, mismatch *Node
		kinds := []geom.Kind{geom.Vector, geom.Vector, geom.Vector, geom.Covector, geom.Covector}
		state := ode.State{x, nu, z, rest, ZerosLike(x), ZerosLike(rest)}
		out := geom.InChart(s.Base.M, kinds, func(at geom.Local, in ode.State) ode.State {
			m, x, nu, z, rest := at.Manifold, in[0], in[1], Squeeze(in[2], 0), in[3]
			rows := frameLast(nu)
			k := linalg.MatMul(linalg.T(rows), rows)
			target := at.Coordinates(y)
			target = Add(x, Mul(part, Sub(target, x)))
			// One factorisation serves all momenta.
			columns := linalg.T(frameLast(Concatenate([]*Node{ExpandAxes(z, 0), rest}, 0)))
			momenta := frameFirst(linalg.T(linalg.Solve(k, columns)))
			h := Squeeze(SliceAxis(momenta, 0, AxisRange(0, 1)), 0)
			f := velocities(nu, h)
			vertical := Add(SliceAxis(momenta, 0, AxisRange(1, rank+1)), Mul(ExpandAxes(f, -1), ExpandAxes(h, 0)))
			energies = energy(nu, h)

			end := ode.Flow(Geodesics(m), s.Base.Method(), s.Base.Steps(), coordinate(m, ode.State{x, nu, h, vertical}))
			end = invariant(m, end)
			reached := at.Point(end[0])
			off := Sub(reached, at.Point(target))
			mismatch = Sqrt(ReduceSum(Square(off), -1))
			rho := off
			if reached != end[0] {
				rho = autodiff.Pullback([]*Node{reached}, []*Node{off}, []*Node{end[0]})[0]
			}
			first := linalg.Solve(at.Euclidean(target), rho)
			second := frameFirst(linalg.T(linalg.MatMul(k, linalg.T(frameLast(end[3])))))
			scale = Sqrt(ReduceSum(Square(Sub(target, x)), -1))
			return ode.State{x, nu, ExpandAxes(first, 0), second, h, vertical}
		}, state)
		return []*Node{Concatenate(out[2:4], 0), scale, out[4], out[5], energies, mismatch}
	}, u.X, u.Frame, ys, parts, unknown)
}

const (
	patience = 30 // iterations at one target
	shortest = 1. / 64
	memory   = 20
)

// approach walks to an observation: straight away, and where that fails over targets on the way.
type approach struct {
	root       *solve.FixedPoint
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
func (a *approach) set() {
	a.target = min(1, a.part+a.step)
	x := append([]float64{}, a.reached...)
	if a.part > 0 {
		floats.Scale(a.target/a.part, x)
	}
	a.root, a.count = solve.NewFixedPoint(x, memory), 0
}

func (a *approach) learn(f []float64, tolerance float64) {
	a.iterations++
	a.count++
	found := a.root.Learn(f, tolerance)
	switch {
	case found && a.target == 1:
		a.done = true
	case found:
		a.reached, a.part = a.root.Best, a.target
		a.set()
	case a.count == patience || a.root.Damping < shortest:
		if a.part == 1 { // the guess was bad
			floats.Scale(0, a.reached)
			a.part, a.step = 0, 2
		}
		if a.step /= 2; a.step < shortest {
			a.done, a.status = true, geom.Stalled
			a.root.X = a.root.Best
			return
		}
		a.set()
	}
}
