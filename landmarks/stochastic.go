package landmarks

import (
	"fmt"
	"math"
	"math/rand/v2"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/linalg"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
)

// Langevin returns the process of geodesic motion with friction λ ≥ 0 and noise of strength σ ≥ 0 in the momenta, from a shape q with
// momenta p, both [N][D]:
//
//	dq = ∂H/∂p dt,  dp = −∂H/∂q dt − λ ∂H/∂p dt + σ dW,
//
// with W in R^(N·D). For σ > 0 the measure exp(−2λH/σ²) dq dp is invariant. For λ = 0 it is the shape spline of A. Trouvé and
// F.-X. Vialard, Shape splines and stochastic shape evolutions: a second order point of view, 2012 (Lagrangian noise). The
// Params of the process are friction and noise, in this order. One that is negative or not finite is an error.
//
// The noise is that of the momenta of these landmarks: it acts on them through K, so what a landmark does depends on which others there are.
// If landmarks are added, the variances of the first change, without a limit as outlines are sampled more densely; those of Kunita and
// Eulerian, whose noise is one of space, do not.
func (s *Space) Langevin(q, p [][]float64, friction, noise float64) (stochastic.Process[geom.Shape], error) {
	const what = "Langevin"
	for i, x := range []float64{friction, noise} {
		if !(x >= 0) || math.IsInf(x, 1) {
			return stochastic.Process[geom.Shape]{}, fmt.Errorf("%s: %s %g, want a finite number from 0",
				what, [...]string{"friction", "noise"}[i], x)
		}
	}
	return s.moving(what, q, p, s.M.Dim(), []any{friction, noise}, langevin{}), nil
}

type langevin struct{}

func (langevin) Equation(at geom.Local, params []*Node) ode.Equation {
	geodesic := geom.Geodesics(at.Manifold)
	return func(t *Node, y ode.State, dt, dw *Node) ode.State {
		f := geodesic(t, ode.State{y[0], Squeeze(y[1], 0)})
		force := Sub(f[1], Mul(params[0], f[0]))
		return ode.State{Mul(dt, f[0]), ExpandAxes(Add(Mul(dt, force), Mul(params[1], dw)), 0)}
	}
}

// Diffusion is that of guided.Additive.
func (langevin) Diffusion(y ode.State, params []*Node) *Node {
	one := linalg.Eyes(y[0], y[0].Shape().Dim(1))
	noise := params[1]
	if noise.Rank() > 0 {
		noise = ExpandAxes(noise, -1)
	}
	return Concatenate([]*Node{ZerosLike(one), Mul(noise, one)}, 1)
}

// moving makes a process whose state is a shape with momenta.
func (s *Space) moving(name string, q, p geom.Shape, noise int, params []any, d stochastic.Dynamics) stochastic.Process[geom.Shape] {
	return stochastic.Process[geom.Shape]{Space: s.Space, Name: name, Scheme: ode.EulerHeun, Noise: noise, Start: geom.Clone(q),
		Parts: []stochastic.Part[geom.Shape]{{Kind: geom.Covector, Vectors: []geom.Shape{geom.Clone(p)}}}, Params: params, Dynamics: d}
}

// NoiseFields are L vector fields σ_l(x) = λ_l exp(−|x − c_l|²/2r²) on R^D, each driven by a separate Brownian motion.
type NoiseFields struct {
	Centres    [][]float64 // c_l, [L][D]
	Amplitudes [][]float64 // λ_l, [L][D]: lengths, for runs over the time 1
	Width      float64     // r > 0, a length
}

// Eulerian returns the process of geodesic motion from a shape q with momenta p, both [N][D], in a fluid that noise stirs. The noise
// moves landmarks and momenta along the vector fields, with the Hamiltonians h_l = Σ_i p_i·σ_l(q_i):
//
//	dq = ∂H/∂p dt + Σ_l ∂h_l/∂p ∘ dW^l,  dp = −∂H/∂q dt − Σ_l ∂h_l/∂q ∘ dW^l,
//
// in Stratonovich's calculus (A. Arnaudon, D. Holm and S. Sommer, A geometric framework for stochastic shape analysis,
// 2019).
func (s *Space) Eulerian(q, p [][]float64, fields NoiseFields) (stochastic.Process[geom.Shape], error) {
	const what = "Eulerian"
	if err := s.checkFields(fields); err != nil {
		return stochastic.Process[geom.Shape]{}, fmt.Errorf("%s: %w", what, err)
	}
	given := []any{geom.Clone(geom.Shape(fields.Centres)), geom.Clone(geom.Shape(fields.Amplitudes)), fields.Width}
	return s.moving(what, q, p, len(fields.Centres), given, eulerian{s.Manifold.N, s.Manifold.D}), nil
}

// eulerian is the equation of Eulerian for n landmarks in R^d.
type eulerian struct{ n, d int }

func (e eulerian) Equation(at geom.Local, params []*Node) ode.Equation {
	geodesic := geom.Geodesics(at.Manifold)
	points := Manifold{N: e.n, D: e.d}.points
	return func(t *Node, y ode.State, dt, dw *Node) ode.State {
		y = ode.State{y[0], Squeeze(y[1], 0)}
		stirred := ode.Hamilton(func(q, p *Node) *Node {
			u := stir(points(q), params[0], params[1], params[2], dw)
			return ReduceSum(Mul(points(p), u), -1, -2)
		})(t, y)
		change := ode.Axpy(dt, geodesic(t, y), stirred)
		return ode.State{change[0], ExpandAxes(change[1], 0)}
	}
}

// stir is Σ_l σ_l(x) dW^l, [N, n, D], at points x of [N, n, D], with centres and amplitudes of [L, D] and dW of [N, L].
func stir(x, centres, amplitudes, width, dw *Node) *Node {
	n, l := x.Shape().Dim(0), centres.Shape().Dim(0)
	difference := Sub(ExpandAxes(x, -2), ExpandLeftToRank(centres, 4)) // [N, n, L, D]
	k := Exp(Div(ReduceSum(Square(difference), -1), MulScalar(Square(width), -2)))
	weighted := Mul(k, BroadcastToDims(ExpandAxes(dw, 1), n, x.Shape().Dim(1), l))
	return linalg.MatMul(weighted, BroadcastPrefix(amplitudes, n))
}

func (s *Space) checkFields(f NoiseFields) error {
	if len(f.Centres) == 0 || len(f.Centres) != len(f.Amplitudes) {
		return fmt.Errorf("%d centres and %d amplitudes of noise fields, want equal numbers of both, at least 1", len(f.Centres), len(f.Amplitudes))
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

// Kunita returns the process in which landmarks are carried by a stochastic flow of the kernel k of the space, from a shape q, [N][D]:
//
//	dx = (σ(x) ⊗ I_D) dW,  σσᵀ = amplitude · k(x_i/width, x_j/width),
//
// in Itô's calculus, without drift, with W in R^(N·D) and σ the Cholesky factor (H. Kunita, Stochastic flows and stochastic differential equations,
// 1990). The amplitude, the variance of a landmark's coordinate in the time 1, is the square of a length (Amplitudes of NoiseFields are lengths); the
// width multiplies those of the kernel: give the space a kernel of width 1 for the width itself. The Params of the process are width and amplitude,
// in this order.
func (s *Space) Kunita(q geom.Shape, width, amplitude float64) (stochastic.Process[geom.Shape], error) {
	for i, x := range []float64{width, amplitude} {
		if !(x > 0) || math.IsInf(x, 1) {
			return stochastic.Process[geom.Shape]{}, fmt.Errorf("Kunita: %s %g, want a finite positive number",
				[...]string{"width", "amplitude"}[i], x)
		}
	}
	return stochastic.Process[geom.Shape]{Space: s.Space, Name: "Kunita", Scheme: ode.EulerMaruyama, Noise: s.Manifold.Dim(), Start: geom.Clone(q),
		Params: []any{width, amplitude}, Dynamics: kunita{s.Manifold.N, s.Manifold.D}}, nil
}

type kunita struct{ n, d int }

func (k kunita) Equation(at geom.Local, params []*Node) ode.Equation {
	return func(_ *Node, y ode.State, _, dw *Node) ode.State {
		_, a := k.Separate(at, y, params)
		sigma := linalg.Cholesky(a)
		paths := y[0].Shape().Dim(0)
		return ode.State{Reshape(linalg.MatMul(sigma, Reshape(dw, paths, k.n, k.d)), paths, k.n*k.d)}
	}
}

// Separate is that of guided.Separable.
func (k kunita) Separate(at geom.Local, y ode.State, params []*Node) (b, a *Node) {
	gram := at.Manifold.(Manifold).Gram(Div(y[0], params[0]))
	amplitude := params[1]
	if amplitude.Rank() > 0 {
		amplitude = ExpandAxes(amplitude, -1)
	}
	return nil, Mul(amplitude, gram)
}

// Simulate returns shapes around the outline q, [n][D]: the ends of geodesics from q whose initial velocities are random waves along it,
//
//	v_i = size · Σ_k (s_k sin(2πki/n) + c_k cos(2πki/n))/(1 + k),  k = 0, 1, 2, 3,
//
// with independent standard normal vectors s_k and c_k. The size has the unit of q; equal seeds give equal shapes. The errors are those of Exp.
func (s *Space) Simulate(q geom.Shape, count int, size float64, seed uint64) (shapes []geom.Shape, err error) {
	if err := s.CheckNumbers("outline", q); err != nil {
		return nil, fmt.Errorf("Simulate: %w", err)
	}
	random := rand.New(rand.NewPCG(seed, seed+1))
	for range count {
		v := q.Scale(0)
		for wave := range 4 {
			for a := range s.Manifold.D {
				sine, cosine := random.NormFloat64(), random.NormFloat64()
				for i := range v {
					sin, cos := math.Sincos(2 * math.Pi * float64(wave*i) / float64(len(v)))
					v[i][a] += size * (sine*sin + cosine*cos) / float64(1+wave)
				}
			}
		}
		g, err := s.Exp(q, v)
		if err != nil {
			return nil, fmt.Errorf("Simulate: %w", err)
		}
		shapes = append(shapes, g.End)
	}
	return shapes, nil
}
