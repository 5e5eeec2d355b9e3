package cell

import (
	"errors"
	"strings"
	"testing"
)

// What a program says in the end is the error of its cell, in whatever pieces it arrives; what it writes before goes through at once.
func TestSaid(t *testing.T) {
	exit1, exit2 := errors.New("exit status 1"), errors.New("exit status 2")
	for _, c := range []struct {
		written string
		exit    error
		through string
		message string // of the error, "" for none
		shown   int    // parts of the traceback, 0 if the error is none of Said's
	}{
		{"one\ntwo", nil, "one\ntwo", "", 0},
		{"cell by cell\npanic\n", exit1, "cell by cell\npanic\n", "exit status 1", 0},
		{"log: cell [1], line 2: error: no\n", exit1, "log: cell [1], line 2: error: no\n", "exit status 1", 0},
		{"read\ncell [1], line 2: error: open x: no such file\nor folder\n", exit1, "read\n", "cell [1], line 2: error: open x: no such file\nor folder", 1},
		{"cell [7], line 2: ✗ one: got 2, want 1\n", exit1, "", "cell [7], line 2: ✗ one: got 2, want 1", 1},
		{"panic: it goes on\nand on\n", nil, "panic: it goes on\nand on\n", "", 0},
		{"panic: not yet", errors.New("signal: killed"), "panic: not yet", "signal: killed: the system does so if memory runs out", 0},
		{"", errors.New("exit status 3"), "", "exit status 3", 0},
		{`going
panic: corpus callosum: no specimen "x"; there are: "a"
	and a second line

goroutine 1 [running]:
anatomy/landmarks/morpho.(*Dataset).Shape(0x401550?, {0x612e50?, 0x0?})
	/home/me/anatomy/landmarks/morpho/dataset.go:103 +0x2f
main.main()
	cell [5], line 2 +0x29
`, exit2, "going\n", "cell [5], line 2: panic: corpus callosum: no specimen \"x\"; there are: \"a\"\nand a second line", 1},
		{`panic: text

goroutine 21 [running]:
main.main.func1()
	cell [12], line 2 +0x25
created by main.main in goroutine 1
	cell [12], line 7 +0x1f

goroutine 1 [sleep]:
main.main()
	cell [12], line 8 +0x1f
`, exit2, "", "cell [12], line 2: panic: text\n    in main.func1, cell [12], line 2\n    in main, cell [12], line 7", 2},
		{`panic: runtime error: invalid memory address or nil pointer dereference
[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x51c23b]

goroutine 1 [running]:
panic({0x4a1b60?, 0x4e5b30?})
	/usr/local/go/src/runtime/panic.go:783 +0x132
anatomy/geom.Space[...].Log(...)
	/home/me/anatomy/geom/log.go:12
main.main()
	cell [13], line 3 +0x1b
`, exit2, "", "cell [13], line 3: panic: runtime error: invalid memory address or nil pointer dereference\n" +
			"    in geom.Space[...].Log, /home/me/anatomy/geom/log.go:12\n    in main, cell [13], line 3", 2},
		{`fatal error: all goroutines are asleep - deadlock!

goroutine 1 [sync.Mutex.Lock]:
internal/sync.runtime_SemacquireMutex(0x0?, 0x0?, 0x0?)
	/usr/local/go/src/runtime/sema.go:95 +0x25
main.main()
	cell [1], line 4 +0x4c
`, exit2, "", "cell [1], line 4: fatal error: all goroutines are asleep - deadlock!\n" +
			"    in sync.runtime_SemacquireMutex, /usr/local/go/src/runtime/sema.go:95\n    in main, cell [1], line 4", 2},
		{"panic: no stack\n", exit2, "", "panic: no stack", 1},
	} {
		for _, size := range []int{1, 7, 1000000} {
			var s Said
			var through strings.Builder
			for text := c.written; text != ""; {
				piece := text[:min(size, len(text))]
				text = text[len(piece):]
				through.Write(s.Pass([]byte(piece)))
			}
			left, err := s.End(c.exit)
			through.Write(left)
			message, shown := "", 0
			if err != nil {
				message = err.Error()
				if f := AsFailure(err); f != nil {
					shown = len(f.Traceback())
				}
			}
			if through.String() != c.through || message != c.message || shown != c.shown {
				t.Errorf("%q in pieces of %d: through went %q, error %q in %d parts,\nwant %q, %q in %d", c.written, size, &through, message, shown, c.through, c.message, c.shown)
			}
		}
	}
}

// Progress is seen while the program runs, also without an end of line.
func TestSaidAtOnce(t *testing.T) {
	var s Said
	for _, piece := range []string{"10 %", " 20 %", "panic", "\nnext\n", "cells", "\n", "Panic: \n"} {
		if got := string(s.Pass([]byte(piece))); got != piece {
			t.Errorf("of %q went through %q", piece, got)
		}
	}
}
