package cell

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Build runs the command that compiles a program, until the context ends, in the form in which its variables live on; with
// the last expression as a statement if it has no value. What takes more than a second is said by show, in a display of that id.
func (w *Workspace) Build(ctx context.Context, command *exec.Cmd, program string, lives bool, show func(id, html string)) (output []byte, err error) {
	if command.Err != nil { // the program is not found, or in a relative folder
		return nil, command.Err
	}
	defer w.compiling(filepath.Base(filepath.Dir(program)), show)()
	run := func(flags ...string) ([]byte, error) {
		// Without what debuggers read a program is linked in less time. Flags of the command's own come later, and so are the ones that count.
		c := exec.CommandContext(ctx, command.Path, slices.Concat(command.Args[1:2], []string{"-ldflags=-w"}, command.Args[2:], flags)...)
		c.Dir, c.Env = command.Dir, append(command.Environ(), "GOGC=400") // a build takes less time if garbage is collected less often
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
		return c.CombinedOutput()
	}
	if !lives {
		return run()
	}
	x := readIndex(program)
	w.mu.Lock()
	w.index = x
	cell, declares := w.cell, w.declares
	inputs := slices.ContainsFunc(w.cells[cell], func(line string) bool { return strings.HasPrefix(line, "%with_") })
	w.mu.Unlock()
	var l *live
	for source := []byte(nil); ; {
		now, err := os.ReadFile(program)
		if err != nil {
			return nil, err
		}
		if l == nil || !slices.Equal(now, source) {
			source, l = now, newLive(x, cell, declares)
			w.mu.Lock()
			w.without = l.without
			w.mu.Unlock()
		}
		form, err := l.program(source)
		if err != nil {
			return run() // which says what is wrong
		}
		if output := l.asks(filepath.Base(program)); output != nil && !inputs {
			return output, errors.New(keyboard)
		}
		overlay, err := writeForm(program, form)
		if err != nil {
			return nil, err
		}
		if output, err = run("-overlay=" + overlay); err == nil {
			for name := range declares {
				if n := l.named[name]; n != nil && !isVar(n) {
					Forget(program, name)
				}
			}
			return output, nil
		}
		if ctx.Err() != nil || !l.again(form, output) && !Hide(program, output) {
			return l.back(filepath.Base(program), form, output), err
		}
	}
}

// compiling says that a cell is compiled, once that takes long, until the end: in an executed report, which keeps nothing of it, in the
// file that ANATOMY_PROGRESS names. The cell goes on in the same display: see notebooks/nb.
func (w *Workspace) compiling(kernel string, show func(id, html string)) (end func()) {
	w.mu.Lock()
	id := fmt.Sprintf("%s-progress-%d", kernel, w.cell)
	w.mu.Unlock()
	if os.Getenv("ANATOMY_REPORT") != "" {
		show = func(_, text string) {
			if file := os.Getenv("ANATOMY_PROGRESS"); file != "" {
				os.WriteFile(file, []byte(text), 0o600)
			}
		}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		seconds := time.NewTicker(time.Second)
		defer seconds.Stop()
		for n := 1; ; n++ {
			select {
			case <-seconds.C:
				show(id, fmt.Sprintf("<code>compiling the cell and what it imports, %d s</code>", n))
			case <-done:
				if n > 1 {
					show(id, "")
				}
				return
			}
		}
	}()
	return func() {
		close(done)
		<-ended
	}
}

// writeForm writes the form of a program beside it, for go build -overlay.
func writeForm(program string, form []byte) (overlay string, err error) {
	folder := filepath.Join(filepath.Dir(program), "form")
	overlay = filepath.Join(folder, "overlay.json")
	text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Base(program): "form/program"}})
	return overlay, errors.Join(err, os.MkdirAll(folder, 0o700), os.WriteFile(filepath.Join(folder, "program"), form, 0o600),
		os.WriteFile(overlay, text, 0o600))
}
