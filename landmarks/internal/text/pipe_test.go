//go:build unix

package text

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A pipe without a writer is refused at once; opening it would wait.
func TestPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), "pipe.csv")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "is a pipe") {
		t.Errorf("error %v", err)
	}
}
