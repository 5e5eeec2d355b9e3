// Package engine compiles graph functions with XLA and runs them on host values.
//
//	f := engine.Compile(func(x *graph.Node) *graph.Node { return graph.Mul(x, x) })
//	out, err := f.Call([]float64{1, 2, 3})
//	out.Vector(0) // [1 4 9]
//
// A function is compiled once for every combination of input shapes and reused: numbers are inputs, shapes are
// static. The back end is opened at the first call and shared by the process. It is the one that GOMLX_BACKEND names;
// else the plug-in of the project's Python environment for the device that ANATOMY_DEVICE names, cpu or cuda; else its
// CUDA plug-in, where that is set up and the machine has an NVIDIA GPU; else its CPU plug-in. The project is the folder that
// ANATOMY_HOME names, or else the one that the program was built from (see FindPlugin). Where nothing names a device and there is a GPU,
// programs whose arguments have at most 512 numbers run on the CPU all the same, since a GPU launches their kernels longer than it computes.
//
// Programs that were compiled for the CPU are kept, up to 1 GB, so that another process has them in milliseconds. They lie
// in anatomy-programs-UID, for the user's number UID, below the folder that ANATOMY_PROGRAMS names or else the user's cache;
// nobody else may be able to write there. ANATOMY_PROGRAMS=off keeps none. Programs that differ in a Setting alone are one.
//
// # What it does to the process
//
// The back end stays open as long as the process. While it is opened XLA_FLAGS is set, which plug-ins read then, and put back afterwards: see
// flags. Results lie outside of Go's heap, whose collector does not see them. Where they are many, beside the heap, a call therefore
// collects garbage (runtime.GC): after 32 MB of results or half the heap, whichever is more.
//
// On the CPU some programs call C functions (see Native). ANATOMY_NATIVE=off replaces them by operations of the graph, which is the
// portable path: the one that GPUs take.
package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
	"github.com/gomlx/gomlx/support/exceptions"

	"anatomy/geom/engine/internal/programs"
	"anatomy/geom/engine/trusted"
	"anatomy/geom/shape"
	"anatomy/geom/watch"
)

// Option changes how a function is compiled.
type Option func(*Func)

// Float32 makes arguments of float64 enter the graph as float32, in which the function then computes. The default is float64.
//
// A float32 holds seven digits, of points 1e4 of their distances away from the origin three of these distances. If the function depends on
// differences of points only, as sums of kernels do, name the arguments that are points by their numbers from 0, as Float32(0, 1): the mean of
// the first is subtracted from all of them before. Each is [..., n, D], with one D.
func Float32(points ...int) Option {
	return func(f *Func) { f.dtype, f.points = dtypes.Float32, points }
}

const unnamed = "anatomy"

// Name names the computation in error messages. The default is "anatomy".
func Name(name string) Option { return func(f *Func) { f.name = name } }

// Func is a compiled graph function. It may be called from several goroutines.
type Func struct {
	name     string
	step     string // as it is shown while it runs
	dtype    dtypes.DType
	points   []int // arguments that are centred together: see Float32
	inputs   int   // -1 for any number
	build    buildFunc
	programs *shelf
}

// Compile returns a graph function that can be called many times, also from several goroutines. A program is compiled at the
// first call with arguments of new shapes, and kept; if there are very many programs, those that were called longest ago are
// dropped.
func Compile[F graph.ExecGraphFn](fn F, options ...Option) *Func {
	f := &Func{dtype: dtypes.Float64, name: unnamed, inputs: inputs(reflect.TypeOf(fn))}
	for _, o := range options {
		o(f)
	}
	name := f.name
	f.step = name
	if name == unnamed {
		f.step = "a graph function"
	}
	step := "compiling " + f.step
	f.build = func(b compute.Backend, inputs []shapes.Shape) (*graph.Graph, error) {
		defer watch.Step(step)()
		exec, err := graph.NewExec(backend{b}, errorPanics(fn))
		if err != nil {
			return nil, err
		}
		return exec.WithName(name).Compile(inputs...)
	}
	f.programs = newShelf(f)
	return f
}

// inputs is how many nodes a graph function takes, -1 for any number.
func inputs(fn reflect.Type) (n int) {
	for i := range fn.NumIn() {
		switch fn.In(i) {
		case reflect.TypeFor[*graph.Node]():
			n++
		case reflect.TypeFor[[]*graph.Node]():
			return -1
		}
	}
	return n
}

// Call runs the function. Arguments are float64 numbers and slices of them up to four levels deep; int or int32 numbers and
// slices, which enter as int32; or tensors, which pass unchanged, so that results of one call may be arguments of another.
// Errors are those of the arguments, what the graph function panicked with while it was built, and that the memory which the
// program wants is not there (see Fits).
func (f *Func) Call(args ...any) (Values, error) {
	if _, err := Backend(); err != nil {
		return nil, err
	}
	if f.inputs >= 0 && len(args) != f.inputs {
		return nil, fmt.Errorf("%s: %d arguments for a function of %d", f.name, len(args), f.inputs)
	}
	args, err := f.centred(args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	in := make([]*tensors.Tensor, len(args))
	s := make([]shapes.Shape, len(args))
	for i, a := range args {
		if in[i], err = f.tensor(a); err != nil {
			return nil, fmt.Errorf("%s: argument %d: %w", f.name, i, err)
		}
		s[i] = in[i].Shape()
	}
	var out Values
	var p *program
	b, err := deviceOf(in, s)
	if err == nil {
		p, err = f.programs.take(b, s, f.build)
	}
	if err == nil {
		defer p.release()
		end := watch.Step("computing " + f.step)
		out, err = p.call(b, in)
		end()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	return out, nil
}

// errorPanics makes a graph function panic with errors only: GoMLX returns those, and hangs after any other.
func errorPanics[F graph.ExecGraphFn](fn F) F {
	v := reflect.ValueOf(fn)
	return reflect.MakeFunc(v.Type(), func(in []reflect.Value) []reflect.Value {
		defer func() {
			switch p := recover().(type) {
			case nil:
			case error:
				panic(p)
			default:
				panic(fmt.Errorf("%v", p))
			}
		}()
		if v.Type().IsVariadic() {
			return v.CallSlice(in)
		}
		return v.Call(in)
	}).Interface().(F)
}

// Run compiles a graph function, calls it once with the arguments, and frees the program. It returns the results as Values. For
// more than one call use Compile. Arguments and errors are those of Func.Call.
func Run[F graph.ExecGraphFn](fn F, args ...any) (Values, error) {
	f := Compile(fn)
	defer f.Free()
	return f.Call(args...)
}

// Free drops the compiled programs of the function. Functions that cannot be reached any more lose theirs by themselves, later.
func (f *Func) Free() { f.programs.clear() }

// centred moves the arguments that are points, so that the mean of the first of them is the origin.
func (f *Func) centred(args []any) ([]any, error) {
	args = slices.Clone(args)
	var origin []float64
	for _, i := range f.points {
		if i < 0 || i >= len(args) {
			return nil, fmt.Errorf("Float32(%d): want the numbers of arguments, 0 to %d", i, len(args)-1)
		}
		flat, dims, err := flatten(args[i])
		if err != nil {
			return nil, fmt.Errorf("argument %d: %w", i, err)
		}
		d := append([]int{0}, dims...)[len(dims)]
		if len(dims) < 2 || origin != nil && d != len(origin) {
			return nil, fmt.Errorf("argument %d of shape %v, want points, [..., n, D], with one D for all that Float32 names", i, dims)
		}
		if origin == nil {
			origin = make([]float64, d)
			for k, v := range flat {
				origin[k%d] += v / float64(len(flat)/d)
			}
		}
		for k := range flat {
			flat[k] -= origin[k%d]
		}
		args[i] = tensors.FromFlatDataAndDimensions(narrow(flat), dims...)
	}
	return args, nil
}

func (f *Func) tensor(arg any) (t *tensors.Tensor, err error) {
	switch a := arg.(type) {
	case *tensors.Tensor:
		return a, nil
	case float64, []float64, [][]float64, [][][]float64, [][][][]float64, shape.Shape, []shape.Shape, [][]shape.Shape:
		flat, dims, err := flatten(arg)
		if err != nil {
			return nil, err
		}
		if f.dtype == dtypes.Float32 {
			return tensors.FromFlatDataAndDimensions(narrow(flat), dims...), nil
		}
		return tensors.FromFlatDataAndDimensions(flat, dims...), nil
	case int, []int:
		list, isList := arg.([]int)
		if !isList {
			list = []int{arg.(int)}
		}
		flat := make([]int32, len(list))
		for i, v := range list {
			if flat[i] = int32(v); int(flat[i]) != v {
				return nil, fmt.Errorf("%d is no int32: integers enter as int32, larger numbers as float64", v)
			}
		}
		if !isList {
			return tensors.FromScalar(flat[0]), nil
		}
		return tensors.FromFlatDataAndDimensions(flat, len(flat)), nil
	}
	err = exceptions.TryCatch[error](func() { t, err = tensors.FromAnyValue(arg) })
	return t, err
}

var mu sync.Mutex

// Backend returns the process's back end, opening it at the first call. A failure is not remembered, neither here nor by
// functions, so that a program can mend its environment and try again.
func Backend() (compute.Backend, error) {
	mu.Lock()
	defer mu.Unlock()
	if opened != nil {
		return opened, nil
	}
	config := os.Getenv(compute.ConfigEnvVar)
	if config == "" {
		path, err := FindPlugin()
		if err != nil {
			return nil, err
		}
		config = configOf(path)
	}
	b, err := open(config)
	if err != nil {
		return nil, err
	}
	opened = b
	openSmall()
	return opened, nil
}

// configOf is the configuration of a plug-in that was found, with what go-xla guesses from its path.
func configOf(path string) string { return fmt.Sprintf("xla:%s,shared_buffers=%t", path, !cuda(path)) }

// open opens the back end of a configuration.
func open(config string) (b compute.Backend, err error) {
	if plugin, ok := pluginOf(config); ok && os.Getenv(compute.ConfigEnvVar) == "" {
		defer tell(plugin)()
	}
	if err := checkNativeVariable(); err != nil {
		return nil, err
	}
	keepPrograms(config)
	if strings.HasPrefix(config, "xla:") && !strings.Contains(config, "tf32") {
		config += ",tf32=false" // else matrix products of float32 have 10 bits on CUDA
	}
	err = exceptions.TryCatch[error](func() {
		var e error
		if b, e = compute.NewWithConfig(config); e != nil {
			panic(e)
		}
	})
	if err != nil {
		hint := ""
		if cuda(config) {
			hint = "\nCUDA needs an NVIDIA GPU that this process can see, and its driver 580 or newer: look at `nvidia-smi` and " +
				"CUDA_VISIBLE_DEVICES, start a container with `--gpus all`; ANATOMY_DEVICE=cpu computes on the CPU"
		}
		return nil, fmt.Errorf("cannot open the back end %q (GOMLX_BACKEND or the plug-in found): %w%s", config, err, hint)
	}
	if b.Name() != "xla" {
		return nil, fmt.Errorf("GOMLX_BACKEND=%q opens the back end %q, which cannot run compiled loops: use xla:/path/to/plugin.so", config, b.Name())
	}
	if onCPU(b) {
		programs.On(b.DeviceDescription(0))
	}
	enterNatives(b, config)
	return b, nil
}

// tell sets XLA_FLAGS for a plug-in, which reads it while it is opened, and returns a function that puts back what was there.
func tell(plugin string) (done func()) {
	const name = "XLA_FLAGS"
	users, given := os.LookupEnv(name)
	os.Setenv(name, flags(plugin, users))
	return func() {
		if os.Unsetenv(name); given {
			os.Setenv(name, users)
		}
	}
}

// flags adds to those of the user (XLA_FLAGS) what a plug-in of the project is told, so that programs compile sooner; they run
// as fast to a few per cent. A plug-in that does not know a flag ends the process, so that only the one is told that has these:
//
//   - not to use XLA's newer emitters of fusions, through MLIR, which take 1.1 to 2.4 times as long;
//   - to leave out the passes of LLVM that XLA calls expensive: on Lie groups compiling takes 0.76 of the time without them;
//   - to leave out LLVM's reduction of loop strength and its scheduling after registers are allocated, and to unroll loops half as far:
//     0.83 together over a sixth of the notebooks' programs;
//   - to cut a program into twice as many parts as there are processors, not into 32, each of which costs: 0.91 to 0.94 on two.
//
// It is also told that a maximum or minimum of numbers is NaN where one of them is, as on other devices: else it passes over NaN, and a
// test of the largest error holds where errors are not numbers.
//
// The plug-in for NVIDIA GPUs is told programs.GPUFlag.
func flags(plugin, users string) string {
	if name, _, _ := strings.Cut(programs.GPUFlag, "="); cuda(plugin) && !strings.Contains(users, name) {
		return strings.TrimSpace(users + " " + programs.GPUFlag)
	}
	if !strings.HasSuffix(plugin, cpuPlugins[0]) {
		return users
	}
	for _, f := range []struct {
		name  string
		value any
	}{
		{"--xla_cpu_use_fusion_emitters", false},
		{"--xla_llvm_disable_expensive_passes", true},
		{"--xla_backend_extra_options", "-disable-lsr,-disable-post-ra,-unroll-threshold=150"},
		{"--xla_cpu_parallel_codegen_split_count", min(32, 2*runtime.NumCPU())},
		{"--xla_cpu_enable_fast_min_max", false},
	} {
		if !strings.Contains(users, f.name) {
			users += fmt.Sprintf(" %s=%v", f.name, f.value)
		}
	}
	return strings.TrimSpace(users)
}

// RecordVariable is the environment variable that names a folder for the texts of all programs that are compiled, HASH.mlir, from which package
// described compiles them for other devices.
const RecordVariable = programs.Recorded

var keepOnce sync.Once

// keepPrograms makes the plug-in of a configuration keep its compiled programs, if its device is a CPU, which only the open back end tells.
// Where it cannot, all are compiled anew.
func keepPrograms(config string) {
	plugin, ok := pluginOf(config)
	if !ok || cuda(plugin) {
		return
	}
	keepOnce.Do(func() {
		dir := os.Getenv("ANATOMY_PROGRAMS")
		if dir == "" {
			var err error
			if dir, err = os.UserCacheDir(); err != nil {
				return
			}
		}
		if dir == "off" {
			return
		}
		if err := programs.Keep(plugin, dir); errors.Is(err, trusted.ErrUnsafe) {
			slog.Warn("Compiled programs are not kept.", "why", err)
		}
	})
}

// Where plug-ins lie in a Python environment, the preferred one first.
var (
	cudaPlugins = []string{"jax_plugins/xla_cuda13/xla_cuda_plugin.so"}
	cpuPlugins  = []string{"fastatomstruct_xla_cpu/libpjrt_cpu.so", "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"}
)

// pluginOf is the path of the plug-in of a configuration that names one.
func pluginOf(config string) (path string, ok bool) {
	path, given := strings.CutPrefix(config, "xla:")
	path, _, _ = strings.Cut(path, ",")
	return path, given && filepath.IsAbs(path)
}

func cuda(config string) bool {
	return slices.ContainsFunc(cudaPlugins, func(plugin string) bool { return strings.Contains(config, plugin) })
}

// FindPlugin returns the absolute path of the XLA plug-in in the project's Python environment: .anatomy/venv in the folder that
// ANATOMY_HOME names, or else in the folder whose sources of this package the program was built from; or in the folder of Python's wheels that
// ANATOMY_PLUGINS names. It is machine code, so it is an error if anybody but this user and root may write to it or to a folder on its path, and
// no other folder is searched.
func FindPlugin() (string, error) { return findPlugin(os.Getenv(deviceVariable)) }

// deviceVariable is the environment variable that names the device of all programs.
const deviceVariable = "ANATOMY_DEVICE"

// findPlugin is FindPlugin for a device.
func findPlugin(device string) (string, error) {
	var candidates []string
	install := "make setup"
	switch device {
	case "cpu":
		candidates = cpuPlugins
	case "cuda":
		candidates = cudaPlugins
		install = "make setup-cuda"
	case "":
		if _, err := os.Stat("/dev/nvidiactl"); err == nil {
			candidates = cudaPlugins
		}
		candidates = slices.Concat(candidates, cpuPlugins)
	default:
		return "", fmt.Errorf("%s=%q: want cpu or cuda", deviceVariable, device)
	}
	const otherwise = "GOMLX_BACKEND=xla:/absolute/path/to/plugin.so names another one, with GOMLX_BACKEND=xla GoMLX downloads its own"
	variable, inside := "ANATOMY_HOME", ".anatomy/venv/lib/python3*/site-packages"
	if os.Getenv("ANATOMY_PLUGINS") != "" {
		variable, inside = "ANATOMY_PLUGINS", ""
	}
	home := os.Getenv(variable)
	given := home != ""
	if given && !filepath.IsAbs(home) {
		return "", fmt.Errorf("%s=%q: want an absolute path; %s", variable, home, otherwise)
	} else if !given {
		home = module()
	}
	if home == "" {
		return "", fmt.Errorf("built with -trimpath, this program does not know the project folder: name it by ANATOMY_HOME; %s", otherwise)
	}
	for _, c := range candidates {
		found, _ := filepath.Glob(filepath.Join(escapeGlob(home), inside, c))
		if len(found) == 0 {
			continue
		}
		if err := trusted.Path(found[0]); err != nil {
			return "", fmt.Errorf("the XLA plug-in %s is not loaded: %w; %s", found[0], err, otherwise)
		}
		return found[0], nil
	}
	if given {
		return "", fmt.Errorf("no XLA plug-in in %s=%q: run `%s` there, or unset %[1]s; %[4]s", variable, home, install, otherwise)
	}
	return "", fmt.Errorf("no XLA plug-in in %q, from which this program was built: run `%s` there, or name by ANATOMY_HOME a folder "+
		"where that was done; %s", home, install, otherwise)
}

// module is the folder of the sources from which the program was built, or "" if they were built with -trimpath.
func module() string {
	_, file, _, _ := runtime.Caller(0)
	if !filepath.IsAbs(file) {
		return ""
	}
	return filepath.Join(filepath.Dir(file), "../..")
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
