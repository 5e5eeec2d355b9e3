package watch_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"anatomy/geom/watch"
)

func TestProgress(t *testing.T) {
	for want, p := range map[string]watch.Progress{
		"mean: iteration 3, objective 0.25, gradient 0.001":                   {Task: "mean", Iteration: 3, Objective: 0.25, Gradient: 0.001},
		"mean: iteration 3, objective 0.25, gradient 0.001 (tolerance 1e-06)": {Task: "mean", Iteration: 3, Objective: 0.25, Gradient: 0.001, Tolerance: 1e-6},
		"Log: iteration 3, residual 0.02 (tolerance 1e-10)":                   {Task: "Log", Iteration: 3, Residual: 0.02, Tolerance: 1e-10},
		"paths: iteration 3": {Task: "paths", Iteration: 3},
		"test ██████████░░░░░░░░░░░░░░░░░░░░ 40 of 120":  {Task: "test", Iteration: 40, Total: 120},
		"late ██████████████████████████████ 130 of 120": {Task: "late", Iteration: 130, Total: 120},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// What is one's own goes before what is the cell's.
func TestInteractive(t *testing.T) {
	defer watch.Interactive(watch.Surroundings{})
	cell, interrupt := context.WithCancel(context.Background())
	begun, ended := 0, 0
	watch.Interactive(watch.Surroundings{
		Context: func() (context.Context, func()) { begun++; return cell, func() { ended++ } },
		Show:    func(string, watch.Progress) {},
	})

	step := watch.Step("compiling")
	if begun != 0 {
		t.Error("what cannot be stopped asks for a context")
	}
	task := watch.Begin("a", nil, nil)
	step()
	if task.Report(watch.Progress{Iteration: 1}) {
		t.Error("stopped before the interrupt")
	}
	own := 0
	mine := watch.Begin("b", context.Background(), func(watch.Progress) { own++ })
	within := watch.Begin("c", nil, nil)
	interrupt()
	if !task.Report(watch.Progress{Iteration: 2}) || !task.Stopped() || !task.Quiet().Stopped() || !within.Stopped() {
		t.Error("not stopped by the interrupt")
	}
	if mine.Report(watch.Progress{}) {
		t.Error("a computation with a context of its own is stopped by that of the cell")
	}
	task.Quiet().Report(watch.Progress{})
	task.End()
	if ended != 0 {
		t.Error("the context has ended before what is within")
	}
	within.End()
	mine.End()
	if own != 1 || begun != 1 || ended != 1 {
		t.Errorf("%d reports to one's own listener, %d contexts, of which %d ended", own, begun, ended)
	}
}

// shown runs a program in a time of its own, and returns what is shown, and when.
func shown(t *testing.T, program func()) (lines []string, at []time.Duration) {
	synctest.Test(t, func(t *testing.T) {
		defer watch.Interactive(watch.Surroundings{})
		time.Sleep(time.Hour)
		start := time.Now()
		watch.Interactive(watch.Surroundings{Show: func(line string, _ watch.Progress) {
			lines, at = append(lines, line), append(at, time.Since(start))
		}})
		program()
		synctest.Wait()
	})
	return lines, at
}

// search reports n iterations that take a while each and lower the gradient by half.
func search(name string, n int, each time.Duration) {
	task := watch.Begin(name, nil, nil)
	defer task.End()
	for k := range n {
		task.Report(watch.Progress{Iteration: k, Gradient: math.Ldexp(1, -k), Tolerance: math.Ldexp(1, -n)})
		time.Sleep(each)
	}
}

func TestWhenLinesAreShown(t *testing.T) {
	if lines, _ := shown(t, func() { search("short", 99, 10*time.Millisecond) }); len(lines) > 0 {
		t.Errorf("below a second: %q", lines)
	}
	for name, program := range map[string]func(){
		"one search":              func() { search("Log", 700, 10*time.Millisecond) },
		"many short searches":     func() { many(70, func() { search("Log", 10, 10*time.Millisecond) }) },
		"what reports nothing":    func() { end := watch.Step("compiling Exp"); time.Sleep(7 * time.Second); end() },
		"within a silent search":  func() { end := watch.Step("outer"); search("Log", 700, 10*time.Millisecond); end() },
		"a search that is silent": func() { task := watch.Begin("Log", nil, nil); time.Sleep(7 * time.Second); task.End() },
	} {
		t.Run(name, func(t *testing.T) {
			lines, at := shown(t, program)
			if at[0] < time.Second || at[0] > 1100*time.Millisecond {
				t.Errorf("first shown after %v", at[0])
			}
			last := len(lines) - 1
			if lines[last] != "" || at[last] > 7*time.Second {
				t.Errorf("not cleared in the end, but %q after %v", lines[last], at[last])
			}
			updates := 0
			for i, line := range lines[:last] {
				if line == "" {
					continue
				}
				updates++
				if i > 0 && lines[i-1] != "" && at[i]-at[i-1] < 250*time.Millisecond {
					t.Errorf("%q %v after the line before", line, at[i]-at[i-1])
				}
			}
			if updates < 6 || updates > 25 {
				t.Errorf("%d lines in 7 seconds", updates)
			}
		})
	}
}

func many(n int, f func()) {
	for range n {
		f()
	}
}

func TestWhatIsShown(t *testing.T) {
	at := func(k int, program func()) string {
		t.Helper()
		lines, times := shown(t, program)
		line := ""
		for i, when := range times {
			if when < time.Duration(k)*time.Second+10*time.Millisecond {
				line = lines[i]
			}
		}
		return line
	}
	bar := func() {
		task := watch.Begin("test", nil, nil)
		defer task.End()
		end := watch.Step("compiling Exp")
		time.Sleep(5 * time.Second) // is not taken for a share of the draws
		end()
		for k := range 120 {
			task.Report(watch.Progress{Iteration: k, Total: 120})
			time.Sleep(70 * time.Millisecond)
		}
	}
	for _, c := range []struct {
		k       int
		program func()
		want    string
	}{
		{3, bar, "test, 3 s › compiling Exp, 3 s"},
		{9, bar, "test ██████████████░░░░░░░░░░░░░░░░ 57 of 120, 9 s, about 4 s left"},
		{3, func() { search("mean", 80, 70*time.Millisecond) }, "mean: iteration 42, gradient 2.3e-13 (tolerance 8.3e-25), 3 s, about 3 s left"},
		{5, func() { end := watch.Step("a"); search("b", 300, 70*time.Millisecond); end() }, "a, 5 s › b: iteration 71, gradient 4.2e-22 (tolerance 4.9e-91), 5 s, about 16 s left"},
		{600, func() { end := watch.Step("a"); time.Sleep(time.Hour); end() }, "a, 10 min"},
	} {
		if got := at(c.k, c.program); got != c.want {
			t.Errorf("after %d s: got %q, want %q", c.k, got, c.want)
		}
	}
	// A gradient that grows says nothing of the time.
	if line := at(2, func() {
		task := watch.Begin("mean", nil, nil)
		defer task.End()
		for k := range 40 {
			task.Report(watch.Progress{Iteration: k, Gradient: float64(1 + k), Tolerance: 1})
			time.Sleep(70 * time.Millisecond)
		}
	}); strings.Contains(line, "left") {
		t.Error(line)
	}
}
