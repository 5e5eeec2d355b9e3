package stats_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stats"
	"anatomy/geom/stochastic"
)

// turned is a configuration turned by an angle.
func turned(z []float64, angle float64) []float64 {
	sin, cos := math.Sincos(angle)
	out := make([]float64, len(z))
	for i := 0; i < len(z); i += 2 {
		out[i], out[i+1] = cos*z[i]-sin*z[i+1], sin*z[i]+cos*z[i+1]
	}
	return out
}

// shapes are configurations around one, as they stand relative to it.
func shapes(t *testing.T, space *geom.Space[geom.Vec], seed uint64, n int, spread float64) (z []float64, x [][]float64) {
	t.Helper()
	z, _, err := space.Project([]float64{0, 0, 2, 0.1, 0.7, 1.5}[:geom.PointDim(space.M)])
	z = expect.Must(z, err)
	basis := expect.Must(stochastic.Orthonormal(space, z))
	r := rand.New(rand.NewPCG(seed, 0))
	for range n {
		v := make([]float64, len(z))
		for _, e := range basis {
			floats.AddScaled(v, spread*r.NormFloat64(), e)
		}
		x = append(x, expect.Must(space.Exp(z, v)).End)
	}
	return z, x
}

// On a quotient, how configurations are turned changes nothing: growth, means, dispersion, with closed forms and without.
func TestTurnedConfigurations(t *testing.T) {
	angle := func(i int) float64 { return 2.4 * float64(i+1) }
	for name, space := range map[string]*geom.Space[geom.Vec]{
		"closed": geom.On(manifold.Kendall(3, 2)), "integrated": geom.On(struct{ geom.Charted }{manifold.Kendall(3, 2)}, geom.Integrator(ode.RK4, 10))} {
		_, x := shapes(t, space, 3, 8, 0.15)
		var other [][]float64
		for i, x := range x {
			other = append(other, turned(x, angle(i)))
		}
		a, b := expect.Must(stats.FrechetMean(space, x)), expect.Must(stats.FrechetMean(space, other))
		converged(t, name+" mean", b.Status)
		expect.Abs(t, name+" variance", b.Variance, a.Variance, 1e-9)
		expect.Abs(t, name+" mean", expect.Must(space.Log(a.Point, b.Point)).Length, 0, 1e-6)

		for _, statistic := range []stats.Statistic{stats.TangentMeanDistance, stats.Dispersion} {
			want := expect.Must(compare(space, [][][]float64{x[:4], x[4:]}, statistic, 3, 1))
			got := expect.Must(compare(space, [][][]float64{other[:4], other[4:]}, statistic, 3, 1))
			expect.Abs(t, name+" "+statistic.String(), got.Statistic, want.Statistic, 1e-7)
			expect.Abs(t, name+" permuted "+statistic.String(), got.Permuted, want.Permuted, 1e-7)
		}
		if name == "integrated" {
			continue
		}

		var tracks, alike []stats.Track[geom.Vec]
		times := []float64{0, 1, 2}
		r := rand.New(rand.NewPCG(4, 0))
		for i := range 4 {
			track, same := stats.Track[geom.Vec]{Times: times}, stats.Track[geom.Vec]{Times: times}
			v := floats.SubTo(make([]float64, 6), x[7], x[6])
			_, tangent, err := space.Project(x[i], v)
			if err != nil {
				t.Fatal(err)
			}
			for j, at := range times {
				u := floats.ScaleTo(make([]float64, 6), at*(0.5+r.Float64()), tangent[0])
				y := expect.Must(space.Exp(x[i], u)).End
				track.Points = append(track.Points, y)
				same.Points = append(same.Points, turned(y, angle(3*i+j)))
			}
			tracks, alike = append(tracks, track), append(alike, same)
		}
		want, got := expect.Must(stats.Grow(space, tracks)), expect.Must(stats.Grow(space, alike))
		converged(t, "growth", got.Status)
		expect.Rel(t, "rate", []float64{got.Rate.Total, got.Rate.Within, got.Noise, got.Intercept.Total},
			[]float64{want.Rate.Total, want.Rate.Within, want.Noise, want.Intercept.Total}, 1e-5)
		expect.Rel(t, "speed", floats.Dot(got.Slope, got.Momentum), floats.Dot(want.Slope, want.Momentum), 1e-5)
		expect.Rel(t, "modes", got.Variation.Variances, want.Variation.Variances, 1e-5)
	}
}

// Two subjects that are the same but for half a turn grow alike: their mean slope is the slope of either, and no variance is between.
func TestGrowthOfTurned(t *testing.T) {
	space := geom.On(manifold.Kendall(3, 2))
	z, x := shapes(t, space, 5, 1, 0.15)
	v := expect.Must(space.Log(z, x[0])).Velocity
	var one, two stats.Track[geom.Vec]
	for _, at := range []float64{-0.5, 0, 1, 1.5} {
		y := expect.Must(space.Exp(z, floats.ScaleTo(make([]float64, 6), at, v))).End
		one.Times, one.Points = append(one.Times, at), append(one.Points, y)
		two.Times, two.Points = append(two.Times, at), append(two.Points, turned(y, math.Pi))
	}
	g := expect.Must(stats.Grow(space, []stats.Track[geom.Vec]{one, two}))
	converged(t, "growth", g.Status)
	expect.Abs(t, "speed", math.Sqrt(floats.Dot(g.Slope, g.Momentum)), floats.Norm(v, 2), 1e-7)
	expect.Abs(t, "rate", g.Rate.Total, 0, 1e-10)
	expect.Refused(t, expect.Error(stats.TransportToMean(space, g.Mean, [][]geom.Vec{{v}, {v}})), "orbits")
}

// Triangles are a sphere of radius 1/2: the Hessian of ½d² is 1 along a geodesic and 2d cot 2d across it, and a mean of shapes is as
// uncertain.
func TestUncertaintyOfTriangles(t *testing.T) {
	space := geom.On(manifold.Kendall(3, 2))
	_, x := shapes(t, space, 7, 2, 0.5)
	for i := range x {
		x[i] = turned(x[i], float64(i))
	}
	m := expect.Must(stats.FrechetMean(space, x, stats.Weights([]float64{1, 1})))
	d := m.Distances[0]
	u := expect.Must(stats.MeanUncertainty(space, m))
	expect.Abs(t, "H", u.Stiffness, []float64{2 * d / math.Tan(2*d), 1}, 1e-5)
}

// Mean and frame do not see how configurations are turned either.
func TestFrameBundleMeanOfTurned(t *testing.T) {
	space := geom.On(manifold.Kendall(3, 2), geom.Integrator(ode.RK4, 10))
	_, x := shapes(t, space, 3, 8, 0.15)
	var other [][]float64
	for i, x := range x {
		other = append(other, turned(x, 2.4*float64(i)))
	}
	a, b := expect.Must(stats.FrameBundleMean(space, x, 1)), expect.Must(stats.FrameBundleMean(space, other, 1))
	converged(t, "mean and frame", b.Status)
	expect.Abs(t, "objective", b.Objective, a.Objective, 1e-9)
	expect.Rel(t, "variance", b.Variances, a.Variances, 1e-6)
	expect.Abs(t, "mean", expect.Must(space.Log(a.Point, b.Point)).Length, 0, 1e-6)
}
