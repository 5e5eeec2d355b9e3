package stochastic_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/stochastic"
)

// Simulation-based calibration (S. Talts et al., 2018) of the likelihood: location and time are drawn from a prior, a point
// from Brownian motion, and the place of what was drawn in its posterior distribution must be uniform. By the symmetry
// p_T(x, v) = p_T(v, x), bridges from the point to all locations give the likelihoods of one time in one call.
func TestCalibration(t *testing.T) {
	if !geomtest.In(t, geomtest.Optimised) {
		return
	}
	simulations := geomtest.Count(100, 1000)
	landmarks, q := threeLandmarks()
	for _, c := range []struct {
		name  string
		s     *geom.Space[geom.Vec]
		line  func(a float64) []float64 // locations
		along []float64
		times []float64
		paths int
	}{
		{"sphere", sphere, at, []float64{-0.6, -0.3, 0, 0.3, 0.6}, []float64{0.1, 0.2, 0.4}, 10},
		{"landmarks", landmarks, func(a float64) []float64 {
			x := slices.Clone(q)
			x[0], x[5] = x[0]+a, x[5]-a
			return x
		}, []float64{-0.2, -0.1, 0, 0.1, 0.2}, []float64{0.02, 0.03, 0.045}, 10},
	} {
		rng := rand.New(rand.NewPCG(41, 0))
		locations := make([][]float64, len(c.along))
		for k, a := range c.along {
			locations[k] = c.line(a)
		}
		type drawn struct{ location, time int }
		draws := make([]drawn, simulations)
		points := make([][]float64, simulations)
		for k := range locations {
			for l, T := range c.times {
				all := expect.Must(stochastic.Brownian(c.s, locations[k]).Sample(stochastic.Run{Paths: simulations, Steps: 20, Time: T, Seed: uint64(100*k + l)}))
				for i := range draws {
					if k == 0 && l == 0 {
						draws[i] = drawn{rng.IntN(len(locations)), rng.IntN(len(c.times))}
					}
					if draws[i] == (drawn{k, l}) {
						points[i] = all[i]
					}
				}
			}
		}
		ranks := map[string][]float64{}
		for i, v := range points {
			posterior := make([][]float64, len(c.times))
			for l, T := range c.times {
				for _, p := range expect.Must(stochastic.LogLikelihood(c.s, stochastic.Guided, v, locations, stochastic.Run{Paths: c.paths, Steps: 20, Time: T, Seed: uint64(i)})) {
					posterior[l] = append(posterior[l], math.Exp(p.Log))
				}
			}
			location, time := make([]float64, len(locations)), make([]float64, len(c.times))
			for l, row := range posterior {
				floats.Add(location, row)
				time[l] = floats.Sum(row)
			}
			// The place of a discrete draw, spread evenly over its own mass.
			place := func(mass []float64, k int) float64 {
				return (floats.Sum(mass[:k]) + rng.Float64()*mass[k]) / floats.Sum(mass)
			}
			ranks["location"] = append(ranks["location"], place(location, draws[i].location))
			ranks["time"] = append(ranks["time"], place(time, draws[i].time))
		}
		for name, r := range ranks {
			slices.Sort(r)
			worst := 0.0
			for k, u := range r {
				worst = max(worst, u-float64(k)/float64(simulations), float64(k+1)/float64(simulations)-u)
			}
			what := fmt.Sprintf("%s, %s: Kolmogorov-Smirnov %.3f/√n", c.name, name, worst*math.Sqrt(float64(simulations)))
			t.Log(what)
			if worst > 1.36/math.Sqrt(float64(simulations)) { // the band of 95 %
				t.Error(what + ", want at most 1.36")
			}
		}
	}
}
