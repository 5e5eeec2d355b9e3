package landmarks_test

import (
	"fmt"
	"math"
	"testing"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/stochastic"
	"anatomy/kernels"
	"anatomy/landmarks"
)

func triangle() (s *landmarks.Space, q, p [][]float64) {
	s = landmarks.New(3, 2, kernels.Gaussian(1), geom.Integrator(ode.Heun, 20))
	return s, [][]float64{{0, 0}, {0.9, 0.2}, {0.4, 0.8}}, [][]float64{{0.5, -0.2}, {0.3, 0.4}, {-0.6, 0.1}}
}

func shifted(q [][]float64, v ...float64) [][]float64 {
	out := make([][]float64, len(q))
	for i := range q {
		for a := range q[i] {
			out[i] = append(out[i], q[i][a]+v[a])
		}
	}
	return out
}

// Without noise Langevin's equation is Hamilton's. Without friction, one landmark is driven by σ ∫ W dt, which Heun's
// method integrates by trapezia. With friction it is the integral of an Ornstein-Uhlenbeck process.
func TestLangevin(t *testing.T) {
	s, q, p := triangle()
	g, err := s.Shoot(q, p)
	if err != nil {
		t.Fatal(err)
	}
	for i, shape := range expect.Must(expect.Must(s.Langevin(q, p, 0, 0)).Paths(stochastic.Run{Paths: 1, Steps: 20})).Points[0] {
		expect.Abs(t, fmt.Sprint("without noise, step ", i), shape, g.Path[i], 1e-13)
	}

	one := landmarks.New(1, 2, kernels.Gaussian(1))
	q, p = [][]float64{{1, 2}}, [][]float64{{0.3, -0.4}}
	const n, T, sigma = 10, 2., 0.7
	paths := expect.Must(expect.Must(one.Langevin(q, p, 0, sigma)).Paths(stochastic.Run{Paths: 3, Steps: n, Time: T, Seed: 5}))
	for k, path := range paths.Points {
		want := shifted(q, 0, 0)
		for i := range n {
			for a := range 2 {
				want[0][a] += T / n * (p[0][a] + sigma*(paths.Noise[k][i][a]+paths.Noise[k][i+1][a])/2)
			}
			expect.Abs(t, fmt.Sprintf("without friction, path %d at step %d", k, i+1), path[i+1], want, 1e-13)
		}
	}

	const friction, count = 1.5, 20000
	driven, err := one.Langevin(q, p, friction, sigma)
	if err != nil {
		t.Fatal(err)
	}
	ends, err := driven.Sample(stochastic.Run{Paths: count, Steps: 50, Time: T, Seed: 6})
	if err != nil {
		t.Fatal(err)
	}
	decay := (1 - math.Exp(-friction*T)) / friction
	variance := sigma * sigma / (friction * friction) * (T - 2*decay + (1-math.Exp(-2*friction*T))/(2*friction))
	for a := range 2 {
		var mean, square float64
		want := q[0][a] + p[0][a]*decay
		for _, end := range ends {
			mean += end[0][a] / count
			square += (end[0][a] - want) * (end[0][a] - want) / count
		}
		expect.Estimate(t, fmt.Sprint("mean of coordinate ", a), mean, math.Sqrt(variance/count), want)
		expect.Estimate(t, fmt.Sprint("variance of coordinate ", a), square, variance*math.Sqrt(2./count), variance)
	}
}

// Fields that are constant translate the geodesic by Σ λ_l W^l. Landmarks at rest are carried by the flow of one field
// for the time W: Stratonovich's chain rule.
func TestEulerianNoise(t *testing.T) {
	s, q, p := triangle()
	g, err := s.Shoot(q, p)
	if err != nil {
		t.Fatal(err)
	}
	wide := landmarks.NoiseFields{Centres: [][]float64{{0, 0}, {1, 1}}, Amplitudes: [][]float64{{0.5, 0.1}, {-0.2, 0.7}}, Width: 1e9}
	paths := expect.Must(expect.Must(s.Eulerian(q, p, wide)).Paths(stochastic.Run{Paths: 2, Steps: 20, Seed: 7}))
	for k, path := range paths.Points {
		for i, shape := range path {
			w := paths.Noise[k][i]
			want := shifted(g.Path[i], 0.5*w[0]-0.2*w[1], 0.1*w[0]+0.7*w[1])
			expect.Abs(t, fmt.Sprintf("constant fields, path %d at step %d", k, i), shape, want, 1e-12)
		}
	}

	c, lambda, r := []float64{0.3, 0.4}, []float64{0.6, -0.3}, 0.5
	still := [][]float64{{0, 0}, {0, 0}, {0, 0}}
	field := func(x []float64) (dx [2]float64) {
		k := math.Exp(-((x[0]-c[0])*(x[0]-c[0]) + (x[1]-c[1])*(x[1]-c[1])) / (2 * r * r))
		return [2]float64{lambda[0] * k, lambda[1] * k}
	}
	paths = expect.Must(expect.Must(s.Eulerian(q, still, landmarks.NoiseFields{Centres: [][]float64{c}, Amplitudes: [][]float64{lambda}, Width: r})).
		Paths(stochastic.Run{Paths: 5, Steps: 1000, Seed: 8}))
	for k, path := range paths.Points {
		w := paths.Noise[k][1000][0]
		want := shifted(q, 0, 0)
		const steps = 2000
		for _, x := range want {
			for range steps {
				f := field(x)
				f = field([]float64{x[0] + w/steps/2*f[0], x[1] + w/steps/2*f[1]})
				x[0], x[1] = x[0]+w/steps*f[0], x[1]+w/steps*f[1]
			}
		}
		expect.Abs(t, fmt.Sprintf("end of path %d by the flow of the field", k), path[1000], want, 1e-3)
	}
}

// Processes of shapes are those of their numbers.
func TestShapesOfProcesses(t *testing.T) {
	s, q, p := triangle()
	run := stochastic.Run{Paths: 2, Steps: 5, Time: 0.1, Seed: 9}
	x, flat := shape.Flat(q), s.OnNumbers()
	for name, c := range map[string]struct {
		shapes stochastic.Process[geom.Shape]
		points stochastic.Process[geom.Vec]
	}{
		"Brownian":    {stochastic.Brownian(s, q), stochastic.Brownian(flat, x)},
		"Development": {stochastic.Development(s, q, p), stochastic.Development(flat, x, shape.Flat(p))},
	} {
		ends, points := expect.Must(c.shapes.Sample(run)), expect.Must(c.points.Sample(run))
		for k := range points {
			expect.Abs(t, fmt.Sprintf("%s: path %d", name, k), ends[k], s.Point(points[k]), 0)
		}
	}
	target := shifted(q, 0.2, -0.1)
	b := expect.Must(stochastic.Bridge(s, stochastic.Guided, q, target, run))
	if len(b.Points) != 2 || len(b.Points[0]) != 6 {
		t.Fatalf("%d bridges of %d points", len(b.Points), len(b.Points[0]))
	}
	expect.Abs(t, "start of a bridge", b.Points[1][0], q, 0)
	expect.Abs(t, "end of a bridge", b.Points[1][5], target, 0)
	m := expect.Must(stochastic.DiffusionMean(s, stochastic.Guided, []geom.Shape{q, target}, q, run))
	same := expect.Must(stochastic.DiffusionMean(flat, stochastic.Guided, [][]float64{x, shape.Flat(target)}, x, run))
	expect.Abs(t, "diffusion mean", m.Point, s.Point(same.Point), 0)
	if m.Variance != same.Variance || m.Status != same.Status {
		t.Errorf("diffusion mean %+v, of points %+v", m, same)
	}
}

func TestProcessErrors(t *testing.T) {
	s, q, p := triangle()
	run := stochastic.Run{Paths: 1, Steps: 2}
	sample := func(p stochastic.Process[geom.Shape], err error) error {
		if err == nil {
			_, err = p.Sample(run)
		}
		return err
	}
	fields := landmarks.NoiseFields{Centres: [][]float64{{0, 0}}, Amplitudes: [][]float64{{1, 0, 0}}, Width: 1}
	same := [][]float64{{0, 0}, {1, 1}, {0, 0}}
	for want, err := range map[string]error{
		"Brownian motion: the start has 2 landmarks, the manifold has 3": sample(stochastic.Brownian(s, q[:2]), nil),
		"Brownian motion: start: landmarks 0 and 2 coincide":             sample(stochastic.Brownian(s, same), nil),
		"Development: the vector has 2 landmarks, the manifold has 3":    sample(stochastic.Development(s, q, p[:2]), nil),
		"part 0 has 7 vectors, want at most 6":                           sample(stochastic.Development(s, q, p, p, p, p, p, p, p), nil),
		"Langevin: friction -1, want a finite number from 0":             sample(s.Langevin(q, p, -1, 0)),
		"Langevin: covector 0 of part 0 has 2 landmarks":                 sample(s.Langevin(q, p[:2], 1, 0)),
		"Eulerian: amplitude 0: 3 coordinates":                           sample(s.Eulerian(q, p, fields)),
		"Eulerian: noise fields of width 0":                              sample(s.Eulerian(q, p, landmarks.NoiseFields{Centres: q, Amplitudes: q})),
		"Eulerian: 3 centres and 0 amplitudes":                           sample(s.Eulerian(q, p, landmarks.NoiseFields{Centres: q})),
		"Langevin: 1 of 1 paths diverge, path 0 at step 1 of 2 (time 5e+199 of 1e+200)": func() error {
			wild, err := s.Langevin(q, p, 0, 1e300)
			if err == nil {
				_, err = wild.Sample(stochastic.Run{Paths: 1, Steps: 2, Time: 1e200})
			}
			return err
		}(),
	} {
		expect.Refused(t, err, want)
	}
}

// What is given to processes and data terms may be changed later: they have copies.
func TestCopiesOfWhatIsGiven(t *testing.T) {
	s, q, p := triangle()
	weights := []float64{1, 2, 3}
	fields := landmarks.NoiseFields{Centres: [][]float64{{0, 0}}, Amplitudes: [][]float64{{0.5, 0.1}}, Width: 1}
	term := landmarks.Correspondence(q, weights...)
	all := map[string]func() any{"Correspondence": func() any { return expect.Must(term.Inputs(3, 2)) }}
	for name, process := range map[string]stochastic.Process[geom.Shape]{
		"Kunita": expect.Must(s.Kunita(q, 1, 1)), "Langevin": expect.Must(s.Langevin(q, p, 0, 1)), "Eulerian": expect.Must(s.Eulerian(q, p, fields)),
	} {
		all[name] = func() any { return []any{process.Start, process.Parts, process.Params} }
	}
	before := map[string]string{}
	for name, f := range all {
		before[name] = fmt.Sprint(f())
	}
	q[0][0], p[1][1], weights[2], fields.Centres[0][0], fields.Amplitudes[0][1] = 7, 7, 7, 7, 7
	for name, f := range all {
		if after := fmt.Sprint(f()); after != before[name] {
			t.Errorf("%s: %s has become %s", name, before[name], after)
		}
	}
}
