package kernels_test

import (
	"math"
	"math/rand/v2"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/autodiff"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/kernels"
	"anatomy/landmarks"
)

func ownGaussian(sigma ...float64) kernels.Kernel {
	return kernels.Radial("my own", func(s *Node) *Node { return Exp(MulScalar(s, -0.5)) }, sigma...)
}

// A Gaussian of one's own has the sums and the derivatives of Gaussian, with a width per axis, and keeps its diagonal exact.
func TestRadialIsTheKernel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	x, p := make([][]float64, 7), make([][]float64, 7)
	for i := range x {
		x[i], p[i] = []float64{100 + rng.NormFloat64(), rng.NormFloat64()}, []float64{rng.NormFloat64(), rng.NormFloat64()}
	}
	all := func(k kernels.Kernel) [][]float64 {
		out := expect.Must(engine.Run(func(x, p *Node) []*Node {
			v, f := k.Hamilton(x, p)
			second := autodiff.Grad(func(x *Node) *Node { _, f := k.Hamilton(x, p); return ReduceAllSum(Square(f)) }, x)
			return []*Node{k.Gram(x, x), k.Sum(x, x, p), v, f, second}
		}, x, p))
		var numbers [][]float64
		for i := range out {
			numbers = append(numbers, out.Flat(i))
		}
		return numbers
	}
	got, want := all(ownGaussian(0.8, 1.3)), all(kernels.Gaussian(0.8, 1.3))
	for i, what := range []string{"matrix", "sum", "velocities", "forces", "second derivatives"} {
		expect.Rel(t, what, got[i], want[i], 1e-12)
	}
	for i := range x {
		expect.Abs(t, "the diagonal", got[0][i*len(x)+i], 1, 0)
	}
}

// Kernels of one name and other profiles have programs of their own.
func TestRadialsOfOneName(t *testing.T) {
	length := func(k kernels.Kernel) float64 {
		return expect.Must(landmarks.New(2, 2, k).Log([][]float64{{0, 0}, {2, 0}}, [][]float64{{0, 1}, {2, 0.5}})).Length
	}
	own := func(rate float64) kernels.Kernel {
		return kernels.Radial("my own", func(s *Node) *Node { return Exp(MulScalar(s, -rate)) }, 1)
	}
	for _, sigma := range []float64{1, 2} {
		expect.Rel(t, "length", length(own(0.5/(sigma*sigma))), length(kernels.Gaussian(sigma)), 1e-9)
	}
}

// Fast sums of a kernel of one's own keep their tolerance.
func TestRadialIsFast(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	x, p := make([][]float64, 3000), make([][]float64, 3000)
	for i := range x {
		x[i], p[i] = []float64{rng.Float64(), rng.Float64()}, []float64{rng.NormFloat64()}
	}
	own := ownGaussian(0.2, 0.3)
	fast := expect.Must(kernels.Fast(own, 1e-6, x))
	t.Log(fast)
	out := expect.Must(engine.Run(func(x, p *Node) []*Node {
		some := SliceAxis(x, 0, AxisRange(0, 20))
		return []*Node{fast.Sum(some, x, p), kernels.Gaussian(0.2, 0.3).Sum(some, x, p)}
	}, x, p))
	expect.Abs(t, "fast sums", out.Flat(0), out.Flat(1), 1e-6*math.Sqrt(3000)*5)
}
