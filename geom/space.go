package geom

import (
	"context"
	"fmt"
	"reflect"
	"runtime"
	"sync"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/ode"
)

// Vec is a point or vector as a list of numbers: coordinates, of an Atlas an ambient vector.
type Vec = []float64

// Shape is a point or vector in rows: one landmark, or one row of a matrix, a row.
type Shape = [][]float64

// Point is what a Space takes and returns for points, tangent vectors and covectors.
type Point interface{ Vec | Shape }

// Rows is a manifold whose points are shapes: n rows of as many numbers each.
type Rows interface {
	Manifold
	Rows() (n, columns int, name string) // the name of a row in messages: "landmark"
}

// Space computes on a manifold with host values: every operation is one graph function, compiled at its first use and
// reused. It may be used from several goroutines.
//
// Points and vectors are of one type, P: lists of coordinates, of an Atlas ambient vectors, or shapes. Points off the
// manifold and vectors that are not tangent are an error. Where the manifold has ClosedForms they take the place of
// integration.
type Space[P Point] struct {
	M Manifold

	rows
	settings
	programs *programs
}

// Of is a space with points of type P: a *Space[P], or what embeds one.
type Of[P Point] interface{ Geometry() *Space[P] }

// rows are those of shapes; none where points are lists.
type rows struct {
	n, columns int
	name       string
}

// settings are how a space integrates, and who hears of what it does.
type settings struct {
	method    ode.Method
	steps     int
	ctx       context.Context
	listening func(Progress)
}

// Option changes how a Space computes.
type Option func(*settings)

// Integrator sets the method and its number of steps on [0, 1]. The default is RK4 with 25 steps: geodesics that turn by a
// radian then have errors of 1e-7 of their length, less than what shapes are measured to.
func Integrator(method ode.Method, steps int) Option {
	return func(s *settings) { s.method, s.steps = method, steps }
}

// On returns the space of a manifold with points as lists of numbers.
func On(m Manifold, options ...Option) *Space[Vec] { return newSpace[Vec](m, rows{}, options) }

// OnShapes returns the space of a manifold of Rows, with points as shapes.
func OnShapes(m Manifold, options ...Option) *Space[Shape] {
	r, ok := m.(Rows)
	if !ok {
		panic(fmt.Sprintf("geom.OnShapes: points of %T have no rows: see geom.Rows", m))
	}
	n, columns, name := r.Rows()
	return newSpace[Shape](m, rows{n, columns, name}, options)
}

func newSpace[P Point](m Manifold, r rows, options []Option) *Space[P] {
	s := &Space[P]{M: m, rows: r, settings: settings{method: ode.RK4, steps: 25}, programs: &programs{funcs: map[any]*program{}}}
	return s.With(options...)
}

// With returns a space with other options, which shares what is compiled.
func (s *Space[P]) With(options ...Option) *Space[P] {
	out := *s
	for _, o := range options {
		o(&out.settings)
	}
	if out.steps < 1 {
		panic(fmt.Sprintf("geom.Integrator: %d steps, want at least 1", out.steps))
	}
	return &out
}

// Geometry is the space itself: see Of.
func (s *Space[P]) Geometry() *Space[P] { return s }

// Method and Steps are those of the Integrator.
func (s *Space[P]) Method() ode.Method { return s.method }

// Steps is the number of steps on [0, 1].
func (s *Space[P]) Steps() int { return s.steps }

// Flat is the same space with points as lists of numbers, rows one after the other.
func (s *Space[P]) Flat() *Space[Vec] {
	return &Space[Vec]{M: s.M, settings: s.settings, programs: s.programs}
}

// Numbers returns the numbers of a point or vector, rows one after the other.
func Numbers[P Point](x P) Vec {
	switch x := any(x).(type) {
	case Shape:
		var v Vec
		for _, row := range x {
			v = append(v, row...)
		}
		return v
	case Vec:
		return x
	}
	return nil
}

// Like is the inverse of Numbers, with rows as long as those of a point.
func Like[P Point](point P, v Vec) P {
	columns := 0
	if shape, ok := any(point).(Shape); ok && len(shape) > 0 {
		columns = len(shape[0])
	}
	return arranged[P](v, columns)
}

func arranged[P Point](v Vec, columns int) (x P) {
	switch x := any(&x).(type) {
	case *Shape:
		if v != nil {
			*x = engine.Unflatten(v, columns)
		}
	case *Vec:
		*x = v
	}
	return x
}

// Vector returns the numbers of a point or vector, and Vectors those of many: what graph functions take. They are not
// checked.
func (s *Space[P]) Vector(x P) Vec { return Numbers(x) }

// Vectors is Vector for many.
func (s *Space[P]) Vectors(x []P) []Vec { return each(x, s.Vector) }

// Point is the inverse of Vector, Points that of Vectors.
func (s *Space[P]) Point(v Vec) (x P) { return arranged[P](v, s.columns) }

// Points is Point for many.
func (s *Space[P]) Points(v []Vec) []P { return each(v, s.Point) }

// each returns f of every value; nil for none.
func each[A, B any](a []A, f func(A) B) []B {
	if a == nil {
		return nil
	}
	b := make([]B, len(a))
	for i := range a {
		b[i] = f(a[i])
	}
	return b
}

// programs are the compiled functions of a space.
type programs struct {
	mu    sync.Mutex
	funcs map[any]*program
}

type program struct {
	*engine.Func
	code string // the graph function's name in the program
}

// Call runs a graph function, compiling it at the first call with its key. The key is a value of a struct type of the
// package that calls, and holds all that the function captures besides the manifold: another value is another function.
func (s *Space[P]) Call(key any, fn func(in []*Node) []*Node, args ...any) (engine.Values, error) {
	if t := reflect.TypeOf(key); t == nil || t.Kind() != reflect.Struct || t.Name() == "" {
		panic(fmt.Sprintf("geom.Space.Call: the key %v is a %T, want a struct type of the caller's package", key, key))
	}
	code := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
	s.programs.mu.Lock()
	f := s.programs.funcs[key]
	if f == nil {
		f = &program{engine.Compile(fn, engine.Name(fmt.Sprintf("%v", key))), code}
		s.programs.funcs[key] = f
	}
	s.programs.mu.Unlock()
	if f.code != code {
		panic(fmt.Sprintf("geom.Space.Call: two functions have the key %#v", key))
	}
	return f.Func.Call(args...)
}

// operation is the key of this package's functions, which capture how the space integrates.
type operation struct {
	name   string
	method ode.Method
	steps  int
}

func (o operation) String() string { return o.name }

// call is Call for a function that captures the manifold and the integrator.
func (s *Space[P]) call(name string, fn func(in []*Node) []*Node, args ...any) (engine.Values, error) {
	return s.Call(operation{name, s.method, s.steps}, fn, args...)
}
