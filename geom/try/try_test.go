package try_test

import (
	"errors"
	"testing"

	"anatomy/geom/try"
)

// An error ends the run at once and comes back; a run without one has none; other panics are not errors.
func TestRun(t *testing.T) {
	broken := errors.New("broken")
	reached := false
	if err := try.Run(func() { try.Get(1, broken); reached = true }); err != broken || reached {
		t.Errorf("error %v, want that of Get; went on: %v", err, reached)
	}
	got := 0
	if err := try.Run(func() { got = try.Get(2, nil); try.Do(nil) }); err != nil || got != 2 {
		t.Errorf("%d, %v, want 2 without an error", got, err)
	}
	inner := try.Run(func() { // a run within another ends alone
		if err := try.Run(func() { try.Do(broken) }); err != broken {
			t.Errorf("the inner run has the error %v", err)
		}
	})
	if inner != nil {
		t.Errorf("the outer run has the error %v", inner)
	}
	defer func() {
		if recover() != "a fault" {
			t.Error("a panic became an error")
		}
	}()
	try.Run(func() { panic("a fault") })
}
