package nb

import (
	"context"
	"fmt"
	"html"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"anatomy/geom/watch"
)

// The notebook's stop button ends a cell's long computations with the best they had; they show where they are.
func init() {
	if gonbui.IsNotebook {
		watch.Interactive(watch.Surroundings{Context: interruptible, Show: progress.show})
	}
}

// watched is the number of the computation that an interrupt ends, 0 if there is none.
var watched, watchedLast atomic.Int64

// interruptible returns a context that an interrupt ends; outside of a computation an interrupt ends the cell.
func interruptible() (context.Context, func()) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	watched.Store(watchedLast.Add(1))
	return ctx, func() {
		stop()
		watched.Store(0)
	}
}

// progress is one line below the cell that changes and is empty in the end; of an executed report, a line of the file that
// ANATOMY_PROGRESS names, so that the report keeps nothing of it.
var progress line

type line struct {
	sync.Mutex
	id    string
	clear *time.Timer
}

// linger is for how long a line stays if nothing follows it: the next computation of a loop writes into it.
const linger = time.Second

func (l *line) show(text string, _ watch.Progress) {
	l.Lock()
	defer l.Unlock()
	if l.clear != nil {
		l.clear.Stop()
	}
	if text != "" {
		l.write(text)
		return
	}
	l.clear = time.AfterFunc(linger, l.end)
}

// end clears the line, when the cell ends at the latest.
func (l *line) end() {
	l.Lock()
	defer l.Unlock()
	if l.id != "" {
		l.write("")
		l.id = ""
		gonbui.Sync()
	}
}

func (l *line) write(text string) {
	if os.Getenv("ANATOMY_REPORT") != "" {
		l.id = "file"
		if file := os.Getenv("ANATOMY_PROGRESS"); file != "" {
			os.WriteFile(file, []byte(text), 0o600)
		}
		return
	}
	if l.id == "" {
		l.id = fmt.Sprintf("%s-progress-%d", filepath.Base(os.Getenv(protocol.GONB_TMP_DIR_ENV)), session.cell) // of the kernel, too
	}
	if text != "" {
		text = "<code>" + html.EscapeString(text) + "</code>"
	}
	gonbui.UpdateHTML(l.id, text)
}
