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

// A function that defers Named returns the error that ended it, or that it returns, with its name; Catch adds none, and without an error there is none.
func TestNamed(t *testing.T) {
	named := func(end func() error) (err error) {
		defer try.Named(&err, "task %d", 7)
		return end()
	}
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		end  func() error
		want string
	}{
		{"ended", func() error { try.Do(broken); return nil }, "task 7: broken"},
		{"returned", func() error { return broken }, "task 7: broken"},
		{"new", func() error { try.Fail("%d of %w", 2, broken); return nil }, "task 7: 2 of broken"},
		{"twice", func() error { return try.Name(broken, "task %d", 7) }, "task 7: broken"},
		{"like it", func() error { return try.Name(broken, "task %d", 71) }, "task 7: task 71: broken"},
		{"within", func() error { try.Do(try.Name(broken, "part %s", "a")); return nil }, "task 7: part a: broken"},
	} {
		if err := named(c.end); err == nil || err.Error() != c.want || !errors.Is(err, broken) {
			t.Errorf("%s: error %v, want %s", c.name, err, c.want)
		}
	}
	if err := named(func() error { try.Do(try.Name(nil, "part")); return nil }); err != nil {
		t.Errorf("without an error: %v", err)
	}
	caught := func() (err error) {
		defer try.Catch(&err)
		try.Do(broken)
		return nil
	}
	if err := caught(); err != broken {
		t.Errorf("Catch: error %v", err)
	}
}
