package landmarks_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"gonum.org/v1/gonum/mat"

	"anatomy/geom"
	"anatomy/geom/engine"
	"anatomy/geom/geomtest"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
	"anatomy/kernels"
	"anatomy/landmarks"
)

// Landmarks with frames, and with second derivatives, are manifolds like the others.
func TestJetsGeometry(t *testing.T) {
	for name, c := range map[string]struct {
		m      landmarks.Jets
		points [][]float64
	}{
		"frames of two":             {landmarks.Jets{N: 2, D: 1, Order: 1, Kernel: kernels.Gaussian(0.9)}, [][]float64{{0, 1.1, 1, 0.8}}},
		"a frame of the plane":      {landmarks.Jets{N: 1, D: 2, Order: 1, Kernel: kernels.Gaussian(0.9)}, [][]float64{{0.2, 0, 1, 0.2, -0.1, 0.9}}},
		"second derivatives at one": {landmarks.Jets{N: 1, D: 1, Order: 2, Kernel: kernels.Gaussian(1.2)}, [][]float64{{0, 1.1, 0.3}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			geomtest.Run(t, c.m, c.points...)
		})
	}
}

// jets are random landmarks with frames near the unit matrix and second derivatives, with momenta.
func jets(n, d, order int) (x, p geom.Shape) {
	r := rand.New(rand.NewPCG(uint64(n), uint64(10*d+order)))
	for i := range n {
		rows := 1 + d
		if order == 2 {
			rows += d * (d + 1) / 2
		}
		for k := range rows {
			row, momentum := make([]float64, d), make([]float64, d)
			for a := range d {
				row[a], momentum[a] = 0.3*r.NormFloat64(), 0.25*r.NormFloat64()
				if k == 0 {
					row[a] += 1.2 * float64(i>>a&1)
				}
				if k == 1+a {
					row[a]++
				}
			}
			x, p = append(x, row), append(p, momentum)
		}
	}
	return x, p
}

// The cometric of one landmark has the derivatives of the Gaussian at 0: 1, 1/σ², 3/σ⁴.
func TestJetsOfOneLandmark(t *testing.T) {
	const s = 0.8
	m := landmarks.Jets{N: 1, D: 1, Order: 2, Kernel: kernels.Gaussian(s)}
	a, b := 1.3, 0.4
	gram := expect.Must(engine.Run(func(q *Node) *Node { return geom.CometricMatrix(m, q) }, []float64{0.2, a, b})).Matrix(0)
	second := -a * a / (s * s) // ∂² with 1; b has no part in it, as K' is odd
	expect.Abs(t, "cometric", gram, [][]float64{{1, 0, second}, {0, a * a / (s * s), a * b / (s * s)}, {second, a * b / (s * s), 3*math.Pow(a/s, 4) + b*b/(s*s)}}, 1e-13)
}

// The frame at one landmark moves on a geodesic of GL(2) with the right-invariant metric |X|²σ²: A(t) = exp(t(X − Xᵀ)) exp(tXᵀ) A(0).
func TestFrameOfOneLandmark(t *testing.T) {
	J := landmarks.NewJets(1, 2, 1, kernels.Gaussian(0.7), geom.Integrator(ode.RK4, 100))
	x := mat.NewDense(2, 2, []float64{0.3, -0.8, 0.5, 0.2})
	a := mat.NewDense(2, 2, []float64{1.1, 0.3, -0.2, 0.9})
	var va, turn, stretch, skew, end mat.Dense
	va.Mul(x, a)
	skew.Sub(x, x.T())
	turn.Exp(&skew)
	stretch.Exp(x.T())
	end.Product(&turn, &stretch, a)
	start := expect.Must(J.Join([][]float64{{0.4, -1}}, [][][]float64{rowsOf(a)}))
	velocity := expect.Must(J.Join([][]float64{{0, 0}}, [][][]float64{rowsOf(&va)}))
	g := expect.Must(J.Exp(start, velocity))
	points, frames, err := J.Split(g.End)
	if err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "landmark", points, [][]float64{{0.4, -1}}, 1e-12)
	expect.Abs(t, "frame", frames[0], rowsOf(&end), 1e-8)
	expect.Abs(t, "length", g.Length, 0.7*mat.Norm(x, 2), 1e-10)
}

func rowsOf(a *mat.Dense) [][]float64 {
	n, _ := a.Dims()
	out := make([][]float64, n)
	for i := range out {
		out[i] = mat.Row(nil, i, a)
	}
	return out
}

// cluster are nine landmarks around each jet of the plane, ε apart, whose momenta make the differences of which the jet has the derivatives.
func cluster(x, p geom.Shape, size int, epsilon float64) (points, momenta [][]float64) {
	for i := 0; i < len(x); i += size {
		jet, weight := x[i:i+size], p[i:i+size]
		for u := -1.0; u <= 1; u++ {
			for v := -1.0; v <= 1; v++ {
				point, momentum := slices.Clone(jet[0]), []float64{0, 0}
				add := func(to, row []float64, factor float64) {
					for a := range to {
						to[a] += factor * row[a]
					}
				}
				add(point, jet[1], epsilon*u)
				add(point, jet[2], epsilon*v)
				for k, factor := range stencil(u, v, epsilon)[:size] {
					add(momentum, weight[k], factor)
				}
				if size == 6 {
					add(point, jet[3], epsilon*epsilon*u*u/2)
					add(point, jet[4], epsilon*epsilon*u*v)
					add(point, jet[5], epsilon*epsilon*v*v/2)
				}
				points, momenta = append(points, point), append(momenta, momentum)
			}
		}
	}
	return points, momenta
}

// stencil are the factors of the point (u, v) in the value, the two first and the three second central differences.
func stencil(u, v, epsilon float64) []float64 {
	at := func(a, b float64) float64 {
		if u == a && v == b {
			return 1
		}
		return 0
	}
	second := 1 / (epsilon * epsilon)
	return []float64{at(0, 0), (at(1, 0) - at(-1, 0)) / (2 * epsilon), (at(0, 1) - at(0, -1)) / (2 * epsilon),
		second * (at(1, 0) - 2*at(0, 0) + at(-1, 0)), second * u * v / 4, second * (at(0, 1) - 2*at(0, 0) + at(0, -1))}
}

// Clusters of landmarks come to the jet with the second order of their distance.
func TestJetsAreLimitsOfClusters(t *testing.T) {
	for order, size := range map[int]int{1: 3, 2: 6} {
		x, p := jets(2, 2, order)
		fine := geom.Integrator(ode.RK4, 20)
		g := expect.Must(landmarks.NewJets(2, 2, order, kernels.Gaussian(1), fine, geom.FixedSteps).Shoot(x, p))
		var off []float64
		for _, epsilon := range []float64{0.08, 0.04, 0.02} {
			points, momenta := cluster(x, p, size, epsilon)
			end := expect.Must(landmarks.New(18, 2, kernels.Gaussian(1), fine, geom.FixedSteps).Shoot(points, momenta)).End
			worst := 0.0
			for k, row := range g.End {
				around := end[9*(k/size):][:9]
				for a, want := range row {
					sum := 0.0
					for i, z := range around {
						sum += stencil(float64(i/3-1), float64(i%3-1), epsilon)[k%size] * z[a]
					}
					worst = max(worst, math.Abs(sum-want))
				}
			}
			off = append(off, worst)
		}
		for i := range 2 {
			expect.Abs(t, fmt.Sprintf("order in ε of jets of order %d, %.2g", order, off), math.Log2(off[i]/off[i+1]), 2, 0.1)
		}
	}
}

// The frames are moved by the derivative of the flow, and second derivatives by that of the derivative; landmarks without momenta are moved
// as any other point.
func TestJetsAreCarried(t *testing.T) {
	for d := 1; d <= 3; d++ {
		x, p := jets(2, d, 1)
		J := landmarks.NewJets(2, d, 1, kernels.Gaussian(1), geom.Integrator(ode.RK4, 10))
		g := expect.Must(J.Shoot(x, p))
		points, start, err := J.Split(x)
		if err != nil {
			t.Fatal(err)
		}
		images, frames, err := J.Split(g.End)
		if err != nil {
			t.Fatal(err)
		}
		passive := slices.Repeat([]float64{0.4}, d)
		moved := expect.Must(J.Deform(g, append(points, passive)))
		path := expect.Must(J.Transform(g, [][]float64{passive}))
		expect.Abs(t, "points", moved.Images[:2], images, 1e-12)
		expect.Abs(t, "a point that Transform moves", path[10], moved.Images[2:], 1e-12)
		for i, f := range frames {
			var product mat.Dense
			product.Mul(mat.NewDense(d, d, slices.Concat(moved.Jacobian[i]...)), mat.NewDense(d, d, slices.Concat(start[i]...)))
			expect.Abs(t, "frame", f, rowsOf(&product), 1e-11)
		}
		// The same as a third landmark without a momentum.
		more := landmarks.NewJets(3, d, 1, kernels.Gaussian(1), geom.Integrator(ode.RK4, 10))
		wide := expect.Must(more.Join(append(points, passive), append(start, unitOf(d))))
		g = expect.Must(more.Shoot(wide, append(slices.Clone(p), engine.Unflatten(make([]float64, d*(d+1)), d)...)))
		images, frames, err = more.Split(g.End)
		if err != nil {
			t.Fatal(err)
		}
		expect.Abs(t, "landmark without a momentum", images[2], moved.Images[2], 1e-12)
		expect.Abs(t, "its frame", frames[2], moved.Jacobian[2], 1e-12)
	}
}

func unitOf(d int) [][]float64 {
	out := engine.Unflatten(make([]float64, d*d), d)
	for a := range out {
		out[a][a] = 1
	}
	return out
}

// Second derivatives are differences of the derivative of the flow.
func TestSecondDerivativesOfAFlow(t *testing.T) {
	x, p := jets(2, 2, 2)
	J := landmarks.NewJets(2, 2, 2, kernels.Gaussian(1), geom.Integrator(ode.RK4, 10))
	for i := range x { // a unit frame, and no second derivatives at the start
		x[i] = [][]float64{x[i], {1, 0}, {0, 1}, {0, 0}, {0, 0}, {0, 0}}[i%6]
	}
	g := expect.Must(J.Shoot(x, p))
	const h = 1e-4
	for i := range 2 {
		q := x[6*i]
		var at [][]float64
		for b := range 2 {
			for _, side := range []float64{h, -h} {
				z := slices.Clone(q)
				z[b] += side
				at = append(at, z)
			}
		}
		f := expect.Must(J.Deform(g, at)).Jacobian
		for k, bc := range [][2]int{{0, 0}, {0, 1}, {1, 1}} {
			for a := range 2 {
				want := (f[2*bc[1]][a][bc[0]] - f[2*bc[1]+1][a][bc[0]]) / (2 * h)
				expect.Abs(t, fmt.Sprintf("∂%d∂%d φ_%d at landmark %d", bc[0], bc[1], a, i), g.End[6*i+3+k][a], want, 1e-6)
			}
		}
	}
}

// With momenta of order 0 alone, landmarks move as those without frames. Energy, total and angular momentum are constant.
func TestJetsInvariants(t *testing.T) {
	for order, size := range map[int]int{1: 3, 2: 6} {
		x, p := jets(3, 2, order)
		J := landmarks.NewJets(3, 2, order, kernels.Laplace(4, 0.5), geom.Integrator(ode.RK4, 50))
		g := expect.Must(J.Shoot(x, p))
		t.Logf("order %d: H changes by %.2g", order, g.Drift)
		if !(g.Drift < 1e-6) {
			t.Errorf("H changes by %.2g along a geodesic", g.Drift)
		}
		total := func(x, p geom.Shape) (sum []float64) {
			sum = make([]float64, 3)
			for k := range x {
				if k%size == 0 {
					sum[0] += p[k][0]
					sum[1] += p[k][1]
				}
				sum[2] += x[k][0]*p[k][1] - x[k][1]*p[k][0]
			}
			return sum
		}
		expect.Abs(t, "total and angular momentum", total(g.End, g.Momenta[50]), total(x, p), 1e-7)

		var points, momenta [][]float64
		for k := range p {
			if k%size != 0 {
				p[k] = []float64{0, 0}
				continue
			}
			points, momenta = append(points, x[k]), append(momenta, p[k])
		}
		alone := expect.Must(landmarks.New(3, 2, kernels.Laplace(4, 0.5), geom.Integrator(ode.RK4, 50)).Shoot(points, momenta)).End
		for k, row := range expect.Must(J.Shoot(x, p)).End {
			if k%size == 0 {
				expect.Abs(t, "a landmark with momenta of order 0", row, alone[k/size], 1e-12)
			}
		}
	}
}

// Log matches landmarks with their frames.
func TestLogOfFrames(t *testing.T) {
	J := landmarks.NewJets(2, 2, 1, kernels.Gaussian(1))
	points := [][]float64{{0, 0}, {1.2, 0.1}}
	from := expect.Must(J.Join(points, nil))
	c, s := math.Cos(0.5), math.Sin(0.5)
	to := expect.Must(J.Join([][]float64{{0.1, 0.2}, {1, -0.1}}, [][][]float64{{{c, -s}, {s, c}}, {{1.3, 0.1}, {0, 0.9}}}))
	g := expect.Must(J.Log(from, to))
	if err := g.Err(); err != nil {
		t.Fatal(err)
	}
	expect.Abs(t, "end", g.End, to, 1e-8)
	moved := expect.Must(J.Deform(g, points))
	expect.Abs(t, "Dφ at the first landmark", moved.Jacobian[0], [][]float64{{c, -s}, {s, c}}, 1e-8)
	expect.Refused(t, expect.Error(J.Log(from, expect.Must(J.Join(points, [][][]float64{{{1, 2}, {2, 4}}, {{1, 0}, {0, 1}}})))), "frame at landmark 0", "linearly dependent")
	expect.Refused(t, expect.Error(J.Log(from, expect.Must(J.Join([][]float64{{1, 1}, {1, 1}}, nil)))), "landmarks 0 and 1 coincide")
	expect.Refused(t, expect.Error(J.Join(points[:1], nil)), "1 landmarks", "has 2")
	expect.Refused(t, expect.Error(J.Join(points, [][][]float64{{{1, 0}, {0, 1}}, {{1, 0}}})), "frame 1", "2 rows")
	for _, order := range []int{0, 3} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("NewJets of order %d: no panic", order)
				}
			}()
			landmarks.NewJets(2, 2, order, kernels.Gaussian(1))
		}()
	}
}
