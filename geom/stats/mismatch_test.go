package stats_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stats"
	"anatomy/kernels"
	"anatomy/landmarks"
	"anatomy/landmarks/morpho"
)

// vertebrae are six of the control mice whose outlines have all points in order, with their manifold.
func vertebrae(t *testing.T) (*geom.Space[geom.Vec], [][]float64) {
	t.Helper()
	data := morpho.MouseVertebrae()
	aligned := expect.Must(morpho.Procrustes(data.Shapes()))
	V := landmarks.New(60, 2, kernels.Gaussian(3*morpho.MeanSpacing(aligned.Mean, true)), geom.Integrator(ode.RK4, 10))
	var shapes []geom.Shape
	for _, i := range []int{1, 2, 3, 4, 5, 6} {
		shapes = append(shapes, aligned.Shapes[i])
	}
	return V.OnNumbers(), shape.FlatAll(shapes)
}

// A mean with mismatch is what it says, by geodesics that are shot anew: momenta balance to a hundredth of their standard
// error, every geodesic is stationary in its own problem, and a tolerance ten times smaller changes no mode.
func TestInexactMeanArrives(t *testing.T) {
	space, x := vertebrae(t)
	const sigma = 0.1
	loose := expect.Must(stats.FrechetMean(space, x, stats.RelativeNoise(sigma)))
	tight := expect.Must(stats.FrechetMean(space, x, stats.RelativeNoise(sigma), stats.Tolerance(0.001)))
	for tolerance, m := range map[float64]*stats.Mean[geom.Vec]{0.01: loose, 0.001: tight} {
		converged(t, "mean", m.Status)
		pull, flat := make([]float64, len(m.Point)), make([]float64, len(m.Point))
		squares, spread, worst := 0.0, 0.0, 0.0
		for i, p := range m.Momenta {
			g := expect.Must(space.Shoot(m.Point, p))
			off := floats.SubTo(make([]float64, len(p)), g.End, x[i])
			floats.AddScaled(off, sigma*sigma, g.Momenta[10])
			worst = max(worst, floats.Norm(off, 2))
			floats.AddScaled(pull, 1./6, g.Velocity)
			floats.AddScaled(flat, 1./6, p)
			squares += g.Length * g.Length / 36
			spread += math.Pow(floats.Distance(x[i], m.Point, 2), 2) / 6
		}
		imbalance := math.Sqrt(floats.Dot(pull, flat) / squares)
		expect.Abs(t, "imbalance", m.Imbalance, imbalance, 1e-9)
		if imbalance > tolerance || m.Unsettled > tolerance/100 || worst > 1.01*tolerance/100*math.Sqrt(spread) {
			t.Errorf("tolerance %g: imbalance %.2g standard errors, unsettled %.2g (%.2g)", tolerance, imbalance, m.Unsettled, worst/math.Sqrt(spread))
		}
	}
	first := expect.Must(stats.TangentPCA(loose))
	second := expect.Must(stats.TangentPCA(tight))
	for k := range 2 {
		expect.Abs(t, "cosine of a mode with that under a tighter tolerance", floats.Dot(first.Modes[k], second.Momenta[k]), 1, 1e-3)
	}
}

// With mismatch no logarithms are taken, and two landmarks may coincide in a sample; without it this is an error that names them.
func TestInexactMeanOfCoincidentLandmarks(t *testing.T) {
	s := landmarks.New(2, 2, kernels.Gaussian(1)).Space
	shapes := []geom.Shape{{{0, 0}, {0, 0}}, {{0.1, 0}, {0.5, 0}}, {{0, 0.1}, {0.4, 0.1}}}
	converged(t, "mean", expect.Must(stats.FrechetMean(s, shapes, stats.RelativeNoise(0.2))).Status)
	expect.Refused(t, expect.Error(stats.FrechetMean(s, shapes)), "sample 0", "coincide")
}

// A sample of weight 2 is two samples, one of weight 0 none, and the latter still has its geodesic.
func TestInexactMeanWeights(t *testing.T) {
	space, x := vertebrae(t)
	x = x[:3]
	options := []stats.MeanOption{stats.RelativeNoise(0.3), stats.Tolerance(1e-6)}
	weighted := expect.Must(stats.FrechetMean(space, x, append(options, stats.Weights([]float64{2, 1, 0}))...))
	repeated := expect.Must(stats.FrechetMean(space, [][]float64{x[0], x[0], x[1]}, options...))
	converged(t, "weighted", weighted.Status)
	converged(t, "repeated", repeated.Status)
	expect.Abs(t, "mean", weighted.Point, repeated.Point, 1e-7)
	if weighted.Distances[2] == 0 {
		t.Error("a sample of weight 0 has no geodesic")
	}
}

// The Status is read off the certificate: a search that is stopped says so, with what it has.
func TestInexactMeanStops(t *testing.T) {
	space, x := vertebrae(t)
	ctx, cancel := context.WithCancel(context.Background())
	m := expect.Must(stats.FrechetMean(space.With(geom.Context(ctx), geom.OnProgress(func(geom.Progress) { cancel() })), x, stats.RelativeNoise(0.3)))
	if m.Status != geom.Cancelled || !(m.Imbalance > 0.01) {
		t.Errorf("cancelled: %s, imbalance %.2g", m.Status, m.Imbalance)
	}
	m = expect.Must(stats.FrechetMean(space, x, stats.RelativeNoise(0.3), stats.MaxIterations(1)))
	if m.Status != geom.IterationLimit || !(m.Imbalance > 0.01) {
		t.Errorf("one iteration: %s, imbalance %.2g", m.Status, m.Imbalance)
	}
}

// The test of dispersions holds its size where permuted distances reject a true null in 26 of 100 cases; the command
// calibrate does this at length.
func TestDispersionSize(t *testing.T) {
	space := geom.On(manifold.Euclidean(10))
	rejected := 0
	const simulations = 100
	for k := range simulations {
		random := rand.New(rand.NewPCG(21, uint64(k)))
		x := make([][]float64, 12)
		for i := range x {
			x[i] = make([]float64, 10)
			for j := range x[i] {
				x[i][j] = random.NormFloat64()
			}
		}
		if expect.Must(compare(space, [][][]float64{x[:2], x[2:]}, stats.Dispersion, 99, uint64(k))).P <= 0.05 {
			rejected++
		}
	}
	if rejected > 10 { // 5 expected, with a standard deviation of 2.2
		t.Errorf("%d of %d true null hypotheses rejected at 5 %%", rejected, simulations)
	}
}

// An outline that runs backwards is no smooth deformation of the others: the search ends soon, and says to which samples
// no geodesic was found. A large mismatch allows for it. To one with three points in a wrong order there is a geodesic, a long one,
// and steps that are not longer than the samples are apart lead to the mean.
func TestInexactMeanNamesWhatItLoses(t *testing.T) {
	const n = 6
	space := landmarks.New(n, 2, kernels.Gaussian(1.5), geom.Integrator(ode.RK4, 10)).OnNumbers()
	outlines := func(order ...int) [][]float64 { // of the points of the third
		x := make([][]float64, 4)
		for k := range x {
			x[k] = make([]float64, 2*n)
			for i := range n {
				at := i
				if k == 2 {
					at = order[i]
				}
				sin, cos := math.Sincos(2 * math.Pi * float64(at) / n)
				x[k][2*i], x[k][2*i+1] = cos*(1+0.05*float64(k)), sin*(1-0.03*float64(k))
			}
		}
		return x
	}
	m := expect.Must(stats.FrechetMean(space, outlines(0, 3, 1, 2, 4, 5), stats.RelativeNoise(0.01)))
	converged(t, "mean with three points in a wrong order", m.Status)
	x := outlines(5, 4, 3, 2, 1, 0)
	m = expect.Must(stats.FrechetMean(space, x, stats.RelativeNoise(0.01)))
	t.Logf("%v; imbalance %.2g, unsettled %.2g", m, m.Imbalance, m.Unsettled)
	if m.Status != geom.Stalled || !slices.Equal(m.Unmatched, []int{2}) || m.Iterations > 30 || !strings.Contains(m.String(), "leave them out") {
		t.Errorf("%v after %d iterations, lost %v, want sample 2", m, m.Iterations, m.Unmatched)
	}
	m = expect.Must(stats.FrechetMean(space, x, stats.RelativeNoise(0.01), stats.Weights([]float64{1, 1, 0, 1})))
	if converged(t, "mean without it", m.Status); !math.IsNaN(m.Distances[2]) || m.Unmatched != nil {
		t.Errorf("%v, distances %.3g", m, m.Distances)
	}
	m = expect.Must(stats.FrechetMean(space, x, stats.RelativeNoise(1)))
	if converged(t, "mean with a large mismatch", m.Status); m.Unmatched != nil {
		t.Errorf("converged, and lost %v", m.Unmatched)
	}
}

// What is computed on a space does not depend on what was computed there before: neither on the numbers of samples, for which functions are
// compiled, nor on the steps that other samples needed. So tasks that share the samples of a bootstrap find the same means bit for bit.
func TestNothingIsLeftInASpace(t *testing.T) {
	brain := func() *geom.Space[geom.Vec] { space, _ := callosumSpace(t, 16); return space }
	_, q := callosumSpace(t, 16)
	shapes := callosa(t, brain(), q, 6)
	pair := func() *geom.Space[geom.Vec] { return landmarks.New(2, 2, kernels.Gaussian(1)).OnNumbers() }
	var fast [][]float64 // on a geodesic of two landmarks that pass each other, for which 25 steps are too few
	for i := range 4 {
		p := 4*float64(i) - 6
		fast = append(fast, expect.Must(pair().Shoot([]float64{-0.5, 0, 0.5, 0.3}, []float64{p, 0, -p, 0})).End)
	}
	random := rand.New(rand.NewPCG(1, 1))
	var drawn [2][][]float64
	for k := range drawn {
		for range shapes {
			drawn[k] = append(drawn[k], shapes[random.IntN(len(shapes))])
		}
	}
	mean := func(on *geom.Space[geom.Vec], x [][]float64) []float64 {
		return expect.Must(stats.FrechetMean(on, x, stats.RelativeNoise(0.1))).Point
	}
	line := func(options ...stats.MeanOption) func(on *geom.Space[geom.Vec], x [][]float64) []float64 {
		return func(on *geom.Space[geom.Vec], x [][]float64) []float64 {
			times := make([]float64, len(x))
			for i := range times {
				times[i] = float64(i)
			}
			r := expect.Must(stats.Regress(on, x, along(times), options...))
			return slices.Concat(r.Point, r.Velocities[0])
		}
	}
	for name, c := range map[string]struct {
		space func() *geom.Space[geom.Vec]
		of    func(on *geom.Space[geom.Vec], x [][]float64) []float64
		x     [2][][]float64
	}{
		"mean":            {brain, mean, drawn},
		"line with noise": {pair, line(stats.RelativeNoise(0.1)), [2][][]float64{fast, fast[1:]}},
		"line":            {pair, line(), [2][][]float64{fast, fast[1:]}},
	} {
		shared := c.space()
		c.of(shared, c.x[0])
		if got, want := c.of(shared, c.x[1]), c.of(c.space(), c.x[1]); !slices.Equal(got, want) {
			t.Errorf("%s: another computation on the space before changes the result by %.2g", name, floats.Distance(got, want, 2))
		}
	}
}
