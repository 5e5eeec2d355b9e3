package kernels

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"anatomy/internal/lists"
)

// expansion is a kernel as a sum of plane waves, periodic with a period L_a along every axis:
//
//	K(x, y) ≈ Σ_k c_k Π_a cos(2π k_a (x_a − y_a)/L_a),   0 ≤ k_a ≤ m_a
//
// It is invariant under translations and its own kernel, so that flows keep their Hamiltonian and linear momentum, and derivatives are
// those of the expansion. Kernels that decay have c_k ≥ 0, their Fourier transform. It holds for points no farther apart than Extent.
type expansion struct {
	Kernel           // the kernel that is expanded; Gram is its own
	Extent []float64 // greatest difference of two points along each axis
	// Error is the greatest error of K/K(0) and of ∇K/max|∇K| that was met on a grid in the box of Extent, with a bound of what the grid
	// of a Gridded adds.
	Error  float64
	Modes  []int     // m_a
	Period []float64 // L_a

	core []float64 // c_k, the last axis fastest
}

// Fits says whether the expansion holds for points.
func (k *expansion) Fits(points [][]float64) error {
	if len(points) == 0 {
		return nil
	}
	if d := len(points[0]); d != len(k.Extent) {
		return fmt.Errorf("the points have %d coordinates, the plane waves of %s hold for %d: expand the kernel for such points",
			d, k.Kernel, len(k.Extent))
	}
	for a, e := range Extent(points) {
		if !(e <= k.Extent[a]*(1+1e-12)) {
			return fmt.Errorf("the points spread over %.4g along axis %d, the plane waves of %s hold for %.4g: expand the kernel for a wider extent",
				e, a, k.Kernel, k.Extent[a])
		}
	}
	return nil
}

// Extent is the width of the box of points along each axis; NaN where a coordinate is, and where points have not as many of them as the
// first one.
func Extent(points [][]float64) []float64 {
	low, high := slices.Clone(points[0]), slices.Clone(points[0])
	for _, p := range points {
		if len(p) != len(low) {
			return slices.Repeat([]float64{math.NaN()}, len(low))
		}
		for a, v := range p {
			low[a], high[a] = min(low[a], v), max(high[a], v)
		}
	}
	return floats.SubTo(high, high, low)
}

// sizes are the 2m_a + 1.
func (k *expansion) sizes() []int { return lists.Each(k.Modes, func(m int) int { return 2*m + 1 }) }

// coreDims are the m_a + 1, the shape of the coefficients.
func (k *expansion) coreDims() []int { return lists.Each(k.Modes, func(m int) int { return m + 1 }) }
