package landmarks_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// A step of the flow is the Cholesky factor of the scaled kernel matrix times the noise.
func TestKunita(t *testing.T) {
	const width, amplitude = 0.7, 0.3
	q := [][]float64{{0, 0}, {0.8, 0.1}, {0.3, 0.6}}
	s := landmarks.New(3, 2, kernels.Gaussian(1.2))
	process := expect.Must(s.Kunita(q, width, amplitude))
	paths := expect.Must(process.Paths(stochastic.Run{Paths: 2, Steps: 1, Time: 0.5, Seed: 1}))
	k := mat.NewSymDense(3, nil)
	for i := range q {
		for j := range q {
			k.SetSym(i, j, amplitude*math.Exp(-(math.Pow(q[i][0]-q[j][0], 2)+math.Pow(q[i][1]-q[j][1], 2))/(2*math.Pow(1.2*width, 2))))
		}
	}
	var chol mat.Cholesky
	chol.Factorize(k)
	var l mat.TriDense
	chol.LTo(&l)
	for path := range paths.Points {
		want := make([][]float64, 3)
		for i := range q {
			want[i] = append([]float64{}, q[i]...)
			for j := range i + 1 {
				for a := range 2 {
					want[i][a] += l.At(i, j) * paths.Noise[path][1][2*j+a]
				}
			}
		}
		expect.Abs(t, "end", paths.Points[path][1], want, 1e-12)
	}
	expect.Refused(t, expect.Error(s.Kunita(q, 0, 1)), "width 0")
	expect.Refused(t, expect.Error(s.Kunita(q, 1, math.Inf(1))), "amplitude +Inf")
}
