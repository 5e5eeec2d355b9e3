package engine

import (
	"github.com/gomlx/compute"
	_ "github.com/gomlx/compute/gobackend" // GOMLX_BACKEND=go
	"github.com/gomlx/compute/shapes"
)

// GoMLX's back end in plain Go (GOMLX_BACKEND=go) has no slices at a running index: here they are made of what it has.

// plainConfig has it take one operation after the other: at the same time they take many times as long in loops.
const plainConfig = "go:ops_sequential"

// isPlain reports whether a back end is the one in plain Go.
func isPlain(b compute.Backend) bool { return b.Name() != "xla" }

func (f *function) DynamicSlice(x value, start []value, dims []int) (value, error) {
	if !f.b.plain {
		return f.Function.DynamicSlice(x, start, dims)
	}
	at, axes, err := f.vector(start)
	if err != nil {
		return nil, err
	}
	return f.Gather(x, at, 0, axes, nil, axes, dims, false)
}

// DynamicUpdateSlice takes away what is there, and adds the update.
func (f *function) DynamicUpdateSlice(x, update value, start []value) (value, error) {
	if !f.b.plain {
		return f.Function.DynamicUpdateSlice(x, update, start)
	}
	at, axes, err := f.vector(start)
	if err != nil {
		return nil, err
	}
	shape, err := f.Shape(update)
	if err != nil {
		return nil, err
	}
	there, err := f.DynamicSlice(x, start, shape.Dimensions)
	if err != nil {
		return nil, err
	}
	if there, err = f.Neg(there); err != nil {
		return nil, err
	}
	for _, v := range []value{there, update} {
		if x, err = f.ScatterSum(x, at, v, 0, axes, nil, axes, true, true); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// BroadcastInDim hides what it returns from a pass of that back end, which changes functions behind their schedules: see upstream.md.
func (f *function) BroadcastInDim(x value, shape shapes.Shape, axes []int) (value, error) {
	y, err := f.Function.BroadcastInDim(x, shape, axes)
	if err != nil || !f.b.plain {
		return y, err
	}
	return f.Identity(y)
}

// vector is a list of scalars as one value, and their numbers.
func (f *function) vector(scalars []value) (all value, numbers []int, err error) {
	rows := make([]value, len(scalars))
	for i, s := range scalars {
		numbers = append(numbers, i)
		if rows[i], err = f.Reshape(s, 1); err != nil {
			return nil, nil, err
		}
	}
	all, err = f.Concatenate(0, rows...)
	return all, numbers, err
}
