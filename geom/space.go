package geom

import (
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"sync"

	. "github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/engine"
	"anatomy/geom/internal/shortest"
	"anatomy/geom/ode"
	"anatomy/geom/shape"
	"anatomy/geom/solve"
	"anatomy/geom/watch"
	"anatomy/internal/lists"
	"anatomy/internal/refuse"
)

// Vec is a point or vector as a list of numbers: an ambient vector on a Charted manifold, coordinates on other manifolds.
type Vec = []float64

// Shape is a point or vector in rows: each row is one landmark, or one row of a matrix.
type Shape = shape.Shape

// Point is the type of the points, tangent vectors and covectors of a Space: lists of numbers or shapes.
type Point interface{ Vec | Shape }

// Rows is an optional interface of manifolds whose points can be written as shapes, that is, in rows.
type Rows interface {
	Manifold
	Rows() (n, columns int, name string) // how many rows of how many numbers, and what messages call a row: "landmark"
}

// Space computes on a manifold with numbers of Go. Every operation is one graph function, compiled at its first use and then
// reused. A Space may be used from several goroutines. On and OnShapes make it. Its field M is the manifold.
//
// Points, tangent vectors and covectors have the type P: lists of numbers (ambient vectors on a Charted manifold, coordinates on other
// manifolds), or shapes. Points off the manifold and vectors that are not tangent are errors. If the manifold has ClosedForms,
// they are used in place of integration.
type Space[P Point] struct{ space }

// space is a Space that has not the type of its points: these are given to it as they are, each a Vec or a Shape, or as lists of numbers. It
// does what the methods of Space do. Those are compiled again in every package that names a Space, also in each cell of a notebook, so that they
// only convert points.
type space struct {
	M Manifold

	rows
	settings
	programs *programs
}

// Of is a space with points of type P: a *Space[P], or a type that embeds one, such as landmarks.Space. Functions of other
// packages take it as their first argument.
type Of[P Point] interface{ Geometry() *Space[P] }

// rows describes the rows of shapes; it is zero where points are lists.
type rows struct {
	n, columns int
	name       string
}

// settings are the integrator of a space, and the context and listener of its long computations.
type settings struct {
	method    ode.Method
	steps     int
	doubles   bool // the steps, where a geodesic needs more
	inexact   bool // geodesics are returned however much their energy drifts
	ctx       context.Context
	listening func(Progress)
}

// Option changes how a Space computes: Integrator, FixedSteps, Context, OnProgress.
type Option func(*settings)

// Integrator sets the method of integration and its number of steps on [0, 1], at least 1. Exp and Log then use exactly this
// number.
//
// Without this option they use ode.RK4 with 25 steps, and twice, four times … as many for geodesics that need more: see
// Geodesic.StepError. With 25 steps, a geodesic that turns by one radian has an error of about 1e-7 of its length.
func Integrator(method ode.Method, steps int) Option {
	return func(s *settings) { s.method, s.steps, s.doubles = method, steps, false }
}

// FixedSteps makes Exp and Shoot take exactly the steps of the Integrator, or 25, and return the geodesic however much its energy drifts. It shows
// the momenta of a search that was made with these steps, also where the search has not converged.
func FixedSteps(s *settings) { s.inexact = true }

// On returns a space over a manifold. Its points and vectors are lists of numbers, []float64, of length d, or of the ambient
// dimension on a Charted manifold. OnShapes makes a space whose points are shapes, [][]float64. The options are Integrator,
// Context and OnProgress.
func On(m Manifold, options ...Option) *Space[Vec] { return newSpace[Vec](m, rows{}, options) }

// OnShapes returns a space over a manifold that has Rows, with points as shapes; it panics for other manifolds.
func OnShapes(m Manifold, options ...Option) *Space[Shape] {
	r, ok := m.(Rows)
	refuse.If(!ok, "geom.OnShapes: points of %T have no rows: see geom.Rows", m)
	n, columns, name := r.Rows()
	return newSpace[Shape](m, rows{n, columns, name}, options)
}

func newSpace[P Point](m Manifold, r rows, options []Option) *Space[P] {
	s := space{M: m, rows: r, settings: settings{method: ode.RK4, steps: shortest.Standard, doubles: true},
		programs: &programs{funcs: map[any]*program{}}}
	return &Space[P]{*s.with(options)}
}

// With returns a copy of the space with other options; options that are not given stay as they are. The two spaces share their
// compiled functions.
func (s *Space[P]) With(options ...Option) *Space[P] { return &Space[P]{*s.with(options)} }

func (s *space) with(options []Option) *space {
	out := *s
	for _, o := range options {
		o(&out.settings)
	}
	refuse.If(out.steps < 1, "geom.Integrator: %d steps, want at least 1", out.steps)
	return &out
}

// Geometry returns the space itself. It makes a Space, and every type that embeds one, an Of[P].
func (s *Space[P]) Geometry() *Space[P] { return s }

// Method returns the method of integration: see Integrator.
func (s *space) Method() ode.Method { return s.method }

// Steps returns the number of steps of an integration over [0, 1], the least where geodesics may take more: see Integrator.
func (s *space) Steps() int { return s.steps }

// OnNumbers returns the same space with points as lists of numbers: the rows of a shape one after the other: see shape.Flat.
func (s *Space[P]) OnNumbers() *Space[Vec] {
	return &Space[Vec]{space{M: s.M, settings: s.settings, programs: s.programs}}
}

// numbers is shape.Flat of a point whose type is not known.
func numbers(x any) Vec {
	if x, ok := x.(Shape); ok {
		return x.Flat()
	}
	v, _ := x.(Vec)
	return v
}

// given are points or vectors as a space takes them.
func given[P Point](x []P) []any { return lists.Each(x, func(x P) any { return x }) }

// Clone returns a copy of a point or vector that shares no memory with it, nil of nil.
func Clone[P Point](x P) (y P) {
	switch y := any(&y).(type) {
	case *Shape:
		*y = lists.Each(any(x).(Shape), slices.Clone)
	case *Vec:
		*y = slices.Clone(any(x).(Vec))
	}
	return y
}

// FromFlat is the inverse of shape.Flat: it makes a point or vector of the type of the space from a copy of a list of numbers, without a check: see
// Check.
func (s *Space[P]) FromFlat(v Vec) (x P) {
	switch x := any(&x).(type) {
	case *Shape:
		if v != nil {
			*x = engine.Unflatten(slices.Clone(v), s.columns)
		}
	case *Vec:
		*x = slices.Clone(v)
	}
	return x
}

// FromFlats is FromFlat for many lists.
func (s *Space[P]) FromFlats(v []Vec) []P { return lists.Each(v, s.FromFlat) }

// programs are the compiled functions of a space, and those of the factors of a product.
type programs struct {
	mu      sync.Mutex
	funcs   map[any]*program
	factors []*programs
}

type program struct {
	*engine.Func
	code string // the graph function's name in the program
}

// checkKeys lets Call compare every kept program with the graph function that it is called with.
var checkKeys = os.Getenv("ANATOMY_CHECK_KEYS") != ""

// Call runs a graph function with the given arguments, which engine.Func.Call describes. The function is compiled at the first
// call with its key and reused for every call with an equal key. The key must be a value of a named, comparable struct type of the
// calling package, and hold everything that fn captures besides the manifold: fn is compiled again only for another key, or
// for arguments of other shapes. Call panics if two functions have the same key. That one function captures another value it sees only where
// the environment has ANATOMY_CHECK_KEYS: it then builds the graph of every call for a comparison, which takes longer than most calls.
func (s *space) Call(key any, fn func(in []*Node) []*Node, args ...any) (engine.Values, error) {
	f := s.Compiled(key, fn)
	if checkKeys {
		kept, _ := f.Text(args...)
		text, err := engine.Compile(fn, engine.Name(fmt.Sprintf("%v", key))).Text(args...)
		refuse.If(err == nil && text != kept, "geom.Space.Call: a function with the key %#v captures what the key does not hold", key)
	}
	return f.Call(args...)
}

// Compiled is the function that Call calls, which others may call side by side (engine.Together).
func (s *space) Compiled(key any, fn func(in []*Node) []*Node) *engine.Func {
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
	refuse.If(f.code != code, "geom.Space.Call: two functions have the key %#v: the key must hold everything that a function captures", key)
	return f.Func
}

// Orbits reports whether the points of the space are orbits: see Quotient.
func (s *space) Orbits() (bool, error) {
	if !IsCharted(s.M) {
		return false, nil
	}
	out, err := s.Call(operation{name: "orbits"}, func(in []*Node) []*Node {
		number := 0.0
		if _, ok := At(s.M, in[0]).chart.(Quotient); ok {
			number = 1
		}
		return []*Node{Scalar(in[0].Graph(), in[0].DType(), number)}
	}, make([]float64, PointDim(s.M)))
	if err != nil {
		return false, err
	}
	return out.Scalar(0) == 1, nil
}

// operation is the key of this package's functions, which capture how the space integrates.
type operation struct {
	name   string
	method ode.Method
	steps  int
}

func (o operation) String() string { return o.name }

// call is Call for a function that captures the manifold and the integrator.
func (s *space) call(name string, fn func(in []*Node) []*Node, args ...any) (engine.Values, error) {
	return s.Call(operation{name, s.method, s.steps}, fn, args...)
}

// Progress says how far a long computation has come: its iteration, objective and gradient.
type Progress = watch.Progress

// Task is a long computation while it runs: see Space.Begin and package watch.
type Task = watch.Task

// Context makes long computations on a space end early when ctx ends. They then return the best result so far, with the Status Cancelled and without
// an error. A few return an error instead, because a part of their result is of no use: stats.MeanUncertainty, and Match of Rounds, Landmarks and
// Poses in package population.
func Context(ctx context.Context) Option { return func(s *settings) { s.ctx = ctx } }

// OnProgress makes long computations on a space call f at each iteration, in the goroutine that computes. A Progress prints
// itself.
func OnProgress(f func(Progress)) Option {
	return func(s *settings) { s.listening = f }
}

// Begin starts a Task with the Context and OnProgress of the space: a computation calls its Report at every iteration, stops if
// that returns true, and calls End at the end.
func (s *space) Begin(name string) *Task { return watch.Begin(name, s.ctx, s.listening) }

// Status says how an iteration ended.
type Status = solve.Status

const (
	Converged      = solve.Converged      // the tolerance was met
	Stalled        = solve.Stalled        // no step made progress; the result is the best point found
	IterationLimit = solve.IterationLimit // the limit of iterations was reached
	Cancelled      = solve.Cancelled      // the context ended, for example because the user stopped the computation
)

// Errors that a program can ask for by errors.Is.
var (
	ErrNotConverged = solve.ErrNotConverged // of the method Err of results: the search has not met its tolerance
	ErrCancelled    = solve.ErrCancelled    // of the same: the context ended before
	ErrUnreached    = shortest.ErrUnreached // of Log: no curve over the charts leads to the end point
	ErrCutLocus     = errors.New("there is no one shortest geodesic: the end point is in the cut locus of the starting point, " +
		"or no curve leads to it: move one of them") // of Log on manifolds with closed forms
	ErrOffManifold = errors.New("is not on the manifold") // of all methods of a Space: a point is off
)
