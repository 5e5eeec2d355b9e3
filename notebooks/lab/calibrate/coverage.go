package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/framebundle"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/geom/stochastic"
	"anatomy/geom/try"
	"anatomy/internal/lists"
	"anatomy/kernels"
	"anatomy/landmarks"
	simulated "anatomy/notebooks/lab/recovery"
)

// An estimate of a number, and whether its interval holds what it is to hold.
type estimate struct {
	value float64
	holds bool
}

// An interval is lines of the table for simulations: what they estimate, first by an interval, then by numbers alone.
type interval struct {
	rows     []expected
	count    int // of simulations
	simulate simulation[[]estimate]
}

type expected struct {
	name  string
	truth float64
}

// coverage counts how often 95 % intervals hold the truth, and averages estimates.
func coverage(b *bench) {
	b.text("Each line has the share of 95 %% intervals that contain the truth, and the mean of the estimates with its standard error. Lines without a share have other numbers of the simulations in the line above. The diffusion means have a tenth of the simulations, %d. An estimate that has not converged counts as an interval without the truth.", b.tenth())
	b.header("interval", "simulations", "converged", "contains the truth", "truth", "mean of the estimates")
	for _, c := range b.intervals() {
		found, _, failed := simulate(b, c.count, c.simulate)
		for i, r := range c.rows {
			if failed != nil {
				b.row("%s | %d | %d | %v | %g | ", r.name, c.count, len(found), failed, r.truth)
				continue
			}
			held, holds := 0, "–"
			for _, estimates := range found {
				if estimates[i].holds {
					held++
				}
			}
			if i == 0 {
				holds = share(held, c.count)
			}
			mean, deviation := stat.MeanStdDev(lists.Each(found, func(estimates []estimate) float64 { return estimates[i].value }), nil)
			b.row("%s | %d | %d | %s | %g | %.4g ± %.2g", r.name, c.count, len(found), holds, r.truth, mean, deviation/math.Sqrt(float64(len(found))))
		}
	}
}

func (b *bench) intervals() []interval {
	type drawn = simulation[[]estimate]
	flow := geom.On(manifold.Sphere(2))
	widths := lists.Make(5, func(k int) *geom.Space[geom.Vec] {
		return geom.On(landmarks.Manifold{N: 3, D: 2, Kernel: kernels.Gaussian(width * math.Exp(0.3*float64(k-2)))})
	})
	same := []float64{-1, -0.5, 0, 0.5, 1}
	uneven := [][]float64{same, {-1, -0.7, -0.4}, {0, 0.5, 1}}
	const between = 0.15*0.15 + 0.05*0.05
	all, tenth := b.simulations, b.tenth()
	mean := func(s *geom.Space[geom.Vec], point geom.Vec, spread float64, weights []float64) drawn {
		return func(_ int, r *rand.Rand) ([]estimate, geom.Status) { return frechet(s, point, spread, weights, r) }
	}
	grown := func(times func(subject int) []float64) drawn {
		return func(_ int, r *rand.Rand) ([]estimate, geom.Status) { return growth(flow, times, r) }
	}
	diffused := func(of func(s *geom.Space[geom.Vec], start []float64, T float64, b *bench, k int) ([]estimate, geom.Status),
		s *geom.Space[geom.Vec], start []float64, T float64) drawn {
		return func(k int, _ *rand.Rand) ([]estimate, geom.Status) { return of(s, start, T, b, k) }
	}
	return []interval{
		{[]expected{{"Fréchet mean of 20 points of 0.3, S², ellipse; its distance from the truth", 0}}, all, mean(flow, pole, 0.3, nil)},
		{[]expected{{"the same, points of 0.7", 0}}, all, mean(flow, pole, 0.7, nil)},
		{[]expected{{"the same, points of 1.3: too wide", 0}}, all, mean(flow, pole, 1.3, nil)},
		{[]expected{{"the same, SPD(2), points of 1", 0}}, all, mean(geom.On(manifold.SPD(2)), []float64{1, 0, 0, 1}, 1, nil)},
		{[]expected{{"the same, H², points of 1", 0}}, all, mean(geom.On(manifold.Hyperbolic(2)), []float64{1, 0, 0}, 1, nil)},
		{[]expected{{"the same, 3 landmarks, points of 0.2", 0}}, all, mean(widths[2], triangle, 0.2, nil)},
		{[]expected{{"the same, S², points of 0.3, one with the weight of 9 others", 0},
			{"the square of its standard error, less that of its distance", 0}}, all, mean(flow, pole, 0.3, heavy)},
		{[]expected{{"speed of a geodesic through 20, S², t", 0.5}}, all,
			func(_ int, r *rand.Rand) ([]estimate, geom.Status) { return slope(flow, r) }},
		{[]expected{{"mean slope of 20 subjects that grow, S², Hotelling's ellipse; the variance between them", between},
			{"the square of its standard error, less that of its error", 0}, {"the variance between their intercepts", 2 * 0.3 * 0.3}},
			all, grown(func(int) []float64 { return same })},
		{[]expected{{"the same, each third of the subjects at times of its own; the variance between them", between},
			{"the square of its standard error, less that of its error", 0}},
			all, grown(func(subject int) []float64 { return uneven[subject%len(uneven)] })},
		{[]expected{{"variance of the diffusion mean of 20, S², normal in log T", 0.3}}, tenth, diffused(diffusion, flow, pole, 0.3)},
		{[]expected{{"the same, 3 landmarks", 0.02}}, tenth, diffused(diffusion, widths[2], triangle, 0.02)},
		{[]expected{{"distance of the diffusion mean of 20 from their start, S², T = 0.3, disc of PointError", 0}}, tenth,
			diffused(place, flow, pole, 0.3)},
		{[]expected{{"the same, T = 1", 0}}, tenth, diffused(place, flow, pole, 1)},
		{[]expected{{"kernel width, from 20 Brownian samples of 3 landmarks, likelihood's curvature", width}}, all,
			func(k int, _ *rand.Rand) ([]estimate, geom.Status) { return kernelWidth(widths, b, k) }},
		{[]expected{{"ancestor of 16 leaves, Brownian motion, t", 0}}, all,
			func(_ int, r *rand.Rand) ([]estimate, geom.Status) { return ancestor(r) }},
	}
}

const observations = 20

// heavy gives the first sample the weight of nine others.
var heavy = func() []float64 {
	w := make([]float64, observations)
	floats.AddConst(1, w)
	w[0] = 9
	return w
}()

// frechet has the distance of the mean from a point, with the ellipsoid of its uncertainty as the interval, and the square of its standard
// error less that of this distance. The samples are Exp of normal vectors at the point, whose mean is 0: so it is the Fréchet mean of
// the population. Weights of nil are equal.
func frechet[P geom.Point](on geom.Of[P], point P, spread float64, weights []float64, random *rand.Rand) ([]estimate, geom.Status) {
	s := on.Geometry()
	basis := try.Get(stochastic.Orthonormal(on, point))
	samples := make([]P, observations)
	for i := range samples {
		v := make([]float64, len(shape.Flat(point)))
		for _, e := range basis {
			floats.AddScaled(v, spread*random.NormFloat64(), shape.Flat(e))
		}
		samples[i] = try.Get(s.Exp(point, s.FromFlat(v))).End
	}
	mean := try.Get(stats.FrechetMean(on, samples, stats.Weights(weights)))
	if mean.Status != geom.Converged {
		return nil, geom.Stalled
	}
	u := try.Get(stats.MeanUncertainty(on, mean))
	radii := try.Get(u.Radii(0.95))
	off := try.Get(s.Log(mean.Point, point))
	square := 0.0
	for k, c := range u.Covectors {
		square += math.Pow(floats.Dot(shape.Flat(c), shape.Flat(off.Velocity))/radii[k], 2)
	}
	return []estimate{{off.Length, square <= 1}, {value: u.StandardError*u.StandardError - off.Length*off.Length}}, off.Status
}

// hotelling returns whether a tangent vector at a point of a surface is in the 95 % ellipse of the mean of vectors, in which
// their own mean has been subtracted from the vector.
func hotelling(s *geom.Space[geom.Vec], point geom.Vec, samples []geom.Vec, off geom.Vec) bool {
	basis := try.Get(stochastic.Orthonormal(s, point))
	n := float64(len(samples))
	columns := mat.NewDense(len(samples), 2, nil)
	for i, v := range samples {
		columns.SetRow(i, []float64{floats.Dot(v, basis[0]), floats.Dot(v, basis[1])})
	}
	var c mat.SymDense
	stat.CovarianceMatrix(&c, columns, nil)
	x, y := floats.Dot(off, basis[0]), floats.Dot(off, basis[1])
	square := n * (x*x*c.At(1, 1) - 2*x*y*c.At(0, 1) + y*y*c.At(0, 0)) / mat.Det(&c)
	return square*(n-2)/(2*(n-1)) <= distuv.F{D1: 2, D2: n - 2}.Quantile(0.95)
}

var pole = []float64{0, 0, 1}

// tracked are subjects around the pole, whose slopes differ by 0.15 and 0.05 along the axes, with observations of errors of 0.05.
func tracked(s *geom.Space[geom.Vec], subjects int, times func(subject int) []float64, random *rand.Rand) []stats.Track[geom.Vec] {
	normal := func(x, y float64) []float64 { return []float64{x * random.NormFloat64(), y * random.NormFloat64(), 0} }
	// moved is the end of the geodesic from x with the velocity v, and what becomes of w.
	moved := func(x, v, w []float64) (end, moved []float64) {
		g := try.Get(s.Exp(x, v))
		path := try.Get(s.Transport(g, w))
		return g.End, path[0][len(path[0])-1]
	}
	var tracks []stats.Track[geom.Vec]
	for i := range subjects {
		slope, away := normal(0.15, 0.05), normal(0.3, 0.3)
		slope[0] += rate
		start, v := moved(pole, away, slope)
		var track stats.Track[geom.Vec]
		for _, t := range times(i) {
			_, error := moved(pole, away, normal(0.05, 0.05))
			y, error := moved(start, floats.ScaleTo(make([]float64, 3), t, v), error)
			x, _ := moved(y, error, error)
			track.Times, track.Points = append(track.Times, t), append(track.Points, x)
		}
		tracks = append(tracks, track)
	}
	return tracks
}

// growth has the variance between the slopes of subjects, with Hotelling's ellipse of their mean as the interval, the square of the
// standard error of the mean slope less that of its error, and the variance between their intercepts.
func growth(s *geom.Space[geom.Vec], times func(subject int) []float64, random *rand.Rand) ([]estimate, geom.Status) {
	tracks := tracked(s, observations, times, random)
	g := try.Get(stats.Grow(s, tracks))
	way := try.Get(s.Log(pole, g.Mean.Point))
	truth := try.Get(s.Transport(way, []float64{rate, 0, 0}))
	off := floats.SubTo(make([]float64, 3), truth[0][len(truth[0])-1], g.Slope)
	holds := hotelling(s, g.Mean.Point, g.Slopes, off)
	return []estimate{{g.Rate.Between, holds}, {value: g.StandardError*g.StandardError - floats.Dot(off, off)}, {value: g.Intercept.Between}}, g.Status
}

const rate = 0.4

// slope is that of noise of 0.1 around points of a great circle at times between −1 and 1.
func slope(s *geom.Space[geom.Vec], random *rand.Rand) ([]estimate, geom.Status) {
	const truth, noise = 0.5, 0.1
	samples, times := make([][]float64, observations), make([]float64, observations)
	var squares float64
	for i := range samples {
		times[i] = -1 + 2*float64(i)/(observations-1)
		squares += times[i] * times[i]
		v := normal(random, 2)
		floats.Scale(noise/spread, v)
		samples[i] = turned(onSphere(v), truth*times[i])
	}
	r := try.Get(stats.Regress(s, samples, linear.Terms{linear.Covariate("time", times...)}))
	const free = 2*observations - 4
	se := math.Sqrt(r.Variance * observations / free / squares)
	speed := floats.Norm(r.Velocities[0], 2)
	wide := distuv.StudentsT{Sigma: 1, Nu: free}.Quantile(0.975) * se
	return []estimate{{speed, math.Abs(speed-truth) <= wide}}, r.Status
}

// diffusion has the variance of the diffusion mean of n samples at the time T, times n/(n − 1) as in the plane, where T̂ has the
// distribution of T χ²/d(n − 1); its interval, normal in log T, is that of VarianceError.
func diffusion(s *geom.Space[geom.Vec], start []float64, T float64, b *bench, simulation int) ([]estimate, geom.Status) {
	m := diffused(s, start, T, b, simulation)
	variance := m.Variance * observations / (observations - 1)
	wide := 1.96 * m.VarianceError / m.Variance * math.Sqrt(observations/(observations-1.))
	return []estimate{{variance, math.Abs(math.Log(variance/T)) <= wide}}, m.Status
}

// place has the distance of the diffusion mean of n samples on a surface from their start, and the disc of 95 % with its standard error.
func place(s *geom.Space[geom.Vec], start []float64, T float64, b *bench, simulation int) ([]estimate, geom.Status) {
	m := diffused(s, start, T, b, simulation)
	off := try.Get(s.Log(m.Point, start)).Length
	return []estimate{{off, off*off <= m.PointError*m.PointError/2*distuv.ChiSquared{K: 2}.Quantile(0.95)}}, m.Status
}

// diffused is the diffusion mean of n samples at the time T.
func diffused(s *geom.Space[geom.Vec], start []float64, T float64, b *bench, simulation int) *stochastic.Mean[geom.Vec] {
	seed := b.seed + uint64(simulation)
	samples := try.Get(stochastic.Brownian(s, start).Sample(stochastic.Run{Paths: observations, Steps: 50, Time: T, Seed: seed}))
	return try.Get(stochastic.DiffusionMean(s, stochastic.Guided, samples, start, stochastic.Run{Paths: 20, Steps: 20, Time: T, Seed: seed + 1<<32}))
}

// ancestor is the value at the root of a tree, with the standard error of Prune, whose rate has leaves − 1 degrees of freedom.
func ancestor(random *rand.Rand) ([]estimate, geom.Status) {
	const leaves = 16
	t := grown(random, leaves)
	nodes := make([]float64, len(t.Parent))
	for i := 1; i < len(nodes); i++ {
		nodes[i] = nodes[t.Parent[i]] + math.Sqrt(t.Length[i])*random.NormFloat64()
	}
	var values [][]float64
	for _, i := range t.Leaves() {
		values = append(values, []float64{nodes[i]})
	}
	a := try.Get(t.Prune(values))
	wide := distuv.StudentsT{Sigma: 1, Nu: leaves - 1}.Quantile(0.975) * a.StandardError(0)[0]
	return []estimate{{a.Mean[0][0], math.Abs(a.Mean[0][0]) <= wide}}, geom.Converged
}

// width is that of the kernel of three landmarks.
const width = 0.8

var triangle = []float64{0, 0, 0.9, 0.2, 0.4, 0.8}

// kernelWidth is the maximum of a parabola through the log-likelihoods of five widths, in their logarithms.
func kernelWidth(widths []*geom.Space[geom.Vec], b *bench, simulation int) ([]estimate, geom.Status) {
	const T = 0.02
	seed := b.seed + uint64(simulation)
	samples := try.Get(stochastic.Brownian(widths[2], triangle).Sample(stochastic.Run{Paths: observations, Steps: 50, Time: T, Seed: seed}))
	var x, y [5]float64
	for k, s := range widths {
		x[k] = 0.3 * float64(k-2)
		all := try.Get(stochastic.LogLikelihood(s, stochastic.Guided, triangle, samples, stochastic.Run{Paths: 50, Steps: 20, Time: T, Seed: seed + 1<<32}))
		for i, l := range all {
			y[k] += l.Log - logDet(samples[i], width*math.Exp(x[k])) // a density by coordinates: the volume depends on the width
		}
	}
	best := 1 // the parabola goes through the best and its neighbours
	for k := 1; k <= 3; k++ {
		if y[k] > y[best] {
			best = k
		}
	}
	first, second := (y[best+1]-y[best-1])/0.6, (y[best+1]-2*y[best]+y[best-1])/0.09
	if !(second < 0) { // no maximum
		return nil, geom.Stalled
	}
	peak := x[best] - first/second
	return []estimate{{width * math.Exp(peak), math.Abs(peak) <= 1.96/math.Sqrt(-second)}}, geom.Converged
}

// logDet is log det K of landmarks in the plane: the logarithm of the density of coordinates by that of the Riemannian volume is
// log √det g = −log det K.
func logDet(shape []float64, width float64) float64 {
	value, _ := mat.LogDet(simulated.Root(engine.Unflatten(shape, 2), width, 0)) // half of it
	return 2 * value
}

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
				of := func(frame [][]float64) float64 {
					return lists.Sum(len(frame), func(k int) float64 { return floats.Dot(v, frame[k]) * floats.Dot(w, frame[k]) })
				}
				covariance, truth := of(m.Frame), of(u.Frame)
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
