// Package heat is what tests of Brownian motion on the sphere S² compare with.
package heat

import "math"

// legendre returns P_0 … P_n at x.
func legendre(n int, x float64) []float64 {
	p := []float64{1, x}
	for l := 1; l < n; l++ {
		k := float64(l)
		p = append(p, ((2*k+1)*x*p[l]-k*p[l-1])/(k+1))
	}
	return p
}

// Kernel is the heat kernel of S² at time T between points at an angle θ: Σ (2l+1)/4π e^{−l(l+1)T/2} P_l(cos θ).
func Kernel(T, cos float64) float64 {
	sum := 0.0
	for l, p := range legendre(60, cos) {
		k := float64(l)
		sum += (2*k + 1) / (4 * math.Pi) * math.Exp(-k*(k+1)*T/2) * p
	}
	return sum
}

// Cumulative is the probability that at time T the cosine of the angle from the start is at most c:
// (2l+1) P_l = (P_{l+1} − P_{l−1})'.
func Cumulative(T, c float64) float64 {
	p := legendre(61, c)
	sum := (1 + c) / 2
	for l := 1; l < 60; l++ {
		k := float64(l)
		sum += 0.5 * math.Exp(-k*(k+1)*T/2) * (p[l+1] - p[l-1])
	}
	return sum
}
