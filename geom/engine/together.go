package engine

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"

	"anatomy/geom/try"
	"anatomy/geom/watch"
	"anatomy/internal/lists"
	"anatomy/internal/pool"
)

// Caller calls a compiled function, as Func.Call does, for one of many searches.
type Caller func(f *Func, args ...any) (Values, error)

// Together runs n searches for problems of one kind, each in a goroutine of its own, and returns when all have ended. The task gets a report
// of each that has. A search calls compiled functions by its Caller. Where programs are written for a GPU, searches that call one function with arguments of the same shapes share a program: it
// takes all arguments with an axis in front and returns results that have it, too, so that the function must be one of arguments [...]. Such
// a call waits until every search that has not ended calls. On a CPU, where that is slower, each call is its own, and as many searches run
// at a time as there are cores.
func Together(task *watch.Task, n int, search func(k int, call Caller)) {
	j := &joined{task: task, searches: n, open: n}
	workers, call := n, Caller(j.call)
	if n == 1 || !ForGPU(nil) {
		workers, call = pool.Cores(), (*Func).Call
	}
	_ = pool.Do(workers, n, func(_, k int) error {
		defer j.leave()
		search(k, call)
		return nil
	})
}

// joined are searches whose calls are joined.
type joined struct {
	task     *watch.Task
	searches int
	mu       sync.Mutex
	open     int    // searches that have not ended
	asks     []*ask // of those that wait
}

// ask is a call that waits.
type ask struct {
	f    *Func
	args []*tensors.Tensor
	out  Values
	err  error
	done chan struct{}
}

func (j *joined) call(f *Func, args ...any) (Values, error) {
	a := &ask{f: f, done: make(chan struct{})}
	for i, arg := range args {
		t, err := f.tensor(arg)
		if err != nil {
			return nil, fmt.Errorf("%s: argument %d: %w", f.name, i, err)
		}
		a.args = append(a.args, t)
	}
	j.mu.Lock()
	j.asks = append(j.asks, a)
	j.answer()
	j.mu.Unlock()
	<-a.done
	return a.out, a.err
}

func (j *joined) leave() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.open--
	j.task.Report(watch.Progress{Iteration: j.searches - j.open, Total: j.searches})
	j.answer()
}

// answer calls the functions where all open searches wait.
func (j *joined) answer() {
	if len(j.asks) < j.open {
		return
	}
	for len(j.asks) > 0 {
		var same, others []*ask
		for _, a := range j.asks {
			if a.like(j.asks[0]) {
				same = append(same, a)
			} else {
				others = append(others, a)
			}
		}
		size := j.searches // one of a few, so that a function is compiled for these only
		for size > 1 && (size+2)/3 >= len(same) {
			size = (size + 2) / 3
		}
		answer(same, size)
		j.asks = others
	}
}

// like reports whether two calls can be one.
func (a *ask) like(b *ask) bool {
	return a.f == b.f && slices.EqualFunc(a.args, b.args, func(x, y *tensors.Tensor) bool { return x.Shape().Equal(y.Shape()) })
}

// answer calls the function of calls that are alike, with the last one repeated up to a size.
func answer(asks []*ask, size int) {
	err := try.Run(func() {
		if size == 1 {
			asks[0].out = try.Get(asks[0].f.Call(anys(asks[0].args)...))
			return
		}
		args := lists.Make(len(asks[0].args), func(i int) any {
			return stacked(lists.Make(size, func(k int) *tensors.Tensor { return asks[min(k, len(asks)-1)].args[i] }))
		})
		for i, t := range try.Get(asks[0].f.Call(args...)) {
			shape := t.Shape()
			try.FailIf(shape.Rank() == 0 || shape.Dim(0) != size, "result %d of %d problems has shape %s, want an axis of these in front", i, size, shape)
			for k, a := range asks {
				a.out = append(a.out, row(t, k))
			}
		}
	})
	for _, a := range asks {
		a.err = err
		close(a.done)
	}
}

func anys(in []*tensors.Tensor) []any {
	return lists.Each(in, func(t *tensors.Tensor) any { return t })
}

// stacked are tensors of one shape with an axis in front.
func stacked(rows []*tensors.Tensor) *tensors.Tensor {
	shape := rows[0].Shape()
	out := tensors.FromShape(shapes.Make(shape.DType, append([]int{len(rows)}, shape.Dimensions...)...))
	try.Do(out.MutableBytes(func(all []byte) {
		for _, t := range rows {
			try.Do(t.ConstBytes(func(b []byte) { all = all[copy(all, b):] }))
		}
	}))
	return out
}

// row is one of those that are stacked.
func row(t *tensors.Tensor, k int) *tensors.Tensor {
	out := tensors.FromShape(shapes.Make(t.DType(), t.Shape().Dimensions[1:]...))
	try.Do(t.ConstBytes(func(all []byte) {
		try.Do(out.MutableBytes(func(b []byte) { copy(b, all[k*len(b):]) }))
	}))
	return out
}
