package main

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/stochastic"
	"anatomy/geom/try"
)

// recovery draws samples of normal distributions and fits frame bundle means to them: start, frame and scale must come back.
func recovery(b *bench) {
	b.text("The table has estimates minus the truth, for frame bundle means of %d samples of a normal distribution with standard deviations 0.3 and 0.15, and σ = %g. Maximum likelihood finds variances that are too small by the factor 1 − 1/n and by 2σ², as in flat space; the table corrects this.", observations, recoveryNoise)
	b.header("space", "quantity", "converged", "bias", "bias in standard errors")
	sphere := geom.On(manifold.Sphere(2), geom.Integrator(ode.RK4, 10))
	for _, c := range []struct {
		name  string
		space *geom.Space[geom.Vec]
		u     framebundle.Point[geom.Vec]
	}{
		{"R²", geom.On(manifold.Euclidean(2)), framebundle.At([]float64{0, 0}, []float64{0.3, 0}, []float64{0, 0.15})},
		{"S²", sphere, framebundle.At([]float64{0, 0, 1}, []float64{0.3, 0, 0}, []float64{0, 0.15, 0})},
	} {
		if err := try.Run(func() { recovered(b, c.name, c.space, c.u, b.simulations) }); err != nil {
			b.row("%s | %v | | | ", c.name, err)
		}
	}
}

const recoveryNoise = 0.01

// recovered is the part of the table for a space: normal distributions with the start and frame u.
func recovered(b *bench, name string, s *geom.Space[geom.Vec], u framebundle.Point[geom.Vec], simulations int) {
	const sigma = recoveryNoise
	drawn := try.Get(stochastic.Development(s, u.X, u.Frame...).Sample(stochastic.Run{Paths: observations * simulations, Steps: 50, Seed: b.seed}))
	converged := 0
	var names []string
	off := map[string][]float64{}
	record := func(name string, value float64) {
		if off[name] == nil {
			names = append(names, name)
		}
		off[name] = append(off[name], value)
	}
	for k := range simulations {
		m, err := stats.FrameBundleMean(s, drawn[k*observations:(k+1)*observations], len(u.Frame), stats.Noise(sigma))
		try.Do(try.Name(err, "simulation %d", k))
		if m.Status == geom.Converged {
			converged++
		}
		for i, v := range u.Frame {
			v = floats.ScaleTo(make([]float64, len(v)), 1/floats.Norm(v, 2), v)
			record(fmt.Sprintf("start along ν%d", i+1), floats.Dot(v, m.Point)-floats.Dot(v, u.X))
			for j, w := range u.Frame[:i+1] {
				w = floats.ScaleTo(make([]float64, len(w)), 1/floats.Norm(w, 2), w)
				covariance, truth := 0.0, 0.0
				for _, nu := range m.Frame {
					covariance += floats.Dot(v, nu) * floats.Dot(w, nu)
				}
				for _, nu := range u.Frame {
					truth += floats.Dot(v, nu) * floats.Dot(w, nu)
				}
				if i == j {
					covariance += 2 * sigma * sigma
				}
				record(fmt.Sprintf("covariance %d %d", j+1, i+1), covariance*float64(observations)/float64(observations-1)-truth)
			}
		}
	}
	for _, quantity := range names {
		mean, deviation := stat.MeanStdDev(off[quantity], nil)
		deviation /= math.Sqrt(float64(simulations))
		b.row("%s | %s | %d of %d | %.5f ± %.5f | %.1f", name, quantity, converged, simulations, mean, deviation, mean/deviation)
	}
}
