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
// ANATOMY_HOME names, or else the one that the program was built from. MachineCode says whose code the plug-in is.
// Where nothing names a device and there is a GPU, programs whose arguments have at most 512 numbers run on the CPU all the same, since a GPU
// launches their kernels longer than it computes.
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
	"reflect"
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
	f.build = func(b backend, inputs []shapes.Shape) (*graph.Graph, error) {
		defer watch.Step(step)()
		exec, err := graph.NewExec(b, errorPanics(fn))
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
	in, s, err := f.tensors(args)
	if err != nil {
		return nil, err
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

// tensors are the arguments as the program takes them, and their shapes.
func (f *Func) tensors(args []any) (in []*tensors.Tensor, s []shapes.Shape, err error) {
	if f.inputs >= 0 && len(args) != f.inputs {
		return nil, nil, fmt.Errorf("%s: %d arguments for a function of %d", f.name, len(args), f.inputs)
	}
	if args, err = f.centred(args); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.name, err)
	}
	in, s = make([]*tensors.Tensor, len(args)), make([]shapes.Shape, len(args))
	for i, a := range args {
		if in[i], err = f.tensor(a); err != nil {
			return nil, nil, fmt.Errorf("%s: argument %d: %w", f.name, i, err)
		}
		s[i] = in[i].Shape()
	}
	return in, s, nil
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
	path, config, err := plugin()
	if err != nil {
		return nil, err
	}
	b, err := open(path, config)
	if err != nil {
		return nil, err
	}
	opened = b
	openSmall()
	return opened, nil
}

// open opens the back end of a configuration, which has the path of its plug-in.
func open(path, config string) (b compute.Backend, err error) {
	if os.Getenv(compute.ConfigEnvVar) == "" {
		defer tell(path)()
	}
	if err := checkNativeVariable(); err != nil {
		return nil, err
	}
	keepPrograms(path)
	if strings.HasPrefix(config, "xla:") && !strings.Contains(config, "tf32") {
		config += ",tf32=false" // else matrix products of float32 have 10 bits on CUDA
	}
	if caught := exceptions.TryCatch[error](func() { b, err = compute.NewWithConfig(config) }); caught != nil {
		err = caught
	}
	if err != nil {
		hint := ""
		if cuda(config) {
			hint = "\nCUDA needs an NVIDIA GPU that this process can see, and its driver 580 or newer: look at `nvidia-smi` and " +
				"CUDA_VISIBLE_DEVICES, start a container with `--gpus all`; ANATOMY_DEVICE=cpu computes on the CPU"
		}
		return nil, fmt.Errorf("cannot open the back end %q (GOMLX_BACKEND or the plug-in found): %w%s", config, err, hint)
	}
	if b.Name() != "xla" {
		return nil, fmt.Errorf("GOMLX_BACKEND=%q opens the back end %q, which cannot run compiled loops: use xla:/path/to/plugin.so",
			config, b.Name())
	}
	if onCPU(b) {
		programs.On(b.DeviceDescription(0))
	}
	enterNatives(b, path)
	return b, nil
}

// RecordVariable is the environment variable that names a folder for the texts of all programs that are compiled, HASH.mlir, from which package
// described compiles them for other devices.
const RecordVariable = programs.Recorded

var keepOnce sync.Once

// keepPrograms makes a plug-in keep its compiled programs, if its device is a CPU, which only the open back end tells. Where it cannot, all are
// compiled anew.
func keepPrograms(plugin string) {
	if plugin == "" || cuda(plugin) {
		return
	}
	keepOnce.Do(func() {
		dir, err := os.Getenv("ANATOMY_PROGRAMS"), error(nil)
		if dir == "" {
			dir, err = os.UserCacheDir()
		}
		if err != nil || dir == "off" {
			return
		}
		if err := programs.Keep(plugin, dir); errors.Is(err, trusted.ErrUnsafe) {
			slog.Warn("Compiled programs are not kept.", "why", err)
		}
	})
}
