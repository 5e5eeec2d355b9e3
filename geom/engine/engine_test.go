package engine

import (
	"math"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/pjrt"
	"github.com/gomlx/gomlx/core/tensors"

	"anatomy/geom/geomtest/expect"
	"anatomy/internal/lists"
)

func TestCallShapesAndTypes(t *testing.T) {
	f := Compile(func(x *graph.Node) *graph.Node { return graph.MulScalar(x, 2) })
	for _, c := range []struct {
		in   any
		read func(Values) any
		want any
	}{
		{1.5, func(v Values) any { return v.Scalar(0) }, 3.0},
		{[]float64{1, 2}, func(v Values) any { return v.Vector(0) }, []float64{2, 4}},
		{[][]float64{{1, 2}, {3, 4}}, func(v Values) any { return v.Matrix(0) }, [][]float64{{2, 4}, {6, 8}}},
		{[][][]float64{{{1, 2}}, {{3, 4}}}, func(v Values) any { return v.Array3(0) }, [][][]float64{{{2, 4}}, {{6, 8}}}},
		{3, func(v Values) any { return v.Scalar(0) }, 6.0},
		{[]int{1, 2}, func(v Values) any { return v.Vector(0) }, []float64{2, 4}},
		{tensors.FromScalar(float32(1.5)), func(v Values) any { return v.Scalar(0) }, 3.0},
	} {
		out, err := f.Call(c.in)
		if err != nil {
			t.Errorf("%v: %v", c.in, err)
		} else if got := c.read(out); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v: got %v, want %v", c.in, got, c.want)
		}
	}
}

func TestFloat32(t *testing.T) {
	f := Compile(func(x *graph.Node) *graph.Node { return graph.Div(graph.OnesLike(x), x) }, Float32())
	out, err := f.Call([]float64{3})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.Vector(0)[0]; out[0].DType() != dtypes.Float32 || got != float64(float32(1)/3) {
		t.Errorf("got %v of type %s", got, out[0].DType())
	}
}

// Results that nobody holds any more do not pile up outside of Go's heap: 5000 of 160 kB are 800 MB.
func TestResultsAreCollected(t *testing.T) {
	f := Compile(func(x *graph.Node) *graph.Node { return graph.Square(x) })
	x := tensors.FromFlatDataAndDimensions(make([]float64, 20000), 20000)
	expect.Memory(t, 300<<20, func() {
		for range 5000 {
			if _, err := f.Call(x); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// Integers that are no int32 are refused, and results without elements have as many rows as their shape says.
func TestSizes(t *testing.T) {
	f := Compile(func(n *graph.Node) []*graph.Node {
		return []*graph.Node{graph.Zeros(n.Graph(), shapes.Make(dtypes.Float64, 2, 3, 0)), graph.Zeros(n.Graph(), shapes.Make(dtypes.Float64, 2, 0))}
	})
	out, err := f.Call(7)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := out.Array3(0), out.Matrix(1); len(a) != 2 || len(a[1]) != 3 || len(a[1][2]) != 0 || len(b) != 2 {
		t.Errorf("shapes [2, 3, 0] and [2, 0] became %v and %v", a, b)
	}
	for _, n := range []any{1 << 40, []int{1, -1 << 31, 1 << 31}} {
		if _, err := f.Call(n); err == nil || !strings.Contains(err.Error(), "is no int32") {
			t.Errorf("%v: %v", n, err)
		}
	}
}

// A function is built once for a shape, whatever the numbers.
func TestCompilesOnceForAShape(t *testing.T) {
	built := 0
	f := Compile(func(x *graph.Node) *graph.Node { built++; return graph.Square(x) })
	for i := range 5 {
		if _, err := f.Call([]float64{float64(i), 1}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := f.Call([]float64{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	if built != 2 {
		t.Errorf("built %d times for 2 shapes", built)
	}
}

// Ever new shapes do not add up: programs go by age, and a function that cannot be reached any more takes its own with it.
func TestProgramsAreDropped(t *testing.T) {
	defer func(old int) { limit = old }(limit)
	limit = 1
	built := 0
	f := Compile(func(x *graph.Node) *graph.Node { built++; return graph.Square(x) })
	call := func(n int) {
		t.Helper()
		if out, err := f.Call(make([]float64, n)); err != nil || len(out.Vector(0)) != n {
			t.Fatalf("%d numbers: %v, error %v", n, out, err)
		}
	}
	count := func() int {
		compiled.Lock()
		defer compiled.Unlock()
		return compiled.programs.Len()
	}
	before := pjrt.LoadedExecutablesAlive()
	for n := range 3 * least {
		call(n + 1)
		call(1)
	}
	if n := count(); n != least {
		t.Errorf("%d programs, want %d", n, least)
	}
	if n := pjrt.LoadedExecutablesAlive() - before; n > least {
		t.Errorf("XLA holds %d programs more, want at most %d", n, least)
	}
	for n := range least - 1 {
		call(3*least - n)
	}
	call(1)
	if built != 3*least {
		t.Errorf("built %d times for %d shapes that are called again soon", built, 3*least)
	}
	call(2)
	if built != 3*least+1 {
		t.Errorf("built %d times, want one more for the shape called longest ago", built)
	}
	f = nil
	for count() > 0 {
		runtime.GC()
	}
}

// Programs are dropped while they run and while others wait for them.
func TestCallsFromManyGoroutines(t *testing.T) {
	defer func(old int) { limit = old }(limit)
	limit = 1
	f := Compile(func(x *graph.Node) *graph.Node { return graph.Square(x) })
	var group sync.WaitGroup
	for i := range 4 * least {
		group.Go(func() {
			for k := range 3 {
				x := make([]float64, 1+(i+k)%(2*least))
				x[0] = float64(i)
				if out, err := f.Call(x); err != nil || out.Vector(0)[0] != float64(i*i) {
					t.Errorf("the square of %d: %v, error %v", i, out, err)
				}
				if i%least == 0 {
					f.Free()
				}
			}
		})
	}
	group.Wait()
}

// The results of a call are arguments of another, in the type that they have.
func TestResultsAsArguments(t *testing.T) {
	square := Compile(func(x *graph.Node) *graph.Node { return graph.Square(x) }, Float32())
	x := any([]float64{2})
	for range 3 {
		out, err := square.Call(x)
		if err != nil {
			t.Fatal(err)
		}
		x = out[0]
	}
	if got := (Values{x.(*tensors.Tensor)}).Vector(0)[0]; got != 256 {
		t.Errorf("2^8 is %g", got)
	}
}

// A function whose first call found no back end works once there is one.
func TestFailedBackEndIsForgotten(t *testing.T) {
	good, err := Backend()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { opened = good }()
	opened = nil
	t.Setenv(compute.ConfigEnvVar, "xla:/no/such/plugin.so")
	f := Compile(func(x *graph.Node) *graph.Node { return graph.Square(x) })
	expect.Refused(t, expect.Error(f.Call(3.0)), "cannot open the back end")
	opened = good
	if out, err := f.Call(3.0); err != nil || out.Scalar(0) != 9 {
		t.Errorf("then %v, error %v", out, err)
	}
}

func TestErrors(t *testing.T) {
	f := Compile(func(x, y *graph.Node) *graph.Node { return graph.Add(x, y) }, Name("adding"))
	for want, args := range map[string][]any{
		"argument 0: row 1 has dimensions [1], row 0 has [2]": {[][]float64{{1, 2}, {3}}, 1.0},
		"argument 1: empty [][]float64":                       {1.0, [][]float64{}},
		"adding":                                              {[]float64{1, 2}, []float64{1, 2, 3}},
		"1 arguments for a function of 2":                     {1.0},
		"3 arguments for a function of 2":                     {1.0, 2.0, 3.0},
	} {
		expect.Refused(t, expect.Error(f.Call(args...)), want)
	}
	// Any panic of a graph function is an error, and the function can be called again.
	g := Compile(func(x *graph.Node) *graph.Node { panic("not a shape: " + x.Shape().String()) })
	for range 2 {
		expect.Refused(t, expect.Error(g.Call(1.0)), "not a shape: (Float64)")
	}
}

func TestNativeVariable(t *testing.T) {
	for _, v := range []string{"", "off"} {
		t.Setenv(nativeVariable, v)
		if err := checkNativeVariable(); err != nil {
			t.Error(err)
		}
	}
	t.Setenv(nativeVariable, "0")
	expect.Refused(t, checkNativeVariable(), `ANATOMY_NATIVE="0": want off`)
}

// loop runs body three times from zero with a raw While, or with one of bodies.
func loop(g *graph.Graph, name string, repaired bool, body func(i, x *graph.Node) *graph.Node) *graph.Node {
	state := []*graph.Node{graph.Const(g, int32(0)), graph.Const(g, 0.0)}
	cond := func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.LessThan(in[0], graph.Const(g, int32(3)))}
	}
	step := func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{graph.AddScalar(in[0], 1), body(in[0], in[1])}
	}
	if repaired {
		record := func(build func(in []*graph.Node) []*graph.Node) *Body {
			return Record(g, func() (in, out []*graph.Node) { in = lists.Each(state, Input); return in, build(in) })
		}
		return While(record(cond), record(step), state)[1]
	}
	closure := func(suffix string, build func(in []*graph.Node) []*graph.Node) *graph.Function {
		return graph.NewClosure(g, func(g *graph.Graph) []*graph.Node {
			return build([]*graph.Node{graph.Parameter(g, name+"_i"+suffix, shapes.Make(dtypes.Int32)), graph.Parameter(g, name+"_x"+suffix, shapes.Make(dtypes.Float64))})
		})
	}
	return graph.While(closure("c", cond), closure("b", step), state...)[1]
}

// Each of the four defects of upstream.md: it must work with a body, and must still fail with a raw loop. Where a case passes with that, the pinned
// modules have the fix: delete what goes round it.
func TestRepairs(t *testing.T) {
	raw, err := Backend()
	if err != nil {
		t.Fatal(err)
	}
	plain := expect.Must(compute.NewWithConfig(plainConfig))
	for name, c := range map[string]struct {
		fn   func(g *graph.Graph, x *graph.Node, repaired bool) *graph.Node
		want float64
	}{
		"1 reductions in a loop and outside": {func(g *graph.Graph, x *graph.Node, repaired bool) *graph.Node {
			s := loop(g, "l", repaired, func(_, y *graph.Node) *graph.Node {
				return graph.Add(y, graph.ReduceAllSum(graph.BroadcastToDims(y, 2)))
			})
			return graph.Add(s, graph.ReduceAllSum(x))
		}, 6},
		"2 a loop in a loop": {func(g *graph.Graph, x *graph.Node, repaired bool) *graph.Node {
			return loop(g, "o", repaired, func(i, y *graph.Node) *graph.Node {
				return graph.Add(y, loop(g, "n", repaired, func(_, z *graph.Node) *graph.Node { return graph.Add(z, graph.Const(g, 1.0)) }))
			})
		}, 9},
		"3 a scalar constant first met in a loop": {func(g *graph.Graph, x *graph.Node, repaired bool) *graph.Node {
			s := loop(g, "l", repaired, func(_, y *graph.Node) *graph.Node { return graph.AddScalar(y, 2.5) })
			return graph.AddScalar(s, 2.5)
		}, 10},
		"4 an operation between inside and outside": {func(g *graph.Graph, x *graph.Node, repaired bool) *graph.Node {
			c := graph.Reshape(graph.SliceAxis(x, 0, graph.AxisElem(1)))
			return loop(g, "l", repaired, func(_, y *graph.Node) *graph.Node { return graph.Add(y, c) })
		}, 6},
	} {
		run := func(use compute.Backend, repaired bool) (v float64, err error) {
			exec, err := graph.NewExec(use, errorPanics(func(x *graph.Node) *graph.Node { return c.fn(x.Graph(), x, repaired) }))
			if err != nil {
				return 0, err
			}
			out, err := exec.Exec([]float64{1, 2, 3})
			if err != nil {
				return 0, err
			}
			return Values(out).Scalar(0), nil
		}
		for _, b := range []compute.Backend{raw, plain} {
			if got, err := run(backend{b}, true); err != nil || math.Abs(got-c.want) > 1e-14 {
				t.Errorf("%s, %s: got %v, want %v (error %v)", name, b.Name(), got, c.want, err)
			}
		}
		if got, err := run(raw, false); err == nil {
			t.Errorf("%s: gives %v without the repair", name, got)
		}
	}
}

// The back end in plain Go computes what XLA does where it needs help: windows that are smaller than the array, at a running index; bodies of loops
// whose results are one value.
func TestPlain(t *testing.T) {
	raw := expect.Must(Backend())
	plain := expect.Must(compute.NewWithConfig(plainConfig))
	at := func(g *graph.Graph, start ...int32) []*graph.Node {
		return lists.Each(start, func(i int32) *graph.Node { return graph.Const(g, i) })
	}
	thrice := func(x *graph.Node, body func(x, y *graph.Node) (a, b *graph.Node)) []*graph.Node {
		state := []*graph.Node{graph.Const(x.Graph(), int32(0)), x, x}
		record := func(build func(in []*graph.Node) []*graph.Node) *Body {
			return Record(x.Graph(), func() (in, out []*graph.Node) { in = lists.Each(state, Input); return in, build(in) })
		}
		return While(record(func(in []*graph.Node) []*graph.Node {
			return []*graph.Node{graph.LessThan(in[0], graph.Const(x.Graph(), int32(3)))}
		}),
			record(func(in []*graph.Node) []*graph.Node {
				a, b := body(in[1], in[2])
				return []*graph.Node{graph.AddScalar(in[0], 1), a, b}
			}), state)
	}
	for name, fn := range map[string]func(x *graph.Node) *graph.Node{
		"a window is read": func(x *graph.Node) *graph.Node { return graph.DynamicSlice(x, at(x.Graph(), 0, 1, 2), []int{2, 2, 2}) },
		"a window is written": func(x *graph.Node) *graph.Node {
			update := graph.IotaFull(x.Graph(), shapes.Make(dtypes.Float64, 2, 2, 2))
			return graph.DynamicUpdateSlice(x, graph.Neg(update), at(x.Graph(), 0, 1, 2))
		},
		"the first result of a loop": func(x *graph.Node) *graph.Node {
			return thrice(x, func(x, _ *graph.Node) (a, b *graph.Node) { return graph.Add(x, x), x })[1]
		},
		"results that are one value": func(x *graph.Node) *graph.Node {
			out := thrice(x, func(x, y *graph.Node) (a, b *graph.Node) { s := graph.Add(x, y); return s, s })
			return graph.Sub(out[1], graph.MulScalar(out[2], 0.5))
		},
	} {
		run := func(use compute.Backend) []float64 {
			exec := expect.Must(graph.NewExec(backend{use}, errorPanics(func(g *graph.Graph) *graph.Node {
				return fn(graph.IotaFull(g, shapes.Make(dtypes.Float64, 2, 3, 4)))
			})))
			return Values(expect.Must(exec.Exec())).Flat(0)
		}
		expect.Abs(t, name, run(plain), run(raw), 0)
	}
}

// A program has once what leads to its result: sines that are added up twice, by themselves and in a loop, and no cosines, which lead to none.
func TestTidy(t *testing.T) {
	f := Compile(func(x *graph.Node) *graph.Node {
		twice := func(x *graph.Node) *graph.Node {
			graph.Cos(x)
			return graph.Add(graph.ReduceAllSum(graph.Sin(x)), graph.ReduceAllSum(graph.Sin(x)))
		}
		return graph.Add(twice(x), loop(x.Graph(), "l", true, func(_, y *graph.Node) *graph.Node {
			return twice(graph.BroadcastToDims(graph.AddScalar(y, 1), 2))
		}))
	})
	want := 2 * (math.Sin(3) + math.Sin(4))
	y := 0.0
	for range 3 {
		y = 4 * math.Sin(y+1)
	}
	expect.Abs(t, "sum", expect.Must(f.Call([]float64{3, 4})).Scalar(0), want+y, 1e-14)
	text := expect.Must(f.Text([]float64{3, 4}))
	for operation, count := range map[string]int{"sine": 2, "reduce": 2, "cosine": 0} {
		if n := strings.Count(text, `"stablehlo.`+operation+`"`); n != count {
			t.Errorf("%d × %s, want %d:\n%s", n, operation, count, text)
		}
	}
}
