// Package refuse ends functions that were called with what they cannot take: the graph's formulas, and what makes kernels and manifolds.
package refuse

import "fmt"

// If panics with a message, as fmt.Sprintf has it, if the condition holds.
func If(bad bool, format string, args ...any) {
	if bad {
		panic(fmt.Sprintf(format, args...))
	}
}

// About, deferred, puts what a function is about before the error that it returns.
func About(err *error, what string, args ...any) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), *err)
	}
}
