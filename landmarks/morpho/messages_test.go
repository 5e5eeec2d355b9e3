package morpho

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"anatomy/geom/geomtest/expect"
	"anatomy/landmarks/internal/text"
)

// advised wants an error about data: it says words, which begin with where it is, and what to do.
func advised(t *testing.T, err error, words ...string) {
	t.Helper()
	expect.Refused(t, err, words...)
	var advice *text.Advice
	switch {
	case err == nil:
	case !errors.As(err, &advice) || advice.Do == "" || !strings.HasSuffix(err.Error(), "; "+advice.Do):
		t.Errorf("%q does not end in what to do", err)
	case strings.HasPrefix(err.Error(), advice.Error()):
		t.Errorf("%q does not begin with where it is", err)
	}
}

// Each message of the readers, the data sets and their inspection ends in what to do: an error is either made by Advise or wraps another one.
func TestMessagesSayWhatToDo(t *testing.T) {
	set := token.NewFileSet()
	count := 0
	for _, name := range []string{"checkpoint.go", "csv.go", "dataset.go", "files.go", "inspect.go", "missing.go", "mitk.go", "morphologika.go", "npy.go", "nts.go", "outline.go",
		"plain.go", "sheet.go", "slicer.go", "titles.go", "tps.go", "../internal/text/text.go"} {
		file, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		words := func(e ast.Expr) string { // of a literal, the beginning of a sum of them
			if sum, ok := e.(*ast.BinaryExpr); ok {
				e = sum.X
			}
			if literal, ok := e.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				s, _ := strconv.Unquote(literal.Value)
				return s
			}
			return ""
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if v, ok := n.(*ast.ValueSpec); ok && (strings.HasPrefix(v.Names[0].Name, "err") || strings.HasPrefix(v.Names[0].Name, "Err")) {
				return false // an error that is compared with, or put into another one
			}
			if f, ok := n.(*ast.FuncDecl); ok && f.Name.Name == "Number" {
				return false // whoever asks for a number says what to do
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) == 0 {
				return true
			}
			called := ""
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				called = f.Sel.Name
			case *ast.Ident:
				called = f.Name
			}
			wrong := ""
			switch called {
			case "New":
				if f, ok := call.Fun.(*ast.SelectorExpr).X.(*ast.Ident); ok && f.Name == "errors" {
					wrong = "says what, but not what to do"
				}
			case "Errorf":
				if s := words(call.Args[0]); s != "" && !strings.Contains(s, "%w") {
					wrong = "says what, but not what to do"
				}
			case "Advise", "refuse", "refuseAt":
				count++
			}
			if wrong != "" {
				t.Errorf("%v: the error %s", set.Position(call.Pos()), wrong)
			}
			return true
		})
	}
	if count < 120 {
		t.Errorf("%d messages were seen", count)
	}
}
