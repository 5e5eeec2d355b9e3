package cell

import (
	"bytes"
	"fmt"
	"go/ast"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var position = regexp.MustCompile(`(?m)^(\./form/program|.*main(?:_test)?\.go):(\d+)(?::(\d+))?: (.*)$`)

// declaration begins that of a variable of an earlier cell.
var declaration = regexp.MustCompile(`; var ([\pL_][\pL\pN_]*) `)

// place returns where a place of the form is in the program.
func (l *live) place(out []byte, line, column int) int {
	at := 0
	for range line - 1 {
		next := bytes.IndexByte(out[at:], '\n')
		if next < 0 {
			return column
		}
		at += next + 1
	}
	at += column - 1
	shift := 0
	for _, e := range l.edits {
		if e.at+shift+len(e.text) > at {
			if e.at+shift <= at { // in what was inserted
				at = e.at + shift
			}
			break
		}
		shift += len(e.text) - e.length
	}
	at -= shift
	return at - bytes.LastIndexByte(l.src[:min(at, len(l.src))], '\n')
}

// again reads what a compiler says of the form, and says whether another form may be right: where a variable gets a value of
// another type, an import is not needed any more, or a variable cannot be declared.
func (l *live) again(form, output []byte) (better bool) {
	for _, m := range position.FindAllSubmatch(output, -1) {
		line, _ := strconv.Atoi(string(m[2]))
		message := string(m[4])
		if statement, ok := l.rewritten[line]; ok && !l.plain[statement] {
			l.plain[statement], better = true, true
		}
		name := l.tail[line]
		if column, err := strconv.Atoi(string(m[3])); err == nil && line == l.first {
			text := bytes.Split(form, []byte("\n"))[line-1]
			if all := declaration.FindAllSubmatch(text[:min(column, len(text))], -1); all != nil {
				name = string(all[len(all)-1][1])
			}
		}
		if _, ok := l.needed[name]; ok && l.without[name] == "" {
			l.without[name], better = message, true
		}
		if path, ok := strings.CutSuffix(message, " imported and not used"); ok {
			if path, err := strconv.Unquote(strings.SplitN(path, " ", 2)[0]); err == nil && !l.unused[path] {
				l.unused[path], better = true, true
			}
		}
	}
	return better
}

// asks says where the program would wait for input, as a compiler does.
func (l *live) asks(name string) (output []byte) {
	is := func(n ast.Node, path, begin string) bool {
		s, _ := n.(*ast.SelectorExpr)
		if s == nil {
			return false
		}
		from, _ := s.X.(*ast.Ident)
		return from != nil && from.Obj == nil && l.imports[from.Name] == path && strings.HasPrefix(s.Sel.Name, begin)
	}
	for n := range l.reached {
		ast.Inspect(n, func(n ast.Node) bool {
			call, _ := n.(*ast.CallExpr)
			if call == nil {
				return true
			}
			of, _ := call.Fun.(*ast.SelectorExpr)
			if is(call.Fun, "fmt", "Scan") || of != nil && is(of.X, "os", "Stdin") ||
				slices.ContainsFunc(call.Args, func(x ast.Expr) bool { return is(x, "os", "Stdin") }) {
				at := l.set.Position(call.Pos())
				output = fmt.Appendf(output, "./%s:%d:%d: %s\n", name, at.Line, at.Column, keyboard)
			}
			return true
		})
	}
	return output
}

// back gives the places in what a compiler says as they are in the program.
func (l *live) back(name string, out, output []byte) []byte {
	return position.ReplaceAllFunc(output, func(s []byte) []byte {
		m := position.FindSubmatch(s)
		line, _ := strconv.Atoi(string(m[2]))
		column, err := strconv.Atoi(string(m[3]))
		if err != nil {
			return s
		}
		return fmt.Appendf(nil, "./%s:%d:%d: %s", name, line, l.place(out, line, column), m[4])
	})
}
