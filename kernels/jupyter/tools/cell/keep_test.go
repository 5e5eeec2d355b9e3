package cell

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// program writes a program into a folder.
func program(t *testing.T, lines string) string {
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte("package main\n\n"+lines+"\n\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestKeep(t *testing.T) {
	w := workspace(t)
	for _, c := range []struct{ name, declarations, want string }{
		{"a call", "var x = f()\nfunc f() int { return 1 }", `var x = nb_.First(nb_.Watched("x", PRINT, ""), f())`},
		{"what it depends on", "var x = f()\nvar y = g(x)\nvar z = 1\nfunc f() int { return z }\nfunc g(n int) int { return n }",
			`var y = nb_.First(nb_.Watched("y", PRINT, "", &x, &z), g(x))`},
		{"methods", "type t int\nvar n = 1\nvar x = t(2).f()\nfunc (t) f() int { return n }", `var x = nb_.First(nb_.Watched("x", PRINT, "", &n), t(2).f())`},
		{"a type", "var x []int = f()\nfunc f() []int { return nil }", `var x []int = nb_.First[[]int](nb_.Watched("x", PRINT, ""), f())`},
		{"results", "var x, err = f()\nfunc f() (int, error) { return 0, nil }", `var x, err = nb_.First(nb_.Watched("x, err", PRINT, ""), nb_.Two(f())).Values()`},
		{"values", "var x, y = f(), 1\nfunc f() int { return 0 }", `var x, y = nb_.First(nb_.Watched("x", PRINT, ""), f()), 1`},
		{"lines", "var x = f(\n\t1,\n)\nfunc f(int) int { return 0 }", "var x = nb_.First(nb_.Watched(\"x\", PRINT, \"\"), f(\n\t1,\n))"},
		{"an effect", "import \"os\"\nvar x = f()\nfunc f() int { return len(os.Args) }",
			`nb_.Watched("x", PRINT, "os.Args may read, write or show what is outside of the program; nb.Keep keeps it all the same")`},
		{"what was read", "import \"os\"\nvar d, _ = os.ReadFile(\"d\")\nvar x = f(d)\nfunc f(d []byte) int { return len(d) }", `nb_.Watched("x", PRINT, "", nb_.Acting(&d, "os.ReadFile may read, write or show what is outside of the program; nb.Keep keeps it all the same")), f(d)`},
		{"what a function has read, or a function that reads", "import \"os\"\nvar d = g()\nvar x = f()\nfunc f() int { return d }\nfunc g() int { return len(os.Args) }", `nb_.Watched("x", PRINT, "", nb_.Acting(&d, "os.Args may read, write or show what is outside of the program; nb.Keep keeps it all the same")), f()`},
		{"a function that reads, by a variable", "import \"os\"\nvar n = 1\nvar g = func() int { return h() }\nvar x = n + g()\nfunc h() int { return len(os.Args) }",
			`nb_.Watched("x", PRINT, "", nb_.Acting(&g, "os.Args`},
		{"a function of another package", "import \"os\"\nvar g = os.Getpid\nvar x = g()", `nb_.Acting(&g, "os.Getpid`},
		{"functions in a map", "import \"os\"\nvar g = map[string]func() int{\"a\": os.Getpid}\nvar x = f()\nfunc f() int { return g[\"a\"]() }", `nb_.Acting(&g, "os.Getpid`},
		{"a method of a value", "import \"math/rand/v2\"\nvar r = rand.New(rand.NewPCG(1, 2))\nvar g = r.Float64\nvar x = g()", `PRINT, "", &g, &r)`},
		{"names of a dot import", "import . \"os\"\nvar x = f()\nfunc f() int { strings.ToUpper(``); return len(Args) }", `PRINT, "Args may`},
		{"reading ones", "import . \"anatomy/landmarks/morpho\"\nvar x = f()\nfunc f() *Dataset { d, _ := Read(\"d.csv\"); return d }", `PRINT, "Read may`},
		{"others", "import . \"math\"\nvar x = f()\nfunc f() float64 { return Sqrt(2) }", `PRINT, "")`},
		{"what it reads, and a function has", "import \"os\"\nvar d = g()\nvar x = f(d)\nfunc f(int) int { return g() }\nfunc g() int { return len(os.Args) }", `nb_.Watched("x", PRINT, "os.Args`},
		{"a method that reads", "import \"os\"\ntype t int\nvar d = g()\nvar x = d.f()\nfunc g() t { return 1 }\nfunc (t) f() int { return h() }\nfunc h() int { return len(os.Args) }",
			`nb_.Watched("x", PRINT, "os.Args`},
		{"a random number", "import \"math/rand/v2\"\nvar x = rand.Float64()", `PRINT, "rand.Float64 may`},
		{"a seed", "import \"math/rand/v2\"\nvar x = rand.New(rand.NewPCG(1, 2)).Float64()", `PRINT, "")`},
		{"no calls", "var x, y = 1, []float64{float64(len(\"a\"))}\nvar z func() = func() { g() }\nfunc g() {}", ""},
		{"a blank", "var _ = f()\nfunc f() int { return 1 }", ""},
		{"nb.Keep", "import \"anatomy/notebooks/nb\"\nvar x = nb.Keep(\"x\", func() (int, error) { return f(), nil })\nfunc f() int { return 1 }", ""},
		{"a circle of methods", "type t int\nvar x = f(0)\nfunc f(t) int { return 1 }\nfunc (t) g() int { return x }", ""},
		{"errors", "var x = f(", ""},
	} {
		file := program(t, c.declarations)
		k := w.Keep(file)
		if c.want == "" {
			if k.Overlay != "" {
				t.Errorf("%s: kept", c.name)
			}
			continue
		}
		got, err := os.ReadFile(filepath.Join(filepath.Dir(file), "kept", "program"))
		if err != nil || k.Overlay == "" {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		text := string(got)
		for _, print := range k.prints {
			text = strings.ReplaceAll(text, `"`+print+`"`, "PRINT")
		}
		if !strings.Contains(text, c.want) || !strings.HasPrefix(text, `package main; import nb_ "anatomy/notebooks/nb"`+"\n") {
			t.Errorf("%s: want %s in\n%s", c.name, c.want, text)
		}
		if original, _ := os.ReadFile(file); strings.Count(text, "\n") != strings.Count(string(original), "\n") {
			t.Errorf("%s: lines have moved:\n%s", c.name, text)
		}
	}
}

func TestKeepRemembers(t *testing.T) {
	w := workspace(t)
	file := program(t, "var x = f()\nfunc f() int { return g() }\nfunc g() int { return 1 }\nfunc h() {}")
	kept := func() (*Kept, string) {
		k := w.Keep(file)
		text, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "kept", "program"))
		return k, string(text)
	}
	change := func(from, to string) {
		text, err := os.ReadFile(file)
		if err != nil || !strings.Contains(string(text), from) {
			t.Fatal(err, from)
		}
		if err := os.WriteFile(file, []byte(strings.Replace(string(text), from, to, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	k, _ := kept()
	known := `{"Print": "` + k.prints["x"] + `", "Kept": true, "Type": "nb_1.T", "Imports": {"nb_1": "some/where"}}`
	if err := os.WriteFile(k.file("x"), []byte(known), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, text := kept(); !strings.Contains(text, `func() nb_1.T { return f() })`) || !strings.Contains(text, `; import nb_1 "some/where"`) {
		t.Error(text)
	}
	change("func h() {}", "func h() { f() }")
	if _, text := kept(); !strings.Contains(text, "nb_.Kept(") {
		t.Error("another function changed: " + text)
	}
	change("return 1", "return 2")
	if _, text := kept(); !strings.Contains(text, "nb_.First(") {
		t.Error("a function that it calls changed: " + text)
	}
	change("return 2", "return 1")
	if _, text := kept(); !strings.Contains(text, "nb_.Kept(") {
		t.Error("changed back: " + text)
	}
	source := filepath.Join(w.roots[0], "fit", "fit.go")
	if err := os.Chtimes(source, time.Time{}, time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	k, text := kept()
	if !strings.Contains(text, "nb_.First(") {
		t.Error("a package changed: " + text)
	}
	k.Leave()
	if k, _ := kept(); k.Overlay != "" {
		t.Error("not left alone")
	}
}

// Files beside the sources of a module count where they may be embedded.
func TestStateOfEmbeddedFiles(t *testing.T) {
	w := workspace(t)
	state := w.state()
	for _, c := range []struct {
		name, text string
		changes    bool
	}{
		{"root.go", "package root\n", true},
		{"shapes.csv", "1,2", false},
		{"root.go", "package root\n\n//go:embed shapes.csv below\nvar Files embed.FS\n", true},
		{"shapes.csv", "1,2\n3,4", true},
		{"below/more/more.csv", "3,4", true},
		{"analysis.ipynb", "{}", false},
		{"gonb_1/" + lockName, "", false},
		{"gonb_1/main.go", "package main\n", false},
	} {
		name := filepath.Join(w.roots[0], c.name)
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		before := state
		if state = w.state(); (state != before) != c.changes {
			t.Errorf("%s with %q changes what variables are: %v", c.name, c.text, !c.changes)
		}
	}
}

// A go command in a relative folder of the PATH is not run.
func TestBuildRelative(t *testing.T) {
	w, file := workspace(t), program(t, "")
	t.Chdir(t.TempDir())
	if err := errors.Join(os.Mkdir("bin", 0o700), os.WriteFile("bin/go", []byte("#!/bin/sh\necho ran\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", "bin")
	if out, err := w.Build(context.Background(), exec.Command("go", "build"), file, false); !errors.Is(err, exec.ErrDot) || len(out) != 0 {
		t.Errorf("printed %q, error %v", out, err)
	}
}

// A program whose variables cannot be kept is compiled as it is.
func TestBuild(t *testing.T) {
	w := workspace(t)
	file := program(t, "var x = f()\nfunc f() int { return 1 }")
	build := func() (string, error) {
		c := exec.Command("go", "build", "-o", filepath.Join(filepath.Dir(file), "out"))
		c.Dir, c.Env = filepath.Dir(file), append(os.Environ(), "GO111MODULE=off", "GOFLAGS=")
		out, err := w.Build(context.Background(), c, file, true)
		return string(out), err
	}
	if out, err := build(); err != nil { // there is no package nb here
		t.Fatal(out, err)
	}
	if k := w.Keep(file); k.Overlay != "" {
		t.Error("tried again")
	}
	if err := os.WriteFile(file, []byte("package main\nvar x = f()\nfunc main() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := build(); err == nil || !strings.Contains(out, "main.go:2:9: undefined: f") || strings.Contains(out, "nb") {
		t.Error(out, err)
	}
}
