package engine

import (
	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
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

// DynamicUpdateSlice takes away what is there, and adds the update, number by number: that back end scatters windows as if they were as wide as x.
// What is not finite stays so.
func (f *function) DynamicUpdateSlice(x, update value, start []value) (value, error) {
	if !f.b.plain {
		return f.Function.DynamicUpdateSlice(x, update, start)
	}
	all, err := f.Shape(x)
	if err != nil {
		return nil, err
	}
	window, err := f.Shape(update)
	if err != nil {
		return nil, err
	}
	there, err := f.DynamicSlice(x, start, window.Dimensions)
	if err != nil {
		return nil, err
	}
	do := func(v value, failed error) value {
		if err == nil {
			err = failed
		}
		return v
	}
	offsets, first := make([]int32, window.Size()), do(f.Constant([]int32{0}, 1))
	inner := window.Strides()
	for axis, stride := range all.Strides() {
		for i := range offsets {
			offsets[i] += int32(i / inner[axis] % window.Dimensions[axis] * stride)
		}
		first = do(f.Add(first, do(f.Mul(do(f.Reshape(start[axis], 1)), do(f.Constant([]int32{int32(stride)}, 1))))))
	}
	n := len(offsets)
	places := do(f.Add(do(f.Constant(offsets, n)), do(f.BroadcastInDim(first, shapes.Make(dtypes.Int32, n), []int{0}))))
	places, x = do(f.Reshape(places, n, 1)), do(f.Reshape(x, all.Size()))
	for _, v := range []value{do(f.Neg(there)), update} {
		x = do(f.ScatterSum(x, places, do(f.Reshape(v, n)), 1, nil, []int{0}, []int{0}, false, true))
	}
	return do(f.Reshape(x, all.Dimensions...)), err
}

// BroadcastInDim hides what it returns from a pass of that back end, which changes functions behind their schedules: see upstream.md.
func (f *function) BroadcastInDim(x value, shape shapes.Shape, axes []int) (value, error) {
	y, err := f.Function.BroadcastInDim(x, shape, axes)
	if err != nil || !f.b.plain {
		return y, err
	}
	return f.Identity(y)
}

// last makes results the last values of a function and each a value of its own, since that back end gives a result away at its first place and
// has no room for those of a loop that stand behind the function's own.
func (f *function) last(outputs []value) (err error) {
	if !f.b.plain {
		return nil
	}
	for i, v := range outputs {
		if outputs[i], err = f.Identity(v); err != nil {
			return err
		}
	}
	return nil
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
