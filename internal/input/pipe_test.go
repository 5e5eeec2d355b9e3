//go:build unix

package input

import (
	"path/filepath"
	"syscall"
	"testing"

	"anatomy/geom/geomtest/expect"
)

// A pipe without a writer is refused at once; opening it would wait.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.csv")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	expect.Refused(t, expect.Error(Open(path)), "is a pipe")
}
