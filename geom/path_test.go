package geom_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// The curves of least energy approach the geodesics of the same ends with the square of the length of their chords: in charts that
// change from point to point, and between landmarks.
func TestRelaxed(t *testing.T) {
	sphere := manifold.Sphere(2)
	for _, c := range []struct {
		name    string
		m       geom.Manifold
		x, y, z []float64 // the curves lead over z, off the way
	}{
		{"sphere", struct{ geom.Charted }{sphere}, []float64{1, 0, 0}, []float64{-0.6, 0.8, 0}, []float64{0, 0.6, 0.8}},
		{"landmarks", landmarks.Manifold{N: 3, D: 2, Kernel: kernels.Gaussian(0.8)}, []float64{0, 0, 1, 0, 0, 1}, []float64{0.2, 0.5, 1.3, -0.4, 0, 1}, []float64{0, 0.6, 1, 0, 0.4, 1}},
	} {
		s := geom.On(c.m)
		g := expect.Must(s.Log(c.x, c.y))
		var off [2][2]float64 // errors of length and velocity with 8 chords and 16
		for k, n := range []int{8, 16} {
			curve := make([]geom.Vec, n+1)
			for i := range curve {
				t, from, to := 2*float64(i)/float64(n), c.x, c.z
				if t > 1 {
					t, from, to = t-1, c.z, c.y
				}
				curve[i] = floats.ScaleTo(make([]float64, len(c.x)), 1-t, from)
				floats.AddScaled(curve[i], t, to)
				if geom.IsCharted(c.m) {
					floats.Scale(1/floats.Norm(curve[i], 2), curve[i])
				}
			}
			velocities, lengths, err := s.Relaxed([][]geom.Vec{curve})
			if err != nil {
				t.Fatal(err)
			}
			off[k] = [2]float64{math.Abs(lengths[0] - g.Length), floats.Distance(velocities[0], g.Velocity, 2)}
		}
		for i, what := range []string{"length", "velocity"} {
			expect.Abs(t, fmt.Sprintf("%s: half the chord divides the error of the %s by", c.name, what), off[0][i]/off[1][i], 4, 0.15)
		}
	}
}
