package guided

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/internal/dense"
)

// message is the function h(x) = exp(−½ ‖f − Bx‖²) of states x, [n][D], with B of [r][n] and f of [r][D], up to a factor, which no weight
// depends on: what is seen from a place on a tree says so much about the state there. In the terms of F. van der Meulen and S. Sommer
// (Backward filtering forward guiding, 2025) H = BᵀB ⊗ I_D and F = Bᵀf. The root B in place of H makes H positive by construction:
// nothing is subtracted, and landmarks that nobody sees are columns of zeros. Without J, B is lower everywhere.
type message struct{ b, f *mat.Dense }

// observation is the message of the first rows of a state of n rows, [r][D], that are seen with errors N(0, 1); rows of NaN were not seen.
func observation(values [][]float64, n int) message {
	m := message{mat.NewDense(n, n, nil), mat.NewDense(n, len(values[0]), nil)}
	for i, row := range values {
		if !math.IsNaN(row[0]) {
			m.b.Set(i, i, 1)
			m.f.SetRow(i, row)
		}
	}
	return m
}

// packed is the message with a lower B of [n][n] in half the memory, [⌈n/2⌉][n + 1]: row i of B and, from the right, row n − 1 − i are in one
// row, of which the first is the longer one. It is the message as it is where J makes B full, or n is 1. See unpacked.
func (m model) packed(x message) message {
	rows, columns := m.packedSize()
	if rows == m.n {
		return x
	}
	b := mat.NewDense(rows, columns, nil)
	for i := range m.n {
		for j := range i + 1 {
			if 2*i >= m.n-1 {
				b.Set(m.n-1-i, j, x.b.At(i, j))
			}
			if 2*i <= m.n-1 {
				b.Set(i, m.n-j, x.b.At(i, j))
			}
		}
	}
	return message{b, x.f}
}

// packedSize is the size of the B of packed messages.
func (m model) packedSize() (rows, columns int) {
	if m.flat || m.n == 1 {
		return m.n, m.n
	}
	return (m.n + 1) / 2, m.n + 1
}

// scaled is the message of observations with errors of standard deviation s, if m is that for errors of 1.
func (m message) scaled(s float64) message {
	out := message{new(mat.Dense), new(mat.Dense)}
	out.b.Scale(1/s, m.b)
	out.f.Scale(1/s, m.f)
	return out
}

// transition is one step of the auxiliary process, x' = x + h(β + Jx) + N(0, Q ⊗ I_D).
type transition struct {
	q    *mat.Dense // Q, [n][n]
	beta *mat.Dense // hβ, [n][D]; nil is 0
	phi  *mat.Dense // I + hJ, [n][n]; nil is I
}

// back is the message before a step whose end has the message m: ∫ N(x'; Φx + β, Q) h(x') dx'. With S = I + B Q Bᵀ = C Cᵀ it
// has B' = C⁻¹BΦ and f' = C⁻¹(f − Bβ).
func (m message) back(t transition) (message, error) {
	var bq, s mat.Dense
	bq.Mul(m.b, t.q)
	s.Mul(&bq, m.b.T())
	var chol mat.Cholesky
	if !chol.Factorize(dense.Shift(dense.Symmetric(&s), 1)) {
		return m, fmt.Errorf("the auxiliary process has a covariance that is not positive: landmarks coincide, or the kernel is too wide for their distances")
	}
	var l mat.TriDense
	chol.LTo(&l)
	f := mat.DenseCopyOf(m.f)
	if t.beta != nil {
		var shift mat.Dense
		shift.Mul(m.b, t.beta)
		f.Sub(f, &shift)
	}
	b := m.b
	if t.phi != nil {
		b = new(mat.Dense)
		b.Mul(m.b, t.phi)
	}
	out := message{new(mat.Dense), new(mat.Dense)}
	if err := out.b.Solve(&l, b); ill(err) {
		return m, err
	}
	if err := out.f.Solve(&l, f); ill(err) {
		return m, err
	}
	return out, nil
}

// ill is whether a system was not solved: one that is only badly conditioned was.
func ill(err error) bool {
	_, badly := err.(mat.Condition)
	return err != nil && !badly
}

// fuse is the product of messages about one state, with a lower B of [n][n] that has no negative number on its diagonal: the rows of
// all, turned so that n hold what they say. It is the upper factor of the columns in reverse order, read backwards. What the other rows
// hold does not depend on the state: the residual is their ‖f‖².
func fuse(all []message) (out message, residual float64) {
	_, n := all[0].b.Dims()
	_, d := all[0].f.Dims()
	rows := 0
	for _, m := range all {
		r, _ := m.b.Dims()
		rows += r
	}
	rows = max(rows, n)
	b, f := mat.NewDense(rows, n, nil), mat.NewDense(rows, d, nil)
	at := 0
	for _, m := range all {
		r, _ := m.b.Dims()
		for i := range r {
			for j := range n {
				b.Set(at+i, n-1-j, m.b.At(i, j))
			}
		}
		f.Slice(at, at+r, 0, d).(*mat.Dense).Copy(m.f)
		at += r
	}
	var qr mat.QR
	qr.Factorize(b)
	var q, upper, turned mat.Dense
	qr.QTo(&q)
	qr.RTo(&upper)
	turned.Mul(q.T(), f)
	out = message{mat.NewDense(n, n, nil), mat.NewDense(n, d, nil)}
	for i := range n {
		from := n - 1 - i
		sign := math.Copysign(1, upper.At(from, from))
		for j := range i + 1 {
			out.b.Set(i, j, sign*upper.At(from, n-1-j))
		}
		for a := range d {
			out.f.Set(i, a, sign*turned.At(from, a))
		}
	}
	for i := n; i < rows; i++ {
		residual += floats.Dot(turned.RawRowView(i), turned.RawRowView(i))
	}
	return out, residual
}
