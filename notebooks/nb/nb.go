// Package nb has what a notebook cell needs beside the mathematics: errors that fail the cell, numerical checks that fail
// the report when they are false, and values that live from one cell to the next.
//
// GoNB runs each cell as a process of its own and carries pictures and printed text on different ways, so their order is
// not certain. What this package prints goes the way of the pictures and arrives before the call returns; outside a
// notebook it goes to standard output.
package nb

import (
	"fmt"
	"math"
	"os"

	"github.com/janpfeifer/gonb/gonbui"
)

// Must returns v. If err is not nil, it prints err with the line of the cell to standard error and ends the cell with a
// failure.
func Must[T any](v T, err error) T {
	if err != nil {
		fail("error: %v", explained(err))
	}
	return v
}

// Must2 is Must for a function with two results.
func Must2[T, U any](v T, w U, err error) (T, U) {
	if err != nil {
		fail("error: %v", explained(err))
	}
	return v, w
}

// Check prints the claim |got - want| ≤ tol as a line that begins with ✓, or ends the cell with a failure if it is false
// or a number is NaN or infinite. What may hold Markdown and formulas between dollars.
func Check(what string, got, want, tol float64) {
	if d := math.Abs(got - want); !(d <= tol) || math.IsInf(tol, 0) {
		fail("✗ %s: got %.12g, want %.12g ± %.3g, differs by %.3g", what, got, want, tol, d)
	}
	Printf("✓ %s: got %.10g (want %.10g ± %.3g)", what, got, want, tol)
}

// True prints a claim that holds as a line that begins with ✓, or ends the cell with a failure if it does not hold.
func True(what string, ok bool) {
	if !ok {
		fail("✗ %s: not true", what)
	}
	Printf("✓ %s", what)
}

// Printf prints one paragraph of Markdown, formulas between dollars included, in order with the pictures of the cell.
func Printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !gonbui.IsNotebook {
		fmt.Println(text)
		return
	}
	gonbui.DisplayMarkdown(text)
	gonbui.Sync()
}

// fail ends the process once the pictures that are on their way have arrived.
func fail(format string, args ...any) {
	gonbui.Sync()
	fmt.Fprintln(os.Stderr, place()+fmt.Sprintf(format, args...))
	os.Exit(1)
}
