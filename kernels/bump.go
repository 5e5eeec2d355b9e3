package kernels

import (
	"math"
	"sync"

	"gonum.org/v1/gonum/integrate/quad"

	"anatomy/internal/lists"
	"anatomy/kernels/native"
)

// bump is φ(t) = (1 − t²) exp(β(√(1 − t²) − 1)), t in units of half of the cells that it covers, 0 beyond 1. The factor before the
// exponential makes the slope continuous.
type bump struct {
	width       int // cells
	ratio, beta float64
	samples     []float64 // at the angles, with their weights
}

// newBump is for grids with ratio times as many cells as waves. The β leaves least of the slope where the coefficients of the waves fall
// as those of a Gaussian, for widths around 8.
func newBump(width int, ratio float64) bump {
	b := bump{width: width, ratio: ratio, beta: float64(width) * (3.21 - 1.125/ratio)}
	angles := angles()
	for i, t := range angles.sines {
		b.samples = append(b.samples, angles.weights[i]*angles.cosines[i]*b.at(t)*float64(width))
	}
	return b
}

func (b bump) at(t float64) float64 {
	rest := math.Max(1-t*t, 0)
	return rest * math.Exp(b.beta*(math.Sqrt(rest)-1))
}

// angles are θ from 0 to π/2, by their sines and cosines, and weights of a quadrature over them: with t = sin θ a bump is smooth.
var angles = sync.OnceValue(func() (out struct{ sines, cosines, weights [80]float64 }) {
	theta := make([]float64, len(out.sines))
	quad.Legendre{}.FixedLocations(theta, out.weights[:], 0, math.Pi/2)
	for i, a := range theta {
		out.sines[i], out.cosines[i] = math.Sincos(a)
	}
	return out
})

// transform is ∫ φ(t) cos(ωt) dt, t in cells.
func (b bump) transform(omega float64) float64 {
	omega *= float64(b.width) / 2
	sum := 0.0
	for i, t := range angles().sines {
		sum += b.samples[i] * math.Cos(omega*t)
	}
	return sum
}

// polynomials are Chebyshev series of the bump over each of its cells, written in powers, that leave less than a hundredth of the
// tolerance of the slope.
func (b bump) polynomials(tolerance float64) [][]float64 {
	const nodes = native.MaxDegree + 1
	series := make([][]float64, b.width)
	for l := range series {
		series[l] = make([]float64, nodes)
		for i := range nodes {
			cosine := func(j int) float64 { return math.Cos(math.Pi * float64((2*i+1)*j%(4*nodes)) / (2 * nodes)) }
			v := b.at(((cosine(1)-1)/2-float64(l))/(float64(b.width)/2) + 1)
			for j := range series[l] {
				series[l][j] += v * cosine(j) * 2 / nodes
			}
		}
		series[l][0] /= 2
	}
	degree, left := nodes-1, 0.0
	for ; degree > 1; degree-- {
		for _, c := range series {
			if v := math.Abs(c[degree]); v > 1e-15 { // the rest is rounding
				left += v * float64(degree*degree) / float64(b.width)
			}
		}
		if left > tolerance/100 {
			break
		}
	}
	out := lists.Zeros(degree+1, b.width)
	for l, c := range series {
		before, now := []float64{0}, []float64{1}
		for j := range out {
			for i, v := range now {
				out[i][l] += c[j] * v
			}
			twice := 2.0
			if j == 0 {
				twice = 1
			}
			before, now = now, combine(twice, append([]float64{0}, now...), -1, before)
		}
	}
	return out
}
