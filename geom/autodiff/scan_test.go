package autodiff

import (
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/geomtest/expect"
)

// unrolled is the loop that Scan stands for, written out: no While, GoMLX's own reverse mode.
func unrolled(n int, step Step, carry, xs []*Node) (final, ys []*Node) {
	var rows [][]*Node
	for i := range n {
		x := make([]*Node, len(xs))
		for j := range xs {
			x[j] = Squeeze(SliceAxis(xs[j], 0, AxisElem(i)), 0)
		}
		var y []*Node
		carry, y = step(Const(xs[0].Graph(), int32(i)), carry, x)
		rows = append(rows, y)
	}
	ys = make([]*Node, len(rows[0]))
	for j := range ys {
		column := make([]*Node, n)
		for i := range rows {
			column[i] = rows[i][j]
		}
		ys[j] = Stack(column, 0)
	}
	return carry, ys
}

// A loop with everything in it: two float slots, one integer slot, inputs, outputs, a node from outside that depends
// on another one, and a reduction of outside values only.
func example(scan func(int, Step, []*Node, []*Node) ([]*Node, []*Node)) func(a, b, c, xs *Node) *Node {
	return func(a, b, c, xs *Node) *Node {
		d := Sin(c) // outside, made of another outside node
		step := func(i *Node, s, x []*Node) ([]*Node, []*Node) {
			t := MulScalar(ConvertDType(Add(i, s[2]), a.DType()), 0.1)
			p := Add(Mul(s[0], Cos(Mul(d, s[1]))), Mul(x[0], t))
			q := Sub(s[1], Mul(MulScalar(p, 0.3), c))
			y := Mul(p, ReduceAllSum(Mul(c, d)))
			return []*Node{p, q, Add(s[2], Const(i.Graph(), int32(2)))}, []*Node{y, s[2]}
		}
		final, ys := scan(7, step, []*Node{a, b, Const(a.Graph(), int32(3))}, []*Node{xs})
		return Add(Add(ReduceAllSum(Mul(final[0], final[1])), ReduceAllSum(Sin(ys[0]))), ReduceAllSum(ConvertDType(ys[1], a.DType())))
	}
}

func inputs() []any {
	v := func(n int, f float64) []float64 {
		out := make([]float64, n)
		for i := range out {
			out[i] = math.Sin(f*float64(i+1)) * 0.9
		}
		return out
	}
	return []any{v(3, 1), v(3, 2.3), v(3, 0.7), engine.Unflatten(v(21, 1.9), 3)}
}

// Value, gradient, Hessian-vector product and third derivative of the compiled loop equal those of the unrolled one.
func TestScanEqualsReference(t *testing.T) {
	derivatives := func(scan func(int, Step, []*Node, []*Node) ([]*Node, []*Node)) func([]*Node) []*Node {
		f := example(scan)
		return func(in []*Node) []*Node {
			value := f(in[0], in[1], in[2], in[3])
			out := []*Node{value}
			g1 := Gradient(value, in...)
			out = append(out, g1...)
			s := inner(g1, []*Node{Cos(in[0]), in[1], Sin(in[2]), Cos(in[3])})
			g2 := Gradient(s, in...)
			return append(out, g2...)
		}
	}
	want := expect.Must(engine.Run(derivatives(unrolled), inputs()...))
	for name, scan := range map[string]func(int, Step, []*Node, []*Node) ([]*Node, []*Node){"scan": Scan, "checkpointed": checkpointed} {
		got := expect.Must(engine.Run(derivatives(scan), inputs()...))
		for i := range want {
			expect.Abs(t, name, got.Flat(i), want.Flat(i), 1e-12)
		}
	}
}

func TestNestedScan(t *testing.T) {
	f := func(scan func(int, Step, []*Node, []*Node) ([]*Node, []*Node)) func([]*Node) []*Node {
		return func(in []*Node) []*Node {
			final, _ := scan(7, func(i *Node, s, x []*Node) ([]*Node, []*Node) {
				inner, ys := scan(3, func(j *Node, s, x []*Node) ([]*Node, []*Node) {
					return []*Node{Add(Mul(s[0], Cos(in[2])), MulScalar(Mul(Sin(s[0]), x[0]), 0.3))}, []*Node{Square(s[0])}
				}, s, []*Node{in[1]})
				grad := Gradient(ReduceAllSum(ys[0]), s[0])[0]
				return []*Node{Add(inner[0], MulScalar(Mul(grad, x[0]), 0.01))}, []*Node{s[0]}
			}, []*Node{in[0]}, []*Node{in[3]})
			value := ReduceAllSum(Sin(final[0]))
			return append([]*Node{value}, Gradient(value, in...)...)
		}
	}
	want, got := expect.Must(engine.Run(f(unrolled), inputs()...)), expect.Must(engine.Run(f(Scan), inputs()...))
	for i := range want {
		expect.Abs(t, "nested", got.Flat(i), want.Flat(i), 1e-12)
	}
}

func TestScanGradientAgainstDifferences(t *testing.T) {
	f := example(Scan)
	exec := engine.Compile(func(in []*Node) []*Node {
		v := f(in[0], in[1], in[2], in[3])
		return append([]*Node{v}, Gradient(v, in...)...)
	})
	args := inputs()
	out, err := exec.Call(args...)
	if err != nil {
		t.Fatal(err)
	}
	const h = 1e-5
	for k := range 3 {
		x := args[k].([]float64)
		for i := range x {
			at := func(d float64) float64 {
				old := x[i]
				defer func() { x[i] = old }()
				x[i] += d
				r, err := exec.Call(args...)
				if err != nil {
					t.Fatal(err)
				}
				return r.Scalar(0)
			}
			want := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
			expect.Abs(t, "difference", out.Flat(1 + k)[i], want, 1e-9*(1+math.Abs(want)))
		}
	}
}

func TestScanErrors(t *testing.T) {
	for _, c := range map[string]struct {
		step Step
		want string
	}{
		"slot": {func(i *Node, c, x []*Node) ([]*Node, []*Node) { return []*Node{c[0], ReduceAllSum(c[1])}, nil },
			"carry slot 1 enters with shape (Float64)[3] and leaves the step with (Float64)"},
		"count": {func(i *Node, c, x []*Node) ([]*Node, []*Node) { return c[:1], nil }, "step returns 1 carry slots, got 2"},
	} {
		_, err := engine.Compile(func(in []*Node) []*Node {
			f, _ := Scan(7, c.step, in[:2], []*Node{in[3]})
			return f
		}).Call(inputs()...)
		expect.Refused(t, err, c.want)
	}
	_, err := engine.Compile(func(in []*Node) []*Node {
		f, _ := Scan(5, nil, in[:2], []*Node{in[3]})
		return f
	}).Call(inputs()...)
	expect.Refused(t, err, "xs[0] has shape (Float64)[7, 3], want the number of iterations 5")
}

func TestJacobian(t *testing.T) {
	// f(x) = (x0 x1, sin x2, x0², x1 x2, exp x0) batched: more rows than columns takes forward mode, the first two reverse.
	f := func(rows int) func(x *Node) *Node {
		return func(x *Node) *Node {
			c := func(i int) *Node { return SliceAxis(x, -1, AxisRange(i, i+1)) }
			return Concatenate([]*Node{Mul(c(0), c(1)), Sin(c(2)), Square(c(0)), Mul(c(1), c(2)), Exp(c(0))}[:rows], -1)
		}
	}
	x := [][]float64{{0.3, -1.2, 0.8}, {1.1, 0.4, -0.5}}
	for _, rows := range []int{2, 5} {
		got := expect.Must(engine.Run(func(in []*Node) []*Node { return []*Node{Jacobian(f(rows), in[0])} }, x)).Array3(0)
		for b, p := range x {
			want := [][]float64{{p[1], p[0], 0}, {0, 0, math.Cos(p[2])}, {2 * p[0], 0, 0}, {0, p[2], p[1]}, {math.Exp(p[0]), 0, 0}}
			for r := range rows {
				expect.Abs(t, "Jacobian", got[b][r], want[r], 1e-14)
			}
		}
	}
}

// A matrix that depends on x has the Jacobian of its numbers, in its axes, with and without a batch.
func TestJacobianOfMatrices(t *testing.T) {
	outer := func(x *Node) *Node { return Mul(ExpandAxes(x, -1), Square(ExpandAxes(x, -2))) } // x_i x_j²
	check := func(x []float64, got [][][]float64) {
		for i := range x {
			for j := range x {
				for l := range x {
					want := 0.0
					if l == i {
						want += x[j] * x[j]
					}
					if l == j {
						want += 2 * x[i] * x[j]
					}
					expect.Abs(t, "∂_l x_i x_j²", got[i][j][l], want, 1e-14)
				}
			}
		}
	}
	points := [][]float64{{0.3, -1.2, 0.8}, {1.1, 0.4, -0.5}}
	jacobian := func(x *Node) *Node { return Jacobian(outer, x) }
	check(points[0], expect.Must(engine.Run(jacobian, points[0])).Array3(0))
	batch := expect.Must(engine.Run(func(x *Node) []*Node {
		j := jacobian(x)
		return []*Node{Squeeze(SliceAxis(j, 0, AxisElem(0)), 0), Squeeze(SliceAxis(j, 0, AxisElem(1)), 0)}
	}, points))
	for b, x := range points {
		check(x, batch.Array3(b))
	}
}

// Loops of one and two states, with and without the number of the iteration, and the derivative of one.
func TestLoop(t *testing.T) {
	rows := [][]float64{{1, 2}, {10, 20}, {100, 200}}
	out := expect.Must(engine.Run(func(a, b, rows *Node) []*Node {
		fibonacci := Loop(10, func(a, b *Node) (*Node, *Node) { return b, Add(a, b) }, a, b)
		sum := Loop(3, func(i, sum *Node) *Node { return Add(sum, At(rows, i)) }, ZerosLike(At(rows, Const(rows.Graph(), int32(0)))))
		power := Loop(10, func(x *Node) *Node { return Square(x) }, b)[0]
		list := Loop(2, func(x []*Node) []*Node { return []*Node{x[1], x[0]} }, a, b)
		return append(append(fibonacci, sum...), Gradient(power, b)[0], list[0])
	}, 0.0, 1.0, rows))
	for k, want := range []float64{55, 89} {
		expect.Abs(t, "Fibonacci", out.Scalar(k), want, 0)
	}
	expect.Abs(t, "sum", out.Vector(2), []float64{111, 222}, 0)
	expect.Abs(t, "gradient", out.Scalar(3), 1024, 0)
	expect.Abs(t, "list", out.Scalar(4), 0, 0)
	for want, step := range map[string]func(x *Node) []*Node{
		"2 carry slots, got":          func(x *Node) []*Node { return Loop(3, func(x *Node) (*Node, *Node) { return x, x }, x) },
		"1 nodes for a function of 3": func(x *Node) []*Node { return Loop(3, func(a, b, c *Node) *Node { return a }, x) },
	} {
		_, err := engine.Run(step, 1.0)
		expect.Refused(t, err, want)
	}
}

func TestPushforwardThroughScan(t *testing.T) {
	f := func(in []*Node) []*Node {
		final, _ := Scan(5, func(_ *Node, c, _ []*Node) ([]*Node, []*Node) {
			return []*Node{Sub(c[0], MulScalar(Sin(c[0]), 0.2))}, nil
		}, in[:1], nil)
		return final
	}
	exec := engine.Compile(func(in []*Node) []*Node {
		_, dy := Pushforward(func(x []*Node) []*Node { return f(x) }, in[:1], in[1:])
		return dy
	})
	x, v := []float64{0.4, -0.7, 1.3}, []float64{1, 0.5, -2}
	out, err := exec.Call(x, v)
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float64, 3)
	for i := range x {
		s, d := x[i], v[i]
		for range 5 {
			s, d = s-0.2*math.Sin(s), d*(1-0.2*math.Cos(s))
		}
		want[i] = d
	}
	expect.Abs(t, "pushforward", out.Flat(0), want, 1e-14)
}
