package cell

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
)

// Said parts what the program of a cell writes to standard error from what it says in the end, which is the error of the cell: the
// message of package nb, or a panic. The other lines go through at once.
type Said struct {
	held   []byte // from the beginning of a line that says the end, or may do so once it is whole
	within bool   // what went through last has no end of line
}

// last begins the lines that say the end of a program.
var last = regexp.MustCompile(`^(?:panic: |fatal error: |error: |cell \[\d+\], line \d+: (?:error: |✗ ))`)

// ends says whether a line says the end, or may do so if it goes on.
func ends(line []byte) bool {
	if last.Match(line) {
		return true
	}
	if bytes.Contains(line, []byte("\n")) {
		return false
	}
	for _, word := range []string{"panic: ", "fatal error: ", "error: ", "cell ["} {
		if len(line) > 0 && strings.HasPrefix(word, string(line)) {
			return true
		}
	}
	const longest = len("cell [1000000], line 1000000: error: ")
	return bytes.HasPrefix(line, []byte("cell [")) && len(line) < longest
}

// Pass takes what the program writes next and returns what goes through.
func (s *Said) Pass(written []byte) (through []byte) {
	text := append(s.held, written...)
	at := 0
	for at < len(text) && (s.within || !ends(text[at:])) {
		line := bytes.IndexByte(text[at:], '\n') + 1
		if s.within = line == 0; s.within {
			line = len(text) - at
		}
		at += line
	}
	through, s.held = text[:at:at], bytes.Clone(text[at:])
	return through
}

// End takes how the program ended. It returns what goes through after all, and the error of the cell: a *Failure, if the program said
// why it ended.
func (s *Said) End(exit error) (through []byte, err error) {
	held := s.held
	*s = Said{}
	switch {
	case exit == nil:
		return held, nil
	case exit.Error() == "signal: killed":
		return held, fmt.Errorf("%w: the system does so if memory runs out", exit)
	case !strings.HasPrefix(exit.Error(), "exit status ") || !last.Match(held):
		return held, exit
	}
	return nil, failure(string(held))
}

// Failure is why a program ended: what it says with its place, and through which functions it came there.
type Failure struct {
	message string
	trace   []string
}

func (f *Failure) Error() string { return strings.Join(append([]string{f.message}, f.trace...), "\n") }

// Traceback is what Jupyter shows.
func (f *Failure) Traceback() []string {
	shown := []string{Red(f.message)}
	if f.trace != nil {
		shown = append(shown, strings.Join(f.trace, "\n"))
	}
	return shown
}

// AsFailure returns the Failure in an error, or nil.
func AsFailure(err error) (f *Failure) {
	errors.As(err, &f)
	return f
}

var (
	// goroutine stands between what a panic says and how it came there.
	goroutine = regexp.MustCompile(`\n(?:\[signal [^\n]*\]\n)?(?:\n(?:runtime stack:\n(?:[^\n]+\n)*\n)?)?goroutine \d+ [^\n]*:\n`)
	// frame is a function, with its arguments, and the place in it.
	frame = regexp.MustCompile(`(?m)^(?:created by )?(\S+?)(?:\([^()\n]*\)| in goroutine \d+)?\n\t(.+?)(?: \+0x[0-9a-f]+)?$`)
)

// failure reads the end of what a program has said. Of a panic that says what is wrong, such as those of the library, the places in
// cells are left, of errors of the runtime all: numbers of goroutines and addresses say nothing.
func failure(said string) *Failure {
	at := goroutine.FindStringIndex(said)
	if strings.HasPrefix(said, "cell [") || at == nil {
		return &Failure{message: strings.TrimSpace(said)}
	}
	message := strings.ReplaceAll(strings.TrimSpace(said[:at[0]]), "\n\t", "\n")
	frames, _, _ := strings.Cut(said[at[1]:], "\n\n") // of this goroutine
	all := strings.Contains(message, "runtime error: ") || strings.HasPrefix(message, "fatal error: ")
	var trace []string
	place := ""
	for _, f := range frame.FindAllStringSubmatch(frames, -1) {
		name, where := strings.TrimPrefix(path.Base(f[1]), "main."), f[2]
		inCell := strings.HasPrefix(where, "cell [")
		if inCell && place == "" {
			place = where
		}
		if name != "panic" && !strings.HasPrefix(name, "runtime.") && (all || inCell) {
			trace = append(trace, fmt.Sprintf("    in %s, %s", name, where))
		}
	}
	if place != "" {
		message = place + ": " + message
	}
	const most = 20
	if len(trace) > most {
		trace = append(trace[:most], fmt.Sprintf("    … (%d more)", len(trace)-most))
	} else if len(trace) == 1 && place != "" {
		trace = nil // the place says it
	}
	return &Failure{message, trace}
}
