package nb

import (
	"bytes"
	"errors"
	"fmt"
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

// Calls whose value differs from one run of their line to the next, and whose key does not, are refused.
func TestKeepWantsKeys(t *testing.T) {
	for _, c := range []struct{ source, depends string }{
		{`func fit(g string) string { return nb.Keep("fit", func() (string, error) { return "fit of " + g, nil }) }`, "g"},
		{`func fit(g string) string { return nb.Keep("fit "+g, func() (string, error) { return "fit of " + g, nil }) }`, ""},
		{`func fit(g string, n int) int { return nb.Keep(fmt.Sprint(n), func() (int, error) { return n, nil }) }`, ""},
		{`func fit(g string) int { return nb.Keep("fit", func() (int, error) { g := 1; return g, nil }) }`, ""},
		{`func fit() int { n := 1; return nb.Keep("fit", func() (int, error) { return n, nil }) }`, ""},
		{`func (s study) fit() int { return nb.Keep[int]("fit", s.compute) }`, "s"},
		{`func fit(g string) int {
			h := len(g)
			compute := func() (int, error) { return h, nil }
			return nb.Keep("fit", compute)
		}`, "compute"},
		{`func fit(g string) int {
			key := "fit of " + g
			return nb.Keep(key, func() (int, error) { return len(g), nil })
		}`, ""},
		{`func main() {
			for i := range 3 {
				fmt.Print(nb.Keep("v", func() (int, error) { return i * i, nil }))
			}
		}`, "i"},
		{`func main() {
			for i := 0; i < 3; i++ {
				fmt.Print(nb.Keep(fmt.Sprint("v", i), func() (int, error) { return i * i, nil }))
			}
		}`, ""},
		{`func main() {
			q := []float64{1}
			for range 3 {
				fmt.Print(nb.Keep("v", func() (float64, error) { return 2 * q[0], nil }))
				q[0]++
			}
		}`, "q"},
		{`func main() {
			q := 1
			q++
			for range 3 {
				fmt.Print(nb.Keep("v", func() (int, error) { q := q; return q, nil }))
			}
		}`, ""},
		{`func main() {
			g := "controls"
			fit := func() string { return nb.Keep("fit", func() (string, error) { return "fit of " + g, nil }) }
			fmt.Print(fit())
			g = "patients"
			fmt.Print(fit())
		}`, "g"},
		{`func main() {
			g := "controls"
			fit := func() string { return nb.Keep("fit", func() (string, error) { return "fit of " + g, nil }) }
			fmt.Print(fit(), fit())
		}`, ""},
		{`var g, n = "controls", 1
		func fit() string { return nb.Keep("fit", func() (string, error) { return "fit of " + g, nil }) }
		func main() { fmt.Print(fit()); g = "patients"; fmt.Print(fit()) }`, "g"},
		{`var g, n = "controls", 1
		func fit() string { return nb.Keep("fit", func() (string, error) { return "fit of " + g, nil }) }
		func main() { n = 2; fmt.Print(fit()) }`, ""},
		{`var fits = each(func(g string) int { return nb.Keep("fit", func() (int, error) { return len(g), nil }) })`, "g"},
		{`var fit = nb.Keep("fit", func() (int, error) { s := 0; for i := range 3 { s += i }; return s, nil })`, ""},
	} {
		source := "package main\n" + c.source + "\n"
		_, err := fingerprint(write(t, source), lineOf(t, source, "nb.Keep"))
		if c.depends == "" && err != nil || c.depends != "" && (err == nil || !strings.HasPrefix(err.Error(), "it depends on "+c.depends+",")) {
			t.Errorf("%s: got %v, want that it depends on %q", c.source, err, c.depends)
		}
		if err != nil && strings.Contains(err.Error(), "Sprint") {
			t.Errorf("%v: two data sets print alike", err)
		}
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
		got, note, err := keep(path, line, key, compute)
		if note != "" || err != nil || !reflect.DeepEqual(got, want) {
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
	if n, _, err := keep(path, line, "a", func() (int, error) { return 7, nil }); n != 7 || err != nil {
		t.Errorf("another type under the same key: got %v, %v", n, err)
	}

	for range 2 {
		if p, note, err := keep(path, line, "pointer", func() (*int, error) { return nil, nil }); p != nil || note != "" || err != nil {
			t.Errorf("a nil pointer: got %v, %v", p, err)
		}
	}

	failure := errors.New("did not converge")
	for range 2 {
		if _, _, err := keep(path, line, "failing", func() (int, error) { return 1, failure }); err != failure {
			t.Errorf("got %v, want the error of compute", err)
		}
	}
}

func TestKeepRefuses(t *testing.T) {
	path := write(t, notebook)
	line := lineOf(t, notebook, `nb.Keep("kept"`)
	_, _, err := keep(path, line, "k", func() (struct{ A, b int }, error) { panic("computed in vain") })
	expect.Refused(t, err, "field b is not exported")
	_, _, err = keep(path, line, "k", func() ([]func(), error) { panic("computed in vain") })
	expect.Refused(t, err, "type func() cannot be stored")
	_, _, err = keep(path, line, "k", func() (map[string]error, error) { panic("computed in vain") })
	expect.Refused(t, err, "type error cannot be stored")
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "kept", "*")); len(left) != 0 {
		t.Errorf("refused values left %v", left)
	}
}

// What was computed is returned though it cannot be stored, and a note says so.
func TestKeepReturnsWhatItCannotStore(t *testing.T) {
	path := write(t, notebook)
	line := lineOf(t, notebook, `nb.Keep("kept"`)
	calls := 0
	for i := range 2 {
		got, note, err := keep(path, line, "nil", func() ([]*int, error) { calls++; return []*int{&calls, nil}, nil })
		if err != nil || len(got) != 2 || *got[0] != i+1 || !strings.HasPrefix(note, `note: each later cell computes nb.Keep("nil") again: the value cannot be stored: gob`) {
			t.Errorf("got %v, %q, %v", got, note, err)
		}
	}
	if err := os.RemoveAll(filepath.Join(filepath.Dir(path), "kept")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "kept"), nil, 0o600); err != nil { // a file, no folder
		t.Fatal(err)
	}
	if got, note, err := keep(path, line, "k", func() (int, error) { return 7, nil }); got != 7 || !strings.Contains(note, "not a directory") || err != nil {
		t.Errorf("got %v, %q, %v", got, note, err)
	}
}

// What encoding/gob makes another value of is this other value from the first cell on, and a note says so.
func TestKeepIsTheSameInAllCells(t *testing.T) {
	type value struct {
		P     *float64
		Empty []int
		A, B  *int
	}
	path := write(t, notebook)
	line := lineOf(t, notebook, `nb.Keep("kept"`)
	one := 1
	for name, v := range map[string]value{"pointer to 0": {P: new(0.0)}, "empty": {Empty: []int{}}, "twice": {A: &one, B: &one}} {
		first, note, err := keep(path, line, name, func() (value, error) { return v, nil })
		if !strings.HasPrefix(note, fmt.Sprintf("note: nb.Keep(%q) is what encoding/gob makes of the value", name)) || err != nil {
			t.Errorf("%s: got %q, %v", name, note, err)
		}
		later, note, err := keep(path, line, name, func() (value, error) { panic("computed in vain") })
		if note != "" || err != nil || !reflect.DeepEqual(first, later) || first.A != nil && first.A == first.B {
			t.Errorf("%s: got %+v, then %+v, %q, %v", name, first, later, note, err)
		}
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
		got, _, err := keep(path, line, "k", func() ([]float64, error) { calls++; return want, nil })
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
