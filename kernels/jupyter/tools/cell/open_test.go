package cell

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestOpen(t *testing.T) {
	w := workspace(t)
	for _, c := range []struct{ name, cell, want string }{
		{"statements", "x := 1\nfmt.Println(x)", "%%\nx := 1\nfmt.Println(x)"},
		{"declarations", "type a struct{}\n\nfunc (a) f() {}\nvar (\n\tx = 1\n)", "type a struct{}\n\nfunc (a) f() {}\nvar (\n\tx = 1\n)"},
		{"both", "import \"os\"\nvar n = 2\nx := n\nvar y = x\nfunc f() int {\n\treturn 1\n}\nf()\nfmt.Print(x, y)",
			"import \"os\"\nvar n = 2\nfunc f() int {\n\treturn 1\n}\n%%\nx := n\nvar y = x\nf()\nfmt.Print(x, y)"},
		{"marker", "var n = 2\n%%\nvar m = n\nfmt.Print(m)", "var n = 2\n%%\nvar m = n\nfmt.Print(m)"},
		{"marker with arguments", "%% --k=3\nfmt.Print(k)", "%% --k=3\nfmt.Print(k)"},
		{"function behind the marker", "%%\nfmt.Print(f())\n// f is one.\nfunc f() int { return 1 }", "// f is one.\nfunc f() int { return 1 }\n%%\nfmt.Print(f())"},
		{"command", "!ls\nfmt.Print(1)", "%%\nfmt.Print(1)"},
		{"comments", "// a\nx := 1 // b\n/* c\nd */ fmt.Print(x) // e\n// f", "%%\n// a\nx := 1 // b\n/* c\nd */ fmt.Print(x) // e\n// f"},
		{"one line", "var x = 1; fmt.Print(x)", "var x = 1;\n%%\n           fmt.Print(x)"},
		{"strings", "s := `a\nfunc f() {\n%%`\nfmt.Print(s)", "%%\ns := `a\nfunc f() {\n%%`\nfmt.Print(s)"},
		{"literal", "func(x int) int {\n\treturn x\n}(1);", "%%\nfunc(x int) int {\n\treturn x\n}(1);"},
		{"unfinished", "var s shape\ns.", "var s shape\n%%\ns."},
		{"nested", "for i := range 3 {\n\tvar x = i\n\tfmt.Print(x)\n}\nfmt.Print()", "%%\nfor i := range 3 {\n\tvar x = i\n\tfmt.Print(x)\n}\nfmt.Print()"},

		{"value", "1 + 2", "%%\nnb_.Display(\n1 + 2,\n) // shown"},
		{"value with a comment", "x := 1\nx // one\n// end", "%%\nx := 1\nnb_.Display(\nx, // one\n) // shown\n// end"},
		{"call", "M.Log(\n\ta,\n\tb,\n)", "%%\nnb_.Display(\nM.Log(\n\ta,\n\tb,\n),\n) // shown"},
		{"value behind the marker", "%%\nM.Log(a)", "%%\nnb_.Display(\nM.Log(a),\n) // shown"},
		{"semicolon", "M.Log(a);", "%%\nM.Log(a);"},
		{"no results", "viz.Show(a)", "%%\nviz.Show(a)"},
		{"no results of the standard library", "time.Sleep(1)", "%%\ntime.Sleep(1)"},
		{"results of the standard library", "math.Sqrt(2)", "%%\nnb_.Display(\nmath.Sqrt(2),\n) // shown"},
		{"assignment", "x = 1", "%%\nx = 1"},
		{"function", "func() {}", "%%\nfunc() {}"},
	} {
		lines := strings.Split(c.cell, "\n")
		skip := map[int]struct{}{}
		for i, line := range lines {
			if strings.HasPrefix(line, "!") || strings.HasPrefix(line, "%%") && c.name != "strings" {
				skip[i] = struct{}{}
			}
		}
		o := w.Open(1, lines, skip, -1, 0, true)
		if got := strings.Join(o.Lines, "\n"); got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

func TestOpenKeepsPlaces(t *testing.T) {
	w := workspace(t)
	cell := []string{"x := 1", "func f() {}", "", "M.Log(x)"}
	o := w.Open(1, cell, nil, -1, 0, true)
	lines := make([]int, len(o.Lines))
	for i := range lines {
		lines[i] = i
	}
	lines[0] = -1
	o.Back(lines)
	if want := []int{-1, 0, 0, 3, 3, 3}; !reflect.DeepEqual(lines, want) {
		t.Errorf("%q: got %v, want %v", o.Lines, lines, want)
	}
	for line, want := range map[int]string{0: "x := 1", 1: "func f() {}", 3: "M.Log(x)"} {
		o := w.Open(-1, cell, nil, line, 2, false)
		if o.Line < 0 || o.Lines[o.Line] != want {
			t.Errorf("line %d went to %d of %q", line, o.Line, o.Lines)
		}
	}
}

func TestHide(t *testing.T) {
	w := workspace(t)
	o := w.Open(1, strings.Split("x := f{}\nx.Do(\n\t1,\n)", "\n"), nil, -1, 0, true)
	file := filepath.Join(t.TempDir(), "main.go")
	source := "package main\nfunc main() {\n" + strings.Join(o.Lines[1:], "\n") + "\n}\n"
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	if Hide(file, []byte("main.go:2:1: undefined: y")) {
		t.Error("another error hides a value")
	}
	if !Hide(file, []byte("main.go:2:1: x.Do() (no value) used as value")) {
		t.Fatal("not hidden")
	}
	got, err := os.ReadFile(file)
	if want := "package main\nfunc main() {\nx := f{}\n_ = nb_.Display\nx.Do(\n\t1,\n)\n\n}\n"; err != nil || string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestStatement(t *testing.T) {
	for line, want := range map[string]string{
		"%% fmt.Println(1)": "   fmt.Println(1)",
		"%% x := 1 // c":    "   x := 1 // c",
		"%%":                "%%",
		"%% ":               "%% ",
		"%% --n=3":          "%% --n=3",
		"%% a b":            "%% a b",
		"%main x":           "%main x",
		"x":                 "x",
	} {
		if got := Statement(line); got != want {
			t.Errorf("%q: got %q, want %q", line, got, want)
		}
	}
}

func TestExplainValues(t *testing.T) {
	w := workspace(t)
	w.Open(2, []string{"x := 1", "größe := 2", "z = 3", "func f() { inner := 1 }"}, nil, -1, 0, true)
	w.index = &index{Variables: map[string]*entry{
		"c": {Cell: 1, Why: "it holds a channel"}, "r": {Cell: 3, Recipe: "a", Reads: map[string]string{"s": "1"}}, "s": {Cell: 4, File: "2"}}}
	for message, want := range map[string]string{
		"declared and not used: inner": "`_ = inner`", "undefined: größe": "a function does not see", "undefined: z": "`z := …`",
		"illegal character U+003F '?'": "Shift-Tab", "undefined: c": "cell [1] does not live on: it holds a channel",
		"undefined: r": "from s, which has changed since", "undefined: y": "",
		"assignment mismatch: 1 variable but M.Log returns 2 values":                      "nb.Must(M.Log(…))",
		"assignment mismatch: 2 variables but f(1) returns 3 values":                      "nb.Must2(f(…))",
		"assignment mismatch: 1 variable but f returns 3 values":                          "",
		"multiple-value M.Log(q0, q1) (value of type (r *G, err error)) in argument to f": "nb.Must(M.Log(…))",
	} {
		got := w.Explain(message, -1, 0)
		if !strings.HasPrefix(got, message) || want == "" && got != message || !strings.Contains(got, want) {
			t.Errorf("%s: got %q", message, got)
		}
	}
}

func TestContext(t *testing.T) {
	w := workspace(t)
	w.Open(4, []string{"x := 1", "", "\tmath.Sine(x)", "y"}, nil, -1, 0, true)
	got := w.Context(4, 2, "\tmath.Sine(x),", 7)
	if want := "     1 | x := 1\n     2 | \n     3 | \tmath.Sine(x)\n       | \t     \x1b[31m^\x1b[0m\n     4 | y\n"; got != want {
		t.Errorf("got\n%s", got)
	}
	w.Open(5, []string{"var x = f(", "\t1)"}, nil, -1, 0, true)
	if got := w.Context(5, 0, "\tx = f(", 6); !strings.Contains(got, "\n       |         \x1b[31m^") {
		t.Errorf("got\n%s", got)
	}
	if got := w.Context(5, 0, "something else", 6); strings.Contains(got, "^") {
		t.Errorf("got\n%s", got)
	}
}

func TestMessages(t *testing.T) {
	got := Messages([]string{"# gonb", "a.go:1:2: undefined: r", "a.go:2:2: undefined: r", "a.go:2:4: declared and not used: x", "a.go:3:1: undefined: s", "too many errors", ""})
	if want := []string{"a.go:1:2: undefined: r", "a.go:3:1: undefined: s"}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if got := Messages([]string{"a.go:1:2: syntax error: unexpected )", "a.go:4:1: syntax error: non-declaration"}); len(got) != 1 {
		t.Errorf("got %q", got)
	}
	if got := Messages([]string{"a.go:1:2: expected ')' (and 2 more errors)"}); len(got) != 1 || got[0] != "a.go:1:2: expected ')'" {
		t.Errorf("got %q", got)
	}
	if got := Messages([]string{"a.go:2:4: declared and not used: x"}); len(got) != 1 {
		t.Errorf("got %q", got)
	}
	counts := []string{"a.go:3:9: not enough arguments in call to nb.Must", "\thave (*stats.Mean[P], error)", "\twant (T, error)"}
	if got := Messages(append(counts, "a.go:3:30: undefined: a")); !reflect.DeepEqual(got, []string{"a.go:3:30: undefined: a"}) {
		t.Errorf("got %q", got)
	}
	if got := Messages(append(counts, "a.go:4:30: undefined: a")); len(got) != 4 {
		t.Errorf("got %q", got)
	}
}
