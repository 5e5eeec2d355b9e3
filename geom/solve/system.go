package solve

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/internal/lists"
)

// System is B independent systems of equations F_b(x_b) = 0, b = 0, …, B − 1, that are evaluated together.
type System struct {
	// Residual returns F_b(x_b) for every system, NaN where F_b is not defined.
	Residual func(x [][]float64) ([][]float64, error)
	// Derivative returns F_b'(x_b)·dx_b for every system. Only Newton needs it.
	Derivative func(x, dx [][]float64) ([][]float64, error)
	// Precondition returns M_b f_b for every system, with a matrix M_b close to the inverse of F_b'; nil stands for M_b = 1.
	Precondition func(f [][]float64) ([][]float64, error)
	// Whole makes Newton evaluate the whole Jacobians, as many derivatives as there are unknowns, and solve for its steps exactly,
	// where they are so ill-conditioned that the steps of GMRES lead nowhere. It needs Some, and has no use for Precondition.
	Whole bool
	// Some is the same for some of the systems. If it is nil, all B are evaluated in every call, also those whose root is found.
	Some func(which []int) System
}

// Root is the state of the search for a root of one system. If you change X, or the equations, call System.Renew.
type Root struct {
	X, F       []float64 // the best point so far and its residual F_b(X)
	Norm       float64   // |F|
	Tolerance  float64   // X is a root if Norm is at most this
	Iterations int       // evaluations in Broyden plus steps of Newton
	Done       bool      // the search has ended
	Status     Status    // how it ended, if Done

	expected bool // F is that of Expect

	inverse Inverse   // of the Jacobian, as Broyden's method has learned it
	step    []float64 // the next step is alpha·step
	alpha   float64
	stuck   bool // Broyden's method makes no progress
}

// Err returns nil if the search is Done and has converged, and otherwise an error.
func (r *Root) Err() error {
	what := fmt.Sprintf("root to %.2g after %d iterations", NotNil(r).Norm, r.Iterations)
	if !r.Done {
		return errors.New(what + ": the search has not ended")
	}
	return r.Status.Err(what)
}

// NewRoot starts a search at x, where the residual is f. It is Done if |f| is at most the tolerance.
func NewRoot(x, f []float64, tolerance float64) *Root {
	r := &Root{X: x, F: f, Norm: floats.Norm(f, 2), Tolerance: tolerance}
	r.test()
	return r
}

// test says whether the search has ended at the best point.
func (r *Root) test() {
	if r.Done, r.Status = r.Norm <= r.Tolerance, unknown; r.Done {
		r.Status = Converged
	}
}

// some are those roots for which a condition holds, and the system of these; or all, where the system cannot be divided.
func (s System) some(roots []*Root, condition func(b int) bool) (which []int, system System) {
	for b := range roots {
		if s.Some == nil || condition(b) {
			which = append(which, b)
		}
	}
	if len(which) == len(roots) {
		return which, s
	}
	return which, s.Some(which)
}

// moved is some, with the points of these roots: after a step where the condition holds, and else as they are.
func (s System) moved(roots []*Root, condition func(b int) bool,
	step func(b int) (alpha float64, d []float64)) (which []int, system System, x [][]float64) {
	which, system = s.some(roots, condition)
	return which, system, lists.Each(which, func(b int) []float64 {
		if !condition(b) {
			return roots[b].X
		}
		alpha, d := step(b)
		return floats.AddScaledTo(make([]float64, len(d)), roots[b].X, alpha, d)
	})
}

// open reports whether any root is still searched for.
func open(roots []*Root) bool {
	return slices.ContainsFunc(roots, func(r *Root) bool { return !r.Done })
}

// cancel ends all searches if the context has ended, and reports whether it has.
func cancel(ctx context.Context, roots []*Root) bool {
	if ctx.Err() == nil {
		return false
	}
	for _, r := range roots {
		if !r.Done {
			r.Done, r.Status = true, Cancelled
		}
	}
	return true
}

// Improve evaluates a guess for each root, and moves the root there if the norm of the residual is smaller.
func (s System) Improve(roots []*Root, guess [][]float64) error {
	f, err := s.Residual(guess)
	if err != nil {
		return err
	}
	for b, r := range roots {
		if norm := floats.Norm(f[b], 2); norm < r.Norm {
			r.X, r.F, r.Norm, r.step = guess[b], f[b], norm, nil
			r.test()
		}
	}
	return nil
}

// Expect says that the equations have changed so that the residual at X is about f, which nothing has evaluated. A search that had ended is
// open again unless the tolerance is met. What Broyden has learned of the Jacobian is kept; it takes its next step even if the residual is larger there.
func (r *Root) Expect(f []float64) {
	NotNil(r).stuck, r.step, r.expected = false, nil, true
	r.F, r.Norm = f, floats.Norm(f, 2)
	r.test()
}

// Renew evaluates the residuals at the current points again, after X was moved or the equations have changed a little: see Root.Expect.
func (s System) Renew(roots []*Root) error {
	x := lists.Each(roots, func(r *Root) []float64 { return r.X })
	f, err := s.Residual(x)
	if err != nil {
		return err
	}
	for b, r := range roots {
		r.Expect(f[b])
		r.expected = false
	}
	return nil
}

func (s System) precondition(f [][]float64) ([][]float64, error) {
	if s.Precondition == nil {
		return f, nil
	}
	return s.Precondition(f)
}

// memory is how many steps Broyden's method learns from before it starts again from M_b.
const memory = 120

// Broyden searches for the roots by Broyden's "good" method, started with the approximations M_b⁻¹ of the Jacobians (C. G. Broyden,
// Math. Comp. 19, 1965). A step that does not reduce |F_b| is shortened. Convergence is superlinear. Roots that are not found
// within maxIterations evaluations, or for which no step makes progress, are left with Done false. Another call continues with
// what was learned; where no step made progress it starts again from M_b.
func (s System) Broyden(ctx context.Context, roots []*Root, maxIterations int) error {
	values := make([][]float64, len(roots)) // M_b F_b at the best points
	for b, r := range roots {
		values[b] = r.F
		if r.stuck || len(r.inverse.u) > memory {
			r.inverse, r.stuck, r.step = Inverse{}, false, nil
		}
	}
	values, err := s.precondition(values)
	if err != nil {
		return err
	}
	for b, r := range roots {
		if r.step == nil {
			r.alpha = 1
			r.step = r.inverse.Apply(values[b])
			floats.Scale(-1, r.step)
		}
	}
	searched := func(b int) bool { return !roots[b].Done && !roots[b].stuck }
	for range maxIterations {
		which, system, trial := s.moved(roots, searched, func(b int) (float64, []float64) { return roots[b].alpha, roots[b].step })
		if !slices.ContainsFunc(which, searched) || cancel(ctx, roots) {
			return nil
		}
		f, err := system.Residual(trial)
		if err != nil {
			return err
		}
		now, err := system.precondition(f)
		if err != nil {
			return err
		}
		for k, b := range which {
			r := roots[b]
			if !searched(b) {
				continue
			}
			r.Iterations++
			norm := floats.Norm(f[k], 2)
			if !(norm < r.Norm || r.expected && norm < math.Inf(1)) { // also where it is not a number
				r.alpha /= 4
				r.stuck = r.alpha < 1e-2
				continue
			}
			if step := floats.ScaleTo(make([]float64, len(r.X)), r.alpha, r.step); !r.expected {
				r.inverse.Learn(step, floats.SubTo(make([]float64, len(step)), now[k], values[b]))
			}
			r.expected = false
			r.stuck = norm > 0.98*r.Norm && r.alpha < 1
			r.X, r.F, r.Norm, values[b] = trial[k], f[k], norm, now[k]
			r.test()
			r.alpha, r.step = 1, r.inverse.Apply(now[k])
			floats.Scale(-1, r.step)
		}
	}
	return nil
}

// Newton searches for the roots by the inexact Newton method: GMRES solves the linear systems, with the right preconditioner M_b,
// and steps are halved until they reduce |F_b| (S. C. Eisenstat and H. F. Walker, SIAM J. Sci. Comput. 17, 1996). If Whole is set,
// the linear systems are solved exactly. When it returns without error all roots are Done, and their Status says how the search ended:
// Converged, Stalled, IterationLimit (Newton steps) or Cancelled.
func (s System) Newton(ctx context.Context, roots []*Root, maxIterations int) error {
	for iteration := 0; open(roots); iteration++ {
		if cancel(ctx, roots) {
			return nil
		}
		if iteration == maxIterations {
			for _, r := range roots {
				if !r.Done {
					r.Done, r.Status = true, IterationLimit
				}
			}
			return nil
		}
		linear := s.gmres
		if s.Whole {
			linear = s.eliminated
		}
		steps, err := linear(ctx, roots)
		if err != nil {
			return err
		}
		if cancel(ctx, roots) {
			return nil
		}
		alpha := make([]float64, len(roots))
		searching := make([]bool, len(roots))
		for b, r := range roots {
			alpha[b], searching[b] = 1, !r.Done
			if !r.Done {
				r.Iterations++
			}
		}
		for active := true; active; {
			which, system, trial := s.moved(roots, func(b int) bool { return searching[b] },
				func(b int) (float64, []float64) { return alpha[b], steps[b] })
			f, err := system.Residual(trial)
			if err != nil {
				return err
			}
			active = false
			for k, b := range which {
				r := roots[b]
				if !searching[b] {
					continue
				}
				norm := floats.Norm(f[k], 2)
				if norm <= (1-1e-4*alpha[b])*r.Norm {
					r.X, r.F, r.Norm, r.step, searching[b] = trial[k], f[k], norm, nil, false
					r.test()
				} else if alpha[b] /= 2; alpha[b] < 1e-4 {
					r.Done, r.Status, searching[b] = true, Stalled, false
				} else {
					active = true
				}
			}
		}
	}
	return nil
}

// eliminated solves F'(x_b) d_b = −F_b for all open systems by elimination; d_b is 0 where the Jacobian is singular or not finite. All
// columns of all Jacobians are evaluated in one call.
func (s System) eliminated(_ context.Context, roots []*Root) ([][]float64, error) {
	steps := make([][]float64, len(roots))
	var which []int // the open systems, as often as they have columns
	var at, units [][]float64
	for b, r := range roots {
		steps[b] = make([]float64, len(r.X))
		for j := range r.X {
			if !r.Done {
				unit := make([]float64, len(r.X))
				unit[j] = 1
				which, at, units = append(which, b), append(at, r.X), append(units, unit)
			}
		}
	}
	columns, err := s.Some(which).Derivative(at, units)
	if err != nil {
		return nil, err
	}
	for len(columns) > 0 {
		r, step := roots[which[0]], steps[which[0]]
		n := len(step)
		jacobian := mat.NewDense(n, n, nil)
		for j, column := range columns[:n] {
			jacobian.SetCol(j, column)
		}
		which, columns = which[n:], columns[n:]
		if size := mat.Norm(jacobian, 1); math.IsNaN(size) || math.IsInf(size, 1) {
			continue
		}
		var lu mat.LU
		if lu.Factorize(jacobian); !math.IsInf(lu.Cond(), 1) {
			lu.SolveVecTo(mat.NewVecDense(n, step), false, mat.NewVecDense(n, r.F)) // its error warns of the condition only
			floats.Scale(-1, step)
		}
	}
	return steps, nil
}

// gmres solves F'(x_b) d_b = −F_b for all open systems at once, until the relative residual is at most 1e-2 or 40 iterations are
// done (Y. Saad and M. H. Schultz, SIAM J. Sci. Stat. Comput. 7, 1986). Its unknowns are M_b⁻¹ d_b.
func (s System) gmres(ctx context.Context, roots []*Root) ([][]float64, error) {
	const eta, maxIterations = 1e-2, 40
	spaces, open := lists.Each(roots, newKrylov), lists.Each(roots, func(r *Root) bool { return !r.Done })
	for range maxIterations {
		if !slices.Contains(open, true) || ctx.Err() != nil {
			break
		}
		which, system := s.some(roots, func(b int) bool { return open[b] })
		dx, err := system.precondition(lists.Each(which, func(b int) []float64 { return spaces[b].basis[len(spaces[b].basis)-1] }))
		if err != nil {
			return nil, err
		}
		derivatives, err := system.Derivative(lists.Each(which, func(b int) []float64 { return roots[b].X }), dx)
		if err != nil {
			return nil, err
		}
		for i, b := range which {
			open[b] = open[b] && spaces[b].extend(derivatives[i], eta*roots[b].Norm)
		}
	}
	return s.precondition(lists.Each(spaces, (*krylov).step))
}

// krylov is the space in which GMRES solves the linear system of a root.
type krylov struct {
	basis     [][]float64
	columns   [][]float64 // of the Hessenberg matrix, which rotations make triangular
	rotations [][2]float64
	rhs       []float64
}

func newKrylov(r *Root) *krylov {
	return &krylov{rhs: []float64{r.Norm},
		basis: [][]float64{floats.ScaleTo(make([]float64, len(r.F)), -1/math.Max(r.Norm, math.SmallestNonzeroFloat64), r.F)}}
}

// extend takes the derivative w along the last vector of the basis, which it overwrites. It reports whether another one is wanted: whether the
// residual is above a limit.
func (s *krylov) extend(w []float64, limit float64) bool {
	k := len(s.columns)
	col := make([]float64, k+2)
	for j, v := range s.basis {
		col[j] = floats.Dot(w, v)
		floats.AddScaled(w, -col[j], v)
	}
	if col[k+1] = floats.Norm(w, 2); math.IsNaN(col[k+1]) {
		return false
	}
	next := floats.ScaleTo(make([]float64, len(w)), 1/math.Max(col[k+1], math.SmallestNonzeroFloat64), w)
	for j, g := range s.rotations {
		col[j], col[j+1] = g[0]*col[j]+g[1]*col[j+1], -g[1]*col[j]+g[0]*col[j+1]
	}
	rho := math.Hypot(col[k], col[k+1])
	if rho == 0 {
		return false
	}
	g := [2]float64{col[k] / rho, col[k+1] / rho}
	breakdown := col[k+1] <= 1e-14*rho
	col[k] = rho
	s.rotations, s.columns, s.basis = append(s.rotations, g), append(s.columns, col[:k+1]), append(s.basis, next)
	s.rhs = append(s.rhs[:k], g[0]*s.rhs[k], -g[1]*s.rhs[k])
	return !breakdown && math.Abs(s.rhs[k+1]) > limit
}

// step returns Σ y_i v_i over the basis, where y solves H y = rhs for the triangular matrix H.
func (s *krylov) step() []float64 {
	step, y := make([]float64, len(s.basis[0])), make([]float64, len(s.columns))
	for i := len(y) - 1; i >= 0; i-- {
		y[i] = s.rhs[i]
		for j := i + 1; j < len(y); j++ {
			y[i] -= s.columns[j][i] * y[j]
		}
		y[i] /= s.columns[i][i]
		floats.AddScaled(step, y[i], s.basis[i])
	}
	return step
}
