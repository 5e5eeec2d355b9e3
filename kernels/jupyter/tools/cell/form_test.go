package cell

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program writes a cell's program, and the index of the notebook's variables beside it.
func program(t *testing.T, source string, x *index) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	text, err := json.Marshal(x)
	if err := errors.Join(err, os.Mkdir(filepath.Dir(indexFile(file)), 0o700), os.WriteFile(indexFile(file), text, 0o600),
		os.WriteFile(file, []byte(source), 0o600)); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestForm(t *testing.T) {
	x := &index{Variables: map[string]*entry{
		"q": {Cell: 1, Type: "[]float64", File: "one", Group: []string{"q", "r"}}, "r": {Cell: 1, Type: "[]float64", File: "one", Group: []string{"q", "r"}},
		"M": {Cell: 2, Type: "*nb_1.Space", Imports: map[string]string{"nb_1": "a/space"}, Recipe: "abc"},
		"f": {Cell: 3, Type: "int", File: "two", Group: []string{"f"}},
		"s": {Cell: 3, Type: "int", File: "two", Group: []string{"s"}},
	}, Recipes: map[string]*recipe{"abc": {Name: "M", Type: "*nb_1.Space", Source: "M := nb_1.New()", Imports: map[string]string{"nb_1": "a/space"}}}}
	for _, c := range []struct{ name, source, with, without string }{
		{"a value", "func main() {\nprint(q)\n}", `nb_.Load("one", nb_.Types(), nb_.Var("q", &q), nb_.Var("r", &r))`, "nb_1"},
		{"equal values", "func main() {\nprint(f, s)\n}", `nb_.Load("two", nb_.Types(), nb_.Var("f", &f)); var _ = nb_.Load("two", nb_.Types(), nb_.Var("s", &s))`, "nb_1"},
		{"nothing", "func main() {\nprint(1)\n}", "nb_.Begin(7)", "nb_.Load"},
		{"a recipe", "func main() {\nprint(M)\n}", `nb_.Make("M", &M, nb_make_abc)`, "nb_.Load"},
		{"a new variable", "func main() {\nz, _ := 1, q\n}", "z, _ := 1, q; nb_.Bind(nb_.By(\"z, _ := 1, q\", \"\", \"\", nb_.Var(\"q\", &q)), nb_.Var(\"z\", &z))", "nb_1"},
		{"two new variables, of which a recipe may make one", "func main() {\nz, y := 1, 2\n}", "nb_.By(\"z, y := 1, 2; _, _ = z, y\", ", "nb_1"},
		{"a known one", "func main() {\nq := 1\nprint(q)\n}", "q := 1; nb_.Bind(", "nb_.Load"},
		{"a known one that a function names", "func main() {\ng()\nq := 1\n}\nfunc g() { print(q) }", "nb_1 := 1; nb_.Set(&q, &nb_1); nb_.Bind(", ""},
		{"set, not read", "func main() {\nq = nil\n}", "var q []float64", "nb_.Load"},
		{"a function that is not called", "func main() {\n}\nfunc g() { print(q) }", "", "print"},
		{"a function before a variable", "func main() {\nprint(f)\n}\nfunc f() {}", `nb_.Load("two"`, "func f"},
		{"a figure", "import \"anatomy/viz\"\nfunc main() {\nnb_.Display(\nviz.Fig(),\n) // shown\n}", "nb_.Draw(", ""},
		{"a value that is no figure", "func main() {\nnb_.Display(\n1,\n) // shown\n}", "", "nb_.Draw("},
		{"an argument", "func main() {\nfunc(q int) { print(q) }(1)\n}", "", "nb_.Load"},
		{"a field", "func main() {\nvar a struct{ q int }\nprint(a.q)\n}", "", "nb_.Load"},
		{"a global", "var (\n\ty = 2\n)\nfunc main() {\n}", "); var _ = nb_.Bind(nb_.By(\"var y = 2\", \"\", \"\"), nb_.Var(\"y\", &y))", "nb_.Load"},
		{"globals in their order", "var (\n\tb = g()\n\ty = b\n\tb2 = y\n)\nfunc main() {\n}\nfunc g() int { return 1 }", "&b)); var _ = nb_.Bind(nb_.By(\"var y = b\"", ""},
	} {
		l := newLive(x, 7, map[string]bool{})
		src := "package main\n\n" + c.source + "\n"
		out, err := l.program([]byte(src))
		if err != nil || !strings.Contains(string(out), c.with) || c.without != "" && strings.Contains(string(out), c.without) {
			t.Errorf("%s: want %s, not %q, error %v in\n%s", c.name, c.with, c.without, err, out)
		}
		for i, line := range strings.Split(src, "\n") {
			if got := strings.Split(string(out), "\n")[i]; line == "}" && got != line {
				t.Errorf("%s: lines have moved:\n%s", c.name, out)
			}
		}
	}
}

// What a compiler says is of the places of the program, and other forms are tried where they may be right.
func TestPlaces(t *testing.T) {
	x := &index{Variables: map[string]*entry{"q": {Cell: 1, Type: "gone", File: "one", Group: []string{"q"}}}}
	l := newLive(x, 2, map[string]bool{})
	src := "package main\n\nfunc main() {\ng()\nq := 1; bad()\n}\nfunc g() { print(q) }\n"
	form, err := l.program([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	row := strings.Split(string(form), "\n")[4]
	said := []byte("./form/program:5:" + itoa(strings.Index(row, "bad")+1) + ": undefined: bad\n")
	if got, want := string(l.back("main.go", form, said)), "./main.go:5:9: undefined: bad\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if !l.again(form, []byte("./form/program:5:12: type *int of &nb_1 does not match\n")) || !l.plain[5] {
		t.Error("a value of another type gets no variable of its own")
	}
	if !l.again(form, []byte("./form/program:1:"+itoa(strings.Index(string(form), "gone")+1)+": undefined: gone\n")) || l.without["q"] == "" {
		t.Errorf("a variable of a type that has gone is declared again: %v", l.tail)
	}
	if l.again(form, []byte("./form/program:4:1: undefined: g\n")) {
		t.Error("an error of the cell is tried again")
	}
}

func itoa(n int) string { text, _ := json.Marshal(n); return string(text) }

func TestForget(t *testing.T) {
	file := program(t, "", &index{Variables: map[string]*entry{"a": {}, "b": {}, "c": {}}})
	if !Forget(file, "a") || Forget(file, "a") || strings.Join(Values(file), " ") != "b c" {
		t.Error(Values(file))
	}
	if Forget(file); len(Values(file)) > 0 {
		t.Error(Values(file))
	}
}

// A go command in a relative folder of the PATH is not run.
func TestBuildRelative(t *testing.T) {
	w, file := workspace(t), program(t, "package main\n", &index{})
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("bin", 0o700), os.WriteFile("bin/go", []byte("#!/bin/sh\necho ran\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "bin")
	if out, err := w.Build(context.Background(), exec.Command("go", "build"), file, false, nil); !errors.Is(err, exec.ErrDot) || len(out) != 0 {
		t.Errorf("printed %q, error %v", out, err)
	}
}

// A cell that would wait for input is refused, at the place where it does.
func TestKeyboard(t *testing.T) {
	for source, want := range map[string]string{
		"import \"fmt\"\nfunc main() {\nvar x int\nfmt.Scanln(&x)\n}":                         "./main.go:5:1: a cell has no keyboard",
		"import f \"fmt\"\nfunc main() {\nask()\n}\nfunc ask() { f.Scan() }":                  "./main.go:6:14: a cell has no keyboard",
		"import f \"fmt\"\nfunc main() {\n}\nfunc ask() { f.Scan() }":                         "",
		"import (\"bufio\"; \"os\")\nfunc main() {\nbufio.NewScanner(os.Stdin)\n}":            "./main.go:4:1: a cell has no keyboard",
		"import \"os\"\nfunc main() {\nos.Stdin.Read(nil)\n}":                                 "./main.go:4:1: a cell has no keyboard",
		"import (\"os\"; \"os/exec\")\nfunc main() {\nexec.Command(`ls`).Stdin = os.Stdin\n}": "",
		"import \"fmt\"\nfunc main() {\nfmt.Sscan(`1`, nil)\n}":                               "",
	} {
		l := newLive(&index{}, 1, map[string]bool{})
		_, err := l.program([]byte("package main\n" + source))
		if got := string(l.asks("main.go")); err != nil || !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: got %q, want %q, error %v", source, got, want, err)
		}
	}
}

func TestReadable(t *testing.T) {
	file := program(t, "", &index{Variables: map[string]*entry{"M": {Imports: map[string]string{"nb_062c3caf": "anatomy/landmarks", "nb_1": "math/rand/v2"}}}})
	if got, want := Readable(file, "func (*nb_062c3caf.Space) Log(r *nb_1.Rand)"), "func (*landmarks.Space) Log(r *rand.Rand)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
