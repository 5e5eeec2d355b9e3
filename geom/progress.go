package geom

import (
	"context"

	"anatomy/geom/watch"
)

// Progress is where a computation stands, Task a long computation under way.
type (
	Progress = watch.Progress
	Task     = watch.Task
)

// Context lets long computations on a space end early when ctx does: they return the best they had, with the Status
// Cancelled.
func Context(ctx context.Context) Option { return func(s *settings) { s.ctx = ctx } }

// OnProgress calls f after every iteration of long computations on a space.
func OnProgress(f func(Progress)) Option {
	return func(s *settings) { s.listening = f }
}

// Begin begins a computation on the space that can be watched and stopped; call End when it is over.
func (s *Space[P]) Begin(name string) *Task { return watch.Begin(name, s.ctx, s.listening) }
