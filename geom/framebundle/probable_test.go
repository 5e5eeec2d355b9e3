package framebundle_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// callosa draws shapes of 39 landmarks from the normal distribution of notebook 8, whose frame is a rotation and a bending, in mm.
func callosa(t testing.TB, n int) (*framebundle.Space[geom.Vec], framebundle.Point[geom.Vec], [][]float64) {
	t.Helper()
	cc := morpho.CorpusCallosum()
	m := landmarks.New(39, 2, kernels.Gaussian(cc.Spacing()))
	q := cc.Shape("jhu_atlas")
	var turn, bend [][]float64
	for _, p := range q {
		x, y := p[0]+5, p[1]-18
		turn = append(turn, []float64{-0.1 * y, 0.1 * x})
		bend = append(bend, []float64{0, 0.003 * x * x})
	}
	sample, err := stochastic.Development(m, q, turn, bend).Sample(stochastic.Run{Paths: 20, Steps: 100, Seed: 8})
	if err != nil {
		t.Fatal(err)
	}
	return framebundle.Over(m.Flat()), framebundle.At(m.Vector(q), m.Vector(turn), m.Vector(bend)), m.Vectors(sample[:n])
}

// The most probable paths to 20 callosa are found, Exp_FM of their momenta gives the same ends, and none costs more than a smooth
// path.
func TestMostProbablePathsToCallosa(t *testing.T) {
	s, u, ys := callosa(t, 20)
	const sigma = 0.5 // mm; the shapes lie 1.5 mm and more away, in the mean over the coordinates
	gs, err := s.MostProbablePaths(u, ys, sigma)
	if err != nil {
		t.Fatal(err)
	}
	smooth := framebundle.NewProbable(s.Base, ys)
	smooth.Smooth(4)
	few, err := smooth.From(u, sigma, 1e-10)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range gs {
		if g.Status != geom.Converged {
			t.Errorf("path %d %s: Exp_FM ends %.3g off", i, g.Status, g.Residual)
		}
		if off := g.Residual * math.Sqrt(78); off > 1e-6*floats.Norm(u.X, 2) {
			t.Errorf("path %d: Exp_FM ends %.3g off", i, off)
		}
		if cost := g.Energy + math.Pow(g.Mismatch/sigma, 2)/2; cost > few.Cost[i]+1e-9 {
			t.Errorf("path %d costs %.9g, a smooth one %.9g", i, cost, few.Cost[i])
		}
		if g.Mismatch > 0.02*floats.Distance(u.X, ys[i], 2) {
			t.Errorf("path %d misses its end by %.3g", i, g.Mismatch)
		}
		t.Logf("path %d: energy %.4f, mismatch %.3g, Exp_FM %.2g off, after %d evaluations", i, g.Energy, g.Mismatch, g.Residual, g.Iterations)
	}
}

// The derivative of the objective of a frame bundle mean by mean and frame at d = 78: that of the cost is minus the momentum.
func TestCostOfCallosaByFrame(t *testing.T) {
	s, u, ys := callosa(t, 2)
	const sigma = 0.5
	search := framebundle.NewProbable(s.Base, ys)
	now, err := search.From(u, sigma, 1e-14)
	if err != nil {
		t.Fatal(err)
	}
	dx, dframe := u.Frame[1], [][]float64{wave(78, 1.1, 0.3), u.Frame[0]}
	const e = 1e-3
	var costs []float64
	for _, sign := range []float64{-e, e} {
		var d [][]float64
		for _, v := range append([][]float64{dx}, dframe...) {
			d = append(d, floats.ScaleTo(make([]float64, len(v)), sign, v))
		}
		moved, err := s.Move(u, d[0], d[1:])
		if err != nil {
			t.Fatal(err)
		}
		found, err := search.From(moved, sigma, 1e-14)
		if err != nil {
			t.Fatal(err)
		}
		volume, _, err := s.LogVolume(moved, 0)
		if err != nil {
			t.Fatal(err)
		}
		costs = append(costs, floats.Sum(found.Cost)+volume)
	}
	along := func(p framebundle.Momentum[geom.Vec]) float64 {
		sum := floats.Dot(p.Horizontal, dx)
		for k, v := range p.Vertical {
			sum += floats.Dot(v, dframe[k])
		}
		return sum
	}
	_, slope, err := s.LogVolume(u, 0)
	if err != nil {
		t.Fatal(err)
	}
	want := along(slope)
	for _, p := range now.Pull {
		want -= along(p)
	}
	t.Logf("derivative %.6g, that of the volume %.6g", want, along(slope))
	near(t, "derivative of the objective", []float64{(costs[1] - costs[0]) / (2 * e)}, []float64{want}, 1e-4)
}
