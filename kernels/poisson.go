package kernels

import (
	"math"

	"gonum.org/v1/gonum/dsp/fourier"
)

// radialCore has the coefficients c_k of a radial kernel in three coordinates that is the sum over its images: by Poisson's formula
// they are its Fourier transform F at the frequencies ω of the waves, over the volume of the period; false for other kernels. In the
// units of the kernel's widths F depends on q = |ω| alone,
//
//	F(q) = 4π/q ∫ k(r²) sin(qr) r dr,
//
// so that one sine transform takes the place of cosine transforms of samples between the points of a grid.
func (s *sampler) radialCore(e *Expansion, axes []axis) ([]float64, bool) {
	if s.profile == nil || s.d != 3 {
		return nil, false
	}
	reach, highest, volume := 0.0, 0.0, 1.0
	squares := make([][]float64, 3) // of the frequencies along each axis
	for a, m := range e.Modes {
		if e.Extent[a] == 0 || axes[a].window {
			return nil, false
		}
		period := e.Period[a] * s.scale[a]
		for j := range m + 1 {
			q := 2 * math.Pi * float64(j) / period
			squares[a] = append(squares[a], q*q)
		}
		reach, highest, volume = math.Max(reach, axes[a].reach*s.scale[a]), highest+squares[a][m], volume*period
	}
	f := radialTransform(s.profile, reach, math.Sqrt(highest))
	core := make([]float64, len(squares[0])*len(squares[1])*len(squares[2]))
	inParts(len(squares[0]), func(from, to int) {
		for i := from; i < to; i++ {
			for j, second := range squares[1] {
				row := core[(i*len(squares[1])+j)*len(squares[2]):][:len(squares[2])]
				waves := float64(min(i, 1)+1) * float64(min(j, 1)+1) / volume // ±ω along each axis
				for l, third := range squares[2] {
					row[l] = waves * float64(min(l, 1)+1) * f.at(math.Sqrt(squares[0][i]+second+third))
				}
			}
		}
	})
	return core, true
}

// table is an even function at the points step·(i − 2).
type table struct {
	step   float64
	values []float64
}

// radialTransform is the Fourier transform in R³ of k(r²), which ends at the distance reach, up to the frequency highest.
func radialTransform(k func(m int, s float64) float64, reach, highest float64) table {
	// Samples are so close that what is aliased lies beyond seven times the highest frequency; frequencies, that polynomials of the fifth
	// degree between them are off by 1e-10 of F at most.
	const nearer, finer = 4, 64
	samples := int(math.Ceil(nearer*highest*reach/math.Pi)) + 8
	n, h := goodLength(finer*samples, 1), reach/float64(samples)
	v, at0 := make([]float64, n-1), 0.0
	for i := range samples {
		r := h * float64(i+1)
		v[i] = r * k(0, r*r)
		at0 += 4 * math.Pi * h * r * v[i]
	}
	fourier.NewDST(n-1).Transform(v, v) // 2 Σ_i v_i sin(q_j r_i), q_j = (j + 1)·step
	out := table{step: math.Pi / (float64(n) * h), values: []float64{0, 0, at0}}
	for j := range min(n-1, int(highest/out.step)+4) {
		out.values = append(out.values, 2*math.Pi*h*v[j]/(out.step*float64(j+1)))
	}
	out.values[0], out.values[1] = out.values[4], out.values[3]
	return out
}

// at is the polynomial through the six points around x ≥ 0.
func (t table) at(x float64) float64 {
	x /= t.step
	i := int(x)
	u, v := x-float64(i), t.values[i:i+6]
	a, b, c, d, e, f := u+2, u+1, u, u-1, u-2, u-3
	ab, ef, cd := a*b, e*f, c*d
	return cd*ef*(b*v[0]*(-1./120)+a*v[1]*(1./24)) + ab*ef*(d*v[2]*(-1./12)+c*v[3]*(1./12)) + ab*cd*(f*v[4]*(-1./24)+e*v[5]*(1./120))
}
