package engine

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/tensors"

	"anatomy/geom/watch"
	"anatomy/internal/lists"
	"anatomy/internal/pool"
)

// Caller calls a compiled function, as Func.Call does, for one of many searches.
type Caller func(f *Func, args ...any) (Values, error)

// Together runs n searches for problems of one kind, each in a goroutine of its own, and returns when all have ended. The task gets a report
// of each that has. A search calls compiled functions by its Caller. Where programs are written for a GPU, searches that call one function with
// arguments of the same shapes share a call: its arguments and results have an axis of n in front, so that the function must be one of arguments
// [...]. Such a call waits until every search that has not ended calls. On a CPU each call is its own, and as many searches run at a time as
// there are cores.
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

// answer makes the calls where all open searches wait.
func (j *joined) answer() {
	if len(j.asks) < j.open {
		return
	}
	for len(j.asks) > 0 {
		first := j.asks[0]
		var same, others []*ask
		for _, a := range j.asks {
			if a.f == first.f && slices.EqualFunc(a.args, first.args, func(x, y *tensors.Tensor) bool { return x.Shape().Equal(y.Shape()) }) {
				same = append(same, a)
			} else {
				others = append(others, a)
			}
		}
		err := j.share(same)
		for _, a := range same {
			a.err = err
			close(a.done)
		}
		j.asks = others
	}
}

// share makes calls that are alike: a single one as it is, others as one of all searches, with the last one repeated, so that a function
// is compiled for two numbers of problems only.
func (j *joined) share(asks []*ask) (err error) {
	f, args := asks[0].f, lists.Each(asks[0].args, func(t *tensors.Tensor) any { return t })
	if len(asks) == 1 {
		asks[0].out, err = f.Call(args...)
		return err
	}
	for i := range args {
		if args[i], err = j.stack(i, asks); err != nil {
			return err
		}
	}
	out, err := f.Call(args...)
	for i := 0; i < len(out) && err == nil; i++ {
		err = j.part(i, out[i], asks)
	}
	return err
}

// stack is an argument of all searches.
func (j *joined) stack(i int, asks []*ask) (all *tensors.Tensor, err error) {
	shape := asks[0].args[i].Shape()
	all = tensors.FromShape(shapes.Make(shape.DType, append([]int{j.searches}, shape.Dimensions...)...))
	filled := all.MutableBytes(func(to []byte) {
		for k := 0; k < j.searches && err == nil; k++ {
			err = asks[min(k, len(asks)-1)].args[i].ConstBytes(func(b []byte) { to = to[copy(to, b):] })
		}
	})
	return all, cmp.Or(err, filled)
}

// part gives each ask its part of a result.
func (j *joined) part(i int, t *tensors.Tensor, asks []*ask) (err error) {
	shape := t.Shape()
	if shape.Rank() == 0 || shape.Dim(0) != j.searches {
		return fmt.Errorf("result %d of %d problems has shape %s, want an axis of these in front", i, j.searches, shape)
	}
	read := t.ConstBytes(func(all []byte) {
		for k := 0; k < len(asks) && err == nil; k++ {
			own := tensors.FromShape(shapes.Make(shape.DType, shape.Dimensions[1:]...))
			err = own.MutableBytes(func(to []byte) { copy(to, all[k*len(to):]) })
			asks[k].out = append(asks[k].out, own)
		}
	})
	return cmp.Or(err, read)
}
