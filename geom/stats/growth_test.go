package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/stats/linear"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// On flat space the stages are lines by least squares, their mean and their covariance, whatever the times of the subjects.
func TestGrowthInFlatSpace(t *testing.T) {
	space, metric := skewed()
	times := [][]float64{{1, 2, 4}, {0, 1, 5, 6}, {2, 3, 9}, {1, 4, 5, 6}, {0, 3, 4}}
	noise := normal(3, 40, 3)
	var tracks []stats.Track[geom.Vec]
	var slopes, intercepts, misses [][]float64
	origin, count, free := 0.0, 0, 0.0
	for _, t := range times {
		origin += floats.Sum(t)
		count += len(t)
		free += float64(len(t) - 2)
	}
	origin /= float64(count)
	var bySlope, byIntercept float64
	for i, when := range times {
		track := stats.Track[geom.Vec]{Times: when}
		for _, at := range when {
			x := floats.AddScaledTo(make([]float64, 3), noise[0], 0.3*at, noise[i+1])
			noise = append(noise[1:], noise[0])
			track.Points = append(track.Points, x)
		}
		tracks = append(tracks, track)
		slope, intercept, left := make([]float64, 3), make([]float64, 3), make([][]float64, len(when))
		for k := range 3 {
			y := make([]float64, len(when))
			for j, x := range track.Points {
				y[j] = x[k]
			}
			a, b := stat.LinearRegression(when, y, nil, false)
			slope[k], intercept[k] = b, a+b*origin
			for j := range y {
				left[j] = append(left[j], y[j]-a-b*when[j])
			}
		}
		slopes, intercepts, misses = append(slopes, slope), append(intercepts, intercept), append(misses, left...)
		middle, squares := stat.Mean(when, nil), 0.0
		for _, at := range when {
			squares += (at - middle) * (at - middle)
		}
		bySlope += 1 / squares / 5
		byIntercept += (1/float64(len(when)) + (origin-middle)*(origin-middle)/squares) / 5
	}
	inner := func(u, v []float64) float64 { return mat.Inner(mat.NewVecDense(3, u), metric, mat.NewVecDense(3, v)) }
	spread := func(x [][]float64) (mean []float64, square float64) {
		mean = make([]float64, 3)
		for _, v := range x {
			floats.AddScaled(mean, 1/float64(len(x)), v)
		}
		for _, v := range x {
			d := floats.SubTo(make([]float64, 3), v, mean)
			square += inner(d, d) / float64(len(x)-1)
		}
		return mean, square
	}
	g := expect.Must(stats.Grow(space, tracks, stats.Tolerance(1e-9)))
	converged(t, "growth", g.Status)
	slope, ofSlopes := spread(slopes)
	intercept, ofIntercepts := spread(intercepts)
	square := 0.0
	for _, e := range misses {
		square += inner(e, e) / free
	}
	expect.Abs(t, "mean slope", g.Slope, slope, 1e-7)
	expect.Abs(t, "slopes", g.Slopes, slopes, 1e-7)
	expect.Abs(t, "mean intercept", g.Mean.Point, intercept, 1e-7)
	expect.Rel(t, "noise", g.Noise, math.Sqrt(square), 1e-7)
	expect.Rel(t, "rate", []float64{g.Rate.Total, g.Rate.Within, g.Rate.Between},
		[]float64{ofSlopes, square * bySlope, ofSlopes - square*bySlope}, 1e-6)
	expect.Rel(t, "intercept", []float64{g.Intercept.Total, g.Intercept.Within}, []float64{ofIntercepts, square * byIntercept}, 1e-6)
	expect.Rel(t, "standard error", g.StandardError, math.Sqrt(ofSlopes/5), 1e-7)
	within := 0.0
	for _, m := range g.Modes {
		within += m.Within
	}
	expect.Rel(t, "within along all modes", within, g.Rate.Within, 1e-6)
	at := expect.Must(g.At(space, origin+2))
	expect.Abs(t, "mean trajectory", at, floats.AddScaledTo(make([]float64, 3), intercept, 2, slope), 1e-6)
	along := expect.Must(g.At(space, origin+2, 0.5))
	floats.AddScaled(at, 1, g.Variation.Modes[0])
	expect.Abs(t, "trajectory of a score", along, at, 1e-6)

	// Subjects that grow along lines in the logarithm of time leave their lines in time along their slopes only.
	for _, c := range []struct {
		name  string
		clock func(t float64) float64
		leave bool
	}{{"lines in time", func(t float64) float64 { return t }, false}, {"lines in another time", func(t float64) float64 { return 3 * math.Log(t) }, true}} {
		tracks = nil
		for i := range 12 {
			track := stats.Track[geom.Vec]{Times: []float64{1, 2, 4, 8}}
			for _, at := range track.Times {
				x := floats.ScaleTo(make([]float64, 3), 0.1, noise[0])
				noise = append(noise[1:], noise[0])
				floats.AddScaled(x, c.clock(at), []float64{1, 0.02 * float64(i), -0.5})
				track.Points = append(track.Points, x)
			}
			tracks = append(tracks, track)
		}
		d := expect.Must(expect.Must(stats.Grow(space, tracks)).Departure(space, linear.Permutations{N: 499, Seed: 1}))
		t.Logf("%s: p %.3f, across %.3f, ahead by %.2f", c.name, d.P, d.PAcross, d.Along)
		if leaves := d.P < 0.01; leaves != c.leave || d.PAcross < 0.05 {
			t.Errorf("%s: p %.3f, across the slope %.3f", c.name, d.P, d.PAcross)
		}
		if c.leave { // the slope s of 3 log t in t is that of four points, where log t is linear
			expect.Abs(t, "ahead", d.Along[2], (6*math.Ln2-4.5*math.Ln2-0.25*slopeOf(c.clock, 1, 2, 4, 8))/slopeOf(c.clock, 1, 2, 4, 8), 0.1)
		}
	}
	expect.Refused(t, expect.Error(g.Departure(space, linear.Permutations{N: 10, Seed: 1})), "subject 1", "other times")
	expect.Refused(t, expect.Error(stats.Grow(space, tracks[:1])), "1 subjects", "Regress")
	two := stats.Track[geom.Vec]{Times: []float64{1, 2}, Points: tracks[0].Points[:2]}
	expect.Refused(t, expect.Error(stats.Grow(space, []stats.Track[geom.Vec]{two, two})), "third observation")
	two.Times = []float64{1}
	expect.Refused(t, expect.Error(stats.Grow(space, []stats.Track[geom.Vec]{tracks[0], two})), "subject 1", "1 times and 2 points")
	expect.Refused(t, expect.Error(stats.TransportToMean(space, g.Mean, nil)), "0 samples")
	expect.Refused(t, expect.Error(g.At(space, 1, 1, 1, 1, 1)), "4 scores")
}

// On a line nothing is across the slope: what rounding leaves there is no evidence.
func TestDepartureOnLine(t *testing.T) {
	line := geom.On(manifold.Euclidean(1))
	noise := normal(5, 20, 1)
	var tracks []stats.Track[geom.Vec]
	for i := range 5 {
		track := stats.Track[geom.Vec]{Times: []float64{0, 1, 2, 3}}
		for j, at := range track.Times {
			track.Points = append(track.Points, []float64{7 + 0.3*at + noise[4*i+j][0]})
		}
		tracks = append(tracks, track)
	}
	for seed := range uint64(5) {
		d := expect.Must(expect.Must(stats.Grow(line, tracks)).Departure(line, linear.Permutations{N: 99, Seed: seed}))
		expect.Abs(t, "p across", d.PAcross, 1, 0)
		expect.Abs(t, "across", d.Across, make([]float64, 4), 1e-14)
	}
}

// slopeOf is the slope of the line by least squares through a clock at some times.
func slopeOf(clock func(t float64) float64, times ...float64) float64 {
	var y []float64
	for _, t := range times {
		y = append(y, clock(t))
	}
	_, slope := stat.LinearRegression(times, y, nil, false)
	return slope
}

// tracked simulates subjects that grow from around a point: orthonormal are vectors there, along which intercepts have the
// standard deviation 0.3, slopes the mean and the standard deviations given, and errors the standard deviation noise.
func tracked(t *testing.T, space *geom.Space[geom.Vec], r *rand.Rand, point geom.Vec, orthonormal []geom.Vec, subjects int, times, slope, deviations []float64, start, noise float64) []stats.Track[geom.Vec] {
	t.Helper()
	combined := func(basis []geom.Vec, c func(k int) float64) geom.Vec {
		v := make([]float64, len(point))
		for k, u := range basis {
			floats.AddScaled(v, c(k), u)
		}
		return v
	}
	carried := func(from geom.Vec, v geom.Vec, basis []geom.Vec) (geom.Vec, []geom.Vec) {
		g := expect.Must(space.Exp(from, v))
		moved := expect.Must(space.Transport(g, basis...))
		var end []geom.Vec
		for _, path := range moved {
			end = append(end, path[len(path)-1])
		}
		return g.End, end
	}
	var tracks []stats.Track[geom.Vec]
	for range subjects {
		p, basis := carried(point, combined(orthonormal, func(int) float64 { return start * r.NormFloat64() }), orthonormal)
		v := combined(basis, func(k int) float64 { return slope[k] + deviations[k]*r.NormFloat64() })
		track := stats.Track[geom.Vec]{Times: times}
		for _, at := range times {
			q, there := carried(p, floats.ScaleTo(make([]float64, len(v)), at-stat.Mean(times, nil), v), basis)
			x, _ := carried(q, combined(there, func(int) float64 { return noise * r.NormFloat64() }), there)
			track.Points = append(track.Points, x)
		}
		tracks = append(tracks, track)
	}
	return tracks
}

// Of simulated subjects the mean slope and the variance between subjects come back within their sampling errors, and what
// the fits say of their errors is right, on the sphere and for landmarks.
func TestGrowthRecovers(t *testing.T) {
	const subjects = 15
	triangle := []float64{0, 0, 0.9, 0.2, 0.4, 0.8}
	for _, c := range []struct {
		name       string
		space      *geom.Space[geom.Vec]
		point      geom.Vec
		start      float64
		slope      []float64
		deviations []float64
		fits       int
	}{
		{"sphere", geom.On(manifold.Sphere(2)), []float64{0, 0, 1}, 0.3, []float64{0.4, 0.1}, []float64{0.15, 0.05}, geomtest.Count(5, 20)},
		{"landmarks", landmarks.New(3, 2, kernels.Gaussian(0.8), geom.Integrator(ode.RK4, 6)).OnNumbers(), triangle, 0.03, []float64{0.06, 0, 0, 0.04, 0, 0}, []float64{0.02, 0.02, 0, 0, 0.01, 0}, geomtest.Count(2, 6)},
	} {
		random := rand.New(rand.NewPCG(11, 0))
		basis := expect.Must(stochastic.Orthonormal(c.space, c.point))
		times := []float64{0, 0.4, 0.9, 1.3, 2}
		noise := 0.1 * c.slope[0]
		off := make([][]float64, len(basis)) // components of the mean slopes, less the truth
		var between, noises, within []float64
		for range c.fits {
			tracks := tracked(t, c.space, random, c.point, basis, subjects, times, c.slope, c.deviations, c.start, noise)
			g := expect.Must(stats.Grow(c.space, tracks))
			converged(t, c.name, g.Status)
			moved := expect.Must(c.space.Transport(expect.Must(c.space.Log(g.Mean.Point, c.point)), g.Slope))[0]
			columns := mat.NewDense(len(c.point), len(basis), nil)
			for k, u := range basis {
				columns.SetCol(k, u)
			}
			var d mat.VecDense // the mean slope in the basis
			if err := d.SolveVec(columns, mat.NewVecDense(len(c.point), moved[len(moved)-1])); err != nil {
				t.Fatal(err)
			}
			for k := range basis {
				off[k] = append(off[k], d.AtVec(k)-c.slope[k])
			}
			between, within, noises = append(between, g.Rate.Between), append(within, g.Rate.Within), append(noises, g.Noise*g.Noise)
		}
		// What the estimates of flat space have as their expectations and variances.
		const squares = 2.428 // S_i
		fits, d, truth, fourth := float64(c.fits), float64(len(basis)), 0.0, 0.0
		for k, deviation := range c.deviations {
			one := deviation*deviation + noise*noise/squares
			truth += deviation * deviation
			fourth += one * one
			expect.Estimate(t, c.name+": mean slope less the truth", stat.Mean(off[k], nil), math.Sqrt(one/subjects/fits), 0)
		}
		all := d * noise * noise
		expect.Estimate(t, c.name+": variance of slopes between subjects", stat.Mean(between, nil), math.Sqrt(2*fourth/(subjects-1)/fits), truth)
		expect.Estimate(t, c.name+": noise", stat.Mean(noises, nil), all*math.Sqrt(2/(d*3*subjects*fits)), all)
		expect.Estimate(t, c.name+": variance of slopes within", stat.Mean(within, nil), all/squares*math.Sqrt(2/(d*3*subjects*fits)), all/squares)
	}
}
