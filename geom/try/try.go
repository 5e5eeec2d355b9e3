// Package try lets a computation of many steps be written without a question after each of them: an error of Get or Do ends what Run runs, and Run
// returns it. It is for readers of files, where an error says the same wherever it occurs, and for programs. Functions that others call return errors.
package try

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

// Run calls f and returns the error that ended it. Other panics go on.
func Run(f func()) (err error) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case failure:
			err = end.error
		default:
			panic(end)
		}
	}()
	f()
	return nil
}
