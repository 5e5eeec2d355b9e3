// Package try lets a computation of many steps be written without a question after each of them: an error of Get, Do or Fail ends it, and is
// what the function returns that began it by Run, Catch or Named. Functions that other packages call return errors; those that they are made of
// need not. An error must not leave the goroutine in which it occurs: there, Run is called again.
//
//	func Distance(path string) (d float64, err error) {
//		defer try.Named(&err, "distance of %s", path)
//		m := try.Get(mesh.Read(path))
//		try.FailIf(len(m.Cells) == 0, "no cells: give a surface")
//		…
//	}
package try

import (
	"fmt"
	"strings"
)

// failure is the error that ends a run.
type failure struct{ error }

// Get returns v; an error ends the run.
func Get[T any](v T, err error) T {
	Do(err)
	return v
}

// Get2 is Get for two values.
func Get2[T, U any](v T, w U, err error) (T, U) {
	Do(err)
	return v, w
}

// Do ends the run by an error that is not nil.
func Do(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Fail ends the run by a new error, as fmt.Errorf has it.
func Fail(format string, args ...any) { Do(fmt.Errorf(format, args...)) }

// FailIf is Fail if the condition holds.
func FailIf(bad bool, format string, args ...any) {
	if bad {
		Fail(format, args...)
	}
}

// Name returns the error with what it is about before it, as fmt.Errorf has it, and nil for nil. An error that begins with that stays as it is:
// a computation and a step of it may have one name.
func Name(err error, about string, args ...any) error {
	if err == nil {
		return nil
	}
	name := fmt.Sprintf(about, args...)
	if strings.HasPrefix(err.Error(), name+": ") {
		return err
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Run calls f and returns the error that ended it. Other panics go on.
func Run(f func()) (err error) {
	defer Catch(&err)
	f()
	return nil
}

// Catch, deferred, makes the error that ends a function its result. Other panics go on.
func Catch(err *error) { Caught(err, recover()) }

// Named is Catch, with what the function is about before any error that it returns.
func Named(err *error, about string, args ...any) {
	Caught(err, recover())
	*err = Name(*err, about, args...)
}

// Caught is Catch for a deferred function that does more: it passes what it has recovered.
func Caught(err *error, end any) {
	switch end := end.(type) {
	case nil:
	case failure:
		*err = end.error
	default:
		panic(end)
	}
}
