package framebundle

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// minimiser searches for the minimum of a function of few variables by the BFGS method with the whole Hessian (J. Nocedal and
// S. J. Wright, Numerical Optimization, 2006, chapter 6). It says where the function is to be evaluated next, so that many
// searches share a call.
type minimiser struct {
	trial   []float64 // where value and gradient are wanted
	x       []float64 // the best point
	value   float64
	hessian *mat.SymDense
	// decrement is ½ gᵀ H⁻¹ g: by how much the value exceeds the minimum, as far as the Hessian is known.
	decrement float64
	done      bool

	gradient, step []float64 // at x
	slope, alpha   float64   // along the step, and the part of it that is tried
}

// learn takes value and gradient at the trial point. The search is done where the decrement is at most the tolerance.
func (m *minimiser) learn(value float64, gradient []float64, tolerance float64) {
	if m.done {
		return
	}
	if m.gradient != nil {
		const rounding = 1e-13
		finite := !math.IsNaN(value+floats.Norm(gradient, 1)) && !math.IsInf(value, 0)
		if !finite || value > m.value+1e-4*m.alpha*m.slope+rounding*math.Abs(m.value) {
			m.trial = m.x
			if m.alpha /= 4; m.alpha < 1e-6 {
				m.done = true
			} else {
				m.trial = floats.AddScaledTo(make([]float64, len(m.x)), m.x, m.alpha, m.step)
			}
			return
		}
		m.update(gradient)
	}
	m.x, m.value, m.gradient = m.trial, value, gradient
	var factor mat.Cholesky
	var step mat.VecDense
	if !factor.Factorize(m.hessian) || factor.SolveVecTo(&step, mat.NewVecDense(len(m.x), gradient)) != nil {
		m.done = true
		return
	}
	m.step = floats.ScaleTo(make([]float64, len(m.x)), -1, step.RawVector().Data)
	m.slope, m.alpha = floats.Dot(m.step, gradient), 1
	m.decrement = -m.slope / 2
	if m.done = m.decrement <= tolerance; !m.done {
		m.trial = floats.AddTo(make([]float64, len(m.x)), m.x, m.step)
	}
}

// update changes the Hessian so that it takes the last step to the change of the gradient, damped after Powell where it would
// not stay positive.
func (m *minimiser) update(gradient []float64) {
	s := mat.NewVecDense(len(m.x), floats.SubTo(make([]float64, len(m.x)), m.trial, m.x))
	y := mat.NewVecDense(len(m.x), floats.SubTo(make([]float64, len(m.x)), gradient, m.gradient))
	var hs mat.VecDense
	hs.MulVec(m.hessian, s)
	shs, sy := mat.Dot(s, &hs), mat.Dot(s, y)
	if sy < 0.2*shs {
		theta := 0.8 * shs / (shs - sy)
		y.ScaleVec(theta, y)
		y.AddScaledVec(y, 1-theta, &hs)
		sy = 0.2 * shs
	}
	if shs > 0 {
		m.hessian.SymRankOne(m.hessian, -1/shs, &hs)
		m.hessian.SymRankOne(m.hessian, 1/sy, y)
	}
}

// renew goes on at the best point with another function, whose Hessian beyond 1 is so many times what it was.
func (m *minimiser) renew(factor float64) {
	m.done, m.gradient, m.trial = false, nil, m.x
	var eigen mat.EigenSym
	if factor == 1 || !eigen.Factorize(m.hessian, true) {
		return
	}
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	m.hessian.Zero()
	for k, v := range eigen.Values(nil) {
		if v > 1 {
			v = 1 + (v-1)*factor
		}
		m.hessian.SymRankOne(m.hessian, v, vectors.ColView(k))
	}
}
