package engine

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/stablehlo"
	xlashapes "github.com/gomlx/go-xla/types/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine/internal/ffi"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// C functions that compiled programs call, by XLA's foreign function interface. A program, also a kept one, names them:
// a function that computes something else wants another name.

var (
	natives = map[string]unsafe.Pointer{} // those of the process
	entered = map[string]bool{}           // those that the back end knows
)

// RegisterNative makes a C function, an XLA_FFI_Handler, callable by Native. It is for the init functions of packages.
func RegisterNative(name string, handler unsafe.Pointer) { natives[name] = handler }

// enterNatives makes a plug-in know the C functions, if its device is a CPU, unless they are switched off. HasNative reports the outcome.
func enterNatives(b compute.Backend, plugin string) {
	ok := plugin != "" && onCPU(b) && os.Getenv(nativeVariable) != "off"
	for name, handler := range natives {
		entered[name] = ok && ffi.Enter(plugin, name, handler) == nil
	}
}

// nativeVariable is the environment variable that switches the C functions off.
const nativeVariable = "ANATOMY_NATIVE"

// checkNativeVariable refuses values without a meaning.
func checkNativeVariable() error {
	if v := os.Getenv(nativeVariable); v != "" && v != "off" {
		return fmt.Errorf("%s=%q: want off, which computes without the C functions, or nothing", nativeVariable, v)
	}
	return nil
}

// nativePrefix begins the names of graph functions whose body is a call of C.
const nativePrefix = "native_"

// Native calls a C function on the inputs, which come in row-major layout, and returns outputs of the shapes given. It
// has no derivative; autodiff.CustomVJP gives it one.
func Native(name string, inputs []*graph.Node, outputs ...shapes.Shape) []*graph.Node {
	refuse.If(!HasNative(name, inputs[0]), "engine.Native: the back end has no function %q: ask HasNative before", name)
	g := inputs[0].Graph()
	unique := fmt.Sprintf("%s%s_%d", nativePrefix, name, g.LastNode().Id())
	return graph.NewFunction(g, unique, func(g *graph.Graph) []*graph.Node {
		for i, x := range inputs {
			graph.Parameter(g, fmt.Sprintf("%s_%d", unique, i), x.Shape())
		}
		return lists.Each(outputs, func(s shapes.Shape) *graph.Node { return graph.BroadcastToShape(graph.ConstAsDType(g, s.DType, 0.), s) })
	}).Call(inputs...)
}

// nativeName is the C function that a graph function is to call, or "".
func nativeName(function string) string {
	rest, ok := strings.CutPrefix(function, nativePrefix)
	if !ok {
		return ""
	}
	return rest[:strings.LastIndex(rest, "_")]
}

// emptyDict is the configuration of a call that has none.
type emptyDict struct{}

func (emptyDict) ToStableHLO() string { return "{}" }

// callNative makes a function return the outputs of a C function of its parameters, of the shapes of the given outputs.
func (f *function) callNative(outputs []compute.Value) error {
	hlo, out := f.hlo(), make([]xlashapes.Shape, len(outputs))
	for i, x := range outputs {
		shape, err := f.Shape(x)
		if err != nil {
			return err
		}
		out[i] = xla.ShapeToXLA(shape)
	}
	values, err := stablehlo.CustomCallV2(f.native, "", hlo.Inputs, make([][]int, len(hlo.Inputs)), out, make([][]int, len(out)))
	if err != nil {
		return err
	}
	// The typed interface is version 4, which go-xla does not write.
	call := hlo.Statements[len(hlo.Statements)-1]
	call.Attributes["api_version"] = int32(4)
	call.Attributes["backend_config"] = emptyDict{}
	return hlo.Return(values...)
}
