package nb

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/janpfeifer/gonb/gonbui"
	"github.com/janpfeifer/gonb/gonbui/protocol"

	"anatomy/geom/watch"
	"anatomy/internal/lists"
)

// Display shows values under the cell: what has a method Show as a picture, what has a method String by it, anything else as fmt prints
// it, long values cut. A last value that is an error is not shown: it ends the cell like Must. The kernel calls Display
// with the last expression of a cell, unless a semicolon follows it.
func Display(values ...any) {
	if n := len(values); n > 0 {
		if err, ok := values[n-1].(error); ok {
			fail("error: %v", explained(err))
		}
		if values[n-1] == nil {
			values = values[:n-1]
		}
	}
	var lines []string
	for _, v := range values {
		if figure, is := v.(interface{ Show() }); is {
			figure.Show()
		} else {
			lines = append(lines, text(v))
		}
	}
	if len(lines) == 0 {
		return
	}
	plain := strings.Join(lines, "\n")
	send(plain, map[protocol.MIMEType]any{protocol.MIMETextPlain: plain})
}

// send shows data of several types; outside a notebook their text goes to standard output.
func send(text string, data map[protocol.MIMEType]any) {
	if !gonbui.IsNotebook {
		fmt.Println(text)
		return
	}
	gonbui.SendData(&protocol.DisplayData{Data: data})
	gonbui.Sync()
}

// Report shows a document of package supplement below the cell: paragraphs, tables, figures, and claims as True. An error of the function that made
// it ends the cell, and a report with nothing else.
func Report(d interface {
	Show(say func(format string, args ...any), table func(caption string, cells [][]string, csv []byte), claim func(what, object string, holds bool))
}, err error) {
	refuse(err)
	d.Show(Printf, table, func(what, object string, holds bool) {
		if object != "" {
			what += ", " + Text(object)
		}
		True(what, holds)
	})
}

// table shows a table with its caption. Reports save its file, where numbers have all their digits.
func table(caption string, cells [][]string, csv []byte) {
	var lines strings.Builder
	for i, row := range cells {
		for _, c := range row {
			lines.WriteString("| " + Text(c) + " ")
		}
		lines.WriteString("|\n")
		if i == 0 {
			lines.WriteString(strings.Repeat("|---", len(row)) + "|\n")
		}
	}
	markdown := fmt.Sprintf("**Table.** %s\n\n%s", Text(caption), lines.String())
	send(markdown, map[protocol.MIMEType]any{protocol.MIMETextMarkdown: markdown, "text/csv": string(csv)})
}

// longest is how many characters Display prints of a value.
const longest = 2000

func text(v any) string {
	r := reflect.ValueOf(v)
	_, ok := v.(fmt.Stringer)
	if !ok && r.IsValid() && r.Kind() != reflect.Pointer {
		p := reflect.New(r.Type()) // the method may be the pointer's
		p.Elem().Set(r)
		if s, ok := p.Interface().(fmt.Stringer); ok {
			return s.String()
		}
	}
	var s string
	switch {
	case !ok && r.Kind() == reflect.Slice && r.Type().Elem().Kind() == reflect.Slice: // a row a line
		s = strings.Join(lists.Make(r.Len(), func(i int) string { return fmt.Sprint(r.Index(i)) }), "\n")
	case !ok && r.Kind() == reflect.Struct:
		s = fmt.Sprintf("%+v", v)
	default:
		s = fmt.Sprint(v)
	}
	if all := []rune(s); len(all) > longest {
		s = fmt.Sprintf("%s… (%d characters more)", string(all[:longest]), len(all)-longest)
	}
	return s
}

// explained says of a file that is missing under a relative name where it was looked for.
func explained(err error) error {
	var missing *fs.PathError
	if !errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) || filepath.IsAbs(missing.Path) {
		return err
	}
	folder, unknown := os.Getwd()
	if unknown != nil {
		return err
	}
	return fmt.Errorf("%w (in the folder %s)", err, folder)
}

// place is the line of the notebook that runs, as the kernel knows it: that of the innermost call from a file in its folder, or "".
func place() string {
	folder := os.Getenv(protocol.GONB_TMP_DIR_ENV)
	real, _ := filepath.EvalSymlinks(folder) // the compiler may have been given this name of it
	for skip := 1; folder != ""; skip++ {
		_, file, line, ok := runtime.Caller(skip)
		if !ok {
			break
		}
		if dir := filepath.Dir(file); dir == filepath.Clean(folder) || dir == real {
			return fmt.Sprintf("%s:%d: ", file, line)
		}
	}
	return ""
}

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
