package programs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"anatomy/geom/engine/trusted"
)

// inFolder keeps programs in a new folder.
func inFolder(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "programs")
	var err error
	if folder, err = open(path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return path
}

func key(i int) string { return fmt.Sprintf("%064x", i) }

// put writes a file of the given start and size, which takes no room on the disk, last used at a time.
func put(t *testing.T, path, start string, size, used int64) {
	t.Helper()
	if err := os.WriteFile(path, []byte(start), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Unix(used, 0), time.Unix(used, 0)); err != nil {
		t.Fatal(err)
	}
}

// Of 1.2 GB the older programs go until half a gigabyte is left. What others put there stays and does not count, old and
// large as it is, whatever its name.
func TestPrune(t *testing.T) {
	dir := inFolder(t)
	foreign := []string{"thesis.pdf", "new-york.csv", key(100), "0123"}
	for _, name := range foreign {
		put(t, filepath.Join(dir, name), "somebody's work", 1<<30, 1)
	}
	if err := os.Symlink(filepath.Join(dir, "thesis.pdf"), filepath.Join(dir, key(101))); err != nil {
		t.Fatal(err)
	}
	foreign = append(foreign, key(101))
	for i := range 12 {
		put(t, filepath.Join(dir, key(i)), mark, 100<<20, int64(1000+i*7%12))
	}
	put(t, filepath.Join(dir, "new-1"), mark, 100<<20, 1) // a process was killed while it wrote
	prune()
	for _, name := range foreign {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Errorf("a foreign file: %v", err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != len(foreign)+5 {
		t.Fatalf("%d files are left, error %v", len(entries), err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Contains(foreign, e.Name()) && info.ModTime().Unix() < 1007 {
			t.Errorf("%s is kept, younger ones are not", e.Name())
		}
	}
}

// A program is found under its own key only, whole, in a file that nobody else can write to.
func TestRead(t *testing.T) {
	dir := inFolder(t)
	at := func(i int) string { return filepath.Join(dir, key(i)) }
	write(key(1), []byte("one"))
	write(key(2), []byte("two"))
	if got := read(key(1)); string(got) != "one" {
		t.Fatalf("read %q", got)
	}
	one, err := os.ReadFile(at(1))
	if err != nil {
		t.Fatal(err)
	}
	remove := func() error { return os.Remove(at(2)) }
	for what, spoil := range map[string]func() error{
		"another key's program":      func() error { return os.WriteFile(at(2), one, 0o600) },
		"a damaged program":          func() error { return os.WriteFile(at(2), append(one[:len(one)-1:len(one)-1], 'x'), 0o600) },
		"half a program":             func() error { return os.WriteFile(at(2), one[:len(mark)+3], 0o600) },
		"nothing":                    func() error { return os.WriteFile(at(2), nil, 0o600) },
		"a link":                     func() error { return errors.Join(remove(), os.Symlink(at(1), at(2))) },
		"a file others may write to": func() error { return os.Chmod(at(2), 0o620) },
		"a pipe":                     func() error { return errors.Join(remove(), syscall.Mkfifo(at(2), 0o600)) },
	} {
		_ = remove()
		write(key(2), []byte("two"))
		if got := read(key(2)); string(got) != "two" {
			t.Fatalf("before %s: read %q", what, got)
		}
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		if got := read(key(2)); got != nil {
			t.Errorf("%s: read %q", what, got)
		}
	}
}

// A damaged program is written anew; what is not ours stays as it is, and no half-written file is left.
func TestWrite(t *testing.T) {
	dir := inFolder(t)
	path := filepath.Join(dir, key(1))
	for _, c := range []struct {
		there    string
		replaced bool
	}{{mark + "damaged", true}, {"", true}, {"somebody's work", false}} {
		if err := os.WriteFile(path, []byte(c.there), 0o600); err != nil {
			t.Fatal(err)
		}
		write(key(1), []byte("one"))
		text, err := os.ReadFile(path)
		if replaced := string(text) != c.there; err != nil || replaced != c.replaced {
			t.Errorf("%q: replaced %t, error %v", c.there, replaced, err)
		}
	}
	if err := errors.Join(os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	write(key(1), []byte("one"))
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Type() != os.ModeNamedPipe {
		t.Errorf("the folder has %v, error %v, want the pipe alone", entries, err)
	}
}

// The folder is a real one, this user's, and nobody else can write to it.
func TestOpen(t *testing.T) {
	dir := t.TempDir()
	for _, mode := range []os.FileMode{0o700, 0o755, 0o770, 0o777, 0o777 | os.ModeSticky} {
		path := filepath.Join(dir, mode.String())
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
		root, err := open(path)
		if safe := mode&0o022 == 0; safe != (err == nil) || !safe && !errors.Is(err, trusted.ErrUnsafe) {
			t.Errorf("mode %s: error %v", mode, err)
		}
		if err == nil {
			root.Close()
		}
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "-rwx------"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := open(link); !errors.Is(err, trusted.ErrUnsafe) {
		t.Errorf("a link: error %v", err)
	}
	if os.Geteuid() == 0 { // only root can give a folder away
		path := filepath.Join(dir, "given")
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chown(path, 12345, -1)); err != nil {
			t.Fatal(err)
		}
		if _, err := open(path); !errors.Is(err, trusted.ErrUnsafe) || !strings.Contains(err.Error(), path) {
			t.Errorf("another user's folder: error %v", err)
		}
	}
}

// Programs of different devices have different keys, and none before the device is known.
func TestKeysHoldTheDevice(t *testing.T) {
	was := device
	defer func() { device = was }()
	keys := map[string]bool{}
	for _, d := range []string{"TFRT_CPU_0", "another CPU"} {
		On(d)
		keys[keyOf([]byte("code"), []byte("options"))] = true
	}
	if On(""); len(keys) != 2 || keys[""] || keyOf([]byte("code"), nil) != "" {
		t.Errorf("keys %v", keys)
	}
}
