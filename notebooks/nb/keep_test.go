package nb

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"anatomy/geom/geomtest/expect"
)

const notebook = `package main

import (
	"fmt"

	"anatomy/notebooks/nb"
)

const (
	first = iota
	second
)

type fit struct{ Slope float64 }

func (f *fit) at(t float64) float64 { return f.Slope * t }

func (f fit) Len() int { return 1 }

func regress(n int) (fit, error) { return fit{float64(n)}, nil }

var order = second

var kept = nb.Keep("kept", func() (fit, error) {
	return regress(order)
})

func unrelated() {}

func main() {
	q := 1.0
	fmt.Println("hello")
	q *= 2
	local := nb.Keep("local", func() (float64, error) { return kept.at(q), nil })
	fmt.Println(local)
}
`

// lineOf returns the number of the line that holds the text.
func lineOf(t *testing.T, source, text string) int {
	before, _, found := strings.Cut(source, text)
	if !found {
		t.Fatalf("no %q in the source", text)
	}
	return 1 + strings.Count(before, "\n")
}

func write(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFingerprint(t *testing.T) {
	of := func(source, call string) string {
		t.Helper()
		print, err := fingerprint(write(t, source), lineOf(t, source, call))
		if err != nil {
			t.Fatal(err)
		}
		return print
	}
	const inVar, inMain = `nb.Keep("kept"`, `nb.Keep("local"`
	for _, c := range []struct {
		old, new                string
		changesVar, changesMain bool
	}{
		{"hello", "good-bye", false, false},
		{"func unrelated() {}", "func unrelated() { return }", false, false},
		{`fmt.Println(local)`, `fmt.Println(local, local)`, false, false},
		{"package main\n", "package main\n\n// A comment moves every line.\n", false, false},
		{"return regress(order)", "return regress(order + 1)", true, true},
		{"float64(n)}", "-float64(n)}", true, true},
		{"var order = second", "var order = first", true, true},
		{"first = iota", "first = iota + 1", true, true},
		{"Slope float64", "Slope float64; Base float64", true, true},
		{"f.Slope * t", "f.Slope + t", true, true},
		{"return 1", "return 2", true, true}, // an interface may call it
		{"q := 1.0", "q := 3.0", false, true},
		{"q *= 2", "q *= 3", false, true},
	} {
		changed := strings.Replace(notebook, c.old, c.new, 1)
		if changed == notebook {
			t.Fatalf("no %q in the notebook", c.old)
		}
		if got := of(notebook, inVar) != of(changed, inVar); got != c.changesVar {
			t.Errorf("%q → %q changes the variable's fingerprint: %v", c.old, c.new, got)
		}
		if got := of(notebook, inMain) != of(changed, inMain); got != c.changesMain {
			t.Errorf("%q → %q changes the fingerprint in main: %v", c.old, c.new, got)
		}
	}
	if _, err := fingerprint(write(t, notebook), 2); err == nil {
		t.Error("a line without a statement has a fingerprint")
	}
}

func TestKeep(t *testing.T) {
	type record struct {
		Shapes [][]float64
		Note   map[string]int
		When   time.Time
	}
	want := record{[][]float64{{1, 2}, {3, 4}}, map[string]int{"n": 2}, time.Unix(1, 0).UTC()}
	path := write(t, notebook)
	line := lineOf(t, notebook, `nb.Keep("kept"`)
	calls := 0
	compute := func() (record, error) { calls++; return want, nil }
	get := func(key string) {
		t.Helper()
		got, err := keep(path, line, key, compute)
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, %v", got, err)
		}
	}
	get("a")
	get("a")
	get("b/c: any text")
	get("b/c: any text")
	if calls != 2 {
		t.Errorf("computed %d times, want once for each of two keys", calls)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(notebook, "regress(order)", "regress(0)", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	get("a")
	if calls != 3 {
		t.Errorf("computed %d times: the change of the statement went unseen", calls)
	}
	t.Setenv("ANATOMY_SET", "n=3")
	get("a")
	if calls != 4 {
		t.Errorf("computed %d times: the change of the environment went unseen", calls)
	}
	if n, err := keep(path, line, "a", func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("another type under the same key: got %v, %v", n, err)
	}

	for range 2 {
		if p, err := keep(path, line, "pointer", func() (*int, error) { return nil, nil }); p != nil || err != nil {
			t.Errorf("a nil pointer: got %v, %v", p, err)
		}
	}

	failure := errors.New("did not converge")
	for range 2 {
		if _, err := keep(path, line, "failing", func() (int, error) { return 1, failure }); err != failure {
			t.Errorf("got %v, want the error of compute", err)
		}
	}
}

func TestKeepRefuses(t *testing.T) {
	path := write(t, notebook)
	line := lineOf(t, notebook, `nb.Keep("kept"`)
	_, err := keep(path, line, "k", func() (struct{ A, b int }, error) { panic("computed in vain") })
	expect.Refused(t, err, "field b is not exported")
	_, err = keep(path, line, "k", func() ([]func(), error) { panic("computed in vain") })
	expect.Refused(t, err, "type func() cannot be stored")
	_, err = keep(path, line, "k", func() (map[string]error, error) { panic("computed in vain") })
	expect.Refused(t, err, "type error cannot be stored")
	_, err = keep(path, line, "k", func() ([]*int, error) { return []*int{nil}, nil })
	expect.Refused(t, err, "nil")
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "kept", "*")); len(left) != 0 {
		t.Errorf("refused values left %v", left)
	}
}

// A file of a kept value whose bytes have changed or that breaks off is no error and gives no wrong value: the value is
// computed again, and kept.
func TestKeepBroken(t *testing.T) {
	path := write(t, notebook)
	line := lineOf(t, notebook, `nb.Keep("kept"`)
	want := []float64{1, 2, 3}
	calls := 0
	get := func(what string, computed int) {
		t.Helper()
		got, err := keep(path, line, "k", func() ([]float64, error) { calls++; return want, nil })
		if err != nil || !reflect.DeepEqual(got, want) || calls != computed {
			t.Fatalf("%s: got %v, %v, computed %d times, want %d", what, got, err, calls, computed)
		}
	}
	get("at first", 1)
	stored, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "kept", "*.gob"))
	whole, err := os.ReadFile(stored[0])
	if err != nil {
		t.Fatal(err)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)-1] ^= 1 // a number of the value
	for what, content := range map[string][]byte{"no gob": []byte("no gob"), "empty": nil, "cut": whole[:len(whole)-1], "a bit flipped": flipped} {
		if err := os.WriteFile(stored[0], content, 0o600); err != nil {
			t.Fatal(err)
		}
		get(what, calls+1)
		get(what+", mended", calls)
	}
}

func TestCaller(t *testing.T) {
	_, here, line, _ := runtime.Caller(0)
	file, at := caller(filepath.Dir(here))
	if file != here || at != line+1 {
		t.Errorf("got %s:%d, want %s:%d", file, at, here, line+1)
	}
	if file, _ := caller(t.TempDir()); file != "" {
		t.Errorf("found %s in an empty folder", file)
	}
	if file, _ := caller(""); file != "" {
		t.Errorf("found %s without a folder", file)
	}
}

func TestKeepOutsideNotebook(t *testing.T) {
	calls := 0
	for range 2 {
		if got := Keep("x", func() (int, error) { calls++; return calls, nil }); got != calls {
			t.Errorf("got %d, want %d", got, calls)
		}
	}
	if calls != 2 {
		t.Errorf("computed %d times, want 2", calls)
	}
}
