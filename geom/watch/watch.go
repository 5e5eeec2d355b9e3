// Package watch is how long computations hear of a wish to stop, and tell where they are. It imports nothing of the rest, so
// that a notebook's cell can watch without linking it.
package watch

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
)

// Progress is where a computation stands.
type Progress struct {
	Task      string
	Iteration int     // permutations done, for a permutation test
	Total     int     // how many there will be, 0 where nobody knows
	Objective float64 // what is being minimised
	Gradient  float64 // the norm of its gradient, in the unit of the statistic
}

// String is one line for a display.
func (p Progress) String() string {
	if p.Total > 0 {
		const width = 30
		done := width * p.Iteration / p.Total
		return fmt.Sprintf("%s %s%s %d of %d", p.Task, strings.Repeat("█", done), strings.Repeat("░", width-done), p.Iteration, p.Total)
	}
	return fmt.Sprintf("%s: iteration %d, objective %.8g, gradient %.2g", p.Task, p.Iteration, p.Objective, p.Gradient)
}

// Surroundings are where computations run, such as a notebook's cell. Called when a computation begins they return a context that ends
// when it shall stop, what shows its progress and what is called at its end.
type Surroundings func() (ctx context.Context, show func(Progress), end func())

var surroundings atomic.Pointer[Surroundings]

// Interactive sets the surroundings of computations that have no context or listener of their own. Package nb calls it for the
// cells of a notebook; packages and programs leave it alone.
func Interactive(s Surroundings) { surroundings.Store(&s) }

// Task is a long computation under way.
type Task struct {
	Name string
	ctx  context.Context
	show func(Progress)
	end  func()
}

// Begin begins a computation that can be watched and stopped; call End when it is over. Without a context or a listener of
// its own, nil, it has those of Interactive.
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

// Report says where the computation is, and returns whether it shall stop.
func (t *Task) Report(p Progress) (stop bool) {
	p.Task = t.Name
	t.show(p)
	return t.Stopped()
}

// Stopped reports whether the computation shall stop.
func (t *Task) Stopped() bool { return t.ctx.Err() != nil }

// Quiet is the same computation without anybody hearing of its progress, for parts of it.
func (t *Task) Quiet() *Task {
	return &Task{t.Name, t.ctx, func(Progress) {}, func() {}}
}

// Context is that of the computation.
func (t *Task) Context() context.Context { return t.ctx }

// End frees what a display holds.
func (t *Task) End() { t.end() }
