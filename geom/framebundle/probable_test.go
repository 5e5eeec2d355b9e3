package framebundle_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/framebundle"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// callosa draws shapes of 39 landmarks from the normal distribution of lesson 1.7, whose frame is a rotation and a bending, in mm.
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
	return framebundle.Over(m.OnNumbers()), framebundle.At(shape.Flat(q), shape.Flat(turn), shape.Flat(bend)), shape.FlatAll(sample[:n])
}

// The most probable paths to callosa are found: geodesics of the frame bundle from step to step, to a millionth of the shape.
func TestMostProbablePathsToCallosa(t *testing.T) {
	if !geomtest.In(t, geomtest.Optimised) {
		return
	}
	s, u, ys := callosa(t, geomtest.Count(3, 20))
	const sigma = 0.5 // mm; the shapes lie 1.5 mm and more away, in the mean over the coordinates
	gs, err := s.MostProbablePaths(u, ys, sigma)
	if err != nil {
		t.Fatal(err)
	}
	for i, g := range gs {
		if g.Status != geom.Converged {
			t.Errorf("path %d %s: %v", i, g.Status, g.Err())
		}
		if off := g.Residual * sigma * math.Sqrt(78); off > 1e-6*floats.Norm(u.X, 2) {
			t.Errorf("path %d may be off by %.3g mm", i, off)
		}
		t.Logf("path %d: energy %.4f, mismatch %.3g, residual %.2g σ, %d steps, %d evaluations", i, g.Energy, g.Mismatch, g.Residual, g.Steps, g.Iterations)
	}
}

// anatomy is a sample of real shapes, aligned with their size, with landmarks of a kernel of 1.5 spacings, the mean with the first
// principal components for a frame, each as long as its standard deviation, and the root mean square deviation of a coordinate.
func anatomy(t testing.TB, d *morpho.Dataset, rank, steps int) (s *framebundle.Space[geom.Vec], u framebundle.Point[geom.Vec], ys [][]float64, rms float64) {
	t.Helper()
	aligned := expect.Must(morpho.Procrustes(d.Shapes(), morpho.KeepSize()))
	mean := aligned.Mean
	m := landmarks.New(len(mean), len(mean[0]), kernels.Gaussian(1.5*morpho.NearestSpacing(mean)), geom.Integrator(ode.RK4, steps))
	u.X = shape.Flat(mean)
	ys = shape.FlatAll(aligned.Shapes)
	deviations := mat.NewDense(len(ys), len(u.X), nil)
	for i, y := range ys {
		deviations.SetRow(i, floats.SubTo(make([]float64, len(y)), y, u.X))
	}
	var svd mat.SVD
	if !svd.Factorize(deviations, mat.SVDThin) {
		t.Fatal("no principal components")
	}
	var axes mat.Dense
	svd.VTo(&axes)
	for a, v := range svd.Values(nil)[:rank] {
		u.Frame = append(u.Frame, floats.ScaleTo(make([]float64, len(u.X)), v/math.Sqrt(float64(len(ys)-1)), mat.Col(nil, a, &axes)))
	}
	return framebundle.Over(m.OnNumbers()), u, ys, mat.Norm(deviations, 2) / math.Sqrt(float64(len(ys)*len(u.X)))
}

// Paths to shapes far from what a frame of principal components reaches, with noise of a half and a fifth of the deviation of a
// coordinate: all but one in 20 are found, and the others say why not.
func TestMostProbablePathsToAnatomy(t *testing.T) {
	if geomtest.Count(0, 1) > 0 && !geomtest.In(t, geomtest.Optimised) { // few paths compute less than XLA compiles
		return
	}
	found, all := 0, 0
	for k, d := range []*morpho.Dataset{morpho.GreatApes(), morpho.Plethodon(), morpho.Brain2D()} {
		for _, c := range []struct {
			rank, count int
			share       float64
		}{{2, 7, 0.5}, {2, 7, 0.2}, {4, 6, 0.5}} {
			if only := []int{2, 4, 2}[k]; c.rank != geomtest.Count(only, c.rank) { // each rank is other programs
				continue
			}
			s, u, ys, rms := anatomy(t, d, c.rank, 20)
			sigma := c.share * rms
			ys = ys[2 : 2+geomtest.Count(1, c.count)]
			for i, g := range expect.Must(s.MostProbablePaths(u, ys, sigma)) {
				all++
				unit := sigma * math.Sqrt(float64(len(u.X)))
				switch {
				case math.IsNaN(g.Residual):
					t.Errorf("%s, rank %d, path %d: the residual is NaN", d.Name, c.rank, i)
				case g.Status != geom.Converged && !(g.StepError > 1e-3): // which says nothing of the path
					t.Logf("%s, rank %d, σ %.3g, path %d: %v", d.Name, c.rank, sigma, i, g.Err())
					if g.Reason == "" {
						t.Errorf("%s, path %d: no reason", d.Name, i)
					}
				case g.Residual*unit <= 1e-6*floats.Norm(u.X, 2):
					found++
				}
			}
		}
	}
	t.Logf("%d of %d paths found to a millionth of the shape", found, all)
	if 20*found < 19*all {
		t.Errorf("only %d of %d", found, all)
	}
}

// Two routes to one path where both are well-conditioned: Exp_FM of the momentum ends where the path does. Twice the steps do not
// change what it costs, and a problem whose steps are too few gets more.
func TestMostProbablePathSteps(t *testing.T) {
	var costs, energies []float64
	for _, steps := range []int{5, 10} {
		s, u, ys, rms := anatomy(t, morpho.GreatApes(), 2, steps)
		sigma := 0.2 * rms
		g := expect.Must(s.MostProbablePath(u, ys[3], sigma))
		if g.Status != geom.Converged || g.Steps < steps || g.Steps%steps != 0 || len(g.Path) != steps+1 || len(g.Velocities) != steps+1 {
			t.Errorf("%d steps: %v with %d, %d points", steps, g, g.Steps, len(g.Path))
		}
		costs = append(costs, g.Energy+g.Mismatch/(2*sigma*sigma))
		energies = append(energies, g.Energy)
		fine := framebundle.Over(s.Base.With(geom.Integrator(ode.RK4, 4*g.Steps)))
		shot := expect.Must(fine.Exp(g.Start, g.Momentum))
		if off := floats.Distance(shot.End, g.End, 2) / floats.Distance(ys[3], u.X, 2); off > 1e-4 {
			t.Errorf("%d steps: Exp_FM ends %.2g of the distance off", steps, off)
		}
		// The answer put back: P(1) = 0 and x(1) − y + σ² h(1) = 0.
		last := shot.Momenta[len(shot.Momenta)-1]
		left := floats.SubTo(make([]float64, len(u.X)), shot.End, ys[3])
		floats.AddScaled(left, sigma*sigma, last.Horizontal)
		for a, v := range append([][]float64{left}, last.Vertical...) {
			scale := 1.0
			if a > 0 {
				scale = sigma * sigma
			}
			if off := scale * floats.Norm(v, 2) / floats.Distance(ys[3], u.X, 2); off > 1e-3 {
				t.Errorf("%d steps: condition %d at the end is off by %.2g", steps, a, off)
			}
		}
	}
	expect.Abs(t, "costs", costs[1], costs[0], 1e-5)
	expect.Abs(t, "energies", energies[1], energies[0], 1e-5)
}

// The momentum of a path that turns many times does not lead along it: the number that says so is the one that Exp_FM gives with twice the
// steps, in one go.
func TestMostProbablePathStepError(t *testing.T) {
	m, u := points(3, 2)
	s := framebundle.On(m, geom.Integrator(ode.RK4, 10))
	y := floats.AddTo(make([]float64, 6), u.X, wave(6, 2.3, 0.6))
	far := floats.Distance(y, u.X, 2)
	for _, c := range []struct {
		sigma float64
		leads bool
	}{{0.1, true}, {0.03, false}} {
		g := expect.Must(s.MostProbablePath(u, y, c.sigma))
		if (g.Status == geom.Converged) != c.leads || (g.StepError <= 1e-3) != c.leads {
			t.Errorf("σ %g: %v, step error %g", c.sigma, g, g.StepError)
		}
		if !c.leads {
			expect.Refused(t, g.Err(), "the path holds", "% of the distance off")
		}
		if off := g.Residual * c.sigma * math.Sqrt(6) / far; !(off <= framebundle.EndTolerance) {
			t.Errorf("σ %g: the path is %g of the distance off", c.sigma, off)
		}
		shot := expect.Must(framebundle.Over(s.Base.With(geom.Integrator(ode.RK4, 2*g.Steps))).Exp(g.Start, g.Momentum))
		expect.Rel(t, "step error", g.StepError, floats.Distance(shot.End, g.End, 2)/far, 1e-2)
	}
}

// Where no path is found, the status, the reason and the residual say so, and the other paths are found all the same.
func TestMostProbablePathNotFound(t *testing.T) {
	m, u := points(3, 2)
	s := framebundle.On(m, geom.Integrator(ode.RK4, 4))
	near, far := floats.AddTo(make([]float64, 6), u.X, wave(6, 2.3, 0.1)), floats.ScaleTo(make([]float64, 6), 1e160, u.X)
	gs := expect.Must(s.MostProbablePaths(u, [][]float64{far, near}, 0.1))
	t.Log(gs[0].Err())
	if gs[0].Status == geom.Converged || gs[0].Reason == "" || math.IsNaN(gs[0].Residual) {
		t.Errorf("%v: %q", gs[0], gs[0].Reason)
	}
	expect.Refused(t, gs[0].Err(), "stalled: the path diverges: the observation is too far away")
	if err := gs[1].Err(); err != nil {
		t.Error(err)
	}
}

// The derivative of the objective of a frame bundle mean by mean and frame at d = 78: that of the cost is minus the momentum.
func TestCostOfCallosaByFrame(t *testing.T) {
	if !geomtest.In(t, geomtest.Optimised) {
		return
	}
	s, u, ys := callosa(t, 2)
	const sigma = 0.5
	search := framebundle.NewProbable(s, ys)
	now := search.From(u, sigma, 1e-14)
	dx, dframe := u.Frame[1], [][]float64{wave(78, 1.1, 0.3), u.Frame[0]}
	const e = 1e-3
	var costs []float64
	for _, sign := range []float64{-e, e} {
		var d [][]float64
		for _, v := range append([][]float64{dx}, dframe...) {
			d = append(d, floats.ScaleTo(make([]float64, len(v)), sign, v))
		}
		moved := s.Move(u, d...)
		volume, _ := s.LogVolume(moved)
		costs = append(costs, floats.Sum(search.From(moved, sigma, 1e-14).Costs)+volume)
	}
	along := func(p framebundle.Momentum[geom.Vec]) float64 {
		sum := floats.Dot(p.Horizontal, dx)
		for k, v := range p.Vertical {
			sum += floats.Dot(v, dframe[k])
		}
		return sum
	}
	_, slope := s.LogVolume(u)
	want := along(slope)
	for _, p := range now.Pulls {
		want -= along(p)
	}
	t.Logf("derivative %.6g, that of the volume %.6g", want, along(slope))
	expect.Abs(t, "derivative of the objective", (costs[1]-costs[0])/(2*e), want, 1e-4)
}

// The derivatives of the ends of paths by steps of mean and frame and by controls are those of differences.
func TestTangents(t *testing.T) {
	m := landmarks.New(3, 2, kernels.Gaussian(1.2), geom.Integrator(ode.RK4, 20))
	s := framebundle.Over(m.OnNumbers())
	u := framebundle.At([]float64{1, 0, 0, 1, -1, 0.2}, wave(6, 1.1, 0.3), wave(6, 0.4, 0.8))
	probes := [][]float64{{0.5, -0.3}, {0, 0}, {-0.2, 0.6}}
	byStarts, byControls := framebundle.NewProbable(s, [][]float64{u.X, u.X}).Tangents(u, probes)
	splines := framebundle.SplinesOnSteps(t, 2, 20)
	dx, dframe, dc := wave(6, 0.7, 0.2), [][]float64{wave(6, 0.2, 0.5), wave(6, 0.9, 0.1)}, wave(2*len(splines.RawRowView(0)), 0.5, 0.4)
	end := func(i int, e float64) []float64 {
		scaled := func(v []float64) []float64 { return floats.ScaleTo(make([]float64, len(v)), e, v) }
		moved := s.Move(u, scaled(dx), scaled(dframe[0]), scaled(dframe[1]))
		// Coefficients of the splines for controls that are constant, and others.
		c, controls := mat.NewVecDense(len(dc), scaled(dc)), make([][]float64, 41)
		var change mat.Dense
		change.Mul(splines, mat.NewDense(len(dc)/2, 2, c.RawVector().Data))
		for j := range controls {
			controls[j] = floats.AddTo(make([]float64, 2), probes[i], change.RawRowView(j))
		}
		g, err := s.SteeredPath(moved, controls)
		if err != nil {
			t.Fatal(err)
		}
		return g.End
	}
	const e = 1e-4
	step := mat.NewVecDense(18, slices.Concat(dx, dframe[0], dframe[1]))
	for i, byStart := range byStarts {
		var got, steered mat.VecDense
		got.MulVec(byStart, step)
		steered.MulVec(byControls[i], mat.NewVecDense(len(dc), dc))
		got.AddVec(&got, &steered)
		want := floats.SubTo(make([]float64, 6), end(i, e), end(i, -e))
		floats.Scale(1/(2*e), want)
		expect.Abs(t, "derivative of the end", got.RawVector().Data, want, 1e-7)
	}
}

// Where points are orbits, paths do not see how observations are turned: with a full orthonormal frame the path to a shape is the geodesic.
func TestMostProbablePathToTurned(t *testing.T) {
	space := geom.On(manifold.Kendall(3, 2), geom.Integrator(ode.RK4, 10))
	project := func(z ...float64) []float64 {
		p, _, err := space.Project(z)
		return expect.Must(p, err)
	}
	x, y := project(0, 0, 1, 0, 0.4, 0.9), project(0, 0, 1, 0.3, 0.1, 0.5)
	s := framebundle.Over(space)
	u := framebundle.At(x, expect.Must(stochastic.Orthonormal(space, x))...)
	want := expect.Must(space.Log(x, y))
	var first *framebundle.Geodesic[geom.Vec]
	for k, angle := range []float64{0, 2.5, math.Pi} {
		turned := make([]float64, 6)
		for i := 0; i < 6; i += 2 {
			sin, cos := math.Sincos(angle)
			turned[i], turned[i+1] = cos*y[i]-sin*y[i+1], sin*y[i]+cos*y[i+1]
		}
		g := expect.Must(s.MostProbablePath(u, turned, 0))
		if g.Status != geom.Converged {
			t.Errorf("turned by %g: %v", angle, g)
		}
		expect.Abs(t, "energy", g.Energy, want.Length*want.Length/2, 1e-6)
		expect.Abs(t, "end", g.End, want.End, 1e-5)
		expect.Abs(t, "mismatch", math.Sqrt(g.Mismatch), 0, 1e-7) // of the integration in two kinds of charts
		if g = expect.Must(s.MostProbablePath(u, turned, 0.2)); g.Status != geom.Converged {
			t.Errorf("turned by %g, with noise: %v", angle, g)
		}
		if k == 0 {
			first = g
		}
		expect.Abs(t, "energy with noise", g.Energy, first.Energy, 1e-9)
		expect.Abs(t, "mismatch with noise", math.Sqrt(g.Mismatch), math.Sqrt(first.Mismatch), 1e-7)
	}
}
