package stochastic_test

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/floats"

	"anatomy/geom"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/manifold"
	"anatomy/geom/ode"
	"anatomy/geom/stochastic"
	"anatomy/geom/tree"
	"anatomy/kernels"
	"anatomy/landmarks"
)

var branching = expect.Must(tree.Parse("(A:1,((B:0.5,C:0.25):0.75,D:0,E:2):0.5);"))

// On S² coordinates are eigenfunctions of ½Δ for −1: two leaves x, y whose path has the length ℓ have E⟨x, y⟩ = e^{−ℓT}, on any tree, if
// frames are carried over branching points, too.
func TestAlongOnSphere(t *testing.T) {
	const T, n = 0.3, 4000
	v := expect.Must(branching.Shared())
	leaves := branching.Leaves()
	for name, p := range map[string]stochastic.Process[geom.Vec]{"coordinates": stochastic.Brownian(sphere, pole), "development": isotropic(sphere, pole)} {
		nodes := expect.Must(p.Along(branching, stochastic.Run{Paths: n, Steps: 40, Time: T, Seed: 3}))
		if len(nodes) != len(branching.Parent) {
			t.Fatalf("%d nodes", len(nodes))
		}
		for a, i := range leaves {
			for b, j := range leaves[:a] {
				x := make([]float64, n)
				for k := range x {
					x[k] = floats.Dot(nodes[i][k], nodes[j][k])
				}
				expect.Mean(t, fmt.Sprintf("%s: %s and %s", name, branching.Name[i], branching.Name[j]), x, math.Exp(-T*(v[a][a]+v[b][b]-2*v[a][b])))
			}
		}
		// D is at its parent, node 2.
		expect.Abs(t, "an edge of length 0", nodes[6], nodes[2], 0)
	}
}

// Small motions of landmarks: the covariance of the leaves is V ⊗ K(q), K of the start.
func TestAlongIsSharedPathsByKernel(t *testing.T) {
	const T, n = 1e-4, 4000
	q := [][]float64{{0, 0}, {1, 0.2}, {0.3, 0.9}}
	kernel := kernels.Gaussian(1)
	nodes := expect.Must(stochastic.Brownian(landmarks.New(3, 2, kernel), q).Along(branching, stochastic.Run{Paths: n, Steps: 40, Time: T, Seed: 3}))
	v := expect.Must(branching.Shared())
	leaves := branching.Leaves()
	for a, i := range leaves {
		for b, j := range leaves[:a+1] {
			for l := range q {
				for m := range q {
					for c := range 2 {
						for d := range 2 {
							x := make([]float64, n)
							for k := range x {
								x[k] = (nodes[i][k][l][c] - q[l][c]) * (nodes[j][k][m][d] - q[m][d])
							}
							want := 0.0
							if c == d {
								r := math.Hypot(q[l][0]-q[m][0], q[l][1]-q[m][1])
								want = T * v[a][b] * math.Exp(-r*r/2)
							}
							// Of 540 numbers, one in 20 is more than two standard errors off; the largest of so many has about 3.2.
							mean, se := meanError(x)
							if off := math.Abs(mean - want); !(off <= 4.5*se) {
								t.Errorf("leaves %d %d, landmarks %d %d, coordinates %d %d: got %g ± %g, want %g", a, b, l, m, c, d, mean, se, want)
							}
						}
					}
				}
			}
		}
	}
}

func meanError(x []float64) (mean, se float64) {
	mean = floats.Sum(x) / float64(len(x))
	for _, v := range x {
		se += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(se) / float64(len(x))
}

func TestAlongSeedsAndErrors(t *testing.T) {
	p := stochastic.Brownian(sphere, pole)
	run := stochastic.Run{Paths: 2, Steps: 3, Time: 0.1, Seed: 5}
	one := expect.Must(p.Along(branching, run))
	run.Paths = 3
	more := expect.Must(p.Along(branching, run))
	for i := range one {
		expect.Abs(t, "the first paths of more", more[i][:2], one[i], 1e-15)
	}
	run.Seed++
	if other := expect.Must(p.Along(branching, run)); floats.Equal(other[1][0], one[1][0]) {
		t.Error("another seed gives the same noise")
	}
	flat := expect.Must(stochastic.Brownian(geom.On(manifold.Euclidean(3)), pole).Along(branching, run))
	noise := func(node int) []float64 { // of the edge above it, for length 1
		dw := floats.SubTo(make([]float64, 3), flat[node][0], flat[branching.Parent[node]][0])
		floats.Scale(1/math.Sqrt(branching.Length[node]), dw)
		return dw
	}
	for _, i := range []int{1, 2, 3, 4} {
		if floats.EqualApprox(noise(i), noise(i+1), 1e-6) {
			t.Errorf("the edges above the nodes %d and %d have the same noise", i, i+1)
		}
	}
	bad := expect.Must(tree.Parse("(A:1,B);"))
	expect.Refused(t, expect.Error(p.Along(bad, run)), `the edge above "B" has no length`)
	run.Paths = 0
	expect.Refused(t, expect.Error(p.Along(branching, run)), "0 paths")
	run = stochastic.Run{Paths: 2, Steps: 1, Time: 400, Seed: 5}
	expect.Refused(t, expect.Error(p.Along(branching, run)), `edge above "A"`, "steps")
}

// Time goes on over branching points: dx = t dt leads to half the square of the time since the root, which the trapezoidal rule has exactly.
func TestAlongKeepsTime(t *testing.T) {
	const T = 0.7
	process := stochastic.Process[geom.Vec]{Space: geom.On(manifold.Euclidean(1)), Name: "clock", Scheme: ode.EulerHeun, Noise: 1, Start: geom.Vec{0},
		Dynamics: stochastic.EquationOf(func(geom.Local, []*Node) ode.Equation {
			return func(t *Node, y ode.State, dt, _ *Node) ode.State {
				return ode.State{Mul(Mul(t, dt), OnesLike(y[0]))}
			}
		})}
	nodes := expect.Must(process.Along(branching, stochastic.Run{Paths: 2, Steps: 5, Time: T}))
	times := make([]float64, len(nodes))
	for i, q := range branching.Parent[1:] {
		i++
		times[i] = times[q] + T*branching.Length[i]
		expect.Abs(t, branching.Label(i), nodes[i][1][0], times[i]*times[i]/2, 1e-12)
	}
}
