package cell

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
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
	done, n := make(chan struct{}), 0
	var running sync.WaitGroup
	running.Go(func() {
		for seconds := time.Tick(time.Second); ; n++ {
			select {
			case <-done:
				return
			case <-seconds:
				show(id, fmt.Sprintf("<code>compiling the cell and what it imports, %d s</code>", n+1))
			}
		}
	})
	return func() {
		close(done)
		if running.Wait(); n > 0 {
			show(id, "")
		}
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

// index is what notebooks/nb writes about the variables of a notebook: see there.
type index struct {
	Variables map[string]*entry
	Recipes   map[string]*recipe
}

type entry struct {
	Cell                  int
	Type                  string
	Imports               map[string]string
	File                  string
	Group, Members, Types []string
	Recipe                string
	Reads                 map[string]string
	Why                   string
}

type recipe struct {
	Name, Type, Source string
	Imports            map[string]string
	Inputs             []struct {
		Name, Type, File, Recipe string
		Types                    []string
	}
}

func (e *entry) holds() string { return cmp.Or(e.File, e.Recipe) }

// current says whether a variable of e's group still has the value that was written with e's: it may have been assigned since.
func (x *index) current(e *entry, name string) bool {
	other := x.Variables[name]
	return other != nil && other.File == e.File && slices.Equal(other.Group, e.Group)
}

func indexFile(program string) string {
	return filepath.Join(filepath.Dir(program), "values", "index.json")
}

func readIndex(program string) *index {
	x := &index{}
	if text, err := os.ReadFile(indexFile(program)); err == nil {
		json.Unmarshal(text, x)
	}
	return x
}

// Readable names packages in a text about the notebook by their own names, not by those that the kernel gives them.
func Readable(program, text string) string {
	for _, e := range readIndex(program).Variables {
		for alias, path := range e.Imports {
			text = strings.ReplaceAll(text, alias+".", Base(path)+".")
		}
	}
	return text
}

// Values lists the variables of the notebook whose program lies at a path.
func Values(program string) []string { return slices.Sorted(maps.Keys(readIndex(program).Variables)) }

// Forget forgets variables of the notebook, all if none is named, and says whether there was one.
func Forget(program string, names ...string) (found bool) {
	x := readIndex(program)
	if len(names) == 0 {
		names = slices.Collect(maps.Keys(x.Variables))
	}
	for _, name := range names {
		found = found || x.Variables[name] != nil
		delete(x.Variables, name)
	}
	if text, err := json.Marshal(x); found && err == nil {
		os.WriteFile(indexFile(program), text, 0o600)
	}
	return found
}

// dummies declares the variables of the notebook that a source names, so that their names are not taken for those of packages.
func (x *index) dummies(src []byte, types bool) (imports, declarations string) {
	declared := map[string]bool{}
	if file, _ := parser.ParseFile(token.NewFileSet(), "", src, 0); file != nil && file.Scope != nil {
		for name := range file.Scope.Objects {
			declared[name] = true
		}
	}
	all := map[string]string{}
	before := token.EOF
	for _, l := range lexemes(string(src)) {
		e := x.Variables[l.lit]
		if l.tok == token.IDENT && before != token.PERIOD && e != nil && !declared[l.lit] {
			declared[l.lit] = true
			if !types {
				declarations += "\nvar " + l.lit + " any\n"
			} else if e.Type != "" {
				declarations += "\nvar " + l.lit + " " + e.Type + "\n"
				maps.Copy(all, e.Imports)
			}
		}
		before = l.tok
	}
	for _, alias := range slices.Sorted(maps.Keys(all)) {
		imports += fmt.Sprintf("; import %s %q", alias, all[alias])
	}
	return imports, declarations
}

const lockName = "kernel.lock"

// MakeFolder makes the folder of a kernel, which it holds locked for as long as the process lives, and removes those
// beside it, of names up to the same underscore, that kernels have left which were killed. The go command and gopls get
// a folder in it for temporary files (GOTMPDIR), away from the cell's own: what compilers leave there for a moment would
// be taken for sources of the cell.
func MakeFolder(path string) error {
	if prefix, _, ok := strings.Cut(filepath.Base(path), "_"); ok {
		locks, _ := filepath.Glob(filepath.Join(filepath.Dir(path), prefix+"_*", lockName))
		for _, name := range locks {
			if f, err := lock(name, os.O_RDWR); err == nil {
				os.RemoveAll(filepath.Dir(name))
				f.Close()
			}
		}
	}
	// It gets its name once it is locked: until then it is none of those that others remove.
	unnamed, err := os.MkdirTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	f, err := lock(filepath.Join(unnamed, lockName), os.O_RDWR|os.O_CREATE)
	held = append(held, f)
	if err == nil {
		err = os.Rename(unnamed, path)
	}
	if err != nil {
		os.RemoveAll(unnamed)
		return err
	}
	temporary := filepath.Join(path, ".tmp")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return err
	}
	return os.Setenv("GOTMPDIR", temporary)
}

// held keeps the locked files open.
var held []*os.File

func lock(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
