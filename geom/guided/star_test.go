package guided

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/linalg"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
)

// halfSpace is hyperbolic space in coordinates (x, y, u) of R³, with the metric e^(−2u) (dx² + dy²) + du².
type halfSpace struct{}

func (halfSpace) Dim() int { return 3 }

func (halfSpace) G(x *Node) *Node {
	u := SliceAxis(x, -1, AxisRange(2, 3))
	inverse := Exp(MulScalar(u, -2))
	d := Concatenate([]*Node{inverse, inverse, OnesLike(u)}, -1)
	return Mul(BroadcastPrefix(linalg.Eye(x.Graph(), x.DType(), 3), d.Shape().Dimensions[:d.Rank()-1]...), ExpandAxes(d, -1))
}

// heatKernel is log p_T(x, y), (2πT)^(−3/2) r/sinh r exp(−T/2 − r²/2T), the density of Brownian motion by volume.
func (halfSpace) heatKernel(T float64, x, y []float64) float64 {
	off := math.Hypot(x[0]-y[0], x[1]-y[1])
	cosh := math.Cosh(x[2]-y[2]) + 0.5*off*off*math.Exp(-x[2]-y[2])
	r := math.Max(math.Acosh(math.Max(cosh, 1)), 1e-9)
	return math.Log(r/math.Sinh(r)) - 1.5*math.Log(2*math.Pi*T) - T/2 - r*r/(2*T)
}

// A star whose root is x has the likelihood of bridges from x that are independent, Π_j ∫ p_T(x, y) N(v_j; y, noise²) dy: the diffusion
// mean, which maximises Π_j p_T(x, v_j), is the mode of a root without a prior, not its mean.
func TestStar(t *testing.T) {
	const T, noise, steps = 0.25, 0.05, 16
	leaves := []geom.Vec{{0.6, 0.1, 0.2}, {-0.4, 0.3, -0.3}, {0.1, -0.7, 0.3}, {0.3, 0.2, -0.6}}
	even := expect.Must(tree.New([]int{-1, 0, 0, 0, 0}, []float64{0, T, T, T, T}, nil))
	for i, x := range []geom.Vec{{0.3, -0.2, 0.3}} {
		want := 0.0
		for _, v := range leaves {
			var logs []float64
			for i := range 27 { // the rule of Gauss and Hermite of three points along each axis
				y, log := geom.Vec{v[0], v[1], v[2]}, 0.0
				for a, k := range []int{i % 3, i / 3 % 3, i / 9} {
					y[a] += noise * math.Sqrt(3) * float64(k-1)
					log += math.Log([]float64{1. / 6, 2. / 3, 1. / 6}[k])
				}
				logs = append(logs, log+halfSpace{}.heatKernel(T, x, y)-2*y[2]) // √det g = e^(−2u)
			}
			want += floats.LogSumExp(logs)
		}
		s := prepared(t, stochastic.Brownian(geom.On(halfSpace{}), x), even, Observations[geom.Vec]{Leaves: leaves, Noise: noise}, Options{Steps: steps, Chains: 300, Seed: uint64(i)})
		s.shake()
		w, _ := s.weigh()
		total := floats.LogSumExp(w)
		for c := range w {
			w[c] = math.Exp(w[c]-total) * float64(len(w))
		}
		expect.Estimate(t, fmt.Sprintf("log likelihood of %v", x), total-math.Log(float64(len(w))), stat.StdErr(stat.StdDev(w, nil), float64(len(w))), want)
	}
}
