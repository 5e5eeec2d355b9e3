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
// (K(q) + μ)⁻¹ of the residual, by preconditioned conjugate gradients; Anderson's method corrects it with the steps before. μ starts
// at a hundredth of the greatest row sum of K, under which only the smooth part of the residual asks for momentum, and
// falls where progress is slow. Thousands of landmarks start from the geodesic of some of them, spread over the shape.
// Iterations counts the steps with all landmarks.
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
	a, err := s.aim(x, y, tolerance)
	if err != nil {
		return nil, err
	}
	g, err := s.Geometry.Shoot(x, a.momentum)
	if err != nil {
		return nil, err
	}
	g.Residual, g.Iterations, g.Status = a.residual, a.iterations, a.status
	return s.geodesic(g), s.fits(g.Points)
}

// aimed is a momentum whose geodesic ends near a target.
type aimed struct {
	momentum   []float64
	residual   float64
	iterations int
	status     geom.Status
	mu         float64 // the last μ, by the greatest row sum of K
}

// coarse is how many landmarks show the way to more than four times as many.
const coarse = 500

// aim finds the momentum of LogWithin.
func (s *Space) aim(x, y []float64, tolerance float64) (*aimed, error) {
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
	k, err := s.newSpectrum(x)
	if err != nil {
		return nil, err
	}
	spectrum := k.inputs()

	const memory, maxIterations = 8, 60
	p, best := make([]float64, d), make([]float64, d)
	f := floats.SubTo(make([]float64, d), y, x)
	bestF, norm, mu := f, rms(f), 0.01*scale
	first, firstMu := f, mu // the velocity that the first step takes
	if s.N > 4*coarse && norm > tolerance {
		v, part, err := s.coarseVelocity(x, y, tolerance)
		if err != nil {
			return nil, err
		}
		// That velocity is smooth: little μ is needed to have all of it.
		first, mu, firstMu = v, part*scale, 1e-3*part*scale
	}
	var dp, df [][]float64
	status, iterations, bad := geom.MaxIterations, 0, 0
	for ; ; iterations++ {
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
		weight := mu
		if iterations == 0 {
			rest, weight = first, firstMu
		}
		out, err := s.Geometry.Call("LogWithin step", func(in []*Node) []*Node {
			p := Add(in[1], s.nearlySolve(in[0], in[2], in[3], in[5:]))
			end := ode.Flow(geom.Geodesics(s.Manifold), s.method, s.steps, ode.State{in[0], p})
			return []*Node{p, Sub(in[4], end[0])}
		}, append([]any{x, next, rest, weight, y}, spectrum...)...)
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
	return &aimed{best, norm, iterations, status, mu / scale}, nil
}

// coarseVelocity is the initial velocity of all landmarks on the geodesic of some, and the μ with which that was found.
func (s *Space) coarseVelocity(x, y []float64, tolerance float64) (v []float64, mu float64, err error) {
	q, target := s.Shape(x), s.Shape(y)
	some := s.fewer()
	from, to := make([]float64, 0, some.Dim()), make([]float64, 0, some.Dim())
	for _, i := range spread(q, coarse) {
		from, to = append(from, q[i]...), append(to, target[i]...)
	}
	a, err := some.aim(from, to, 0.5*tolerance)
	if err != nil {
		return nil, 0, err
	}
	out, err := some.Geometry.Call("velocity", func(in []*Node) []*Node {
		return []*Node{s.flat(some.Velocity(in[0], in[1], in[2]))}
	}, from, a.momentum, q)
	if err != nil {
		return nil, 0, err
	}
	return out.Vector(0), a.mu, nil
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
