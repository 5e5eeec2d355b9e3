package pool

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
)

// Each number is worked on once, no worker has two calls at a time, and errors come in the order of the numbers.
func TestDo(t *testing.T) {
	for _, workers := range []int{1, 3, 8} {
		const n = 100
		var count [n]int
		busy := make([]atomic.Bool, workers)
		err := Do(workers, n, func(worker, i int) error {
			if !busy[worker].CompareAndSwap(false, true) {
				t.Errorf("worker %d has two calls at a time", worker)
			}
			defer busy[worker].Store(false)
			count[i]++
			if i == 70 || i == 20 {
				return errors.New(strings.Repeat("x", i))
			}
			return nil
		})
		for i, k := range count {
			if k != 1 {
				t.Errorf("%d workers: %d calls for %d, want 1", workers, k, i)
			}
		}
		if want := strings.Repeat("x", 20) + "\n" + strings.Repeat("x", 70); err == nil || err.Error() != want {
			t.Errorf("%d workers: the error is %v", workers, err)
		}
	}
	if err := Do(4, 0, func(_, _ int) error { return nil }); err != nil {
		t.Error(err)
	}
	// A panic of the only worker is one of the caller.
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	Do(1, 2, func(_, _ int) error { panic("stop") })
}
