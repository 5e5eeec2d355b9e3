package geom

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// equations are B independent systems F_b(x_b) = 0, evaluated together, with Jacobians close to the identity.
type equations struct {
	// residual returns F_b(x_b) for every system.
	residual func(x [][]float64) ([][]float64, error)
	// derivative returns F_b'(x_b)·dx_b for every system.
	derivative func(x, dx [][]float64) ([][]float64, error)
}

// root is the state of one system.
type root struct {
	x, f       []float64 // best point and its residual
	norm       float64   // ‖f‖
	tol        float64
	iterations int
	status     Status
	done       bool
}

// startAt moves roots to the guesses where these are better; nil for no guesses.
func (e equations) startAt(roots []*root, guess [][]float64) error {
	if guess != nil {
		f, err := e.residual(guess)
		if err != nil {
			return err
		}
		for b, r := range roots {
			if norm := floats.Norm(f[b], 2); norm < r.norm {
				r.x, r.f, r.norm = guess[b], f[b], norm
			}
		}
	}
	for _, r := range roots {
		r.done = r.norm <= r.tol
	}
	return nil
}

// broyden is Broyden's good method from the Jacobian I, with the inverse as I + Σ u_k w_kᵀ and step halving.
func (e equations) broyden(roots []*root, maxIterations int) error {
	type update struct{ u, w []float64 }
	type memory struct {
		step    []float64
		alpha   float64
		updates []update
	}
	apply := func(m *memory, y []float64) []float64 { // B y
		z := append([]float64{}, y...)
		for _, k := range m.updates {
			floats.AddScaled(z, floats.Dot(k.w, y), k.u)
		}
		return z
	}
	mem := make([]*memory, len(roots))
	stuck := make([]bool, len(roots))
	for b, r := range roots {
		mem[b] = &memory{alpha: 1, step: floats.ScaleTo(make([]float64, len(r.f)), -1, r.f)}
	}
	trial := make([][]float64, len(roots))
	for range maxIterations {
		active := false
		for b, r := range roots {
			trial[b] = r.x
			if !r.done && !stuck[b] {
				active = true
				trial[b] = floats.AddScaledTo(make([]float64, len(r.x)), r.x, mem[b].alpha, mem[b].step)
			}
		}
		if !active {
			return nil
		}
		f, err := e.residual(trial)
		if err != nil {
			return err
		}
		for b, r := range roots {
			if r.done || stuck[b] {
				continue
			}
			m := mem[b]
			r.iterations++
			norm := floats.Norm(f[b], 2)
			if !(norm < r.norm) { // also where it is not a number
				m.alpha /= 4
				stuck[b] = m.alpha < 1e-2
				continue
			}
			// s = αd, y = f⁺ − f:  B⁺ = B + (s − B y) sᵀB / (sᵀ B y)
			s := floats.ScaleTo(make([]float64, len(r.x)), m.alpha, m.step)
			by := apply(m, floats.SubTo(make([]float64, len(r.f)), f[b], r.f))
			if den := floats.Dot(s, by); den != 0 {
				w := append([]float64{}, s...)
				for _, k := range m.updates { // sᵀB
					floats.AddScaled(w, floats.Dot(s, k.u), k.w)
				}
				u := floats.SubTo(make([]float64, len(s)), s, by)
				floats.Scale(1/den, u)
				m.updates = append(m.updates, update{u, w})
			}
			stuck[b] = norm > 0.98*r.norm && m.alpha < 1
			r.x, r.f, r.norm = trial[b], f[b], norm
			r.done = norm <= r.tol
			m.alpha, m.step = 1, apply(m, f[b])
			floats.Scale(-1, m.step)
		}
	}
	return nil
}

// newton is the inexact Newton method with GMRES and a backtracking line search on ‖F‖ (Eisenstat and Walker 1996).
func (e equations) newton(roots []*root, maxIterations int) error {
	for iteration := 0; ; iteration++ {
		active := false
		for _, r := range roots {
			active = active || !r.done
		}
		if !active {
			return nil
		}
		if iteration == maxIterations {
			for _, r := range roots {
				if !r.done {
					r.done, r.status = true, MaxIterations
				}
			}
			return nil
		}
		steps, err := e.gmres(roots, 1e-2, 40)
		if err != nil {
			return err
		}
		alpha := make([]float64, len(roots))
		searching := make([]bool, len(roots))
		for b, r := range roots {
			alpha[b], searching[b] = 1, !r.done
			if !r.done {
				r.iterations++
			}
		}
		for active {
			trial := make([][]float64, len(roots))
			for b, r := range roots {
				trial[b] = r.x
				if searching[b] {
					trial[b] = floats.AddScaledTo(make([]float64, len(r.x)), r.x, alpha[b], steps[b])
				}
			}
			f, err := e.residual(trial)
			if err != nil {
				return err
			}
			active = false
			for b, r := range roots {
				if !searching[b] {
					continue
				}
				norm := floats.Norm(f[b], 2)
				if norm <= (1-1e-4*alpha[b])*r.norm {
					r.x, r.f, r.norm = trial[b], f[b], norm
					r.done, searching[b] = norm <= r.tol, false
				} else if alpha[b] /= 2; alpha[b] < 1e-4 {
					r.done, r.status, searching[b] = true, Stalled, false
				} else {
					active = true
				}
			}
		}
	}
}

// gmres solves F'(x_b) d_b = −F_b for all open systems in step to the given relative residual.
func (e equations) gmres(roots []*root, eta float64, maxIterations int) ([][]float64, error) {
	x := make([][]float64, len(roots))
	v := make([][][]float64, len(roots)) // Krylov bases
	h := make([][][]float64, len(roots)) // Hessenberg matrices, column by column, made triangular by rotations
	cs := make([][][2]float64, len(roots))
	rhs := make([][]float64, len(roots))
	open := make([]bool, len(roots))
	for b, r := range roots {
		x[b], open[b] = r.x, !r.done
		v[b] = [][]float64{floats.ScaleTo(make([]float64, len(r.f)), -1/math.Max(r.norm, math.SmallestNonzeroFloat64), r.f)}
		rhs[b] = []float64{r.norm}
	}
	for k := range maxIterations {
		active := false
		dx := make([][]float64, len(roots))
		for b := range roots {
			dx[b] = v[b][len(v[b])-1]
			active = active || open[b]
		}
		if !active {
			break
		}
		w, err := e.derivative(x, dx)
		if err != nil {
			return nil, err
		}
		for b, r := range roots {
			if !open[b] {
				continue
			}
			col := make([]float64, k+2)
			for j, vj := range v[b] {
				col[j] = floats.Dot(w[b], vj)
				floats.AddScaled(w[b], -col[j], vj)
			}
			col[k+1] = floats.Norm(w[b], 2)
			if math.IsNaN(col[k+1]) {
				open[b] = false
				continue
			}
			next := floats.ScaleTo(make([]float64, len(w[b])), 1/math.Max(col[k+1], math.SmallestNonzeroFloat64), w[b])
			for j, g := range cs[b] {
				col[j], col[j+1] = g[0]*col[j]+g[1]*col[j+1], -g[1]*col[j]+g[0]*col[j+1]
			}
			rho := math.Hypot(col[k], col[k+1])
			if rho == 0 {
				open[b] = false
				continue
			}
			g := [2]float64{col[k] / rho, col[k+1] / rho}
			breakdown := col[k+1] <= 1e-14*rho
			col[k] = rho
			cs[b], h[b] = append(cs[b], g), append(h[b], col[:k+1])
			rhs[b] = append(rhs[b][:k], g[0]*rhs[b][k], -g[1]*rhs[b][k])
			v[b] = append(v[b], next)
			open[b] = !breakdown && math.Abs(rhs[b][k+1]) > eta*r.norm
		}
	}
	steps := make([][]float64, len(roots))
	for b, r := range roots {
		steps[b] = make([]float64, len(r.x))
		n := len(h[b])
		y := make([]float64, n)
		for i := n - 1; i >= 0; i-- {
			y[i] = rhs[b][i]
			for j := i + 1; j < n; j++ {
				y[i] -= h[b][j][i] * y[j]
			}
			y[i] /= h[b][i][i]
			floats.AddScaled(steps[b], y[i], v[b][i])
		}
	}
	return steps, nil
}
