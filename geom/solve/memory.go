package solve

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/internal/dense"
)

// Inverse is an approximation B = 1 + Σ_k u_k w_kᵀ of the inverse of a Jacobian that is close to the identity, as Broyden's "good"
// method learns it. The zero value is the identity.
type Inverse struct{ u, w [][]float64 }

// Identity reports whether B is the identity, that is, whether nothing has been learned.
func (b *Inverse) Identity() bool { return len(b.u) == 0 }

// Apply returns B y.
func (b *Inverse) Apply(y []float64) []float64 {
	z := append([]float64{}, y...)
	for k := range b.u {
		floats.AddScaled(z, floats.Dot(b.w[k], y), b.u[k])
	}
	return z
}

// Learn updates B to B + (s − B y) sᵀB/(sᵀ B y), so that B y = s, where s is a step and y the change of the function's value
// along it. If the denominator is nearly zero, at most 1e-8 |s|², B stays as it is.
func (b *Inverse) Learn(s, y []float64) {
	by := b.Apply(y)
	den := floats.Dot(s, by)
	if math.Abs(den) <= 1e-8*floats.Dot(s, s) {
		return
	}
	w := append([]float64{}, s...) // sᵀB
	for k := range b.u {
		floats.AddScaled(w, floats.Dot(s, b.u[k]), b.w[k])
	}
	u := floats.SubTo(make([]float64, len(s)), s, by)
	floats.Scale(1/den, u)
	b.u, b.w = append(b.u, u), append(b.w, w)
}

// Anderson remembers the last steps dx_k of a search for a root, and the changes df_k of the residual along them (D. G. Anderson,
// J. ACM 12, 1965).
type Anderson struct {
	Memory int // how many steps are remembered, at most as many as a step has components
	dx, df [][]float64
}

// Learn adds a step dx and the change df of the residual along it, and forgets the oldest step if there are more than Memory.
func (a *Anderson) Learn(dx, df []float64) {
	a.dx, a.df = append(a.dx, dx), append(a.df, df)
	if len(a.dx) > min(a.Memory, len(dx)) {
		a.dx, a.df = a.dx[1:], a.df[1:]
	}
}

// Forget removes all steps.
func (a *Anderson) Forget() { a.dx, a.df = nil, nil }

// Correct returns the point x − Σ c_k dx_k and the residual f − Σ c_k df_k, with the c_k for which the norm of this residual is
// least. If the residual were an affine function of x, this would be its value at the point. The next step starts from this point,
// and takes a direction that the memory does not cover. Steps that make the c_k ambiguous are forgotten, the oldest first.
func (a *Anderson) Correct(x, f []float64) (point, residual []float64) {
	point, residual = append([]float64{}, x...), append([]float64{}, f...)
	for len(a.df) > 0 {
		var qr mat.QR
		var c mat.VecDense
		qr.Factorize(dense.Rows(a.df).T())
		if err := qr.SolveVecTo(&c, false, mat.NewVecDense(len(f), f)); err != nil {
			a.dx, a.df = a.dx[1:], a.df[1:]
			continue
		}
		for j := range a.df {
			floats.AddScaled(point, -c.AtVec(j), a.dx[j])
			floats.AddScaled(residual, -c.AtVec(j), a.df[j])
		}
		break
	}
	return point, residual
}
