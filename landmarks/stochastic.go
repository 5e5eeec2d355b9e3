package landmarks

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
)

// Process is a stochastic process of shapes. What is wrong with the shapes that it was made of, Paths and Sample report.
type Process struct {
	space   *Space
	process stochastic.Process
	err     error
}

// Paths are simulated paths of shapes at the times 0, T/n, …, T.
type Paths struct {
	Shapes [][][][]float64 // Shapes[k][i] is path k at time i
	Noise  [][][]float64   // Noise[k][i] is the Brownian motion W in R^m that drives it
}

// Paths simulates paths; see stochastic.Process.Paths.
func (p Process) Paths(r stochastic.Run) (*Paths, error) {
	if p.err != nil {
		return nil, p.err
	}
	found, err := p.process.Paths(r)
	if err != nil {
		return nil, err
	}
	return &Paths{p.space.shapePaths(found.Points), found.Noise}, nil
}

// Sample simulates paths and returns the shapes at their ends.
func (p Process) Sample(r stochastic.Run) ([][][]float64, error) {
	if p.err != nil {
		return nil, p.err
	}
	found, err := p.process.Sample(r)
	if err != nil {
		return nil, err
	}
	return p.space.Shapes(found), nil
}

func (s *Space) shapePaths(paths [][][]float64) [][][][]float64 {
	out := make([][][][]float64, len(paths))
	for k, points := range paths {
		out[k] = s.Shapes(points)
	}
	return out
}

// Brownian is Brownian motion from a shape; at time σ² it has the isotropic normal distribution of variance σ².
func (s *Space) Brownian(q [][]float64) Process {
	x, err := s.Vector(q)
	if err != nil {
		return Process{err: fmt.Errorf("Brownian motion: %w", err)}
	}
	return Process{s, stochastic.Brownian(s.Geometry, x), nil}
}

// StochasticDevelopment is the development of Brownian motion in R^m from a shape and a frame of m tangent vectors; at
// time 1 it has the normal distribution with mean q and covariance Σ_α ν_α ν_αᵀ.
func (s *Space) StochasticDevelopment(q [][]float64, frame ...[][]float64) Process {
	x, err := s.Vector(q)
	if err != nil {
		return Process{err: fmt.Errorf("StochasticDevelopment: %w", err)}
	}
	vectors, err := s.tangents("StochasticDevelopment", frame)
	if err != nil {
		return Process{err: err}
	}
	p, err := stochastic.Development(s.Geometry, x, vectors)
	return Process{s, p, err}
}

// Langevin is geodesic motion with friction λ ≥ 0 and noise σ ≥ 0 in the momenta, from a shape with momenta:
//
//	dq = ∂H/∂p dt,  dp = −∂H/∂q dt − λ ∂H/∂p dt + σ dW,
//
// W in R^(N·D). It keeps the measure exp(−2λH/σ²). Without friction it is the shape spline of A. Trouvé and F.-X. Vialard,
// Shape splines and stochastic shape evolutions, 2012: Lagrangian noise.
func (s *Space) Langevin(q, p [][]float64, friction, noise float64) Process {
	const what = "Langevin"
	x, momenta, err := s.phase(what, q, p)
	if err != nil {
		return Process{err: err}
	}
	for name, v := range map[string]float64{"friction": friction, "noise": noise} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return Process{err: fmt.Errorf("%s: %s %g, want a finite number from 0", what, name, v)}
		}
	}
	return Process{s, stochastic.Process{Space: s.Geometry, Name: what, Scheme: ode.EulerHeun, Noise: s.Dim(), Start: x,
		Parts:  []stochastic.Part{{Kind: geom.Covector, Value: momenta}},
		Params: []any{friction, noise},
		Equation: func(m geom.Manifold, params []*Node) ode.Equation {
			geodesic := geom.Geodesics(m)
			return func(t *Node, y ode.State, dt, dw *Node) ode.State {
				f := geodesic(t, y)
				force := Sub(f[1], Mul(params[0], f[0]))
				return ode.State{Mul(dt, f[0]), Add(Mul(dt, force), Mul(params[1], dw))}
			}
		}}, nil}
}

// NoiseFields are vector fields σ_l(x) = λ_l exp(−|x − c_l|²/2r²) of R^D, each with a Brownian motion of its own.
type NoiseFields struct {
	Centres    [][]float64 // c_l, [L][D]
	Amplitudes [][]float64 // λ_l, [L][D]
	Width      float64     // r
}

// Eulerian is geodesic motion from a shape with momenta, in a fluid that noise stirs: the landmarks and their momenta are
// carried by the flow of the fields, with the Hamiltonians h_l = Σ_i p_i·σ_l(q_i),
//
//	dq = ∂H/∂p dt + Σ_l ∂h_l/∂p ∘ dW^l,  dp = −∂H/∂q dt − Σ_l ∂h_l/∂q ∘ dW^l,
//
// in Stratonovich's calculus (A. Arnaudon, D. Holm and S. Sommer, A geometric framework for stochastic shape analysis,
// 2019).
func (s *Space) Eulerian(q, p [][]float64, fields NoiseFields) Process {
	const what = "Eulerian"
	x, momenta, err := s.phase(what, q, p)
	if err != nil {
		return Process{err: err}
	}
	if err := s.checkFields(fields); err != nil {
		return Process{err: fmt.Errorf("%s: %w", what, err)}
	}
	return Process{s, stochastic.Process{Space: s.Geometry, Name: what, Scheme: ode.EulerHeun, Noise: len(fields.Centres), Start: x,
		Parts:  []stochastic.Part{{Kind: geom.Covector, Value: momenta}},
		Params: []any{fields.Centres, fields.Amplitudes, fields.Width},
		Equation: func(m geom.Manifold, params []*Node) ode.Equation {
			geodesic := geom.Geodesics(m)
			return func(t *Node, y ode.State, dt, dw *Node) ode.State {
				stirred := ode.Hamilton(func(q, p *Node) *Node {
					u := stir(s.points(q), params[0], params[1], params[2], dw)
					return ReduceSum(Mul(s.points(p), u), -1, -2)
				})(t, y)
				return ode.Axpy(dt, geodesic(t, y), stirred)
			}
		}}, nil}
}

// stir is Σ_l σ_l(x) dW^l, [N, n, D], at points x of [N, n, D], with centres and amplitudes of [L, D] and dW of [N, L].
func stir(x, centres, amplitudes, width, dw *Node) *Node {
	n, l := x.Shape().Dim(0), centres.Shape().Dim(0)
	difference := Sub(ExpandAxes(x, -2), ExpandLeftToRank(centres, 4)) // [N, n, L, D]
	k := Exp(Div(ReduceSum(Square(difference), -1), MulScalar(Square(width), -2)))
	weighted := Mul(k, BroadcastToDims(ExpandAxes(dw, 1), n, x.Shape().Dim(1), l))
	return linalg.MatMul(weighted, BroadcastPrefix(amplitudes, n))
}

// phase validates a shape with momenta.
func (s *Space) phase(what string, q, p [][]float64) (x, momenta []float64, err error) {
	if x, err = s.Vector(q); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	if momenta, err = s.rows(p); err != nil {
		return nil, nil, fmt.Errorf("%s: momentum: %w", what, err)
	}
	return x, momenta, nil
}

func (s *Space) checkFields(f NoiseFields) error {
	if len(f.Centres) == 0 || len(f.Centres) != len(f.Amplitudes) {
		return fmt.Errorf("%d centres and %d amplitudes of noise fields, want at least 1 and as many", len(f.Centres), len(f.Amplitudes))
	}
	if !(f.Width > 0) || math.IsInf(f.Width, 1) {
		return fmt.Errorf("noise fields of width %g, want a finite positive number", f.Width)
	}
	for l := range f.Centres {
		if err := s.checkPoint(f.Centres[l]); err != nil {
			return fmt.Errorf("centre %d: %w", l, err)
		}
		if err := s.checkPoint(f.Amplitudes[l]); err != nil {
			return fmt.Errorf("amplitude %d: %w", l, err)
		}
	}
	return nil
}

// Bridges are weighted paths of shapes; see stochastic.Bridges.
type Bridges struct {
	Times      []float64
	Shapes     [][][][]float64 // Shapes[k][i] is path k at Times[i]
	LogWeights []float64

	stochastic.Likelihood
}

// Bridge simulates Brownian motion from shape q that is conditioned to be at shape target at the time of the run.
func (s *Space) Bridge(proposal stochastic.Proposal, q, target [][]float64, r stochastic.Run) (*Bridges, error) {
	x, err := s.Vector(q)
	if err != nil {
		return nil, fmt.Errorf("Bridge: starting shape: %w", err)
	}
	v, err := s.Vector(target)
	if err != nil {
		return nil, fmt.Errorf("Bridge: target shape: %w", err)
	}
	b, err := stochastic.Bridge(s.Geometry, proposal, x, v, r)
	if err != nil {
		return nil, err
	}
	return &Bridges{b.Times, s.shapePaths(b.Points), b.LogWeights, b.Likelihood}, nil
}

// DiffusionMean is the shape that Brownian motion most likely started from, and the time at which it was seen.
type DiffusionMean struct {
	Shape    [][]float64
	Variance float64

	LogLikelihood, Gradient float64
	Iterations              int
	Status                  geom.Status
}

// DiffusionMean maximises the likelihood of shapes, setting out from one of one's choice; see stochastic.DiffusionMean.
func (s *Space) DiffusionMean(proposal stochastic.Proposal, shapes [][][]float64, start [][]float64, r stochastic.Run) (*DiffusionMean, error) {
	x, err := s.Vector(start)
	if err != nil {
		return nil, fmt.Errorf("DiffusionMean: start: %w", err)
	}
	samples := make([][]float64, len(shapes))
	for i, q := range shapes {
		if samples[i], err = s.Vector(q); err != nil {
			return nil, fmt.Errorf("DiffusionMean: shape %d: %w", i, err)
		}
	}
	m, err := stochastic.DiffusionMean(s.Geometry, proposal, samples, x, r)
	if err != nil {
		return nil, err
	}
	return &DiffusionMean{s.Shape(m.Point), m.Variance, m.LogLikelihood, m.Gradient, m.Iterations, m.Status}, nil
}
