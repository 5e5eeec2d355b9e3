package kernels

import (
	"fmt"
	"math"
	"slices"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom/autodiff"
	"anatomy/kernels/native"
)

// inside is the polynomial Σ_j a_j u^j, u = 2s/edge − 1, that the far part is for s < edge.
type inside struct {
	edge float64
	a    []float64
}

func (p inside) slope() inside { // by s
	return inside{p.edge, combine(2/p.edge, derivative(p.a), 0, nil)}
}

func (p inside) at(s float64) float64 { return polynomial(p.a, 2*s/p.edge-1) }

// far is the far part of a kernel with derivatives m by s, of which there are values and slopes.
func (p inside) far(profile func(m int, s float64) float64) func(m int, s float64) float64 {
	parts := []inside{p, p.slope()}
	return func(m int, s float64) float64 {
		if s >= p.edge {
			return profile(m, s)
		}
		return parts[m].at(s)
	}
}

// polynomial is Σ_j a_j u^j.
func polynomial(a []float64, u float64) float64 {
	v := 0.0
	for j := len(a) - 1; j >= 0; j-- {
		v = v*u + a[j]
	}
	return v
}

func derivative(a []float64) []float64 {
	out := make([]float64, max(1, len(a)-1))
	for j := 1; j < len(a); j++ {
		out[j-1] = float64(j) * a[j]
	}
	return out
}

func times(a, b []float64) []float64 {
	out := make([]float64, len(a)+len(b)-1)
	for i, v := range a {
		for j, w := range b {
			out[i+j] += v * w
		}
	}
	return out
}

// nearTolerance is the share of the tolerance that the polynomial of a near part takes.
const nearTolerance = 0.1

// nearPart is what a kernel of such terms is more than the far part: with t the distance over the radius and u = 2t − 1, the polynomial
//
//	(1 − t)³ (k_0 + (3k_0 + k_1) t + t² W(u)), k_0 and k_1 the value and the slope by t at 0,
//
// of least degree that is off by at most a tenth of the tolerance relative to K(0) and to the greatest slope of the whole kernel, and
// by at most ten times the tolerance relative to the greatest second derivative by the distance. It ends with two derivatives at the
// radius.
func nearPart(terms []native.Term, far inside, reach []float64, tolerance float64) (radial, error) {
	const nodes = 96
	radius := math.Sqrt(far.edge)
	k0, k1 := valueOf(terms, 0, 0)-far.at(0), 0.0
	for _, t := range terms {
		if d := t.Derivatives[1]; d.Divide > 0 {
			k1 += 2 * radius / math.Sqrt(t.Ratio) * d.A[0]
		}
	}
	var units [3]float64 // of derivatives by the distance
	for m := range units {
		units[m] = []float64{1, 1, 0.01}[m] / greatest(terms, m)
	}
	var us [nodes]float64
	for i := range us {
		us[i] = math.Cos(math.Pi * (float64(i) + 0.5) / nodes)
	}
	rows := func(p []float64) (out []float64) {
		for m := range units {
			for _, u := range us {
				out = append(out, units[m]*polynomial(p, u)*math.Pow(2/radius, float64(m)))
			}
			p = derivative(p)
		}
		return out
	}
	up, down := []float64{0.5, 0.5}, []float64{0.5, -0.5} // t and 1 − t
	cube := times(down, times(down, down))
	fixed := times(cube, combine(1, []float64{k0}, 3*k0+k1, up))
	wanted := make([]float64, 3*nodes)
	slope := far.slope()
	curvature := slope.slope()
	for i, u := range us {
		r := radius * (1 + u) / 2
		s := r * r
		near := [3]float64{valueOf(terms, 0, s) - far.at(s), valueOf(terms, 1, s) - slope.at(s), valueOf(terms, 2, s) - curvature.at(s)}
		for m := range units {
			wanted[m*nodes+i] = units[m] * byDistance(m, near, r)
		}
	}
	missing := mat.NewVecDense(len(wanted), floats.SubTo(make([]float64, len(wanted)), wanted, rows(fixed)))
	var basis, columns [][]float64 // of W, by Chebyshev's polynomials
	before, now := []float64{0, 1}, []float64{1}
	for len(now)+5 <= native.Powers {
		basis = append(basis, times(times(cube, times(up, up)), now))
		columns = append(columns, rows(basis[len(basis)-1]))
		before, now = now, combine(2, append([]float64{0}, now...), -1, before)
		a, x := mat.NewDense(len(wanted), len(columns), nil), mat.VecDense{}
		for j, c := range columns {
			a.SetCol(j, c)
		}
		if err := x.SolveVec(a, missing); err != nil {
			break
		}
		p := fixed
		for j, b := range basis {
			p = combine(1, p, x.AtVec(j), b)
		}
		if floats.Distance(rows(p), wanted, math.Inf(1)) <= nearTolerance*tolerance {
			return newPiece(p, k1 == 0, reach), nil
		}
	}
	return radial{}, fmt.Errorf("kernels.Fast: no polynomial of degree %d is the near part within %.3g to %g", native.Powers-1, reach, nearTolerance*tolerance)
}

// newPiece is the polynomial p of u = 2t − 1, with t the distance in units of the widths, for t < 1, else 0. If it is flat, its
// derivative by t is 0 at 0.
func newPiece(p []float64, flat bool, widths []float64) radial {
	derivatives := [3]piece{{A: p}}
	derivatives[1] = derivatives[0].slope()
	if flat {
		derivatives[1] = piece{A: overT(derivatives[1].A)}
	}
	derivatives[2] = derivatives[1].slope()
	k := newRadial("near part", widths, func(s *Node) *Node { return derivatives[0].value(s, derivatives[1:]) })
	k.kind = native.Piece
	k.derivative = func(m int) native.Derivative {
		return native.Derivative{Divide: derivatives[m].Divide, A: slices.Clone(derivatives[m].A)}
	}
	return k
}

// piece is Σ_j A_j u^j/t^Divide for t = √s < 1.
type piece native.Derivative

// slope is the derivative by s, (2t p' − Divide p)/(2t^(Divide + 2)).
func (p piece) slope() piece {
	d := derivative(p.A)
	if p.Divide == 0 {
		return piece{1, d}
	}
	return piece{p.Divide + 2, combine(1, times([]float64{0.5, 0.5}, d), -float64(p.Divide)/2, p.A)}
}

// overT is a polynomial that is 0 at t = 0 over t = (1 + u)/2.
func overT(a []float64) []float64 {
	out := make([]float64, len(a)-1)
	last := 0.0
	for j := len(a) - 1; j > 0; j-- {
		last = 2*a[j] - last
		out[j-1] = last
	}
	return out
}

// value is the piece at s on the graph, whose derivatives by s are given, and then by slope.
func (p piece) value(s *Node, derivatives []piece) *Node {
	atZero := Equal(s, ZerosLike(s))
	t := Sqrt(Where(atZero, OnesLike(s), s))
	if p.Divide == 0 {
		t = Sqrt(s)
	}
	u := AddScalar(MulScalar(t, 2), -1)
	v := ZerosLike(s)
	for j := len(p.A) - 1; j >= 0; j-- {
		v = Add(Mul(v, u), number(s, p.A[j]))
	}
	for range p.Divide {
		v = Div(v, t)
	}
	v = Where(LessThan(s, OnesLike(s)), v, ZerosLike(s))
	if p.Divide > 0 {
		v = Where(atZero, ZerosLike(s), v)
	}
	return autodiff.CustomVJP([]*Node{s}, []*Node{v}, func(ct []*Node) []*Node {
		if len(derivatives) == 0 {
			derivatives = []piece{p.slope()}
		}
		return []*Node{Mul(ct[0], derivatives[0].value(s, derivatives[1:]))}
	})[0]
}

// combine is a·p + b·q of polynomials.
func combine(a float64, p []float64, b float64, q []float64) []float64 {
	out := make([]float64, max(len(p), len(q)))
	for j, v := range p {
		out[j] += a * v
	}
	for j, v := range q {
		out[j] += b * v
	}
	return out
}
