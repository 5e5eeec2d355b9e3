package kernels_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/kernels"
)

func TestMain(m *testing.M) { geomtest.Main(m, geomtest.Quick) }

var cases = map[string]struct {
	kernel  kernels.Kernel
	profile func(r float64) float64 // of the distance, width 0.7
}{
	"gaussian":  {kernels.Gaussian(0.7), func(r float64) float64 { return math.Exp(-r * r / 0.98) }},
	"cauchy":    {kernels.Cauchy(0.7), func(r float64) float64 { return 1 / (1 + r*r/0.49) }},
	"laplace 0": {kernels.Laplace(0, 0.7), func(r float64) float64 { return math.Exp(-r / 0.7) }},
	"laplace 1": {kernels.Laplace(1, 0.7), func(r float64) float64 { r /= 0.7; return (1 + r) * math.Exp(-r) }},
	"laplace 2": {kernels.Laplace(2, 0.7), func(r float64) float64 { r /= 0.7; return (1 + r + r*r/3) * math.Exp(-r) }},
	"laplace 3": {kernels.Laplace(3, 0.7), func(r float64) float64 {
		r /= 0.7
		return (1 + r + 2*r*r/5 + r*r*r/15) * math.Exp(-r)
	}},
	"anisotropic": {kernels.Gaussian(0.7, 0.7, 0.7), func(r float64) float64 { return math.Exp(-r * r / 0.98) }},
	"sum": {kernels.Sum([]float64{2, 0.5}, kernels.Gaussian(0.7), kernels.Cauchy(0.3)), func(r float64) float64 {
		return 2*math.Exp(-r*r/0.98) + 0.5/(1+r*r/0.09)
	}},
}

var points = [][]float64{{0, 0, 0.1}, {0.4, -0.2, 0.3}, {1, 0.5, -0.6}, {-0.3, 0.8, 0.2}}

func TestGramIsTheProfile(t *testing.T) {
	for name, c := range cases {
		out, err := engine.Run(func(x *Node) *Node { return c.kernel.Gram(x, x) }, points)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range out.Matrix(0) {
			for j, got := range row {
				r := math.Hypot(math.Hypot(points[i][0]-points[j][0], points[i][1]-points[j][1]), points[i][2]-points[j][2])
				if want := c.profile(r); !(math.Abs(got-want) < 1e-15*10) {
					t.Errorf("%s: K[%d][%d] = %.17g, want %.17g", name, i, j, got, want)
				}
			}
		}
	}
}

// The gradient of ½ Σ p_i·p_j K(x_i, x_j), diagonal included, is finite and equals central differences.
func TestGradient(t *testing.T) {
	p := [][]float64{{1, 0.2, -0.4}, {-0.5, 0.3, 0.8}, {0.1, -0.9, 0.6}, {0.7, 0.4, 0.2}}
	for name, c := range cases {
		f := engine.Compile(func(x, p *Node) []*Node {
			k := c.kernel.Gram(x, x)
			h := MulScalar(ReduceAllSum(Mul(p, DotGeneral(k, []int{1}, nil, p, []int{0}, nil))), 0.5)
			velocity, force := c.kernel.Hamilton(x, p)
			grad := Gradient(h, x, p)
			return []*Node{h, grad[0], force, ReduceAllMax(Abs(Sub(velocity, grad[1])))}
		})
		x := make([][]float64, len(points))
		for i := range x {
			x[i] = append([]float64{}, points[i]...)
		}
		out, err := f.Call(x, p)
		if err != nil {
			t.Fatal(err)
		}
		if out.Scalar(3) > 1e-15 {
			t.Errorf("%s: velocity is %g off", name, out.Scalar(3))
		}
		g, force := out.Matrix(1), out.Matrix(2)
		const h = 1e-5
		for i := range x {
			for a := range x[i] {
				at := func(d float64) float64 {
					old := x[i][a]
					x[i][a] += d
					o, err := f.Call(x, p)
					if err != nil {
						t.Fatal(err)
					}
					x[i][a] = old
					return o.Scalar(0)
				}
				expect.Abs(t, name+": force", force[i][a], -g[i][a], 1e-14)
				want := (8*(at(h)-at(-h)) - at(2*h) + at(-2*h)) / (12 * h)
				expect.Abs(t, fmt.Sprintf("%s: gradient[%d][%d]", name, i, a), g[i][a], want, 1e-9)
			}
		}
	}
}

func TestAnisotropicWidthsScaleTheAxes(t *testing.T) {
	w := []float64{0.5, 2, 1.5}
	scaled := make([][]float64, len(points))
	for i, p := range points {
		scaled[i] = []float64{p[0] / w[0], p[1] / w[1], p[2] / w[2]}
	}
	gram := func(k kernels.Kernel, x [][]float64) []float64 {
		return expect.Must(engine.Run(func(x *Node) *Node { return k.Gram(x, x) }, x)).Flat(0)
	}
	got, want := gram(kernels.Gaussian(w...), points), gram(kernels.Gaussian(1), scaled)
	expect.Abs(t, "entries", got, want, 1e-15)
}

func TestBadKernels(t *testing.T) {
	for want, make := range map[string]func(){
		"width 0 is -1":         func() { kernels.Gaussian(-1) },
		"width 1 is NaN":        func() { kernels.Cauchy(1, math.NaN()) },
		"no width":              func() { kernels.Gaussian() },
		"width 0 is +Inf":       func() { kernels.Cauchy(math.Inf(1)) },
		"Radial: no profile":    func() { kernels.Radial("mine", nil, 1) },
		"order 9, want 0 to 6":  func() { kernels.Laplace(9, 1) },
		"weight 0 is 0":         func() { kernels.Sum([]float64{0}, kernels.Gaussian(1)) },
		"weight 0 is +Inf":      func() { kernels.Sum([]float64{math.Inf(1)}, kernels.Gaussian(1)) },
		"1 weights for 2 kerne": func() { kernels.Sum([]float64{1}, kernels.Gaussian(1), kernels.Gaussian(2)) },
	} {
		func() {
			defer func() {
				if p, _ := recover().(string); !strings.Contains(p, want) {
					t.Errorf("panic %q, want %q", p, want)
				}
			}()
			make()
		}()
	}
	_, err := engine.Run(func(x *Node) *Node { return kernels.Gaussian(1, 2).Gram(x, x) }, points)
	expect.Refused(t, err, "has 2 widths, the points (Float64)[4, 3] have 3 coordinates")
}
