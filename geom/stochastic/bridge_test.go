package stochastic_test

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/geomtest/heat"
	"anatomy/geom/manifold"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// ways are the proposals on S²: with the closed form of the distance, without it, and Delyon and Hu's.
func ways() map[string]struct {
	s        *geom.Space[geom.Vec]
	proposal stochastic.Proposal
} {
	return map[string]struct {
		s        *geom.Space[geom.Vec]
		proposal stochastic.Proposal
	}{
		"radial":    {sphere, stochastic.Guided},
		"quadratic": {geom.On(struct{ geom.Charted }{manifold.Sphere(2)}), stochastic.Guided},
		"Delyon-Hu": {sphere, stochastic.DelyonHu},
	}
}

// at is the point of S² at an angle from the pole.
func at(angle float64) []float64 {
	across := []float64{0.6, 0.48, 0} // orthogonal to it
	return floats.AddScaledTo(make([]float64, 3), floats.ScaleTo(make([]float64, 3), math.Cos(angle), pole), math.Sin(angle)/floats.Norm(across, 2), across)
}

// The likelihood by bridges is the heat kernel of S². Coordinates of one chart bend far from its centre: there the weights
// of the proposals made in one spread, and those of the radial ones do not.
func TestBridgeLikelihoodOnSphere(t *testing.T) {
	for name, w := range ways() {
		times, angles := []float64{0.1, 0.2}, []float64{0, 0.3, 0.6}
		if name == "radial" {
			times, angles = []float64{0.1, 0.6, 1.2}, []float64{0, 0.3, 0.8, 1.6, 2.5}
		}
		ends := make([][]float64, len(angles))
		for j, angle := range angles {
			ends[j] = at(angle)
		}
		for _, T := range times {
			got := expect.Must(stochastic.LogLikelihood(w.s, w.proposal, pole, ends, stochastic.Run{Paths: geomtest.Count(150, 1000), Steps: 100, Time: T, Seed: 21}))
			for j, angle := range angles {
				expect.Estimate(t, fmt.Sprintf("%s, T = %g, angle %g", name, T, angle), got[j].Log, got[j].StandardError, math.Log(heat.Kernel(T, math.Cos(angle))))
			}
		}
	}
}

// In flat space the weight is the density of the normal distribution, for every path.
func TestBridgeInFlatSpace(t *testing.T) {
	const T = 0.7
	x, v := []float64{0.3, -1}, []float64{1.1, 0.4}
	want := -math.Log(2*math.Pi*T) - (0.64+1.96)/(2*T)
	flat := manifold.Euclidean(2)
	for name, b := range map[string]*stochastic.Bridges[geom.Vec]{
		"radial":    expect.Must(stochastic.Bridge(geom.On(flat), stochastic.Guided, x, v, stochastic.Run{Paths: 3, Steps: 7, Time: T})),
		"quadratic": expect.Must(stochastic.Bridge(geom.On(struct{ geom.Metric }{flat}), stochastic.Guided, x, v, stochastic.Run{Paths: 3, Steps: 7, Time: T})),
		"Delyon-Hu": expect.Must(stochastic.Bridge(geom.On(flat), stochastic.DelyonHu, x, v, stochastic.Run{Paths: 3, Steps: 7, Time: T})),
	} {
		for _, l := range append(b.LogWeights, b.Log) {
			expect.Abs(t, name+": log weight", l, want, 1e-12)
		}
	}
}

// halfWay is the mean of ⟨z, x + v⟩ at a time u on a bridge between points of S², by quadrature of p_u(x, z) p_{T−u}(z, v).
func halfWay(T, u float64, x, v []float64) float64 {
	var mass, mean float64
	const n = 100
	for i := range n {
		z := -1 + (2*float64(i)+1)/n
		for k := range n {
			phi := 2 * math.Pi * float64(k) / n
			r := math.Sqrt(1 - z*z)
			y := []float64{r * math.Cos(phi), r * math.Sin(phi), z}
			p := heat.Kernel(u, floats.Dot(x, y)) * heat.Kernel(T-u, floats.Dot(v, y))
			mass += p
			mean += p * (floats.Dot(x, y) + floats.Dot(v, y))
		}
	}
	return mean / mass
}

// middle is the step of bridges that is nearest to half of their time.
func middle(b *stochastic.Bridges[geom.Vec]) (i int) {
	T := b.Times[len(b.Times)-1]
	for math.Abs(b.Times[i+1]-T/2) < math.Abs(b.Times[i]-T/2) {
		i++
	}
	return i
}

// ofPaths is the weighted mean of a function of paths, with its standard error by the delta method.
func ofPaths(b *stochastic.Bridges[geom.Vec], f func(path []geom.Vec) float64) (mean, se float64) {
	total, variance := floats.LogSumExp(b.LogWeights), 0.0
	values := make([]float64, len(b.Points))
	for k, path := range b.Points {
		values[k] = f(path)
		mean += math.Exp(b.LogWeights[k]-total) * values[k]
	}
	for k := range values {
		variance += math.Pow(math.Exp(b.LogWeights[k]-total)*(values[k]-mean), 2)
	}
	return mean, math.Sqrt(variance)
}

// Half-way on a bridge between two points of S² the height is distributed as p_{T/2}(x, z) p_{T/2}(z, v)/p_T(x, v).
func TestBridgeHalfWay(t *testing.T) {
	const T = 0.25
	x, v := []float64{1, 0, 0}, []float64{math.Cos(0.6), math.Sin(0.6), 0}
	for name, w := range ways() {
		const steps = 64
		b := expect.Must(stochastic.Bridge(w.s, w.proposal, x, v, stochastic.Run{Paths: geomtest.Count(400, 1000), Steps: steps, Time: T, Seed: 22}))
		i := middle(b)
		if b.Times[0] != 0 || b.Times[steps] != T {
			t.Errorf("%s: times from %g to %g", name, b.Times[0], b.Times[steps])
		}
		got, se := ofPaths(b, func(path []geom.Vec) float64 { return floats.Dot(path[i], x) + floats.Dot(path[i], v) })
		expect.Estimate(t, name+": mean half-way", got, se, halfWay(T, b.Times[i], x, v))
	}
}

// Where the drift to the end changes within a step, the weights put the law of the paths right: the share of those that go one way round a
// circle, and the middle of bridges between nearly opposite points of S².
func TestBridgesHaveTheirLaw(t *testing.T) {
	const T, angle, paths = 0.5, 3.0, 4000
	sin, cos := math.Sincos(angle)
	share := 1 / (1 + math.Exp((angle*angle-math.Pow(2*math.Pi-angle, 2))/(2*T)))
	for name, s := range map[string]*geom.Space[geom.Vec]{"circle": geom.On(manifold.Sphere(1)), "cylinder": geom.On(manifold.Cylinder(1))} {
		x, v := []float64{1, 0, 0}, []float64{cos, sin, 0.4}
		if name == "circle" {
			x, v = x[:2], v[:2]
		}
		b := expect.Must(stochastic.Bridge(s, stochastic.Guided, x, v, stochastic.Run{Paths: paths, Steps: 40, Time: T, Seed: 3}))
		got, se := ofPaths(b, func(path []geom.Vec) float64 {
			turned := 0.0
			for i := 1; i < len(path); i++ {
				turned += math.Remainder(math.Atan2(path[i][1], path[i][0])-math.Atan2(path[i-1][1], path[i-1][0]), 2*math.Pi)
			}
			if turned > 0 {
				return 1
			}
			return 0
		})
		expect.Estimate(t, name+": share of paths that go anticlockwise", got, se, share)
	}
	for _, c := range []struct{ angle, T float64 }{{3, 0.5}, {1, 2}} {
		v := at(c.angle)
		b := expect.Must(stochastic.Bridge(sphere, stochastic.Guided, pole, v, stochastic.Run{Paths: paths, Steps: 40, Time: c.T, Seed: 3}))
		i := middle(b)
		got, se := ofPaths(b, func(path []geom.Vec) float64 { return floats.Dot(path[i], pole) + floats.Dot(path[i], v) })
		expect.Estimate(t, fmt.Sprintf("sphere, angle %g, T = %g: middle", c.angle, c.T), got, se, halfWay(c.T, b.Times[i], pole, v))
		if b.EffectiveSize < paths/3 {
			t.Errorf("sphere, angle %g: effective size %.0f of %d", c.angle, b.EffectiveSize, paths)
		}
	}
}

// On landmarks the two proposals, whose weights have nothing in common, agree; and far apart landmarks are flat.
func TestBridgeOfLandmarks(t *testing.T) {
	s, x := threeLandmarks()
	v := []float64{0.3, -0.2, 1.2, 0.3, 0.6, 1.1}
	run := stochastic.Run{Paths: 1000, Steps: 100, Time: 0.15, Seed: 23}
	guided := expect.Must(stochastic.LogLikelihood(s, stochastic.Guided, x, [][]float64{v}, run))[0]
	run.Seed++
	hu := expect.Must(stochastic.LogLikelihood(s, stochastic.DelyonHu, x, [][]float64{v}, run))[0]
	expect.Estimate(t, "guided, by Delyon and Hu", guided.Log, math.Hypot(guided.StandardError, hu.StandardError), hu.Log)
	apart := geom.On(landmarks.Manifold{N: 2, D: 2, Kernel: kernels.Gaussian(0.1)})
	x, v = []float64{0, 0, 5, 5}, []float64{0.1, -0.2, 5.3, 5.1}
	want := -2*math.Log(2*math.Pi*0.1) - 0.15/0.2
	for _, p := range []stochastic.Proposal{stochastic.Guided, stochastic.DelyonHu} {
		got := expect.Must(stochastic.LogLikelihood(apart, p, x, [][]float64{v}, stochastic.Run{Paths: 2, Steps: 10, Time: 0.1}))[0]
		expect.Abs(t, fmt.Sprintf("proposal %d, landmarks far apart", p), got.Log, want, 1e-12)
	}
}

// What the bridges of a run do is independent of what its paths do, from which their ends may come.
func TestBridgesHaveNoiseOfTheirOwn(t *testing.T) {
	line, run := geom.On(manifold.Euclidean(1)), stochastic.Run{Paths: 1000, Steps: 2, Seed: 3}
	paths := expect.Must(stochastic.Brownian(line, geom.Vec{0}).Paths(run))
	bridges := expect.Must(stochastic.Bridge(line, stochastic.Guided, geom.Vec{0}, geom.Vec{0}, run))
	var products []float64
	for k, path := range paths.Points {
		products = append(products, path[1][0]*bridges.Points[k][1][0])
	}
	expect.Mean(t, "product of the first steps", products, 0)
	if said := fmt.Sprint(paths); said != "1000 paths of 2 steps with noise in R^1" {
		t.Errorf("the paths say %q", said)
	}
}

func TestBridgeErrors(t *testing.T) {
	good := stochastic.Run{Paths: 2, Steps: 3}
	bridge := func(x, v []float64, p stochastic.Proposal, r stochastic.Run) error {
		_, err := stochastic.Bridge(sphere, p, x, v, r)
		return err
	}
	_, none := stochastic.LogLikelihood(sphere, stochastic.Guided, pole, nil, good)
	antipode := []float64{-0.48, 0.6, -0.64}
	for want, err := range map[string]error{
		"LogLikelihood: no observations":          none,
		"Bridge: 0 paths":                         bridge(pole, pole, stochastic.Guided, stochastic.Run{Steps: 2}),
		"Bridge: proposal 7":                      bridge(pole, pole, 7, good),
		"the end is not on the manifold: it is 1": bridge(pole, []float64{2, 0, 0}, stochastic.Guided, good),
		"the end has 2 coordinates":               bridge(pole, []float64{1, 0}, stochastic.Guided, good),
		"2 of 2 paths diverge":                    bridge(pole, antipode, stochastic.DelyonHu, good),
	} {
		expect.Refused(t, err, want)
	}
}
