package cell

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program prints what the cells of its notebook show, and nothing is said of variables that are not used, have another type, or are
// declared again.
func TestProgram(t *testing.T) {
	cells := []string{
		"q := 3", "q + 1", "%env A=b=c\nq = q * 2\nunused, q := 1, q+1\nq",
		"// twice is twice q.\nfunc twice() int { return 2 * q }\ntwice()", "q = 5\ntwice()", "q := 6\ntwice()",
		"type pair struct{ A, B int }\n\nfunc (p *pair) swap() { p.A, p.B = p.B, p.A }\nvar (\n\tm = 4\n\tn = count()\n)\nfunc count() int { return m }\np := pair{n, m + 1}\np.swap()\np",
		"q := `text`\nfmt.Println(q)", "q := q + `s`\nq", "func twice() string { return q + q }\ntwice()",
		"import str \"strings\"\nfunc loud[T any](x T) string { return str.ToUpper(fmt.Sprint(x)) }\nloud(q)",
		"func fib(n int) int {\n\tif n < 2 {\n\t\treturn n\n\t}\n\treturn fib(n-1) + fib(n-2)\n}\nfib(10)",
		"func say() { fmt.Println(q) }\nsay()", "x, err := strconv.Atoi(`7`)", "y, err := strconv.Atoi(`8`)\nx + y // the sum",
		"x = k * x\nconst k = 2", "x", "x++\nconst k, y = 3, 4\nk * y", "func more() int { return k + y }\nk := more()\nk", "var x = `a`\nx", "{\n\tx := 1\n\t_ = x\n}", "os.Getenv(`A`)",
	}
	want := "4\n7\n14\n10\n12\n{A:5 B:4}\ntext\ntexts\ntextstexts\nTEXTS\n55\ntexts\n15\n14\n12\n7\na\nb=c\n"
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(t.TempDir(), "program")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(folder, "main.go")
	run := func(args ...string) ([]byte, error) {
		command := exec.Command("go", args...)
		command.Dir = root
		return command.CombinedOutput()
	}
	source, err := NewWorkspace([]string{root}).Program(cells, false, func(source []byte) ([]byte, error) {
		if err := os.WriteFile(file, source, 0o600); err != nil {
			return nil, err
		}
		if output, err := run("build", "-gcflags=-e", "-o", os.DevNull, file); err != nil {
			return output, nil
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, source, 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := run("run", file)
	if err != nil || string(output) != want {
		t.Errorf("%v, %s\nwant %s\n%s", err, output, want, source)
	}
	if strings.Contains(string(source), "// nb:") {
		t.Errorf("marks are left:\n%s", source)
	}
}
