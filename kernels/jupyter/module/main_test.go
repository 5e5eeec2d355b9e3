package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"anatomy/geom/engine/trusted"
)

// The nearest go.mod counts, whoever wrote it; one that others may have written is refused, with its folder, and not passed
// over for one further up.
func TestFind(t *testing.T) {
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	deep := filepath.Join(top, "mine/notebooks/deep")
	noFile := filepath.Join(top, "mine/notebooks/go.mod")
	if err := errors.Join(os.MkdirAll(deep, 0o755), os.MkdirAll(noFile, 0o755)); err != nil {
		t.Fatal(err)
	}
	if got, err := find(deep); err != nil || got != "" {
		t.Errorf("without a go.mod: %q, %v", got, err)
	}
	for _, dir := range []string{top, filepath.Join(top, "mine")} {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module mine\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(deep, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		for _, from := range []string{deep, filepath.Join(dir, "link")} {
			if got, err := find(from); err != nil || got != dir {
				t.Errorf("from %s: %q, %v", from, got, err)
			}
		}
	}
	mine := filepath.Join(top, "mine")
	spoil := map[string]func() error{
		"a folder that everybody may write to":        func() error { return os.Chmod(mine, 0o777) },
		"a sticky folder that everybody may write to": func() error { return os.Chmod(mine, 0o777|os.ModeSticky) },
		"a go.mod that everybody may write to":        func() error { return os.Chmod(filepath.Join(mine, "go.mod"), 0o666) },
	}
	if os.Geteuid() == 0 { // only root can give a file away
		spoil["another user's folder"] = func() error { return os.Chown(mine, 65534, -1) }
		spoil["another user's go.mod"] = func() error { return os.Chown(filepath.Join(mine, "go.mod"), 65534, -1) }
	}
	for what, spoil := range spoil {
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if got, err := find(deep); !errors.Is(err, trusted.ErrUnsafe) {
			t.Errorf("%s: %q, error %v", what, got, err)
		}
		for _, path := range []string{mine, filepath.Join(mine, "go.mod")} {
			if err := errors.Join(os.Chmod(path, 0o755), os.Chown(path, os.Geteuid(), -1)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := find(deep); err != nil || got != mine {
			t.Errorf("after %s: %q, error %v", what, got, err)
		}
	}
}
