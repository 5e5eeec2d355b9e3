package replace

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// A test starts this program again, which begins a file and is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("REPLACE_FILE"); path != "" {
		File(path, func(w io.Writer) error {
			fmt.Println("begun")
			select {}
		})
	}
	os.Exit(m.Run())
}

// What a killed process was writing is removed when the file is written again; what another one is writing stays, as do files that are only
// called alike.
func TestLeftovers(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "a[1].svg")
	start := func() *exec.Cmd {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "REPLACE_FILE="+path)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		return cmd
	}
	killed, writing := start(), start()
	killed.Process.Kill()
	killed.Wait()
	others := []string{"a[1].svg.0123456z.tmp", "b.svg.01234567.tmp", "a1.svg.01234567.tmp", "a[1].svg.tmp", "01234567.tmp"}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	names := func() (all []string) {
		entries, err := os.ReadDir(folder)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if !slices.Contains(others, e.Name()) {
				all = append(all, e.Name())
			}
			past := time.Now().Add(-time.Minute)
			if err := os.Chtimes(filepath.Join(folder, e.Name()), past, past); err != nil {
				t.Fatal(err)
			}
		}
		if len(entries) != len(all)+len(others) {
			t.Errorf("a file of others is gone: %v", entries)
		}
		return all
	}
	write := func() {
		if err := File(path, func(w io.Writer) error { _, err := w.Write([]byte("new")); return err }); err != nil {
			t.Fatal(err)
		}
	}
	if left := names(); len(left) != 2 {
		t.Fatalf("two processes began %v", left)
	}
	write()
	left := names()
	if len(left) != 2 || left[0] != "a[1].svg" || Name(left[1]) != "a[1].svg" {
		t.Errorf("beside the file is %v, want what is being written", left)
	}
	writing.Process.Kill()
	writing.Wait()
	write()
	if left := names(); len(left) != 1 {
		t.Errorf("after the end of all there are %v", left)
	}
}
