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

// A field that depends on t, with the solution y = (sin(t + t²), e^{−t²/2} + y_1): all orders must survive the time
// dependence, which is where steppers that evaluate a stage at the wrong time lose theirs.
func timeDependent(t *Node, y ode.State) ode.State {
	rate := AddScalar(MulScalar(t, 2), 1)
	dy := Mul(rate, Cos(Add(t, Square(t))))
	dz := Add(Neg(Mul(t, Sub(y[1], y[0]))), dy)
	return ode.State{dy, dz}
}

func exact(t float64) [2]float64 {
	s := math.Sin(t + t*t)
	return [2]float64{s, math.Exp(-t*t/2) + s}
}

func pendulum(q, p *Node) *Node { return Sub(MulScalar(Square(p), 0.5), Cos(q)) }

func flow(t *testing.T, f ode.Field, m ode.Method, n int, y ...float64) []float64 {
	t.Helper()
	args := make([]any, len(y))
	for i := range y {
		args[i] = y[i]
	}
	out, err := engine.Run(func(in []*Node) []*Node { return ode.Flow(f, m, n, in) }, args...)
	if err != nil {
		t.Fatal(err)
	}
	result := make([]float64, len(y))
	for i := range result {
		result[i] = out.Scalar(i)
	}
	return result
}

func TestOrders(t *testing.T) {
	for _, m := range []ode.Method{ode.Euler, ode.Heun, ode.RK4} {
		// Time-dependent field against its closed form; Hamilton's field against a fine run.
		fine := flow(t, ode.Hamilton(pendulum), ode.RK4, 1000, 1.2, 0.4)
		for name, err := range map[string]func(n int) float64{
			"time-dependent": func(n int) float64 {
				y, want := flow(t, timeDependent, m, n, 0, 1), exact(1)
				return math.Hypot(y[0]-want[0], y[1]-want[1])
			},
			"pendulum": func(n int) float64 {
				y := flow(t, ode.Hamilton(pendulum), m, n, 1.2, 0.4)
				return math.Hypot(y[0]-fine[0], y[1]-fine[1])
			},
		} {
			n := map[int]int{1: 400, 2: 80, 4: 20}[m.Order]
			slope := math.Log2(err(n) / err(2*n))
			expect.Abs(t, m.Name+", "+name+": order", slope, float64(m.Order), 0.1)
		}
	}
}

func TestPathAndFlow(t *testing.T) {
	out, err := engine.Run(func(in []*Node) []*Node {
		return append(ode.Path(timeDependent, ode.RK4, 8, in), ode.Flow(timeDependent, ode.RK4, 8, in)...)
	}, 0.0, 1.0)
	if err != nil {
		t.Fatal(err)
	}
	path := out.Vector(0)
	if len(path) != 9 || path[0] != 0 || path[8] != out.Scalar(2) {
		t.Errorf("path %v, end %v", path, out.Scalar(2))
	}
	for k, y := range path {
		expect.Abs(t, fmt.Sprintf("path[%d]", k), y, exact(float64(k) / 8)[0], 1e-4)
	}
}

// The tangent field carries the derivative of the flow map.
func TestTangent(t *testing.T) {
	f := ode.Hamilton(pendulum)
	dy := flow(t, ode.Tangent(f), ode.RK4, 20, 1.2, 0.4, 1, -0.5)[2:]
	const h = 1e-4
	at := func(h float64) []float64 { return flow(t, f, ode.RK4, 20, 1.2+h, 0.4-0.5*h) }
	a, b, c, d := at(h), at(-h), at(2*h), at(-2*h)
	for i := range dy {
		expect.Abs(t, fmt.Sprintf("δy[%d]", i), dy[i], (8*(a[i]-b[i])-(c[i]-d[i]))/(12*h), 1e-10)
	}
}

func TestFieldOfTheWrongShape(t *testing.T) {
	for want, f := range map[string]ode.Field{
		"the field returns 1 parts for a state of 2":                        func(_ *Node, y ode.State) ode.State { return y[:1] },
		"part 1 of the state has shape (Float64)[3], the field's (Float64)": func(_ *Node, y ode.State) ode.State { return ode.State{y[0], ReduceAllSum(y[1])} },
	} {
		_, err := engine.Run(func(in []*Node) []*Node { return ode.Flow(f, ode.Euler, 2, in) }, []float64{1, 2, 3}, []float64{1, 2, 3})
		expect.Refused(t, err, want)
	}
}

func ExampleFlow() {
	// y' = y from y(0) = 1: four steps of RK4 give e to 4 digits.
	out, err := engine.Run(func(in []*Node) []*Node {
		return ode.Flow(func(_ *Node, y ode.State) ode.State { return y }, ode.RK4, 4, in)
	}, 1.0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%.4f\n", out.Scalar(0))
	// Output: 2.7182
}
