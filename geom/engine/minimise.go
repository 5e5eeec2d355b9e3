package engine

import (
	"context"
	"fmt"
	"reflect"

	"github.com/gomlx/gomlx/core/graph"

	"anatomy/geom/shape"
	"anatomy/geom/solve"
)

// The search of Minimise ends where the next step is expected to lower the loss by less than leastGain² of itself and 1e-6 of its value at the
// start, or after mostSteps.
const (
	leastGain = 1e-5
	mostSteps = 1000
)

// Minimise returns the x where a loss, a number, is least, as L-BFGS finds it from a start; see solve.Minimise. The loss is a graph function of x
// and of the other arguments, in this order. Its derivative by x is automatic. x has the shape of the start: [n], or [n, D] for a shape.
//
// It is an error if the loss is no number at the start, and if the search stalls or takes more than 1000 steps: then x is the best point found.
func Minimise[F graph.ExecGraphFn, X []float64 | shape.Shape](loss F, start X, args ...any) (x X, err error) {
	f := Compile(func(in []*graph.Node) []*graph.Node {
		value := Apply(loss, in...)[0]
		return []*graph.Node{value, graph.Gradient(value, in[0])[0]}
	})
	defer f.Free()
	objective := solve.Objective{FirstStep: 1, Value: func(x []float64) (float64, []float64, error) {
		out, err := f.Call(append([]any{shape.Like(start, x)}, args...)...)
		if err != nil {
			return 0, nil, err
		}
		return out.Scalar(0), out.Flat(1), nil
	}}
	found, err := solve.Minimise(context.Background(), objective, shape.Flat(start), leastGain, mostSteps)
	if err == nil {
		x, err = shape.Like(start, found.X), found.Err()
	}
	if err != nil {
		return x, fmt.Errorf("engine.Minimise: %w", err)
	}
	return x, nil
}

// Apply calls a graph function, of a form that Compile takes, with nodes of a graph that is being built, and returns its results.
func Apply[F graph.ExecGraphFn](fn F, in ...*graph.Node) (out []*graph.Node) {
	v := reflect.ValueOf(fn)
	n := inputs(v.Type())
	if n >= 0 && n != len(in) {
		panic(fmt.Sprintf("engine.Apply: %d nodes for a function of %d", len(in), n))
	}
	var results []reflect.Value
	switch args := reflect.ValueOf(in); {
	case v.Type().IsVariadic():
		results = v.CallSlice([]reflect.Value{args})
	case n < 0:
		results = v.Call([]reflect.Value{args})
	default:
		each := make([]reflect.Value, n)
		for i := range each {
			each[i] = args.Index(i)
		}
		results = v.Call(each)
	}
	for _, r := range results {
		if list, ok := r.Interface().([]*graph.Node); ok {
			return list
		}
		out = append(out, r.Interface().(*graph.Node))
	}
	return out
}

// Takes is how many nodes a graph function takes, -1 for any number.
func Takes[F graph.ExecGraphFn](fn F) int { return inputs(reflect.TypeOf(fn)) }
