// Package refuse ends functions that were called with what they cannot take: the graph's formulas, and what makes kernels and manifolds.
package refuse

import "fmt"

// If panics with a message, as fmt.Sprintf has it, if the condition holds.
func If(bad bool, format string, args ...any) {
	if bad {
		panic(fmt.Sprintf(format, args...))
	}
}
