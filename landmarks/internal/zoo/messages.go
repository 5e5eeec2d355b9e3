package zoo

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
)

// Messages checks that each error in source files ends in what to do: it is either made by Advise or wraps another one. There must be
// at least so many made by Advise.
func Messages(t *testing.T, least int, files ...string) {
	t.Helper()
	set := token.NewFileSet()
	count := 0
	for _, name := range files {
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
			silent := false // about what to do
			switch called {
			case "New":
				f, ok := call.Fun.(*ast.SelectorExpr).X.(*ast.Ident)
				silent = ok && f.Name == "errors"
			case "Errorf":
				format := words(call.Args[0])
				silent = format != "" && !strings.Contains(format, "%w")
			case "Advise", "Refuse", "RefuseIf", "refuse", "refuseIf", "refuseAt":
				count++
			}
			if silent {
				t.Errorf("%v: the error says what, but not what to do", set.Position(call.Pos()))
			}
			return true
		})
	}
	if count < least {
		t.Errorf("%d messages were seen", count)
	}
}
