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

// loop runs body n times from zero with a raw While.
func loop(g *graph.Graph, name string, closure func(*graph.Graph, func(*graph.Graph) []*graph.Node) *graph.Function, body func(i, x *graph.Node) *graph.Node) *graph.Node {
	params := func(g *graph.Graph, suffix string) (*graph.Node, *graph.Node) {
		return graph.Parameter(g, name+"_i"+suffix, shapes.Make(dtypes.Int32)), graph.Parameter(g, name+"_x"+suffix, shapes.Make(dtypes.Float64))
	}
	cond := closure(g, func(g *graph.Graph) []*graph.Node {
		i, _ := params(g, "c")
		return []*graph.Node{graph.LessThan(i, graph.Const(g, int32(3)))}
	})
	step := closure(g, func(g *graph.Graph) []*graph.Node {
		i, x := params(g, "b")
		return []*graph.Node{graph.AddScalar(i, 1), body(i, x)}
	})
	return graph.While(cond, step, graph.Const(g, int32(0)), graph.Const(g, 0.0))[1]
}

// Each of the four defects that repair.go goes round: it must work with the repair, and must still fail without it.
// Where a case passes without the repair, the pinned modules have the fix: delete the repair.
func TestRepairs(t *testing.T) {
	raw, err := Backend()
	if err != nil {
		t.Fatal(err)
	}
	run := func(repaired bool, fn func(g *graph.Graph, x *graph.Node, closure func(*graph.Graph, func(*graph.Graph) []*graph.Node) *graph.Function) *graph.Node) (v float64, err error) {
		closure, use := NewClosure, compute.Backend(backend{Backend: raw})
		if !repaired {
			closure, use = graph.NewClosure, raw
		}
		exec, err := graph.NewExec(use, errorPanics(func(x *graph.Node) *graph.Node { return fn(x.Graph(), x, closure) }))
		if err != nil {
			return 0, err
		}
		out, err := exec.Exec([]float64{1, 2, 3})
		if err != nil {
			return 0, err
		}
		return Values(out).Scalar(0), nil
	}
	type closures = func(*graph.Graph, func(*graph.Graph) []*graph.Node) *graph.Function
	for name, c := range map[string]struct {
		fn   func(g *graph.Graph, x *graph.Node, closure closures) *graph.Node
		want float64
	}{
		"1 reductions in a loop and outside": {func(g *graph.Graph, x *graph.Node, closure closures) *graph.Node {
			s := loop(g, "l", closure, func(_, y *graph.Node) *graph.Node {
				return graph.Add(y, graph.ReduceAllSum(graph.BroadcastToDims(y, 2)))
			})
			return graph.Add(s, graph.ReduceAllSum(x))
		}, 6},
		"2 a loop in a loop": {func(g *graph.Graph, x *graph.Node, closure closures) *graph.Node {
			return loop(g, "o", closure, func(i, y *graph.Node) *graph.Node {
				return graph.Add(y, loop(y.Graph(), "n", closure, func(_, z *graph.Node) *graph.Node { return graph.Add(z, graph.Const(z.Graph(), 1.0)) }))
			})
		}, 9},
		"3 a scalar constant first met in a loop": {func(g *graph.Graph, x *graph.Node, closure closures) *graph.Node {
			s := loop(g, "l", closure, func(_, y *graph.Node) *graph.Node { return graph.AddScalar(y, 2.5) })
			return graph.AddScalar(s, 2.5)
		}, 10},
		"4 an operation between inside and outside": {func(g *graph.Graph, x *graph.Node, closure closures) *graph.Node {
			c := graph.Reshape(graph.SliceAxis(x, 0, graph.AxisElem(1)))
			return loop(g, "l", closure, func(_, y *graph.Node) *graph.Node { return graph.Add(y, c) })
		}, 6},
	} {
		if got, err := run(true, c.fn); err != nil || math.Abs(got-c.want) > 1e-14 {
			t.Errorf("%s: got %v, want %v (error %v)", name, got, c.want, err)
		}
		if got, err := run(false, c.fn); err == nil {
			t.Errorf("%s: gives %v without the repair: delete it from repair.go", name, got)
		}
	}
}

// A program has once what leads to its result: sines that are added up twice, by themselves and in a loop, and no cosines, which lead to none.
func TestTidy(t *testing.T) {
	f := Compile(func(x *graph.Node) *graph.Node {
		twice := func(x *graph.Node) *graph.Node {
			graph.Cos(x)
			return graph.Add(graph.ReduceAllSum(graph.Sin(x)), graph.ReduceAllSum(graph.Sin(x)))
		}
		return graph.Add(twice(x), loop(x.Graph(), "l", NewClosure, func(_, y *graph.Node) *graph.Node {
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
