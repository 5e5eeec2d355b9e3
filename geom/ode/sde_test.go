package ode_test

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
	"anatomy/geom/ode"
)

// sinhEquation has y = sinh(a(t) w), a = cos t, as its solution in Stratonovich's calculus; the state is (y, w):
// dy = √(1 + y²)∘(a dw + a' w dt). Drift and noise depend on time.
func sinhEquation(t *Node, y ode.State, dt, dw *Node) ode.State {
	w := Squeeze(dw, -1)
	slope := Sqrt(OnePlus(Square(y[0])))
	return ode.State{Mul(slope, Sub(Mul(Cos(t), w), Mul(Mul(Sin(t), y[1]), dt))), w}
}

// sinhIto is the same in Itô's calculus: + ½ a² y dt.
func sinhIto(t *Node, y ode.State, dt, dw *Node) ode.State {
	d := sinhEquation(t, y, dt, dw)
	return ode.State{Add(d[0], MulScalar(Mul(Mul(Square(Cos(t)), y[0]), dt), 0.5)), d[1]}
}

// twisted has two fields that do not commute, and depends on time: dz = (1 + t) sin(x + y)∘dW² − cos(y + t)∘dW¹ with
// x = W¹ and y = W².
func twisted(t *Node, y ode.State, dt, dw *Node) ode.State {
	w1, w2 := column(dw, 0), column(dw, 1)
	dz := Sub(Mul(Mul(OnePlus(t), Sin(Add(y[0], y[1]))), w2), Mul(Cos(Add(y[1], t)), w1))
	return ode.State{w1, w2, dz}
}

func column(x *Node, a int) *Node { return Squeeze(SliceAxis(x, -1, AxisElem(a)), -1) }

// coarse adds up the increments of r steps at a time.
func coarse(dw [][][]float64, r int) [][][]float64 {
	out := make([][][]float64, len(dw)/r)
	for i := range out {
		out[i] = make([][]float64, len(dw[0]))
		for k := range out[i] {
			out[i][k] = make([]float64, len(dw[0][0]))
			for j := range r {
				for a, v := range dw[i*r+j][k] {
					out[i][k][a] += v
				}
			}
		}
	}
	return out
}

func stochastic(t *testing.T, f ode.Equation, s ode.Scheme, T float64, dw [][][]float64, start ...float64) engine.Values {
	t.Helper()
	out, err := engine.Run(func(in []*Node) []*Node {
		y := make(ode.State, len(start))
		for j, v := range start {
			y[j] = BroadcastToDims(Scalar(in[0].Graph(), in[0].DType(), v), len(dw[0]))
		}
		return ode.Integrate(f, s.Method, ode.Drive{T: in[0], DW: in[1]}, y)
	}, T, dw)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func rms(a, b []float64) float64 {
	sum := 0.0
	for k := range a {
		sum += (a[k] - b[k]) * (a[k] - b[k])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// slope is the exponent p of err = c n^−p by least squares.
func slope(n []int, err []float64) float64 {
	var sx, sy, sxx, sxy float64
	for i := range n {
		x, y := -math.Log(float64(n[i])), math.Log(err[i])
		sx, sy, sxx, sxy = sx+x, sy+y, sxx+x*x, sxy+x*y
	}
	k := float64(len(n))
	return (k*sxy - sx*sy) / (k*sxx - sx*sx)
}

func TestStrongOrders(t *testing.T) {
	const T, fine = 0.8, 1024
	steps := []int{16, 32, 64, 128}
	one := ode.Increments(1, fine, 2000, 1, T)
	two := ode.Increments(2, 2*fine, 1000, 2, T)
	exact := make([]float64, len(one[0]))
	for k := range exact {
		w := 0.0
		for i := range one {
			w += one[i][k][0]
		}
		exact[k] = math.Sinh(math.Cos(T) * w)
	}
	reference := map[ode.Calculus][]float64{}
	twistedIto := ode.ItoFromStratonovich(twisted, 2)
	for _, c := range []struct {
		scheme   ode.Scheme
		sinh     ode.Equation
		twisted  ode.Equation
		calculus ode.Calculus
	}{{ode.EulerMaruyama, sinhIto, twistedIto, ode.Ito}, {ode.EulerHeun, sinhEquation, twisted, ode.Stratonovich}} {
		if c.scheme.Calculus != c.calculus {
			t.Errorf("%s: calculus %d, want %d", c.scheme.Name, c.scheme.Calculus, c.calculus)
		}
		var commuting, general []float64
		reference[c.calculus] = stochastic(t, c.twisted, c.scheme, T, two, 0.3, -0.2, 0).Vector(2)
		for _, n := range steps {
			commuting = append(commuting, rms(stochastic(t, c.sinh, c.scheme, T, coarse(one, fine/n), 0, 0).Vector(0), exact))
			general = append(general, rms(stochastic(t, c.twisted, c.scheme, T, coarse(two, 2*fine/n), 0.3, -0.2, 0).Vector(2), reference[c.calculus]))
		}
		for name, m := range map[string]struct {
			err  []float64
			want float64
		}{"commuting": {commuting, c.scheme.Commutative}, "general": {general, c.scheme.Strong}} {
			p := slope(steps, m.err)
			t.Logf("%s, %s noise: errors %.3g, order %.3f", c.scheme.Name, name, m.err, p)
			expect.Abs(t, fmt.Sprintf("%s, %s noise: strong order", c.scheme.Name, name), p, m.want, 0.1)
		}
	}
	// Both calculi have the same process as their limit, and not if the correction is left out.
	if d := rms(reference[ode.Ito], reference[ode.Stratonovich]); d > 0.02 {
		t.Errorf("Itô and Stratonovich differ by %.3g", d)
	}
	wrong := stochastic(t, twisted, ode.EulerMaruyama, T, two, 0.3, -0.2, 0).Vector(2)
	if d := rms(wrong, reference[ode.Stratonovich]); d < 0.1 {
		t.Errorf("without the correction the difference is %.3g, so this test cannot tell", d)
	}
}

// E y² of dy = a(t) y∘dW, a² = 1 + t, from y = 1: exp(2 ∫ a²). Increments ±√h in all combinations instead of normal ones
// have the same weak order, and no Monte Carlo error.
func TestWeakOrders(t *testing.T) {
	const T = 0.15
	want := math.Exp(2 * (T + T*T/2))
	growth := func(t *Node, y ode.State, _, dw *Node) ode.State {
		return ode.State{Mul(Mul(Sqrt(OnePlus(t)), y[0]), Squeeze(dw, -1))}
	}
	steps := []int{6, 9, 12}
	for _, c := range []struct {
		scheme ode.Scheme
		f      ode.Equation
	}{{ode.EulerMaruyama, ode.ItoFromStratonovich(growth, 1)}, {ode.EulerHeun, growth}} {
		var errs []float64
		for _, n := range steps {
			dw := make([][][]float64, n)
			for i := range dw {
				dw[i] = make([][]float64, 1<<n)
				for k := range dw[i] {
					dw[i][k] = []float64{math.Sqrt(T/float64(n)) * float64(2*(k>>i&1)-1)}
				}
			}
			mean := 0.0
			for _, y := range stochastic(t, c.f, c.scheme, T, dw, 1).Vector(0) {
				mean += y * y / float64(len(dw[0]))
			}
			errs = append(errs, math.Abs(mean-want))
		}
		p := slope(steps, errs)
		t.Logf("%s: errors %.3g, weak order %.3f", c.scheme.Name, errs, p)
		expect.Abs(t, c.scheme.Name+": weak order", p, c.scheme.Weak, 0.1)
	}
}

// The corrected drift equals the one by hand.
func TestConversion(t *testing.T) {
	out, err := engine.Run(func(in []*Node) []*Node {
		var all []*Node
		for _, f := range []ode.Equation{ode.ItoFromStratonovich(sinhEquation, 1), sinhIto} {
			all = append(all, f(in[0], in[1:3], in[3], in[4])...)
		}
		return all
	}, 0.4, []float64{0.3, -1.1}, []float64{0.5, 0.2}, 0.01, [][]float64{{0.2}, {-0.1}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if d := rms(out.Vector(i), out.Vector(2+i)); d > 1e-15 {
			t.Errorf("part %d: %v, want %v", i, out.Vector(i), out.Vector(2+i))
		}
	}
}

// A path belongs to its seed and its number, and its increments have the right variance.
func TestIncrements(t *testing.T) {
	const n, paths, T = 50, 400, 2.
	dw := ode.Increments(7, n, paths, 3, T)
	few := ode.Increments(7, n, 2, 3, T)
	var sum, squares float64
	for i := range dw {
		for k := range dw[i] {
			for a, v := range dw[i][k] {
				sum += v
				squares += v * v
				if k < 2 && few[i][k][a] != v {
					t.Fatalf("step %d of path %d depends on the number of paths", i, k)
				}
			}
		}
	}
	count := float64(n * paths * 3)
	variance := T / n
	expect.Estimate(t, "sum", sum, math.Sqrt(count*variance), 0)
	expect.Estimate(t, "variance", squares/count, variance*math.Sqrt(2/count), variance)
}

func TestIntegratePathWithNoise(t *testing.T) {
	dw := ode.Increments(3, 8, 5, 1, 1)
	out, err := engine.Run(func(in []*Node) []*Node {
		y := ode.State{ZerosLike(Squeeze(SliceAxis(in[1], 0, AxisElem(0)), 0, -1))}
		f := func(_ *Node, y ode.State, dt, dw *Node) ode.State {
			return ode.State{Add(Squeeze(dw, -1), OnesLike(y[0]))}
		}
		linear := func(t *Node, y ode.State, dt, dw *Node) ode.State {
			return ode.State{Add(Sub(f(t, y, dt, dw)[0], OnesLike(y[0])), Mul(OnesLike(y[0]), dt))}
		}
		z := ode.Drive{T: in[0], DW: in[1]}
		return append(ode.IntegratePath(linear, ode.EulerHeun.Method, z, y), ode.Integrate(linear, ode.EulerHeun.Method, z, y)...)
	}, 1., dw)
	if err != nil {
		t.Fatal(err)
	}
	path, end := out.Matrix(0), out.Vector(1)
	for k := range end {
		w := 0.0
		for i := range path {
			expect.Abs(t, fmt.Sprintf("path %d at step %d", k, i), path[i][k], w+float64(i)/8, 1e-14)
			if i < 8 {
				w += dw[i][k][0]
			}
		}
		if end[k] != path[8][k] {
			t.Errorf("path %d ends at %g, the flow at %g", k, path[8][k], end[k])
		}
	}
}

func TestNoiseOfTheWrongShape(t *testing.T) {
	_, err := engine.Run(func(in []*Node) []*Node {
		return ode.Integrate(sinhEquation, ode.EulerHeun.Method, ode.Drive{T: in[0], DW: in[1]}, ode.State{in[0], in[0]})
	}, 1., []float64{1, 2})
	expect.Refused(t, err, "increments (Float64)[2], want [n, ..., m]")
}

func ExampleIntegrate() {
	// Geometric Brownian motion dy = y∘dW has the solution y_0 exp(W): its path is that of the noise given.
	dw := [][][]float64{{{0.1}}, {{-0.2}}, {{0.15}}, {{0.05}}}
	out, err := engine.Run(func(in []*Node) []*Node {
		growth := func(_ *Node, y ode.State, _, dw *Node) ode.State { return ode.State{Mul(y[0], dw)} }
		return ode.Integrate(growth, ode.EulerHeun.Method, ode.Drive{T: in[0], DW: in[1]}, in[2:])
	}, 1.0, dw, [][]float64{{1}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.3f, exp(W) = %.3f\n", out.Flat(0)[0], math.Exp(0.1))
	// Output: 1.106, exp(W) = 1.105
}
