package main

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

// A disk that is full ends a task with a sentence; what is whole stays, and nothing else is left.
func TestFullDisk(t *testing.T) {
	data, out := skulls(t, 9), t.TempDir()
	if err := syscall.Mount("tmpfs", out, "tmpfs", 0, "size=12k"); err != nil {
		t.Skipf("only root may mount a small file system: %v", err)
	}
	defer syscall.Unmount(out, 0)
	err := runStudy([]string{"register", "-data", data, "-out", out})
	if err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("%v, want that no space is left", err)
	}
	files, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	whole := contents(t, out)
	if len(whole) < 2 || len(whole) > 8 || len(files) != len(whole) {
		t.Errorf("%v on the disk, want the study and some results", files)
	}
	if err := runStudy([]string{"collect", "-out", out}); err == nil {
		t.Error("collected from a full disk")
	}
	if err := syscall.Mount("tmpfs", out, "tmpfs", syscall.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	run(t, "register", "-data", data, "-out", out)
	run(t, "collect", "-out", out)
	for name, text := range whole {
		if contents(t, out)[name] != text {
			t.Errorf("%s was changed", name)
		}
	}
}
