package landmarks_test

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// coefficients are the drift of a process at its start, where momenta are 0, and the square root of the covariance of its noise, both for every
// k-th landmark and per unit of time, in the calculus of the equation.
func coefficients(p stochastic.Process[geom.Shape], k int) (drift []float64, root *mat.Dense) {
	at := func(dt float64, dw [][]float64) *mat.Dense {
		start := p.Start.Flat()
		out := expect.Must(engine.Run(func(in []*Node) []*Node {
			y := ode.State{in[0]}
			if len(p.Parts) > 0 {
				y = append(y, ExpandAxes(ZerosLike(in[0]), 0))
			}
			return []*Node{p.Dynamics.Equation(geom.At(p.Space.M, in[0]), in[3:])(nil, y, in[1], in[2])[0]}
		}, append([]any{lists.Make(len(dw), func(int) []float64 { return start }), dt, dw}, p.Params...)...)).Matrix(0)
		some := mat.NewDense(len(dw), 2*((len(p.Start)+k-1)/k), nil)
		some.Apply(func(i, a int, _ float64) float64 { return out[i][a/2*2*k+a%2] }, some)
		return some
	}
	units := lists.Zeros(p.Noise, p.Noise)
	for i := range units {
		units[i][i] = 1
	}
	return at(1, lists.Zeros(1, p.Noise)).RawRowView(0), at(0, units)
}

// An outline of 12 landmarks is one of 120 of which ten elevenths are not seen. The equations of Kunita's flow and of Eulerian noise are the
// same for what is seen. The drift of Brownian motion is not, while its noise is.
func TestNumberOfLandmarks(t *testing.T) {
	circle := func(n int) (geom.Shape, *landmarks.Space) {
		return lists.Make(n, func(i int) []float64 {
			s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n))
			return []float64{3 * c, 2 * s}
		}), landmarks.New(n, 2, kernels.Laplace(2, 1))
	}
	fields := landmarks.NoiseFields{Centres: [][]float64{{1, 0}, {-2, 1}}, Amplitudes: [][]float64{{1, 0.5}, {0, 1}}, Width: 1.5}
	for _, c := range []struct {
		name       string
		same       bool
		equivalent bool
		of         func(s *landmarks.Space, q geom.Shape) stochastic.Process[geom.Shape]
	}{
		{"Kunita", true, true, func(s *landmarks.Space, q geom.Shape) stochastic.Process[geom.Shape] {
			return expect.Must(s.Kunita(q, 1, 2))
		}},
		{"Eulerian", true, false, func(s *landmarks.Space, q geom.Shape) stochastic.Process[geom.Shape] {
			return expect.Must(s.Eulerian(q, lists.Zeros(len(q), 2), fields))
		}},
		{"Brownian", false, true, func(s *landmarks.Space, q geom.Shape) stochastic.Process[geom.Shape] {
			return stochastic.Brownian(s, q)
		}},
	} {
		few, fine := 12, 60
		if c.name == "Kunita" {
			fine = 120
		}
		q, s := circle(few)
		drift, root := coefficients(c.of(s, q), 1)
		more, dense := circle(fine)
		driftOfMore, rootOfMore := coefficients(c.of(dense, more), fine/few)
		var noise, noiseOfMore mat.Dense
		noise.Mul(root.T(), root)
		noiseOfMore.Mul(rootOfMore.T(), rootOfMore)
		expect.Abs(t, c.name+": noise", noiseOfMore.RawMatrix().Data, noise.RawMatrix().Data, 1e-10)
		apart := floats.Distance(drift, driftOfMore, 2)
		t.Logf("%s: drift %.3g with %d landmarks, %.3g with %d, %.3g apart", c.name, floats.Norm(drift, 2), few, floats.Norm(driftOfMore, 2), fine, apart)
		if c.same != (apart < 1e-10) {
			t.Errorf("%s: the drift is %.3g off", c.name, apart)
		}

		// The coefficients of the turned shape, turned back.
		turn := func(x []float64) []float64 {
			y := make([]float64, len(x))
			for i := 0; i < len(x); i += 2 {
				y[i], y[i+1] = -x[i+1], x[i]
			}
			return y
		}
		turnedDrift, turnedRoot := coefficients(c.of(s, lists.Each(q, turn)), 1)
		expect.Abs(t, c.name+": turned drift", turnedDrift, turn(drift), 1e-10)
		rows, _ := root.Dims()
		for i := range rows {
			root.SetRow(i, turn(root.RawRowView(i)))
		}
		noise.Mul(root.T(), root)
		noiseOfMore.Reset()
		noiseOfMore.Mul(turnedRoot.T(), turnedRoot)
		if off := floats.Distance(noiseOfMore.RawMatrix().Data, noise.RawMatrix().Data, 2); c.equivalent != (off < 1e-10) {
			t.Errorf("%s: the noise of the turned shape is %.3g off", c.name, off)
		}
	}
}

// Langevin's noise moves a landmark from rest by K ∫ σ W dt, with the variance σ²T³/3 Σ_j K_ij² of a coordinate, which every landmark more
// increases.
func TestLangevinDependsOnNumberOfLandmarks(t *testing.T) {
	const T, sigma, paths = 0.05, 2., 4000
	for _, n := range []int{1, 3, 9} {
		q := lists.Make(n, func(i int) []float64 { return []float64{float64(i) / float64(n), 0} })
		run := stochastic.Run{Paths: paths, Steps: 10, Time: T, Seed: 4}
		want, square := 0.0, 0.0
		for i := range n {
			want += sigma * sigma * T * T * T / 3 * math.Exp(-q[i][0]*q[i][0])
		}
		for _, x := range expect.Must(expect.Must(landmarks.New(n, 2, kernels.Gaussian(1)).Langevin(q, lists.Zeros(n, 2), 0, sigma)).Sample(run)) {
			square += x[0][1] * x[0][1] / paths
		}
		expect.Estimate(t, "variance", square, want*math.Sqrt(2./paths), want)
	}
}
