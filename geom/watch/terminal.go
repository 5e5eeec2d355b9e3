package watch

import (
	"fmt"
	"os"
)

// Terminal shows the long computations of a program in one line of a terminal, which is cleared at their end. It does nothing if the file,
// such as os.Stderr, is not a terminal.
func Terminal(f *os.File) {
	if info, err := f.Stat(); err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return
	}
	Interactive(Surroundings{Show: func(line string, _ Progress) {
		fmt.Fprintf(f, "\r\x1b[K\x1b[?7l%s\x1b[?7h", line) // without a second line where it is too long
	}})
}
