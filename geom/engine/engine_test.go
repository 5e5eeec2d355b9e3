package engine

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
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

	"anatomy/geom/engine/internal/programs"
	"anatomy/geom/engine/trusted"
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

// planted is a project folder with an empty plug-in, which no other user may write to.
func planted(t *testing.T, plugins ...string) (home string) {
	t.Helper()
	home = t.TempDir() + "/päth [with] spaces"
	for _, p := range plugins {
		path := filepath.Join(home, site, p)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

const site = ".anatomy/venv/lib/python3.11/site-packages"

func TestFindPlugin(t *testing.T) {
	home := planted(t, cpuPlugins[0])
	t.Setenv("ANATOMY_HOME", home)
	for _, c := range []struct{ device, want string }{{"", cpuPlugins[0]}, {"cpu", cpuPlugins[0]}} {
		t.Setenv("ANATOMY_DEVICE", c.device)
		if got, err := FindPlugin(); err != nil || got != filepath.Join(home, site, c.want) {
			t.Errorf("device %q: %q, %v", c.device, got, err)
		}
	}
	t.Setenv("ANATOMY_DEVICE", "cuda")
	expect.Refused(t, expect.Error(FindPlugin()), "make setup-cuda")
	home = planted(t, cpuPlugins[0], cudaPlugins[0])
	t.Setenv("ANATOMY_HOME", home)
	if got, err := FindPlugin(); err != nil || got != filepath.Join(home, site, cudaPlugins[0]) {
		t.Errorf("CUDA asked for: %q, %v", got, err)
	}
	t.Setenv("ANATOMY_DEVICE", "gpu")
	expect.Refused(t, expect.Error(FindPlugin()), "want cpu or cuda")
}

// Neither the working directory nor a folder above it is searched, and from a folder that ANATOMY_HOME names wrongly nothing
// else is: without it the plug-in is that of the folder from which the program was built, or none.
func TestNoPluginIsSearched(t *testing.T) {
	t.Setenv("ANATOMY_DEVICE", "")
	below := filepath.Join(planted(t, cpuPlugins[0]), "notebooks/deep")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(below)
	root := expect.Must(filepath.Abs(module()))
	if _, err := os.Stat(filepath.Join(root, "geom/engine/engine_test.go")); err != nil {
		t.Errorf("the program was not built from %q: %v", root, err)
	}
	for _, unset := range []func(){func() { t.Setenv("ANATOMY_HOME", "") }, func() { os.Unsetenv("ANATOMY_HOME") }} {
		unset()
		got, err := FindPlugin()
		if err == nil && !strings.HasPrefix(got, root+"/.anatomy/venv/") || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("%q", root)) {
			t.Errorf("found %q, error %v, want those of %s", got, err, root)
		}
	}
	t.Setenv("ANATOMY_HOME", "/nowhere")
	expect.Refused(t, expect.Error(FindPlugin()), "make setup", `ANATOMY_HOME="/nowhere"`)
	t.Setenv("ANATOMY_HOME", "../..")
	expect.Refused(t, expect.Error(FindPlugin()), `ANATOMY_HOME="../..": want an absolute path`)
}

// A plug-in that somebody else may write to, or exchange, is not loaded, and no other one in its place.
func TestNoPluginOfOthers(t *testing.T) {
	t.Setenv("ANATOMY_DEVICE", "")
	spoil := map[string]func(path string) error{
		"everybody may write to": func(path string) error { return os.Chmod(path, 0o777) },
	}
	if os.Geteuid() == 0 { // only root can give a file away
		spoil["belongs to"] = func(path string) error { return os.Chown(path, 65534, -1) }
	}
	for said, spoil := range spoil {
		for up := cpuPlugins[0]; up != "../../../../../.."; up = filepath.Join(up, "..") { // the plug-in, the folders above it, the project's
			home := planted(t, cpuPlugins...)
			path := filepath.Join(home, site, up)
			if err := spoil(path); err != nil {
				t.Fatal(err)
			}
			t.Setenv("ANATOMY_HOME", home)
			err := expect.Error(FindPlugin())
			expect.Refused(t, err, said, path, cpuPlugins[0]+" is not loaded")
			if !errors.Is(err, trusted.ErrUnsafe) {
				t.Errorf("error %v", err)
			}
		}
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

// The user's flags stay, in front; a plug-in that may not know a flag is not given it.
func TestFlags(t *testing.T) {
	ours := "/home/.anatomy/venv/lib/python3.11/site-packages/" + cpuPlugins[0]
	const emitters = "--xla_cpu_use_fusion_emitters=false"
	const passes = "--xla_llvm_disable_expensive_passes=true --xla_backend_extra_options=-disable-lsr,-disable-post-ra,-unroll-threshold=150"
	parts := fmt.Sprint("--xla_cpu_parallel_codegen_split_count=", min(32, 2*runtime.NumCPU()), " --xla_cpu_enable_fast_min_max=false")
	for _, c := range []struct{ plugin, users, want string }{
		{ours, "", emitters + " " + passes + " " + parts},
		{ours, "--xla_dump_to=/tmp", "--xla_dump_to=/tmp " + emitters + " " + passes + " " + parts},
		{ours, "--xla_cpu_use_fusion_emitters=true", "--xla_cpu_use_fusion_emitters=true " + passes + " " + parts},
		{cpuPlugins[1], "", ""},
		{cudaPlugins[0], "--xla_gpu_deterministic_ops=true", "--xla_gpu_deterministic_ops=true " + programs.GPUFlag},
	} {
		if got := flags(c.plugin, c.users); got != c.want {
			t.Errorf("%s with %q: %q, want %q", c.plugin, c.users, got, c.want)
		}
	}
}

// A plug-in reads XLA_FLAGS while it is opened; afterwards they are the user's again, for the programs that this process starts.
func TestFlagsArePutBack(t *testing.T) {
	for _, given := range []bool{true, false} {
		t.Setenv("XLA_FLAGS", "--xla_dump_to=/tmp")
		if !given {
			os.Unsetenv("XLA_FLAGS")
		}
		before, _ := os.LookupEnv("XLA_FLAGS")
		done := tell(cpuPlugins[0])
		if now := os.Getenv("XLA_FLAGS"); !strings.HasPrefix(now, before) || len(now) == len(before) {
			t.Errorf("the plug-in is told %q", now)
		}
		done()
		if after, is := os.LookupEnv("XLA_FLAGS"); after != before || is != given {
			t.Errorf("%q is left of %q", after, before)
		}
	}
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
		closure, use := NewClosure, compute.Backend(backend{raw})
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
