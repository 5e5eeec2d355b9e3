// Package replace writes files that are either complete or as they were.
package replace

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// end is that of the names of files that are being written beside their places.
var end = regexp.MustCompile(`\.[0-9a-f]{8}\.tmp$`)

// Name returns the name of the file for which a file is, or was when its process was killed, written beside it; of other files their own.
func Name(file string) string { return end.ReplaceAllString(file, "") }

// File writes a file beside path and renames it to path. What killed processes left of former attempts is removed.
func File(path string, write func(io.Writer) error) (err error) {
	sweep(path)
	beside := fmt.Sprintf("%s.%08x.tmp", path, rand.Uint32())
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	lock(f)
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
	if err := cmp.Or(buffered.Flush(), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(beside, path)
}

// sweep removes what was left beside path: files that nobody has locked. One that was made this second may be about to be locked or renamed.
func sweep(path string) {
	entries, _ := os.ReadDir(filepath.Dir(path)) // an error is that of writing there
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || e.Name() == filepath.Base(path) || Name(e.Name()) != filepath.Base(path) || time.Since(info.ModTime()) < time.Second {
			continue
		}
		if f, err := os.OpenFile(filepath.Join(filepath.Dir(path), e.Name()), os.O_WRONLY, 0); err == nil {
			free := lock(f)
			f.Close()
			if free {
				os.Remove(f.Name())
			}
		}
	}
}
