package watch_test

import (
	"context"
	"testing"

	"anatomy/geom/watch"
)

func TestProgress(t *testing.T) {
	for want, p := range map[string]watch.Progress{
		"mean: iteration 3, objective 0.25, gradient 0.001": {Task: "mean", Iteration: 3, Objective: 0.25, Gradient: 0.001},
		"test ██████████░░░░░░░░░░░░░░░░░░░░ 40 of 120":     {Task: "test", Iteration: 40, Total: 120},
		"late ██████████████████████████████ 130 of 120":    {Task: "late", Iteration: 130, Total: 120},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What is one's own goes before what is the cell's.
func TestInteractive(t *testing.T) {
	cell, interrupt := context.WithCancel(context.Background())
	var shown []watch.Progress
	ended := 0
	watch.Interactive(func() (context.Context, func(watch.Progress), func()) {
		return cell, func(p watch.Progress) { shown = append(shown, p) }, func() { ended++ }
	})

	task := watch.Begin("a", nil, nil)
	if task.Report(watch.Progress{Iteration: 1}) {
		t.Error("stopped before the interrupt")
	}
	own := 0
	mine := watch.Begin("b", context.Background(), func(watch.Progress) { own++ })
	interrupt()
	if !task.Report(watch.Progress{Iteration: 2}) || !task.Stopped() || !task.Quiet().Stopped() {
		t.Error("not stopped by the interrupt")
	}
	if mine.Report(watch.Progress{}) {
		t.Error("a computation with a context of its own is stopped by that of the cell")
	}
	task.Quiet().Report(watch.Progress{})
	task.End()
	mine.End()
	if len(shown) != 2 || shown[1].Task != "a" || own != 1 || ended != 1 {
		t.Errorf("shown %v, %d to one's own listener, ended %d times", shown, own, ended)
	}
}
