package cell

import (
	"context"
	"os"
	"os/exec"
	"slices"
)

// Build runs the command that compiles a program, until the context ends: as Keep writes it, or, if that does not compile,
// as it is; with the last expression as a statement if it has no value.
func (w *Workspace) Build(ctx context.Context, command *exec.Cmd, program string, keep bool) (output []byte, err error) {
	if command.Err != nil { // the program is not found, or in a relative folder
		return nil, command.Err
	}
	run := func(flags ...string) ([]byte, error) {
		c := exec.CommandContext(ctx, command.Path, slices.Concat(command.Args[1:], flags)...)
		c.Dir, c.Env = command.Dir, append(command.Environ(), "GOGC=400") // a build takes less time if garbage is collected less often
		c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
		return c.CombinedOutput()
	}
	for {
		k := &Kept{}
		if keep {
			if k = w.Keep(program); k.Overlay != "" {
				output, err = run(k.Overlay)
			}
		}
		if k.Overlay == "" || err != nil && !valueless.Match(output) {
			if output, err = run(); err == nil {
				k.Leave()
			}
		}
		if err == nil || ctx.Err() != nil || !Hide(program, output) {
			return output, err
		}
	}
}
