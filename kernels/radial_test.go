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

// A kernel of one's own that gives no numbers is refused, few points or many: where they coincide, beyond a distance, and everywhere.
func TestFastRefusesNaN(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 0))
	x := make([][]float64, 2000)
	for i := range x {
		x[i] = []float64{rng.NormFloat64(), rng.NormFloat64()}
	}
	for name, profile := range map[string]func(s *Node) *Node{
		"everywhere":        func(s *Node) *Node { return Sqrt(AddScalar(Neg(s), -1)) },
		"beyond a distance": func(s *Node) *Node { return Sqrt(OneMinus(s)) },
		"at distance 0":     func(s *Node) *Node { r := Sqrt(s); return Div(Sin(r), r) },
	} {
		for _, n := range []int{40, 2000} {
			_, err := kernels.Fast(kernels.Sum([]float64{1, 1}, kernels.Gaussian(1), kernels.Radial(name, profile, 1)), 1e-4, x[:n])
			expect.Refused(t, err, "no finite numbers", name)
		}
	}
}

// Wendland's kernel, which is 0 beyond its width, keeps its tolerance with whatever Fast chooses for it.
func TestFastOfCompactSupport(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 0))
	x := make([][]float64, 2500)
	for i := range x {
		x[i] = []float64{rng.Float64(), rng.Float64(), rng.Float64()}
	}
	for _, width := range []float64{0.2, 2} {
		own := kernels.Radial("Wendland", func(s *Node) *Node {
			r := Sqrt(MaxScalar(s, 1e-30))
			return Mul(Square(Square(MaxScalar(OneMinus(r), 0))), AddScalar(MulScalar(r, 4), 1))
		}, width)
		fast := expect.Must(kernels.Fast(own, 1e-3, x))
		out := expect.Must(engine.Run(func(x *Node) []*Node {
			few := SliceAxis(x, 0, AxisRange(0, 50))
			return []*Node{fast.Sum(few, x, x), own.Sum(few, x, x)}
		}, x))
		expect.Abs(t, "sums", out.Flat(0), out.Flat(1), 1e-3*2500)
	}
}

// Sums in float32 are as exact far away from the origin as at it, if the points are centred before.
func TestFloat32FarAway(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 0))
	x, b := make([][]float64, 300), make([][]float64, 300)
	for i := range x {
		x[i], b[i] = []float64{rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()}, []float64{rng.NormFloat64()}
	}
	k := kernels.Gaussian(0.5)
	sum := func(x, b *Node) *Node { return k.Sum(x, x, b) }
	want := expect.Must(engine.Run(sum, x, b)).Flat(0)
	single := engine.Compile(sum, engine.Float32(0))
	for _, offset := range []float64{0, 1e4, 1e6} {
		moved := make([][]float64, len(x))
		for i, p := range x {
			moved[i] = []float64{p[0] + offset, p[1] - offset, p[2]}
		}
		expect.Abs(t, "sums", expect.Must(single.Call(moved, b)).Flat(0), want, 5e-6)
	}
}
