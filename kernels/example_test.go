package kernels_test

import (
	"fmt"
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// rational is the rational quadratic kernel (1 + |x − y|²/2aσ²)^−a: a kernel of one's own is a function of the squared distance.
func rational(a float64, sigma ...float64) kernels.Kernel {
	return kernels.Radial(fmt.Sprintf("rational quadratic %g", a), func(s *Node) *Node {
		return PowScalar(AddScalar(MulScalar(s, 1/(2*a)), 1), -a)
	}, sigma...)
}

// A kernel of one's own, in a sum with one of the package. Its velocities at two points, and a geodesic of landmarks.
func ExampleRadial() {
	k := kernels.Sum([]float64{0.5, 0.5}, rational(2, 1), kernels.Gaussian(1))
	out, err := engine.Run(func(x, p *Node) *Node {
		v, _ := k.Hamilton(x, p)
		return v
	}, [][]float64{{0, 0}, {2, 0}}, [][]float64{{1, 0}, {0, 0}})
	if err != nil {
		fmt.Println(err)
		return
	}
	g, err := landmarks.New(2, 2, k).Log([][]float64{{0, 0}, {2, 0}}, [][]float64{{0, 1}, {2, 0.5}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(k)
	fmt.Printf("K(x₁, x₀)p₀ = %.4f, by hand %.4f\n", out.Matrix(0)[1][0], 0.5*math.Pow(2, -2)+0.5*math.Exp(-2))
	fmt.Println("geodesic:", g.Status)
	// Output:
	// 0.5·rational quadratic 2(σ = 1) + 0.5·Gaussian(σ = 1)
	// K(x₁, x₀)p₀ = 0.1927, by hand 0.1927
	// geodesic: converged
}

// Sums over many points without their matrix: Fast chooses how.
func ExampleFast() {
	var circle [][]float64
	for i := range 5000 {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / 5000)
		circle = append(circle, []float64{cos, sin})
	}
	exact := kernels.Gaussian(0.2)
	fast, err := kernels.Fast(exact, 1e-8, circle)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := engine.Run(func(x *Node) []*Node {
		some := SliceAxis(x, 0, AxisRange(0, 10))
		return []*Node{ReduceAllMax(Abs(Sub(exact.Sum(some, x, x), fast.Sum(some, x, x))))}
	}, circle)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("within the tolerance:", out.Scalar(0) < 1e-8*5000)
	// Output: within the tolerance: true
}
