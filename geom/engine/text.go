package engine

import (
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

func (w written) Builder(name string) compute.Builder { return writer{w.Backend.Builder(name), w.text} }

type writer struct {
	compute.Builder
	text *strings.Builder
}

var errWritten = errors.New("the program is written and not compiled")

func (w writer) Compile() (compute.Executable, error) {
	if err := (*stablehlo.Builder)(field(reflect.ValueOf(w.Builder).Elem(), "builder").UnsafePointer()).Write(w.text); err != nil {
		return nil, err
	}
	return nil, errWritten
}

// Compile writes the settings before the program.
func (b *builder) Compile() (compute.Executable, error) {
	if w, ok := b.Builder.(writer); ok {
		for _, s := range b.settings {
			fmt.Fprintln(w.text, s.values)
		}
	}
	return b.Builder.Compile()
}
