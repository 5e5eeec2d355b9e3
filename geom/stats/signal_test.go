package stats

import (
	"syscall"
	"testing"
	"time"
)

// The signal of a notebook's stop button ends a computation. Its delivery takes the system a moment, so the test waits for it.
func TestSignal(t *testing.T) {
	r, err := newRun("test", 1, []Option{OnProgress(func(Progress) {})})
	if err != nil {
		t.Fatal(err)
	}
	defer r.end()
	if r.report(1, 0, 0) {
		t.Error("cancelled before the signal")
	}
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-r.ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("the signal does not arrive")
	}
	if !r.report(2, 0, 0) {
		t.Error("not cancelled by the signal")
	}
}
