package stochastic_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/geomtest/heat"
	"anatomy/geom/lie"
	"anatomy/geom/manifold"
	"anatomy/geom/stochastic"
)

// wrapped is the heat kernel of a circle of radius 1.
func wrapped(T, angle float64) float64 {
	sum := 0.0
	for k := -30; k <= 30; k++ {
		sum += math.Exp(-math.Pow(angle+2*math.Pi*float64(k), 2)/(2*T)) / math.Sqrt(2*math.Pi*T)
	}
	return sum
}

// rotationKernel is the heat kernel of SO(3), Σ_l (2l + 1) χ_l(θ) e^(−l(l+1)T/2)/8π².
func rotationKernel(T, angle float64) float64 {
	sum := 0.0
	for l := range 60 {
		j := float64(l)
		sum += (2*j + 1) * math.Sin((j+0.5)*angle) / math.Sin(angle/2) * math.Exp(-j*(j+1)*T/2)
	}
	return sum / (8 * math.Pi * math.Pi)
}

// about is the rotation by an angle about z.
func about(angle float64) []float64 {
	sin, cos := math.Sincos(angle)
	return []float64{cos, -sin, 0, sin, cos, 0, 0, 0, 1}
}

func rotations(inner [][]float64) *geom.Space[geom.Vec] {
	return geom.On(expect.Must(lie.SO(3).LeftInvariant(inner)))
}

// Where the cut locus is a hypersurface the density is that of all windings, at any time.
func TestWindings(t *testing.T) {
	circle := geom.On(manifold.Sphere(1))
	rigid := geom.On(expect.Must(lie.SE(2).LeftInvariant(nil))) // rotations and translations have nothing to do with each other
	cylinder := geom.On(manifold.Cylinder(0.5))
	for _, T := range []float64{0.3, 2, 4, 20} {
		for _, angle := range []float64{0, 1, 3, math.Pi} {
			want := math.Log(wrapped(T, angle))
			onCylinder := math.Log(wrapped(4*T, angle)*2) - 0.09/(2*T) - 0.5*math.Log(2*math.Pi*T)
			sin, cos := math.Sincos(angle)
			r := stochastic.Run{Paths: 2, Steps: 20, Time: T, Seed: 1}
			for name, l := range map[string]struct {
				got  stochastic.Likelihood
				want float64
			}{
				"circle": {expect.Must(stochastic.LogLikelihood(circle, stochastic.Guided, []float64{1, 0}, [][]float64{{cos, sin}}, r))[0], want},
				"SE(2)": {expect.Must(stochastic.LogLikelihood(rigid, stochastic.Guided, []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}, [][]float64{{cos, -sin, 0.3, sin, cos, 0, 0, 0, 1}}, r))[0],
					want - 0.09/(2*T) - math.Log(2*math.Pi*T)},
				"cylinder": {expect.Must(stochastic.LogLikelihood(cylinder, stochastic.Guided, []float64{0.5, 0, 0}, [][]float64{{cos / 2, sin / 2, 0.3}}, r))[0], onCylinder},
			} {
				expect.Abs(t, fmt.Sprintf("%s, T = %g, angle %g", name, T, angle), l.got.Log, l.want, 1e-11)
			}
		}
	}
	var ends [][]float64
	angles := []float64{0, 0.5, 2, 3, math.Pi}
	for _, angle := range angles {
		ends = append(ends, about(angle))
	}
	angles[0] = 1e-9
	for _, T := range []float64{0.5, 2} {
		r := stochastic.Run{Paths: geomtest.Count(100, 300), Steps: 200, Time: T, Seed: 51}
		for k, l := range expect.Must(stochastic.LogLikelihood(rotations(nil), stochastic.Guided, about(0), ends, r)) {
			expect.Estimate(t, fmt.Sprintf("SO(3), T = %g, angle %.2g", T, angles[k]), l.Log, l.StandardError, math.Log(rotationKernel(T, angles[k])))
		}
	}
}

// sphereKernel is the heat kernel of S², Σ_l (2l + 1) P_l(cos θ) e^(−l(l+1)T/2)/4π.
func sphereKernel(T, angle float64) float64 {
	sum, p, next := 0.0, 1.0, math.Cos(angle)
	for l := range 100 {
		j := float64(l)
		sum += (2*j + 1) * p * math.Exp(-j*(j+1)*T/2)
		p, next = next, ((2*j+3)*math.Cos(angle)*next-(j+1)*p)/(j+2)
	}
	return sum / (4 * math.Pi)
}

// In three dimensions of constant curvature the heat kernel is the guide's q but for a factor of time: every bridge has the same
// weight, at all times and distances.
func TestGuideIsTheHeatKernel(t *testing.T) {
	sphere, hyperbolic := geom.On(manifold.Sphere(3)), geom.On(manifold.Hyperbolic(3))
	for _, T := range []float64{0.05, 0.3, 1, 3, 3.2, 8} {
		for _, r := range []float64{1e-7, 0.5, 1.5, 1.65, 2.5, 3.1} {
			sum := 0.0
			for l := 1; l < 60; l++ {
				k := float64(l)
				sum += k * math.Sin(k*r) * math.Exp(-(k*k-1)*T/2)
			}
			want := math.Log(sum / (2 * math.Pi * math.Pi * math.Sin(r)))
			run := stochastic.Run{Paths: 5, Steps: 20, Time: T, Seed: 81}
			sin, cos := math.Sincos(r)
			l := expect.Must(stochastic.LogLikelihood(sphere, stochastic.Guided, []float64{1, 0, 0, 0}, [][]float64{{cos, sin, 0, 0}}, run))[0]
			name := fmt.Sprintf("T = %g, distance %g", T, r)
			if T >= 0.3 || r < 1 { // the series of the heat kernel loses its digits
				expect.Abs(t, "S³, "+name, l.Log, want, 1e-9)
			}
			expect.Abs(t, "S³, equal weights, "+name, l.EffectiveSize, 5, 1e-9)
			if T > 4 {
				continue // the first of 20 steps is as long as the space is curved
			}
			l = expect.Must(stochastic.LogLikelihood(hyperbolic, stochastic.Guided, []float64{1, 0, 0, 0}, [][]float64{{math.Cosh(r), math.Sinh(r), 0, 0}}, run))[0]
			expect.Abs(t, "H³, "+name, l.Log, math.Log(r/math.Sinh(r))-1.5*math.Log(2*math.Pi*T)-T/2-r*r/(2*T), 1e-9)
		}
	}
}

// Densities integrate to 1, also where the metric has no closed form: the mean over points drawn evenly, times the volume.
func TestWindingsIntegrateToOne(t *testing.T) {
	const n = 300
	random := rand.New(rand.NewPCG(61, 0))
	top := rotations([][]float64{{1, 0, 0}, {0, 2, 0}, {0, 0, 3}})
	torus := geom.On(manifold.Torus(1, 0.5))
	for _, c := range []struct {
		name   string
		s      *geom.Space[geom.Vec]
		start  []float64
		T      float64
		volume float64
		point  func() []float64 // nil now and then
	}{
		{"SO(3) with moments 1, 2, 3", top, about(0), 3, 8 * math.Pi * math.Pi * math.Sqrt(6), func() []float64 {
			a := make([]float64, 9)
			for i := range a {
				a[i] = random.NormFloat64()
			}
			z, _, err := top.Project(a)
			if err != nil {
				return nil // it reverses the orientation
			}
			return z
		}},
		{"torus", torus, []float64{0.5, 0, 0}, 0.6, 2 * math.Pi * math.Pi, func() []float64 {
			sin, cos := math.Sincos(2 * math.Pi * random.Float64())
			y, x := math.Sincos(2 * math.Pi * random.Float64())
			if 1.5*random.Float64() > 1+0.5*cos {
				return nil // closer to the axis there is less area
			}
			return []float64{x * (1 + 0.5*cos), y * (1 + 0.5*cos), 0.5 * sin}
		}},
	} {
		var ends [][]float64
		for len(ends) < n {
			if z := c.point(); z != nil {
				ends = append(ends, z)
			}
		}
		var mass []float64
		for _, l := range expect.Must(stochastic.LogLikelihood(c.s, stochastic.Guided, c.start, ends, stochastic.Run{Paths: 10, Steps: 60, Time: c.T, Seed: 62})) {
			mass = append(mass, math.Exp(l.Log)*c.volume)
		}
		expect.Mean(t, c.name, mass, 1)
	}
}

// In the chart of the end paths that wind around are counted, and the standard error has their share in it.
func TestWoundPathsAreTold(t *testing.T) {
	cylinder := geom.On(struct{ geom.Charted }{manifold.Cylinder(1)})
	sin, cos := math.Sincos(3)
	const T = 2.0
	l := expect.Must(stochastic.LogLikelihood(cylinder, stochastic.Guided, []float64{1, 0, 0}, [][]float64{{cos, sin, 0}}, stochastic.Run{Paths: 1000, Steps: 100, Time: T, Seed: 63}))[0]
	want := math.Log(wrapped(T, 3)) - 0.5*math.Log(2*math.Pi*T)
	t.Logf("%+v, want %.4f", l, want)
	if missing := want - l.Log; !(missing > 0.4 && missing <= 2*l.StandardError) || !(l.Wound > 0.2) {
		t.Errorf("log density %.4f ± %.4f, wound %.3f, want %.4f", l.Log, l.StandardError, l.Wound, want)
	}
	for _, T := range []float64{0.3, 0.5} { // few paths are beyond the cut locus at the end of a step
		want := math.Log(wrapped(T, 3)) - 0.5*math.Log(2*math.Pi*T)
		for name, c := range map[string]struct {
			s        *geom.Space[geom.Vec]
			proposal stochastic.Proposal
		}{"Guided": {cylinder, stochastic.Guided}, "DelyonHu": {geom.On(manifold.Cylinder(1)), stochastic.DelyonHu}} {
			covers(t, fmt.Sprintf("%s, T = %g", name, T), expect.Must(stochastic.LogLikelihood(c.s, c.proposal, []float64{1, 0, 0}, slices.Repeat([][]float64{{cos, sin, 0}}, 20),
				stochastic.Run{Paths: 1000, Steps: 50, Time: T, Seed: 1})), want)
		}
	}
	circle := []float64{1, 0}
	expect.Refused(t, expect.Error(stochastic.LogLikelihood(geom.On(manifold.Sphere(1)), stochastic.DelyonHu, circle, [][]float64{circle}, stochastic.Run{Paths: 2, Steps: 3})),
		"do not come round it")
}

// covers says whether nine of ten likelihoods with a standard error are within two of them.
func covers(t *testing.T, name string, all []stochastic.Likelihood, want float64) {
	t.Helper()
	held, told := 0, 0
	for _, l := range all {
		if !math.IsInf(l.StandardError, 1) {
			told++
			if math.Abs(l.Log-want) <= 2*l.StandardError {
				held++
			}
		}
	}
	t.Logf("%s: %d of %d within two standard errors, %d without", name, held, told, len(all)-told)
	if 10*held < 9*told {
		t.Errorf("%s: %d of %d within two standard errors", name, held, told)
	}
}

// Paths that pass near the point opposite the end leave its chart. They are counted, and the likelihood is not lost. Where the weights of a chart have
// no variance there is no standard error.
func TestLostPathsAreCounted(t *testing.T) {
	v := slices.Repeat([][]float64{at(2)}, 20)
	run := stochastic.Run{Paths: 400, Steps: 50, Time: 0.5, Seed: 1}
	all, lost := expect.Must(stochastic.LogLikelihood(sphere, stochastic.DelyonHu, pole, v, run)), 0
	for _, l := range all {
		lost += l.Diverged
	}
	if lost == 0 {
		t.Error("no path is lost: nothing is tested")
	}
	covers(t, "DelyonHu", all, math.Log(heat.Kernel(0.5, math.Cos(2))))
	b := expect.Must(stochastic.Bridge(sphere, stochastic.DelyonHu, pole, v[0], stochastic.Run{Paths: 2000, Steps: 50, Time: 0.5, Seed: 1}))
	if b.Diverged == 0 || len(b.Points) != 2000-b.Diverged || len(b.LogWeights) != len(b.Points) {
		t.Errorf("%d of 2000 bridges are lost, %d are there", b.Diverged, len(b.Points))
	}
	expect.Abs(t, "mean weight", floats.LogSumExp(b.LogWeights)-math.Log(float64(len(b.Points))), b.Log, 1e-12)
	run.Time = 0.3
	for _, l := range expect.Must(stochastic.LogLikelihood(geom.On(struct{ geom.Charted }{manifold.Sphere(2)}), stochastic.Guided, pole, v, run)) {
		if !math.IsInf(l.StandardError, 1) {
			t.Errorf("Guided in a chart: %+v, where log p is %.3f", l, math.Log(heat.Kernel(0.3, math.Cos(2))))
		}
	}
}

// On a circle the diffusion mean is the maximum of the likelihood of the wrapped normal distribution.
func TestDiffusionMeanOnCircle(t *testing.T) {
	var samples [][]float64
	angles := []float64{-1.9, -1.2, -0.6, -0.3, 0.1, 0.4, 0.7, 1.3, 1.9, 3}
	for _, a := range angles {
		samples = append(samples, []float64{math.Cos(a), math.Sin(a)})
	}
	likelihood := func(p []float64) float64 {
		sum := 0.0
		for _, a := range angles {
			sum += math.Log(wrapped(math.Exp(p[1]), a-p[0])) / float64(len(angles))
		}
		return sum
	}
	best, err := optimize.Minimize(optimize.Problem{Func: func(p []float64) float64 { return -likelihood(p) }}, []float64{0.2, 1}, nil, &optimize.NelderMead{})
	if err != nil {
		t.Fatal(err)
	}
	m := expect.Must(stochastic.DiffusionMean(geom.On(manifold.Sphere(1)), stochastic.Guided, samples, []float64{1, 0}, stochastic.Run{Paths: 5, Steps: 10, Seed: 64}))
	angle := math.Atan2(m.Point[1], m.Point[0])
	if m.Status != geom.Converged {
		t.Error(m)
	}
	expect.Abs(t, "angle and variance", []float64{angle, m.Variance}, []float64{best.X[0], math.Exp(best.X[1])}, 1e-3)
}

// Bridges are made in blocks, which changes none of them, and end between two when they shall.
func TestBridgesInBlocks(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	blocks := 0
	s := geom.On(manifold.Euclidean(2), geom.Context(ctx), geom.OnProgress(func(geom.Progress) { blocks++ }))
	x, v := []float64{0, 0}, []float64{1, 0.5}
	run := stochastic.Run{Paths: 1101, Steps: 1000, Seed: 65}
	all := expect.Must(stochastic.Bridge(s, stochastic.Guided, x, v, run))
	if blocks != 2 || len(all.Points) != run.Paths || len(all.LogWeights) != run.Paths {
		t.Errorf("%d blocks, %d paths, %d weights, want 2 and %d", blocks, len(all.Points), len(all.LogWeights), run.Paths)
	}
	fewer := run
	fewer.Paths = 600
	for k, path := range expect.Must(stochastic.Bridge(s, stochastic.Guided, x, v, fewer)).Points {
		expect.Abs(t, fmt.Sprintf("path %d of 600 and of 1101", k), path[500], all.Points[k][500], 1e-12)
	}
	s = s.With(geom.OnProgress(func(p geom.Progress) {
		if p.Iteration > 0 {
			stop()
		}
	}))
	if _, err := stochastic.Bridge(s, stochastic.Guided, x, v, run); !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "after 551 of 1101 paths") {
		t.Errorf("stopped after the first block: error %v", err)
	}
}

// GL(1) with its invariant metric a (dx/x)² is a line, by √a log: bridges have the weights, and samples the mean, of the normal
// distribution.
func TestBridgesOnPositiveNumbers(t *testing.T) {
	const a, T = 2.5, 0.7
	s := geom.On(expect.Must(lie.GL(1).LeftInvariant([][]float64{{a}})))
	x, ends := []float64{0.8}, [][]float64{{0.2}, {0.8}, {3}, {9}}
	r := stochastic.Run{Paths: 3, Steps: 10, Time: T, Seed: 67}
	var mean, variance float64
	for k, l := range expect.Must(stochastic.LogLikelihood(s, stochastic.Guided, x, ends, r)) {
		log := math.Log(ends[k][0] / x[0])
		expect.Abs(t, fmt.Sprint("log density at ", ends[k]), l.Log, -a*log*log/(2*T)-0.5*math.Log(2*math.Pi*T), 1e-11)
		mean += math.Log(ends[k][0]) / 4
	}
	for _, v := range ends {
		variance += a * math.Pow(math.Log(v[0])-mean, 2) / 4
	}
	m := expect.Must(stochastic.DiffusionMean(s, stochastic.Guided, ends, x, stochastic.Run{Paths: 5, Steps: 10, Seed: 68}))
	if m.Status != geom.Converged {
		t.Error(m)
	}
	expect.Rel(t, "mean and variance", []float64{math.Log(m.Point[0]), m.Variance}, []float64{mean, variance}, 1e-5)
	b := expect.Must(stochastic.Bridge(s, stochastic.Guided, x, ends[3], r))
	expect.Abs(t, "effective size", b.EffectiveSize, 3, 1e-9)
}
