package cell

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// workspace is a module with two packages, which use math/rand/v2 and gonum's optimize.
func workspace(t *testing.T) *Workspace {
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                "module shapes\n\ngo 1.26\n",
		"viz/viz.go":            "package viz\n\nimport \"math/rand/v2\"\n\nvar Vermilion = rand.Int()\n\nfunc Show() {}\n\ntype Fig struct{ *base[int]; Width float64 }\n\ntype base[T any] struct{}\n\nfunc (b *base[T]) Layers() []T { return nil }\n\nfunc (f Fig) Title() {}\n\nvar hooks []func(Fig) int\n\ntype Loop struct{ *Back }\n\ntype Back struct{ *Loop; Depth int }\n",
		"fit/fit.go":            "package fit\n\nimport \"gonum.org/v1/gonum/optimize\"\n\nvar _ optimize.Status\n",
		"fit/internal/a/a.go":   "package a\n",
		"one/twice/twice.go":    "package twice\n",
		"two/twice/twice.go":    "package twice\n",
		".hidden/secret/s.go":   "package secret\n",
		"nested/go.mod":         "module other\n",
		"nested/other/other.go": "package other\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return NewWorkspace([]string{root})
}

func TestImports(t *testing.T) {
	w := workspace(t)
	for _, c := range []struct{ body, with, without string }{
		{"viz.Show()", `"shapes/viz"`, ""},
		{"viz.Vermillion()", `"shapes/viz"`, ""}, // misspelt: the compiler tells where
		{"math.Sine(1)", `"math"`, ""},
		{"fmt.Println(math.Pi)", `"math"`, "viz"},
		{"optimize.Nonsense()", `"gonum.org/v1/gonum/optimize"`, ""},
		{"rand.IntN(3)", `"math/rand/v2"`, ""},
		{"viz := 1; fmt.Println(viz)", `"fmt"`, "shapes/viz"},
		{"viz := fig{}; viz.Show()", "", "shapes/viz"},
		{"a.F(); secret.F(); other.F(); twice.F()", "", "import"},
	} {
		out, err := w.Imports("", []byte("package main\n\nfunc main() {\n\t"+c.body+"\n}\n"))
		if err != nil {
			t.Errorf("%s: %v", c.body, err)
			continue
		}
		if !strings.Contains(string(out), c.with) || c.without != "" && strings.Contains(string(out), c.without) {
			t.Errorf("%s: want %s, not %q, in\n%s", c.body, c.with, c.without, out)
		}
	}
	out, err := w.Imports("", []byte("package main\n\nimport (\n\t\"os\"\n\tv \"shapes/viz\"\n)\n\nfunc main() { v.Show() }\n"))
	if err != nil || strings.Contains(string(out), `"os"`) || strings.Count(string(out), "shapes/viz") != 1 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestAddKeepsLines(t *testing.T) {
	w := workspace(t)
	src := "package main\n\nfunc main() {\n\tviz.\n}\n"
	out := string(w.Add([]byte(src)))
	if want := `package main; import "shapes/viz"` + strings.TrimPrefix(src, "package main"); out != want {
		t.Errorf("got\n%s\nwant\n%s", out, want)
	}
	if out := string(w.Add([]byte("no Go"))); out != "no Go" {
		t.Errorf("got %q", out)
	}
}

func TestWriteAll(t *testing.T) {
	file, err := workspace(t).WriteAll(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil || !strings.HasPrefix(string(got), "package all\n") || strings.Count(string(got), "import _ ") != 4 || !strings.Contains(string(got), `"shapes/one/twice"`) {
		t.Errorf("%v\n%s", err, got)
	}
}

func TestANewPackageIsSeen(t *testing.T) {
	w := workspace(t)
	w.path("viz")
	file := filepath.Join(w.roots[0], "late", "late.go")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("package late\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := w.path("late"); p != "shapes/late" {
		t.Errorf("got %q", p)
	}
}

func TestExplain(t *testing.T) {
	w := workspace(t)
	for message, want := range map[string]string{
		"undefined: viz.Vermillion": "undefined: viz.Vermillion (did you mean viz.Vermilion?)",
		"undefined: viz.show":       "undefined: viz.show (did you mean viz.Show?)",
		"undefined: viz.Fog":        "undefined: viz.Fog (did you mean viz.Fig?)",
		"undefined: viz.Landscape":  "undefined: viz.Landscape",
		"undefined: math.Sine":      "undefined: math.Sine (did you mean math.Sin?)",
		"undefined: x":              "undefined: x",
		"f.Titel undefined (type viz.Fig has no field or method Titel)":        "f.Titel undefined (type viz.Fig has no field or method Titel) (did you mean f.Title?)",
		"l.Depht undefined (type *viz.Loop has no field or method Depht)":      "l.Depht undefined (type *viz.Loop has no field or method Depht) (did you mean l.Depth?)",
		"f.Layer undefined (type *viz.Fig has no field or method Layer)":       "f.Layer undefined (type *viz.Fig has no field or method Layer) (did you mean f.Layers?)",
		"f.Withd undefined (type *viz.Fig[int] has no field or method Withd)":  "f.Withd undefined (type *viz.Fig[int] has no field or method Withd) (did you mean f.Width?)",
		"f.Nothing undefined (type viz.Fig has no field or method Nothing)":    "f.Nothing undefined (type viz.Fig has no field or method Nothing)",
		"cannot index d.Shapes (value of type func() [][]float64)":             "cannot index d.Shapes (value of type func() [][]float64): it is called by d.Shapes()",
		"cannot use d.Len (value of type func() int) as int value in argument": "cannot use d.Len (value of type func() int) as int value in argument: it is called by d.Len()",
	} {
		if got := w.Explain(message, -1, 0); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	t.Setenv("ANATOMY_REFUSED", "the module is another user's")
	for _, message := range []string{"undefined: mine", "package their/mine is not in std (/usr/local/go/src/their/mine)"} {
		if got, want := w.Explain(message, -1, 0), message+" (the module is another user's)"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Every hint has an example, which no hint before it takes.
func TestHints(t *testing.T) {
	w := workspace(t)
	w.Open(2, []string{"sum = 3"}, nil, -1, 0, true)
	t.Setenv("ANATOMY_REFUSED", "")
	const wrong = "expected ';', found x"
	used := map[int]bool{}
	for _, c := range []struct{ message, line, want string }{
		{"undefined: sum", "sum = 3", "`sum := …` assigns"},
		{wrong, "import numpy as np", "floats and stat"}, {wrong, "from scipy import stats", "floats and stat"},
		{wrong, "import matplotlib.pyplot as plt", "viz.Plot(x, y)"}, {wrong, "import pandas as pd", `nb.Table("my.csv")`},
		{wrong, "from math import sqrt", "imported where a cell names it"}, {wrong, "import re", "imported where a cell names it"},
		{wrong, "def f(x):", "in Go `func f(x float64)"}, {wrong, "for i in range(n):", "`for i := range n { … }`"},
		{wrong, "for x in xs:", "`for _, x := range xs { … }`"}, {wrong, "    for x in xs: print(x)", "`for _, x := range xs { … }`"},
		{wrong, "for i, x in enumerate(xs):", "`for i, x := range xs { … }`"}, {wrong, "for k, v in d.items():", "`for k, v := range d.items() { … }`"},
		{wrong, "ys = [0] * n", "`make([]float64, n)`"}, {"expected ')', found ','", "x = (1, 2)", "no tuples"},
		{"expected '==', found '='", "viz.Hist(x, bins=10)", "have no names"}, {"expected '==', found '='", "a = b = 3", "`a, b := 0, 0`"}, {"too many return values\n\thave (number)", "return 3", "last expression"},
		{"t.head undefined (type *nb.Frame has no field or method head, but does have method Head)", "t.head()", "in Go t.Head:"},
		{"t.mean undefined (type *nb.Frame has no field or method mean)", "t.mean()", "stat.Mean(t.Numbers("},
		{"invalid argument: t (variable of type *nb.Frame) for built-in len", "len(t)", "t.Len()"},
		{"undefined: np", "x := np.linspace(0, 1, 10)", "floats.Span"}, {"undefined: plot", "plot(x)", "viz.Plot"}, {"undefined: pi", "pi", "math.Pi"},
		{`"a".upper undefined (type untyped string has no field or method upper)`, `"a".upper()`, "strings.ToUpper"},
		{"cannot use 'a' (untyped rune constant 97) as string value in map index", "d['a']", `"a"`},
		{"viz.Plot(x, y).Title undefined (type *viz.Layer has no field or method Title)", `viz.Plot(x, y).Title("a")`, "viz.Fig(viz.Plot(x, y)).Title"},
		{"name show not exported by package viz", "viz.show()", "(did you mean viz.Show?)"}, {"undefined: viz", "viz.show(x)", "(did you mean viz.Show?)"},
		{"undefined: xs", "xs.shape", "no package has this name"}, {"undefined: exit", "exit()", "the menu Kernel"},
		{"cannot use d (variable of type *morpho.Dataset) as shape.Shape value in argument to viz.Outline", "", "d.Shapes()"},
		{"invalid argument: index -2 (constant of type int) must not be negative", "xs[-2:]", "`xs[len(xs)-2:]`"},
		{"xs.sort undefined (type []float64 has no field or method sort)", "xs.sort()", "slices.Sort(x)"},
		{"cannot use xs (variable of type []float64) as float64 value in argument to math.Sin", "math.Sin(xs)", "y[i] = math.Sin(v)"},
		{"not enough arguments in call to stat.Mean\n\thave ([]float64)", "stat.Mean(xs)", "equal weights"},
		{"not enough arguments in call to viz.Histogram", "viz.Histogram(xs)", "viz.Hist(x)"},
		{"too many arguments in call to viz.Scatter", "viz.Scatter(x, y, z)", "ColorBy"},
		{"cannot use xs (variable of type []float64) as string value in argument to viz.Scatter(xs, xs).ColorBy", "", `.ColorBy("age", xs...)`},
		{wrong, "while x > 2:", "`for x > 2 { … }`"},
		{wrong, "ys = [2 * x for x in xs]", "`for _, x := range xs { ys = append(ys, x) }`"}, {wrong, "[x for x in xs if x > 1]", "`for _, x := range xs { ys"},
		{wrong, "'a' in xs", "slices.Contains(xs, 'a')"}, {wrong, "x not in xs", "slices.Contains(xs, x)"}, {wrong, "x if x > 2 else 0", "no value depends on"},
		{wrong, "if x { y } else { z }", ""}, {wrong, "x is None", "`x == nil`"}, {wrong, "x is not y", "`x != y`"}, {wrong, "range(3)", "`for i := range 3 { … }`"},
		{wrong, "raise ValueError", "errors.New"}, {"undefined: pass", "", "`{ }`"}, {"invalid argument: xs (variable of type []int) cannot be ordered", "max(xs)", "slices.Max(xs)"},
		{"cannot index t (variable of type *nb.Frame)", "", `t.Numbers("name")`}, {"undefined: csv.Read", "", "nb.Table"},
		{"t.length undefined (type *nb.Frame has no field or method length)", "t.length", `t.Numbers("length")`},
		{wrong, "if x in xs:", "slices.Contains(xs, x)"}, {wrong, "if x == 3:", "stands in braces"}, {wrong, "if x == 3: print(1)", "stands in braces"},
		{wrong, "else:", "stands in braces"}, {wrong, "if v := x[1:]; len(v > 2 {", ""}, {"illegal label declaration", "elif x:", "stands in braces"},
		{wrong, "try:", "nb.Must(f())"}, {wrong, "except ValueError as e:", "nb.Must(f())"}, {wrong, `with open("x") as f:`, "nb.Must(f())"},
		{wrong, "class Shape:", "type Shape struct"}, {wrong, "assert x == 2", `nb.True("what is claimed", x == 2)`}, {wrong, "del xs", "`%rm xs`"},
		{wrong, "type(x)", `fmt.Printf("%T", x)`}, {wrong, "t := type(xs[0])", `fmt.Printf("%T", xs[0])`}, {wrong, "switch x.(type) {", ""},
		{wrong, `print(f"{x:.2f}")`, "fmt.Sprintf("}, {wrong, `f'{x}'`, "fmt.Sprintf("}, {"undefined: f", `f"{x}"`, "fmt.Sprintf("},
		{"undefined: input", `name := input("name?")`, "a cell has no keyboard"}, {wrong, "!pip install numpy", "go get"}, {wrong, "conda install x", "go get"},
		{"undefined: np", "", "floats and stat"}, {"undefined: plt", "", "viz.Hist(x)"}, {"undefined: pd", "", "nb.Table"},
		{"undefined: True", "", "`true`"}, {"undefined: False", "", "`false`"}, {"undefined: None", "", "`nil`"}, {"undefined: help", "help()", "%help"},
		{"undefined: mean", "", "stat.Mean"}, {"undefined: sorted", "", "slices.Sort(x)"}, {"undefined: open", "", "os.ReadFile"}, {"undefined: list", "", "[]float64{…}"},
		{"xs.append undefined (type []int has no field or method append)", "xs.append(2)", "`xs = append(xs, x)`"},
		{"xs.mean undefined (type []float64 has no field or method mean)", "", "stat.Mean(x, nil)"},
		{"invalid argument: index -1 (constant of type int) must not be negative", "xs[-1]", "`xs[len(xs)-1]`"},
		{"invalid argument: index -2 (constant of type int) must not be negative", "xs[:-2]", "`xs[:len(xs)-2]`"},
		{"illegal types for operand: print", "", "fmt.Println"}, {"invalid operation: operator + not defined on a (variable of type []float64)", "", "floats.AddConst"},
		{"illegal rune literal", "x := 'abc'", `"abc"`}, {"illegal character U+0023 '#'", "# x", "a comment begins with //"}, {wrong, "x ** 2", "math.Pow(x, 2)"},
		{"undefined: not", "not x", "`&&`, `||` and `!`"}, {wrong, "f := lambda x: 2", "func(x float64)"}, {wrong, "x := [1, 2]", "`[]float64{1, 2}`"},
		{wrong, `d := {"a": 1}`, "map[string]float64"}, {"invalid operation: x + 1 (mismatched types string and int)", "", "fmt.Sprint("},
		{`cannot use "red" (constant of type string) as color.Color value in argument to viz.Points(q).Color: string does not implement`, "", "viz.Vermilion"},
		{"no command %time", "", "Record timing"}, {"no command %%timeit", "", "Record timing"}, {"no command %who", "", "%ls"}, {"no command %whos", "", "%ls"},
		{"no command %pip", "", "go get"}, {"no command %matplotlib", "", "pictures need no command"}, {"no command %run", "", "%help lists"},
		{"undefined: viz.Vermillion", "", "(did you mean viz.Vermilion?)"}, {"undefined: fmt.Printn", "", "(did you mean fmt.Printf?)"},
		{"f.Titel undefined (type viz.Fig has no field or method Titel)", "", "(did you mean f.Title?)"},
		{"cannot index d.Shapes (value of type func() [][]float64)", "", "d.Shapes()"}, {"declared and not used: x", "", "`_ = x`"},
		{"illegal character U+003F '?'", "x?", "Shift-Tab"}, {"assignment mismatch: 1 variable but f(1) returns 2 values", "", "nb.Must(f(…))"},
		{"multiple-value f(x) (value of type (int, error)) in argument to g", "", "nb.Must(f(…))"},
		{"undefined: vizz", "vizz.Show()", "(did you mean viz?)"}, {"undefined: frobnicate", "frobnicate.Do()", "no package has this name"}, {"undefined: x", "x + 1", ""},
	} {
		which, got := w.hint(c.message, c.line)
		if used[which] = true; !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%s, %s: got %q, want %q", c.message, c.line, got, c.want)
		}
	}
	t.Setenv("ANATOMY_REFUSED", "the module is another user's")
	which, _ := w.hint("package x is not in std (/go/src/x)", "")
	used[which] = true
	for k, h := range hints {
		if !used[k] {
			t.Errorf("no example of the hint about %v, %v", h.message, h.line)
		}
	}
}

// Shift-Tab among the arguments of a call is about the function.
func TestCalled(t *testing.T) {
	for cell, want := range map[string]string{ // | is the cursor, and ^ where it goes
		"M.Log(|": "M.^Log()", "x := 1\nM.Log(a, |b)": "x := 1\nM.Log(a, ^b)", "M.Log(a, |)": "M.^Log(a, )", "M.Log(a,\n\t|)": "M.^Log(a,\n\t)",
		"f(g(1), |": "^f(g(1), )", "f(g(|": "f(^g())", "f([]int{g(|": "f([]int{^g()})", "f([]int{1, |2})": "f([]int{1, ^2})", `morpho.Read("a|")`: `morpho.^Read("a")`, "// f(|": "// f(^",
		"x + |1": "x + ^1", "f()|": "f()^", "Lo|g": "Lo^g", "σ.Log(|": "σ.^Log()", "%%\nM.Log(|": "%%\nM.^Log()",
	} {
		before, after, _ := strings.Cut(cell, "|")
		lines, line, column := Called(strings.Split(before+after, "\n"), strings.Count(before, "\n"), len(before)-1-strings.LastIndex(before, "\n"))
		lines[line] = lines[line][:column] + "^" + lines[line][column:]
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("%q: got %q, want %q", cell, got, want)
		}
	}
}

func TestPart(t *testing.T) {
	var all, rest []byte
	for _, piece := range []string{"a\n\t", "/x/main.go", ":", "1", "4 +0x32\n/x/main.go is", " it\n/x/main.go:3"} {
		var whole []byte
		whole, rest = Part(append(rest, piece...), "/x/main.go", false)
		if bytes.HasSuffix(whole, []byte(":1")) {
			t.Errorf("the place is cut: %q", whole)
		}
		all = append(all, whole...)
	}
	if want := "/x/main.go:3"; string(rest) != want {
		t.Errorf("held back %q, want %q", rest, want)
	}
	whole, rest := Part(rest, "/x/main.go", true)
	if got, want := string(append(all, whole...)), "a\n\t/x/main.go:14 +0x32\n/x/main.go is it\n/x/main.go:3"; got != want || rest != nil {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestUTF16(t *testing.T) {
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte("a\nσ := größe(\"𝕊\") + x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for column, want := range map[int]int{0: 0, 2: 1, 6: 5, len("σ := größe(\"𝕊"): 14, len("σ := größe(\"𝕊\") + "): 19, 100: 100} {
		if got := UTF16(file, 1, column); got != want {
			t.Errorf("byte %d: column %d, want %d", column, got, want)
		}
	}
}

func TestStatus(t *testing.T) {
	for code, want := range map[string]string{
		"":                          "complete",
		"x := 1":                    "complete",
		"%%\nfmt.Println(1)":        "complete",
		"!ls (":                     "complete",
		"func f() int { return 1 }": "complete",
		"func f() int {":            "incomplete",
		"f(1,":                      "incomplete",
		"x := 1 +":                  "incomplete",
		"s := `open":                "incomplete",
		"/* open":                   "incomplete",
		"x := \"open":               "invalid",
		"f(1]":                      "invalid",
		"}":                         "invalid",
	} {
		if got := Status(code); got != want {
			t.Errorf("%q: got %s, want %s", code, got, want)
		}
	}
}

func TestMakeFolder(t *testing.T) {
	t.Setenv("GOTMPDIR", "")
	dir := t.TempDir()
	in := func(names ...string) string { return filepath.Join(append([]string{dir}, names...)...) }
	for _, name := range []string{"kernel_killed", "kernel_starting", "other_x"} {
		if err := os.Mkdir(in(name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"kernel_killed", "other_x"} {
		if err := os.WriteFile(in(name, lockName), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"kernel_a", "kernel_b"} {
		if err := MakeFolder(in(name)); err != nil {
			t.Fatal(err)
		}
	}
	for name, there := range map[string]bool{"kernel_a": true, "kernel_b": true, "kernel_starting": true, "other_x": true, "kernel_killed": false} {
		if _, err := os.Stat(in(name)); (err == nil) != there {
			t.Errorf("%s: %v", name, err)
		}
	}
	if temporary := os.Getenv("GOTMPDIR"); filepath.Dir(temporary) != in("kernel_b") {
		t.Errorf("temporary files lie in %q", temporary)
	}
	if err := MakeFolder(in("kernel_a")); err == nil {
		t.Error("a folder that exists is taken")
	}
}

// Kernels that start at the same time leave each other's folders alone.
func TestMakeFolderMeanwhile(t *testing.T) {
	t.Setenv("GOTMPDIR", "")
	dir := t.TempDir()
	if name := os.Getenv("CELL_TEST_FOLDER"); name != "" {
		for i := range 60 {
			path := fmt.Sprintf("%s_%d", name, i)
			if err := MakeFolder(path); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(path, lockName)); err != nil {
				t.Fatal("removed: ", err)
			}
		}
		return
	}
	var kernels [4]*exec.Cmd
	for i := range kernels {
		kernels[i] = exec.Command(os.Args[0], "-test.run=^TestMakeFolderMeanwhile$")
		kernels[i].Env = append(os.Environ(), "CELL_TEST_FOLDER="+filepath.Join(dir, fmt.Sprintf("kernel_%d", i)))
		if err := kernels[i].Start(); err != nil {
			t.Fatal(err)
		}
	}
	for _, k := range kernels {
		if err := k.Wait(); err != nil {
			t.Error(err)
		}
	}
}
