package engine

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/stablehlo"
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
	if _, err := f.build(written{b, text}, inputs); !errors.Is(err, errWritten) {
		return "", fmt.Errorf("%s: %w", f.name, err)
	}
	return text.String(), nil
}

// written is a backend that writes programs and does not compile them.
type written struct {
	compute.Backend
	text *strings.Builder
}

var errWritten = errors.New("the program is written and not compiled")

// Compile writes the program behind its settings where it is to be written.
func (b *builder) Compile() (compute.Executable, error) {
	if b.text == nil {
		return b.Builder.Compile()
	}
	for _, s := range b.settings {
		fmt.Fprintln(b.text, s.values)
	}
	program := (*stablehlo.Builder)(field(reflect.ValueOf(b.Builder).Elem(), "builder").UnsafePointer())
	return nil, cmp.Or(program.Write(b.text), errWritten)
}
