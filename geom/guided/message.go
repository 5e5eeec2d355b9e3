package guided

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
)

// message is the function h(x) = exp(c − ½ ‖f − Bx‖²) of states x, [n][D], with B of [r][n] and f of [r][D]: what is seen from
// a place on a tree says so much about the state there. In the terms of F. van der Meulen and S. Sommer (Backward filtering
// forward guiding, 2025) H = BᵀB ⊗ I_D and F = Bᵀf. The root B in place of H makes H positive by construction: nothing
// is subtracted, and landmarks that nobody sees are columns of zeros. Without J, B is lower everywhere.
type message struct {
	b, f *mat.Dense
	c    float64
}

// observation is the message of a state that is seen with errors N(0, s²) in the rows that are marked.
func observation(v [][]float64, seen []bool, s float64) message {
	n, d := len(v), len(v[0])
	m := message{mat.NewDense(n, n, nil), mat.NewDense(n, d, nil), 0}
	for i := range v {
		if seen != nil && !seen[i] {
			continue
		}
		m.b.Set(i, i, 1/s)
		for a, x := range v[i] {
			m.f.Set(i, a, x/s)
		}
		m.c -= float64(d) * (0.5*math.Log(2*math.Pi) + math.Log(s))
	}
	return m
}

// transition is one step of the auxiliary process, x' = x + h(β + Jx) + N(0, Q ⊗ I_D).
type transition struct {
	q    *mat.Dense // Q, [n][n]
	beta *mat.Dense // hβ, [n][D]; nil is 0
	phi  *mat.Dense // I + hJ, [n][n]; nil is I
}

// back is the message before a step whose end has the message m: ∫ N(x'; Φx + β, Q) h(x') dx'. With S = I + B Q Bᵀ = C Cᵀ it
// has B' = C⁻¹BΦ, f' = C⁻¹(f − Bβ) and c' = c − D log det C.
func (m message) back(t transition) (message, error) {
	r, _ := m.b.Dims()
	_, d := m.f.Dims()
	var bq, s mat.Dense
	bq.Mul(m.b, t.q)
	s.Mul(&bq, m.b.T())
	sym := mat.NewSymDense(r, nil)
	for i := range r {
		for j := i; j < r; j++ {
			sym.SetSym(i, j, 0.5*(s.At(i, j)+s.At(j, i)))
		}
		sym.SetSym(i, i, sym.At(i, i)+1)
	}
	var chol mat.Cholesky
	if !chol.Factorize(sym) {
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
	out := message{new(mat.Dense), new(mat.Dense), m.c}
	if err := out.b.Solve(&l, b); ill(err) {
		return m, err
	}
	if err := out.f.Solve(&l, f); ill(err) {
		return m, err
	}
	for i := range r {
		out.c -= float64(d) * math.Log(l.At(i, i))
	}
	return out, nil
}

// ill is whether a system was not solved: one that is only badly conditioned was.
func ill(err error) bool {
	_, badly := err.(mat.Condition)
	return err != nil && !badly
}

// fuse is the product of messages about one state, with a lower B of [n][n]: the rows of all, turned so that n hold what they say. It is
// the upper factor of the columns in reverse order, read backwards.
func fuse(all []message) message {
	_, n := all[0].b.Dims()
	_, d := all[0].f.Dims()
	rows := 0
	for _, m := range all {
		r, _ := m.b.Dims()
		rows += r
	}
	b, f := mat.NewDense(max(rows, n), n, nil), mat.NewDense(max(rows, n), d, nil)
	out := message{}
	at := 0
	for _, m := range all {
		r, _ := m.b.Dims()
		for i := range r {
			for j := range n {
				b.Set(at+i, n-1-j, m.b.At(i, j))
			}
		}
		f.Slice(at, at+r, 0, d).(*mat.Dense).Copy(m.f)
		out.c += m.c
		at += r
	}
	var qr mat.QR
	qr.Factorize(b)
	var q, upper, turned mat.Dense
	qr.QTo(&q)
	qr.RTo(&upper)
	turned.Mul(q.T(), f)
	out.b, out.f = mat.NewDense(n, n, nil), mat.NewDense(n, d, nil)
	for i := range n {
		for j := range i + 1 {
			out.b.Set(i, j, upper.At(n-1-i, n-1-j))
		}
		out.f.SetRow(i, turned.RawRowView(n-1-i))
	}
	for i := n; i < max(rows, n); i++ {
		row := turned.RawRowView(i)
		out.c -= 0.5 * floats.Dot(row, row)
	}
	return out
}

// log is log h(x).
func (m message) log(x [][]float64) float64 {
	_, n := m.b.Dims()
	_, d := m.f.Dims()
	state := mat.NewDense(n, d, nil)
	for i := range x {
		state.SetRow(i, x[i])
	}
	var e mat.Dense
	e.Mul(m.b, state)
	e.Sub(m.f, &e)
	size := mat.Norm(&e, 2)
	return m.c - 0.5*size*size
}
