package stochastic_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/geomtest/heat"
	"anatomy/geom/manifold"
	"anatomy/geom/stochastic"
)

// With many paths and few steps the error of the time step is many times that of the spread: it is told, is in the standard error,
// and most of it is gone from Log − StepError.
func TestStepErrorIsTold(t *testing.T) {
	const T, angle = 0.2, 0.6
	want := math.Log(heat.Kernel(T, math.Cos(angle)))
	run := stochastic.Run{Paths: 10000, Steps: 20, Time: T, Seed: 71}
	l := expect.Must(stochastic.LogLikelihood(sphere, stochastic.DelyonHu, pole, [][]float64{at(angle)}, run))[0]
	spread := math.Sqrt(1/l.EffectiveSize - 1/float64(run.Paths))
	t.Logf("%+v, off by %.4f, spread %.4f", l, l.Log-want, spread)
	if off := math.Abs(l.Log - want); off < 5*spread {
		t.Errorf("20 steps are off by %.4f, the spread is %.4f: nothing is tested", off, spread)
	}
	expect.Estimate(t, "log density", l.Log, l.StandardError, want)
	expect.Estimate(t, "less the error of the step", l.Log-l.StepError, 1.5*spread, want)
}

// Paths with half as many steps are driven by the same noise, so that the difference of the densities spreads far less than
// they do, also where the number of steps is odd. In flat space there is none.
func TestHalfAsManySteps(t *testing.T) {
	torus := geom.On(manifold.Torus(1, 0.45))
	end := []float64{1.45 * math.Cos(1), 1.45 * math.Sin(1), 0}
	for _, steps := range []int{20, 21} {
		var logs, errors []float64
		ends := make([][]float64, 100)
		for j := range ends {
			ends[j] = end
		}
		for _, l := range expect.Must(stochastic.LogLikelihood(torus, stochastic.Guided, []float64{1.45, 0, 0}, ends, stochastic.Run{Paths: 20, Steps: steps, Time: 0.2, Seed: 72})) {
			logs, errors = append(logs, l.Log), append(errors, l.StepError)
		}
		if all, part := stat.StdDev(logs, nil), stat.StdDev(errors, nil); !(part < 0.4*all) {
			t.Errorf("%d steps: log densities spread by %.4f, errors of the step by %.4f", steps, all, part)
		} else {
			t.Logf("%d steps: %.4f, %.4f", steps, all, part)
		}
	}
	flat := geom.On(manifold.Euclidean(2))
	for steps, paths := range map[int]int{7: 3, 1: 3} {
		l := expect.Must(stochastic.LogLikelihood(flat, stochastic.DelyonHu, []float64{0.3, -1}, [][]float64{{1.1, 0.4}}, stochastic.Run{Paths: paths, Steps: steps}))[0]
		if none := math.IsNaN(l.StepError) && math.IsNaN(l.StandardError); none != (steps == 1) {
			t.Errorf("%d steps: error of the step %g, standard error %g", steps, l.StepError, l.StandardError)
		}
		if steps > 1 {
			expect.Abs(t, "error of the step in flat space", l.StepError, 0, 1e-12)
		}
	}
}

// With few steps the variance of a diffusion mean is off by many times the randomness of many bridges. By how much is told, is in the
// standard error, and most of it is gone from Variance − VarianceStep. On a circle and in flat space there is no such error.
func TestStepErrorOfDiffusionMean(t *testing.T) {
	for _, c := range []struct {
		name  string
		space *geom.Space[geom.Vec]
		start []float64
		point func(p []float64) []float64
		log   func(T float64, x, v []float64) float64
	}{
		{"sphere", sphere, pole, onS2, logOnS2},
		{"hyperbolic plane", geom.On(manifold.Hyperbolic(2)), []float64{1, 0, 0}, onH2, logOnH2},
	} {
		const T, samples = 0.4, 8
		seen := expect.Must(stochastic.Brownian(c.space, c.start).Sample(stochastic.Run{Paths: samples, Steps: 50, Time: T, Seed: 31}))
		want, variance, _ := mostLikely(t, seen, T, c.log, c.point)
		// Few of 300 bridges can have most of the weight where there are half as many steps: medians of five runs.
		var m *stochastic.Mean[geom.Vec]
		var away, off, told, left, sizes []float64
		for seed := range uint64(5) {
			m = expect.Must(stochastic.DiffusionMean(c.space, stochastic.DelyonHu, seen, c.start, stochastic.Run{Paths: 300, Steps: 6, Time: T, Seed: seed}))
			if m.Status != geom.Converged {
				t.Errorf("%s: %v", c.name, m)
			}
			away, told = append(away, expect.Must(c.space.Log(m.Point, want)).Length), append(told, m.PointStep)
			off, left, sizes = append(off, m.Variance-variance), append(left, m.Variance-m.VarianceStep-variance), append(sizes, m.EffectiveSize)
		}
		middle := func(x []float64) float64 { return slices.Sorted(slices.Values(x))[2] }
		t.Logf("%s: point off by %.4f, told %.4f; variance off by %.4f, without what is told %.4f", c.name, away, told, off, left)
		spread := variance * math.Sqrt(2/(2*samples*middle(sizes))) // of the bridges: 1/EffectiveSize of that of the samples
		if math.Abs(middle(off)) < 4*spread {
			t.Errorf("%s: the variance is off by %.4f, bridges spread it by %.4f: nothing is tested", c.name, middle(off), spread)
		}
		expect.Abs(t, c.name+": variance less the error of the step", middle(left), 0, 0.3*math.Abs(middle(off)))
		if a, b := middle(away), middle(told); !(b > a/3 && b < 3*a) {
			t.Errorf("%s: the point is off by %.4f, told %.4f", c.name, a, b)
		}
		if !(m.PointError > m.PointStep && m.VarianceError > math.Abs(m.VarianceStep)) {
			t.Errorf("%s: standard errors %.4f and %.4f, errors of the step %.4f and %.4f", c.name, m.PointError, m.VarianceError, m.PointStep, m.VarianceStep)
		}
	}
	for _, c := range []struct {
		space *geom.Space[geom.Vec]
		seen  [][]float64
		steps int
	}{
		{geom.On(manifold.Sphere(1)), [][]float64{{1, 0}, {0.6, 0.8}, {0.8, -0.6}}, 10},
		{geom.On(manifold.Euclidean(2)), [][]float64{{1, 0}, {0.6, 0.8}, {0.8, -0.6}}, 10},
		{geom.On(manifold.Euclidean(2)), [][]float64{{1, 0}, {0.6, 0.8}, {0.8, -0.6}}, 1},
	} {
		m := expect.Must(stochastic.DiffusionMean(c.space, stochastic.Guided, c.seen, c.seen[0], stochastic.Run{Paths: 5, Steps: c.steps, Seed: 64}))
		if c.steps == 1 {
			if !math.IsNaN(m.PointStep) || !math.IsNaN(m.VarianceError) {
				t.Errorf("one step: %g, %g", m.PointStep, m.VarianceError)
			}
			continue
		}
		expect.Abs(t, "errors of exact steps", []float64{m.PointStep, m.VarianceStep}, []float64{0, 0}, 1e-9)
	}
}
