package engine

import (
	"fmt"
	"reflect"
	"strings"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/stablehlo"
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/internal/refuse"
)

// Loops in GoMLX v0.28.8 over go-xla v0.4.5 have four defects: see upstream.md. A Body carries what it takes from outside, and is built in main and
// copied into a function of its own. That avoids three of them without a look at unexported fields:
//
//   - graph.NewClosure makes every closure a child of main, so that loops cannot nest. Here a closure is a top-level function, and the operation that
//     takes it makes a closure where it stands, which calls the function.
//   - graph.Graph caches scalar constants whatever function made them. All are made in main.
//   - An operation between a value of a loop's body and one from outside is refused. There is none.
//
// The fourth needs a look: go-xla caches the little function inside a reduction per builder, but StableHLO wants it to be a closure of the function in
// which the reduction stands ("reductionFn is not a StableHLO closure of"). TestRepairs fails when a new version moves the field or no longer needs
// this. So do the functions at the end, for what GoMLX knows and does not export.

// backend wraps a back end, so that its builders make closures as functions.
type backend struct{ compute.Backend }

func (b backend) Builder(name string) compute.Builder {
	out := &builder{Builder: b.Backend.Builder(name), cpu: onCPU(b.Backend), plain: isPlain(b.Backend), fixed: map[*graph.Node]bool{}}
	if w, ok := b.Backend.(written); ok {
		out.text = w.text
	}
	return out
}

type value = compute.Value

type builder struct {
	compute.Builder
	cpu       bool // whether the program runs on a CPU
	plain     bool // whether it runs in plain Go
	main      *function
	functions int              // that were closures
	text      *strings.Builder // where the program is written, in place of being compiled; or nil

	setting  *setting             // the constant that is being made is this one, or nil
	settings []*setting           // what the program takes after its arguments
	fixed    map[*graph.Node]bool // the constants that are settings
}

// builderOf is the builder of a graph of a Func, nil of others.
func builderOf(g *graph.Graph) *builder {
	b := field(reflect.ValueOf(g).Elem(), "builder").Elem()
	if b.Type() != reflect.TypeFor[*builder]() {
		return nil
	}
	return (*builder)(b.UnsafePointer())
}

func (b *builder) Main() compute.Function {
	if b.main == nil {
		b.main = &function{Function: b.Builder.Main(), b: b}
	}
	return b.main
}

func (b *builder) NewFunction(name string) (compute.Function, error) {
	inner, err := b.Builder.NewFunction(name)
	if err != nil {
		return nil, err
	}
	b.forget()
	return &function{Function: inner, b: b, native: nativeName(name)}, nil
}

type function struct {
	compute.Function
	b      *builder
	native string // the C function that is its body, or ""
	inputs []shapes.Shape
}

func (f *function) Builder() compute.Builder { return f.b }

func (f *function) Parameter(name string, shape shapes.Shape, s *compute.ShardingSpec) (value, error) {
	f.inputs = append(f.inputs, shape)
	return f.Function.Parameter(name, shape, s)
}

// Closure is a function, which must take nothing from outside.
func (f *function) Closure() (compute.Function, error) {
	f.b.functions++
	return f.b.NewFunction(fmt.Sprintf("closure_%d", f.b.functions))
}

// calling is a closure of f that calls a function.
func (f *function) calling(target compute.Function) (compute.Function, error) {
	callee := target.(*function)
	c, err := f.Function.Closure()
	if err != nil {
		return nil, err
	}
	inputs := make([]value, len(callee.inputs))
	for i, shape := range callee.inputs {
		// Regions may not have names of those around them.
		f.b.functions++
		if inputs[i], err = c.Parameter(fmt.Sprintf("input_%d", f.b.functions), shape, nil); err != nil {
			return nil, err
		}
	}
	outputs, err := c.Call(callee.Function, inputs...)
	if err != nil {
		return nil, err
	}
	return c, c.Return(outputs, nil)
}

func (f *function) While(cond, body compute.Function, state ...value) ([]value, error) {
	c, err := f.calling(cond)
	if err != nil {
		return nil, err
	}
	b, err := f.calling(body)
	if err != nil {
		return nil, err
	}
	return f.Function.While(c, b, state...)
}

func (f *function) Sort(comparator compute.Function, axis int, stable bool, inputs ...value) ([]value, error) {
	c, err := f.calling(comparator)
	if err != nil {
		return nil, err
	}
	return f.Function.Sort(c, axis, stable, inputs...)
}

func (f *function) Call(target compute.Function, inputs ...value) ([]value, error) {
	return f.Function.Call(target.(*function).Function, inputs...)
}

func (f *function) Return(outputs []value, shardings []*compute.ShardingSpec) error {
	if f.native != "" {
		return f.callNative(outputs)
	}
	if err := f.last(outputs); err != nil {
		return err
	}
	if err := f.Function.Return(outputs, shardings); err != nil {
		return err
	}
	f.b.forget()
	if !f.b.plain {
		tidy(f.hlo())
	}
	return nil
}

// forget drops the little functions of reductions, which belong to the function that was built before.
func (b *builder) forget() {
	if !b.plain {
		m := field(reflect.ValueOf(b.Builder).Elem(), "cacheReductions")
		reflect.NewAt(m.Type(), unsafe.Pointer(m.UnsafeAddr())).Elem().Clear()
	}
}

// hlo is the StableHLO function under f.
func (f *function) hlo() *stablehlo.Function {
	return (*stablehlo.Function)(field(reflect.ValueOf(f.Function).Elem(), "fn").UnsafePointer())
}

// field is FieldByName that says which assumption about the pinned modules fails.
func field(v reflect.Value, name string) reflect.Value {
	f := v.FieldByName(name)
	refuse.If(!f.IsValid(), "engine: %s has no field %q: the pinned gomlx and go-xla modules changed, see geom/engine/repair.go", v.Type(), name)
	return f
}

// bytes is what a program takes for its results and intermediate values, which XLA plans before it runs.
func bytes(program compute.Executable) int64 {
	of := field(field(reflect.ValueOf(program).Elem(), "exec").Elem(), "OnDeviceMemoryUsageStats")
	return field(of, "Outputs").Int() + field(of, "Temporary").Int()
}

// SetVJP gives a node a reverse-mode rule of its own: rule takes the cotangents of the node's outputs and returns those of
// its inputs, in their order, nil for an input without one. autodiff.CustomVJP does so for any number of nodes.
func SetVJP(n *graph.Node, rule graph.VJP) {
	f := field(reflect.ValueOf(n).Elem(), "customVJP")
	reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(rule))
}
