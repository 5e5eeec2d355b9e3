package nb

import (
	"context"
	"html"
	"os"
	"os/signal"
	"time"

	"github.com/janpfeifer/gonb/gonbui"

	"anatomy/geom/watch"
)

// The notebook's stop button ends a cell's long computations with the best they had; they show where they are.
func init() {
	if gonbui.IsNotebook {
		watch.Interactive(surroundings)
	}
}

const (
	patience = 2 * time.Second        // nothing is shown before
	interval = 250 * time.Millisecond // between two updates
)

// surroundings show where a computation stands once it takes long, in one line that changes, and clear the line at its end: a
// report keeps nothing of it. An interrupt ends the computation; outside of one it ends the cell.
func surroundings() (ctx context.Context, show func(watch.Progress), end func()) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	watched.Add(1)
	id := ""
	write := func(line string) {
		if id == "" {
			id = gonbui.UniqueID()
		}
		if line != "" {
			line = "<code>" + html.EscapeString(line) + "</code>"
		}
		gonbui.UpdateHTML(id, line)
	}
	next := time.Now().Add(patience)
	show = func(p watch.Progress) {
		if now := time.Now(); now.After(next) {
			write(p.String())
			next = now.Add(interval)
		}
	}
	end = func() {
		stop()
		watched.Add(-1)
		if id != "" {
			write("")
		}
	}
	return ctx, show, end
}
