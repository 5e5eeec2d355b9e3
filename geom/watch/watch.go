// Package watch lets long computations report their progress and be stopped. It imports no other package of this module, so that
// a notebook's cell can show progress without linking the rest.
//
// A computation is a Task:
//
//	task := watch.Begin("my search", ctx, nil) // the context stops it; nil: no listener
//	defer task.End()
//	for k := range 100 {
//		…
//		if task.Report(watch.Progress{Iteration: k, Objective: f}) {
//			break // the context has ended
//		}
//	}
package watch

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
)

// Progress says how far a computation has come.
type Progress struct {
	Task      string  // the name of the computation; Report sets it
	Iteration int     // how many iterations are done, or permutations for a permutation test
	Total     int     // how many there will be, 0 if unknown
	Objective float64 // the value of what is being minimised, in the unit of the statistic
	Gradient  float64 // the norm of its gradient, as the statistic defines it
}

// String returns one line for a display: a bar if Total is known, and numbers otherwise.
func (p Progress) String() string {
	if p.Total > 0 {
		const width = 30
		done := width * min(max(p.Iteration, 0), p.Total) / p.Total
		return fmt.Sprintf("%s %s%s %d of %d", p.Task, strings.Repeat("█", done), strings.Repeat("░", width-done), p.Iteration, p.Total)
	}
	return fmt.Sprintf("%s: iteration %d, objective %.8g, gradient %.2g", p.Task, p.Iteration, p.Objective, p.Gradient)
}

// Surroundings give computations what they need from the place where they run, such as a notebook's cell. The function is called
// when a computation begins. It returns a context that ends when the computation shall stop, a function that shows its progress,
// and one that is called at its end; none may be nil.
type Surroundings func() (ctx context.Context, show func(Progress), end func())

var surroundings atomic.Pointer[Surroundings]

// Interactive sets the Surroundings of all computations that are begun without a context or without a listener. Package nb calls it
// for the cells of a notebook and a program for its terminal; libraries should not.
func Interactive(s Surroundings) { surroundings.Store(&s) }

// Task is a long computation while it runs.
type Task struct {
	Name string
	ctx  context.Context
	show func(Progress)
	end  func()
}

// Begin starts a computation with a name. It stops when ctx ends, and calls show at every Report. If ctx or show is nil, it takes
// that of the Surroundings set by Interactive, if any. Call End at the end.
func Begin(name string, ctx context.Context, show func(Progress)) *Task {
	t := &Task{name, ctx, show, func() {}}
	if s := surroundings.Load(); s != nil && (ctx == nil || show == nil) {
		around, display, end := (*s)()
		t.end = end
		if ctx == nil {
			t.ctx = around
		}
		if show == nil {
			t.show = display
		}
	}
	if t.ctx == nil {
		t.ctx = context.Background()
	}
	if t.show == nil {
		t.show = func(Progress) {}
	}
	return t
}

// Report passes p, with the name of the task, to the listener, and returns whether the computation shall stop.
func (t *Task) Report(p Progress) (stop bool) {
	p.Task = t.Name
	t.show(p)
	return t.Stopped()
}

// Stopped reports whether the computation shall stop.
func (t *Task) Stopped() bool { return t.ctx.Err() != nil }

// Quiet returns a task that stops with this one and whose reports go nowhere: use it for a part of the computation.
func (t *Task) Quiet() *Task {
	return &Task{t.Name, t.ctx, func(Progress) {}, func() {}}
}

// Context returns the context of the computation; it is never nil.
func (t *Task) Context() context.Context { return t.ctx }

// End tells the display that the computation has ended.
func (t *Task) End() { t.end() }
