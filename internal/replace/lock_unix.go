//go:build unix

package replace

import (
	"os"
	"syscall"
)

// lock reports whether nobody else has the file, which is this process's until it is closed.
func lock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}
