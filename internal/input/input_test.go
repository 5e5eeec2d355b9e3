package input

import (
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"anatomy/geom/geomtest/expect"
)

// sparse makes a file of so many bytes that takes no room.
func sparse(t *testing.T, size int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "big.vtp")
	if err := os.WriteFile(path, []byte("<VTKFile>"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, size); err != nil {
		t.Skip(err)
	}
	return path
}

func TestOnlyRegularFiles(t *testing.T) {
	for path, want := range map[string]string{t.TempDir(): "is a folder", os.DevNull: "is a device"} {
		expect.Refused(t, expect.Error(Open(path)), want, "data are read from regular files")
	}
}

// A file is read up to the size that it had when it was opened, so one that grows while it is read ends.
func TestGrowingFile(t *testing.T) {
	path := sparse(t, 100)
	in := expect.Must(Open(path))
	defer in.Close()
	if err := os.Truncate(path, 1<<20); err != nil {
		t.Fatal(err)
	}
	if all := expect.Must(io.ReadAll(in)); len(all) != 100 {
		t.Errorf("%d bytes", len(all))
	}
}

// A file that is too large is refused before it is read; with the variable it is not.
func TestLargeFile(t *testing.T) {
	path := sparse(t, 8<<30)
	expect.Refused(t, expect.Error(ReadFile(path)), "big.vtp: at least 8589934592 bytes, and 268435456 are the most", "--large")
	t.Setenv(Large, "1")
	in := expect.Must(Open(path))
	in.Close()
}

// Files that are read into one share what there is.
func TestSharedBudget(t *testing.T) {
	path, within := sparse(t, 100<<20), new(Budget)
	for range 2 {
		in := expect.Must(Open(path, within))
		expect.Must(io.ReadAll(in))
		in.Close()
	}
	expect.Refused(t, expect.Error(Open(path, within)), "are the most")
}

func TestBudget(t *testing.T) {
	b := new(Budget)
	expect.Refused(t, b.Row(Columns+1), "the row has 100001 columns, and 100000 is the most")
	if err := b.Row(Columns); err != nil {
		t.Error(err)
	}
	expect.Refused(t, b.Elements(1<<20), "at least 16877220 cells or elements")
	b = new(Budget)
	b.times, b.calls, b.spent[Seconds] = 1, 1, 16e9
	expect.Refused(t, b.Spend(Numbers, 1), "at least 16 seconds of the processor, and 15 are the most")
	expect.Refused(t, new(Budget).JSON([]byte("["+strings.Repeat("{},", 1<<21)+"{}]"), new([]struct{})), "cells or elements")
}

// What is printable is UTF-8 that an XML parser takes, and text that was printable is as it was.
func TestPrintable(t *testing.T) {
	for _, text := range []string{"\x1b[31mred", "\x01", "\ufffe", "\uffff", "\U0001fffe", "\x9b", "caf\xe9", "\xff\xfe", "\x00", "\u0085", "a\vb", "\u202e\x7f"} {
		got := Printable(text)
		if err := xml.Unmarshal([]byte("<a>"+got+"</a>"), new(string)); err != nil || !utf8.ValidString(got) || got == text {
			t.Errorf("%q is %q: %v", text, got, err)
		}
	}
	for _, text := range []string{"", "Homo sapiens", "Ångström µm\t²\n", "日本 🦴"} {
		if got := Printable(text); got != text {
			t.Errorf("%q is %q", text, got)
		}
	}
}
