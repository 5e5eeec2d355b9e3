package landmarks_test

import (
	"testing"

	"anatomy/geom/geomtest"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// The landmark space is a manifold like the others, with each kernel that has the derivatives that curvature wants.
func TestGeometry(t *testing.T) {
	triangle := []float64{0, 0, 1, 0.2, 0.3, 0.9}
	flat := []float64{-1, 0, 0, 0.1, 1.2, -0.1}
	for _, m := range []landmarks.Manifold{
		{N: 3, D: 2, Kernel: kernels.Gaussian(0.7, 1.1)},
		{N: 2, D: 3, Kernel: kernels.Cauchy(0.9)},
		{N: 3, D: 2, Kernel: kernels.Laplace(2, 0.4)},
		{N: 3, D: 2, Kernel: kernels.Sum([]float64{0.7, 0.3}, kernels.Gaussian(1), kernels.Laplace(3, 0.3))},
	} {
		t.Run(m.Kernel.String(), func(t *testing.T) {
			t.Parallel()
			geomtest.Run(t, m, triangle, flat)
		})
	}
}
