package stats

import (
	"fmt"
	"html"
	"os"
	"strings"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
)

// Progress is where a computation stands.
type Progress struct {
	Task      string
	Iteration int     // permutations done, for a permutation test
	Total     int     // how many there will be, 0 where nobody knows
	Objective float64 // what is being minimised
	Gradient  float64 // the norm of its gradient, in the unit of the statistic
}

// String is the line that the display shows.
func (p Progress) String() string {
	if p.Total > 0 {
		const width = 30
		done := width * p.Iteration / p.Total
		return fmt.Sprintf("%s %s%s %d of %d", p.Task, strings.Repeat("█", done), strings.Repeat("░", width-done), p.Iteration, p.Total)
	}
	return fmt.Sprintf("%s: iteration %d, objective %.8g, gradient %.2g", p.Task, p.Iteration, p.Objective, p.Gradient)
}

const (
	patience = 2 * time.Second        // nothing is shown before
	interval = 250 * time.Millisecond // between two updates
)

// display returns a function that shows where a computation stands once it takes long, in one line that changes, and one
// that clears the line: a report keeps nothing of it. It shows nothing where there is neither a notebook nor a terminal.
func display() (show func(Progress), clear func()) {
	var write func(line string)
	if gonbui.IsNotebook {
		id := gonbui.UniqueID()
		write = func(line string) {
			if line != "" {
				line = "<code>" + html.EscapeString(line) + "</code>"
			}
			gonbui.UpdateHTML(id, line)
		}
	} else if info, err := os.Stderr.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
		write = func(line string) { fmt.Fprintf(os.Stderr, "\r\x1b[K%s", line) }
	} else {
		return func(Progress) {}, func() {}
	}
	next, shown := time.Now().Add(patience), false
	show = func(p Progress) {
		if now := time.Now(); now.After(next) {
			write(p.String())
			next, shown = now.Add(interval), true
		}
	}
	clear = func() {
		if shown {
			write("")
		}
	}
	return show, clear
}
