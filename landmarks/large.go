package landmarks

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/ode"
)

// LogWithin is Log that stops at a residual: a root mean square of tolerance, in units of the landmarks. It never forms
// the kernel matrix, so that it is the way for thousands of landmarks and, with a sensible tolerance, for kernels much
// wider than the landmarks are apart, whose momenta would grow without bound for an exact match.
//
// It solves Exp_q(p) = target for the momentum p: the derivative of Exp by p is close to K(q), so a step is
// (K(q) + μ)⁻¹ of the residual, by conjugate gradients; Anderson's method corrects it with the steps before. μ starts
// at a hundredth of the greatest row sum of K, under which only the smooth part of the residual asks for momentum, and
// falls where progress is slow.
func (s *Space) LogWithin(q, target [][]float64, tolerance float64) (*Geodesic, error) {
	x, err := s.Vector(q)
	if err != nil {
		return nil, fmt.Errorf("Log: starting shape: %w", err)
	}
	y, err := s.Vector(target)
	if err != nil {
		return nil, fmt.Errorf("Log: target shape: %w", err)
	}
	if !(tolerance > 0) {
		return nil, fmt.Errorf("Log: tolerance %g, want a positive length", tolerance)
	}
	d := len(x)
	rms := func(f []float64) float64 { return floats.Norm(f, 2) / math.Sqrt(float64(d)) }
	ones := make([]float64, d)
	floats.AddConst(1, ones)
	out, err := s.Geometry.Call("row sums", func(in []*Node) []*Node {
		return []*Node{ReduceAllMax(s.Sharp(in[0], in[1]))}
	}, x, ones)
	if err != nil {
		return nil, err
	}
	scale := out.Scalar(0)

	const memory, maxIterations = 8, 60
	p, best := make([]float64, d), make([]float64, d)
	f := floats.SubTo(make([]float64, d), y, x)
	bestF, norm := f, rms(f)
	var dp, df [][]float64
	status, iterations, bad := geom.MaxIterations, 0, 0
	for mu := 0.01 * scale; ; iterations++ {
		if norm <= tolerance {
			status = geom.Converged
			break
		}
		if bad > 8 {
			status = geom.Stalled
			break
		}
		if iterations == maxIterations {
			break
		}
		// The residual without what earlier steps would have taken from it, and these steps.
		rest, next := append([]float64{}, f...), append([]float64{}, p...)
		for i, g := range leastSquares(df, f) {
			floats.AddScaled(rest, -g, df[i])
			floats.AddScaled(next, -g, dp[i])
		}
		out, err := s.Geometry.Call("LogWithin step", func(in []*Node) []*Node {
			p := Add(in[1], s.solve(in[0], in[2], in[3], 0.01, 200, false))
			end := ode.Flow(geom.Geodesics(s.Manifold), s.method, s.steps, ode.State{in[0], p})
			return []*Node{p, Sub(in[4], end[0])}
		}, x, next, rest, mu, y)
		if err != nil {
			return nil, err
		}
		pNew, fNew := out.Vector(0), out.Vector(1)
		was, now := norm, rms(fNew)
		switch {
		case !(now < math.Inf(1)) || now > 2*was:
			// Too far: start again from the best with smaller steps.
			p, f, dp, df = best, bestF, nil, nil
			mu *= 10
			bad++
			continue
		case now > norm: // a step that did not help: shorter ones
			mu *= 2
		case now > 0.5*was && mu > 1e-9*scale:
			mu /= 4
		}
		dp, df = append(dp, floats.SubTo(make([]float64, d), pNew, p)), append(df, floats.SubTo(make([]float64, d), fNew, f))
		if len(dp) > memory {
			dp, df = dp[1:], df[1:]
		}
		if p, f = pNew, fNew; now < norm {
			if now > 0.95*norm {
				bad++
			} else {
				bad = 0
			}
			best, bestF, norm = p, f, now
		} else {
			bad++
		}
	}
	g, err := s.Geometry.Shoot(x, best)
	if err != nil {
		return nil, err
	}
	g.Residual, g.Iterations, g.Status = norm, iterations, status
	return s.geodesic(g), s.fits(g.Points)
}

// leastSquares returns the c for which f − Σ c_i columns_i is least, nil without columns.
func leastSquares(columns [][]float64, f []float64) []float64 {
	k := len(columns)
	if k == 0 {
		return nil
	}
	a, b := mat.NewDense(len(f), k, nil), mat.NewVecDense(len(f), f)
	for i, c := range columns {
		a.SetCol(i, c)
	}
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil { // dependent columns: the last step alone is as good
		return make([]float64, k)
	}
	return x.RawVector().Data
}
