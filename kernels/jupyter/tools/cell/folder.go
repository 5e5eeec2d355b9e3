package cell

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

const lockName = "kernel.lock"

// MakeFolder makes the folder of a kernel, which it holds locked for as long as the process lives, and removes those
// beside it, of names up to the same underscore, that kernels have left which were killed. The go command and gopls get
// a folder in it for temporary files (GOTMPDIR), away from the cell's own: what compilers leave there for a moment would
// be taken for sources of the cell.
func MakeFolder(path string) error {
	if prefix, _, ok := strings.Cut(filepath.Base(path), "_"); ok {
		locks, _ := filepath.Glob(filepath.Join(filepath.Dir(path), prefix+"_*", lockName))
		for _, name := range locks {
			if f, err := lock(name, os.O_RDWR); err == nil {
				os.RemoveAll(filepath.Dir(name))
				f.Close()
			}
		}
	}
	// It gets its name once it is locked: until then it is none of those that others remove.
	unnamed, err := os.MkdirTemp(filepath.Dir(path), ".new-")
	if err != nil {
		return err
	}
	f, err := lock(filepath.Join(unnamed, lockName), os.O_RDWR|os.O_CREATE)
	held = append(held, f)
	if err == nil {
		err = os.Rename(unnamed, path)
	}
	if err != nil {
		os.RemoveAll(unnamed)
		return err
	}
	temporary := filepath.Join(path, ".tmp")
	if err := os.Mkdir(temporary, 0o700); err != nil {
		return err
	}
	return os.Setenv("GOTMPDIR", temporary)
}

// held keeps the locked files open.
var held []*os.File

func lock(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, flag, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
