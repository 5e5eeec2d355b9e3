// Package kept tests that a process reads the program which another one compiled.
package kept

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const child = "ANATOMY_TEST_CHILD"

// Program wants compute, which calls one compiled function and returns a line, to return the same in three processes: without
// kept programs, where it keeps one, and where it reads that one. Each process is this test again, up to the call of Program.
// It returns the folder for programs that the last two had, the line, and run, which computes with another folder.
func Program(t *testing.T, compute func() string) (folder, line string, run func(folder string) string) {
	t.Helper()
	if os.Getenv(child) != "" {
		fmt.Println("result", compute())
		os.Exit(0)
	}
	run = func(folder string) string {
		t.Helper()
		c := exec.Command(os.Args[0], "-test.run", "^"+regexp.QuoteMeta(t.Name())+"$")
		c.Env = append(os.Environ(), child+"=1", "ANATOMY_PROGRAMS="+folder)
		out, err := c.CombinedOutput()
		_, result, found := strings.Cut(string(out), "result ")
		if err != nil || !found {
			t.Fatalf("%v: %s", err, out)
		}
		result, _, _ = strings.Cut(result, "\n")
		return result
	}
	folder = filepath.Join(t.TempDir(), "a folder", "[progs]")
	line = run("off")
	if got := run(folder); got != line {
		t.Errorf("%s while the program is kept, %s without", got, line)
	}
	_, first := File(t, folder)
	if got := run(folder); got != line {
		t.Errorf("%s from the kept program, %s without", got, line)
	}
	if _, file := File(t, folder); !os.SameFile(file, first) {
		t.Error("the program was compiled again")
	}
	return folder, line, run
}

// File is the one program that this user has in a folder.
func File(t *testing.T, folder string) (path string, info os.FileInfo) {
	t.Helper()
	folder = filepath.Join(folder, fmt.Sprintf("anatomy-programs-%d", os.Geteuid()))
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 1 {
		t.Fatalf("files %q, error %v: want one program", files, err)
	}
	if info, err = files[0].Info(); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, files[0].Name()), info
}
