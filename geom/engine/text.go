package engine

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/gomlx/compute"
)

// Text is the program of the function for these arguments before it is compiled: its operations in StableHLO, with all constants, and its settings.
// Functions with one text are the same function. Errors are those of Call.
func (f *Func) Text(args ...any) (string, error) {
	b, err := Backend()
	if err != nil {
		return "", err
	}
	_, inputs, err := f.tensors(args)
	if err != nil {
		return "", err
	}
	text := new(strings.Builder)
	if _, err := f.build(backend{b, text}, inputs); !errors.Is(err, errWritten) {
		return "", fmt.Errorf("%s: %w", f.name, err)
	}
	return text.String(), nil
}

var errWritten = errors.New("the program is written and not compiled")

// Compile only writes the settings and the program where a text is wanted.
func (b *builder) Compile() (compute.Executable, error) {
	if b.text == nil {
		return b.Builder.Compile()
	}
	for _, s := range b.settings {
		fmt.Fprintln(b.text, s.values)
	}
	return nil, cmp.Or(b.main.hlo().Builder.Write(b.text), errWritten)
}
