// Package nb has what a notebook cell needs beside the mathematics: errors that fail the cell, numerical checks that fail
// the report when they are false, text in which data are shown as they are, and values that live from one cell to the next.
//
// GoNB runs each cell as a process of its own and carries pictures and printed text by different channels, so their order is
// not certain. What this package prints goes the way of the pictures and arrives before the call returns; outside a
// notebook it goes to standard output.
package nb

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/janpfeifer/gonb/gonbui"
)

// Must returns v. If err is not nil, it prints err with the line of the cell to standard error and ends the cell with a
// failure. So nb.Must(f()) takes the result of a call f() that also returns an error.
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

// Check prints the claim |got − want| ≤ tol as a line that begins with ✓. If it is false, or a number is NaN or infinite, the
// cell ends with a failure. In a report about other than the standard data a claim may be false: the line then begins with ✗,
// and the cell continues. what is Markdown and may contain formulas between dollars; names from data go into it by Text. It
// must be understandable without the notebook, on the page of all checks.
func Check(what string, got, want, tol float64) {
	if d := math.Abs(got - want); !(d <= tol) || math.IsInf(tol, 0) {
		deny(check{what, fmt.Sprintf("%.12g", got), fmt.Sprintf("%.12g", want), fmt.Sprintf("%.3g", tol), false},
			fmt.Sprintf("✗ %s: got %.12g, want %.12g ± %.3g, differs by %.3g", what, got, want, tol, d))
		return
	}
	c := check{what, proven(got, want, tol), proven(want, want, tol), fmt.Sprintf("%.3g", tol), true}
	record(c)
	say(fmt.Sprintf("✓ %s: got %s (want %s ± %s)", what, c.Got, c.Want, c.Tol))
}

// proven writes x with the digits that a tolerance around want says something about and one more, at most 10, and with those before
// the decimal point.
func proven(x, want, tol float64) string {
	digits := 2
	switch {
	case tol == 0:
		digits = 10
	case want != 0:
		digits = 2 + int(math.Floor(math.Log10(math.Abs(want)))-math.Floor(math.Log10(tol)))
	}
	if x != 0 {
		digits = max(digits, 1+int(math.Floor(math.Log10(math.Abs(x)))))
	}
	return fmt.Sprintf("%.*g", min(max(digits, 2), 10), x)
}

// True prints the claim what as a line that begins with ✓ if it holds. If not, the cell ends with a failure; in a report about
// other than the standard data the line begins with ✗, as for Check.
func True(what string, ok bool) {
	if !ok {
		deny(check{What: what}, fmt.Sprintf("✗ %s: not true", what))
		return
	}
	record(check{What: what, OK: true})
	say("✓ " + what)
}

// Help lists the functions and types of the project that have these words in their names or in what is said of them, such as Help("mean").
func Help(words string) {
	out, err := exec.Command("go", append([]string{"run", "anatomy/notebooks/report/ask", "find"}, strings.Fields(words)...)...).Output()
	var found string
	if err == nil {
		err = json.Unmarshal(out, &found)
	}
	if err != nil {
		fail("error: Help looks for %q in the folder of the project, which the notebook is not in: %v", words, err)
	}
	say(cmp.Or(found, "Nothing has these words."))
}

// Printf prints one paragraph of Markdown, formulas between dollars included, in order with the pictures of the cell. The
// format is Markdown; an argument that is neither a number nor Markdown is data, and shown as by Text.
func Printf(format string, args ...any) {
	if gonbui.IsNotebook {
		args = slices.Clone(args)
		for i, a := range args {
			t := reflect.TypeOf(a)
			if _, is := a.(Markdown); !is && (t == nil || t.PkgPath() != "" || !plain(t)) {
				args[i] = data{a}
			}
		}
	}
	say(fmt.Sprintf(format, args...))
}

// Markdown is an argument of Printf that the notebook itself has composed: it is not shown as it is but read as Markdown.
type Markdown string

// Text returns Markdown that shows data (a name in a file, an error) as they are: no letter of it starts a formula, a
// link, HTML or a new line, and none turns the direction of writing.
func Text(data string) string {
	var out strings.Builder
	for _, r := range data {
		switch {
		case unicode.IsSpace(r):
			r = ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			r = unicode.ReplacementChar
		case r < utf8.RuneSelf && (unicode.IsPunct(r) || unicode.IsSymbol(r)):
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}

// data is an argument of Printf that is to be shown as it is.
type data struct{ value any }

func (d data) Format(f fmt.State, verb rune) {
	io.WriteString(f, Text(fmt.Sprintf(fmt.FormatString(f, verb), d.value)))
}

// say shows a paragraph of Markdown; outside a notebook it goes to standard output.
func say(text string) {
	if !gonbui.IsNotebook {
		fmt.Println(text)
		return
	}
	gonbui.DisplayMarkdown(text)
	gonbui.Sync()
}

// deny says that a check is false: it ends the process, or marks the line if the check was made for other data.
func deny(c check, text string) {
	record(c)
	if own() == "" {
		fail("%s", text)
	}
	say(text)
}

// fail ends the process once the pictures that are on their way have arrived, and the values of the cell are written.
func fail(format string, args ...any) {
	gonbui.Sync()
	End()
	fmt.Fprintln(os.Stderr, place()+fmt.Sprintf(format, args...))
	os.Exit(1)
}
