package engine

import (
	"reflect"
	"strings"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/stablehlo"
	"github.com/gomlx/gomlx/core/graph"

	"anatomy/internal/refuse"
)

// Loops in GoMLX v0.28.8 over go-xla v0.4.5 have four defects. This file goes round them and nothing else does:
//
//  1. go-xla caches the little function inside a reduction per builder, but StableHLO wants it to be a closure of the
//     function in which the reduction stands ("reductionFn is not a StableHLO closure of").
//  2. graph.NewClosure makes every closure a child of main, so loops cannot nest.
//  3. graph.Graph caches scalar constants whatever function made them ("incompatible scopes").
//  4. A binary operation between a value of the loop body and one from outside is refused ("operands are not part of
//     the function"), and so is an outside value that the body returns.
//
// All but 2 look at unexported fields by reflection; TestRepairs fails when a new version moves them or no longer
// needs them. So do the functions at the end, for what GoMLX knows and does not export.

// backend wraps the XLA backend so that its builders keep track of the function that is being built. With a text they write programs there and
// do not compile them.
type backend struct {
	compute.Backend
	text *strings.Builder
}

func (b backend) Builder(name string) compute.Builder {
	return &builder{Builder: b.Backend.Builder(name), cpu: onCPU(b.Backend), text: b.text}
}

type value = compute.Value

type builder struct {
	compute.Builder
	text  *strings.Builder
	cpu   bool // whether the program runs on a CPU
	main  *function
	stack []*function // the functions being built, innermost last

	setting  *setting   // the constant that is being made is this one, or nil
	settings []*setting // what the program takes after its arguments
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
		b.stack = []*function{b.main}
	}
	return b.main
}

// NewFunction makes a top-level function the innermost one until it returns.
func (b *builder) NewFunction(name string) (compute.Function, error) {
	b.Main()
	inner, err := b.Builder.NewFunction(name)
	if err != nil {
		return nil, err
	}
	f := &function{Function: inner, b: b, native: nativeName(name)}
	b.stack = append(b.stack, f)
	return f, nil
}

type function struct {
	compute.Function
	b      *builder
	parent *function
	native string // the C function that is its body, or ""
}

func (f *function) Builder() compute.Builder { return f.b }

func (f *function) Parent() compute.Function {
	if f.parent == nil {
		return nil
	}
	return f.parent
}

// Closure is a child of the innermost function, whichever function it was asked of (defect 2).
func (f *function) Closure() (compute.Function, error) {
	parent := f.b.stack[len(f.b.stack)-1]
	inner, err := parent.Function.Closure()
	if err != nil {
		return nil, err
	}
	c := &function{Function: inner, b: f.b, parent: parent}
	f.b.stack = append(f.b.stack, c)
	return c, nil
}

func (f *function) Return(outputs []value, shardings []*compute.ShardingSpec) error {
	if n := len(f.b.stack); f.b.stack[n-1] == f {
		f.b.stack = f.b.stack[:n-1]
	}
	own := make([]value, len(outputs))
	for i, x := range outputs {
		var err error
		if own[i], err = adopt(f.hlo(), x); err != nil {
			return err
		}
	}
	if f.native != "" {
		var err error
		if own, err = f.callNative(own); err != nil {
			return err
		}
	}
	err := f.Function.Return(own, shardings)
	if f == f.b.main && err == nil {
		tidy(f.hlo())
	}
	return err
}

func (f *function) Call(target compute.Function, inputs ...value) ([]value, error) {
	return f.Function.Call(unwrap(target), inputs...)
}

func (f *function) While(cond, body compute.Function, state ...value) ([]value, error) {
	return f.Function.While(unwrap(cond), unwrap(body), state...)
}

func (f *function) If(pred value, yes, no compute.Function) ([]value, error) {
	return f.Function.If(pred, unwrap(yes), unwrap(no))
}

func (f *function) Sort(comparator compute.Function, axis int, stable bool, inputs ...value) ([]value, error) {
	return f.Function.Sort(unwrap(comparator), axis, stable, inputs...)
}

func unwrap(f compute.Function) compute.Function { return f.(*function).Function }

func (f *function) ReduceSum(x value, a ...int) (value, error) { return f.fresh().ReduceSum(x, a...) }
func (f *function) ReduceMax(x value, a ...int) (value, error) { return f.fresh().ReduceMax(x, a...) }
func (f *function) ReduceMin(x value, a ...int) (value, error) { return f.fresh().ReduceMin(x, a...) }
func (f *function) ReduceProduct(x value, a ...int) (value, error) {
	return f.fresh().ReduceProduct(x, a...)
}
func (f *function) ReduceLogicalAnd(x value, a ...int) (value, error) {
	return f.fresh().ReduceLogicalAnd(x, a...)
}
func (f *function) ReduceLogicalOr(x value, a ...int) (value, error) {
	return f.fresh().ReduceLogicalOr(x, a...)
}

func (f *function) ScatterSum(x, indices, updates value, indexVectorAxis int, updateWindowAxes, insertedWindowAxes, scatterAxesToOperandAxes []int, sorted, unique bool) (value, error) {
	return f.fresh().ScatterSum(x, indices, updates, indexVectorAxis, updateWindowAxes, insertedWindowAxes, scatterAxesToOperandAxes, sorted, unique)
}

func binary(op func(x, y value) (value, error), x, y value) (value, error) {
	x, y, err := meet(x, y)
	if err != nil {
		return nil, err
	}
	return op(x, y)
}

func (f *function) Add(x, y value) (value, error)        { return binary(f.Function.Add, x, y) }
func (f *function) Atan2(x, y value) (value, error)      { return binary(f.Function.Atan2, x, y) }
func (f *function) BitwiseAnd(x, y value) (value, error) { return binary(f.Function.BitwiseAnd, x, y) }
func (f *function) BitwiseOr(x, y value) (value, error)  { return binary(f.Function.BitwiseOr, x, y) }
func (f *function) BitwiseXor(x, y value) (value, error) { return binary(f.Function.BitwiseXor, x, y) }
func (f *function) Complex(x, y value) (value, error)    { return binary(f.Function.Complex, x, y) }
func (f *function) Div(x, y value) (value, error)        { return binary(f.Function.Div, x, y) }
func (f *function) LogicalAnd(x, y value) (value, error) { return binary(f.Function.LogicalAnd, x, y) }
func (f *function) LogicalOr(x, y value) (value, error)  { return binary(f.Function.LogicalOr, x, y) }
func (f *function) LogicalXor(x, y value) (value, error) { return binary(f.Function.LogicalXor, x, y) }
func (f *function) Max(x, y value) (value, error)        { return binary(f.Function.Max, x, y) }
func (f *function) Min(x, y value) (value, error)        { return binary(f.Function.Min, x, y) }
func (f *function) Mul(x, y value) (value, error)        { return binary(f.Function.Mul, x, y) }
func (f *function) Pow(x, y value) (value, error)        { return binary(f.Function.Pow, x, y) }
func (f *function) Rem(x, y value) (value, error)        { return binary(f.Function.Rem, x, y) }
func (f *function) ShiftLeft(x, y value) (value, error)  { return binary(f.Function.ShiftLeft, x, y) }
func (f *function) ShiftRightArithmetic(x, y value) (value, error) {
	return binary(f.Function.ShiftRightArithmetic, x, y)
}
func (f *function) ShiftRightLogical(x, y value) (value, error) {
	return binary(f.Function.ShiftRightLogical, x, y)
}
func (f *function) Sub(x, y value) (value, error) { return binary(f.Function.Sub, x, y) }

// fresh is the function under f, whose builder has no reduction functions of others (defect 1).
func (f *function) fresh() compute.Function {
	m := field(field(reflect.ValueOf(f.Function).Elem(), "builder").Elem(), "cacheReductions")
	reflect.NewAt(m.Type(), unsafe.Pointer(m.UnsafeAddr())).Elem().Clear()
	return f.Function
}

// hlo is the StableHLO function under f.
func (f *function) hlo() *stablehlo.Function {
	return (*stablehlo.Function)(field(reflect.ValueOf(f.Function).Elem(), "fn").UnsafePointer())
}

// owner is the StableHLO function in which the value was made.
func owner(x value) *stablehlo.Function {
	return (*stablehlo.Function)(field(field(reflect.ValueOf(x).Elem(), "value").Elem(), "fn").UnsafePointer())
}

// adopt returns x as a value of f: itself, or a reference to it where it comes from a function around f.
func adopt(f *stablehlo.Function, x value) (value, error) {
	if owner(x) == f {
		return x, nil
	}
	value, err := f.UseParentValue(stableValue(x))
	if err != nil {
		return nil, err
	}
	return withValue(x.(*xla.Node), value), nil
}

// stableValue is the StableHLO value of x.
func stableValue(x value) *stablehlo.Value {
	return (*stablehlo.Value)(field(reflect.ValueOf(x).Elem(), "value").UnsafePointer())
}

// withValue is x with another StableHLO value of its shape.
func withValue(x *xla.Node, value *stablehlo.Value) *xla.Node {
	node := *x
	*(**stablehlo.Value)(unsafe.Pointer(field(reflect.ValueOf(&node).Elem(), "value").UnsafeAddr())) = value
	return &node
}

// meet brings two values into the inner one of their functions (defect 4).
func meet(x, y value) (value, value, error) {
	fx, fy := owner(x), owner(y)
	if fx == fy {
		return x, y, nil
	}
	for f := fx; f != nil; f = f.Parent {
		if f == fy {
			y, err := adopt(fx, y)
			return x, y, err
		}
	}
	x, err := adopt(fy, x)
	return x, y, err
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

type scalars = map[dtypes.DType]map[float64]*graph.Node

// NewClosure makes the body or the condition of graph.While, and comparators of graph.Sort, as graph.NewClosure does, which
// shares its scalar constants with the functions around by mistake (defect 3): use this one.
func NewClosure(g *graph.Graph, fn func(g *graph.Graph) []*graph.Node) *graph.Function {
	return withOwnScalars(g, func() *graph.Function { return graph.NewClosure(g, fn) })
}

func withOwnScalars(g *graph.Graph, build func() *graph.Function) *graph.Function {
	cache := (*scalars)(unsafe.Pointer(field(reflect.ValueOf(g).Elem(), "scalars").UnsafeAddr()))
	old := *cache
	*cache = scalars{}
	defer func() { *cache = old }()
	return build()
}

// Leaves runs fn, which builds a gradient, while the given nodes count as leaves of the graph: reverse mode stops at them, so
// that the derivative by one leaves out what it does to the others.
func Leaves(nodes []*graph.Node, fn func()) {
	for _, n := range nodes {
		inputs := (*[]*graph.Node)(unsafe.Pointer(field(reflect.ValueOf(n).Elem(), "inputNodes").UnsafeAddr()))
		old := *inputs
		*inputs = nil
		defer func() { *inputs = old }()
	}
	fn()
}

// SetVJP gives a node a reverse-mode rule of its own: rule takes the cotangents of the node's outputs and returns those of
// its inputs, in their order, nil for an input without one. autodiff.CustomVJP does so for any number of nodes.
func SetVJP(n *graph.Node, rule func(cotangents []*graph.Node) []*graph.Node) {
	var vjp graph.VJP = func(_ *graph.Node, cotangents []*graph.Node, _ shapes.Shape) []*graph.Node {
		return rule(cotangents)
	}
	f := field(reflect.ValueOf(n).Elem(), "customVJP")
	reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem().Set(reflect.ValueOf(vjp))
}
