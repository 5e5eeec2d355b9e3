package stochastic_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
)

// One path tells nothing of how far its weight is from the mean of all: it has no standard error.
func TestOnePathHasNoStandardError(t *testing.T) {
	s, x := threeLandmarks()
	v := slices.Clone(x)
	v[0] += 0.1
	for paths := 1; paths <= 2; paths++ {
		run := stochastic.Run{Paths: paths, Steps: 10, Time: 0.02, Seed: 1}
		b, err := stochastic.Bridge(s, stochastic.Guided, x, v, run)
		if err != nil {
			t.Fatal(err)
		}
		l, err := stochastic.LogLikelihood(s, stochastic.Guided, x, [][]float64{v, v}, run)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range []float64{b.StandardError, l[0].StandardError, l[1].StandardError} {
			if none := math.IsNaN(e); none != (paths == 1) || e == 0 {
				t.Errorf("%d paths: standard error %g", paths, e)
			}
		}
	}
}

// Steps that take what the chart shows of the manifold for all of it are refused, before their means are: on S² motion for a time T
// has the mean e^{−T} of its start. Where charts unroll a flat manifold steps have any length.
func TestStepsTooLongForTheChart(t *testing.T) {
	sphere, ellipsoid, cylinder := geom.On(manifold.Sphere(2)), geom.On(manifold.Ellipsoid(1, 2, 3)), geom.On(manifold.Cylinder(1))
	x := []float64{1, 0, 0}
	frame, err := stochastic.Orthonormal(sphere, x)
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]stochastic.Process[geom.Vec]{
		"sphere": stochastic.Brownian(sphere, x), "development": stochastic.Development(sphere, x, frame...), "ellipsoid": stochastic.Brownian(ellipsoid, x),
	} {
		for T, fine := range map[float64]bool{1e4: false, 100: false, 5: true, 1: true} {
			run := stochastic.Run{Paths: 500, Steps: 10, Time: T, Seed: 3}
			sample, err := p.Sample(run)
			if refused := err != nil && strings.Contains(err.Error(), "the steps are too long"); refused == fine {
				t.Errorf("%s, 10 steps for T = %g: %v", name, T, err)
			}
			if name == "sphere" && fine {
				mean := 0.0
				for _, z := range sample {
					mean += z[0] / 500
				}
				if math.Abs(mean-math.Exp(-T)) > 0.1 {
					t.Errorf("10 steps for T = %g: mean %g, want %g", T, mean, math.Exp(-T))
				}
			}
			if run.Paths = 1; T == 1e4 {
				if _, err := p.Paths(run); err == nil {
					t.Errorf("%s, 10 steps of one path for T = %g are taken", name, T)
				}
			}
		}
	}
	if _, err := stochastic.Brownian(cylinder, x).Sample(stochastic.Run{Paths: 3, Steps: 10, Time: 1e4}); err != nil {
		t.Error(err)
	}
}

// The memory of a run whose steps cannot be counted is estimated all the same, and a basis of no numbers is none.
func TestBeyondCounting(t *testing.T) {
	plane := geom.On(manifold.Euclidean(2))
	_, err := stochastic.Brownian(plane, []float64{0, 0}).Paths(stochastic.Run{Paths: math.MaxInt, Steps: math.MaxInt})
	expect.Refused(t, err, "paths of 9223372036854775807 steps")
	singular := geom.On(geom.MetricFunc(1, func(x *Node) *Node { return ExpandAxes(Reciprocal(Square(x)), -1) }))
	_, err = stochastic.Orthonormal(singular, []float64{0})
	expect.Refused(t, err, "Orthonormal: point: the metric is not finite there")
}

// Where the metric is infinite there is no density, be samples there or elsewhere; a sample in the cut locus of a point adds nothing.
func TestDensityOfSingular(t *testing.T) {
	line := geom.On(geom.MetricFunc(1, func(x *Node) *Node { return ExpandAxes(Reciprocal(Square(x)), -1) }))
	for _, samples := range [][][]float64{{{1}, {2}}, {{0}, {1}}} {
		expect.Refused(t, expect.Error(stochastic.Density(line, samples, [][]float64{{1}, {0}}, 0.5)), "point 1: the metric is not finite there")
	}
	sphere := geom.On(manifold.Sphere(2))
	alone := expect.Must(stochastic.Density(sphere, [][]float64{{0, 0.6, 0.8}}, [][]float64{{0, 0, 1}}, 0.5))
	both := expect.Must(stochastic.Density(sphere, [][]float64{{0, 0.6, 0.8}, {0, 0, -1}}, [][]float64{{0, 0, 1}}, 0.5))
	expect.Rel(t, "density with an antipode", both[0], alone[0]/2, 1e-14)
}

// Brownian motion of the Heisenberg group needs no inverse of its cometric: x and y are Brownian motions, and z is Lévy's area, of variance
// T²/4, less 1/n of it in n steps. Its density is Gaveau's integral, with respect to dx dy dz (B. Gaveau, Acta Mathematica 139, 1977).
func TestHeisenbergBrownianMotion(t *testing.T) {
	const T, n, paths = 1.3, 100, 4000
	process := stochastic.Brownian(geom.On(manifold.Heisenberg()), geom.Vec{0, 0, 0})
	out := expect.Must(process.Paths(stochastic.Run{Paths: paths, Steps: n, Time: T, Seed: 4}))
	squares := make([]float64, paths)
	const R, Z = 1.0, 0.3
	low, high := make([]float64, paths), make([]float64, paths) // whether paths end within the radius R, below and above the height Z
	for k, w := range out.Noise {
		area := 0.
		for i := range n {
			area += (w[i][0]*w[i+1][1] - w[i][1]*w[i+1][0]) / 2
		}
		expect.Abs(t, "end", out.Points[k][n], []float64{w[n][0], w[n][1], area}, 1e-12)
		squares[k] = area * area
		if math.Hypot(w[n][0], w[n][1]) < R {
			if math.Abs(area) < Z {
				low[k] = 1
			} else {
				high[k] = 1
			}
		}
	}
	expect.Mean(t, "square of the area", squares, T*T/4*(1-1./n))
	// ∫ cos λz dz and ∫ r exp(−r² c/2T) dr are known.
	share := 0.
	const step = 0.02
	for k := -5000; k <= 5000; k++ {
		l := step * float64(k)
		over, c, heights := 1., 1., 2*Z
		if h := l * T / 2; h != 0 {
			over, c, heights = h/math.Sinh(h), h/math.Tanh(h), 2*math.Sin(l*Z)/l
		}
		share += step * heights * over * (1 - math.Exp(-R*R/(2*T)*c)) / c / (2 * math.Pi)
	}
	expect.Mean(t, "ends near the axis and low", low, share)
	expect.Mean(t, "ends near the axis and high", high, 1-math.Exp(-R*R/(2*T))-share)
}

// In no time a process stays where it is, also where squares of its steps' squares are below the smallest number.
func TestNoTime(t *testing.T) {
	s := geom.On(manifold.Sphere(2))
	for _, T := range []float64{1e-3, 1e-155, 1e-300} {
		ends := expect.Must(stochastic.Brownian(s, []float64{0, 0, 1}).Sample(stochastic.Run{Paths: 5, Steps: 3, Time: T}))
		for _, x := range ends {
			if off := math.Hypot(x[0], x[1]); !(off < 6*math.Sqrt(T)) {
				t.Errorf("after the time %g the end is %.3g off the start", T, off)
			}
		}
	}
}

// On the positive numbers long steps take a few of many paths below 0. They are counted, and the others are returned, by all that runs a process.
func TestFewPathsMayDiverge(t *testing.T) {
	const paths = 5000
	s, run := geom.On(manifold.SPD(1)), stochastic.Run{Paths: paths, Steps: 10, Seed: 1}
	for name, p := range map[string]stochastic.Process[geom.Vec]{"Brownian": stochastic.Brownian(s, geom.Vec{1}), "Development": stochastic.Development(s, geom.Vec{1}, geom.Vec{0.9})} {
		all := expect.Must(p.Paths(run))
		ends := expect.Must(p.Sample(run))
		if all.Diverged == 0 || len(all.Points) != paths-all.Diverged || len(all.Noise) != len(all.Points) || len(ends) != len(all.Points) {
			t.Errorf("%s: %d paths lost, %d there, with %d noises and %d ends", name, all.Diverged, len(all.Points), len(all.Noise), len(ends))
		}
		if said := fmt.Sprint(all); !strings.HasSuffix(said, fmt.Sprintf("R^1, %d lost", all.Diverged)) {
			t.Errorf("%s: the paths say %q", name, said)
		}
		for k, path := range all.Points {
			if !(path[10][0] > 0) || path[10][0] != ends[k][0] {
				t.Fatalf("%s: path %d ends at %v and %v", name, k, path[10], ends[k])
			}
		}
		nodes := expect.Must(p.Along(expect.Must(tree.New([]int{-1, 0, 0}, []float64{0, 1, 0.01}, nil)), run))
		for i, points := range nodes {
			for _, x := range points {
				if n := len(nodes[0]); n >= paths || len(points) != n || !(x[0] > 0) {
					t.Fatalf("%s: node %d has %d of %d points, one is %v", name, i, len(points), paths, x)
				}
			}
		}
		run := run
		run.Steps = 3
		expect.Refused(t, expect.Error(p.Sample(run)), "of 5000 paths diverge, path ")
	}
}

// What is given to a process may be changed later: it has copies.
func TestProcessesHaveCopies(t *testing.T) {
	x, v, e := []float64{0, 0, 1}, []float64{1, 0, 0}, []float64{0, 1, 0}
	for name, p := range map[string]stochastic.Process[geom.Vec]{
		"Brownian": stochastic.Brownian(sphere, x), "Projected": expect.Must(stochastic.Projected(sphere, x)),
		"Development": stochastic.Development(sphere, x, v, e),
	} {
		before := fmt.Sprint(p.Start, p.Parts)
		for _, given := range [][]float64{x, v, e} {
			given[0] += 3
		}
		if after := fmt.Sprint(p.Start, p.Parts); after != before {
			t.Errorf("%s: %s has become %s", name, before, after)
		}
		for _, given := range [][]float64{x, v, e} {
			given[0] -= 3
		}
	}
	b := expect.Must(stochastic.Bridge(sphere, stochastic.Guided, x, v, stochastic.Run{Paths: 2, Steps: 2}))
	b.Points[0][0][0], b.Points[0][2][0] = 5, 5
	expect.Abs(t, "start, end and start of the other bridge", []float64{x[0], v[0], b.Points[1][0][0]}, []float64{0, 1, 0}, 0)
}
