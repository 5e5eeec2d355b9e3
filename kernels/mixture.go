package kernels

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"anatomy/internal/lists"
	"anatomy/kernels/native"
)

// gaussian is weight·exp(−rate·s), s the squared distance in units of the widths.
type gaussian struct{ weight, rate float64 }

// mixture writes Gaussian and Cauchy kernels as a sum of Gaussians that is off by at most the tolerance, relative to K(0) and to the
// greatest slope; false for other kernels. The Cauchy kernel is
//
//	1/(1 + s) = ∫ exp(y − e^y (1 + s)) dy,
//
// to which the trapezoid rule converges faster than any power of its step.
func mixture(terms []native.Term, tolerance float64) (out []gaussian, ok bool) {
	for _, t := range terms {
		switch weight := t.Derivatives[0].A[0]; t.Kind {
		case native.Exponential:
			out = append(out, gaussian{weight, t.Ratio / 2})
		case native.Fraction:
			// With ω = 2π/step the rule is off by 2|Γ(1 + iω)|, about √(8πω) e^(−πω/2), and by ω times as much of the slope; what
			// lies beyond the ends is e^first and less than e^(−e^last).
			digits := -math.Log(tolerance)
			step, first, last := math.Pi*math.Pi/(digits+8), math.Log(tolerance/4), math.Log(digits+5)
			for y := first; y < last; y += step {
				rate := math.Exp(y)
				out = append(out, gaussian{weight * step * rate * math.Exp(-rate), rate * t.Ratio})
			}
		default:
			return nil, false
		}
	}
	return out, len(out) > 0
}

// mixtureCore has the coefficients of a sum of Gaussians: each is a product of those along the axes, windows and images too.
func (s *sampler) mixtureCore(e *Expansion, axes []axis, gaussians []gaussian) []float64 {
	q := len(gaussians)
	products := lists.Each(gaussians, func(g gaussian) float64 { return g.weight }) // [q, coefficients of the axes so far]
	var first blas64.General
	for a := len(axes) - 1; a >= 0; a-- {
		half := 0
		if e.Extent[a] > 0 {
			half = goodLength(4*e.Modes[a], 1)
		}
		x, factors, owner := axes[a].grid(half)
		along := make([]float64, q*(half+1))
		for i, g := range gaussians {
			for j, c := range x {
				along[i*(half+1)+owner[j]] += factors[j] * math.Exp(-g.rate*c*c*s.scale[a]*s.scale[a])
			}
		}
		along = cosines(along, []int{q, half + 1}, 1, e.Modes[a])
		m := e.Modes[a] + 1
		if a == 0 {
			first = blas64.General{Rows: q, Cols: m, Stride: m, Data: along}
			break
		}
		n := len(products) / q
		more := make([]float64, 0, len(products)*m)
		for i := range q {
			for _, c := range along[i*m : (i+1)*m] {
				for _, p := range products[i*n : (i+1)*n] {
					more = append(more, c*p)
				}
			}
		}
		products = more
	}
	n := len(products) / q
	core := blas64.General{Rows: first.Cols, Cols: n, Stride: n, Data: make([]float64, first.Cols*n)}
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, first, blas64.General{Rows: q, Cols: n, Stride: n, Data: products}, 0, core)
	return core.Data
}
