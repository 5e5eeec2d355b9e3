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
//
// A notebook shows what its cells compute, and so does a program that begins with watch.Terminal(os.Stderr). Who shows nothing pays nothing, and
// no result depends on it.
package watch

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Progress says how far a computation has come.
type Progress struct {
	Task      string  // the name of the computation; Report sets it
	Iteration int     // how many iterations are done, or permutations for a permutation test
	Total     int     // how many there will be, 0 if unknown
	Objective float64 // the value of what is being minimised, in the unit of the statistic
	Gradient  float64 // the norm of its gradient, as the statistic defines it
	Residual  float64 // in place of a gradient, where equations are solved: by how much they are missed, in the unit of the statistic
	Tolerance float64 // the gradient or residual at which the search ends, 0 if unknown
}

// String returns one line for a display: a bar if Total is known, and numbers otherwise, those that are known.
func (p Progress) String() string {
	if p.Total > 0 {
		const width = 30
		done := width * min(max(p.Iteration, 0), p.Total) / p.Total
		return fmt.Sprintf("%s %s%s %d of %d", p.Task, strings.Repeat("█", done), strings.Repeat("░", width-done), p.Iteration, p.Total)
	}
	line := fmt.Sprintf("%s: iteration %d", p.Task, p.Iteration)
	if p.Objective != 0 {
		line += fmt.Sprintf(", objective %.6g", p.Objective)
	}
	switch {
	case p.Gradient != 0:
		line += fmt.Sprintf(", gradient %.2g", p.Gradient)
	case p.Residual != 0:
		line += fmt.Sprintf(", residual %.2g", p.Residual)
	}
	if p.off() != 0 && p.Tolerance > 0 {
		line += fmt.Sprintf(" (tolerance %.2g)", p.Tolerance)
	}
	return line
}

// off is what has to come down to the tolerance.
func (p Progress) off() float64 { return cmp.Or(p.Gradient, p.Residual) }

// left is what is left of a computation after p, in units of what it did since an earlier Progress: the iterations, or, of a search whose
// gradient or residual falls by a factor in each of them, the factors. It is NaN if that cannot be told.
func (p Progress) left(since Progress) float64 {
	switch {
	case p.Total > 0 && p.Iteration > since.Iteration:
		return float64(p.Total-p.Iteration) / float64(p.Iteration-since.Iteration)
	case p.Tolerance > 0 && p.off() > 0 && since.off() >= 2*p.off():
		return math.Max(0, math.Log(p.off()/p.Tolerance)/math.Log(since.off()/p.off()))
	}
	return math.NaN()
}

// Surroundings are the place where computations run, such as a notebook's cell.
type Surroundings struct {
	// Context returns what stops the computations that are begun without a context, and a function that is called once all have ended. It
	// is called when a first one begins that can be stopped; nil: nothing stops them.
	Context func() (ctx context.Context, end func())
	// Show shows a line about what runs, and where the outermost computation stands; an empty line when all have ended. It is called after a
	// second, and at most four times in one.
	Show func(line string, p Progress)
}

const (
	patience = time.Second
	interval = 250 * time.Millisecond
)

// display shows the computations of the process.
type display struct {
	mu sync.Mutex
	Surroundings
	on      atomic.Bool
	running []*Task

	stoppable int // how many of them the context stops
	ctx       context.Context
	stop      func()
	next      time.Time // when a line may be shown
	ended     time.Time // when the last computation did
	shown     string    // the line
	timer     *time.Timer
}

var here display

// Interactive sets the Surroundings of all computations that are begun without a context or without a listener. Package nb calls it
// for the cells of a notebook; libraries should not. See Terminal for programs.
func Interactive(s Surroundings) {
	here.mu.Lock()
	defer here.mu.Unlock()
	here.Surroundings, here.ended = s, time.Time{}
	here.on.Store(s.Show != nil)
}

// moment is where a computation was at a time.
type moment struct {
	Progress
	at time.Time
}

// Task is a long computation while it runs.
type Task struct {
	Name string
	ctx  context.Context
	show func(Progress)

	step, stoppable bool // begun by Step; stopped by the context of the surroundings

	on          *display // which shows it, or nil
	began       time.Time
	first, half moment // reports: estimates are made from what was done since the first, which the half replaces
	last        moment
}

// Begin starts a computation with a name. It stops when ctx ends, and calls show at every Report. If ctx or show is nil, it takes
// that of the Surroundings set by Interactive, if any. Call End at the end.
func Begin(name string, ctx context.Context, show func(Progress)) *Task {
	t := &Task{Name: name, ctx: ctx, show: show}
	if ctx == nil || show == nil {
		here.begin(t)
	}
	if t.ctx == nil {
		t.ctx = context.Background()
	}
	return t
}

// Step says that the process does something that has no iterations, such as to compile a function. Call the function that it returns at the
// end.
func Step(name string) (end func()) {
	t := &Task{Name: name, step: true}
	here.begin(t)
	return t.End
}

// Report passes p, with the name of the task, to the listener, and returns whether the computation shall stop.
func (t *Task) Report(p Progress) (stop bool) {
	p.Task = t.Name
	if t.show != nil {
		t.show(p)
	} else {
		t.Detail(p)
	}
	return t.Stopped()
}

// Detail is Report for a display alone: a listener that waits for the iterations of a computation gets none of those within it.
func (t *Task) Detail(p Progress) {
	if t.on != nil {
		p.Task = t.Name
		t.on.report(t, p)
	}
}

// Stopped reports whether the computation shall stop.
func (t *Task) Stopped() bool { return t.ctx.Err() != nil }

// Quiet returns a task that stops with this one and whose reports go nowhere: use it for a part of the computation.
func (t *Task) Quiet() *Task { return &Task{Name: t.Name, ctx: t.ctx} }

// Begin is Quiet, with which parts of the computation begin on a task as they would on a space.
func (t *Task) Begin(string) *Task { return t.Quiet() }

// Context returns the context of the computation; it is never nil.
func (t *Task) Context() context.Context { return t.ctx }

// End tells the display that the computation has ended.
func (t *Task) End() {
	if t.on != nil {
		t.on.end(t)
	}
}

func (d *display) begin(t *Task) {
	if !d.on.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	t.on, t.began = d, time.Now()
	if len(d.running) == 0 {
		if t.began.Sub(d.ended) > patience { // else one of many short ones
			d.next = t.began.Add(patience)
		}
		d.wake()
	}
	d.running = append(d.running, t)
	if t.ctx == nil && !t.step && d.Context != nil {
		if d.stoppable == 0 {
			d.ctx, d.stop = d.Context()
		}
		d.stoppable++
		t.ctx, t.stoppable = d.ctx, true
	}
}

// wake has a line shown when the next may be, also if nothing is reported until then. The caller holds the lock, as with all below.
func (d *display) wake() {
	var timer *time.Timer
	timer = time.AfterFunc(d.next.Sub(time.Now()), func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.timer == timer {
			d.update()
			d.wake()
		}
	})
	d.timer = timer
}

func (d *display) report(t *Task, p Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t.last = moment{p, time.Now()}
	switch {
	case t.first.at.IsZero():
		t.first, t.half = t.last, t.last
	case p.Iteration >= 2*t.half.Iteration:
		t.first, t.half = t.half, t.last
	}
	d.update()
}

func (d *display) end(t *Task) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.running = slices.DeleteFunc(d.running, func(other *Task) bool { return other == t })
	if t.stoppable {
		if d.stoppable--; d.stoppable == 0 {
			d.stop()
		}
	}
	if len(d.running) > 0 {
		return
	}
	d.timer.Stop()
	d.timer, d.ended = nil, time.Now()
	if d.shown != "" {
		d.Show("", Progress{})
		d.shown = ""
	}
}

// update shows a line if the time for it has come: the outermost computation, and the innermost one that takes long.
func (d *display) update() {
	now := time.Now()
	if now.Before(d.next) || len(d.running) == 0 {
		return
	}
	d.next = now.Add(interval)
	outer := d.running[0]
	line := outer.line(now)
	for i := len(d.running) - 1; i > 0; i-- {
		if inner := d.running[i]; now.Sub(inner.began) >= patience && inner.Name != outer.Name {
			line += " › " + inner.line(now)
			break
		}
	}
	if line != d.shown {
		d.shown = line
		d.Show(line, outer.last.Progress)
	}
}

// line says what a task does, since when, and for how long it will.
func (t *Task) line(now time.Time) string {
	line := t.Name
	if !t.last.at.IsZero() {
		line = t.last.String()
	}
	if since := now.Sub(t.began); since >= patience {
		line += ", " + about(since)
	}
	if part := t.last.left(t.first.Progress); !math.IsNaN(part) {
		left := time.Duration(part*float64(t.last.at.Sub(t.first.at))) - now.Sub(t.last.at)
		line += fmt.Sprintf(", about %s left", about(max(left, 0)))
	}
	return line
}

// about writes a time to about two digits.
func about(d time.Duration) string {
	switch {
	case d < 99*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 99*time.Minute:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
