// Package replace writes files that are either complete or as they were.
package replace

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// File writes a file beside path and renames it to path.
func File(path string, write func(io.Writer) error) (err error) {
	beside := fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(beside)
		}
	}()
	buffered := bufio.NewWriter(f)
	if err := write(buffered); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(beside, path)
}
