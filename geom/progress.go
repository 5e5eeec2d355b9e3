package geom

import (
	"context"

	"anatomy/geom/watch"
)

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
