package geom

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom/engine"
	"anatomy/geom/ode"
)

// Regulariser is a cometric that may be close to singular, as that of a kernel much wider than the landmarks are apart.
type Regulariser interface {
	// RegularFlat returns (g*(q) + μ)⁻¹ v for points and vectors [..., d] and μ ≥ 0, [...].
	RegularFlat(q, v, mu *Node) *Node
}

// Log returns the geodesic from x to y: the root of Exp_x(v) = y, searched for from v = 0, where the derivative of Exp
// is the identity. Broyden's method, which takes no derivatives, comes first; where it does not get through, Newton's
// with GMRES, or for a Regulariser a sequence of roots in w, v♭ = (g* + μ)⁻¹ w, with falling μ, which lets momenta
// grow only as far as they reduce the residual.
//
// Geodesic.Status says whether the residual reached 1e-10 of |y − x|; the best geodesic found is returned in any case.
// It is the minimal one where y is not far beyond the injectivity radius. On an Atlas without closed forms a geodesic that
// passes a conjugate point, beyond which it cannot be the shortest, and a search that stalls make Log search on in other
// directions, and the geodesic is the shortest of those found; Conjugate says whether that passes a conjugate point. There the residual is taken in the chart
// centred at y, and an end point in the cut locus of x, where that chart says so, is an error.
func (s *Space) Log(x, y []float64) (*Geodesic, error) {
	gs, err := s.LogAll([][]float64{x}, [][]float64{y})
	if err != nil {
		return nil, err
	}
	g, err := s.Shoot(x, gs[0].Momentum)
	if err != nil {
		return nil, err
	}
	g.Residual, g.Iterations, g.Status, g.Conjugate = gs[0].Residual, gs[0].Iterations, gs[0].Status, gs[0].Conjugate
	return g, nil
}

// LogAll is Log for many pairs at once, without Points and Momenta. The pairs share every compiled call.
func (s *Space) LogAll(x, y [][]float64) ([]*Geodesic, error) { return s.LogFrom(x, y, nil) }

// LogFrom is LogAll with first guesses of the velocities; nil for none.
func (s *Space) LogFrom(x, y, guess [][]float64) ([]*Geodesic, error) {
	if len(x) != len(y) || len(x) == 0 || guess != nil && len(guess) != len(x) {
		return nil, fmt.Errorf("Log: %d starting points, %d end points, %d guesses", len(x), len(y), len(guess))
	}
	if err := s.riemannian("Log"); err != nil {
		return nil, err
	}
	if s.direct() {
		return s.directLog(x, y, guess)
	}
	b := len(x)
	mu := make([]float64, b)
	eq := s.logEquations(x, y, mu)
	roots := make([]*root, b)
	for i := range x {
		if err := s.check(fmt.Sprintf("Log of pair %d", i), "starting point", x[i], "end point", y[i]); err != nil {
			return nil, err
		}
		f := floats.SubTo(make([]float64, len(x[i])), x[i], y[i])
		norm := floats.Norm(f, 2)
		roots[i] = &root{x: make([]float64, len(f)), f: f, norm: norm, tol: 1e-10*norm + 1e-13*floats.Norm(y[i], 2)}
	}
	if err := eq.startAt(roots, guess); err != nil {
		return nil, err
	}
	if err := eq.broyden(roots, 80); err != nil {
		return nil, err
	}
	var err error
	if _, regular := s.M.(Regulariser); regular {
		mu, err = s.continueLog(x, y, roots)
	} else {
		err = eq.newton(roots, 30)
	}
	if err != nil {
		return nil, err
	}
	out, err := s.logMomenta(x, roots, mu)
	if err != nil {
		return nil, err
	}
	momenta, velocities, lengths := out.Matrix(0), out.Matrix(1), out.Vector(2)
	gs := make([]*Geodesic, b)
	for i, r := range roots {
		if k, bad := notFinite(momenta[i]); bad {
			return nil, fmt.Errorf("Log of pair %d: coordinate %d of the momentum is %g: the metric is singular at the starting point", i, k, momenta[i][k])
		}
		gs[i] = &Geodesic{Start: x[i], Velocity: velocities[i], Momentum: momenta[i], Length: lengths[i],
			Residual: r.norm / math.Sqrt(float64(s.M.Dim())), Iterations: r.iterations, Status: r.status}
	}
	return gs, nil
}

// continueLog goes on with the roots that Broyden's method left over. It starts again from rest with a large μ, under
// which only the smooth part of the residual asks for momentum, and lets Newton's method go on with μ falling by
// factors of 10 as long as that reduces the residual. It replaces the unknown of a root by w of the best μ and returns
// these μ.
func (s *Space) continueLog(x, y [][]float64, roots []*root) ([]float64, error) {
	best := make([]float64, len(roots))
	mu := make([]float64, len(roots))
	level := make([]*root, len(roots))
	left := false
	for i, r := range roots {
		f := floats.SubTo(make([]float64, len(r.x)), x[i], y[i])
		level[i] = &root{x: make([]float64, len(r.x)), f: f, norm: floats.Norm(f, 2), tol: r.tol, done: r.done}
		mu[i] = 0.1
		left = left || !r.done
	}
	if !left {
		return best, nil
	}
	if err := s.logEquations(x, y, mu).broyden(level, 40); err != nil {
		return nil, err
	}
	for ; left && mu[0] > 1e-9; floats.Scale(0.1, mu) {
		before := make([]float64, len(roots))
		for i, r := range level {
			before[i] = r.norm
		}
		if err := s.logEquations(x, y, mu).newton(level, 10); err != nil {
			return nil, err
		}
		left = false
		for i, r := range level {
			if !roots[i].done && r.norm < roots[i].norm {
				best[i] = mu[i]
				roots[i].x, roots[i].f, roots[i].norm = r.x, r.f, r.norm
				roots[i].iterations += r.iterations
				roots[i].done = r.norm <= r.tol
			}
			// Where a level brings next to nothing, a smaller μ only makes the momenta larger.
			r.done = roots[i].done || r.norm > 0.97*before[i]
			r.status, r.iterations = Converged, 0
			left = left || !r.done
		}
		// The same momenta as unknowns of the next level: w' = w + (μ' − μ) p.
		out, err := s.logMomenta(x, level, mu)
		if err != nil {
			return nil, err
		}
		for i, p := range out.Matrix(0) {
			level[i].x = floats.AddScaledTo(make([]float64, len(p)), level[i].x, -0.9*mu[i], p)
		}
	}
	for _, r := range roots {
		if !r.done {
			r.done, r.status = true, Stalled
		}
	}
	return best, nil
}

// logEquations are Exp_x(v) = y in the unknowns w with v♭ = (g* + μ)⁻¹ w.
func (s *Space) logEquations(x, y [][]float64, mu []float64) equations {
	return equations{
		residual: func(w [][]float64) ([][]float64, error) {
			out, err := s.Call("Log", func(in []*Node) []*Node {
				end := ode.Flow(Geodesics(s.M), s.method, s.steps, ode.State{in[0], s.logFlat(in[0], in[2], in[3])})
				return []*Node{Sub(end[0], in[1])}
			}, x, y, w, mu)
			if err != nil {
				return nil, err
			}
			return out.Matrix(0), nil
		},
		derivative: func(w, dw [][]float64) ([][]float64, error) {
			out, err := s.Call("DExp", func(in []*Node) []*Node {
				q, w, dw, mu := in[0], in[1], in[2], in[3]
				state := ode.State{q, s.logFlat(q, w, mu), ZerosLike(q), s.logFlat(q, dw, mu)}
				return []*Node{ode.Flow(ode.Tangent(Geodesics(s.M)), s.method, s.steps, state)[2]}
			}, x, w, dw, mu)
			if err != nil {
				return nil, err
			}
			return out.Matrix(0), nil
		},
	}
}

// logFlat is the covector of the unknown w of Log.
func (s *Space) logFlat(q, w, mu *Node) *Node {
	if m, ok := s.M.(Regulariser); ok {
		return m.RegularFlat(q, w, mu)
	}
	return Flat(s.M, q, w)
}

// logMomenta returns momenta, velocities and lengths of the roots.
func (s *Space) logMomenta(x [][]float64, roots []*root, mu []float64) (engine.Values, error) {
	w := make([][]float64, len(roots))
	for i, r := range roots {
		w[i] = r.x
	}
	return s.Call("Log momenta", func(in []*Node) []*Node {
		p := s.logFlat(in[0], in[1], in[2])
		v := Sharp(s.M, in[0], p)
		return []*Node{p, v, Sqrt(ReduceSum(Mul(v, p), -1))}
	}, x, w, mu)
}
